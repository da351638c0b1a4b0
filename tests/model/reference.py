#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plain float64 forward passes of Gemma 3 and Llama in NumPy: what the graphs of src/model are held against.

It shares no code and no shortcut with them: one sequence, no cache, the whole T x T attention with a loop over query
heads, weights as the file has them (a llama GGUF is rotated in interleaved pairs, not reordered), rope scaling from
its definition. Weights are dequantised by the `gguf` package; a Hugging Face folder's are read here.

    model = reference.load("m.gguf" or "folder")        # names, sizes, weights
    logits = model.logits([2, 818, 5279])               # float64 [T, vocab]

usage: reference.py MODEL --ids 2,818,5279 [--out logits.npy]"""
import argparse
import json
import pathlib

import numpy as np

HEAD_ROWS = 16384       # of the head at a time, so that its float64 copy stays small


class Model:
    """A config as attributes (see the loaders) and `weight(name)`, an array as dequantised, kept once read."""

    def __init__(self, weights, **config):
        self.weights = weights      # our names, below, to a function that gives an array
        self.read = {}
        self.__dict__.update(config)

    def weight(self, name):
        if name not in self.read:
            self.read[name] = np.asarray(self.weights[name]())
        return self.read[name]

    def norm(self, x, name):
        w = self.weight(name).astype(np.float64) + self.norm_offset
        return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self.eps) * w

    def linear(self, x, name):
        w = self.weight(name)
        parts = [x @ w[at:at + HEAD_ROWS].astype(np.float64).T for at in range(0, len(w), HEAD_ROWS)]
        return np.concatenate(parts, axis=-1)

    def frequencies(self, local):
        base = self.local_base if local else self.base
        freq = base ** (-np.arange(0, self.head_dim, 2) / self.head_dim)
        return freq if local else self.scale_frequencies(freq)

    def scale_frequencies(self, freq):
        kind, s = self.scaling
        if kind == "linear":
            return freq / s["factor"]
        if kind == "factors":
            return freq / np.asarray(s, np.float64)
        if kind == "llama3":
            return np.array([llama3_frequency(f, s) for f in freq])
        assert kind == "none", kind
        return freq

    def rotate(self, x, local):
        """x [T, heads, head_dim], by position."""
        angle = np.arange(len(x))[:, None] * self.frequencies(local)[None, :]
        cos, sin = np.cos(angle)[:, None, :], np.sin(angle)[:, None, :]
        out = np.empty_like(x)
        a, b = (np.s_[..., 0::2], np.s_[..., 1::2]) if self.interleaved else \
               (np.s_[..., :self.head_dim // 2], np.s_[..., self.head_dim // 2:])
        out[a] = x[a] * cos - x[b] * sin
        out[b] = x[a] * sin + x[b] * cos
        return out

    def attention(self, x, i):
        t, p, local = len(x), f"layers.{i}.", self.is_local[i]
        q = self.linear(x, p + "q").reshape(t, self.heads, self.head_dim)
        k = self.linear(x, p + "k").reshape(t, self.kv_heads, self.head_dim)
        v = self.linear(x, p + "v").reshape(t, self.kv_heads, self.head_dim)
        if self.family == "gemma3":
            q, k = self.norm(q, p + "q_norm"), self.norm(k, p + "k_norm")
        q, k = self.rotate(q, local), self.rotate(k, local)
        distance = np.arange(t)[:, None] - np.arange(t)[None, :]
        seen = (distance >= 0) & ((distance < self.window) if local else True)
        out = np.empty_like(q)
        for h in range(self.heads):
            g = h // (self.heads // self.kv_heads)
            score = np.where(seen, q[:, h] @ k[:, g].T * self.attention_scale, -np.inf)
            e = np.exp(score - score.max(axis=-1, keepdims=True))
            out[:, h] = e / e.sum(axis=-1, keepdims=True) @ v[:, g]
        return self.linear(out.reshape(t, -1), p + "o")

    def mlp(self, x, i):
        gate, up = self.linear(x, f"layers.{i}.gate"), self.linear(x, f"layers.{i}.up")
        if self.family == "gemma3":
            act = 0.5 * gate * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate ** 3)))
        else:
            act = gate / (1 + np.exp(-gate))
        return self.linear(act * up, f"layers.{i}.down")

    def layer(self, h, i):
        p = f"layers.{i}."
        attended = self.attention(self.norm(h, p + "attention_norm"), i)
        if self.family == "gemma3":
            attended = self.norm(attended, p + "post_attention_norm")
        h = h + attended
        fed = self.mlp(self.norm(h, p + "mlp_norm"), i)
        if self.family == "gemma3":
            fed = self.norm(fed, p + "post_mlp_norm")
        return h + fed

    def logits(self, ids, rows=None):
        """float64 [T, vocab], or only the last `rows` rows."""
        h = self.weight("embedding")[np.asarray(ids)].astype(np.float64) * self.embedding_scale
        for i in range(self.layers):
            h = self.layer(h, i)
        h = h[-rows:] if rows else h
        return self.linear(self.norm(h, "output_norm"), "embedding" if self.tied else "head")


def llama3_frequency(freq, s):
    """Meta's apply_scaling: long waves are stretched, short ones kept, those between blended."""
    wave = 2 * np.pi / freq
    low, high, old = s["low_freq_factor"], s["high_freq_factor"], s["original_max_position_embeddings"]
    if wave < old / high:
        return freq
    if wave > old / low:
        return freq / s["factor"]
    smooth = (old / wave - low) / (high - low)
    return (1 - smooth) * freq / s["factor"] + smooth * freq


# our name, the name in GGUF, the name in a Hugging Face folder (of gemma3; of llama where it differs)
GLOBAL_NAMES = [
    ("embedding", "token_embd.weight", "model.embed_tokens.weight"),
    ("output_norm", "output_norm.weight", "model.norm.weight"),
    ("head", "output.weight", "lm_head.weight"),
]
LAYER_NAMES = [
    ("attention_norm", "attn_norm", "input_layernorm"),
    ("q", "attn_q", "self_attn.q_proj"),
    ("k", "attn_k", "self_attn.k_proj"),
    ("v", "attn_v", "self_attn.v_proj"),
    ("o", "attn_output", "self_attn.o_proj"),
    ("q_norm", "attn_q_norm", "self_attn.q_norm"),
    ("k_norm", "attn_k_norm", "self_attn.k_norm"),
    ("post_attention_norm", "post_attention_norm", "post_attention_layernorm"),
    ("mlp_norm", "ffn_norm", "pre_feedforward_layernorm"),
    ("gate", "ffn_gate", "mlp.gate_proj"),
    ("up", "ffn_up", "mlp.up_proj"),
    ("down", "ffn_down", "mlp.down_proj"),
    ("post_mlp_norm", "post_ffw_norm", "post_feedforward_layernorm"),
]


# ---- GGUF ----

def gguf_names(layers):
    names = {ours: theirs for ours, theirs, _ in GLOBAL_NAMES}
    for i in range(layers):
        names |= {f"layers.{i}.{ours}": f"blk.{i}.{theirs}.weight" for ours, theirs, _ in LAYER_NAMES}
    return names


def load_gguf(path):
    import gguf
    reader = gguf.GGUFReader(path)
    family = reader.fields["general.architecture"].contents()
    tensors = {t.name: t for t in reader.tensors}

    def get(key, default=None):
        field = reader.fields.get(f"{family}.{key}")
        assert field or default is not None, key
        return field.contents() if field else default

    def array(name):
        t = tensors[name]
        return gguf.quants.dequantize(t.data, t.tensor_type)

    layers, heads, width = get("block_count"), get("attention.head_count"), get("embedding_length")
    head_dim = get("attention.key_length", width // heads)
    window = get("attention.sliding_window", 0)
    pattern = get("attention.sliding_window_pattern", 6)
    is_local = pattern if isinstance(pattern, list) else [(i + 1) % pattern != 0 for i in range(layers)]
    scaling = ("none", None)
    if get("rope.scaling.type", "none") == "linear":
        scaling = ("linear", {"factor": get("rope.scaling.factor")})
    if "rope_freqs.weight" in tensors:
        scaling = ("factors", array("rope_freqs.weight"))
    names = gguf_names(layers)
    return Model(
        {ours: (lambda name=theirs: array(name)) for ours, theirs in names.items() if theirs in tensors},
        family=family, layers=layers, heads=heads, kv_heads=get("attention.head_count_kv", heads), head_dim=head_dim,
        eps=get("attention.layer_norm_rms_epsilon"), base=get("rope.freq_base", 10000.0),
        local_base=get("rope.freq_base_swa", 10000.0), scaling=scaling, interleaved=family == "llama", window=window,
        is_local=is_local if window else [False] * layers, attention_scale=head_dim ** -0.5, norm_offset=0,
        embedding_scale=width ** 0.5 if family == "gemma3" else 1, tied="output.weight" not in tensors)


# ---- Hugging Face ----

def hf_names(family, layers):
    llama = {"mlp_norm": "post_attention_layernorm"}
    names = {ours: theirs for ours, _, theirs in GLOBAL_NAMES}
    for i in range(layers):
        for ours, _, theirs in LAYER_NAMES:
            if family == "llama":
                theirs = llama.get(ours, theirs)
            names[f"layers.{i}.{ours}"] = f"model.layers.{i}.{theirs}.weight"
    return names


def read_safetensors(path):
    """Name to array: the header is a length and JSON, data follow it; bf16 is the upper half of a float32."""
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    arrays = {}
    for name, t in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = t["data_offsets"]
        raw = data[8 + size + begin:8 + size + end]
        if t["dtype"] == "BF16":
            values = (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            values = np.frombuffer(raw, {"F32": "<f4", "F16": "<f2"}[t["dtype"]]).astype(np.float32)
        arrays[name] = values.reshape(t["shape"])
    return arrays


def hf_scaling(config):
    s = config.get("rope_scaling")
    if not s:
        return "none", None
    return s.get("rope_type", s.get("type")), s


def load_hf(path):
    folder = pathlib.Path(path)
    config = json.loads((folder / "config.json").read_text())
    tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        tensors |= read_safetensors(file)
    gemma = config["model_type"] == "gemma3_text"
    family = "gemma3" if gemma else config["model_type"]
    layers, heads, width = config["num_hidden_layers"], config["num_attention_heads"], config["hidden_size"]
    head_dim = config.get("head_dim", width // heads)
    pattern = config.get("sliding_window_pattern", 6)
    names = hf_names(family, layers)
    return Model(
        {ours: (lambda name=theirs: tensors[name]) for ours, theirs in names.items() if theirs in tensors},
        family=family, layers=layers, heads=heads, kv_heads=config.get("num_key_value_heads", heads), head_dim=head_dim,
        eps=config["rms_norm_eps"], base=config.get("rope_theta", 1e6 if gemma else 1e4),
        local_base=config.get("rope_local_base_freq", 1e4), scaling=hf_scaling(config), interleaved=False,
        window=config.get("sliding_window", 4096) if gemma else 0,
        is_local=[gemma and (i + 1) % pattern != 0 for i in range(layers)],
        attention_scale=(config.get("query_pre_attn_scalar", 256) if gemma else head_dim) ** -0.5,
        norm_offset=1 if gemma else 0, embedding_scale=width ** 0.5 if gemma else 1,
        tied=config.get("tie_word_embeddings", gemma))


def load(path):
    return load_hf(path) if pathlib.Path(path).is_dir() else load_gguf(path)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model")
    p.add_argument("--ids", required=True)
    p.add_argument("--out")
    args = p.parse_args()
    logits = load(args.model).logits([int(i) for i in args.ids.split(",")])
    if args.out:
        np.save(args.out, logits)
    print(f"shape {list(logits.shape)}, standard deviation {logits.std():.3f}, argmax {logits.argmax(-1).tolist()}")


if __name__ == "__main__":
    main()
