#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dequantisation against the `gguf` package, bit for bit: random blocks of every type, to fp32 and to bf16 (which is
fp32 rounded once to nearest even, by ml_dtypes). Also whole files that `gguf` and `safetensors` write.

usage: blocks.py MODEL_PROBE"""
import pathlib
import subprocess
import sys
import tempfile

from script import skip_without

np, ml_dtypes, gguf, safetensors = skip_without("numpy", "ml_dtypes", "gguf", "safetensors.numpy")

TYPES = ("F32", "F16", "BF16", "Q8_0", "Q5_0", "Q4_K", "Q6_K")
PROBE = sys.argv[1]


def probe(*args, data=b""):
    return subprocess.run([PROBE, *args], input=data, stdout=subprocess.PIPE, check=True).stdout


def same(got, want, what):
    """NaNs may differ in payload: the numerics make every NaN the canonical one."""
    bits = f"u{got.dtype.itemsize}"
    nan = np.isnan(want.astype(np.float32))
    differ = (got.view(bits) != want.view(bits)) & ~(nan & np.isnan(got.astype(np.float32)))
    if got.shape != want.shape or differ.any():
        i = int(np.argmax(differ))
        sys.exit(f"{what}: {int(differ.sum())} of {want.size} differ, first at {i}: got {got[i]!r}, want {want[i]!r}")


def random_blocks(rng, name, count):
    kind = gguf.GGMLQuantizationType[name]
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    return kind, rng.integers(0, 256, (count, size), dtype=np.uint8)


def check_type(rng, name):
    kind, raw = random_blocks(rng, name, 4000)
    with np.errstate(all="ignore"):
        want = gguf.dequantize(raw, kind).astype(np.float32).ravel()
        narrow = want.astype(ml_dtypes.bfloat16)
    same(np.frombuffer(probe("dequantise", name, "f32", data=raw.tobytes()), np.float32), want, f"{name} to f32")
    same(np.frombuffer(probe("dequantise", name, "bf16", data=raw.tobytes()), ml_dtypes.bfloat16), narrow,
         f"{name} to bf16")


def check_quantised(rng, name):
    """Blocks as a quantiser makes them, from normal weights."""
    if name.endswith("_K"):
        return      # the package only dequantises these
    kind = gguf.GGMLQuantizationType[name]
    raw = gguf.quantize(rng.standard_normal((64, 256)).astype(np.float32), kind)
    want = gguf.dequantize(raw, kind).astype(np.float32).ravel()
    same(np.frombuffer(probe("dequantise", name, "f32", data=raw.tobytes()), np.float32), want, f"quantised {name}")


def check_gguf_file(rng, folder):
    path = pathlib.Path(folder) / "m"
    w = gguf.GGUFWriter(path, "llama")
    raws = {name: random_blocks(rng, name, 2 * 5) for name in TYPES}
    for name, (kind, raw) in raws.items():
        w.add_tensor(name, raw.reshape(2, -1), raw_dtype=kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    lines = probe("tensors", str(path)).decode().splitlines()
    assert [line.split()[0] for line in lines] == list(TYPES), lines
    for name, (kind, raw) in raws.items():
        elements = gguf.GGML_QUANT_SIZES[kind][0]
        assert f"{name} {name} 2 {5 * elements}" in lines, (name, lines)
        with np.errstate(all="ignore"):
            want = gguf.dequantize(raw.reshape(2, -1), kind).astype(np.float32).ravel()
        same(np.frombuffer(probe("read", str(path), name, "f32"), np.float32), want, f"{name} in a file")


def check_safetensors_file(rng, folder):
    path = pathlib.Path(folder) / "model.safetensors"
    tensors = {"f32": rng.standard_normal((3, 5)).astype(np.float32),
               "f16": rng.standard_normal(70000).astype(np.float16),
               "bf16": rng.standard_normal((7, 2, 3)).astype(ml_dtypes.bfloat16)}
    safetensors.save_file(tensors, path)
    for name, want in tensors.items():
        with np.errstate(all="ignore"):
            same(np.frombuffer(probe("read", folder, name, "f32"), np.float32), want.astype(np.float32).ravel(), name)
            same(np.frombuffer(probe("read", folder, name, "bf16"), ml_dtypes.bfloat16),
                 want.astype(np.float32).astype(ml_dtypes.bfloat16).ravel(), name)


def main():
    rng = np.random.default_rng(4)
    for name in TYPES:
        check_type(rng, name)
        check_quantised(rng, name)
    with tempfile.TemporaryDirectory() as folder:
        check_gguf_file(rng, folder)
    with tempfile.TemporaryDirectory() as folder:
        check_safetensors_file(rng, folder)
    print(f"{len(TYPES)} types equal the gguf package")


main()
