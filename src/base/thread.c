// SPDX-License-Identifier: Apache-2.0
// The thread pool (see thread.h). A run is announced by a generation number and finished by a countdown. Both sides
// look at their word for about 200 us before they sleep, because waking a thread costs more than a small tile; a side
// that sleeps says so first and then looks once more, and the other side writes its word first and then looks for
// sleepers, so that one of them always sees the other (both steps are sequentially consistent for that reason).
// What it is not: a task queue. Partition is the caller's, and results must not depend on it.
#include "base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/log.h"

static const double spin_seconds = 200e-6;

typedef struct worker {
    glia_pool *pool;
    pthread_t thread;
    int index;
} worker;

struct glia_pool {
    int threads;     // including the caller
    bool spins;      // false when there are more threads than CPUs: spinning would steal from the others
    worker *workers; // [threads]; 0 is unused
    // A run. Written by the caller before `generation`, read by workers after it.
    glia_pool_fn fn;
    void *context;
    bool stop;
    _Alignas(64) atomic_uint generation;
    _Alignas(64) atomic_int pending;          // workers that have not finished
    _Alignas(64) atomic_int sleeping_workers; // guarded by: lock, for writing
    atomic_int sleeping_caller;               // guarded by: lock, for writing
    atomic_bool busy;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
};

static inline void pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

double glia_host_seconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

// The CPUs that this process may use.
static int online_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

typedef bool (*ready_fn)(glia_pool *p, unsigned seen);

static bool has_new_run(glia_pool *p, unsigned seen)
{
    return atomic_load(&p->generation) != seen;
}

static bool is_finished(glia_pool *p, unsigned seen)
{
    (void)seen;
    return atomic_load(&p->pending) == 0;
}

// Waits until `ready`: looks for a while, then sleeps on `cond`, counted in `sleepers`.
static void wait_until(glia_pool *p, ready_fn ready, unsigned seen, atomic_int *sleepers, pthread_cond_t *cond)
{
    if (ready(p, seen)) return;
    if (p->spins) {
        const double until = glia_host_seconds() + spin_seconds;
        do {
            for (int i = 0; i < 32; i++) {
                if (ready(p, seen)) return;
                pause_cpu();
            }
        } while (glia_host_seconds() < until);
    }
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(sleepers, 1);
    while (!ready(p, seen))
        pthread_cond_wait(cond, &p->lock);
    atomic_fetch_sub(sleepers, 1);
    pthread_mutex_unlock(&p->lock);
}

// The other half: the word that `ready` reads has been written.
static void wake_sleepers(glia_pool *p, atomic_int *sleepers, pthread_cond_t *cond)
{
    if (atomic_load(sleepers) == 0) return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(cond);
    pthread_mutex_unlock(&p->lock);
}

static void *worker_main(void *argument)
{
    const worker *w = argument;
    glia_pool *p = w->pool;
    for (unsigned seen = 0;; seen++) {
        wait_until(p, has_new_run, seen, &p->sleeping_workers, &p->wake);
        if (p->stop) return NULL;
        p->fn(p->context, w->index, p->threads);
        if (atomic_fetch_sub(&p->pending, 1) == 1) wake_sleepers(p, &p->sleeping_caller, &p->done);
    }
}

// Starts workers until the host refuses; returns how many threads there are with the caller.
static int start_workers(glia_pool *p, int threads)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); // signals are the program's business, not a worker's
    int n = 1;
    for (; n < threads; n++) {
        p->workers[n] = (worker){.pool = p, .index = n};
        const int error = pthread_create(&p->workers[n].thread, NULL, worker_main, &p->workers[n]);
        if (!error) continue;
        glia_log(GLIA_LOG_WARN, "the host gives %d of %d threads: %s", n, threads, strerrordesc_np(error));
        break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return n;
}

glia_pool *glia_pool_create(int threads)
{
    BUG_ON(threads < 0);
    const int cpus = online_cpus();
    if (threads == 0) threads = cpus;
    glia_pool *p = NULL;
    if (posix_memalign((void **)&p, 64, sizeof *p) != 0) glia_bug(__FILE__, __LINE__, "out of memory");
    memset(p, 0, sizeof *p);
    p->spins = threads <= cpus;
    p->workers = glia_alloc(glia_array_bytes((size_t)threads, sizeof *p->workers));
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->done, NULL);
    p->threads = start_workers(p, threads); // workers read it only after the first run is announced
    return p;
}

static void announce(glia_pool *p)
{
    atomic_store_explicit(&p->pending, p->threads - 1, memory_order_relaxed); // published by the next line
    atomic_fetch_add(&p->generation, 1);
    wake_sleepers(p, &p->sleeping_workers, &p->wake);
}

void glia_pool_destroy(glia_pool *p)
{
    if (!p) return;
    p->stop = true;
    announce(p);
    for (int i = 1; i < p->threads; i++)
        pthread_join(p->workers[i].thread, NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    glia_free(p->workers);
    glia_free(p);
}

int glia_pool_threads(const glia_pool *p)
{
    return p ? p->threads : 1;
}

void glia_pool_run(glia_pool *p, glia_pool_fn fn, void *context)
{
    if (!p || p->threads == 1) {
        fn(context, 0, 1);
        return;
    }
    // Acquire and release: two callers that take turns see each other's writes.
    BUG_ON(atomic_exchange_explicit(&p->busy, true, memory_order_acquire));
    p->fn = fn;
    p->context = context;
    announce(p);
    fn(context, 0, p->threads);
    wait_until(p, is_finished, 0, &p->sleeping_caller, &p->done);
    atomic_store_explicit(&p->busy, false, memory_order_release);
}
