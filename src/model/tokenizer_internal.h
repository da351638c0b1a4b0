// SPDX-License-Identifier: Apache-2.0
// What the files of the tokenizer share: the vocabulary, and the steps of encoding; nobody else includes it.
#ifndef GLIA_MODEL_TOKENIZER_INTERNAL_H
#define GLIA_MODEL_TOKENIZER_INTERNAL_H

#include "model/tokenizer.h"

// Types of pieces, as in the file [SentencePiece sentencepiece_model.proto, Type].
typedef enum piece_type {
    PIECE_NORMAL = 1,
    PIECE_UNKNOWN = 2,
    PIECE_CONTROL = 3,
    PIECE_USER_DEFINED = 4,
    PIECE_UNUSED = 5,
    PIECE_BYTE = 6,
} piece_type;

typedef struct piece {
    const char *text;
    uint32_t size;
    float score;
    uint8_t type;           // piece_type
    uint8_t byte;           // value of a BYTE piece
} piece;

// A trie over the special pieces; node 0 is the root.
typedef struct special_node {
    uint32_t child, sibling;    // 0: none
    int32_t id;                 // of the piece that ends here, -1: none
    uint8_t byte;
} special_node;

struct model_tokenizer {
    glia_arena *arena;      // holds this struct too
    piece *pieces;
    uint32_t count;
    uint32_t *slots;        // open-addressed hash of texts: id + 1, 0 is empty
    uint32_t slot_mask;
    uint32_t longest;       // bytes of the longest piece
    int32_t byte_ids[256];  // -1: none
    int32_t bos, eos, unknown;      // -1: none
    bool add_bos, add_eos, add_space_prefix;
    VEC(special_node) specials;
};

// Id of a text, -1 if it is no piece. Of pieces with equal text the last counts, as in llama.cpp.
int32_t tokenizer_lookup(const model_tokenizer *t, const char *text, uint32_t size);

// tokenizer_special.c: the trie of control, unknown and user-defined pieces, and cutting a text at them.
void tokenizer_add_special(model_tokenizer *t, int32_t id);
typedef struct fragment {
    uint32_t begin, end;
    int32_t id;             // -1: plain text
} fragment;
typedef struct fragments {
    fragment *items;
    uint32_t count, capacity;
} fragments;                // a VEC
GLIA_MUST_USE glia_status tokenizer_partition(const model_tokenizer *t, const char *text, uint32_t size, bool control,
                                              fragments *out);

// tokenizer_merge.c: ids of one plain text whose spaces are escaped.
GLIA_MUST_USE glia_status tokenizer_merge(const model_tokenizer *t, const char *text, uint32_t size, model_ids *out);

#endif
