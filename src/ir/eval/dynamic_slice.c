// SPDX-License-Identifier: Apache-2.0
// dynamic-slice and dynamic-update-slice: the start of each dim is clamped to [0, dim - size], so the window always
// fits. Starts are scalars, one operand a dim, of any integer type; or, in the older form, one vector of them.
#include "ir/eval/eval.h"

#include <string.h>

static int64_t start_of(const ir_eval_value *starts, int d)
{
    return starts[0].leaves[0].shape->rank == 1 ? ir_eval_index(&starts[0].leaves[0], d)
                                                : ir_eval_index(&starts[d].leaves[0], 0);
}

// The window's first element in the array, and the array's strides.
static glia_status find_window(ir_eval_context *c, const ir_shape *array, const int64_t *sizes,
                               const ir_eval_value *starts, int64_t **strides, int64_t *first)
{
    TRY(ir_eval_scratch(c, (size_t)array->rank, sizeof **strides, strides));
    ir_eval_strides(array->rank, array->dims, *strides);
    *first = 0;
    for (int d = 0; d < array->rank; d++) {
        const int64_t last = array->dims[d] - sizes[d];
        int64_t start = start_of(starts, d);
        if (start > last) start = last;
        if (start < 0) start = 0;
        *first += start * (*strides)[d];
    }
    return GLIA_OK;
}

glia_status ir_eval_dynamic_slice(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands,
                                  ir_eval_value *out)
{
    const ir_eval_array *in = &operands[0].leaves[0];
    const ir_shape *s = &inst->shape;
    const size_t size = ir_eval_size(s->dtype);
    int64_t *from, *to, first;

    TRY(ir_eval_new(c, &out->leaves[0]));
    if (ir_eval_count(s->rank, s->dims) == 0) return GLIA_OK;
    TRY(ir_eval_scratch(c, (size_t)s->rank, sizeof *to, &to));
    ir_eval_strides(s->rank, s->dims, to);
    TRY(find_window(c, in->shape, s->dims, operands + 1, &from, &first));
    ir_eval_copy_strided(out->leaves[0].data, to, (const uint8_t *)in->data + (size_t)first * size, from, s->rank,
                         s->dims, size);
    return GLIA_OK;
}

glia_status ir_eval_dynamic_update_slice(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands,
                                         ir_eval_value *out)
{
    const ir_eval_array *in = &operands[0].leaves[0], *update = &operands[1].leaves[0];
    const ir_shape *window = update->shape;
    const size_t size = ir_eval_size(inst->shape.dtype);
    int64_t *from, *to, first;
    size_t bytes;

    TRY(ir_eval_new(c, &out->leaves[0]));
    TRY(ir_eval_bytes(&inst->shape, &bytes));
    if (bytes) memcpy(out->leaves[0].data, in->data, bytes);
    if (ir_eval_count(window->rank, window->dims) == 0) return GLIA_OK;
    TRY(ir_eval_scratch(c, (size_t)window->rank, sizeof *from, &from));
    ir_eval_strides(window->rank, window->dims, from);
    TRY(find_window(c, in->shape, window->dims, operands + 2, &to, &first));
    ir_eval_copy_strided((uint8_t *)out->leaves[0].data + (size_t)first * size, to, update->data, from, window->rank,
                         window->dims, size);
    return GLIA_OK;
}
