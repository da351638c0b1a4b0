// SPDX-License-Identifier: Apache-2.0
// DMAs that wait (see fast.h). A load from a tensor that no instruction of the program writes can be made at any later
// time with the same bytes; so it is noted as a tile over the granules of SBUF that it would fill. A read of the image
// makes it first; a write over all of it forgets it. A granule belongs to at most one tile.
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
    for (uint32_t t = 0; t < DEV_TILES; t++) c->tiles[t].next = t + 1 < DEV_TILES ? t + 2 : 0;
    c->free_tile = 1;
}

static void forget(dev_fast_core *c, uint32_t id)
{
    dev_tile *t = &c->tiles[id - 1];
    for (uint32_t g = t->lo / DEV_GRANULE; g <= (t->hi - 1) / DEV_GRANULE; g++) c->pending[g] = 0;
    t->next = c->free_tile;
    c->free_tile = id;
}

static void make(const dev_exec *x, dev_fast_core *c, uint32_t id)
{
    const dev_tile *t = &c->tiles[id - 1];
    for (uint32_t p = 0; p < t->partitions; p++) {
        uint8_t *dst = c->core->sbuf + (t->start + p) * x->machine->sbuf_pitch + t->lo;
        const uint8_t *src = t->base + t->pitch * (int64_t)p;
        for (uint32_t r = 0; r < t->runs; r++)
            memcpy(dst + (size_t)r * t->run_bytes, src + t->run_step * (int64_t)r, t->run_bytes);
    }
    forget(c, id);
}

void dev_before_read(const dev_exec *x, dev_fast_core *c, dev_region r)
{
    if (r.lo == r.hi) return;
    for (uint32_t g = r.lo / DEV_GRANULE; g <= (r.hi - 1) / DEV_GRANULE; g++)
        if (c->pending[g]) make(x, c, c->pending[g]);
}

static bool covers(const dev_region *r, const dev_tile *t)
{
    return r->dense && r->lo <= t->lo && t->hi <= r->hi && r->start <= t->start &&
           t->start + t->partitions <= r->start + r->partitions;
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
        if (c->pending[g]) {
            if (covers(&r, &c->tiles[c->pending[g] - 1])) forget(c, c->pending[g]);
            else make(x, c, c->pending[g]);
        }
        c->stamp[g] = c->sequence;
    }
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
    const dev_slot *slot = &x->core->at.slots.items[dev_top(&x->core->at)->first_slot + x->operand[1].tensor];
    if (!x->loaded->fast->stores[slot->tensor] || !c->free_tile || dst->free == 0) return false;
    dev_tile t = { .base = src->base, .tensor = slot->tensor };
    if (!split_source(src, dst->partitions, dst->free, &t)) return false;
    const dev_region r = dev_region_of(x, 0);
    t.lo = r.lo;
    t.hi = r.hi;
    t.start = r.start;
    t.partitions = r.partitions;
    dev_before_write(x, c, r);
    const uint32_t id = c->free_tile;
    c->free_tile = c->tiles[id - 1].next;
    c->tiles[id - 1] = t;
    for (uint32_t g = t.lo / DEV_GRANULE; g <= (t.hi - 1) / DEV_GRANULE; g++) c->pending[g] = id;
    return true;
}

const dev_tile *dev_tile_at(const dev_fast_core *c, dev_region r)
{
    if (r.lo == r.hi || !r.dense) return NULL;
    const uint32_t id = c->pending[r.lo / DEV_GRANULE];
    if (!id) return NULL;
    const dev_tile *t = &c->tiles[id - 1];
    if (r.lo < t->lo || r.hi > t->hi || r.start < t->start || r.start + r.partitions > t->start + t->partitions) return NULL;
    // Inside one run of the row, so that it is contiguous in HBM too.
    return (r.lo - t->lo) / t->run_bytes == (r.hi - 1 - t->lo) / t->run_bytes ? t : NULL;
}
