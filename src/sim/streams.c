// SPDX-License-Identifier: Apache-2.0
// From a program-ordered list to what each engine walks.
//
// An engine's stream through a function has a step for each of its instructions and for each control instruction that
// it takes part in. What the others do between two control steps is folded into the later one as the sum of their
// semaphore updates: that keeps the program-order count from which relative waits are measured, at no cost per
// instruction. Whole loops and calls that an engine has nothing to do in are folded too. Equal stretches in a row become
// a loop (groups.c), so that a stack of layers is one, however the compiler wrote it.
//
// Relies on isa_check_structure: control is closed in order, calls go to later functions.
#include "sim/lower.h"

#include <string.h>

enum { NO_CONTROL = -1, MAX_DEPTH = 64 };

static bool takes_part(const isa_insn *i, int engine)
{
    return i->engines >> engine & 1;
}

// ---- semaphores, tensors -------------------------------------------------------------------------------------------

static void number_semaphores(sim_core *c)
{
    bool used[ISA_SEMAPHORES] = { false };
    for (uint32_t k = 0; k < c->isa->functions.count; k++) {
        const isa_function *f = c->isa->functions.items[k];
        for (uint32_t w = 0; w < f->waits.count; w++) used[f->waits.items[w].sem] = true;
        for (uint32_t u = 0; u < f->updates.count; u++) used[f->updates.items[u].sem] = true;
    }
    for (uint32_t name = 0; name < ISA_SEMAPHORES; name++) {
        if (!used[name]) continue;
        c->semaphore_of[name] = (uint16_t)c->semaphore_count;
        c->semaphore_name[c->semaphore_count++] = (uint16_t)name;
    }
}

// Two engines that share a port take it in program order, as the compiler makes them on generation 2 (docs/facts/core.md). The
// order is kept with semaphores of sim's own, one for each engine and port: how many of the engine's uses are over.
// Arrival order would be closer to an arbiter's, but then a program can end earlier because something takes longer.
static void number_ports(sim_core *c)
{
    uint16_t used[ISA_ENGINE_COUNT] = { 0 };
    for (uint32_t k = 0; k < c->insns.count; k++) used[c->insns.items[k].engine] |= c->insns.items[k].ports_used;
    static const struct { uint8_t engine, rival; uint16_t ports; } pairs[] = {
        { ISA_DVE, ISA_ACT, (1u << ISA_PSUM_BANKS) - 1 }, { ISA_DVE, ISA_POOL, 1u << SIM_PORT_SBUF },
    };
    c->named_semaphores = c->semaphore_count;
    for (size_t p = 0; p < COUNT_OF(pairs); p++) {
        const uint16_t shared = used[pairs[p].engine] & used[pairs[p].rival] & pairs[p].ports;
        for (int port = 0; port < SIM_PORTS; port++) {
            if (!(shared >> port & 1)) continue;
            c->port_semaphore[pairs[p].engine][port] = (uint16_t)++c->semaphore_count;
            c->port_semaphore[pairs[p].rival][port] = (uint16_t)++c->semaphore_count;
        }
    }
}

static bool is_shared(const sim_core *c, const sim_insn *i, int port)
{
    return (i->ports_used >> port & 1) && c->port_semaphore[i->engine][port] != 0;
}

static void list_ports(sim_core *c, sim_insn *i)
{
    i->ports.first = c->deltas.count;
    for (int port = 0; port < SIM_PORTS; port++)
        if (is_shared(c, i, port)) VEC_PUSH(&c->deltas) = (sim_delta){ (uint16_t)(c->port_semaphore[i->engine][port] - 1), 1 };
    i->ports.count = c->deltas.count - i->ports.first;
}

static uint16_t rival_semaphore(const sim_core *c, const sim_insn *i, int port)
{
    const int rival = port == SIM_PORT_SBUF ? ISA_DVE + ISA_POOL - i->engine : ISA_DVE + ISA_ACT - i->engine;
    return (uint16_t)(c->port_semaphore[rival][port] - 1);
}

static int32_t tensor_of_slot(const isa_function *f, const int32_t *formals, uint32_t slot)
{
    if (slot >= f->slots.count) return -1;
    const isa_slot *s = &f->slots.items[slot];
    return s->kind == ISA_SLOT_GLOBAL ? (int32_t)s->index : formals ? formals[s->index] : -1;
}

// What the formals of each function stand for, by its first caller: enough to tell weights from spills.
static int32_t **bind_formals(sim *s, const sim_core *c)
{
    const uint32_t functions = c->isa->functions.count;
    int32_t **formals = ARENA_ARRAY(s->arena, int32_t *, functions);
    for (uint32_t k = 0; k < functions; k++) {
        const isa_function *f = c->isa->functions.items[k];
        for (uint32_t n = 0; n < f->insns.count; n++) {
            const isa_insn *i = &f->insns.items[n];
            if (i->op != ISA_call || !isa_operand_has(f, i, 1)) continue;
            const uint32_t callee = (uint32_t)isa_operand_of(f, i, 0)->offset;
            const uint32_t count = c->isa->functions.items[callee]->formal_count;
            const isa_table *table = &c->isa->tables.items[isa_operand_of(f, i, 1)->offset];
            if (formals[callee] || !count || !table->rows) continue;
            formals[callee] = ARENA_ARRAY(s->arena, int32_t, count);
            for (uint32_t a = 0; a < count; a++)
                formals[callee][a] = a < table->formals ? tensor_of_slot(f, formals[k], table->items[a].slot) : -1;
        }
    }
    return formals;
}

// Traffic by what the tensor is: inputs, weights, outputs, and scratch, which is where spills go.
static void count_by_tensor(const lowering *l, sim_insn *i)
{
    for (int slot = 0; slot < 2; slot++) {
        const isa_operand *o = isa_operand_of(l->f, i->insn, slot);
        const int32_t tensor = o->space == ISA_HBM ? tensor_of_slot(l->f, l->formals, o->tensor) : -1;
        if (tensor < 0) continue;
        const isa_tensor *t = &l->s->program->tensors.items[tensor];
        const int64_t bytes = i->work->dma_bytes;
        const isa_operand *other = isa_operand_of(l->f, i->insn, !slot);
        if (t->kind == ISA_TENSOR_SCRATCH && other->space == ISA_SBUF)
            *(slot == 0 ? &i->work->spill_save : &i->work->spill_reload) += bytes;
        if (t->weight || t->kind == ISA_TENSOR_CONST) i->work->weight_bytes += slot == 1 ? bytes : 0;
        else if (t->kind == ISA_TENSOR_INPUT) i->work->input_bytes += slot == 1 ? bytes : 0;
        if (t->kind == ISA_TENSOR_OUTPUT) i->work->output_bytes += slot == 0 ? bytes : 0;
    }
}

// ---- control -------------------------------------------------------------------------------------------------------

int32_t sim_add_control(lowering *l, uint32_t insn, uint32_t end)
{
    VEC_PUSH(&l->c->controls) = (sim_control){ .function = l->function, .insn = insn, .end = end, .source = SIM_TRIPS_STATIC,
                                               .count = 1 };
    return (int32_t)l->c->controls.count - 1;
}

static uint32_t callee_of(const isa_function *f, uint32_t insn)
{
    return (uint32_t)isa_operand_of(f, &f->insns.items[insn], 0)->offset;
}

static void find_controls(lowering *l)
{
    uint32_t stack[MAX_DEPTH];      // isa_check_structure allows fewer
    int depth = 0;
    for (uint32_t n = 0; n < l->f->insns.count; n++) {
        const isa_insn *i = &l->f->insns.items[n];
        l->control_of[n] = NO_CONTROL;
        switch ((isa_op)i->op) {
        case ISA_for: case ISA_while: case ISA_if: stack[depth++] = n; break;
        case ISA_else: l->else_of[stack[depth - 1]] = n; break;
        case ISA_end_for: case ISA_end_while: case ISA_end_if: {
            const uint32_t open = stack[--depth];
            l->end_of[open] = n;
            if (!l->else_of[open]) l->else_of[open] = n;
            l->control_of[open] = sim_add_control(l, open, n + 1);
            l->c->controls.items[l->control_of[open]].frame = i->op != ISA_end_if;
            l->out->dynamic |= sim_decide_trips(l->s, l->f, &l->c->controls.items[l->control_of[open]]);
            break;
        }
        case ISA_call:
            l->control_of[n] = sim_add_control(l, n, n + 1);
            l->c->controls.items[l->control_of[n]].callee = callee_of(l->f, n);
            break;
        default: break;
        }
    }
}

// ---- sums ----------------------------------------------------------------------------------------------------------

sim_range sim_list_of(sim_core *c, const int64_t *values)
{
    const uint32_t first = c->deltas.count;
    for (uint32_t k = 0; k < c->semaphore_count; k++)
        if (values[k]) VEC_PUSH(&c->deltas) = (sim_delta){ (uint16_t)k, values[k] };
    return (sim_range){ first, c->deltas.count - first };
}

static int64_t saturated(__int128 v)
{
    return v > SIM_HORIZON ? SIM_HORIZON : v < -SIM_HORIZON ? -SIM_HORIZON : (int64_t)v;
}

int64_t *sim_new_sums(const lowering *l)
{
    return ARENA_ARRAY(l->s->arena, int64_t, l->c->semaphore_count + 1);
}

// The sum of one iteration of a loop, or of the arm that a branch takes, kept in its control.
static void sum_body(lowering *l, uint32_t open)
{
    const int32_t number = l->control_of[open];
    const bool branch = l->f->insns.items[open].op == ISA_if;
    const bool other = branch && l->c->controls.items[number].count == 0;
    range_sum body = { .total = sim_new_sums(l) };
    sim_sum_range(l, other ? l->else_of[open] + 1 : open + 1, branch && !other ? l->else_of[open] : l->end_of[open], 1, &body);
    if (branch) {               // what the arm not taken mentions counts as well
        range_sum arms = { .total = sim_new_sums(l) };
        sim_sum_range(l, open + 1, l->end_of[open], 1, &arms);
        body.mentions |= arms.mentions;
        body.absolute |= arms.absolute;
        body.dynamic |= arms.dynamic;
    }
    sim_control *k = &l->c->controls.items[number];
    k->body = body.total;
    k->mentions = body.mentions;
    k->absolute = body.absolute;
    k->dynamic = body.dynamic || k->source != SIM_TRIPS_STATIC;
    k->steady = k->frame && !body.absolute && !(body.dynamic && l->s->options.trips);
    k->delta = sim_list_of(l->c, body.total);
}

static void sum_block(lowering *l, uint32_t open, int64_t times, range_sum *out)
{
    if (!l->c->controls.items[l->control_of[open]].body) sum_body(l, open);
    const sim_control *k = &l->c->controls.items[l->control_of[open]];
    const int64_t count = l->f->insns.items[open].op == ISA_if ? 1 : k->count;
    for (uint32_t n = 0; n < l->c->semaphore_count; n++)
        out->total[n] = saturated(out->total[n] + (__int128)k->body[n] * count * times);
    out->mentions |= k->mentions;
    out->dynamic |= k->dynamic;
    out->absolute |= k->absolute;
}

static void sum_call(lowering *l, uint32_t n, int64_t times, range_sum *out)
{
    const sim_function *callee = &l->c->functions[callee_of(l->f, n)];
    sim_control *k = &l->c->controls.items[l->control_of[n]];
    k->mentions = callee->mentions;
    for (uint32_t m = 0; m < l->c->semaphore_count; m++)
        out->total[m] = saturated(out->total[m] + (__int128)callee->total[m] * times);
    out->mentions |= callee->mentions;
    out->dynamic |= callee->dynamic;
}

static void sum_insn(const lowering *l, uint32_t n, int64_t times, range_sum *out)
{
    const isa_insn *i = &l->f->insns.items[n];
    for (uint32_t u = 0; u < i->update_count; u++) {
        const isa_update *up = &l->f->updates.items[i->update + u];
        int64_t *to = &out->total[l->c->semaphore_of[up->sem]];
        *to = saturated(*to + (__int128)up->value * times);
    }
    const sim_range ports = l->c->insns.items[l->out->first_insn + n].ports;
    for (uint32_t k = 0; k < ports.count; k++) {
        int64_t *to = &out->total[l->c->deltas.items[ports.first + k].sem];
        *to = saturated((__int128)*to + times);
    }
    for (uint32_t w = 0; w < i->wait_count; w++) out->absolute |= !l->f->waits.items[i->wait + w].relative;
    out->mentions |= (uint8_t)(1u << i->engine);
}

void sim_sum_range(lowering *l, uint32_t first, uint32_t end, int64_t times, range_sum *out)
{
    for (uint32_t n = first; n < end; n++) {
        const isa_insn *i = &l->f->insns.items[n];
        if (i->op == ISA_for || i->op == ISA_while || i->op == ISA_if) {
            sum_block(l, n, times, out);
            n = l->end_of[n];
        } else if (i->op == ISA_call) sum_call(l, n, times, out);
        else if (!isa_is_control((isa_op)i->op)) sum_insn(l, n, times, out);
    }
}

// ---- streams -------------------------------------------------------------------------------------------------------

typedef struct emitter {
    lowering *l;
    int engine;
    sim_stream *out;
    int64_t *pending;           // [semaphores] since the last control step
    sim_insn *before;           // the compute instruction before, nothing but straight line between
    bool in_group;
} emitter;

static uint32_t emit(emitter *e, sim_step_kind kind, bool costs, uint32_t item)
{
    sim_step step = { .kind = (uint8_t)kind, .costs = costs, .item = item };
    if (kind != SIM_EXEC) {
        step.before = sim_list_of(e->l->c, e->pending);
        memset(e->pending, 0, sizeof(int64_t) * e->l->c->semaphore_count);
        e->before = NULL;
    }
    VEC_PUSH(&e->out->steps) = step;
    return e->out->steps.count - 1;
}

static void emit_exec(emitter *e, uint32_t n)
{
    const uint32_t index = e->l->out->first_insn + n;
    sim_insn *i = &e->l->c->insns.items[index];
    const uint32_t at = emit(e, SIM_EXEC, true, index);     // may move the steps
    sim_step *step = &e->out->steps.items[at];
    step->ports.first = e->l->c->deltas.count;
    for (int port = 0; port < SIM_PORTS; port++) {
        if (!is_shared(e->l->c, i, port)) continue;
        const uint16_t rival = rival_semaphore(e->l->c, i, port);
        VEC_PUSH(&e->l->c->deltas) = (sim_delta){ rival, e->pending[rival] };
    }
    step->ports.count = e->l->c->deltas.count - step->ports.first;
    if (i->sequencer || e->engine == ISA_PE) return;
    i->before = e->before;
    if (e->before) i->raw[0] = sim_reads_result(e->l->c, i, e->before);
    if (e->before && e->before->before) i->raw[1] = sim_reads_result(e->l->c, i, e->before->before);
    e->before = i;
}

static void emit_range(emitter *e, uint32_t first, uint32_t end);

static void skip(emitter *e, uint32_t first, uint32_t end)
{
    range_sum sum = { .total = e->pending };
    sim_sum_range(e->l, first, end, 1, &sum);
}

static bool walks(const emitter *e, const sim_control *k, const isa_insn *i)
{
    const bool traced = e->l->s->options.trips && e->l->out->dynamic;
    return takes_part(i, e->engine) || (k->mentions >> e->engine & 1) || traced;
}

static void emit_loop(emitter *e, uint32_t open)
{
    const bool part = takes_part(&e->l->f->insns.items[open], e->engine);
    const uint32_t control = (uint32_t)e->l->control_of[open];
    const uint32_t loop = emit(e, SIM_LOOP, part, control);
    emit_range(e, open + 1, e->l->end_of[open]);
    const uint32_t next = emit(e, SIM_NEXT, part, control);
    e->out->steps.items[next].target = loop;
    e->out->steps.items[loop].target = e->out->steps.count;
}

static void emit_if(emitter *e, uint32_t open)
{
    const bool part = takes_part(&e->l->f->insns.items[open], e->engine);
    const uint32_t control = (uint32_t)e->l->control_of[open], other = e->l->else_of[open], end = e->l->end_of[open];
    const uint32_t branch = emit(e, SIM_IF, part, control);
    emit_range(e, open + 1, other);
    const uint32_t jump = emit(e, other == end ? SIM_JOIN : SIM_JUMP, part, control);
    e->out->steps.items[branch].target = e->out->steps.count;
    if (other == end) return;
    emit_range(e, other + 1, end);
    emit(e, SIM_JOIN, false, control);
    e->out->steps.items[jump].target = e->out->steps.count;
}

// A run of equal stretches: the first of them, as often.
static void emit_group(emitter *e, const sim_group *g)
{
    const sim_control *k = &e->l->c->controls.items[g->control];
    if (!(k->mentions >> e->engine & 1)) {
        skip(e, k->insn, k->end);
        return;
    }
    const uint32_t loop = emit(e, SIM_LOOP, false, g->control);
    emit_range(e, k->insn, k->insn + g->length);
    const uint32_t next = emit(e, SIM_NEXT, false, g->control);
    e->out->steps.items[next].target = loop;
    e->out->steps.items[loop].target = e->out->steps.count;
}

static void emit_range(emitter *e, uint32_t first, uint32_t end)
{
    for (uint32_t n = first; n < end; n++) {
        const isa_insn *i = &e->l->f->insns.items[n];
        const int32_t control = e->l->control_of[n];
        const sim_group *g = e->in_group ? NULL : sim_group_at(e->l, n);
        if (g) {
            e->in_group = true;
            emit_group(e, g);
            e->in_group = false;
            n = e->l->c->controls.items[g->control].end - 1;
        } else if (i->op == ISA_call) {
            if (walks(e, &e->l->c->controls.items[control], i)) emit(e, SIM_CALL, takes_part(i, e->engine), (uint32_t)control);
            else skip(e, n, n + 1);
        } else if (control != NO_CONTROL) {
            if (!walks(e, &e->l->c->controls.items[control], i)) skip(e, n, e->l->end_of[n] + 1);
            else if (i->op == ISA_if) emit_if(e, n);
            else emit_loop(e, n);
            n = e->l->end_of[n];
        } else {
            if (i->engine == e->engine) emit_exec(e, n);
            range_sum sum = { .total = e->pending };
            sum_insn(e->l, n, 1, &sum);
        }
    }
}

// ---- functions -----------------------------------------------------------------------------------------------------

static glia_status check_plain(const lowering *l, uint32_t n)
{
    const isa_insn *i = &l->f->insns.items[n];
    if (!isa_is_control((isa_op)i->op) || (!i->wait_count && !i->update_count)) return GLIA_OK;
    return GLIA_FAIL(UNSUPPORTED, "core %u, function '%s', insn %u '%s' carries semaphores; control cannot wait or update\n"
                     "hint: put them on a 'wait' instruction before it", l->core, l->f->name, n,
                     isa_row_get((isa_op)i->op)->name);
}

static void copy_semaphores(const lowering *l, sim_insn *i)
{
    sim_core *c = l->c;
    i->waits = (sim_range){ c->waits.count, i->insn->wait_count };
    for (uint32_t w = 0; w < i->insn->wait_count; w++) {
        const isa_wait *from = &l->f->waits.items[i->insn->wait + w];
        VEC_PUSH(&c->waits) = (sim_wait){ from->value, c->semaphore_of[from->sem], from->relative != 0 };
    }
    i->updates = (sim_range){ c->deltas.count, i->insn->update_count };
    for (uint32_t u = 0; u < i->insn->update_count; u++) {
        const isa_update *from = &l->f->updates.items[i->insn->update + u];
        VEC_PUSH(&c->deltas) = (sim_delta){ c->semaphore_of[from->sem], from->value };
    }
}

static glia_status lower_insns(lowering *l)
{
    l->out->first_insn = l->c->insns.count;
    for (uint32_t n = 0; n < l->f->insns.count; n++)
        VEC_PUSH(&l->c->insns) = (sim_insn){ .insn = &l->f->insns.items[n], .function = l->function, .index = n };
    sim_find_reuse(l->f, &l->c->insns.items[l->out->first_insn]);
    for (uint32_t n = 0; n < l->f->insns.count; n++) {
        sim_insn *i = &l->c->insns.items[l->out->first_insn + n];
        TRY(check_plain(l, n));
        copy_semaphores(l, i);
        TRY(sim_cost_insn(l->s, l->core, l->f, i));
    }
    return GLIA_OK;
}

// All instructions of all functions first (their addresses are kept), then sums from the last function to the first,
// since calls go forward, then streams.
static void lower_function(lowering *l)
{
    range_sum sum = { .total = l->out->total };
    sim_sum_range(l, 0, l->f->insns.count, 1, &sum);
    l->out->mentions = sum.mentions;
    l->out->dynamic |= sum.dynamic;
    sim_find_groups(l);
    for (int engine = 0; engine < ISA_ENGINE_COUNT; engine++) {
        emitter e = { l, engine, &l->out->streams[engine], glia_alloc(sizeof(int64_t) * (l->c->semaphore_count + 1)), NULL, false };
        emit_range(&e, 0, l->f->insns.count);
        emit(&e, SIM_RETURN, false, 0);
        glia_free(e.pending);
    }
}

glia_status sim_lower(sim *s, uint32_t core)
{
    sim_core *c = &s->cores[core];
    const uint32_t functions = c->isa->functions.count;
    number_semaphores(c);
    c->functions = ARENA_ARRAY(s->arena, sim_function, functions);
    int32_t **formals = bind_formals(s, c);
    for (uint32_t k = 0; k < functions; k++) {
        lowering l = { .s = s, .c = c, .core = core, .f = c->isa->functions.items[k], .out = &c->functions[k], .function = k };
        TRY(lower_insns(&l));
    }
    number_ports(c);
    for (uint32_t k = 0; k < c->insns.count; k++) list_ports(c, &c->insns.items[k]);
    TRY(sim_spread_transfers(s, core));
    for (uint32_t k = functions; k-- > 0;) {
        lowering l = { .s = s, .c = c, .core = core, .f = c->isa->functions.items[k], .out = &c->functions[k], .function = k,
                       .formals = formals[k] };
        for (uint32_t n = 0; n < l.f->insns.count; n++) {
            sim_insn *i = &c->insns.items[l.out->first_insn + n];
            if (isa_is_dma((isa_op)i->op)) count_by_tensor(&l, i);
        }
        l.control_of = ARENA_ARRAY(s->arena, int32_t, l.f->insns.count + 1);
        l.end_of = ARENA_ARRAY(s->arena, uint32_t, l.f->insns.count + 1);
        l.else_of = ARENA_ARRAY(s->arena, uint32_t, l.f->insns.count + 1);
        l.out->total = ARENA_ARRAY(s->arena, int64_t, c->semaphore_count + 1);
        find_controls(&l);
        lower_function(&l);
        VEC_FREE(&l.groups);
    }
    return GLIA_OK;
}
