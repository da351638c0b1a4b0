// SPDX-License-Identifier: Apache-2.0
// Shape inference of control flow, tuples and custom calls: what a computation takes and gives must agree with who
// calls it. Recursion between computations is the verifier's business, not ours.
#include "ir/infer.h"
#include "ir/module.h"

glia_status ir_infer_while(const ir_infer *in, ir_shape *out)
{
    const ir_shape *state = infer_operand(in, 0), verdict = {.dtype = NUM_BOOL};
    TRY(ir_infer_region(in, "condition", in->attrs->computations[0], 1, state, &verdict));
    TRY(ir_infer_region(in, "body", in->attrs->computations[1], 1, state, state));
    *out = *state;
    return GLIA_OK;
}

// Operand 0 is a pred (branch 0 is "true") or an s32 index; operand i + 1 is the one argument of branch i.
glia_status ir_infer_conditional(const ir_infer *in, ir_shape *out)
{
    TRY(ir_infer_need_array(in, 0));
    const ir_shape *selector = infer_operand(in, 0);
    const ir_attrs *a = in->attrs;
    ENSURE(selector->rank == 0 && (selector->dtype == NUM_BOOL || selector->dtype == NUM_S32), INVALID,
           "'conditional' is steered by pred[] or s32[], operand 0 is %s", ir_infer_text(in, selector));
    ENSURE(a->branch_count >= 1 && (selector->dtype != NUM_BOOL || a->branch_count == 2), INVALID,
           "'conditional' on %s has %d branches, it needs %s", ir_infer_text(in, selector), a->branch_count,
           selector->dtype == NUM_BOOL ? "2" : "at least 1");
    ENSURE(in->operand_count == a->branch_count + 1, INVALID,
           "'conditional' has %d branches and %d arguments, one each is needed", a->branch_count,
           in->operand_count - 1);
    const ir_shape *result = NULL;
    for (int i = 0; i < a->branch_count; i++) {
        TRY(ir_infer_region(in, "branch", a->branches[i], 1, infer_operand(in, i + 1), result));
        result = &a->branches[0]->root->shape;
    }
    *out = ir_shape_copy_in(in->arena, result);
    return GLIA_OK;
}

glia_status ir_infer_call(const ir_infer *in, ir_shape *out)
{
    ir_shape *params = ARENA_ARRAY(in->arena, ir_shape, (size_t)in->operand_count);
    for (int i = 0; i < in->operand_count; i++)
        params[i] = *infer_operand(in, i);
    TRY(ir_infer_region(in, in->op == IR_FUSION ? "calls" : "to_apply", in->attrs->computations[0], in->operand_count,
                        params, NULL));
    *out = ir_shape_copy_in(in->arena, &in->attrs->computations[0]->root->shape);
    return GLIA_OK;
}

glia_status ir_infer_tuple(const ir_infer *in, ir_shape *out)
{
    ir_shape *elements = ARENA_ARRAY(in->arena, ir_shape, (size_t)in->operand_count);
    for (int i = 0; i < in->operand_count; i++)
        elements[i] = *infer_operand(in, i);
    *out = (ir_shape){.is_tuple = 1, .tuple_size = in->operand_count, .elements = elements};
    return GLIA_OK;
}

glia_status ir_infer_get_tuple_element(const ir_infer *in, ir_shape *out)
{
    const ir_shape *x = infer_operand(in, 0);
    ENSURE(x->is_tuple, INVALID, "'get-tuple-element' reads a tuple, '%s' is %s", in->operands[0]->name,
           ir_infer_text(in, x));
    ENSURE(in->attrs->index >= 0 && in->attrs->index < x->tuple_size, INVALID,
           "'get-tuple-element' reads element %lld of '%s', which has %d", (long long)in->attrs->index,
           in->operands[0]->name, x->tuple_size);
    *out = x->elements[in->attrs->index];
    return GLIA_OK;
}

glia_status ir_infer_custom_call(const ir_infer *in, ir_shape *out)
{
    ENSURE(in->given, INVALID, "'custom-call' needs its result shape stated, none is");
    ENSURE(in->attrs->custom_call_target && *in->attrs->custom_call_target, INVALID,
           "'custom-call' has no custom_call_target");
    *out = *in->given;
    return GLIA_OK;
}
