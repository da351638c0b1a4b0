// SPDX-License-Identifier: Apache-2.0
// Reductions: along the free axis (tensor_reduce) and across partitions (partition_reduce). A left fold in fp32 over
// the elements in order, or over raw bits for bitvec operators; a fold of one element is that element (its truth, for
// logical operators).
#include "dev/alu.h"
#include "dev/rows.h"

static bool is_logical(isa_alu op)
{
    return op == ISA_ALU_LOGICAL_AND || op == ISA_ALU_LOGICAL_OR || op == ISA_ALU_LOGICAL_XOR;
}

static float fold(isa_alu op, const float *row, size_t n)
{
    float acc = is_logical(op) ? row[0] != 0 : row[0];
    for (size_t f = 1; f < n; f++) acc = dev_alu_f32(op, acc, row[f]);
    return acc;
}

static uint32_t fold_bits(isa_alu op, const uint32_t *row, size_t n, int bits)
{
    uint32_t acc = row[0];
    for (size_t f = 1; f < n; f++) acc = dev_alu_bits(op, acc, row[f], bits);
    return acc;
}

glia_status dev_exec_tensor_reduce(dev_exec *x)
{
    const dev_ap *dst = &x->ap[0], *data = &x->ap[1];
    const isa_alu op = (isa_alu)x->insn->attr[0];
    const bool bitvec = dev_alu_kind_of(op) == DEV_ALU_BITVEC, negate = x->insn->attr[2];
    const size_t kept = dst->free;
    if (kept == 0 || data->free == 0) return GLIA_OK;
    const size_t n = data->free / kept;
    const int bits = num_bits((num_dtype)data->dtype);
    for (uint32_t p = 0; p < dst->partitions; p++) {
        if (bitvec) {
            uint32_t *in = dev_row_words(x, 0), *out = dev_row_words(x, 1);
            dev_load_bits(data, p, in);
            for (size_t k = 0; k < kept; k++) out[k] = fold_bits(op, in + k * n, n, bits);
            dev_store_bits(dst, p, out);
            continue;
        }
        float *in = dev_row(x, 0), *out = dev_row(x, 1);
        dev_load_f32(data, p, in);
        for (size_t k = 0; k < kept; k++) out[k] = fold(op, in + k * n, n) * (negate ? -1.0f : 1.0f);
        dev_store_f32(x, dst, p, out);
    }
    return GLIA_OK;
}

glia_status dev_exec_partition_reduce(dev_exec *x)
{
    const dev_ap *dst = &x->ap[0], *data = &x->ap[1];
    const isa_alu op = (isa_alu)x->insn->attr[0];
    const size_t n = data->free;
    if (dev_alu_kind_of(op) == DEV_ALU_BITVEC) {
        uint32_t *acc = dev_row_words(x, 0), *row = dev_row_words(x, 1);
        const int bits = num_bits((num_dtype)data->dtype);
        dev_load_bits(data, 0, acc);
        for (uint32_t p = 1; p < data->partitions; p++) {
            dev_load_bits(data, p, row);
            for (size_t f = 0; f < n; f++) acc[f] = dev_alu_bits(op, acc[f], row[f], bits);
        }
        dev_store_bits(dst, 0, acc);
        return GLIA_OK;
    }
    float *acc = dev_row(x, 0), *row = dev_row(x, 1);
    dev_load_f32(data, 0, acc);
    if (is_logical(op))
        for (size_t f = 0; f < n; f++) acc[f] = acc[f] != 0;
    for (uint32_t p = 1; p < data->partitions; p++) {
        dev_load_f32(data, p, row);
        for (size_t f = 0; f < n; f++) acc[f] = dev_alu_f32(op, acc[f], row[f]);
    }
    dev_store_f32(x, dst, 0, acc);
    return GLIA_OK;
}
