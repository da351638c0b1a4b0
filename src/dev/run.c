// SPDX-License-Identifier: Apache-2.0
// Running a program one instruction at a time. A core runs until it ends or reaches a barrier; then the other core
// does; when both wait at the same barrier, both go on. So the result is defined by the barriers, whoever runs first.
#include "dev/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/rng.h"
#include "isa/text.h"

#define INSN(name, engines, format, cost, gen, hard, fact) [ISA_##name] = dev_exec_##name,
const dev_exec_fn dev_exec_table[ISA_OP_COUNT] = {
#include "isa/isa.def"
};

glia_status dev_fault(const dev_exec *x, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    AUTO_VALUE(glia_strbuf) insn = { 0 };
    isa_print_insn(&insn, x->loaded->program, x->f, x->pc);
    const isa_origin *origin = &x->loaded->program->origins.items[x->insn->origin];
    const bool known = (origin->op && *origin->op) || (origin->where && *origin->where);
    return GLIA_FAIL(FAULT, "core %u, '%s' instruction %u: '%s'%s%s%s%s%s: %s", x->core_index, x->f->name, x->pc,
                     glia_strbuf_str(&insn), known ? " (from '" : "", known && origin->op ? origin->op : "",
                     known ? "' at " : "", known && origin->where ? origin->where : "", known ? ")" : "", text);
}

const char *dev_tensor_name(const dev_exec *x, int slot)
{
    const dev_slot *s = &x->core->at.slots.items[dev_top(&x->core->at)->first_slot + x->operand[slot].tensor];
    return x->loaded->program->tensors.items[s->tensor].name;
}

// ---- frames --------------------------------------------------------------------------------------------------------

static dev_slot global_slot(dev_loaded *l, uint32_t tensor)
{
    dev_buffer *b = dev_tensor_buffer(l, tensor);
    const isa_tensor *t = &l->program->tensors.items[tensor];
    return (dev_slot){ .base = b->data, .shadow = l->shadow[tensor], .bytes = t->bytes, .tensor = tensor,
                       .writable = t->kind != ISA_TENSOR_CONST };
}

glia_status dev_enter(dev_loaded *l, uint32_t core, uint32_t function, const isa_table *table, uint32_t row, dev_exec *x)
{
    dev_position *at = &l->machine->cores[core].at;
    const isa_function *f = l->functions[core][function].f;
    const uint32_t first = at->slots.count;
    for (uint32_t s = 0; s < f->slots.count; s++) {
        const isa_slot *slot = &f->slots.items[s];
        if (slot->kind == ISA_SLOT_GLOBAL) {
            VEC_PUSH(&at->slots) = global_slot(l, slot->index);
            continue;
        }
        const isa_binding *b = &table->items[(size_t)row * table->formals + slot->index];
        dev_slot bound = at->slots.items[dev_top(at)->first_slot + b->slot];
        if (b->offset > bound.bytes || slot->bytes > bound.bytes - b->offset) {
            const char *name = l->program->tensors.items[bound.tensor].name;
            at->slots.count = first;
            return dev_fault(x, "formal '%s' of '%s' needs %llu bytes at offset %llu of '%s', which has %llu",
                             slot->name, f->name, (unsigned long long)slot->bytes, (unsigned long long)b->offset, name,
                             (unsigned long long)bound.bytes);
        }
        bound.base += b->offset;
        if (bound.shadow) bound.shadow += b->offset;
        bound.bytes = slot->bytes;
        VEC_PUSH(&at->slots) = bound;
    }
    VEC_PUSH(&at->frames) = (dev_frame){ .function = function, .first_slot = first, .first_loop = at->loops.count };
    return GLIA_OK;
}

static void leave(dev_position *at)
{
    at->slots.count = dev_top(at)->first_slot;
    at->frames.count--;
    if (at->frames.count == 0) at->state = DEV_DONE;
}

// ---- one instruction -----------------------------------------------------------------------------------------------

static uint64_t mix(uint64_t h, uint64_t v)
{
    const glia_philox_block b = glia_philox(h, v, 0);
    return (uint64_t)b.v[1] << 32 | b.v[0];
}

// The place in the program and the loop iterations name an execution of an instruction, whatever ran before it.
static void key_rounding(dev_exec *x)
{
    const dev_position *at = &x->core->at;
    uint64_t h = mix(0x676c6961u, x->core_index);
    for (uint32_t k = 0; k < at->frames.count; k++) {
        const dev_frame *frame = &at->frames.items[k];
        h = mix(h, (uint64_t)frame->function << 32 | (k + 1 < at->frames.count ? frame->pc - 1 : x->pc));
    }
    for (uint32_t k = 0; k < at->loops.count; k++) h = mix(h, at->loops.items[k].iteration);
    x->round_key = mix(x->options->seed, x->options->execution);
    x->round_counter = h;
}

static glia_status resolve_all(dev_exec *x)
{
    for (int k = 0; k < x->insn->operand_count; k++) {
        if (!dev_in_memory(x->operand[k].space)) continue;
        TRY(dev_resolve(x, k));
        if (x->options->shadow && (isa_operand_access(x->insn, k) & ISA_READ) && !x->operand[k].indirect)
            TRY(dev_shadow_read(x, k, &x->ap[k]));
    }
    return GLIA_OK;
}

static void mark_all(const dev_exec *x)
{
    for (int k = 0; k < x->insn->operand_count; k++) {
        if (!dev_in_memory(x->operand[k].space)) continue;
        // Indirect transfers may skip rows: their handler records what it wrote.
        const bool self = x->insn->op == ISA_dma_gather || x->insn->op == ISA_dma_scatter;
        if (!self && (isa_operand_access(x->insn, k) & ISA_WRITE)) dev_shadow_write(&x->ap[k]);
    }
}

static glia_status step(dev_exec *x, dev_exec_fn execute)
{
    dev_position *at = &x->core->at;
    dev_frame *frame = dev_top(at);
    const dev_function *df = &x->loaded->functions[x->core_index][frame->function];
    if (frame->pc == df->f->insns.count) {
        leave(at);
        return GLIA_OK;
    }
    x->f = df->f;
    x->pc = frame->pc;
    x->insn = &df->f->insns.items[x->pc];
    x->operand = df->f->operands.items + x->insn->operand;
    x->shape = df->shapes + x->insn->operand;
    x->target = &df->target[x->pc];
    if (x->options->observe) x->options->observe(x->options->observe_context, x->core_index, x->f, x->pc);
    if (x->stochastic) key_rounding(x);
    TRY(resolve_all(x));
    frame->pc++;                                // control handlers set it
    const isa_insn *insn = x->insn;
    TRY(execute(x));
    if (x->options->shadow && !isa_is_control((isa_op)insn->op)) mark_all(x);
    return GLIA_OK;
}

static glia_status execute_exactly(dev_exec *x)
{
    return dev_exec_table[x->insn->op](x);
}

glia_status dev_run_core(dev_loaded *l, uint32_t core, const dev_options *options, dev_exec_fn execute)
{
    dev_exec x = { .loaded = l, .machine = l->machine, .core = &l->machine->cores[core], .options = options,
                   .core_index = core, .stochastic = options->stochastic };
    while (x.core->at.state == DEV_RUNNING) TRY(step(&x, execute));
    return GLIA_OK;
}

static glia_status run_core_exactly(dev_loaded *l, uint32_t core, const dev_options *options)
{
    return dev_run_core(l, core, options, execute_exactly);
}

// ---- the cores -----------------------------------------------------------------------------------------------------

void dev_begin(dev_loaded *l, uint32_t core)
{
    dev_core *c = &l->machine->cores[core];
    dev_position *at = &c->at;
    at->frames.count = at->loops.count = at->slots.count = at->trips.count = 0;
    at->state = DEV_RUNNING;
    memset(at->registers, 0, sizeof at->registers);
    memset(c->act_sum, 0, sizeof c->act_sum);
    glia_status s = dev_enter(l, core, 0, NULL, 0, NULL);       // the entry has no formals
    BUG_ON(s);
}

// What the cores do when neither can run on its own: pass a barrier, or never.
static glia_status meet(dev_loaded *l)
{
    dev_position *a = &l->machine->cores[0].at, *b = &l->machine->cores[1].at;
    ENSURE(a->state == DEV_AT_BARRIER && b->state == DEV_AT_BARRIER, HANG,
           "core %d waits at barrier %u, core %d has ended", a->state == DEV_DONE, a->state == DEV_DONE ? b->barrier
           : a->barrier, a->state != DEV_DONE);
    ENSURE(a->barrier == b->barrier, HANG, "core 0 waits at barrier %u, core 1 at barrier %u", a->barrier, b->barrier);
    a->state = b->state = DEV_RUNNING;
    return GLIA_OK;
}

static uint8_t *shadow_pages(size_t bytes)
{
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return map == MAP_FAILED ? NULL : map;
}

// A shadowed run starts with nothing written but inputs, constants, and outputs that alias an input.
static glia_status begin_shadow(dev_loaded *l)
{
    dev_machine *m = l->machine;
    for (int c = 0; c < m->core_count; c++) {
        dev_core *core = &m->cores[c];
        if (!core->sbuf_shadow) core->sbuf_shadow = shadow_pages(m->sbuf_pitch * ISA_PARTITIONS);
        if (!core->psum_shadow) core->psum_shadow = shadow_pages(m->psum_pitch * ISA_PARTITIONS);
        ENSURE(core->sbuf_shadow && core->psum_shadow, EXHAUSTED, "the host has no memory for the shadow maps");
        memset(core->sbuf_shadow, 0, m->sbuf_pitch * ISA_PARTITIONS);
        memset(core->psum_shadow, 0, m->psum_pitch * ISA_PARTITIONS);
    }
    for (uint32_t t = 0; t < l->program->tensors.count; t++) {
        const isa_tensor *tensor = &l->program->tensors.items[t];
        const bool starts_empty = tensor->kind == ISA_TENSOR_SCRATCH ||
                                  (tensor->kind == ISA_TENSOR_OUTPUT && tensor->alias < 0);
        if (!starts_empty || tensor->bytes == 0) continue;
        if (!l->shadow[t]) l->shadow[t] = shadow_pages(tensor->bytes);
        ENSURE(l->shadow[t], EXHAUSTED, "the host has no memory for the shadow map of tensor '%s'", tensor->name);
        memset(l->shadow[t], 0, tensor->bytes);
    }
    return GLIA_OK;
}

glia_status dev_run_cores(dev_loaded *l, const dev_options *options, dev_run_fn run)
{
    dev_machine *m = l->machine;
    for (;;) {
        bool all_done = true;
        for (int c = 0; c < m->core_count; c++) {
            TRY(run(l, (uint32_t)c, options));
            all_done &= m->cores[c].at.state == DEV_DONE;
        }
        if (all_done) return GLIA_OK;
        TRY(meet(l));
    }
}

glia_status dev_run_exact(dev_loaded *l, const dev_options *options)
{
    if (options->shadow) TRY(begin_shadow(l));
    for (int c = 0; c < l->machine->core_count; c++) dev_begin(l, (uint32_t)c);
    return dev_run_cores(l, options, run_core_exactly);
}
