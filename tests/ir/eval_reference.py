# SPDX-License-Identifier: Apache-2.0
"""Compares the IR evaluator with NumPy on random programs: eval_reference.py EVAL_CLI [--seed N] [--rounds N] [--keep DIR].

Each case is one op (or a small region op) on random shapes, dtypes and attributes: its HLO text and raw inputs are
written into a directory, EVAL_CLI evaluates all of them, and the results are compared. What NumPy computes here is
written from the StableHLO specification's definitions, element by element where that is plainest; it shares nothing
with the evaluator. Tolerance 0 means equal bits (a NaN equals any NaN); otherwise it is in units in the last place.
Exit status 0 if all agree, 1 with the first differences if not.
"""
import argparse
import math
import os
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np

HLO = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2,
    "s64": np.int64, "s32": np.int32, "s16": np.int16, "s8": np.int8,
    "u64": np.uint64, "u32": np.uint32, "u16": np.uint16, "u8": np.uint8, "pred": np.bool_,
    "c64": np.complex64, "c128": np.complex128,
}
NAMES = {np.dtype(v): k for k, v in HLO.items()}
FLOATS = ["f64", "f32", "f16", "bf16", "f8e4m3fn", "f8e5m2"]
INTS = ["s64", "s32", "s16", "s8", "u64", "u32", "u16", "u8"]
rng = None


def is_float(t):
    return t in FLOATS


def type_text(dtype, shape):
    return f"{NAMES[np.dtype(dtype)]}[{','.join(map(str, shape))}]"


def typed(a):
    return type_text(a.dtype, a.shape)


def braces(xs):
    return "{" + ",".join(str(int(x)) for x in xs) + "}"


def random_shape(max_rank=4, max_dim=5, min_rank=0, zeros=True):
    rank = rng.integers(min_rank, max_rank + 1)
    return tuple(int(d) for d in rng.integers(0 if zeros and rng.random() < 0.1 else 1, max_dim + 1, rank))


EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, np.inf, -np.inf, np.nan, 1e-40, 3e38, 65504.0, 1e-7, 448.0]


def random_array(t, shape, small=False):
    """Values with many edges among them; `small` ones are integers near 0, exact in every dtype and sum."""
    if t == "pred":
        return rng.random(shape) < 0.5
    if t in ("c64", "c128"):
        return (rng.integers(-4, 5, shape) + 1j * rng.integers(-4, 5, shape)).astype(HLO[t])
    if small:
        low = 0 if t.startswith("u") else -4
        return rng.integers(low, 5, shape).astype(HLO[t])
    if t in INTS:
        info = np.iinfo(HLO[t])
        wide = rng.integers(info.min, info.max, shape, dtype=HLO[t], endpoint=True)
        edge = rng.choice(np.array([info.min, info.max, 0, 1, 2, 7, 8, 31], dtype=HLO[t]), shape)
        return np.where(rng.random(shape) < 0.5, wide, edge).astype(HLO[t])
    with np.errstate(all="ignore"):
        x = rng.standard_normal(shape) * np.exp2(rng.integers(-12, 12, shape))
        x = np.where(rng.random(shape) < 0.25, rng.choice(EDGES, shape), x)
        return x.astype(np.float32 if t != "f64" else np.float64).astype(HLO[t])


class Case:
    def __init__(self, name, inputs, body, want, regions="", ulps=0):
        self.name, self.inputs, self.want, self.ulps = name, inputs, want, ulps
        lines = [f"  p{i} = {typed(a)} parameter({i})" for i, a in enumerate(inputs)]
        self.text = f"HloModule {name.split(' ')[0].replace('-', '_')}\n{regions}\nENTRY main {{\n" + \
            "\n".join(lines + ["  " + line for line in body]) + "\n}\n"


def op_case(name, inputs, attributes, want, regions="", ulps=0):
    operands = ", ".join(f"p{i}" for i in range(len(inputs)))
    return Case(f"{name} {' '.join(map(typed, inputs))}{attributes}", inputs,
                [f"ROOT r = {typed(want)} {name}({operands}){attributes}"], [want], regions, ulps)


# ---- elementwise ----
def through_f32(t, wide):
    """fp64 results rounded to fp32, then to the dtype: what an engine that computes in fp32 writes."""
    with np.errstate(all="ignore"):
        return np.asarray(wide).astype(np.float64 if t == "f64" else np.float32).astype(HLO[t])


UNARY = {
    "exponential": np.exp, "exponential-minus-one": np.expm1, "log": np.log, "log-plus-one": np.log1p, "tanh": np.tanh,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "sine": np.sin, "cosine": np.cos, "floor": np.floor,
    "ceil": np.ceil, "round-nearest-even": np.rint, "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "erf": lambda x: np.vectorize(math.erf, otypes=[float])(x), "abs": np.abs, "negate": np.negative,
    "sign": lambda x: np.where(np.isnan(x) | (x == 0), x, np.sign(x)),
}
EXACT_UNARY = {"sqrt", "floor", "ceil", "round-nearest-even", "abs", "negate", "sign"}


def unary_float(op):
    t = rng.choice(FLOATS)
    x = random_array(t, random_shape())
    with np.errstate(all="ignore"):
        want = through_f32(t, UNARY[op](x.astype(np.float64)))
    return op_case(op, [x], "", want, ulps=0 if op in EXACT_UNARY else 4 if t == "f64" else 1)     # NumPy promises 4 in fp64


def fmax(x, y):
    r = np.where(x > y, x, np.where(y > x, y, np.where(np.signbit(x), y, x)))
    return np.where(np.isnan(x) | np.isnan(y), np.nan, r)


BINARY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "remainder": np.fmod,
          "power": np.power, "maximum": fmax, "minimum": lambda x, y: -fmax(-x, -y)}


def binary_float(op):
    t = rng.choice(FLOATS)
    shape = random_shape()
    x, y = random_array(t, shape), random_array(t, shape)
    with np.errstate(all="ignore"):
        want = through_f32(t, BINARY[op](x.astype(np.float64), y.astype(np.float64)))
        if t in ("f32", "f16") and op in ("add", "subtract", "multiply", "divide"):
            want = BINARY[op](x, y)         # NumPy's own arithmetic of that width
    return op_case(op, [x, y], "", np.asarray(want, HLO[t]), ulps=4 if op == "power" else 0)


def wrap(value, t):
    bits = np.iinfo(HLO[t]).bits
    value &= (1 << bits) - 1
    return value - (1 << bits) if t.startswith("s") and value >> (bits - 1) else value


def int_divide(x, y, t):
    if y == 0:
        return -1
    q = abs(x) // abs(y)
    return q if (x < 0) == (y < 0) else -q


def int_power(x, y, t):
    if y < 0:
        return 1 if x == 1 else (-1 if y % 2 else 1) if x == -1 else 0
    return pow(x, y, 1 << 64)


def int_shift(op):
    def shift(x, y, t):
        bits = np.iinfo(HLO[t]).bits
        y &= (1 << bits) - 1
        if op == "shift-left":
            return x << y if y < bits else 0
        if op == "shift-right-logical":
            return (x & (1 << bits) - 1) >> y if y < bits else 0
        x &= (1 << bits) - 1
        x = x - (1 << bits) if x >> (bits - 1) else x
        return x >> min(y, bits)
    return shift


INT_BINARY = {
    "add": lambda x, y, t: x + y, "subtract": lambda x, y, t: x - y, "multiply": lambda x, y, t: x * y,
    "divide": int_divide, "remainder": lambda x, y, t: x if y == 0 else x - y * int_divide(x, y, t), "power": int_power,
    "maximum": lambda x, y, t: max(x, y), "minimum": lambda x, y, t: min(x, y), "and": lambda x, y, t: x & y,
    "or": lambda x, y, t: x | y, "xor": lambda x, y, t: x ^ y,
    **{op: int_shift(op) for op in ("shift-left", "shift-right-logical", "shift-right-arithmetic")},
}


def binary_int(op):
    t = rng.choice(INTS)
    shape = random_shape()
    x, y = random_array(t, shape), random_array(t, shape)
    want = [wrap(INT_BINARY[op](int(a), int(b), t), t) for a, b in zip(x.flat, y.flat)]
    return op_case(op, [x, y], "", np.array(want, HLO[t]).reshape(shape))


DIRECTIONS = {"EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal}


def compare():
    t = rng.choice(FLOATS + INTS + ["pred"])
    shape, d = random_shape(), rng.choice(list(DIRECTIONS))
    x = random_array(t, shape)
    y = np.where(rng.random(shape) < 0.4, x, random_array(t, shape)).astype(x.dtype)
    wide = (lambda a: a.astype(np.float64)) if is_float(t) else (lambda a: a)
    return op_case("compare", [x, y], f", direction={d}", np.asarray(DIRECTIONS[d](wide(x), wide(y)), np.bool_))


def convert_value(x, source, target):
    if target == "pred":
        return x != 0
    if target in INTS and is_float(source):
        info = np.iinfo(HLO[target])
        if math.isnan(x):
            return 0
        return info.max if x >= info.max else info.min if x <= info.min else int(x)
    return wrap(int(x), target)


def convert():
    source, target = rng.choice(FLOATS + INTS + ["pred"], 2, replace=False)
    x = random_array(source, random_shape())
    with np.errstate(all="ignore"):
        if is_float(target) and is_float(source):
            want = x.astype(np.float64).astype(HLO[target])
        elif is_float(target):
            want = np.array([int(v) for v in x.flat], object).reshape(x.shape)
            # NumPy has no single rounding from 64 bits to bf16; values that fp64 holds are enough for those.
            if target in ("f32", "f64", "f16"):
                want = x.astype(HLO[target]) if target != "f16" else x.astype(np.float64).astype(np.float16)
            else:
                want = x.astype(np.float64).astype(HLO[target])
        else:
            wide = x.astype(np.float64) if is_float(source) else x
            want = np.array([convert_value(v.item(), source, target) for v in wide.flat], HLO[target]).reshape(x.shape)
    return op_case("convert", [x], "", np.asarray(want, HLO[target]))


def select():
    t = rng.choice(list(HLO))
    shape = random_shape()
    pred = np.asarray(rng.random(() if rng.random() < 0.3 else shape) < 0.5)
    x, y = random_array(t, shape), random_array(t, shape)
    return op_case("select", [pred, x, y], "", np.where(pred, x, y).astype(x.dtype))


def clamp():
    t = rng.choice(["f32", "bf16", "s32", "u8"])
    shape = random_shape()
    bound = () if rng.random() < 0.5 else shape
    low, x, high = random_array(t, bound, True), random_array(t, shape), random_array(t, bound, True)
    if is_float(t):
        wide = [np.broadcast_to(a, shape).astype(np.float64) for a in (low, x, high)]
        want = -fmax(-fmax(wide[1], wide[0]), -wide[2])
    else:
        want = np.minimum(np.maximum(x, low), high)
    return op_case("clamp", [low, x, high], "", np.asarray(want).astype(HLO[t]))


# ---- moves ----
def broadcast():
    shape = random_shape(5)
    n = rng.integers(0, len(shape) + 1)
    dims = rng.permutation(len(shape))[:n]
    x = random_array(rng.choice(list(HLO)), tuple(shape[d] for d in dims))
    want = np.empty(shape, x.dtype)
    for i in np.ndindex(*shape):
        want[i] = x[tuple(i[d] for d in dims)]
    return op_case("broadcast", [x], f", dimensions={braces(dims)}", want)


def transpose():
    x = random_array(rng.choice(list(HLO)), random_shape(5))
    order = rng.permutation(x.ndim)
    return op_case("transpose", [x], f", dimensions={braces(order)}", np.transpose(x, order))


def slice_():
    x = random_array(rng.choice(list(HLO)), random_shape())
    spec = []
    for d in x.shape:
        a, b = sorted(rng.integers(0, d + 1, 2))
        spec.append((int(a), int(b), int(rng.integers(1, 4))))
    text = ", ".join(f"[{a}:{b}:{s}]" for a, b, s in spec)
    return op_case("slice", [x], f", slice={{{text}}}", x[tuple(slice(*s) for s in spec)])


def pad():
    x, value = random_array("s32", random_shape(3)), random_array("s32", ())
    spec = []
    for n in x.shape:
        interior = int(rng.integers(0, 3))
        full = n + max(n - 1, 0) * interior
        low = int(rng.integers(-3, 4))
        high = int(rng.integers(max(-3, -(low + full)), 4))
        spec.append((low, high, interior, max(low + full + high, 0)))
    want = np.full([s[3] for s in spec], value)
    for i in np.ndindex(*x.shape):
        at = tuple(s[0] + k * (s[2] + 1) for s, k in zip(spec, i))
        if all(0 <= a < s[3] for a, s in zip(at, spec)):
            want[at] = x[i]
    if any(s[0] + s[1] + n + max(n - 1, 0) * s[2] < 0 for s, n in zip(spec, x.shape)):
        return pad()
    text = "x".join(f"{a}_{b}_{i}" for a, b, i, _ in spec)
    return op_case("pad", [x, value], f", padding={text}" if spec else ", padding={}", want) if spec else pad()


def concatenate():
    shape = random_shape(min_rank=1)
    d = int(rng.integers(0, len(shape)))
    t = rng.choice(list(HLO))
    xs = [random_array(t, shape[:d] + (int(rng.integers(0, 4)),) + shape[d + 1:]) for _ in range(rng.integers(1, 5))]
    return op_case("concatenate", xs, f", dimensions={{{d}}}", np.concatenate(xs, d))


def reverse():
    x = random_array(rng.choice(list(HLO)), random_shape())
    dims = [d for d in range(x.ndim) if rng.random() < 0.5]
    return op_case("reverse", [x], f", dimensions={braces(dims)}", np.flip(x, dims))


def dynamic_slice():
    x = random_array("s32", random_shape(min_rank=1, zeros=False))
    sizes = [int(rng.integers(0, d + 1)) for d in x.shape]
    kind = HLO[rng.choice(["s32", "s64", "s8", "u8"])]
    starts = [np.array(rng.integers(-3 if kind != np.uint8 else 0, 8), kind) for _ in sizes]
    at = [min(max(int(s), 0), d - n) for s, d, n in zip(starts, x.shape, sizes)]
    want = x[tuple(slice(a, a + n) for a, n in zip(at, sizes))]
    return op_case("dynamic-slice", [x] + starts, f", dynamic_slice_sizes={braces(sizes)}", want)


def dynamic_update_slice():
    x = random_array("f32", random_shape(min_rank=1, zeros=False))
    u = random_array("f32", tuple(int(rng.integers(0, d + 1)) for d in x.shape))
    starts = [np.array(rng.integers(-3, 8), np.int32) for _ in x.shape]
    want = x.copy()
    at = [min(max(int(s), 0), d - n) for s, d, n in zip(starts, x.shape, u.shape)]
    want[tuple(slice(a, a + n) for a, n in zip(at, u.shape))] = u
    return op_case("dynamic-update-slice", [x, u] + starts, "", want)


# ---- dot, reduce, gather, scatter, sort ----
def dot():
    letters = iter("abcdefghijklmnop")
    batch, contract, lhs_free, rhs_free = ([next(letters) for _ in range(rng.integers(0, 3))] for _ in range(4))
    size = {c: int(rng.integers(0 if rng.random() < 0.05 else 1, 5)) for c in batch + contract + lhs_free + rhs_free}
    lhs, rhs = (list(rng.permutation(batch + contract + free)) for free in (lhs_free, rhs_free))
    t, result = [("f32", "f32"), ("bf16", "f32"), ("bf16", "bf16"), ("s8", "s32"), ("s32", "s32"), ("f64", "f64"), ("u8", "u8"),
                 ("c64", "c64"), ("f16", "f32")][rng.integers(0, 9)]
    x, y = (random_array(t, tuple(size[c] for c in dims), True) for dims in (lhs, rhs))
    order = batch + [c for c in lhs if c in lhs_free] + [c for c in rhs if c in rhs_free]
    wide = np.complex128 if t[0] == "c" else np.int64 if t in INTS else np.float64
    want = np.einsum(f"{''.join(lhs)},{''.join(rhs)}->{''.join(order)}", x.astype(wide), y.astype(wide))
    attributes = f", lhs_batch_dims={braces(map(lhs.index, batch))}, rhs_batch_dims={braces(map(rhs.index, batch))}" \
        f", lhs_contracting_dims={braces(map(lhs.index, contract))}, rhs_contracting_dims={braces(map(rhs.index, contract))}"
    return op_case("dot", [x, y], attributes, np.asarray(want).astype(HLO[result]))


def dot_real():
    """Real-valued fp32 products within the error bound of an fp32 sum."""
    m, k, n = (int(v) for v in rng.integers(1, 40, 3))
    x, y = (rng.standard_normal(s).astype(np.float32) for s in ((m, k), (k, n)))
    exact = x.astype(np.float64) @ y.astype(np.float64)
    case = op_case("dot", [x, y], ", lhs_contracting_dims={1}, rhs_contracting_dims={0}", exact.astype(np.float32))
    case.bound = k * 2.0 ** -24 * (np.abs(x).astype(np.float64) @ np.abs(y))
    return case


def region_of(name, op, t):
    return f"{name} {{\n  x = {t}[] parameter(0)\n  y = {t}[] parameter(1)\n  ROOT r = {t}[] {op}(x, y)\n}}\n"


def reduce_():
    op = rng.choice(["add", "multiply", "maximum", "minimum", "subtract", "and", "xor"])
    t = rng.choice(["s32", "u8", "s8"] if op in ("and", "xor") else ["f32", "s32", "f64", "u8", "bf16"])
    x, init = random_array(t, random_shape(), True), random_array(t, (), True)
    if op == "multiply":
        x = np.sign(x.astype(np.float64)).astype(x.dtype)
    dims = [d for d in range(x.ndim) if rng.random() < 0.5]
    kept = [d for d in range(x.ndim) if d not in dims]
    step = {"add": lambda a, b: a + b, "multiply": lambda a, b: a * b, "maximum": max, "minimum": min,
            "subtract": lambda a, b: a - b, "and": lambda a, b: a & b, "xor": lambda a, b: a ^ b}[op]
    want = np.empty([x.shape[d] for d in kept], x.dtype)
    flat = np.transpose(x, kept + dims).reshape(want.shape + (-1,)) if want.size else x
    for i in np.ndindex(*want.shape):
        acc = init.item()
        for v in flat[i]:
            acc = step(acc, v.item())
        want[i] = np.array(wrap(acc, t) if t in INTS else acc).astype(x.dtype)
    return op_case("reduce", [x, init], f", dimensions={braces(dims)}, to_apply=f", want, region_of("f", op, t))


def argmax():
    x = random_array("f32", random_shape(min_rank=1, zeros=False))
    d = int(rng.integers(0, x.ndim))
    out = x.shape[:d] + x.shape[d + 1:]
    index = np.argmax(x, d).astype(np.int32)        # NumPy too lets the first NaN win
    best = np.max(x, d)
    region = """f {
  v0 = f32[] parameter(0)
  i0 = s32[] parameter(1)
  v1 = f32[] parameter(2)
  i1 = s32[] parameter(3)
  gt = pred[] compare(v0, v1), direction=GT
  nan = pred[] compare(v0, v0), direction=NE
  keep = pred[] or(gt, nan)
  eq = pred[] compare(v0, v1), direction=EQ
  lt = pred[] compare(i0, i1), direction=LT
  tie = pred[] and(eq, lt)
  keepi = pred[] or(keep, tie)
  v = f32[] select(keep, v0, v1)
  i = s32[] select(keepi, i0, i1)
  ROOT t = (f32[], s32[]) tuple(v, i)
}
"""
    types = f"({type_text(np.float32, out)}, {type_text(np.int32, out)})"
    case = Case(f"argmax {typed(x)} dim {d}", [x],
                [f"i = {type_text(np.int32, x.shape)} iota(), iota_dimension={d}", "v = f32[] constant(-inf)",
                 "z = s32[] constant(0)",
                 f"ROOT r = {types} reduce(p0, i, v, z), dimensions={{{d}}}, to_apply=f"],
                [np.asarray(best, np.float32), np.asarray(index, np.int32)], region)
    case.zero_sign_free = True                      # which of -0 and 0 stays is the region's choice
    return case


def window_plan(max_rank=4):
    """A random operand shape with its dims dealt to batching, collapsed (window 1, dropped) and window dims."""
    shape = tuple(int(d) for d in rng.integers(1, 5, rng.integers(1, max_rank + 1)))
    role = [str(rng.choice(["batching", "collapsed", "window", "window"])) for _ in shape]
    sizes = [1 if r != "window" else int(rng.integers(0 if rng.random() < 0.05 else 1, d + 1)) for r, d in zip(role, shape)]
    batching = [d for d, r in enumerate(role) if r == "batching"]
    mapped = [d for d, r in enumerate(role) if r != "batching" and rng.random() < 0.8]
    mapped = [int(d) for d in rng.permutation(mapped)]
    extra = [int(d) for d in rng.integers(1, 4, rng.integers(0, 3))]
    # batch dims of the indices: the batching ones at random places among the extra ones
    batch = [(None, d) for d in extra]
    for d in batching:
        batch.insert(int(rng.integers(0, len(batch) + 1)), (d, shape[d]))
    vector_dim = int(rng.integers(0, len(batch) + 1))
    scalar = len(mapped) == 1 and rng.random() < 0.5
    if scalar:
        vector_dim = len(batch)
    dims = [n for _, n in batch]
    index_shape = dims if scalar else dims[:vector_dim] + [len(mapped)] + dims[vector_dim:]
    where = {d: k for k, (d, _) in enumerate(batch) if d is not None}
    index_batching = [where[d] + (where[d] >= vector_dim and not scalar) for d in batching]
    collapsed = [d for d, r in enumerate(role) if r == "collapsed"]
    window = [d for d, r in enumerate(role) if r == "window"]
    offset = sorted(int(d) for d in rng.permutation(len(dims) + len(window))[:len(window)])
    return dict(shape=shape, sizes=sizes, batching=batching, mapped=mapped, dims=dims, vector_dim=vector_dim, scalar=scalar,
                index_shape=tuple(index_shape), where=where, index_batching=index_batching, collapsed=collapsed,
                window=window, offset=offset)


def window_walk(p, indices, result_shape):
    """Yields (result index, start of the window, place in the window) for every element of the result."""
    for r in np.ndindex(*result_shape):
        b = [i for d, i in enumerate(r) if d not in p["offset"]]
        w = [r[d] for d in p["offset"]]
        vector = [indices[tuple(b)]] if p["scalar"] else \
            [indices[tuple(b[:p["vector_dim"]] + [k] + b[p["vector_dim"]:])] for k in range(len(p["mapped"]))]
        start, place = [0] * len(p["shape"]), [0] * len(p["shape"])
        for d, v in zip(p["mapped"], vector):
            start[d] = int(v)
        for d in p["batching"]:
            start[d] = b[p["where"][d]]
        for d, v in zip(p["window"], w):
            place[d] = v
        yield r, start, place


def result_shape_of(p):
    batch, window = iter(p["dims"]), iter([p["sizes"][d] for d in p["window"]])
    return tuple(next(window) if d in p["offset"] else next(batch) for d in range(len(p["dims"]) + len(p["window"])))


def gather():
    p = window_plan()
    x = random_array(rng.choice(["f32", "s64", "u8", "c128"]), p["shape"], True)
    indices = np.asarray(rng.integers(-2, 6, p["index_shape"]), HLO[rng.choice(["s32", "s64", "s8"])])
    want = np.zeros(result_shape_of(p), x.dtype)
    for r, start, place in window_walk(p, indices, want.shape):
        clamped = [min(max(s, 0), d - n) for s, d, n in zip(start, p["shape"], p["sizes"])]
        want[r] = x[tuple(s + k for s, k in zip(clamped, place))]
    attributes = f", offset_dims={braces(p['offset'])}, collapsed_slice_dims={braces(p['collapsed'])}" \
        f", start_index_map={braces(p['mapped'])}, operand_batching_dims={braces(p['batching'])}" \
        f", start_indices_batching_dims={braces(p['index_batching'])}, index_vector_dim={p['vector_dim']}" \
        f", slice_sizes={braces(p['sizes'])}"
    return op_case("gather", [x, indices], attributes, want)


def scatter():
    p = window_plan()
    op = rng.choice(["add", "maximum", "subtract"])
    x = random_array("s32", p["shape"], True)
    indices = np.asarray(rng.integers(-2, 6, p["index_shape"]), np.int32)
    updates = random_array("s32", result_shape_of(p), True)
    want = x.copy()
    for r, start, place in window_walk(p, indices, updates.shape):
        if all(0 <= s and s + n <= d for s, n, d in zip(start, p["sizes"], p["shape"])):
            at = tuple(s + k for s, k in zip(start, place))
            want[at] = {"add": want[at] + updates[r], "maximum": max(want[at], updates[r]),
                        "subtract": want[at] - updates[r]}[op]
    attributes = f", update_window_dims={braces(p['offset'])}, inserted_window_dims={braces(p['collapsed'])}" \
        f", scatter_dims_to_operand_dims={braces(p['mapped'])}, input_batching_dims={braces(p['batching'])}" \
        f", scatter_indices_batching_dims={braces(p['index_batching'])}, index_vector_dim={p['vector_dim']}, to_apply=f"
    return op_case("scatter", [x, indices, updates], attributes, want, region_of("f", op, "s32"))


def sort():
    x = random_array("s32", random_shape(min_rank=1, max_dim=9), True)
    d = int(rng.integers(0, x.ndim))
    y = random_array("f32", x.shape)
    descending = rng.random() < 0.5
    order = np.argsort(-x.astype(np.int64) if descending else x, d, kind="stable")
    types = f"({typed(x)}, {typed(y)})"
    region = "f {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  c = f32[] parameter(2)\n  d = f32[] parameter(3)\n" \
        f"  ROOT r = pred[] compare(a, b), direction={'GT' if descending else 'LT'}\n}}\n"
    return Case(f"sort {typed(x)} dim {d}", [x, y],
                [f"ROOT r = {types} sort(p0, p1), dimensions={{{d}}}, is_stable=true, to_apply=f"],
                [np.take_along_axis(x, order, d), np.take_along_axis(y, order, d)], region)


def bitcast_convert():
    t, u = rng.choice(["f64", "f32", "f16", "bf16"] + INTS, 2)
    a, b = np.dtype(HLO[t]).itemsize, np.dtype(HLO[u]).itemsize
    shape = random_shape(3) + ((b // a,) if b > a else ())
    x = random_array(t, shape)
    out = shape[:-1] if b > a else shape + ((a // b,) if a > b else ())
    return op_case("bitcast-convert", [x], "", np.frombuffer(x.tobytes(), HLO[u]).reshape(out))


def iota():
    t = rng.choice(FLOATS + INTS)
    shape = random_shape(min_rank=1, max_dim=300 if rng.random() < 0.3 else 5, max_rank=2)
    d = int(rng.integers(0, len(shape)))
    values = np.arange(shape[d])
    values = values.astype(np.float64).astype(HLO[t]) if is_float(t) else values.astype(HLO[t])
    view = [1] * len(shape)
    view[d] = shape[d]
    return op_case("iota", [], f", iota_dimension={d}", np.broadcast_to(values.reshape(view), shape).copy())


def reduce_precision():
    """To the formats that NumPy or ml_dtypes has, whose subnormals reduce-precision flushes."""
    target, e, m = [("f16", 5, 10), ("bf16", 8, 7)][rng.integers(0, 2)]
    x = random_array("f32", random_shape())
    with np.errstate(all="ignore"):
        want = x.astype(HLO[target]).astype(np.float32)
        tiny = float(np.finfo(np.float16).tiny) if target == "f16" else 0
    want = np.where(np.abs(want) < tiny, np.copysign(np.float32(0), x), want).astype(np.float32)
    return op_case("reduce-precision", [x], f", exponent_bits={e}, mantissa_bits={m}", want)


GENERATORS = [lambda op=op: unary_float(op) for op in UNARY] + [lambda op=op: binary_float(op) for op in BINARY] + \
    [lambda op=op: binary_int(op) for op in INT_BINARY] + \
    [compare, convert, convert, convert, select, clamp, broadcast, transpose, slice_, pad, concatenate, reverse, dynamic_slice,
     dynamic_update_slice, dot, dot, dot_real, reduce_, reduce_, argmax, gather, gather, scatter, scatter, sort,
     bitcast_convert, iota, reduce_precision]


# ---- running ----
def write_case(case, directory):
    os.makedirs(directory)
    with open(os.path.join(directory, "module.hlo.txt"), "w") as f:
        f.write(case.text)
    for i, a in enumerate(case.inputs):
        with open(os.path.join(directory, f"in{i}.raw"), "wb") as f:
            f.write(np.ascontiguousarray(a).tobytes())


def ordered_bits(a):
    """Floats as integers whose difference counts the representable values between them."""
    bits = a.view({1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}[a.dtype.itemsize]).astype(object)
    low = -(1 << (8 * a.dtype.itemsize - 1))
    return np.vectorize(lambda b: low - b if b < 0 else b, otypes=[object])(bits)


def differs(case, got, want):
    if case.__dict__.get("bound") is not None:
        return ~(np.abs(got.astype(np.float64) - want) <= case.bound)
    if want.dtype.kind == "c" or np.dtype(want.dtype) not in (np.dtype(HLO[t]) for t in FLOATS):
        return got != want
    with np.errstate(invalid="ignore"):
        g, w = got.astype(np.float64), want.astype(np.float64)
    same = np.isnan(g) & np.isnan(w)
    if case.__dict__.get("zero_sign_free"):
        same |= g == w
    if not want.size:
        return ~same
    return ~(same | (~np.isnan(g) & ~np.isnan(w) & (np.abs(ordered_bits(got) - ordered_bits(want)) <= case.ulps)))


def check(case, directory):
    for k, want in enumerate(case.want):
        path = os.path.join(directory, f"out{k}.raw")
        if not os.path.exists(path):
            return "no result"
        raw = open(path, "rb").read()
        if len(raw) != want.nbytes:
            return f"result {k} has {len(raw)} bytes, want {want.nbytes}"
        want = np.ascontiguousarray(want).reshape(want.shape)
        got = np.frombuffer(raw, want.dtype).reshape(want.shape)
        bad = np.argwhere(np.atleast_1d(differs(case, got, want)))
        if len(bad):
            i = tuple(bad[0][:want.ndim])
            return f"result {k} at {tuple(map(int, i))}: got {got[i]!r}, want {want[i]!r} ({len(bad)} of {want.size} differ)"
    return None


def main():
    global rng
    parser = argparse.ArgumentParser()
    parser.add_argument("eval_cli")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--keep")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    cases = [generate() for _ in range(options.rounds) for generate in GENERATORS]
    with tempfile.TemporaryDirectory() as scratch:
        root = options.keep or scratch
        directories = [os.path.join(root, f"case{i}") for i in range(len(cases))]
        for case, directory in zip(cases, directories):
            write_case(case, directory)
        errors = {}
        for first in range(0, len(cases), 500):
            run = subprocess.run([options.eval_cli] + directories[first:first + 500], capture_output=True, text=True)
            if run.returncode not in (0, 1):
                print(run.stdout + run.stderr)
                sys.exit(f"eval_cli ended with {run.returncode}")
            for line in run.stdout.splitlines():
                errors.setdefault(line.split(":")[0], line)
        failures = []
        for case, directory in zip(cases, directories):
            problem = errors.get(directory) or check(case, directory)
            if problem:
                failures.append(f"{case.name}: {problem}\n{case.text}")
        print("\n".join(failures[:10]))
        print(f"{len(cases) - len(failures)} passed, {len(failures)} failed, 0 skipped")
        sys.exit(bool(failures))


if __name__ == "__main__":
    main()
