# SPDX-License-Identifier: Apache-2.0
"""(a) Square matrix products as NEFFs against the better of oneDNN and OpenBLAS. Two rows each: both operands plain
(each side's packing inside the time), and B packed beforehand in both. The peer of a row is the library whose median is
lowest; in a packed row, a library that runs faster from plain operands takes part with that."""
import json
import statistics
import subprocess
import sys

from measure import WORK, output_of, ratio_row, skipped_row

TARGET = 0.7
HLO = """HloModule matmul_{dtype}_{n}

ENTRY main {{
  a = {hlo}[{n},{n}] parameter(0)
  b = {hlo}[{n},{n}] parameter(1)
  ROOT c = f32[{n},{n}] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}
"""


def compile_neff(run, dtype, n):
    text, neff = WORK / f"{dtype}-{n}.hlo.txt", WORK / f"{dtype}-{n}.neff"
    text.write_text(HLO.format(dtype=dtype, n=n, hlo={"bf16": "bf16", "fp32": "f32"}[dtype]))
    output_of([run.bin / "glia", "compile", text, "-o", neff, "--target", "trn2", "--quiet", "--no-cache"], env=run.environment())
    return neff


def measure(run, found, dtype, n, label):
    neff = compile_neff(run, dtype, n)
    command = [run.bin / "matmul_bench", "--neff", neff, "--size", n, "--dtype", dtype, "--alternations", run.alternations,
               "--turn-ms", 2 if run.quick else 20]
    for shim, library in found["onednn"] + found["openblas"]:
        command += ["--peer", f"{shim}={library}"]
    # Threads that a library leaves spinning would be in the way of whoever is next: OpenBLAS's spin for 2^20 cycles, less
    # than the pause before each turn.
    env = run.environment(OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2", OPENBLAS_THREAD_TIMEOUT="20", **found.get("environment", {}))
    with subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as p:
        said = []
        for line in p.stderr:
            if line.startswith("turn "):
                run.progress.report(label, *(int(x) for x in line.split()[1].split("/")))
            else:
                said.append(line)
        text = p.stdout.read()
    if p.returncode != 0:
        sys.exit(f"bench: matmul_bench failed:\n{''.join(said)[-2000:]}")
    return json.loads(text)


def row(result, packed, label, missing):
    n = result["size"]
    ours = next(c for c in result["contenders"] if c["name"] == "glia" and c["packed"] == packed)
    theirs = [c for c in result["contenders"] if c["name"] != "glia" and (packed or not c["packed"])]
    if not theirs:
        return skipped_row("a", label, f">= {TARGET}x", "; ".join(f"{k}: {v}" for k, v in missing.items()))
    best = min(theirs, key=lambda c: statistics.median(c["seconds"]))
    others = [{"version": c["version"], "kernel": c["kernel"], "packed": c["packed"], "median_seconds": statistics.median(c["seconds"])}
              for c in theirs]
    return ratio_row("a", label, ours["seconds"], best["seconds"], TARGET, "GFLOP/s", lambda s: 2 * n ** 3 / s / 1e9,
                     f"{best['version'].split(' DYNAMIC_ARCH')[0]} {best['kernel']}", peers=others, missing=missing,
                     without=[s["why"] for s in result["skipped"]])


def rows(run, found):
    out = []
    for dtype in ("bf16", "fp32"):
        for n in (128, 256) if run.quick else (512, 1024, 2048, 4096):
            result = measure(run, found, dtype, n, f"(a) {dtype} {n}")
            for packed in (False, True):
                label = f"matmul {dtype} {n} {'B packed' if packed else 'plain'}"
                out.append(row(result, packed, label, found["missing"]))
    return out
