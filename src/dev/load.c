// SPDX-License-Identifier: Apache-2.0
// Preparing a program for a machine: judge it (shapes.c, nesting here, defuse.c), find where control jumps to, make room.
// And the one entry to execution.
#include "dev/machine.h"

#include <string.h>

// ---- control structure ---------------------------------------------------------------------------------------------

static bool opens(uint8_t op) { return op == ISA_for || op == ISA_while || op == ISA_if; }
static bool closes(uint8_t op) { return op == ISA_end_for || op == ISA_end_while || op == ISA_end_if; }

static uint8_t closer_of(uint8_t op)
{
    return op == ISA_for ? ISA_end_for : op == ISA_while ? ISA_end_while : ISA_end_if;
}

typedef VEC(uint32_t) pc_stack;

static glia_status nesting_error(const dev_loaded *l, uint32_t core, const isa_function *f, uint32_t pc, const char *what)
{
    (void)l;
    return GLIA_FAIL(INVALID, "core %u, '%s' instruction %u, '%s': %s", core, f->name, pc,
                     isa_row_get((isa_op)f->insns.items[pc].op)->name, what);
}

// One instruction of the walk; `open` holds the pcs of for, while, if or else that wait for their end.
static glia_status match_one(const dev_loaded *l, uint32_t core, dev_function *df, uint32_t pc, pc_stack *open)
{
    const isa_function *f = df->f;
    const uint8_t op = f->insns.items[pc].op;
    if (opens(op)) {
        VEC_PUSH(open) = pc;
        return GLIA_OK;
    }
    if (op != ISA_else && !closes(op)) return GLIA_OK;
    if (open->count == 0) return nesting_error(l, core, f, pc, "it closes nothing");
    const uint32_t head = open->items[open->count - 1];
    const uint8_t head_op = f->insns.items[head].op;
    if (op == ISA_else) {
        if (head_op != ISA_if) return nesting_error(l, core, f, pc, "it belongs to no 'if'");
        df->target[head] = pc;
        open->items[open->count - 1] = pc;
        return GLIA_OK;
    }
    if (closer_of(head_op) != op) return nesting_error(l, core, f, pc, "it closes something else");
    df->target[head] = pc;
    df->target[pc] = head;
    open->count--;
    return GLIA_OK;
}

static glia_status match_function(const dev_loaded *l, uint32_t core, dev_function *df, pc_stack *open)
{
    for (uint32_t pc = 0; pc < df->f->insns.count; pc++) TRY(match_one(l, core, df, pc, open));
    if (open->count)
        return nesting_error(l, core, df->f, open->items[open->count - 1], "it is not closed");
    return GLIA_OK;
}

glia_status dev_find_targets(dev_loaded *l)
{
    pc_stack open = { 0 };
    glia_status s = GLIA_OK;
    for (uint32_t c = 0; c < l->program->core_count; c++) {
        const isa_core *core = &l->program->cores[c];
        l->functions[c] = ARENA_ARRAY(l->arena, dev_function, core->functions.count);
        for (uint32_t k = 0; k < core->functions.count && !s; k++) {
            dev_function *df = &l->functions[c][k];
            df->f = core->functions.items[k];
            df->target = ARENA_ARRAY(l->arena, uint32_t, df->f->insns.count);
            open.count = 0;
            s = match_function(l, c, df, &open);
        }
    }
    VEC_FREE(&open);
    return s;
}

// ---- tensors -------------------------------------------------------------------------------------------------------

static glia_status check_tensors(const dev_loaded *l)
{
    const isa_program *p = l->program;
    for (uint32_t t = 0; t < p->tensors.count; t++) {
        const isa_tensor *tensor = &p->tensors.items[t];
        ENSURE(tensor->alias < (int32_t)p->tensors.count, INVALID, "tensor '%s' aliases tensor %d of %u", tensor->name,
               tensor->alias, p->tensors.count);
        ENSURE(tensor->alias < 0 || p->tensors.items[tensor->alias].bytes >= tensor->bytes, INVALID,
               "tensor '%s' of %llu bytes aliases '%s' of %llu", tensor->name, (unsigned long long)tensor->bytes,
               p->tensors.items[tensor->alias].name, (unsigned long long)p->tensors.items[tensor->alias].bytes);
        ENSURE(tensor->kind != ISA_TENSOR_CONST || tensor->data.size >= tensor->bytes, INVALID,
               "constant '%s' has %llu bytes, %llu are in the program", tensor->name, (unsigned long long)tensor->bytes,
               (unsigned long long)tensor->data.size);
    }
    return GLIA_OK;
}

static glia_status check_slots(const dev_loaded *l)
{
    for (uint32_t c = 0; c < l->program->core_count; c++) {
        const isa_core *core = &l->program->cores[c];
        ENSURE(core->functions.count > 0, INVALID, "core %u has no entry function", c);
        ENSURE(core->functions.items[0]->formal_count == 0, INVALID, "the entry of core %u has formals", c);
        for (uint32_t k = 0; k < core->functions.count; k++) {
            const isa_function *f = core->functions.items[k];
            for (uint32_t s = 0; s < f->slots.count; s++) {
                const isa_slot *slot = &f->slots.items[s];
                const uint32_t bound = slot->kind == ISA_SLOT_GLOBAL ? l->program->tensors.count : f->formal_count;
                ENSURE(slot->index < bound, INVALID, "core %u, '%s': slot '%s' names %s %u of %u", c, f->name,
                       slot->name, slot->kind == ISA_SLOT_GLOBAL ? "tensor" : "formal", slot->index, bound);
            }
        }
    }
    return GLIA_OK;
}

// Which tensors some instruction may write. A formal that is written marks every tensor that any table binds to it.
static void find_written(dev_loaded *l)
{
    for (uint32_t c = 0; c < l->program->core_count; c++) {
        const isa_core *core = &l->program->cores[c];
        // Callees come later, so formals that callees write are known when callers are looked at from the end.
        for (uint32_t k = core->functions.count; k-- > 0;) {
            const isa_function *f = core->functions.items[k];
            uint8_t *slots = l->functions[c][k].writes = ARENA_ARRAY(l->arena, uint8_t, f->slots.count);
            for (uint32_t pc = 0; pc < f->insns.count; pc++) {
                const isa_insn *i = &f->insns.items[pc];
                for (int o = 0; o < i->operand_count; o++) {
                    const isa_operand *operand = isa_operand_of(f, i, o);
                    if (operand->space == ISA_HBM && (isa_operand_access(i, o) & ISA_WRITE)) slots[operand->tensor] = 1;
                }
                if (i->op != ISA_call || !isa_operand_has(f, i, 1)) continue;
                const uint32_t callee = (uint32_t)isa_operand_of(f, i, 0)->offset;
                const isa_function *g = core->functions.items[callee];
                const isa_table *t = &core->tables.items[isa_operand_of(f, i, 1)->offset];
                for (uint32_t s = 0; s < g->slots.count; s++)
                    for (uint32_t r = 0; g->slots.items[s].kind == ISA_SLOT_FORMAL && r < t->rows; r++)
                        if (l->functions[c][callee].writes[s])
                            slots[t->items[(size_t)r * t->formals + g->slots.items[s].index].slot] = 1;
            }
            for (uint32_t s = 0; s < f->slots.count; s++) {
                if (!slots[s] || f->slots.items[s].kind != ISA_SLOT_GLOBAL) continue;
                const uint32_t tensor = f->slots.items[s].index;
                l->written[tensor] |= (uint8_t)(1u << c);
            }
        }
    }
    for (uint32_t t = 0; t < l->program->tensors.count; t++) {      // an aliased output and its input are one storage
        const int32_t alias = l->program->tensors.items[t].alias;
        if (alias >= 0) l->written[t] = l->written[alias] |= l->written[t];
    }
}

static glia_status refuse_written_constants(const dev_loaded *l)
{
    for (uint32_t t = 0; t < l->program->tensors.count; t++)
        ENSURE(!l->written[t] || l->program->tensors.items[t].kind != ISA_TENSOR_CONST, INVALID,
               "constant '%s' is written through a call", l->program->tensors.items[t].name);
    return GLIA_OK;
}

// ---- load ----------------------------------------------------------------------------------------------------------

void dev_unload(dev_loaded *l)
{
    if (!l) return;
    dev_fast_destroy(l->fast);
    if (l->own) dev_tensors_fini(l);
    glia_arena_destroy(l->arena);
    glia_free(l);
}

static void make_shapes(dev_loaded *l)
{
    for (uint32_t c = 0; c < l->program->core_count; c++) {
        for (uint32_t k = 0; k < l->program->cores[c].functions.count; k++) {
            dev_function *df = &l->functions[c][k];
            df->shapes = ARENA_ARRAY(l->arena, dev_shape, df->f->operands.count);
            for (uint32_t pc = 0; pc < df->f->insns.count; pc++) {
                const isa_insn *i = &df->f->insns.items[pc];
                for (uint32_t o = i->operand; o < i->operand + i->operand_count; o++)
                    if (dev_in_memory(df->f->operands.items[o].space))
                        df->shapes[o] = dev_shape_of(l->machine, &df->f->operands.items[o]);
            }
        }
    }
}

static void make_rows(dev_machine *m, size_t elements)
{
    for (int c = 0; c < m->core_count; c++) {
        dev_core *core = &m->cores[c];
        if (core->row_elements >= elements) continue;
        glia_free(core->rows);
        core->rows = glia_alloc(glia_array_bytes(glia_array_bytes(DEV_ROWS, elements), sizeof(float)));
        core->row_elements = elements;
    }
}

glia_status dev_load(dev_machine *m, const isa_program *p, dev_mode mode, dev_loaded **out)
{
    *out = NULL;
    ENSURE(p->core_count == (uint32_t)m->core_count, INVALID,
           "'%s' is a program for %u physical cores, the machine has %d\nhint: load it with the logical core size (LNC) "
           "that it was compiled for", p->name, p->core_count, m->core_count);
    AUTO(dev_loaded) l = glia_alloc(sizeof *l);
    l->machine = m;
    l->program = p;
    l->mode = mode;
    l->arena = glia_arena_create();
    TRY(check_tensors(l));
    TRY(check_slots(l));
    l->bound = ARENA_ARRAY(l->arena, dev_buffer *, p->tensors.count);
    l->own = ARENA_ARRAY(l->arena, dev_buffer, p->tensors.count);
    l->shadow = ARENA_ARRAY(l->arena, uint8_t *, p->tensors.count);
    l->written = ARENA_ARRAY(l->arena, uint8_t, p->tensors.count);
    size_t row_elements = 1024;
    TRY(dev_check_shapes(l, &row_elements));
    TRY(dev_find_targets(l));
    make_shapes(l);
    find_written(l);
    TRY(refuse_written_constants(l));
    TRY(dev_check_defuse(l));
    make_rows(m, row_elements);
    if (mode == DEV_BOUND) TRY(dev_fast_create(l, &l->fast));
    *out = TAKE(l);
    return GLIA_OK;
}

static void collect_trace(dev_loaded *l, dev_control_trace *trace)
{
    for (int c = 0; c < l->machine->core_count; c++) {
        const dev_position *at = &l->machine->cores[c].at;
        for (uint32_t k = 0; k < at->trips.count; k++) VEC_PUSH(&trace->trips) = at->trips.items[k];
    }
}

glia_status dev_execute(dev_loaded *l, const dev_options *options)
{
    TRY(dev_tensors_ready(l));
    glia_status s = l->mode == DEV_EXACT ? dev_run_exact(l, options) : dev_run_bound(l, options);
    dev_tensors_written(l);
    if (!s && options->trace) collect_trace(l, options->trace);
    return s;
}
