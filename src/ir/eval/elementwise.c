// SPDX-License-Identifier: Apache-2.0
// The handlers of the elementwise ops: one array op is its lanes over all elements. Only the predicate of a select and
// the bounds of a clamp may be scalars beside arrays; nothing else broadcasts.
#include "ir/eval/eval.h"

static glia_status elementwise(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands,
                               ir_eval_value *out)
{
    ir_eval_array *result = &out->leaves[0];
    ir_eval_lane in[3] = {0};

    ENSURE(inst->operand_count <= 3, INVALID, "takes %d operands, an elementwise op has at most 3",
           inst->operand_count);
    TRY(ir_eval_new(c, result));
    for (int i = 0; i < inst->operand_count; i++) {
        const ir_eval_array *a = &operands[i].leaves[0];
        in[i] = (ir_eval_lane){a->shape->dtype, a->data, a->shape->rank == 0};
    }
    return ir_eval_lanes(inst, ir_eval_count(result->shape->rank, result->shape->dims), in, result->data);
}

#define HANDLER(name)                                                                                                  \
    glia_status ir_eval_##name(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands,                 \
                               ir_eval_value *out)                                                                     \
    {                                                                                                                  \
        return elementwise(c, inst, operands, out);                                                                    \
    }
HANDLER(unary)
HANDLER(binary)
HANDLER(compare)
HANDLER(select)
HANDLER(clamp)
HANDLER(convert)
HANDLER(reduce_precision)
