// SPDX-License-Identifier: Apache-2.0
// Shape inference of ops that move elements: broadcast, reshape, transpose, slice, pad, concatenate, reverse.
// Sizes come from input, so every sum and product of them is checked.
#include "ir/infer.h"
#include "ir/module.h"

glia_status ir_infer_broadcast(const ir_infer *in, ir_shape *out)
{
    TRY(ir_infer_need_arrays(in));
    TRY(ir_infer_need_given(in));
    const ir_shape *x = infer_operand(in, 0), *to = in->given;
    const ir_dims *map = &in->attrs->dimensions;
    ENSURE(map->count == x->rank, INVALID, "'broadcast' maps %d dims, the operand %s has %d", map->count,
           ir_infer_text(in, x), x->rank);
    TRY(ir_infer_unique_dims(in, "dimensions", map, to->rank));
    for (int i = 0; i < x->rank; i++) {
        int64_t have = x->dims[i], want = to->dims[map->items[i]];
        ENSURE(
            have == want || have == 1, INVALID,
            "'broadcast' maps dim %d of %lld to result dim %lld of %lld; the sizes must match, or the operand's be 1",
            i, (long long)have, (long long)map->items[i], (long long)want);
    }
    *out = ir_shape_array_in(in->arena, x->dtype, to->rank, to->dims);
    return GLIA_OK;
}

glia_status ir_infer_reshape(const ir_infer *in, ir_shape *out)
{
    TRY(ir_infer_need_arrays(in));
    TRY(ir_infer_need_given(in));
    const ir_shape *x = infer_operand(in, 0);
    ENSURE(ir_shape_elements(x) == ir_shape_elements(in->given), INVALID,
           "'reshape' of %s (%lld elements) to %s (%lld)", ir_infer_text(in, x), (long long)ir_shape_elements(x),
           ir_infer_text(in, in->given), (long long)ir_shape_elements(in->given));
    *out = ir_shape_array_in(in->arena, x->dtype, in->given->rank, in->given->dims);
    return GLIA_OK;
}

glia_status ir_infer_transpose(const ir_infer *in, ir_shape *out)
{
    TRY(ir_infer_need_arrays(in));
    const ir_shape *x = infer_operand(in, 0);
    const ir_dims *permutation = &in->attrs->dimensions;
    ENSURE(permutation->count == x->rank, INVALID, "'transpose' permutes %d dims, the operand %s has %d",
           permutation->count, ir_infer_text(in, x), x->rank);
    TRY(ir_infer_unique_dims(in, "dimensions", permutation, x->rank));
    int64_t *dims = ARENA_ARRAY(in->arena, int64_t, (size_t)x->rank);
    for (int i = 0; i < x->rank; i++)
        dims[i] = x->dims[permutation->items[i]];
    *out = (ir_shape){.dtype = x->dtype, .rank = x->rank, .dims = dims};
    return GLIA_OK;
}

glia_status ir_infer_slice(const ir_infer *in, ir_shape *out)
{
    TRY(ir_infer_need_arrays(in));
    const ir_shape *x = infer_operand(in, 0);
    const ir_attrs *a = in->attrs;
    ENSURE(a->starts.count == x->rank && a->limits.count == x->rank && a->strides.count == x->rank, INVALID,
           "'slice' has %d starts, %d limits and %d strides, the operand %s has %d dims", a->starts.count,
           a->limits.count, a->strides.count, ir_infer_text(in, x), x->rank);
    int64_t *dims = ARENA_ARRAY(in->arena, int64_t, (size_t)x->rank);
    for (int i = 0; i < x->rank; i++) {
        int64_t start = a->starts.items[i], limit = a->limits.items[i], stride = a->strides.items[i];
        ENSURE(0 <= start && start <= limit && limit <= x->dims[i], INVALID,
               "'slice' takes [%lld:%lld] of dim %d, which has %lld elements", (long long)start, (long long)limit, i,
               (long long)x->dims[i]);
        ENSURE(stride >= 1, INVALID, "'slice' has stride %lld in dim %d, strides are at least 1", (long long)stride, i);
        dims[i] = limit > start ? (limit - start - 1) / stride + 1 : 0;
    }
    *out = (ir_shape){.dtype = x->dtype, .rank = x->rank, .dims = dims};
    return GLIA_OK;
}

// low + n + (n - 1) * interior + high; low and high may be negative.
static glia_status padded_size(const ir_infer *in, int dim, int64_t n, int64_t *out)
{
    const ir_attrs *a = in->attrs;
    int64_t low = a->starts.items[dim], high = a->limits.items[dim], interior = a->strides.items[dim], size = 0;
    ENSURE(interior >= 0, INVALID, "'pad' has interior padding %lld in dim %d, it must not be negative",
           (long long)interior, dim);
    bool fits = !__builtin_mul_overflow(n > 0 ? n - 1 : 0, interior, &size) &&
                !__builtin_add_overflow(size, n, &size) && !__builtin_add_overflow(size, low, &size) &&
                !__builtin_add_overflow(size, high, &size);
    ENSURE(fits, EXHAUSTED, "'pad' makes dim %d of %lld elements larger than 2^63 (low %lld, high %lld, interior %lld)",
           dim, (long long)n, (long long)low, (long long)high, (long long)interior);
    ENSURE(size >= 0, INVALID,
           "'pad' crops dim %d of %lld elements by low %lld and high %lld: nothing that could remain (%lld)", dim,
           (long long)n, (long long)low, (long long)high, (long long)size);
    *out = size;
    return GLIA_OK;
}

glia_status ir_infer_pad(const ir_infer *in, ir_shape *out)
{
    TRY(ir_infer_need_arrays(in));
    const ir_shape *x = infer_operand(in, 0), *value = infer_operand(in, 1);
    const ir_attrs *a = in->attrs;
    ENSURE(value->rank == 0 && value->dtype == x->dtype, INVALID,
           "'pad' takes a scalar of the operand's type, the operand is %s and the value %s", ir_infer_text(in, x),
           ir_infer_text(in, value));
    ENSURE(a->starts.count == x->rank && a->limits.count == x->rank && a->strides.count == x->rank, INVALID,
           "'pad' has padding for %d dims, the operand %s has %d", a->starts.count, ir_infer_text(in, x), x->rank);
    int64_t *dims = ARENA_ARRAY(in->arena, int64_t, (size_t)x->rank);
    for (int i = 0; i < x->rank; i++)
        TRY(padded_size(in, i, x->dims[i], &dims[i]));
    *out = (ir_shape){.dtype = x->dtype, .rank = x->rank, .dims = dims};
    return GLIA_OK;
}

static glia_status joinable(const ir_infer *in, int operand, int64_t along)
{
    const ir_shape *first = infer_operand(in, 0), *x = infer_operand(in, operand);
    bool fits = x->dtype == first->dtype && x->rank == first->rank;
    for (int d = 0; fits && d < x->rank; d++)
        fits = d == along || x->dims[d] == first->dims[d];
    ENSURE(fits, INVALID, "'concatenate' along dim %lld: operand %d is %s, operand 0 is %s; all else must match",
           (long long)along, operand, ir_infer_text(in, x), ir_infer_text(in, first));
    return GLIA_OK;
}

glia_status ir_infer_concatenate(const ir_infer *in, ir_shape *out)
{
    TRY(ir_infer_need_arrays(in));
    const ir_shape *first = infer_operand(in, 0);
    int64_t along = in->attrs->index, sum = 0;
    ENSURE(along >= 0 && along < first->rank, INVALID, "'concatenate' goes along dim %lld, operand 0 is %s",
           (long long)along, ir_infer_text(in, first));
    for (int i = 0; i < in->operand_count; i++) {
        TRY(joinable(in, i, along));
        ENSURE(!__builtin_add_overflow(sum, infer_operand(in, i)->dims[along], &sum), EXHAUSTED,
               "'concatenate' gives more than 2^63 elements along dim %lld, at operand %d", (long long)along, i);
    }
    ir_shape shape = ir_shape_array_in(in->arena, first->dtype, first->rank, first->dims);
    ((int64_t *)(uintptr_t)shape.dims)[along] = sum; // our own fresh copy
    *out = shape;
    return GLIA_OK;
}

glia_status ir_infer_reverse(const ir_infer *in, ir_shape *out)
{
    TRY(ir_infer_need_arrays(in));
    const ir_shape *x = infer_operand(in, 0);
    TRY(ir_infer_unique_dims(in, "dimensions", &in->attrs->dimensions, x->rank));
    *out = ir_shape_array_in(in->arena, x->dtype, x->rank, x->dims);
    return GLIA_OK;
}
