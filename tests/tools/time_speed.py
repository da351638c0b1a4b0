#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`glia time` of a Llama-3-8B decode step on one trn2 logical core of two physical cores, compile and simulation together,
without weights: under 3 s and 1 GiB, and the same time within 1 % when no loop is extrapolated.

Whole processes are timed, with no compile cache; the fastest of three counts. It is CPU time that is judged: the work is
done by one thread, and what others do on the machine must not decide.

    time_speed.py GLIA        prints what it measured
"""
import json
import pathlib
import resource
import subprocess
import sys
import time

SECONDS, BYTES, DIFFERENCE = 3.0, 2**30, 0.01
CONFIG = pathlib.Path(__file__).resolve().parent / "data" / "llama-3-8b.json"


def measure(glia, *more):
    command = [glia, "time", "--config", CONFIG, "--phase", "decode", "--batch", "1", "--context", "2048", "--instance",
               "trn2.48xlarge", "--lnc", "2", "--no-cache", "--json", *more]
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    out = subprocess.run(command, check=True, capture_output=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.monotonic() - begin, json.loads(out)


def main():
    glia = pathlib.Path(sys.argv[1]).resolve()
    runs = [measure(glia) for _ in range(3)]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    seconds, wall, document = min(runs, key=lambda run: run[0])
    stepped_seconds, _, stepped = measure(glia, "--no-extrapolate")
    difference = abs(stepped["total_time"] / document["total_time"] - 1)
    problems = []
    if document["lnc"] != 2 or document["target"] != "trn2":
        problems.append(f"it timed {document['target']} at LNC {document['lnc']}")
    if seconds >= SECONDS:
        problems.append(f"{seconds:.2f} s, must be under {SECONDS} s")
    if peak >= BYTES:
        problems.append(f"{peak / 2**20:.0f} MiB, must be under {BYTES / 2**20:.0f} MiB")
    if difference > DIFFERENCE:
        problems.append(f"--no-extrapolate differs by {difference:.2%}, at most {DIFFERENCE:.0%}")
    if stepped["simulated_percent"] < 100:
        problems.append(f"--no-extrapolate simulated {stepped['simulated_percent']} % of the time step by step")
    print(f"Llama-3-8B decode on a trn2 logical core: {document['total_time'] * 1e3:.3f} ms predicted; {seconds:.2f} s of CPU "
          f"({wall:.2f} s passed) and {peak / 2**20:.0f} MiB on this host; without extrapolation {stepped_seconds:.2f} s of CPU, {difference:.4%} apart")
    for problem in problems:
        print(f"FAIL: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
