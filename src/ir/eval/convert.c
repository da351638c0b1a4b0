// SPDX-License-Identifier: Apache-2.0
// Changes of representation: convert, bitcast-convert, reduce-precision.
//
// convert is StableHLO's: a float becomes an integer by truncation toward zero, saturating, NaN as 0. (The chip rounds
// to nearest even there; `num_convert` is the chip's rule and is not used for that pair.) Integers wrap to integers,
// and round once to floats. A NaN is not zero, so it is true.
#include "ir/eval/eval.h"

#include <complex.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

// ---- convert ----
static uint64_t truncate_to_int(ir_eval_int_type t, double x)
{
    if (isnan(x)) return 0;
    x = trunc(x);
    if (t.is_signed) {
        const double top = ldexp(1, t.bits - 1);
        if (x >= top) return (1ull << (t.bits - 1)) - 1;
        return x < -top ? 0 - (1ull << (t.bits - 1)) : (uint64_t)(int64_t)x;
    }
    if (x >= ldexp(1, t.bits)) return UINT64_MAX >> (64 - t.bits);
    return x <= 0 ? 0 : (uint64_t)x;
}

static void float_to_int(num_dtype to, void *out, num_dtype from, const void *in, size_t n)
{
    const ir_eval_int_type t = ir_eval_int_type_of(to);
    for (size_t i = 0; i < n; i++) {
        double x;
        ir_eval_load_f64(from, (const uint8_t *)in + i * ir_eval_size(from), 1, &x);
        const uint64_t y = to == NUM_BOOL ? x != 0 : truncate_to_int(t, x);
        ir_eval_store_int(to, (uint8_t *)out + i * ir_eval_size(to), 1, &y);
    }
}

// An fp64 that rounds to any narrower float as the integer itself would: past 53 bits, the bits that do not fit are
// or-ed into the lowest one kept, far below where any narrower format rounds.
static double sticky_f64(uint64_t magnitude)
{
    if (magnitude >> 53 == 0) return (double)magnitude;
    return ldexp((double)(magnitude >> 11 | (magnitude << 53 != 0)), 11);
}

static double int_to_f64(num_dtype to, bool is_signed, uint64_t x)
{
    if (to == NUM_F64 || to == NUM_C128) return is_signed ? (double)(int64_t)x : (double)x;
    return is_signed && (int64_t)x < 0 ? -sticky_f64(0 - x) : sticky_f64(x);
}

static void int_to_float(num_dtype to, void *out, num_dtype from, const void *in, size_t n)
{
    const bool is_signed = num_dtype_get(from)->kind == NUM_KIND_SIGNED;
    for (size_t i = 0; i < n; i++) {
        uint64_t x;
        ir_eval_load_int(from, (const uint8_t *)in + i * ir_eval_size(from), 1, &x);
        num_store(to, (uint8_t *)out + i * ir_eval_size(to), num_from_f64(to, int_to_f64(to, is_signed, x)));
    }
}

static void float_to_float(num_dtype to, void *out, num_dtype from, const void *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t x = ir_eval_load_bits(from, (const uint8_t *)in + i * ir_eval_size(from));
        num_store(to, (uint8_t *)out + i * ir_eval_size(to), num_from_f64(to, num_to_f64(from, x)));
    }
}

static void int_to_int(num_dtype to, void *out, num_dtype from, const void *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t x;
        ir_eval_load_int(from, (const uint8_t *)in + i * ir_eval_size(from), 1, &x);
        if (to == NUM_BOOL) x = x != 0;
        ir_eval_store_int(to, (uint8_t *)out + i * ir_eval_size(to), 1, &x);
    }
}

static glia_status complex_convert(num_dtype to, void *out, num_dtype from, const void *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        _Complex double z;
        ir_eval_load_complex(from, (const uint8_t *)in + i * ir_eval_size(from), 1, &z);
        uint8_t *at = (uint8_t *)out + i * ir_eval_size(to);
        const double re = creal(z);
        const uint8_t truth = z != 0;
        if (to == NUM_BOOL)
            *at = truth;
        else if (ir_eval_domain_of(to) == IR_EVAL_INT)
            float_to_int(to, at, NUM_F64, &re, 1);
        else
            ir_eval_store_complex(to, at, 1, &z);
    }
    return GLIA_OK;
}

glia_status ir_eval_convert_lanes(num_dtype to, void *out, num_dtype from, const void *in, size_t n)
{
    const ir_eval_domain source = ir_eval_domain_of(from), target = ir_eval_domain_of(to);

    if (to == from) {
        memcpy(out, in, n * ir_eval_size(to));
        return GLIA_OK;
    }
    ENSURE(source != IR_EVAL_NONE && target != IR_EVAL_NONE, UNSUPPORTED,
           "conversion from %s to %s is not implemented\nhint: it would be two rows of num/dtypes.def with CONV",
           num_dtype_get(from)->name, num_dtype_get(to)->name);
    if (source == IR_EVAL_COMPLEX || target == IR_EVAL_COMPLEX) return complex_convert(to, out, from, in, n);
    if (source == IR_EVAL_FLOAT && target == IR_EVAL_FLOAT)
        float_to_float(to, out, from, in, n);
    else if (source == IR_EVAL_FLOAT)
        float_to_int(to, out, from, in, n);
    else if (target == IR_EVAL_FLOAT)
        int_to_float(to, out, from, in, n);
    else
        int_to_int(to, out, from, in, n);
    return GLIA_OK;
}

// ---- reduce-precision ----
typedef struct float_format {
    int exponent_bits, mantissa_bits;
} float_format;

// Rounds the mantissa field of `x` (a value of `source`) to nearest even; a carry moves into the exponent, as it
// should.
static uint64_t round_mantissa(float_format source, uint64_t x, int keep)
{
    if (keep >= source.mantissa_bits) return x;
    const int drop = source.mantissa_bits - keep;
    const uint64_t last = 1ull << drop;
    const uint64_t bias = (last >> 1) - 1 + ((x & last) != 0);
    return (x + bias) & ~(last - 1);
}

// Infinity above the largest exponent of `keep` bits, zero below its smallest normal one.
static uint64_t clamp_exponent(float_format source, uint64_t x, int keep)
{
    const uint64_t all = ((1ull << source.exponent_bits) - 1) << source.mantissa_bits;
    const uint64_t sign = x & 1ull << (source.exponent_bits + source.mantissa_bits);
    const int64_t bias = (1ll << (source.exponent_bits - 1)) - 1, reduced = (1ll << (keep - 1)) - 1;
    const int64_t exponent = (int64_t)((x & all) >> source.mantissa_bits);

    if (exponent > bias + reduced) return sign | all;
    return exponent <= bias - reduced ? sign : x;
}

static uint64_t reduce_bits(float_format source, uint64_t x, const ir_inst *inst, int own_exponent_bits)
{
    const uint64_t all = ((1ull << source.exponent_bits) - 1) << source.mantissa_bits;
    const uint64_t magnitude = all | ((1ull << source.mantissa_bits) - 1);
    const bool is_nan = (x & magnitude) > all;

    if (is_nan) return x;
    x = round_mantissa(source, x, inst->attrs.mantissa_bits);
    return inst->attrs.exponent_bits < own_exponent_bits ? clamp_exponent(source, x, inst->attrs.exponent_bits) : x;
}

// Works on the bits of fp32 (fp64 for f64), which hold every narrower value. An exponent range that is not narrower
// than the operand's own changes nothing, so that its subnormals stay.
glia_status ir_eval_reduce_precision_lanes(const ir_inst *inst, size_t n, const void *in, void *out)
{
    const num_dtype t = inst->shape.dtype;
    const num_dtype wide = t == NUM_F64 ? NUM_F64 : NUM_F32;
    const float_format source = {num_dtype_get(wide)->exponent_bits, num_dtype_get(wide)->mantissa_bits};

    ENSURE(inst->attrs.exponent_bits >= 1 && inst->attrs.mantissa_bits >= 0, INVALID,
           "asks for %d exponent and %d mantissa bits; there is at least 1 exponent bit and no negative mantissa",
           inst->attrs.exponent_bits, inst->attrs.mantissa_bits);
    for (size_t i = 0; i < n; i++) {
        const size_t at = i * ir_eval_size(t);
        uint64_t x = ir_eval_load_bits(t, (const uint8_t *)in + at);
        if (t != wide) x = num_f32_bits(num_to_f32(t, x));
        x = reduce_bits(source, x, inst, num_dtype_get(t)->exponent_bits);
        if (t != wide) x = num_from_f32(t, num_f32_of((uint32_t)x));
        ir_eval_store_bits(t, (uint8_t *)out + at, x);
    }
    return GLIA_OK;
}

// ---- bitcast-convert ----
// Element j of the narrow side is bits [j * w, (j + 1) * w) of the wide side's element, least significant first.
static void split_element(num_dtype wide, const uint8_t *in, num_dtype narrow, uint8_t *out, int ratio)
{
    const uint64_t x = ir_eval_load_bits(wide, in);
    const int w = num_bits(narrow);
    for (int j = 0; j < ratio; j++) {
        const uint64_t part = x >> (j * w) & ((1ull << w) - 1);
        if (ir_eval_domain_of(narrow) == IR_EVAL_INT)
            ir_eval_store_int(narrow, out + j, 1, &part);
        else
            ir_eval_store_bits(narrow, out + j, part);
    }
}

static void join_elements(num_dtype narrow, const uint8_t *in, num_dtype wide, uint8_t *out, int ratio)
{
    uint64_t x = 0;
    for (int j = 0; j < ratio; j++)
        x |= ir_eval_load_bits(narrow, in + j) << (j * num_bits(narrow));
    if (ir_eval_domain_of(wide) == IR_EVAL_INT)
        ir_eval_store_int(wide, out, 1, &x);
    else
        ir_eval_store_bits(wide, out, x);
}

// Sub-byte elements take a byte each, so their casts regroup bits; all others are the same bytes on both sides.
glia_status ir_eval_bitcast_convert(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands,
                                    ir_eval_value *out)
{
    const ir_eval_array *in = &operands[0].leaves[0];
    ir_eval_array *result = &out->leaves[0];
    const num_dtype from = in->shape->dtype, to = result->shape->dtype;
    const size_t from_bits = (size_t)num_bits(from), to_bits = (size_t)num_bits(to);
    size_t from_bytes, to_bytes;

    if (from_bits >= 8 && to_bits >= 8) {
        TRY(ir_eval_bytes(in->shape, &from_bytes));
        TRY(ir_eval_bytes(result->shape, &to_bytes));
        ENSURE(from_bytes == to_bytes, INVALID, "casts %zu bytes to %zu; a bit cast keeps the size", from_bytes,
               to_bytes);
        ir_eval_share(result, in);
        return GLIA_OK;
    }
    const int64_t from_count = ir_eval_count(in->shape->rank, in->shape->dims);
    const int64_t to_count = ir_eval_count(result->shape->rank, result->shape->dims);
    ENSURE((uint64_t)from_count * from_bits == (uint64_t)to_count * to_bits && from_bits <= 64 && to_bits <= 64,
           INVALID, "casts %" PRId64 " elements of %zu bits to %" PRId64 " of %zu; a bit cast keeps the size",
           from_count, from_bits, to_count, to_bits);
    TRY(ir_eval_new(c, result));
    const bool splits = from_bits >= to_bits;
    const int ratio = (int)(splits ? from_bits / to_bits : to_bits / from_bits);
    for (int64_t i = 0; i < (splits ? from_count : to_count); i++) {
        const uint8_t *source = (const uint8_t *)in->data + (size_t)i * (splits ? ir_eval_size(from) : (size_t)ratio);
        uint8_t *target = (uint8_t *)result->data + (size_t)i * (splits ? (size_t)ratio : ir_eval_size(to));
        if (splits)
            split_element(from, source, to, target, ratio);
        else
            join_elements(from, source, to, target, ratio);
    }
    return GLIA_OK;
}
