// SPDX-License-Identifier: Apache-2.0
// An engine: one in-order stream of instructions behind a sequencer and a data path.
//
// The sequencer takes the next instruction when its dispatch slot is free; what needs no data path (triggers, waits,
// registers, control) is done there and overlaps the computing instruction before it. A computing instruction starts
// when its semaphores hold, `semaphore_cycles` after the change that satisfied the last of them; when the data path has
// taken the instruction before it (initiation interval); when what it reads from the two instructions before it on the
// same engine is written (result latency); and when the ports and banks that it shares are free. Its updates fire when
// its result is written.
//
// Which of these came last is noted with the instruction: the edges of the critical path.
#include "sim/machine.h"

#include <string.h>

typedef struct binding {        // what an instruction waited for last
    int64_t time;
    uint32_t node;
    uint8_t key[2];
    int64_t part[2];
} binding;

// ---- waiting -------------------------------------------------------------------------------------------------------

static int64_t *wait_counter(sim_core *c, const sim_engine *e)
{
    if (e->state == SIM_BLOCKED && e->blocked_sem >= c->named_semaphores) return &c->counters.port_wait;
    int64_t *const of[ISA_ENGINE_COUNT] = { &c->counters.pe_wait, &c->counters.act_wait, &c->counters.dve_wait,
                                            &c->counters.pool_wait, &c->counters.sp_wait };
    return of[e->id];
}

// Counts what engines have waited so far, so that counters are up to date in the middle of a wait.
void sim_count_waits(sim *s)
{
    for (uint32_t core = 0; core < s->core_count; core++) {
        for (uint32_t n = 0; n < ISA_ENGINE_COUNT; n++) {
            sim_engine *e = &s->cores[core].engines[n];
            if (e->state != SIM_BLOCKED && e->state != SIM_AT_BARRIER) continue;
            *wait_counter(&s->cores[core], e) += s->now - e->blocked_since;
            e->blocked_since = s->now;
        }
    }
}

// When the semaphore reached `value`, as far back as it is remembered (longer ago makes no difference); NULL if it had
// it from the start.
static const sim_update *crossing(const sim_semaphore *sem, int64_t value)
{
    const sim_update *found = NULL;
    for (uint32_t k = 0; k < SIM_HISTORY; k++) {
        const sim_update *u = &sem->history[(sem->head + SIM_HISTORY - k) % SIM_HISTORY];
        if (u->node == UINT32_MAX) return value <= 0 ? NULL : found;
        if (u->value < value) break;
        found = u;
    }
    return found;
}

static void bind_later(binding *b, int64_t time, uint32_t node, sim_assume key, int64_t part)
{
    if (time <= b->time) return;
    *b = (binding){ .time = time, .node = node, .key = { (uint8_t)key }, .part = { part } };
}

typedef enum outcome { GO, LATER, HELD } outcome;

static void hold(sim *s, sim_core *c, sim_engine *e, uint16_t sem, int64_t value)
{
    c->semaphores[sem].waiters |= (uint8_t)(1u << e->id);
    e->state = SIM_BLOCKED;
    e->blocked_sem = sem;
    e->blocked_value = value;
    e->blocked_since = s->now;
}

// GO: all semaphores of `i` hold and the engine has seen them. LATER: at *when. HELD: one does not hold yet.
static outcome check_waits(sim *s, sim_core *c, sim_engine *e, const sim_insn *i, binding *b, int64_t *when)
{
    const int64_t *base = i->waits.count ? sim_relative_base(c, e) : NULL;
    const int64_t latency = s->semaphore_ps[e->id];
    for (uint32_t k = 0; k < i->waits.count; k++) {
        const sim_wait *w = &c->waits.items[i->waits.first + k];
        const int64_t value = w->relative ? sim_wrap_add(base[w->sem], w->value) : w->value;
        sim_semaphore *sem = &c->semaphores[w->sem];
        if (sem->value < value) {
            hold(s, c, e, w->sem, value);
            return HELD;
        }
        const sim_update *u = crossing(sem, value);
        if (!u) continue;
        bind_later(b, u->time + latency, u->node, SIM_ASSUME_SEMAPHORE, latency);
        if (u->time + latency > *when) *when = u->time + latency;
    }
    return *when > s->now ? LATER : GO;
}

// ---- ports ---------------------------------------------------------------------------------------------------------

// Ports and banks that two engines share are taken in program order (streams.c): GO when every earlier user is through.
static outcome check_ports(sim *s, sim_core *c, sim_engine *e, const sim_step *step, binding *b)
{
    for (uint32_t k = 0; k < step->ports.count; k++) {
        const sim_delta *d = &c->deltas.items[step->ports.first + k];
        const int64_t value = sim_wrap_add(e->count[d->sem], d->value);
        if (c->semaphores[d->sem].value < value) {
            hold(s, c, e, d->sem, value);
            return HELD;
        }
        const sim_update *u = crossing(&c->semaphores[d->sem], value);
        if (u) bind_later(b, u->time, u->node, SIM_ASSUME_NONE, 0);
    }
    return GO;
}

static void release_ports(sim *s, const sim_insn *i, uint32_t node, int64_t time)
{
    if (i->ports.count)
        sim_push(s, (sim_event){ .time = time, .kind = SIM_EVENT_PORTS, .core = i->core, .insn = i, .node = node }, SIM_PRIO_UPDATE);
}

// ---- executing -----------------------------------------------------------------------------------------------------

static void count_work(sim_core *c, const sim_insn *i)
{
    int64_t *to = (int64_t *)&c->counters;
    const int64_t *from = (const int64_t *)i->work;
    for (int k = 0; k < SIM_COUNTERS; k++) to[k] = sim_wrap_add(to[k], from[k]);
}

static void count_active(sim *s, sim_core *c, sim_engine *e, int64_t start, int64_t end)
{
    int64_t *const active[ISA_ENGINE_COUNT] = { &c->counters.pe_active, &c->counters.act_active, &c->counters.dve_active,
                                                &c->counters.pool_active, &c->counters.sp_active };
    int64_t *const time[ISA_ENGINE_COUNT] = { &c->counters.pe_time, &c->counters.act_time, &c->counters.dve_time,
                                              &c->counters.pool_time, &c->counters.sp_time };
    *time[e->id] += end - start;
    const int64_t from = start > e->busy_until ? start : e->busy_until;
    if (end > from) {
        *active[e->id] += end - from;
        e->busy_until = end;
    }
    if (end > c->any_until) c->any_until = end;
    if (end > s->end) s->end = end;
}

static uint32_t add_node(sim *s, sim_engine *e, const sim_insn *i, int64_t start, binding b)
{
    if (e->control_time && b.node == e->node && !b.key[1]) {
        b.key[1] = SIM_ASSUME_BRANCH;
        b.part[1] = e->control_time;
    }
    if (e->switch_time) {
        b.key[1] = SIM_ASSUME_TABLE;
        b.part[1] = e->switch_time;
    }
    e->control_time = e->switch_time = 0;
    return sim_node_add(s, (sim_node){ .time = start, .insn = i, .before = b.node, .key = { b.key[0], b.key[1] },
                                       .part = { b.part[0], b.part[1] } });
}

static void finish_at(sim *s, const sim_insn *i, int64_t end, uint32_t node)
{
    if (i->updates.count)
        sim_push(s, (sim_event){ .time = end, .kind = SIM_EVENT_UPDATE, .core = i->core, .insn = i, .node = node }, SIM_PRIO_UPDATE);
    if (end >= s->end) {
        s->end = end;
        s->end_node = node;
    }
    if (s->options.trace) {
        if (s->spans.count < 4000000) VEC_PUSH(&s->spans) = (sim_span){ .start = s->nodes.items[node].time, .end = end, .insn = i };
        else s->spans_cut = true;
    }
}

static binding in_order(const sim_engine *e, int64_t time)
{
    binding b = { .time = time, .node = e->node };
    if (e->previous && e->previous->assumed) {
        b.key[0] = e->previous->assumed;
        b.part[0] = e->previous->interval;
    }
    return b;
}

static void remember(sim_engine *e, const sim_insn *i, int64_t ready, uint32_t node)
{
    e->last[1] = e->last[0];
    e->ready[1] = e->ready[0];
    e->last[0] = i;
    e->ready[0] = ready;
    e->node = node;
    e->previous = i;
}

// The warm-up limit of PE (generations 3 and 4): it begins at half its rate and reaches all of it after ~3 us of work;
// when it has worked less than half of a ~3 us stretch, it begins again [pe:throttle.time]. Kept as a credit that work
// fills and rest drains, so that a steady load has a steady state.
static int64_t throttled(sim *s, sim_core *c, sim_engine *e, int64_t start, int64_t interval)
{
    if (!s->throttle_ps) return interval;
    if (start > e->worked_until) {
        const double drained = (double)(start - e->worked_until) * s->throttle_leak;
        e->credit = drained >= (double)e->credit ? 0 : e->credit - (int64_t)drained;
        if (e->credit == 0) e->warm = false;
    }
    int64_t taken = interval;
    if (!e->warm) {
        taken = (int64_t)((double)interval / s->throttle_start);
        c->counters.throttle_time += taken - interval;
        c->counters.throttled_active += taken;
    }
    e->credit += taken;
    if (e->credit >= s->throttle_ps) {
        e->credit = s->throttle_ps;
        e->warm = true;
    }
    e->worked_until = start + taken;
    return taken;
}

// Matmuls and transposes: the stationary is loaded while the matmul before streams, into the one spare set of weights,
// which is free once that matmul has begun. So a dispatch happens when the one before has started.
static void start_pe(sim *s, sim_core *c, sim_engine *e, const sim_insn *i, binding b)
{
    const int64_t loaded = s->now + i->load;
    const int64_t start = e->data_free > loaded ? e->data_free : loaded;
    if (e->data_free >= loaded) b = in_order(e, start);
    else {
        const int64_t from = e->data_free > s->now ? e->data_free : s->now;
        c->counters.load_exposed += loaded - from;
    }
    const int64_t interval = throttled(s, c, e, start, i->interval);
    const uint32_t node = add_node(s, e, i, start, b);
    e->data_free = start + interval;
    e->free = start;
    remember(e, i, start + interval + i->latency, node);
    count_active(s, c, e, start, start + interval + i->latency);
    finish_at(s, i, start + interval + i->latency, node);
}

static void start_stream(sim *s, sim_core *c, sim_engine *e, const sim_insn *i, binding b)
{
    const uint32_t node = add_node(s, e, i, s->now, b);
    const int64_t end = s->now + i->interval + i->latency;
    e->free = s->now;
    e->data_free = s->now + i->interval;
    release_ports(s, i, node, s->now + i->interval);
    remember(e, i, end, node);
    count_active(s, c, e, s->now, end);
    finish_at(s, i, end, node);
}

// Who makes the descriptors of a transfer, and when they are there.
static int64_t triggered(sim *s, sim_core *c, const sim_insn *i)
{
    if (i->dge == ISA_DGE_SWDGE) return s->now + i->interval;
    if (i->dge != ISA_DGE_HWDGE) return s->now;
    int64_t *generator = &c->generator_free[i->engine == ISA_ACT ? 0 : 1];
    *generator = (*generator > s->now ? *generator : s->now) + s->hwdge_ps;
    return *generator;
}

static void start_dma(sim *s, sim_core *c, sim_engine *e, const sim_insn *i, binding b)
{
    const uint32_t node = add_node(s, e, i, s->now, b);
    sim_dma_trigger(s, i, node, triggered(s, c, i) + s->fixed_ps);
    e->free = s->now + i->interval;
    if (i->dge == ISA_DGE_SWDGE) e->data_free = e->free;
    e->node = node;
    e->previous = i;
    count_active(s, c, e, s->now, s->now + i->interval);
}

static void start_sequencer(sim *s, sim_core *c, sim_engine *e, const sim_insn *i, binding b)
{
    const uint32_t node = add_node(s, e, i, s->now, b);
    const int64_t end = s->now + i->interval;
    e->free = end;
    e->node = node;
    e->previous = i;
    count_active(s, c, e, s->now, end);
    finish_at(s, i, end, node);
}

// A barrier ends on both cores when the later one has arrived and the signal has crossed.
static void arrive_at_barrier(sim *s, sim_core *c, sim_engine *e, const sim_insn *i, binding b)
{
    const uint8_t id = s->ordered_barriers ? 0 : i->insn->attr[0];
    const uint32_t other = 1u - e->core;
    const uint32_t node = add_node(s, e, i, s->now, b);
    e->node = node;
    e->previous = i;
    e->pc++;
    count_work(c, i);
    if (s->core_count == 1) {
        e->free = e->data_free = s->now + i->interval;
        finish_at(s, i, e->free, node);
        return;
    }
    if (!s->barrier_engine[other][id]) {
        s->barrier_engine[e->core][id] = 1u + e->id;
        e->state = SIM_AT_BARRIER;
        e->blocked_since = s->now;
        return;
    }
    sim_core *peer_core = &s->cores[other];
    sim_engine *peer = &peer_core->engines[s->barrier_engine[other][id] - 1];
    s->barrier_engine[other][id] = 0;
    *wait_counter(peer_core, peer) += s->now - peer->blocked_since;
    peer->state = SIM_RUNNING;
    peer->node = node;
    peer->free = peer->data_free = e->free = e->data_free = s->now + i->interval;
    finish_at(s, i, e->free, node);
    // The peer's own updates fire with ours: its instruction is the same barrier of its core's program.
    const sim_step *step = &peer_core->functions[peer->function].streams[peer->id].steps.items[peer->pc - 1];
    finish_at(s, &peer_core->insns.items[step->item], peer->free, node);
    sim_wake(s, other, peer->id, peer->free);
}

// ---- one look at the next instruction ------------------------------------------------------------------------------

static outcome retry(int64_t *when, int64_t time)
{
    *when = time;
    return LATER;
}

// When what `i` reads from the last two instructions of its engine is written. Straight-line neighbours were compared
// beforehand; across a jump they are compared here.
static int64_t results_ready(const sim_core *c, const sim_engine *e, const sim_insn *i)
{
    int64_t ready = 0;
    for (int k = 0; k < 2 && e->last[k]; k++) {
        const sim_insn *neighbour = k == 0 ? i->before : i->before ? i->before->before : NULL;
        const bool reads = neighbour == e->last[k] ? i->raw[k] : sim_reads_result(c, i, e->last[k]);
        if (reads && e->ready[k] > ready) ready = e->ready[k];
    }
    return ready;
}

static outcome try_compute(sim *s, sim_core *c, sim_engine *e, const sim_step *step, const sim_insn *i, binding b, int64_t *when)
{
    if (e->data_free > s->now) return retry(when, e->data_free);
    if (e->data_free >= b.time) {
        b = in_order(e, e->data_free);
        if (e->switch_time) b = (binding){ .time = e->data_free, .node = e->switch_node };
    }
    const int64_t ready = results_ready(c, e, i);
    if (ready > s->now) return retry(when, ready);
    bind_later(&b, ready, e->node, SIM_ASSUME_NONE, 0);
    if (i->table && i->table != e->table) {
        e->table = i->table;
        e->switch_time = s->table_ps;
        e->switch_node = b.node;
        c->counters.table_switches++;
        e->data_free = s->now + s->table_ps;
        return retry(when, e->data_free);
    }
    if (check_ports(s, c, e, step, &b) == HELD) return HELD;
    start_stream(s, c, e, i, b);
    return GO;
}

static outcome try_insn(sim *s, sim_core *c, sim_engine *e, const sim_step *step, int64_t *when)
{
    const sim_insn *i = &c->insns.items[step->item];
    binding b = in_order(e, e->free);
    if (e->control_time) b.key[0] = SIM_ASSUME_NONE;
    *when = 0;
    const outcome waits = check_waits(s, c, e, i, &b, when);
    if (waits != GO) return waits;
    if (isa_is_dma((isa_op)i->op)) {
        if (!i->sequencer && e->data_free > s->now) return retry(when, e->data_free);
        start_dma(s, c, e, i, b);
    } else if (i->op == ISA_barrier) {
        if (e->data_free > s->now) return retry(when, e->data_free);
        arrive_at_barrier(s, c, e, i, b);
        return GO;
    } else if (i->sequencer) start_sequencer(s, c, e, i, b);
    else if (i->op == ISA_matmul || i->op == ISA_transpose) start_pe(s, c, e, i, b);
    else {
        const outcome o = try_compute(s, c, e, step, i, b, when);
        if (o != GO) return o;
    }
    count_work(c, i);
    e->pc++;
    return GO;
}

void sim_engine_attempt(sim *s, uint32_t core, uint32_t engine)
{
    sim_core *c = &s->cores[core];
    sim_engine *e = &c->engines[engine];
    while (e->state == SIM_RUNNING && !s->failure) {
        if (e->free > s->now) {
            sim_wake(s, core, engine, e->free);
            return;
        }
        const sim_step *step = &c->functions[e->function].streams[engine].steps.items[e->pc];
        if (step->kind != SIM_EXEC) {
            sim_control_step(s, c, e, step);
            continue;
        }
        int64_t when;
        const outcome o = try_insn(s, c, e, step, &when);
        if (o == LATER) {
            sim_wake(s, core, engine, when);
            return;
        }
    }
}

// ---- semaphores ----------------------------------------------------------------------------------------------------

static void raise_semaphore(sim *s, sim_core *c, uint32_t core, const sim_delta *d, uint32_t node)
{
    sim_semaphore *sem = &c->semaphores[d->sem];
    sem->value = sim_wrap_add(sem->value, d->value);
    sem->head = (uint8_t)((sem->head + 1) % SIM_HISTORY);
    sem->history[sem->head] = (sim_update){ sem->value, s->now, node };
    for (uint32_t n = 0; n < ISA_ENGINE_COUNT; n++) {
        sim_engine *e = &c->engines[n];
        if (!(sem->waiters >> n & 1) || sem->value < e->blocked_value) continue;
        sem->waiters &= (uint8_t)~(1u << n);
        *wait_counter(c, e) += s->now - e->blocked_since;
        e->state = SIM_RUNNING;
        sim_wake(s, core, n, s->now + (d->sem < c->named_semaphores ? s->semaphore_ps[n] : 0));
    }
}

void sim_fire(sim *s, uint32_t core, sim_range updates, uint32_t node)
{
    sim_core *c = &s->cores[core];
    for (uint32_t k = 0; k < updates.count; k++) raise_semaphore(s, c, core, &c->deltas.items[updates.first + k], node);
}
