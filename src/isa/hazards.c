// SPDX-License-Identifier: Apache-2.0
// The hazard checker's verdicts: each pair of conflicting accesses is ordered (proved), may conflict because of an
// address that is not known (assumed), or is a race (violated). A program whose branches or trip counts are not known
// is judged by several ways through it, and the verdict is the worst.
//
// It shares nothing with the compiler's placing of semaphores: it is the check on it.
#include "isa/hazards_internal.h"

#include <string.h>

struct isa_hazard_session {
    const isa_program *p;
    uint8_t *written; // [tensors] by storage
    hz_graph *graph[HZ_WAYS];
    hz_clocks clocks[HZ_WAYS], without[HZ_WAYS];
    uint32_t ways;
};

// ---- what is written at all ----------------------------------------------------------------------------------------

static void mark_slot(const isa_program *p, const isa_function *f, uint32_t slot, uint8_t *formals, uint8_t *written)
{
    const isa_slot *s = &f->slots.items[slot];
    if (s->kind == ISA_SLOT_FORMAL) {
        formals[s->index] = 1;
        return;
    }
    const isa_tensor *t = &p->tensors.items[s->index];
    written[t->kind == ISA_TENSOR_OUTPUT && t->alias >= 0 ? (uint32_t)t->alias : s->index] = 1;
}

static void mark_call(const isa_program *p, const isa_core *c, const isa_function *f, const isa_insn *i,
                      uint8_t **formals, uint8_t *mine, uint8_t *written)
{
    const uint32_t callee = (uint32_t)isa_operand_of(f, i, 0)->offset;
    const uint32_t count = c->functions.items[callee]->formal_count;
    if (!count) return;
    const isa_table *t = &c->tables.items[isa_operand_of(f, i, 1)->offset];
    for (uint32_t k = 0; k < count; k++)
        for (uint32_t r = 0; formals[callee][k] && r < t->rows; r++)
            mark_slot(p, f, t->items[(size_t)r * t->formals + k].slot, mine, written);
}

// Storages that any instruction may write, through any row of any call. Callees have greater numbers.
static void find_written(const isa_program *p, uint32_t core, uint8_t *written)
{
    const isa_core *c = &p->cores[core];
    uint8_t **formals = glia_alloc(glia_array_bytes(c->functions.count, sizeof *formals));
    for (uint32_t k = c->functions.count; k-- > 0;) {
        const isa_function *f = c->functions.items[k];
        formals[k] = glia_alloc((size_t)f->formal_count + 1);
        for (uint32_t n = 0; n < f->insns.count; n++) {
            const isa_insn *i = &f->insns.items[n];
            if (i->op == ISA_call) mark_call(p, c, f, i, formals, formals[k], written);
            for (int o = 0; o < i->operand_count; o++) {
                const isa_operand *op = isa_operand_of(f, i, o);
                if (op->space == ISA_HBM && (isa_operand_access(i, o) & ISA_WRITE))
                    mark_slot(p, f, op->tensor, formals[k], written);
            }
        }
    }
    for (uint32_t k = 0; k < c->functions.count; k++)
        glia_free(formals[k]);
    glia_free(formals);
}

// ---- sessions ------------------------------------------------------------------------------------------------------

static glia_status add_way(isa_hazard_session *s, hz_way way)
{
    TRY(hz_graph_create(s->p, way, s->written, &s->graph[s->ways]));
    hz_clocks_init(&s->clocks[s->ways], s->graph[s->ways]);
    s->ways++;
    return GLIA_OK;
}

glia_status isa_hazard_session_create(const isa_program *p, isa_hazard_session **out)
{
    *out = NULL;
    TRY(isa_check_structure(p));
    AUTO(isa_hazard_session) s = glia_alloc(sizeof *s);
    s->p = p;
    s->written = glia_alloc((size_t)p->tensors.count + 1);
    for (uint32_t c = 0; c < p->core_count; c++)
        find_written(p, c, s->written);
    TRY(add_way(s, HZ_WAY_THEN));
    for (int way = 1; way < HZ_WAYS && s->graph[0]->chose; way++)
        TRY(add_way(s, (hz_way)way));
    *out = TAKE(s);
    return GLIA_OK;
}

void isa_hazard_session_destroy(isa_hazard_session *s)
{
    if (!s) return;
    for (uint32_t w = 0; w < s->ways; w++) {
        hz_clocks_fini(&s->clocks[w]);
        hz_clocks_fini(&s->without[w]);
        hz_graph_destroy(s->graph[w]);
    }
    glia_free(s->written);
    glia_free(s);
}

static uint64_t longest(const isa_hazard_session *s, bool pairs)
{
    uint64_t most = 0;
    for (uint32_t w = 0; w < s->ways; w++) {
        const uint64_t n = pairs ? s->graph[w]->pairs.count : s->graph[w]->count;
        if (n > most) most = n;
    }
    return most;
}

uint64_t isa_hazard_session_instances(const isa_hazard_session *s)
{
    return longest(s, false);
}

uint64_t isa_hazard_session_pairs(const isa_hazard_session *s)
{
    return longest(s, true);
}

// ---- the report ----------------------------------------------------------------------------------------------------

void isa_hazard_report_fini(isa_hazard_report *r)
{
    VEC_FREE(&r->items);
    glia_arena_destroy(r->arena);
    *r = (isa_hazard_report){0};
}

static isa_hazard describe(const hz_clocks *c, const hz_pair *p, isa_verdict verdict, glia_arena *arena)
{
    const hz_graph *g = c->g;
    isa_hazard h = {.verdict = verdict,
                    .kind = p->kind,
                    .what = hz_say_memory(g, p, arena),
                    .first = hz_place(&g->instances.items[g->accesses.items[p->a].instance]),
                    .second = hz_place(&g->instances.items[g->accesses.items[p->b].instance])};
    switch (verdict) {
    case ISA_PROVED:
        h.why = hz_say_chain(c, p, arena);
        break;
    case ISA_ASSUMED:
        h.why = hz_say_assumed(g, p, arena);
        break;
    case ISA_VIOLATED:
        h.why = hz_say_missing(g, p, arena);
        break;
    }
    return h;
}

// Pairs of instructions that were described already, as an open hash table: many instances are one finding.
typedef struct key {
    isa_place a, b;
    uint8_t kind, verdict;
    bool used;
} key;
typedef struct keys {
    key *items;
    uint32_t count, capacity;
} keys;

static bool is_same(const key *x, const key *y)
{
    return x->kind == y->kind && x->verdict == y->verdict && x->a.insn == y->a.insn && x->b.insn == y->b.insn &&
           x->a.function == y->a.function && x->b.function == y->b.function && x->a.core == y->a.core &&
           x->b.core == y->b.core;
}

static uint32_t hash_of(const key *k)
{
    uint64_t h = k->kind * 4u + k->verdict;
    const uint32_t words[] = {k->a.core, k->a.function, k->a.insn, k->b.core, k->b.function, k->b.insn};
    for (size_t n = 0; n < COUNT_OF(words); n++)
        h = (h ^ words[n]) * 0x9e3779b97f4a7c15ull, h ^= h >> 29;
    return (uint32_t)h;
}

static void insert(keys *s, const key *k)
{
    uint32_t at = hash_of(k) & (s->capacity - 1);
    while (s->items[at].used)
        at = (at + 1) & (s->capacity - 1);
    s->items[at] = *k;
}

static bool is_new(keys *s, key k)
{
    k.used = true;
    if (2 * s->count >= s->capacity) {
        keys grown = {.capacity = s->capacity ? 2 * s->capacity : 256, .count = s->count};
        grown.items = glia_alloc(glia_array_bytes(grown.capacity, sizeof *grown.items));
        for (uint32_t n = 0; n < s->capacity; n++)
            if (s->items[n].used) insert(&grown, &s->items[n]);
        glia_free(s->items);
        *s = grown;
    }
    for (uint32_t at = hash_of(&k) & (s->capacity - 1); s->items[at].used; at = (at + 1) & (s->capacity - 1))
        if (is_same(&s->items[at], &k)) return false;
    insert(s, &k);
    s->count++;
    return true;
}

static isa_verdict verdict_of(const hz_clocks *c, const hz_pair *p)
{
    if (hz_is_ordered(c, p)) return ISA_PROVED;
    return p->certain ? ISA_VIOLATED : ISA_ASSUMED;
}

static void judge_way(const isa_hazard_session *s, uint32_t way, bool keep_proved, keys *known, isa_hazard_report *out,
                      isa_hazard_report *rest)
{
    const hz_graph *g = s->graph[way];
    for (uint32_t n = 0; n < g->pairs.count; n++) {
        const hz_pair *p = &g->pairs.items[n];
        const isa_verdict v = verdict_of(&s->clocks[way], p);
        uint64_t *count = v == ISA_PROVED ? &out->proved : v == ISA_ASSUMED ? &out->assumed : &out->violated;
        if (way == 0) ++*count;
        if (v == ISA_PROVED && !keep_proved) continue;
        const key k = {.kind = p->kind,
                       .verdict = (uint8_t)v,
                       .a = hz_place(&g->instances.items[g->accesses.items[p->a].instance]),
                       .b = hz_place(&g->instances.items[g->accesses.items[p->b].instance])};
        if (!is_new(known, k)) continue;
        if (way > 0) ++*count;
        VEC_PUSH(v == ISA_VIOLATED  ? &out->items
                 : v == ISA_ASSUMED ? &rest[0].items
                                    : &rest[1].items) = describe(&s->clocks[way], p, v, out->arena);
    }
}

glia_status isa_hazard_session_judge(const isa_hazard_session *s, bool keep_proved, isa_hazard_report *out)
{
    *out = (isa_hazard_report){.arena = glia_arena_create()};
    isa_hazard_report rest[2] = {0}; // assumed, proved
    keys known = {0};
    for (uint32_t way = 0; way < s->ways; way++)
        judge_way(s, way, keep_proved, &known, out, rest);
    for (int k = 0; k < 2; k++) {
        for (uint32_t n = 0; n < rest[k].items.count; n++)
            VEC_PUSH(&out->items) = rest[k].items.items[n];
        VEC_FREE(&rest[k].items);
    }
    glia_free(known.items);
    return GLIA_OK;
}

glia_status isa_check_hazards(const isa_program *p, bool keep_proved, isa_hazard_report *out)
{
    *out = (isa_hazard_report){0};
    AUTO(isa_hazard_session) s = NULL;
    TRY(isa_hazard_session_create(p, &s));
    return isa_hazard_session_judge(s, keep_proved, out);
}

// ---- without a wait ------------------------------------------------------------------------------------------------

// The first pair that the wait alone orders; a certain one if there is any. NULL if all are ordered without it.
static const hz_pair *find_broken(isa_hazard_session *s, uint32_t way, hz_skip skip)
{
    const hz_graph *g = s->graph[way];
    hz_clocks *c = &s->without[way];
    const hz_pair *maybe = NULL;
    hz_clocks_without(c, &s->clocks[way], skip);
    for (uint32_t id = c->from; id < g->count; id++) {
        hz_clocks_next(c, id);
        for (uint32_t n = g->instances.items[id].pair; n < g->instances.items[id + 1].pair; n++) {
            const hz_pair *p = &g->pairs.items[n];
            if (hz_is_ordered(c, p) || !hz_is_ordered(&s->clocks[way], p)) continue;
            if (p->certain) return p;
            if (!maybe) maybe = p;
        }
    }
    return maybe;
}

static bool is_instance(const hz_instance *x, hz_skip skip)
{
    return x->core == skip.core && x->function == skip.function && x->insn == skip.insn;
}

// Is access `a` complete when need `n` is met?
static bool meets_need(const hz_clocks *c, const hz_need *need, uint32_t count, const hz_instance *a)
{
    if (count == 0) return false;
    if (a->lane == need->lane && a->index <= count) return true;
    return hz_clock_done(c, c->g->lanes.items[need->lane].instances.items[count - 1])[a->lane] >= a->index;
}

static bool is_after(const hz_clocks *c, const hz_instance *b, uint32_t id, const hz_instance *x)
{
    const hz_lane *lb = &c->g->lanes.items[b->lane], *lx = &c->g->lanes.items[x->lane];
    if (b->core == x->core && lb->engine == lx->engine) return b->position > x->position;
    return hz_clock_start(c, id)[x->lane] >= x->index;
}

// A pair of the waiting instance itself that the wait orders, whatever else does; what the wait names comes first.
static const hz_pair *find_own(const hz_clocks *c, hz_skip skip)
{
    const hz_graph *g = c->g;
    const hz_pair *found = NULL;
    for (uint32_t id = 0; id < g->count; id++) {
        const hz_instance *x = &g->instances.items[id];
        for (uint32_t n = x->need; n < x[1].need && is_instance(x, skip); n++) {
            if (g->needs.items[n].wait != skip.wait) continue;
            const uint32_t count = hz_need_count(c, n);
            for (uint32_t k = x->pair; k < x[1].pair; k++) {
                const hz_instance *a = &g->instances.items[g->accesses.items[g->pairs.items[k].a].instance];
                if (!meets_need(c, &g->needs.items[n], count, a)) continue;
                if (a->lane == g->needs.items[n].lane && a->index == count) return &g->pairs.items[k];
                if (!found || a->lane == g->needs.items[n].lane) found = &g->pairs.items[k];
            }
        }
    }
    return found;
}

// A pair further on that the wait orders: its first was not known to be complete before it, its second comes after.
static const hz_pair *find_later(const hz_clocks *c, hz_skip skip)
{
    const hz_graph *g = c->g;
    for (uint32_t id = 0; id < g->count; id++) {
        const hz_instance *x = &g->instances.items[id];
        for (uint32_t n = x->need; n < x[1].need && is_instance(x, skip); n++) {
            const uint32_t count = hz_need_count(c, n);
            if (g->needs.items[n].wait != skip.wait || count == 0) continue;
            for (uint32_t b = id + 1; b < g->count; b++) {
                const hz_instance *y = &g->instances.items[b];
                if (y->pair == y[1].pair || !is_after(c, y, b, x)) continue;
                for (uint32_t k = y->pair; k < y[1].pair; k++) {
                    const hz_instance *a = &g->instances.items[g->accesses.items[g->pairs.items[k].a].instance];
                    const bool known = x->before != HZ_NONE && hz_clock_start(c, x->before)[a->lane] >= a->index;
                    if (!known && meets_need(c, &g->needs.items[n], count, a)) return &g->pairs.items[k];
                }
            }
        }
    }
    return NULL;
}

static const hz_pair *find_ordered(const isa_hazard_session *s, hz_skip skip, uint32_t *way)
{
    for (int later = 0; later < 2; later++)
        for (*way = 0; *way < s->ways; ++*way) {
            const hz_pair *p = later ? find_later(&s->clocks[*way], skip) : find_own(&s->clocks[*way], skip);
            if (p) return p;
        }
    return NULL;
}

static glia_status check_place(const isa_program *p, isa_place at, uint32_t wait)
{
    ENSURE(at.core < p->core_count, INVALID, "core %u; the program has %u", at.core, p->core_count);
    ENSURE(at.function < p->cores[at.core].functions.count, INVALID, "function %u; core %u has %u", at.function,
           at.core, p->cores[at.core].functions.count);
    const isa_function *f = p->cores[at.core].functions.items[at.function];
    ENSURE(at.insn < f->insns.count, INVALID, "instruction %u; function '%s' has %u", at.insn, f->name, f->insns.count);
    ENSURE(wait < f->insns.items[at.insn].wait_count, INVALID, "wait %u; instruction %u of function '%s' has %u", wait,
           at.insn, f->name, f->insns.items[at.insn].wait_count);
    return GLIA_OK;
}

static const char *say_nothing(const isa_program *p, isa_place at, uint32_t wait, glia_arena *arena)
{
    const isa_function *f = p->cores[at.core].functions.items[at.function];
    const isa_insn *i = &f->insns.items[at.insn];
    const isa_wait *w = &f->waits.items[i->wait + wait];
    return glia_arena_printf(arena,
                             "orders nothing: no access from %s %s %s@%u on conflicts with one that is complete when "
                             "s%u>=%s%d and was not known to be before",
                             isa_engine_name((isa_engine)i->engine), isa_row_get((isa_op)i->op)->name,
                             at.function ? f->name : "", at.insn, w->sem, w->relative ? "base+" : "", w->value);
}

glia_status isa_hazard_session_without(isa_hazard_session *s, isa_place at, uint32_t wait, glia_arena *arena,
                                       isa_wait_finding *out)
{
    TRY(check_place(s->p, at, wait));
    const hz_skip skip = {at.core, at.function, at.insn, wait};
    const hz_pair *broken = NULL;
    uint32_t way = 0;
    for (uint32_t w = 0; w < s->ways; w++) {
        const hz_pair *p = find_broken(s, w, skip);
        if (!p || (broken && !p->certain)) continue;
        broken = p;
        way = w;
        if (p->certain) break;
    }
    if (broken) {
        out->role = broken->certain ? ISA_WAIT_NEEDED : ISA_WAIT_ASSUMED;
        out->hazard = describe(&s->without[way], broken, broken->certain ? ISA_VIOLATED : ISA_ASSUMED, arena);
        return GLIA_OK;
    }
    const hz_pair *p = find_ordered(s, skip, &way);
    out->role = p ? ISA_WAIT_REDUNDANT : ISA_WAIT_ORDERS_NOTHING;
    if (p)
        out->hazard = describe(&s->without[way], p, ISA_PROVED, arena);
    else
        out->hazard = (isa_hazard){
            .verdict = ISA_PROVED, .first = at, .second = at, .what = "", .why = say_nothing(s->p, at, wait, arena)};
    return GLIA_OK;
}

glia_status isa_check_without_wait(const isa_program *p, isa_place at, uint32_t wait, glia_arena *arena,
                                   isa_verdict *verdict, const char **why)
{
    AUTO(isa_hazard_session) s = NULL;
    TRY(isa_hazard_session_create(p, &s));
    isa_wait_finding f;
    TRY(isa_hazard_session_without(s, at, wait, arena, &f));
    *verdict = f.hazard.verdict;
    *why = f.hazard.why;
    return GLIA_OK;
}
