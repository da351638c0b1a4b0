# SPDX-License-Identifier: Apache-2.0
"""What the parts of bench/run share: running programs, statistics of turns, rows of the table, progress.

A ratio is taken within one alternation, peer's seconds by ours: above 1, glia is faster. A row's value is the median of
those ratios, with their quartiles.
"""
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "bench"


class Progress:
    """One line on a terminal, after half a second; nothing elsewhere."""

    def __init__(self):
        self.begun = time.monotonic()
        self.shown = False

    def report(self, what, done, total):
        if sys.stderr.isatty() and time.monotonic() - self.begun > 0.5:
            full = 30 * done // max(total, 1)
            print(f"\r\033[K{what} [{'#' * full}{'.' * (30 - full)}] {done}/{total}", end="", file=sys.stderr, flush=True)
            self.shown = True

    def clear(self):
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self.shown = False


class Run:
    def __init__(self, options):
        self.quick = options.quick
        self.no_peers = options.no_peers
        self.refresh = options.refresh
        self.bin = (ROOT / options.build / "bin").resolve()
        self.threads = 2
        self.alternations = 3 if options.quick else 21
        self.cpus = sorted(os.sched_getaffinity(0))[:self.threads]
        self.progress = Progress()
        os.sched_setaffinity(0, self.cpus)      # children inherit it: both sides run on these two
        WORK.mkdir(parents=True, exist_ok=True)
        for program in ("glia", "matmul_bench", "model_bench", "tiny_model"):
            if not (self.bin / program).exists():
                sys.exit(f"bench: '{self.bin / program}' is not built\nhint: make bench builds it")

    def environment(self, **more):
        """Without what pins old kernels in the peers, or changes what glia does."""
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(("OPENBLAS_", "OMP_", "GOMP_", "KMP_", "DNNL_", "ONEDNN_", "GLIA_", "NEURON_"))}
        env.update(more)
        return env


def output_of(command, **more):
    """Standard output of a program that must succeed."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(str(c) for c in command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def quartiles(values):
    if len(values) < 2:
        return [values[0], values[0]]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return [low, high]


def ratio_row(part, what, ours, theirs, target, unit, scale, against, **more):
    """A row whose value is how many times faster we are; `scale` turns seconds into `unit` (a rate or a time)."""
    ratios = [t / o for o, t in zip(ours, theirs)]
    value = statistics.median(ratios)
    return {"part": part, "what": what, "glia": scale(statistics.median(ours)), "peer": scale(statistics.median(theirs)),
            "unit": unit, "value": value, "quartiles": quartiles(ratios), "alternations": len(ratios), "target": target,
            "target_text": f">= {target}x", "pass": value >= target, "against": against,
            "glia_seconds": ours, "peer_seconds": theirs, **more}


def limit_row(part, what, values, limit, unit, **more):
    """A row whose value must stay under a limit."""
    value = statistics.median(values)
    return {"part": part, "what": what, "glia": value, "peer": None, "unit": unit, "value": value,
            "quartiles": quartiles(values), "alternations": len(values), "target": limit, "target_text": f"< {limit} {unit}",
            "pass": value < limit, "against": "", "values": values, **more}


def skipped_row(part, what, target_text, why):
    return {"part": part, "what": what, "target_text": target_text, "skipped": why, "pass": None}
