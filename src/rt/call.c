// SPDX-License-Identifier: Apache-2.0
// One call of the C interface (see call.h). The first failure is the answer; what comes after it does nothing.
#include "rt/call.h"

#include <stdio.h>
#include <stdlib.h>

#include "rt/log.h"

static void answer(rt_call *c, NRT_STATUS result, const char *text)
{
    c->result = result;
    rt_set_last_error(text);
    rt_log(RT_LOG_ERROR, "NRT", c->function, "%s: %s", nrt_get_status_as_str(result), text);
}

void rt_call_fail(rt_call *c, NRT_STATUS result, const char *format, ...)
{
    if (!rt_call_ok(c)) return;
    char *text = NULL;
    va_list args;
    va_start(args, format);
    const int n = vasprintf(&text, format, args);
    va_end(args);
    answer(c, result, n < 0 ? format : text);
    free(text);
}

rt_call rt_call_begin(const char *function)
{
    rt_phase phase;
    rt_call c = {.function = function, .runtime = rt_process_enter(&phase), .result = NRT_SUCCESS};
    if (!c.runtime && phase == RT_CLOSED) rt_call_fail(&c, NRT_CLOSED, "%s was called after nrt_close", function);
    if (!c.runtime && phase == RT_FORKED)
        rt_call_fail(&c, NRT_UNINITIALIZED, "%s was called in a child of the process that called nrt_init\n"
                     "hint: fork first, then call nrt_init in each process", function);
    if (!c.runtime && phase == RT_UNINITIALIZED)
        rt_call_fail(&c, NRT_UNINITIALIZED, "%s was called before nrt_init", function);
    return c;
}

rt_call rt_call_begin_anywhere(const char *function)
{
    return (rt_call){.function = function, .result = NRT_SUCCESS};
}

void rt_call_fini(rt_call *c)
{
    if (c->runtime) rt_process_leave();
}

void rt_call_end(rt_call *c, glia_status status)
{
    if (!status) return;
    if (rt_call_ok(c)) {
        answer(c, (NRT_STATUS)glia_code_nrt(glia_status_code(status)), glia_status_message(status));
        rt_log(RT_LOG_DEBUG, "NRT", c->function, "trail: %s", glia_status_trail(status));
    }
    glia_status_destroy(status);
}

void rt_call_need(rt_call *c, const void *pointer, const char *name)
{
    if (!pointer) rt_call_fail(c, NRT_INVALID, "'%s' is NULL", name);
}

static void *judged(rt_call *c, bool is, rt_kind kind, const void *handle, const char *name)
{
    static const char *const kinds[RT_KIND_COUNT] = {
        [RT_MODEL] = "model", [RT_TENSOR] = "tensor", [RT_TENSOR_SET] = "tensor set"};
    if (is) return (void *)handle;
    rt_call_fail(c, NRT_INVALID_HANDLE, "'%s' is %p, which is no %s of this runtime, or one that was freed", name,
                 handle, kinds[kind]);
    return NULL;
}

void *rt_call_handle(rt_call *c, rt_kind kind, const void *handle, const char *name)
{
    return rt_call_ok(c) ? judged(c, rt_handle_is(c->runtime, kind, handle), kind, handle, name) : NULL;
}

void *rt_call_take(rt_call *c, rt_kind kind, const void *handle, const char *name)
{
    return rt_call_ok(c) ? judged(c, rt_handle_take(c->runtime, kind, handle), kind, handle, name) : NULL;
}

void rt_call_core(rt_call *c, int64_t vnc, NRT_STATUS other)
{
    if (!rt_call_ok(c)) return;
    const uint32_t count = rt_runtime_config(c->runtime)->core_count;
    if (vnc < 0 || vnc >= count)
        rt_call_fail(c, other, "'vnc' is %lld; the process has logical cores 0 to %u", (long long)vnc, count - 1);
}

NRT_STATUS rt_call_refuse(const char *function)
{
    AUTO_VALUE(rt_call) c = rt_call_begin_anywhere(function);
    rt_call_fail(&c, NRT_FAILURE, "%s is not provided yet", function);
    return c.result;
}
