// SPDX-License-Identifier: Apache-2.0
// Submission queues (see queue.h). The invariant: at most one thread has `running`, and it runs what was the head.
#include "rt/queue.h"

void rt_queue_init(rt_queue *q)
{
    *q = (rt_queue){.tail = &q->head};
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->changed, NULL);
}

void rt_queue_fini(rt_queue *q)
{
    BUG_ON(q->head || q->running);
    pthread_cond_destroy(&q->changed);
    pthread_mutex_destroy(&q->lock);
}

void rt_queue_submit(rt_queue *q, rt_job *job)
{
    job->next = NULL;
    job->done = false;
    pthread_mutex_lock(&q->lock);
    *q->tail = job;
    q->tail = &job->next;
    pthread_mutex_unlock(&q->lock);
}

static void run_head_locked(rt_queue *q)
{
    rt_job *job = q->head;
    q->head = job->next;
    if (!q->head) q->tail = &q->head;
    q->running = true;
    pthread_mutex_unlock(&q->lock);
    job->run(job);
    pthread_mutex_lock(&q->lock);
    q->running = false;
    job->done = true;
    pthread_cond_broadcast(&q->changed);
}

void rt_queue_wait(rt_queue *q, rt_job *job)
{
    pthread_mutex_lock(&q->lock);
    while (!job->done) {
        if (q->running)
            pthread_cond_wait(&q->changed, &q->lock);
        else
            run_head_locked(q);
    }
    pthread_mutex_unlock(&q->lock);
}
