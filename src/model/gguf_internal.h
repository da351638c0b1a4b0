// SPDX-License-Identifier: Apache-2.0
// What gguf.c (parsing) and gguf_get.c (lookups) share; nobody else includes it.
#ifndef GLIA_MODEL_GGUF_INTERNAL_H
#define GLIA_MODEL_GGUF_INTERNAL_H

#include "model/gguf.h"

struct model_gguf {
    glia_arena *arena;          // holds this struct too
    const char *what;
    uint32_t version;
    uint64_t alignment;         // a power of two
    model_gguf_entry *entries;  // in file order
    size_t entry_count;
    size_t *entry_index;        // positions in `entries`, by key
    model_tensor *tensors;      // in file order
    size_t tensor_count;
};

size_t gguf_kind_bytes(model_gguf_kind kind);   // of a scalar, 0 for STRING and ARRAY
// A scalar kind from its bytes.
void gguf_decode_scalar(model_gguf_kind kind, const uint8_t *raw, model_gguf_value *out);
// Sorts the positions of `count` names (the first at `first`, the next `stride` bytes on); CORRUPT if one repeats.
GLIA_MUST_USE glia_status gguf_index(glia_arena *arena, const char *what, const char *role, const char *const *first,
                                     size_t stride, size_t count, size_t **out);
// CORRUPT, naming both, if two tensors share a byte of `file`.
GLIA_MUST_USE glia_status gguf_check_overlap(glia_arena *arena, const char *what, glia_span file,
                                             const model_tensor *tensors, size_t count);

#endif
