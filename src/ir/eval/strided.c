// SPDX-License-Identifier: Apache-2.0
// Multi-indices and the one copy that every moving op is made of: two strided views of equal dims.
//
// Strides are in elements and may be negative (reverse) or zero (broadcast). Nothing here depends on the dtype.
#include "ir/eval/eval.h"

#include <string.h>

// Wraps instead of overflowing: a product of dims too large for int64_t only occurs beside a dim of 0, where no
// element is ever addressed.
void ir_eval_strides(int rank, const int64_t *dims, int64_t *out)
{
    uint64_t stride = 1;
    for (int d = rank - 1; d >= 0; d--) {
        out[d] = (int64_t)stride;
        stride *= (uint64_t)dims[d];
    }
}

bool ir_eval_next(int rank, const int64_t *dims, int64_t *index)
{
    for (int d = rank - 1; d >= 0; d--) {
        if (++index[d] < dims[d]) return true;
        index[d] = 0;
    }
    return false;
}

int64_t ir_eval_offset(int rank, const int64_t *index, const int64_t *strides)
{
    int64_t offset = 0;
    for (int d = 0; d < rank; d++)
        offset += index[d] * strides[d];
    return offset;
}

int64_t ir_eval_count(int rank, const int64_t *dims)
{
    int64_t n = 1;
    for (int d = 0; d < rank; d++)
        if (dims[d] == 0) return 0;
    for (int d = 0; d < rank; d++)
        n *= dims[d];
    return n;
}

bool ir_eval_has(ir_dims d, int64_t x)
{
    for (int i = 0; i < d.count; i++)
        if (d.items[i] == x) return true;
    return false;
}

#define LINE(bytes)                                                                                                    \
    for (int64_t i = 0; i < n; i++, dst += dst_step, src += src_step)                                                  \
    memcpy(dst, src, bytes)

static void copy_line(uint8_t *dst, int64_t dst_step, const uint8_t *src, int64_t src_step, int64_t n, size_t size)
{
    if (dst_step == (int64_t)size && src_step == (int64_t)size) {
        memcpy(dst, src, (size_t)n * size);
        return;
    }
    if (size == 1)
        LINE(1);
    else if (size == 2)
        LINE(2);
    else if (size == 4)
        LINE(4);
    else if (size == 8)
        LINE(8);
    else
        LINE(size);
}

// Dims of 1 are skipped by the loop, so that the recursion is as deep as there are dims of 2 and more: at most 62.
static void copy_dims(uint8_t *dst, const int64_t *dst_strides, const uint8_t *src, const int64_t *src_strides,
                      int rank, const int64_t *dims, size_t size)
{
    while (rank > 1 && dims[0] == 1)
        dst_strides++, src_strides++, dims++, rank--;
    if (rank == 0) {
        memcpy(dst, src, size);
        return;
    }
    const int64_t dst_step = dst_strides[0] * (int64_t)size, src_step = src_strides[0] * (int64_t)size;
    if (rank == 1) {
        copy_line(dst, dst_step, src, src_step, dims[0], size);
        return;
    }
    for (int64_t i = 0; i < dims[0]; i++)
        copy_dims(dst + i * dst_step, dst_strides + 1, src + i * src_step, src_strides + 1, rank - 1, dims + 1, size);
}

void ir_eval_copy_strided(void *dst, const int64_t *dst_strides, const void *src, const int64_t *src_strides, int rank,
                          const int64_t *dims, size_t size)
{
    for (int d = 0; d < rank; d++)
        if (dims[d] <= 0) return;
    copy_dims(dst, dst_strides, src, src_strides, rank, dims, size);
}
