// SPDX-License-Identifier: Apache-2.0
// Rules of DMA, of the collective stream and of register access. (docs/facts/dma.md)
#include "isa/judge.h"

static bool is_dma(const isa_judge *j)
{
    return isa_is_dma((isa_op)j->i->op);
}

static bool is_indirect(const isa_judge *j)
{
    return j->i->op == ISA_dma_gather || j->i->op == ISA_dma_scatter;
}

static isa_dge dge_of(const isa_judge *j)
{
    return (isa_dge)j->i->attr[0];
}

static const char *dtype_of(const isa_judge *j, int slot)
{
    return num_dtype_get((num_dtype)j->operands[slot].dtype)->name;
}

static uint64_t elements(const isa_judge *j, int slot)
{
    return isa_operand_elements(&j->operands[slot]);
}

void isa_rule_dma_elements(isa_judge *j)
{
    if (is_dma(j) && !is_indirect(j) && elements(j, 0) != elements(j, 1))
        isa_violation(j, "dst has %llu elements, src %llu", (unsigned long long)elements(j, 0),
                      (unsigned long long)elements(j, 1));
}

void isa_rule_dma_cast(isa_judge *j)
{
    if (!is_dma(j) || j->operands[0].dtype == j->operands[1].dtype) return;
    for (int k = 0; k <= 1; k++)
        if (!j->has_dtype[j->operands[k].dtype] || num_bits((num_dtype)j->operands[k].dtype) > 32)
            isa_violation(j, "casts '%s' to '%s'; '%s' is no type that a DMA of %s casts", dtype_of(j, 1),
                          dtype_of(j, 0), dtype_of(j, k), j->chip->name);
}

void isa_rule_dma_hwdge(isa_judge *j)
{
    if (!is_dma(j) || dge_of(j) != ISA_DGE_HWDGE) return;
    if (hw_int(j->chip->hwdge_count) == 0) isa_violation(j, "%s has no hardware descriptor generation", j->chip->name);
    if (j->i->engine != ISA_ACT && j->i->engine != ISA_SP)
        isa_violation(j, "%s issues it; hwdge is for ACT and SP", isa_engine_name((isa_engine)j->i->engine));
    if (j->operands[0].dtype != j->operands[1].dtype)
        isa_violation(j, "casts '%s' to '%s', which hwdge cannot", dtype_of(j, 1), dtype_of(j, 0));
}

void isa_rule_dma_swdge(isa_judge *j)
{
    if (is_dma(j) && dge_of(j) == ISA_DGE_SWDGE && j->i->engine != ISA_POOL)
        isa_violation(j, "%s issues it; swdge is POOL's work", isa_engine_name((isa_engine)j->i->engine));
}

void isa_rule_dma_priority(isa_judge *j)
{
    const int64_t classes = is_dma(j) ? hw_int(j->chip->dma_priorities) : 1;
    if (j->i->priority >= classes)
        isa_violation(j, "has class %u; %lld exist%s", j->i->priority, (long long)classes,
                      is_dma(j) ? "" : " for what is no DMA");
}

void isa_rule_dma_transpose(isa_judge *j)
{
    if (j->i->op != ISA_dma_transpose) return;
    const isa_operand *dst = &j->operands[0], *src = &j->operands[1];
    if (dst->space != ISA_SBUF) {
        isa_violation(j, "dst is not in SBUF");
        return;
    }
    const int rank = src->rank + (isa_on_chip(src) ? 1 : 0);
    if (rank < 2 || rank > 4) isa_violation(j, "src has %d dims, 2 to 4 are possible", rank);
    const uint64_t last = src->rank ? src->count[src->rank - 1] : 1;
    if (last != dst->partitions || elements(j, 1) / last != isa_operand_free(dst))
        isa_violation(j, "src is [%llu, %llu], dst [%u, %llu]", (unsigned long long)(elements(j, 1) / last),
                      (unsigned long long)last, dst->partitions, (unsigned long long)isa_operand_free(dst));
    const int bits = num_bits((num_dtype)src->dtype);
    if (dst->dtype != src->dtype || (bits != 16 && bits != 32))
        isa_violation(j, "src has type '%s', dst '%s'; one type of 2 or 4 bytes is needed", dtype_of(j, 1),
                      dtype_of(j, 0));
    if (dge_of(j) == ISA_DGE_SWDGE) isa_violation(j, "swdge transposes gathers alone");
}

void isa_rule_dma_transpose_hwdge(isa_judge *j)
{
    if (j->i->op != ISA_dma_transpose || dge_of(j) != ISA_DGE_HWDGE) return;
    const isa_operand *src = &j->operands[1];
    uint64_t dims[ISA_DIMS + 1];
    int rank = 0;
    if (isa_on_chip(src)) dims[rank++] = src->partitions;
    for (int k = 0; k < src->rank; k++)
        dims[rank++] = src->count[k];
    if (rank < 2) return; // dma_transpose says so
    const uint64_t first = dims[0], last = dims[rank - 1];
    if (num_bits((num_dtype)src->dtype) != 16 || last > 128)
        isa_violation(j, "src has type '%s' and a last dim of %llu", dtype_of(j, 1), (unsigned long long)last);
    const bool power = first == 1 || first == 2 || first == 4 || first == 8 || first == 16;
    if (rank == 2 ? first != 16 : !power || first * dims[rank - 2] % 16)
        isa_violation(j, "src has %d dims, the first of %llu and the last but one of %llu", rank,
                      (unsigned long long)first, (unsigned long long)dims[rank - 2]);
}

void isa_rule_dma_indirect(isa_judge *j)
{
    if (!is_indirect(j)) return;
    const int table = j->i->op == ISA_dma_gather ? 1 : 0;
    const isa_operand *rows = &j->operands[table], *other = &j->operands[1 - table], *index = &j->operands[2];
    if (dge_of(j) != ISA_DGE_SWDGE)
        isa_violation(j, "has dge '%s'; an index vector needs swdge", isa_attr_value_name(ISA_ATTR_DGE, j->i->attr[0]));
    if (index->dtype != NUM_S32 && index->dtype != NUM_U32) isa_violation(j, "'index' has type '%s'", dtype_of(j, 2));
    if (other->space != ISA_SBUF) {
        isa_violation(j, "both sides are in HBM; one row for each partition needs one side in SBUF");
        return;
    }
    if (index->partitions != other->partitions || isa_operand_free(index) != 1)
        isa_violation(j, "'index' is [%u, %llu], must be [%u, 1]", index->partitions,
                      (unsigned long long)isa_operand_free(index), other->partitions);
    const uint64_t row = isa_operand_elements(rows) / rows->count[0];
    if (row != isa_operand_free(other))
        isa_violation(j, "a row of the table has %llu elements, a partition of the SBUF side %llu",
                      (unsigned long long)row, (unsigned long long)isa_operand_free(other));
}

// ---- collectives ----

void isa_rule_cc_shape(isa_judge *j)
{
    if (j->row->hard != ISA_CC) return;
    const uint64_t ranks = j->p->groups.items[j->operands[2].offset].count;
    const uint64_t dst = elements(j, 0), src = elements(j, 1);
    const bool fits = j->i->op == ISA_cc_all_gather       ? src <= UINT64_MAX / ranks && dst == src * ranks
                      : j->i->op == ISA_cc_reduce_scatter ? dst <= UINT64_MAX / ranks && src == dst * ranks
                                                          : dst == src;
    if (!fits)
        isa_violation(j, "src has %llu elements, dst %llu, the group %llu ranks", (unsigned long long)src,
                      (unsigned long long)dst, (unsigned long long)ranks);
    if (j->operands[0].dtype != j->operands[1].dtype)
        isa_violation(j, "src has type '%s', dst '%s'", dtype_of(j, 1), dtype_of(j, 0));
    const isa_alu op = (isa_alu)j->i->attr[0];
    const bool reduces = j->i->op == ISA_cc_all_reduce || j->i->op == ISA_cc_reduce_scatter;
    if (reduces ? op != ISA_ALU_ADD && op != ISA_ALU_MAXIMUM && op != ISA_ALU_MINIMUM : op != ISA_ALU_NONE)
        isa_violation(j, "has operation '%s'; reductions add or take the larger or smaller, the others have none",
                      isa_alu_name(op));
}

// ---- registers ----

void isa_rule_register_memory(isa_judge *j)
{
    const bool load = j->i->op == ISA_reg_load;
    if (!load && j->i->op != ISA_reg_store) return;
    const int slot = load ? 1 : 0;
    const num_dtype t = (num_dtype)j->operands[slot].dtype;
    if ((!num_is_integer(t) && t != NUM_BOOL) || num_bits(t) > 32)
        isa_violation(j, "'%s' has type '%s'", j->row->operands[slot].name, dtype_of(j, slot));
    if (load && isa_is_bound(&j->operands[2]) && isa_is_bound(&j->operands[3]) &&
        j->operands[2].offset > j->operands[3].offset)
        isa_violation(j, "clamps to at least %lld and at most %lld", (long long)j->operands[2].offset,
                      (long long)j->operands[3].offset);
}
