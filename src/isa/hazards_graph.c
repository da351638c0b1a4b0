// SPDX-License-Identifier: Apache-2.0
// Building the graph: the instances of both cores in program order, which lane each is on, what its waits imply, and
// which accesses must be ordered.
//
// A lane is an engine, or what one engine triggers on one queue: only those transfers are sure to join the ring in
// program order. (Descriptors by hwdge join when the generator has made them, so they are a lane of their own.) Where
// several lanes feed one ring, one that joined it earlier for certain completes earlier; hazards_clock.c adds that.
//
// A wait for a semaphore that one lane feeds implies each completion without which the count falls short. If several
// lanes feed it, the others may have given all that they can give by then; what that is depends on who waits for whom,
// so hazards_clock.c settles it.
//
// The cores are walked in turn from barrier to barrier, as dev runs them: accesses of one core come, in this order,
// after the other core's accesses before the last barrier that they share; and what has no barrier between conflicts
// whoever comes first.
#include "isa/hazards_internal.h"

#include <string.h>

// ---- lanes ---------------------------------------------------------------------------------------------------------

uint16_t hz_lane_of(const hz_graph *g, uint32_t core, const isa_insn *i)
{
    const uint8_t queue = isa_is_dma((isa_op)i->op) ? i->queue : ISA_NO_QUEUE;
    const bool generator = queue != ISA_NO_QUEUE && i->attr[0] == ISA_DGE_HWDGE;
    for (uint32_t k = 0; k < g->lanes.count; k++) {
        const hz_lane *l = &g->lanes.items[k];
        if (l->core == core && l->engine == i->engine && l->queue == queue && l->generator == generator)
            return (uint16_t)k;
    }
    return UINT16_MAX;
}

static void number_lanes(hz_graph *g)
{
    for (uint32_t c = 0; c < g->p->core_count; c++)
        for (uint32_t k = 0; k < g->p->cores[c].functions.count; k++) {
            const isa_function *f = g->p->cores[c].functions.items[k];
            for (uint32_t n = 0; n < f->insns.count; n++) {
                const isa_insn *i = &f->insns.items[n];
                if (isa_is_control((isa_op)i->op) || hz_lane_of(g, c, i) != UINT16_MAX) continue;
                const bool dma = isa_is_dma((isa_op)i->op);
                VEC_PUSH(&g->lanes) = (hz_lane){.core = (uint8_t)c,
                                                .engine = i->engine,
                                                .queue = dma ? i->queue : ISA_NO_QUEUE,
                                                .generator = dma && i->attr[0] == ISA_DGE_HWDGE};
            }
        }
    for (uint32_t a = 0; a < g->lanes.count; a++)
        for (uint32_t b = 0; b < g->lanes.count; b++) {
            hz_lane *x = &g->lanes.items[a], *y = &g->lanes.items[b];
            if (a == b || x->core != y->core || x->queue == ISA_NO_QUEUE || x->queue != y->queue) continue;
            x->shared = g->complex = true;
        }
}

// ---- semaphores ----------------------------------------------------------------------------------------------------

static hz_feed *feed_of(hz_semaphore *s, uint16_t lane)
{
    for (uint32_t k = 0; k < s->feeds.count; k++)
        if (s->feeds.items[k].lane == lane) return &s->feeds.items[k];
    VEC_PUSH(&s->feeds) = (hz_feed){.lane = lane};
    return &s->feeds.items[s->feeds.count - 1];
}

// Which lanes feed which semaphore, before any instance is there.
static void number_feeds(hz_graph *g)
{
    for (uint32_t c = 0; c < g->p->core_count; c++) {
        g->semaphores[c].items = ARENA_ARRAY(g->arena, hz_semaphore, ISA_SEMAPHORES);
        for (uint32_t k = 0; k < g->p->cores[c].functions.count; k++) {
            const isa_function *f = g->p->cores[c].functions.items[k];
            for (uint32_t n = 0; n < f->insns.count; n++) {
                const isa_insn *i = &f->insns.items[n];
                for (uint32_t u = 0; u < i->update_count && !isa_is_control((isa_op)i->op); u++) {
                    const uint16_t name = f->updates.items[i->update + u].sem;
                    const uint32_t s = hz_semaphore_index(g->walker[c], name);
                    if (s >= g->semaphores[c].count) g->semaphores[c].count = s + 1;
                    g->semaphores[c].items[s].name = name;
                    feed_of(&g->semaphores[c].items[s], hz_lane_of(g, c, i));
                }
            }
        }
        for (uint32_t s = 0; s < g->semaphores[c].count; s++)
            g->complex |= g->semaphores[c].items[s].feeds.count > 1;
    }
}

static void note_updates(hz_graph *g, uint32_t core, const hz_step *step, uint32_t instance, uint16_t lane)
{
    for (uint32_t u = 0; u < step->i->update_count; u++) {
        const isa_update *up = &step->f->updates.items[step->i->update + u];
        const uint32_t s = hz_semaphore_index(g->walker[core], up->sem);
        hz_semaphore *sem = &g->semaphores[core].items[s];
        hz_feed *feed = feed_of(sem, lane);
        uint32_t epoch;
        const int64_t count = hz_walker_count(g->walker[core], s, &epoch);
        const int64_t before = sem->feeds.count > 1
                                   ? (feed->entries.count ? feed->entries.items[feed->entries.count - 1].after : 0)
                                   : count;
        VEC_PUSH(&feed->entries) = (hz_entry){instance, epoch, before, before + up->value};
    }
}

// The last entry that a count of `value` needs, epochs after `epoch` left out; entries.count if none.
static uint32_t last_needed(const hz_feed *feed, int64_t value, uint32_t epoch)
{
    uint32_t lo = 0, hi = feed->entries.count; // entries before lo are needed
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        const hz_entry *e = &feed->entries.items[mid];
        if (e->before < value && e->epoch <= epoch)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? lo - 1 : feed->entries.count;
}

static void note_need(hz_graph *g, hz_semaphore *sem, uint32_t core, uint32_t instance, uint8_t wait, int64_t value,
                      uint32_t epoch)
{
    for (uint32_t k = 0; k < sem->feeds.count; k++) {
        const hz_feed *feed = &sem->feeds.items[k];
        hz_need need = {.lane = feed->lane, .wait = wait};
        if (sem->feeds.count == 1) {
            const uint32_t e = last_needed(feed, value, epoch);
            if (e == feed->entries.count) continue;
            need.count = g->instances.items[feed->entries.items[e].instance].index;
        } else {
            VEC_PUSH(&g->open) = (hz_open_need){
                instance, g->needs.count, (uint16_t)(sem - g->semaphores[core].items), (uint16_t)k, epoch, value};
        }
        VEC_PUSH(&g->needs) = need;
    }
}

static void note_waits(hz_graph *g, uint32_t core, const hz_step *step, uint32_t instance)
{
    const hz_walker *w = g->walker[core];
    for (uint32_t k = 0; k < step->i->wait_count; k++) {
        const isa_wait *wait = &step->f->waits.items[step->i->wait + k];
        const uint32_t s = hz_semaphore_index(w, wait->sem);
        if (s == HZ_NONE) continue; // nothing ever counts: never satisfied, or satisfied from the start
        const hz_frame *f = hz_walker_frame(w, step->frame);
        const int64_t value = wait->relative ? f->count[s] + wait->value : wait->value;
        note_need(g, &g->semaphores[core].items[s], core, instance, (uint8_t)k, value,
                  wait->relative ? f->epoch[s] : 0);
    }
}

// ---- instances -----------------------------------------------------------------------------------------------------

typedef struct builder {
    hz_graph *g;
    hz_frontier *frontier;
    const uint8_t *written;
    uint32_t last[ISA_CORES][ISA_ENGINE_COUNT]; // the engine's latest instance
    uint32_t position[ISA_CORES][ISA_ENGINE_COUNT];
    uint32_t barrier[ISA_CORES];             // at which the core stands, or HZ_NONE
    uint8_t barrier_engines[ISA_CORES][256]; // by id: engines that meet it
    bool ended[ISA_CORES];
} builder;

static void add_instance(builder *b, uint32_t core, const hz_step *step)
{
    hz_graph *g = b->g;
    const uint32_t id = g->instances.count;
    const uint16_t lane = hz_lane_of(g, core, step->i);
    hz_lane *l = &g->lanes.items[lane];
    hz_instance x = {.function = step->function,
                     .insn = step->insn,
                     .frame = step->frame,
                     .lane = lane,
                     .core = (uint8_t)core,
                     .index = l->instances.count + 1,
                     .position = ++b->position[core][step->i->engine],
                     .before = b->last[core][step->i->engine],
                     .partner = HZ_NONE,
                     .need = g->needs.count,
                     .pair = g->pairs.count};
    VEC_PUSH(&g->instances) = x;
    note_waits(g, core, step, id);
    VEC_PUSH(&l->instances) = id;
    note_updates(g, core, step, id, lane);
    b->last[core][step->i->engine] = id;
    const uint32_t first = g->accesses.count;
    for (int k = 0; k < step->i->operand_count; k++)
        hz_access_add(g->p, g->walker[core], step, k, core, id, &g->symbols, b->written, &g->accesses);
    hz_frontier_add(b->frontier, first);
    if (step->i->op == ISA_barrier) b->barrier[core] = id;
}

// Walks one core to its next barrier, or to its end.
static glia_status advance(builder *b, uint32_t core)
{
    hz_graph *g = b->g;
    b->barrier[core] = HZ_NONE;
    while (!b->ended[core] && b->barrier[core] == HZ_NONE) {
        hz_step step;
        bool more;
        TRY(hz_walker_next(g->walker[core], &step, &more));
        if (!more) {
            b->ended[core] = true;
            break;
        }
        ENSURE(g->instances.count < HZ_STEPS, EXHAUSTED, "program '%s' expands to more than %d instructions",
               g->p->name, HZ_STEPS);
        add_instance(b, core, &step);
        hz_walker_done(g->walker[core], &step);
    }
    return GLIA_OK;
}

static uint8_t barrier_id(const hz_graph *g, uint32_t instance)
{
    const hz_instance *x = &g->instances.items[instance];
    return g->p->cores[x->core].functions.items[x->function]->insns.items[x->insn].attr[0];
}

// Both cores stand at a barrier: they meet if it is the same one, and if no other engine could be meant.
static void meet(builder *b)
{
    hz_graph *g = b->g;
    if (b->barrier[0] == HZ_NONE || b->barrier[1] == HZ_NONE) return;
    const uint8_t id = barrier_id(g, b->barrier[0]);
    const uint8_t e0 = b->barrier_engines[0][id], e1 = b->barrier_engines[1][id];
    if (id != barrier_id(g, b->barrier[1]) || (e0 & (e0 - 1)) || (e1 & (e1 - 1))) return;
    g->instances.items[b->barrier[0]].partner = b->barrier[1];
    g->instances.items[b->barrier[1]].partner = b->barrier[0];
}

static void find_barriers(builder *b)
{
    for (uint32_t c = 0; c < b->g->p->core_count; c++)
        for (uint32_t k = 0; k < b->g->p->cores[c].functions.count; k++) {
            const isa_function *f = b->g->p->cores[c].functions.items[k];
            for (uint32_t n = 0; n < f->insns.count; n++)
                if (f->insns.items[n].op == ISA_barrier)
                    b->barrier_engines[c][f->insns.items[n].attr[0]] |= (uint8_t)(1u << f->insns.items[n].engine);
        }
}

static glia_status expand(builder *b)
{
    hz_graph *g = b->g;
    memset(b->last, 0xff, sizeof b->last);
    b->barrier[0] = b->barrier[1] = HZ_NONE;
    for (uint32_t c = g->p->core_count; c < ISA_CORES; c++)
        b->ended[c] = true;
    find_barriers(b);
    while (!b->ended[0] || !b->ended[1]) {
        for (uint32_t c = 0; c < g->p->core_count; c++)
            TRY(advance(b, c));
        meet(b);
    }
    g->count = g->instances.count;
    VEC_PUSH(&g->instances) = (hz_instance){.need = g->needs.count, .pair = g->pairs.count};
    for (uint32_t c = 0; c < g->p->core_count; c++) {
        g->chose |= hz_walker_chose(g->walker[c]);
        for (uint32_t s = 0; s < g->semaphores[c].count; s++)
            g->semaphores[c].items[s].regular = hz_walker_is_regular(g->walker[c], s);
    }
    return GLIA_OK;
}

// ---- the whole -----------------------------------------------------------------------------------------------------

glia_status hz_graph_create(const isa_program *p, hz_way way, const uint8_t *written, hz_graph **out)
{
    *out = NULL;
    hz_graph *g = glia_alloc(sizeof *g);
    g->p = p;
    g->arena = glia_arena_create();
    for (uint32_t c = 0; c < p->core_count; c++)
        g->walker[c] = hz_walker_create(p, c, way, written, &g->symbols, g->arena);
    number_lanes(g);
    number_feeds(g);
    g->width = g->lanes.count + (g->complex ? ISA_CORES * ISA_ENGINE_COUNT : 0);
    builder b = {.g = g, .written = written, .frontier = hz_frontier_create(g)};
    glia_status s = expand(&b);
    hz_frontier_destroy(b.frontier);
    if (s) {
        hz_graph_destroy(g);
        return glia_status_pass(s, __FILE__, __LINE__);
    }
    *out = g;
    return GLIA_OK;
}

void hz_graph_destroy(hz_graph *g)
{
    if (!g) return;
    for (uint32_t k = 0; k < g->lanes.count; k++)
        VEC_FREE(&g->lanes.items[k].instances);
    for (uint32_t c = 0; c < ISA_CORES; c++) {
        for (uint32_t s = 0; s < g->semaphores[c].count; s++) {
            for (uint32_t k = 0; k < g->semaphores[c].items[s].feeds.count; k++)
                VEC_FREE(&g->semaphores[c].items[s].feeds.items[k].entries);
            VEC_FREE(&g->semaphores[c].items[s].feeds);
        }
        hz_walker_destroy(g->walker[c]);
    }
    VEC_FREE(&g->lanes);
    VEC_FREE(&g->instances);
    VEC_FREE(&g->needs);
    VEC_FREE(&g->pairs);
    VEC_FREE(&g->accesses);
    VEC_FREE(&g->open);
    VEC_FREE(&g->symbols);
    glia_arena_destroy(g->arena);
    glia_free(g);
}
