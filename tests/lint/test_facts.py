#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""facts.py must pass on a copy of the tree's chips and sheets, and fail, with the right rule, on each way to break them.

Every case edits one thing in a fresh temporary copy. A case whose edit changes nothing is itself a failure.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINT = pathlib.Path(__file__).with_name("facts.py")

#  rule           file                                old                              new
CASES = [
    ("fact-value", "docs/facts/trn2.md", "| `pe.clock` | 2.4e9 |", "| `pe.clock` | 2.8e9 |"),
    ("fact-value", "src/hw/chips/trainium3.c", "FACT(144 * GIB, ", "FACT(144 * MIB, "),
    ("fact-value", "src/hw/instances/trn3.c", "#define TRN3_CHIP_HOUR 4.50", "#define TRN3_CHIP_HOUR 4.51"),
    ("fact-value", "docs/facts/prices.md", "| 35.7608 |", "| 35.7609 |"),
    ("fact-value", "docs/facts/trn2.md", "| `pe.clock` | 2.4e9 |", "| `pe.clock` | __import__('os') |"),
    ("fact-unit", "docs/facts/dma.md", "| `fixed` | 1300 | ns |", "| `fixed` | 1300 | cycles |"),
    ("fact-tag", "src/hw/chips/neuroncore.inc", 'NS,       DOC,     "dma:fixed"', 'NS,       MEAS,    "dma:fixed"'),
    ("fact-tag", "docs/facts/core.md", "| `issue.semaphore` | 64 | cycles | assumed |", "| `issue.semaphore` | 64 | cycles | doc |"),
    ("fact-missing", "docs/facts/trn2.md", "| `pe.clock` |", "| `pe.clocks` |"),
    ("fact-missing", "src/hw/chip_dtypes.def", "numerics:type.bf16", "numerics:type.bf17"),
    ("fact-missing", "src/hw/hw.h", "// \"B/s\"", "// \"B/s\" [nowhere:at_all]"),
    ("fact-form", "src/hw/chips/neuroncore.inc", 'COUNT,    DOC,     "core:partitions"', "COUNT,    DOC,     NULL"),
    ("row-twice", "docs/facts/pe.md", "| `cols` |", "| `rows` |"),
    ("row-tag", "docs/facts/pe.md", "| ratio | doc | NKI-isa; prof |", "| ratio | hearsay | NKI-isa; prof |"),
    ("row-source", "docs/facts/pe.md", "| doc | NKI-isa; prof |", "| doc |  |"),
    ("row-columns", "docs/facts/bench.md", "| trn2 | bf16 [4, 4096]", "| bf16 [4, 4096]"),
]


def lint(root):
    done = subprocess.run([sys.executable, str(LINT), "--root", str(root)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def copy(to):
    shutil.copytree(ROOT / "src/hw", to / "src/hw")
    shutil.copytree(ROOT / "docs/facts", to / "docs/facts")


def check(case):
    rule, name, old, new = case
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        copy(root)
        path = root / name
        before = path.read_text()
        after = before.replace(old, new, 1)
        if after == before:
            return f"the edit no longer applies: '{old}' is not in {name}"
        path.write_text(after)
        code, output = lint(root)
        if code != 1 or f": {rule}: " not in output:
            return f"exit {code}, want 1 with '{rule}': {output.strip()[-300:]}"
    return None


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy(pathlib.Path(folder))
        code, output = lint(pathlib.Path(folder))
    results = [("clean copy passes", None if code == 0 else output)]
    results += [(f"{case[0]} in {case[1]}", check(case)) for case in CASES]
    for name, problem in results:
        print(f"ok {name}" if problem is None else f"FAIL {name}: {problem}")
        failed += problem is not None
    print(f"{len(results) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
