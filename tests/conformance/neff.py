#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No toy behind the numbers: the text comes from executing the very NEFF that is timed.

usage: neff.py GLIA TINY_MODEL_WRITER

On a small model of glia's own making. The decode NEFF that `generate` used is taken from the compile cache by its
SHA-256 and disassembled. Changing one named instruction on the way to the logits and putting it back changes the
tokens that `generate` writes; doubling the work of one instruction on its critical path changes its time; nothing in
it is a soft instruction. Python's standard library alone."""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

GLIA, WRITER = sys.argv[1:3]


def run(*args, cache):
    done = subprocess.run([GLIA, *map(str, args)], capture_output=True, text=True, check=False,
                          env={**os.environ, "NEURON_COMPILE_CACHE_URL": str(cache)})
    if done.returncode:
        sys.exit(f"FAIL: glia {args}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def generate(model, cache):
    return json.loads(run("generate", "--model", model, "--prompt", "hello world", "--max-tokens", 24, "--temperature", 0, "--dtype", "fp32",
                          "--instance", "trn2.3xlarge", "--json", cache=cache))


def main(folder):
    model, cache = folder / "tiny.gguf", folder / "cache"
    subprocess.run([WRITER, model], check=True, stdout=subprocess.DEVNULL)
    first = generate(model, cache)
    for neff in first["neff"]:
        soft = [n for n in neff["instructions"] if n.startswith("soft")]
        assert not soft and neff["instructions"]["matmul"] > 0, neff
    sums = {n["sha256"] for n in first["neff"]}
    found = {hashlib.sha256(p.read_bytes()).hexdigest(): p for p in cache.rglob("model.neff")}
    assert sums == set(found), f"the NEFFs of the answer are not those of the cache: {sums} {set(found)}"
    decode = next(n for n in first["neff"] if n["name"] == "decode")
    path = found[decode["sha256"]]
    text = run("neff", "disasm", path, cache=cache)
    again = folder / "again.neff"

    def assemble(lines):
        source = folder / "changed.s"
        source.write_text(lines)
        run("neff", "asm", source, "-o", again, cache=cache)

    # The function of one activation of the layer: gelu becomes copy.
    named = re.search(r"^ *ACT +activation .*func=(gelu_apprx_tanh|silu).*$", text, re.M)
    assert named, "no activation of the MLP in the disassembly"
    assemble(text[:named.start()] + named.group(0).replace(f"func={named.group(1)}", "func=copy") + text[named.end():])
    original = path.read_bytes()

    def put_into_cache(neff):
        path.write_bytes(neff)
        path.with_name("model.sha256").write_text(f"{hashlib.sha256(neff).hexdigest()} {path.parent.name}\n")

    put_into_cache(again.read_bytes())
    second = generate(model, cache)
    assert second["ids"] != first["ids"], f"the changed NEFF writes the same tokens: {first['ids']}"
    put_into_cache(original)
    assert generate(model, cache)["ids"] == first["ids"], "the original NEFF no longer writes the same tokens"
    print(f"one instruction changed: {named.group(0).strip()[:100]}\n  {first['ids'][:8]} became {second['ids'][:8]}")

    # The same activation executed twice: its line again, without waits and updates, before the one that signals.
    before = json.loads(run("time", path, "--json", cache=cache))["total_time"]
    line = named.group(0)
    twice = re.sub(r" (wait|inc)\([^)]*\)", "", line)
    assemble(text[:named.start()] + line.replace(re.search(r" inc\([^)]*\)", line).group(0), "") + "\n" + re.sub(r" wait\([^)]*\)", "", line) + text[named.end():])
    after = json.loads(run("time", again, "--json", cache=cache))["total_time"]
    assert twice != line and after > before, f"doubled work takes {after} s, was {before} s"
    print(f"one instruction doubled: {before * 1e6:.3f} us became {after * 1e6:.3f} us")


with tempfile.TemporaryDirectory() as tmp:
    main(pathlib.Path(tmp))
