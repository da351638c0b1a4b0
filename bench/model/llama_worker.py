# SPDX-License-Identifier: Apache-2.0
"""llama.cpp's side of the comparison: answers the commands of model_bench.c, through the C API that llama-cpp-python
binds. Run by the interpreter of build/bench/venv.

    llama_worker.py bf16 IN OUT                      converts a GGUF file to BF16 by llama.cpp's own quantise call
    llama_worker.py turns MODEL PREFILL CONTEXT      answers, one line each:
        prefill FLASH UBATCH       a new sequence, flash attention 0 or 1, physical batch size
        decode FLASH UBATCH N      N more tokens (the context is full: after a prefill that is not measured)
"""
import ctypes
import sys
import time

import llama_cpp
import numpy

LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda level, text, data: None)


def convert(source, target):
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = llama_cpp.LLAMA_FTYPE_MOSTLY_BF16
    params.allow_requantize = True
    params.nthread = 2
    code = llama_cpp.llama_model_quantize(source.encode(), target.encode(), ctypes.byref(params))
    if code != 0:
        sys.exit(f"llama_worker: llama.cpp's quantise call answers {code}")


def drawn_ids(count, vocab):
    state, ids = 1, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        ids.append(10 + (state >> 33) % (vocab - 10))
    return ids


class Worker:
    def __init__(self, path, prefill, context):
        self.prefill_tokens, self.context_tokens = prefill, context
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
        if not self.model:
            sys.exit(f"llama_worker: llama.cpp cannot load '{path}'")
        self.vocab = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))
        self.ids = drawn_ids(context, self.vocab)
        self.sequences = {}     # (flash, ubatch): [context, length]

    def sequence(self, flash, ubatch):
        if (flash, ubatch) not in self.sequences:
            params = llama_cpp.llama_context_default_params()
            params.n_ctx, params.n_batch, params.n_ubatch = self.context_tokens, self.prefill_tokens, ubatch
            params.n_threads = params.n_threads_batch = 2
            params.flash_attn_type = flash
            self.sequences[flash, ubatch] = [llama_cpp.llama_init_from_model(self.model, params), 0]
        return self.sequences[flash, ubatch]

    def step(self, sequence, begin, count):
        batch = (llama_cpp.llama_token * count)(*self.ids[begin:begin + count])
        if llama_cpp.llama_decode(sequence[0], llama_cpp.llama_batch_get_one(batch, count)) != 0:
            sys.exit("llama_worker: llama_decode failed")
        self.logits = llama_cpp.llama_get_logits_ith(sequence[0], -1)      # waits until they are there
        sequence[1] = begin + count

    def prefill(self, sequence):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(sequence[0]), False)
        self.step(sequence, 0, self.prefill_tokens)

    def answer(self, words):
        sequence = self.sequence(int(words[1]), int(words[2]))
        begin = time.perf_counter()
        if words[0] == "prefill":
            self.prefill(sequence)
        else:
            count = int(words[3])
            if sequence[1] == 0 or sequence[1] + count > self.context_tokens:
                self.prefill(sequence)
            begin = time.perf_counter()
            for _ in range(count):
                self.step(sequence, sequence[1], 1)
        seconds = time.perf_counter() - begin
        best = int(numpy.ctypeslib.as_array(self.logits, shape=(self.vocab,)).argmax())
        print(f"{seconds:.9g} {best}", flush=True)


def main():
    llama_cpp.llama_log_set(LOG, None)
    llama_cpp.llama_backend_init()
    if sys.argv[1] == "bf16":
        convert(sys.argv[2], sys.argv[3])
        return
    worker = Worker(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    system = llama_cpp.llama_print_system_info().decode()
    print(f"ready llama.cpp (llama-cpp-python {llama_cpp.__version__}; {system.strip()})", flush=True)
    for line in sys.stdin:
        worker.answer(line.split())


main()
