#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tokenizer against llama.cpp (llama-cpp-python) on the real Gemma vocabulary: thousands of texts of many kinds,
with and without BOS and control tokens; the ids must be equal. One difference is meant: llama.cpp retypes Gemma's HTML
tag "</s>" as a control token by its spelling, so texts with it are compared only where control tokens are parsed.

usage: tokenizer.py MODEL_PROBE GGUF"""
import ctypes
import pathlib
import random
import struct
import subprocess
import sys

from script import skip, skip_without

(llama_cpp,) = skip_without("llama_cpp")
if len(sys.argv) < 3 or not pathlib.Path(sys.argv[2]).is_file():
    skip("GLIA_GEMMA_GGUF does not name the checkpoint that the Python registry serves")
PROBE, PATH = sys.argv[1:3]
BOS, CONTROL = 1, 2

WRITTEN = [
    "", " ", "  ", "Hello world", " Hello", "Hello ", "The capital of France is", "\u2581\u2581 \u2581a b\u2581",
    "Zürich naïve façade Ελληνικά Привет мир 你好，世界 こんにちは 한국어 العربية עברית हिन्दी ไทย",
    "👩‍👩‍👧‍👦 🏳️‍🌈 🤷🏽‍♂️ ✨ e\u0301 \u200b\ufeff", "\n\n\n   \t\t x \r\n y\t", "\u2581" * 7,
    "def f(x):\n    return x+1\n\n\tif a != b:\n\t\tpass\n", "<0x41><0x0A>", "[multimodal]<table><tr><td>1</td></tr>",
    "<bos>hi<eos><start_of_turn>user\nHi<end_of_turn>\n", "<unused12><unused123><unused1234>", "a" * 5000, " " * 1000,
    "\n" * 1000, "\t" * 333, "ab " * 2000, "1234567890" * 100, "<<<<bos>>>>",
]
RAW = [b"\xff\xfe\x80abc\xe2\x96", b"\xe2\x96\x81", b"\xf0\x9f", b"\x00\x00a\x00", bytes(range(256))]
WORDS = ["hello", "the", "Tokenizer", "ing", "\n", "\n\n", "  ", "   ", " ", "\t", "<b>", "</b>", "<s>", "<", "0x0A>",
         "<bos>", "<end_of_turn>", "é", "日本", "😀", "123", ".", "...", "--", "\u2581", "don't", "_x"]
PLANES = [(32, 127), (0x80, 0x3000), (0x3000, 0xd800), (0xe000, 0x20000)]


def texts(r):
    yield from (t.encode() for t in WRITTEN)
    yield from RAW
    for _ in range(1000):
        yield "".join(r.choice(WORDS) + r.choice(["", " "]) for _ in range(r.randrange(1, 30))).encode()
    for _ in range(500):
        yield bytes(r.randrange(256) for _ in range(r.randrange(1, 60)))
    for _ in range(500):
        yield "".join(chr(r.randrange(*r.choice(PLANES))) for _ in range(r.randrange(1, 50))).encode()
    for _ in range(500):
        yield bytes(r.choice(b" \n\t<>/bs\xe2\x96\x81a") for _ in range(r.randrange(1, 60)))
    source = pathlib.Path(__file__).read_bytes()
    for _ in range(300):
        at = r.randrange(len(source))
        yield source[at:at + r.randrange(400)]
    yield source


def probe(verb, *args, data):
    return subprocess.run([PROBE, verb, PATH, *args], input=data, stdout=subprocess.PIPE, check=True).stdout


def unpack(out, item):
    at = 0
    while at < len(out):
        (n,) = struct.unpack_from("<I", out, at)
        yield struct.unpack_from(f"<{n}{item}", out, at + 4)
        at += 4 + n * struct.calcsize(item)


def check_encode(model, all_texts, flags):
    data = b"".join(struct.pack("<I", len(t)) + t for t in all_texts)
    compared = 0
    for text, got in zip(all_texts, unpack(probe("encode", str(flags), data=data), "i"), strict=True):
        if b"</s>" in text and not flags & CONTROL:
            continue
        want = model.tokenize(text, add_bos=bool(flags & BOS), special=bool(flags & CONTROL))
        if list(got) != want:
            sys.exit(f"flags {flags}, {text!r}:\n got  {list(got)}\n want {want}")
        compared += 1
    return compared


def piece(model, token):
    vocab = llama_cpp.llama_model_get_vocab(model._model.model)
    buffer = ctypes.create_string_buffer(256)
    n = llama_cpp.llama_token_to_piece(vocab, token, buffer, len(buffer), 0, False)
    return buffer.raw[:n]


def check_decode(model, all_texts):
    ids = [model.tokenize(t, add_bos=False, special=False) for t in all_texts]
    data = b"".join(struct.pack(f"<I{len(i)}i", len(i), *i) for i in ids)
    for text, i, got in zip(all_texts, ids, unpack(probe("decode", data=data), "c"), strict=True):
        want = b"".join(piece(model, token) for token in i)
        if b"".join(got) != want:
            sys.exit(f"decoding {i}:\n got  {b''.join(got)!r}\n want {want!r}")


def main():
    model = llama_cpp.Llama(PATH, vocab_only=True, verbose=False)
    all_texts = list(texts(random.Random(5)))
    compared = sum(check_encode(model, all_texts, flags) for flags in range(4))
    check_decode(model, all_texts)
    print(f"{compared} encodings of {len(all_texts)} texts equal llama.cpp's")


main()
