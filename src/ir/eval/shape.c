// SPDX-License-Identifier: Apache-2.0
// Ops that make or move elements without computing: constant, iota, broadcast, reshape, transpose, slice, concatenate,
// reverse. Each is one strided copy, or nothing but a new name for the same bytes. pad is in pad.c.
#include "ir/eval/eval.h"

#include <string.h>

glia_status ir_eval_constant(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands, ir_eval_value *out)
{
    size_t bytes;

    ENSURE(!inst->shape.is_tuple, UNSUPPORTED, "a constant tuple is not evaluated\nhint: make a tuple of constants");
    TRY(ir_eval_bytes(&inst->shape, &bytes));
    ENSURE(inst->attrs.literal.size_bytes == bytes, INVALID, "literal has %zu bytes, the shape needs %zu",
           inst->attrs.literal.size_bytes, bytes);
    if (bytes == 0) return ir_eval_new(c, &out->leaves[0]);
    ENSURE(inst->attrs.literal.data, INVALID,
           "the constant's data was elided\nhint: dump with large constants printed");
    memcpy(&out->leaves[0].data, &inst->attrs.literal.data, sizeof(void *)); // borrowed, and never written
    return GLIA_OK;
}

// Each line along the iota dimension's inner dims repeats one value.
glia_status ir_eval_iota(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands, ir_eval_value *out)
{
    const ir_shape *s = &inst->shape;
    const int64_t d = inst->attrs.index;
    const size_t size = ir_eval_size(s->dtype);

    ENSURE(d >= 0 && d < s->rank, INVALID, "iota dimension %lld is not one of %d", (long long)d, s->rank);
    TRY(ir_eval_new(c, &out->leaves[0]));
    const int64_t n = ir_eval_count(s->rank, s->dims);
    const int64_t inner = ir_eval_count(s->rank - (int)d - 1, s->dims + d + 1);
    uint8_t *at = out->leaves[0].data;
    for (int64_t i = 0; i < n; i++, at += size) {
        const int64_t value = i / inner % s->dims[d];
        if (i % inner)
            memcpy(at, at - size, size);
        else
            TRY(ir_eval_convert_lanes(s->dtype, at, NUM_S64, &value, 1));
    }
    return GLIA_OK;
}

// Copies `in` into the result, seen through `in_strides` (in the result's dims) from element `in_start`.
static glia_status copy_view(ir_eval_context *c, const ir_eval_array *in, int64_t in_start, const int64_t *in_strides,
                             ir_eval_array *result)
{
    const ir_shape *s = result->shape;
    const size_t size = ir_eval_size(s->dtype);
    int64_t *strides;

    TRY(ir_eval_new(c, result));
    TRY(ir_eval_scratch(c, (size_t)s->rank, sizeof *strides, &strides));
    ir_eval_strides(s->rank, s->dims, strides);
    if (ir_eval_count(s->rank, s->dims) == 0) return GLIA_OK;
    ir_eval_copy_strided(result->data, strides, (const uint8_t *)in->data + in_start * (int64_t)size, in_strides,
                         s->rank, s->dims, size);
    return GLIA_OK;
}

// Two arrays of strides: the operand's own, and a zeroed one to fill in the result's dims.
static glia_status view_strides(ir_eval_context *c, const ir_eval_array *in, int result_rank, int64_t **own,
                                int64_t **view)
{
    TRY(ir_eval_scratch(c, (size_t)in->shape->rank, sizeof **own, own));
    TRY(ir_eval_scratch(c, (size_t)result_rank, sizeof **view, view));
    ir_eval_strides(in->shape->rank, in->shape->dims, *own);
    return GLIA_OK;
}

glia_status ir_eval_broadcast(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands,
                              ir_eval_value *out)
{
    const ir_eval_array *in = &operands[0].leaves[0];
    int64_t *own, *view;

    TRY(view_strides(c, in, inst->shape.rank, &own, &view));
    for (int d = 0; d < in->shape->rank; d++)
        if (in->shape->dims[d] != 1) view[inst->attrs.dimensions.items[d]] = own[d];
    return copy_view(c, in, 0, view, &out->leaves[0]);
}

glia_status ir_eval_reshape(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands, ir_eval_value *out)
{
    ir_eval_share(&out->leaves[0], &operands[0].leaves[0]);
    return GLIA_OK;
}

glia_status ir_eval_transpose(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands,
                              ir_eval_value *out)
{
    const ir_eval_array *in = &operands[0].leaves[0];
    int64_t *own, *view;

    TRY(view_strides(c, in, inst->shape.rank, &own, &view));
    for (int d = 0; d < inst->shape.rank; d++)
        view[d] = own[inst->attrs.dimensions.items[d]];
    return copy_view(c, in, 0, view, &out->leaves[0]);
}

glia_status ir_eval_slice(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands, ir_eval_value *out)
{
    const ir_eval_array *in = &operands[0].leaves[0];
    int64_t *own, *view, start = 0;

    TRY(view_strides(c, in, inst->shape.rank, &own, &view));
    if (ir_eval_count(inst->shape.rank, inst->shape.dims) == 0) return ir_eval_new(c, &out->leaves[0]);
    for (int d = 0; d < inst->shape.rank; d++) {
        // A stride past the dim leaves one element, whose stride is never used; the product could overflow.
        const int64_t step = inst->attrs.strides.count ? inst->attrs.strides.items[d] : 1;
        view[d] = inst->shape.dims[d] > 1 ? own[d] * step : 0;
        start += own[d] * inst->attrs.starts.items[d];
    }
    return copy_view(c, in, start, view, &out->leaves[0]);
}

glia_status ir_eval_reverse(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands, ir_eval_value *out)
{
    const ir_eval_array *in = &operands[0].leaves[0];
    int64_t *own, *view, start = 0;

    TRY(view_strides(c, in, inst->shape.rank, &own, &view));
    if (ir_eval_count(inst->shape.rank, inst->shape.dims) == 0) return ir_eval_new(c, &out->leaves[0]);
    for (int d = 0; d < inst->shape.rank; d++) {
        const bool flips = ir_eval_has(inst->attrs.dimensions, d);
        view[d] = flips ? -own[d] : own[d];
        if (flips) start += own[d] * (inst->shape.dims[d] - 1);
    }
    return copy_view(c, in, start, view, &out->leaves[0]);
}

// Rows of everything inside the dimension: each operand contributes its own length to each outer index.
glia_status ir_eval_concatenate(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands,
                                ir_eval_value *out)
{
    const ir_shape *s = &inst->shape;
    const int d = (int)inst->attrs.index;
    const size_t size = ir_eval_size(s->dtype);

    TRY(ir_eval_new(c, &out->leaves[0]));
    if (ir_eval_count(s->rank, s->dims) == 0) return GLIA_OK;
    const int64_t outer = ir_eval_count(d, s->dims), inner = ir_eval_count(s->rank - d - 1, s->dims + d + 1);
    uint8_t *at = out->leaves[0].data;
    for (int64_t o = 0; o < outer; o++)
        for (int k = 0; k < inst->operand_count; k++) {
            const ir_eval_array *in = &operands[k].leaves[0];
            const size_t bytes = (size_t)(in->shape->dims[d] * inner) * size;
            if (bytes) memcpy(at, (const uint8_t *)in->data + (size_t)o * bytes, bytes);
            at += bytes;
        }
    return GLIA_OK;
}
