// SPDX-License-Identifier: Apache-2.0
// Equal stretches of straight line, in a row: a stack of layers as compilers write it, a call with what prepares it, again
// and again. As a loop it can be skipped (steady.c). Two stretches are equal when each instruction of the second takes
// and does in time what its counterpart does: same operators, engines, shapes and addresses on chip; tensors and rows of
// binding tables may differ; and each wait asks for as much more as one stretch adds to its semaphore, so that both wait
// alike relative to where they begin.
#include "sim/lower.h"

enum { LEAST = 3, LOOKAHEAD = 8 };      // stretches that make a loop; calls to look ahead for the next equal one

static bool equal_operand(const isa_insn *i, int slot, const isa_operand *a, const isa_operand *b)
{
    if (i->op == ISA_call && slot > 0) return a->space == b->space;     // table and row: which tensors
    if (a->space != b->space || a->dtype != b->dtype || a->rank != b->rank || a->term_count != b->term_count) return false;
    if (a->start_partition != b->start_partition || a->partitions != b->partitions || a->indirect != b->indirect) return false;
    if (a->space != ISA_HBM && (a->offset != b->offset || a->tensor != b->tensor)) return false;
    for (int k = 0; k < a->rank; k++)
        if (a->step[k] != b->step[k] || a->count[k] != b->count[k]) return false;
    for (int k = 0; k < a->term_count; k++)
        if (a->terms[k].reg != b->terms[k].reg || a->terms[k].scale != b->terms[k].scale) return false;
    return true;
}

static bool equal_insn(const lowering *l, const isa_insn *a, const isa_insn *b)
{
    if (a->op != b->op || a->engine != b->engine || a->queue != b->queue || a->engines != b->engines ||
        a->priority != b->priority || a->operand_count != b->operand_count) return false;
    if (isa_is_control((isa_op)a->op) && a->op != ISA_call) return false;
    const bool any_attr = a->op == ISA_barrier && l->s->ordered_barriers;       // which barrier: the next
    for (int k = 0; k < ISA_ATTRS; k++)
        if (a->attr[k] != b->attr[k] && !any_attr) return false;
    for (int k = 0; k < a->operand_count; k++)
        if (!equal_operand(a, k, isa_operand_of(l->f, a, k), isa_operand_of(l->f, b, k))) return false;
    return true;
}

static bool equal_semaphores(const lowering *l, const isa_insn *a, const isa_insn *b, const int64_t *delta)
{
    if (a->wait_count != b->wait_count || a->update_count != b->update_count) return false;
    for (int k = 0; k < a->update_count; k++) {
        const isa_update *x = &l->f->updates.items[a->update + k], *y = &l->f->updates.items[b->update + k];
        if (x->sem != y->sem || x->value != y->value) return false;
    }
    for (int k = 0; k < a->wait_count; k++) {
        const isa_wait *x = &l->f->waits.items[a->wait + k], *y = &l->f->waits.items[b->wait + k];
        if (x->sem != y->sem || !x->relative || !y->relative) return false;
        if ((int64_t)y->value - x->value != delta[l->c->semaphore_of[x->sem]]) return false;
    }
    return true;
}

static bool equal_stretches(const lowering *l, uint32_t first, uint32_t length, const int64_t *delta)
{
    if (first + 2 * length > l->f->insns.count) return false;
    for (uint32_t n = first; n < first + length; n++) {
        const isa_insn *a = &l->f->insns.items[n], *b = &l->f->insns.items[n + length];
        if (!equal_insn(l, a, b) || !equal_semaphores(l, a, b, delta)) return false;
    }
    return true;
}

// Relative waits of the stretch count from its own begin from now on.
static void rebase_waits(lowering *l, uint32_t first, uint32_t length)
{
    range_sum before = { .total = sim_new_sums(l) };
    sim_sum_range(l, 0, first, 1, &before);
    for (uint32_t n = first; n < first + length; n++) {
        const sim_range waits = l->c->insns.items[l->out->first_insn + n].waits;
        for (uint32_t w = 0; w < waits.count; w++) {
            sim_wait *x = &l->c->waits.items[waits.first + w];
            x->value -= before.total[x->sem];
        }
    }
}

// The longest run of stretches of `length` from `first` on; is it a loop?
static bool try_group(lowering *l, uint32_t first, uint32_t length)
{
    range_sum sum = { .total = sim_new_sums(l) };
    sim_sum_range(l, first, first + length, 1, &sum);
    uint32_t count = 1;
    while (equal_stretches(l, first + (count - 1) * length, length, sum.total)) count++;
    if (count < LEAST) return false;
    const uint32_t control = (uint32_t)sim_add_control(l, first, first + count * length);
    sim_control *k = &l->c->controls.items[control];
    k->count = count;
    k->frame = true;
    k->mentions = sum.mentions;
    for (uint32_t n = first; n < first + length; n++)
        if (l->f->insns.items[n].op == ISA_call) k->mentions |= l->f->insns.items[n].engines;
    k->steady = !sum.absolute;
    const sim_range delta = sim_list_of(l->c, sum.total);
    l->c->controls.items[control].delta = delta;
    rebase_waits(l, first, length);
    VEC_PUSH(&l->groups) = (sim_group){ control, length };
    return true;
}

static uint32_t next_call(const lowering *l, uint32_t from)
{
    while (from < l->f->insns.count && l->f->insns.items[from].op != ISA_call) from++;
    return from;
}

static uint32_t callee(const lowering *l, uint32_t call)
{
    return (uint32_t)isa_operand_of(l->f, &l->f->insns.items[call], 0)->offset;
}

// A stretch that ends with `call`: its length is the distance to one of the next calls of the same function.
static bool group_at_call(lowering *l, uint32_t call, uint32_t begin)
{
    uint32_t later = next_call(l, call + 1);
    for (int n = 0; n < LOOKAHEAD && later < l->f->insns.count; n++, later = next_call(l, later + 1)) {
        const uint32_t length = later - call;
        if (callee(l, later) != callee(l, call) || call + 1 < begin + length) continue;
        if (try_group(l, call + 1 - length, length)) return true;
    }
    return false;
}

void sim_find_groups(lowering *l)
{
    if (l->s->options.trips && l->out->dynamic) return;         // a trace may decide differently each time
    uint32_t begin = 0, depth = 0;
    for (uint32_t n = 0; n < l->f->insns.count; n++) {
        const isa_op op = (isa_op)l->f->insns.items[n].op;
        depth += op == ISA_for || op == ISA_while || op == ISA_if;
        depth -= op == ISA_end_for || op == ISA_end_while || op == ISA_end_if;
        if (op != ISA_call || depth || !group_at_call(l, n, begin)) continue;
        begin = l->c->controls.items[l->groups.items[l->groups.count - 1].control].end;
        n = begin - 1;
    }
}

const sim_group *sim_group_at(const lowering *l, uint32_t insn)
{
    for (uint32_t k = 0; k < l->groups.count; k++)
        if (l->c->controls.items[l->groups.items[k].control].insn == insn) return &l->groups.items[k];
    return NULL;
}
