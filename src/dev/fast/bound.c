// SPDX-License-Identifier: Apache-2.0
// Running a program in bound mode. Each instruction either joins the queue (matmul), is noted (DMA), or runs now, fast
// or by its exact handler, after what it reads has been made and what it changes has been used (prepare). With two
// physical cores and two threads each core has its thread, and they meet at barriers; with one core the threads share
// its instructions.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "dev/fast/fast.h"

static const dev_fast_fn fast_table[ISA_OP_COUNT] = {
    [ISA_tensor_tensor] = dev_fast_tensor_tensor,
    [ISA_tensor_scalar] = dev_fast_tensor_scalar,
    [ISA_scalar_tensor_tensor] = dev_fast_scalar_tensor_tensor,
    [ISA_activation] = dev_fast_activation,
    [ISA_tensor_reduce] = dev_fast_tensor_reduce,
    [ISA_reciprocal] = dev_fast_reciprocal,
    [ISA_tensor_copy] = dev_fast_tensor_copy,
    [ISA_memset] = dev_fast_memset,
    [ISA_affine_select] = dev_fast_affine_select,
    [ISA_dma_transpose] = dev_fast_dma_transpose,
};

// ---- one instruction -----------------------------------------------------------------------------------------------

static void prepare(dev_exec *x, dev_fast_core *c)
{
    const isa_insn *i = x->insn;
    for (int k = 0; k < i->operand_count; k++) {
        const uint8_t space = x->operand[k].space;
        if (space == ISA_PSUM) dev_before_psum(x, c, dev_region_of(x, k));
        else if (space == ISA_HBM && (isa_operand_access(i, k) & ISA_WRITE)) dev_before_hbm_write(x, c, k);
        else if (space == ISA_SBUF && (isa_operand_access(i, k) & ISA_READ)) dev_before_read(x, c, dev_region_of(x, k));
    }
    for (int k = 0; k < i->operand_count; k++) {
        if (x->operand[k].space != ISA_SBUF || !(isa_operand_access(i, k) & ISA_WRITE)) continue;
        dev_region r = dev_region_of(x, k);
        // What may leave some of its bytes as they were does not cover what is noted.
        if (i->op == ISA_dma_gather || i->op == ISA_copy_predicated) r.dense = false;
        dev_before_write(x, c, r);
    }
}

static glia_status execute(dev_exec *x)
{
    dev_fast_core *c = dev_fast_of(x);
    const uint8_t op = x->insn->op;
    const bool multiplies = op == ISA_matmul || (op == ISA_transpose && x->machine->generation < 3);
    if (multiplies && dev_fast_matmul(x, c)) return GLIA_OK;
    if (op == ISA_transpose && dev_fast_transpose(x)) return GLIA_OK;
    if (op == ISA_dma_copy && dev_note_dma(x, c)) return GLIA_OK;
    if (op == ISA_barrier) {
        dev_queue_flush(x, c);
        dev_make_shared(x, c);
    }
    prepare(x, c);
    if (fast_table[op] && fast_table[op](x)) return GLIA_OK;
    return dev_exec_table[op](x);
}

static glia_status run_core(dev_loaded *l, uint32_t core, const dev_options *options)
{
    glia_status s = dev_run_core(l, core, options, execute);
    // Also after a fault: others may wait for what this queue packs.
    dev_exec x = { .loaded = l, .machine = l->machine, .core = &l->machine->cores[core], .options = options,
                   .core_index = core };
    dev_queue_flush(&x, &l->fast->cores[core]);
    return s;
}

// ---- begin ----------------------------------------------------------------------------------------------------------

static void reset(dev_fast_core *c, size_t psum_granules)
{
    dev_tiles_reset(c);
    memset(c->psum_batch, 0, psum_granules * sizeof *c->psum_batch);
    for (uint32_t i = 0; i < DEV_CACHE_SLOTS; i++) c->cache[i].stamp = c->cache[i].batch = 0;
    c->groups.count = c->links.count = c->packs.count = c->awaits.count = 0;
    c->queued_work = c->queued_bytes = 0;
    c->sequence = c->batch = 1;
    c->volatile_tiles = 0;
    c->volatile_packs = false;
}

static void begin(dev_loaded *l, uint32_t core)
{
    reset(&l->fast->cores[core], l->machine->psum_bytes / DEV_GRANULE + 1);
    dev_begin(l, core);
}

// ---- two cores, two threads ----------------------------------------------------------------------------------------

typedef struct meeting {
    dev_loaded *l;
    const dev_options *options;
    _Atomic uint32_t arrived[ISA_CORES];        // barriers reached
    _Atomic uint32_t ended[ISA_CORES];
    uint8_t barrier[ISA_CORES][2];              // ids of the last two barriers, written before `arrived`: nobody gets
                                                // two ahead of the other
    glia_status status[ISA_CORES];
} meeting;

// Waits for the other core at barrier `number`; false when it has ended.
static bool wait_for(meeting *w, int other, uint32_t number)
{
    for (uint32_t spins = 0;; spins++) {
        if (atomic_load(&w->arrived[other]) >= number) return true;
        if (atomic_load(&w->ended[other])) return atomic_load(&w->arrived[other]) >= number;
        dev_wait(spins);
    }
}

static glia_status run_and_meet(meeting *w, int core)
{
    dev_position *at = &w->l->machine->cores[core].at;
    for (uint32_t number = 1;; number++) {
        TRY(run_core(w->l, (uint32_t)core, w->options));
        if (at->state == DEV_DONE) return GLIA_OK;
        w->barrier[core][number & 1] = at->barrier;
        atomic_store(&w->arrived[core], number);
        if (!wait_for(w, 1 - core, number)) {
            if (w->status[1 - core]) return GLIA_OK;        // it failed: its status says why
            return GLIA_FAIL(HANG, "core %d waits at barrier %u, core %d has ended", core, at->barrier, 1 - core);
        }
        const uint8_t theirs = w->barrier[1 - core][number & 1];
        ENSURE(theirs == at->barrier, HANG, "core %d waits at barrier %u, core %d at barrier %u", core, at->barrier,
               1 - core, theirs);
        at->state = DEV_RUNNING;
    }
}

static void core_worker(void *context, int worker, int workers)
{
    (void)workers;
    meeting *w = context;
    if (worker >= ISA_CORES) return;
    begin(w->l, (uint32_t)worker);
    w->status[worker] = run_and_meet(w, worker);
    atomic_store(&w->ended[worker], 1);
}

static glia_status run_in_threads(dev_loaded *l, const dev_options *options)
{
    meeting w = { .l = l, .options = options };
    glia_pool_run(l->machine->pool, core_worker, &w);
    if (!w.status[0]) return w.status[1];
    glia_status_destroy(w.status[1]);
    return w.status[0];
}

// ---- a program ----------------------------------------------------------------------------------------------------

glia_status dev_run_bound(dev_loaded *l, const dev_options *options)
{
    if (!l->fast) return dev_run_exact(l, options);
    dev_machine *m = l->machine;
    dev_options bound = *options;
    bound.shadow = false;
    bound.observe = NULL;
    dev_packed_begin(l);
    const bool threads = m->core_count == 2 && glia_pool_threads(m->pool) > 1;
    for (uint32_t c = 0; !threads && c < (uint32_t)m->core_count; c++) begin(l, c);
    glia_status s = threads ? run_in_threads(l, &bound) : dev_run_cores(l, &bound, run_core);
    dev_packed_end(l);
    return s;
}

static float *floats(size_t n)
{
    void *p = NULL;
    if (posix_memalign(&p, 64, n * sizeof(float)) != 0) glia_bug(__FILE__, __LINE__, "out of memory");
    return p;
}

static void scratch_init(dev_scratch *s, size_t elements)
{
    s->elements = elements;
    for (size_t i = 0; i < COUNT_OF(s->row); i++) s->row[i] = floats(DEV_COLUMNS_MAX);
    for (size_t i = 0; i < COUNT_OF(s->rows); i++) s->rows[i] = floats(DEV_FOLD_ROWS * elements);
    s->columns = floats(DEV_PANEL * (ISA_PARTITIONS + 16));
}

static void scratch_fini(dev_scratch *s)
{
    for (size_t i = 0; i < COUNT_OF(s->row); i++) free(s->row[i]);
    for (size_t i = 0; i < COUNT_OF(s->rows); i++) free(s->rows[i]);
    free(s->columns);
}

static void core_init(dev_fast_core *c, const dev_machine *m, dev_core *core)
{
    const size_t psum_granules = m->psum_bytes / DEV_GRANULE + 1;
    c->core = core;
    c->granules = m->sbuf_bytes / DEV_GRANULE + 1;
    c->stamp = glia_alloc(c->granules * sizeof *c->stamp);
    c->pending = glia_alloc(c->granules * sizeof *c->pending);
    c->read_batch = glia_alloc(c->granules * sizeof *c->read_batch);
    c->psum_batch = glia_alloc(psum_granules * sizeof *c->psum_batch);
    c->psum_group = glia_alloc(psum_granules * sizeof *c->psum_group);
    c->cache = glia_alloc(DEV_CACHE_SLOTS * sizeof *c->cache);
}

static void core_fini(dev_fast_core *c)
{
    for (uint32_t i = 0; c->cache && i < DEV_CACHE_SLOTS; i++) free(c->cache[i].data);
    glia_free(c->stamp);
    glia_free(c->pending);
    glia_free(c->read_batch);
    glia_free(c->psum_batch);
    glia_free(c->psum_group);
    glia_free(c->cache);
    VEC_FREE(&c->groups);
    VEC_FREE(&c->links);
    VEC_FREE(&c->packs);
    VEC_FREE(&c->awaits);
}

glia_status dev_fast_create(dev_loaded *l, struct dev_fast **out)
{
    const dev_kernels *kernels = dev_kernels_get();
    dev_machine *m = l->machine;
    *out = NULL;
    if (!kernels) return GLIA_OK;               // the exact handlers do
    dev_fast *f = glia_alloc(sizeof *f);
    const int threads = glia_pool_threads(m->pool);
    f->kernels = kernels;
    f->workers = m->core_count == 1 ? (threads < DEV_WORKERS ? threads : DEV_WORKERS) : 1;
    f->cores = glia_alloc((size_t)m->core_count * sizeof *f->cores);
    for (int c = 0; c < m->core_count; c++) core_init(&f->cores[c], m, &m->cores[c]);
    f->scratch_count = f->workers > m->core_count ? f->workers : m->core_count;
    f->scratch = glia_alloc((size_t)f->scratch_count * sizeof *f->scratch);
    for (int i = 0; i < f->scratch_count; i++) scratch_init(&f->scratch[i], m->cores[0].row_elements);
    f->core_count = m->core_count;
    f->stores = glia_alloc(l->program->tensors.count * sizeof *f->stores + sizeof *f->stores);
    *out = f;
    return GLIA_OK;
}

void dev_fast_destroy(struct dev_fast *f)
{
    if (!f) return;
    for (int c = 0; c < f->core_count; c++) core_fini(&f->cores[c]);
    for (int i = 0; i < f->scratch_count; i++) scratch_fini(&f->scratch[i]);
    glia_free(f->cores);
    glia_free(f->scratch);
    glia_free(f->stores);
    glia_free(f);
}
