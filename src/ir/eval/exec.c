// SPDX-License-Identifier: Apache-2.0
// Runs one computation: its instructions in order, each value released after its last use.
//
// Every error leaves with the place of the innermost op put before it. Nesting is bounded, so that a module whose
// computations call each other without end (the verifier refuses it) is an error here and not a stack overflow.
#include "ir/eval/eval.h"

enum { DEPTH_MAX = 200 };

#define OP(symbol, name, min, max, class, infer, eval, vjp) [IR_##symbol] = ir_eval_##eval,
static const ir_eval_fn eval_table[IR_OP_COUNT] = {
#include "ir/ops.def"
};

static void leaf_shapes(const ir_shape *shape, ir_eval_array *leaves, int *at)
{
    if (!shape->is_tuple) {
        leaves[(*at)++].shape = shape;
        return;
    }
    for (int i = 0; i < shape->tuple_size; i++)
        leaf_shapes(&shape->elements[i], leaves, at);
}

glia_status ir_eval_value_new(ir_eval_context *c, const ir_shape *shape, ir_eval_value *out)
{
    int at = 0;

    out->count = ir_shape_leaves(shape);
    TRY(ir_eval_scratch(c, (size_t)out->count, sizeof *out->leaves, &out->leaves));
    leaf_shapes(shape, out->leaves, &at);
    return GLIA_OK;
}

// [insts]: the last instruction that reads each; the root is read by the caller, an unused one by itself.
static glia_status last_uses(ir_eval_context *c, const ir_computation *computation, int **out)
{
    int *last;

    TRY(ir_eval_scratch(c, computation->insts.count, sizeof *last, &last));
    for (uint32_t i = 0; i < computation->insts.count; i++) {
        const ir_inst *inst = computation->insts.items[i];
        last[i] = (int)i;
        for (int k = 0; k < inst->operand_count; k++)
            last[inst->operands[k]->id] = (int)i;
    }
    last[computation->root->id] = INT32_MAX;
    *out = last;
    return GLIA_OK;
}

static glia_status place(ir_eval_context *c, const ir_inst *inst, glia_status s)
{
    if (!s || c->placed) return s;
    c->placed = true;
    s = glia_status_prefix(s, "'%s' (%s)", inst->name ? inst->name : "", ir_op_name(inst->op));
    if (!inst->loc.file || !*inst->loc.file) return s;
    return glia_status_prefix(s, "%s:%d:%d", inst->loc.file, inst->loc.line, inst->loc.column);
}

// Runs one instruction; its scratch ends with it, its operands when this was their last use.
static glia_status step(ir_eval_context *c, const ir_inst *inst, ir_eval_value *values, const int *last)
{
    ir_eval_value *operands;

    TRY(ir_eval_value_new(c, &inst->shape, &values[inst->id]));
    ir_eval_buffer *mark = c->scratch;
    TRY(ir_eval_scratch(c, (size_t)inst->operand_count, sizeof *operands, &operands));
    for (int i = 0; i < inst->operand_count; i++)
        operands[i] = values[inst->operands[i]->id];
    TRY(eval_table[inst->op](c, inst, operands, &values[inst->id]));
    ir_eval_scratch_pop(c, mark);
    for (int i = 0; i < inst->operand_count; i++)
        if (last[inst->operands[i]->id] == inst->id) ir_eval_release(c, &values[inst->operands[i]->id]);
    if (last[inst->id] == inst->id) ir_eval_release(c, &values[inst->id]);
    return GLIA_OK;
}

static glia_status run(ir_eval_context *c, const ir_computation *computation, ir_eval_value *out)
{
    ir_eval_value *values;
    int *last;

    TRY(last_uses(c, computation, &last));
    TRY(ir_eval_scratch(c, computation->insts.count, sizeof *values, &values));
    for (uint32_t i = 0; i < computation->insts.count; i++) {
        const ir_inst *inst = computation->insts.items[i];
        TRY(place(c, inst, step(c, inst, values, last)));
    }
    const ir_eval_value *root = &values[computation->root->id];
    for (int i = 0; i < root->count; i++)
        out->leaves[i] = root->leaves[i]; // the reference moves out
    return GLIA_OK;
}

glia_status ir_eval_computation(ir_eval_context *c, const ir_computation *computation, const ir_eval_value *args,
                                ir_eval_value *out)
{
    const ir_eval_value *outer = c->args;
    ir_eval_buffer *mark = c->scratch;

    ENSURE(c->depth < DEPTH_MAX, INVALID,
           "computation '%s' is nested %d deep, at most %d are\nhint: does it call itself?", computation->name,
           c->depth + 1, DEPTH_MAX);
    c->depth++;
    c->args = args;
    TRY(run(c, computation, out));
    c->args = outer;
    c->depth--;
    ir_eval_scratch_pop(c, mark);
    return GLIA_OK;
}
