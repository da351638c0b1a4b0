// SPDX-License-Identifier: Apache-2.0
// Clocks: for each instance, how many completions of each lane are certain when it starts. In program order, an
// instance knows what its engine knew before, and all that was known at each completion that its waits imply.
//
// A wait that names an increment which comes later in program order is cut back to what came before: nothing else can
// help to keep program order.
//
// Where several lanes feed one semaphore, a wait implies a lane's completion only if the count falls short without it
// although the other lanes have given all that they may have given: all but what starts after the wait. That follows
// from clocks, so they are made in rounds. The first round takes nothing to be after; each round is certain if the one
// before was, and implies at least as much; it ends when nothing changes.
#include "isa/hazards_internal.h"

#include <string.h>

enum { ROUNDS = 8 };

static uint32_t *row(uint32_t *rows, const hz_graph *g, uint32_t instance)
{
    return rows + (size_t)instance * g->width;
}

const uint32_t *hz_clock_start(const hz_clocks *c, uint32_t instance)
{
    if (c->base && instance < c->from) return hz_clock_start(c->base, instance);
    return row(c->start, c->g, instance);
}

const uint32_t *hz_clock_done(const hz_clocks *c, uint32_t instance)
{
    if (c->base && instance < c->from) return hz_clock_done(c->base, instance);
    return row(c->done ? c->done : c->start, c->g, instance);
}

uint32_t hz_need_count(const hz_clocks *c, uint32_t need)
{
    return c->counts ? c->counts[need] : c->g->needs.items[need].count;
}

static void join(uint32_t *into, const uint32_t *from, uint32_t width)
{
    for (uint32_t k = 0; k < width; k++)
        into[k] = into[k] > from[k] ? into[k] : from[k];
}

static void raise(uint32_t *clock, uint32_t at, uint32_t value)
{
    if (clock[at] < value) clock[at] = value;
}

static uint32_t position_at(const hz_graph *g, uint32_t core, uint32_t engine)
{
    return g->lanes.count + core * ISA_ENGINE_COUNT + engine;
}

// ---- one instance --------------------------------------------------------------------------------------------------

// How many transfers of lane `l` were triggered before position `position` of its engine.
static uint32_t triggered(const hz_graph *g, const hz_lane *l, uint32_t position)
{
    uint32_t lo = 0, hi = l->instances.count;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (g->instances.items[l->instances.items[mid]].position < position)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void know_ring(const hz_clocks *c, const hz_instance *x, const uint32_t *start, uint32_t *done)
{
    const hz_graph *g = c->g;
    const hz_lane *mine = &g->lanes.items[x->lane];
    for (uint32_t k = 0; mine->shared && k < g->lanes.count; k++) {
        const hz_lane *l = &g->lanes.items[k];
        if (k == x->lane || l->core != mine->core || l->queue != mine->queue || l->generator) continue;
        const uint32_t n = triggered(g, l, start[position_at(g, l->core, l->engine)]);
        if (n == 0) continue;
        join(done, hz_clock_done(c, l->instances.items[n - 1]), g->width);
        raise(done, k, n);
    }
}

static void clock_done(hz_clocks *c, uint32_t id)
{
    const hz_graph *g = c->g;
    const hz_instance *x = &g->instances.items[id];
    uint32_t *done = row(c->done, g, id);
    const uint32_t *start = row(c->start, g, id);
    memcpy(done, start, g->width * sizeof *done);
    know_ring(c, x, start, done);
}

// A matched barrier completes on both cores at once, and knows what either knew; the engines go on from there.
static void meet(hz_clocks *c, uint32_t a, uint32_t b)
{
    const hz_graph *g = c->g;
    uint32_t *x = row(c->start, g, a), *y = row(c->start, g, b);
    join(x, y, g->width);
    raise(x, g->instances.items[a].lane, g->instances.items[a].index);
    raise(x, g->instances.items[b].lane, g->instances.items[b].index);
    memcpy(y, x, g->width * sizeof *x);
    if (!c->done) return;
    memcpy(row(c->done, g, a), x, g->width * sizeof *x);
    memcpy(row(c->done, g, b), x, g->width * sizeof *x);
}

static void clock_instance(hz_clocks *c, uint32_t id)
{
    const hz_graph *g = c->g;
    const hz_instance *x = &g->instances.items[id];
    uint32_t *start = row(c->start, g, id);
    if (x->before == HZ_NONE)
        memset(start, 0, g->width * sizeof *start);
    else
        memcpy(start, hz_clock_start(c, x->before), g->width * sizeof *start);
    for (uint32_t n = x->need; n < x[1].need; n++) {
        const hz_need *need = &g->needs.items[n];
        const uint32_t count = hz_need_count(c, n);
        if (count == 0 || hz_is_skipped(&c->skip, x, need)) continue;
        join(start, hz_clock_done(c, g->lanes.items[need->lane].instances.items[count - 1]), g->width);
        raise(start, need->lane, count);
    }
    if (g->complex) raise(start, position_at(g, x->core, g->lanes.items[x->lane].engine), x->position);
    if (c->done) clock_done(c, id);
    if (x->partner != HZ_NONE && x->partner < id) meet(c, x->partner, id);
}

// ---- semaphores of several lanes -----------------------------------------------------------------------------------

// The most that the feed may have added before instance `x` starts: all but what starts after x for certain.
static int64_t most_added(const hz_clocks *c, const hz_feed *feed, const hz_instance *x, bool first_round)
{
    const hz_graph *g = c->g;
    const uint32_t at = position_at(g, x->core, g->lanes.items[x->lane].engine);
    uint32_t lo = 0, hi = feed->entries.count; // entries from hi on are after
    while (!first_round && lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (hz_clock_start(c, feed->entries.items[mid].instance)[at] >= x->position)
            hi = mid;
        else
            lo = mid + 1;
    }
    return hi ? feed->entries.items[hi - 1].after : 0;
}

static uint32_t implied(const hz_clocks *c, const hz_open_need *o, bool first_round)
{
    const hz_graph *g = c->g;
    const hz_instance *x = &g->instances.items[o->instance];
    const hz_semaphore *sem = &g->semaphores[x->core].items[o->semaphore];
    if (!sem->regular) return 0;
    int64_t others = 0;
    for (uint32_t k = 0; k < sem->feeds.count; k++)
        if (k != o->feed) others += most_added(c, &sem->feeds.items[k], x, first_round);
    const hz_feed *feed = &sem->feeds.items[o->feed];
    uint32_t count = 0;
    for (uint32_t lo = 0, hi = feed->entries.count; lo < hi;) {
        const uint32_t mid = lo + (hi - lo) / 2;
        const hz_entry *e = &feed->entries.items[mid];
        if (e->before < o->value - others && e->instance < o->instance) {
            count = g->instances.items[e->instance].index;
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return count;
}

static bool settle(hz_clocks *c, bool first_round)
{
    bool changed = false;
    for (uint32_t k = 0; k < c->g->open.count; k++) {
        const hz_open_need *o = &c->g->open.items[k];
        const uint32_t count = implied(c, o, first_round);
        changed |= count != c->counts[o->need];
        c->counts[o->need] = count;
    }
    return changed;
}

static void clock_all(hz_clocks *c)
{
    const hz_graph *g = c->g;
    if (g->open.count) settle(c, true);
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t id = 0; id < g->count; id++)
            clock_instance(c, id);
        if (!g->open.count || !settle(c, false)) break;
    }
    c->whole = true;
}

// ---- the whole -----------------------------------------------------------------------------------------------------

static void allocate(hz_clocks *c, const hz_graph *g)
{
    *c = (hz_clocks){.g = g, .skip = {.function = HZ_NONE}};
    const size_t words = glia_array_bytes((size_t)g->count + 1, g->width);
    c->start = glia_alloc(glia_array_bytes(words, sizeof *c->start));
    if (!g->complex) return;
    c->done = glia_alloc(glia_array_bytes(words, sizeof *c->done));
    c->counts = glia_alloc(glia_array_bytes(g->needs.count + 1, sizeof *c->counts));
    for (uint32_t n = 0; n < g->needs.count; n++)
        c->counts[n] = g->needs.items[n].count;
}

void hz_clocks_init(hz_clocks *c, const hz_graph *g)
{
    allocate(c, g);
    clock_all(c);
}

void hz_clocks_fini(hz_clocks *c)
{
    glia_free(c->start);
    glia_free(c->done);
    glia_free(c->counts);
    *c = (hz_clocks){0};
}

static uint32_t first_of(const hz_graph *g, hz_skip skip)
{
    uint32_t from = g->count, open_barrier = HZ_NONE;
    for (uint32_t id = 0; id < g->count; id++) {
        const hz_instance *x = &g->instances.items[id];
        if (x->partner != HZ_NONE && x->partner > id) open_barrier = id;
        if (x->core != skip.core || x->function != skip.function || x->insn != skip.insn) continue;
        from = id;
        // A barrier of the other core that meets a later one has to be clocked again with it.
        if (open_barrier != HZ_NONE && g->instances.items[open_barrier].partner >= id) from = open_barrier;
        break;
    }
    return from;
}

void hz_clocks_without(hz_clocks *c, const hz_clocks *base, hz_skip skip)
{
    if (!c->g) allocate(c, base->g);
    c->skip = skip;
    c->base = c->g->complex ? NULL : base;
    c->from = c->base ? first_of(c->g, skip) : 0;
    c->whole = false;
    if (c->g->complex) clock_all(c);
}

void hz_clocks_next(hz_clocks *c, uint32_t instance)
{
    if (!c->whole && instance >= c->from) clock_instance(c, instance);
}
