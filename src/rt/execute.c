// SPDX-License-Identifier: Apache-2.0
// Executing: bind, take the core's turn, acquire storages in order, tell dev what moved, run. A fault is the status of
// this execution; core, storages and sets are usable afterwards.
#include "rt/objects.h"

#include <string.h>

typedef struct execution {
    rt_job job;
    rt_runtime *runtime;
    rt_binding *binding;
    int repeat;
    glia_status failed;
} execution;

// ---- storages ------------------------------------------------------------------------------------------------------

static void release_uses(const rt_binding *b, uint32_t count, bool wrote)
{
    while (count-- > 0)
        rt_use_release(&b->uses[count], wrote);
}

static glia_status acquire_uses(const rt_binding *b)
{
    for (uint32_t k = 0; k < b->use_count; k++) {
        glia_status failed = rt_use_acquire(&b->uses[k]);
        if (!failed) continue;
        release_uses(b, k, false);
        return failed;
    }
    return GLIA_OK;
}

// The first of several runs; the others continue from what it left.
static void begin_copies(const rt_binding *b)
{
    for (uint32_t k = 0; k < b->bound_count; k++) {
        const rt_bound *x = &b->bound[k];
        if (!x->begins_as) continue;
        memcpy(x->image->buffer.data, x->begins_as->buffer.data, x->image->form.bytes);
        x->image->buffer.generation++;
    }
}

// dev resolves operands when it is told of a buffer, so it is told of those that are new or have moved, and no others.
static glia_status bind_dev(rt_model *m, const rt_binding *b)
{
    for (uint32_t k = 0; k < b->bound_count; k++) {
        const rt_bound *x = &b->bound[k];
        dev_buffer *buffer = x->image ? &x->image->buffer : NULL;
        const rt_dev_bound now = {buffer, buffer ? buffer->data : NULL};
        rt_dev_bound *before = &m->dev_bound[x->tensor];
        if (before->buffer == now.buffer && before->data == now.data) continue;
        TRY(dev_bind(m->loaded, x->tensor, buffer));
        *before = now;
    }
    return GLIA_OK;
}

// ---- one execution -------------------------------------------------------------------------------------------------

static void keep_trace(rt_model *m, dev_control_trace *trace)
{
    pthread_mutex_lock(&m->runtime->binding_lock);
    glia_free(m->trips);
    m->trips = trace->trips.items;
    m->trip_count = trace->trips.count;
    m->executions++;
    pthread_mutex_unlock(&m->runtime->binding_lock);
}

static glia_status run_once(rt_model *m, const rt_binding *b)
{
    const rt_config *c = &m->runtime->config;
    dev_control_trace trace = {0};
    const dev_options options = {
        .seed = c->seed, .execution = rt_model_executions(m), .stochastic = c->stochastic, .trace = &trace};
    TRY(bind_dev(m, b));
    glia_status failed = dev_execute(m->loaded, &options);
    if (failed) {
        VEC_FREE(&trace.trips);
        rt_count(&m->runtime->counters, RT_COUNTER_FAULTS, 1);
        return glia_status_prefix(failed, "NEFF '%s'", m->program->name);
    }
    keep_trace(m, &trace);
    rt_count(&m->runtime->counters, RT_COUNTER_EXECUTIONS, 1);
    return GLIA_OK;
}

static glia_status run_held(rt_model *m, const rt_binding *b, bool first)
{
    TRY(acquire_uses(b));
    if (first) begin_copies(b);
    glia_status failed = run_once(m, b);
    release_uses(b, b->use_count, !failed);
    return failed;
}

static void run_execution(rt_job *job)
{
    execution *e = (execution *)job;
    for (int k = 0; k < e->repeat && !e->failed; k++)
        e->failed = run_held(e->binding->model, e->binding, k == 0);
}

// ---- the calls -----------------------------------------------------------------------------------------------------

// A run continues from the one before through storage that outputs and inputs share.
static glia_status check_repeat(const rt_model *m, int repeat)
{
    ENSURE(repeat >= 1, INVALID, "NEFF '%s' is to run %d times; it takes 1 or more", m->program->name, repeat);
    bool continues = repeat == 1;
    for (uint32_t k = 0; k < m->program->tensors.count; k++) {
        const isa_tensor *t = &m->program->tensors.items[k];
        continues |= t->kind == ISA_TENSOR_OUTPUT && t->alias >= 0;
    }
    ENSURE(continues, INVALID,
           "NEFF '%s' cannot run %d times on what it left: no output reuses an input\n"
           "hint: compile it with outputs that alias inputs, or call nrt_execute",
           m->program->name, repeat);
    return GLIA_OK;
}

glia_status rt_execute(rt_runtime *rt, rt_model *m, rt_tensor_set *inputs, rt_tensor_set *outputs, int repeat)
{
    TRY(check_repeat(m, repeat));
    execution e = {.job = {.run = run_execution}, .runtime = rt, .repeat = repeat};
    TRY(rt_binding_get(rt, m, inputs, outputs, &e.binding));
    rt_queue_run(&rt->cores[m->core].queue, &e.job);
    rt_binding_put(rt, e.binding);
    return e.failed;
}

uint64_t rt_model_executions(const rt_model *m)
{
    pthread_mutex_lock(&m->runtime->binding_lock);
    const uint64_t n = m->executions;
    pthread_mutex_unlock(&m->runtime->binding_lock);
    return n;
}

int64_t *rt_model_trips(rt_model *m, uint32_t *count)
{
    pthread_mutex_lock(&m->runtime->binding_lock);
    int64_t *copy = glia_alloc(glia_array_bytes(m->trip_count, sizeof *copy));
    if (m->trip_count) memcpy(copy, m->trips, m->trip_count * sizeof *copy);
    *count = m->trip_count;
    pthread_mutex_unlock(&m->runtime->binding_lock);
    return copy;
}
