// SPDX-License-Identifier: Apache-2.0
// DMA: both sides are walked element by element in row-major order of (partitions, dims), in runs as long as both allow.
// Bits move when the types agree; otherwise a value goes through fp32, rounded to nearest. A transfer whose sides
// overlap reads everything before it writes. Indirect forms replace the outermost dim of their HBM side, whose count is
// the number of rows there are, by an index for each partition.
#include <string.h>

#include "dev/rows.h"

enum { SIDE_DIMS = ISA_DIMS + 1 };

typedef struct side {           // one side of a transfer, and where the walk is
    uint8_t *at;                // of the current run
    uint8_t *base;
    num_dtype dtype;
    int rank;
    int64_t step[SIDE_DIMS];    // bytes
    uint32_t count[SIDE_DIMS], index[SIDE_DIMS];
    int64_t inner_step;
    uint32_t left;              // elements left in the run
} side;

static void side_push(side *s, int64_t step, uint32_t count)
{
    if (count == 1) return;
    if (s->rank > 0 && s->step[s->rank - 1] == step * (int64_t)count &&
        (uint64_t)s->count[s->rank - 1] * count <= UINT32_MAX) {
        s->count[s->rank - 1] *= count;
        s->step[s->rank - 1] = step;
        return;
    }
    s->step[s->rank] = step;
    s->count[s->rank++] = count;
}

static void side_start(side *s)
{
    s->at = s->base;
    memset(s->index, 0, sizeof s->index);
    s->inner_step = s->rank ? s->step[s->rank - 1] : 0;
    s->left = s->rank ? s->count[s->rank - 1] : 1;
}

static side side_of(const dev_ap *a)
{
    side s = { .base = a->base, .dtype = (num_dtype)a->dtype };
    side_push(&s, (int64_t)a->pitch, a->partitions);
    for (int k = 0; k < a->rank; k++) side_push(&s, a->step[k], a->count[k]);
    side_start(&s);
    return s;
}

static void side_advance(side *s, uint32_t n)
{
    s->left -= n;
    s->at += s->inner_step * (int64_t)n;
    if (s->left || s->rank == 0) return;
    s->at = s->base;
    int k = s->rank - 2;
    for (; k >= 0; k--) {
        if (++s->index[k] < s->count[k]) break;
        s->index[k] = 0;
    }
    for (k = 0; k < s->rank - 1; k++) s->at += s->step[k] * (int64_t)s->index[k];
    s->left = s->count[s->rank - 1];
}

static void move_run(const side *dst, const side *src, uint32_t n)
{
    const int dst_size = num_size(dst->dtype), src_size = num_size(src->dtype);
    const bool plain = (n == 1 || (dst->inner_step == dst_size && src->inner_step == src_size));
    if (dst->dtype == src->dtype && plain) {
        memcpy(dst->at, src->at, (size_t)n * (size_t)dst_size);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t bits = num_load(src->dtype, src->at + src->inner_step * (int64_t)i);
        if (dst->dtype != src->dtype) bits = num_from_f32(dst->dtype, num_to_f32(src->dtype, bits));
        num_store(dst->dtype, dst->at + dst->inner_step * (int64_t)i, bits);
    }
}

static void move(side dst, side src, uint64_t elements)
{
    while (elements) {
        uint64_t n = dst.left < src.left ? dst.left : src.left;
        if (n > elements) n = elements;
        move_run(&dst, &src, (uint32_t)n);
        side_advance(&dst, (uint32_t)n);
        side_advance(&src, (uint32_t)n);
        elements -= n;
    }
}

// ---- overlap -------------------------------------------------------------------------------------------------------

static void side_extent(const side *s, const uint8_t **lo, const uint8_t **hi)
{
    *lo = s->base;
    *hi = s->base + num_size(s->dtype);
    for (int k = 0; k < s->rank; k++) {
        const int64_t reach = s->step[k] * (int64_t)(s->count[k] - 1);
        if (reach < 0) *lo += reach;
        else *hi += reach;
    }
}

static bool overlap(const side *a, const side *b)
{
    const uint8_t *a_lo, *a_hi, *b_lo, *b_hi;
    side_extent(a, &a_lo, &a_hi);
    side_extent(b, &b_lo, &b_hi);
    return a_lo < b_hi && b_lo < a_hi;
}

static void transfer(side dst, side src, uint64_t elements)
{
    if (elements == 0) return;
    if (!overlap(&dst, &src)) {
        move(dst, src, elements);
        return;
    }
    side packed = { .dtype = src.dtype };
    packed.base = glia_alloc(glia_array_bytes(elements, (size_t)num_size(src.dtype)));
    // Two dims, so that more than 2^32 elements fit.
    const uint64_t inner = elements < (1u << 20) ? elements : 1u << 20;
    side_push(&packed, num_size(src.dtype) * (int64_t)inner, (uint32_t)((elements + inner - 1) / inner));
    side_push(&packed, num_size(src.dtype), (uint32_t)inner);
    side_start(&packed);
    move(packed, src, elements);
    move(dst, packed, elements);
    glia_free(packed.base);
}

glia_status dev_exec_dma_copy(dev_exec *x)
{
    const dev_ap *dst = &x->ap[0], *src = &x->ap[1];
    transfer(side_of(dst), side_of(src), src->free * src->partitions);
    return GLIA_OK;
}

// ---- transpose -----------------------------------------------------------------------------------------------------

// The dims of an operand as written, partitions first on chip. dst has the same in the order of `axes`.
static int shape_of(const isa_operand *o, const dev_ap *a, uint32_t *count, int64_t *step)
{
    int rank = 0;
    if (dev_on_chip(o->space)) {
        count[rank] = o->partitions;
        step[rank++] = (int64_t)a->pitch;
    }
    for (int k = 0; k < o->rank; k++) {
        count[rank] = o->count[k];
        step[rank++] = o->step[k] * a->size;
    }
    return rank;
}

// 2-D [1,0]; 3-D [2,1,0]; 4-D [3,1,2,0] [isa:dma_transpose]: the first and the last dim change places.
glia_status dev_exec_dma_transpose(dev_exec *x)
{
    const dev_ap *dst = &x->ap[0], *src = &x->ap[1];
    uint32_t count[SIDE_DIMS];
    int64_t step[SIDE_DIMS];
    const int rank = shape_of(&x->operand[1], src, count, step);
    side from = { .base = src->base, .dtype = (num_dtype)src->dtype };
    for (int k = 0; k < rank; k++) {
        const int axis = rank == 3 ? 2 - k : k == 0 ? rank - 1 : k == rank - 1 ? 0 : k;
        side_push(&from, step[axis], count[axis]);
    }
    side_start(&from);
    transfer(side_of(dst), from, src->free * src->partitions);
    return GLIA_OK;
}

// ---- gather and scatter --------------------------------------------------------------------------------------------

// The row of the indirect side that `index` names: its dims after the outermost.
static dev_ap row_of(const dev_exec *x, int slot, int64_t index)
{
    const isa_operand *o = &x->operand[slot];
    dev_ap row = x->ap[slot];
    row.base += o->step[0] * row.size * index;
    if (row.shadow) row.shadow += o->step[0] * row.size * index;
    row.rank = 0;
    row.free = 1;
    for (int k = 1; k < o->rank; k++) {
        row.step[row.rank] = o->step[k] * row.size;
        row.count[row.rank++] = o->count[k];
        row.free *= o->count[k];
    }
    return row;
}

static dev_ap partition_of(const dev_ap *a, uint32_t p)
{
    dev_ap one = *a;
    one.base += p * a->pitch;
    if (one.shadow) one.shadow += p * a->pitch;
    one.start_partition = (uint8_t)(a->start_partition + p);
    one.partitions = 1;
    return one;
}

static glia_status indirect(dev_exec *x, int table, int rows)
{
    const dev_ap *index = &x->ap[2];
    const uint32_t bound = x->operand[table].count[0];
    for (uint32_t p = 0; p < x->ap[rows].partitions; p++) {
        const uint32_t bits = (uint32_t)num_load((num_dtype)index->dtype, index->base + p * index->pitch);
        const int64_t at = index->dtype == NUM_U32 ? (int64_t)bits : (int64_t)(int32_t)bits;
        if (at < 0 || at >= bound) {
            if (x->insn->attr[1] == ISA_OOB_SKIP) continue;
            return dev_fault(x, "index %lld of partition %u is outside the %u rows of tensor '%s'", (long long)at,
                             x->ap[rows].start_partition + p, bound, dev_tensor_name(x, table));
        }
        const dev_ap remote = row_of(x, table, at), local = partition_of(&x->ap[rows], p);
        const dev_ap *dst = table == 0 ? &remote : &local, *src = table == 0 ? &local : &remote;
        if (x->options->shadow) TRY(dev_shadow_read(x, 1, src));
        transfer(side_of(dst), side_of(src), src->free);
        if (x->options->shadow) dev_shadow_write(dst);
    }
    return GLIA_OK;
}

glia_status dev_exec_dma_gather(dev_exec *x)
{
    return indirect(x, 1, 0);
}

glia_status dev_exec_dma_scatter(dev_exec *x)
{
    return indirect(x, 0, 1);
}
