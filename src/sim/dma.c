// SPDX-License-Identifier: Apache-2.0
// DMA: sixteen engines, each serving sixteen rings, all sharing the HBM stack.
//
// A transfer joins its ring when it is triggered and its fixed latency is over; each engine keeps the order of a ring
// and is shared evenly by the rings that have something for it (packets of rings alternate; a fluid share is that
// without its ripple, and loses no time). On generations with service classes the best class present takes all.
//
// The work of a transfer on an engine is the time that it takes when it has the engine for itself: what the engine
// needs, or what its even part of the HBM stack needs, whichever is longer (loads.c). So one ring's transfers take a
// time of their own whatever other engines do, which keeps one ring monotone, and the stack is never exceeded. The
// stack is shared by the cores that have transfers at work: there are two paces, alone and with the other core.
//
// Speeds are integers (a share of 2^20) and are set anew whenever a transfer begins or ends somewhere; between such
// moments progress is linear and exact.
#include "sim/machine.h"

enum { ONE = 1 << SIM_RATE_BITS };

static sim_transfer *transfer_at(sim_core *c, const sim_ring *r, uint32_t at)
{
    return &c->transfers.items[r->queue.items[at]];
}

static uint32_t new_transfer(sim_core *c)
{
    if (c->free_transfers.count) return c->free_transfers.items[--c->free_transfers.count];
    VEC_PUSH(&c->transfers) = (sim_transfer){ 0 };
    return c->transfers.count - 1;
}

void sim_dma_trigger(sim *s, const sim_insn *i, uint32_t node, int64_t time)
{
    sim_core *c = &s->cores[i->core];
    const uint32_t t = new_transfer(c);
    c->transfers.items[t] = (sim_transfer){ .insn = i, .node = node, .arrival = time, .first = SIM_NEVER,
                                            .left = (uint8_t)c->class_count, .end_node = node };
    sim_push(s, (sim_event){ .time = time, .kind = SIM_EVENT_ARRIVE, .core = i->core, .item = t }, SIM_PRIO_ARRIVE);
}

static void complete(sim *s, sim_core *c, uint32_t core, uint32_t t)
{
    const sim_transfer x = c->transfers.items[t];
    c->counters.dma_transfer_time += s->now - (x.first == SIM_NEVER ? s->now : x.first);
    if (s->now >= s->end) {
        s->end = s->now;
        s->end_node = x.end_node;
    }
    if (s->options.trace) {
        if (s->spans.count < 4000000)
            VEC_PUSH(&s->spans) = (sim_span){ .start = x.first == SIM_NEVER ? s->now : x.first, .end = s->now, .insn = x.insn, .transfer = true };
        else s->spans_cut = true;
    }
    if (x.insn->updates.count)
        sim_push(s, (sim_event){ .time = s->now, .kind = SIM_EVENT_UPDATE, .core = (uint8_t)core, .insn = x.insn,
                                 .node = x.end_node }, SIM_PRIO_UPDATE);
}

static void drop_finished(sim_core *c, sim_ring *r)
{
    while (r->done < r->queue.count && transfer_at(c, r, r->done)->left == 0)
        VEC_PUSH(&c->free_transfers) = r->queue.items[r->done++];
    if (r->done < 64 || r->done * 2 < r->queue.count) return;
    for (uint32_t k = r->done; k < r->queue.count; k++) r->queue.items[k - r->done] = r->queue.items[k];
    r->queue.count -= r->done;
    for (uint32_t k = 0; k < SIM_CLASSES; k++) r->at[k] -= r->done;
    r->done = 0;
}

static void set_active(sim_core *c, sim_ring *r, uint32_t k, const sim_insn *i, bool active)
{
    if (r->active[k] == active) return;
    r->active[k] = active;
    c->dma_active += active ? 1u : -1u;
    c->dma_active_by[i->dge] += active ? 1u : -1u;
}

// The transfer at `at` is over for class k: the node of its end there, and perhaps of all of it.
static void finish_class(sim *s, sim_core *c, uint32_t core, sim_ring *r, uint32_t k)
{
    const uint32_t t = r->queue.items[r->at[k]];
    sim_transfer *x = &c->transfers.items[t];
    const int64_t load = x->insn->loads[k].time[s->pace];
    if (load) {
        set_active(c, r, k, x->insn, false);
        const bool queued = r->since[k] > x->arrival && r->node[k] != UINT32_MAX;
        sim_node end = { .time = s->now, .insn = x->insn, .before = queued ? r->node[k] : x->node, .is_end = true };
        if (x->insn->loads[k].held[s->pace]) {
            end.key[0] = SIM_ASSUME_HBM;
            end.part[0] = (int64_t)((double)(s->now - r->since[k]) * (1 - hw_value(s->chip->hbm_stream_efficiency)));
        }
        x->end_node = r->node[k] = sim_node_add(s, end);
    }
    r->at[k]++;
    if (--x->left == 0) complete(s, c, core, t);
}

// Class k of a ring turns to its next transfer; those that give it nothing are over at once.
static void begin_next(sim *s, sim_core *c, uint32_t core, sim_ring *r, uint32_t k)
{
    while (r->at[k] < r->queue.count) {
        sim_transfer *x = transfer_at(c, r, r->at[k]);
        const int64_t load = x->insn->loads[k].time[s->pace];
        if (load) {
            r->left[k] = load << SIM_RATE_BITS;
            r->since[k] = s->now;
            if (x->first == SIM_NEVER) x->first = s->now;
            set_active(c, r, k, x->insn, true);
            return;
        }
        finish_class(s, c, core, r, k);
    }
}

void sim_dma_arrive(sim *s, uint32_t core, uint32_t transfer)
{
    sim_core *c = &s->cores[core];
    const sim_insn *i = c->transfers.items[transfer].insn;
    sim_ring *r = &c->rings[i->queue];
    VEC_PUSH(&r->queue) = transfer;
    for (uint32_t k = 0; k < c->class_count; k++)
        if (!r->active[k] && r->at[k] == r->queue.count - 1) begin_next(s, c, core, r, k);
    drop_finished(c, r);
    sim_dma_plan(s);
}

// ---- speeds --------------------------------------------------------------------------------------------------------

static uint8_t best_class(const sim_core *c, uint32_t k)
{
    uint8_t best = UINT8_MAX;
    for (uint32_t q = 0; q < ISA_QUEUES; q++) {
        const sim_ring *r = &c->rings[q];
        if (!r->active[k]) continue;
        const uint8_t priority = c->transfers.items[r->queue.items[r->at[k]]].insn->priority;
        if (priority < best) best = priority;
    }
    return best;
}

static void share_engine(sim *s, sim_core *c, uint32_t k)
{
    const uint8_t best = best_class(c, k);
    int64_t n = 0;
    for (uint32_t q = 0; q < ISA_QUEUES; q++)
        n += c->rings[q].active[k] && transfer_at(c, &c->rings[q], c->rings[q].at[k])->insn->priority == best;
    for (uint32_t q = 0; q < ISA_QUEUES; q++) {
        sim_ring *r = &c->rings[q];
        if (!r->active[k]) continue;
        r->speed[k] = transfer_at(c, r, r->at[k])->insn->priority == best ? ONE / n : 0;
        if (!r->speed[k]) continue;
        const int64_t end = s->now + (r->left[k] + r->speed[k] - 1) / r->speed[k];
        if (end < s->dma_next) s->dma_next = end;
    }
}

// The other core has begun or stopped: what is under way changes its pace for the rest of its way.
static void change_pace(sim_core *c, uint32_t from, uint32_t to)
{
    for (uint32_t q = 0; q < ISA_QUEUES; q++) {
        sim_ring *r = &c->rings[q];
        for (uint32_t k = 0; k < c->class_count; k++) {
            if (!r->active[k]) continue;
            const sim_load *l = &transfer_at(c, r, r->at[k])->insn->loads[k];
            r->left[k] = (int64_t)(((__int128)r->left[k] * l->time[to] + l->time[from] - 1) / l->time[from]);
        }
    }
}

void sim_dma_plan(sim *s)
{
    uint32_t active = 0;
    for (uint32_t core = 0; core < s->core_count; core++) active += s->cores[core].dma_active != 0;
    const uint32_t pace = active > 1 ? 1 : 0;
    for (uint32_t core = 0; core < s->core_count && pace != s->pace; core++) change_pace(&s->cores[core], s->pace, pace);
    s->pace = pace;
    s->dma_next = SIM_NEVER;
    for (uint32_t core = 0; core < s->core_count; core++)
        for (uint32_t k = 0; k < s->cores[core].class_count && s->cores[core].dma_active; k++) share_engine(s, &s->cores[core], k);
}

// ---- time ----------------------------------------------------------------------------------------------------------

static void count_time(sim_core *c, int64_t passed)
{
    c->counters.dma_active += passed;
    int64_t *const by[ISA_DGE_COUNT] = { &c->counters.static_active, &c->counters.swdge_active, &c->counters.hwdge_active };
    for (int d = 0; d < ISA_DGE_COUNT; d++)
        if (c->dma_active_by[d]) *by[d] += passed;
}

void sim_dma_advance(sim *s, int64_t time)
{
    const int64_t passed = time - s->dma_time;
    s->dma_time = time;
    for (uint32_t core = 0; core < s->core_count && passed; core++) {
        sim_core *c = &s->cores[core];
        if (!c->dma_active) continue;
        count_time(c, passed);
        bool held = false;
        for (uint32_t k = 0; k < c->class_count; k++)
            for (uint32_t q = 0; q < ISA_QUEUES; q++) {
                sim_ring *r = &c->rings[q];
                if (!r->active[k]) continue;
                r->left[k] -= r->speed[k] * passed;
                held |= transfer_at(c, r, r->at[k])->insn->loads[k].held[s->pace];
            }
        if (held) c->counters.hbm_limited += passed;
    }
    if (time < s->dma_next) return;
    for (uint32_t core = 0; core < s->core_count; core++) {
        sim_core *c = &s->cores[core];
        for (uint32_t q = 0; q < ISA_QUEUES; q++) {
            sim_ring *r = &c->rings[q];
            bool finished = false;
            for (uint32_t k = 0; k < c->class_count; k++) {
                if (!r->active[k] || r->left[k] > 0) continue;
                finish_class(s, c, core, r, k);
                begin_next(s, c, core, r, k);
                finished = true;
            }
            if (finished) drop_finished(c, r);
        }
    }
    sim_dma_plan(s);
}
