// SPDX-License-Identifier: Apache-2.0
// Rows of operands (see rows.h). One walker enumerates the runs of an access pattern; loads and stores convert run by
// run, whole arrays at once where elements are adjacent. Not fast for scattered patterns, and not meant to be.
#include "dev/rows.h"

#include <string.h>

#include "base/rng.h"

dev_walk dev_walk_of(const dev_ap *a, uint8_t *base)
{
    return (dev_walk){ .a = a, .base = base, .done = a->free == 0 };
}

bool dev_walk_next(dev_walk *w, dev_run *run)
{
    if (w->done) return false;
    const dev_ap *a = w->a;
    const int inner = a->rank - 1;
    uint8_t *at = w->base;
    for (int k = 0; k < inner; k++) at += a->step[k] * (int64_t)w->index[k];
    *run = inner < 0 ? (dev_run){ at, a->size, 1 } : (dev_run){ at, a->step[inner], a->count[inner] };
    int k = inner - 1;
    for (; k >= 0; k--) {
        if (++w->index[k] < a->count[k]) break;
        w->index[k] = 0;
    }
    w->done = k < 0;
    return true;
}

void dev_load_f32(const dev_ap *a, uint32_t p, float *out)
{
    dev_run run;
    for (dev_walk w = dev_walk_of(a, a->base + p * a->pitch); dev_walk_next(&w, &run); out += run.count) {
        if (run.step == a->size) {
            num_convert(NUM_F32, out, (num_dtype)a->dtype, run.at, run.count);
            continue;
        }
        for (uint32_t i = 0; i < run.count; i++)
            out[i] = num_to_f32((num_dtype)a->dtype, num_load((num_dtype)a->dtype, run.at + run.step * (int64_t)i));
    }
}

void dev_load_bits(const dev_ap *a, uint32_t p, uint32_t *out)
{
    dev_run run;
    for (dev_walk w = dev_walk_of(a, a->base + p * a->pitch); dev_walk_next(&w, &run); out += run.count)
        for (uint32_t i = 0; i < run.count; i++)
            out[i] = (uint32_t)num_load((num_dtype)a->dtype, run.at + run.step * (int64_t)i);
}

void dev_store_bits(const dev_ap *a, uint32_t p, const uint32_t *in)
{
    dev_run run;
    for (dev_walk w = dev_walk_of(a, a->base + p * a->pitch); dev_walk_next(&w, &run); in += run.count)
        for (uint32_t i = 0; i < run.count; i++)
            num_store((num_dtype)a->dtype, run.at + run.step * (int64_t)i, in[i]);
}

// Element e of an instruction draws word e % 4 of block e / 4.
static uint32_t random_of(const dev_exec *x, uint64_t element)
{
    return glia_philox(x->round_key, element / 4, x->round_counter).v[element % 4];
}

static void store_stochastic(const dev_exec *x, const dev_ap *a, uint32_t p, const float *in)
{
    uint64_t element = p * a->free;
    dev_run run;
    for (dev_walk w = dev_walk_of(a, a->base + p * a->pitch); dev_walk_next(&w, &run); in += run.count)
        for (uint32_t i = 0; i < run.count; i++, element++)
            num_store((num_dtype)a->dtype, run.at + run.step * (int64_t)i,
                      num_from_f32_stochastic((num_dtype)a->dtype, in[i], random_of(x, element)));
}

void dev_store_f32(const dev_exec *x, const dev_ap *a, uint32_t p, const float *in)
{
    const num_dtype t = (num_dtype)a->dtype;
    if (x->stochastic && t != NUM_F32 && num_is_float(t)) {
        store_stochastic(x, a, p, in);
        return;
    }
    dev_run run;
    for (dev_walk w = dev_walk_of(a, a->base + p * a->pitch); dev_walk_next(&w, &run); in += run.count) {
        if (t == NUM_F32) {
            for (uint32_t i = 0; i < run.count; i++) {
                const float v = dev_canonical(in[i]);
                memcpy(run.at + run.step * (int64_t)i, &v, 4);
            }
        } else if (run.step == a->size) {
            num_convert(t, run.at, NUM_F32, in, run.count);
        } else {
            for (uint32_t i = 0; i < run.count; i++)
                num_store(t, run.at + run.step * (int64_t)i, num_from_f32(t, in[i]));
        }
    }
}

float dev_imm_f32(const isa_operand *o)
{
    if (num_is_float((num_dtype)o->dtype)) return num_f32_of((uint32_t)o->offset);
    return num_to_f32(NUM_S64, (uint64_t)o->offset);
}

uint32_t dev_imm_bits(const isa_operand *o, num_dtype as)
{
    if (num_is_float((num_dtype)o->dtype)) return (uint32_t)num_from_f32(as, num_f32_of((uint32_t)o->offset));
    if (num_is_float(as)) return (uint32_t)num_from_f32(as, dev_imm_f32(o));
    if (as == NUM_BOOL) return o->offset != 0;
    const int bits = num_bits(as);
    return bits < 32 ? (uint32_t)o->offset & ((1u << bits) - 1) : (uint32_t)o->offset;
}

float dev_column_f32(const dev_exec *x, int slot, uint32_t p)
{
    if (x->operand[slot].space == ISA_IMM) return dev_imm_f32(&x->operand[slot]);
    const dev_ap *a = &x->ap[slot];
    return num_to_f32((num_dtype)a->dtype, num_load((num_dtype)a->dtype, a->base + p * a->pitch));
}

uint32_t dev_column_bits(const dev_exec *x, int slot, uint32_t p)
{
    if (x->operand[slot].space == ISA_IMM) return (uint32_t)x->operand[slot].offset;
    const dev_ap *a = &x->ap[slot];
    return (uint32_t)num_load((num_dtype)a->dtype, a->base + p * a->pitch);
}
