// SPDX-License-Identifier: Apache-2.0
// Do two instructions touch the same bytes on chip? Asked for results that an instruction of the same engine waits for,
// and for stationaries that PE holds already. Addresses with equal dynamic terms are compared, others are taken to meet.
#include "sim/machine.h"

static bool same_terms(const isa_operand *a, const isa_operand *b)
{
    if (a->term_count != b->term_count) return false;
    for (int k = 0; k < a->term_count; k++)
        if (a->terms[k].reg != b->terms[k].reg || a->terms[k].scale != b->terms[k].scale) return false;
    return true;
}

static bool same_operand(const isa_operand *a, const isa_operand *b)
{
    if (a->space != b->space || a->dtype != b->dtype || a->rank != b->rank || a->offset != b->offset ||
        a->start_partition != b->start_partition || a->partitions != b->partitions || a->packing != b->packing) return false;
    for (int k = 0; k < a->rank; k++)
        if (a->step[k] != b->step[k] || a->count[k] != b->count[k]) return false;
    return same_terms(a, b);
}

// May the two touch a common byte on chip? Equal dynamic terms cancel; different ones may meet anywhere.
static bool may_overlap(const isa_operand *a, const isa_operand *b)
{
    if (a->space != b->space || !(a->space & (ISA_SBUF | ISA_PSUM))) return false;
    if (a->start_partition >= b->start_partition + b->partitions) return false;
    if (b->start_partition >= a->start_partition + a->partitions) return false;
    int64_t alo, ahi, blo, bhi;
    if (!isa_operand_range(a, &alo, &ahi) || !isa_operand_range(b, &blo, &bhi)) return false;
    if (!same_terms(a, b)) return true;
    return alo < bhi && blo < ahi;
}

// `writer` is an instruction of `f`; `o` may be another function's: addresses on chip are the core's.
static bool writes_over(const isa_function *f, const isa_insn *writer, const isa_operand *o)
{
    for (int k = 0; k < writer->operand_count; k++) {
        if (!isa_operand_has(f, writer, k) || !(isa_operand_access(writer, k) & ISA_WRITE)) continue;
        if (may_overlap(isa_operand_of(f, writer, k), o)) return true;
    }
    return false;
}

bool sim_reads_result(const sim_core *c, const sim_insn *reader, const sim_insn *writer)
{
    const isa_function *f = c->isa->functions.items[reader->function];
    for (int k = 0; k < reader->insn->operand_count; k++)
        if (isa_operand_has(f, reader->insn, k) && (isa_operand_access(reader->insn, k) & ISA_READ) &&
            writes_over(c->isa->functions.items[writer->function], writer->insn, isa_operand_of(f, reader->insn, k)))
            return true;
    return false;
}

static bool is_pe(const isa_insn *i)
{
    return i->op == ISA_matmul || i->op == ISA_transpose;
}

// Marks the matmuls whose stationary is the one that PE already holds: the same operand as the matmul before it, and
// nothing between them, in program order, may have written it. A register change counts as a write.
void sim_find_reuse(const isa_function *f, sim_insn *insns)
{
    uint32_t last = UINT32_MAX;
    for (uint32_t n = 0; n < f->insns.count; n++) {
        const isa_insn *i = &f->insns.items[n];
        if (isa_is_control((isa_op)i->op)) last = UINT32_MAX;
        if (i->op == ISA_reg_move || i->op == ISA_reg_alu || i->op == ISA_reg_load) last = UINT32_MAX;
        if (last != UINT32_MAX && writes_over(f, i, isa_operand_of(f, &f->insns.items[last], 1))) last = UINT32_MAX;
        if (!is_pe(i)) continue;
        if (last != UINT32_MAX) {
            const isa_operand *held = isa_operand_of(f, &f->insns.items[last], 1), *wanted = isa_operand_of(f, i, 1);
            insns[n].reuse = i->op == f->insns.items[last].op && same_operand(held, wanted);
        }
        last = n;
    }
}

