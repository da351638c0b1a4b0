// SPDX-License-Identifier: Apache-2.0
// Conversions (rules in dtype.h). Every value is taken apart exactly, into sign, 64-bit magnitude and power of two,
// and put together by one rounding function for all float formats: so there is one place where a rounding can be
// wrong, and no double rounding whatever the pair. Only integers are used to round, so the host's rounding mode does
// not matter. What it is not: fast. bf16 and f16 have direct forms in half.c; loops over memory are in bulk.c.
#include "num/convert.h"

#include <string.h>

// ------------------------------------------------------------------------------------------------ a value, exactly

typedef enum value_class { VALUE_FINITE, VALUE_INF, VALUE_NAN } value_class;

// (-1)^negative * magnitude * 2^exponent
typedef struct value {
    value_class class;
    bool negative;
    uint64_t magnitude;
    int exponent;
} value;

typedef struct format {
    int exponent_bits, mantissa_bits, bias;
    uint64_t exponent_ones; // the all-ones exponent field, in place 0
    bool noinf;
    int drop; // zero bits below the format's own (TF32 lives in the high bits of 32)
} format;

static format format_of(num_dtype t)
{
    const num_dtype_info *d = num_dtype_get(t);
    BUG_ON(d->kind != NUM_KIND_FLOAT || !(d->flags & NUM_FLAG_CONV));
    return (format){.exponent_bits = d->exponent_bits,
                    .mantissa_bits = d->mantissa_bits,
                    .bias = (1 << (d->exponent_bits - 1)) - 1,
                    .exponent_ones = (1u << d->exponent_bits) - 1,
                    .noinf = d->flags & NUM_FLAG_NOINF,
                    .drop = d->bits - 1 - d->exponent_bits - d->mantissa_bits};
}

static value take_apart_float(num_dtype t, uint64_t bits)
{
    format f = format_of(t);
    if (t == NUM_TF32) f = format_of(NUM_F32); // whatever is in the low bits of a tf32 word is read as it is
    const uint64_t mantissa = bits & ((1ull << f.mantissa_bits) - 1);
    const uint64_t exponent = bits >> f.mantissa_bits & f.exponent_ones;
    value v = {.negative = bits >> (f.mantissa_bits + f.exponent_bits) & 1};
    if (exponent == f.exponent_ones && !f.noinf) {
        v.class = mantissa ? VALUE_NAN : VALUE_INF;
    } else if (exponent == f.exponent_ones && mantissa == (1ull << f.mantissa_bits) - 1) {
        v.class = VALUE_NAN; // NOINF: only all ones is NaN
    } else {
        v.magnitude = exponent ? mantissa | 1ull << f.mantissa_bits : mantissa;
        v.exponent = (exponent ? (int)exponent : 1) - f.bias - f.mantissa_bits;
    }
    return v;
}

static int64_t sign_extend(uint64_t bits, int width)
{
    return (int64_t)(bits << (64 - width)) >> (64 - width);
}

static value take_apart_integer(int64_t i, bool is_unsigned)
{
    const bool negative = !is_unsigned && i < 0;
    return (value){.negative = negative, .magnitude = negative ? 0 - (uint64_t)i : (uint64_t)i};
}

static value take_apart(num_dtype t, uint64_t bits)
{
    if (num_is_float(t)) return take_apart_float(t, bits);
    return take_apart_integer(num_to_i64(t, bits), num_dtype_get(t)->kind != NUM_KIND_SIGNED);
}

// ------------------------------------------------------------------------------------------------ rounding to a float

static const num_round nearest = {NUM_RNE, 0};

// m / 2^shift to an integer, as `r` says; shift may exceed 64. Stochastic rounding looks at 32 bits of the fraction:
// all of it for shifts up to 32, and to within 2^-32 of P(up) beyond.
static uint64_t round_shift(uint64_t m, int shift, num_round r)
{
    if (shift <= 0) return m << -shift;
    const uint64_t kept = shift < 64 ? m >> shift : 0;
    const uint64_t fraction = shift < 64 ? m << (64 - shift) : shift < 128 ? m >> (shift - 64) : 0; // of 2^64
    if (r.mode == NUM_STOCHASTIC) return kept + (((fraction >> 32) + r.random) >> 32);
    const bool sticky = shift > 64 && (shift >= 128 ? m : m << (128 - shift)) != 0;
    const uint64_t half = 1ull << 63;
    const bool up = fraction > half || (fraction == half && (sticky || (kept & 1)));
    return kept + up;
}

static uint64_t canonical_nan(const format *f)
{
    const uint64_t ones = f->exponent_ones << f->mantissa_bits;
    return (f->noinf ? ones | ((1ull << f->mantissa_bits) - 1) : ones | 1ull << (f->mantissa_bits - 1)) << f->drop;
}

// The bits of a finite `v`, sign excluded: rounding may carry into the exponent field, which is the right next value.
// A result past the largest finite pattern is overflow, which the caller sees by comparing.
static uint64_t round_magnitude(const format *f, const value *v, num_round r)
{
    if (v->magnitude == 0) return 0;
    const int top = 63 - __builtin_clzll(v->magnitude) + v->exponent;  // 2^top <= |v| < 2^(top + 1)
    const int lowest = 1 - f->bias;                                    // of normal numbers
    const int unit = (top > lowest ? top : lowest) - f->mantissa_bits; // weight of the last kept bit
    if (top > f->bias + 1) return UINT64_MAX;                          // far over; also keeps the sum below in range
    const uint64_t kept = round_shift(v->magnitude, unit - v->exponent, r);
    // `kept` holds the implicit one when normal, so it adds 1 to a field that is one lower.
    return kept + ((uint64_t)(top > lowest ? top - lowest : 0) << f->mantissa_bits);
}

// The bits, sign excluded, of a finite `v`; `over` is the least pattern that is not finite.
static uint64_t round_finite(const format *f, const value *v, uint64_t over, num_round r)
{
    if (r.mode == NUM_RNE) return round_magnitude(f, v, nearest);
    const num_round toward_zero = {NUM_STOCHASTIC, 0};
    // Beyond the largest finite value stochastic rounding does what RNE does.
    const bool is_past_max = round_magnitude(f, v, toward_zero) >= over - 1;
    return round_magnitude(f, v, is_past_max ? nearest : r);
}

static uint64_t put_together(num_dtype t, value v, num_round r)
{
    const format f = format_of(t);
    const uint64_t infinity = f.exponent_ones << f.mantissa_bits;
    const uint64_t over = f.noinf ? infinity | ((1ull << f.mantissa_bits) - 1) : infinity;
    if (v.class == VALUE_NAN) return canonical_nan(&f);
    uint64_t bits = v.class == VALUE_INF ? over : round_finite(&f, &v, over, r);
    if (bits >= over && f.noinf) return canonical_nan(&f);
    if (bits >= over) bits = infinity;
    return (bits | (uint64_t)v.negative << (f.mantissa_bits + f.exponent_bits)) << f.drop;
}

// ------------------------------------------------------------------------------------------------ to integers

static uint64_t low_bits(uint64_t bits, int width)
{
    return width < 64 ? bits & ((1ull << width) - 1) : bits;
}

// To nearest even, saturating; NaN gives 0.
static uint64_t to_integer(num_dtype t, value v)
{
    const int width = num_bits(t);
    const bool is_signed = num_dtype_get(t)->kind == NUM_KIND_SIGNED;
    const uint64_t limit = !is_signed ? (v.negative ? 0 : low_bits(UINT64_MAX, width))
                                      : (1ull << (width - 1)) - !v.negative; // largest magnitude of this sign
    if (v.class == VALUE_NAN || (v.class == VALUE_FINITE && v.magnitude == 0)) return 0;
    uint64_t magnitude = UINT64_MAX;
    if (v.class == VALUE_FINITE && 63 - __builtin_clzll(v.magnitude) + v.exponent < 64)
        magnitude = round_shift(v.magnitude, -v.exponent, nearest);
    if (magnitude > limit) magnitude = limit;
    return low_bits(v.negative ? 0 - magnitude : magnitude, width);
}

int64_t num_to_i64(num_dtype t, uint64_t bits)
{
    const num_dtype_info *d = num_dtype_get(t);
    BUG_ON(!(d->flags & NUM_FLAG_CONV));
    if (d->kind == NUM_KIND_BOOL) return low_bits(bits, d->bits) != 0;
    BUG_ON(!num_is_integer(t));
    return d->kind == NUM_KIND_SIGNED ? sign_extend(bits, d->bits) : (int64_t)low_bits(bits, d->bits);
}

// ------------------------------------------------------------------------------------------------ one element

static bool is_nonzero(value v)
{
    return v.class != VALUE_FINITE || v.magnitude != 0;
}

uint64_t num_convert_one(num_dtype to, num_dtype from, uint64_t bits, num_round r)
{
    if (to == NUM_BOOL) return is_nonzero(take_apart(from, bits));
    if (num_is_float(to)) return put_together(to, take_apart(from, bits), r);
    if (num_is_float(from)) return to_integer(to, take_apart(from, bits));
    BUG_ON(!num_is_integer(to) || !num_can_convert(to));
    return low_bits((uint64_t)num_to_i64(from, bits), num_bits(to)); // wraps
}

float num_to_f32(num_dtype t, uint64_t bits)
{
    if (t == NUM_F32 || t == NUM_TF32) return num_f32_of((uint32_t)bits);
    if (t == NUM_BF16) return num_bf16_to_f32((uint16_t)bits);
    if (t == NUM_F16) return num_f16_to_f32((uint16_t)bits);
    return num_f32_of((uint32_t)num_convert_one(NUM_F32, t, bits, nearest));
}

uint64_t num_from_f32(num_dtype t, float x)
{
    if (t == NUM_BF16) return num_bf16_from_f32(x);
    if (t == NUM_F16) return num_f16_from_f32(x);
    return num_convert_one(t, NUM_F32, num_f32_bits(x), nearest);
}

uint64_t num_from_f32_stochastic(num_dtype t, float x, uint32_t random)
{
    return num_convert_one(t, NUM_F32, num_f32_bits(x), (num_round){NUM_STOCHASTIC, random});
}

double num_to_f64(num_dtype t, uint64_t bits)
{
    if (t != NUM_F64) bits = num_convert_one(NUM_F64, t, bits, nearest);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

uint64_t num_from_f64(num_dtype t, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return num_convert_one(t, NUM_F64, bits, nearest);
}
