// SPDX-License-Identifier: Apache-2.0
// Control: each engine walks loops, branches and calls by itself, with a stack of frames. A frame keeps the program-order
// count of every semaphore at its entry: what relative waits are measured from. Jumps cost branch_cycles in the engines
// that take part; the others pass for free.
#include "sim/machine.h"

static const sim_control *control_at(const sim_core *c, uint32_t k)
{
    return &c->controls.items[k];
}

static sim_frame *top(sim_engine *e)
{
    return &e->frames.items[e->frames.count - 1];
}

static int64_t *base_of(const sim_core *c, const sim_engine *e, uint32_t frame)
{
    return c->semaphore_count ? &e->bases.items[(size_t)frame * c->semaphore_count] : NULL;
}

// ---- frames --------------------------------------------------------------------------------------------------------

static void capture_base(const sim_core *c, sim_engine *e)
{
    int64_t *base = base_of(c, e, e->frames.count - 1);
    for (uint32_t k = 0; k < c->semaphore_count; k++) base[k] = e->count[k];
}

static void push_frame(const sim_core *c, sim_engine *e, sim_frame frame)
{
    VEC_PUSH(&e->frames) = frame;
    for (uint32_t k = 0; k < c->semaphore_count; k++) VEC_PUSH(&e->bases) = e->count[k];
}

static void pop_frame(const sim_core *c, sim_engine *e)
{
    e->frames.count--;
    e->bases.count -= c->semaphore_count;
}

// The innermost frame that relative waits are measured from: a call's or a loop iteration's.
const int64_t *sim_relative_base(const sim_core *c, const sim_engine *e)
{
    uint32_t k = e->frames.count - 1;
    while (k > 0 && !e->frames.items[k].is_base) k--;
    return base_of(c, e, k);
}

void sim_engine_init(sim *s, uint32_t core, uint32_t engine)
{
    sim_core *c = &s->cores[core];
    sim_engine *e = &c->engines[engine];
    e->core = (uint8_t)core;
    e->id = (uint8_t)engine;
    e->count = ARENA_ARRAY(s->arena, int64_t, c->semaphore_count + 1);
    e->node = UINT32_MAX;
    push_frame(c, e, (sim_frame){ .control = UINT32_MAX, .is_base = true, .count = 1 });
}

static void apply(const sim_core *c, sim_engine *e, sim_range list)
{
    for (uint32_t k = 0; k < list.count; k++) {
        const sim_delta *d = &c->deltas.items[list.first + k];
        e->count[d->sem] = sim_wrap_add(e->count[d->sem], d->value);
    }
}

// ---- control -------------------------------------------------------------------------------------------------------

// How often a loop runs, or which arm is taken. Every engine that comes here decides alike.
static int64_t decision(sim *s, sim_engine *e, const sim_control *k)
{
    if (k->source != SIM_TRIPS_TRACE) return k->count;
    const uint32_t at = e->decisions++;
    if (at < s->options.trip_count) return s->options.trips[at] > 0 ? s->options.trips[at] : 0;
    if (!s->failure)
        s->failure = GLIA_FAIL(INVALID, "the control trace has %u decisions, the program asks for more\n"
                               "hint: record it with the same program and inputs", s->options.trip_count);
    return 0;
}

static void charge(sim *s, sim_engine *e, const sim_step *step)
{
    if (!step->costs) return;
    const int64_t from = e->free > s->now ? e->free : s->now;
    e->free = from + s->branch_ps[e->id];
    e->control_time += s->branch_ps[e->id];
    s->cores[e->core].counters.setup_count++;
}

bool sim_engine_in(const sim_engine *e, const sim_engine *like, uint32_t depth)
{
    if (e->frames.count <= depth) return false;
    for (uint32_t k = 0; k <= depth; k++) {
        const sim_frame *a = &e->frames.items[k], *b = &like->frames.items[k];
        if (a->control != b->control || a->is_loop != b->is_loop || (k < depth && a->iteration != b->iteration)) return false;
    }
    return true;
}

// The slowest engine of a loop has begun an iteration: the moment at which whole iterations can be compared.
static void note_boundary(sim *s, const sim_engine *e, const sim_control *k, uint32_t control)
{
    if (!s->steady || !k->steady) return;
    const sim_core *c = &s->cores[e->core];
    const uint32_t depth = e->frames.count - 1;
    for (uint32_t n = 0; n < ISA_ENGINE_COUNT; n++) {
        const sim_engine *other = &c->engines[n];
        if (other == e || !(k->mentions >> n & 1)) continue;
        if (!sim_engine_in(other, e, depth)) return;
        if (other->frames.items[depth].iteration < e->frames.items[depth].iteration) return;
    }
    s->boundary = true;
    s->boundary_core = e->core;
    s->boundary_control = control;
    s->boundary_depth = depth;
}

static void enter_loop(sim *s, sim_core *c, sim_engine *e, const sim_step *step)
{
    sim_control *k = &c->controls.items[step->item];
    const int64_t count = decision(s, e, k);
    k->taken++;
    if (count <= 0) {
        e->pc = step->target;
        return;
    }
    push_frame(c, e, (sim_frame){ .function = e->function, .control = step->item, .is_loop = true, .is_base = k->frame,
                                  .count = count });
    e->pc++;
}

static void next_iteration(sim *s, sim_core *c, sim_engine *e, const sim_step *step)
{
    sim_frame *f = top(e);
    if (++f->iteration >= f->count) {
        pop_frame(c, e);
        e->pc++;
        return;
    }
    capture_base(c, e);
    e->pc = step->target + 1;
    note_boundary(s, e, control_at(c, step->item), step->item);
}

static void enter_call(sim_core *c, sim_engine *e, const sim_step *step)
{
    const sim_control *k = control_at(c, step->item);
    push_frame(c, e, (sim_frame){ .function = e->function, .back = e->pc + 1, .control = step->item, .is_base = true, .count = 1 });
    e->function = k->callee;
    e->pc = 0;
}

static void leave_call(sim_core *c, sim_engine *e)
{
    const sim_frame f = *top(e);
    pop_frame(c, e);
    if (f.control == UINT32_MAX) {
        e->state = SIM_DONE;
        return;
    }
    e->function = f.function;
    e->pc = f.back;
}

void sim_control_step(sim *s, sim_core *c, sim_engine *e, const sim_step *step)
{
    apply(c, e, step->before);
    charge(s, e, step);
    switch ((sim_step_kind)step->kind) {
    case SIM_EXEC: break;
    case SIM_LOOP: enter_loop(s, c, e, step); break;
    case SIM_NEXT: next_iteration(s, c, e, step); break;
    case SIM_IF: {
        sim_control *k = &c->controls.items[step->item];
        k->taken++;
        e->pc = decision(s, e, k) ? e->pc + 1 : step->target;
        break;
    }
    case SIM_JUMP: e->pc = step->target; break;
    case SIM_JOIN: e->pc++; break;
    case SIM_CALL: enter_call(c, e, step); break;
    case SIM_RETURN: leave_call(c, e); break;
    }
}
