// SPDX-License-Identifier: Apache-2.0
// Simplify: joins equal values, removes conversions and shape changes that do nothing, computes constants.
//
// Constants are computed by the reference evaluator, so that folding can never disagree with it; results of more than
// FOLD_BYTES stay as they are (a big constant costs more to load than to make).
#include "compile/passes/passes.h"

#include <string.h>

enum { FOLD_BYTES = 65536 };

static bool dims_equal(const ir_dims *a, const ir_dims *b)
{
    return a->count == b->count && (a->count == 0 || !memcmp(a->items, b->items, (size_t)a->count * sizeof a->items[0]));
}

static bool attrs_equal(const ir_inst *x, const ir_inst *y)
{
    const ir_attrs *a = &x->attrs, *b = &y->attrs;
    return a->index == b->index && dims_equal(&a->dimensions, &b->dimensions) && dims_equal(&a->starts, &b->starts) &&
           dims_equal(&a->limits, &b->limits) && dims_equal(&a->strides, &b->strides) && dims_equal(&a->sizes, &b->sizes) &&
           dims_equal(&a->lhs_batch, &b->lhs_batch) && dims_equal(&a->rhs_batch, &b->rhs_batch) &&
           dims_equal(&a->lhs_contract, &b->lhs_contract) && dims_equal(&a->rhs_contract, &b->rhs_contract) &&
           a->direction == b->direction && a->compare_type == b->compare_type && a->exponent_bits == b->exponent_bits &&
           a->mantissa_bits == b->mantissa_bits &&
           a->literal.size_bytes == b->literal.size_bytes &&
           (a->literal.size_bytes == 0 || !memcmp(a->literal.data, b->literal.data, a->literal.size_bytes));
}

static bool may_join(const ir_inst *i)
{
    switch (ir_op_class_of(i->op)) {
    case IR_CLASS_UNARY:
    case IR_CLASS_BINARY:
    case IR_CLASS_TERNARY:
    case IR_CLASS_CONTRACT: return true;
    case IR_CLASS_SHAPE: return i->op != IR_COPY;
    case IR_CLASS_LEAF: return i->op != IR_PARAMETER;
    default: return i->op == IR_GET_TUPLE_ELEMENT;
    }
}

static uint64_t hash_of(const ir_inst *i)
{
    uint64_t h = (uint64_t)i->op * 0x9e3779b97f4a7c15u + (uint64_t)i->shape.dtype;
    for (int o = 0; o < i->operand_count; o++) h = (h ^ (uint64_t)(uintptr_t)i->operands[o]) * 0x100000001b3u;
    for (int d = 0; d < i->shape.rank; d++) h = (h ^ (uint64_t)i->shape.dims[d]) * 0x100000001b3u;
    return h;
}

// What `i` is the same as, or i itself.
static ir_inst *identity_of(ir_inst *i)
{
    if ((i->op == IR_RESHAPE || i->op == IR_BROADCAST || i->op == IR_CONVERT || i->op == IR_SLICE || i->op == IR_TRANSPOSE) &&
        ir_shape_equal(&i->shape, &i->operands[0]->shape)) {
        if (i->op == IR_BROADCAST || i->op == IR_TRANSPOSE)
            for (int d = 0; d < i->attrs.dimensions.count; d++)
                if (i->attrs.dimensions.items[d] != d) return i;
        return i->operands[0];
    }
    if (i->op == IR_OPT_BARRIER || i->op == IR_COPY) return i->operands[0];
    if (i->op == IR_GET_TUPLE_ELEMENT && i->operands[0]->op == IR_TUPLE) return i->operands[0]->operands[i->attrs.index];
    return i;
}

static bool foldable(const ir_inst *i)
{
    if (i->op == IR_CONSTANT || i->shape.is_tuple || ir_shape_bytes(&i->shape) > FOLD_BYTES || i->operand_count == 0) return false;
    const ir_op_class c = ir_op_class_of(i->op);
    // A broadcast of a scalar stays: it is a splat, cheaper than memory.
    if (i->op == IR_BROADCAST || (c != IR_CLASS_UNARY && c != IR_CLASS_BINARY && c != IR_CLASS_TERNARY && c != IR_CLASS_SHAPE)) return false;
    if (num_bits(i->shape.dtype) < 8 || !num_can_convert(i->shape.dtype)) return false;
    for (int o = 0; o < i->operand_count; o++) {
        const ir_inst *x = i->operands[o];
        const bool splat = x->op == IR_BROADCAST && x->operands[0]->op == IR_CONSTANT && ir_shape_elements(&x->operands[0]->shape) == 1;
        if (x->op != IR_CONSTANT && !splat) return false;
    }
    return true;
}

// Splats of scalars stay splats: the op is applied to the scalars, the result broadcast.
static glia_status fold(ir_builder *b, ir_inst *i, ir_inst **out)
{
    *out = i;
    bool all_splat = ir_op_class_of(i->op) != IR_CLASS_SHAPE;
    for (int o = 0; o < i->operand_count; o++) all_splat = all_splat && (i->operands[o]->op == IR_BROADCAST || i->operands[o]->shape.rank == 0);
    if (!all_splat && ir_op_class_of(i->op) != IR_CLASS_SHAPE) {
        for (int o = 0; o < i->operand_count; o++)
            if (i->operands[o]->op == IR_BROADCAST) return GLIA_OK;
    }
    ir_module *m = ir_module_create("fold");
    ir_computation *c = ir_computation_create(m, "fold");
    ir_builder fb = ir_builder_of(c);
    fb.loc = i->loc;
    ir_inst *operands[8];
    if (i->operand_count > 8) {
        ir_module_destroy(m);
        return GLIA_OK;
    }
    for (int o = 0; o < i->operand_count; o++) {
        const ir_inst *x = i->operands[o];
        const ir_inst *lit = x->op == IR_BROADCAST ? x->operands[0] : x;
        ir_inst *k = ir_constant(&fb, lit->shape.dtype, lit->shape.rank, lit->shape.dims, lit->attrs.literal.data);
        if (x->op == IR_BROADCAST && !all_splat)
            k = ir_make(&fb, IR_BROADCAST, &x->shape, 1, &k, &x->attrs);
        operands[o] = k;
    }
    ir_shape shape = i->shape;
    if (all_splat) shape.rank = 0;
    ir_inst *root = ir_make(&fb, i->op, &shape, i->operand_count, operands, &i->attrs);
    glia_status s = ir_builder_finish(&fb, root);
    AUTO(glia_arena) arena = glia_arena_create();
    ir_value *values = NULL;
    int count = 0;
    const ir_eval_options eo = { .precise = true };
    if (!s) s = ir_eval(m, NULL, 0, arena, &eo, &values, &count);
    if (s) {
        // Not ours to judge here: the op stays and whoever meets it later reports.
        glia_status_destroy(s);
        ir_module_destroy(m);
        return GLIA_OK;
    }
    b->loc = i->loc;
    ir_inst *r = ir_constant(b, values[0].shape.dtype, values[0].shape.rank, values[0].shape.dims, values[0].data);
    if (all_splat && i->shape.rank > 0) r = ir_broadcast_scalar(b, r, &i->shape);
    *out = r;
    ir_module_destroy(m);
    return GLIA_OK;
}

static glia_status simplify_computation(ir_computation *c)
{
    const uint32_t count = c->insts.count;
    ir_inst **became = glia_alloc((count + 1) * sizeof *became);
    const uint32_t buckets = 1024;
    VEC(ir_inst *) *table = glia_alloc(buckets * sizeof *table);
    ir_builder b = ir_builder_of(c);
    glia_status s = GLIA_OK;
    for (uint32_t k = 0; k < count && !s; k++) {
        ir_inst *i = c->insts.items[k];
        i->id = (int)k;
        for (int o = 0; o < i->operand_count; o++)
            if ((uint32_t)i->operands[o]->id < count && c->insts.items[i->operands[o]->id] == i->operands[o]) i->operands[o] = became[i->operands[o]->id];
        ir_inst *same = identity_of(i);
        if (same == i && foldable(i)) s = fold(&b, i, &same);
        if (same == i && may_join(i)) {
            const uint64_t h = hash_of(i) % buckets;
            for (uint32_t j = 0; j < table[h].count && same == i; j++) {
                ir_inst *x = table[h].items[j];
                bool equal = x->op == i->op && x->operand_count == i->operand_count && ir_shape_equal(&x->shape, &i->shape) && attrs_equal(x, i);
                for (int o = 0; o < i->operand_count && equal; o++) equal = x->operands[o] == i->operands[o];
                if (equal) same = x;
            }
            if (same == i) VEC_PUSH(&table[h]) = i;
        }
        became[k] = same;
    }
    ir_inst *root = became[c->root->id];
    for (uint32_t h = 0; h < buckets; h++) VEC_FREE(&table[h]);
    glia_free(table);
    glia_free(became);
    if (s) {
        glia_status_destroy(b.error);
        return s;
    }
    // A parameter of a region must stay its root's shape; entry roots too.
    TRY(ir_builder_finish(&b, root));
    pass_order(c);
    return GLIA_OK;
}

glia_status pass_simplify(ir_module *m, const compile_options *o)
{
    (void)o;
    for (uint32_t k = 0; k < m->computations.count; k++) TRY(simplify_computation(m->computations.items[k]));
    return GLIA_OK;
}
