// SPDX-License-Identifier: Apache-2.0
// The host kernels of bound mode: one table for each level of CPU features, the same bits from all of them.
//
// kernels.inc is the one text; kernels_<level>.c expands it over a vector wrapper with that level's flags, and cpu.c
// chooses a table once. Packed operands have one layout on all levels:
//
//   strips   the side whose columns become vectors: strips of 48 columns (the last one 16, 32 or 48 wide, zero-padded),
//            one after the other; inside a strip [steps][width] words of 32 bits
//   panels   the side whose elements are broadcast: panels of 8 columns (zero-padded), [steps][8] words, each panel
//            followed by 64 bytes so that panels do not share cache sets
//
// A step is one k of fp32 words in the chain's order (for narrow types the odd k of a pair first, an odd K padded by
// zeros), or a pair of k as two bf16 (even in the low half), for hosts whose instruction multiplies pairs.
#ifndef GLIA_DEV_FAST_KERNELS_H
#define GLIA_DEV_FAST_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "isa/isa.h"

enum { DEV_STRIP = 48, DEV_PANEL = 8, DEV_PANEL_PAD = 64, DEV_FOLD_ROWS = 16 };

static inline int dev_strip_count(int n) { return (n + DEV_STRIP - 1) / DEV_STRIP; }
static inline int dev_strip_width(int n, int strip)     // padded width of a strip
{
    const int left = n - strip * DEV_STRIP;
    return left >= DEV_STRIP ? DEV_STRIP : (left + 15) / 16 * 16;
}
static inline size_t dev_panel_bytes(int steps) { return (size_t)steps * DEV_PANEL * 4 + DEV_PANEL_PAD; }
static inline size_t dev_strips_bytes(int n, int steps)
{
    const int last = dev_strip_count(n) - 1;
    return (size_t)(last * DEV_STRIP + dev_strip_width(n, last)) * (size_t)steps * 4;
}
static inline size_t dev_panels_bytes(int n, int steps)
{
    return (size_t)((n + DEV_PANEL - 1) / DEV_PANEL) * dev_panel_bytes(steps);
}

// c[r][f] (+)= sum over steps of panels[r] * strips[f], for strips first..end. Chains of several packed operands in a
// row (K tiles) go on in registers.
typedef struct dev_chain_link { const uint32_t *panels, *strips; int steps; } dev_chain_link;
typedef struct dev_mm {
    float *c;
    size_t c_pitch;             // floats
    int rows, columns;
    bool accumulate;            // the chain starts from c; otherwise from +0
    int first_strip, end_strip;
    int link_count;
    const dev_chain_link *links;
} dev_mm;

typedef struct dev_packing { uint32_t *out; int steps, columns; bool panels; } dev_packing;

typedef struct dev_kernels {
    const char *name;
    bool has_pairs;             // matmul_pairs exists
    void (*matmul_f32)(const dev_mm *t);
    void (*matmul_pairs)(const dev_mm *t);
    void (*flush_on)(uint32_t *saved);      // subnormal operands and results are flushed, until flush_off
    void (*flush_off)(uint32_t saved);
    void (*pack_f32)(const dev_packing *p, int step, const float *row);
    void (*pack_pair)(const dev_packing *p, int step, const uint16_t *even, const uint16_t *odd);   // bf16

    // Rows. `out` may be an input; NaN is canonical in it. Operators that are absent are NULL.
    void (*alu_vv[ISA_ALU_COUNT])(float *out, const float *a, const float *b, size_t n);
    void (*alu_vs[ISA_ALU_COUNT])(float *out, const float *a, float b, size_t n);
    void (*alu_sv[ISA_ALU_COUNT])(float *out, const float *b, float a, size_t n);      // a op b
    void (*act[ISA_ACT_COUNT])(float *out, const float *in, size_t n);
    void (*from_bf16)(float *out, const uint16_t *in, size_t n);
    void (*to_bf16)(uint16_t *out, const float *in, size_t n);
    void (*from_f16)(float *out, const uint16_t *in, size_t n);
    void (*to_f16)(uint16_t *out, const float *in, size_t n);
    void (*canonical)(float *out, const float *in, size_t n);
    // Left folds of 16 rows at once: acc[r] = ((acc[r] op rows[r][0]) op rows[r][1]) ...
    void (*fold_add)(float *acc, const float *const *rows, size_t n);
    void (*fold_multiply)(float *acc, const float *const *rows, size_t n);
    float (*fold_maximum)(float acc, const float *row, size_t n);
    float (*fold_minimum)(float acc, const float *row, size_t n);
    // out[f * out_pitch + p] = in[p * in_pitch + f], pitches in elements
    void (*transpose16)(uint16_t *out, size_t out_pitch, const uint16_t *in, size_t in_pitch, int rows, int columns);
    void (*transpose32)(uint32_t *out, size_t out_pitch, const uint32_t *in, size_t in_pitch, int rows, int columns);
} dev_kernels;

// The best table of this host, or the one that GLIA_CPU names: scalar, avx2, avx512, avx512bf16 (a level that the host
// lacks falls to the next lower). NULL: there is none ("scalar"), and bound mode uses the exact handlers.
const dev_kernels *dev_kernels_get(void);
const dev_kernels *dev_kernels_named(const char *level);    // NULL: scalar, unknown, or not on this host

#endif
