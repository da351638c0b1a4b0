// SPDX-License-Identifier: Apache-2.0
// Tensor sets: names of tensors. A change makes a new version, so that what was bound by the old one is not used again.
#include "rt/objects.h"

#include <string.h>

rt_tensor_set *rt_tensor_set_create(rt_runtime *rt)
{
    rt_tensor_set *s = glia_alloc(sizeof *s);
    pthread_mutex_lock(&rt->binding_lock);
    s->id = rt->next_set_id++;
    pthread_mutex_unlock(&rt->binding_lock);
    rt_handle_add(rt, RT_TENSOR_SET, s);
    return s;
}

void rt_tensor_set_free(rt_runtime *rt, rt_tensor_set *s)
{
    rt_bindings_drop_set(rt, s);
    pthread_mutex_lock(&rt->binding_lock);
    for (uint32_t k = 0; k < s->entries.count; k++) {
        rt_tensor_unref_locked(s->entries.items[k].tensor);
        glia_free(s->entries.items[k].name);
    }
    pthread_mutex_unlock(&rt->binding_lock);
    VEC_FREE(&s->entries);
    glia_free(s);
}

static rt_set_entry *entry_of(const rt_tensor_set *s, const char *name)
{
    for (uint32_t k = 0; k < s->entries.count; k++)
        if (!strcmp(s->entries.items[k].name, name)) return &s->entries.items[k];
    return NULL;
}

void rt_tensor_set_add(rt_runtime *rt, rt_tensor_set *s, const char *name, rt_tensor *t)
{
    pthread_mutex_lock(&rt->binding_lock);
    rt_set_entry *entry = entry_of(s, name);
    if (!entry || entry->tensor != t) {
        t->references++;
        if (entry) {
            rt_tensor_unref_locked(entry->tensor);
            entry->tensor = t;
        } else {
            VEC_PUSH(&s->entries) = (rt_set_entry){.name = glia_strdup(name), .tensor = t};
        }
        s->version++;
    }
    pthread_mutex_unlock(&rt->binding_lock);
}

rt_tensor *rt_tensor_set_find_locked(const rt_tensor_set *s, const char *name)
{
    const rt_set_entry *entry = entry_of(s, name);
    return entry ? entry->tensor : NULL;
}

rt_tensor *rt_tensor_set_find(rt_runtime *rt, rt_tensor_set *s, const char *name)
{
    pthread_mutex_lock(&rt->binding_lock);
    rt_tensor *t = rt_tensor_set_find_locked(s, name);
    if (t && t->freed) t = NULL;
    pthread_mutex_unlock(&rt->binding_lock);
    return t;
}
