// SPDX-License-Identifier: Apache-2.0
// The queue of matmuls (see fast.h). Matmuls of one destination form a group, whose sums stay in registers from one
// instruction to the next; groups have disjoint destinations, so their order does not matter, and a group's columns can
// be split over threads: each output element is one chain on one thread. When the moving side is narrow (a token or a
// few), the sides change roles, so that the weights are always the vector side, and the small result is turned.
#include <stdatomic.h>
#include <string.h>

#include "dev/fast/fast.h"

enum { FEW_ROWS = DEV_PANEL, LINKS_AT_ONCE = 64, BLOCK_STEPS = 256 };

static bool multiplies(num_dtype t)
{
    return num_is_float(t) && t != NUM_F64;
}

static dev_form form_of(const dev_kernels *k, num_dtype a, num_dtype b)
{
    if (num_bits(a) > 16) return DEV_WIDE;
    return k->has_pairs && a != NUM_F16 && b != NUM_F16 ? DEV_PAIRS : DEV_NARROW;
}

// ---- execution -----------------------------------------------------------------------------------------------------

typedef struct flush_work {
    const dev_exec *x;
    dev_fast_core *c;
    const dev_kernels *kernels;
    _Atomic uint32_t next_pack, packers_done;
} flush_work;

static void turn_in(const dev_group *g, dev_scratch *s, size_t pitch, int from, int to)
{
    for (int f = from; f < to; f++)
        for (int r = 0; r < g->rows; r++) s->columns[(size_t)r * pitch + (size_t)f] = g->c[(size_t)f * g->c_pitch + (size_t)r];
}

static void turn_out(const dev_group *g, const dev_scratch *s, size_t pitch, int from, int to)
{
    for (int f = from; f < to; f++)
        for (int r = 0; r < g->rows; r++) g->c[(size_t)f * g->c_pitch + (size_t)r] = s->columns[(size_t)r * pitch + (size_t)f];
}

static void run_links(const dev_kernels *k, dev_form form, const dev_mm *t)
{
    if (form == DEV_PAIRS) {
        k->matmul_pairs(t);
        return;
    }
    uint32_t saved = 0;
    if (form == DEV_NARROW) k->flush_on(&saved);
    k->matmul_f32(t);
    if (form == DEV_NARROW) k->flush_off(saved);
}

// Strips first..end of a group, all links.
static void run_group(const flush_work *w, const dev_group *g, int first, int end, dev_scratch *s)
{
    if (first >= end) return;
    const size_t turned_pitch = ISA_PARTITIONS + 16;
    const int from = first * DEV_STRIP, to = end * DEV_STRIP < g->columns ? end * DEV_STRIP : g->columns;
    if (g->turned && g->accumulate) turn_in(g, s, turned_pitch, from, to);
    dev_chain_link links[LINKS_AT_ONCE];
    dev_mm t = { .c = g->turned ? s->columns : g->c, .c_pitch = g->turned ? turned_pitch : g->c_pitch, .rows = g->rows,
                 .columns = g->columns, .accumulate = g->accumulate, .first_strip = first, .end_strip = end,
                 .links = links };
    for (uint32_t id = g->first; id;) {
        // As many links as keep a block's operands in the cache; all that fit when a row of blocks is a single one.
        int steps = 0;
        for (t.link_count = 0; id && t.link_count < LINKS_AT_ONCE; id = w->c->links.items[id - 1].next) {
            const dev_chain_link *l = &w->c->links.items[id - 1].link;
            if (t.link_count && g->rows > FEW_ROWS && steps + l->steps > BLOCK_STEPS) break;
            steps += l->steps;
            links[t.link_count++] = *l;
        }
        run_links(w->kernels, g->form, &t);
        t.accumulate = true;
    }
    if (g->turned) turn_out(g, s, turned_pitch, from, to);
}

// The columns of a group for one worker; who gets the odd strip alternates with the PSUM bank.
static int share(const dev_group *g, int worker, int workers)
{
    const int strips = dev_strip_count(g->columns), extra = (int)(g->lo / ISA_PSUM_BANK_BYTES & 1) ? workers - 1 : 0;
    return (strips * worker + extra) / workers;
}

static void flush_worker(void *context, int worker, int workers)
{
    flush_work *w = context;
    dev_scratch *s = dev_scratch_of(w->x, worker);
    for (;;) {
        const uint32_t i = atomic_fetch_add(&w->next_pack, 1);
        if (i >= w->c->packs.count) break;
        dev_pack(w->kernels, &w->c->packs.items[i], s);
    }
    for (uint32_t i = 0; i < w->c->awaits.count; i++) {
        const dev_await *a = &w->c->awaits.items[i];
        for (uint32_t spins = 0; atomic_load_explicit(a->ready, memory_order_acquire) != a->epoch; spins++) dev_wait(spins);
    }
    if (workers > 1) {      // everybody's packing is done before anybody reads it
        atomic_fetch_add(&w->packers_done, 1);
        for (uint32_t spins = 0; atomic_load(&w->packers_done) < (uint32_t)workers; spins++) dev_wait(spins);
    }
    for (uint32_t i = 0; i < w->c->groups.count; i++) {
        const dev_group *g = &w->c->groups.items[i];
        const int end = worker + 1 == workers ? dev_strip_count(g->columns) : share(g, worker + 1, workers);
        run_group(w, g, worker == 0 ? 0 : share(g, worker, workers), end, s);
    }
}

void dev_queue_flush(dev_exec *x, dev_fast_core *c)
{
    if (c->groups.count || c->packs.count) {
        flush_work w = { .x = x, .c = c, .kernels = x->loaded->fast->kernels };
        // Under a microsecond of work the hand-off costs more than it gains.
        const bool split = x->loaded->fast->workers > 1 && c->queued_work + c->queued_bytes * 8 > 400000;
        if (split) glia_pool_run(x->machine->pool, flush_worker, &w);
        else flush_worker(&w, 0, 1);
    }
    c->groups.count = c->links.count = c->packs.count = c->awaits.count = 0;
    c->queued_work = c->queued_bytes = 0;
    c->volatile_packs = false;
    c->batch++;
}

// ---- the queue -----------------------------------------------------------------------------------------------------

// The group that writes exactly this destination, NULL when none touches it; flushes when one overlaps it otherwise.
static dev_group *find_group(dev_exec *x, dev_fast_core *c, const dev_group *want)
{
    uint32_t id = 0;
    bool mixed = false;
    for (uint32_t g = want->lo / DEV_GRANULE; g <= (want->hi - 1) / DEV_GRANULE; g++) {
        const uint32_t here = c->psum_batch[g] == c->batch ? c->psum_group[g] : 0;
        if (g > want->lo / DEV_GRANULE && here != id) mixed = true;
        id = here ? here : id;
    }
    if (!id) return NULL;
    dev_group *g = &c->groups.items[id - 1];
    const bool same = !mixed && g->c == want->c && g->m == want->m && g->n == want->n && g->form == want->form &&
                      g->turned == want->turned && want->accumulate;
    if (same) return g;
    dev_queue_flush(x, c);
    return NULL;
}

static void append(dev_fast_core *c, dev_group *g, dev_chain_link link)
{
    VEC_PUSH(&c->links) = (dev_link){ .link = link };
    if (g->last) c->links.items[g->last - 1].next = c->links.count;
    else g->first = c->links.count;
    g->last = c->links.count;
}

bool dev_fast_matmul(dev_exec *x, dev_fast_core *c)
{
    const dev_ap *dst = &x->ap[0], *stationary = &x->ap[1], *moving = &x->ap[2];
    const num_dtype ts = (num_dtype)stationary->dtype, tm = (num_dtype)moving->dtype;
    const bool transposes = x->insn->op == ISA_transpose;       // by the identity: no attributes
    const int pair = !transposes && x->insn->attr[1] == ISA_PERF_DOUBLE_ROW ? 2 : 1;
    const int m = (int)dst->partitions, n = (int)dst->free;
    if (dst->dtype != NUM_F32 || !dev_is_run(dst) || !multiplies(ts) || !multiplies(tm) || n == 0) return false;
    if (stationary->rank > 2 || moving->rank > 2 || m * pair > DEV_COLUMNS_MAX || n * pair > DEV_COLUMNS_MAX) return false;
    const dev_form form = form_of(x->loaded->fast->kernels, ts, tm);
    const dev_region r = dev_region_of(x, 0);
    const bool turned = n <= FEW_ROWS && m > FEW_ROWS;
    const dev_group want = { .c = (float *)dst->base, .c_pitch = dst->pitch / sizeof(float), .rows = turned ? n : m,
                             .columns = turned ? m : n, .m = m, .n = n, .turned = turned,
                             .accumulate = !transposes && x->insn->attr[0], .form = form, .lo = r.lo, .hi = r.hi, .start = r.start };
    const uint32_t *panels, *strips;
    // Packing may flush the queue to free a slot; the second operand of this instruction must not lose the first.
    for (uint32_t batch = c->batch + 1; batch != c->batch;) {
        batch = c->batch;
        glia_status s = dev_packed_of(x, c, turned ? 2 : 1, true, form, &panels);
        BUG_ON(s);
        s = dev_packed_of(x, c, turned ? 1 : 2, false, form, &strips);
        BUG_ON(s);
    }
    const uint32_t before = c->batch;
    dev_group *g = find_group(x, c, &want);
    if (before != c->batch) return dev_fast_matmul(x, c);       // flushed: the operands belong to a new batch
    if (!g) {
        VEC_PUSH(&c->groups) = want;
        g = &c->groups.items[c->groups.count - 1];
        for (uint32_t k = r.lo / DEV_GRANULE; k <= (r.hi - 1) / DEV_GRANULE; k++) {
            c->psum_batch[k] = c->batch;
            c->psum_group[k] = c->groups.count;
        }
    }
    const int k = (int)stationary->partitions * pair;
    const int steps = form == DEV_WIDE ? k : form == DEV_NARROW ? (k + 1) / 2 * 2 : (k + 1) / 2;
    append(c, g, (dev_chain_link){ panels, strips, steps });
    c->queued_work += (uint64_t)m * (uint64_t)n * (uint64_t)steps;
    // What was packed just now should still be in the cache when it is used.
    if (c->links.count >= 1024 || c->queued_bytes > 384 * 1024) dev_queue_flush(x, c);
    return true;
}
