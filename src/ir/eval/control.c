// SPDX-License-Identifier: Apache-2.0
// Ops that route values instead of making them: parameter, tuple, get-tuple-element, copy and barrier, call and fusion,
// while, conditional. All share their operands' buffers; a loop keeps only the values that it carries.
#include "ir/eval/eval.h"

#include <inttypes.h>
#include <string.h>

static void share_all(ir_eval_value *out, const ir_eval_value *from)
{
    for (int i = 0; i < out->count; i++)
        ir_eval_share(&out->leaves[i], &from->leaves[i]);
}

glia_status ir_eval_parameter(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands,
                              ir_eval_value *out)
{
    share_all(out, &c->args[inst->attrs.index]);
    return GLIA_OK;
}

glia_status ir_eval_copy(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands, ir_eval_value *out)
{
    share_all(out, &operands[0]);
    return GLIA_OK;
}

glia_status ir_eval_tuple(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands, ir_eval_value *out)
{
    int at = 0;
    for (int k = 0; k < inst->operand_count; k++)
        for (int i = 0; i < operands[k].count; i++)
            ir_eval_share(&out->leaves[at++], &operands[k].leaves[i]);
    return GLIA_OK;
}

glia_status ir_eval_get_tuple_element(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands,
                                      ir_eval_value *out)
{
    const ir_shape *tuple = &inst->operands[0]->shape;
    int first = 0;

    for (int64_t i = 0; i < inst->attrs.index; i++)
        first += ir_shape_leaves(&tuple->elements[i]);
    for (int i = 0; i < out->count; i++)
        ir_eval_share(&out->leaves[i], &operands[0].leaves[first + i]);
    return GLIA_OK;
}

glia_status ir_eval_call(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands, ir_eval_value *out)
{
    ENSURE(inst->attrs.computations[0], INVALID, "names no computation to run");
    return ir_eval_computation(c, inst->attrs.computations[0], operands, out);
}

static glia_status condition_holds(ir_eval_context *c, const ir_computation *condition, const ir_eval_value *carried,
                                   bool *out)
{
    ir_eval_value result;

    TRY(ir_eval_value_new(c, &condition->root->shape, &result));
    TRY(ir_eval_computation(c, condition, carried, &result));
    *out = *(const uint8_t *)result.leaves[0].data != 0;
    ir_eval_release(c, &result);
    return GLIA_OK;
}

// `out` carries the values from round to round.
glia_status ir_eval_while(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands, ir_eval_value *out)
{
    ir_eval_buffer *mark = c->scratch;
    ir_eval_value next;

    share_all(out, &operands[0]);
    for (int64_t round = 0;; round++) {
        bool goes_on;
        TRY(condition_holds(c, inst->attrs.computations[0], out, &goes_on));
        if (!goes_on) return GLIA_OK;
        ENSURE(round < c->options.while_limit, HANG,
               "the loop's condition still holds after %" PRId64
               " iterations\nhint: raise while_limit if it should end",
               round);
        TRY(ir_eval_value_new(c, &inst->shape, &next));
        TRY(ir_eval_computation(c, inst->attrs.computations[1], out, &next));
        ir_eval_release(c, out);
        for (int i = 0; i < out->count; i++) {
            out->leaves[i].data = next.leaves[i].data; // the reference moves
            out->leaves[i].owner = next.leaves[i].owner;
        }
        ir_eval_scratch_pop(c, mark);
    }
}

// A bool chooses branch 0 when true; an integer outside the range chooses the last branch.
glia_status ir_eval_conditional(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands,
                                ir_eval_value *out)
{
    const ir_eval_array *selector = &operands[0].leaves[0];
    const int count = inst->attrs.branch_count;
    int64_t branch = ir_eval_index(selector, 0);

    if (selector->shape->dtype == NUM_BOOL) branch = branch ? 0 : 1;
    if (branch < 0 || branch >= count) branch = count - 1;
    ENSURE(branch >= 0 && inst->operand_count == count + 1, INVALID, "has %d branches and %d operands for them", count,
           inst->operand_count - 1);
    return ir_eval_computation(c, inst->attrs.branches[branch], &operands[1 + branch], out);
}
