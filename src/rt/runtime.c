// SPDX-License-Identifier: Apache-2.0
// A runtime's life, and the one that the process has open. Calls hold `process.lock` shared while they run, so that
// closing waits for them; a runtime frees what its clients left, models first, since they use tensors.
#include "rt/objects.h"

static struct {
    pthread_rwlock_t lock;
    rt_runtime *open; // guarded by: lock
    rt_phase phase;   // guarded by: lock
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

static void free_clients(rt_runtime *rt)
{
    void *left = NULL;
    while ((left = rt_handles_any(&rt->handles[RT_MODEL])))
        rt_model_unload(rt, left);
    while ((left = rt_handles_any(&rt->handles[RT_TENSOR_SET])))
        rt_tensor_set_free(rt, left);
    while ((left = rt_handles_any(&rt->handles[RT_TENSOR])))
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

void rt_handle_remove(rt_runtime *rt, rt_kind kind, void *handle)
{
    pthread_mutex_lock(&rt->lock);
    rt_handles_remove(&rt->handles[kind], handle);
    pthread_mutex_unlock(&rt->lock);
}

bool rt_handle_is(rt_runtime *rt, rt_kind kind, const void *handle)
{
    pthread_mutex_lock(&rt->lock);
    const bool is = rt_handles_has(&rt->handles[kind], handle);
    pthread_mutex_unlock(&rt->lock);
    return is;
}

// ---- the process ---------------------------------------------------------------------------------------------------

static glia_status open_locked(void)
{
    ENSURE(process.phase != RT_OPEN, USAGE, "nrt_init has been called already; call nrt_close first");
    rt_config config;
    TRY(rt_config_read(&config));
    rt_log_set_level(config.log_level);
    process.open = rt_runtime_create(&config);
    process.phase = RT_OPEN;
    return GLIA_OK;
}

glia_status rt_process_open(void)
{
    pthread_rwlock_wrlock(&process.lock);
    glia_status failed = open_locked();
    pthread_rwlock_unlock(&process.lock);
    return failed;
}

void rt_process_close(void)
{
    pthread_rwlock_wrlock(&process.lock);
    if (process.phase == RT_OPEN) {
        rt_runtime_destroy(process.open);
        process.open = NULL;
        process.phase = RT_CLOSED;
    }
    pthread_rwlock_unlock(&process.lock);
}

rt_runtime *rt_process_enter(rt_phase *phase)
{
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
