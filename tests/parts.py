#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks tests/parts.tsv: what was asked of glia, each with the test that would fail without it.

    parts.py [RESULTS.tsv]     against the results of a whole run (build/test-results.tsv unless given)

A row is `item<TAB>test`, item being `<part>-<words>`; an item may have several rows. Every test must exist and have
passed; it may be skipped only as tests/run allows (the Python registry, a CPU feature). After the line `# open` a row is
`item<TAB>what is missing`: it has no test yet, is counted and printed, and moves up when it has one.
"""
import pathlib
import sys


def read(path):
    """Rows with tests, open rows, and what is wrong with the file itself."""
    rows, open_rows, problems, is_open = [], [], [], False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.strip() == "# open":
            is_open = True
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != 2 or not all(cell.strip() for cell in cells):
            problems.append(f"{path.name}:{number}: a row is 'item<TAB>{'what is missing' if is_open else 'test'}'")
            continue
        (open_rows if is_open else rows).append((number, *cells))
    closed = {item for _, item, _ in rows}
    for number, item, _ in open_rows:
        if item in closed:
            problems.append(f"{path.name}:{number}: '{item}' has a test and is open\nfix: delete the open row")
    seen = set()
    for number, item, test in rows:
        if (item, test) in seen:
            problems.append(f"{path.name}:{number}: '{item}' names '{test}' twice")
        seen.add((item, test))
    return rows, open_rows, problems


def check(path, results):
    """Problems, and one line for people. `results` maps a test to (result, seconds, detail)."""
    rows, open_rows, problems = read(path)
    for number, item, test in rows:
        if test not in results:
            problems.append(f"{path.name}:{number}: '{item}' names '{test}', which no run has\n"
                            f"fix: give the test's name as 'tests/run --list' prints it")
        elif results[test][0] == "failed":
            problems.append(f"{path.name}:{number}: '{item}' rests on '{test}', which failed")
    note = "\n".join([f"open {item}: {what}" for _, item, what in open_rows] +
                     [f"parts: {len({item for _, item, _ in rows})} items have tests, {len(open_rows)} are open"])
    return problems, note


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    source = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "build" / "test-results.tsv"
    if not source.exists():
        sys.exit(f"parts.py: there are no results at '{source}'\nhint: make test")
    results = {}
    for line in source.read_text().splitlines():
        name, result, seconds, detail = line.split("\t", 3)
        results[name] = (result, float(seconds), detail)
    problems, note = check(root / "tests" / "parts.tsv", results)
    print(note)
    print("\n".join(problems), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
