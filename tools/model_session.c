// SPDX-License-Identifier: Apache-2.0
// A session (see model_session.h).
#include "model_session.h"

#include <limits.h>
#include <string.h>

#include "chips.h"
#include "compiled.h"
#include "serve/device.h"

static const struct { const char *name; num_dtype dtype; } dtypes[] = {
    { "bf16", NUM_BF16 }, { "bfloat16", NUM_BF16 }, { "fp32", NUM_F32 }, { "f32", NUM_F32 }, { "float32", NUM_F32 },
};

glia_status tool_parse_dtype(const char *text, num_dtype *out)
{
    for (size_t i = 0; i < COUNT_OF(dtypes); i++)
        if (!strcmp(dtypes[i].name, text)) {
            *out = dtypes[i].dtype;
            return GLIA_OK;
        }
    return GLIA_FAIL(USAGE, "'--dtype' is '%s'; models compute in bf16 or fp32", text);
}

glia_status tool_find_instance(const char *name, const hw_instance **out)
{
    AUTO_STATUS by_target = hw_instance_for_target(name, out);
    if (!by_target) return GLIA_OK;
    return hw_instance_find(name, out);
}

static glia_status whole(const char *flag, int64_t value, int64_t low, int64_t high, int *out)
{
    ENSURE(value >= low && value <= high, USAGE, "'--%s' is %lld; it must be from %lld to %lld", flag, (long long)value,
           (long long)low, (long long)high);
    *out = (int)value;
    return GLIA_OK;
}

static glia_status read_options(const tool_model_values *v, serve_engine_options *o, int *threads)
{
    int32_t buckets[SERVE_MAX_BUCKETS];
    size_t count;
    TRY(tool_parse_dtype(v->dtype, &o->dtype));
    TRY(tool_find_instance(v->instance, &o->instance));
    TRY(tool_lnc(v->lnc, o->instance->chip, &o->lnc));
    TRY(whole("context", v->context, 0, INT_MAX / 2, &o->context));
    TRY(whole("threads", v->threads, 0, 256, threads));
    TRY(tool_parse_ints("buckets", v->buckets, 1, INT_MAX / 2, SERVE_MAX_BUCKETS, buckets, &count));
    for (size_t i = 0; i < count; i++) o->buckets[i] = buckets[i];
    o->bucket_count = (int)count;
    return GLIA_OK;
}

static glia_status open_session(tool *t, const tool_model_values *v, const char *cache_root, tool_session *s)
{
    serve_engine_options o = serve_engine_options_default();
    int threads;
    TRY(read_options(v, &o, &threads));
    o.model = v->model;
    o.cache_root = *cache_root ? cache_root : NULL;
    o.progress = (serve_progress){ tool_report, t };
    s->instance = o.instance;
    TRY(serve_device_open(o.instance, o.lnc, threads));
    s->open = true;
    return serve_engine_create(&o, &s->engine);
}

glia_status tool_session_open(tool *t, const tool_model_values *v, tool_session *out)
{
    AUTO_VALUE(glia_strbuf) root = { 0 };
    tool_session s = { 0 };
    TRY(tool_cache_root(t, v->cache, &root));
    glia_status failed = open_session(t, v, glia_strbuf_str(&root), &s);
    if (failed) {
        tool_session_fini(&s);
        return glia_status_pass(failed, __FILE__, __LINE__);
    }
    *out = s;
    return GLIA_OK;
}

void tool_session_fini(tool_session *s)
{
    serve_engine_destroy(s->engine);
    if (s->open) serve_device_close();
    *s = (tool_session){ 0 };
}
