// SPDX-License-Identifier: Apache-2.0
// dot_general: any batch and contracting dims, any order, any size. Both operands are brought to [B, M, K] and
// [B, K, N] in the type that accumulates; then each result element is one chain over ascending K.
//
// Floats of 32 bits and fewer accumulate in fp32 by fused multiply-adds from +0, rounded once to the result's dtype at
// the end; f64, and everything when `precise`, in fp64. Integers wrap in 64 bits, bool is and/or, complex is fp64.
// K is the contracting dims in the order that the op lists them, the last the fastest.
#include "ir/eval/eval.h"

#include <math.h>
#include <string.h>

typedef enum accumulator { ACC_F32, ACC_F64, ACC_INT, ACC_BOOL, ACC_COMPLEX, ACC_COUNT } accumulator;

// ---- a row of the result: acc[N] += a[K] * b[K, N], K ascending ----
typedef void (*row_fn)(void *acc, const void *a, const void *b, int64_t k_count, int64_t n_count);

#define ROW(name, attributes, type, step)                                                                              \
    attributes static void name(void *acc_, const void *a_, const void *b_, int64_t k_count, int64_t n_count)          \
    {                                                                                                                  \
        type *restrict acc = acc_;                                                                                     \
        const type *restrict a = a_;                                                                                   \
        const type *restrict b = b_;                                                                                   \
        for (int64_t k = 0; k < k_count; k++, b += n_count)                                                            \
            for (int64_t n = 0; n < n_count; n++)                                                                      \
                acc[n] = step;                                                                                         \
    }
ROW(row_f32, , float, __builtin_fmaf(a[k], b[n], acc[n]))
ROW(row_f64, , double, __builtin_fma(a[k], b[n], acc[n]))
ROW(row_int, , uint64_t, acc[n] + a[k] * b[n])
ROW(row_bool, , uint64_t, acc[n] | (a[k] & b[n]))
ROW(row_complex, , _Complex double, acc[n] + a[k] * b[n])

// The same bits, with the host's instruction instead of a library call.
#if defined(__x86_64__)
ROW(row_f32_fma, __attribute__((target("avx2,fma"))), float, __builtin_fmaf(a[k], b[n], acc[n]))
ROW(row_f64_fma, __attribute__((target("avx2,fma"))), double, __builtin_fma(a[k], b[n], acc[n]))
static bool host_has_fma(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
#define row_f32_fma row_f32
#define row_f64_fma row_f64
static bool host_has_fma(void)
{
    return false;
}
#endif

static void widen_f32(num_dtype t, const void *p, size_t n, void *out)
{
    double wide[IR_EVAL_CHUNK];
    for (size_t at = 0; at < n; at += IR_EVAL_CHUNK) {
        const size_t m = n - at < IR_EVAL_CHUNK ? n - at : IR_EVAL_CHUNK;
        ir_eval_load_f64(t, (const uint8_t *)p + at * ir_eval_size(t), m, wide);
        for (size_t i = 0; i < m; i++)
            ((float *)out)[at + i] = (float)wide[i];
    }
}

static void narrow_f32(num_dtype t, void *p, size_t n, const void *in)
{
    double wide[IR_EVAL_CHUNK];
    for (size_t at = 0; at < n; at += IR_EVAL_CHUNK) {
        const size_t m = n - at < IR_EVAL_CHUNK ? n - at : IR_EVAL_CHUNK;
        for (size_t i = 0; i < m; i++)
            wide[i] = ((const float *)in)[at + i];
        ir_eval_store_f64(t, (uint8_t *)p + at * ir_eval_size(t), m, wide);
    }
}

static void widen_f64(num_dtype t, const void *p, size_t n, void *out)
{
    ir_eval_load_f64(t, p, n, out);
}
static void narrow_f64(num_dtype t, void *p, size_t n, const void *in)
{
    ir_eval_store_f64(t, p, n, in);
}
static void widen_int(num_dtype t, const void *p, size_t n, void *out)
{
    ir_eval_load_int(t, p, n, out);
}
static void narrow_int(num_dtype t, void *p, size_t n, const void *in)
{
    ir_eval_store_int(t, p, n, in);
}
static void widen_complex(num_dtype t, const void *p, size_t n, void *out)
{
    ir_eval_load_complex(t, p, n, out);
}
static void narrow_complex(num_dtype t, void *p, size_t n, const void *in)
{
    ir_eval_store_complex(t, p, n, in);
}

// clang-format off
static const struct {
    size_t size;
    row_fn row, row_fma;
    void (*widen)(num_dtype t, const void *p, size_t n, void *out);
    void (*narrow)(num_dtype t, void *p, size_t n, const void *in);
} accumulators[ACC_COUNT] = {
    [ACC_F32] = { sizeof(float), row_f32, row_f32_fma, widen_f32, narrow_f32 },
    [ACC_F64] = { sizeof(double), row_f64, row_f64_fma, widen_f64, narrow_f64 },
    [ACC_INT] = { sizeof(uint64_t), row_int, row_int, widen_int, narrow_int },
    [ACC_BOOL] = { sizeof(uint64_t), row_bool, row_bool, widen_int, narrow_int },
    [ACC_COMPLEX] = { sizeof(_Complex double), row_complex, row_complex, widen_complex, narrow_complex },
};
// clang-format on

static glia_status choose_accumulator(const ir_eval_context *c, num_dtype lhs, num_dtype rhs, num_dtype result,
                                      accumulator *out)
{
    const ir_eval_domain l = ir_eval_domain_of(lhs), r = ir_eval_domain_of(rhs), o = ir_eval_domain_of(result);
    const bool has_f64 = lhs == NUM_F64 || rhs == NUM_F64 || result == NUM_F64;
    const bool wide_ints = (l == IR_EVAL_INT && num_bits(lhs) > 16) || (r == IR_EVAL_INT && num_bits(rhs) > 16);
    bool defined = l != IR_EVAL_NONE && r != IR_EVAL_NONE;

    if (o == IR_EVAL_COMPLEX)
        *out = ACC_COMPLEX;
    else if (o == IR_EVAL_FLOAT)
        *out = has_f64 || wide_ints || c->options.precise ? ACC_F64 : ACC_F32;
    else
        *out = result == NUM_BOOL ? ACC_BOOL : ACC_INT;
    if (o == IR_EVAL_FLOAT) defined = defined && l != IR_EVAL_COMPLEX && r != IR_EVAL_COMPLEX;
    if (o == IR_EVAL_INT) defined = defined && l == IR_EVAL_INT && r == IR_EVAL_INT;
    ENSURE(defined && o != IR_EVAL_NONE, UNSUPPORTED,
           "dot of %s and %s to %s is not defined\nhint: convert an operand first", num_dtype_get(lhs)->name,
           num_dtype_get(rhs)->name, num_dtype_get(result)->name);
    return GLIA_OK;
}

// ---- bringing an operand to order ----
static void append(int64_t *order, int *count, ir_dims dims)
{
    for (int i = 0; i < dims.count; i++)
        order[(*count)++] = dims.items[i];
}

static void append_free(int64_t *order, int *count, int rank, ir_dims batch, ir_dims contract)
{
    for (int d = 0; d < rank; d++)
        if (!ir_eval_has(batch, d) && !ir_eval_has(contract, d)) order[(*count)++] = d;
}

// The operand's elements with its dims in `order`, widened.
static glia_status arrange(ir_eval_context *c, const ir_eval_array *in, const int64_t *order, accumulator acc,
                           void **out)
{
    const int rank = in->shape->rank;
    const size_t n = (size_t)ir_eval_count(rank, in->shape->dims), size = ir_eval_size(in->shape->dtype);
    int64_t *own, *view, *dims, *strides;
    void *moved;

    TRY(ir_eval_scratch(c, n, accumulators[acc].size, out));
    ir_eval_buffer *mark = c->scratch;
    TRY(ir_eval_scratch(c, (size_t)rank, sizeof *own, &own));
    TRY(ir_eval_scratch(c, (size_t)rank, sizeof *view, &view));
    TRY(ir_eval_scratch(c, (size_t)rank, sizeof *dims, &dims));
    TRY(ir_eval_scratch(c, (size_t)rank, sizeof *strides, &strides));
    TRY(ir_eval_scratch(c, n, size, &moved));
    ir_eval_strides(rank, in->shape->dims, own);
    for (int d = 0; d < rank; d++) {
        dims[d] = in->shape->dims[order[d]];
        view[d] = own[order[d]];
    }
    ir_eval_strides(rank, dims, strides);
    ir_eval_copy_strided(moved, strides, in->data, view, rank, dims, size);
    accumulators[acc].widen(in->shape->dtype, moved, n, *out);
    ir_eval_scratch_pop(c, mark);
    return GLIA_OK;
}

// Of the dims order[from .. to); 0 beats a product that would overflow.
static int64_t product_of(const ir_shape *s, const int64_t *order, int from, int to)
{
    uint64_t n = 1;
    for (int i = from; i < to; i++)
        if (s->dims[order[i]] == 0) return 0;
    for (int i = from; i < to; i++)
        n *= (uint64_t)s->dims[order[i]];
    return (int64_t)n;
}

// An operand in order: the batch dims, then two groups split at `middle`.
typedef struct operand {
    const ir_eval_array *array;
    int64_t *order;    // [rank]
    int batch, middle; // where the groups end
    void *wide;        // the elements in that order, in the accumulator's type
} operand;

static glia_status operand_open(ir_eval_context *c, const ir_eval_array *in, accumulator acc, ir_dims batch,
                                ir_dims contract, bool contract_first, operand *out)
{
    int count = 0;

    *out = (operand){.array = in};
    TRY(ir_eval_scratch(c, (size_t)in->shape->rank, sizeof *out->order, &out->order));
    append(out->order, &count, batch);
    out->batch = count;
    if (contract_first)
        append(out->order, &count, contract);
    else
        append_free(out->order, &count, in->shape->rank, batch, contract);
    out->middle = count;
    if (contract_first)
        append_free(out->order, &count, in->shape->rank, batch, contract);
    else
        append(out->order, &count, contract);
    return arrange(c, in, out->order, acc, &out->wide);
}

static glia_status multiply(ir_eval_context *c, accumulator acc, const operand *lhs, const operand *rhs,
                            ir_eval_array *result)
{
    const ir_shape *l = lhs->array->shape, *r = rhs->array->shape;
    const int64_t b_count = product_of(l, lhs->order, 0, lhs->batch);
    const int64_t m_count = product_of(l, lhs->order, lhs->batch, lhs->middle);
    const int64_t k_count = product_of(l, lhs->order, lhs->middle, l->rank);
    const int64_t n_count = product_of(r, rhs->order, rhs->middle, r->rank);
    const size_t size = accumulators[acc].size, row_bytes = (size_t)n_count * size;
    const row_fn row = host_has_fma() ? accumulators[acc].row_fma : accumulators[acc].row;
    const num_dtype dtype = result->shape->dtype;
    uint8_t *sums, *to = result->data;

    TRY(ir_eval_scratch(c, (size_t)n_count, size, &sums));
    for (int64_t b = 0; b < b_count; b++)
        for (int64_t m = 0; m < m_count; m++) {
            const uint8_t *lhs_row = (const uint8_t *)lhs->wide + (size_t)((b * m_count + m) * k_count) * size;
            memset(sums, 0, row_bytes);
            row(sums, lhs_row, (const uint8_t *)rhs->wide + (size_t)(b * k_count) * row_bytes, k_count, n_count);
            accumulators[acc].narrow(dtype, to, (size_t)n_count, sums);
            to += (size_t)n_count * ir_eval_size(dtype);
        }
    return GLIA_OK;
}

glia_status ir_eval_dot(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands, ir_eval_value *out)
{
    const ir_eval_array *lhs = &operands[0].leaves[0], *rhs = &operands[1].leaves[0];
    const ir_attrs *a = &inst->attrs;
    operand l, r;
    accumulator acc;

    TRY(choose_accumulator(c, lhs->shape->dtype, rhs->shape->dtype, inst->shape.dtype, &acc));
    TRY(ir_eval_new(c, &out->leaves[0]));
    if (ir_eval_count(inst->shape.rank, inst->shape.dims) == 0) return GLIA_OK;
    TRY(operand_open(c, lhs, acc, a->lhs_batch, a->lhs_contract, false, &l));
    TRY(operand_open(c, rhs, acc, a->rhs_batch, a->rhs_contract, true, &r));
    return multiply(c, acc, &l, &r, &out->leaves[0]);
}
