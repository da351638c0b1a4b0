// SPDX-License-Identifier: Apache-2.0
// Bound mode, inside. Four ideas, each in its file; the byte images stay the authority:
//
//   tiles.c    a load is only noted; it is made when something reads the image or would change its source, and never
//              when only matmuls read it. Every write of SBUF stamps the granules that it touches.
//   pack.c     operands of matmuls are packed once: from HBM into the tensor's own store (kept while its generation
//              lasts when it is constant), from SBUF until an overlapping write.
//   matmul.c   matmuls wait in a queue, grouped by destination, until something needs their result or would change
//              their operands; then groups run, split over the pool by columns.
//   vector.c, move.c   the other engines, row by row with SIMD kernels.
//
// Whatever has no fast form runs the exact handler after the same preparation (bound.c).
#ifndef GLIA_DEV_FAST_FAST_H
#define GLIA_DEV_FAST_FAST_H

#include <sched.h>

#include "dev/fast/kernels.h"
#include "dev/machine.h"

enum { DEV_GRANULE = 64, DEV_TILES = 2048, DEV_CACHE_SLOTS = 1024, DEV_COLUMNS_MAX = 8192, DEV_WORKERS = 64 };

// One turn of a wait for another thread: look again soon, and after about 50 us let others run.
static inline void dev_wait(uint32_t spins)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (spins > 2000) sched_yield();
}

// ---- packed operands -----------------------------------------------------------------------------------------------

typedef enum dev_form {
    DEV_WIDE,                   // fp32 words in ascending k, gradual underflow
    DEV_NARROW,                 // fp32 words, the odd k of each pair first, flushed
    DEV_PAIRS                   // bf16 pairs, multiplied by the host's instruction
} dev_form;

typedef struct dev_pack_key {   // compared as bytes: zero it first
    uint64_t at;                // HBM: address; SBUF: start partition << 32 | offset
    int64_t pitch;              // bytes between partitions
    int64_t step[2];            // SBUF patterns of more than one run
    uint32_t count[2];
    uint32_t rows, columns;     // K (with double_row 2K) and columns
    uint8_t dtype, form, panels, pair;
    uint32_t pad;
} dev_pack_key;

typedef struct dev_pack_job {
    dev_pack_key key;
    const uint8_t *base;
    dev_ap ap;                  // of SBUF patterns that are not one run; ap.base NULL: rows are contiguous
    uint32_t *out;
    _Atomic uint32_t *ready;    // set to `epoch` afterwards, when not NULL
    uint32_t epoch;
} dev_pack_job;

static inline int dev_pack_steps(const dev_pack_key *k)
{
    return k->form == DEV_WIDE ? (int)k->rows : k->form == DEV_NARROW ? (int)(k->rows + 1) / 2 * 2 : (int)(k->rows + 1) / 2;
}

typedef struct dev_scratch {    // of one worker
    float *row[2];              // [DEV_COLUMNS_MAX] each, for packing
    float *rows[4];             // [DEV_FOLD_ROWS][elements] each, for vector kernels
    size_t elements;
    float *columns;             // [DEV_PANEL][ISA_PARTITIONS + 16], turned results
} dev_scratch;

void dev_pack(const dev_kernels *k, const dev_pack_job *job, dev_scratch *s);

// ---- one core ------------------------------------------------------------------------------------------------------

// The bytes of an on-chip operand in its partitions.
typedef struct dev_region { uint32_t lo, hi; uint8_t start, partitions; bool dense; } dev_region;

enum { DEV_HOLES = 6 };
typedef struct dev_tile {       // a DMA that has not been made: rows of `runs` runs
    const uint8_t *base;
    int64_t pitch, run_step;
    uint32_t runs, run_bytes;
    uint32_t lo, hi;            // bytes of each partition
    uint8_t start, partitions;
    uint8_t hole_count;
    bool is_volatile;           // its source is written by the program, at some other time
    dev_region holes[DEV_HOLES];    // what was written over it since, where it is still noted
    uint32_t live;              // granules that are still noted
    uint32_t tensor;
    uint32_t next;              // free list
} dev_tile;

typedef struct dev_cached {     // a packed operand of SBUF
    dev_pack_key key;
    uint32_t stamp;             // the image's state that it shows; 0: none
    uint32_t batch;             // the batch that uses it
    uint32_t *data;
    size_t bytes;
} dev_cached;

typedef struct dev_await { const _Atomic uint32_t *ready; uint32_t epoch; } dev_await;
typedef struct dev_link { dev_chain_link link; uint32_t next; } dev_link;       // index + 1 of the next one
typedef struct dev_group {      // matmuls of one destination, in order
    float *c;
    size_t c_pitch;
    int rows, columns;          // of the kernel: panels x strips
    int m, n;                   // of the instruction
    bool turned;                // rows are n: the result is transposed into PSUM
    bool accumulate;
    dev_form form;
    uint32_t first, last;       // links, index + 1
    uint32_t lo, hi;            // PSUM bytes
    uint8_t start;
} dev_group;

typedef struct dev_fast_core {
    dev_core *core;
    size_t granules;
    uint32_t *stamp, *pending, *read_batch;     // SBUF, [granules]
    uint32_t *psum_batch, *psum_group;          // PSUM, [granules]
    uint32_t sequence, batch;
    dev_tile tiles[DEV_TILES];
    uint32_t free_tile;                         // index + 1; 0: none but those never used
    uint32_t tiles_used;                        // those from here on were never used
    uint32_t volatile_tiles;                    // how many are noted
    bool volatile_packs;                        // the queue packs from tensors that the program writes
    dev_cached *cache;                          // [DEV_CACHE_SLOTS]
    VEC(dev_group) groups;
    VEC(dev_link) links;
    VEC(dev_pack_job) packs;
    VEC(dev_await) awaits;                      // operands of the queue that another core, or execution, is packing
    uint64_t queued_work, queued_bytes;
} dev_fast_core;

typedef struct dev_fast {
    const dev_kernels *kernels;
    int workers;                // that one core may use
    dev_fast_core *cores;       // [core_count]
    dev_scratch *scratch;       // [workers], or [core_count] when each core has its own thread
    int scratch_count, core_count;
    struct store **stores;      // [tensors]; pack.c's, during an execution
} dev_fast;

static inline dev_fast_core *dev_fast_of(const dev_exec *x) { return &x->loaded->fast->cores[x->core_index]; }
static inline dev_scratch *dev_scratch_of(const dev_exec *x, int worker)
{
    dev_fast *f = x->loaded->fast;
    return &f->scratch[f->workers > 1 ? (uint32_t)worker : x->core_index];
}

dev_region dev_region_of(const dev_exec *x, int slot);
static inline bool dev_is_run(const dev_ap *a) { return a->rank == 0 || (a->rank == 1 && a->step[0] == a->size); }

// ---- tiles.c ----
void dev_tiles_reset(dev_fast_core *c);
void dev_before_read(const dev_exec *x, dev_fast_core *c, dev_region r);       // SBUF: makes the noted DMAs
void dev_before_write(dev_exec *x, dev_fast_core *c, dev_region r);            // SBUF: and runs the queue if it reads there
void dev_before_psum(dev_exec *x, dev_fast_core *c, dev_region r);             // runs the queue if it writes there
void dev_before_hbm_write(dev_exec *x, dev_fast_core *c, int slot);           // makes noted DMAs from there
void dev_make_shared(const dev_exec *x, dev_fast_core *c);                     // all from tensors that another core writes
bool dev_note_dma(dev_exec *x, dev_fast_core *c);                              // false: cannot wait, make it now
const dev_tile *dev_tile_at(const dev_fast_core *c, dev_region r);             // the one that covers all of it, or NULL
const uint8_t *dev_source_at(const dev_tile *t, dev_region r);                 // where it lies in HBM, rows t->pitch apart

// ---- pack.c ----
glia_status dev_packed_of(dev_exec *x, dev_fast_core *c, int slot, bool panels, dev_form form, const uint32_t **out);
void dev_packed_begin(dev_loaded *l);       // around an execution
void dev_packed_end(dev_loaded *l);

// ---- matmul.c ----
bool dev_fast_matmul(dev_exec *x, dev_fast_core *c);        // false: no fast form
void dev_queue_flush(dev_exec *x, dev_fast_core *c);

// ---- vector.c, move.c ---- each returns false when there is no fast form for these operands
typedef bool (*dev_fast_fn)(dev_exec *x);
bool dev_fast_tensor_tensor(dev_exec *x);
bool dev_fast_tensor_scalar(dev_exec *x);
bool dev_fast_scalar_tensor_tensor(dev_exec *x);
bool dev_fast_activation(dev_exec *x);
bool dev_fast_tensor_reduce(dev_exec *x);
bool dev_fast_reciprocal(dev_exec *x);
bool dev_fast_tensor_copy(dev_exec *x);
bool dev_fast_memset(dev_exec *x);
bool dev_fast_affine_select(dev_exec *x);
bool dev_fast_transpose(dev_exec *x);       // before prepare: reads noted tiles where they are
bool dev_fast_dma_transpose(dev_exec *x);
// Calls fn(context, p0, p1, scratch) over partitions, split over the workers when `work` (ns) is worth it.
typedef void (*dev_rows_fn)(void *context, uint32_t p0, uint32_t p1, dev_scratch *s);
void dev_over_partitions(dev_exec *x, uint32_t partitions, uint64_t work, dev_rows_fn fn, void *context);

#endif
