#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each header compiles alone as C17; those of include/ also as C++, and with nothing but include/ on the path."""
import concurrent.futures
import os
import re
import subprocess

from tree import run

# Texts that are expanded several times over macros of the includer; they are no interface of their own.
TEMPLATES = {"src/num/math_lanes.h": "expanded over each lane type"}
RULES = ["header-alone", "header-c++"]


def compile_alone(tree, name, language):
    compiler = {"c": os.environ.get("CC", "gcc"), "c++": os.environ.get("CXX", "g++")}[language]
    standard = {"c": "-std=gnu17", "c++": "-std=c++17"}[language]
    paths = ["-I.", "-Iinclude"] if name.startswith("include/") else ["-I.", "-Isrc", "-Iinclude"]
    answer = subprocess.run([compiler, standard, "-D_GNU_SOURCE", "-Wall", "-Werror", "-Wno-unused-function",
                             "-Wno-psabi", *paths, "-fsyntax-only", "-x", language, "-"],
                            cwd=tree.root, capture_output=True, text=True, input=f'#include "{name}"\n')
    return answer.returncode, answer.stderr


def check(tree):
    jobs = []
    for name in tree.select(under=("src/", "include/"), suffixes=(".h",)):
        if name in TEMPLATES:
            continue
        jobs.append((name, "c"))
        if name.startswith("include/"):
            jobs.append((name, "c++"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(lambda job: compile_alone(tree, *job), jobs))
    for (name, language), (code, errors) in zip(jobs, answers):
        if code == 0:
            continue
        first = next((line for line in errors.splitlines() if " error: " in line), errors.strip() or f"exit code {code}")
        place = re.match(re.escape(name) + r":(\d+):", first)
        tree.report(name, int(place.group(1)) if place else 1, "header-alone" if language == "c" else "header-c++",
                    first.split(" error: ")[-1], "include what it uses" if language == "c" else
                    "wrap declarations in extern \"C\", and keep to the common part of C and C++")


if __name__ == "__main__":
    run(__doc__.splitlines()[0], check, RULES)
