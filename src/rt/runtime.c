// SPDX-License-Identifier: Apache-2.0
// A runtime's life, and the one that the process has open. Calls hold `process.lock` shared while they run, so that
// closing waits for them; a runtime frees what its clients left, models first, since they use tensors.
#include "rt/objects.h"

#include <stdatomic.h>
#include <unistd.h>

// A runtime has threads, which a fork does not copy, and locks that they may hold: in a child of the process that opened
// it nothing of it is touched, not even the lock.
static struct {
    pthread_rwlock_t lock;
    rt_runtime *open;   // guarded by: lock
    rt_phase phase;     // guarded by: lock
    atomic_long opened; // the process that has it open; 0: none. Relaxed: it is read to compare with oneself
} process = {.lock = PTHREAD_RWLOCK_INITIALIZER, .phase = RT_UNINITIALIZED};

rt_runtime *rt_runtime_create(const rt_config *config)
{
    rt_runtime *rt = glia_alloc(sizeof *rt);
    rt->config = *config;
    rt->memory = rt_memory_create(config->instance, config->lnc, config->first_core, config->core_count);
    rt_storage_context_init(&rt->storage, rt->memory, &rt->counters);
    rt->cores = glia_alloc(glia_array_bytes(config->core_count, sizeof *rt->cores));
    for (uint32_t c = 0; c < config->core_count; c++)
        rt_queue_init(&rt->cores[c].queue);
    pthread_mutex_init(&rt->lock, NULL);
    pthread_mutex_init(&rt->binding_lock, NULL);
    pthread_mutex_init(&rt->timing_lock, NULL);
    rt->next_set_id = 1;
    return rt;
}

// One of them, or NULL when there is none left.
static void *take_any(rt_runtime *rt, rt_kind kind)
{
    uint32_t at = 0;
    void *handle = rt_handles_next(&rt->handles[kind], &at);
    return rt_handle_take(rt, kind, handle) ? handle : NULL;
}

static void free_clients(rt_runtime *rt)
{
    void *left = NULL;
    while ((left = take_any(rt, RT_MODEL)))
        rt_model_unload(rt, left);
    while ((left = take_any(rt, RT_TENSOR_SET)))
        rt_tensor_set_free(rt, left);
    while ((left = take_any(rt, RT_TENSOR)))
        rt_tensor_free(rt, left);
}

void rt_runtime_destroy(rt_runtime *rt)
{
    if (!rt) return;
    free_clients(rt);
    for (uint32_t c = 0; c < rt->config.core_count; c++) {
        dev_machine_destroy(rt->cores[c].machine);
        glia_pool_destroy(rt->cores[c].pool);
        rt_queue_fini(&rt->cores[c].queue);
    }
    glia_free(rt->cores);
    rt_timings_destroy(rt->timings);
    for (int k = 0; k < RT_KIND_COUNT; k++)
        rt_handles_fini(&rt->handles[k]);
    rt_memory_destroy(rt->memory);
    pthread_mutex_destroy(&rt->timing_lock);
    pthread_mutex_destroy(&rt->binding_lock);
    pthread_mutex_destroy(&rt->lock);
    glia_free(rt);
}

const rt_config *rt_runtime_config(const rt_runtime *rt)
{
    return &rt->config;
}

rt_memory *rt_runtime_memory(rt_runtime *rt)
{
    return rt->memory;
}

rt_counters *rt_runtime_counters(rt_runtime *rt)
{
    return &rt->counters;
}

// ---- handles -------------------------------------------------------------------------------------------------------

void rt_handle_add(rt_runtime *rt, rt_kind kind, void *handle)
{
    pthread_mutex_lock(&rt->lock);
    rt_handles_add(&rt->handles[kind], handle);
    pthread_mutex_unlock(&rt->lock);
}

bool rt_handle_take(rt_runtime *rt, rt_kind kind, const void *handle)
{
    pthread_mutex_lock(&rt->lock);
    const bool was = rt_handles_take(&rt->handles[kind], handle);
    pthread_mutex_unlock(&rt->lock);
    return was;
}

bool rt_handle_is(rt_runtime *rt, rt_kind kind, const void *handle)
{
    pthread_mutex_lock(&rt->lock);
    const bool is = rt_handles_has(&rt->handles[kind], handle);
    pthread_mutex_unlock(&rt->lock);
    return is;
}

// ---- the process ---------------------------------------------------------------------------------------------------

static bool is_forked(void)
{
    const long opened = atomic_load_explicit(&process.opened, memory_order_relaxed);
    return opened && opened != (long)getpid();
}

static glia_status open_locked(void)
{
    ENSURE(process.phase != RT_OPEN, USAGE, "nrt_init has been called already; call nrt_close first");
    rt_config config;
    TRY(rt_config_read(&config));
    rt_log_set_level(config.log_level);
    process.open = rt_runtime_create(&config);
    process.phase = RT_OPEN;
    atomic_store_explicit(&process.opened, (long)getpid(), memory_order_relaxed);
    return GLIA_OK;
}

glia_status rt_process_open(void)
{
    ENSURE(!is_forked(), USAGE, "process %ld opened the runtime and was forked; this one, %ld, has no threads of it\n"
           "hint: fork first, then call nrt_init in each process", atomic_load_explicit(&process.opened, memory_order_relaxed), (long)getpid());
    pthread_rwlock_wrlock(&process.lock);
    glia_status failed = open_locked();
    pthread_rwlock_unlock(&process.lock);
    return failed;
}

void rt_process_close(void)
{
    if (is_forked()) return; // it is the parent's
    pthread_rwlock_wrlock(&process.lock);
    if (process.phase == RT_OPEN) {
        rt_runtime_destroy(process.open);
        process.open = NULL;
        process.phase = RT_CLOSED;
        atomic_store_explicit(&process.opened, 0, memory_order_relaxed);
    }
    pthread_rwlock_unlock(&process.lock);
}

rt_runtime *rt_process_enter(rt_phase *phase)
{
    *phase = RT_FORKED;
    if (is_forked()) return NULL;
    pthread_rwlock_rdlock(&process.lock);
    *phase = process.phase;
    if (process.open) return process.open;
    pthread_rwlock_unlock(&process.lock);
    return NULL;
}

void rt_process_leave(void)
{
    pthread_rwlock_unlock(&process.lock);
}
