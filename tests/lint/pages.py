#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages point at what exists: links between pages, paths in backticks, and file names in backticks; what code cites.

A path (`src/isa/isa.h`, `src/isa/hazards*`) is looked up from the root, or beside the page; a bare name (`sync.c`) must be
the end of some path of the tree. A page that names a file that has moved sends its reader nowhere. Sections that are cited
by number must be numbered headings of a page in docs/.
"""
import fnmatch
import posixpath
import re

from tree import run

PATH = re.compile(r"`((?:[\w.*+-]+/)*[\w.*+-]+(?:\.(?:c|h|def|inc|md|py|tsv|cmake|txt)|\*|/))`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
GENERATED = ("build/",)
# Names of other projects' files that pages cite.
FOREIGN = re.compile(r"docs/facts/|src/[^/]*/hlo/")
# A section of a page by its number ("pe.md §3"), and a page of docs/ that code names.
SECTION = re.compile(r"([\w-]+\.md|DESIGN|STYLE),? +§ *(\d[\d.]*)")
NAMED = re.compile(r"\bdocs/[\w/-]+\.md\b")
CITING = (".c", ".h", ".def", ".md", ".py", ".txt", ".cmake", ".sh")
RULES = ["page-link", "page-path", "page-section", "page-named", "page-index"]


def exists(paths, folders, page, target):
    for start in ("", posixpath.dirname(page)):
        whole = posixpath.normpath(posixpath.join(start, target)) if target else start
        if "*" in whole:
            if any(fnmatch.fnmatch(path, whole) for path in paths):
                return True
        elif whole in paths or whole in folders:
            return True
    return False


def has_section(tree, page, number):
    heading = re.compile(rf"^#+ +§? *{re.escape(number.rstrip('.'))}[. ]", re.MULTILINE)
    return any(heading.search(tree.text(path)) for path in tree.select(under=("docs/",)) if posixpath.basename(path) == page)


def check_citations(tree, paths):
    for name in tree.select(suffixes=CITING):
        if name.startswith("tests/lint/"):
            continue
        for number, line in enumerate(tree.text(name).splitlines(), 1):
            for page, section in SECTION.findall(line):
                if not has_section(tree, page, section):
                    tree.report(name, number, "page-section", f"no page of docs/ is '{page}' with a section {section}",
                                "cite [sheet:key], or a page of docs/ by its path")
            for page in NAMED.findall(line):
                if page not in paths:
                    tree.report(name, number, "page-named", f"'{page}' is not there", "correct the name")


INDEX = "docs/README.md"


def check_index(tree, paths):
    if INDEX not in paths:
        return
    linked = {posixpath.normpath(posixpath.join("docs", target)) for target in LINK.findall(tree.text(INDEX))}
    for page in tree.select(under=("docs/",), suffixes=(".md",)):
        folder = posixpath.dirname(page)
        if page != INDEX and page not in linked and (folder in ("docs", "docs/reference") or page.endswith("/README.md")):
            tree.report(page, 1, "page-index", f"no reader of {INDEX} finds it", f"give it a row in {INDEX}")


def check(tree):
    paths = set(tree.paths())
    folders = {f for path in paths for f in _parents(path)}
    check_citations(tree, paths)
    check_index(tree, paths)
    for page in tree.select(suffixes=(".md",)):
        if FOREIGN.match(page):
            continue
        for number, line in enumerate(tree.text(page).splitlines(), 1):
            for match in LINK.finditer(line):
                target = match.group(1)
                if "://" not in target and not exists(paths, folders, page, target.rstrip("/")):
                    tree.report(page, number, "page-link", f"'{target}' is not there", "correct the link")
            for match in PATH.finditer(line):
                target = match.group(1)
                if target.startswith(GENERATED) or "<" in target:
                    continue
                bare = target.rstrip("/")
                if exists(paths, folders, page, bare):
                    continue
                ends = any(fnmatch.fnmatch(path, f"*/{bare}") for path in paths) or any(f.endswith("/" + bare) for f in folders)
                if not ends:
                    tree.report(page, number, "page-path", f"'{target}' is no file of the tree", "correct the name")


def _parents(path):
    folder = posixpath.dirname(path)
    while folder:
        yield folder
        folder = posixpath.dirname(folder)


if __name__ == "__main__":
    run(__doc__.splitlines()[0], check, RULES)
