# SPDX-License-Identifier: Apache-2.0
"""Compares num_convert with NumPy and ml_dtypes, every pair of types, on random and edge values.

    vectors.py path/to/num_convert_cli

Where glia's rule is another than NumPy's (dtype.h: float to integer rounds to nearest even and saturates, NaN gives 0,
NaNs are canonical), the expected value is put together here.
"""
import subprocess
import sys

import ml_dtypes
import numpy as np

FLOATS = {
    "f64": np.float64, "f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16,
    "f8e4m3": ml_dtypes.float8_e4m3, "f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e3m4": ml_dtypes.float8_e3m4,
}
INTEGERS = {"s64": np.int64, "s32": np.int32, "s16": np.int16, "s8": np.int8,
            "u64": np.uint64, "u32": np.uint32, "u16": np.uint16, "u8": np.uint8}
ALL = {**FLOATS, **INTEGERS, "bool": np.bool_}
rng = np.random.default_rng(20240131)
np.seterr(all="ignore")


def uint_of(t):
    return np.dtype(f"u{np.dtype(t).itemsize}")


def inputs(t):
    """All patterns of small types; for the others random patterns, and values near what a narrower type can hold."""
    size = np.dtype(t).itemsize
    if t is np.bool_:
        return np.array([False, True])
    if size <= 2:
        return np.arange(256**size, dtype=uint_of(t)).view(t)
    bits = rng.integers(0, 2**(8 * size), 20000, dtype=uint_of(t), endpoint=False)
    parts = [bits.view(t)]
    if np.dtype(t).kind == "f":
        near = rng.standard_normal(20000) * 2.0**rng.integers(-160, 130, 20000)
        parts.append(near.astype(t))
        parts.append((rng.standard_normal(10000) * 300).astype(t))
        # Every narrow float, the midpoints between neighbours, and what is one ulp beside them.
        for narrow in FLOATS.values():
            if np.dtype(narrow).itemsize > 2:
                continue
            grid = inputs(narrow).astype(np.float64)
            grid = np.unique(grid[np.isfinite(grid)])
            step = grid[-1] - grid[-2]
            grid = np.concatenate([grid, [grid[-1] + step, grid[0] - step]])
            grid.sort()
            if len(grid) > 2000:                # bf16 and f16: a tenth, and both ends
                grid = np.concatenate([grid[:100], grid[100:-100:10], grid[-100:]])
            middle = (grid[1:] + grid[:-1]) / 2
            for p in (grid, middle):
                x = p.astype(t)
                parts += [x, np.nextafter(x, t(np.inf)), np.nextafter(x, t(-np.inf))]
        edges = [float(e) for w in (7, 8, 15, 16, 31, 32, 63, 64) for e in (2**w - 1, 2**w, 2**w + 1)]
        edges = np.array(edges + [0.0, 0.5, 1.5, 2.5, np.inf, np.nan])
        for e in (edges, edges + 0.5, edges - 0.5):
            parts += [e.astype(t), (-e).astype(t)]
    else:
        info = np.iinfo(t)
        edges = [v for w in range(info.bits) for k in (-1, 0, 1) for v in (2**w + k, -(2**w) + k)]
        edges += [2**w + 2**(w - m) + k for w in range(12, info.bits) for m in (4, 5, 8, 9, 11, 12) for k in (-1, 0, 1)]
        edges += [2**w + 2**(w - m) + k for w in range(54, info.bits) for m in (24, 25, 53, 54) for k in (-1, 0, 1)]
        edges = [v for v in edges if info.min <= v <= info.max]
        parts.append(np.array(edges, dtype=object).astype(t))
    return np.concatenate(parts)


def round_f64_to_odd(values):
    """Exact integers to float64, rounded to odd: a later rounding to 50 bits or fewer is then right."""
    out = np.empty(len(values))
    for i, v in enumerate(values):
        v = int(v)
        excess = max(abs(v).bit_length() - 53, 0)
        kept = abs(v) >> excess
        kept |= (abs(v) & ((1 << excess) - 1)) != 0
        out[i] = float(kept << excess) * (1 if v >= 0 else -1)
    return out


def narrow_float(x, t):
    """float64 to a narrow float with one rounding. ml_dtypes and NumPy may go through float32, so the double is
    rounded to odd at 30 bits or fewer first (a trick of its own, independent of glia's)."""
    if t in (np.float64, np.float32):
        return x.astype(t)
    bits = x.view(np.uint64)
    low = (1 << 29) - 1
    odd = (bits & ~np.uint64(low)) | (((bits & np.uint64(low)) != 0).astype(np.uint64) << np.uint64(29))
    odd = np.where(np.isfinite(x), odd, bits).view(np.float64)
    # Below float32's normal range the trick has too few bits; such values are under half of any narrow type's least.
    tiny = np.abs(odd) < 2.0**-126
    if t is ml_dtypes.bfloat16:             # whose subnormals reach down to there: do it in integers
        return bf16_exactly(x)
    return np.where(tiny, np.copysign(0.0, odd), odd).astype(np.float32).astype(t)


def bf16_exactly(x):
    out = np.zeros(len(x), np.uint16)
    m, e = np.frexp(np.abs(np.where(np.isfinite(x), x, 0)))
    unit = np.maximum(e - 8, -133)          # the weight of the last place
    q = np.rint(np.ldexp(np.abs(np.where(np.isfinite(x), x, 0)), -unit))
    y = np.ldexp(q, unit)
    big = y >= 2.0**128
    f32 = np.where(big, np.inf, y).astype(np.float32)
    out = (f32.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    out = np.where(np.isinf(x), np.uint16(0x7F80), out)
    out |= np.signbit(x).astype(np.uint16) << np.uint16(15)
    return np.where(np.isnan(x), np.uint16(0x7FC0), out).view(ml_dtypes.bfloat16)


def to_integer(x, t):
    info = np.iinfo(t)
    r = np.rint(x.astype(np.float64))                       # halves to even
    over, under = r >= 2.0**int(info.max).bit_length(), r <= float(info.min)
    out = np.where(np.isnan(r) | over | under, 0, r).astype(t)
    out[over], out[under] = info.max, info.min
    return out


def expected(x, source, target):
    if target == "bool":
        return (x != 0) if source != "bool" else x
    t = ALL[target]
    if target in INTEGERS:
        if source in FLOATS:
            return to_integer(x, t)
        return x.astype(t)                  # wraps
    if source in ("f64",):
        return narrow_float(x, t)
    if source in INTEGERS and np.dtype(ALL[source]).itemsize == 8:
        return x.astype(t) if t in (np.float64, np.float32) else narrow_float(round_f64_to_odd(x), t)
    if source in FLOATS or source == "bool":
        return x.astype(np.float32).astype(t)
    return narrow_float(x.astype(np.float64), t)


def compare(cli, source, target):
    x = inputs(ALL[source])
    run = subprocess.run([cli, source, target], input=x.tobytes(), stdout=subprocess.PIPE, check=True)
    got = np.frombuffer(run.stdout, uint_of(ALL[target]))
    want = expected(x, source, target)
    want_bits = np.ascontiguousarray(want).view(uint_of(ALL[target])).copy()
    if source == target:
        want_bits = x.view(uint_of(ALL[target]))
    elif target in FLOATS:
        nan = np.isnan(want.astype(np.float64))
        quiet = np.array([np.nan], np.float32).astype(ALL[target]).view(uint_of(ALL[target]))[0]
        want_bits[nan] = int(quiet) & ((1 << (8 * uint_of(ALL[target]).itemsize - 1)) - 1)
    bad = np.nonzero(got != want_bits)[0]
    for i in bad[:3]:
        print(f"{source} to {target}: {x[i]!r} ({x.view(uint_of(ALL[source]))[i]:#x}): got {got[i]:#x}, "
              f"want {want_bits[i]:#x}", file=sys.stderr)
    return len(x), len(bad)


def main():
    total = wrong = 0
    for source in ALL:
        for target in ALL:
            n, bad = compare(sys.argv[1], source, target)
            total += n
            wrong += bad
    print(f"{len(ALL)**2} pairs, {total} values, {wrong} differ")
    return 1 if wrong else 0


sys.exit(main())
