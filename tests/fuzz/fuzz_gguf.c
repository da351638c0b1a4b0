// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: bytes as a GGUF file. Whatever opens is read in full: every value and tensor, the config, the
// vocabulary, and a text through it.
#include <string.h>

#include "model/config_internal.h"
#include "model/gguf.h"
#include "model/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void touch(glia_span s)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s.size; i++) sum += s.data[i];
    sink += sum;
}

static void touch_value(const model_gguf_value *v)
{
    if (v->kind == MODEL_GGUF_STRING) touch(v->string);
    if (v->kind != MODEL_GGUF_ARRAY) return;
    for (uint64_t i = 0; i < v->array.count; i++) {
        if (v->array.kind == MODEL_GGUF_STRING) touch(v->array.strings[i]);
        else if (v->array.kind == MODEL_GGUF_ARRAY) touch_value(&v->array.nested[i]);
        else if (v->array.kind == MODEL_GGUF_FLOAT32 || v->array.kind == MODEL_GGUF_FLOAT64)
            sink += model_gguf_array_double(v, i) > 0;
        else sink += (uint64_t)model_gguf_array_int(v, i);
    }
}

static void read_tensor(const model_tensor *t)
{
    float out[8192];
    touch(t->bytes);
    if (t->elements > COUNT_OF(out)) return;
    glia_status_destroy(model_tensor_read(t, NUM_F32, out, (size_t)t->elements * sizeof *out, NULL));
}

static void use_tokenizer(const model_gguf *g)
{
    static const char text[] = "The capital of France <s> \n\n\xe2\x82\xac\xff";
    AUTO(model_tokenizer) t = NULL;
    AUTO_STATUS s = model_tokenizer_create_gguf(g, &t);
    model_ids ids = { 0 };
    glia_strbuf out = { 0 };
    if (s) return;
    glia_status_destroy(model_tokenizer_encode(t, text, sizeof text, MODEL_ENCODE_BOS | MODEL_ENCODE_CONTROL, &ids));
    glia_status_destroy(model_tokenizer_decode(t, ids.items, ids.count, &out));
    VEC_FREE(&ids);
    glia_strbuf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(model_gguf) g = NULL;
    AUTO_STATUS s = model_gguf_open((glia_span){ data, size }, "fuzz", &g);
    model_config c;
    if (s) return 0;
    for (size_t i = 0; i < model_gguf_entry_count(g); i++) touch_value(&model_gguf_entry_at(g, i)->value);
    for (size_t i = 0; i < model_gguf_tensor_count(g); i++) read_tensor(model_gguf_tensor_at(g, i));
    glia_status_destroy(config_read_gguf(g, &c));
    use_tokenizer(g);
    return 0;
}
