# SPDX-License-Identifier: Apache-2.0
"""Writes the HLO texts of this folder: small JAX programs, before (<name>.hlo.txt) and after (<name>.opt.hlo.txt)
XLA's optimisation for CPU. Needs jax and numpy; run from the top of the tree: python3 tests/ir/hlo/make.py

The texts are committed, so that the tests need neither; they change with JAX's version, which is no reason to rerun."""
import os
import pathlib

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxlib import _hlo

HERE = pathlib.Path(__file__).resolve().parent
f32, bf16, i32 = jnp.float32, jnp.bfloat16, jnp.int32


def arg(dtype, *dims):
    return jax.ShapeDtypeStruct(dims, dtype)


def write(name, text):
    text = text.replace(str(HERE) + "/make.py", "tests/ir/hlo/make.py")
    (HERE / name).write_text(text.rstrip("\n") + "\n")


def dump(name, f, *args, donate=()):
    lowered = jax.jit(f, donate_argnums=donate).lower(*args)
    write(f"{name}.hlo.txt", lowered.compiler_ir("hlo").as_hlo_text(print_large_constants=True))
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    module = lowered.compile().runtime_executable().hlo_modules()[0]
    write(f"{name}.opt.hlo.txt", module.to_string(options))


# ---- products and layers ----
dump("matmul", lambda a, b: a @ b, arg(f32, 32, 48), arg(f32, 48, 64))
dump("matmul_batched", lambda a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,))), preferred_element_type=f32),
     arg(bf16, 4, 32, 48), arg(bf16, 4, 48, 64))


def mlp(x, w1, b1, w2, b2):
    return jax.nn.gelu(x @ w1 + b1) @ w2 + b2


dump("mlp", mlp, arg(f32, 8, 16), arg(f32, 16, 64), arg(f32, 64), arg(f32, 64, 16), arg(f32, 16))


def rmsnorm(x, w):
    h = x.astype(f32)
    return (h * lax.rsqrt(jnp.mean(h * h, -1, keepdims=True) + 1e-6) * w).astype(x.dtype)


def rope(x, pos, base=10000.0):
    d = x.shape[-1]
    angle = pos[:, None].astype(f32) * base ** (-jnp.arange(0, d, 2, dtype=f32) / d)
    c, s = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
    a, b = jnp.split(x.astype(f32), 2, -1)
    return jnp.concatenate([a * c - b * s, b * c + a * s], -1).astype(x.dtype)


def attention(x, p, pos, heads=4, kv=2, d=16):
    t = x.shape[0]
    q = rope((x @ p["q"]).reshape(t, heads, d), pos)
    k = rope((x @ p["k"]).reshape(t, kv, d), pos)
    v = (x @ p["v"]).reshape(t, kv, d)
    k, v = jnp.repeat(k, heads // kv, 1), jnp.repeat(v, heads // kv, 1)
    scores = jnp.einsum("thd,shd->hts", q, k, preferred_element_type=f32) / np.float32(np.sqrt(d))
    scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -jnp.inf)
    weights = jax.nn.softmax(scores, -1).astype(x.dtype)
    return jnp.einsum("hts,shd->thd", weights, v).reshape(t, heads * d) @ p["o"]


def attention_layer(x, w, p, pos):
    return x + attention(rmsnorm(x, w), p, pos)


def llama_layer(x, p, pos):
    h = x + attention(rmsnorm(x, p["norm1"]), p, pos)
    g = rmsnorm(h, p["norm2"])
    return h + (jax.nn.silu(g @ p["gate"]) * (g @ p["up"])) @ p["down"]


projections = {"q": arg(bf16, 64, 64), "k": arg(bf16, 64, 32), "v": arg(bf16, 64, 32), "o": arg(bf16, 64, 64)}
layer = dict(projections, norm1=arg(f32, 64), norm2=arg(f32, 64), gate=arg(bf16, 64, 128), up=arg(bf16, 64, 128),
             down=arg(bf16, 128, 64))
dump("attention_layer", attention_layer, arg(bf16, 8, 64), arg(f32, 64), projections, arg(i32, 8))
dump("llama_layer", llama_layer, arg(bf16, 8, 64), layer, arg(i32, 8))
dump("grad_mlp", jax.grad(lambda w, x: jnp.sum(jnp.tanh(x @ w) ** 2)), arg(f32, 6, 7), arg(f32, 3, 6))
dump("remat", jax.grad(jax.checkpoint(lambda w: jnp.sum(jnp.sin(jnp.sin(w))))), arg(f32, 6))

# ---- control ----
dump("scan", lambda c, xs: lax.scan(lambda c, x: (jnp.tanh(c @ x), c.sum()), c, xs), arg(f32, 4, 4), arg(f32, 6, 4, 4))
dump("while_loop", lambda n, x: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 0.5), (0, x)),
     arg(i32), arg(f32, 4))
dump("cond", lambda p, x: lax.cond(p > 0, lambda y: y * 2, lambda y: y - 1, x), arg(i32), arg(f32, 5))
dump("switch", lambda p, x: lax.switch(p, [lambda y: y * 2, lambda y: y - 1, jnp.sin], x), arg(i32), arg(f32, 5))

# ---- indexing, order ----
dump("gather_scatter", lambda t, i, u: (t.at[i].add(u), t[i], jnp.take(t, i, axis=1, mode="clip"), t.at[i, 0].set(1.0)),
     arg(f32, 8, 8), arg(i32, 3), arg(f32, 3, 8))
dump("gather_batched", lambda x, i: jnp.take_along_axis(x, i, axis=1), arg(f32, 4, 10), arg(i32, 4, 3))
dump("cache_update", lambda c, u, i: lax.dynamic_update_slice(c, u, (0, i, 0)), arg(bf16, 2, 16, 8), arg(bf16, 2, 1, 8),
     arg(i32), donate=(0,))
dump("dynamic_slice", lambda c, i: lax.dynamic_slice(c, (0, i, 0), (2, 4, 8)), arg(bf16, 2, 16, 8), arg(i32))
dump("sort", lambda x: (jnp.sort(x), jnp.argsort(x, -1), jnp.argmax(x, -1)), arg(f32, 4, 10))
dump("donated_pair", lambda a, b: (b + 1, a * 2), arg(f32, 3), arg(i32, 4), donate=(0, 1))

# ---- the rest ----
dump("constants", lambda x: (x + np.arange(12, dtype=np.float32).reshape(3, 4) * 1.1,
                             x.astype(jnp.int8) + np.array([-3, 4, 5, 127], np.int8),
                             jnp.where(np.array([True, False, True, False]), x, jnp.nan),
                             jnp.float16(2.5) * x.astype(jnp.float16),
                             x.astype(bf16) + np.array([1, 2.5, -3, 1e30], jnp.bfloat16)), arg(f32, 3, 4))
dump("elementwise", lambda x, y, i: (
    jnp.exp(x), jnp.expm1(x), jnp.log(x), jnp.log1p(x), jax.nn.sigmoid(x), jnp.tanh(x), lax.erf(x), jnp.sqrt(x),
    lax.rsqrt(x), jnp.floor(x), jnp.ceil(x), jnp.round(x), jnp.sign(x), jnp.abs(x), -x, x**y, lax.rem(x, y),
    jnp.clip(x, -1, 1), jnp.isfinite(x), i << 1, lax.shift_right_logical(i, 2), i >> 1, i ^ 3, ~i, i & 7, i | 8,
    jnp.maximum(x, y), jnp.minimum(x, y), lax.bitcast_convert_type(x, jnp.uint32), lax.reduce_precision(x, 8, 7),
    lax.pad(x, jnp.float32(0), [(1, 2, 3)]), x[::-1], x[1:3], x[0:4:2]), arg(f32, 4), arg(f32, 4), arg(i32, 4))
