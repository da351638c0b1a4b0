// SPDX-License-Identifier: Apache-2.0
// Device layouts: copies between row-major and the order that a layout's axes state. The walk is over device order, one
// run of the innermost axis at a time, because device memory is what must be contiguous; a run whose logical index
// leaves the tensor in any dim is padding. A layout that comes from a file has been judged before it comes here
// (isa_layout_valid); with that, no copy leaves either buffer.
#include "isa/isa.h"

#include <string.h>

typedef struct walk {
    int axes;                       // outer axes
    uint32_t at[ISA_AXES];          // odometer
    int64_t index[ISA_RANK];        // logical index of the run's start
    int64_t plain_stride[ISA_RANK]; // row-major, elements
    isa_axis inner;
} walk;

static void strides_of(int rank, const int64_t *dims, int64_t *stride)
{
    int64_t n = 1;
    for (int d = rank - 1; d >= 0; d--) {
        stride[d] = n;
        n *= dims[d];
    }
}

uint64_t isa_layout_elements(const isa_layout *l, int rank, const int64_t *dims)
{
    uint64_t n = 1;
    if (l->axis_count == 0)
        for (int d = 0; d < rank; d++)
            n = __builtin_mul_overflow(n, (uint64_t)dims[d], &n) ? UINT64_MAX : n;
    for (int k = 0; k < l->axis_count; k++)
        n = __builtin_mul_overflow(n, l->axes[k].count, &n) ? UINT64_MAX : n;
    return n;
}

bool isa_layout_valid(const isa_layout *l, int rank, const int64_t *dims)
{
    if (l->axis_count == 0) return true;
    if (l->axis_count > ISA_AXES || rank > ISA_RANK) return false;
    for (int k = 0; k < l->axis_count; k++)
        if (l->axes[k].dim >= rank || l->axes[k].count == 0 || l->axes[k].step == 0) return false;
    for (int d = 0; d < rank; d++) {
        // The axes of a dim are the digits of its index: the finest steps by 1, each further one by what is below it.
        uint64_t covered = 1;
        for (bool grew = true; grew && covered <= INT64_MAX;) {
            grew = false;
            for (int k = 0; k < l->axis_count; k++) {
                if (l->axes[k].dim != d || l->axes[k].count == 1 || l->axes[k].step != covered) continue;
                if (__builtin_mul_overflow(covered, l->axes[k].count, &covered)) return false;
                grew = true;
                break;
            }
        }
        uint64_t digits = 1; // all of the dim's axes must have been used
        for (int k = 0; k < l->axis_count; k++)
            if (l->axes[k].dim == d && __builtin_mul_overflow(digits, l->axes[k].count, &digits)) return false;
        if (digits != covered || (dims[d] > 0 && covered < (uint64_t)dims[d])) return false;
    }
    return true;
}

// How many elements of the innermost axis, from the walk's position, are inside the tensor; *at is the plain index.
static uint32_t run_of(const walk *w, int rank, const int64_t *dims, int64_t *at)
{
    int64_t plain = 0;
    for (int d = 0; d < rank; d++) {
        if (w->index[d] >= dims[d]) return 0;
        plain += w->index[d] * w->plain_stride[d];
    }
    *at = plain;
    const int64_t left = dims[w->inner.dim] - w->index[w->inner.dim];
    const int64_t inside = (left + w->inner.step - 1) / w->inner.step;
    return inside < w->inner.count ? (uint32_t)inside : w->inner.count;
}

static bool walk_next(walk *w, const isa_layout *l)
{
    for (int k = w->axes - 1; k >= 0; k--) {
        w->index[l->axes[k].dim] += l->axes[k].step;
        if (++w->at[k] < l->axes[k].count) return true;
        w->index[l->axes[k].dim] -= (int64_t)l->axes[k].step * l->axes[k].count;
        w->at[k] = 0;
    }
    return false;
}

static walk walk_of(const isa_layout *l, int rank, const int64_t *dims)
{
    walk w = {.axes = l->axis_count - 1, .inner = l->axes[l->axis_count - 1]};
    strides_of(rank, dims, w.plain_stride);
    return w;
}

static void gather_run(uint8_t *out, const uint8_t *in, int64_t stride, uint32_t count, int size)
{
    if (stride == 1) {
        memcpy(out, in, (size_t)count * (size_t)size);
        return;
    }
    const int64_t step = stride * size;
    switch (size) { // constant sizes become single moves
    case 1:
        for (uint32_t i = 0; i < count; i++)
            out[i] = in[i * step];
        return;
    case 2:
        for (uint32_t i = 0; i < count; i++)
            memcpy(out + 2 * (size_t)i, in + i * step, 2);
        return;
    case 4:
        for (uint32_t i = 0; i < count; i++)
            memcpy(out + 4 * (size_t)i, in + i * step, 4);
        return;
    default:
        for (uint32_t i = 0; i < count; i++)
            memcpy(out + (size_t)size * i, in + i * step, (size_t)size);
    }
}

static void scatter_run(uint8_t *out, const uint8_t *in, int64_t stride, uint32_t count, int size)
{
    if (stride == 1) {
        memcpy(out, in, (size_t)count * (size_t)size);
        return;
    }
    const int64_t step = stride * size;
    switch (size) {
    case 1:
        for (uint32_t i = 0; i < count; i++)
            out[i * step] = in[i];
        return;
    case 2:
        for (uint32_t i = 0; i < count; i++)
            memcpy(out + i * step, in + 2 * (size_t)i, 2);
        return;
    case 4:
        for (uint32_t i = 0; i < count; i++)
            memcpy(out + i * step, in + 4 * (size_t)i, 4);
        return;
    default:
        for (uint32_t i = 0; i < count; i++)
            memcpy(out + i * step, in + (size_t)size * i, (size_t)size);
    }
}

void isa_layout_pack(const isa_layout *l, int rank, const int64_t *dims, int size, void *device, const void *plain)
{
    uint8_t *out = device;
    const uint64_t n = isa_layout_elements(l, rank, dims);
    if (n == 0) return;
    if (l->axis_count == 0) {
        memcpy(out, plain, (size_t)n * (size_t)size);
        return;
    }
    walk w = walk_of(l, rank, dims);
    const int64_t stride = w.plain_stride[w.inner.dim] * w.inner.step;
    do {
        int64_t at = 0;
        const uint32_t run = run_of(&w, rank, dims, &at);
        if (run) gather_run(out, (const uint8_t *)plain + at * size, stride, run, size);
        memset(out + (size_t)run * (size_t)size, 0, (size_t)(w.inner.count - run) * (size_t)size);
        out += (size_t)w.inner.count * (size_t)size;
    } while (walk_next(&w, l));
}

void isa_layout_unpack(const isa_layout *l, int rank, const int64_t *dims, int size, void *plain, const void *device)
{
    const uint8_t *in = device;
    const uint64_t n = isa_layout_elements(l, rank, dims);
    if (n == 0) return;
    if (l->axis_count == 0) {
        memcpy(plain, in, (size_t)n * (size_t)size);
        return;
    }
    walk w = walk_of(l, rank, dims);
    const int64_t stride = w.plain_stride[w.inner.dim] * w.inner.step;
    do {
        int64_t at = 0;
        const uint32_t run = run_of(&w, rank, dims, &at);
        if (run) scatter_run((uint8_t *)plain + at * size, in, stride, run, size);
        in += (size_t)w.inner.count * (size_t)size;
    } while (walk_next(&w, l));
}
