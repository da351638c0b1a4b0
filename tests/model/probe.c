// SPDX-License-Identifier: Apache-2.0
// A door for the script tests: the model layer's functions over standard input and output, for comparison with
// independent implementations. Numbers are little-endian; it is no tool for users.
//
//   model_probe dequantise TYPE f32|bf16          packed blocks in, elements out
//   model_probe tensors PATH                      one line a tensor: name, type, shape
//   model_probe read PATH TENSOR f32|bf16         the tensor's elements out
//   model_probe config PATH                       one line a field: name, value
//   model_probe encode PATH FLAGS                 texts in (u32 size, bytes), ids out (u32 count, i32 each)
//   model_probe decode PATH                       ids in (u32 count, i32 each), texts out (u32 size, bytes)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "model/config.h"
#include "model/tokenizer.h"

static void read_all(glia_strbuf *out)
{
    char chunk[65536];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, stdin)) > 0) glia_put_bytes(out, chunk, n);
}

static glia_status parse_dtype(const char *name, num_dtype *out)
{
    *out = num_dtype_find(name, strlen(name));
    ENSURE(*out == NUM_F32 || *out == NUM_BF16, USAGE, "'%s' is neither f32 nor bf16", name);
    return GLIA_OK;
}

static glia_status dequantise(char **args)
{
    glia_strbuf in = { 0 };
    num_dtype as;
    const model_block type = model_block_find(args[0]);
    ENSURE(type != MODEL_BLOCK_NONE, USAGE, "unknown type '%s'", args[0]);
    TRY(parse_dtype(args[1], &as));
    read_all(&in);
    const model_block_info *info = model_block_get(type);
    const size_t elements = in.size / info->bytes * info->elements;
    void *out = glia_alloc(elements * (size_t)num_size(as) + 1);
    if (as == NUM_F32) model_block_to_f32(type, (const uint8_t *)in.data, elements, out);
    else model_block_to_bf16(type, (const uint8_t *)in.data, elements, out);
    fwrite(out, (size_t)num_size(as), elements, stdout);
    glia_free(out);
    glia_strbuf_fini(&in);
    return GLIA_OK;
}

static glia_status tensors(char **args)
{
    AUTO(model_checkpoint) cp = NULL;
    TRY(model_checkpoint_open(args[0], &cp));
    for (size_t i = 0; i < model_checkpoint_count(cp); i++) {
        const model_tensor *t = model_checkpoint_at(cp, i);
        printf("%s %s", t->name, t->type_name);
        for (int d = 0; d < t->rank; d++) printf(" %llu", (unsigned long long)t->shape[d]);
        printf("\n");
    }
    return GLIA_OK;
}

static glia_status read_tensor(char **args)
{
    AUTO(model_checkpoint) cp = NULL;
    AUTO(glia_pool) pool = glia_pool_create(2);
    const model_tensor *t;
    num_dtype as;
    TRY(model_checkpoint_open(args[0], &cp));
    TRY(model_checkpoint_require(cp, args[1], &t));
    TRY(parse_dtype(args[2], &as));
    const size_t bytes = (size_t)t->elements * (size_t)num_size(as);
    void *out = glia_alloc(bytes);
    glia_status s = model_tensor_read(t, as, out, bytes, pool);
    if (!s) fwrite(out, 1, bytes, stdout);
    glia_free(out);
    return s;
}

static glia_status print_config(char **args)
{
    AUTO(model_checkpoint) cp = NULL;
    model_config c;
    TRY(model_checkpoint_open(args[0], &cp));
    TRY(model_config_read(cp, &c));
    double inv_freq[MODEL_MAX_HEAD_DIM / 2];
    printf("family %s\nn_layers %d\nd_model %d\nn_heads %d\nn_kv_heads %d\nhead_dim %d\nd_ff %d\nvocab %d\n", c.family,
           c.n_layers, c.d_model, c.n_heads, c.n_kv_heads, c.head_dim, c.d_ff, c.vocab);
    printf("rms_eps %.9g\nrope_theta %.9g\nrope_theta_local %.9g\nsliding_window %d\nsliding_pattern %d\n", c.rms_eps,
           c.rope_theta, c.rope_theta_local, c.sliding_window, c.sliding_pattern);
    printf("attn_scale %.9g\ntie_embeddings %d\nembedding_scale %.9g\nrope_interleaved %d\nnorm_weight_offset %g\n",
           c.attn_scale, c.tie_embeddings, c.embedding_scale, c.rope_interleaved, c.norm_weight_offset);
    printf("context_length %d\nbos_id %d\neos_ids", c.context_length, c.bos_id);
    for (int i = 0; i < c.n_eos; i++) printf(" %d", c.eos_ids[i]);
    printf("\nparameters %llu\ninv_freq", (unsigned long long)model_config_parameters(&c));
    model_rope_inv_freq(&c, MODEL_LAYER_GLOBAL, inv_freq);
    for (int i = 0; i < c.head_dim / 2; i++) printf(" %.17g", inv_freq[i]);
    printf("\n");
    return GLIA_OK;
}

static bool read_u32(uint32_t *out)
{
    return fread(out, sizeof *out, 1, stdin) == 1;
}

static glia_status open_tokenizer(const char *path, model_tokenizer **out)
{
    AUTO(model_checkpoint) cp = NULL;
    TRY(model_checkpoint_open(path, &cp));
    return model_tokenizer_create(cp, out);
}

static glia_status encode(char **args)
{
    AUTO(model_tokenizer) t = NULL;
    const unsigned flags = (unsigned)strtoul(args[1], NULL, 10);
    uint32_t size;
    TRY(open_tokenizer(args[0], &t));
    while (read_u32(&size)) {
        model_ids ids = { 0 };
        char *text = glia_alloc((size_t)size + 1);
        ENSURE(fread(text, 1, size, stdin) == size, CORRUPT, "input ends early");
        glia_status s = model_tokenizer_encode(t, text, size, flags, &ids);
        fwrite(&ids.count, sizeof ids.count, 1, stdout);
        if (ids.count) fwrite(ids.items, sizeof *ids.items, ids.count, stdout);
        VEC_FREE(&ids);
        glia_free(text);
        TRY(s);
    }
    return GLIA_OK;
}

static glia_status decode(char **args)
{
    AUTO(model_tokenizer) t = NULL;
    uint32_t count;
    TRY(open_tokenizer(args[0], &t));
    while (read_u32(&count)) {
        glia_strbuf text = { 0 };
        int32_t *ids = glia_alloc(glia_array_bytes(count, sizeof *ids));
        ENSURE(fread(ids, sizeof *ids, count, stdin) == count, CORRUPT, "input ends early");
        glia_status s = model_tokenizer_decode(t, ids, count, &text);
        const uint32_t size = (uint32_t)text.size;
        fwrite(&size, sizeof size, 1, stdout);
        if (size) fwrite(text.data, 1, size, stdout);
        glia_strbuf_fini(&text);
        glia_free(ids);
        TRY(s);
    }
    return GLIA_OK;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int args;
        glia_status (*run)(char **args);
    } verbs[] = {
        { "dequantise", 2, dequantise }, { "tensors", 1, tensors }, { "read", 3, read_tensor },
        { "config", 1, print_config },   { "encode", 2, encode },   { "decode", 1, decode },
    };
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        if (argc != verbs[i].args + 2 || strcmp(argv[1], verbs[i].name) != 0) continue;
        AUTO_STATUS s = verbs[i].run(argv + 2);
        if (!s) return fflush(stdout) == 0 ? 0 : 1;
        fprintf(stderr, "%s\n", glia_status_message(s));
        return glia_code_exit(glia_status_code(s));
    }
    fprintf(stderr, "usage: see the head of tests/model/probe.c\n");
    return 2;
}
