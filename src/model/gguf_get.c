// SPDX-License-Identifier: Apache-2.0
// Lookups in an open GGUF file: entries by key, typed and range-checked; arrays by index. Also the sorted indices that
// parsing uses to find repeated names and overlapping tensors. Nothing here reads the file.
#include <stdlib.h>
#include <string.h>

#include "model/gguf_internal.h"

typedef struct sort_item {
    const char *name;
    size_t position;
} sort_item;

static int by_name(const void *a, const void *b)
{
    const sort_item *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x->position > y->position) - (x->position < y->position);
}

glia_status gguf_index(glia_arena *arena, const char *what, const char *role, const char *const *first, size_t stride,
                       size_t count, size_t **out)
{
    sort_item *items = ARENA_ARRAY(arena, sort_item, count);
    size_t *index = ARENA_ARRAY(arena, size_t, count);
    for (size_t i = 0; i < count; i++) {
        items[i].name = *(const char *const *)((const char *)first + i * stride);
        items[i].position = i;
    }
    qsort(items, count, sizeof *items, by_name);
    for (size_t i = 0; i < count; i++) {
        ENSURE(i == 0 || strcmp(items[i - 1].name, items[i].name) != 0, CORRUPT,
               "'%s': %s '%s' appears twice, as number %zu and as number %zu", what, role, items[i].name,
               items[i - 1].position + 1, items[i].position + 1);
        index[i] = items[i].position;
    }
    *out = index;
    return GLIA_OK;
}

static int by_address(const void *a, const void *b)
{
    const model_tensor *x = *(const model_tensor *const *)a, *y = *(const model_tensor *const *)b;
    return (x->bytes.data > y->bytes.data) - (x->bytes.data < y->bytes.data);
}

glia_status gguf_check_overlap(glia_arena *arena, const char *what, glia_span file, const model_tensor *tensors,
                               size_t count)
{
    const model_tensor **sorted = ARENA_ARRAY(arena, const model_tensor *, count);
    for (size_t i = 0; i < count; i++) sorted[i] = &tensors[i];
    qsort(sorted, count, sizeof *sorted, by_address);
    for (size_t i = 1; i < count; i++) {
        const model_tensor *a = sorted[i - 1], *b = sorted[i];
        ENSURE(a->bytes.data + a->bytes.size <= b->bytes.data, CORRUPT,
               "'%s' at byte %zu: tensor '%s' begins inside tensor '%s', which has %zu bytes from byte %zu", what,
               (size_t)(b->bytes.data - file.data), b->name, a->name, a->bytes.size,
               (size_t)(a->bytes.data - file.data));
    }
    return GLIA_OK;
}

const char *model_gguf_what(const model_gguf *g)
{
    return g->what;
}

uint32_t model_gguf_version(const model_gguf *g)
{
    return g->version;
}

size_t model_gguf_entry_count(const model_gguf *g)
{
    return g->entry_count;
}

const model_gguf_entry *model_gguf_entry_at(const model_gguf *g, size_t index)
{
    BUG_ON(index >= g->entry_count);
    return &g->entries[index];
}

size_t model_gguf_tensor_count(const model_gguf *g)
{
    return g->tensor_count;
}

const model_tensor *model_gguf_tensor_at(const model_gguf *g, size_t index)
{
    BUG_ON(index >= g->tensor_count);
    return &g->tensors[index];
}

const model_gguf_entry *model_gguf_find(const model_gguf *g, const char *key)
{
    size_t low = 0, high = g->entry_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const model_gguf_entry *e = &g->entries[g->entry_index[middle]];
        const int order = strcmp(key, e->key);
        if (order == 0) return e;
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return NULL;
}

static bool is_signed(model_gguf_kind kind)
{
    return kind == MODEL_GGUF_INT8 || kind == MODEL_GGUF_INT16 || kind == MODEL_GGUF_INT32 || kind == MODEL_GGUF_INT64;
}

static bool is_unsigned(model_gguf_kind kind)
{
    return kind == MODEL_GGUF_UINT8 || kind == MODEL_GGUF_UINT16 || kind == MODEL_GGUF_UINT32 ||
           kind == MODEL_GGUF_UINT64;
}

static bool is_float(model_gguf_kind kind)
{
    return kind == MODEL_GGUF_FLOAT32 || kind == MODEL_GGUF_FLOAT64;
}

static glia_status find_entry(const model_gguf *g, const char *key, bool required, const model_gguf_entry **out)
{
    *out = model_gguf_find(g, key);
    ENSURE(*out || !required, NOT_FOUND, "'%s' has no metadata key '%s', which its architecture needs", g->what, key);
    return GLIA_OK;
}

static glia_status wrong_kind(const model_gguf *g, const model_gguf_entry *e, const char *want)
{
    return GLIA_FAIL(INVALID, "'%s' at byte %zu: '%s' is of kind %s, %s is needed", g->what, e->offset, e->key,
                     model_gguf_kind_name(e->value.kind), want);
}

glia_status model_gguf_int(const model_gguf *g, const char *key, bool required, int64_t fallback, int64_t low,
                           int64_t high, int64_t *out)
{
    const model_gguf_entry *e;
    TRY(find_entry(g, key, required, &e));
    if (!e) {
        *out = fallback;
        return GLIA_OK;
    }
    if (is_unsigned(e->value.kind)) {
        ENSURE(e->value.u <= (uint64_t)INT64_MAX && (int64_t)e->value.u >= low && (int64_t)e->value.u <= high, INVALID,
               "'%s' at byte %zu: '%s' is %llu, %lld to %lld are allowed", g->what, e->offset, key,
               (unsigned long long)e->value.u, (long long)low, (long long)high);
        *out = (int64_t)e->value.u;
        return GLIA_OK;
    }
    if (!is_signed(e->value.kind)) return wrong_kind(g, e, "an integer");
    ENSURE(e->value.i >= low && e->value.i <= high, INVALID, "'%s' at byte %zu: '%s' is %lld, %lld to %lld are allowed",
           g->what, e->offset, key, (long long)e->value.i, (long long)low, (long long)high);
    *out = e->value.i;
    return GLIA_OK;
}

glia_status model_gguf_double(const model_gguf *g, const char *key, bool required, double fallback, double *out)
{
    const model_gguf_entry *e;
    TRY(find_entry(g, key, required, &e));
    if (e && !is_float(e->value.kind)) return wrong_kind(g, e, "a float");
    *out = e ? e->value.f : fallback;
    return GLIA_OK;
}

glia_status model_gguf_bool(const model_gguf *g, const char *key, bool fallback, bool *out)
{
    const model_gguf_entry *e = model_gguf_find(g, key);
    if (e && e->value.kind != MODEL_GGUF_BOOL) return wrong_kind(g, e, "a bool");
    *out = e ? e->value.u != 0 : fallback;
    return GLIA_OK;
}

glia_status model_gguf_string(const model_gguf *g, const char *key, bool required, glia_span *out)
{
    const model_gguf_entry *e;
    TRY(find_entry(g, key, required, &e));
    if (e && e->value.kind != MODEL_GGUF_STRING) return wrong_kind(g, e, "a string");
    *out = e ? e->value.string : (glia_span){ NULL, 0 };
    return GLIA_OK;
}

static void array_item(const model_gguf_value *array, uint64_t index, model_gguf_value *out)
{
    BUG_ON(array->kind != MODEL_GGUF_ARRAY || !array->array.raw || index >= array->array.count);
    gguf_decode_scalar(array->array.kind, array->array.raw + index * gguf_kind_bytes(array->array.kind), out);
}

int64_t model_gguf_array_int(const model_gguf_value *array, uint64_t index)
{
    model_gguf_value v;
    array_item(array, index, &v);
    BUG_ON(is_float(v.kind));
    return is_signed(v.kind) ? v.i : (int64_t)v.u;
}

double model_gguf_array_double(const model_gguf_value *array, uint64_t index)
{
    model_gguf_value v;
    array_item(array, index, &v);
    BUG_ON(!is_float(v.kind));
    return v.f;
}
