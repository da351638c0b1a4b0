// SPDX-License-Identifier: Apache-2.0
// DMAs that wait (see fast.h). A load from HBM can be made at any later time with the same bytes, as long as its source
// is not written before; so it is noted as a tile over the granules of SBUF that it would fill. A read of the image makes
// it first. A write over it takes the granules away that it covers, or leaves a hole where it covers one in part. A
// granule belongs to at most one tile. Where the program writes a tile's source at some time (a KV cache), the tile is
// made before a write to those addresses, and before a barrier, after which another core may write them.
#include "dev/fast/fast.h"

#include <string.h>

dev_region dev_region_of(const dev_exec *x, int slot)
{
    const dev_ap *a = &x->ap[slot];
    const dev_shape *s = &x->shape[slot];
    const uint8_t *image = (a->space == ISA_SBUF ? x->core->sbuf : x->core->psum) + a->start_partition * a->pitch;
    const int64_t at = a->base - image;
    if (s->empty) return (dev_region){ 0 };
    return (dev_region){ (uint32_t)(at + s->lo), (uint32_t)(at + s->hi), a->start_partition, (uint8_t)a->partitions,
                         dev_is_run(a) };
}

void dev_tiles_reset(dev_fast_core *c)
{
    memset(c->stamp, 0, c->granules * sizeof *c->stamp);
    memset(c->pending, 0, c->granules * sizeof *c->pending);
    memset(c->read_batch, 0, c->granules * sizeof *c->read_batch);
    c->free_tile = c->tiles_used = 0;
}

// ---- making and forgetting -----------------------------------------------------------------------------------------

// Frees a tile of which nothing is noted any more.
static void drop(dev_fast_core *c, uint32_t id)
{
    dev_tile *t = &c->tiles[id - 1];
    c->volatile_tiles -= t->is_volatile;
    t->next = c->free_tile;
    c->free_tile = id;
}

static void forget_granule(dev_fast_core *c, uint32_t g)
{
    const uint32_t id = c->pending[g];
    c->pending[g] = 0;
    if (--c->tiles[id - 1].live == 0) drop(c, id);
}

// Copies bytes lo..hi of one row, run by run.
static void copy_row(const dev_tile *t, uint8_t *row, uint32_t p, uint32_t lo, uint32_t hi)
{
    const uint8_t *src = t->base + t->pitch * (int64_t)(p - t->start);
    while (lo < hi) {
        const uint32_t run = (lo - t->lo) / t->run_bytes, in_run = (lo - t->lo) % t->run_bytes;
        const uint32_t n = t->run_bytes - in_run < hi - lo ? t->run_bytes - in_run : hi - lo;
        memcpy(row + lo, src + t->run_step * (int64_t)run + in_run, n);
        lo += n;
    }
}

// The same without the tile's holes from number `hole` on.
static void copy_around(const dev_tile *t, uint8_t *row, uint32_t p, uint32_t lo, uint32_t hi, uint32_t hole)
{
    for (; hole < t->hole_count; hole++) {
        const dev_region *h = &t->holes[hole];
        if (p < h->start || p >= (uint32_t)h->start + h->partitions || h->hi <= lo || hi <= h->lo) continue;
        if (lo < h->lo) copy_around(t, row, p, lo, h->lo, hole + 1);
        if (h->hi < hi) copy_around(t, row, p, h->hi, hi, hole + 1);
        return;
    }
    copy_row(t, row, p, lo, hi);
}

static void make(const dev_exec *x, dev_fast_core *c, uint32_t id)
{
    const dev_tile *t = &c->tiles[id - 1];
    const uint32_t last = (t->hi - 1) / DEV_GRANULE;
    for (uint32_t g = t->lo / DEV_GRANULE; g <= last;) {
        uint32_t end = g;
        while (end <= last && c->pending[end] == id) end++;
        if (end == g) {
            g++;
            continue;
        }
        const uint32_t lo = g * DEV_GRANULE > t->lo ? g * DEV_GRANULE : t->lo;
        const uint32_t hi = end * DEV_GRANULE < t->hi ? end * DEV_GRANULE : t->hi;
        for (uint32_t p = t->start; p < (uint32_t)t->start + t->partitions; p++)
            copy_around(t, c->core->sbuf + p * x->machine->sbuf_pitch, p, lo, hi, 0);
        memset(&c->pending[g], 0, (end - g) * sizeof *c->pending);
        g = end;
    }
    drop(c, id);
}

static bool has_partitions(const dev_region *r, uint32_t start, uint32_t partitions)
{
    return r->start <= start && start + partitions <= (uint32_t)r->start + r->partitions;
}

static bool meets(const dev_region *r, uint32_t lo, uint32_t hi, uint32_t start, uint32_t partitions)
{
    return r->lo < hi && lo < r->hi && r->start < start + partitions && start < (uint32_t)r->start + r->partitions;
}

// All of bytes lo..hi of these partitions were written over since the tile was noted; by holes from number `hole` on.
static bool in_holes(const dev_tile *t, uint32_t start, uint32_t partitions, uint32_t lo, uint32_t hi, uint32_t hole)
{
    for (; hole < t->hole_count && lo < hi; hole++) {
        const dev_region *h = &t->holes[hole];
        if (!has_partitions(h, start, partitions) || h->hi <= lo || hi <= h->lo) continue;
        return in_holes(t, start, partitions, lo, h->lo < hi ? h->lo : hi, hole + 1) &&
               in_holes(t, start, partitions, h->hi > lo ? h->hi : lo, hi, hole + 1);
    }
    return lo >= hi;
}

void dev_before_read(const dev_exec *x, dev_fast_core *c, dev_region r)
{
    if (r.lo == r.hi) return;
    for (uint32_t g = r.lo / DEV_GRANULE; g <= (r.hi - 1) / DEV_GRANULE; g++) {
        if (!c->pending[g]) continue;
        const dev_tile *t = &c->tiles[c->pending[g] - 1];
        if (!meets(&r, t->lo, t->hi, t->start, t->partitions)) continue;
        const uint32_t lo = r.lo > t->lo ? r.lo : t->lo, hi = r.hi < t->hi ? r.hi : t->hi;
        if (!in_holes(t, r.start, r.partitions, lo, hi, 0)) make(x, c, c->pending[g]);
    }
}

// What the write covers of the tile of granule `g` is noted no longer: whole granules are forgotten, the rest becomes a
// hole. Dead tiles are overwritten piece by piece without ever being made.
static void write_over(const dev_exec *x, dev_fast_core *c, dev_region r, uint32_t g)
{
    const uint32_t id = c->pending[g];
    dev_tile *t = &c->tiles[id - 1];
    if (!meets(&r, t->lo, t->hi, t->start, t->partitions)) return;
    if (!r.dense) {
        make(x, c, id);
        return;
    }
    const uint32_t lo = g * DEV_GRANULE > t->lo ? g * DEV_GRANULE : t->lo;
    const uint32_t hi = (g + 1) * DEV_GRANULE < t->hi ? (g + 1) * DEV_GRANULE : t->hi;
    if (r.lo <= lo && hi <= r.hi && has_partitions(&r, t->start, t->partitions)) {
        forget_granule(c, g);
        return;
    }
    for (uint32_t h = 0; h < t->hole_count; h++) {      // a row of writes makes one hole
        dev_region *hole = &t->holes[h];
        if (hole->start != r.start || hole->partitions != r.partitions || hole->hi < r.lo || r.hi < hole->lo) continue;
        if (r.lo < hole->lo) hole->lo = r.lo;
        if (r.hi > hole->hi) hole->hi = r.hi;
        return;
    }
    if (t->hole_count == DEV_HOLES) make(x, c, id);
    else t->holes[t->hole_count++] = r;
}

void dev_before_write(dev_exec *x, dev_fast_core *c, dev_region r)
{
    if (r.lo == r.hi) return;
    const uint32_t first = r.lo / DEV_GRANULE, last = (r.hi - 1) / DEV_GRANULE;
    bool in_use = false;
    for (uint32_t g = first; g <= last; g++) in_use |= c->read_batch[g] == c->batch;
    if (in_use) dev_queue_flush(x, c);
    c->sequence++;
    for (uint32_t g = first; g <= last; g++) {
        if (c->pending[g]) write_over(x, c, r, g);
        c->stamp[g] = c->sequence;
    }
}

// ---- sources that change -------------------------------------------------------------------------------------------

// The addresses that a tile would read.
static void source_of(const dev_tile *t, const uint8_t **lo, const uint8_t **hi)
{
    const int64_t rows = t->pitch * (t->partitions - 1), runs = t->run_step * (int64_t)(t->runs - 1);
    *lo = t->base + (rows < 0 ? rows : 0) + (runs < 0 ? runs : 0);
    *hi = t->base + (rows > 0 ? rows : 0) + (runs > 0 ? runs : 0) + t->run_bytes;
}

// `writers`: bit mask of cores; only tiles whose source one of them writes.
static void make_from(const dev_exec *x, dev_fast_core *c, const uint8_t *lo, const uint8_t *hi, uint8_t writers)
{
    uint32_t previous = 0;
    for (uint32_t g = 0; g < c->granules && c->volatile_tiles; g++) {
        const uint32_t id = c->pending[g];
        if (!id || id == previous) continue;
        previous = id;
        if (!(x->loaded->written[c->tiles[id - 1].tensor] & writers)) continue;
        const uint8_t *from, *to;
        source_of(&c->tiles[id - 1], &from, &to);
        if (from < hi && lo < to) make(x, c, id);
    }
}

void dev_before_hbm_write(dev_exec *x, dev_fast_core *c, int slot)
{
    const dev_shape *s = &x->shape[slot];
    if (s->empty) return;
    if (c->volatile_packs) dev_queue_flush(x, c);
    if (c->volatile_tiles) make_from(x, c, x->ap[slot].base + s->lo, x->ap[slot].base + s->hi, UINT8_MAX);
}

void dev_make_shared(const dev_exec *x, dev_fast_core *c)
{
    const uint8_t others = (uint8_t)~(1u << x->core_index);
    if (c->volatile_tiles) make_from(x, c, NULL, (const uint8_t *)UINTPTR_MAX, others);
}

void dev_before_psum(dev_exec *x, dev_fast_core *c, dev_region r)
{
    if (r.lo == r.hi || c->groups.count == 0) return;
    bool in_use = false;
    for (uint32_t g = r.lo / DEV_GRANULE; g <= (r.hi - 1) / DEV_GRANULE; g++) in_use |= c->psum_batch[g] == c->batch;
    if (in_use) dev_queue_flush(x, c);
}

// Splits the source's elements, in order, into `partitions` rows of one step, each `runs` runs of one step.
static bool split_source(const dev_ap *src, uint32_t partitions, uint64_t free, dev_tile *t)
{
    int64_t step[ISA_DIMS + 1];
    uint64_t count[ISA_DIMS + 1];
    int rank = 0;
    uint64_t row = 1, rows = 1;
    t->pitch = 0;
    // From the innermost dim out: first the row's dims, then the partitions'.
    for (int k = src->rank - 1; k >= 0; k--) {
        uint64_t n = src->count[k];
        int64_t s = src->step[k];
        if (row < free) {
            const uint64_t take = n < free / row ? n : free / row;
            if (free % (row * take) || n % take) return false;
            step[rank] = s;
            count[rank++] = take;
            row *= take;
            s *= (int64_t)take;
            n /= take;
        }
        if (n == 1) continue;
        if (rows > 1) return false;             // partitions would need two steps
        t->pitch = s;
        rows = n;
    }
    if (row != free || rows != partitions || rank > 2) return false;
    if (rank > 0 && step[0] != src->size) return false;
    t->run_bytes = (uint32_t)((rank > 0 ? count[0] : 1) * src->size);
    t->runs = rank > 1 ? (uint32_t)count[1] : 1;
    t->run_step = rank > 1 ? step[1] : 0;
    return true;
}

bool dev_note_dma(dev_exec *x, dev_fast_core *c)
{
    const dev_ap *dst = &x->ap[0], *src = &x->ap[1];
    if (dst->space != ISA_SBUF || src->space != ISA_HBM || dst->dtype != src->dtype || !dev_is_run(dst)) return false;
    if ((!c->free_tile && c->tiles_used == DEV_TILES) || dst->free == 0) return false;
    const dev_slot *slot = &x->core->at.slots.items[dev_top(&x->core->at)->first_slot + x->operand[1].tensor];
    dev_tile t = { .base = src->base, .tensor = slot->tensor, .is_volatile = !x->loaded->fast->stores[slot->tensor] };
    if (!split_source(src, dst->partitions, dst->free, &t)) return false;
    const dev_region r = dev_region_of(x, 0);
    t.lo = r.lo;
    t.hi = r.hi;
    t.start = r.start;
    t.partitions = r.partitions;
    dev_before_write(x, c, r);
    const uint32_t first = t.lo / DEV_GRANULE, last = (t.hi - 1) / DEV_GRANULE;
    for (uint32_t g = first; g <= last; g++)
        if (c->pending[g]) make(x, c, c->pending[g]);       // a neighbour in the same granule, or other partitions
    uint32_t id = c->free_tile;
    if (id) c->free_tile = c->tiles[id - 1].next;
    else id = ++c->tiles_used;
    c->volatile_tiles += t.is_volatile;
    t.live = last - first + 1;
    c->tiles[id - 1] = t;
    for (uint32_t g = first; g <= last; g++) c->pending[g] = id;
    return true;
}

const uint8_t *dev_source_at(const dev_tile *t, dev_region r)
{
    const uint32_t run = (r.lo - t->lo) / t->run_bytes;
    return t->base + t->pitch * (r.start - t->start) + t->run_step * (int64_t)run + (r.lo - t->lo - run * t->run_bytes);
}

const dev_tile *dev_tile_at(const dev_fast_core *c, dev_region r)
{
    if (r.lo == r.hi || !r.dense) return NULL;
    const uint32_t id = c->pending[r.lo / DEV_GRANULE];
    if (!id) return NULL;
    const dev_tile *t = &c->tiles[id - 1];
    if (r.lo < t->lo || r.hi > t->hi || r.start < t->start || r.start + r.partitions > t->start + t->partitions) return NULL;
    for (uint32_t g = r.lo / DEV_GRANULE; g <= (r.hi - 1) / DEV_GRANULE; g++)
        if (c->pending[g] != id) return NULL;
    for (uint32_t h = 0; h < t->hole_count; h++)
        if (meets(&t->holes[h], r.lo, r.hi, r.start, r.partitions)) return NULL;
    // Inside one run of the row, so that it is contiguous in HBM too.
    return (r.lo - t->lo) / t->run_bytes == (r.hi - 1 - t->lo) / t->run_bytes ? t : NULL;
}
