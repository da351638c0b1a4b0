#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the command line prints, word for word: help, a program written by hand, and what it says of bad input.

Each case is run in tests/tools/data, with no variable of glia's; stdout, stderr and the exit code are compared with
tests/tools/golden/NAME.txt. Nothing here depends on what the compiler makes or on how long something takes.

    golden.py GLIA            compares; --bless rewrites the files
"""
import difflib
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CASES = {
    "help": "help",
    "help_compile": "help compile",
    "help_neff": "neff --help",
    "help_time": "help time",
    "neff_show": "neff show tiny.s",
    "neff_show_json": "neff show tiny.s --json",
    "neff_verify": "neff verify tiny.s",
    "neff_verify_race": "neff verify race.s",
    "neff_verify_shapes": "neff verify shapes.s",
    "no_verb": "",
    "unknown_verb": "compil",
    "unknown_flag": "compile layer.hlo.txt --targte trn2",
    "unknown_letter": "run -x layer.neff",
    "unknown_part": "neff shw tiny.s",
    "unknown_page": "doc instruction",
    "unknown_pass": "compile layer.hlo.txt -o /dev/null --print-after simplfy",
    "unknown_field": "time tiny.s --set dma_engine=4",
    "unknown_instance": "time tiny.s --instance trn2.49xlarge",
    "missing_value": "compile layer.hlo.txt -o",
    "missing_output": "compile layer.hlo.txt",
    "missing_file": "compile nothing.hlo.txt -o /dev/null",
    "missing_input": "run layer.hlo.txt",
    "bad_number": "time tiny.s --sharers many",
    "bad_lnc": "compile layer.hlo.txt -o /dev/null --target trn1 --lnc 2",
    "bad_value": "time tiny.s --set dma_engines=0",
    "bad_calibration": "time tiny.s --calibration layer.hlo.txt",
    "other_chip": "time tiny.s --instance trn1.2xlarge",
    "hostile_hlo": "compile hostile.hlo.txt -o /dev/null",
    "model_too_large": "time --config llama-3-70b.json --phase decode --instance trn1.2xlarge",
    "model_batch": "time --config llama-3-8b.json --batch 4",
    "model_phase": "time --config llama-3-8b.json --phase training",
    "model_is_no_graph": "compile llama-3-8b.json -o /dev/null",
    "unwritable": "neff asm tiny.s -o /proc/no/tiny.neff",
}


def clean_environment():
    return {k: v for k, v in os.environ.items() if not k.startswith(("GLIA_", "NEURON_"))}


def run(glia, words):
    done = subprocess.run([glia, *words.split()], cwd=HERE / "data", env=clean_environment(), capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL)
    return f"$ glia {words}".rstrip() + f"\n{done.stdout}" + (f"--- stderr\n{done.stderr}" if done.stderr else "") + f"--- exit {done.returncode}\n"


def main():
    glia = pathlib.Path(sys.argv[1]).resolve()
    bless = "--bless" in sys.argv
    failed = 0
    for name, words in CASES.items():
        file = HERE / "golden" / f"{name}.txt"
        got = run(glia, words)
        if bless:
            file.parent.mkdir(exist_ok=True)
            file.write_text(got)
        want = file.read_text() if file.exists() else ""
        if got != want:
            failed += 1
            print(f"{name}: 'glia {words}' differs from {file.name}; golden.py GLIA --bless rewrites it")
            print("".join(difflib.unified_diff(want.splitlines(True), got.splitlines(True), "golden", "now")))
    stray = {f.stem for f in (HERE / "golden").glob("*.txt")} - set(CASES)
    for name in sorted(stray):
        print(f"golden/{name}.txt belongs to no case")
    print(f"{len(CASES)} cases, {failed} differ")
    return 1 if failed or stray else 0


if __name__ == "__main__":
    sys.exit(main())
