// SPDX-License-Identifier: Apache-2.0
// The event loop: a binary heap of what is known to happen, beside the rings, whose next event moves whenever their
// speeds do. Single-threaded; order is (time, priority, sequence), so a program has one timing.
#include "sim/machine.h"

#include <string.h>

static const uint64_t EVENTS_MAX = 4000000000u;      // an hour of work: a loop that does not end

static bool earlier(const sim_event *a, const sim_event *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

void sim_push(sim *s, sim_event e, sim_priority priority)
{
    e.order = (uint64_t)priority << 60 | s->sequence++;
    if (e.time < s->now) e.time = s->now;
    uint32_t at = s->heap.count;
    VEC_PUSH(&s->heap) = e;
    while (at > 0 && earlier(&e, &s->heap.items[(at - 1) / 2])) {
        s->heap.items[at] = s->heap.items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    s->heap.items[at] = e;
}

static sim_event pop(sim *s)
{
    const sim_event least = s->heap.items[0], last = s->heap.items[--s->heap.count];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < s->heap.count; at = child) {
        if (child + 1 < s->heap.count && earlier(&s->heap.items[child + 1], &s->heap.items[child])) child++;
        if (!earlier(&s->heap.items[child], &last)) break;
        s->heap.items[at] = s->heap.items[child];
    }
    if (s->heap.count) s->heap.items[at] = last;
    return least;
}

void sim_wake(sim *s, uint32_t core, uint32_t engine, int64_t time)
{
    sim_push(s, (sim_event){ .time = time, .kind = SIM_EVENT_ENGINE, .core = (uint8_t)core, .item = engine }, SIM_PRIO_ENGINE);
}

void sim_place(const sim *s, const sim_insn *i, glia_strbuf *out)
{
    const isa_function *f = s->cores[i->core].isa->functions.items[i->function];
    glia_putf(out, "core %u, function '%s', insn %u '%s'", i->core, f->name, i->index, isa_row_get((isa_op)i->insn->op)->name);
    if (i->insn->origin == 0 || i->insn->origin >= s->program->origins.count) return;
    const isa_origin *o = &s->program->origins.items[i->insn->origin];
    glia_putf(out, " (%s, %s)", o->op ? o->op : "", o->where ? o->where : "");
}

// ---- how it ends badly ---------------------------------------------------------------------------------------------

static void describe_blocked(const sim *s, const sim_engine *e, glia_strbuf *out)
{
    const sim_core *c = &s->cores[e->core];
    const sim_step *step = &c->functions[e->function].streams[e->id].steps.items[e->state == SIM_AT_BARRIER ? e->pc - 1 : e->pc];
    sim_place(s, &c->insns.items[step->item], out);
    if (e->state == SIM_AT_BARRIER) glia_putf(out, " waits for the other core");
    else if (e->blocked_sem >= c->named_semaphores) glia_put(out, " waits for a port that an earlier instruction of another engine has not used yet");
    else
        glia_putf(out, " waits for semaphore %u to reach %lld, it stays at %lld", c->semaphore_name[e->blocked_sem],
                  (long long)e->blocked_value, (long long)c->semaphores[e->blocked_sem].value);
}

static glia_status check_done(const sim *s)
{
    glia_strbuf text = { 0 };
    uint32_t stuck = 0;
    for (uint32_t core = 0; core < s->core_count; core++) {
        for (uint32_t n = 0; n < ISA_ENGINE_COUNT; n++) {
            const sim_engine *e = &s->cores[core].engines[n];
            if (e->state == SIM_DONE) continue;
            if (stuck++) glia_put(&text, "; ");
            describe_blocked(s, e, &text);
        }
    }
    glia_status failure = stuck ? GLIA_FAIL(INVALID, "the program does not end: %s\nhint: an update is missing, or comes after the wait",
                                            glia_strbuf_str(&text)) : GLIA_OK;
    glia_strbuf_fini(&text);
    return failure;
}

// ---- the loop ------------------------------------------------------------------------------------------------------

static void count_any(sim *s, int64_t to)
{
    for (uint32_t core = 0; core < s->core_count; core++) {
        sim_core *c = &s->cores[core];
        const int64_t until = c->dma_active || c->any_until > to ? to : c->any_until;
        if (until > s->now) c->counters.any_active += until - s->now;
    }
}

static void handle(sim *s, sim_event e)
{
    switch ((sim_event_kind)e.kind) {
    case SIM_EVENT_UPDATE: sim_fire(s, e.core, e.insn->updates, e.node); break;
    case SIM_EVENT_PORTS: sim_fire(s, e.core, e.insn->ports, e.node); break;
    case SIM_EVENT_ARRIVE: sim_dma_arrive(s, e.core, e.item); break;
    case SIM_EVENT_ENGINE: sim_engine_attempt(s, e.core, e.item); break;
    }
}

glia_status sim_loop(sim *s)
{
    for (uint32_t core = 0; core < s->core_count; core++)
        for (uint32_t n = 0; n < ISA_ENGINE_COUNT; n++) sim_wake(s, core, n, 0);
    s->dma_next = SIM_NEVER;
    while (s->heap.count || s->dma_next != SIM_NEVER) {
        const int64_t event = s->heap.count ? s->heap.items[0].time : SIM_NEVER;
        const int64_t time = event < s->dma_next ? event : s->dma_next;
        ENSURE(time < SIM_HORIZON && s->events < EVENTS_MAX, EXHAUSTED,
               "the program runs for more than %.3g s, %llu events; it is not simulated to its end\n"
               "hint: state the trips of its dynamic loops, or leave extrapolation on", (double)s->now * 1e-12,
               (unsigned long long)s->events);
        if (time > s->now) count_any(s, time);
        const bool rings = s->dma_next <= time || (s->heap.count && s->heap.items[0].kind == SIM_EVENT_ARRIVE);
        s->now = time;
        s->events++;
        if (rings) sim_dma_advance(s, time);
        if (event <= time) handle(s, pop(s));
        if (s->failure) {
            glia_status failure = s->failure;
            s->failure = NULL;
            return failure;
        }
        if (s->boundary) {
            s->boundary = false;
            sim_steady_visit(s);
        }
    }
    return check_done(s);
}
