// SPDX-License-Identifier: Apache-2.0
// What values an integer can have, as far as the graph says. The vector engine computes in fp32, which holds integers
// up to 2^24: where a range shows that nothing else occurs, one instruction is enough. Conservative: an op that is not
// understood has the range of its type.
#include "compile/lower/range.h"

enum { DEPTH = 6, LITERAL_ELEMENTS = 4096 };    // bounds of the work for one question

static range hull(range a, range b)
{
    return (range){ a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi };
}

range range_of_type(num_dtype t)
{
    if (t == NUM_BOOL) return (range){ 0, 1 };
    const int bits = num_bits(t);
    if (!num_is_integer(t) || bits > 32) return (range){ INT64_MIN, INT64_MAX };
    if (num_dtype_get(t)->kind == NUM_KIND_SIGNED) return (range){ -((int64_t)1 << (bits - 1)), ((int64_t)1 << (bits - 1)) - 1 };
    return (range){ 0, ((int64_t)1 << bits) - 1 };
}

bool range_within(range r, range outer)
{
    return r.lo >= outer.lo && r.hi <= outer.hi;
}

bool range_fits_fp32(range r)
{
    const int64_t most = (int64_t)1 << 24;
    return range_within(r, (range){ -most, most });
}

static range of_literal(const ir_inst *i)
{
    const num_dtype t = i->shape.dtype;
    const int64_t n = ir_shape_elements(&i->shape);
    if (n < 1 || n > LITERAL_ELEMENTS) return range_of_type(t);
    const uint8_t *data = i->attrs.literal.data;
    range r = { INT64_MAX, INT64_MIN };
    for (int64_t k = 0; k < n; k++) {
        const int64_t x = num_to_i64(t, num_load(t, data + k * num_size(t)));
        r = hull(r, (range){ x, x });
    }
    return r;
}

// Two values of u32 can multiply to more than 63 bits.
static range product(int64_t a, int64_t b)
{
    int64_t r;
    if (__builtin_mul_overflow(a, b, &r)) r = (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
    return (range){ r, r };
}

range range_combine(ir_op op, range a, range b)
{
    switch ((int)op) {
    case IR_ADD: return (range){ a.lo + b.lo, a.hi + b.hi };
    case IR_SUBTRACT: return (range){ a.lo - b.hi, a.hi - b.lo };
    case IR_MULTIPLY: return hull(hull(product(a.lo, b.lo), product(a.lo, b.hi)), hull(product(a.hi, b.lo), product(a.hi, b.hi)));
    case IR_MAXIMUM: return (range){ a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi };
    case IR_MINIMUM: return (range){ a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi };
    default: return (range){ INT64_MIN, INT64_MAX };
    }
}

static range of_depth(const ir_inst *i, int depth);

static range of_operands(const ir_inst *i, int first, int depth)
{
    range r = of_depth(i->operands[first], depth);
    for (int k = first + 1; k < i->operand_count; k++) r = hull(r, of_depth(i->operands[k], depth));
    return r;
}

static bool moves_elements(ir_op op)
{
    return op == IR_BROADCAST || op == IR_RESHAPE || op == IR_TRANSPOSE || op == IR_SLICE || op == IR_REVERSE || op == IR_COPY ||
           op == IR_OPT_BARRIER || op == IR_DYNAMIC_SLICE || op == IR_GATHER;
}

static range of_op(const ir_inst *i, int depth)
{
    const range all = range_of_type(i->shape.dtype);
    if (moves_elements(i->op)) return of_depth(i->operands[0], depth);
    switch ((int)i->op) {
    case IR_IOTA: return (range){ 0, i->shape.dims[i->attrs.index] - 1 };
    case IR_CONSTANT: return of_literal(i);
    case IR_CONCATENATE: return of_operands(i, 0, depth);
    case IR_SELECT: return of_operands(i, 1, depth);
    case IR_ADD:
    case IR_SUBTRACT:
    case IR_MULTIPLY:
    case IR_MAXIMUM:
    case IR_MINIMUM: return range_combine(i->op, of_depth(i->operands[0], depth), of_depth(i->operands[1], depth));
    case IR_CLAMP:
        return range_combine(IR_MINIMUM, range_combine(IR_MAXIMUM, of_depth(i->operands[1], depth), of_depth(i->operands[0], depth)),
                             of_depth(i->operands[2], depth));
    case IR_CONVERT: return num_is_float(i->operands[0]->shape.dtype) ? all : of_depth(i->operands[0], depth);
    default: return all;
    }
}

static range of_depth(const ir_inst *i, int depth)
{
    const range all = range_of_type(i->shape.dtype);
    const bool known = i->shape.dtype == NUM_BOOL || (num_is_integer(i->shape.dtype) && num_bits(i->shape.dtype) >= 8 &&
                                                      num_bits(i->shape.dtype) <= 32);
    if (!known || depth == 0 || i->shape.is_tuple || i->shape.dtype == NUM_BOOL) return all;
    const range r = of_op(i, depth - 1);
    return range_within(r, all) ? r : all;      // what leaves the type wraps
}

range range_of(const ir_inst *i)
{
    return of_depth(i, DEPTH);
}
