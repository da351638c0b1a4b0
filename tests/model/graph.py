#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Model graphs, run by the reference evaluator, against the float64 model of reference.py, on random checkpoints:
prefill and decode together must give the full forward pass; and each feature, left out in turn, must show.

usage: graph.py GRAPH_PROBE"""
import pathlib
import subprocess
import sys
import tempfile

from script import skip_without

(np,) = skip_without("numpy")
import reference
from random_models import Sizes, checkpoints

PROBE = sys.argv[1]
VOCAB = Sizes().vocab
CONTEXT, BUCKET, PREFILL, TOKENS = 48, 24, 19, 44
# Of the logits' standard deviation. fp32 sums of a few dozen terms through four layers: measured at most 8e-6.
TOLERANCE = 5e-5
SHOWS = 2e-2        # what an omission must change at least; the largest tolerance of the project's tests is 5e-4
BF16_TOLERANCE = 0.25   # operands of 8 bits, twenty-eight products deep: measured at most 0.15


def run(path, dtype, ids, prefill, omit="none"):
    args = [PROBE, path, dtype, CONTEXT, BUCKET, prefill, omit, *ids]
    out = subprocess.run([str(a) for a in args], stdout=subprocess.PIPE, check=True).stdout
    return np.frombuffer(out, np.float32).reshape(len(ids), VOCAB).astype(np.float64)


def main():
    failed = 0

    def expect(ok, text):
        nonlocal failed
        failed += not ok
        print("ok" if ok else "FAIL", text)

    with tempfile.TemporaryDirectory() as name:
        for what, path, omissions in checkpoints(pathlib.Path(name)):
            ids = np.random.default_rng(7).integers(0, VOCAB, TOKENS).tolist()
            want = reference.load(path).logits(ids)
            deviation = want.std()
            expect(deviation >= 1, f"{what}: logits have standard deviation {deviation:.2f}, at least 1 is asked for")

            def error(dtype, prefill, omit="none"):
                return np.abs(run(path, dtype, ids, prefill, omit) - want).max() / deviation

            for prefill in (1, PREFILL, BUCKET):
                e = error("f32", prefill)
                expect(e <= TOLERANCE, f"{what}: prefill of {prefill} of {BUCKET}, then decode: error {e:.1e}, "
                                       f"at most {TOLERANCE}")
            e = error("bf16", PREFILL)
            expect(e <= BF16_TOLERANCE, f"{what}: bf16: error {e:.1e}, at most {BF16_TOLERANCE}")
            for omit in omissions:
                e = error("f32", PREFILL, omit)
                expect(e >= SHOWS, f"{what}: without {omit}: error {e:.1e}, at least {SHOWS}")
    sys.exit(1 if failed else 0)


main()
