// SPDX-License-Identifier: Apache-2.0
// Skipping what repeats exactly.
//
// When the slowest engine of a loop begins an iteration, the whole state of the machine is written down relative to
// that moment: times as differences from now, semaphores as differences from the counts that program order gives, the
// heap and the rings as they are. If an earlier iteration of the same loop began in the same state, the future is the
// past again, as long as every engine in the loop stays in it; so whole periods are skipped: clock, iterations,
// semaphores and counters move by that many periods, and nothing else changes. This is exact; it is switched off by
// options.extrapolate and a test compares.
//
// What is over cannot matter: times in the past are taken as now. Both cores' loops may be in it, each by its own count.
#include "sim/machine.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT = 8, PATIENCE = 128, WINDOW = 16 };

typedef struct position { uint32_t control; uint8_t core, engine, depth; int64_t iteration; } position;
typedef struct snapshot {
    int64_t now;
    VEC(int64_t) words;         // the relative state
    VEC(position) positions;    // iterations, which are compared apart
    int64_t *values[ISA_CORES]; // semaphores
    sim_counters counters[ISA_CORES];
} snapshot;
typedef struct trigger {
    uint32_t core, control, depth;
    uint32_t tries;
    uint32_t head, kept;
    snapshot *snapshots[KEPT];
} trigger;
struct sim_steady { VEC(trigger *) triggers; };

sim_steady *sim_steady_create(void)
{
    return glia_alloc(sizeof(sim_steady));
}

static void snapshot_free(snapshot *x)
{
    if (!x) return;
    VEC_FREE(&x->words);
    VEC_FREE(&x->positions);
    for (int c = 0; c < ISA_CORES; c++) glia_free(x->values[c]);
    glia_free(x);
}

static void forget(sim_steady *t)
{
    for (uint32_t k = 0; k < t->triggers.count; k++) {
        trigger *g = t->triggers.items[k];
        for (uint32_t n = 0; n < KEPT; n++) {
            snapshot_free(g->snapshots[n]);
            g->snapshots[n] = NULL;
        }
        g->kept = g->tries = 0;
    }
}

void sim_steady_destroy(sim_steady *t)
{
    if (!t) return;
    forget(t);
    for (uint32_t k = 0; k < t->triggers.count; k++) glia_free(t->triggers.items[k]);
    VEC_FREE(&t->triggers);
    glia_free(t);
}

// ---- writing the state down ----------------------------------------------------------------------------------------

static void put(snapshot *x, int64_t word)
{
    VEC_PUSH(&x->words) = word;
}

static void put_pointer(snapshot *x, const void *p)
{
    put(x, (int64_t)(intptr_t)p);      // equality is all that is asked of it
}

static int64_t ahead(const sim *s, int64_t time)
{
    return time > s->now ? time - s->now : 0;
}

static void put_engine(const sim *s, snapshot *x, const sim_core *c, const sim_engine *e)
{
    put(x, e->state);
    put(x, e->function);
    put(x, e->pc);
    for (uint32_t k = 0; k < e->frames.count; k++) {
        const sim_frame *f = &e->frames.items[k];
        put(x, f->control);
        put(x, f->back);
        put(x, f->count);
        VEC_PUSH(&x->positions) = (position){ f->control, e->core, e->id, (uint8_t)k, f->iteration };
    }
    put(x, ahead(s, e->free));
    put(x, ahead(s, e->data_free));
    for (int k = 0; k < 2; k++) {
        put(x, ahead(s, e->ready[k]));
        put_pointer(x, e->last[k]);
    }
    put_pointer(x, e->previous);
    put(x, ahead(s, e->busy_until));
    if (e->state == SIM_BLOCKED) {
        put(x, e->blocked_sem);
        put(x, e->blocked_value - c->semaphores[e->blocked_sem].value);
    }
    put(x, e->table);
    put(x, e->switch_time);
    if (e->id != ISA_PE || !s->throttle_ps) return;
    const double drained = s->now > e->worked_until ? (double)(s->now - e->worked_until) * s->throttle_leak : 0;
    const int64_t credit = drained >= (double)e->credit ? 0 : e->credit - (int64_t)drained;
    put(x, credit);
    put(x, e->warm && credit > 0);
    put(x, ahead(s, e->worked_until));
}

// Recent changes, and the value before them: what waits can still be held by.
static void put_semaphores(const sim *s, snapshot *x, const sim_core *c)
{
    for (uint32_t k = 0; k < c->semaphore_count; k++) {
        const sim_semaphore *sem = &c->semaphores[k];
        put(x, sem->waiters);
        int64_t before = 0;
        for (uint32_t n = 0; n < SIM_HISTORY; n++) {
            const sim_update *u = &sem->history[(sem->head + SIM_HISTORY - n) % SIM_HISTORY];
            if (u->node == UINT32_MAX) break;
            before = u->value;
            if (s->now - u->time >= s->semaphore_ps_max) break;
            put(x, s->now - u->time);
            put(x, sem->value - u->value);
        }
        put(x, sem->value - before);
        put(x, -1);
    }
}

static void put_rings(const sim *s, snapshot *x, const sim_core *c)
{
    for (uint32_t q = 0; q < ISA_QUEUES; q++) {
        const sim_ring *r = &c->rings[q];
        put(x, r->queue.count - r->done);
        for (uint32_t n = r->done; n < r->queue.count; n++) {
            const sim_transfer *t = &c->transfers.items[r->queue.items[n]];
            put_pointer(x, t->insn);
            put(x, t->left);
            put(x, t->first == SIM_NEVER ? -1 : s->now - t->first);
        }
        if (r->queue.count == r->done) continue;
        for (uint32_t k = 0; k < c->class_count; k++) {
            put(x, r->at[k] - r->done);
            put(x, r->active[k]);
            if (r->active[k]) put(x, r->left[k]);
        }
    }
}

static void put_rest(const sim *s, snapshot *x, const sim_core *c)
{
    put(x, ahead(s, c->generator_free[0]));
    put(x, ahead(s, c->generator_free[1]));
    put(x, ahead(s, c->any_until));
}

static int compare_events(const void *a, const void *b)
{
    const sim_event *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void put_events(sim *s, snapshot *x)
{
    qsort(s->heap.items, s->heap.count, sizeof(sim_event), compare_events);      // a sorted array is a heap
    put(x, s->pace);
    put(x, s->heap.count);
    for (uint32_t k = 0; k < s->heap.count; k++) {
        const sim_event *e = &s->heap.items[k];
        put(x, e->time - s->now);
        put(x, (int64_t)(e->order >> 60));
        put(x, e->kind);
        put(x, e->core);
        if (e->kind == SIM_EVENT_ENGINE) put(x, e->item);
        else put_pointer(x, e->kind != SIM_EVENT_ARRIVE ? e->insn : s->cores[e->core].transfers.items[e->item].insn);
    }
}

static snapshot *take(sim *s)
{
    snapshot *x = glia_alloc(sizeof *x);
    x->now = s->now;
    for (uint32_t core = 0; core < s->core_count; core++) {
        const sim_core *c = &s->cores[core];
        for (int n = 0; n < ISA_ENGINE_COUNT; n++) put_engine(s, x, c, &c->engines[n]);
        put_semaphores(s, x, c);
        put_rings(s, x, c);
        put_rest(s, x, c);
        x->counters[core] = c->counters;
        x->values[core] = glia_alloc(sizeof(int64_t) * (c->semaphore_count + 1));
        for (uint32_t k = 0; k < c->semaphore_count; k++) x->values[core][k] = c->semaphores[k].value;
    }
    put_events(s, x);
    return x;
}

// ---- comparing -----------------------------------------------------------------------------------------------------

// What moved between two equal states: for each core one loop, by `by` iterations.
typedef struct motion { bool moves; uint32_t control, depth; int64_t by; } motion;

static bool find_motion(const snapshot *now, const snapshot *then, motion *out)
{
    for (int c = 0; c < ISA_CORES; c++) out[c] = (motion){ 0 };
    if (now->positions.count != then->positions.count) return false;
    for (uint32_t k = 0; k < now->positions.count; k++) {
        const position *a = &now->positions.items[k], *b = &then->positions.items[k];
        const int64_t by = a->iteration - b->iteration;
        if (!by) continue;
        motion *m = &out[a->core];
        if (!m->moves) *m = (motion){ true, a->control, a->depth, by };
        if (m->control != a->control || m->depth != a->depth || m->by != by || by < 0) return false;
    }
    // Who is in the loop has moved with it.
    for (uint32_t k = 0; k < now->positions.count; k++) {
        const position *a = &now->positions.items[k];
        const motion *m = &out[a->core];
        if (m->moves && a->depth == m->depth && a->control == m->control &&
            a->iteration == then->positions.items[k].iteration) return false;
    }
    return true;
}

static bool semaphores_moved(const sim *s, const snapshot *now, const snapshot *then, const motion *m)
{
    for (uint32_t core = 0; core < s->core_count; core++) {
        const sim_core *c = &s->cores[core];
        const sim_control *k = m[core].moves ? &c->controls.items[m[core].control] : NULL;
        if (k && !k->steady) return false;
        int64_t *expected = glia_alloc(sizeof(int64_t) * (c->semaphore_count + 1));
        for (uint32_t n = 0; k && n < k->delta.count; n++) {
            const sim_delta *d = &c->deltas.items[k->delta.first + n];
            expected[d->sem] = sim_wrap_mul(d->value, m[core].by);
        }
        bool equal = true;
        for (uint32_t n = 0; n < c->semaphore_count; n++)
            equal &= now->values[core][n] - then->values[core][n] == expected[n];
        glia_free(expected);
        if (!equal) return false;
    }
    return true;
}

static bool in_loop(const sim_engine *e, const motion *m)
{
    return m->moves && e->frames.count > m->depth && e->frames.items[m->depth].control == m->control;
}

// Periods that can be skipped with every engine still in its loop.
static int64_t periods_left(const sim *s, const motion *m, int64_t period)
{
    int64_t most = (SIM_HORIZON - s->now) / (period > 0 ? period : 1);
    for (uint32_t core = 0; core < s->core_count; core++) {
        for (int n = 0; n < ISA_ENGINE_COUNT; n++) {
            const sim_engine *e = &s->cores[core].engines[n];
            if (!in_loop(e, &m[core])) continue;
            const sim_frame *f = &e->frames.items[m[core].depth];
            const int64_t left = (f->count - 1 - f->iteration) / m[core].by;
            if (left < most) most = left;
        }
    }
    return most;
}

// ---- skipping ------------------------------------------------------------------------------------------------------

static void move_engine(sim_core *c, sim_engine *e, const motion *m, int64_t times, int64_t shift)
{
    int64_t *const clocks[] = { &e->free, &e->data_free, &e->ready[0], &e->ready[1], &e->busy_until, &e->worked_until };
    for (uint32_t k = 0; k < COUNT_OF(clocks); k++) *clocks[k] += shift;
    e->blocked_since += shift;
    if (!in_loop(e, m)) return;
    e->frames.items[m->depth].iteration += m->by * times;
    const sim_range list = c->controls.items[m->control].delta;
    for (uint32_t n = 0; n < list.count; n++) {
        const sim_delta *d = &c->deltas.items[list.first + n];
        const int64_t more = sim_wrap_mul(sim_wrap_mul(d->value, m->by), times);
        e->count[d->sem] = sim_wrap_add(e->count[d->sem], more);
        for (uint32_t k = m->depth; k < e->frames.count; k++) {
            int64_t *base = &e->bases.items[(size_t)k * c->semaphore_count + d->sem];
            *base = sim_wrap_add(*base, more);
        }
        if (e->state == SIM_BLOCKED && e->blocked_sem == d->sem) e->blocked_value += more;
    }
}

static void move_semaphores(sim_core *c, const motion *m, int64_t times, int64_t shift)
{
    for (uint32_t k = 0; k < c->semaphore_count; k++)
        for (uint32_t n = 0; n < SIM_HISTORY; n++) c->semaphores[k].history[n].time += shift;
    if (!m->moves) return;
    const sim_range list = c->controls.items[m->control].delta;
    for (uint32_t n = 0; n < list.count; n++) {
        const sim_delta *d = &c->deltas.items[list.first + n];
        sim_semaphore *sem = &c->semaphores[d->sem];
        const int64_t more = sim_wrap_mul(sim_wrap_mul(d->value, m->by), times);
        sem->value = sim_wrap_add(sem->value, more);
        for (uint32_t k = 0; k < SIM_HISTORY; k++) sem->history[k].value = sim_wrap_add(sem->history[k].value, more);
    }
}

static void move_dma(sim_core *c, int64_t shift)
{
    for (uint32_t q = 0; q < ISA_QUEUES; q++)
        for (uint32_t k = 0; k < SIM_CLASSES; k++) c->rings[q].since[k] += shift;
    for (uint32_t t = 0; t < c->transfers.count; t++) {
        c->transfers.items[t].arrival += shift;
        if (c->transfers.items[t].first != SIM_NEVER) c->transfers.items[t].first += shift;
    }
    c->generator_free[0] += shift;
    c->generator_free[1] += shift;
    c->any_until += shift;
}

static void skip(sim *s, const snapshot *now, const snapshot *then, const motion *m, int64_t times)
{
    const int64_t period = now->now - then->now, shift = period * times;
    VEC_PUSH(&s->skips) = (sim_skip){ s->now, period, times };
    for (uint32_t core = 0; core < s->core_count; core++) {
        sim_core *c = &s->cores[core];
        for (int n = 0; n < ISA_ENGINE_COUNT; n++) move_engine(c, &c->engines[n], &m[core], times, shift);
        move_semaphores(c, &m[core], times, shift);
        move_dma(c, shift);
        int64_t *counters = (int64_t *)&c->counters;
        const int64_t *b = (const int64_t *)&now->counters[core], *a = (const int64_t *)&then->counters[core];
        for (int k = 0; k < SIM_COUNTERS; k++) counters[k] = sim_wrap_add(counters[k], sim_wrap_mul(sim_wrap_add(b[k], -a[k]), times));
    }
    for (uint32_t k = 0; k < s->heap.count; k++) s->heap.items[k].time += shift;
    if (s->dma_next != SIM_NEVER) s->dma_next += shift;
    if (s->end >= s->now) s->end += shift;
    s->now += shift;
    s->dma_time = s->now;
}

// ---- when to look --------------------------------------------------------------------------------------------------

static trigger *trigger_of(sim_steady *t, uint32_t core, uint32_t control, uint32_t depth)
{
    for (uint32_t k = 0; k < t->triggers.count; k++) {
        trigger *g = t->triggers.items[k];
        if (g->core == core && g->control == control && g->depth == depth) return g;
    }
    trigger *g = glia_alloc(sizeof *g);
    *g = (trigger){ .core = core, .control = control, .depth = depth };
    VEC_PUSH(&t->triggers) = g;
    return g;
}

// A loop that never settles is looked at less and less: at a few iterations after each power of two.
static bool patient(const trigger *g, int64_t iteration)
{
    if (g->tries < PATIENCE) return true;
    int64_t power = PATIENCE;
    while (power * 2 <= iteration) power *= 2;
    return iteration - power < WINDOW;
}

void sim_steady_visit(sim *s)
{
    const sim_core *c = &s->cores[s->boundary_core];
    int64_t iteration = 0;
    for (int n = 0; n < ISA_ENGINE_COUNT; n++) {
        const sim_engine *e = &c->engines[n];
        if (e->frames.count > s->boundary_depth && e->frames.items[s->boundary_depth].control == s->boundary_control)
            iteration = e->frames.items[s->boundary_depth].iteration;
    }
    trigger *g = trigger_of(s->steady, s->boundary_core, s->boundary_control, s->boundary_depth);
    if (c->controls.items[g->control].count < 4 || !patient(g, iteration)) return;
    g->tries++;
    sim_dma_advance(s, s->now);
    sim_count_waits(s);
    snapshot *x = take(s);
    for (uint32_t k = 0; k < KEPT; k++) {
        const snapshot *old = g->snapshots[(g->head + KEPT - k) % KEPT];
        motion m[ISA_CORES];
        if (!old || old->words.count != x->words.count) continue;
        if (memcmp(old->words.items, x->words.items, sizeof(int64_t) * x->words.count) != 0) continue;
        if (!find_motion(x, old, m) || !m[g->core].moves || !semaphores_moved(s, x, old, m)) continue;
        const int64_t times = periods_left(s, m, x->now - old->now);
        if (times < 1) continue;
        skip(s, x, old, m, times);
        snapshot_free(x);
        forget(s->steady);
        return;
    }
    g->head = (g->head + 1) % KEPT;
    snapshot_free(g->snapshots[g->head]);
    g->snapshots[g->head] = x;
}
