// SPDX-License-Identifier: Apache-2.0
// What products share with the attention that is made of them: operands with the contracted axis on partitions.
#ifndef GLIA_COMPILE_DOT_H
#define GLIA_COMPILE_DOT_H

#include "compile/lower/lower.h"

enum { DOT_N = 512, DOT_GROUP = 4, DOT_STAGE_BYTES = 8192, DOT_WIDE_BYTES = 49152 };

typedef struct dot_side {           // one operand as a matrix [X, K] for each batch index
    const value *v;
    int nb, nx, nk;                 // batch, free, contracted dims
    int64_t bd[LOWER_RANK], brs[LOWER_RANK], bcs[LOWER_RANK];
    int64_t xd[LOWER_RANK], xrs[LOWER_RANK], xcs[LOWER_RANK];
    int64_t kd[LOWER_RANK], krs[LOWER_RANK], kcs[LOWER_RANK];
    int64_t x_total;
} dot_side;

typedef struct dot_chunk { int64_t index; int64_t outer[LOWER_RANK], k0; int kc; } dot_chunk;

typedef struct dot_work {
    lower *l;
    const ir_inst *i;
    uint32_t origin;
    num_dtype dtype;                // of both operands on chip
    dot_side lhs, rhs;
    int64_t batch, m, n;
    int chunk_count;
    dot_chunk *chunks;
    int kc;                         // partitions of a full chunk
    int packed;                     // columns of a packed weight block, 0 if the rhs is not packed
} dot_work;

typedef struct dot_piece { tile_operand data; int at, rows; } dot_piece;

// Judges the operands and cuts the contraction into chunks. `left` and `right` hold views that went through HBM and
// must live as long as `w`.
GLIA_MUST_USE glia_status dot_prepare(lower *l, const ir_inst *i, dot_work *w, value *left, value *right);
// Elements [x0, x0 + xn) of a side for one chunk: [kc partitions, xn].
GLIA_MUST_USE glia_status dot_operand(dot_work *w, uint32_t core, dot_side *s, int64_t b, const dot_chunk *k, int64_t x0, int xn,
                                      tile_operand *out);
// Transposes `count` pieces, [rows_p, kc] each, side by side into one SBUF tile [kc, total].
tile_id dot_transpose(dot_work *w, uint32_t core, const dot_piece *pieces, int count, int kc, int total);
// Which cores make a row tile (bits). `*split`: by blocks of columns instead.
uint32_t dot_cores(const dot_work *w, int64_t b, int64_t mt, int64_t m_tiles, int64_t block, int64_t blocks, bool *split);

#endif
