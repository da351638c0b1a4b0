# SPDX-License-Identifier: Apache-2.0
"""(d) `glia time` of a Llama 3 8B decode step on one trn2 logical core (LNC 2), from the config alone: compile and
simulation together, as a whole process; its peak memory; and whether --no-extrapolate agrees in total time."""
import json
import os
import subprocess
import sys
import time

from measure import ROOT, limit_row

SECONDS, MIB, APART = 3, 1024, 1.0
CONFIG = ROOT / "bench" / "data" / "llama-3-8b.json"


def timed(run, *more):
    """The document, wall-clock seconds and peak MiB of a process."""
    command = [run.bin / "glia", "time", "--config", CONFIG, "--phase", "decode", "--batch", "1", "--context", "2048",
               "--instance", "trn2.48xlarge", "--lnc", "2", "--no-cache", "--json", *more]
    begin = time.perf_counter()
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, env=run.environment())
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))} failed with code {process.returncode}")
    return json.loads(text), seconds, usage.ru_maxrss / 1024


def rows(run, found):
    seconds, memory = [], []
    for turn in range(run.alternations):
        document, s, mib = timed(run)
        seconds.append(s)
        memory.append(mib)
        run.progress.report("(d) glia time", turn + 1, run.alternations)
    whole, whole_s, _ = timed(run, "--no-extrapolate")
    fast, slow = document["total_time"], whole["total_time"]
    apart = 100 * abs(fast - slow) / slow
    label = "glia time, Llama 3 8B decode step"
    return [limit_row("d", label, seconds, SECONDS, "s", host=document["host"]),
            limit_row("d", f"{label}, peak memory", memory, MIB, "MiB"),
            limit_row("d", f"{label}, extrapolated against not", [apart], APART, "%", total_time=[fast, slow],
                      seconds_without=whole_s)]
