// SPDX-License-Identifier: Apache-2.0
// One call of the C interface, from its entry to its answer: keeps the runtime open meanwhile, judges handles, turns a
// status into an NRT_STATUS, and says why in the log and as the thread's last error.
//
//   NRT_STATUS nrt_unload(nrt_model_t *model)
//   {
//       AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
//       rt_model *m = rt_call_take(&c, RT_MODEL, model, "model");
//       if (rt_call_ok(&c)) rt_model_unload(c.runtime, m);
//       return c.result;
//   }
#ifndef GLIA_RT_CALL_H
#define GLIA_RT_CALL_H

#include "nrt/nrt_status.h"
#include "rt/rt.h"

typedef struct rt_call {
    const char *function;
    rt_runtime *runtime;        // NULL when there is none open
    NRT_STATUS result;          // the first failure
} rt_call;

rt_call rt_call_begin(const char *function);        // UNINITIALIZED or CLOSED when no runtime is open
rt_call rt_call_begin_anywhere(const char *function);   // for functions that need none; `runtime` is NULL
void rt_call_fini(rt_call *c);

static inline bool rt_call_ok(const rt_call *c) { return c->result == NRT_SUCCESS; }
void rt_call_fail(rt_call *c, NRT_STATUS result, const char *format, ...) GLIA_PRINTF(3, 4);
void rt_call_end(rt_call *c, glia_status status);   // takes the status; success changes nothing
void rt_call_need(rt_call *c, const void *pointer, const char *name);       // INVALID when it is NULL
void *rt_call_handle(rt_call *c, rt_kind kind, const void *handle, const char *name);   // INVALID_HANDLE, and NULL
// As rt_call_handle, and the handle is none from now on: of two threads that free it, one gets it.
void *rt_call_take(rt_call *c, rt_kind kind, const void *handle, const char *name);
void rt_call_core(rt_call *c, int64_t vnc, NRT_STATUS other);       // `other` unless the process has that core
NRT_STATUS rt_call_refuse(const char *function);    // "is not provided yet"

#endif
