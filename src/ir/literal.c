// SPDX-License-Identifier: Apache-2.0
// Numbers in HLO text. The common case (a decimal of at most 19 digits and a small exponent) is exact in one
// multiplication or division of doubles; everything else goes through strtod on a bounded copy.
//
// Rounding is decimal -> f64 -> type, twice to nearest even. For f32 the double rounding is detected (the f64 lies
// exactly between two f32) and settled by strtof; for narrower types XLA reads the same way.
#include "ir/literal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_LENGTH_LIMIT = 400 }; // longer spellings of one number are refused

static int significant_digits(num_dtype t) // enough to tell neighbours apart: ceil(1 + p log10(2))
{
    return 1 + (int)ceil((num_dtype_get(t)->mantissa_bits + 1) * 0.30102999566398120);
}

// ---- the two float types without conversions in num: all their values, by code ----

static double small_float_value(num_dtype t, uint8_t bits)
{
    static const double e2m1[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    if (t == NUM_F4E2M1) return bits & 8 ? -e2m1[bits & 7] : e2m1[bits & 7];
    return bits == 0xff ? (double)NAN : ldexp(1.0, bits - 127); // e8m0
}

static bool small_float_code(num_dtype t, double value, uint8_t *out)
{
    int codes = t == NUM_F4E2M1 ? 16 : 256;
    for (int code = 0; code < codes; code++) {
        double v = small_float_value(t, (uint8_t)code);
        if (isnan(value) ? !isnan(v) : v != value || signbit(v) != signbit(value)) continue;
        *out = (uint8_t)code;
        return true;
    }
    return false;
}

static bool has_code_table(num_dtype t)
{
    return t == NUM_F4E2M1 || t == NUM_F8E8M0;
}

// ---- writing ----

static uint64_t mantissa_mask(num_dtype t)
{
    return ((uint64_t)1 << num_dtype_get(t)->mantissa_bits) - 1;
}

static void put_nan(glia_strbuf *out, num_dtype t, uint64_t bits)
{
    uint64_t payload = bits & mantissa_mask(t), plain = num_from_f64(t, (double)NAN) & mantissa_mask(t);
    glia_put(out, bits >> (num_bits(t) - 1) & 1 ? "-nan" : "nan");
    if (payload != plain) glia_putf(out, "(0x%llx)", (unsigned long long)payload);
}

static void put_float(glia_strbuf *out, num_dtype t, const void *element)
{
    if (has_code_table(t)) {
        glia_putf(out, "%.17g", small_float_value(t, *(const uint8_t *)element));
        return;
    }
    uint64_t bits = num_load(t, element);
    double value = num_to_f64(t, bits);
    if (isnan(value))
        put_nan(out, t, bits);
    else if (isinf(value))
        glia_put(out, value < 0 ? "-inf" : "inf");
    else
        glia_putf(out, "%.*g", significant_digits(t), value);
}

static uint64_t load_integer(num_dtype t, const void *element)
{
    uint64_t bits = 0;
    memcpy(&bits, element, num_bits(t) < 8 ? 1 : (size_t)num_bits(t) / 8); // little-endian hosts only, as num
    return num_bits(t) < 64 ? bits & (((uint64_t)1 << num_bits(t)) - 1) : bits;
}

static void put_integer(glia_strbuf *out, num_dtype t, const void *element)
{
    uint64_t bits = load_integer(t, element);
    if (num_dtype_get(t)->kind == NUM_KIND_UNSIGNED) {
        glia_putf(out, "%llu", (unsigned long long)bits);
        return;
    }
    int unused = 64 - num_bits(t);
    glia_putf(out, "%lld", (long long)((int64_t)(bits << unused) >> unused));
}

void ir_literal_put(glia_strbuf *out, num_dtype t, const void *element)
{
    switch ((num_kind)num_dtype_get(t)->kind) {
    case NUM_KIND_BOOL:
        glia_put(out, *(const uint8_t *)element ? "true" : "false");
        return;
    case NUM_KIND_SIGNED:
    case NUM_KIND_UNSIGNED:
        put_integer(out, t, element);
        return;
    case NUM_KIND_FLOAT:
    case NUM_KIND_SCALE:
        put_float(out, t, element);
        return;
    case NUM_KIND_COMPLEX:
        break;
    }
    num_dtype part = t == NUM_C64 ? NUM_F32 : NUM_F64;
    glia_put(out, "(");
    put_float(out, part, element);
    glia_put(out, ", ");
    put_float(out, part, (const char *)element + num_size(part));
    glia_put(out, ")");
}

// ---- reading ----

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool take_word(const char **at, const char *end, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(end - *at) < n || memcmp(*at, word, n) != 0) return false;
    *at += n;
    return true;
}

static void skip_blanks(const char **at, const char *end)
{
    while (*at < end && strchr(" \t\r\n", **at))
        (*at)++;
}

static glia_status no_number(const char *at, const char *end, num_dtype t)
{
    int n = 0;
    while (at + n < end && n < 24 && !strchr(" \t\r\n,(){}", at[n]))
        n++;
    return GLIA_FAIL(INVALID, "'%.*s' is no value of type %s", n, at, num_dtype_get(t)->name);
}

static glia_status get_integer(const char **at, const char *end, num_dtype t, void *element)
{
    const char *p = *at;
    bool negative = p < end && *p == '-', overflow = false;
    if (negative) p++;
    if (p == end || !is_digit(*p)) return no_number(*at, end, t);
    uint64_t value = 0;
    for (; p < end && is_digit(*p); p++)
        overflow |=
            __builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value);
    bool is_signed = num_dtype_get(t)->kind == NUM_KIND_SIGNED;
    uint64_t most =
        is_signed ? ((uint64_t)1 << (num_bits(t) - 1)) - (negative ? 0 : 1) : UINT64_MAX >> (64 - num_bits(t));
    if (negative && !is_signed) most = 0;
    ENSURE(!overflow && value <= most, INVALID, "'%.*s' does not fit type %s", (int)(p - *at < 24 ? p - *at : 24), *at,
           num_dtype_get(t)->name);
    ENSURE(p == end || !strchr(".eE", *p), INVALID, "'%.*s' is no value of type %s",
           (int)(p - *at < 24 ? p - *at + 1 : 24), *at, num_dtype_get(t)->name);
    uint64_t bits = negative ? 0 - value : value;
    if (num_bits(t) < 64) bits &= ((uint64_t)1 << num_bits(t)) - 1;
    memcpy(element, &bits, num_bits(t) < 8 ? 1 : (size_t)num_bits(t) / 8);
    *at = p;
    return GLIA_OK;
}

static glia_status get_bool(const char **at, const char *end, void *element)
{
    const char *start = *at;
    bool yes = take_word(at, end, "true") || take_word(at, end, "1");
    if (!yes && !take_word(at, end, "false") && !take_word(at, end, "0")) return no_number(start, end, NUM_BOOL);
    *(uint8_t *)element = yes;
    return GLIA_OK;
}

// A spelling that the fast path cannot do exactly.
static glia_status slow_decimal(const char *start, const char *stop, num_dtype t, double *out)
{
    char copy[NUMBER_LENGTH_LIMIT + 1];
    size_t n = (size_t)(stop - start);
    ENSURE(n <= NUMBER_LENGTH_LIMIT, INVALID, "a number of type %s is %zu characters long, at most %d are read",
           num_dtype_get(t)->name, n, NUMBER_LENGTH_LIMIT);
    memcpy(copy, start, n);
    copy[n] = '\0';
    *out = strtod(copy, NULL);
    return GLIA_OK;
}

typedef struct decimal {
    uint64_t digits;      // the first 19 significant ones
    int64_t exponent;     // of ten
    bool negative, exact; // exact: nothing was cut
} decimal;

// Scans [-]digits[.digits][e[+-]digits]; false if there is no digit.
static bool scan_decimal(const char **at, const char *end, decimal *d)
{
    const char *p = *at;
    int kept = 0;
    bool any = false, after_point = false;
    *d = (decimal){.exact = true};
    d->negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    for (; p < end && (is_digit(*p) || (*p == '.' && !after_point)); p++) {
        if (*p == '.') {
            after_point = true;
            continue;
        }
        any = true;
        if (kept == 19) d->exact &= *p == '0';
        if (kept < 19) {
            d->digits = d->digits * 10 + (uint64_t)(*p - '0');
            kept += d->digits != 0;
            d->exponent -= after_point;
        } else {
            d->exponent += !after_point;
        }
    }
    if (!any) return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        const char *q = p + 1;
        bool negative = q < end && *q == '-';
        if (q < end && (*q == '-' || *q == '+')) q++;
        int64_t e = 0;
        if (q == end || !is_digit(*q)) return false;
        for (; q < end && is_digit(*q); q++)
            e = e < 100000 ? e * 10 + (*q - '0') : e;
        d->exponent += negative ? -e : e;
        p = q;
    }
    *at = p;
    return true;
}

static bool fast_decimal(const decimal *d, double *out)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (!d->exact || d->digits > ((uint64_t)1 << 53) || d->exponent < -22 || d->exponent > 22) return false;
    double v = (double)d->digits;
    v = d->exponent < 0 ? v / tens[-d->exponent] : v * tens[d->exponent];
    *out = d->negative ? -v : v;
    return true;
}

static uint64_t nan_bits(num_dtype t, bool negative, uint64_t payload)
{
    uint64_t plain = num_from_f64(t, (double)NAN);
    if (payload) plain = (plain & ~mantissa_mask(t)) | (payload & mantissa_mask(t));
    uint64_t sign = (uint64_t)1 << (num_bits(t) - 1);
    return negative ? plain | sign : plain & ~sign;
}

// nan, -nan, nan(0x7), inf, -inf.
static glia_status get_special(const char **at, const char *end, num_dtype t, uint64_t *bits, bool *found)
{
    const char *p = *at;
    bool negative = p < end && *p == '-';
    if (negative) p++;
    *found = true;
    if (take_word(&p, end, "inf")) {
        ENSURE(!(num_dtype_get(t)->flags & NUM_FLAG_NOINF), INVALID, "type %s has no infinity", num_dtype_get(t)->name);
        *bits = num_from_f64(t, negative ? -(double)INFINITY : (double)INFINITY);
    } else if (take_word(&p, end, "nan")) {
        uint64_t payload = 0;
        if (take_word(&p, end, "(0x")) {
            for (int n = 0; n < 16 && p < end && strchr("0123456789abcdefABCDEF", *p); n++, p++)
                payload = payload << 4 | (uint64_t)(is_digit(*p) ? *p - '0' : (*p | 0x20) - 'a' + 10);
            ENSURE(payload && payload <= mantissa_mask(t) && p < end && *p == ')', INVALID,
                   "'nan(0x...)' of type %s needs a payload from 1 to 0x%llx, it is 0x%llx", num_dtype_get(t)->name,
                   (unsigned long long)mantissa_mask(t), (unsigned long long)payload);
            p++;
        }
        *bits = nan_bits(t, negative, payload);
    } else {
        *found = false;
        return GLIA_OK;
    }
    *at = p;
    return GLIA_OK;
}

static bool between_two_floats(double v)
{
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    return (u & 0x1fffffff) == 0x10000000 || (fabs(v) < FLT_MIN && v != 0);
}

static glia_status round_to(num_dtype t, double value, const char *start, const char *stop, uint64_t *bits)
{
    char copy[NUMBER_LENGTH_LIMIT + 1];
    *bits = num_from_f64(t, value);
    if (t == NUM_F32 && between_two_floats(value) && stop - start <= NUMBER_LENGTH_LIMIT) {
        memcpy(copy, start, (size_t)(stop - start));
        copy[stop - start] = '\0';
        *bits = num_f32_bits(strtof(copy, NULL));
    }
    double back = num_to_f64(t, *bits);
    ENSURE(isfinite(back), INVALID, "'%.*s' does not fit type %s", (int)(stop - start < 24 ? stop - start : 24), start,
           num_dtype_get(t)->name);
    return GLIA_OK;
}

static glia_status get_float(const char **at, const char *end, num_dtype t, void *element)
{
    const char *start = *at;
    bool special = false;
    uint64_t bits = 0;
    if (!has_code_table(t)) TRY(get_special(at, end, t, &bits, &special));
    if (special) {
        num_store(t, element, bits);
        return GLIA_OK;
    }
    decimal d;
    double value = 0;
    if (t == NUM_F8E8M0 && take_word(at, end, "nan"))
        value = (double)NAN;
    else if (!scan_decimal(at, end, &d))
        return no_number(start, end, t);
    else if (!fast_decimal(&d, &value))
        TRY(slow_decimal(start, *at, t, &value));
    if (has_code_table(t)) {
        ENSURE(small_float_code(t, value, element), INVALID, "'%.*s' is no value of type %s",
               (int)(*at - start < 24 ? *at - start : 24), start, num_dtype_get(t)->name);
        return GLIA_OK;
    }
    TRY(round_to(t, value, start, *at, &bits));
    num_store(t, element, bits);
    return GLIA_OK;
}

static glia_status get_complex(const char **at, const char *end, num_dtype t, void *element)
{
    const char *start = *at;
    num_dtype part = t == NUM_C64 ? NUM_F32 : NUM_F64;
    if (!take_word(at, end, "(")) return no_number(start, end, t);
    skip_blanks(at, end);
    TRY(get_float(at, end, part, element));
    skip_blanks(at, end);
    if (!take_word(at, end, ",")) return no_number(start, end, t);
    skip_blanks(at, end);
    TRY(get_float(at, end, part, (char *)element + num_size(part)));
    skip_blanks(at, end);
    return take_word(at, end, ")") ? GLIA_OK : no_number(start, end, t);
}

glia_status ir_literal_get(const char **at, const char *end, num_dtype t, void *element)
{
    switch ((num_kind)num_dtype_get(t)->kind) {
    case NUM_KIND_BOOL:
        return get_bool(at, end, element);
    case NUM_KIND_SIGNED:
    case NUM_KIND_UNSIGNED:
        return get_integer(at, end, t, element);
    case NUM_KIND_FLOAT:
    case NUM_KIND_SCALE:
        return get_float(at, end, t, element);
    case NUM_KIND_COMPLEX:
        return get_complex(at, end, t, element);
    }
    return GLIA_FAIL(UNSUPPORTED, "numbers of type %s cannot be read", num_dtype_get(t)->name);
}
