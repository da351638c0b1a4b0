#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of README.md and docs/: what a page tells people to type must work.

A fenced block that begins with ```sh run is run as one bash script that stops at the first failure, `glia` and the
examples on its PATH, in an empty folder from which the tree's own files can be read. ```sh run model is left out when
the checkpoint is not there (the Python registry brings it). A block of plain ```sh is not run, so it may hold only what
ELSEWHERE names, with the place that runs it. Other languages are not looked at.

    commands.py [--build DIR] [--root DIR] [--list]
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\w*)([^\n`]*)\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
ELSEWHERE = {
    'export PATH="$PWD/build/release/bin:$PATH"': "every block that is run",
    "make demo": ".ci/run, step demo",
    "make test": ".ci/run, step test-release",
    "make": "the same target as make build, which every step of .ci/run uses through scripts/build",
    "make bench": "by hand: it measures for minutes",
    "make clean": "by hand",
    "bash .ci/run": "itself",
}
PAGES = ["README.md", "docs/*.md", "docs/decisions/*.md", "examples/README.md", "src/*/README.md"]
MODEL = "build/models/gemma-3-270m-q4_k_m.gguf"


def blocks(root):
    for pattern in PAGES:
        for page in sorted(root.glob(pattern)):
            text = page.read_text()
            for match in FENCE.finditer(text):
                if match.group(1) in ("sh", "bash", "shell", "console"):
                    line = text.count("\n", 0, match.start()) + 1
                    yield page.relative_to(root), line, match.group(1), match.group(2).split(), match.group(3)


def check_plain(place, body):
    problems = []
    for line in body.splitlines():
        command = line.split(" #")[0].strip()
        if command and command not in ELSEWHERE:
            problems.append(f"{place}: '{command}' is run by no test\n    fix: mark the block '```sh run', or name in "
                            f"tests/docs/commands.py what runs it")
    return problems


def run_block(root, build, place, body):
    with tempfile.TemporaryDirectory() as folder:
        for entry in root.iterdir():
            if entry.name not in (".git", "build"):
                (pathlib.Path(folder) / entry.name).symlink_to(entry)
        inside = pathlib.Path(folder) / "build"
        inside.mkdir()
        (inside / "release").symlink_to(build)
        model = os.environ.get("GLIA_GEMMA_GGUF")
        if model:
            (inside / "models").mkdir()
            (pathlib.Path(folder) / MODEL).symlink_to(pathlib.Path(model).resolve())
        env = {**os.environ, "PATH": f"{build}/bin:{os.environ['PATH']}", "CI": "true"}
        answer = subprocess.run(["bash", "-euo", "pipefail", "-c", body], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, errors="replace", timeout=600)
        if answer.returncode == 0:
            return []
        tail = "\n".join((answer.stdout + answer.stderr).splitlines()[-20:])
        return [f"{place}: exit code {answer.returncode}\n{body}{tail}"]


def main():
    parser = argparse.ArgumentParser(description="Runs the commands of README.md and docs/.")
    here = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--root", type=pathlib.Path, default=here)
    parser.add_argument("--build", type=pathlib.Path, default=here / "build" / "release")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    problems, ran, left = [], 0, 0
    for page, line, language, words, body in blocks(options.root.resolve()):
        place = f"{page}:{line}"
        if options.list:
            print(place, language, *words)
        elif language != "sh" or words not in ([], ["run"], ["run", "model"]):
            problems.append(f"{place}: '```{language} {' '.join(words)}' is no kind of block\n    fix: ```sh, ```sh run or ```sh run model")
        elif not words:
            problems += check_plain(place, body)
        elif words == ["run", "model"] and not os.environ.get("GLIA_GEMMA_GGUF"):
            left += 1
        else:
            problems += run_block(options.root.resolve(), options.build.resolve(), place, body)
            ran += 1
    for problem in problems:
        print(problem)
    print(f"{ran} blocks ran, {left} were left out (the Python registry was not there), {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
