// SPDX-License-Identifier: Apache-2.0
// Scalar integer functions by op, on values that are sign- or zero-extended to 64 bits; the caller truncates, which is
// the wraparound. What StableHLO leaves open is what XLA does [stablehlo:corner_cases]: x / 0 is all ones (-1), x % 0
// is x, MIN / -1 is MIN, MIN % -1 is 0; a shift amount is unsigned and one of the width or more shifts all bits out;
// a negative power is 0 but for the bases 1 and -1. On bool, add is or and multiply is and.
#include "ir/eval/eval.h"

static uint64_t i_abs(ir_eval_int_type t, uint64_t x)
{
    return t.is_signed && (int64_t)x < 0 ? 0 - x : x;
}
static uint64_t i_negate(ir_eval_int_type t, uint64_t x)
{
    return 0 - x;
}
static uint64_t i_not(ir_eval_int_type t, uint64_t x)
{
    return ~x;
}

static uint64_t i_sign(ir_eval_int_type t, uint64_t x)
{
    if (t.is_signed && (int64_t)x < 0) return UINT64_MAX;
    return x != 0;
}

// clang-format off
static const ir_eval_int_unary unary_table[IR_OP_COUNT] = {
    [IR_ABS] = i_abs, [IR_NEGATE] = i_negate, [IR_NOT] = i_not, [IR_SIGN] = i_sign,
};
// clang-format on

static uint64_t i_add(ir_eval_int_type t, uint64_t x, uint64_t y)
{
    return x + y;
}
static uint64_t i_subtract(ir_eval_int_type t, uint64_t x, uint64_t y)
{
    return x - y;
}
static uint64_t i_multiply(ir_eval_int_type t, uint64_t x, uint64_t y)
{
    return x * y;
}
static uint64_t i_and(ir_eval_int_type t, uint64_t x, uint64_t y)
{
    return x & y;
}
static uint64_t i_or(ir_eval_int_type t, uint64_t x, uint64_t y)
{
    return x | y;
}
static uint64_t i_xor(ir_eval_int_type t, uint64_t x, uint64_t y)
{
    return x ^ y;
}

static uint64_t i_divide(ir_eval_int_type t, uint64_t x, uint64_t y)
{
    if (y == 0) return UINT64_MAX;
    if (!t.is_signed) return x / y;
    return (int64_t)y == -1 ? 0 - x : (uint64_t)((int64_t)x / (int64_t)y);
}

static uint64_t i_remainder(ir_eval_int_type t, uint64_t x, uint64_t y)
{
    if (y == 0) return x;
    if (!t.is_signed) return x % y;
    return (int64_t)y == -1 ? 0 : (uint64_t)((int64_t)x % (int64_t)y);
}

static uint64_t i_power(ir_eval_int_type t, uint64_t x, uint64_t y)
{
    uint64_t result = 1;

    if (t.is_signed && (int64_t)y < 0) {
        if (x == 1) return 1;
        if (x == UINT64_MAX) return y & 1 ? UINT64_MAX : 1;
        return 0;
    }
    for (; y; y >>= 1, x *= x)
        if (y & 1) result *= x;
    return result;
}

static bool i_less(ir_eval_int_type t, uint64_t x, uint64_t y)
{
    return t.is_signed ? (int64_t)x < (int64_t)y : x < y;
}
static uint64_t i_maximum(ir_eval_int_type t, uint64_t x, uint64_t y)
{
    return i_less(t, x, y) ? y : x;
}
static uint64_t i_minimum(ir_eval_int_type t, uint64_t x, uint64_t y)
{
    return i_less(t, y, x) ? y : x;
}

static uint64_t low_bits(ir_eval_int_type t, uint64_t x)
{
    return x << (64 - t.bits) >> (64 - t.bits);
}
static bool shifts_out(ir_eval_int_type t, uint64_t amount)
{
    return low_bits(t, amount) >= (uint64_t)t.bits;
}

static uint64_t i_shift_left(ir_eval_int_type t, uint64_t x, uint64_t y)
{
    return shifts_out(t, y) ? 0 : x << low_bits(t, y);
}

static uint64_t i_shift_right_logical(ir_eval_int_type t, uint64_t x, uint64_t y)
{
    return shifts_out(t, y) ? 0 : low_bits(t, x) >> low_bits(t, y);
}

// The top bit is the sign, also of an unsigned type.
static uint64_t i_shift_right_arith(ir_eval_int_type t, uint64_t x, uint64_t y)
{
    const int64_t wide = (int64_t)(x << (64 - t.bits)) >> (64 - t.bits);
    return (uint64_t)(wide >> (shifts_out(t, y) ? 63 : low_bits(t, y)));
}

static const ir_eval_int_binary binary_table[IR_OP_COUNT] = {
    [IR_ADD] = i_add,
    [IR_SUBTRACT] = i_subtract,
    [IR_MULTIPLY] = i_multiply,
    [IR_DIVIDE] = i_divide,
    [IR_REMAINDER] = i_remainder,
    [IR_POWER] = i_power,
    [IR_MAXIMUM] = i_maximum,
    [IR_MINIMUM] = i_minimum,
    [IR_AND] = i_and,
    [IR_OR] = i_or,
    [IR_XOR] = i_xor,
    [IR_SHIFT_LEFT] = i_shift_left,
    [IR_SHIFT_RIGHT_LOGICAL] = i_shift_right_logical,
    [IR_SHIFT_RIGHT_ARITH] = i_shift_right_arith,
};

ir_eval_int_unary ir_eval_int_unary_of(ir_op op)
{
    return unary_table[op];
}

ir_eval_int_binary ir_eval_int_binary_of(ir_op op, bool is_bool)
{
    if (is_bool && op == IR_ADD) return i_or;
    if (is_bool && op == IR_MULTIPLY) return i_and;
    return binary_table[op];
}
