// SPDX-License-Identifier: Apache-2.0
// Operators and activation functions (see alu.h). Nothing here calls the host's libm for more than sqrt, which IEEE
// defines to the bit.
#include "dev/alu.h"

#include <math.h>

#include "num/dtype.h"
#include "num/math.h"

enum { REDUCE = 1, COMPARE = 2, POOLONLY = 4 };
typedef struct alu_row { uint8_t kind, flags; } alu_row;
#define ALU(symbol, name, kind, flags) [ISA_ALU_##symbol] = { DEV_ALU_##kind, flags },
static const alu_row rows[ISA_ALU_COUNT] = {
#include "isa/alu.def"
};

dev_alu_kind dev_alu_kind_of(isa_alu op) { return (dev_alu_kind)rows[op].kind; }
bool dev_alu_compares(isa_alu op) { return rows[op].flags & COMPARE; }
bool dev_alu_reduces(isa_alu op) { return rows[op].flags & REDUCE; }

static float maximum(float a, float b)
{
    if (isnan(a) || isnan(b)) return NAN;
    if (a == b) return num_f32_of(num_f32_bits(a) & num_f32_bits(b));
    return a > b ? a : b;
}

static float minimum(float a, float b)
{
    if (isnan(a) || isnan(b)) return NAN;
    if (a == b) return num_f32_of(num_f32_bits(a) | num_f32_bits(b));
    return a < b ? a : b;
}

float dev_alu_f32(isa_alu op, float a, float b)
{
    switch (op) {
    case ISA_ALU_NONE: return a;
    case ISA_ALU_ADD: return a + b;
    case ISA_ALU_SUBTRACT: return a - b;
    case ISA_ALU_MULTIPLY: return a * b;
    case ISA_ALU_MAXIMUM: return maximum(a, b);
    case ISA_ALU_MINIMUM: return minimum(a, b);
    case ISA_ALU_EQ: return a == b;
    case ISA_ALU_NE: return a != b;
    case ISA_ALU_GE: return a >= b;
    case ISA_ALU_GT: return a > b;
    case ISA_ALU_LE: return a <= b;
    case ISA_ALU_LT: return a < b;
    case ISA_ALU_LOGICAL_AND: return a != 0 && b != 0;
    case ISA_ALU_LOGICAL_OR: return a != 0 || b != 0;
    case ISA_ALU_LOGICAL_XOR: return (a != 0) != (b != 0);
    case ISA_ALU_POWER: return dev_power(a, b);
    case ISA_ALU_RSQRT: return num_rsqrt(a);
    case ISA_ALU_ABS: return num_f32_of(num_f32_bits(a) & 0x7fffffffu);
    case ISA_ALU_AND:
    case ISA_ALU_OR:
    case ISA_ALU_XOR:
    case ISA_ALU_SHL:
    case ISA_ALU_SHR:
    case ISA_ALU_INVERT:
    case ISA_ALU_COUNT: break;
    }
    BUG_ON(true);
}

uint32_t dev_alu_bits(isa_alu op, uint32_t a, uint32_t b, int bits)
{
    const uint32_t mask = bits < 32 ? (1u << bits) - 1 : UINT32_MAX;
    a &= mask;
    b &= mask;
    const bool away = b >= (uint32_t)bits;      // shifts are logical; a shift by the width or more leaves nothing
    if (op == ISA_ALU_AND) return a & b;
    if (op == ISA_ALU_OR) return a | b;
    if (op == ISA_ALU_XOR) return a ^ b;
    if (op == ISA_ALU_SHL) return away ? 0 : (a << b) & mask;
    if (op == ISA_ALU_SHR) return away ? 0 : a >> b;
    BUG_ON(op != ISA_ALU_INVERT);
    return ~a & mask;
}

bool dev_alu_compare_int(isa_alu op, int64_t a, int64_t b)
{
    if (op == ISA_ALU_EQ) return a == b;
    if (op == ISA_ALU_NE) return a != b;
    if (op == ISA_ALU_GE) return a >= b;
    if (op == ISA_ALU_GT) return a > b;
    if (op == ISA_ALU_LE) return a <= b;
    BUG_ON(op != ISA_ALU_LT);
    return a < b;
}

bool dev_alu_has_int(isa_alu op)
{
    return op != ISA_ALU_POWER && op != ISA_ALU_RSQRT && dev_alu_kind_of(op) != DEV_ALU_BITVEC;
}

int64_t dev_alu_int(isa_alu op, int64_t a, int64_t b)
{
    if (dev_alu_compares(op)) return dev_alu_compare_int(op, a, b);
    if (op == ISA_ALU_NONE) return a;
    if (op == ISA_ALU_ADD) return a + b;                // operands of 32 bits: nothing overflows but the product of
    if (op == ISA_ALU_SUBTRACT) return a - b;           // two large unsigned ones, which wraps
    if (op == ISA_ALU_MULTIPLY) return (int64_t)((uint64_t)a * (uint64_t)b);
    if (op == ISA_ALU_MAXIMUM) return a > b ? a : b;
    if (op == ISA_ALU_MINIMUM) return a < b ? a : b;
    if (op == ISA_ALU_LOGICAL_AND) return a && b;
    if (op == ISA_ALU_LOGICAL_OR) return a || b;
    if (op == ISA_ALU_LOGICAL_XOR) return !a != !b;
    BUG_ON(op != ISA_ALU_ABS);
    return a < 0 ? -a : a;
}

// ---- power ---------------------------------------------------------------------------------------------------------

// ln x for normal x > 0 in double: 2 atanh(s), s = (m - 1) / (m + 1), m in [sqrt(1/2), sqrt(2)).
static double log_double(double x)
{
    int e;
    double m = frexp(x, &e);
    if (m < 0.70710678118654752) {
        m *= 2;
        e--;
    }
    const double s = (m - 1) / (m + 1), z = s * s;
    double sum = 1.0 / 23;
    for (int k = 21; k >= 1; k -= 2) sum = sum * z + 1.0 / k;
    return 2 * s * sum + e * 0.69314718055994531;
}

static double exp_double(double x)
{
    const double n = nearbyint(x * 1.4426950408889634);
    const double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    double sum = 1;
    for (int k = 14; k >= 1; k--) sum = sum * r / k + 1;
    return ldexp(sum, (int)n);
}

// x^y by IEEE 754's rules for special values, through double, whose error vanishes in the rounding to fp32 except in
// rare near-ties.
float dev_power(float x, float y)
{
    if (y == 0 || x == 1) return 1;
    if (isnan(x) || isnan(y)) return NAN;
    const bool y_integer = isinf(y) || y == truncf(y);
    const bool y_odd = !isinf(y) && y_integer && fabsf(y) < 0x1p24f && ((int64_t)y & 1);
    const bool negative = signbit(x) && y_odd;
    const float magnitude = fabsf(x);
    if (isinf(y)) return magnitude == 1 ? 1 : (magnitude > 1) == (y > 0) ? INFINITY : 0;
    if (magnitude == 0 || isinf(magnitude)) {
        const float r = (magnitude == 0) == (y > 0) ? 0 : INFINITY;
        return negative ? -r : r;
    }
    if (x < 0 && !y_integer) return NAN;
    const double t = y * log_double(magnitude);
    const double r = t > 200 ? INFINITY : t < -200 ? 0 : exp_double(t);
    return (float)(negative ? -r : r);
}

// ---- activation functions ------------------------------------------------------------------------------------------

static float sign(float x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

float dev_act(isa_act f, float x)
{
    switch (f) {
    case ISA_ACT_COPY: return x;
    case ISA_ACT_SQUARE: return x * x;
    case ISA_ACT_RELU: return maximum(x, 0);
    case ISA_ACT_ABS: return num_f32_of(num_f32_bits(x) & 0x7fffffffu);
    case ISA_ACT_SIGN: return sign(x);
    case ISA_ACT_EXP: return num_exp(x);
    case ISA_ACT_LOG: return num_log(x);
    case ISA_ACT_TANH: return num_tanh(x);
    case ISA_ACT_SIGMOID: return num_sigmoid(x);
    case ISA_ACT_SILU: return num_silu(x);
    case ISA_ACT_GELU: return num_gelu(x);
    case ISA_ACT_GELU_TANH: return num_gelu_tanh(x);
    case ISA_ACT_ERF: return num_erf(x);
    case ISA_ACT_SOFTPLUS: return num_softplus(x);
    case ISA_ACT_SIN: return num_sin(x);
    case ISA_ACT_ARCTAN: return num_arctan(x);
    case ISA_ACT_SQRT: return sqrtf(x);
    case ISA_ACT_RSQRT: return num_rsqrt(x);
    case ISA_ACT_RECIPROCAL: return 1 / x;
    case ISA_ACT_COUNT: break;
    }
    BUG_ON(true);
}
