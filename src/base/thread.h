// SPDX-License-Identifier: Apache-2.0
// A small fixed pool of threads for splitting work with a fixed partition.
//
// The caller is worker 0; the pool owns n - 1 others. Between runs a worker spins for about 200 us, then parks on a
// futex-backed condition, so that an idle pool does not disturb other programs. Results never depend on the number of
// threads: callers partition by item, not by worker.
#ifndef GLIA_BASE_THREAD_H
#define GLIA_BASE_THREAD_H

#include "base/status.h"

typedef struct glia_pool glia_pool;
typedef void (*glia_pool_fn)(void *context, int worker, int workers);

glia_pool *glia_pool_create(int threads);       // >= 1; 0 means the host's online CPUs
void glia_pool_destroy(glia_pool *p);           // NULL is fine
DEFINE_CLEANUP(glia_pool, glia_pool_destroy)
int glia_pool_threads(const glia_pool *p);      // 1 for NULL
// Calls fn(context, w, workers) once for each worker, concurrently; returns when all have. Not re-entrant.
void glia_pool_run(glia_pool *p, glia_pool_fn fn, void *context);   // NULL pool: fn(context, 0, 1) inline
// Monotonic host time in seconds. Only tools, bench and serve may use it: nothing simulated reads a clock.
double glia_host_seconds(void);

#endif
