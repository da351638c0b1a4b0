// SPDX-License-Identifier: Apache-2.0
// Findings in words: which memory, by which chain a pair is ordered, what is missing, what it depends on. Instructions
// are named as in "DVE tensor_copy layer@12": function and index, as the disassembly counts.
#include "isa/hazards_internal.h"
#include "isa/text.h"

enum { LINKS = 24 };

typedef struct node { // an instance
    const hz_graph *g;
    uint32_t id;
} node;

static const hz_instance *instance_of(node n)
{
    return &n.g->instances.items[n.id];
}

static const isa_function *function_of(node n)
{
    const hz_instance *x = instance_of(n);
    return n.g->p->cores[x->core].functions.items[x->function];
}

static const isa_insn *insn_of(node n)
{
    return &function_of(n)->insns.items[instance_of(n)->insn];
}

isa_place hz_place(const hz_instance *i)
{
    return (isa_place){i->core, i->function, i->insn};
}

static void put_label(glia_strbuf *b, node n)
{
    const hz_instance *x = instance_of(n);
    const isa_insn *i = insn_of(n);
    if (n.g->p->core_count > 1) glia_putf(b, "core %u ", x->core);
    glia_putf(b, "%s %s ", isa_engine_name((isa_engine)i->engine), isa_row_get((isa_op)i->op)->name);
    if (x->function) glia_put(b, function_of(n)->name);
    glia_putf(b, "@%u", x->insn);
}

static void put_full(glia_strbuf *b, node n)
{
    put_label(b, n);
    glia_put(b, " '");
    isa_print_insn(b, n.g->p, function_of(n), instance_of(n)->insn);
    glia_put(b, "'");
    const isa_origin *o = &n.g->p->origins.items[insn_of(n)->origin];
    if (o->op && *o->op)
        glia_putf(b, " (from '%s'%s%s)", o->op, o->where && *o->where ? " at " : "", o->where ? o->where : "");
}

static const char *taken(glia_strbuf *b, glia_arena *arena)
{
    const char *s = glia_arena_strdup(arena, glia_strbuf_str(b));
    glia_strbuf_fini(b);
    return s;
}

static node of_access(const hz_graph *g, uint32_t access)
{
    return (node){g, g->accesses.items[access].instance};
}

// ---- memory --------------------------------------------------------------------------------------------------------

const char *hz_say_memory(const hz_graph *g, const hz_pair *p, glia_arena *arena)
{
    const hz_access *a = &g->accesses.items[p->a], *b = &g->accesses.items[p->b];
    const long long lo = a->lo > b->lo ? a->lo : b->lo, hi = a->hi < b->hi ? a->hi : b->hi;
    if (a->space == ISA_HBM) {
        const isa_tensor *t = &g->p->tensors.items[a->tensor], *u = &g->p->tensors.items[b->tensor];
        if (a->tensor != b->tensor)
            return glia_arena_printf(arena, "tensor '%s' (the storage of '%s') bytes %lld..%lld", t->name, u->name, lo,
                                     hi);
        return glia_arena_printf(arena, "tensor '%s' bytes %lld..%lld", t->name, lo, hi);
    }
    const int p0 = a->p0 > b->p0 ? a->p0 : b->p0, p1 = a->p1 < b->p1 ? a->p1 : b->p1;
    return glia_arena_printf(arena, "%s partitions %d..%d bytes %lld..%lld", a->space == ISA_SBUF ? "sbuf" : "psum", p0,
                             p1 - 1, lo, hi);
}

// ---- chains --------------------------------------------------------------------------------------------------------

typedef struct chain {
    const hz_clocks *c;
    glia_strbuf text;
    uint32_t lane, index; // what is looked for
    int links;
    bool found;
} chain;

static node node_of(const chain *k, uint32_t id)
{
    return (node){k->c->g, id};
}

static uint32_t lane_instance(const hz_graph *g, uint32_t lane, uint32_t index)
{
    return g->lanes.items[lane].instances.items[index - 1];
}

static void begin_link(chain *k)
{
    if (k->links++) glia_put(&k->text, " ; ");
}

static void put_in_order(chain *k, uint32_t later, uint32_t earlier, const char *why)
{
    begin_link(k);
    put_label(&k->text, node_of(k, later));
    glia_put(&k->text, " after ");
    put_label(&k->text, node_of(k, earlier));
    glia_putf(&k->text, " (%s)", why);
}

// `y` is complete: is the aim, on the same lane, too?
static bool arrives(chain *k, uint32_t y)
{
    const hz_graph *g = k->c->g;
    const hz_instance *x = &g->instances.items[y];
    if (x->lane != k->lane || x->index < k->index) return false;
    if (x->index > k->index)
        put_in_order(k, y, lane_instance(g, k->lane, k->index),
                     hz_lane_is_engine(&g->lanes.items[k->lane]) ? "same engine" : "same queue");
    k->found = true;
    return true;
}

static void put_wait(chain *k, uint32_t x, const hz_need *need, uint32_t y)
{
    const isa_function *f = function_of(node_of(k, x));
    const isa_wait *w = &f->waits.items[insn_of(node_of(k, x))->wait + need->wait];
    begin_link(k);
    put_label(&k->text, node_of(k, x));
    if (w->relative)
        glia_putf(&k->text, " waits s%u>=base%+d (", w->sem, w->value);
    else
        glia_putf(&k->text, " waits s%u>=%d (", w->sem, w->value);
    put_label(&k->text, node_of(k, y));
    glia_put(&k->text, ")");
}

// Does a wait of `x` lead to the aim? Then *next is the instance that it completes.
static bool by_wait(chain *k, uint32_t x, uint32_t *next)
{
    const hz_graph *g = k->c->g;
    const hz_instance *i = &g->instances.items[x];
    for (int direct = 1; direct >= 0; direct--)
        for (uint32_t n = i->need; n < i[1].need; n++) {
            const hz_need *need = &g->needs.items[n];
            const uint32_t count = hz_need_count(k->c, n);
            if (count == 0 || hz_is_skipped(&k->c->skip, i, need)) continue;
            const uint32_t y = lane_instance(g, need->lane, count);
            if (direct ? need->lane != k->lane || count < k->index : hz_clock_done(k->c, y)[k->lane] < k->index)
                continue;
            put_wait(k, x, need, y);
            *next = y;
            return true;
        }
    return false;
}

// What a completed transfer knows only because an earlier one of its ring is complete.
static bool by_ring(chain *k, uint32_t x, uint32_t *next)
{
    const hz_graph *g = k->c->g;
    const hz_instance *i = &g->instances.items[x];
    if (!k->c->done || hz_clock_start(k->c, x)[k->lane] >= k->index || hz_clock_done(k->c, x)[k->lane] < k->index)
        return false;
    for (uint32_t l = 0; l < g->lanes.count; l++) {
        const uint32_t n = l == i->lane ? i->index - 1 : hz_clock_done(k->c, x)[l];
        if (n == 0 || g->lanes.items[l].queue != g->lanes.items[i->lane].queue || g->lanes.items[l].core != i->core)
            continue;
        const uint32_t y = lane_instance(g, l, n);
        if (y >= x || (!(l == k->lane && n >= k->index) && hz_clock_done(k->c, y)[k->lane] < k->index)) continue;
        put_in_order(k, x, y, "same queue");
        *next = y;
        return true;
    }
    return false;
}

// The earliest instance of the engine that knows as much as `x` about the aim.
static uint32_t earliest(const chain *k, uint32_t x)
{
    const hz_graph *g = k->c->g;
    while (g->instances.items[x].before != HZ_NONE &&
           hz_clock_start(k->c, g->instances.items[x].before)[k->lane] >= k->index)
        x = g->instances.items[x].before;
    return x;
}

static bool by_barrier(chain *k, uint32_t *x, bool *complete)
{
    const hz_instance *i = &k->c->g->instances.items[*x];
    if (i->partner == HZ_NONE) return false;
    // Barriers know together: go on from the one that brought it.
    if (i->lane == k->lane && i->index >= k->index) {
        *complete = true;
        return true;
    }
    put_in_order(k, *x, i->partner, "same barrier");
    *x = i->partner;
    *complete = true;
    return true;
}

// From the start of `x` (or its completion) towards the aim.
static void follow(chain *k, uint32_t x, bool complete)
{
    bool crossed = false;
    while (k->links < LINKS && !k->found) {
        uint32_t next;
        if (complete && arrives(k, x)) return;
        if (complete && by_ring(k, x, &next)) {
            x = next;
            continue;
        }
        if (by_wait(k, x, &next)) {
            x = next;
            complete = true;
            continue;
        }
        const uint32_t before = k->c->g->instances.items[x].before;
        const bool inherits = before != HZ_NONE && hz_clock_start(k->c, before)[k->lane] >= k->index;
        if (inherits) {
            const uint32_t e = earliest(k, before);
            begin_link(k);
            put_label(&k->text, node_of(k, x));
            glia_put(&k->text, " follows ");
            put_label(&k->text, node_of(k, e));
            x = e;
            complete = k->c->g->instances.items[e].partner != HZ_NONE;
            crossed = false;
            continue;
        }
        if (crossed || !by_barrier(k, &x, &complete)) return;
        crossed = true;
    }
}

const char *hz_say_chain(const hz_clocks *c, const hz_pair *p, glia_arena *arena)
{
    const hz_graph *g = c->g;
    const hz_instance *a = &g->instances.items[g->accesses.items[p->a].instance];
    chain k = {.c = c, .lane = a->lane, .index = a->index};
    follow(&k, g->accesses.items[p->b].instance, false);
    if (!k.found) glia_put(&k.text, k.links >= LINKS ? " ; ..." : " ; by what both barriers knew");
    return taken(&k.text, arena);
}

// ---- what is missing -----------------------------------------------------------------------------------------------

static const hz_entry *entry_of(const hz_feed *feed, uint32_t instance)
{
    for (uint32_t lo = 0, hi = feed->entries.count; lo < hi;) {
        const uint32_t mid = lo + (hi - lo) / 2;
        const hz_entry *e = &feed->entries.items[mid];
        if (e->instance == instance) return e;
        if (e->instance < instance)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

static void put_remedy(glia_strbuf *b, const hz_graph *g, node first, node second)
{
    const hz_instance *a = instance_of(first), *x = instance_of(second);
    const isa_insn *i = insn_of(first);
    if (a->core != x->core) {
        glia_put(b, "missing: a barrier of both cores between them, which the first core enters when it knows the "
                    "first complete");
        return;
    }
    if (i->update_count == 0) {
        glia_put(b, "missing: the first increments no semaphore; give it an increment, and the second a wait for it");
        return;
    }
    const uint16_t name = function_of(first)->updates.items[i->update].sem;
    const uint32_t s = hz_semaphore_index(g->walker[a->core], name);
    const hz_semaphore *sem = &g->semaphores[a->core].items[s];
    const hz_entry *e = sem->feeds.count == 1 ? entry_of(&sem->feeds.items[0], first.id) : NULL;
    glia_put(b, "missing: a wait of ");
    put_label(b, second);
    if (e)
        glia_putf(b, " until s%u>=base%+lld", name,
                  (long long)(e->after - hz_walker_frame(g->walker[x->core], x->frame)->count[s]));
    else
        glia_putf(b, " on s%u, which several lanes increment: better one of the lane's own", name);
    glia_put(b, ", for ");
    put_label(b, first);
}

const char *hz_say_missing(const hz_graph *g, const hz_pair *p, glia_arena *arena)
{
    static const char *const kinds[] = {"reads what is written by", "writes what is read by",
                                        "writes what is written by"};
    glia_strbuf b = {0};
    put_full(&b, of_access(g, p->b));
    glia_putf(&b, " %s ", kinds[p->kind]);
    put_full(&b, of_access(g, p->a));
    glia_putf(&b, " in %s, and nothing orders them; ", hz_say_memory(g, p, arena));
    put_remedy(&b, g, of_access(g, p->a), of_access(g, p->b));
    return taken(&b, arena);
}

// ---- what it depends on --------------------------------------------------------------------------------------------

static void put_symbol(glia_strbuf *b, const hz_graph *g, const hz_symbol *s)
{
    const isa_function *f = g->p->cores[s->place.core].functions.items[s->place.function];
    glia_putf(b, "r%u of %s (%s %s@%u", s->reg, isa_engine_name((isa_engine)s->engine),
              isa_row_get((isa_op)f->insns.items[s->place.insn].op)->name, s->place.function ? f->name : "",
              s->place.insn);
    if (s->storage != HZ_NONE) glia_putf(b, " from tensor '%s'", g->p->tensors.items[s->storage].name);
    if (s->min > INT32_MIN || s->max < INT32_MAX) glia_putf(b, ", %lld..%lld", (long long)s->min, (long long)s->max);
    glia_put(b, ")");
}

static bool put_dynamic(glia_strbuf *b, const hz_graph *g, const hz_access *a, bool more)
{
    const node n = {g, a->instance};
    for (int k = 0; k < a->term_count; k++) {
        if (a->terms[k].stride) continue;
        glia_put(b, more ? " and " : "");
        put_symbol(b, g, &g->symbols.items[a->terms[k].sym]);
        more = true;
    }
    if (a->indirect || a->row) {
        glia_put(b, more ? " and " : "");
        glia_put(b, a->indirect ? "the rows in operand 'index' of " : "the row register of the call of ");
        put_label(b, n);
        more = true;
    }
    return more;
}

const char *hz_say_assumed(const hz_graph *g, const hz_pair *p, glia_arena *arena)
{
    const hz_access *a = &g->accesses.items[p->a], *x = &g->accesses.items[p->b];
    glia_strbuf b = {0};
    put_label(&b, of_access(g, p->b));
    glia_put(&b, " is not ordered after ");
    put_label(&b, of_access(g, p->a));
    glia_putf(&b, "; whether they meet in %s depends on ", hz_say_memory(g, p, arena));
    const bool more = put_dynamic(&b, g, a, false);
    (void)put_dynamic(&b, g, x, more);
    return taken(&b, arena);
}
