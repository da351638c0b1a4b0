// SPDX-License-Identifier: Apache-2.0
// Tensors: names for parts of storages. What happens to bytes is storage.c's.
#include "rt/objects.h"

#include <string.h>

static rt_tensor *tensor_new(rt_runtime *rt, rt_storage *s, uint64_t offset, uint64_t size, const char *name)
{
    rt_tensor *t = glia_alloc(sizeof *t);
    *t = (rt_tensor){.storage = s, .offset = offset, .size = size, .name = glia_strdup(name), .references = 1};
    rt_handle_add(rt, RT_TENSOR, t);
    return t;
}

glia_status rt_tensor_create(rt_runtime *rt, int core, uint64_t size, const char *name, rt_tensor **out)
{
    *out = NULL;
    ENSURE(size > 0, INVALID, "tensor '%s' has no bytes", name);
    ENSURE(core == RT_HOST || (core >= 0 && (uint32_t)core < rt->config.core_count), INVALID,
           "tensor '%s' is for core %d; the process has cores 0 to %u", name, core, rt->config.core_count - 1);
    rt_storage *s = NULL;
    TRY(rt_storage_create(&rt->storage, core, size, name, &s));
    *out = tensor_new(rt, s, 0, size, name);
    return GLIA_OK;
}

rt_tensor *rt_tensor_create_empty(rt_runtime *rt, const char *name)
{
    return tensor_new(rt, NULL, 0, 0, name);
}

static glia_status check_range(const rt_tensor *t, uint64_t offset, uint64_t size)
{
    ENSURE(t->storage || size == 0, INVALID, "tensor '%s' is empty: nothing has been attached to it", t->name);
    ENSURE(offset <= t->size && size <= t->size - offset, INVALID,
           "bytes %llu to %llu are asked of tensor '%s', which has %llu", (unsigned long long)offset,
           (unsigned long long)(offset + size), t->name, (unsigned long long)t->size);
    return GLIA_OK;
}

glia_status rt_tensor_create_slice(rt_runtime *rt, rt_tensor *of, uint64_t offset, uint64_t size, const char *name,
                                   rt_tensor **out)
{
    *out = NULL;
    ENSURE(size > 0, INVALID, "slice '%s' of tensor '%s' has no bytes", name, of->name);
    TRY(check_range(of, offset, size));
    rt_storage_slice(of->storage);
    rt_storage_retain(of->storage);
    *out = tensor_new(rt, of->storage, of->offset + offset, size, name);
    return GLIA_OK;
}

void rt_tensor_unref_locked(rt_tensor *t)
{
    if (--t->references) return;
    glia_free(t->name);
    glia_free(t);
}

void rt_tensor_free(rt_runtime *rt, rt_tensor *t)
{
    rt_bindings_drop_tensor(rt, t);
    pthread_mutex_lock(&rt->binding_lock);
    rt_storage *s = t->storage;
    t->storage = NULL;
    t->freed = true;
    rt_tensor_unref_locked(t);
    pthread_mutex_unlock(&rt->binding_lock);
    rt_storage_release(s);
}

void rt_tensor_attach(rt_runtime *rt, rt_tensor *t, void *buffer, uint64_t size)
{
    rt_bindings_drop_tensor(rt, t);
    rt_storage *attached = rt_storage_attach(&rt->storage, buffer, size, t->name);
    pthread_mutex_lock(&rt->binding_lock);
    rt_storage *old = t->storage;
    t->storage = attached;
    t->offset = 0;
    t->size = size;
    pthread_mutex_unlock(&rt->binding_lock);
    rt_storage_release(old);
}

uint64_t rt_tensor_size(const rt_tensor *t)
{
    return t->size;
}

const char *rt_tensor_name(const rt_tensor *t)
{
    return t->name;
}

// ---- bytes ---------------------------------------------------------------------------------------------------------

glia_status rt_tensor_read(rt_runtime *rt, const rt_tensor *t, uint64_t offset, void *out, uint64_t size)
{
    TRY(check_range(t, offset, size));
    if (size == 0) return GLIA_OK;
    rt_count(&rt->counters, RT_COUNTER_BYTES_READ, size);
    return rt_storage_read(t->storage, t->offset + offset, out, size);
}

glia_status rt_tensor_write(rt_runtime *rt, rt_tensor *t, uint64_t offset, const void *bytes, uint64_t size)
{
    TRY(check_range(t, offset, size));
    if (size == 0) return GLIA_OK;
    rt_count(&rt->counters, RT_COUNTER_BYTES_WRITTEN, size);
    return rt_storage_write(t->storage, t->offset + offset, bytes, size);
}

glia_status rt_tensor_set_bytes(rt_tensor *t, uint64_t offset, int value, uint64_t size)
{
    TRY(check_range(t, offset, size));
    return size ? rt_storage_set(t->storage, t->offset + offset, value, size) : GLIA_OK;
}

enum { COPY_CHUNK = 4 << 20 };

// Through a bounce buffer, so that one storage is used at a time. Within one storage the pieces go in the direction in
// which none is read after it was written.
static glia_status copy_bytes(const rt_tensor *from, uint64_t from_at, rt_tensor *to, uint64_t to_at, uint64_t size)
{
    const uint64_t chunk = size < COPY_CHUNK ? size : COPY_CHUNK;
    uint8_t *bounce = glia_alloc(chunk);
    const bool backwards = from->storage == to->storage && from_at < to_at;
    glia_status failed = GLIA_OK;
    for (uint64_t done = 0; done < size && !failed;) {
        const uint64_t n = size - done < chunk ? size - done : chunk;
        const uint64_t at = backwards ? size - done - n : done;
        failed = rt_storage_read(from->storage, from_at + at, bounce, n);
        if (!failed) failed = rt_storage_write(to->storage, to_at + at, bounce, n);
        done += n;
    }
    glia_free(bounce);
    return failed;
}

glia_status rt_tensor_copy(rt_runtime *rt, const rt_tensor *from, uint64_t from_offset, rt_tensor *to,
                           uint64_t to_offset, uint64_t size)
{
    TRY(check_range(from, from_offset, size));
    TRY(check_range(to, to_offset, size));
    if (size == 0) return GLIA_OK;
    const int a = rt_storage_core(from->storage), b = rt_storage_core(to->storage);
    ENSURE(a == RT_HOST || b == RT_HOST || rt_memory_same_hbm(rt->memory, (uint32_t)a, (uint32_t)b), INVALID,
           "tensor '%s' lies in the HBM of core %d and '%s' in that of core %d; a copy stays within one HBM\n"
           "hint: read it to the host and write it from there",
           from->name, a, to->name, b);
    return copy_bytes(from, from->offset + from_offset, to, to->offset + to_offset, size);
}

glia_status rt_tensor_address(rt_tensor *t, void **out)
{
    *out = NULL;
    ENSURE(t->storage, INVALID, "tensor '%s' is empty: it has no address", t->name);
    uint8_t *data = NULL;
    TRY(rt_storage_expose(t->storage, &data));
    *out = data + t->offset;
    return GLIA_OK;
}

glia_status rt_tensor_wait(const rt_tensor *t, int64_t timeout_us, uint64_t count)
{
    ENSURE(t->storage, INVALID, "tensor '%s' is empty: no execution writes it", t->name);
    return rt_storage_wait(t->storage, timeout_us, count);
}

glia_status rt_tensor_reset(rt_tensor *t)
{
    ENSURE(t->storage, INVALID, "tensor '%s' is empty: no execution writes it", t->name);
    rt_storage_reset(t->storage);
    return GLIA_OK;
}

static rt_tensor *tensor_at(rt_runtime *rt, const void *address, uint64_t size)
{
    rt_tensor *found = NULL;
    uint32_t at = 0;
    pthread_mutex_lock(&rt->lock);
    pthread_mutex_lock(&rt->binding_lock);
    for (rt_tensor *t; !found && (t = rt_handles_next(&rt->handles[RT_TENSOR], &at));)
        if (t->storage && rt_storage_covers(t->storage, address, size)) found = t;
    pthread_mutex_unlock(&rt->binding_lock);
    pthread_mutex_unlock(&rt->lock);
    return found;
}

glia_status rt_copy_to_address(rt_runtime *rt, void *to, const void *from, uint64_t size)
{
    ENSURE(tensor_at(rt, to, size), INVALID, "%p is not in the memory of a tensor whose address was given out", to);
    memmove(to, from, size); // an execution that begins later looks at the storage anew
    return GLIA_OK;
}
