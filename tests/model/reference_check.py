#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The float64 model of reference.py against llama.cpp (llama-cpp-python), so that what everything else is held against
is itself held against an implementation by others: on random GGUF checkpoints of both families, and on the real Gemma
checkpoint expanded to F32 by llama.cpp's own quantise call, past its window. F32 cache, flash attention off.

usage: reference_check.py PROBE [GGUF]  (PROBE is not used)"""
import pathlib
import sys
import tempfile

from script import skip_without

np, llama_cpp = skip_without("numpy", "llama_cpp")
import reference
from random_models import Sizes, checkpoints

# llama.cpp's GELU goes through a table of fp16 (measured up to 0.04 on the real checkpoint); Llama has none.
GEMMA_TOLERANCE, LLAMA_TOLERANCE = 0.05, 1e-3
REAL_TOKENS, REAL_ROWS = 600, 40    # the window of Gemma 3 270M is 512


class Llama:
    """One model in llama.cpp: logits of a sequence, ids of a text."""

    def __init__(self, path, context):
        llama_cpp.llama_backend_init()
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), llama_cpp.llama_model_default_params())
        p = llama_cpp.llama_context_default_params()
        p.n_ctx = p.n_batch = p.n_ubatch = context
        p.type_k = p.type_v = llama_cpp.GGML_TYPE_F32
        p.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        self.context = llama_cpp.llama_init_from_model(self.model, p)
        self.vocab = llama_cpp.llama_model_get_vocab(self.model)

    def logits(self, ids, rows):
        """Of the last `rows` positions."""
        batch = llama_cpp.llama_batch_init(len(ids), 0, 1)
        batch.n_tokens = len(ids)
        for i, token in enumerate(ids):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0] = token, i, 1, 0
            batch.logits[i] = i >= len(ids) - rows
        assert llama_cpp.llama_decode(self.context, batch) == 0
        size = llama_cpp.llama_vocab_n_tokens(self.vocab)
        at = range(len(ids) - rows, len(ids))
        out = [np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(self.context, i), (size,)).copy() for i in at]
        llama_cpp.llama_batch_free(batch)
        return np.array(out, np.float64)

    def tokens(self, text):
        room = (llama_cpp.llama_token * (len(text) + 8))()
        n = llama_cpp.llama_tokenize(self.vocab, text, len(text), room, len(room), True, False)
        return list(room[:n])


def expand(path, out):
    p = llama_cpp.llama_model_quantize_default_params()
    p.ftype, p.allow_requantize = llama_cpp.LLAMA_FTYPE_ALL_F32, True
    assert llama_cpp.llama_model_quantize(str(path).encode(), str(out).encode(), p) == 0


def compare(what, got, want, tolerance):
    """Largest difference, and argmax wherever the two best are further apart than the tolerance."""
    error = np.abs(got - want).max()
    best = np.sort(want, axis=-1)[:, -2:]
    parted = (got.argmax(-1) != want.argmax(-1)) & (best[:, 1] - best[:, 0] > tolerance)
    ok = error <= tolerance and not parted.any()
    print(f"{'ok' if ok else 'FAIL'} {what}: largest difference {error:.1e} of logits with deviation {want.std():.2f}, "
          f"at most {tolerance}; argmax differs in {parted.sum()} of {len(got)} rows")
    return ok


def main():
    ok = True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sizes = Sizes(vocab=96, width=128, ff=256, heads=4, kv=2, dim=32, layers=4)
        for what, path, _ in checkpoints(folder, sizes):
            if path.is_dir():
                continue        # llama.cpp reads GGUF only
            ids = np.random.default_rng(8).integers(0, sizes.vocab, 100).tolist()
            want = reference.load(path).logits(ids)
            tolerance = GEMMA_TOLERANCE if what.startswith("gemma") else LLAMA_TOLERANCE
            ok &= compare(what, Llama(path, 256).logits(ids, len(ids)), want, tolerance)
        if len(sys.argv) > 2:
            expand(sys.argv[2], folder / "f32.gguf")
            llama = Llama(folder / "f32.gguf", 1024)
            ids = llama.tokens(pathlib.Path(reference.__file__).read_bytes())[:REAL_TOKENS]
            want = reference.load(sys.argv[2]).logits(ids, REAL_ROWS)
            ok &= compare("the real Gemma 3 270M", llama.logits(ids, REAL_ROWS), want, GEMMA_TOLERANCE)
        else:
            print("the real checkpoint was not compared: GLIA_GEMMA_GGUF does not name it")
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
