#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The benchmark's harness works: sizes that take no time, a few turns, no peers.

    quick.py BUILD

Every row of the issue's four parts is there, measured or skipped with the name of what is missing; matrix products are
checked by the program that times them; peers that are there are compared as the rules of the table say (a made-up one).
"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench"))
import measure
import part_matmul

failures = 0


def expect(condition, what):
    global failures
    if not condition:
        failures += 1
        print(f"FAIL {what}")


def run_quick(build):
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "results.json"
        done = subprocess.run([ROOT / "bench" / "run", "--quick", "--no-peers", "--build", build, "--output", output],
                              capture_output=True, text=True)
        expect(done.returncode == 0, f"bench/run --quick ends with {done.returncode}: {done.stderr[-500:]}")
        return done.stdout, json.loads(output.read_text()) if output.exists() else {"rows": []}


def check_rows(text, document):
    rows = document["rows"]
    parts = {part: [r for r in rows if r["part"] == part] for part in "abcd"}
    expect([len(parts[p]) for p in "abcd"] == [8, 2, 2, 3], f"rows of each part: {[len(parts[p]) for p in 'abcd']}")
    for row in parts["a"]:
        expect("oneDNN" in row["skipped"] and "OpenBLAS" in row["skipped"], f"'{row['what']}' names what it lacks: {row['skipped']}")
    for row in parts["b"]:
        expect("llama.cpp" in row["skipped"], f"'{row['what']}' names what it lacks: {row['skipped']}")
    for row in parts["c"] + parts["d"]:
        low, high = row["quartiles"]
        expect(low <= row["value"] <= high, f"'{row['what']}': {row['value']} between {low} and {high}")
        expect(row["what"] in text, f"'{row['what']}' is in the table")
    expect(document["schema"] == "glia.bench/1" and document["quick"], "the document says what it is")


def contender(name, packed, *seconds):
    return {"name": name, "version": name, "kernel": "", "packed": packed, "seconds": list(seconds)}


def check_choice():
    """A row's peer is the library with the lowest median; its value is the median of ratios within a turn."""
    result = {"size": 64, "skipped": [], "contenders": [
        contender("glia", False, 4, 4, 8), contender("glia", True, 2, 2, 2), contender("slow", False, 9, 9, 9),
        contender("fast", False, 3, 2, 4), contender("fast", True, 5, 5, 5)]}
    plain, packed = (part_matmul.row(result, p, "x", {}) for p in (False, True))
    expect(plain["against"].startswith("fast") and plain["value"] == 0.5, f"plain: {plain['against']} {plain['value']}")
    expect(packed["value"] == 1.5 and packed["pass"], f"packed takes a faster plain library: {packed['value']}")
    expect(not plain["pass"] and plain["quartiles"] == [0.5, 0.625], f"quartiles: {plain['quartiles']}")
    limit = measure.limit_row("c", "x", [1, 2, 3], 2, "s")
    expect(limit["value"] == 2 and not limit["pass"], "a limit that is reached is missed")


def main():
    text, document = run_quick(sys.argv[1])
    check_rows(text, document)
    check_choice()
    print(f"bench: {failures} failures")
    return 1 if failures else 0


sys.exit(main())
