#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line as it is promised: each verb, the named fields of its JSON, files that come back byte for byte, and
what it says of bad input. Python's standard library alone.

What depends on nothing but the rows and written text is in golden.py.

usage: cli.py GLIA"""
import array
import hashlib
import json
import math
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

GLIA = pathlib.Path(sys.argv[1]).resolve()
DATA = pathlib.Path(__file__).resolve().parent / "data"
failures = []


def glia(*args, code=0, env=None):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("GLIA_", "NEURON_"))}
    done = subprocess.run([GLIA, *map(str, args)], capture_output=True, text=True, check=False, env={**clean, **(env or {})})
    if done.returncode != code:
        failures.append(f"glia {' '.join(map(str, args))}: exit {done.returncode}, want {code}: {done.stderr[:300]}")
    return done


def document(*args, schema):
    out = glia(*args, "--json").stdout
    try:
        d = json.loads(out)
    except ValueError as e:
        failures.append(f"glia {args}: no JSON: {e}: {out[:200]}")
        return {}
    check(d.get("schema") == schema, f"{args}: schema {d.get('schema')}, want {schema}")
    return d


def check(ok, what):
    if not ok:
        failures.append(what)


def has(d, *names):
    for name in names:
        check(name in d, f"field '{name}' is missing among {sorted(d)[:12]}")


def refuses(code, texts, *args):
    """Exit code, and every text somewhere on stderr, stdout empty."""
    done = glia(*args, code=code)
    for text in texts:
        check(text in done.stderr, f"glia {' '.join(map(str, args))}: stderr lacks '{text}': {done.stderr[:400]}")
    check(done.stdout == "", f"glia {args}: it failed but printed {done.stdout[:80]}")


def save_npy(path, shape, values, descr="<f4"):
    header = repr({"descr": descr, "fortran_order": False, "shape": shape})
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    body = array.array("f", values).tobytes() if descr == "<f4" else bytes(values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + body)


def load_npy(path):
    raw = path.read_bytes()
    (size,) = struct.unpack("<H", raw[8:10])
    return array.array("f", raw[10 + size:])


def neff_of_defaults(layer, folder):
    glia("compile", layer, "-o", folder / "defaults.neff", "--no-cache")
    return (folder / "defaults.neff").read_bytes()


def on_terminal(*args, stopped=0):
    """What a terminal sees on stderr. `stopped`: the program stands still for so many seconds soon after its start, so
    that its step takes long on any machine."""
    pid, fd = pty.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.execv(GLIA, ["glia", *map(str, args)])
    if stopped:
        time.sleep(0.1)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(stopped)
        os.kill(pid, signal.SIGCONT)
    seen = b""
    while True:
        try:
            piece = os.read(fd, 4096)
        except OSError:
            break
        seen += piece
        if not piece:
            break
    check(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, f"glia {args} on a terminal fails: {seen[-300:]}")
    return seen


def progress(folder):
    """A step of seconds that cannot say how far it is shows a line with the seconds, on a terminal only, and takes it away."""
    long = ("time", "--config", DATA / "llama-3-8b.json", "--phase", "prefill", "--tokens", "512", "--no-cache")
    seen = on_terminal(*long, stopped=1)
    check(b"compiling, " in seen and seen.endswith(b"\r\x1b[K"), f"progress on a terminal: {seen[-200:]}")
    check(on_terminal(*long, "-q") == b"", "--quiet shows progress")
    check(glia(*long).stderr == "", "progress where there is no terminal")


def main(folder):
    neff, text, again = folder / "layer.neff", folder / "layer.s", folder / "again.neff"
    layer = DATA / "layer.hlo.txt"

    d = document("compile", layer, "-o", neff, "--target", "trn2", "--auto-cast", "matmult", "--auto-cast-type", "bf16", schema="glia.compile/1")
    has(d, "sha256", "instructions", "lnc")
    check(d["classes"]["soft"] == 0, "a soft instruction")
    passes = glia("compile", layer, "-o", folder / "x.neff", "--print-after", "all").stdout
    check("after simplify" in passes and "after sync" in passes, "--print-after all prints no passes")

    # A product with a known answer: row i of x is i times the first unit vector, w[0] = 0, 1, 2, ...
    x = [float(i % 7) if k == 0 else 0.0 for i in range(128) for k in range(256)]
    w = [float(n % 11) - 5 if k == 0 else 1.0 for k in range(256) for n in range(512)]
    save_npy(folder / "a.npy", (128, 256), x)
    save_npy(folder / "b.npy", (256, 512), w)
    d = document("run", neff, "--input", folder / "a.npy", "--input", folder / "b.npy", "--output-dir", folder / "out", schema="glia.run/1")
    has(d, "outputs", "time")
    check(isinstance(d["time"], float) and 1e-6 < d["time"] < 1e-2, f"run: time is {d['time']}, should be seconds on the chip")
    seconds = d["time"]
    for name in ("name", "shape", "dtype", "file"):
        check(name in d["outputs"][0], f"run: outputs[0] lacks {name}")
    got = load_npy(pathlib.Path(d["outputs"][0]["file"]))
    want = [max((i % 7) * ((n % 11) - 5.0), 0.0) for i in range(128) for n in range(512)]
    check(len(got) == len(want) and all(math.isclose(g, v, abs_tol=1e-6) for g, v in zip(got, want)), "run: wrong values")
    named = glia("run", neff, "--input", f"w={folder / 'b.npy'}", "--input", f"x={folder / 'a.npy'}", "--output-dir", folder / "out2")
    check("measured" in named.stdout and "simulated" in named.stdout, "run: text says neither measured nor simulated")
    check(load_npy(folder / "out2" / "output.0.npy") == got, "run: inputs by name differ")

    d = document("time", neff, schema="glia.time/1")
    has(d, "total_time", "engines", "dma", "critical_path", "assumptions", "hbm_bytes")
    check(d["total_time"] == seconds, f"time: {d['total_time']} s, run said {seconds} s")
    check(len(d["engines"]) == 5 and d["critical_path"] and d["assumptions"], "time: an empty engines, critical_path or assumptions")
    check(document("time", layer, "--auto-cast", "matmult", schema="glia.time/1")["sha256"] == d["sha256"], "time: HLO text is another program than its NEFF")
    check(document("time", neff, "--no-launch", schema="glia.time/1")["total_time"] < seconds, "time: --no-launch changes nothing")
    check(document("time", neff, "--sharers", "4", schema="glia.time/1")["total_time"] >= seconds, "time: four sharers are faster")
    slower = document("time", neff, "--set", "dma_sustained_bps=1e9", schema="glia.time/1")
    check(slower["total_time"] > d["total_time"], "time: slower DMA is not slower")
    calibration = folder / "calibration.json"
    calibration.write_text('{ "dma_sustained_bps": 1e9 }')
    check(document("time", neff, "--calibration", calibration, schema="glia.time/1")["total_time"] == slower["total_time"], "time: --calibration is not --set")
    trace = folder / "trace.json"
    glia("time", neff, "--trace", trace)
    check(len(json.loads(trace.read_text())["traceEvents"]) > 10, "time: an empty trace")
    d = document("time", "--config", DATA / "llama-3-8b.json", "--phase", "decode", "--batch", "1", "--context", "2048", "--instance", "trn2.48xlarge", schema="glia.time/1")
    plain = document("time", "--config", DATA / "llama-3-8b.json", "--context", "2048", "--instance", "trn2.48xlarge", "--no-extrapolate", schema="glia.time/1")
    check(abs(plain["total_time"] / d["total_time"] - 1) < 0.01, "time: --no-extrapolate differs by more than 1 %")
    bytes_read = 2 * 7.5e9      # weights of an 8B model in bf16, the embedding's rows aside
    check(d["total_time"] > bytes_read / (2.9e12 / 4), "time: faster than the HBM stack can read the weights")

    small = folder / "config.json"
    small.write_text(json.dumps({**json.loads((DATA / "llama-3-8b.json").read_text()), "num_hidden_layers": 2, "vocab_size": 1024, "hidden_size": 512,
                                 "intermediate_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 2, "bos_token_id": 1, "eos_token_id": 2}))
    by_flag = document("time", "--config", small, "--context", "256", schema="glia.time/1")
    for again_as in (small, folder):
        check(document("time", again_as, "--context", "256", schema="glia.time/1")["total_time"] == by_flag["total_time"], f"time {again_as}: not as --config")
    prefill = document("time", small, "--phase", "prefill", "--tokens", "128", "--context", "256", schema="glia.time/1")
    check(prefill["hardware_flops"] > 50 * by_flag["hardware_flops"], "time: a prefill of 128 tokens has not the work of many decode steps")
    fp32 = document("time", small, "--dtype", "fp32", "--context", "256", "--lnc", "1", schema="glia.time/1")
    check(fp32["hbm_bytes"]["tensors"] > 1.8 * by_flag["hbm_bytes"]["tensors"] and fp32["lnc"] == 1, "time: --dtype fp32 or --lnc 1 changes nothing")

    for part, words in (("disasm", (neff, "-o", text)), ("asm", (text, "-o", again))):
        d = document("neff", part, *words, schema=f"glia.neff.{part}/1")
        has(d, "output", "sha256", "bytes")
    check(document("neff", "disasm", neff, schema="glia.neff.disasm/1")["text"] == text.read_text(), "neff disasm --json: another text")
    check(glia("neff", "disasm", neff).stdout == text.read_text(), "neff disasm: prints another text")
    check(neff.read_bytes() == again.read_bytes(), "neff asm: not the same bytes")
    d = document("neff", "verify", again, schema="glia.neff.verify/1")
    check(d["hazards"]["violated"] == 0 and d["hazards"]["proved"] > 0, f"neff verify: {d['hazards']}")
    d = document("neff", "show", neff, schema="glia.neff.show/1")
    has(d, "instructions", "tensors", "cores")
    check(d["sha256"] == hashlib.sha256(neff.read_bytes()).hexdigest(), "neff show: another sha256")
    check({t["name"]: t["kind"] for t in d["tensors"]} == {"x": "input", "w": "weight", "output.0": "output"}, f"neff show: {d['tensors']}")
    check([t["layout"] != "row-major" for t in d["tensors"] if t["name"] == "w"] == [True], "neff show: w has no layout")
    unwaited = folder / "unwaited.s"
    unwaited.write_text(re.sub(r" wait\([^)]*\)", "", text.read_text()))
    found = json.loads(glia("neff", "verify", unwaited, "--json", code=1).stdout)
    check(found["hazards"]["violated"] > 0 and found["findings"][0]["first"]["where"].endswith("layer.hlo.txt:6"), "neff verify: no wait, no finding")
    broken = folder / "broken.s"
    broken.write_text(text.read_text().replace("bf16(0+128, 0, 1:512)", "bf16(0+128, 0, 1:511)", 1))
    found = json.loads(glia("neff", "verify", broken, "--json", code=1).stdout)
    check(found["rules"] is False and "layer.hlo.txt" in found["reason"], f"neff verify of a broken rule: {found}")
    check(d["classes"]["soft"] == 0 and d["instructions"]["matmul"] > 0, "neff show: counts")

    d = document("hw", "show", "trn2.48xlarge", schema="glia.hw/1")
    check(d["name"] == "trn2.48xlarge", "hw show: another instance")
    document("hw", schema="glia.hw/1")
    check("trn2.48xlarge" in glia("hw", "list").stdout, "hw list")
    d = document("doctor", schema="glia.doctor/1")
    check(all(c["result"] != "fail" for c in d["checks"]), f"doctor: {d}")
    check({"cpu", "threads", "memory", "cache", "runtime", "self test", "python"} == {c["check"] for c in d["checks"]}, f"doctor: {d}")

    # Through the cache: the second compile is a hit with the same bytes, and --no-cache makes them again.
    cache = {"NEURON_COMPILE_CACHE_URL": str(folder / "cache")}
    told = [json.loads(glia("compile", layer, "-o", folder / f"{k}.neff", *flag, "--json", env=cache).stdout)
            for k, flag in enumerate(([], [], ["--no-cache"], ["--lnc", "1"], ["--auto-cast", "all"]))]
    check([t["cached"] for t in told] == [False, True, False, False, False], f"compile: cached {[t['cached'] for t in told]}")
    check(len({t["sha256"] for t in told[:3]}) == 1 and len({t["sha256"] for t in told}) == 3, "compile: sha256 of cached, made again, LNC 1, all")
    check(told[0]["sha256"] == hashlib.sha256((folder / "0.neff").read_bytes()).hexdigest(), "compile: another sha256")
    check(told[3]["lnc"] == 1 and told[0]["lnc"] == 2, "compile: --lnc")
    by_variable = json.loads(glia("compile", layer, "-o", folder / "v.neff", "--json", env={**cache, "GLIA_LNC": "1"}).stdout)
    check(by_variable["sha256"] == told[3]["sha256"], "compile: GLIA_LNC=1 is not --lnc 1")
    passes = json.loads(glia("compile", layer, "-o", folder / "p.neff", "--print-after", "simplify", "--json").stdout)["passes"]
    check([p["pass"] for p in passes] == ["simplify"] and "dot(" in passes[0]["text"], f"compile: --print-after simplify --json: {passes}")

    # A program written by hand: y = exp(x).
    save_npy(folder / "e.npy", (128, 64), [k / 8192 for k in range(128 * 64)])
    d = document("run", DATA / "tiny.s", "--input", folder / "e.npy", "-o", folder / "tiny", schema="glia.run/1")
    got = load_npy(pathlib.Path(d["outputs"][0]["file"]))
    check(d["outputs"][0]["name"] == "y" and all(math.isclose(v, math.exp(k / 8192), rel_tol=1e-6) for k, v in enumerate(got)), "run tiny.s: wrong values")

    # Random inputs are decided by the seed alone.
    outs = [load_npy(pathlib.Path(document("run", neff, "--random", seed, "-o", folder / f"r{k}", schema="glia.run/1")["outputs"][0]["file"]))
            for k, seed in enumerate(("7", "7", "8"))]
    check(outs[0] == outs[1] != outs[2] and max(outs[0]) > 1, "run: --random")
    scalar = json.loads(glia("run", neff, "--random", "7", "-o", folder / "scalar", "--json", env={"GLIA_CPU": "scalar"}).stdout)
    check(load_npy(pathlib.Path(scalar["outputs"][0]["file"])) == outs[0], "run: plain C has other bits than this host's kernels")

    for verb in ("generate", "eval", "compile", "run", "time", "neff", "hw", "doctor"):
        check("--help" in glia(verb, "--help").stdout, f"{verb} --help")

    # A flag that this input has no use for, and a value that is wrong of any input.
    refuses(3, ["trn2", "'--target trn1'"], "run", neff, "--random", "1", "--target", "trn1")
    refuses(2, ["'--lnc' is 7"], "run", neff, "--random", "1", "--lnc", "7")
    refuses(3, ["'--lnc 1'", "layer.neff"], "run", neff, "--random", "1", "--lnc", "1")
    refuses(2, ["'--auto-cast' is 'bogus'"], "run", neff, "--random", "1", "--auto-cast", "bogus")
    refuses(2, ["'--auto-cast'", "layer.neff", "compiled already"], "run", neff, "--random", "1", "--auto-cast", "all")
    refuses(2, ["'--random' is 'x'"], "run", neff, "--input", folder / "a.npy", "--input", folder / "b.npy", "--random", "x")
    for value, flags in (("'--phase' is 'bogus'", ("--phase", "bogus")), ("'--dtype' is 'fp8'", ("--dtype", "fp8")), ("'--expected-trips' is -2", ("--expected-trips", "-2")),
                         ("'--lnc' is 7", ("--lnc", "7")), ("'--auto-cast-type' is 'x'", ("--auto-cast-type", "x"))):
        refuses(2, [value], "time", neff, *flags)
        if flags[0] != "--expected-trips":
            refuses(2, [value], "time", layer, *flags)
    for flag, value in (("--phase", "prefill"), ("--context", "64"), ("--tokens", "8"), ("--dtype", "fp32"), ("--batch", "1")):
        refuses(2, [f"'{flag}'", "layer.neff", "a program"], "time", neff, flag, value)
        refuses(2, [f"'{flag}'", "layer.hlo.txt", "a graph"], "time", layer, flag, value)
    refuses(2, ["'--tokens'", "config.json"], "time", small, "--tokens", "8")
    short = folder / "short"
    short.mkdir()
    (short / "config.json").write_text(json.dumps({**json.loads(small.read_text()), "max_position_embeddings": 64}))
    refuses(3, ["'--context' is 256", "64 positions"], "time", short, "--context", "256")
    refuses(2, ["'--output'", "show"], "neff", "show", neff, "-o", folder / "x")
    for variable, verb in (("GLIA_LOG", ("hw",)), ("GLIA_CPU", ("run", neff, "--random", "1"))):
        check(f"'{variable}' is 'foo'" in glia(*verb, code=2, env={variable: "foo"}).stderr, f"{variable}=foo is taken")

    # An output that is an input, by its name or by another.
    for name, text_of in (("own.hlo.txt", layer), ("own.neff", neff), ("own.s", text), ("own.npy", folder / "a.npy")):
        (folder / name).write_bytes(text_of.read_bytes())
    (folder / "link").symlink_to(folder / "own.neff")
    (folder / "own").mkdir()
    (folder / "own" / "output.0.npy").write_bytes((folder / "a.npy").read_bytes())
    (folder / "own" / "config.json").write_bytes(small.read_bytes())
    for file, words in (("own.hlo.txt", ("compile", folder / "own.hlo.txt", "-o", folder / "own.hlo.txt")), ("own.neff", ("neff", "disasm", folder / "own.neff", "-o", folder / "link")),
                        ("own.neff", ("time", folder / "link", "--trace", folder / "own.neff")), ("own.s", ("neff", "asm", folder / "own.s", "-o", folder / "own.s")),
                        ("own/config.json", ("time", folder / "own", "--context", "256", "--trace", folder / "own" / "config.json")),
                        ("own/output.0.npy", ("run", neff, "--input", folder / "own" / "output.0.npy", "--input", folder / "b.npy", "-o", folder / "own"))):
        before = (folder / file).read_bytes()
        refuses(2, ["would be lost"], *words)
        check((folder / file).read_bytes() == before, f"glia {words}: {file} has changed")

    # More than this host gives: a sentence and exit code 6, before it is tried and when it fails.
    big = folder / "big.hlo.txt"
    big.write_text("HloModule big\nENTRY e { a = f32[8192,8192] parameter(0)\n ROOT r = f32[8192,8192] negate(a)\n}\n")
    if b"__asan_init" not in GLIA.read_bytes():     # which reserves more than any limit by itself
        limited = subprocess.run(["bash", "-c", f"ulimit -v 700000; '{GLIA}' run '{big}' --random 1"], capture_output=True, text=True, check=False)
        check(limited.returncode == 6 and "512.0 MiB" in limited.stderr and "are available" in limited.stderr, f"run past ulimit -v: exit {limited.returncode}: {limited.stderr[:300]}")

    # Bad input: what, where, both values, what to do.
    refuses(2, ["--targte", "--target"], "compile", layer, "-o", neff, "--targte", "trn2")
    refuses(2, ["'neffs'", "'neff'"], "neffs")
    refuses(5, ["nothing.hlo.txt"], "compile", folder / "nothing.hlo.txt", "-o", neff)
    refuses(5, ["'trn2.48xlarg'", "trn2.48xlarge"], "hw", "show", "trn2.48xlarg")
    refuses(2, ["bf16", "'fp17'"], "compile", layer, "-o", neff, "--auto-cast-type", "fp17")
    hostile = folder / "hostile.hlo.txt"
    hostile.write_text(layer.read_text().replace("maximum", "maximus").replace("f32[256,512]{1,0} parameter", "f32[999999999999,999999999]{1,0} parameter"))
    refuses(3, ["hostile.hlo.txt:", "maximus", "maximum"], "compile", hostile, "-o", folder / "h.neff")
    truncated = folder / "truncated.neff"
    truncated.write_bytes(neff.read_bytes()[:-100])
    refuses(3, ["truncated.neff"], "run", truncated, "--random", "1")
    renamed = folder / "renamed.neff"
    renamed.write_bytes((folder / "a.npy").read_bytes())
    refuses(4, ["renamed.neff", ".npy"], "run", renamed, "--random", "1")
    refuses(2, ["'w'", "--random"], "run", neff, "--input", folder / "a.npy")
    refuses(3, ["f32[256,512]", "f32[128,256]", "'w'"], "run", neff, "--input", folder / "a.npy", "--input", folder / "a.npy")
    refuses(3, ["trn1", "trn2"], "run", neff, "--random", "1", "--instance", "trn1.2xlarge")
    refuses(6, ["132.045GB", "16.000GB", "Tensors", "hint:", "as much as 9 cores"], "time", "--config", DATA / "llama-3-70b.json", "--instance", "trn1.2xlarge")
    refuses(4, ["'--batch' is 4"], "time", "--config", DATA / "llama-3-8b.json", "--batch", "4")
    refuses(5, ["'no_such_field'"], "time", neff, "--set", "no_such_field=1")
    refuses(5, ["/proc/no/layer.neff"], "compile", layer, "-o", "/proc/no/layer.neff")
    # One mapping for files, in every verb: what is missing is 5, a full disk 6; and before the work is begun.
    refuses(6, ["/dev/full", "No space left"], "compile", layer, "-o", "/dev/full")
    refuses(6, ["/dev/full", "No space left"], "neff", "disasm", neff, "-o", "/dev/full")
    refuses(5, ["/nodir/x.json"], "time", neff, "--trace", "/nodir/x.json")
    refuses(5, ["/nodir/x.s"], "neff", "disasm", neff, "-o", "/nodir/x.s")
    with open("/dev/full", "w") as full:
        for words in (("time", neff), ("hw",), ("neff", "disasm", neff)):
            done = subprocess.run([GLIA, *map(str, words)], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
            check(done.returncode == 6 and "'stdout' cannot be written: No space left" in done.stderr, f"glia {words} >/dev/full: {done}")

    # A compiled program is what it is: a flag or variable that asks for another is refused with both values.
    refuses(3, ["compiled for LNC 2, not for '--lnc 1'"], "time", neff, "--lnc", "1")
    refuses(3, ["compiled for LNC 2, not for '--lnc 1'"], "run", neff, "--random", "1", "--lnc", "1")
    lnc1 = {"NEURON_LOGICAL_NC_CONFIG": "1"}
    done = glia("run", neff, "--random", "1", code=3, env=lnc1)
    check("compiled for LNC 2, not for 'NEURON_LOGICAL_NC_CONFIG=1'" in done.stderr, f"run under NEURON_LOGICAL_NC_CONFIG=1: {done.stderr}")
    check(json.loads(glia("compile", layer, "-o", folder / "l1.neff", "--json", env=lnc1).stdout)["lnc"] == 1, "compile: NEURON_LOGICAL_NC_CONFIG is not heard")
    check(json.loads(glia("run", folder / "l1.neff", "--random", "1", "--json", env=lnc1).stdout)["time"] > 0, "run: LNC 1 under LNC 1")
    refuses(2, ["is an instance", "--target trn2"], "compile", layer, "-o", neff, "--target", "trn2.3xlarge")

    # What a file is, told to whoever gives it to the wrong verb.
    gguf, weights, words = folder / "m.gguf", folder / "w.safetensors", folder / "notes.txt"
    gguf.write_bytes(b"GGUF\x03\0\0\0" + bytes(32))
    weights.write_bytes(struct.pack("<Q", 2) + b"{}")
    words.write_text("a shopping list\n")
    for verb in (("neff", "show"), ("compile", "-o", folder / "o.neff"), ("run",)):
        refuses(4, ["m.gguf' is a GGUF model", "generate --model"], *verb, gguf)
        refuses(4, ["w.safetensors' is safetensors weights"], *verb, weights)
    refuses(4, ["w.safetensors' is safetensors weights"], "time", weights)
    refuses(4, ["notes.txt' is text", "a NEFF or its assembly text"], "neff", "show", words)
    refuses(4, ["layer.hlo.txt' is HLO text", "'glia compile'"], "neff", "show", layer)
    refuses(4, ["layer.neff' is a program", "HLO text"], "compile", neff, "-o", folder / "o.neff")

    # A name that is far from all of them is not guessed at; a near one is.
    for args in (("foo",), ("neff", "foo", neff), ("doc", "foo"), ("hw", "show", "foo"), ("time", neff, "--set", "foo=1"), ("time", neff, "--foo")):
        done = glia(*args, code=5 if args[0] in ("hw", "time") and args[-1] != "--foo" else 2)
        check("nearest" not in done.stderr and "hint" in done.stderr, f"glia {args}: {done.stderr}")

    check(glia("time", neff, "-q").stdout.count("\n") == 1, "time -q: not one line")
    check(glia("run", neff, "--random=1", f"-o{folder / 'glued'}").returncode == 0 and (folder / "glued/output.0.npy").exists(), "-oDIR: not as -o DIR")

    # A cache that cannot be written: one note, and on without it. Nobody's home is made.
    (folder / "file").write_text("")
    done = glia("compile", layer, "-o", folder / "u.neff", env={"NEURON_COMPILE_CACHE_URL": str(folder / "file" / "cache")})
    check(done.stderr.count("compiled programs are not kept") == 1 and "--no-cache" in done.stderr, f"unwritable cache: {done.stderr}")
    check((folder / "u.neff").read_bytes() == neff_of_defaults(layer, folder), "unwritable cache: another program")
    home = folder / "nobody"
    for verb in (("doctor",), ("compile", layer, "-o", folder / "h.neff")):
        glia(*verb, env={"HOME": str(home), "XDG_CACHE_HOME": ""})
        check(not home.exists(), f"glia {verb[0]} made HOME")
    cache = folder / "none" / "cache"
    found = json.loads(glia("doctor", "--json", env={"NEURON_COMPILE_CACHE_URL": str(cache)}).stdout)
    check(not cache.exists() and any("can be made" in c["text"] for c in found["checks"]), "doctor: made the cache, or does not say that it can be")
    progress(folder)
    refuses(5, ["nothing.gguf"], "generate", "--model", folder / "nothing.gguf", "--prompt", "a")


with tempfile.TemporaryDirectory() as tmp:
    main(pathlib.Path(tmp))
for failure in failures:
    print(f"FAIL: {failure}")
sys.exit(1 if failures else 0)
