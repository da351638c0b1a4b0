// SPDX-License-Identifier: Apache-2.0
// Counters of a runtime: rows of counters.def. They inform; nothing is decided by them.
#ifndef GLIA_RT_COUNTERS_H
#define GLIA_RT_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

typedef enum rt_counter {
#define RT_COUNTER(symbol, name, text) RT_COUNTER_##symbol,
#include "rt/counters.def"
    RT_COUNTER_COUNT
} rt_counter;

typedef struct rt_counters { atomic_uint_fast64_t value[RT_COUNTER_COUNT]; } rt_counters;

static inline void rt_count(rt_counters *c, rt_counter which, uint64_t n)
{
    atomic_fetch_add_explicit(&c->value[which], n, memory_order_relaxed);   // guards no other data
}

static inline uint64_t rt_counted(const rt_counters *c, rt_counter which)
{
    return atomic_load_explicit(&c->value[which], memory_order_relaxed);
}

#endif
