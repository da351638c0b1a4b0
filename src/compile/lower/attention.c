// SPDX-License-Identifier: Apache-2.0
// Attention, flash style: for 128 query rows at a time, over blocks of keys, with a running maximum and sum.
//
//   for each block of ATTENTION_KEYS keys:
//     s = q k^T (+ mask)           PE into PSUM, the mask added on the way to SBUF
//     m' = max(m, max(s));  p = exp(s - m'), its row sum in the same instruction;  c = exp(m - m')
//     l = l c + sum;  o = o c + p v
//   out = o / l
//
// The exponentials subtract no less than -FLT_MAX: where every key so far is -inf, p is 0 and not NaN, and a later block
// can still open the row. A row without any open key ends as 0 / 0, which is NaN as it is in the graph.
//
// Up to ATTENTION_KEYS keys there is one block and nothing is rescaled. The rows of a block of queries are those of one
// key-value head (grouped queries share its keys and values). Blocks of keys that a constant mask closes to all rows
// are skipped; where it opens everything, no mask is added.
#include "compile/lower/dot.h"

#include <float.h>

enum { ATTENTION_KEYS = 2048 };

typedef struct attention_site {
    lower *l;
    const fused_attention *a;
    dot_work *qk, *pv;
    uint32_t core, origin;
    int64_t b, m0, keys, d;
    int rows;
} attention_site;

static tile_operand column(const attention_site *s, tile_id t)
{
    return tile_view(s->l->f[s->core], t, NUM_F32, s->rows, 0, 1);
}

static tile_id new_column(const attention_site *s)
{
    return tile_new(s->l->f[s->core], ISA_SBUF, s->rows, 4);
}

static void emit_tt(const attention_site *s, tile_operand dst, tile_operand a, tile_operand b, isa_alu alu)
{
    const tile_operand o[3] = { dst, a, b };
    const uint8_t attr[1] = { alu };
    tile_emit(s->l->f[s->core], ISA_tensor_tensor, ISA_DVE, s->origin, 3, o, 1, attr);
    s->l->busy[s->core][ISA_DVE] += isa_operand_free(&dst.o) > 64 ? (int64_t)isa_operand_free(&dst.o) : 64;
}

static void emit_ts(const attention_site *s, tile_operand dst, tile_operand a, tile_operand scalar, isa_alu alu)
{
    const tile_operand o[3] = { dst, a, scalar };
    const uint8_t attr[4] = { alu, 0, ISA_ALU_NONE, 0 };
    tile_emit(s->l->f[s->core], ISA_tensor_scalar, ISA_DVE, s->origin, 3, o, 4, attr);
    s->l->busy[s->core][ISA_DVE] += isa_operand_free(&dst.o) > 64 ? (int64_t)isa_operand_free(&dst.o) : 64;
}

// What the mask is for these rows and keys: bits of MASK_OPEN and MASK_CLOSED; both when it has to be added.
static uint8_t mask_state(const attention_site *s, int64_t k0, int64_t kn)
{
    const ir_inst *mask = s->a->mask;
    if (!mask) return MASK_OPEN;
    if (mask->op != IR_PARAMETER) return MASK_OPEN | MASK_CLOSED;
    const mask_blocks *mb = &s->l->m->masks[s->l->computation->id][mask->attrs.index];
    if (!mb->state) return MASK_OPEN | MASK_CLOSED;
    const int64_t nc = (mb->cols + MASK_BLOCK - 1) / MASK_BLOCK;
    uint8_t state = 0;
    for (int64_t r = 0; r < s->rows; r++) {
        const int64_t row = (s->b * s->qk->m + s->m0 + r) % mb->rows;     // rows of the mask are the innermost dim
        for (int64_t k = k0 / MASK_BLOCK; k <= (k0 + kn - 1) / MASK_BLOCK; k++) state |= mb->state[row / MASK_BLOCK * nc + k];
        if (state == (MASK_OPEN | MASK_CLOSED)) break;
        // Rows of one block say the same: jump to its end, or to where the next head begins at the first row again.
        const int64_t in_block = MASK_BLOCK - row % MASK_BLOCK, in_mask = mb->rows - row;
        const int64_t left = (in_block < in_mask ? in_block : in_mask) - 1;
        r += left < s->rows - r - 1 ? left : s->rows - r - 1;
    }
    return state;
}

// The mask of rows [m0, m0 + rows) and keys [k0, k0 + kn) as an operand.
static glia_status mask_tile(const attention_site *s, int64_t k0, int kn, tile_operand *out)
{
    const value *v = lower_value(s->l, s->a->mask);
    const ir_shape *full = &s->a->scores->shape;
    // The mask as a view of [rows of one head..., S] with the leading dims broadcast, cut to the keys.
    value view = *v;
    view.rank = full->rank;
    for (int d = 0; d < full->rank; d++) {
        const int from = d - (full->rank - 2);
        view.dims[d] = full->dims[d];
        view.rs[d] = from < 0 || v->dims[from] == 1 ? 0 : v->rs[from];
        view.cs[d] = from < 0 || v->dims[from] == 1 ? 0 : v->cs[from];
    }
    view.col += k0 * view.cs[full->rank - 1];
    view.row += k0 * view.rs[full->rank - 1];
    view.dims[full->rank - 1] = kn;
    bool is_column;
    return value_operand(s->l, s->core, s->a->mask_add, &view, full->rank - 1, s->b * s->qk->m + s->m0, s->rows, out, &is_column);
}

// s = q k^T + mask for keys [k0, k0 + kn) into `dst` [rows, kn] fp32.
static glia_status emit_scores(const attention_site *s, int64_t k0, int kn, uint8_t state, tile_operand dst)
{
    tile_function *f = s->l->f[s->core];
    dot_work *w = s->qk;
    const tile_id bank = tile_new(f, ISA_PSUM, s->rows, (uint64_t)kn * 4);
    const tile_operand scores = tile_view(f, bank, NUM_F32, s->rows, 0, kn);
    for (int c = 0; c < w->chunk_count; c++) {
        tile_operand stationary, moving;
        TRY(dot_operand(w, s->core, &w->rhs, s->b, &w->chunks[c], k0, kn, &moving));
        TRY(dot_operand(w, s->core, &w->lhs, s->b, &w->chunks[c], s->m0, s->rows, &stationary));
        const tile_operand o[3] = { scores, stationary, moving };
        const uint8_t attr[2] = { c > 0, ISA_PERF_NONE };
        tile_emit(f, ISA_matmul, ISA_PE, s->origin, 3, o, 2, attr);
    }
    if (!(state & MASK_CLOSED)) {
        lower_copy(s->l, s->core, lower_copy_engine(s->l, s->core, kn, true), s->origin, dst, scores);
        return GLIA_OK;
    }
    tile_operand mask;
    TRY(mask_tile(s, k0, kn, &mask));
    emit_tt(s, dst, scores, mask, ISA_ALU_ADD);
    return GLIA_OK;
}

// bank[rows, d] = p[rows, keys] v[keys, d] for the keys of one block; `p` is [rows, kn] from key k0 on.
static glia_status emit_values(const attention_site *s, int64_t k0, int64_t kn, tile_id p, tile_id bank)
{
    lower *l = s->l;
    tile_function *f = l->f[s->core];
    dot_work *w = s->pv;
    const int size = num_size(s->a->p_dtype);
    bool first = true;
    for (int64_t at = 0; at < kn;) {
        // Up to four transposes share a bank.
        dot_piece pieces[DOT_N / 8];
        const dot_chunk *chunks[DOT_N / 8];
        int count = 0, total = 0, kc = 0;
        while (at < kn && count < 4 && total + s->rows <= DOT_N) {
            const dot_chunk *k = &w->chunks[(k0 + at) / LOWER_ROWS];
            if (count > 0 && k->kc != kc) break;
            kc = k->kc;
            tile_operand data = tile_view(f, p, s->a->p_dtype, s->rows, at * size, kc);
            pieces[count] = (dot_piece){ data, total, s->rows };
            chunks[count++] = k;
            total += s->rows;
            at += kc;
        }
        const tile_id t = dot_transpose(w, s->core, pieces, count, kc, total);
        for (int c = 0; c < count; c++) {
            tile_operand moving;
            TRY(dot_operand(w, s->core, &w->rhs, s->b, chunks[c], 0, (int)s->d, &moving));
            const tile_operand o[3] = { tile_view(f, bank, NUM_F32, s->rows, 0, (int)s->d),
                                        tile_view(f, t, s->a->p_dtype, kc, (int64_t)pieces[c].at * size, s->rows), moving };
            const uint8_t attr[2] = { !first, ISA_PERF_NONE };
            tile_emit(f, ISA_matmul, ISA_PE, s->origin, 3, o, 2, attr);
            first = false;
        }
    }
    return GLIA_OK;
}

static void emit_max(const attention_site *s, tile_operand dst, tile_operand data)
{
    const tile_operand o[2] = { dst, data };
    const uint8_t attr[3] = { ISA_ALU_MAXIMUM, 1, 0 };
    tile_emit(s->l->f[s->core], ISA_tensor_reduce, ISA_DVE, s->origin, 2, o, 3, attr);
    s->l->busy[s->core][ISA_DVE] += (int64_t)isa_operand_free(&data.o);
}

// -max(top, -FLT_MAX)
static tile_id emit_minus(const attention_site *s, tile_id top)
{
    const tile_id minus = new_column(s);
    const tile_operand o[4] = { column(s, minus), column(s, top), tile_plain(isa_imm_f32(-FLT_MAX)), tile_plain(isa_imm_f32(-1.0f)) };
    const uint8_t attr[4] = { ISA_ALU_MAXIMUM, 0, ISA_ALU_MULTIPLY, 0 };
    tile_emit(s->l->f[s->core], ISA_tensor_scalar, ISA_DVE, s->origin, 4, o, 4, attr);
    s->l->busy[s->core][ISA_DVE] += 64;
    return minus;
}

// dst = exp(data - max), the row sum into `sum`. `minus` is -max.
static void emit_exp(const attention_site *s, tile_operand dst, tile_operand data, tile_id minus, tile_id sum)
{
    const tile_operand o[5] = { dst, data, tile_plain(isa_imm_f32(1.0f)), column(s, minus), sum ? column(s, sum) : tile_plain(isa_none()) };
    const uint8_t attr[2] = { ISA_ACT_EXP, sum ? ISA_REDUCE_RESET_REDUCE : ISA_REDUCE_IDLE };
    tile_emit(s->l->f[s->core], ISA_activation, ISA_ACT, s->origin, sum ? 5 : 4, o, 2, attr);
    s->l->busy[s->core][ISA_ACT] += (int64_t)isa_operand_free(&dst.o);
}

// The keys that some row of this tile sees, as the range of 128-blocks that are not closed everywhere.
static void visible(const attention_site *s, int64_t *from, int64_t *to)
{
    *from = 0;
    *to = s->keys;
    while (*to - *from > LOWER_ROWS && mask_state(s, *from, LOWER_ROWS) == MASK_CLOSED) *from += LOWER_ROWS;
    while (*to - *from > LOWER_ROWS) {
        const int64_t last = (*to - 1) / LOWER_ROWS * LOWER_ROWS;
        if (mask_state(s, last, *to - last) != MASK_CLOSED) break;
        *to = last;
    }
}

static glia_status emit_tile(const attention_site *s, tile_operand dst)
{
    tile_function *f = s->l->f[s->core];
    const int psize = num_size(s->a->p_dtype);
    int64_t from, to;
    visible(s, &from, &to);
    tile_id running = 0, sum = 0, acc = 0;
    for (int64_t k0 = from; k0 < to; k0 += ATTENTION_KEYS) {
        const int64_t kn = to - k0 < ATTENTION_KEYS ? to - k0 : ATTENTION_KEYS;
        const tile_id scores = tile_new(f, ISA_SBUF, s->rows, (uint64_t)kn * 4);
        for (int64_t k = 0; k < kn; k += DOT_N) {
            const int n = (int)(kn - k < DOT_N ? kn - k : DOT_N);
            TRY(emit_scores(s, k0 + k, n, mask_state(s, k0 + k, n), tile_view(f, scores, NUM_F32, s->rows, k * 4, n)));
        }
        const tile_operand all = tile_view(f, scores, NUM_F32, s->rows, 0, (int)kn);
        tile_id top = new_column(s);
        emit_max(s, column(s, top), all);
        if (running) {
            const tile_id next = new_column(s);
            emit_tt(s, column(s, next), column(s, top), column(s, running), ISA_ALU_MAXIMUM);
            top = next;
        }
        const tile_id minus = emit_minus(s, top), part = new_column(s);
        const tile_id p = tile_new(f, ISA_SBUF, s->rows, (uint64_t)(kn * psize));
        emit_exp(s, tile_view(f, p, s->a->p_dtype, s->rows, 0, (int)kn), all, minus, part);
        const tile_id bank = tile_new(f, ISA_PSUM, s->rows, (uint64_t)s->d * 4);
        TRY(emit_values(s, k0, kn, p, bank));
        const tile_operand fresh = tile_view(f, bank, NUM_F32, s->rows, 0, (int)s->d);
        const tile_id next_acc = tile_new(f, ISA_SBUF, s->rows, (uint64_t)s->d * 4);
        const tile_operand to_acc = tile_view(f, next_acc, NUM_F32, s->rows, 0, (int)s->d);
        if (!running) {
            lower_copy(s->l, s->core, lower_copy_engine(s->l, s->core, s->d, true), s->origin, to_acc, fresh);
            sum = part;
        } else {
            const tile_id scale = new_column(s), next_sum = new_column(s);
            emit_exp(s, column(s, scale), column(s, running), minus, 0);
            const tile_operand so[4] = { column(s, next_sum), column(s, sum), column(s, scale), column(s, part) };
            const uint8_t attr[4] = { ISA_ALU_MULTIPLY, 0, ISA_ALU_ADD, 0 };
            tile_emit(f, ISA_scalar_tensor_tensor, ISA_DVE, s->origin, 4, so, 4, attr);
            const tile_operand ao[4] = { to_acc, tile_view(f, acc, NUM_F32, s->rows, 0, (int)s->d), column(s, scale), fresh };
            tile_emit(f, ISA_scalar_tensor_tensor, ISA_DVE, s->origin, 4, ao, 4, attr);
            s->l->busy[s->core][ISA_DVE] += s->d + 64;
            sum = next_sum;
        }
        running = top;
        acc = next_acc;
    }
    const tile_id inverse = new_column(s);
    const tile_operand ro[2] = { column(s, inverse), column(s, sum) };
    tile_emit(f, ISA_reciprocal, ISA_DVE, s->origin, 2, ro, 0, NULL);
    emit_ts(s, dst, tile_view(f, acc, NUM_F32, s->rows, 0, (int)s->d), column(s, inverse), ISA_ALU_MULTIPLY);
    return GLIA_OK;
}

// Which core makes a row tile: the one that has its queries' tokens, else halves of the heads.
static uint32_t core_of(const lower *l, const dot_work *w, int64_t tokens, int64_t b, int64_t mt, int64_t m_tiles)
{
    const int64_t cores = l->m->core_count;
    if (cores == 1) return 0;
    const int64_t t_tiles = tokens / LOWER_ROWS;
    if (tokens % LOWER_ROWS == 0 && t_tiles >= 2) return (uint32_t)(mt % t_tiles * cores / t_tiles);
    return (uint32_t)((b * m_tiles + mt) * cores / (w->batch * m_tiles));
}

// A stand-in for the probabilities: the second product is prepared as if they were an operand in rows.
static void stand_in(lower *l, const fused_attention *a, const dot_work *qk)
{
    const ir_inst *p = a->out->operands[0];
    value *v = lower_value(l, p);
    *v = (value){ .store = store_rows(l, p->shape.dtype, qk->batch, qk->m, qk->n), .dtype = p->shape.dtype, .rank = p->shape.rank };
    int64_t step = 1;
    for (int d = p->shape.rank - 1; d >= 0; d--) {
        if (d == p->shape.rank - 2) step = 1;
        v->dims[d] = p->shape.dims[d];
        if (d == p->shape.rank - 1) v->cs[d] = step;
        else v->rs[d] = step;
        step *= p->shape.dims[d];
    }
}

glia_status lower_attention(lower *l, const fused_attention *a)
{
    TRY(lower_flush(l));
    const ir_inst *out = a->out;
    dot_work qk, pv;
    value left[2], right[2];
    TRY(dot_prepare(l, a->scores, &qk, &left[0], &right[0]));
    stand_in(l, a, &qk);
    TRY(dot_prepare(l, out, &pv, &left[1], &right[1]));
    BUG_ON(pv.n > DOT_N);   // fuse.c leaves those apart
    store *st = store_rows(l, out->shape.dtype, qk.batch, qk.m, pv.n);
    value_in_rows(lower_value(l, out), st, &out->shape, out->shape.rank - pv.rhs.nx);
    const int64_t tokens = a->scores->shape.dims[a->scores->shape.rank - 2];
    for (int t = 0; t < st->tile_count; t++) {
        const int64_t b = t / st->tiles_per_block, mt = t % st->tiles_per_block;
        const uint32_t core = core_of(l, &qk, tokens, b, mt, st->tiles_per_block);
        attention_site s = { .l = l, .a = a, .qk = &qk, .pv = &pv, .core = core, .origin = lower_origin(l, out), .b = b,
                             .m0 = mt * LOWER_ROWS, .keys = qk.n, .d = pv.n, .rows = store_tile_rows(st, t) };
        const tile_id tile = tile_new(l->f[core], ISA_SBUF, s.rows, (uint64_t)(pv.n * num_size(st->dtype)));
        TRY(emit_tile(&s, tile_view(l->f[core], tile, st->dtype, s.rows, 0, (int)pv.n)));
        st->tile[core][t] = tile;
    }
    return GLIA_OK;
}
