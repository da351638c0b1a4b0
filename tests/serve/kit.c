// SPDX-License-Identifier: Apache-2.0
// See kit.h.
#include "serve/kit.h"

#include <unistd.h>

#include "base/file.h"
#include "serve/score.h"
#include "tiny_model.h"

static char model_path[128];

static void remove_model(void)
{
    (void)unlink(model_path);
}

const char *kit_model(void)
{
    if (*model_path) return model_path;
    glia_strbuf bytes = {0};
    tiny_model_write(1, &bytes);
    (void)snprintf(model_path, sizeof model_path, "/tmp/glia-tiny-%ld.gguf", (long)getpid());
    EXPECT_OK(glia_file_write_atomic(model_path, glia_strbuf_span(&bytes)));
    glia_strbuf_fini(&bytes);
    (void)atexit(remove_model);
    return model_path;
}

serve_engine *kit_open(const kit_options *o)
{
    serve_engine_options with = serve_engine_options_default();
    serve_engine *e = NULL;
    EXPECT_OK(hw_instance_find(o->instance ? o->instance : "trn2.3xlarge", &with.instance));
    with.model = kit_model();
    with.lnc = o->lnc;
    with.context = o->context ? o->context : 64;
    with.dtype = o->dtype ? o->dtype : NUM_F32;
    with.bucket_count = o->bucket_count ? o->bucket_count : 2;
    memcpy(with.buckets, o->bucket_count ? o->buckets : (const int[4]){16, 32}, sizeof o->buckets);
    serve_device_close(); // what a test that failed has left open
    EXPECT_OK(serve_device_open(with.instance, with.lnc, 0));
    EXPECT_OK(serve_engine_create(&with, &e));
    return e;
}

void kit_close(serve_engine *e)
{
    serve_engine_destroy(e);
    serve_device_close();
}

void kit_ids(int32_t *ids, int count)
{
    for (int i = 0; i < count; i++)
        ids[i] = i ? 260 + (i * 37 + i * i) % 240 : 2;
}

typedef struct copy {
    float *to;
    int vocab;
} copy;

static glia_status copy_row(void *context, int position, const float *logits)
{
    const copy *c = context;
    memcpy(c->to + (size_t)position * (size_t)c->vocab, logits, (size_t)c->vocab * sizeof *logits);
    return GLIA_OK;
}

float *kit_score(serve_engine *e, const int32_t *ids, int count)
{
    const int vocab = serve_engine_config(e)->vocab;
    copy c = {glia_alloc(glia_array_bytes((size_t)count * (size_t)vocab, sizeof(float))), vocab};
    EXPECT_OK(serve_score(e, ids, count, copy_row, &c));
    return c.to;
}

double kit_largest_difference(const float *a, const float *b, size_t count)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        const double d = fabs((double)a[i] - (double)b[i]);
        if (!(d <= largest)) largest = d; // a NaN too
    }
    return largest;
}
