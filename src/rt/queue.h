// SPDX-License-Identifier: Apache-2.0
// The submission queue of a logical core: jobs run one at a time, in the order of submission.
//
// No thread belongs to it. Whoever waits for a job runs what is at the head, until its own job is done; so a blocking
// call on an empty queue runs inline on the caller, which costs less than waking a thread.
#ifndef GLIA_RT_QUEUE_H
#define GLIA_RT_QUEUE_H

#include <pthread.h>

#include "base/status.h"

typedef struct rt_job {
    void (*run)(struct rt_job *job);    // with the queue to itself
    // The queue's own:
    struct rt_job *next;
    bool done;
} rt_job;

typedef struct rt_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    rt_job *head, **tail;       // guarded by: lock
    bool running;               // guarded by: lock
} rt_queue;

void rt_queue_init(rt_queue *q);
void rt_queue_fini(rt_queue *q);        // empty by now
void rt_queue_submit(rt_queue *q, rt_job *job);     // `job` lives until it has been waited for
void rt_queue_wait(rt_queue *q, rt_job *job);
static inline void rt_queue_run(rt_queue *q, rt_job *job)
{
    rt_queue_submit(q, job);
    rt_queue_wait(q, job);
}

#endif
