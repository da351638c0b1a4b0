# SPDX-License-Identifier: Apache-2.0
"""Small random checkpoints of both families and both file formats, for the scripts of this folder."""
import dataclasses
import json

from script import skip_without

np, gguf = skip_without("numpy", "gguf")
import reference


@dataclasses.dataclass
class Sizes:
    vocab: int = 97
    width: int = 40
    ff: int = 56
    heads: int = 6
    kv: int = 2
    dim: int = 8
    layers: int = 4


def shapes(family, n):
    """Names of reference.py to shapes."""
    all_layers = {
        "attention_norm": (n.width,), "q": (n.heads * n.dim, n.width), "k": (n.kv * n.dim, n.width),
        "v": (n.kv * n.dim, n.width), "o": (n.width, n.heads * n.dim), "mlp_norm": (n.width,), "gate": (n.ff, n.width),
        "up": (n.ff, n.width), "down": (n.width, n.ff),
    }
    gemma = {"q_norm": (n.dim,), "k_norm": (n.dim,), "post_attention_norm": (n.width,), "post_mlp_norm": (n.width,)}
    out = {"embedding": (n.vocab, n.width), "output_norm": (n.width,)}
    for i in range(n.layers):
        for name, shape in (all_layers | (gemma if family == "gemma3" else {})).items():
            out[f"layers.{i}.{name}"] = shape
    return out


def random_weights(family, n, seed, head, norm_offset=0):
    """Weights that give logits of deviation around 1.5, and scores of deviation around 2 before softmax."""
    r = np.random.default_rng(seed)
    shape_of = shapes(family, n) | ({"head": (n.vocab, n.width)} if head else {})
    weights = {}
    for name, shape in shape_of.items():
        if len(shape) == 1:
            w = r.uniform(0.5, 1.5, shape) - norm_offset
        else:
            w = r.normal(0, 1.5 / shape[1] ** 0.5, shape)
        weights[name] = w.astype(np.float32)
    return weights


def write_gguf(path, family, n, weights, keys, factors=None):
    w = gguf.GGUFWriter(path, family)
    w.add_tokenizer_model("none")
    sizes = {"block_count": n.layers, "embedding_length": n.width, "feed_forward_length": n.ff, "context_length": 64,
             "attention.head_count": n.heads, "attention.head_count_kv": n.kv, "attention.key_length": n.dim,
             "attention.value_length": n.dim, "rope.dimension_count": n.dim, "vocab_size": n.vocab}
    for key, value in (sizes | keys).items():
        add = w.add_uint32 if isinstance(value, int) else w.add_float32 if isinstance(value, float) else w.add_string
        add(f"{family}.{key}", value)
    names = reference.gguf_names(n.layers)
    for ours, array in weights.items():
        w.add_tensor(names[ours], array)
    if factors is not None:
        w.add_tensor("rope_freqs.weight", factors)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return path


def write_hf(folder, family, n, weights, keys):
    """A folder of config.json and one safetensors file, whose matrices are bf16: upper halves of their float32."""
    folder.mkdir()
    sizes = {"num_hidden_layers": n.layers, "hidden_size": n.width, "intermediate_size": n.ff, "vocab_size": n.vocab,
             "num_attention_heads": n.heads, "num_key_value_heads": n.kv, "head_dim": n.dim,
             "max_position_embeddings": 64}
    (folder / "config.json").write_text(json.dumps(sizes | keys))
    names, header, data = reference.hf_names(family, n.layers), {}, b""
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


def checkpoints(folder, n=Sizes()):
    """(what, path, omissions that must show). Sequences go past the original rope length of 16."""
    yield "gemma3, GGUF", write_gguf(
        folder / "gemma.gguf", "gemma3", n, random_weights("gemma3", n, 1, head=False),
        {"attention.layer_norm_rms_epsilon": 1e-6, "attention.sliding_window": 5, "rope.freq_base": 1e6,
         "attention.sliding_window_pattern": 2}), GEMMA
    yield "gemma3, Hugging Face, linear rope, a head beside the tied one", write_hf(
        folder / "gemma", "gemma3", n, random_weights("gemma3", n, 2, head=True, norm_offset=1),
        {"model_type": "gemma3_text", "rms_norm_eps": 1e-6, "sliding_window": 7, "sliding_window_pattern": 3,
         "rope_theta": 1e5, "rope_local_base_freq": 500.0, "query_pre_attn_scalar": 12,
         "rope_scaling": {"rope_type": "linear", "factor": 8.0}}), GEMMA + ["rope_scaling", "tied_head"]
    yield "llama, GGUF, rope factors, tied", write_gguf(
        folder / "llama.gguf", "llama", n, random_weights("llama", n, 3, head=False),
        {"attention.layer_norm_rms_epsilon": 1e-5, "rope.freq_base": 500000.0},
        np.linspace(1, 8, n.dim // 2).astype(np.float32)), COMMON + ["rope_scaling"]
    yield "llama, GGUF, linear rope, own head", write_gguf(
        folder / "linear.gguf", "llama", n, random_weights("llama", n, 4, head=True),
        {"attention.layer_norm_rms_epsilon": 1e-5, "rope.freq_base": 100.0, "rope.scaling.type": "linear",
         "rope.scaling.factor": 4.0}), COMMON + ["rope_scaling"]
    yield "llama, Hugging Face, llama3 rope, a head beside the tied one", write_hf(
        folder / "llama", "llama", n, random_weights("llama", n, 5, head=True),
        {"model_type": "llama", "rms_norm_eps": 1e-5, "rope_theta": 300.0, "tie_word_embeddings": True,
         "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                          "original_max_position_embeddings": 16}}), COMMON + ["rope_scaling", "tied_head"]
