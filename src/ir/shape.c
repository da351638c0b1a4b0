// SPDX-License-Identifier: Apache-2.0
// Shapes: how many elements, how many bytes, equal or not, and as text.
//
// Invariant: a shape that passed ir_shape_check has no product or sum here that overflows. Layouts are carried for the
// entry only and never take part in equality: inside the IR every array is row-major.
#include "ir/module.h"

#include <string.h>

static const uint64_t SHAPE_BYTES_LIMIT = (uint64_t)1 << 62;

size_t ir_dtype_bytes(num_dtype t)
{
    int bits = num_bits(t);
    return bits < 8 ? 1 : (size_t)bits / 8;
}

int64_t ir_shape_elements(const ir_shape *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++) {
        if (s->dims[i] == 0) return 0;
        n *= s->dims[i];
    }
    return n;
}

size_t ir_shape_bytes(const ir_shape *s)
{
    if (!s->is_tuple) return (size_t)ir_shape_elements(s) * ir_dtype_bytes(s->dtype);
    size_t sum = 0;
    for (int i = 0; i < s->tuple_size; i++)
        sum += ir_shape_bytes(&s->elements[i]);
    return sum;
}

bool ir_shape_dims_equal(const ir_shape *a, const ir_shape *b)
{
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i]) return false;
    return true;
}

bool ir_shape_equal(const ir_shape *a, const ir_shape *b)
{
    if (a->is_tuple != b->is_tuple) return false;
    if (!a->is_tuple) return a->dtype == b->dtype && ir_shape_dims_equal(a, b);
    if (a->tuple_size != b->tuple_size) return false;
    for (int i = 0; i < a->tuple_size; i++)
        if (!ir_shape_equal(&a->elements[i], &b->elements[i])) return false;
    return true;
}

ir_shape ir_shape_array_in(glia_arena *a, num_dtype dtype, int rank, const int64_t *dims)
{
    int64_t *copy = ARENA_ARRAY(a, int64_t, (size_t)rank);
    if (rank > 0) memcpy(copy, dims, (size_t)rank * sizeof *copy);
    return (ir_shape){.dtype = dtype, .rank = rank, .dims = copy};
}

ir_shape ir_shape_array(ir_module *m, num_dtype dtype, int rank, const int64_t *dims)
{
    return ir_shape_array_in(m->arena, dtype, rank, dims);
}

static void *copy_array(glia_arena *a, const void *items, size_t count, size_t size)
{
    if (!items) return NULL;
    void *copy = glia_arena_alloc(a, glia_array_bytes(count, size));
    if (count) memcpy(copy, items, count * size);
    return copy;
}

ir_shape ir_shape_copy_in(glia_arena *a, const ir_shape *s)
{
    ir_shape copy = *s;
    if (!s->is_tuple) {
        copy.dims = copy_array(a, s->dims, (size_t)s->rank, sizeof *s->dims);
        copy.minor_to_major = copy_array(a, s->minor_to_major, (size_t)s->rank, sizeof *s->minor_to_major);
        return copy;
    }
    ir_shape *elements = ARENA_ARRAY(a, ir_shape, (size_t)s->tuple_size);
    for (int i = 0; i < s->tuple_size; i++)
        elements[i] = ir_shape_copy_in(a, &s->elements[i]);
    copy.elements = elements;
    return copy;
}

ir_shape ir_shape_tuple(ir_module *m, int count, const ir_shape *elements)
{
    ir_shape tuple = {.is_tuple = 1, .tuple_size = count, .elements = elements};
    return ir_shape_copy_in(m->arena, &tuple);
}

const ir_shape *ir_shape_element(const ir_shape *s, int i)
{
    BUG_ON(i < 0 || i >= (s->is_tuple ? s->tuple_size : 1));
    return s->is_tuple ? &s->elements[i] : s;
}

int ir_shape_leaves(const ir_shape *s)
{
    if (!s->is_tuple) return 1;
    int leaves = 0;
    for (int i = 0; i < s->tuple_size; i++)
        leaves += ir_shape_leaves(&s->elements[i]);
    return leaves;
}

static const char *dtype_text(num_dtype t)
{
    const num_dtype_info *info = num_dtype_get(t);
    return info->hlo && *info->hlo ? info->hlo : info->name;
}

void ir_shape_print(glia_strbuf *out, const ir_shape *s)
{
    if (s->is_tuple) {
        glia_put(out, "(");
        for (int i = 0; i < s->tuple_size; i++) {
            if (i) glia_put(out, ", ");
            ir_shape_print(out, &s->elements[i]);
        }
        glia_put(out, ")");
        return;
    }
    glia_putf(out, "%s[", dtype_text(s->dtype));
    for (int i = 0; i < s->rank; i++)
        glia_putf(out, "%s%lld", i ? "," : "", (long long)s->dims[i]);
    glia_put(out, "]");
}

const char *ir_shape_text(glia_arena *a, const ir_shape *s)
{
    AUTO_VALUE(glia_strbuf) text = {0};
    ir_shape_print(&text, s);
    return glia_arena_strdup(a, glia_strbuf_str(&text));
}

static glia_status check_array(const ir_shape *s, uint64_t *bytes)
{
    ENSURE(s->rank >= 0 && s->rank <= IR_RANK_LIMIT, INVALID, "an array has %d dims, at most %d are read", s->rank,
           IR_RANK_LIMIT);
    ENSURE(s->dtype > NUM_DTYPE_NONE && s->dtype < NUM_DTYPE_COUNT, INVALID, "an array has no element type (%d)",
           (int)s->dtype);
    uint64_t total = ir_dtype_bytes(s->dtype);
    bool empty = false;
    for (int i = 0; i < s->rank; i++) {
        ENSURE(s->dims[i] >= 0, INVALID, "dim %d is %lld, it must not be negative", i, (long long)s->dims[i]);
        empty |= s->dims[i] == 0;
        uint64_t dim = s->dims[i] ? (uint64_t)s->dims[i] : 1; // an empty array's other dims must multiply safely, too
        ENSURE(!__builtin_mul_overflow(total, dim, &total) && total <= SHAPE_BYTES_LIMIT, EXHAUSTED,
               "an array of %d dims holds more than 2^62 bytes, at dim %d of %lld", s->rank, i, (long long)s->dims[i]);
    }
    *bytes = empty ? 0 : total;
    return GLIA_OK;
}

static glia_status check_depth(const ir_shape *s, int depth, uint64_t *bytes)
{
    if (!s->is_tuple) return check_array(s, bytes);
    ENSURE(depth < IR_TUPLE_DEPTH_LIMIT, INVALID, "a tuple is %d levels deep, at most %d are read", depth + 1,
           IR_TUPLE_DEPTH_LIMIT);
    ENSURE(s->tuple_size >= 0, INVALID, "a tuple has %d elements", s->tuple_size);
    uint64_t sum = 0;
    for (int i = 0; i < s->tuple_size; i++) {
        uint64_t element = 0;
        TRY(check_depth(&s->elements[i], depth + 1, &element));
        ENSURE(!__builtin_add_overflow(sum, element, &sum) && sum <= SHAPE_BYTES_LIMIT, EXHAUSTED,
               "a tuple holds more than 2^62 bytes, at element %d", i);
    }
    *bytes = sum;
    return GLIA_OK;
}

glia_status ir_shape_check(const ir_shape *s)
{
    uint64_t bytes = 0;
    return check_depth(s, 0, &bytes);
}

bool ir_layout_is_default(int rank, const int *minor_to_major)
{
    for (int i = 0; minor_to_major && i < rank; i++)
        if (minor_to_major[i] != rank - 1 - i) return false;
    return true;
}
