// SPDX-License-Identifier: Apache-2.0
// glia's own part of the C interface (glia/rt.h): an adapter like nrt_abi.c, over the same runtime.
#include "glia/rt.h"

#include <math.h>
#include <string.h>

#include "rt/call.h"
#include "rt/log.h"

// ---- simple --------------------------------------------------------------------------------------------------------

const char *glia_rt_last_error(void)
{
    return rt_last_error();
}

NRT_STATUS glia_rt_set_log_level(const char *level)
{
    AUTO_VALUE(rt_call) c = rt_call_begin_anywhere(__func__);
    rt_log_level found = RT_LOG_ERROR;
    rt_call_need(&c, level, "level");
    if (rt_call_ok(&c) && !rt_log_level_find(level, &found))
        rt_call_fail(&c, NRT_INVALID, "'%s' is no log level; say quiet, error, warn, info, debug or trace", level);
    if (rt_call_ok(&c)) rt_log_set_level(found);
    return c.result;
}

const char *glia_rt_instance(void)
{
    rt_phase phase;
    rt_runtime *rt = rt_process_enter(&phase);
    if (!rt) return NULL;
    const char *name = rt_runtime_config(rt)->instance->name;
    rt_process_leave();
    return name;
}

void glia_rt_free(void *text)
{
    glia_free(text);
}

// ---- time ----------------------------------------------------------------------------------------------------------

// A client compiled against an older header says so by `size`; what it does not know stays as _INIT says.
static glia_rt_time_options known_options(const glia_rt_time_options *options)
{
    glia_rt_time_options o = GLIA_RT_TIME_OPTIONS_INIT;
    if (options) memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    return o;
}

static sim_options sim_options_of(const glia_rt_time_options *o, const int64_t *trips, uint32_t count)
{
    sim_options s = sim_options_default();
    s.extrapolate = o->extrapolate;
    s.throttle = o->throttle;
    s.launch = o->launch;
    s.sharers = o->sharers;
    s.expected_trips = o->expected_trips;
    s.trace = o->trace;
    s.trips = count ? trips : NULL;
    s.trip_count = count;
    return s;
}

NRT_STATUS glia_rt_model_time(nrt_model_t *model, const glia_rt_time_options *options, const glia_rt_timing **timing)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_model *m = rt_call_handle(&c, RT_MODEL, model, "model");
    rt_call_need(&c, timing, "timing");
    if (options && options->size < sizeof options->size)
        rt_call_fail(&c, NRT_INVALID, "'options.size' is %zu; begin with GLIA_RT_TIME_OPTIONS_INIT", options->size);
    if (!rt_call_ok(&c)) return c.result;
    const glia_rt_time_options o = known_options(options);
    if (o.sharers < 1) rt_call_fail(&c, NRT_INVALID, "'options.sharers' is 0; the model itself is one");
    uint32_t count = 0;
    int64_t *trips = o.follow_execution ? rt_model_trips(m, &count) : NULL;
    const sim_options s = sim_options_of(&o, trips, count);
    const sim_result *result = NULL;
    if (rt_call_ok(&c)) rt_call_end(&c, rt_model_time(c.runtime, m, &s, &result));
    if (rt_call_ok(&c)) *timing = (const glia_rt_timing *)result;
    glia_free(trips);
    return c.result;
}

int64_t glia_rt_timing_ps(const glia_rt_timing *timing)
{
    return timing ? sim_total((const sim_result *)timing).ps : 0;
}

double glia_rt_timing_metric(const glia_rt_timing *timing, const char *name)
{
    return timing && name ? sim_metric((const sim_result *)timing, name) : NAN;
}

char *glia_rt_timing_text(const glia_rt_timing *timing)
{
    glia_strbuf text = {0};
    if (timing) sim_text((const sim_result *)timing, &text);
    return timing ? glia_strbuf_take(&text) : NULL;
}

char *glia_rt_timing_json(const glia_rt_timing *timing)
{
    if (!timing) return NULL;
    glia_strbuf text = {0};
    glia_json_writer w = glia_json_writer_of(&text, true);
    glia_json_begin_object(&w, NULL);
    sim_json((const sim_result *)timing, &w);
    glia_json_end_object(&w);
    return glia_strbuf_take(&text);
}

NRT_STATUS glia_rt_timing_write_trace(const glia_rt_timing *timing, const char *path)
{
    AUTO_VALUE(rt_call) c = rt_call_begin_anywhere(__func__);
    rt_call_need(&c, timing, "timing");
    rt_call_need(&c, path, "path");
    if (rt_call_ok(&c)) rt_call_end(&c, sim_write_trace((const sim_result *)timing, path));
    return c.result;
}

// ---- memory --------------------------------------------------------------------------------------------------------

_Static_assert((int)GLIA_RT_MEMORY_CATEGORIES == (int)RT_MEMORY_COUNT, "the public header knows every category");

static void need_memory(rt_call *c, const glia_rt_memory *memory)
{
    rt_call_need(c, memory, "memory");
    if (rt_call_ok(c) && memory->size < sizeof memory->size)
        rt_call_fail(c, NRT_INVALID, "'memory.size' is %zu; set it to sizeof(glia_rt_memory)", memory->size);
}

static void give_memory(const rt_usage *u, glia_rt_memory *memory)
{
    glia_rt_memory found = { .size = memory->size, .total = u->total, .peak = u->peak, .limit = u->limit };
    memcpy(found.bytes, u->bytes, sizeof found.bytes);
    memcpy(memory, &found, memory->size < sizeof found ? memory->size : sizeof found);
}

NRT_STATUS glia_rt_would_fit(const char *instance, int lnc, const char *name, const void *neff_bytes, size_t size,
                             uint64_t tensor_bytes, glia_rt_memory *memory)
{
    AUTO_VALUE(rt_call) c = rt_call_begin_anywhere(__func__);
    const hw_instance *found = NULL;
    rt_usage usage;
    rt_call_need(&c, instance, "instance");
    rt_call_need(&c, name, "name");
    need_memory(&c, memory);
    if (rt_call_ok(&c)) rt_call_end(&c, hw_instance_find(instance, &found));
    if (rt_call_ok(&c))
        rt_call_end(&c, rt_would_fit(found, lnc, name, (glia_span){ neff_bytes, size }, tensor_bytes, &usage));
    if (rt_call_ok(&c)) give_memory(&usage, memory);
    return c.result;
}

NRT_STATUS glia_rt_memory_of(uint32_t vnc, glia_rt_memory *memory)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    need_memory(&c, memory);
    rt_call_core(&c, vnc, NRT_INVALID);
    if (!rt_call_ok(&c)) return c.result;
    const rt_usage u = rt_memory_usage(rt_runtime_memory(c.runtime), vnc);
    give_memory(&u, memory);
    return c.result;
}

const char *glia_rt_memory_title(int category)
{
    return category >= 0 && category < RT_MEMORY_COUNT ? rt_category_title((rt_category)category) : NULL;
}

const char *glia_rt_memory_key(int category)
{
    return category >= 0 && category < RT_MEMORY_COUNT ? rt_category_key((rt_category)category) : NULL;
}

char *glia_rt_memory_table(uint32_t vnc)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_call_core(&c, vnc, NRT_INVALID);
    if (!rt_call_ok(&c)) return NULL;
    glia_strbuf text = {0};
    rt_memory_table(rt_runtime_memory(c.runtime), vnc, &text);
    return glia_strbuf_take(&text);
}

// ---- models and counters -------------------------------------------------------------------------------------------

NRT_STATUS glia_rt_load_file(const char *path, int32_t vnc, nrt_model_t **model)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_call_need(&c, path, "path");
    rt_call_need(&c, model, "model");
    if (vnc != RT_ANY_CORE) rt_call_core(&c, vnc, NRT_LOAD_NOT_ENOUGH_NC);
    rt_model *m = NULL;
    if (rt_call_ok(&c)) rt_call_end(&c, rt_model_load_file(c.runtime, path, vnc, &m));
    if (rt_call_ok(&c)) *model = (nrt_model_t *)m;
    return c.result;
}

NRT_STATUS glia_rt_model_neff_id(const nrt_model_t *model, uint32_t *neff_id)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    const rt_model *m = rt_call_handle(&c, RT_MODEL, model, "model");
    rt_call_need(&c, neff_id, "neff_id");
    if (rt_call_ok(&c)) *neff_id = rt_model_neff_id(m);
    return c.result;
}

NRT_STATUS glia_rt_model_executions(const nrt_model_t *model, uint64_t *executions)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    const rt_model *m = rt_call_handle(&c, RT_MODEL, model, "model");
    rt_call_need(&c, executions, "executions");
    if (rt_call_ok(&c)) *executions = rt_model_executions(m);
    return c.result;
}

NRT_STATUS glia_rt_model_trips(const nrt_model_t *model, int64_t **trips, uint32_t *count)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_model *m = rt_call_handle(&c, RT_MODEL, model, "model");
    rt_call_need(&c, trips, "trips");
    rt_call_need(&c, count, "count");
    if (rt_call_ok(&c)) *trips = rt_model_trips(m, count);
    return c.result;
}

static const struct {
    const char *name, *text;
} counters[] = {
#define RT_COUNTER(symbol, name, text) {name, text},
#include "rt/counters.def"
};

const char *glia_rt_counter_name(int counter)
{
    return counter >= 0 && counter < RT_COUNTER_COUNT ? counters[counter].name : NULL;
}

const char *glia_rt_counter_text(int counter)
{
    return counter >= 0 && counter < RT_COUNTER_COUNT ? counters[counter].text : NULL;
}

uint64_t glia_rt_counter(const char *name)
{
    rt_phase phase;
    rt_runtime *rt = rt_process_enter(&phase);
    if (!rt) return 0;
    uint64_t value = 0;
    for (int k = 0; name && k < RT_COUNTER_COUNT; k++)
        if (!strcmp(counters[k].name, name)) value = rt_counted(rt_runtime_counters(rt), (rt_counter)k);
    rt_process_leave();
    return value;
}

const glia_rt_variable *glia_rt_variable_at(uint32_t index)
{
    return rt_env_at(index);
}
