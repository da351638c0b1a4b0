// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: bytes as a safetensors file, whose tensors are read in full; bytes that begin with '{' are a
// config.json instead.
#include "model/config.h"
#include "model/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void read_tensor(const model_tensor *t)
{
    uint16_t out[8192];
    for (size_t i = 0; i < t->bytes.size; i++) sink += t->bytes.data[i];
    if (t->elements > COUNT_OF(out)) return;
    glia_status_destroy(model_tensor_read(t, NUM_BF16, out, (size_t)t->elements * sizeof *out, NULL));
}

static void read_config(glia_span text)
{
    model_config c;
    double f[MODEL_MAX_HEAD_DIM / 2];
    AUTO_STATUS s = model_config_parse_json(text, "fuzz", &c);
    if (s) return;
    model_rope_inv_freq(&c, MODEL_LAYER_GLOBAL, f);
    sink += model_config_parameters(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(glia_arena) arena = glia_arena_create();
    model_safetensors f;
    if (size && data[0] == '{') {
        read_config((glia_span){ data, size });
        return 0;
    }
    AUTO_STATUS s = model_safetensors_open(arena, (glia_span){ data, size }, "fuzz", &f);
    for (size_t i = 0; !s && i < f.count; i++) read_tensor(&f.tensors[i]);
    return 0;
}
