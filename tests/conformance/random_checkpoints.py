#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`glia eval` on random checkpoints of both families and both file formats, in fp32 on the simulated device, against the
float64 model of tests/model/reference.py: sequences go past the original rope length, logits have a deviation of at
least 1, and the largest difference is at most 5e-4 of that deviation.

usage: random_checkpoints.py GLIA"""
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "model")]
from script import skip_without  # noqa: E402
from tokens import Glia  # noqa: E402

(np, _) = skip_without("numpy", "gguf")
import reference  # noqa: E402
from random_models import Sizes, checkpoints  # noqa: E402

TOKENS, TOLERANCE = 60, 5e-4
SIZES = {"odd": Sizes(), "whole tiles": Sizes(vocab=384, width=256, ff=512, heads=8, kv=2, dim=32, layers=3)}


def main():
    failed = 0
    for size, n in SIZES.items():
        with tempfile.TemporaryDirectory() as name:
            for what, path, _ in checkpoints(pathlib.Path(name), n):
                ids = np.random.default_rng(11).integers(0, n.vocab, TOKENS).tolist()
                want = reference.load(path).logits(ids)
                deviation = want.std()
                for target in ("trn1.2xlarge", "trn2.3xlarge"):
                    got = Glia(sys.argv[1], path, "--instance", target).logits(np, ids)
                    error = np.abs(got - want).max() / deviation
                    ok = error <= TOLERANCE and deviation >= 1
                    failed += not ok
                    print(f"{'ok' if ok else 'FAIL'} {what}, {size}, {target}: error {error:.1e} of the deviation {deviation:.2f}, "
                          f"at most {TOLERANCE:g}")
    sys.exit(1 if failed else 0)


main()
