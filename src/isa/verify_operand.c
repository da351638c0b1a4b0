// SPDX-License-Identifier: Apache-2.0
// Rules on single operands: where they may start, how far they reach, which types engines compute on. (docs/facts/core.md,
// docs/facts/isa.md) A dynamic address is judged when it is used, by dev; here its static part would prove nothing.
#include "isa/judge.h"

#include <stdio.h>

static bool is_compute(const isa_judge *j)
{
    return (j->row->hard == ISA_HARD || j->row->hard == ISA_SOFT) && !isa_is_dma((isa_op)j->i->op);
}

static bool is_tile(const isa_judge *j)
{
    return is_compute(j) && isa_on_chip(j->o);
}

void isa_rule_pool_psum(isa_judge *j)
{
    if (is_compute(j) && j->i->engine == ISA_POOL && j->o->space == ISA_PSUM)
        isa_violation(j, "is in PSUM, which POOL cannot reach; copy it to SBUF with DVE or ACT");
}

void isa_rule_start_partition(isa_judge *j)
{
    if (!is_tile(j)) return;
    const int start = j->o->start_partition, n = j->o->partitions;
    const int quadrant = (int)hw_int(j->chip->quadrant_partitions);
    const int every = n > 2 * quadrant ? ISA_PARTITIONS : n > quadrant ? 2 * quadrant : quadrant;
    if (start % every) isa_violation(j, "%d partitions start at %d, must at a multiple of %d", n, start, every);
}

void isa_rule_pattern_rank(isa_judge *j)
{
    const int most = (int)hw_int(j->chip->pattern_dims);
    if (is_tile(j) && j->o->rank > most) isa_violation(j, "has %u free dims, at most %d", j->o->rank, most);
}

void isa_rule_pattern_size(isa_judge *j)
{
    const int64_t most = hw_int(j->chip->pattern_size_max);
    for (int k = 0; is_tile(j) && k < j->o->rank; k++)
        if (j->o->count[k] > most)
            isa_violation(j, "dim %d counts to %u, at most %lld", k, j->o->count[k], (long long)most);
}

void isa_rule_pattern_stride(isa_judge *j)
{
    const int64_t most = hw_int(j->chip->pattern_stride_max);
    for (int k = 0; is_tile(j) && k < j->o->rank; k++)
        if (j->o->count[k] > 1 && (j->o->step[k] > most || j->o->step[k] < -most))
            isa_violation(j, "dim %d steps by %lld elements, at most %lld", k, (long long)j->o->step[k],
                          (long long)most);
}

void isa_rule_free_size(isa_judge *j)
{
    if (!is_tile(j)) return;
    const int64_t most = hw_int(j->o->space == ISA_SBUF ? j->chip->sbuf_free_max : j->chip->psum_free_max);
    const uint64_t n = isa_operand_free(j->o);
    // bf16 PSUM holds twice as many; what PE may write is the matmul rules' business.
    const uint64_t limit =
        j->o->space == ISA_PSUM ? (uint64_t)most * 32 / (uint64_t)num_bits((num_dtype)j->o->dtype) : (uint64_t)most;
    if (n > limit)
        isa_violation(j, "has %llu free elements, at most %llu in %s", (unsigned long long)n, (unsigned long long)limit,
                      j->o->space == ISA_SBUF ? "SBUF" : "PSUM");
}

void isa_rule_alignment(isa_judge *j)
{
    if (!isa_on_chip(j->o)) return;
    const int size = num_size((num_dtype)j->o->dtype);
    if (j->o->offset % size)
        isa_violation(j, "byte %lld is no multiple of the element's %d", (long long)j->o->offset, size);
    for (int k = 0; k < j->o->term_count; k++)
        if (j->o->terms[k].scale % size)
            isa_violation(j, "register r%u moves it by %lld bytes, no multiple of the element's %d", j->o->terms[k].reg,
                          (long long)j->o->terms[k].scale, size);
}

static void check_range(isa_judge *j, uint64_t bytes, const char *what)
{
    int64_t lo, hi;
    if (j->o->term_count || !isa_operand_range(j->o, &lo, &hi)) return;
    if (lo < 0 || (uint64_t)hi > bytes)
        isa_violation(j, "touches bytes %lld to %lld of %s, which has %llu", (long long)lo, (long long)hi, what,
                      (unsigned long long)bytes);
}

void isa_rule_sbuf_capacity(isa_judge *j)
{
    if (j->o->space == ISA_SBUF)
        check_range(j, (uint64_t)hw_int(j->chip->sbuf_usable_bytes), "each SBUF partition's usable part");
}

void isa_rule_psum_capacity(isa_judge *j)
{
    if (j->o->space == ISA_PSUM) check_range(j, (uint64_t)hw_int(j->chip->psum_partition_bytes), "each PSUM partition");
}

void isa_rule_hbm_bounds(isa_judge *j)
{
    if (j->o->space != ISA_HBM) return;
    const isa_slot *s = &j->f->slots.items[j->o->tensor];
    const uint64_t bytes = s->kind == ISA_SLOT_GLOBAL ? j->p->tensors.items[s->index].bytes : s->bytes;
    char what[160];
    snprintf(what, sizeof what, "tensor '%.128s'", s->name);
    check_range(j, bytes, what);
}

void isa_rule_hbm_write(isa_judge *j)
{
    if (j->o->space != ISA_HBM) return;
    const int access = isa_operand_access(j->i, j->slot);
    const isa_slot *s = &j->f->slots.items[j->o->tensor];
    if (s->kind == ISA_SLOT_FORMAL) {
        if (access & ~s->access)
            isa_violation(j, "%s formal '%s', which declares that it is only %s",
                          access & ISA_WRITE ? "writes" : "reads", s->name, s->access == ISA_READ ? "read" : "written");
        return;
    }
    const isa_tensor *t = &j->p->tensors.items[s->index];
    if ((access & ISA_WRITE) && (t->kind == ISA_TENSOR_CONST || t->kind == ISA_TENSOR_INPUT))
        isa_violation(j, "writes tensor '%s', which is %s; an input that changes is an output with an alias", t->name,
                      t->kind == ISA_TENSOR_CONST ? "constant" : "an input");
}

void isa_rule_scratch_core(isa_judge *j)
{
    if (j->o->space != ISA_HBM) return;
    const isa_slot *s = &j->f->slots.items[j->o->tensor];
    if (s->kind != ISA_SLOT_GLOBAL) return;
    const isa_tensor *t = &j->p->tensors.items[s->index];
    if (t->core >= 0 && (uint32_t)t->core != j->core)
        isa_violation(j, "core %u uses tensor '%s', which belongs to core %d", j->core, t->name, t->core);
}

void isa_rule_dtype_generation(isa_judge *j)
{
    if (is_tile(j) && !j->has_dtype[j->o->dtype])
        isa_violation(j, "has type '%s', which %s lacks", num_dtype_get((num_dtype)j->o->dtype)->name, j->chip->name);
}

void isa_rule_dtype_compute(isa_judge *j)
{
    if (is_tile(j) && num_bits((num_dtype)j->o->dtype) > 32)
        isa_violation(j, "has type '%s' of %d bits, engines compute on 32 at most",
                      num_dtype_get((num_dtype)j->o->dtype)->name, num_bits((num_dtype)j->o->dtype));
}
