// SPDX-License-Identifier: Apache-2.0
// The ledger of simulated device memory: who takes how much of which HBM, by the vendor's categories.
//
// Everything in device memory is a charge: a core, a category, bytes, a label, and the NEFF that it belongs to if any.
// The cores of one HBM share its capacity; a charge that does not fit is refused with the table of what is there and
// the smallest change that would make it fit. It counts; it holds no bytes.
//
// Threads: any.
#ifndef GLIA_RT_MEMORY_H
#define GLIA_RT_MEMORY_H

#include "base/arena.h"
#include "hw/hw.h"

typedef enum rt_category {
#define RT_MEMORY(symbol, title, key, neff) RT_MEMORY_##symbol,
#include "rt/memory.def"
    RT_MEMORY_COUNT
} rt_category;
const char *rt_category_title(rt_category c);   // "Model Code"
const char *rt_category_key(rt_category c);     // "model_code"

// Where a logical core lies.
typedef struct rt_place {
    uint32_t chip;          // device, as in "ND 0"
    uint32_t core;          // logical core of the chip, as in "NC 1"
    uint32_t hbm;           // stack of the chip
} rt_place;

typedef struct rt_memory rt_memory;
// Logical cores `first` .. `first + count - 1` of the instance, with `lnc` physical cores each. They are numbered from
// 0 below. Each begins with its microcode.
rt_memory *rt_memory_create(const hw_instance *instance, int lnc, uint32_t first, uint32_t count);
void rt_memory_destroy(rt_memory *m);           // with all charges; NULL is fine
DEFINE_CLEANUP(rt_memory, rt_memory_destroy)
rt_place rt_memory_place(const rt_memory *m, uint32_t core);
bool rt_memory_same_hbm(const rt_memory *m, uint32_t a, uint32_t b);

typedef struct rt_charge rt_charge;
// Takes memory for a tensor. EXHAUSTED carries the table and the change that would help.
GLIA_MUST_USE glia_status rt_memory_tensor(rt_memory *m, uint32_t core, uint64_t bytes, const char *label,
                                           rt_charge **out);
GLIA_MUST_USE glia_status rt_memory_resize(rt_memory *m, rt_charge *c, uint64_t bytes);     // EXHAUSTED as above
void rt_memory_release(rt_memory *m, rt_charge *c);     // NULL is fine

// What a NEFF takes, all at once.
typedef struct rt_footprint {
    uint64_t bytes[RT_MEMORY_COUNT];        // its own; SHARED_SCRATCH: what it needs of the core's region
} rt_footprint;
typedef struct rt_neff rt_neff;             // its entry in the ledger
GLIA_MUST_USE glia_status rt_memory_neff(rt_memory *m, uint32_t core, const char *name, const rt_footprint *f,
                                         rt_neff **out);
void rt_memory_neff_release(rt_memory *m, rt_neff *n);  // NULL is fine
uint32_t rt_neff_id(const rt_neff *n);                  // from 1001 on

typedef struct rt_usage {
    uint64_t bytes[RT_MEMORY_COUNT];        // of one core
    uint64_t total, limit;                  // limit: the HBM less what its other cores use
    uint64_t peak;                          // highest total so far
} rt_usage;
rt_usage rt_memory_usage(rt_memory *m, uint32_t core);
// The table of the HBM of `core`, for people; columns and rows are the vendor's.
void rt_memory_table(rt_memory *m, uint32_t core, glia_strbuf *out);

void rt_put_size(glia_strbuf *out, uint64_t bytes);     // "20.188GB", "350.125KB", "0.000B"

#endif
