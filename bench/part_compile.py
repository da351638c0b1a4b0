# SPDX-License-Identifier: Apache-2.0
"""(c) Compile time of Gemma 3 270M, prefill of 512 and decode with a context of 1024 together, each in a new process:
with an empty cache, and from the cache that this filled."""
import shutil
import subprocess

from measure import WORK, limit_row, output_of, skipped_row
from part_model import model_file

COLD_S, CACHED_S = 5, 0.2


def rows(run, found):
    labels = ["compile Gemma 3 270M, cold", "compile Gemma 3 270M, from cache"]
    model, why = (tiny_model(run), None) if run.quick else model_file()
    if not model:
        return [skipped_row("c", label, f"< {limit} s", why) for label, limit in zip(labels, (COLD_S, CACHED_S))]
    sizes = (8, 16) if run.quick else (512, 1024)
    cache = WORK / "compile-cache"
    command = [run.bin / "model_bench", "compile", "--model", model, "--prefill", sizes[0], "--context", sizes[1], "--cache", cache]
    times = {0: [], 2: []}
    for turn in range(run.alternations):
        shutil.rmtree(cache, ignore_errors=True)
        for expected in (0, 2):
            seconds, hits = output_of(command, env=run.environment()).split()
            if int(hits) != expected:
                raise SystemExit(f"bench: {hits} of 2 programs came from the cache; {expected} were to")
            times[expected].append(float(seconds))
        run.progress.report("(c) compile", turn + 1, run.alternations)
    shutil.rmtree(cache, ignore_errors=True)
    return [limit_row("c", labels[0], times[0], COLD_S, "s"), limit_row("c", labels[1], times[2], CACHED_S, "s")]


def tiny_model(run):
    path = WORK / "tiny.gguf"
    if not path.exists():
        subprocess.run([run.bin / "tiny_model", path], check=True, stdout=subprocess.DEVNULL)
    return path
