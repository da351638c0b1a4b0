// SPDX-License-Identifier: Apache-2.0
// The pairs that must be ordered. In program order, each access is compared with the earlier ones that still stand in
// the frontier of its memory. One that a later access covers no longer stands: whatever would conflict with it
// conflicts with the later one too, and order is transitive. So the pairs listed here are all ordered if and only if
// all pairs of conflicting accesses are, whichever waits there are: the list depends on addresses alone.
//
// What a later access covers in part is cut, as far as it is a plain box, so that buffers that are reused in other
// shapes do not gather the past. Pairs of one compute engine are no pairs: it sees its own data in order.
//
// Memory is cut into buckets by bytes; an access is in each bucket that it touches.
#include "isa/hazards_internal.h"

enum { CHIP_BUCKET = 1024, SBUF_BUCKETS = 256, PSUM_BUCKETS = 16, HBM_BUCKETS = 128, HBM_BUCKET_LEAST = 4096 };

typedef struct bucket {
    VEC(uint32_t) items; // accesses; those that no longer stand are dropped when met
} bucket;

typedef struct space {
    bucket *buckets;
    uint32_t count;
    int64_t bytes; // of a bucket
} space;

struct hz_frontier {
    hz_graph *g;
    space chip[ISA_CORES][2];
    space *hbm;         // [tensors], made when first used
    VEC(uint8_t) gone;  // by access
    VEC(uint32_t) seen; // by access: + 1 the newest that it was compared with
};

static space make_space(uint32_t count, int64_t bytes)
{
    return (space){glia_alloc(count * sizeof(bucket)), count, bytes};
}

hz_frontier *hz_frontier_create(hz_graph *g)
{
    hz_frontier *f = glia_alloc(sizeof *f);
    f->g = g;
    for (uint32_t c = 0; c < g->p->core_count; c++) {
        f->chip[c][0] = make_space(SBUF_BUCKETS, CHIP_BUCKET);
        f->chip[c][1] = make_space(PSUM_BUCKETS, CHIP_BUCKET);
    }
    f->hbm = glia_alloc(glia_array_bytes(g->p->tensors.count + 1, sizeof *f->hbm));
    return f;
}

static void free_space(space *s)
{
    for (uint32_t k = 0; k < s->count; k++)
        VEC_FREE(&s->buckets[k].items);
    glia_free(s->buckets);
}

void hz_frontier_destroy(hz_frontier *f)
{
    if (!f) return;
    for (uint32_t c = 0; c < ISA_CORES; c++)
        for (int k = 0; k < 2; k++)
            free_space(&f->chip[c][k]);
    for (uint32_t t = 0; t < f->g->p->tensors.count; t++)
        free_space(&f->hbm[t]);
    glia_free(f->hbm);
    VEC_FREE(&f->gone);
    VEC_FREE(&f->seen);
    glia_free(f);
}

static space *space_of(hz_frontier *f, const hz_access *a)
{
    if (a->space == ISA_SBUF) return &f->chip[a->core][0];
    if (a->space == ISA_PSUM) return &f->chip[a->core][1];
    space *s = &f->hbm[a->storage];
    if (s->buckets) return s;
    const uint64_t bytes = f->g->p->tensors.items[a->storage].bytes;
    const uint64_t each = bytes / HBM_BUCKETS + 1 > HBM_BUCKET_LEAST ? bytes / HBM_BUCKETS + 1 : HBM_BUCKET_LEAST;
    *s = make_space((uint32_t)(bytes / each + 1), each > INT64_MAX ? INT64_MAX : (int64_t)each);
    return s;
}

static void bucket_range(const space *s, const hz_access *a, uint32_t *first, uint32_t *last)
{
    const int64_t top = s->count - 1;
    *first = (uint32_t)(a->lo / s->bytes > top ? top : a->lo / s->bytes);
    *last = (uint32_t)((a->hi - 1) / s->bytes > top ? top : (a->hi - 1) / s->bytes);
}

static void stand(hz_frontier *f, uint32_t access)
{
    const hz_access *a = &f->g->accesses.items[access];
    space *s = space_of(f, a);
    uint32_t first, last;
    bucket_range(s, a, &first, &last);
    for (uint32_t b = first; b <= last; b++)
        VEC_PUSH(&s->buckets[b].items) = access;
}

static void grow_marks(hz_frontier *f)
{
    while (f->gone.count < f->g->accesses.count) {
        VEC_PUSH(&f->gone) = 0;
        VEC_PUSH(&f->seen) = 0;
    }
}

static const hz_instance *instance_of(const hz_graph *g, const hz_access *a)
{
    return &g->instances.items[a->instance];
}

static bool is_same_engine(const hz_graph *g, const hz_instance *x, const hz_instance *y)
{
    return x->lane == y->lane && hz_lane_is_engine(&g->lanes.items[x->lane]);
}

static uint8_t kind_of(const hz_access *old, const hz_access *now)
{
    if ((old->mode & ISA_WRITE) && (now->mode & ISA_READ)) return 0;
    return (old->mode & ISA_WRITE) ? 2 : 1;
}

// What is left of a plain box that `w`, a plain box too, covers in part: at most two boxes.
static void cut(hz_frontier *f, uint32_t old_index, uint32_t w_index)
{
    const hz_access old = f->g->accesses.items[old_index], w = f->g->accesses.items[w_index];
    if (!old.dense || !w.dense) return;
    hz_access parts[2] = {old, old};
    int count = 0;
    if (w.p0 <= old.p0 && w.p1 >= old.p1) {
        if (old.lo < w.lo) parts[count++].hi = w.lo;
        if (old.hi > w.hi) {
            parts[count] = old;
            parts[count++].lo = w.hi;
        }
    } else if (w.lo <= old.lo && w.hi >= old.hi) {
        if (old.p0 < w.p0) parts[count++].p1 = w.p0;
        if (old.p1 > w.p1) {
            parts[count] = old;
            parts[count++].p0 = w.p1;
        }
    } else {
        return;
    }
    f->gone.items[old_index] = 1;
    for (int k = 0; k < count; k++) {
        parts[k].trimmed = true;
        VEC_PUSH(&f->g->accesses) = parts[k];
        grow_marks(f);
        f->seen.items[f->g->accesses.count - 1] = w_index + 1;
        stand(f, f->g->accesses.count - 1);
    }
}

// Compares the new access with one that stands.
static void compare(hz_frontier *f, uint32_t old_index, uint32_t now_index)
{
    hz_graph *g = f->g;
    const hz_access *old = &g->accesses.items[old_index], *now = &g->accesses.items[now_index];
    const bool conflict = ((old->mode | now->mode) & ISA_WRITE) != 0;
    const bool same_lane = instance_of(g, old)->lane == instance_of(g, now)->lane;
    if (!conflict) {
        // A later read of the same lane stands for this one: completions of a lane are in order.
        if (same_lane && hz_covers(now, old)) f->gone.items[old_index] = 1;
        return;
    }
    const hz_meeting m = hz_meet(old, now);
    if (m == HZ_APART) return;
    if (!is_same_engine(g, instance_of(g, old), instance_of(g, now)))
        VEC_PUSH(&g->pairs) = (hz_pair){old_index, now_index, kind_of(old, now), m == HZ_MEET};
    if (!(now->mode & ISA_WRITE)) return;
    if (hz_covers(now, old))
        f->gone.items[old_index] = 1;
    else
        cut(f, old_index, now_index);
}

static void compare_bucket(hz_frontier *f, bucket *b, uint32_t now)
{
    uint32_t keep = 0;
    const uint32_t count = b->items.count; // cutting appends
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t old = b->items.items[k];
        if (!f->gone.items[old] && f->seen.items[old] != now + 1) {
            f->seen.items[old] = now + 1;
            compare(f, old, now);
        }
        if (!f->gone.items[old]) b->items.items[keep++] = old;
    }
    for (uint32_t k = count; k < b->items.count; k++)
        b->items.items[keep++] = b->items.items[k];
    b->items.count = keep;
}

static void look(hz_frontier *f, uint32_t n)
{
    const hz_access now = f->g->accesses.items[n];
    space *s = space_of(f, &now);
    uint32_t from, to;
    bucket_range(s, &now, &from, &to);
    for (uint32_t b = from; b <= to; b++)
        compare_bucket(f, &s->buckets[b], n);
}

void hz_frontier_add(hz_frontier *f, uint32_t first)
{
    const uint32_t end = f->g->accesses.count;
    grow_marks(f);
    // All operands look before any of them stands: an instruction does not conflict with itself. Reads look before
    // writes cover what they read.
    for (int writes = 0; writes < 2; writes++)
        for (uint32_t n = first; n < end; n++)
            if (((f->g->accesses.items[n].mode & ISA_WRITE) != 0) == writes) look(f, n);
    for (uint32_t n = first; n < end; n++)
        stand(f, n);
}
