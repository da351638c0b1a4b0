# SPDX-License-Identifier: Apache-2.0
"""What the lints share: the files of a tree, C text without comments and strings, and how a finding is printed.

A lint is a function `check(tree)` that calls `tree.report` for each thing it finds, and a main made by `run`. A finding is
place, rule, what is wrong, and the fix; any finding makes the exit code 1. Only Python's standard library is used.
"""
import argparse
import pathlib
import re
import subprocess
import sys

COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


class Tree:
    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.findings = []
        self.warnings = []
        self._paths = None

    def paths(self):
        """Paths from the root of what git tracks or would track; without git, of everything but build/."""
        if self._paths is None:
            answer = subprocess.run(["git", "-C", str(self.root), "ls-files", "-co", "--exclude-standard"],
                                    capture_output=True, text=True)
            if answer.returncode == 0 and answer.stdout:
                names = answer.stdout.splitlines()
            else:
                names = [str(p.relative_to(self.root)) for p in self.root.rglob("*") if p.is_file()]
            self._paths = sorted(n for n in names if not n.startswith(("build/", ".git/")) and (self.root / n).is_file())
        return self._paths

    def select(self, *, under=(), suffixes=()):
        return [name for name in self.paths()
                if (not under or name.startswith(tuple(under))) and (not suffixes or name.endswith(tuple(suffixes)))]

    def text(self, name):
        return (self.root / name).read_text(errors="replace")

    def report(self, name, line, rule, problem, fix):
        self.findings.append((name, line, rule, problem, fix))

    def warn(self, name, line, rule, problem, fix):
        self.warnings.append((name, line, rule, problem, fix))


def code_only(text):
    """C text with comments and the insides of strings blanked; lines stay where they were."""

    def blank(match):
        kept = match.group(0)
        inside = re.sub(r"[^\n]", " ", kept)
        return inside if kept.startswith("/") else kept[0] + inside[1:-1] + kept[-1]

    return COMMENT_OR_STRING.sub(blank, text)


def run(description, check, rules):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    options = parser.parse_args()
    tree = Tree(options.root)
    if not tree.paths():
        sys.exit(f"no files under '{tree.root}'")
    check(tree)
    for kind, found in (("warning: ", tree.warnings), ("", tree.findings)):
        for name, line, rule, problem, fix in sorted(found):
            print(f"{name}:{line}: {kind}[{rule}] {problem}\n    fix: {fix}")
    print(f"{len(tree.findings)} findings, {len(tree.warnings)} warnings; rules: {', '.join(rules)}")
    sys.exit(1 if tree.findings else 0)
