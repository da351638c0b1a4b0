#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The real checkpoint, token for token: `glia` in fp32 against a plain float64 NumPy model and against llama.cpp.

usage: tokens.py GLIA [reference | llama | perplexity]

reference   teacher-forced logits over 20 prompts x 64 positions: at most 1e-3 from the float64 model (weights
            dequantised by the gguf package), argmax equal wherever its two best differ by more than 2e-3
llama       the same against llama.cpp on the file expanded to F32 by its own quantise call, F32 cache, flash attention
            off: at most 0.05 (its GELU goes through an fp16 table), argmax equal where the two best differ by more; and
            greedy text equal up to the first place where they do not
perplexity  of a text of 2,000 tokens or more: bf16 within 1 % of fp32; prints the largest logit error of bf16

The prompts are ids of this project's own pages (prompts.json); the text is one of them. The checkpoint's path is
GLIA_GEMMA_GGUF; without it, or without the packages, the test is skipped and says so."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "model"))
from script import skip, skip_without  # noqa: E402

PROMPTS = json.loads((HERE / "prompts.json").read_text())
TEXT = HERE.parent.parent / "docs" / "isa.md"
GREEDY = 64


class Glia:
    def __init__(self, binary, model, *options):
        self.binary, self.model, self.options = binary, model, options

    def run(self, *args):
        done = subprocess.run([self.binary, *args, "--model", self.model, *self.options], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"FAIL: glia {' '.join(args)[:200]}: exit {done.returncode}: {done.stderr}")
        return done.stdout

    def logits(self, np, ids, dtype="fp32"):
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/out.npy"
            self.run("eval", "--ids", ",".join(map(str, ids)), "--dtype", dtype, "--logits", out)
            got = np.load(out)
        assert got.dtype == np.float32 and got.shape[0] == len(ids), (got.dtype, got.shape)
        return got.astype(np.float64)


class Verdict:
    """Collects how two sets of logits differ; `want` decides where argmax must agree."""

    def __init__(self, np, name, tolerance, margin):
        self.np, self.name, self.tolerance, self.margin = np, name, tolerance, margin
        self.worst, self.wrong, self.close, self.positions = 0.0, [], 0, 0

    def add(self, prompt, got, want):
        np = self.np
        self.worst = max(self.worst, float(np.abs(got - want).max()))
        best = np.partition(want, -2, axis=1)[:, -2:]
        clear = best[:, 1] - best[:, 0] > self.margin
        differ = got.argmax(1) != want.argmax(1)
        self.wrong += [(prompt, int(p)) for p in np.flatnonzero(differ & clear)]
        self.close += int((~clear).sum())
        self.positions += len(got)

    def tell(self):
        print(f"{self.name}: {self.positions} positions, largest difference {self.worst:.3g} (at most {self.tolerance:g}), "
              f"argmax differs at {len(self.wrong)} clear places ({self.close} are within {self.margin:g})")
        if self.worst > self.tolerance or self.wrong:
            sys.exit(f"FAIL: {self.name}: {self.worst} {self.wrong[:5]}")


def reference_test(glia, gguf_path):
    (np, _) = skip_without("numpy", "gguf")
    import reference
    model = reference.load(gguf_path)
    v = Verdict(np, "float64 model", 1e-3, 2e-3)
    for k, ids in enumerate(PROMPTS):
        v.add(k, glia.logits(np, ids), model.logits(ids))
    v.tell()
    assert v.positions == 20 * 64


def llama_test(glia, gguf_path):
    np, llama_cpp = skip_without("numpy", "llama_cpp")
    import reference_check
    with tempfile.TemporaryDirectory() as folder:
        expanded = pathlib.Path(folder) / "f32.gguf"
        reference_check.expand(gguf_path, expanded)
        peer = reference_check.Llama(expanded, 512)
        memory = llama_cpp.llama_get_memory(peer.context)
        v = Verdict(np, "llama.cpp", 0.05, 0.05)
        for k, ids in enumerate(PROMPTS):
            llama_cpp.llama_memory_clear(memory, True)
            v.add(k, glia.logits(np, ids), peer.logits(ids, len(ids)))
        v.tell()
        prompt = "The capital of France is"
        got = json.loads(glia.run("generate", "--prompt", prompt, "--max-tokens", str(GREEDY), "--temperature", "0", "--dtype", "fp32", "--json"))
        ids = list(got["prompt_ids"])
        assert ids == peer.tokens(prompt.encode()), (ids, peer.tokens(prompt.encode()))
        equal = 0
        for token in got["ids"]:
            llama_cpp.llama_memory_clear(memory, True)
            want = peer.logits(ids, 1)[0]
            if int(want.argmax()) != token:
                best = np.sort(want)[-2:]
                if best[1] - best[0] > 0.05:
                    sys.exit(f"FAIL: greedy token {equal}: glia {token}, llama.cpp {int(want.argmax())}, its two best {best}")
                break
            ids.append(token)
            equal += 1
        print(f"greedy: {equal} of {len(got['ids'])} tokens equal: {got['text']!r}")
        assert equal > 0


def perplexity_test(glia, gguf_path):
    (np,) = skip_without("numpy")
    found = {d: json.loads(glia.run("eval", "--file", str(TEXT), "--dtype", d, "--json")) for d in ("fp32", "bf16")}
    tokens, ratio = found["fp32"]["tokens"], found["bf16"]["perplexity"] / found["fp32"]["perplexity"]
    error = 0.0
    for ids in PROMPTS[:4]:
        error = max(error, float(np.abs(glia.logits(np, ids, "bf16") - glia.logits(np, ids)).max()))
    print(f"perplexity of {tokens} tokens: fp32 {found['fp32']['perplexity']:.4f}, bf16 {found['bf16']['perplexity']:.4f} "
          f"({(ratio - 1) * 100:+.3f} %); largest logit error of bf16 over {4 * 64} positions: {error:.3f}")
    assert tokens >= 2000, tokens
    if abs(ratio - 1) > 0.01:
        sys.exit("FAIL: bf16 is more than 1 % away")


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in ("reference", "llama", "perplexity"):
        sys.exit(__doc__)
    path = os.environ.get("GLIA_GEMMA_GGUF")
    if not path:
        skip("the checkpoint comes from the Python registry, which did not answer (GLIA_GEMMA_GGUF is not set)")
    {"reference": reference_test, "llama": llama_test, "perplexity": perplexity_test}[sys.argv[2]](Glia(sys.argv[1], path), path)


if __name__ == "__main__":
    main()
