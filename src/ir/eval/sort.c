// SPDX-License-Identifier: Apache-2.0
// sort: lines along one dim of any number of operands, ordered together by any comparator. Always a stable merge sort
// of positions, bottom up: it ends and stays inside its line whatever the comparator answers, a contradictory one
// included. What NaN and signed zeros do is the comparator's business.
#include "ir/eval/eval.h"

#include <string.h>

typedef struct sorting {
    const ir_eval_value *operands;
    ir_eval_value *out;
    int count;
    int64_t length, stride; // of a line
    ir_eval_region region;
    int64_t *order, *spare; // [length]: positions in the line
} sorting;

static size_t byte_offset(const sorting *s, int k, int64_t base, int64_t position)
{
    return (size_t)(base + position * s->stride) * ir_eval_size(s->operands[k].leaves[0].shape->dtype);
}

// comparator(element at i, element at j): i goes before j.
static glia_status goes_before(sorting *s, int64_t base, int64_t i, int64_t j, bool *out)
{
    for (int k = 0; k < s->count; k++) {
        const ir_eval_array *a = &s->operands[k].leaves[0];
        const size_t size = ir_eval_size(a->shape->dtype);
        memcpy(s->region.params[2 * k], (const uint8_t *)a->data + byte_offset(s, k, base, i), size);
        memcpy(s->region.params[2 * k + 1], (const uint8_t *)a->data + byte_offset(s, k, base, j), size);
    }
    TRY(ir_eval_region_run(&s->region, 1));
    *out = *(const uint8_t *)s->region.results[0] != 0;
    return GLIA_OK;
}

// Merges order[low, middle) and order[middle, high) into spare; the right one goes first only if it must.
static glia_status merge(sorting *s, int64_t base, int64_t low, int64_t middle, int64_t high)
{
    int64_t left = low, right = middle;

    for (int64_t at = low; at < high; at++) {
        bool take_right = left == middle;
        if (left < middle && right < high) TRY(goes_before(s, base, s->order[right], s->order[left], &take_right));
        s->spare[at] = take_right ? s->order[right++] : s->order[left++];
    }
    return GLIA_OK;
}

static int64_t at_most(int64_t x, int64_t limit)
{
    return x < limit ? x : limit;
}

static glia_status sort_line(sorting *s, int64_t base)
{
    const int64_t n = s->length;

    for (int64_t i = 0; i < n; i++)
        s->order[i] = i;
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t low = 0; low < n; low += 2 * width)
            TRY(merge(s, base, low, at_most(low + width, n), at_most(low + 2 * width, n)));
        int64_t *sorted = s->spare;
        s->spare = s->order;
        s->order = sorted;
    }
    for (int k = 0; k < s->count; k++) {
        const ir_eval_array *in = &s->operands[k].leaves[0];
        uint8_t *to = s->out->leaves[k].data;
        for (int64_t i = 0; i < n; i++)
            memcpy(to + byte_offset(s, k, base, i), (const uint8_t *)in->data + byte_offset(s, k, base, s->order[i]),
                   ir_eval_size(in->shape->dtype));
    }
    return GLIA_OK;
}

static glia_status open_sorting(ir_eval_context *c, const ir_inst *inst, sorting *s)
{
    const num_dtype boolean = NUM_BOOL;
    num_dtype *dtypes;

    TRY(ir_eval_scratch(c, (size_t)s->length, sizeof *s->order, &s->order));
    TRY(ir_eval_scratch(c, (size_t)s->length, sizeof *s->spare, &s->spare));
    TRY(ir_eval_scratch(c, 2 * (size_t)s->count, sizeof *dtypes, &dtypes));
    for (int k = 0; k < s->count; k++)
        dtypes[2 * k] = dtypes[2 * k + 1] = s->operands[k].leaves[0].shape->dtype;
    return ir_eval_region_open(c, inst->attrs.computations[0], 1, 2 * s->count, dtypes, 1, &boolean, &s->region);
}

glia_status ir_eval_sort(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands, ir_eval_value *out)
{
    const ir_shape *shape = operands[0].leaves[0].shape;
    const int64_t d = inst->attrs.index < 0 ? inst->attrs.index + shape->rank : inst->attrs.index;
    sorting s = {.operands = operands, .out = out, .count = inst->operand_count};

    ENSURE(d >= 0 && d < shape->rank, INVALID, "sort dimension %lld is not one of %d", (long long)inst->attrs.index,
           shape->rank);
    for (int k = 0; k < out->count; k++)
        TRY(ir_eval_new(c, &out->leaves[k]));
    const int64_t n = ir_eval_count(shape->rank, shape->dims);
    if (n == 0) return GLIA_OK;
    s.length = shape->dims[d];
    s.stride = ir_eval_count(shape->rank - (int)d - 1, shape->dims + d + 1);
    TRY(open_sorting(c, inst, &s));
    for (int64_t outer = 0; outer < n; outer += s.length * s.stride)
        for (int64_t inner = 0; inner < s.stride; inner++)
            TRY(sort_line(&s, outer + inner));
    return GLIA_OK;
}
