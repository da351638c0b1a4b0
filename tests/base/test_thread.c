// SPDX-License-Identifier: Apache-2.0
#include "harness/harness.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

#include "base/thread.h"

enum { MOST = 16 };

typedef struct tally {
    int plain[MOST]; // written by one worker, read by the caller after the run: TSan watches
    atomic_int concurrent;
    int workers;
} tally;

static void count_visit(void *context, int worker, int workers)
{
    tally *t = context;
    t->plain[worker]++;
    if (worker == 0) t->workers = workers;
    atomic_fetch_add(&t->concurrent, 1);
}

TEST(thread, each_worker_runs_once_per_run)
{
    for (int threads = 1; threads <= 5; threads++) {
        AUTO(glia_pool) p = glia_pool_create(threads);
        EXPECT_EQ_INT(glia_pool_threads(p), threads);
        tally t = {0};
        enum { RUNS = 2000 };
        for (int i = 0; i < RUNS; i++) {
            glia_pool_run(p, count_visit, &t);
            EXPECT_EQ_INT(atomic_load(&t.concurrent), (i + 1) * threads);
        }
        for (int w = 0; w < threads; w++)
            EXPECT_EQ_INT(t.plain[w], RUNS);
        EXPECT_EQ_INT(t.workers, threads);
    }
}

TEST(thread, a_null_pool_runs_inline)
{
    tally t = {0};
    glia_pool_run(NULL, count_visit, &t);
    EXPECT_EQ_INT(t.plain[0], 1);
    EXPECT_EQ_INT(t.workers, 1);
    EXPECT_EQ_INT(glia_pool_threads(NULL), 1);
    glia_pool_destroy(NULL);
}

// Every worker waits for all others: this ends only if they run at the same time.
static void meet(void *context, int worker, int workers)
{
    (void)worker;
    atomic_int *arrived = context;
    atomic_fetch_add(arrived, 1);
    while (atomic_load(arrived) < workers)
        sched_yield();
}

TEST(thread, workers_run_concurrently)
{
    AUTO(glia_pool) p = glia_pool_create(4);
    for (int i = 0; i < 50; i++) {
        atomic_int arrived = 0;
        glia_pool_run(p, meet, &arrived);
        EXPECT_EQ_INT(atomic_load(&arrived), 4);
    }
}

static void nap(double seconds)
{
    const struct timespec ts = {0, (long)(seconds * 1e9)};
    nanosleep(&ts, NULL);
}

TEST(thread, a_parked_pool_wakes_up)
{
    AUTO(glia_pool) p = glia_pool_create(3);
    tally t = {0};
    for (int i = 0; i < 20; i++) {
        nap(i % 2 ? 0.002 : 0.00004); // past the spin, and about its end
        glia_pool_run(p, count_visit, &t);
    }
    for (int w = 0; w < 3; w++)
        EXPECT_EQ_INT(t.plain[w], 20);
}

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

TEST(thread, an_idle_pool_uses_no_cpu)
{
    AUTO(glia_pool) p = glia_pool_create(4);
    tally t = {0};
    glia_pool_run(p, count_visit, &t);
    nap(0.01);
    const double before = cpu_seconds();
    nap(0.3);
    EXPECT_NEAR(cpu_seconds() - before, 0, 0.03); // three spinning workers would use 0.3 and more
}

static void *run_in_turn(void *context)
{
    glia_pool *p = context;
    tally t = {0};
    glia_pool_run(p, count_visit, &t);
    return NULL;
}

TEST(thread, callers_may_take_turns)
{
    AUTO(glia_pool) p = glia_pool_create(2);
    for (int i = 0; i < 20; i++) {
        pthread_t caller;
        EXPECT(pthread_create(&caller, NULL, run_in_turn, p) == 0);
        pthread_join(caller, NULL);
    }
}

TEST(thread, host_time_goes_forward)
{
    const double a = glia_host_seconds();
    nap(0.002);
    const double b = glia_host_seconds();
    EXPECT(b - a >= 0.002 && b - a < 5);
}
