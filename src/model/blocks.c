// SPDX-License-Identifier: Apache-2.0
// Block layouts and their dequantisation, one function per row of ggml_types.def.
//
// Layouts (ggml's public block definitions; offsets in bytes, all little-endian; d, dmin are fp16):
//   Q8_0, 32 elements:   0 d   2 qs[32] int8                                         x = q * d
//   Q5_0, 32 elements:   0 d   2 qh u32, bit i = bit 4 of q[i]   6 qs[16]: low nibble q[i], high nibble q[i + 16]
//                                                                                    x = d * (q - 16)
//   Q4_K, 256 elements:  0 d   2 dmin   4 scales[12]: eight 6-bit (scale, min) pairs   16 qs[128]
//                        64 elements share 32 bytes: low nibbles the first 32, high nibbles the next
//                                                                                    x = (d * scale) * q - dmin * min
//   Q6_K, 256 elements:  0 ql[128]   128 qh[64]   192 scales[16] int8, one for 16 elements   208 d
//                        128 elements share 64 ql and 32 qh bytes; see block_Q6_K     x = (d * scale) * (q - 32)
// Each product and difference is rounded to fp32 on its own (the build forbids contraction), which makes the results
// equal to the `gguf` Python package's bit for bit. Not a quantiser.
#include "model/blocks.h"

#include <string.h>

#include "num/dtype.h"

static uint16_t load_u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static float load_f16(const uint8_t *p)
{
    return num_f16_to_f32(load_u16(p));
}

static void block_F32(const uint8_t *in, size_t count, float *out)
{
    memcpy(out, in, count * sizeof *out);
}

static void block_F16(const uint8_t *in, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++) out[i] = load_f16(in + 2 * i);
}

static void block_BF16(const uint8_t *in, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++) out[i] = num_f32_of((uint32_t)load_u16(in + 2 * i) << 16);
}

static void block_Q8_0(const uint8_t *in, size_t count, float *out)
{
    for (size_t b = 0; b < count; b++, in += 34, out += 32) {
        const float d = load_f16(in);
        for (int i = 0; i < 32; i++) out[i] = (float)(int8_t)in[2 + i] * d;
    }
}

static void block_Q5_0(const uint8_t *in, size_t count, float *out)
{
    for (size_t b = 0; b < count; b++, in += 22, out += 32) {
        const float d = load_f16(in);
        const uint32_t high = (uint32_t)load_u16(in + 2) | (uint32_t)load_u16(in + 4) << 16;
        for (int i = 0; i < 16; i++) {
            const int lo = (in[6 + i] & 15) | (int)(high >> i & 1) << 4;
            const int hi = in[6 + i] >> 4 | (int)(high >> (i + 16) & 1) << 4;
            out[i] = d * (float)(lo - 16);
            out[i + 16] = d * (float)(hi - 16);
        }
    }
}

// Pair j < 4 has its six bits in bytes j (scale) and j + 4 (min); pair j >= 4 has four low bits in byte j + 4 and its
// two high bits on top of pair j - 4's bytes.
static void q4_k_scale_min(const uint8_t *scales, int j, float *scale, float *min)
{
    if (j < 4) {
        *scale = (float)(scales[j] & 63);
        *min = (float)(scales[j + 4] & 63);
    } else {
        *scale = (float)((scales[j + 4] & 15) | (scales[j - 4] >> 6) << 4);
        *min = (float)(scales[j + 4] >> 4 | (scales[j] >> 6) << 4);
    }
}

static void block_Q4_K(const uint8_t *in, size_t count, float *out)
{
    for (size_t b = 0; b < count; b++, in += 144) {
        const float d = load_f16(in), dmin = load_f16(in + 2);
        for (int j = 0; j < 8; j++, out += 32) {
            const uint8_t *q = in + 16 + j / 2 * 32;
            const int shift = j % 2 * 4;
            float scale, min;
            q4_k_scale_min(in + 4, j, &scale, &min);
            const float ds = d * scale, dm = dmin * min;
            for (int i = 0; i < 32; i++) out[i] = ds * (float)(q[i] >> shift & 15) - dm;
        }
    }
}

static void block_Q6_K(const uint8_t *in, size_t count, float *out)
{
    for (size_t b = 0; b < count; b++, in += 210) {
        const float d = load_f16(in + 208);
        // Runs of 32 elements: run r of half h takes nibble r / 2 of ql[64h + 32(r % 2) ..] and bits 2r of qh[32h ..].
        for (int run = 0; run < 8; run++, out += 32) {
            const int half = run / 4, r = run % 4;
            const uint8_t *ql = in + 64 * half + 32 * (r % 2), *qh = in + 128 + 32 * half;
            for (int part = 0; part < 2; part++) {
                const float ds = d * (float)(int8_t)in[192 + 2 * run + part];
                for (int i = 16 * part; i < 16 * part + 16; i++) {
                    const int q = (ql[i] >> (r / 2 * 4) & 15) | (qh[i] >> (2 * r) & 3) << 4;
                    out[i] = ds * (float)(q - 32);
                }
            }
        }
    }
}

// MODEL_BLOCK_* to its row.
static const model_block_info block_table[MODEL_BLOCK_COUNT] = {
    [MODEL_BLOCK_NONE] = { "none", UINT32_MAX, 0, 0, NULL },
#define GGML_TYPE(symbol, name, ggml, elements, bytes)                                                                 \
    [MODEL_BLOCK_##symbol] = { name, ggml, elements, bytes, block_##symbol },
#include "model/ggml_types.def"
};

static const struct {
    const char *name;
    uint32_t ggml;
    const char *nearest;
} other_table[] = {
#define GGML_OTHER(name, ggml, nearest) { name, ggml, nearest },
#include "model/ggml_types.def"
};

const model_block_info *model_block_get(model_block type)
{
    BUG_ON((unsigned)type >= MODEL_BLOCK_COUNT);
    return &block_table[type];
}

glia_status model_block_from_ggml(uint32_t ggml, model_block *out)
{
    *out = MODEL_BLOCK_NONE;
    for (int t = MODEL_BLOCK_NONE + 1; t < MODEL_BLOCK_COUNT; t++) {
        if (block_table[t].ggml == ggml) {
            *out = (model_block)t;
            return GLIA_OK;
        }
    }
    for (size_t i = 0; i < COUNT_OF(other_table); i++) {
        ENSURE(other_table[i].ggml != ggml, UNSUPPORTED,
               "has type '%s' (ggml id %u), which is not read; the nearest that is: %s\n"
               "hint: requantise the file to %s, or add a row to model/ggml_types.def",
               other_table[i].name, ggml, other_table[i].nearest, other_table[i].nearest);
    }
    return GLIA_FAIL(CORRUPT, "has ggml type id %u, which no known type has", ggml);
}

model_block model_block_find(const char *name)
{
    for (int t = MODEL_BLOCK_NONE + 1; t < MODEL_BLOCK_COUNT; t++) {
        if (!strcmp(block_table[t].name, name)) return (model_block)t;
    }
    return MODEL_BLOCK_NONE;
}

void model_block_to_f32(model_block type, const uint8_t *in, size_t elements, float *out)
{
    const model_block_info *info = model_block_get(type);
    BUG_ON(!info->to_f32 || elements % info->elements);
    info->to_f32(in, elements / info->elements, out);
}

void model_block_to_bf16(model_block type, const uint8_t *in, size_t elements, uint16_t *out)
{
    enum { CHUNK = 1024 };      // whole blocks of every type, and small enough for the first cache
    const model_block_info *info = model_block_get(type);
    float wide[CHUNK];

    BUG_ON(!info->to_f32 || elements % info->elements || CHUNK % info->elements);
    if (type == MODEL_BLOCK_BF16) {
        memcpy(out, in, elements * sizeof *out);
        return;
    }
    for (size_t done = 0; done < elements; done += CHUNK) {
        const size_t n = elements - done < CHUNK ? elements - done : CHUNK;
        info->to_f32(in + done / info->elements * info->bytes, n / info->elements, wide);
        num_convert(NUM_BF16, out + done, NUM_F32, wide, n);
    }
}
