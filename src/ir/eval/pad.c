// SPDX-License-Identifier: Apache-2.0
// pad: out[low + i * (interior + 1)] = in[i], everything else is the padding value. Low and high may be negative, which
// crops, interior positions included: only operand elements that land inside the result are copied.
#include "ir/eval/eval.h"

#include <string.h>

// The operand indices of one dim that land inside [0, result): `first` and how many; and where the first one lands.
static void surviving(int64_t low, int64_t interior, int64_t operand, int64_t result, int64_t *first, int64_t *count,
                      int64_t *lands)
{
    const __int128 step = (__int128)interior + 1;
    const __int128 begin = low < 0 ? (-(__int128)low + step - 1) / step : 0;
    const __int128 room = (__int128)result - 1 - low; // largest i * step that still fits
    __int128 end = room < 0 ? 0 : room / step + 1;

    if (end > operand) end = operand;
    *count = end > begin ? (int64_t)(end - begin) : 0;
    *first = *count ? (int64_t)begin : 0;
    *lands = *count ? (int64_t)(low + begin * step) : 0;
}

static void fill(const ir_eval_array *value, ir_eval_array *result)
{
    const size_t size = ir_eval_size(result->shape->dtype);
    const int64_t n = ir_eval_count(result->shape->rank, result->shape->dims);
    for (int64_t i = 0; i < n; i++)
        memcpy((uint8_t *)result->data + (size_t)i * size, value->data, size);
}

glia_status ir_eval_pad(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands, ir_eval_value *out)
{
    const ir_eval_array *in = &operands[0].leaves[0];
    ir_eval_array *result = &out->leaves[0];
    const int rank = inst->shape.rank;
    const size_t size = ir_eval_size(inst->shape.dtype);
    int64_t *from, *to, *counts, from_start = 0, to_start = 0;

    TRY(ir_eval_new(c, result));
    fill(&operands[1].leaves[0], result);
    TRY(ir_eval_scratch(c, (size_t)rank, sizeof *from, &from));
    TRY(ir_eval_scratch(c, (size_t)rank, sizeof *to, &to));
    TRY(ir_eval_scratch(c, (size_t)rank, sizeof *counts, &counts));
    ir_eval_strides(rank, in->shape->dims, from);
    ir_eval_strides(rank, result->shape->dims, to);
    for (int d = 0; d < rank; d++) {
        const int64_t interior = inst->attrs.strides.count ? inst->attrs.strides.items[d] : 0;
        int64_t first, lands;
        surviving(inst->attrs.starts.items[d], interior, in->shape->dims[d], result->shape->dims[d], &first, &counts[d],
                  &lands);
        if (counts[d] == 0) return GLIA_OK;
        from_start += first * from[d];
        to_start += lands * to[d];
        to[d] = counts[d] > 1 ? to[d] * (interior + 1) : 0;
    }
    ir_eval_copy_strided((uint8_t *)result->data + (size_t)to_start * size, to,
                         (const uint8_t *)in->data + (size_t)from_start * size, from, rank, counts, size);
    return GLIA_OK;
}
