#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Model graphs, run by the reference evaluator, against the float64 model of reference.py, on random checkpoints that
this script makes: prefill and decode together must give the full forward pass; and each feature, left out in turn,
must show.

usage: graph.py GRAPH_PROBE"""
import json
import pathlib
import subprocess
import sys
import tempfile

from script import skip_without

np, gguf = skip_without("numpy", "gguf")
import reference

PROBE = sys.argv[1]
VOCAB, WIDTH, FF, HEADS, KV, DIM, LAYERS = 97, 40, 56, 6, 2, 8, 4
CONTEXT, BUCKET, PREFILL, TOKENS = 48, 24, 19, 44
# Of the logits' standard deviation. fp32 sums of a few dozen terms through four layers: measured at most 8e-6.
TOLERANCE = 5e-5
SHOWS = 2e-2        # what an omission must change at least; the largest tolerance of the project's tests is 5e-4
BF16_TOLERANCE = 0.25   # operands of 8 bits, twenty-eight products deep: measured at most 0.15


def shapes(family):
    """Our names of reference.py to shapes."""
    all_layers = {
        "attention_norm": (WIDTH,), "q": (HEADS * DIM, WIDTH), "k": (KV * DIM, WIDTH), "v": (KV * DIM, WIDTH),
        "o": (WIDTH, HEADS * DIM), "mlp_norm": (WIDTH,), "gate": (FF, WIDTH), "up": (FF, WIDTH), "down": (WIDTH, FF),
    }
    gemma = {"q_norm": (DIM,), "k_norm": (DIM,), "post_attention_norm": (WIDTH,), "post_mlp_norm": (WIDTH,)}
    out = {"embedding": (VOCAB, WIDTH), "output_norm": (WIDTH,)}
    for i in range(LAYERS):
        for name, shape in (all_layers | (gemma if family == "gemma3" else {})).items():
            out[f"layers.{i}.{name}"] = shape
    return out


def random_weights(family, seed, head, norm_offset=0):
    r = np.random.default_rng(seed)
    shape_of = shapes(family) | ({"head": (VOCAB, WIDTH)} if head else {})
    weights = {}
    for name, shape in shape_of.items():
        if len(shape) == 1:
            w = r.uniform(0.5, 1.5, shape) - norm_offset
        else:
            w = r.normal(0, 1.5 / shape[1] ** 0.5, shape)
        weights[name] = w.astype(np.float32)
    return weights


def write_gguf(path, family, weights, keys, factors=None):
    w = gguf.GGUFWriter(path, family)
    sizes = {"block_count": LAYERS, "embedding_length": WIDTH, "feed_forward_length": FF, "context_length": 64,
             "attention.head_count": HEADS, "attention.head_count_kv": KV, "attention.key_length": DIM,
             "attention.value_length": DIM}
    for key, value in (sizes | keys).items():
        add = w.add_uint32 if isinstance(value, int) else w.add_float32 if isinstance(value, float) else w.add_string
        add(f"{family}.{key}", value)
    names = reference.gguf_names(LAYERS)
    for ours, array in weights.items():
        w.add_tensor(names[ours], array)
    if factors is not None:
        w.add_tensor("rope_freqs.weight", factors)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return path


def write_hf(folder, family, weights, keys):
    """A folder of config.json and one safetensors file, whose matrices are bf16: upper halves of their float32."""
    folder.mkdir()
    sizes = {"num_hidden_layers": LAYERS, "hidden_size": WIDTH, "intermediate_size": FF, "num_attention_heads": HEADS,
             "num_key_value_heads": KV, "head_dim": DIM, "vocab_size": VOCAB, "max_position_embeddings": 64}
    (folder / "config.json").write_text(json.dumps(sizes | keys))
    names, header, data = reference.hf_names(family, LAYERS), {}, b""
    for ours, array in weights.items():
        raw = (array.view(np.uint32) >> 16).astype("<u2").tobytes() if array.ndim == 2 else array.tobytes()
        header[names[ours]] = {"dtype": "BF16" if array.ndim == 2 else "F32", "shape": list(array.shape),
                               "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    return folder


COMMON = ["grouped_heads", "rope_base"]
GEMMA = COMMON + ["rope_base_local", "sliding_window", "qk_norms", "post_norms", "embedding_scale"]


def checkpoints(folder):
    """(what, path, omissions that must show). Sequences go past the original rope length of 16."""
    yield "gemma3, GGUF", write_gguf(
        folder / "gemma.gguf", "gemma3", random_weights("gemma3", 1, head=False),
        {"attention.layer_norm_rms_epsilon": 1e-6, "attention.sliding_window": 5, "rope.freq_base": 1e6,
         "attention.sliding_window_pattern": 2}), GEMMA
    yield "gemma3, Hugging Face, linear rope, a head beside the tied one", write_hf(
        folder / "gemma", "gemma3", random_weights("gemma3", 2, head=True, norm_offset=1),
        {"model_type": "gemma3_text", "rms_norm_eps": 1e-6, "sliding_window": 7, "sliding_window_pattern": 3,
         "rope_theta": 1e5, "rope_local_base_freq": 500.0, "query_pre_attn_scalar": 12,
         "rope_scaling": {"rope_type": "linear", "factor": 8.0}}), GEMMA + ["rope_scaling", "tied_head"]
    yield "llama, GGUF, rope factors, tied", write_gguf(
        folder / "llama.gguf", "llama", random_weights("llama", 3, head=False),
        {"attention.layer_norm_rms_epsilon": 1e-5, "rope.freq_base": 500000.0, "vocab_size": VOCAB},
        np.array([1, 1.5, 4, 8], np.float32)), COMMON + ["rope_scaling"]
    yield "llama, GGUF, linear rope, own head", write_gguf(
        folder / "linear.gguf", "llama", random_weights("llama", 4, head=True),
        {"attention.layer_norm_rms_epsilon": 1e-5, "rope.freq_base": 100.0, "rope.scaling.type": "linear",
         "rope.scaling.factor": 4.0, "vocab_size": VOCAB}), COMMON + ["rope_scaling"]
    yield "llama, Hugging Face, llama3 rope, a head beside the tied one", write_hf(
        folder / "llama", "llama", random_weights("llama", 5, head=True),
        {"model_type": "llama", "rms_norm_eps": 1e-5, "rope_theta": 300.0, "tie_word_embeddings": True,
         "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                          "original_max_position_embeddings": 16}}), COMMON + ["rope_scaling", "tied_head"]


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
                expect(e <= TOLERANCE, f"{what}: prefill of {prefill} of {BUCKET}, then decode: error {e:.1e}, at most {TOLERANCE}")
            e = error("bf16", PREFILL)
            expect(e <= BF16_TOLERANCE, f"{what}: bf16: error {e:.1e}, at most {BF16_TOLERANCE}")
            for omit in omissions:
                e = error("f32", PREFILL, omit)
                expect(e >= SHOWS, f"{what}: without {omit}: error {e:.1e}, at least {SHOWS}")
    sys.exit(1 if failed else 0)


main()
