// SPDX-License-Identifier: Apache-2.0
// Writers of small GGUF and safetensors files for tests. They write what they are told, wrong things included; shapes
// are row-major, outermost first, in both. Layouts are specified in src/model/gguf.c and src/model/safetensors.c.
//
//   gguf_maker m = gguf_make();                          safetensors_maker s = safetensors_make();
//   gguf_make_string(&m, "general.architecture", "llama");
//   gguf_make_f32_tensor(&m, "output_norm.weight", 1, (uint64_t[]){ 4 }, values);
//   gguf_make_finish(&m, &bytes);                        safetensors_make_finish(&s, &bytes);
#ifndef GLIA_TESTS_MODEL_MAKE_GGUF_H
#define GLIA_TESTS_MODEL_MAKE_GGUF_H

#include <string.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "model/blocks.h"
#include "model/gguf.h"
#include "num/dtype.h"

typedef struct gguf_maker {
    glia_strbuf entries, infos, data;
    uint64_t entry_count, tensor_count;
    uint32_t version;       // 3; a test may change it
    uint32_t alignment;     // 32; when changed, also written as general.alignment
} gguf_maker;

static inline gguf_maker gguf_make(void)
{
    return (gguf_maker){ .version = 3, .alignment = 32 };
}

static inline void gguf_put_string(glia_strbuf *b, const char *s, size_t size)
{
    glia_put_u64(b, size);
    glia_put_bytes(b, s, size);
}

// A key and the kind of its value; the value follows in m->entries.
static inline void gguf_make_key(gguf_maker *m, const char *key, model_gguf_kind kind)
{
    gguf_put_string(&m->entries, key, strlen(key));
    glia_put_u32(&m->entries, (uint32_t)kind);
    m->entry_count++;
}

static inline void gguf_make_u32(gguf_maker *m, const char *key, uint32_t v)
{
    gguf_make_key(m, key, MODEL_GGUF_UINT32);
    glia_put_u32(&m->entries, v);
}

static inline void gguf_make_f32(gguf_maker *m, const char *key, float v)
{
    gguf_make_key(m, key, MODEL_GGUF_FLOAT32);
    glia_put_u32(&m->entries, num_f32_bits(v));
}

static inline void gguf_make_bool(gguf_maker *m, const char *key, bool v)
{
    gguf_make_key(m, key, MODEL_GGUF_BOOL);
    glia_put_u8(&m->entries, v);
}

static inline void gguf_make_string(gguf_maker *m, const char *key, const char *v)
{
    gguf_make_key(m, key, MODEL_GGUF_STRING);
    gguf_put_string(&m->entries, v, strlen(v));
}

static inline void gguf_make_array(gguf_maker *m, const char *key, model_gguf_kind kind, uint64_t count)
{
    gguf_make_key(m, key, MODEL_GGUF_ARRAY);
    glia_put_u32(&m->entries, (uint32_t)kind);
    glia_put_u64(&m->entries, count);
}

static inline void gguf_make_strings(gguf_maker *m, const char *key, const char *const *v, size_t count)
{
    gguf_make_array(m, key, MODEL_GGUF_STRING, count);
    for (size_t i = 0; i < count; i++) gguf_put_string(&m->entries, v[i], strlen(v[i]));
}

static inline void gguf_make_f32s(gguf_maker *m, const char *key, const float *v, size_t count)
{
    gguf_make_array(m, key, MODEL_GGUF_FLOAT32, count);
    for (size_t i = 0; i < count; i++) glia_put_u32(&m->entries, num_f32_bits(v[i]));
}

static inline void gguf_make_i32s(gguf_maker *m, const char *key, const int32_t *v, size_t count)
{
    gguf_make_array(m, key, MODEL_GGUF_INT32, count);
    for (size_t i = 0; i < count; i++) glia_put_u32(&m->entries, (uint32_t)v[i]);
}

static inline void gguf_make_bools(gguf_maker *m, const char *key, const bool *v, size_t count)
{
    gguf_make_array(m, key, MODEL_GGUF_BOOL, count);
    for (size_t i = 0; i < count; i++) glia_put_u8(&m->entries, v[i]);
}

static inline void gguf_pad(glia_strbuf *b, size_t already, size_t alignment)
{
    while ((already + b->size) % alignment) glia_put_u8(b, 0);
}

// An info with any type id and offset; no data.
static inline void gguf_make_info(gguf_maker *m, const char *name, uint32_t rank, const uint64_t *shape, uint32_t ggml,
                                  uint64_t offset)
{
    gguf_put_string(&m->infos, name, strlen(name));
    glia_put_u32(&m->infos, rank);
    for (uint32_t d = rank; d-- > 0;) glia_put_u64(&m->infos, shape[d]);
    glia_put_u32(&m->infos, ggml);
    glia_put_u64(&m->infos, offset);
    m->tensor_count++;
}

// A tensor of packed bytes, placed at the next aligned offset.
static inline void gguf_make_tensor(gguf_maker *m, const char *name, uint32_t rank, const uint64_t *shape,
                                    model_block type, const void *bytes, size_t size)
{
    gguf_pad(&m->data, 0, m->alignment);
    gguf_make_info(m, name, rank, shape, model_block_get(type)->ggml, m->data.size);
    glia_put_bytes(&m->data, bytes, size);
}

static inline void gguf_make_f32_tensor(gguf_maker *m, const char *name, uint32_t rank, const uint64_t *shape,
                                        const float *values)
{
    size_t elements = 1;
    for (uint32_t d = 0; d < rank; d++) elements *= (size_t)shape[d];
    gguf_make_tensor(m, name, rank, shape, MODEL_BLOCK_F32, values, elements * sizeof *values);
}

// Writes the file to `out` and frees the maker's buffers.
static inline void gguf_make_finish(gguf_maker *m, glia_strbuf *out)
{
    if (m->alignment != 32) gguf_make_u32(m, "general.alignment", m->alignment);
    glia_strbuf_clear(out);
    glia_put_bytes(out, "GGUF", 4);
    glia_put_u32(out, m->version);
    glia_put_u64(out, m->tensor_count);
    glia_put_u64(out, m->entry_count);
    if (m->entries.size) glia_put_bytes(out, m->entries.data, m->entries.size);
    if (m->infos.size) glia_put_bytes(out, m->infos.data, m->infos.size);
    if (m->tensor_count) gguf_pad(out, 0, m->alignment);
    if (m->data.size) glia_put_bytes(out, m->data.data, m->data.size);
    glia_strbuf_fini(&m->entries);
    glia_strbuf_fini(&m->infos);
    glia_strbuf_fini(&m->data);
}

typedef struct safetensors_maker {
    glia_strbuf header, data;
    int count;
} safetensors_maker;

static inline safetensors_maker safetensors_make(void)
{
    return (safetensors_maker){ 0 };
}

// An entry with any offsets; no data. `dtype` as the format spells it.
static inline void safetensors_make_entry(safetensors_maker *m, const char *name, const char *dtype, uint32_t rank,
                                          const uint64_t *shape, uint64_t begin, uint64_t end)
{
    glia_putf(&m->header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[", m->count++ ? "," : "{", name, dtype);
    for (uint32_t d = 0; d < rank; d++) glia_putf(&m->header, "%s%llu", d ? "," : "", (unsigned long long)shape[d]);
    glia_putf(&m->header, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)begin, (unsigned long long)end);
}

static inline void safetensors_make_tensor(safetensors_maker *m, const char *name, const char *dtype, uint32_t rank,
                                           const uint64_t *shape, const void *bytes, size_t size)
{
    safetensors_make_entry(m, name, dtype, rank, shape, m->data.size, m->data.size + size);
    glia_put_bytes(&m->data, bytes, size);
}

static inline void safetensors_make_finish(safetensors_maker *m, glia_strbuf *out)
{
    glia_put(&m->header, m->count ? "}" : "{}");
    while (m->header.size % 8) glia_put(&m->header, " ");
    glia_strbuf_clear(out);
    glia_put_u64(out, m->header.size);
    glia_put_bytes(out, m->header.data, m->header.size);
    if (m->data.size) glia_put_bytes(out, m->data.data, m->data.size);
    glia_strbuf_fini(&m->header);
    glia_strbuf_fini(&m->data);
}

#endif
