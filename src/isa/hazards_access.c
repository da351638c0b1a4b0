// SPDX-License-Identifier: Apache-2.0
// Accesses: the bytes that an operand touches, and whether two accesses can touch a common one.
//
// A pattern is a base, nested strides and a contiguous run. Two patterns of known base are compared exactly: first by
// remainders (all strides of both are multiples of their greatest common divisor, so columns of one matrix are told
// apart at once), then by walking the runs of one and searching the other. Past a budget the answer is "they meet".
// Dynamic terms that both share cancel. Others become one more stride: if not even then anything is shared, the two are
// apart; if each possible address meets, they meet; else it depends on the register.
#include "isa/hazards_internal.h"

#include <string.h>

enum {
    PATTERN_DIMS = ISA_DIMS + ISA_TERMS,
    SEARCH_BUDGET = 20000,
    POSITIONS = 64,
    SBUF_LIMIT = 256 * 1024,
    PSUM_LIMIT = ISA_PSUM_BANKS * ISA_PSUM_BANK_BYTES
};
#define FAR ((int64_t)1 << 50) // past any memory

typedef struct pattern {
    int64_t base, run; // bytes
    int n;
    int64_t step[PATTERN_DIMS], count[PATTERN_DIMS], extent[PATTERN_DIMS + 1]; // steps descend; extent from dim k on
    bool opaque;                                                               // too large to reason about
} pattern;

// ---- patterns ------------------------------------------------------------------------------------------------------

static void add_dim(pattern *p, __int128 step, int64_t count)
{
    if (count <= 1 || step == 0) return;
    const __int128 reach = step * (count - 1);
    if (reach > FAR || reach < -FAR) {
        p->opaque = true;
        return;
    }
    if (step < 0) {
        p->base += (int64_t)reach;
        step = -step;
    }
    int at = p->n++;
    while (at > 0 && p->step[at - 1] < step) {
        p->step[at] = p->step[at - 1];
        p->count[at] = p->count[at - 1];
        at--;
    }
    p->step[at] = (int64_t)step;
    p->count[at] = count;
}

static void simplify(pattern *p)
{
    while (p->n > 0 && p->step[p->n - 1] <= p->run) { // runs that touch or overlap are one
        p->n--;
        p->run += p->step[p->n] * (p->count[p->n] - 1);
    }
    for (int k = p->n - 1; k > 0; k--) { // two strides that are one
        if (p->step[k - 1] != p->step[k] * p->count[k]) continue;
        p->step[k - 1] = p->step[k];
        p->count[k - 1] *= p->count[k];
        for (int m = k; m < p->n - 1; m++) {
            p->step[m] = p->step[m + 1];
            p->count[m] = p->count[m + 1];
        }
        p->n--;
    }
    p->extent[p->n] = p->run;
    for (int k = p->n - 1; k >= 0; k--)
        p->extent[k] = p->extent[k + 1] + p->step[k] * (p->count[k] - 1);
}

static void add_term(pattern *p, const hz_term *t)
{
    const int64_t stride = t->stride ? t->stride : 1;
    const __int128 first = (__int128)t->scale * t->lo;
    if (first > FAR || first < -FAR) {
        p->opaque = true;
        return;
    }
    p->base += (int64_t)first;
    add_dim(p, (__int128)t->scale * stride, (t->hi - t->lo) / stride + 1);
}

// The access with its dynamic terms at 0 (`terms` false), or at all their values.
static pattern pattern_of(const hz_access *a, bool terms)
{
    const isa_operand *o = a->o;
    if (a->trimmed) return (pattern){.base = a->lo, .run = a->hi - a->lo, .extent = {a->hi - a->lo}};
    const int64_t size = num_size((num_dtype)o->dtype);
    pattern p = {.run = size, .opaque = a->row || o->offset > FAR || o->offset < -FAR};
    p.base = p.opaque ? 0 : o->offset + a->shift;
    for (int k = 0; k < o->rank; k++)
        add_dim(&p, (__int128)o->step[k] * size, o->count[k]);
    for (int k = 0; terms && k < a->term_count; k++)
        add_term(&p, &a->terms[k]);
    if (!p.opaque) simplify(&p);
    return p;
}

// ---- do two patterns meet? -----------------------------------------------------------------------------------------

static int64_t divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static int64_t remainder_of(int64_t a, int64_t g)
{
    const int64_t r = a % g;
    return r < 0 ? r + g : r;
}

static bool apart_by_remainder(const pattern *a, const pattern *b)
{
    int64_t g = 0;
    for (int k = 0; k < a->n; k++)
        g = divisor(a->step[k], g);
    for (int k = 0; k < b->n; k++)
        g = divisor(b->step[k], g);
    if (g == 0) return false;
    return remainder_of(b->base - a->base, g) >= a->run && remainder_of(a->base - b->base, g) >= b->run;
}

static int64_t floor_div(int64_t a, int64_t b) // b > 0
{
    return a / b - (a % b < 0);
}

// Does a byte of [lo, hi) belong to the pattern from dim k on, placed at `base`?
static bool hits(const pattern *p, int k, int64_t base, int64_t lo, int64_t hi, int *budget)
{
    if (base >= hi || base + p->extent[k] <= lo) return false;
    if (k == p->n) return true;
    int64_t first = floor_div(lo - base - p->extent[k + 1], p->step[k]) + 1;
    int64_t last = floor_div(hi - base - 1, p->step[k]);
    if (first < 0) first = 0;
    if (last > p->count[k] - 1) last = p->count[k] - 1;
    if (k + 1 == p->n) return first <= last;
    for (int64_t i = first; i <= last; i++) {
        if (--*budget < 0) return true;
        if (hits(p, k + 1, base + i * p->step[k], lo, hi, budget)) return true;
    }
    return false;
}

static bool walk_runs(const pattern *a, int k, int64_t base, const pattern *b, int *budget)
{
    if (--*budget < 0) return true;
    if (!hits(b, 0, b->base, base, base + a->extent[k], budget)) return false;
    if (k == a->n) return true;
    for (int64_t i = 0; i < a->count[k]; i++)
        if (walk_runs(a, k + 1, base + i * a->step[k], b, budget)) return true;
    return false;
}

static double runs_of(const pattern *p)
{
    double n = 1;
    for (int k = 0; k < p->n; k++)
        n *= (double)p->count[k];
    return n;
}

static bool patterns_meet(const pattern *a, const pattern *b)
{
    if (a->opaque || b->opaque) return true;
    if (a->base >= b->base + b->extent[0] || b->base >= a->base + a->extent[0]) return false;
    if (apart_by_remainder(a, b)) return false;
    int budget = SEARCH_BUDGET;
    if (runs_of(a) <= runs_of(b)) return walk_runs(a, 0, a->base, b, &budget);
    return walk_runs(b, 0, b->base, a, &budget);
}

// ---- do two accesses meet? -----------------------------------------------------------------------------------------

bool hz_is_dynamic(const hz_access *a)
{
    for (int k = 0; k < a->term_count; k++)
        if (!a->terms[k].stride) return true;
    return a->indirect || a->row;
}

static bool terms_cancel(const hz_access *a, const hz_access *b)
{
    if (a->indirect || b->indirect || a->row || b->row || a->term_count != b->term_count) return false;
    for (int k = 0; k < a->term_count; k++)
        if (a->terms[k].sym != b->terms[k].sym || a->terms[k].scale != b->terms[k].scale) return false;
    return true;
}

static bool boxes_meet(const hz_access *a, const hz_access *b)
{
    return a->lo < b->hi && b->lo < a->hi && a->p0 < b->p1 && b->p0 < a->p1;
}

static bool is_within(const hz_access *a, const hz_access *around)
{
    return a->lo >= around->lo && a->hi <= around->hi;
}

// `a` has one dynamic term, of few values: does it meet `b` at each of them?
static bool meets_everywhere(const hz_access *a, const hz_access *b)
{
    if (a->term_count != 1 || a->indirect || a->row || hz_is_dynamic(b)) return false;
    const hz_term *t = &a->terms[0];
    if (t->hi - t->lo >= POSITIONS) return false;
    const pattern other = pattern_of(b, true), still = pattern_of(a, false);
    for (int64_t v = t->lo; v <= t->hi; v++) {
        pattern moved = still;
        const __int128 by = (__int128)t->scale * v;
        if (by > FAR || by < -FAR) return false;
        moved.base += (int64_t)by;
        if (!patterns_meet(&moved, &other)) return false;
    }
    return true;
}

hz_meeting hz_meet(const hz_access *a, const hz_access *b)
{
    if (!boxes_meet(a, b)) return HZ_APART;
    if (a->dense && b->dense) return HZ_MEET;
    const bool cancel = terms_cancel(a, b);
    const pattern pa = pattern_of(a, !cancel), pb = pattern_of(b, !cancel);
    if (!patterns_meet(&pa, &pb)) return HZ_APART;
    if (cancel || (!hz_is_dynamic(a) && !hz_is_dynamic(b))) return HZ_MEET;
    if (a->dense && is_within(b, a) && !b->row) return HZ_MEET;
    if (b->dense && is_within(a, b) && !a->row) return HZ_MEET;
    return meets_everywhere(a, b) || meets_everywhere(b, a) ? HZ_MEET : HZ_MAYBE;
}

bool hz_covers(const hz_access *w, const hz_access *old)
{
    if (w->p0 > old->p0 || w->p1 < old->p1) return false;
    if (w->dense) return is_within(old, w);
    if (w->term_count || w->indirect || w->row || old->term_count || old->indirect || old->row || old->trimmed)
        return false;
    return w->lo == old->lo && w->hi == old->hi && w->o->offset + w->shift == old->o->offset + old->shift &&
           w->o->rank == old->o->rank && w->o->dtype == old->o->dtype &&
           memcmp(w->o->step, old->o->step, w->o->rank * sizeof w->o->step[0]) == 0 &&
           memcmp(w->o->count, old->o->count, w->o->rank * sizeof w->o->count[0]) == 0;
}

// ---- from operands -------------------------------------------------------------------------------------------------

static int64_t near(__int128 v)
{
    return v > FAR ? FAR : v < -FAR ? -FAR : (int64_t)v;
}

static void take_term(hz_access *a, const isa_term *t, hz_value v, const hz_symbols *symbols, __int128 *shift)
{
    *shift += (__int128)t->scale * v.add;
    if (v.sym == 0 || t->scale == 0) return;
    const hz_symbol *s = &symbols->items[v.sym];
    // Bounds of this value may be tighter than the symbol's own.
    hz_term term = {v.sym, t->scale, s->min, s->max, s->stride};
    if (!s->stride && v.lo - v.add > term.lo) term.lo = v.lo - v.add;
    if (!s->stride && v.hi - v.add < term.hi) term.hi = v.hi - v.add;
    for (int k = 0; k < a->term_count; k++) {
        __int128 sum = (__int128)a->terms[k].scale + t->scale;
        if (a->terms[k].sym != v.sym || sum > INT64_MAX || sum < INT64_MIN) continue;
        a->terms[k].scale = (int64_t)sum;
        if (sum == 0) a->terms[k] = a->terms[--a->term_count];
        return;
    }
    a->terms[a->term_count++] = term;
    if (a->term_count == 2 && a->terms[0].sym > a->terms[1].sym) {
        const hz_term first = a->terms[0];
        a->terms[0] = a->terms[1];
        a->terms[1] = first;
    }
}

// The box, with dynamic terms at all their values; false if it is outside of the memory.
static bool find_box(hz_access *a, int64_t limit, int64_t widen)
{
    int64_t lo, hi;
    if (!isa_operand_range(a->o, &lo, &hi)) return false;
    __int128 from = (__int128)lo + a->shift, to = (__int128)hi + a->shift + widen;
    for (int k = 0; k < a->term_count; k++) {
        const __int128 x = (__int128)a->terms[k].scale * a->terms[k].lo,
                       y = (__int128)a->terms[k].scale * a->terms[k].hi;
        from += x < y ? x : y;
        to += x < y ? y : x;
    }
    a->lo = from < 0 ? 0 : near(from);
    a->hi = to > limit ? limit : near(to);
    return a->lo < a->hi;
}

static void finish(hz_access a, int64_t limit, int64_t widen, hz_accesses *out)
{
    if (!find_box(&a, limit, widen)) return;
    if (!a.term_count && !a.indirect && !a.row) {
        const pattern p = pattern_of(&a, true);
        a.dense = !p.opaque && p.n == 0;
    }
    VEC_PUSH(out) = a;
}

void hz_access_add(const isa_program *p, const hz_walker *w, const hz_step *step, int slot, uint32_t core,
                   uint32_t instance, const hz_symbols *symbols, const uint8_t *written, hz_accesses *out)
{
    const isa_operand *o = isa_operand_of(step->f, step->i, slot);
    if (o->space != ISA_HBM && o->space != ISA_SBUF && o->space != ISA_PSUM) return;
    hz_access a = {.o = o,
                   .instance = instance,
                   .core = (uint8_t)core,
                   .space = o->space,
                   .slot = (uint8_t)slot,
                   .mode = (uint8_t)isa_operand_access(step->i, slot),
                   .indirect = o->indirect != 0};
    __int128 shift = 0;
    for (int k = 0; k < o->term_count; k++)
        take_term(&a, &o->terms[k], hz_walker_register(w, step->i->engine, o->terms[k].reg), symbols, &shift);
    if (o->space != ISA_HBM) {
        a.shift = near(shift);
        a.p0 = o->start_partition;
        a.p1 = (uint8_t)(o->start_partition + o->partitions);
        finish(a, o->space == ISA_SBUF ? SBUF_LIMIT : PSUM_LIMIT, 0, out);
        return;
    }
    a.p1 = 1;
    const hz_slot *s = &step->slots[o->tensor];
    for (uint32_t k = 0; k < s->count; k++) {
        const hz_target *t = &s->targets[k];
        if (!written[t->storage]) continue;
        hz_access x = a;
        x.storage = t->storage;
        x.tensor = t->tensor;
        x.shift = near(shift + t->lo);
        x.row = s->dynamic;
        const uint64_t bytes = p->tensors.items[t->storage].bytes;
        finish(x, bytes > (uint64_t)FAR ? FAR : (int64_t)bytes, t->hi - t->lo, out);
    }
}
