// SPDX-License-Identifier: Apache-2.0
// The line on stderr that tells how far a long step is. Steps that cannot say are told of too: a thread, which exists
// only while a terminal is there to show it on, writes the line anew a few times a second, with the seconds that went by.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/thread.h"
#include "tool.h"

static const double SHOW_AFTER = 0.5;       // seconds
static const long TICK_NS = 200000000;

struct tool_progress {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    // guarded by: lock
    bool ending, shown;
    double began;               // of the run of stages
    double stage_began;
    char stage[64];             // "": nothing is being done
    uint64_t done, total;
};

static void put_amount(char *out, size_t size, double value)
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T" };
    size_t k = 0;
    while (value >= 10000 && k + 1 < COUNT_OF(prefixes)) {
        value /= 1000;
        k++;
    }
    (void)snprintf(out, size, "%.0f%s", value, prefixes[k]);
}

static void show_locked(tool_progress *p)
{
    const double now = glia_host_seconds(), seconds = now - p->stage_began;
    if (!*p->stage || now - p->began < SHOW_AFTER) return;
    p->shown = true;
    if (!p->total || !p->done) {
        (void)fprintf(stderr, "\r\033[K%s, %.0f s", p->stage, seconds);
    } else {
        char have[32], all[32], rate[32];
        const double per_second = (double)p->done / (seconds > 1e-9 ? seconds : 1e-9);
        put_amount(have, sizeof have, (double)p->done);
        put_amount(all, sizeof all, (double)p->total);
        put_amount(rate, sizeof rate, per_second);
        (void)fprintf(stderr, "\r\033[K%s %s/%s, %s/s, %.0f s left", p->stage, have, all, rate,
                      (double)(p->total - (p->done < p->total ? p->done : p->total)) / per_second);
    }
    (void)fflush(stderr);
}

static void *tick(void *context)
{
    tool_progress *p = context;
    (void)pthread_mutex_lock(&p->lock);
    while (!p->ending) {
        struct timespec until;
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += TICK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&p->wake, &p->lock, &until);
        if (!p->ending) show_locked(p);
    }
    (void)pthread_mutex_unlock(&p->lock);
    return NULL;
}

tool_progress *tool_progress_create(void)
{
    tool_progress *p = glia_alloc(sizeof *p);
    (void)pthread_mutex_init(&p->lock, NULL);
    (void)pthread_cond_init(&p->wake, NULL);
    if (pthread_create(&p->thread, NULL, tick, p) == 0) return p;
    glia_free(p);       // no thread, no line
    return NULL;
}

void tool_progress_destroy(tool_progress *p)
{
    if (!p) return;
    (void)pthread_mutex_lock(&p->lock);
    p->ending = true;
    (void)pthread_cond_signal(&p->wake);
    (void)pthread_mutex_unlock(&p->lock);
    (void)pthread_join(p->thread, NULL);
    (void)pthread_cond_destroy(&p->wake);
    (void)pthread_mutex_destroy(&p->lock);
    glia_free(p);
}

void tool_report(void *context, const char *what, uint64_t done, uint64_t total)
{
    tool_progress *p = ((tool *)context)->progress;
    if (!p) return;
    (void)pthread_mutex_lock(&p->lock);
    const double now = glia_host_seconds();
    if (!*p->stage) p->began = now;
    if (strncmp(p->stage, what, sizeof p->stage - 1) != 0) {
        (void)snprintf(p->stage, sizeof p->stage, "%s", what);
        p->stage_began = now;
    }
    p->done = done;
    p->total = total;
    (void)pthread_mutex_unlock(&p->lock);
}

void tool_report_end(tool *t)
{
    tool_progress *p = t->progress;
    if (!p) return;
    (void)pthread_mutex_lock(&p->lock);
    if (p->shown) (void)fprintf(stderr, "\r\033[K");
    p->shown = false;
    p->stage[0] = 0;
    (void)pthread_mutex_unlock(&p->lock);
}
