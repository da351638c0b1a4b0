// SPDX-License-Identifier: Apache-2.0
// The part of shape inference that every op shares: operand counts, attribute lists, regions, agreement with the shape
// that the caller states. Also the question whether a region is one binary op.
#include "ir/infer.h"

#include "ir/module.h"
#include "ir/ops.h"

const char *ir_infer_text(const ir_infer *in, const ir_shape *s)
{
    return ir_shape_text(in->arena, s);
}

static glia_status check_operands(const ir_infer *in)
{
    const ir_op_info *info = ir_op_get(in->op);
    ENSURE(in->operand_count >= info->min_operands, INVALID, "'%s' has %d operands, it takes %s%d", info->name,
           in->operand_count, info->max_operands == info->min_operands ? "" : "at least ", info->min_operands);
    ENSURE(info->max_operands < 0 || in->operand_count <= info->max_operands, INVALID,
           "'%s' has %d operands, it takes %s%d", info->name, in->operand_count,
           info->max_operands == info->min_operands ? "" : "at most ", info->max_operands);
    for (int i = 0; i < in->operand_count; i++)
        ENSURE(in->operands[i], INVALID, "'%s' has no operand %d of %d", info->name, i, in->operand_count);
    return GLIA_OK;
}

glia_status ir_infer_shape(const ir_infer *in, ir_shape *out)
{
    ir_shape inferred = {0};
    TRY(check_operands(in));
    if (in->given) {
        glia_status bad = ir_shape_check(in->given);
        if (bad) return glia_status_prefix(bad, "'%s'", INFER_NAME(in));
    }
    TRY(ir_op_get(in->op)->infer(in, &inferred));
    glia_status bad = ir_shape_check(&inferred);
    if (bad) return glia_status_prefix(bad, "'%s'", INFER_NAME(in));
    ENSURE(!in->given || ir_shape_equal(&inferred, in->given), INVALID,
           "'%s' is stated to give %s, its operands and attributes give %s", INFER_NAME(in),
           ir_infer_text(in, in->given), ir_infer_text(in, &inferred));
    *out = in->given ? *in->given : inferred; // the given one may carry bounds and a layout
    return GLIA_OK;
}

glia_status ir_infer_need_array(const ir_infer *in, int operand)
{
    const ir_shape *s = infer_operand(in, operand);
    ENSURE(!s->is_tuple, INVALID, "'%s' takes an array as operand %d, '%s' is %s", INFER_NAME(in), operand,
           in->operands[operand]->name, ir_infer_text(in, s));
    return GLIA_OK;
}

glia_status ir_infer_need_arrays(const ir_infer *in)
{
    for (int i = 0; i < in->operand_count; i++)
        TRY(ir_infer_need_array(in, i));
    return GLIA_OK;
}

glia_status ir_infer_need_given(const ir_infer *in)
{
    ENSURE(in->given, INVALID, "'%s' needs its result shape stated, none is", INFER_NAME(in));
    ENSURE(!in->given->is_tuple, INVALID, "'%s' gives an array, it is stated to give %s", INFER_NAME(in),
           ir_infer_text(in, in->given));
    return GLIA_OK;
}

bool ir_dims_has(const ir_dims *dims, int64_t value)
{
    for (int i = 0; i < dims->count; i++)
        if (dims->items[i] == value) return true;
    return false;
}

glia_status ir_infer_unique_dims(const ir_infer *in, const char *what, const ir_dims *dims, int64_t bound)
{
    ENSURE(dims->count <= bound, INVALID, "'%s' lists %d values in %s, there are %lld dims", INFER_NAME(in),
           dims->count, what, (long long)bound);
    for (int i = 0; i < dims->count; i++) {
        int64_t d = dims->items[i];
        ENSURE(d >= 0 && d < bound, INVALID, "'%s' has %lld in %s, the dims are 0 to %lld", INFER_NAME(in),
               (long long)d, what, (long long)bound - 1);
        for (int j = 0; j < i; j++)
            ENSURE(dims->items[j] != d, INVALID, "'%s' has %lld in %s twice, at %d and %d", INFER_NAME(in),
                   (long long)d, what, j, i);
    }
    return GLIA_OK;
}

glia_status ir_infer_sorted_dims(const ir_infer *in, const char *what, const ir_dims *dims)
{
    for (int i = 1; i < dims->count; i++)
        ENSURE(dims->items[i - 1] < dims->items[i], INVALID, "'%s' has %lld before %lld in %s, they must ascend",
               INFER_NAME(in), (long long)dims->items[i - 1], (long long)dims->items[i], what);
    return GLIA_OK;
}

glia_status ir_infer_region(const ir_infer *in, const char *what, const ir_computation *region, int param_count,
                            const ir_shape *params, const ir_shape *root)
{
    ENSURE(region, INVALID, "'%s' has no %s", INFER_NAME(in), what);
    ENSURE(region->root, INVALID, "'%s' calls %s '%s', which has no root", INFER_NAME(in), what, region->name);
    ENSURE((int)region->params.count == param_count, INVALID, "'%s' passes %d values to %s '%s', which takes %u",
           INFER_NAME(in), param_count, what, region->name, region->params.count);
    for (int i = 0; i < param_count; i++) {
        const ir_inst *p = region->params.items[i];
        ENSURE(p, INVALID, "'%s' calls %s '%s', which lacks parameter %d", INFER_NAME(in), what, region->name, i);
        ENSURE(ir_shape_equal(&p->shape, &params[i]), INVALID, "'%s' passes %s to parameter %d of %s '%s', which is %s",
               INFER_NAME(in), ir_infer_text(in, &params[i]), i, what, region->name, ir_infer_text(in, &p->shape));
    }
    ENSURE(!root || ir_shape_equal(&region->root->shape, root), INVALID, "'%s' needs %s '%s' to give %s, it gives %s",
           INFER_NAME(in), what, region->name, ir_infer_text(in, root), ir_infer_text(in, &region->root->shape));
    return GLIA_OK;
}

ir_shape ir_infer_pack(const ir_infer *in, int count, const ir_shape *shapes)
{
    if (count == 1) return shapes[0];
    ir_shape *elements = ARENA_ARRAY(in->arena, ir_shape, (size_t)count);
    for (int i = 0; i < count; i++)
        elements[i] = shapes[i];
    return (ir_shape){.is_tuple = 1, .tuple_size = count, .elements = elements};
}

bool ir_region_is_binary(const ir_computation *c, ir_op *out)
{
    if (!c || !c->root || c->params.count != 2) return false;
    const ir_inst *root = c->root;
    if (ir_op_class_of(root->op) != IR_CLASS_BINARY || root->op == IR_COMPARE) return false;
    const ir_inst *a = root->operands[0], *b = root->operands[1];
    const ir_inst *p0 = c->params.items[0], *p1 = c->params.items[1];
    if (a == p0 && b == p1) {
        *out = root->op;
        return true;
    }
    const ir_op commutative[] = {IR_ADD, IR_MULTIPLY, IR_MAXIMUM, IR_MINIMUM, IR_AND, IR_OR, IR_XOR};
    for (size_t i = 0; a == p1 && b == p0 && i < COUNT_OF(commutative); i++) {
        if (commutative[i] != root->op) continue;
        *out = root->op;
        return true;
    }
    return false;
}
