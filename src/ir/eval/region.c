// SPDX-License-Identifier: Apache-2.0
// Regions of scalars: the bodies of reduce, scatter and sort, prepared once and run over many lanes.
//
// A simple region has only scalar parameters, scalar constants, elementwise ops and scalar moves, with a tuple at most
// at its root: it runs instruction by instruction, each over all lanes. Any other body (a loop in a comparator, say)
// runs lane by lane as a computation. A lane never sees another one, so the two ways cannot differ.
#include "ir/eval/eval.h"

#include <string.h>

static bool is_move(ir_op op)
{
    return op == IR_COPY || op == IR_RESHAPE || op == IR_BROADCAST || op == IR_TRANSPOSE || op == IR_OPT_BARRIER;
}

static bool is_elementwise(ir_op op)
{
    const ir_op_class k = ir_op_class_of(op);
    return k == IR_CLASS_UNARY || k == IR_CLASS_BINARY || k == IR_CLASS_TERNARY;
}

static bool is_simple_step(const ir_inst *inst, bool is_root)
{
    if (inst->op == IR_TUPLE) return is_root;
    if (inst->shape.is_tuple || inst->shape.rank != 0) return false;
    for (int i = 0; i < inst->operand_count; i++)
        if (inst->operands[i]->shape.is_tuple) return false;
    return inst->op == IR_PARAMETER || inst->op == IR_CONSTANT || is_move(inst->op) || is_elementwise(inst->op);
}

static bool is_simple(const ir_computation *computation)
{
    for (uint32_t i = 0; i < computation->insts.count; i++)
        if (!is_simple_step(computation->insts.items[i], computation->insts.items[i] == computation->root))
            return false;
    return true;
}

static glia_status judge_scalar(const ir_computation *computation, const char *what, int i, const ir_shape *got,
                                num_dtype want)
{
    ENSURE(!got->is_tuple && got->rank == 0 && got->dtype == want, INVALID,
           "region '%s' has %s %d of type %s with %d dims, the op needs a scalar %s", computation->name, what, i,
           got->is_tuple ? "tuple" : num_dtype_get(got->dtype)->name, got->rank, num_dtype_get(want)->name);
    return GLIA_OK;
}

static glia_status judge(const ir_computation *computation, int param_count, const num_dtype *params, int result_count,
                         const num_dtype *results)
{
    const ir_shape *root = &computation->root->shape;
    const int got = root->is_tuple ? root->tuple_size : 1;

    ENSURE((int)computation->params.count == param_count, INVALID, "region '%s' takes %u parameters, the op gives %d",
           computation->name, computation->params.count, param_count);
    ENSURE(got == result_count, INVALID, "region '%s' returns %d values, the op needs %d", computation->name, got,
           result_count);
    for (int i = 0; i < param_count; i++)
        TRY(judge_scalar(computation, "parameter", i, &computation->params.items[i]->shape, params[i]));
    for (int i = 0; i < result_count; i++)
        TRY(judge_scalar(computation, "result", i, ir_shape_element(root, i), results[i]));
    return GLIA_OK;
}

static glia_status lane_buffer(ir_eval_region *r, num_dtype t, void **out)
{
    return ir_eval_scratch(r->c, (size_t)r->lanes, ir_eval_size(t), out);
}

static glia_status fill_constant(ir_eval_region *r, const ir_inst *inst, uint8_t *slot)
{
    const size_t size = ir_eval_size(inst->shape.dtype);

    ENSURE(inst->attrs.literal.data && inst->attrs.literal.size_bytes == size, INVALID,
           "constant '%s' has %zu bytes, a scalar %s has %zu", inst->name, inst->attrs.literal.size_bytes,
           num_dtype_get(inst->shape.dtype)->name, size);
    for (int64_t i = 0; i < r->lanes; i++)
        memcpy(slot + (size_t)i * size, inst->attrs.literal.data, size);
    return GLIA_OK;
}

static glia_status open_simple(ir_eval_region *r)
{
    const ir_computation *computation = r->computation;
    const ir_inst *root = computation->root;

    TRY(ir_eval_scratch(r->c, computation->insts.count, sizeof *r->slots, &r->slots));
    for (uint32_t i = 0; i < computation->insts.count; i++) {
        const ir_inst *inst = computation->insts.items[i];
        if (inst->op == IR_TUPLE) continue;
        if (inst->op == IR_PARAMETER) {
            r->slots[i] = r->params[inst->attrs.index];
            continue;
        }
        TRY(lane_buffer(r, inst->shape.dtype, &r->slots[i]));
        if (inst->op == IR_CONSTANT) TRY(fill_constant(r, inst, r->slots[i]));
    }
    for (int i = 0; i < r->result_count; i++)
        r->results[i] = r->slots[root->op == IR_TUPLE ? root->operands[i]->id : root->id];
    return GLIA_OK;
}

glia_status ir_eval_region_open(ir_eval_context *c, const ir_computation *computation, int64_t lanes, int param_count,
                                const num_dtype *params, int result_count, const num_dtype *results,
                                ir_eval_region *out)
{
    *out = (ir_eval_region){.c = c,
                            .computation = computation,
                            .lanes = lanes,
                            .simple = is_simple(computation),
                            .param_count = param_count,
                            .result_count = result_count};
    TRY(judge(computation, param_count, params, result_count, results));
    TRY(ir_eval_scratch(c, (size_t)param_count, sizeof *out->params, &out->params));
    TRY(ir_eval_scratch(c, (size_t)result_count, sizeof *out->results, &out->results));
    TRY(ir_eval_scratch(c, (size_t)result_count, sizeof *out->result_dtypes, &out->result_dtypes));
    memcpy(out->result_dtypes, results, (size_t)result_count * sizeof *results);
    for (int i = 0; i < param_count; i++)
        TRY(lane_buffer(out, params[i], &out->params[i]));
    if (out->simple) return open_simple(out);
    for (int i = 0; i < result_count; i++)
        TRY(lane_buffer(out, results[i], &out->results[i]));
    return GLIA_OK;
}

static glia_status run_step(ir_eval_region *r, const ir_inst *inst, int64_t n)
{
    ir_eval_lane in[3] = {0};

    for (int i = 0; i < inst->operand_count && i < 3; i++)
        in[i] = (ir_eval_lane){inst->operands[i]->shape.dtype, r->slots[inst->operands[i]->id], false};
    if (!is_move(inst->op)) return ir_eval_lanes(inst, n, in, r->slots[inst->id]);
    memcpy(r->slots[inst->id], in[0].data, (size_t)n * ir_eval_size(inst->shape.dtype));
    return GLIA_OK;
}

static glia_status run_simple(ir_eval_region *r, int64_t n)
{
    for (uint32_t i = 0; i < r->computation->insts.count; i++) {
        const ir_inst *inst = r->computation->insts.items[i];
        if (inst->op == IR_TUPLE || inst->op == IR_PARAMETER || inst->op == IR_CONSTANT) continue;
        TRY(run_step(r, inst, n));
    }
    return GLIA_OK;
}

static glia_status run_lane(ir_eval_region *r, int64_t lane)
{
    const ir_computation *computation = r->computation;
    ir_eval_buffer *mark = r->c->scratch;
    ir_eval_value *args, result;

    TRY(ir_eval_scratch(r->c, (size_t)r->param_count, sizeof *args, &args));
    for (int i = 0; i < r->param_count; i++) {
        const ir_shape *shape = &computation->params.items[i]->shape;
        TRY(ir_eval_value_new(r->c, shape, &args[i]));
        args[i].leaves[0].data = (uint8_t *)r->params[i] + (size_t)lane * ir_eval_size(shape->dtype);
    }
    TRY(ir_eval_value_new(r->c, &computation->root->shape, &result));
    TRY(ir_eval_computation(r->c, computation, args, &result));
    for (int i = 0; i < r->result_count; i++) {
        const size_t size = ir_eval_size(r->result_dtypes[i]);
        memcpy((uint8_t *)r->results[i] + (size_t)lane * size, result.leaves[i].data, size);
    }
    ir_eval_release(r->c, &result);
    ir_eval_scratch_pop(r->c, mark);
    return GLIA_OK;
}

glia_status ir_eval_region_run(ir_eval_region *r, int64_t n)
{
    if (r->simple) return run_simple(r, n);
    for (int64_t i = 0; i < n; i++)
        TRY(run_lane(r, i));
    return GLIA_OK;
}
