// SPDX-License-Identifier: Apache-2.0
// JSON: a writer that cannot produce an invalid document, and a bounded parser (depth 64, no recursion past it).
//
// Numbers are written shortest-round-trip; NaN and infinities as null. The parser keeps object order, rejects repeated
// keys, trailing bytes and invalid UTF-8, with line:column in each error.
#ifndef GLIA_BASE_JSON_H
#define GLIA_BASE_JSON_H

#include "base/arena.h"
#include "base/strbuf.h"

// Length of the UTF-8 sequence at `s`, or 0 if it is not valid there (overlong, surrogate, past U+10FFFF, cut short).
size_t glia_utf8_length(const uint8_t *s, size_t left);

typedef struct glia_json_writer {
    glia_strbuf *out;       // borrowed
    int depth;
    bool pretty;            // two-space indent and newlines
    uint8_t state[65];      // per depth: 'o'/'a' and whether an item was written
} glia_json_writer;

glia_json_writer glia_json_writer_of(glia_strbuf *out, bool pretty);
// `key` is NULL inside an array and at the top.
void glia_json_begin_object(glia_json_writer *w, const char *key);
void glia_json_end_object(glia_json_writer *w);
void glia_json_begin_array(glia_json_writer *w, const char *key);
void glia_json_end_array(glia_json_writer *w);
void glia_json_string(glia_json_writer *w, const char *key, const char *value);    // NULL value writes null
void glia_json_string_n(glia_json_writer *w, const char *key, const char *value, size_t n);
void glia_json_int(glia_json_writer *w, const char *key, int64_t value);
void glia_json_uint(glia_json_writer *w, const char *key, uint64_t value);
void glia_json_double(glia_json_writer *w, const char *key, double value);
void glia_json_bool(glia_json_writer *w, const char *key, bool value);
void glia_json_null(glia_json_writer *w, const char *key);

typedef enum glia_json_kind { GLIA_JSON_NULL, GLIA_JSON_BOOL, GLIA_JSON_NUMBER, GLIA_JSON_STRING, GLIA_JSON_ARRAY,
                              GLIA_JSON_OBJECT } glia_json_kind;
typedef struct glia_json {
    glia_json_kind kind;
    bool boolean;
    bool is_integer;        // the text has neither fraction nor exponent and fits int64
    double number;
    int64_t integer;
    const char *string;     // NUL-terminated UTF-8; `size` bytes
    size_t size;            // bytes of a string, items of an array or object
    struct glia_json *items;        // [size] values
    const char **keys;              // [size] for objects
    int line, column;
} glia_json;

// The tree lives in `arena`. `what` names the input in errors.
GLIA_MUST_USE glia_status glia_json_parse(glia_arena *arena, glia_span text, const char *what, glia_json **out);
const glia_json *glia_json_find(const glia_json *object, const char *key);       // NULL if missing or not an object
// Typed fields: INVALID, naming key and line, when the kind is wrong; the default when the key is missing or null.
GLIA_MUST_USE glia_status glia_json_get_int(const glia_json *object, const char *key, int64_t fallback, int64_t *out);
GLIA_MUST_USE glia_status glia_json_get_double(const glia_json *object, const char *key, double fallback, double *out);
GLIA_MUST_USE glia_status glia_json_get_bool(const glia_json *object, const char *key, bool fallback, bool *out);
GLIA_MUST_USE glia_status glia_json_get_string(const glia_json *object, const char *key, const char *fallback,
                                               const char **out);

#endif
