#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules that hold for a file's text: licence line, length, calls that are banned, words that do not belong in a tree."""
import re

from tree import code_only, run

SOURCES = (".c", ".h", ".inc", ".py")
WARN_LINES, MOST_LINES = 600, 1500
SPDX = "SPDX-License-Identifier: Apache-2.0"
BANNED = {
    "strcpy": "glia_strbuf (base/strbuf.h)",
    "sprintf": "glia_put, or snprintf",
    "vsprintf": "glia_put, or vsnprintf",
    "strtok": "a cursor (base/span.h)",
    "gets": "glia_file (base/file.h)",
    "atoi": "a parser that says what is wrong",
    "atof": "a parser that says what is wrong",
    "alloca": "an arena (base/arena.h)",
    "malloc": "an arena, or glia_alloc (base/arena.h)",
    "calloc": "an arena, or glia_alloc (base/arena.h)",
    "realloc": "VEC, or glia_realloc (base/arena.h)",
    "strdup": "glia_arena_strdup or glia_strbuf_take",
    "rand": "glia_rng (base/rng.h), which has a seed",
    "srand": "glia_rng (base/rng.h), which has a seed",
}
# `free` is not in the list: memory that libc made (vasprintf, aligned_alloc) is libc's to free.
BANNED_CALL = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
# Words are joined here from pieces, so that this file passes its own rule. Matching is by lower case.
WORDS = {
    "/" + "work/": "a path of one machine",
    "/" + "tmp/lead": "a path of one machine",
    "/" + "root/": "a path of one machine",
    "helper" + " session": "how the text came about",
    "the " + "brief": "how the text came about",
    "py" + "pi.org": "a registry's host",
    "python" + "hosted.org": "a registry's host",
    "deb." + "debian.org": "a registry's host",
    "crates" + ".io": "a registry's host",
    "registry." + "npmjs": "a registry's host",
    "TODO" + "(": "work that is not done",
    "FIX" + "ME": "work that is not done",
    "XX" + "X:": "work that is not done",
}
BINARY = re.compile(r"\.(png|npy|neff|gguf|safetensors|zst|bin)$")
RULES = ["spdx", "length", "banned-call", "word"]


def check_spdx(tree, name, lines):
    is_script = lines and lines[0].startswith("#!")
    if (name.endswith(SOURCES) or is_script) and not any(SPDX in line for line in lines[:2]):
        mark = "//" if name.endswith((".c", ".h", ".inc")) else "#"
        tree.report(name, 1, "spdx", "the licence line is missing", f"make '{mark} {SPDX}' the {'second' if is_script else 'first'} line")


def check_length(tree, name, lines):
    if not name.endswith(SOURCES) or name.endswith(".inc"):
        return
    if len(lines) > MOST_LINES:
        tree.report(name, len(lines), "length", f"{len(lines)} lines; {MOST_LINES} is the most", "split it by subject")
    elif len(lines) > WARN_LINES:
        tree.warn(name, len(lines), "length", f"{len(lines)} lines; think at {WARN_LINES}", "split it if it has two subjects")


def check_calls(tree, name, text):
    if not name.startswith(("src/", "tools/", "plugin/")) or not name.endswith((".c", ".h", ".inc", ".def")):
        return
    for number, line in enumerate(code_only(text).splitlines(), 1):
        for match in BANNED_CALL.finditer(line):
            call = match.group(1)
            if name.startswith("src/base/") and call in ("malloc", "calloc", "realloc"):
                continue
            tree.report(name, number, "banned-call", f"'{call}' is banned", f"use {BANNED[call]}")


def check_words(tree, name, text):
    if name.startswith("tests/fuzz/corpus/"):
        return
    for number, line in enumerate(text.splitlines(), 1):
        lower = line.lower()
        for word, what in WORDS.items():
            if word.lower() in lower:
                tree.report(name, number, "word", f"'{word}' is {what}", "say it without, or open an issue and cite its number"
                            if "not done" in what else "say it without")


def check(tree):
    for name in tree.paths():
        if BINARY.search(name):
            continue
        text = tree.text(name)
        if "\0" in text[:4096]:
            continue
        lines = text.splitlines()
        check_spdx(tree, name, lines)
        check_length(tree, name, lines)
        check_calls(tree, name, text)
        check_words(tree, name, text)


if __name__ == "__main__":
    run(__doc__.splitlines()[0], check, RULES)
