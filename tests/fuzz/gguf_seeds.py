#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of tests/fuzz/corpus/gguf and .../safetensors: small files of every feature that the readers have,
made by the `gguf` and `safetensors` packages. Run it again only when a reader learns something new."""
import json
import pathlib
import sys
import tempfile

import gguf
import numpy as np
from safetensors.numpy import save

CORPUS = pathlib.Path(__file__).parent / "corpus"
RNG = np.random.default_rng(10)


def write(name, build, arch="llama"):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "m"
        w = gguf.GGUFWriter(path, arch)
        build(w)
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.write_tensors_to_file()
        w.close()
        (CORPUS / "gguf" / name).write_bytes(path.read_bytes())


def values(w):
    for bits in (8, 16, 32, 64):
        getattr(w, f"add_uint{bits}")(f"u{bits}", 1)
        getattr(w, f"add_int{bits}")(f"i{bits}", -1)
    w.add_float32("f32", 0.5)
    w.add_float64("f64", 0.25)
    w.add_bool("yes", True)
    w.add_array("nested", [[1, 2], [3]])
    w.add_array("texts", ["a", ""])


def packed(w):
    for name in ("F32", "F16", "BF16", "Q8_0", "Q5_0", "Q4_K", "Q6_K"):
        kind = gguf.GGMLQuantizationType[name]
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        raw = RNG.integers(0, 256, (1, size), dtype=np.uint8)
        w.add_tensor(name, raw, raw_dtype=kind)


def vocabulary(w):
    w.add_tokenizer_model("llama")
    tokens = ["<unk>", "<s>", "</s>", "\u2581", "a", "\u2581a", "\n", "\n\n", "<0x41>"]
    w.add_token_list(tokens)
    w.add_token_scores([0.0, 0.0, 0.0, -1.0, -2.0, -3.0, 0.0, 0.0, 0.0])
    w.add_token_types([2, 3, 3, 1, 1, 1, 4, 4, 6])


def model(w, arch):
    w.add_block_count(1)
    w.add_context_length(16)
    w.add_embedding_length(4)
    w.add_feed_forward_length(4)
    w.add_head_count(2)
    w.add_head_count_kv(1)
    w.add_key_length(2)
    w.add_layer_norm_rms_eps(1e-6)
    w.add_vocab_size(9)
    if arch == "gemma3":
        w.add_sliding_window(8)
        w.add_array("gemma3.attention.sliding_window_pattern", [True])
    else:
        w.add_tensor("rope_freqs.weight", np.ones(1, np.float32))
    vocabulary(w)


def safetensors_seeds():
    folder = CORPUS / "safetensors"
    (folder / "types").write_bytes(save({
        "a": np.ones((2, 3), np.float32), "b": np.ones(4, np.float16), "c": np.ones((), np.int64)}))
    (folder / "empty").write_bytes(save({}))
    (folder / "metadata").write_bytes(save({"x": np.zeros(1, np.float32)}, {"format": "pt"}))
    base = {"num_hidden_layers": 2, "hidden_size": 8, "intermediate_size": 16, "num_attention_heads": 2,
            "num_key_value_heads": 1, "vocab_size": 32, "max_position_embeddings": 64, "head_dim": 4}
    llama = dict(base, model_type="llama", eos_token_id=[1, 2], rope_scaling={
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32})
    gemma = dict(base, model_type="gemma3_text", layer_types=["sliding_attention", "full_attention"],
                 rope_parameters={"sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
                                  "full_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e6}})
    (folder / "config_llama").write_text(json.dumps(llama))
    (folder / "config_gemma").write_text(json.dumps(gemma))


def main():
    for name in ("gguf", "safetensors"):
        (CORPUS / name).mkdir(parents=True, exist_ok=True)
    write("values", values)
    write("packed", packed)
    write("vocabulary", vocabulary)
    write("llama", lambda w: model(w, "llama"))
    write("gemma3", lambda w: model(w, "gemma3"), "gemma3")
    safetensors_seeds()
    return 0


if __name__ == "__main__":
    sys.exit(main())
