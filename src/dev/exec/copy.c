// SPDX-License-Identifier: Apache-2.0
// Moving elements on chip: copies, fills, the vector engine's transpose. Bits are copied when the types agree;
// otherwise a value goes through fp32. ACT before the third generation always goes through fp32.
#include "dev/rows.h"

static void copy_row(dev_exec *x, const dev_ap *dst, const dev_ap *src, uint32_t p)
{
    const bool through_fp32 = x->insn->engine == ISA_ACT && x->machine->generation < 3;
    if (dst->dtype == src->dtype && !through_fp32) {
        uint32_t *row = dev_row_words(x, 0);
        dev_load_bits(src, p, row);
        dev_store_bits(dst, p, row);
        return;
    }
    float *row = dev_row(x, 0);
    dev_load_f32(src, p, row);
    dev_store_f32(x, dst, p, row);
}

glia_status dev_exec_tensor_copy(dev_exec *x)
{
    for (uint32_t p = 0; p < x->ap[0].partitions; p++) copy_row(x, &x->ap[0], &x->ap[1], p);
    return GLIA_OK;
}

// The source row in dst's type: bits of an equal type, a cast otherwise; or the immediate.
static void load_as(dev_exec *x, const dev_ap *dst, uint32_t p, uint32_t *row)
{
    const num_dtype t = (num_dtype)dst->dtype;
    if (x->operand[1].space == ISA_IMM) {
        const uint32_t value = dev_imm_bits(&x->operand[1], t);
        for (size_t f = 0; f < dst->free; f++) row[f] = value;
        return;
    }
    dev_load_bits(&x->ap[1], p, row);
    if (x->ap[1].dtype == t) return;
    for (size_t f = 0; f < dst->free; f++)
        row[f] = (uint32_t)num_from_f32(t, num_to_f32((num_dtype)x->ap[1].dtype, row[f]));
}

glia_status dev_exec_copy_predicated(dev_exec *x)
{
    const dev_ap *dst = &x->ap[0], *predicate = &x->ap[2];
    const bool reverse = x->insn->attr[0], is_float = num_is_float((num_dtype)predicate->dtype);
    uint32_t *row = dev_row_words(x, 0), *old = dev_row_words(x, 1), *which = dev_row_words(x, 2);
    for (uint32_t p = 0; p < dst->partitions; p++) {
        load_as(x, dst, p, row);
        dev_load_bits(dst, p, old);
        dev_load_bits(predicate, p, which);
        for (size_t f = 0; f < dst->free; f++) {
            const bool set = is_float ? num_to_f32((num_dtype)predicate->dtype, which[f]) != 0 : which[f] != 0;
            if (set != reverse) old[f] = row[f];
        }
        dev_store_bits(dst, p, old);
    }
    return GLIA_OK;
}

glia_status dev_exec_memset(dev_exec *x)
{
    const dev_ap *dst = &x->ap[0];
    const uint32_t value = dev_imm_bits(&x->operand[1], (num_dtype)dst->dtype);
    uint32_t *row = dev_row_words(x, 0);
    for (size_t f = 0; f < dst->free; f++) row[f] = value;
    for (uint32_t p = 0; p < dst->partitions; p++) dev_store_bits(dst, p, row);
    return GLIA_OK;
}

// dst[f, p] = src[p, f], at most 32 x 32.
glia_status dev_exec_transpose32(dev_exec *x)
{
    const dev_ap *dst = &x->ap[0], *src = &x->ap[1];
    uint32_t tile[32 * 32], *row = dev_row_words(x, 0);
    for (uint32_t p = 0; p < src->partitions; p++) {
        dev_load_bits(src, p, row);
        for (size_t f = 0; f < src->free; f++) tile[f * 32 + p] = row[f];
    }
    for (uint32_t f = 0; f < dst->partitions; f++) dev_store_bits(dst, f, tile + f * 32);
    return GLIA_OK;
}
