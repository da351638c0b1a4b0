// SPDX-License-Identifier: Apache-2.0
// Many threads: executions on two cores that share a weight, executions of one model, writes between them, freeing
// while another thread executes on something else. Run under TSan as well as for its values.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "rt/nets.h"
#include "rt/queue.h"

enum { COLUMNS = 64, N = 128 * COLUMNS, ROUNDS = 40 };

typedef struct worker {
    pthread_t thread;
    nrt_model_t *model;
    nrt_tensor_t *w, *y;
    nrt_tensor_set_t *in, *out;
    int failures;
} worker;

static void start(worker *w, void *(*body)(void *))
{
    EXPECT_EQ_INT(pthread_create(&w->thread, NULL, body, w), 0);
}

static void join(worker *w)
{
    EXPECT_EQ_INT(pthread_join(w->thread, NULL), 0);
    EXPECT_EQ_INT(w->failures, 0);
}

// y[c * 128 + r] = w[r * COLUMNS + c], all of one generation: first + index.
static bool is_transposed(const float *y)
{
    for (size_t k = 1; k < N; k++)
        if (y[k] - y[0] != (float)(k % 128 * COLUMNS + k / 128)) return false;
    return true;
}

static void *execute_transposed(void *context)
{
    worker *w = context;
    float *got = glia_alloc(N * 4);
    for (int k = 0; k < ROUNDS; k++) {
        w->failures += nrt_execute(w->model, w->in, w->out) != NRT_SUCCESS;
        w->failures += nrt_tensor_read(w->y, got, 0, N * 4) != NRT_SUCCESS;
        w->failures += !is_transposed(got);
    }
    glia_free(got);
    return NULL;
}

static void *rewrite(void *context)
{
    worker *w = context;
    float *values = glia_alloc(N * 4);
    for (int k = 0; k < ROUNDS; k++) {
        for (int i = 0; i < N; i++) values[i] = (float)(1000 * k + i);
        w->failures += nrt_tensor_write(w->w, values, 0, N * 4) != NRT_SUCCESS;
        w->failures += nrt_tensor_read(w->w, values, 0, N * 4) != NRT_SUCCESS;
    }
    glia_free(values);
    return NULL;
}

// Two cores read one packed weight while a third thread rewrites it whole: each execution sees one version of it.
TEST(threads, two_cores_share_a_weight_that_is_rewritten)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_tensor_t *w = session_tensor(0, N, 0, 1);
    nrt_tensor_set_t *in = session_set("w", w, NULL);
    worker workers[3] = { { .w = w }, { .w = w }, { .w = w } };
    for (int c = 0; c < 2; c++) {
        workers[c].model = session_load(neff_transposed(COLUMNS, false), c);
        workers[c].y = session_tensor(c, N, 0, 0);
        workers[c].in = in;
        workers[c].out = session_set("y", workers[c].y, NULL);
    }
    for (int k = 0; k < 3; k++) start(&workers[k], k < 2 ? execute_transposed : rewrite);
    for (int k = 0; k < 3; k++) join(&workers[k]);
    EXPECT_EQ_INT(glia_rt_counter("executions"), 2 * ROUNDS);
    session_end();
}

// The two want it in different orders: the storage is plain, with a copy for each.
TEST(threads, two_cores_want_a_weight_in_different_layouts)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_tensor_t *w = session_tensor(0, N, 0, 1);
    nrt_tensor_set_t *in = session_set("w", w, NULL);
    nrt_model_t *tiles = session_load(neff_transposed(COLUMNS, true), 1);
    nrt_tensor_t *y = session_tensor(1, N, 0, 0);
    nrt_tensor_set_t *out = session_set("y", y, NULL);
    worker a = { .model = session_load(neff_transposed(COLUMNS, false), 0), .w = w, .y = session_tensor(0, N, 0, 0), .in = in };
    a.out = session_set("y", a.y, NULL);
    start(&a, execute_transposed);
    for (int k = 0; k < ROUNDS; k++) {
        float got[64];
        EXPECT_NRT(nrt_execute(tiles, in, out), NRT_SUCCESS);
        EXPECT_NRT(nrt_tensor_read(y, got, 0, sizeof got), NRT_SUCCESS);
        for (int i = 0; i < 64; i++) EXPECT_EQ_INT(got[i], i / 32 * COLUMNS + i % 32);
    }
    join(&a);
    session_end();
}

// w[k, m] = (k + 2 m) mod 8 + first, x[k, n] = k mod 4 - n mod 2: sums that fp32 holds exactly.
static float product_of(int m, int n, float first)
{
    float sum = 0;
    for (int k = 0; k < 128; k++) sum += ((float)((k + 2 * m) % 8) + first) * (float)(k % 4 - n % 2);
    return sum;
}

static bool is_product(const float *y)
{
    for (float first = 0; first < 4; first++) {
        bool equal = true;
        for (int m = 0; m < 128 && equal; m++)
            for (int n = 0; n < 64 && equal; n++) equal = y[m * 64 + n] == product_of(m, n, first);
        if (equal) return true;
    }
    return false;
}

static void *execute_product(void *context)
{
    worker *w = context;
    float *got = glia_alloc(128 * 64 * 4);
    for (int k = 0; k < ROUNDS / 2; k++) {
        w->failures += nrt_execute(w->model, w->in, w->out) != NRT_SUCCESS;
        w->failures += nrt_tensor_read(w->y, got, 0, 128 * 64 * 4) != NRT_SUCCESS;
        w->failures += !is_product(got);
    }
    glia_free(got);
    return NULL;
}

static void fill_product_weight(nrt_tensor_t *w, float first)
{
    float *values = glia_alloc(128 * 128 * 4);
    for (int k = 0; k < 128; k++)
        for (int m = 0; m < 128; m++) values[k * 128 + m] = (float)((k + 2 * m) % 8) + first;
    EXPECT_NRT(nrt_tensor_write(w, values, 0, 128 * 128 * 4), NRT_SUCCESS);
    glia_free(values);
}

// The packed forms that dev makes of a weight hang on it too, and both cores use them.
TEST(threads, two_cores_multiply_by_one_weight_that_is_rewritten)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", "GLIA_THREADS=2", NULL);
    nrt_tensor_t *w = session_tensor(0, 128 * 128, 0, 0), *x = session_tensor(0, 128 * 64, 0, 0);
    float *values = glia_alloc(128 * 64 * 4);
    for (int k = 0; k < 128; k++)
        for (int n = 0; n < 64; n++) values[k * 64 + n] = (float)(k % 4 - n % 2);
    EXPECT_NRT(nrt_tensor_write(x, values, 0, 128 * 64 * 4), NRT_SUCCESS);
    glia_free(values);
    fill_product_weight(w, 0);
    nrt_tensor_set_t *in = session_set("w", w, "x", x, NULL);
    worker workers[2];
    for (int c = 0; c < 2; c++) {
        workers[c] = (worker){ .model = session_load(neff_product(true), c), .y = session_tensor(c, 128 * 64, 0, 0), .in = in };
        workers[c].out = session_set("y", workers[c].y, NULL);
        start(&workers[c], execute_product);
    }
    for (int k = 0; k < 3 * ROUNDS; k++) fill_product_weight(w, (float)(k % 4));
    for (int c = 0; c < 2; c++) join(&workers[c]);
    session_end();
}

static void *accumulate(void *context)
{
    worker *w = context;
    for (int k = 0; k < ROUNDS; k++) w->failures += nrt_execute(w->model, w->in, w->out) != NRT_SUCCESS;
    return NULL;
}

TEST(threads, executions_of_one_model_take_turns)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_model_t *model = session_load(neff_accumulate(8), 0);
    nrt_tensor_t *state = session_tensor(0, 1024, 0, 1), *x = session_tensor(0, 1024, 1, 0);
    worker workers[4];
    for (int k = 0; k < 4; k++) {
        workers[k] = (worker){ .model = model, .in = session_set("state", state, "x", x, NULL), .out = session_set(NULL, NULL) };
        start(&workers[k], accumulate);
    }
    for (int k = 0; k < 4; k++) join(&workers[k]);
    expect_floats(state, 1024, 4 * ROUNDS, 1);
    session_end();
}

// The same state on two cores: storages are taken exclusively, whichever core runs.
TEST(threads, two_cores_update_one_state)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_tensor_t *state = session_tensor(0, 1024, 0, 1), *x = session_tensor(0, 1024, 1, 0);
    worker workers[2];
    for (int k = 0; k < 2; k++) {
        workers[k] = (worker){ .model = session_load(neff_accumulate(8), k), .in = session_set("state", state, "x", x, NULL),
                               .out = session_set(NULL, NULL) };
        start(&workers[k], accumulate);
    }
    for (int k = 0; k < 2; k++) join(&workers[k]);
    expect_floats(state, 1024, 2 * ROUNDS, 1);
    session_end();
}

static void *come_and_go(void *context)
{
    worker *w = context;
    const glia_strbuf neff = neff_add("add", 8);
    for (int k = 0; k < ROUNDS / 4; k++) {
        nrt_model_t *model = NULL;
        nrt_tensor_t *t[3] = { NULL };
        nrt_tensor_set_t *in = NULL, *out = NULL;
        w->failures += nrt_load(neff.data, neff.size, -1, -1, &model) != NRT_SUCCESS;
        w->failures += nrt_allocate_tensor_set(&in) != NRT_SUCCESS || nrt_allocate_tensor_set(&out) != NRT_SUCCESS;
        static const char *const names[] = { "a", "b", "y" };
        for (int i = 0; i < 3; i++) {
            w->failures += nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 4096, names[i], &t[i]) != NRT_SUCCESS;
            w->failures += nrt_add_tensor_to_tensor_set(i < 2 ? in : out, names[i], t[i]) != NRT_SUCCESS;
        }
        w->failures += nrt_execute(model, in, out) != NRT_SUCCESS;
        for (int i = 0; i < 3; i++) nrt_tensor_free(&t[i]);
        nrt_destroy_tensor_set(&in);
        w->failures += nrt_unload(model) != NRT_SUCCESS;
        nrt_destroy_tensor_set(&out);
    }
    glia_strbuf bytes = neff;
    glia_strbuf_fini(&bytes);
    return NULL;
}

TEST(threads, objects_come_and_go_while_others_execute)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    glia_rt_memory before = { .size = sizeof before }, after = before;
    EXPECT_NRT(glia_rt_memory_of(0, &before), NRT_SUCCESS);
    worker workers[3] = { 0 };
    for (int k = 0; k < 3; k++) start(&workers[k], come_and_go);
    for (int k = 0; k < 3; k++) join(&workers[k]);
    EXPECT_NRT(glia_rt_memory_of(0, &after), NRT_SUCCESS);
    EXPECT_EQ_INT(after.total, before.total);
    session_end();
}

// ---- the queue itself ----------------------------------------------------------------------------------------------

typedef struct count_job { rt_job job; pthread_t ran_on; int *next; int number; } count_job;
static atomic_int inside, overlaps;

static void run_count(rt_job *job)
{
    count_job *c = (count_job *)job;
    if (atomic_fetch_add(&inside, 1)) atomic_fetch_add(&overlaps, 1);
    sched_yield();                  // gives the others a chance to be wrong
    c->ran_on = pthread_self();
    c->number = (*c->next)++;       // no lock: the queue lets one run at a time
    atomic_fetch_sub(&inside, 1);
}

typedef struct freer {
    pthread_t thread;
    pthread_barrier_t *start;
    nrt_tensor_t *tensor;
    nrt_tensor_set_t *set;
    nrt_model_t *model;
    NRT_STATUS unloaded;
} freer;

static void *free_all(void *context)
{
    freer *f = context;
    (void)pthread_barrier_wait(f->start);
    nrt_tensor_free(&f->tensor);
    nrt_destroy_tensor_set(&f->set);
    f->unloaded = nrt_unload(f->model);
    return NULL;
}

TEST(threads, one_of_two_that_free_a_handle_frees_it_and_the_other_is_told)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", "NEURON_RT_LOG_LEVEL=QUIET", NULL);
    for (int round = 0; round < 50; round++) {
        pthread_barrier_t barrier;
        EXPECT_EQ_INT(pthread_barrier_init(&barrier, NULL, 2), 0);
        nrt_tensor_t *t = session_tensor(0, 4, 0, 0);
        const freer one = { .start = &barrier, .tensor = t, .set = session_set("x", t, NULL), .model = session_load(neff_add("add", COLUMNS), 0) };
        freer f[2] = { one, one };
        for (int k = 0; k < 2; k++) EXPECT_EQ_INT(pthread_create(&f[k].thread, NULL, free_all, &f[k]), 0);
        for (int k = 0; k < 2; k++) EXPECT_EQ_INT(pthread_join(f[k].thread, NULL), 0);
        EXPECT_EQ_INT(f[0].unloaded + f[1].unloaded, NRT_SUCCESS + NRT_INVALID_HANDLE);
        EXPECT_EQ_INT(pthread_barrier_destroy(&barrier), 0);
    }
    session_end();
}

TEST(queue, an_empty_one_runs_on_the_caller_in_order)
{
    rt_queue q;
    int next = 0;
    count_job jobs[3];
    rt_queue_init(&q);
    for (int k = 0; k < 3; k++) {
        jobs[k] = (count_job){ .job = { .run = run_count }, .next = &next };
        rt_queue_submit(&q, &jobs[k].job);
    }
    rt_queue_wait(&q, &jobs[2].job);        // runs all three
    for (int k = 0; k < 3; k++) {
        EXPECT_EQ_INT(jobs[k].number, k);
        EXPECT(pthread_equal(jobs[k].ran_on, pthread_self()));
    }
    for (int k = 0; k < 2; k++) rt_queue_wait(&q, &jobs[k].job);
    EXPECT_EQ_INT(next, 3);
    rt_queue_fini(&q);
}

typedef struct queue_user { rt_queue *q; int *next; } queue_user;

static void *use_queue(void *context)
{
    const queue_user *u = context;
    for (int k = 0; k < 1000; k++) {
        count_job job = { .job = { .run = run_count }, .next = u->next };
        rt_queue_run(u->q, &job.job);
    }
    return NULL;
}

TEST(queue, jobs_of_many_threads_never_overlap)
{
    rt_queue q;
    int next = 0;
    pthread_t threads[4];
    rt_queue_init(&q);
    queue_user user = { &q, &next };
    for (int k = 0; k < 4; k++) EXPECT_EQ_INT(pthread_create(&threads[k], NULL, use_queue, &user), 0);
    for (int k = 0; k < 4; k++) pthread_join(threads[k], NULL);
    EXPECT_EQ_INT(next, 4000);
    EXPECT_EQ_INT(overlaps, 0);
    rt_queue_fini(&q);
}
