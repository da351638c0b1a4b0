// SPDX-License-Identifier: Apache-2.0
// The critical path: from the last thing that ended back to the start, always to what was waited for last.
//
// Each instruction's start and each transfer's end is a node that names the node before it. The time between two nodes
// belongs to what was at work in it: to the transfer when the later node is a transfer's end, to the instruction of the
// earlier node otherwise. Stretches that were skipped (steady.c) are taken to be like the one before the skip, so its
// times count as often as it was repeated; the sum over the path is the total, exactly.
#include "sim/path.h"

#include <stdlib.h>
#include <string.h>

uint32_t sim_node_add(sim *s, sim_node n)
{
    VEC_PUSH(&s->nodes) = n;
    return s->nodes.count - 1;
}

// A stretch of simulated time on the path, and how often it counts.
typedef struct stretch {
    int64_t start, end;
    const sim_insn *insn;
    const sim_node *node;       // whose assumptions lie in it
    double times;
} stretch;
typedef struct walk {
    VEC(stretch) items;         // latest first
    sim *s;
} walk;

// Cuts [start, end] at the jumps of skips: what lies within a jump is dropped here and counted by weight.
static void add_stretch(walk *w, int64_t start, int64_t end, const sim_insn *insn, const sim_node *node)
{
    for (uint32_t k = w->s->skips.count; k-- > 0 && end > start;) {
        const sim_skip *skip = &w->s->skips.items[k];
        const int64_t from = skip->time, to = skip->time + skip->period * skip->times;
        if (end <= from) continue;
        if (start >= to) break;
        if (end > to) VEC_PUSH(&w->items) = (stretch){ to, end, insn, node, 1 };
        node = NULL;
        end = from;
    }
    if (end > start) VEC_PUSH(&w->items) = (stretch){ start, end, insn, node, 1 };
}

static void collect(walk *w)
{
    sim *s = w->s;
    uint32_t at = s->end_node;
    int64_t end = s->end;
    const sim_node *later = NULL;
    while (at != UINT32_MAX) {
        const sim_node *n = &s->nodes.items[at];
        const bool mine = !(later && later->is_end);        // a transfer owns the time up to its end
        add_stretch(w, n->time, end, mine ? n->insn : later->insn, later);
        if (n->time < end) end = n->time;
        later = n;
        at = n->before;
    }
    if (later) add_stretch(w, 0, end, later->insn, later);
}

// Cuts the stretch that contains `time`, so that windows begin and end at stretches.
static void split_at(walk *w, int64_t time)
{
    uint32_t low = 0, high = w->items.count;            // latest first
    while (low < high) {
        const uint32_t mid = (low + high) / 2;
        if (w->items.items[mid].start >= time) low = mid + 1;
        else high = mid;
    }
    if (low >= w->items.count || w->items.items[low].end <= time) return;
    VEC_PUSH(&w->items) = (stretch){ 0 };
    memmove(&w->items.items[low + 1], &w->items.items[low], sizeof(stretch) * (w->items.count - 1 - low));
    w->items.items[low].start = time;
    w->items.items[low + 1].end = time;
    w->items.items[low + 1].node = NULL;
}

static void weigh(walk *w)
{
    sim *s = w->s;
    double *times = glia_alloc(sizeof(double) * (s->skips.count + 1));
    for (uint32_t k = 0; k < s->skips.count; k++) times[k] = 1;
    for (uint32_t k = s->skips.count; k-- > 0;) {
        const sim_skip *skip = &s->skips.items[k];
        const int64_t from = skip->time - skip->period;
        const double more = (double)skip->times * times[k];
        split_at(w, from);
        split_at(w, skip->time);
        for (uint32_t n = 0; n < w->items.count; n++) {
            stretch *t = &w->items.items[n];
            if (t->start >= skip->time) continue;
            if (t->end <= from) break;
            t->times += more;
        }
        for (uint32_t j = k; j-- > 0 && s->skips.items[j].time > from;) times[j] += more;
    }
    glia_free(times);
}

static void sum_assumed(const walk *w, double *assumed)
{
    for (uint32_t n = 0; n < w->items.count; n++) {
        const stretch *t = &w->items.items[n];
        if (!t->node) continue;
        double left = (double)(t->end - t->start);
        for (int k = 0; k < 2; k++) {
            if (t->node->key[k] == SIM_ASSUME_NONE) continue;
            const double part = (double)t->node->part[k] < left ? (double)t->node->part[k] : left;
            assumed[t->node->key[k]] += part * t->times;
            left -= part;
        }
    }
}

static bool same_place(const sim *s, const sim_insn *a, const sim_insn *b)
{
    (void)s;
    return a->core == b->core && a->op == b->op && a->insn->origin == b->insn->origin && a->engine == b->engine &&
           a->queue == b->queue;
}

static const char *origin_text(const sim *s, const sim_insn *i, glia_arena *arena)
{
    const isa_origin *o = i->insn->origin < s->program->origins.count ? &s->program->origins.items[i->insn->origin] : NULL;
    if (!o || ((!o->op || !*o->op) && (!o->where || !*o->where))) return "";
    if (!o->where || !*o->where) return glia_arena_strdup(arena, o->op);
    return glia_arena_printf(arena, "%s %s", o->op ? o->op : "", o->where);
}

static void emit_path(const walk *w, glia_arena *arena, sim_path *out)
{
    const uint32_t count = w->items.count;
    out->items = ARENA_ARRAY(arena, sim_critical, count + 1);
    const sim_insn *last = NULL;
    double span = 0;
    for (uint32_t n = count; n-- > 0;) {
        const stretch *t = &w->items.items[n];
        if (!last || !same_place(w->s, last, t->insn)) {
            span = 0;
            last = t->insn;
            out->items[out->count++] = (sim_critical){ .core = last->core, .lane = glia_arena_strdup(arena, last->lane),
                                                       .insn = isa_row_get((isa_op)last->op)->name,
                                                       .origin = origin_text(w->s, last, arena) };
        }
        span += (double)(t->end - t->start) * t->times;
        out->items[out->count - 1].span.ps = (int64_t)span;
    }
}

// How much of the path lies in instructions of control `k`, calls included.
static bool within(const sim_core *c, const sim_control *k, const sim_insn *i)
{
    (void)c;
    return i->function == k->function && i->index >= k->insn && i->index < k->end;
}

static void sum_controls(const walk *w, glia_arena *arena, sim_path *out)
{
    for (uint32_t core = 0; core < w->s->core_count; core++) {
        const sim_core *c = &w->s->cores[core];
        out->control_ps[core] = ARENA_ARRAY(arena, double, c->controls.count + 1);
        for (uint32_t k = 0; k < c->controls.count; k++) {
            if (c->controls.items[k].source == SIM_TRIPS_STATIC) continue;
            for (uint32_t n = 0; n < w->items.count; n++) {
                const stretch *t = &w->items.items[n];
                if (t->insn->core == core && within(c, &c->controls.items[k], t->insn))
                    out->control_ps[core][k] += (double)(t->end - t->start) * t->times;
            }
        }
    }
}

void sim_path_find(sim *s, glia_arena *arena, sim_path *out)
{
    walk w = { .s = s };
    if (s->nodes.count) collect(&w);
    weigh(&w);
    sum_assumed(&w, out->assumed);
    sum_controls(&w, arena, out);
    emit_path(&w, arena, out);
    VEC_FREE(&w.items);
}
