// SPDX-License-Identifier: Apache-2.0
// The tensor engine: matmul and transpose, in the order of docs/design.md, "Numerics".
//
// Each output element is one chain of fused multiply-adds that starts from PSUM (from +0 when not accumulating). fp32
// and tf32 go in ascending K with gradual underflow. Types of 16 bits and fewer go in ascending pairs of K that restart
// with each instruction, the odd element first, an odd K padded by +0 in both operands, with subnormal operands, sums
// and results flushed to signed zero: what the host's BF16 dot-product instruction does (the tests compare). double_row makes the pair of a
// partition the pair of the chain. Loops run along the moving side so that the compiler vectorises them.
#include <math.h>
#include <string.h>

#include "dev/rows.h"

// One step of all chains of a row: out[f] = fma(a, moving[f], in[f]). True when a result may have to be flushed that was
// not (see fix_flush).
typedef bool (*chain_fn)(float *restrict out, const float *restrict in, const float *restrict moving, float a, size_t n);

static inline __attribute__((always_inline)) float flush(float v)
{
    const uint32_t u = num_f32_bits(v);
    return num_f32_of((u & 0x7f800000u) ? u : u & 0x80000000u);
}

static inline __attribute__((always_inline)) bool chain_body(float *restrict out, const float *restrict in,
                                                             const float *restrict moving, float a, size_t n)
{
    for (size_t f = 0; f < n; f++) out[f] = __builtin_fmaf(a, moving[f], in[f]);
    return false;
}

static inline __attribute__((always_inline)) bool chain_flush_body(float *restrict out, const float *restrict in,
                                                                   const float *restrict moving, float a, size_t n)
{
    uint32_t doubtful = 0;
    for (size_t f = 0; f < n; f++) {
        out[f] = flush(__builtin_fmaf(a, moving[f], in[f]));
        doubtful |= (num_f32_bits(out[f]) & 0x7fffffffu) == 0x00800000u;
    }
    return doubtful;
}

// The host's instruction judges tininess after rounding to 24 bits without a lower bound of the exponent: a result that
// only subnormal precision rounds up to the least normal number is flushed too. Seen again at 2^24 times the scale.
static void fix_flush(float *out, const float *in, const float *moving, float a, size_t n)
{
    for (size_t f = 0; f < n; f++) {
        if (fabsf(out[f]) != 0x1p-126f) continue;
        const bool a_is_small = fabsf(a) < fabsf(moving[f]);        // the small factor can be scaled without overflow
        const float x = a_is_small ? a * 0x1p24f : a, y = a_is_small ? moving[f] : moving[f] * 0x1p24f;
        if (fabsf(fmaf(x, y, in[f] * 0x1p24f)) < 0x1p-102f) out[f] = copysignf(0, out[f]);
    }
}

static bool chain_plain(float *restrict out, const float *restrict in, const float *restrict moving, float a, size_t n)
{
    return chain_body(out, in, moving, a, n);
}

static bool chain_flush_plain(float *restrict out, const float *restrict in, const float *restrict moving, float a,
                              size_t n)
{
    return chain_flush_body(out, in, moving, a, n);
}

#if defined(__x86_64__)
// The same loops where the compiler may use the host's FMA: the same bits, many times faster than the library's fmaf.
__attribute__((target("avx2,fma"))) static bool chain_fma(float *restrict out, const float *restrict in,
                                                          const float *restrict moving, float a, size_t n)
{
    return chain_body(out, in, moving, a, n);
}

__attribute__((target("avx2,fma"))) static bool chain_flush_fma(float *restrict out, const float *restrict in,
                                                                const float *restrict moving, float a, size_t n)
{
    return chain_flush_body(out, in, moving, a, n);
}
#endif

static chain_fn chain_of(bool flushes)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return flushes ? chain_flush_fma : chain_fma;
#endif
    return flushes ? chain_flush_plain : chain_plain;
}

// An operand as [K, width] fp32; with double_row [2K, width], the two rows of a partition adjacent.
typedef struct matrix { float *at; size_t rows, width; } matrix;

static matrix matrix_load(const dev_ap *a, bool double_row, bool flushes)
{
    const size_t pair = double_row ? 2 : 1;
    matrix m = { .rows = a->partitions * pair, .width = a->free / pair };
    m.at = glia_alloc(glia_array_bytes(a->partitions * a->free, sizeof(float)));
    for (uint32_t p = 0; p < a->partitions; p++) dev_load_f32(a, p, m.at + p * a->free);
    if (flushes)
        for (size_t k = 0; k < a->partitions * a->free; k++) m.at[k] = flush(m.at[k]);
    return m;
}

static bool is_wide(const dev_ap *a)
{
    return num_bits((num_dtype)a->dtype) > 16;
}

// One row of the output: the chain over K for stationary column `m`. The row moves between two buffers; returns the one
// that holds the end.
static float *chain_row(const matrix *stationary, const matrix *moving, size_t m, bool flushes, chain_fn chain,
                        float *acc, float *other)
{
    const size_t rows = stationary->rows, width = stationary->width, n = moving->width;
    for (size_t f = 0; f < n && flushes; f++) acc[f] = flush(acc[f]);
    for (size_t step = 0; step < rows + (flushes && rows % 2); step++) {
        const size_t k = flushes ? step ^ 1 : step;        // odd element first
        if (k >= rows) {                                   // the padding of an odd K: -0 becomes +0
            for (size_t f = 0; f < n; f++) acc[f] = 0.0f + acc[f];
            continue;
        }
        const float a = stationary->at[k * width + m], *row = moving->at + k * n;
        if (chain(other, acc, row, a, n)) fix_flush(other, acc, row, a, n);
        float *swap = acc;
        acc = other;
        other = swap;
    }
    return acc;
}

static void multiply(dev_exec *x, const dev_ap *dst, const dev_ap *stationary, const dev_ap *moving, bool accumulate,
                     bool double_row)
{
    const bool flushes = !is_wide(stationary) && !is_wide(moving);
    const chain_fn chain = chain_of(flushes);
    const matrix s = matrix_load(stationary, double_row, flushes), v = matrix_load(moving, double_row, flushes);
    float *acc = dev_row(x, 0);
    for (size_t m = 0; m < s.width; m++) {
        if (accumulate) dev_load_f32(dst, (uint32_t)m, acc);
        else memset(acc, 0, v.width * sizeof *acc);
        dev_store_f32(x, dst, (uint32_t)m, chain_row(&s, &v, m, flushes, chain, acc, dev_row(x, 1)));
    }
    glia_free(s.at);
    glia_free(v.at);
}

glia_status dev_exec_matmul(dev_exec *x)
{
    const bool stochastic = x->stochastic;
    x->stochastic = false;                      // PSUM writes round to nearest
    multiply(x, &x->ap[0], &x->ap[1], &x->ap[2], x->insn->attr[0], x->insn->attr[1] == ISA_PERF_DOUBLE_ROW);
    x->stochastic = stochastic;
    return GLIA_OK;
}

// From the third generation on, bits move (fp8 into the low byte of 16); before, the identity multiplies them.
glia_status dev_exec_transpose(dev_exec *x)
{
    const dev_ap *dst = &x->ap[0], *data = &x->ap[1], *identity = &x->ap[2];
    if (x->machine->generation < 3) {
        const bool stochastic = x->stochastic;
        x->stochastic = false;
        multiply(x, dst, data, identity, false, false);
        x->stochastic = stochastic;
        return GLIA_OK;
    }
    uint32_t *in = dev_row_words(x, 0), *out = dev_row_words(x, 1);
    uint32_t *tile = glia_alloc(glia_array_bytes(data->partitions * data->free, sizeof *tile));
    for (uint32_t p = 0; p < data->partitions; p++) {
        dev_load_bits(data, p, in);
        for (size_t f = 0; f < data->free; f++) tile[f * data->partitions + p] = in[f];
    }
    for (uint32_t f = 0; f < dst->partitions; f++) {
        memcpy(out, tile + f * (size_t)data->partitions, data->partitions * sizeof *out);
        dev_store_bits(dst, f, out);
    }
    glia_free(tile);
    return GLIA_OK;
}
