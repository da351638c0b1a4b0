// SPDX-License-Identifier: Apache-2.0
// The runtime behind the nrt_* functions: objects and what can be done with them, in glia's own terms. nrt_abi.c checks
// handles and life cycle, calls these, and turns a status into an NRT_STATUS; everything else is here.
//
// A runtime owns cores (queue, machine), the ledger of device memory, and all handles that it gave out; what is left is
// freed with it. Nothing is process-wide but the one open runtime (rt_process_*).
//
// Threads: any function from any thread; freeing an object that another thread uses is the caller's mistake.
#ifndef GLIA_RT_RT_H
#define GLIA_RT_RT_H

#include "rt/config.h"
#include "rt/counters.h"
#include "rt/memory.h"
#include "rt/queue.h"
#include "rt/storage.h"
#include "sim/sim.h"

typedef struct rt_runtime rt_runtime;
typedef struct rt_model rt_model;
typedef struct rt_tensor rt_tensor;
typedef struct rt_tensor_set rt_tensor_set;

// ---- the runtime ---------------------------------------------------------------------------------------------------

rt_runtime *rt_runtime_create(const rt_config *config);
void rt_runtime_destroy(rt_runtime *rt);        // with everything that is left; NULL is fine
DEFINE_CLEANUP(rt_runtime, rt_runtime_destroy)
const rt_config *rt_runtime_config(const rt_runtime *rt);
rt_memory *rt_runtime_memory(rt_runtime *rt);
rt_counters *rt_runtime_counters(rt_runtime *rt);

// Handles that are alive. `rt_handle_is` is what the API judges by before it touches one.
typedef enum rt_kind { RT_MODEL, RT_TENSOR, RT_TENSOR_SET, RT_KIND_COUNT } rt_kind;
bool rt_handle_is(rt_runtime *rt, rt_kind kind, const void *handle);
// Whether it was one, which it is no longer: whoever takes a handle frees it, by rt_tensor_free, rt_tensor_set_free or
// rt_model_unload.
bool rt_handle_take(rt_runtime *rt, rt_kind kind, const void *handle);

// ---- the process ---------------------------------------------------------------------------------------------------

typedef enum rt_phase { RT_UNINITIALIZED, RT_OPEN, RT_CLOSED, RT_FORKED } rt_phase;
GLIA_MUST_USE glia_status rt_process_open(void);    // by the environment. USAGE when open, INVALID as rt_config_read
void rt_process_close(void);                        // waits for the calls under way
// The open runtime, kept open until rt_process_leave; NULL when there is none, and then there is nothing to leave.
rt_runtime *rt_process_enter(rt_phase *phase);
void rt_process_leave(void);

// ---- tensors -------------------------------------------------------------------------------------------------------

GLIA_MUST_USE glia_status rt_tensor_create(rt_runtime *rt, int core, uint64_t size, const char *name, rt_tensor **out);
rt_tensor *rt_tensor_create_empty(rt_runtime *rt, const char *name);
GLIA_MUST_USE glia_status rt_tensor_create_slice(rt_runtime *rt, rt_tensor *of, uint64_t offset, uint64_t size,
                                                 const char *name, rt_tensor **out);
void rt_tensor_free(rt_runtime *rt, rt_tensor *t);      // that was taken
void rt_tensor_attach(rt_runtime *rt, rt_tensor *t, void *buffer, uint64_t size);
uint64_t rt_tensor_size(const rt_tensor *t);
const char *rt_tensor_name(const rt_tensor *t);
GLIA_MUST_USE glia_status rt_tensor_read(rt_runtime *rt, const rt_tensor *t, uint64_t offset, void *out, uint64_t size);
GLIA_MUST_USE glia_status rt_tensor_write(rt_runtime *rt, rt_tensor *t, uint64_t offset, const void *bytes,
                                          uint64_t size);
GLIA_MUST_USE glia_status rt_tensor_set_bytes(rt_tensor *t, uint64_t offset, int value, uint64_t size);
GLIA_MUST_USE glia_status rt_tensor_copy(rt_runtime *rt, const rt_tensor *from, uint64_t from_offset, rt_tensor *to,
                                         uint64_t to_offset, uint64_t size);
GLIA_MUST_USE glia_status rt_tensor_address(rt_tensor *t, void **out);
GLIA_MUST_USE glia_status rt_tensor_wait(const rt_tensor *t, int64_t timeout_us, uint64_t count);
GLIA_MUST_USE glia_status rt_tensor_reset(rt_tensor *t);
// Copies to an address that rt_tensor_address gave out. INVALID for any other.
GLIA_MUST_USE glia_status rt_copy_to_address(rt_runtime *rt, void *to, const void *from, uint64_t size);

// ---- tensor sets ---------------------------------------------------------------------------------------------------

rt_tensor_set *rt_tensor_set_create(rt_runtime *rt);
void rt_tensor_set_free(rt_runtime *rt, rt_tensor_set *s);      // that was taken
void rt_tensor_set_add(rt_runtime *rt, rt_tensor_set *s, const char *name, rt_tensor *t);
rt_tensor *rt_tensor_set_find(rt_runtime *rt, rt_tensor_set *s, const char *name);      // NULL if it has no such name

// ---- models --------------------------------------------------------------------------------------------------------

enum { RT_ANY_CORE = -1 };
// The bytes are copied as far as they are needed.
GLIA_MUST_USE glia_status rt_model_load(rt_runtime *rt, glia_span neff, int core, rt_model **out);
// The file stays mapped: its constants are not copied. It must not change meanwhile.
GLIA_MUST_USE glia_status rt_model_load_file(rt_runtime *rt, const char *path, int core, rt_model **out);
void rt_model_unload(rt_runtime *rt, rt_model *m);      // that was taken; after the executions under way
const isa_program *rt_model_program(const rt_model *m);
uint32_t rt_model_core(const rt_model *m);
uint32_t rt_model_neff_id(const rt_model *m);
// Inputs, then outputs, as program tensors.
const uint32_t *rt_model_tensors(const rt_model *m, uint32_t *count);
uint64_t rt_model_plain_bytes(const rt_model *m, uint32_t tensor);

// One execution after another; each gets the next number of the model.
GLIA_MUST_USE glia_status rt_execute(rt_runtime *rt, rt_model *m, rt_tensor_set *inputs, rt_tensor_set *outputs,
                                     int repeat);
uint64_t rt_model_executions(const rt_model *m);
// The control trace of the last execution that succeeded: a copy for the caller, glia_free.
int64_t *rt_model_trips(rt_model *m, uint32_t *count);

// Whether an empty core has room for a NEFF (`neff.data` NULL: none), its tensors and `tensor_bytes` more. `out` is what
// the core would hold then. EXHAUSTED with the table and the change that would help.
GLIA_MUST_USE glia_status rt_would_fit(const hw_instance *instance, int lnc, const char *name, glia_span neff,
                                       uint64_t tensor_bytes, rt_usage *out);

// ---- time ----------------------------------------------------------------------------------------------------------

// Simulates once per (NEFF, options, trace); later calls borrow the same result, which lives as long as the runtime.
GLIA_MUST_USE glia_status rt_model_time(rt_runtime *rt, rt_model *m, const sim_options *options,
                                        const sim_result **out);

#endif
