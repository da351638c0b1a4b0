// SPDX-License-Identifier: Apache-2.0
// A checkpoint that needs no download: Gemma 3's architecture, tiny, with random weights and a vocabulary of its own,
// as a GGUF file. The same seed gives the same bytes on every host. Its text is word salad; its mathematics is
// complete: local and global layers, grouped heads, QK and post norms, a tied head.
#ifndef GLIA_EXAMPLES_TINY_MODEL_H
#define GLIA_EXAMPLES_TINY_MODEL_H

#include "base/strbuf.h"

enum {
    TINY_LAYERS = 4,
    TINY_WIDTH = 64,
    TINY_FF = 128,
    TINY_HEADS = 4,
    TINY_KV_HEADS = 2,
    TINY_HEAD_DIM = 32,
    TINY_WINDOW = 16,
    TINY_CONTEXT = 512
};

void tiny_model_write(uint64_t seed, glia_strbuf *out); // appends the file's bytes

#endif
