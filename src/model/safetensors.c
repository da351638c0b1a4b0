// SPDX-License-Identifier: Apache-2.0
// The safetensors parser.
//
//   offset  size  meaning
//   0       8     H, size of the header, little-endian, at most 100 MB (the format's own limit)
//   8       H     JSON object, begins with '{', may be padded with spaces at its end:
//                 "name": {"dtype": "BF16", "shape": [rows, columns], "data_offsets": [begin, end]}, ...
//                 "__metadata__": {string: string} may be present and is not used
//   8 + H         the buffer; offsets count from here. Tensors are row-major, without gaps or overlaps.
// A scalar has an empty shape. Repeated names are refused by the JSON parser. The invariant: every span that is handed
// out lies inside the map and has exactly the bytes that its dtype and shape need.
#include "model/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

enum { HEADER_MAX = 100000000 };

static const struct {
    const char *name;
    unsigned bits;
} dtype_table[] = {
#define ST_DTYPE(name, bits) { name, bits },
#include "model/safetensors_types.def"
};

typedef struct reader {
    const char *what;
    glia_span buffer;
} reader;

static glia_status read_dtype(const reader *r, const glia_json *info, model_tensor *t, unsigned *bits)
{
    const glia_json *v = glia_json_find(info, "dtype");
    ENSURE(v && v->kind == GLIA_JSON_STRING, CORRUPT, "'%s': tensor '%s' (header line %d, column %d) has no dtype",
           r->what, t->name, info->line, info->column);
    for (size_t i = 0; i < COUNT_OF(dtype_table); i++) {
        if (strcmp(dtype_table[i].name, v->string) != 0) continue;
        t->type_name = dtype_table[i].name;
        t->type = model_block_find(t->type_name);
        *bits = dtype_table[i].bits;
        return GLIA_OK;
    }
    return GLIA_FAIL(UNSUPPORTED, "'%s': tensor '%s' has dtype '%s', which is not known; F32, F16 and BF16 are read\n"
                     "hint: a row in model/safetensors_types.def says how large it is",
                     r->what, t->name, v->string);
}

static glia_status read_shape(const reader *r, const glia_json *info, model_tensor *t)
{
    const glia_json *v = glia_json_find(info, "shape");
    ENSURE(v && v->kind == GLIA_JSON_ARRAY, CORRUPT, "'%s': tensor '%s' (header line %d, column %d) has no shape",
           r->what, t->name, info->line, info->column);
    ENSURE(v->size <= MODEL_MAX_RANK, UNSUPPORTED, "'%s': tensor '%s' has rank %zu, this build reads up to %d", r->what,
           t->name, v->size, MODEL_MAX_RANK);
    t->rank = (int)v->size;
    t->elements = 1;
    for (int d = 0; d < t->rank; d++) {
        const glia_json *n = &v->items[d];
        ENSURE(n->kind == GLIA_JSON_NUMBER && n->is_integer && n->integer > 0, CORRUPT,
               "'%s': dimension %d of tensor '%s' (header line %d, column %d) is not a positive integer", r->what, d,
               t->name, n->line, n->column);
        t->shape[d] = (uint64_t)n->integer;
        ENSURE(!__builtin_mul_overflow(t->elements, t->shape[d], &t->elements) && t->elements <= INT64_MAX / 8, CORRUPT,
               "'%s': tensor '%s' (header line %d, column %d) has too many elements: dimension %d is %lld", r->what,
               t->name, n->line, n->column, d, (long long)n->integer);
    }
    return GLIA_OK;
}

static glia_status read_offsets(const reader *r, const glia_json *info, model_tensor *t, unsigned bits)
{
    const glia_json *v = glia_json_find(info, "data_offsets");
    ENSURE(v && v->kind == GLIA_JSON_ARRAY && v->size == 2 && v->items[0].is_integer && v->items[1].is_integer &&
               v->items[0].kind == GLIA_JSON_NUMBER && v->items[1].kind == GLIA_JSON_NUMBER,
           CORRUPT, "'%s': tensor '%s' (header line %d, column %d) needs 'data_offsets' of two integers", r->what,
           t->name, info->line, info->column);
    const int64_t begin = v->items[0].integer, end = v->items[1].integer;
    ENSURE(begin >= 0 && begin <= end && (uint64_t)end <= r->buffer.size, CORRUPT,
           "'%s': tensor '%s' has data offsets %lld to %lld, the file has %zu bytes of data\n"
           "hint: the file is truncated or damaged; fetch it again",
           r->what, t->name, (long long)begin, (long long)end, r->buffer.size);
    const uint64_t total_bits = t->elements * bits;     // elements <= 2^63 / 8, bits <= 64: checked below by division
    ENSURE(t->elements <= UINT64_MAX / bits && total_bits % 8 == 0 && total_bits / 8 == (uint64_t)(end - begin), CORRUPT,
           "'%s': tensor '%s' of %llu %s elements needs %llu bits, its data offsets %lld to %lld give %lld bytes", r->what,
           t->name, (unsigned long long)t->elements, t->type_name, (unsigned long long)total_bits, (long long)begin,
           (long long)end, (long long)(end - begin));
    t->bytes = (glia_span){ r->buffer.data + begin, (size_t)(end - begin) };
    return GLIA_OK;
}

static glia_status read_tensor(const reader *r, const char *name, const glia_json *info, model_tensor *t)
{
    unsigned bits;
    t->name = name;
    t->file = r->what;
    ENSURE(info->kind == GLIA_JSON_OBJECT, CORRUPT, "'%s': entry '%s' (header line %d, column %d) is not an object",
           r->what, name, info->line, info->column);
    ENSURE(name[0], CORRUPT, "'%s': a tensor (header line %d, column %d) has an empty name", r->what, info->line,
           info->column);
    TRY(read_dtype(r, info, t, &bits));
    TRY(read_shape(r, info, t));
    return read_offsets(r, info, t, bits);
}

static int by_address(const void *a, const void *b)
{
    const model_tensor *x = a, *y = b;
    if (x->bytes.data != y->bytes.data) return x->bytes.data < y->bytes.data ? -1 : 1;
    return strcmp(x->name, y->name);
}

// Sorted tensors must tile the buffer.
static glia_status check_tiling(const reader *r, const model_tensor *tensors, size_t count)
{
    size_t end = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t begin = (size_t)(tensors[i].bytes.data - r->buffer.data);
        ENSURE(begin == end, CORRUPT, "'%s': data of tensor '%s' begins at %zu, the tensor before it ends at %zu; %s",
               r->what, tensors[i].name, begin, end, begin < end ? "tensors must not overlap" : "gaps are not allowed");
        end = begin + tensors[i].bytes.size;
    }
    ENSURE(end == r->buffer.size, CORRUPT, "'%s': tensors end at data byte %zu, the file has %zu bytes of data", r->what,
           end, r->buffer.size);
    return GLIA_OK;
}

static glia_status read_header(glia_span bytes, const char *what, glia_span *header, glia_span *buffer)
{
    glia_cursor c = glia_cursor_of(bytes, what);
    uint64_t size;
    TRY(glia_read_u64(&c, &size));
    ENSURE(size <= HEADER_MAX, CORRUPT, "'%s' at byte 0: header of %llu bytes, the format allows %d\n"
           "hint: this may not be a safetensors file",
           what, (unsigned long long)size, HEADER_MAX);
    ENSURE(size <= glia_cursor_left(&c), CORRUPT, "'%s' at byte 0: header of %llu bytes, the file has %zu left\n"
           "hint: the file is truncated or damaged; fetch it again",
           what, (unsigned long long)size, glia_cursor_left(&c));
    TRY(glia_read_span(&c, (size_t)size, header));
    ENSURE(size >= 2 && header->data[0] == '{', CORRUPT, "'%s' at byte 8: the header is not a JSON object", what);
    return glia_read_span(&c, glia_cursor_left(&c), buffer);
}

glia_status model_safetensors_open(glia_arena *arena, glia_span bytes, const char *what, model_safetensors *out)
{
    *out = (model_safetensors){ 0 };
    reader r = { .what = what };
    glia_span header;
    glia_json *root;

    TRY(read_header(bytes, what, &header, &r.buffer));
    TRY(glia_json_parse(arena, header, what, &root));
    ENSURE(root->kind == GLIA_JSON_OBJECT, CORRUPT, "'%s' at byte 8: the header is not a JSON object", what);
    model_tensor *tensors = ARENA_ARRAY(arena, model_tensor, root->size);
    size_t count = 0;
    for (size_t i = 0; i < root->size; i++) {
        if (!strcmp(root->keys[i], "__metadata__")) continue;
        TRY(read_tensor(&r, root->keys[i], &root->items[i], &tensors[count++]));
    }
    qsort(tensors, count, sizeof *tensors, by_address);
    TRY(check_tiling(&r, tensors, count));
    out->tensors = tensors;
    out->count = count;
    return GLIA_OK;
}
