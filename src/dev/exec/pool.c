// SPDX-License-Identifier: Apache-2.0
// The pool engine: affine patterns of the indices, and gathers within a partition.
#include "dev/alu.h"
#include "dev/rows.h"

// The pattern's values of one partition: base + partition * channel + sum of index * step, wrapping in 32 bits. A
// dynamic term adds register * scale to the base.
static void affine_row(const dev_exec *x, int slot, uint32_t p, int32_t *out)
{
    const isa_operand *o = &x->operand[slot];
    uint64_t base = (uint64_t)o->offset + (uint64_t)p * (uint64_t)o->channel;
    for (int k = 0; k < o->term_count; k++)
        base += (uint64_t)o->terms[k].scale * (uint64_t)(int64_t)*dev_reg(x, o->terms[k].reg);
    const uint64_t n = isa_operand_free(o);
    uint32_t index[ISA_DIMS] = { 0 };
    for (uint64_t f = 0; f < n; f++) {
        uint64_t v = base;
        for (int k = 0; k < o->rank; k++) v += (uint64_t)o->step[k] * index[k];
        out[f] = (int32_t)(uint32_t)v;
        for (int k = o->rank - 1; k >= 0; k--) {
            if (++index[k] < o->count[k]) break;
            index[k] = 0;
        }
    }
}

glia_status dev_exec_iota(dev_exec *x)
{
    const dev_ap *dst = &x->ap[0];
    const num_dtype t = (num_dtype)dst->dtype;
    int32_t *row = (int32_t *)dev_row_words(x, 0);
    uint32_t *out = dev_row_words(x, 1);
    for (uint32_t p = 0; p < dst->partitions; p++) {
        affine_row(x, 1, p, row);
        for (size_t f = 0; f < dst->free; f++)
            out[f] = num_bits(t) == 32 && !num_is_float(t) ? (uint32_t)row[f] : (uint32_t)num_from_f64(t, row[f]);
        dev_store_bits(dst, p, out);
    }
    return GLIA_OK;
}

glia_status dev_exec_affine_select(dev_exec *x)
{
    const dev_ap *dst = &x->ap[0], *on_true = &x->ap[1];
    const isa_alu compare = (isa_alu)x->insn->attr[0];
    const num_dtype t = (num_dtype)dst->dtype, from = (num_dtype)on_true->dtype;
    const uint32_t other = dev_imm_bits(&x->operand[3], t);
    int32_t *affine = (int32_t *)dev_row_words(x, 0);
    uint32_t *row = dev_row_words(x, 1);
    if (!dev_alu_compares(compare)) return dev_fault(x, "'%s' does not compare", isa_alu_name(compare));
    for (uint32_t p = 0; p < dst->partitions; p++) {
        affine_row(x, 2, p, affine);
        dev_load_bits(on_true, p, row);
        if (from != t)
            for (size_t f = 0; f < dst->free; f++) row[f] = (uint32_t)num_from_f32(t, num_to_f32(from, row[f]));
        for (size_t f = 0; f < dst->free; f++)
            if (!dev_alu_compare_int(compare, affine[f], 0)) row[f] = other;
        dev_store_bits(dst, p, row);
    }
    return GLIA_OK;
}

glia_status dev_exec_n_gather(dev_exec *x)
{
    const dev_ap *dst = &x->ap[0], *data = &x->ap[1], *indices = &x->ap[2];
    uint32_t *row = dev_row_words(x, 0), *index = dev_row_words(x, 1), *out = dev_row_words(x, 2);
    for (uint32_t p = 0; p < dst->partitions; p++) {
        dev_load_bits(data, p, row);
        dev_load_bits(indices, p, index);
        for (size_t f = 0; f < dst->free; f++) {
            if (index[f] >= data->free)
                return dev_fault(x, "index %u of partition %u, element %zu, is past the %llu elements of 'data'",
                                 index[f], p, f, (unsigned long long)data->free);
            out[f] = row[index[f]];
        }
        dev_store_bits(dst, p, out);
    }
    return GLIA_OK;
}
