// SPDX-License-Identifier: Apache-2.0
// Shape inference of elementwise ops: equal shapes in, the same shape out; which element types each op takes is a
// table. There is no implicit broadcasting, save the scalar bounds of clamp and the scalar predicate of select.
#include "ir/infer.h"
#include "ir/module.h"

enum {
    TAKES_FLOAT = 1u << 0,
    TAKES_SIGNED = 1u << 1,
    TAKES_UNSIGNED = 1u << 2,
    TAKES_BOOL = 1u << 3,
    TAKES_COMPLEX = 1u << 4,
    TAKES_INT = TAKES_SIGNED | TAKES_UNSIGNED,
    TAKES_REAL_OR_COMPLEX = TAKES_FLOAT | TAKES_COMPLEX,
    TAKES_NUMBER = TAKES_FLOAT | TAKES_INT | TAKES_COMPLEX,
    TAKES_BITS = TAKES_INT | TAKES_BOOL,
    TAKES_ANY = TAKES_NUMBER | TAKES_BOOL,
};

// Element types by op [stablehlo.md C.1]; 0 takes everything, tuples too.
static const uint8_t takes[IR_OP_COUNT] = {
    [IR_ABS] = TAKES_FLOAT | TAKES_SIGNED | TAKES_COMPLEX,
    [IR_NEGATE] = TAKES_NUMBER,
    [IR_SIGN] = TAKES_FLOAT | TAKES_SIGNED | TAKES_COMPLEX,
    [IR_EXP] = TAKES_REAL_OR_COMPLEX,
    [IR_EXPM1] = TAKES_REAL_OR_COMPLEX,
    [IR_LOG] = TAKES_REAL_OR_COMPLEX,
    [IR_LOG1P] = TAKES_REAL_OR_COMPLEX,
    [IR_LOGISTIC] = TAKES_REAL_OR_COMPLEX,
    [IR_TANH] = TAKES_REAL_OR_COMPLEX,
    [IR_ERF] = TAKES_FLOAT,
    [IR_SQRT] = TAKES_REAL_OR_COMPLEX,
    [IR_RSQRT] = TAKES_REAL_OR_COMPLEX,
    [IR_SIN] = TAKES_REAL_OR_COMPLEX,
    [IR_COS] = TAKES_REAL_OR_COMPLEX,
    [IR_FLOOR] = TAKES_FLOAT,
    [IR_CEIL] = TAKES_FLOAT,
    [IR_ROUND_EVEN] = TAKES_FLOAT,
    [IR_NOT] = TAKES_BITS,
    [IR_IS_FINITE] = TAKES_FLOAT,
    [IR_CONVERT] = TAKES_ANY,
    [IR_BITCAST_CONVERT] = TAKES_ANY,
    [IR_REDUCE_PRECISION] = TAKES_FLOAT,
    [IR_ADD] = TAKES_ANY,
    [IR_SUBTRACT] = TAKES_NUMBER,
    [IR_MULTIPLY] = TAKES_ANY,
    [IR_DIVIDE] = TAKES_NUMBER,
    [IR_REMAINDER] = TAKES_FLOAT | TAKES_INT,
    [IR_POWER] = TAKES_NUMBER,
    [IR_MAXIMUM] = TAKES_ANY,
    [IR_MINIMUM] = TAKES_ANY,
    [IR_AND] = TAKES_BITS,
    [IR_OR] = TAKES_BITS,
    [IR_XOR] = TAKES_BITS,
    [IR_SHIFT_LEFT] = TAKES_INT,
    [IR_SHIFT_RIGHT_LOGICAL] = TAKES_INT,
    [IR_SHIFT_RIGHT_ARITH] = TAKES_INT,
    [IR_COMPARE] = TAKES_ANY,
    [IR_CLAMP] = TAKES_FLOAT | TAKES_INT,
};

static unsigned kind_mask(num_dtype t)
{
    switch ((num_kind)num_dtype_get(t)->kind) {
    case NUM_KIND_FLOAT:
    case NUM_KIND_SCALE:
        return TAKES_FLOAT;
    case NUM_KIND_SIGNED:
        return TAKES_SIGNED;
    case NUM_KIND_UNSIGNED:
        return TAKES_UNSIGNED;
    case NUM_KIND_BOOL:
        return TAKES_BOOL;
    case NUM_KIND_COMPLEX:
        return TAKES_COMPLEX;
    }
    return 0;
}

static const char *mask_text(const ir_infer *in, unsigned mask)
{
    AUTO_VALUE(glia_strbuf) text = {0};
    const char *names[] = {"float", "signed", "unsigned", "pred", "complex"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (mask & (1u << i)) glia_putf(&text, "%s%s", text.size ? ", " : "", names[i]);
    return glia_arena_strdup(in->arena, glia_strbuf_str(&text));
}

static glia_status check_type(const ir_infer *in, int operand)
{
    unsigned mask = takes[in->op];
    if (!mask) return GLIA_OK;
    TRY(ir_infer_need_array(in, operand));
    const ir_shape *s = infer_operand(in, operand);
    ENSURE(mask & kind_mask(s->dtype), INVALID, "'%s' takes element types %s, operand %d is %s", INFER_NAME(in),
           mask_text(in, mask), operand, ir_infer_text(in, s));
    return GLIA_OK;
}

static num_dtype real_of(num_dtype t)
{
    return t == NUM_C64 ? NUM_F32 : t == NUM_C128 ? NUM_F64 : t;
}

static ir_shape with_dtype(const ir_shape *s, num_dtype dtype)
{
    return (ir_shape){.dtype = dtype, .rank = s->rank, .dims = s->dims};
}

glia_status ir_infer_unary(const ir_infer *in, ir_shape *out)
{
    TRY(check_type(in, 0));
    const ir_shape *x = infer_operand(in, 0);
    if (in->op == IR_REDUCE_PRECISION)
        ENSURE(in->attrs->exponent_bits >= 1 && in->attrs->exponent_bits <= 11 && in->attrs->mantissa_bits >= 0 &&
                   in->attrs->mantissa_bits <= 52,
               INVALID, "'reduce-precision' keeps %d exponent and %d mantissa bits; 1 to 11 and 0 to 52 are possible",
               in->attrs->exponent_bits, in->attrs->mantissa_bits);
    *out = *x;
    if (!x->is_tuple) *out = with_dtype(x, in->op == IR_ABS ? real_of(x->dtype) : x->dtype);
    return GLIA_OK;
}

glia_status ir_infer_is_finite(const ir_infer *in, ir_shape *out)
{
    TRY(check_type(in, 0));
    *out = with_dtype(infer_operand(in, 0), NUM_BOOL);
    return GLIA_OK;
}

glia_status ir_infer_convert(const ir_infer *in, ir_shape *out)
{
    TRY(check_type(in, 0));
    TRY(ir_infer_need_given(in));
    *out = with_dtype(infer_operand(in, 0), in->given->dtype);
    return GLIA_OK;
}

// A narrower result gains a minor dim of the ratio, a wider one consumes it.
glia_status ir_infer_bitcast_convert(const ir_infer *in, ir_shape *out)
{
    TRY(check_type(in, 0));
    TRY(ir_infer_need_given(in));
    const ir_shape *x = infer_operand(in, 0);
    num_dtype to = in->given->dtype;
    int from_bits = num_bits(x->dtype), to_bits = num_bits(to);
    ENSURE((x->dtype == NUM_BOOL) == (to == NUM_BOOL), INVALID,
           "'bitcast-convert' cannot go from %s to %s: pred has no bit pattern", ir_infer_text(in, x),
           ir_infer_text(in, in->given));
    if (from_bits == to_bits) {
        *out = with_dtype(x, to);
        return GLIA_OK;
    }
    if (from_bits > to_bits) {
        int64_t *dims = ARENA_ARRAY(in->arena, int64_t, (size_t)x->rank + 1);
        for (int i = 0; i < x->rank; i++)
            dims[i] = x->dims[i];
        dims[x->rank] = from_bits / to_bits;
        *out = (ir_shape){.dtype = to, .rank = x->rank + 1, .dims = dims};
        return GLIA_OK;
    }
    ENSURE(x->rank > 0 && x->dims[x->rank - 1] == to_bits / from_bits, INVALID,
           "'bitcast-convert' to %s joins a last dim of %d elements, the operand is %s", ir_infer_text(in, in->given),
           to_bits / from_bits, ir_infer_text(in, x));
    *out = (ir_shape){.dtype = to, .rank = x->rank - 1, .dims = x->dims};
    return GLIA_OK;
}

static glia_status need_equal(const ir_infer *in, int a, int b)
{
    ENSURE(ir_shape_equal(infer_operand(in, a), infer_operand(in, b)), INVALID,
           "'%s' takes equal shapes, operand %d is %s and operand %d is %s", INFER_NAME(in), a,
           ir_infer_text(in, infer_operand(in, a)), b, ir_infer_text(in, infer_operand(in, b)));
    return GLIA_OK;
}

glia_status ir_infer_binary(const ir_infer *in, ir_shape *out)
{
    TRY(check_type(in, 0));
    TRY(check_type(in, 1));
    TRY(need_equal(in, 0, 1));
    *out = with_dtype(infer_operand(in, 0), infer_operand(in, 0)->dtype);
    return GLIA_OK;
}

glia_status ir_infer_compare(const ir_infer *in, ir_shape *out)
{
    TRY(check_type(in, 0));
    TRY(check_type(in, 1));
    TRY(need_equal(in, 0, 1));
    const ir_shape *x = infer_operand(in, 0);
    bool ordered = in->attrs->direction != IR_EQ && in->attrs->direction != IR_NE;
    ENSURE(!ordered || num_dtype_get(x->dtype)->kind != NUM_KIND_COMPLEX, INVALID,
           "'compare' of %s can only ask EQ or NE: complex numbers have no order", ir_infer_text(in, x));
    *out = with_dtype(x, NUM_BOOL);
    return GLIA_OK;
}

glia_status ir_infer_select(const ir_infer *in, ir_shape *out)
{
    TRY(ir_infer_need_arrays(in));
    TRY(need_equal(in, 1, 2));
    const ir_shape *pred = infer_operand(in, 0), *x = infer_operand(in, 1);
    ENSURE(pred->dtype == NUM_BOOL && (pred->rank == 0 || ir_shape_dims_equal(pred, x)), INVALID,
           "'select' takes a pred scalar or a pred of the values' dims, the predicate is %s and the values %s",
           ir_infer_text(in, pred), ir_infer_text(in, x));
    *out = with_dtype(x, x->dtype);
    return GLIA_OK;
}

glia_status ir_infer_clamp(const ir_infer *in, ir_shape *out)
{
    const ir_shape *x = infer_operand(in, 1);
    TRY(check_type(in, 1));
    for (int i = 0; i < 3; i += 2) {
        TRY(check_type(in, i));
        const ir_shape *bound = infer_operand(in, i);
        ENSURE(bound->dtype == x->dtype && (bound->rank == 0 || ir_shape_dims_equal(bound, x)), INVALID,
               "'clamp' takes scalar bounds or bounds of the value's shape, operand %d is %s and the value %s", i,
               ir_infer_text(in, bound), ir_infer_text(in, x));
    }
    *out = with_dtype(x, x->dtype);
    return GLIA_OK;
}
