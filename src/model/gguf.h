// SPDX-License-Identifier: Apache-2.0
// GGUF files, versions 2 and 3: metadata and tensors of a mapped file.
//
// The whole header is checked at open: every count, offset and size against the bytes that are left and against
// overflow, names for repetition, tensors for overlap and for lying inside the file. What is handed out points into the
// map. Errors give file and byte offset. The layout is specified in gguf.c. Not a writer.
#ifndef GLIA_MODEL_GGUF_H
#define GLIA_MODEL_GGUF_H

#include "base/arena.h"
#include "model/checkpoint.h"

typedef enum model_gguf_kind {
#define GGUF_VALUE(symbol, name, bytes) MODEL_GGUF_##symbol,
#include "model/gguf_values.def"
    MODEL_GGUF_KIND_COUNT
} model_gguf_kind;

typedef struct model_gguf_value {
    model_gguf_kind kind;
    union {
        uint64_t u;             // unsigned kinds and BOOL
        int64_t i;              // signed kinds
        double f;               // FLOAT32, FLOAT64
        glia_span string;       // STRING, not NUL-terminated
        struct {
            model_gguf_kind kind;
            uint64_t count;
            const uint8_t *raw;                     // scalar items, little-endian, unaligned
            const glia_span *strings;               // STRING items
            const struct model_gguf_value *nested;  // ARRAY items
        } array;
    };
} model_gguf_value;

typedef struct model_gguf_entry {
    const char *key;
    size_t offset;              // of the key in the file
    model_gguf_value value;
} model_gguf_entry;

// `bytes` and `what` (the file's name in errors) are borrowed until destroy.
GLIA_MUST_USE glia_status model_gguf_open(glia_span bytes, const char *what, model_gguf **out);
void model_gguf_destroy(model_gguf *g);     // NULL is fine
DEFINE_CLEANUP(model_gguf, model_gguf_destroy)
bool model_gguf_is(glia_span bytes);        // begins with the magic

const char *model_gguf_what(const model_gguf *g);
uint32_t model_gguf_version(const model_gguf *g);
size_t model_gguf_entry_count(const model_gguf *g);
const model_gguf_entry *model_gguf_entry_at(const model_gguf *g, size_t index);
size_t model_gguf_tensor_count(const model_gguf *g);
const model_tensor *model_gguf_tensor_at(const model_gguf *g, size_t index);

const model_gguf_entry *model_gguf_find(const model_gguf *g, const char *key);     // NULL if missing
// Typed reads. A missing key gives the fallback; with `required` it is NOT_FOUND. A value of another kind, or outside
// [low, high], is INVALID naming key and value. Integers of any width and sign are accepted for integers.
GLIA_MUST_USE glia_status model_gguf_int(const model_gguf *g, const char *key, bool required, int64_t fallback,
                                         int64_t low, int64_t high, int64_t *out);
GLIA_MUST_USE glia_status model_gguf_double(const model_gguf *g, const char *key, bool required, double fallback,
                                            double *out);
GLIA_MUST_USE glia_status model_gguf_bool(const model_gguf *g, const char *key, bool fallback, bool *out);
GLIA_MUST_USE glia_status model_gguf_string(const model_gguf *g, const char *key, bool required, glia_span *out);
// Item `index` of an array of integers or bools, or of floats; BUG for another kind.
int64_t model_gguf_array_int(const model_gguf_value *array, uint64_t index);
double model_gguf_array_double(const model_gguf_value *array, uint64_t index);
const char *model_gguf_kind_name(model_gguf_kind kind);

#endif
