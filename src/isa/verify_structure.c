// SPDX-License-Identifier: Apache-2.0
// Rules of stage STRUCTURE: what every reader of a program relies on. They are judged on programs that came from bytes
// or text, so nothing is assumed here but that the arrays have the lengths that they say.
#include "isa/judge.h"

#include <stdlib.h>
#include <string.h>

// ---- program, tensors ----

void isa_rule_cores(isa_judge *j)
{
    const isa_program *p = j->p;
    if (p->core_count < 1 || p->core_count > ISA_CORES) {
        isa_violation(j, "has %u cores; 1 or %d are possible", p->core_count, ISA_CORES);
        return;
    }
    for (uint32_t c = 0; c < p->core_count; c++) {
        if (p->cores[c].functions.count == 0)
            isa_violation(j, "core %u has no function; the first is its entry", c);
        else if (p->cores[c].functions.items[0]->formal_count)
            isa_violation(j, "the entry function of core %u has %u formals; nothing binds them", c,
                          p->cores[c].functions.items[0]->formal_count);
    }
    if (p->origins.count == 0 || p->origins.items[0].op[0] || p->origins.items[0].where[0])
        isa_violation(j, "its origin 0 is not the empty one");
}

static int compare_u32(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

void isa_rule_group_ranks(isa_judge *j)
{
    for (uint32_t g = 0; g < j->p->groups.count; g++) {
        const isa_group *group = &j->p->groups.items[g];
        if (group->count == 0) {
            isa_violation(j, "replica group %u is empty", g);
            continue;
        }
        uint32_t *sorted = glia_alloc(glia_array_bytes(group->count, sizeof *sorted));
        memcpy(sorted, group->ranks, group->count * sizeof *sorted);
        qsort(sorted, group->count, sizeof *sorted, compare_u32);
        for (uint32_t k = 1; k < group->count; k++)
            if (sorted[k] == sorted[k - 1]) isa_violation(j, "replica group %u names rank %u twice", g, sorted[k]);
        glia_free(sorted);
    }
}

void isa_rule_tensor_type(isa_judge *j)
{
    const isa_tensor *t = j->t;
    if (t->kind >= ISA_TENSOR_KIND_COUNT)
        isa_violation(j, "kind %u is unknown", t->kind);
    else if (t->dtype == NUM_DTYPE_NONE || t->dtype >= NUM_DTYPE_COUNT)
        isa_violation(j, "element type %u is unknown", t->dtype);
    else if (t->rank > ISA_RANK)
        isa_violation(j, "has %u dims, at most %d are possible", t->rank, ISA_RANK);
    for (int d = 0; d < t->rank && d < ISA_RANK; d++)
        if (t->dims[d] < 0) isa_violation(j, "dim %d is %lld", d, (long long)t->dims[d]);
}

void isa_rule_tensor_layout(isa_judge *j)
{
    if (!isa_layout_valid(&j->t->layout, j->t->rank, j->t->dims))
        isa_violation(j, "its layout of %u axes gives some element no place or two", j->t->layout.axis_count);
}

void isa_rule_tensor_bytes(isa_judge *j)
{
    const uint64_t n = isa_layout_elements(&j->t->layout, j->t->rank, j->t->dims);
    uint64_t bits;
    if (__builtin_mul_overflow(n, (uint64_t)num_bits((num_dtype)j->t->dtype), &bits) || bits > INT64_MAX) {
        isa_violation(j, "has %llu elements, more than can be counted in bytes", (unsigned long long)n);
        return;
    }
    const uint64_t bytes = bits / 8 + (bits % 8 != 0);
    if (j->t->bytes != bytes)
        isa_violation(j, "states %llu bytes, its dims, type and layout make %llu", (unsigned long long)j->t->bytes,
                      (unsigned long long)bytes);
}

void isa_rule_tensor_alias(isa_judge *j)
{
    const isa_tensor *t = j->t;
    if (t->alias == -1) return;
    const isa_tensor *items = j->p->tensors.items;
    if (t->kind != ISA_TENSOR_OUTPUT) {
        isa_violation(j, "is no output, yet reuses the storage of tensor %d", t->alias);
        return;
    }
    if (t->alias < 0 || (uint32_t)t->alias >= j->p->tensors.count || items[t->alias].kind != ISA_TENSOR_INPUT) {
        isa_violation(j, "reuses the storage of tensor %d, which is no input", t->alias);
        return;
    }
    if (items[t->alias].bytes != t->bytes)
        isa_violation(j, "has %llu bytes, input '%s' whose storage it reuses %llu", (unsigned long long)t->bytes,
                      items[t->alias].name, (unsigned long long)items[t->alias].bytes);
    for (uint32_t k = 0; k < j->tensor; k++)
        if (items[k].kind == ISA_TENSOR_OUTPUT && items[k].alias == t->alias)
            isa_violation(j, "reuses the storage of input '%s', which output '%s' reuses too", items[t->alias].name,
                          items[k].name);
}

void isa_rule_tensor_core(isa_judge *j)
{
    if (j->t->core == -1) return;
    if (j->t->kind != ISA_TENSOR_SCRATCH)
        isa_violation(j, "is no scratch, yet belongs to core %d", j->t->core);
    else if (j->t->core < 0 || (uint32_t)j->t->core >= j->p->core_count)
        isa_violation(j, "belongs to core %d, the program has %u", j->t->core, j->p->core_count);
}

void isa_rule_const_data(isa_judge *j)
{
    const uint64_t want = j->t->kind == ISA_TENSOR_CONST ? j->t->bytes : 0;
    if (j->t->data.size != want)
        isa_violation(j, "carries %zu bytes of data, should carry %llu", j->t->data.size, (unsigned long long)want);
}

// ---- instructions ----

void isa_rule_opcode(isa_judge *j)
{
    if (j->i->op >= ISA_OP_COUNT)
        isa_violation(j, "operator %u is unknown, there are %d", j->i->op, ISA_OP_COUNT);
    else if (j->i->engine >= ISA_ENGINE_COUNT)
        isa_violation(j, "engine %u is unknown, there are %d", j->i->engine, ISA_ENGINE_COUNT);
}

static bool within(uint32_t first, uint32_t count, uint32_t size)
{
    return first <= size && count <= size - first;
}

void isa_rule_operand_count(isa_judge *j)
{
    const isa_insn *i = j->i;
    if (i->operand_count != j->row->operand_count)
        isa_violation(j, "has %u operands, its format %u", i->operand_count, j->row->operand_count);
    else if (!within(i->operand, i->operand_count, j->f->operands.count))
        isa_violation(j, "operands begin at %u of %u", i->operand, j->f->operands.count);
    else if (!within(i->wait, i->wait_count, j->f->waits.count))
        isa_violation(j, "waits begin at %u of %u", i->wait, j->f->waits.count);
    else if (!within(i->update, i->update_count, j->f->updates.count))
        isa_violation(j, "updates begin at %u of %u", i->update, j->f->updates.count);
}

void isa_rule_attributes(isa_judge *j)
{
    for (int k = 0; k < ISA_ATTRS; k++) {
        const uint8_t value = j->i->attr[k];
        if (k >= j->row->attr_count) {
            if (value) isa_violation(j, "attribute %d is %u, the format has %u", k, value, j->row->attr_count);
            continue;
        }
        const uint32_t count = isa_attr_value_count((isa_attr_kind)j->row->attrs[k].kind);
        if (value >= count)
            isa_violation(j, "attribute '%s' is %u, at most %u", j->row->attrs[k].name, value, count - 1);
    }
    const uint8_t all = (1u << ISA_ENGINE_COUNT) - 1;
    if (j->i->engines & ~all)
        isa_violation(j, "engine mask 0x%x names more than the %d engines", j->i->engines, ISA_ENGINE_COUNT);
    if (j->i->engines && !isa_is_control((isa_op)j->i->op))
        isa_violation(j, "has an engine mask, which is for control alone");
}

void isa_rule_queue(isa_judge *j)
{
    const bool dma = isa_is_dma((isa_op)j->i->op);
    if (dma && j->i->queue >= ISA_QUEUES) isa_violation(j, "names queue %u, there are %d", j->i->queue, ISA_QUEUES);
    if (!dma && j->i->queue != ISA_NO_QUEUE) isa_violation(j, "names queue %u, but is no DMA", j->i->queue);
}

void isa_rule_semaphore(isa_judge *j)
{
    for (uint32_t k = 0; k < j->i->wait_count; k++) {
        const isa_wait *w = &j->f->waits.items[j->i->wait + k];
        if (w->sem >= ISA_SEMAPHORES) isa_violation(j, "waits for semaphore %u, there are %d", w->sem, ISA_SEMAPHORES);
        if (w->relative > 1) isa_violation(j, "wait %u is neither absolute nor relative but %u", k, w->relative);
    }
    for (uint32_t k = 0; k < j->i->update_count; k++) {
        const isa_update *u = &j->f->updates.items[j->i->update + k];
        if (u->sem >= ISA_SEMAPHORES) isa_violation(j, "updates semaphore %u, there are %d", u->sem, ISA_SEMAPHORES);
    }
}

void isa_rule_origin(isa_judge *j)
{
    if (j->i->origin >= j->p->origins.count)
        isa_violation(j, "names origin %u, the program has %u", j->i->origin, j->p->origins.count);
}

// ---- operands ----

void isa_rule_operand_space(isa_judge *j)
{
    const isa_format_operand *format = &j->row->operands[j->slot];
    if (j->o->space == ISA_SPACE_NONE) {
        if (!format->optional) isa_violation(j, "is absent, but '%s' needs it", j->row->name);
        return;
    }
    const bool one = (j->o->space & (j->o->space - 1)) == 0 && j->o->space <= ISA_PATTERN;
    if (!one || !(j->o->space & format->spaces))
        isa_violation(j,
                      "lives in space 0x%x, '%s' takes it from 0x%x (1 hbm, 2 sbuf, 4 psum, 8 register, 16 immediate, "
                      "32 pattern)",
                      j->o->space, j->row->name, format->spaces);
}

void isa_rule_operand_type(isa_judge *j)
{
    const isa_operand *o = j->o;
    if (o->space == ISA_SPACE_NONE) return;
    if (o->dtype == NUM_DTYPE_NONE || o->dtype >= NUM_DTYPE_COUNT)
        isa_violation(j, "element type %u is unknown", o->dtype);
    else if (num_bits((num_dtype)o->dtype) % 8)
        isa_violation(j, "has elements of %d bits, '%s'; they are addressed by bytes", num_bits((num_dtype)o->dtype),
                      num_dtype_get((num_dtype)o->dtype)->name);
}

void isa_rule_operand_dims(isa_judge *j)
{
    const unsigned fields = isa_operand_fields(j->o->space);
    if (j->o->rank > ((fields & ISA_FIELD_DIMS) ? ISA_DIMS : 0)) {
        isa_violation(j, "has %u dims, at most %d", j->o->rank, (fields & ISA_FIELD_DIMS) ? ISA_DIMS : 0);
        return;
    }
    if (j->o->term_count > ((fields & ISA_FIELD_TERMS) ? ISA_TERMS : 0))
        isa_violation(j, "has %u dynamic terms, at most %d", j->o->term_count,
                      (fields & ISA_FIELD_TERMS) ? ISA_TERMS : 0);
    for (int k = 0; k < j->o->rank; k++)
        if (j->o->count[k] == 0) isa_violation(j, "dim %d is empty", k);
}

void isa_rule_operand_register(isa_judge *j)
{
    if (j->o->space == ISA_REG && j->o->tensor >= ISA_REGISTERS)
        isa_violation(j, "is register %u, there are %d", j->o->tensor, ISA_REGISTERS);
    for (int k = 0; k < j->o->term_count; k++)
        if (j->o->terms[k].reg >= ISA_REGISTERS)
            isa_violation(j, "adds register %u, there are %d", j->o->terms[k].reg, ISA_REGISTERS);
}

void isa_rule_operand_partitions(isa_judge *j)
{
    const isa_operand *o = j->o;
    if (!isa_on_chip(o)) {
        if (o->partitions || o->start_partition) isa_violation(j, "has partitions, but is not on chip");
    } else if (o->partitions < 1 || o->start_partition + o->partitions > ISA_PARTITIONS) {
        isa_violation(j, "has partitions %u to %u, there are %d", o->start_partition,
                      o->start_partition + o->partitions, ISA_PARTITIONS);
    }
}

void isa_rule_operand_slot(isa_judge *j)
{
    if (j->o->space == ISA_HBM && j->o->tensor >= j->f->slots.count)
        isa_violation(j, "names slot %u, the function has %u", j->o->tensor, j->f->slots.count);
}

void isa_rule_operand_indirect(isa_judge *j)
{
    const int table = j->i->op == ISA_dma_gather ? 1 : j->i->op == ISA_dma_scatter ? 0 : -1;
    if (j->slot != table) {
        if (j->o->indirect) isa_violation(j, "is indirect, but is no table of a gather or scatter");
        return;
    }
    if (j->o->indirect != 1)
        isa_violation(j, "is the table, but not indirect");
    else if (j->o->space != ISA_HBM)
        isa_violation(j, "is the table, but not in HBM");
    else if (j->o->rank == 0)
        isa_violation(j, "is the table, but has no rows: its outermost dim");
}

void isa_rule_operand_packing(isa_judge *j)
{
    if (j->o->packing) isa_violation(j, "has packing %u, only plain elements (0) are known", j->o->packing);
}

// ---- functions ----

void isa_rule_slots(isa_judge *j)
{
    const isa_function *f = j->f;
    uint32_t formals = 0;
    for (uint32_t s = 0; s < f->slots.count; s++) {
        const isa_slot *slot = &f->slots.items[s];
        const bool global = slot->kind == ISA_SLOT_GLOBAL;
        if (slot->kind > ISA_SLOT_FORMAL)
            isa_violation(j, "slot %u has the unknown kind %u", s, slot->kind);
        else if (global && slot->index >= j->p->tensors.count)
            isa_violation(j, "slot %u names tensor %u, the program has %u", s, slot->index, j->p->tensors.count);
        else if (!global && (slot->access < ISA_READ || slot->access > ISA_RW))
            isa_violation(j, "slot %u has the unknown access %u", s, slot->access);
        // Formals come in order, so that each has exactly one slot.
        else if (!global && slot->index != formals++)
            isa_violation(j, "slot %u is formal %u, the next in order is %u", s, slot->index, formals - 1);
    }
    if (formals != f->formal_count) isa_violation(j, "has %u formals, slots for %u", f->formal_count, formals);
    if (f->slots.count > UINT16_MAX + 1u) isa_violation(j, "has %u slots, at most 65,536", f->slots.count);
}

static uint8_t opener_of(uint8_t op)
{
    return op == ISA_end_for ? ISA_for : op == ISA_end_while ? ISA_while : ISA_if;
}

void isa_rule_nesting(isa_judge *j)
{
    struct {
        uint8_t op;
        bool has_else;
    } stack[ISA_CONTROL_DEPTH];
    int depth = 0;
    for (uint32_t n = 0; n < j->f->insns.count; n++) {
        const uint8_t op = j->f->insns.items[n].op;
        const char *name = isa_row_get((isa_op)op)->name;
        switch (op) {
        case ISA_for:
        case ISA_while:
        case ISA_if:
            if (depth == ISA_CONTROL_DEPTH) {
                isa_violation(j, "instruction %u '%s' is nested more than %d deep", n, name, ISA_CONTROL_DEPTH);
                return;
            }
            stack[depth].op = op;
            stack[depth++].has_else = false;
            break;
        case ISA_else:
            if (depth == 0 || stack[depth - 1].op != ISA_if || stack[depth - 1].has_else) {
                isa_violation(j, "instruction %u 'else' has no 'if'", n);
                return;
            }
            stack[depth - 1].has_else = true;
            break;
        case ISA_end_for:
        case ISA_end_while:
        case ISA_end_if:
            if (depth == 0 || stack[depth - 1].op != opener_of(op)) {
                if (depth)
                    isa_violation(j, "instruction %u '%s' closes '%s'", n, name,
                                  isa_row_get((isa_op)stack[depth - 1].op)->name);
                else
                    isa_violation(j, "instruction %u '%s' has nothing to close", n, name);
                return;
            }
            depth--;
            break;
        default:
            break; // what is not control
        }
    }
    if (depth) isa_violation(j, "'%s' is never closed", isa_row_get((isa_op)stack[depth - 1].op)->name);
}

// The calls of the function, one after another; NULL after the last.
static const isa_insn *next_call(isa_judge *j, uint32_t *n)
{
    for (; *n < j->f->insns.count; (*n)++)
        if (j->f->insns.items[*n].op == ISA_call) {
            j->insn = *n;
            return j->i = &j->f->insns.items[(*n)++];
        }
    return j->i = NULL;
}

void isa_rule_call_target(isa_judge *j)
{
    const uint32_t count = j->p->cores[j->core].functions.count;
    for (uint32_t n = 0; next_call(j, &n);) {
        const int64_t target = isa_operand_of(j->f, j->i, 0)->offset;
        if (target <= (int64_t)j->function || target >= (int64_t)count)
            isa_violation(j, "function %u calls function %lld of %u; a greater number is needed, so that calls end",
                          j->function, (long long)target, count);
    }
}

void isa_rule_call_table(isa_judge *j)
{
    const isa_core *core = &j->p->cores[j->core];
    for (uint32_t n = 0; next_call(j, &n);) {
        const isa_function *callee = core->functions.items[isa_operand_of(j->f, j->i, 0)->offset];
        const isa_operand *table = isa_operand_of(j->f, j->i, 1), *row = isa_operand_of(j->f, j->i, 2);
        if (table->space == ISA_SPACE_NONE) {
            if (callee->formal_count)
                isa_violation(j, "binds none of the %u formals of '%s'", callee->formal_count, callee->name);
            continue;
        }
        if (table->offset < 0 || table->offset >= (int64_t)core->tables.count) {
            isa_violation(j, "names table %lld, the core has %u", (long long)table->offset, core->tables.count);
            continue;
        }
        const isa_table *t = &core->tables.items[table->offset];
        if (t->formals != callee->formal_count)
            isa_violation(j, "table %lld has %u columns, '%s' has %u formals", (long long)table->offset, t->formals,
                          callee->name, callee->formal_count);
        if (t->rows == 0) isa_violation(j, "table %lld has no rows", (long long)table->offset);
        if (row->space == ISA_SPACE_NONE && t->rows != 1)
            isa_violation(j, "names no row of table %lld, which has %u", (long long)table->offset, t->rows);
        if (row->space == ISA_IMM && (row->offset < 0 || row->offset >= (int64_t)t->rows))
            isa_violation(j, "names row %lld of table %lld, which has %u", (long long)row->offset,
                          (long long)table->offset, t->rows);
    }
}

static uint64_t slot_bytes(const isa_program *p, const isa_slot *s)
{
    return s->kind == ISA_SLOT_GLOBAL ? p->tensors.items[s->index].bytes : s->bytes;
}

static void check_binding(isa_judge *j, const isa_function *callee, uint32_t row, uint32_t formal, isa_binding b)
{
    if (b.slot >= j->f->slots.count) {
        isa_violation(j, "row %u binds formal %u to slot %u, the caller has %u", row, formal, b.slot,
                      j->f->slots.count);
        return;
    }
    const isa_slot *from = &j->f->slots.items[b.slot];
    const uint64_t have = slot_bytes(j->p, from);
    for (uint32_t s = 0; s < callee->slots.count; s++) {
        const isa_slot *to = &callee->slots.items[s];
        if (to->kind != ISA_SLOT_FORMAL || to->index != formal) continue;
        if (b.offset > have || to->bytes > have - b.offset)
            isa_violation(j, "row %u binds formal '%s' of %llu bytes to '%s' of %llu, from byte %llu", row, to->name,
                          (unsigned long long)to->bytes, from->name, (unsigned long long)have,
                          (unsigned long long)b.offset);
    }
}

// All rows, whichever the calls name: the row may be in a register.
void isa_rule_call_slots(isa_judge *j)
{
    const isa_core *core = &j->p->cores[j->core];
    for (uint32_t n = 0; next_call(j, &n);) {
        const isa_operand *table = isa_operand_of(j->f, j->i, 1);
        if (table->space == ISA_SPACE_NONE) continue;
        const isa_function *callee = core->functions.items[isa_operand_of(j->f, j->i, 0)->offset];
        const isa_table *t = &core->tables.items[table->offset];
        for (uint32_t r = 0; r < t->rows && j->violations < ISA_VIOLATIONS; r++)
            for (uint32_t c = 0; c < t->formals; c++)
                check_binding(j, callee, r, c, t->items[(size_t)r * t->formals + c]);
    }
}

void isa_rule_cc_group(isa_judge *j)
{
    for (uint32_t n = 0; n < j->f->insns.count; n++) {
        const isa_insn *i = &j->f->insns.items[n];
        if (isa_row_get((isa_op)i->op)->hard != ISA_CC) continue;
        const int64_t group = isa_operand_of(j->f, i, 2)->offset;
        j->i = i;
        j->insn = n;
        if (group < 0 || group >= (int64_t)j->p->groups.count)
            isa_violation(j, "names replica group %lld, the program has %u", (long long)group, j->p->groups.count);
    }
    j->i = NULL;
}
