// SPDX-License-Identifier: Apache-2.0
// Scalar complex functions by op, in pairs of fp64; the caller rounds each part. Maximum and minimum are lexicographic,
// sign is x / |x| with 0 for 0, abs puts the magnitude into the real part. C's library gives the branch cuts.
#include "ir/eval/eval.h"

#include <complex.h>
#include <math.h>

typedef _Complex double z64;

static z64 z_abs(z64 x)
{
    return ir_eval_complex(cabs(x), 0);
}
static z64 z_negate(z64 x)
{
    return ir_eval_complex(-creal(x), -cimag(x));
}
static z64 z_sign(z64 x)
{
    return cabs(x) == 0 ? ir_eval_complex(0, 0) : x / cabs(x);
}
static z64 z_logistic(z64 x)
{
    return 1 / (1 + cexp(-x));
}
static z64 z_rsqrt(z64 x)
{
    return 1 / csqrt(x);
}

// e^a cos b - 1 = expm1(a) cos b - 2 sin^2(b / 2): no cancellation near 0.
static z64 z_expm1(z64 x)
{
    const double a = creal(x), b = cimag(x), half = sin(b / 2);
    return ir_eval_complex(expm1(a) * cos(b) - 2 * half * half, exp(a) * sin(b));
}

// |1 + x|^2 - 1 = a (2 + a) + b^2, for the same reason.
static z64 z_log1p(z64 x)
{
    const double a = creal(x), b = cimag(x);
    const double re = fabs(a) + fabs(b) < 0.5 ? log1p(a * (2 + a) + b * b) / 2 : log(hypot(1 + a, b));
    return ir_eval_complex(re, atan2(b, 1 + a));
}

// clang-format off
static const ir_eval_complex_unary unary_table[IR_OP_COUNT] = {
    [IR_ABS] = z_abs,     [IR_NEGATE] = z_negate,     [IR_SIGN] = z_sign, [IR_EXP] = cexp,   [IR_EXPM1] = z_expm1,
    [IR_LOG] = clog,      [IR_LOG1P] = z_log1p,       [IR_TANH] = ctanh,  [IR_SQRT] = csqrt, [IR_RSQRT] = z_rsqrt,
    [IR_SIN] = csin,      [IR_LOGISTIC] = z_logistic, [IR_COS] = ccos,
};
// clang-format on

static z64 z_add(z64 x, z64 y)
{
    return x + y;
}
static z64 z_subtract(z64 x, z64 y)
{
    return x - y;
}
static z64 z_multiply(z64 x, z64 y)
{
    return x * y;
}
static z64 z_divide(z64 x, z64 y)
{
    return x / y;
}

static z64 z_power(z64 x, z64 y)
{
    if (y == 0) return 1;
    return x == 0 ? ir_eval_complex(0, 0) : cpow(x, y);
}

static bool z_less(z64 x, z64 y)
{
    return creal(x) != creal(y) ? creal(x) < creal(y) : cimag(x) < cimag(y);
}

static bool z_is_nan(z64 x)
{
    return isnan(creal(x)) || isnan(cimag(x));
}

static z64 z_maximum(z64 x, z64 y)
{
    if (z_is_nan(x) || z_is_nan(y)) return z_is_nan(x) ? x : y;
    return z_less(x, y) ? y : x;
}

static z64 z_minimum(z64 x, z64 y)
{
    if (z_is_nan(x) || z_is_nan(y)) return z_is_nan(x) ? x : y;
    return z_less(y, x) ? y : x;
}

// clang-format off
static const ir_eval_complex_binary binary_table[IR_OP_COUNT] = {
    [IR_ADD] = z_add,       [IR_SUBTRACT] = z_subtract, [IR_MULTIPLY] = z_multiply, [IR_DIVIDE] = z_divide,
    [IR_POWER] = z_power,   [IR_MAXIMUM] = z_maximum,   [IR_MINIMUM] = z_minimum,
};
// clang-format on

ir_eval_complex_unary ir_eval_complex_unary_of(ir_op op)
{
    return unary_table[op];
}
ir_eval_complex_binary ir_eval_complex_binary_of(ir_op op)
{
    return binary_table[op];
}
