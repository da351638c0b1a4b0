// SPDX-License-Identifier: Apache-2.0
// Scalar float functions by op, in fp64; the caller rounds. IEEE 754 throughout: NaN in, NaN out (but pow(x, 0) and
// pow(1, y) are 1), signed zeros kept, +0 above -0 in maximum and minimum. abs and negate are not here: they are bit
// operations, which keep a NaN's payload and work on every format.
#include "ir/eval/eval.h"

#include <math.h>

static double f_sign(double x)
{
    return isnan(x) || x == 0 ? x : copysign(1, x);
}
static double f_logistic(double x)
{
    return 1 / (1 + exp(-x));
}
static double f_rsqrt(double x)
{
    return 1 / sqrt(x);
}

// clang-format off
static const ir_eval_float_unary unary_table[IR_OP_COUNT] = {
    [IR_SIGN] = f_sign,         [IR_EXP] = exp,     [IR_EXPM1] = expm1, [IR_LOG] = log,     [IR_LOG1P] = log1p,
    [IR_LOGISTIC] = f_logistic, [IR_TANH] = tanh,   [IR_ERF] = erf,     [IR_SQRT] = sqrt,   [IR_RSQRT] = f_rsqrt,
    [IR_SIN] = sin,             [IR_COS] = cos,     [IR_FLOOR] = floor, [IR_CEIL] = ceil,   [IR_ROUND_EVEN] = rint,
};
// clang-format on

static double f_add(double x, double y)
{
    return x + y;
}
static double f_subtract(double x, double y)
{
    return x - y;
}
static double f_multiply(double x, double y)
{
    return x * y;
}
static double f_divide(double x, double y)
{
    return x / y;
}

static double f_maximum(double x, double y)
{
    if (isnan(x) || isnan(y)) return NAN;
    if (x == y) return signbit(x) ? y : x;
    return x > y ? x : y;
}

static double f_minimum(double x, double y)
{
    if (isnan(x) || isnan(y)) return NAN;
    if (x == y) return signbit(x) ? x : y;
    return x < y ? x : y;
}

// clang-format off
static const ir_eval_float_binary binary_table[IR_OP_COUNT] = {
    [IR_ADD] = f_add,        [IR_SUBTRACT] = f_subtract, [IR_MULTIPLY] = f_multiply, [IR_DIVIDE] = f_divide,
    [IR_REMAINDER] = fmod,   [IR_POWER] = pow,           [IR_MAXIMUM] = f_maximum,   [IR_MINIMUM] = f_minimum,
};
// clang-format on

ir_eval_float_unary ir_eval_float_unary_of(ir_op op)
{
    return unary_table[op];
}
ir_eval_float_binary ir_eval_float_binary_of(ir_op op)
{
    return binary_table[op];
}
