#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages that are printed from the rows are the files of the tree; every verb's --json is one document with a schema;
the completion script completes.

    pages.py GLIA             compares; --bless rewrites the files
"""
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = {"cli": "docs/reference/cli.md", "environment": "docs/reference/environment.md", "man": "man/glia.1",
         "instructions": "docs/reference/instructions.md", "metrics": "docs/reference/metrics.md"}


# Where C, shell and Python read a variable of glia's.
READ = re.compile(r'(?:getenv\("|\$\{|environ\.get\("|environ\[")((?:GLIA|NEURON)_\w+)')


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

    page = (ROOT / PAGES["environment"]).read_text()
    rows_of_runtime = re.findall(r'^ENV\(\w+, +"(\w+)"', (ROOT / "src/rt/env.def").read_text(), re.MULTILINE)
    wanted = {name: "src/rt/env.def" for name in rows_of_runtime}
    for folder, pattern in (("src", "*.c"), ("tools", "*.c"), ("scripts", "*"), ("tests", "*.py"), ("tests", "run"), ("bench", "*.py")):
        for file in (ROOT / folder).rglob(pattern):
            if file.is_file():
                wanted |= {name: file for name in READ.findall(file.read_text(errors="replace"))}
    if len(rows_of_runtime) < 10 or "GLIA_CPU" not in wanted or "GLIA_MODELS" not in wanted:
        problems.append(f"variables that are read were not found: {sorted(wanted)}")
    for name, file in wanted.items():
        if f"`{name}`" not in page:
            problems.append(f"{file} reads '{name}', of which {PAGES['environment']} says nothing; tools/environment.def needs a row")
    man = (ROOT / PAGES["man"]).read_text()
    for section in ("EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES"):
        if f".SH {section}\n" not in man:
            problems.append(f"{PAGES['man']} has no section {section}")

    script = run("completion", "bash")
    if json.loads(run("completion", "bash", "--json"))["text"] != script:
        problems.append("completion --json holds another text")

    def complete(*words):
        quoted = " ".join(f"'{word}'" for word in words)
        code = f"{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _glia; echo \"${{COMPREPLY[@]}}\""
        return subprocess.run(["bash", "-euc", code], capture_output=True, text=True, check=True).stdout.split()

    for words, want in ((("glia", "ne"), ["neff"]), (("glia", "neff", ""), ["show", "disasm", "asm", "verify"]),
                        (("glia", "hw", "s"), ["show"]), (("glia", "help", "doct"), ["doctor"]),
                        (("glia", "compile", "--auto-cast-"), ["--auto-cast-type"]), (("glia", "time", "--no-e"), ["--no-extrapolate"]),
                        (("glia", "generate", "--instance", "trn2.3"), ["trn2.3xlarge"]), (("glia", "hw", "show", "trn1.3"), ["trn1.32xlarge"]),
                        (("glia", "compile", "--target", "inf"), ["inf2"]), (("glia", "neff", "show", "x"), [])):
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
