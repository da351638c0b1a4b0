// SPDX-License-Identifier: Apache-2.0
// Tokenizer: text to ids and back, from a GGUF file's own vocabulary (tokenizer.ggml.*, model "llama": SentencePiece
// pieces with scores, merged best score first).
//
// Encoding: user-defined tokens (and control tokens, if asked) are cut out first, longest first; the rest has spaces
// escaped to U+2581 and is merged pair by pair, the pair whose union has the highest score first, the leftmost of
// equals; what is no piece falls back to byte tokens <0xNN>. O(n log n) in the text. Ids equal llama.cpp's. The
// tokenizer owns all that it needs: the checkpoint may be closed. Immutable, so any number of threads may use it.
#ifndef GLIA_MODEL_TOKENIZER_H
#define GLIA_MODEL_TOKENIZER_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "model/checkpoint.h"

typedef struct model_tokenizer model_tokenizer;

typedef struct model_ids {
    int32_t *items;
    uint32_t count, capacity;
} model_ids;        // a VEC: free with VEC_FREE

enum {
    MODEL_ENCODE_BOS = 1u << 0,         // begin with BOS and end with EOS where the model's metadata asks for them
    MODEL_ENCODE_CONTROL = 1u << 1,     // text like "<bos>" becomes the control token; otherwise it is plain text
};

// UNSUPPORTED for a checkpoint without a vocabulary or with another tokenizer model (named).
GLIA_MUST_USE glia_status model_tokenizer_create(const model_checkpoint *cp, model_tokenizer **out);
GLIA_MUST_USE glia_status model_tokenizer_create_gguf(const model_gguf *gguf, model_tokenizer **out);
void model_tokenizer_destroy(model_tokenizer *t);
DEFINE_CLEANUP(model_tokenizer, model_tokenizer_destroy)

int model_tokenizer_size(const model_tokenizer *t);
int model_tokenizer_bos(const model_tokenizer *t);      // -1: none
int model_tokenizer_eos(const model_tokenizer *t);
glia_span model_tokenizer_text(const model_tokenizer *t, int32_t id);  // the raw piece; empty for an id out of range
bool model_tokenizer_is_control(const model_tokenizer *t, int32_t id);
int32_t model_tokenizer_find(const model_tokenizer *t, glia_span text); // id of a raw piece, -1 if none

// Appends the ids of `size` bytes at `text` (any bytes; UTF-8 is not required). INVALID for a byte that the vocabulary
// cannot express, EXHAUSTED for texts of 256 MiB or more.
GLIA_MUST_USE glia_status model_tokenizer_encode(const model_tokenizer *t, const char *text, size_t size,
                                                 unsigned flags, model_ids *out);

// Decoding is a stream: bytes of an unfinished UTF-8 character are held back until it is complete, so that what is
// appended to `out` is whole characters; a byte that can no longer become one is passed through as it is. Control
// tokens give nothing unless `show_control`.
typedef struct model_decoder {
    const model_tokenizer *tokenizer;   // borrowed
    bool show_control;
    bool started;               // a text has begun: no leading space to strip any more
    uint8_t held[4];
    uint8_t held_size;
} model_decoder;

model_decoder model_decoder_of(const model_tokenizer *t);
// INVALID for an id outside the vocabulary.
GLIA_MUST_USE glia_status model_decoder_push(model_decoder *d, int32_t id, glia_strbuf *out);
void model_decoder_flush(model_decoder *d, glia_strbuf *out);      // what is held, as it is
// All at once.
GLIA_MUST_USE glia_status model_tokenizer_decode(const model_tokenizer *t, const int32_t *ids, size_t count,
                                                 glia_strbuf *out);

#endif
