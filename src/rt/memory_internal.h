// SPDX-License-Identifier: Apache-2.0
// The ledger's own structures, shared by counting (memory.c), its table (memory_table.c) and its advice
// (memory_advice.c).
#ifndef GLIA_RT_MEMORY_INTERNAL_H
#define GLIA_RT_MEMORY_INTERNAL_H

#include <pthread.h>

#include "base/strbuf.h"
#include "rt/memory.h"

struct rt_charge {
    rt_charge *prev, *next;
    uint32_t core;
    uint64_t bytes;
    char *label;
};

struct rt_neff {
    rt_neff *prev, *next;
    uint32_t core, id;
    char *name;
    rt_footprint footprint;
};

typedef struct rt_memory_core {
    rt_place place;
    uint64_t bytes[RT_MEMORY_COUNT];
    uint64_t peak;
} rt_memory_core;

struct rt_memory {
    const hw_instance *instance;
    int lnc;
    uint64_t hbm_bytes;             // capacity of one stack
    uint64_t page_bytes;            // unit of the shared scratchpad
    uint32_t core_count;
    rt_memory_core *cores;          // [core_count]   guarded by: lock, except `place`
    rt_charge *charges;             // guarded by: lock
    rt_neff *neffs;                 // guarded by: lock
    uint32_t next_id;               // guarded by: lock
    pthread_mutex_t lock;
};

// What was asked for and did not fit.
typedef struct rt_request {
    uint32_t core;
    uint64_t bytes;                 // more than now, in all
    rt_footprint parts;             // the same by category
    const char *usage;              // "tensors", "model"
    const char *label;
} rt_request;

uint64_t rt_core_total_locked(const rt_memory *m, uint32_t core);
uint64_t rt_hbm_used_locked(const rt_memory *m, rt_place place);
uint64_t rt_neff_total(const rt_neff *n);       // of its own, without the shared scratchpad
// With a row for what was asked for when `r` is not NULL.
void rt_memory_table_locked(const rt_memory *m, uint32_t core, const rt_request *r, glia_strbuf *out);
// One line that names the smallest change after which the request would fit.
void rt_memory_advice_locked(const rt_memory *m, const rt_request *r, glia_strbuf *out);

#endif
