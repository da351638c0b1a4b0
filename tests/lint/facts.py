#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every fact the code cites is in docs/facts/, and that hardware numbers are the same in both places.

Read from src/**: FACT(value, UNIT, TAG, "sheet:key") and ASSUME(value, UNIT, "sheet:key", ...), string literals of the
form "sheet:key" in .def files, and [sheet:key] in comments. Read from docs/facts/*.md: table rows whose first column
is `key`. Values are arithmetic over numbers, KIB, MIB, GIB and the #defines of their file; nothing else is evaluated.
Prints one finding for each problem: place, rule, what is wrong with both values, and the fix. Exit 1 if there are any.

    facts.py [--root DIR]
"""
import argparse
import ast
import operator
import pathlib
import re
import sys

UNITS_FILE = "src/hw/units.def"
PREFIXES = {"KIB": 2.0**10, "MIB": 2.0**20, "GIB": 2.0**30}
TAGS = {"doc", "src", "meas", "derived", "assumed", "own"}
CITATION = re.compile(r"\[([a-z][a-z0-9_-]*):([a-z0-9][a-z0-9_.-]*)\]")
LITERAL = re.compile(r'"([a-z][a-z0-9_-]*):([a-z0-9][a-z0-9_.-]*)"')
FACT = re.compile(r"\b(FACT|ASSUME)\(\s*([^,]+),\s*(\w+),\s*(?:([A-Z]+),\s*)?\"([^\"]*)\"")
FACT_USE = re.compile(r"\b(?:FACT|ASSUME)\(")
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def evaluate(text, names):
    """The value of an arithmetic expression; ValueError for anything else."""

    def walk(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            return float(node.value)
        if isinstance(node, ast.Name) and node.id in names:
            return names[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](walk(node.left), walk(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -walk(node.operand)
        raise ValueError(f"'{text}' is not arithmetic over numbers, KIB, MIB and GIB")

    try:
        return walk(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ZeroDivisionError) as error:
        raise ValueError(f"'{text}' cannot be evaluated: {error}") from error


class Lint:
    def __init__(self, root):
        self.root = root
        self.findings = []
        self.rows = {}      # "sheet:key" -> (path, line, {column: cell})
        self.sheets = set()
        self.units = {}     # symbol -> text

    def report(self, path, line, rule, problem, fix):
        self.findings.append((str(path.relative_to(self.root)), line, rule, problem, fix))

    def read_units(self):
        for symbol, text in re.findall(r'^HW_UNIT\((\w+),\s*"([^"]*)"', (self.root / UNITS_FILE).read_text(), re.M):
            self.units[symbol] = text

    def read_sheets(self):
        for path in sorted((self.root / "docs/facts").glob("*.md")):
            if path.stem == "README":
                continue
            self.sheets.add(path.stem)
            self.read_sheet(path)

    def read_sheet(self, path):
        columns = None
        for number, text in enumerate(path.read_text().splitlines(), 1):
            if not text.startswith("|"):
                columns = None
                continue
            cells = [cell.strip() for cell in text.strip().strip("|").split("|")]
            if columns is None:
                columns = cells
            elif columns[0] == "key" and not set(cells[0]) <= set("-: "):
                self.read_row(path, number, dict(zip(columns, cells)), len(cells) == len(columns))

    def read_row(self, path, number, row, complete):
        key = f"{path.stem}:{row['key'].strip('`')}"
        if not complete:
            self.report(path, number, "row-columns", f"'{key}' does not fill the columns of its table",
                        "give it one cell for each column, and no '|' within a cell")
        if key in self.rows:
            self.report(path, number, "row-twice", f"'{key}' is also at line {self.rows[key][1]}", "keep one of them")
        if row.get("tag") not in TAGS:
            self.report(path, number, "row-tag", f"'{key}' has the tag '{row.get('tag')}'", f"use one of {', '.join(sorted(TAGS))}")
        if not row.get("source"):
            self.report(path, number, "row-source", f"'{key}' names no source", "name a document of docs/facts/README.md, or nobody")
        self.rows[key] = (path, number, row)

    def check_key(self, path, line, key):
        if key in self.rows:
            return True
        sheet = key.split(":")[0]
        if sheet in self.sheets:
            fix = f"add a row '{key.split(':')[1]}' to docs/facts/{sheet}.md, with value, tag and source"
        else:
            fix = f"there is no docs/facts/{sheet}.md; the sheets are {', '.join(sorted(self.sheets))}"
        self.report(path, line, "fact-missing", f"'{key}' is cited and is in no sheet", fix)
        return False

    def check_fact(self, path, line, match, names):
        macro, value, unit, tag, key = match.groups()
        tag = "assumed" if macro == "ASSUME" else (tag or "").lower()
        if not self.check_key(path, line, key):
            return
        sheet, number, row = self.rows[key]
        where = f"{sheet.relative_to(self.root)}:{number}"
        try:
            code, fact = evaluate(value, {**PREFIXES, **names}), evaluate(row.get("value", ""), PREFIXES)
        except ValueError as error:
            self.report(path, line, "fact-value", f"'{key}': {error}", f"write a number here and in {where}")
            return
        if abs(code - fact) > 1e-12 * max(abs(code), abs(fact)):
            self.report(path, line, "fact-value", f"'{key}' is {code:.12g} here and {fact:.12g} in {where}", "correct the wrong one")
        if self.units.get(unit) != row.get("unit"):
            self.report(path, line, "fact-unit", f"'{key}' is in {self.units.get(unit, unit)} here and in {row.get('unit')} in {where}",
                        "use the same unit in both")
        if tag != row.get("tag"):
            self.report(path, line, "fact-tag", f"'{key}' is {tag} here and {row.get('tag')} in {where}", "use the same tag in both")

    def check_source(self, path):
        text = path.read_text()
        names = {}
        for name, value in re.findall(r"^#define\s+(\w+)\s+([^\n\\]+)$", text, re.M):
            try:
                names[name] = evaluate(value.split("//")[0], PREFIXES)
            except ValueError:
                pass
        line_of = lambda at: text.count("\n", 0, at) + 1
        in_line = lambda at: text[text.rfind("\n", 0, at) + 1:at]
        for use in FACT_USE.finditer(text):
            before = in_line(use.start())
            if before.lstrip().startswith("#define") or "//" in before or before.lstrip().startswith("*"):
                continue
            match = FACT.match(text, use.start())
            if match and ":" in match[5]:
                self.check_fact(path, line_of(use.start()), match, names)
            else:
                self.report(path, line_of(use.start()), "fact-form", "this is not FACT(value, UNIT, TAG, \"sheet:key\")",
                            "write all four, or ASSUME(value, UNIT, \"sheet:key\", \"what would refute it\")")
        if path.suffix == ".def":
            for match in LITERAL.finditer(text):
                if "//" not in in_line(match.start()):
                    self.check_key(path, line_of(match.start()), f"{match[1]}:{match[2]}")
        for match in CITATION.finditer(text):
            before = in_line(match.start())
            if "//" in before or before.lstrip().startswith(("*", "/*")):
                self.check_key(path, line_of(match.start()), f"{match[1]}:{match[2]}")

    def run(self):
        self.read_units()
        self.read_sheets()
        for path in sorted((self.root / "src").rglob("*")):
            if path.suffix in {".c", ".h", ".def", ".inc"}:
                self.check_source(path)
        return sorted(self.findings)


def main():
    parser = argparse.ArgumentParser(description="facts that the code cites, against docs/facts/")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    lint = Lint(parser.parse_args().root.resolve())
    findings = lint.run()
    for path, line, rule, problem, fix in findings:
        print(f"{path}:{line}: {rule}: {problem}\n    fix: {fix}")
    print(f"facts: {len(lint.rows)} rows in {len(lint.sheets)} sheets, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
