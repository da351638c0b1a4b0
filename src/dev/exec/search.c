// SPDX-License-Identifier: Apache-2.0
// The max8 family: the eight largest of a row, where they are, and how to strike them out. Comparisons are in fp32; a
// NaN equals a NaN and is larger than everything else, so that rounds of max8 and match_replace8 order any row.
#include <math.h>

#include "dev/rows.h"

enum { EIGHT = 8 };

static bool is_greater(float a, float b)
{
    return isnan(a) ? !isnan(b) : a > b;
}

static bool is_equal(float a, float b)
{
    return a == b || (isnan(a) && isnan(b));
}

glia_status dev_exec_max8(dev_exec *x)
{
    const dev_ap *dst = &x->ap[0], *data = &x->ap[1];
    float *row = dev_row(x, 0);
    for (uint32_t p = 0; p < dst->partitions; p++) {
        float top[EIGHT];
        int count = 0;
        dev_load_f32(data, p, row);
        for (size_t f = 0; f < data->free; f++) {
            if (count == EIGHT && !is_greater(row[f], top[EIGHT - 1])) continue;
            int at = count < EIGHT ? count++ : EIGHT - 1;
            for (; at > 0 && is_greater(row[f], top[at - 1]); at--) top[at] = top[at - 1];
            top[at] = row[f];
        }
        while (count < EIGHT) top[count++] = -INFINITY;
        dev_store_f32(x, dst, p, top);
    }
    return GLIA_OK;
}

// Each value in ascending slot order; equal values take successive occurrences; all ones when there is none left.
glia_status dev_exec_find_index8(dev_exec *x)
{
    const dev_ap *dst = &x->ap[0], *data = &x->ap[1], *vals = &x->ap[2];
    float *row = dev_row(x, 0), *want = dev_row(x, 1);
    for (uint32_t p = 0; p < dst->partitions; p++) {
        uint32_t index[EIGHT];
        dev_load_f32(data, p, row);
        dev_load_f32(vals, p, want);
        for (int i = 0; i < EIGHT; i++) {
            size_t from = 0;
            for (int k = 0; k < i; k++)
                if (is_equal(want[k], want[i])) from = index[k] == UINT32_MAX ? data->free : (size_t)index[k] + 1;
            index[i] = UINT32_MAX;
            for (size_t f = from; f < data->free && index[i] == UINT32_MAX; f++)
                if (is_equal(row[f], want[i])) index[i] = (uint32_t)f;
        }
        dev_store_bits(dst, p, index);
    }
    return GLIA_OK;
}

// Values go from slot 7 down to 0, each taking the first place that is not taken yet.
glia_status dev_exec_match_replace8(dev_exec *x)
{
    const dev_ap *dst = &x->ap[0], *data = &x->ap[1], *vals = &x->ap[2];
    const num_dtype t = (num_dtype)dst->dtype;
    const uint32_t value = dev_imm_bits(&x->operand[3], t);
    float *row = dev_row(x, 0), *want = dev_row(x, 1);
    uint32_t *out = dev_row_words(x, 2);
    for (uint32_t p = 0; p < dst->partitions; p++) {
        uint32_t index[EIGHT];
        dev_load_f32(data, p, row);
        dev_load_f32(vals, p, want);
        dev_load_bits(data, p, out);
        if (data->dtype != dst->dtype)
            for (size_t f = 0; f < data->free; f++) out[f] = (uint32_t)num_from_f32(t, row[f]);
        for (int i = EIGHT - 1; i >= 0; i--) {
            index[i] = UINT32_MAX;
            for (size_t f = 0; f < data->free && index[i] == UINT32_MAX; f++) {
                bool taken = false;
                for (int k = i + 1; k < EIGHT; k++) taken |= index[k] == f;
                if (!taken && is_equal(row[f], want[i])) index[i] = (uint32_t)f;
            }
            if (index[i] != UINT32_MAX) out[index[i]] = value;
        }
        dev_store_bits(dst, p, out);
        if (dev_has(x, 4)) dev_store_bits(&x->ap[4], p, index);
    }
    return GLIA_OK;
}
