// SPDX-License-Identifier: Apache-2.0
// The set of live handles, by address: open addressing, a removed one leaves a mark until the table is rebuilt.
#include "rt/objects.h"

static char removed_mark;
#define REMOVED ((void *)&removed_mark)

static uint32_t slot_of(const rt_handles *h, const void *handle)
{
    const uint64_t mixed = (uint64_t)(uintptr_t)handle * 0x9E3779B97F4A7C15u;
    return (uint32_t)(mixed >> 32) & (h->capacity - 1);
}

// Where it is, or NULL.
static void **find(const rt_handles *h, const void *handle)
{
    if (!handle || h->capacity == 0) return NULL;
    for (uint32_t k = slot_of(h, handle); h->slots[k]; k = (k + 1) & (h->capacity - 1))
        if (h->slots[k] == handle) return &h->slots[k];
    return NULL;
}

static void put(rt_handles *h, void *handle)
{
    uint32_t k = slot_of(h, handle);
    while (h->slots[k])
        k = (k + 1) & (h->capacity - 1);
    h->slots[k] = handle;
    h->used++;
    h->count++;
}

static void rebuild(rt_handles *h)
{
    const rt_handles old = *h;
    h->capacity = 16;
    while (h->capacity < old.count * 4)
        h->capacity *= 2;
    h->slots = glia_alloc(glia_array_bytes(h->capacity, sizeof *h->slots));
    h->count = h->used = 0;
    for (uint32_t k = 0; k < old.capacity; k++)
        if (old.slots[k] && old.slots[k] != REMOVED) put(h, old.slots[k]);
    glia_free(old.slots);
}

void rt_handles_add(rt_handles *h, void *handle)
{
    if ((h->used + 1) * 2 > h->capacity) rebuild(h);
    put(h, handle);
}

bool rt_handles_take(rt_handles *h, const void *handle)
{
    void **at = handle == REMOVED ? NULL : find(h, handle);
    if (!at) return false;
    *at = REMOVED;
    h->count--;
    return true;
}

bool rt_handles_has(const rt_handles *h, const void *handle)
{
    return handle != REMOVED && find(h, handle) != NULL;
}

void *rt_handles_next(const rt_handles *h, uint32_t *at)
{
    while (*at < h->capacity) {
        void *handle = h->slots[(*at)++];
        if (handle && handle != REMOVED) return handle;
    }
    return NULL;
}

void rt_handles_fini(rt_handles *h)
{
    glia_free(h->slots);
    *h = (rt_handles){0};
}
