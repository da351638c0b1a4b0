// SPDX-License-Identifier: Apache-2.0
// Loads and stores: between a dtype's stored bits and the domain in which it is computed (fp64, 64-bit integers, fp64
// pairs). Widening is exact but for 64-bit integers as fp64; narrowing rounds as eval.h says. Buffers need no
// alignment: inputs come from callers. Not a converter between dtypes: that is convert.c.
#include "ir/eval/eval.h"

#include <complex.h>
#include <math.h>
#include <string.h>

ir_eval_domain ir_eval_domain_of(num_dtype t)
{
    switch ((num_kind)num_dtype_get(t)->kind) {
    case NUM_KIND_FLOAT:
        return num_can_convert(t) ? IR_EVAL_FLOAT : IR_EVAL_NONE;
    case NUM_KIND_SIGNED:
    case NUM_KIND_UNSIGNED:
    case NUM_KIND_BOOL:
        return IR_EVAL_INT;
    case NUM_KIND_COMPLEX:
        return IR_EVAL_COMPLEX;
    case NUM_KIND_SCALE:
        return IR_EVAL_NONE;
    }
    return IR_EVAL_NONE;
}

size_t ir_eval_size(num_dtype t)
{
    const int bits = num_bits(t);
    return bits < 8 ? 1 : (size_t)bits / 8;
}

uint64_t ir_eval_load_bits(num_dtype t, const void *p)
{
    uint64_t bits = 0;
    memcpy(&bits, p, ir_eval_size(t));
    return num_bits(t) < 8 ? bits & ((1u << num_bits(t)) - 1) : bits;
}

void ir_eval_store_bits(num_dtype t, void *p, uint64_t bits)
{
    memcpy(p, &bits, ir_eval_size(t));
}

ir_eval_int_type ir_eval_int_type_of(num_dtype t)
{
    const num_dtype_info *info = num_dtype_get(t);
    return (ir_eval_int_type){info->kind == NUM_KIND_BOOL ? 1 : info->bits, info->kind == NUM_KIND_SIGNED};
}

static uint64_t extend(ir_eval_int_type t, uint64_t x)
{
    const int unused = 64 - t.bits;
    return t.is_signed ? (uint64_t)((int64_t)(x << unused) >> unused) : x << unused >> unused;
}

void ir_eval_load_int(num_dtype t, const void *p, size_t n, uint64_t *out)
{
    const ir_eval_int_type type = ir_eval_int_type_of(t);
    const size_t size = ir_eval_size(t);
    const uint8_t *at = p;

    for (size_t i = 0; i < n; i++, at += size) {
        uint64_t bits = 0;
        memcpy(&bits, at, size);
        out[i] = num_dtype_get(t)->kind == NUM_KIND_BOOL ? bits != 0 : extend(type, bits);
    }
}

// A signed sub-byte value is stored sign-extended in its byte, as NumPy's ml_dtypes does.
void ir_eval_store_int(num_dtype t, void *p, size_t n, const uint64_t *in)
{
    const ir_eval_int_type type = ir_eval_int_type_of(t);
    const size_t size = ir_eval_size(t);
    uint8_t *at = p;

    for (size_t i = 0; i < n; i++, at += size) {
        const uint64_t bits = extend(type, in[i]);
        memcpy(at, &bits, size);
    }
}

static void load_f32(const void *p, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        float x;
        memcpy(&x, (const uint8_t *)p + 4 * i, 4);
        out[i] = x;
    }
}

static void load_float(num_dtype t, const void *p, size_t n, double *out)
{
    float wide[IR_EVAL_CHUNK];
    const size_t size = ir_eval_size(t);

    if (t == NUM_F64) {
        memcpy(out, p, 8 * n);
        return;
    }
    if (t == NUM_F32) {
        load_f32(p, n, out);
        return;
    }
    for (size_t at = 0; at < n; at += IR_EVAL_CHUNK) {
        const size_t m = n - at < IR_EVAL_CHUNK ? n - at : IR_EVAL_CHUNK;
        num_convert(NUM_F32, wide, t, (const uint8_t *)p + at * size, m);
        for (size_t i = 0; i < m; i++)
            out[at + i] = wide[i];
    }
}

void ir_eval_load_f64(num_dtype t, const void *p, size_t n, double *out)
{
    if (num_is_float(t)) {
        load_float(t, p, n, out);
        return;
    }
    const bool is_signed = num_dtype_get(t)->kind == NUM_KIND_SIGNED;
    for (size_t i = 0; i < n; i++) {
        uint64_t x;
        ir_eval_load_int(t, (const uint8_t *)p + i * ir_eval_size(t), 1, &x);
        out[i] = is_signed ? (double)(int64_t)x : (double)x;
    }
}

static float narrow_f32(double x)
{
    return isnan(x) ? num_f32_of(0x7fc00000u) : (float)x;
}

static void store_f64_exact(void *p, size_t n, const double *in)
{
    const uint64_t quiet = 0x7ff8000000000000u;
    for (size_t i = 0; i < n; i++)
        memcpy((uint8_t *)p + 8 * i, isnan(in[i]) ? (const void *)&quiet : (const void *)&in[i], 8);
}

void ir_eval_store_f64(num_dtype t, void *p, size_t n, const double *in)
{
    float narrow[IR_EVAL_CHUNK];
    const size_t size = ir_eval_size(t);

    if (t == NUM_F64) {
        store_f64_exact(p, n, in);
        return;
    }
    for (size_t at = 0; at < n; at += IR_EVAL_CHUNK) {
        const size_t m = n - at < IR_EVAL_CHUNK ? n - at : IR_EVAL_CHUNK;
        for (size_t i = 0; i < m; i++)
            narrow[i] = narrow_f32(in[at + i]);
        if (t == NUM_F32)
            memcpy((uint8_t *)p + at * size, narrow, 4 * m);
        else
            num_convert(t, (uint8_t *)p + at * size, NUM_F32, narrow, m);
    }
}

void ir_eval_load_complex(num_dtype t, const void *p, size_t n, _Complex double *out)
{
    for (size_t i = 0; i < n; i++) {
        const uint8_t *at = (const uint8_t *)p + i * ir_eval_size(t);
        double parts[2] = {0, 0};
        if (ir_eval_domain_of(t) != IR_EVAL_COMPLEX)
            ir_eval_load_f64(t, at, 1, parts);
        else
            ir_eval_load_f64(t == NUM_C64 ? NUM_F32 : NUM_F64, at, 2, parts);
        out[i] = ir_eval_complex(parts[0], parts[1]);
    }
}

// A real dtype takes the real part.
void ir_eval_store_complex(num_dtype t, void *p, size_t n, const _Complex double *in)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t *at = (uint8_t *)p + i * ir_eval_size(t);
        const double parts[2] = {creal(in[i]), cimag(in[i])};
        if (ir_eval_domain_of(t) != IR_EVAL_COMPLEX)
            ir_eval_store_f64(t, at, 1, parts);
        else
            ir_eval_store_f64(t == NUM_C64 ? NUM_F32 : NUM_F64, at, 2, parts);
    }
}

int64_t ir_eval_index(const ir_eval_array *a, int64_t i)
{
    const num_dtype t = a->shape->dtype;
    uint64_t x;

    ir_eval_load_int(t, (const uint8_t *)a->data + (size_t)i * ir_eval_size(t), 1, &x);
    return num_dtype_get(t)->kind != NUM_KIND_SIGNED && x > INT64_MAX ? INT64_MAX : (int64_t)x;
}
