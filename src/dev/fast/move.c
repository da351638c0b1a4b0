// SPDX-License-Identifier: Apache-2.0
// Fills and transposes, fast. Bits only; patterns that are not plain rows are left to the exact handlers.
#include <string.h>

#include "dev/fast/fast.h"
#include "dev/rows.h"

bool dev_fast_memset(dev_exec *x)
{
    const dev_ap *dst = &x->ap[0];
    if (!dev_is_run(dst) || dst->free == 0) return false;
    const uint32_t value = dev_imm_bits(&x->operand[1], (num_dtype)dst->dtype);
    // The first row is made by doubling, the others are copies of it.
    const size_t bytes = dst->free * dst->size;
    memcpy(dst->base, &value, dst->size);
    for (size_t done = dst->size; done < bytes; done *= 2)
        memcpy(dst->base + done, dst->base, done < bytes - done ? done : bytes - done);
    for (uint32_t p = 1; p < dst->partitions; p++) memcpy(dst->base + p * dst->pitch, dst->base, bytes);
    return true;
}

static bool overlap(const dev_ap *a, const dev_ap *b)
{
    const uint8_t *a_end = a->base + (a->partitions - 1) * a->pitch + a->free * a->size,
                  *b_end = b->base + (b->partitions - 1) * b->pitch + b->free * b->size;
    return a->base < b_end && b->base < a_end;
}

// dst[f, p] = src[p, f], both plain rows of 2 or 4 bytes.
static void turn(const dev_kernels *k, int size, uint8_t *out, size_t out_pitch, const uint8_t *in, size_t in_pitch, int rows,
                 int columns)
{
    if (size == 2) k->transpose16((uint16_t *)(void *)out, out_pitch / 2, (const uint16_t *)(const void *)in, in_pitch / 2, rows, columns);
    else k->transpose32((uint32_t *)(void *)out, out_pitch / 4, (const uint32_t *)(const void *)in, in_pitch / 4, rows, columns);
}

bool dev_fast_transpose(dev_exec *x)
{
    const dev_ap *dst = &x->ap[0], *data = &x->ap[1];
    if (x->machine->generation < 3 || dst->size != data->size || (data->size != 2 && data->size != 4)) return false;
    if (!dev_is_run(dst) || !dev_is_run(data)) return false;
    turn(x->loaded->fast->kernels, data->size, dst->base, dst->pitch, data->base, data->pitch, (int)data->partitions,
         (int)data->free);
    return true;
}

// Two dims [R, C] into SBUF [C, R].
bool dev_fast_dma_transpose(dev_exec *x)
{
    const isa_operand *o = &x->operand[1];
    const dev_ap *dst = &x->ap[0], *src = &x->ap[1];
    if (src->space != ISA_HBM || o->rank != 2 || o->step[1] != 1 || (src->size != 2 && src->size != 4)) return false;
    if (dst->space != ISA_SBUF || !dev_is_run(dst) || dst->partitions != o->count[1] || o->step[0] < 0) return false;
    if (src->free > INT32_MAX || overlap(dst, src)) return false;
    const size_t pitch = (size_t)o->step[0] * src->size;
    if ((uintptr_t)src->base % src->size) return false;
    turn(x->loaded->fast->kernels, src->size, dst->base, dst->pitch, src->base, pitch, (int)o->count[0], (int)o->count[1]);
    return true;
}
