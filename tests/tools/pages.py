#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages that are printed from the rows are the files of the tree; every verb's --json is one document with a schema;
the completion script completes.

    pages.py GLIA             compares; --bless rewrites the files
"""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = {"cli": "docs/reference/cli.md", "man": "man/glia.1", "instructions": "docs/reference/instructions.md",
         "metrics": "docs/reference/metrics.md"}


def main():
    glia = pathlib.Path(sys.argv[1]).resolve()
    env = {k: v for k, v in os.environ.items() if not k.startswith(("GLIA_", "NEURON_"))}
    problems = []

    def run(*words):
        done = subprocess.run([glia, *words], env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            problems.append(f"glia {' '.join(words)}: exit {done.returncode}: {done.stderr}")
        return done.stdout

    for page, name in PAGES.items():
        text = run("doc", page)
        if "--bless" in sys.argv:
            (ROOT / name).write_text(text)
        if text != (ROOT / name).read_text():
            problems.append(f"{name} is not what 'glia doc {page}' prints; pages.py GLIA --bless rewrites it")
        document = json.loads(run("doc", page, "--json"))
        if document["schema"] != "glia.doc/1" or document["text"] != text:
            problems.append(f"'glia doc {page} --json' holds another text")

    rows = json.loads(run("help", "--json"))
    verbs = {verb["verb"]: verb for verb in rows["verbs"]}
    page = (ROOT / PAGES["cli"]).read_text()
    for name, verb in verbs.items():
        text = run("help", name)
        if text != run(name, "--help"):
            problems.append(f"'glia help {name}' and 'glia {name} --help' differ")
        for option in verb["options"]:
            flag = f"--{option['flag']}"
            if flag not in text.replace("[no-]", "") or option["variable"] not in page:
                problems.append(f"{name}: {flag} is not in its help or on the page")
    if json.loads(run("version", "--json"))["schema"] != "glia.version/1" or run("version") != run("--version"):
        problems.append("version: schema, or --version differs")

    script = run("completion", "bash")
    if json.loads(run("completion", "bash", "--json"))["text"] != script:
        problems.append("completion --json holds another text")

    def complete(*words):
        quoted = " ".join(f"'{word}'" for word in words)
        code = f"{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _glia; echo \"${{COMPREPLY[@]}}\""
        return subprocess.run(["bash", "-euc", code], capture_output=True, text=True, check=True).stdout.split()

    for words, want in ((("glia", "ne"), ["neff"]), (("glia", "neff", ""), ["show", "disasm", "asm", "verify"]),
                        (("glia", "hw", "s"), ["show"]), (("glia", "help", "doct"), ["doctor"]),
                        (("glia", "compile", "--auto-cast-"), ["--auto-cast-type"]), (("glia", "time", "--no-e"), ["--no-extrapolate"])):
        if complete(*words) != want:
            problems.append(f"completion of {words} is {complete(*words)}, want {want}")
    if set(complete("glia", "")) != set(verbs) | {"--help", "--version"}:
        problems.append("completion does not offer every verb")
    for problem in problems:
        print(problem)
    print(f"{len(PAGES)} pages, {len(verbs)} verbs, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
