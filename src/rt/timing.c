// SPDX-License-Identifier: Apache-2.0
// Predicted time of a loaded model, simulated once for each (NEFF, options, control trace) and kept: the same question
// has the same answer, to the picosecond. The hardware is the runtime's, so it is not part of the key.
#include "rt/objects.h"

#include <string.h>

typedef struct timing {
    struct timing *next;
    uint8_t key[32];
    sim_options options; // with `trips` of its own
    sim_result *result;
} timing;

struct rt_timings {
    timing *first;
};

void rt_timings_destroy(struct rt_timings *t)
{
    if (!t) return;
    for (timing *at = t->first, *next; at; at = next) {
        next = at->next;
        sim_result_destroy(at->result);
        glia_free((int64_t *)at->options.trips);
        glia_free(at);
    }
    glia_free(t);
}

static bool same_question(const timing *t, const rt_model *m, const sim_options *o)
{
    const sim_options *p = &t->options;
    if (memcmp(t->key, m->key, sizeof t->key)) return false;
    if (p->extrapolate != o->extrapolate || p->throttle != o->throttle || p->launch != o->launch ||
        p->trace != o->trace)
        return false;
    if (p->sharers != o->sharers || p->expected_trips != o->expected_trips || !p->trips != !o->trips) return false;
    return !p->trips ||
           (p->trip_count == o->trip_count && !memcmp(p->trips, o->trips, o->trip_count * sizeof *o->trips));
}

static glia_status find_or_run_locked(rt_runtime *rt, rt_model *m, const sim_options *options, const sim_result **out)
{
    if (!rt->timings) rt->timings = glia_alloc(sizeof *rt->timings);
    for (const timing *t = rt->timings->first; t; t = t->next) {
        if (!same_question(t, m, options)) continue;
        *out = t->result;
        return GLIA_OK;
    }
    sim_result *result = NULL;
    TRY(sim_run(m->program, rt->config.instance->chip, options, &result));
    rt_count(&rt->counters, RT_COUNTER_TIMINGS, 1);
    timing *t = glia_alloc(sizeof *t);
    *t = (timing){.next = rt->timings->first, .options = *options, .result = result};
    memcpy(t->key, m->key, sizeof t->key);
    if (options->trips) {
        int64_t *trips = glia_alloc(glia_array_bytes(options->trip_count, sizeof *trips));
        memcpy(trips, options->trips, options->trip_count * sizeof *trips);
        t->options.trips = trips;
    }
    rt->timings->first = t;
    *out = result;
    return GLIA_OK;
}

glia_status rt_model_time(rt_runtime *rt, rt_model *m, const sim_options *options, const sim_result **out)
{
    *out = NULL;
    pthread_mutex_lock(&rt->timing_lock);
    glia_status failed = find_or_run_locked(rt, m, options, out);
    pthread_mutex_unlock(&rt->timing_lock);
    return failed;
}
