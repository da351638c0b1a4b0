// SPDX-License-Identifier: Apache-2.0
// Fills and transposes, fast. Bits only; patterns that are not plain rows are left to the exact handlers.
#include <string.h>

#include "dev/alu.h"
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

// ---- affine_select -------------------------------------------------------------------------------------------------

// The i in 0..n for which v + i * step <compare> 0, as an interval; its complement for ISA_ALU_NE.
typedef struct interval { int64_t lo, hi; bool outside; } interval;

static int64_t floor_div(int64_t a, int64_t b)      // b > 0
{
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static interval where(isa_alu compare, int64_t v, int64_t step, int64_t n)
{
    if (step < 0) {         // v + i * step <compare> 0 is -v - i * step <mirrored> 0
        static const uint8_t mirrored[ISA_ALU_COUNT] = { [ISA_ALU_EQ] = ISA_ALU_EQ, [ISA_ALU_NE] = ISA_ALU_NE,
                                                         [ISA_ALU_GE] = ISA_ALU_LE, [ISA_ALU_GT] = ISA_ALU_LT,
                                                         [ISA_ALU_LE] = ISA_ALU_GE, [ISA_ALU_LT] = ISA_ALU_GT };
        return where((isa_alu)mirrored[compare], -v, -step, n);
    }
    if (step == 0) return (interval){ 0, dev_alu_compare_int(compare, v, 0) ? n : 0, false };
    const int64_t first_ge = floor_div(-v + step - 1, step), first_gt = floor_div(-v, step) + 1;   // least i of >= 0, > 0
    interval r = { 0, n, compare == ISA_ALU_NE };
    if (compare == ISA_ALU_GE) r.lo = first_ge;
    else if (compare == ISA_ALU_GT) r.lo = first_gt;
    else if (compare == ISA_ALU_LE) r.hi = first_gt;
    else if (compare == ISA_ALU_LT) r.hi = first_ge;
    else {
        r.lo = first_ge;
        r.hi = first_gt;
    }
    r.lo = r.lo < 0 ? 0 : r.lo > n ? n : r.lo;
    if (r.hi > n) r.hi = n;
    if (r.hi < r.lo) r.hi = r.lo;
    return r;
}

static void fill(uint8_t *at, int64_t from, int64_t to, int size, uint32_t value)
{
    if (size == 4)
        for (int64_t i = from; i < to; i++) memcpy(at + 4 * i, &value, 4);
    else if (size == 2)
        for (int64_t i = from; i < to; i++) memcpy(at + 2 * i, &value, 2);
    else if (from < to) memset(at + from, (int)(value & 0xff), (size_t)(to - from));
}

// Values must stay in 32 bits, where the exact handler's wrap.
static bool fits_int32(const isa_operand *o, int64_t base, uint32_t partitions)
{
    __int128 lo = base, hi = base;
    for (int k = -1; k < o->rank; k++) {
        const __int128 reach = k < 0 ? (__int128)o->channel * (partitions - 1) : (__int128)o->step[k] * (o->count[k] - 1);
        if (reach < 0) lo += reach;
        else hi += reach;
    }
    return lo >= INT32_MIN && hi <= INT32_MAX;
}

bool dev_fast_affine_select(dev_exec *x)
{
    const dev_ap *dst = &x->ap[0], *on_true = &x->ap[1];
    const isa_operand *o = &x->operand[2];
    const isa_alu compare = (isa_alu)x->insn->attr[0];
    if (!dev_is_run(dst) || !dev_is_run(on_true) || dst->dtype != on_true->dtype || !dev_alu_compares(compare)) return false;
    if (dst->free == 0 || o->rank == 0) return false;
    int64_t base = o->offset;
    for (int k = 0; k < o->term_count; k++)
        if (__builtin_mul_overflow(o->terms[k].scale, (int64_t)*dev_reg(x, o->terms[k].reg), &base) ||
            __builtin_add_overflow(base, o->offset, &base) || o->term_count > 1) return false;
    if (!fits_int32(o, base, dst->partitions)) return false;
    const uint32_t value = dev_imm_bits(&x->operand[3], (num_dtype)dst->dtype);
    const int inner = o->rank - 1;
    const int64_t n = o->count[inner];
    for (uint32_t p = 0; p < dst->partitions; p++) {
        uint8_t *row = dst->base + p * dst->pitch;
        memmove(row, on_true->base + p * on_true->pitch, dst->free * dst->size);
        uint32_t index[ISA_DIMS] = { 0 };
        for (uint64_t done = 0; done < dst->free; done += (uint64_t)n, row += n * dst->size) {
            int64_t v = base + o->channel * (int64_t)p;
            for (int k = 0; k < inner; k++) v += o->step[k] * (int64_t)index[k];
            const interval keep = where(compare, v, o->step[inner], n);
            if (keep.outside) fill(row, keep.lo, keep.hi, dst->size, value);
            else {
                fill(row, 0, keep.lo, dst->size, value);
                fill(row, keep.hi, n, dst->size, value);
            }
            for (int k = inner - 1; k >= 0; k--) {
                if (++index[k] < o->count[k]) break;
                index[k] = 0;
            }
        }
    }
    return true;
}

// ---- transposes ----------------------------------------------------------------------------------------------------

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
    dev_fast_core *c = dev_fast_of(x);
    const dev_region r = dev_region_of(x, 1);
    const dev_tile *t = dev_tile_at(c, r);
    const int64_t align = data->size - 1;
    if (t && (t->pitch < 0 || (t->pitch & align) || ((intptr_t)dev_source_at(t, r) & align))) t = NULL;
    if (!t) dev_before_read(x, c, r);
    dev_before_psum(x, c, dev_region_of(x, 0));
    turn(x->loaded->fast->kernels, data->size, dst->base, dst->pitch, t ? dev_source_at(t, r) : data->base,
         t ? (size_t)t->pitch : data->pitch, (int)data->partitions, (int)data->free);
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
