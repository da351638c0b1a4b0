// SPDX-License-Identifier: Apache-2.0
// The tensor engine: matmul and transpose, in the order of DESIGN §4.
//
// Each output element is one chain of fused multiply-adds that starts from PSUM (from +0 when not accumulating). fp32
// and tf32 go in ascending K with gradual underflow. Types of 16 bits and fewer go in ascending pairs of K that restart
// with each instruction, the odd element first, an odd K padded by +0 in both operands, with subnormal operands, sums
// and results flushed to signed zero: what the host's BF16 dot-product instruction does. double_row makes the pair of a
// partition the pair of the chain. Loops run along the moving side so that the compiler vectorises them.
#include <math.h>
#include <string.h>

#include "dev/rows.h"

typedef void (*chain_fn)(float *restrict acc, const float *restrict moving, float a, size_t n);

static inline __attribute__((always_inline)) float flush(float v)
{
    const uint32_t u = num_f32_bits(v);
    return num_f32_of((u & 0x7f800000u) ? u : u & 0x80000000u);
}

static inline __attribute__((always_inline)) void chain_body(float *restrict acc, const float *restrict moving, float a,
                                                             size_t n)
{
    for (size_t f = 0; f < n; f++) acc[f] = __builtin_fmaf(a, moving[f], acc[f]);
}

static inline __attribute__((always_inline)) void chain_flush_body(float *restrict acc, const float *restrict moving,
                                                                   float a, size_t n)
{
    for (size_t f = 0; f < n; f++) acc[f] = flush(__builtin_fmaf(a, moving[f], acc[f]));
}

static void chain_plain(float *restrict acc, const float *restrict moving, float a, size_t n)
{
    chain_body(acc, moving, a, n);
}

static void chain_flush_plain(float *restrict acc, const float *restrict moving, float a, size_t n)
{
    chain_flush_body(acc, moving, a, n);
}

#if defined(__x86_64__)
// The same loops where the compiler may use the host's FMA: the same bits, many times faster than the library's fmaf.
__attribute__((target("avx2,fma"))) static void chain_fma(float *restrict acc, const float *restrict moving, float a,
                                                          size_t n)
{
    chain_body(acc, moving, a, n);
}

__attribute__((target("avx2,fma"))) static void chain_flush_fma(float *restrict acc, const float *restrict moving,
                                                                float a, size_t n)
{
    chain_flush_body(acc, moving, a, n);
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

// One row of the output: the chain over K for stationary column `m`.
static void chain_row(const matrix *stationary, const matrix *moving, size_t m, bool flushes, chain_fn chain, float *acc)
{
    const size_t rows = stationary->rows, width = stationary->width, n = moving->width;
    if (!flushes) {
        for (size_t k = 0; k < rows; k++) chain(acc, moving->at + k * n, stationary->at[k * width + m], n);
        return;
    }
    for (size_t f = 0; f < n; f++) acc[f] = flush(acc[f]);
    for (size_t k = 0; k < rows; k += 2) {
        if (k + 1 < rows) chain(acc, moving->at + (k + 1) * n, stationary->at[(k + 1) * width + m], n);
        else for (size_t f = 0; f < n; f++) acc[f] = 0.0f * 0.0f + acc[f];     // the padding: -0 becomes +0
        chain(acc, moving->at + k * n, stationary->at[k * width + m], n);
    }
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
        chain_row(&s, &v, m, flushes, chain, acc);
        dev_store_f32(x, dst, (uint32_t)m, acc);
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
