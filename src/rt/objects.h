// SPDX-License-Identifier: Apache-2.0
// The structures behind rt.h, for the files of this layer alone.
#ifndef GLIA_RT_OBJECTS_H
#define GLIA_RT_OBJECTS_H

#include <pthread.h>

#include "neff/neff.h"
#include "rt/rt.h"

typedef struct rt_core {
    rt_queue queue;
    glia_pool *pool;                // made with the machine, at the core's first load
    dev_machine *machine;           // guarded by: runtime.lock until made, then by having the queue
    uint32_t models;                // guarded by: runtime.lock
} rt_core;

// A hash set of the handles of one kind.
typedef struct rt_handles {
    void **slots;                   // [capacity], NULL: free
    uint32_t count, used, capacity; // used: with the places of removed ones
} rt_handles;
void rt_handles_add(rt_handles *h, void *handle);
bool rt_handles_take(rt_handles *h, const void *handle);        // removes it, and whether it was there
bool rt_handles_has(const rt_handles *h, const void *handle);
void *rt_handles_next(const rt_handles *h, uint32_t *at);       // all in turn, from *at = 0; NULL at the end
void rt_handles_fini(rt_handles *h);

struct rt_runtime {
    rt_config config;
    rt_memory *memory;
    rt_counters counters;
    rt_storage_context storage;
    rt_core *cores;                 // [config.core_count]
    struct rt_timings *timings;     // timing.c's                guarded by: timing_lock
    pthread_mutex_t timing_lock;    // held while a timing is simulated; taken alone
    pthread_mutex_t lock;           // lock order: lock, then binding_lock
    rt_handles handles[RT_KIND_COUNT];      // guarded by: lock
    // Sets, bindings and which tensors they use.
    pthread_mutex_t binding_lock;
    uint64_t next_set_id;           // guarded by: binding_lock
};
void rt_handle_add(rt_runtime *rt, rt_kind kind, void *handle);

// Sets keep the structure of a tensor alive, not its memory: a freed tensor has none.
struct rt_tensor {
    rt_storage *storage;            // NULL: empty, or freed     guarded by: binding_lock for changes
    uint64_t offset, size;
    char *name;
    uint32_t references;            // handle and sets           guarded by: binding_lock
    uint32_t bindings;              // that use it               guarded by: binding_lock
    bool freed;                     // guarded by: binding_lock
};
void rt_tensor_unref_locked(rt_tensor *t);      // binding_lock is held

typedef struct rt_set_entry {
    char *name;
    rt_tensor *tensor;
} rt_set_entry;
struct rt_tensor_set {
    uint64_t id, version;           // guarded by: binding_lock
    VEC(rt_set_entry) entries;      // guarded by: binding_lock
};
rt_tensor *rt_tensor_set_find_locked(const rt_tensor_set *s, const char *name);

// What an execution binds a program tensor to.
typedef struct rt_bound {
    uint32_t tensor;
    rt_image *image;
    rt_image *begins_as;            // an aliased output that is a tensor of its own: copied from here first
} rt_bound;

// A pair of tensor sets, bound to a model once and used by each execution with the same sets.
typedef struct rt_binding {
    struct rt_binding *next;        // of the model               guarded by: binding_lock
    rt_model *model;
    uint64_t inputs_id, inputs_version, outputs_id, outputs_version;
    uint32_t users;                 // executions                 guarded by: binding_lock
    bool dropped;                   // freed by its last user     guarded by: binding_lock
    rt_bound *bound;                // [bound_count], one per input and output of the model
    uint32_t bound_count;
    rt_use *uses;                   // [use_count], by ascending storage id
    uint32_t use_count;
    VEC(rt_tensor *) tensors;       // whose `bindings` it is counted in
    VEC(rt_image *) images;         // that it holds
} rt_binding;
// Finds or makes the binding and counts the caller as a user. INVALID lists every problem.
GLIA_MUST_USE glia_status rt_binding_get(rt_runtime *rt, rt_model *m, rt_tensor_set *inputs, rt_tensor_set *outputs,
                                         rt_binding **out);
void rt_binding_put(rt_runtime *rt, rt_binding *b);
void rt_bindings_drop_model(rt_runtime *rt, rt_model *m);
void rt_bindings_drop_set(rt_runtime *rt, const rt_tensor_set *s);
void rt_bindings_drop_tensor(rt_runtime *rt, const rt_tensor *t);

typedef struct rt_dev_bound { const dev_buffer *buffer; const uint8_t *data; } rt_dev_bound;
struct rt_model {
    rt_runtime *runtime;
    uint32_t core;
    rt_neff *neff;                  // in the ledger
    uint8_t key[32];                // of the NEFF's bytes
    uint8_t *bytes;                 // what constants point into: a copy,
    glia_map file;                  // or the file that was loaded; neither where there are no constants
    isa_program *program;
    dev_loaded *loaded;
    uint32_t *tensors;              // [tensor_count] inputs, then outputs
    uint32_t tensor_count;
    rt_form *forms;                 // [program tensors]
    uint64_t *plain_bytes;          // [program tensors]
    // Guarded by having the core's queue:
    rt_dev_bound *dev_bound;        // [program tensors] what dev was told last
    // Guarded by: runtime.binding_lock
    rt_binding *bindings;
    uint64_t executions;
    int64_t *trips;                 // of the last execution
    uint32_t trip_count;
};

void rt_timings_destroy(struct rt_timings *t);      // NULL is fine

// What loading a program takes of a core's memory, by category.
void rt_footprint_of(const isa_program *p, const hw_chip *chip, int lnc, rt_footprint *out);

#endif
