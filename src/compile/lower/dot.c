// SPDX-License-Identifier: Apache-2.0
// Matrix products: dot with any dimension numbers, as tiles of the PE.
//
//   out[m, n] = sum over k of lhs[m, k] * rhs[k, n], for each batch index
//
// The lhs is stationary (at most 128 of m), the rhs moves (at most 512 of n), k is on the partitions of both. An operand
// whose k is on its free axis is transposed through the PE; a packed weight comes from HBM ready to use. Up to four
// PSUM banks accumulate over k at once, so that a moving tile serves four row tiles while it is there.
#include "compile/lower/dot.h"

#include <math.h>
#include <string.h>

static void side_init(dot_side *s, const value *v, const ir_dims *batch, const ir_dims *contract)
{
    *s = (dot_side){ .v = v, .x_total = 1 };
    bool used[LOWER_RANK] = { false };
    for (int k = 0; k < batch->count; k++) {
        const int d = (int)batch->items[k];
        used[d] = true;
        s->bd[s->nb] = v->dims[d];
        s->brs[s->nb] = v->rs[d];
        s->bcs[s->nb++] = v->cs[d];
    }
    for (int k = 0; k < contract->count; k++) {
        const int d = (int)contract->items[k];
        used[d] = true;
        s->kd[s->nk] = v->dims[d];
        s->krs[s->nk] = v->rs[d];
        s->kcs[s->nk++] = v->cs[d];
    }
    for (int d = 0; d < v->rank; d++) {
        if (used[d]) continue;
        s->xd[s->nx] = v->dims[d];
        s->xrs[s->nx] = v->rs[d];
        s->xcs[s->nx++] = v->cs[d];
        s->x_total *= v->dims[d];
    }
}

static void side_drop_k(dot_side *s, int d)
{
    memmove(&s->kd[d], &s->kd[d + 1], (size_t)(s->nk - d - 1) * sizeof s->kd[0]);
    memmove(&s->krs[d], &s->krs[d + 1], (size_t)(s->nk - d - 1) * sizeof s->krs[0]);
    memmove(&s->kcs[d], &s->kcs[d + 1], (size_t)(s->nk - d - 1) * sizeof s->kcs[0]);
    s->nk--;
}

static bool mergeable(const dot_side *s, int d)
{
    return s->krs[d] == s->krs[d + 1] * s->kd[d + 1] && s->kcs[d] == s->kcs[d + 1] * s->kd[d + 1];
}

// Contracted dims that are one progression on both sides become one; sizes of 1 vanish.
static void merge_k(dot_side *a, dot_side *b)
{
    for (int d = 0; d < a->nk;) {
        if (a->kd[d] == 1 && a->nk > 1) {
            side_drop_k(a, d);
            side_drop_k(b, d);
            continue;
        }
        d++;
    }
    for (int d = a->nk - 2; d >= 0; d--)
        if (mergeable(a, d) && mergeable(b, d)) {
            dot_side *both[2] = { a, b };
            for (int k = 0; k < 2; k++) {
                both[k]->kd[d + 1] *= both[k]->kd[d];
                side_drop_k(both[k], d);
            }
        }
    if (a->nk == 0) {       // an outer product: one k of size 1
        dot_side *both[2] = { a, b };
        for (int k = 0; k < 2; k++) {
            both[k]->nk = 1;
            both[k]->kd[0] = 1;
            both[k]->krs[0] = both[k]->kcs[0] = 0;
        }
    }
}

static void make_chunks(dot_work *w)
{
    const dot_side *s = &w->lhs;
    const int inner = s->nk - 1;
    int64_t outer = 1;
    for (int d = 0; d < inner; d++) outer *= s->kd[d];
    const int64_t per = (s->kd[inner] + LOWER_ROWS - 1) / LOWER_ROWS;
    w->chunk_count = (int)(outer * per);
    w->chunks = ARENA_ARRAY(w->l->m->arena, dot_chunk, (size_t)w->chunk_count);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t c = 0; c < per; c++) {
            dot_chunk *k = &w->chunks[o * per + c];
            k->index = o * per + c;
            int64_t left = o;
            for (int d = inner - 1; d >= 0; d--) {
                k->outer[d] = left % s->kd[d];
                left /= s->kd[d];
            }
            k->k0 = c * LOWER_ROWS;
            k->kc = (int)(s->kd[inner] - k->k0 < LOWER_ROWS ? s->kd[inner] - k->k0 : LOWER_ROWS);
        }
    w->kc = w->chunks[0].kc;
}

// Origin (row, col) of matrix element (x = 0, chunk start) for a batch index.
static void origin_of(const dot_side *s, int64_t b, const dot_chunk *k, int64_t *row, int64_t *col)
{
    *row = s->v->row;
    *col = s->v->col;
    for (int d = s->nb - 1; d >= 0; d--) {
        *row += b % s->bd[d] * s->brs[d];
        *col += b % s->bd[d] * s->bcs[d];
        b /= s->bd[d];
    }
    const int inner = s->nk - 1;
    for (int d = 0; d < inner; d++) {
        *row += k->outer[d] * s->krs[d];
        *col += k->outer[d] * s->kcs[d];
    }
    *row += k->k0 * s->krs[inner];
    *col += k->k0 * s->kcs[inner];
}

static void x_offset(const dot_side *s, int64_t x, int64_t *row, int64_t *col)
{
    for (int d = s->nx - 1; d >= 0; d--) {
        *row += x % s->xd[d] * s->xrs[d];
        *col += x % s->xd[d] * s->xcs[d];
        x /= s->xd[d];
    }
}

// ---- transposing through the PE ------------------------------------------------------------------------------------

static tile_id identity(dot_work *w, uint32_t core, num_dtype dtype)
{
    lower *l = w->l;
    const int64_t key[] = { dtype };
    tile_id *memo = lower_memo_find(l, NULL, core, MEMO_IDENTITY, COUNT_OF(key), key);
    if (*memo) return *memo;
    tile_function *f = l->f[core];
    const tile_id t = tile_new(f, ISA_SBUF, LOWER_ROWS, (uint64_t)LOWER_ROWS * (uint64_t)num_size(dtype));
    *memo = t;
    const tile_operand all = tile_view(f, t, dtype, LOWER_ROWS, 0, LOWER_ROWS);
    const tile_operand set[2] = { all, tile_plain(isa_imm_f32(1.0f)) };
    tile_emit(f, ISA_memset, ISA_POOL, w->origin, 2, set, 0, NULL);
    const int64_t step[1] = { -1 };
    const uint32_t count[1] = { LOWER_ROWS };
    const tile_operand keep[4] = { all, all, tile_plain(isa_pattern(0, 1, 1, step, count)), tile_plain(isa_imm_f32(0.0f)) };
    const uint8_t attr[1] = { ISA_ALU_EQ };
    tile_emit(f, ISA_affine_select, ISA_POOL, w->origin, 4, keep, 1, attr);
    return t;
}

static num_dtype transposed_dtype(const dot_work *w, num_dtype dtype)
{
    return hw_flag(w->l->m->chip->transpose_mode) ? dtype : NUM_F32;
}

static void emit_transpose(dot_work *w, uint32_t core, tile_operand dst, tile_operand data)
{
    const int rows = data.o.partitions;
    const tile_id id = identity(w, core, (num_dtype)data.o.dtype);
    tile_operand eye = tile_view(w->l->f[core], id, (num_dtype)data.o.dtype, rows, 0, rows);
    // The identity's partitions must be those of the data.
    eye.o.start_partition = 0;
    const tile_operand o[3] = { dst, data, eye };
    tile_emit(w->l->f[core], ISA_transpose, ISA_PE, w->origin, 3, o, 0, NULL);
}

static bool legal_start(int start, int count)
{
    return start == 0 || (start % 32 == 0 && count <= 32) || (start == 64 && count <= 64);
}

// Transposes `count` pieces, [rows_p, kc] each, side by side into one SBUF tile [kc, sum of rows].
tile_id dot_transpose(dot_work *w, uint32_t core, const dot_piece *pieces, int count, int kc, int total)
{
    lower *l = w->l;
    tile_function *f = l->f[core];
    const num_dtype dtype = w->dtype, psum = transposed_dtype(w, dtype);
    const tile_id bank = tile_new(f, ISA_PSUM, kc, (uint64_t)total * (uint64_t)num_size(psum));
    for (int p = 0; p < count; p++)
        emit_transpose(w, core, tile_view(f, bank, psum, kc, (int64_t)pieces[p].at * num_size(psum), pieces[p].rows), pieces[p].data);
    const tile_id t = tile_new(f, ISA_SBUF, kc, (uint64_t)total * (uint64_t)num_size(dtype));
    lower_copy(l, core, lower_copy_engine(l, core, total, true), w->origin, tile_view(f, t, dtype, kc, 0, total),
               tile_view(f, bank, psum, kc, 0, total));
    return t;
}

// ---- operands with k on partitions ---------------------------------------------------------------------------------

static glia_status from_hbm(dot_work *w, uint32_t core, const dot_side *s, int64_t b, const dot_chunk *k, int64_t x0, int xn,
                            tile_operand *out)
{
    lower *l = w->l;
    tile_function *f = l->f[core];
    int64_t row, col;
    origin_of(s, b, k, &row, &col);
    const int64_t key[] = { b, k->index, x0, xn, s == &w->lhs, (int64_t)(intptr_t)w->i };
    tile_id *memo = lower_memo_find(l, s->v->store, core, MEMO_ASSEMBLED, COUNT_OF(key), key);
    if (!*memo) {
        const int64_t kstep = s->kcs[s->nk - 1];
        const bool x_inner = s->nx > 0 && (s->xcs[s->nx - 1] == 1 || s->xd[s->nx - 1] == 1);
        tile_id t;
        if (x_inner || kstep != 1) {
            // k on partitions straight from memory: rows of x.
            t = tile_new(f, ISA_SBUF, k->kc, (uint64_t)xn * (uint64_t)num_size(w->dtype));
            for (int64_t x = x0; x < x0 + xn;) {
                const int64_t inner = s->nx ? s->xd[s->nx - 1] : 1;
                int64_t n = s->nx ? inner - x % inner : 1;
                if (n > x0 + xn - x) n = x0 + xn - x;
                int64_t r = row, c = col, off[LOWER_ROWS];
                x_offset(s, x, &r, &c);
                for (int p = 0; p < k->kc; p++) off[p] = c + p * kstep;
                const int64_t dims[1] = { n }, steps[1] = { s->nx ? s->xcs[s->nx - 1] : 1 };
                TRY(lower_load_rows(l, core, w->i, s->v, off, k->kc, 1, dims, steps,
                                    tile_view(f, t, w->dtype, k->kc, (x - x0) * num_size(w->dtype), (int)n),
                                    store_is_static(s->v->store)));
                x += n;
            }
        } else {
            dot_piece pieces[DOT_N];
            int count = 0;
            for (int64_t x = x0; x < x0 + xn;) {
                int64_t off[LOWER_ROWS];
                const int rows = (int)(x0 + xn - x < LOWER_ROWS ? x0 + xn - x : LOWER_ROWS);
                for (int p = 0; p < rows; p++) {
                    int64_t r = row, c = col;
                    x_offset(s, x + p, &r, &c);
                    off[p] = c;
                }
                const tile_id raw = tile_new(f, ISA_SBUF, rows, (uint64_t)k->kc * (uint64_t)num_size(w->dtype));
                const tile_operand view = tile_view(f, raw, w->dtype, rows, 0, k->kc);
                const int64_t dims[1] = { k->kc }, steps[1] = { 1 };
                TRY(lower_load_rows(l, core, w->i, s->v, off, rows, 1, dims, steps, view, store_is_static(s->v->store)));
                pieces[count++] = (dot_piece){ view, (int)(x - x0), rows };
                x += rows;
            }
            t = dot_transpose(w, core, pieces, count, k->kc, xn);
        }
        memo = lower_memo_find(l, s->v->store, core, MEMO_ASSEMBLED, COUNT_OF(key), key);
        *memo = t;
    }
    *out = tile_view(f, *memo, w->dtype, k->kc, 0, xn);
    return GLIA_OK;
}

static glia_status from_rows(dot_work *w, uint32_t core, const dot_side *s, int64_t b, const dot_chunk *k, int64_t x0, int xn,
                             tile_operand *out, bool *possible)
{
    lower *l = w->l;
    tile_function *f = l->f[core];
    store *st = s->v->store;
    const int size = num_size(st->dtype);
    const int inner = s->nk - 1;
    int64_t row, col;
    origin_of(s, b, k, &row, &col);
    *possible = true;
    if (s->krs[inner] == 1 || (s->kd[inner] == 1 && s->krs[inner] == 0 && s->kcs[inner] == 0)) {
        // k walks storage rows: the tile itself, if the chunk lies in one and x is one progression of columns.
        const int64_t in_block = row % st->block_rows;
        const int tile = (int)(row / st->block_rows * st->tiles_per_block + in_block / LOWER_ROWS);
        const int start = (int)(in_block % LOWER_ROWS);
        int64_t r = 0, c = 0, r1 = 0, c1 = 0, r2 = 0, c2 = 0;
        x_offset(s, x0, &r, &c);
        x_offset(s, xn > 1 ? x0 + 1 : x0, &r1, &c1);
        x_offset(s, x0 + xn - 1, &r2, &c2);
        const int64_t step = xn > 1 ? c1 - c : 1;
        if (start == 0 && start + k->kc <= store_tile_rows(st, tile) && r == 0 && r2 == 0 && c2 - c == step * (xn - 1)) {
            TRY(store_need(l, w->i, st, core, tile));
            const int64_t steps[1] = { step };
            const uint32_t counts[1] = { (uint32_t)xn };
            *out = tile_view_ap(f, st->tile[core][tile], st->dtype, k->kc, (col + c) * size, 1, steps, counts);
            return GLIA_OK;
        }
        *possible = false;
        return GLIA_OK;
    }
    if (s->kcs[inner] != 1 || s->krs[inner] != 0) {
        *possible = false;
        return GLIA_OK;
    }
    // k walks columns: pieces of consecutive rows with one column origin, each in one tile.
    dot_piece pieces[DOT_N];
    struct { int tile, start, rows; int64_t col; } where[DOT_N];
    int count = 0;
    bool legal = true;
    for (int64_t x = x0; x < x0 + xn;) {
        int64_t r = row, c = col;
        x_offset(s, x, &r, &c);
        const int64_t in_block = r % st->block_rows;
        const int tile = (int)(r / st->block_rows * st->tiles_per_block + in_block / LOWER_ROWS);
        const int start = (int)(in_block % LOWER_ROWS);
        int n = 1;
        while (x + n < x0 + xn && start + n < store_tile_rows(st, tile)) {
            int64_t r2 = row, c2 = col;
            x_offset(s, x + n, &r2, &c2);
            if (r2 != r + n || c2 != c) break;
            n++;
        }
        where[count].tile = tile;
        where[count].start = start;
        where[count].rows = n;
        where[count].col = c;
        legal = legal && legal_start(start, n);
        count++;
        x += n;
    }
    if (count == 1 || !legal) {
        // Transpose whole tiles, once for every reader, and point into the result.
        tile_id whole[DOT_N];
        for (int p = 0; p < count; p++) {
            const int rows = store_tile_rows(st, where[p].tile);
            const int64_t key[] = { where[p].tile, where[p].col, k->kc };
            tile_id *memo = lower_memo_find(l, st, core, MEMO_TRANSPOSED, COUNT_OF(key), key);
            if (!*memo) {
                TRY(store_need(l, w->i, st, core, where[p].tile));
                const dot_piece one = { tile_view(f, st->tile[core][where[p].tile], st->dtype, rows, where[p].col * size, k->kc), 0, rows };
                const tile_id t = dot_transpose(w, core, &one, 1, k->kc, rows);
                memo = lower_memo_find(l, st, core, MEMO_TRANSPOSED, COUNT_OF(key), key);
                *memo = t;
            }
            whole[p] = *memo;
        }
        if (count == 1) {
            *out = tile_view(f, whole[0], st->dtype, k->kc, (int64_t)where[0].start * size, where[0].rows);
            return GLIA_OK;
        }
        const tile_id t = tile_new(f, ISA_SBUF, k->kc, (uint64_t)xn * (uint64_t)size);
        int at = 0;
        for (int p = 0; p < count; p++) {
            lower_copy(l, core, ISA_DVE, w->origin, tile_view(f, t, st->dtype, k->kc, (int64_t)at * size, where[p].rows),
                       tile_view(f, whole[p], st->dtype, k->kc, (int64_t)where[p].start * size, where[p].rows));
            at += where[p].rows;
        }
        *out = tile_view(f, t, st->dtype, k->kc, 0, xn);
        return GLIA_OK;
    }
    const int64_t key[] = { b, k->index, x0, xn, s == &w->lhs, (int64_t)(intptr_t)w->i };
    tile_id *memo = lower_memo_find(l, st, core, MEMO_ASSEMBLED, COUNT_OF(key), key);
    if (!*memo) {
        int at = 0;
        for (int p = 0; p < count; p++) {
            TRY(store_need(l, w->i, st, core, where[p].tile));
            tile_operand data = tile_view(f, st->tile[core][where[p].tile], st->dtype, store_tile_rows(st, where[p].tile),
                                          where[p].col * size, k->kc);
            data.o.start_partition = (uint8_t)where[p].start;
            data.o.partitions = (uint8_t)where[p].rows;
            pieces[p] = (dot_piece){ data, at, where[p].rows };
            at += where[p].rows;
        }
        const tile_id t = dot_transpose(w, core, pieces, count, k->kc, xn);
        memo = lower_memo_find(l, st, core, MEMO_ASSEMBLED, COUNT_OF(key), key);
        *memo = t;
    }
    *out = tile_view(f, *memo, st->dtype, k->kc, 0, xn);
    return GLIA_OK;
}

// A packed weight: [block][partition][chunk][column]; a DMA brings several chunks of one block.
static glia_status from_packed(dot_work *w, uint32_t core, const dot_chunk *k, int64_t x0, int xn, tile_operand *out)
{
    lower *l = w->l;
    tile_function *f = l->f[core];
    const value *v = w->rhs.v;
    const int nb = w->packed, size = num_size(w->dtype);
    int per = DOT_STAGE_BYTES / (nb * size);
    if (per < 1) per = 1;
    if (per > w->chunk_count) per = w->chunk_count;
    const int64_t group = k->index / per, block = x0 / nb;
    const int chunks = (int)(w->chunk_count - group * per < per ? w->chunk_count - group * per : per);
    const int64_t key[] = { block, group, (int64_t)(intptr_t)w->i };
    tile_id *memo = lower_memo_find(l, v->store, core, MEMO_WEIGHT, COUNT_OF(key), key);
    if (!*memo) {
        const tile_id t = tile_new(f, ISA_SBUF, w->kc, (uint64_t)chunks * (uint64_t)nb * (uint64_t)size);
        int64_t off[LOWER_ROWS];
        for (int p = 0; p < w->kc; p++)
            off[p] = ((block * w->kc + p) * w->chunk_count + group * per) * nb;
        const int64_t dims[1] = { (int64_t)chunks * nb }, steps[1] = { 1 };
        TRY(lower_load_rows(l, core, w->i, v, off, w->kc, 1, dims, steps, tile_view(f, t, w->dtype, w->kc, 0, chunks * nb), true));
        memo = lower_memo_find(l, v->store, core, MEMO_WEIGHT, COUNT_OF(key), key);
        *memo = t;
    }
    *out = tile_view(f, *memo, w->dtype, k->kc, (k->index % per) * nb * size, xn);
    return GLIA_OK;
}

// 128 columns of a packed weight as the stationary operand.
static glia_status from_packed_columns(dot_work *w, uint32_t core, const dot_chunk *k, int64_t n0, tile_operand *out)
{
    tile_operand block;
    TRY(from_packed(w, core, k, n0 / w->packed * w->packed, w->packed, &block));
    *out = block;
    out->o.offset += n0 % w->packed * num_size(w->dtype);
    out->o.count[0] = LOWER_ROWS;
    return GLIA_OK;
}

// An operand kept by features: k is on partitions already.
static glia_status from_features(dot_work *w, uint32_t core, const dot_side *s, const dot_chunk *k, int64_t x0, int xn, tile_operand *out)
{
    store *st = s->v->store;
    const int64_t t = k->k0 / LOWER_ROWS;
    const int g = (int)(t / st->pack);
    TRY(feature_need(w->l, w->i, st, core, g));
    const int64_t x = x0 - st->first[core];
    BUG_ON(x < 0 || x + xn > st->width[core] || k->kc != LOWER_ROWS);
    *out = tile_view(w->l->f[core], st->tile[core][g], st->dtype, LOWER_ROWS,
                     ((t % st->pack) * st->width[core] + x) * num_size(st->dtype), xn);
    return GLIA_OK;
}

glia_status dot_operand(dot_work *w, uint32_t core, dot_side *s, int64_t b, const dot_chunk *k, int64_t x0, int xn,
                           tile_operand *out)
{
    if (s == &w->rhs && w->packed) return from_packed(w, core, k, x0, xn, out);
    if (s->v->store->kind == STORE_FEATURES) return from_features(w, core, s, k, x0, xn, out);
    if (s->v->store->kind == STORE_ROWS) {
        bool possible = false;
        TRY(from_rows(w, core, s, b, k, x0, xn, out, &possible));
        if (possible) return GLIA_OK;
        return LOWER_UNSUPPORTED(w->i, "contracts an operand whose contracted dimension is neither rows nor columns of its tiles");
    }
    return from_hbm(w, core, s, b, k, x0, xn, out);
}

// ---- the product ---------------------------------------------------------------------------------------------------

// Can every chunk of this rows operand be reached? Otherwise it goes through HBM before anything is emitted.
static bool rows_suffice(const dot_work *w, const dot_side *s)
{
    const store *st = s->v->store;
    const int inner = s->nk - 1;
    if (s->krs[inner] == 0 && s->kcs[inner] == 1) return true;
    if (s->krs[inner] != 1 || s->kcs[inner] != 0) return false;
    for (int64_t b = 0; b < w->batch; b++)
        for (int c = 0; c < w->chunk_count; c++) {
            int64_t row, col;
            origin_of(s, b, &w->chunks[c], &row, &col);
            if (row % st->block_rows % LOWER_ROWS != 0) return false;
            if (row % st->block_rows + w->chunks[c].kc > st->block_rows) return false;
        }
    for (int d = 0; d < s->nx; d++)
        if (s->xrs[d] != 0 && s->xd[d] > 1) return false;
    for (int d = 0; d + 1 < s->nx; d++)
        if (s->xcs[d] != s->xcs[d + 1] * s->xd[d + 1]) return false;
    return true;
}

static glia_status settle_side(dot_work *w, dot_side *s, value *storage)
{
    if (value_is_splat(s->v) || (s->v->store->kind == STORE_ROWS && (!rows_suffice(w, s) || s->v->store->dtype != w->dtype))) {
        const ir_inst *i = w->i->operands[s == &w->rhs];
        TRY(value_to_hbm(w->l, i, s->v, storage));
        if (storage->dtype != w->dtype) storage->dtype = w->dtype;
        const ir_attrs *a = &w->i->attrs;
        side_init(s, storage, s == &w->lhs ? &a->lhs_batch : &a->rhs_batch, s == &w->lhs ? &a->lhs_contract : &a->rhs_contract);
    }
    return GLIA_OK;
}

typedef struct dot_target {         // where results go
    store *rows;                    // a rows store, or
    store *hbm;                     // a linear HBM store [batch * m, n]
} dot_target;

uint32_t dot_cores(const dot_work *w, int64_t b, int64_t mt, int64_t m_tiles, int64_t block, int64_t blocks, bool *split)
{
    const uint32_t count = w->l->m->core_count, all = (1u << count) - 1;
    *split = false;
    if (count == 1) return 1;
    const int64_t tiles = m_tiles * w->batch, t = b * m_tiles + mt;
    if (tiles >= 2) return 1u << (uint32_t)(t * count / tiles);
    const double weight = (double)w->n * (double)w->chunk_count * w->kc * num_size(w->dtype);
    if (blocks >= 2 && lower_worth_splitting(w->l, weight)) {
        *split = true;
        return 1u << (uint32_t)(block * count / blocks);
    }
    return all;         // both make it
}

static glia_status emit_block(dot_work *w, uint32_t core, int64_t b, int64_t mt0, int group, int64_t n0, int nn,
                              const dot_target *to, tile_id stage, int64_t stage_at)
{
    lower *l = w->l;
    tile_function *f = l->f[core];
    tile_id bank[DOT_GROUP];
    int rows[DOT_GROUP];
    for (int g = 0; g < group; g++) {
        const int64_t m0 = (mt0 + g) * LOWER_ROWS;
        rows[g] = (int)(w->m - m0 < LOWER_ROWS ? w->m - m0 : LOWER_ROWS);
        bank[g] = 0;
    }
    for (int c = 0; c < w->chunk_count; c++) {
        tile_operand moving;
        TRY(dot_operand(w, core, &w->rhs, b, &w->chunks[c], n0, nn, &moving));
        for (int g = 0; g < group; g++) {
            tile_operand stationary;
            TRY(dot_operand(w, core, &w->lhs, b, &w->chunks[c], (mt0 + g) * LOWER_ROWS, rows[g], &stationary));
            if (!bank[g]) bank[g] = tile_new(f, ISA_PSUM, rows[g], (uint64_t)nn * 4);
            const tile_operand o[3] = { tile_view(f, bank[g], NUM_F32, rows[g], 0, nn), stationary, moving };
            const uint8_t attr[2] = { c > 0, ISA_PERF_NONE };
            tile_emit(f, ISA_matmul, ISA_PE, w->origin, 3, o, 2, attr);
        }
    }
    for (int g = 0; g < group; g++) {
        const num_dtype dtype = w->i->shape.dtype;
        const int size = num_size(dtype);
        tile_operand dst;
        if (to->rows) {
            const int tile = (int)(b * to->rows->tiles_per_block + mt0 + g);
            if (!to->rows->tile[core][tile])
                to->rows->tile[core][tile] = tile_new(f, ISA_SBUF, rows[g], (uint64_t)w->n * (uint64_t)size);
            dst = tile_view(f, to->rows->tile[core][tile], dtype, rows[g], n0 * size, nn);
        } else {
            dst = tile_view(f, stage, dtype, rows[g], stage_at * size, nn);
        }
        lower_copy(l, core, lower_copy_engine(l, core, nn, true), w->origin, dst, tile_view(f, bank[g], NUM_F32, rows[g], 0, nn));
    }
    return GLIA_OK;
}

static glia_status emit_rows_result(dot_work *w, const dot_target *to, int64_t block)
{
    const int64_t m_tiles = (w->m + LOWER_ROWS - 1) / LOWER_ROWS, blocks = (w->n + block - 1) / block;
    for (int64_t b = 0; b < w->batch; b++)
        for (int64_t mt = 0; mt < m_tiles;) {
            bool split;
            const uint32_t cores = dot_cores(w, b, mt, m_tiles, 0, 1, &split);
            int group = 1;
            while (group < DOT_GROUP && mt + group < m_tiles && dot_cores(w, b, mt + group, m_tiles, 0, 1, &split) == cores) group++;
            for (uint32_t c = 0; c < w->l->m->core_count; c++)
                for (int64_t k = 0; k < blocks && (cores >> c & 1); k++) {
                    const int nn = (int)(w->n - k * block < block ? w->n - k * block : block);
                    TRY(emit_block(w, c, b, mt, group, k * block, nn, to, 0, 0));
                }
            mt += group;
        }
    return GLIA_OK;
}

static glia_status emit_hbm_result(dot_work *w, const dot_target *to, int64_t block)
{
    lower *l = w->l;
    const int64_t m_tiles = (w->m + LOWER_ROWS - 1) / LOWER_ROWS, blocks = (w->n + block - 1) / block;
    const int size = num_size(w->i->shape.dtype);
    int64_t per = DOT_STAGE_BYTES / (block * size);
    if (per < 1) per = 1;
    for (int64_t b = 0; b < w->batch; b++)
        for (int64_t k0 = 0; k0 < blocks;) {
            bool split;
            const uint32_t first = dot_cores(w, b, 0, 1, k0, blocks, &split);
            int64_t k1 = k0 + 1;
            while (k1 < blocks && k1 - k0 < per && dot_cores(w, b, 0, 1, k1, blocks, &split) == first) k1++;
            const int64_t n0 = k0 * block, n1 = k1 * block < w->n ? k1 * block : w->n;
            for (int64_t mt = 0; mt < m_tiles; mt++) {
                const uint32_t cores = m_tiles == 1 ? first : dot_cores(w, b, mt, m_tiles, k0, blocks, &split);
                uint32_t core = 0;
                while (!(cores >> core & 1)) core++;
                const int rows = (int)(w->m - mt * LOWER_ROWS < LOWER_ROWS ? w->m - mt * LOWER_ROWS : LOWER_ROWS);
                const tile_id stage = tile_new(l->f[core], ISA_SBUF, rows, (uint64_t)(n1 - n0) * (uint64_t)size);
                for (int64_t k = k0; k < k1; k++) {
                    const int nn = (int)(w->n - k * block < block ? w->n - k * block : block);
                    TRY(emit_block(w, core, b, mt, 1, k * block, nn, to, stage, k * block - n0));
                }
                const int64_t st[2] = { w->n, 1 };
                const uint32_t ct[2] = { (uint32_t)rows, (uint32_t)(n1 - n0) };
                const int64_t at = (b * w->m + mt * LOWER_ROWS) * w->n + n0;
                tile_emit_dma(l->f[core], ISA_dma_copy, ISA_POOL, 5, w->origin,
                              tile_plain(isa_hbm(to->hbm->slot, w->i->shape.dtype, at * size, 2, st, ct)),
                              tile_view(l->f[core], stage, w->i->shape.dtype, rows, 0, (int)(n1 - n0)), ISA_DGE_NONE);
                lower_wrote_hbm(l, core, to->hbm);
            }
            k0 = k1;
        }
    return GLIA_OK;
}

// Matrix products of one tile each, before any is made.
static glia_status judge_size(const dot_work *w)
{
    double k = 1;
    for (int d = 0; d < w->lhs.nk; d++) k *= (double)w->lhs.kd[d];
    return lower_judge_work(w->i, (double)w->batch * ceil((double)w->m / LOWER_ROWS) * ceil((double)w->n / DOT_N) * ceil(k / LOWER_ROWS));
}

// Judges the operands and cuts the contraction into chunks. `left` and `right` hold views that went through HBM.
glia_status dot_prepare(lower *l, const ir_inst *i, dot_work *w, value *left, value *right)
{
    *w = (dot_work){ .l = l, .i = i, .origin = lower_origin(l, i), .batch = 1 };
    const num_dtype a = i->operands[0]->shape.dtype, bt = i->operands[1]->shape.dtype;
    if (!num_is_float(a) || !num_is_float(bt) || num_bits(a) == 64 || num_bits(bt) == 64)
        return LOWER_UNSUPPORTED(i, "contracts %s with %s; the PE takes floats of 32 bits or fewer", num_dtype_get(a)->name, num_dtype_get(bt)->name);
    if ((num_bits(a) == 32) != (num_bits(bt) == 32))
        return LOWER_UNSUPPORTED(i, "contracts %s with %s; fp32 pairs only with fp32", num_dtype_get(a)->name, num_dtype_get(bt)->name);
    if (a != bt) return LOWER_UNSUPPORTED(i, "contracts %s with %s", num_dtype_get(a)->name, num_dtype_get(bt)->name);
    w->dtype = a;
    side_init(&w->lhs, lower_value(l, i->operands[0]), &i->attrs.lhs_batch, &i->attrs.lhs_contract);
    side_init(&w->rhs, lower_value(l, i->operands[1]), &i->attrs.rhs_batch, &i->attrs.rhs_contract);
    for (int k = 0; k < w->lhs.nb; k++) w->batch *= w->lhs.bd[k];
    w->m = w->lhs.x_total;
    w->n = w->rhs.x_total;
    const store *weight = w->rhs.v->store;
    w->packed = weight && weight->kind == STORE_HBM ? weight->packed_block : 0;
    if (!w->packed) merge_k(&w->lhs, &w->rhs);
    TRY(judge_size(w));
    make_chunks(w);
    TRY(settle_side(w, &w->lhs, left));
    TRY(settle_side(w, &w->rhs, right));
    if (!w->packed) {
        merge_k(&w->lhs, &w->rhs);
        make_chunks(w);
    }
    return GLIA_OK;
}

static bool in_group(const lower *l, const ir_inst *i)
{
    for (uint32_t k = 0; k < l->group_count; k++)
        if (l->group[k] == i) return true;
    return false;
}

// May the product stay in PSUM for its readers? Only the vector engines' elementwise ops read it there, and only those
// of the same group come before the bank is needed again.
static bool stays_in_psum(const lower *l, const ir_inst *i)
{
    for (uint32_t k = 0; k < l->computation->insts.count; k++) {
        const ir_inst *u = l->computation->insts.items[k];
        for (int o = 0; o < u->operand_count; o++)
            if (u->operands[o] == i && (u->op == IR_DOT || !in_group(l, u))) return false;
    }
    return i->shape.dtype == NUM_F32;
}

glia_status lower_dot_features(lower *l, const ir_inst *i, uint32_t core, int g)
{
    dot_work w;
    value left, right;
    TRY(dot_prepare(l, i, &w, &left, &right));
    store *st = lower_value(l, i)->store;
    tile_function *f = l->f[core];
    const int tiles = feature_pack(st, g);
    const int64_t width = st->width[core], cols = tiles * width;
    const int size = num_size(st->dtype);
    const bool epilogue = cols <= DOT_N && stays_in_psum(l, i);
    const tile_id out = tile_new(f, epilogue ? ISA_PSUM : ISA_SBUF, LOWER_ROWS, (uint64_t)(cols * size));
    st->tile[core][g] = out;
    // A bank holds whole tiles of the group where they fit, else parts of one tile.
    const int64_t per_bank = width >= DOT_N ? 1 : DOT_N / width;
    for (int64_t t0 = 0; t0 < tiles; t0 += per_bank) {
        const int64_t count = tiles - t0 < per_bank ? tiles - t0 : per_bank;
        for (int64_t x0 = 0; x0 < width; x0 += DOT_N) {
            const int64_t xn = width - x0 < DOT_N ? width - x0 : DOT_N;
            const tile_id bank = epilogue ? out : tile_new(f, ISA_PSUM, LOWER_ROWS, (uint64_t)(count * xn * 4));
            for (int64_t t = 0; t < count; t++)
                for (int c = 0; c < w.chunk_count; c++) {
                    const int64_t n0 = ((int64_t)g * st->pack + t0 + t) * LOWER_ROWS;
                    tile_operand weight, moving;
                    TRY(from_packed_columns(&w, core, &w.chunks[c], n0, &weight));
                    TRY(dot_operand(&w, core, &w.lhs, 0, &w.chunks[c], st->first[core] + x0, (int)xn, &moving));
                    const tile_operand o[3] = { tile_view(f, bank, NUM_F32, LOWER_ROWS, t * xn * 4, (int)xn), weight, moving };
                    const uint8_t attr[2] = { c > 0, ISA_PERF_NONE };
                    tile_emit(f, ISA_matmul, ISA_PE, w.origin, 3, o, 2, attr);
                }
            if (epilogue) continue;
            lower_copy(l, core, lower_copy_engine(l, core, count * xn, true), w.origin,
                       tile_view(f, out, st->dtype, LOWER_ROWS, (t0 * width + x0) * size, (int)(count * xn)),
                       tile_view(f, bank, NUM_F32, LOWER_ROWS, 0, (int)(count * xn)));
        }
    }
    return GLIA_OK;
}

glia_status lower_dot(lower *l, const ir_inst *i)
{
    TRY(lower_flush(l));
    dot_work w;
    value left, right;
    TRY(dot_prepare(l, i, &w, &left, &right));

    const int64_t m_tiles = (w.m + LOWER_ROWS - 1) / LOWER_ROWS;
    int64_t block = w.packed ? w.packed : DOT_N;
    if (!w.packed && l->m->core_count == 2 && w.n > 64 && w.n < 2 * block) block = (w.n / 2 + 31) / 32 * 32;
    const int64_t blocks = (w.n + block - 1) / block;
    bool split;
    dot_cores(&w, 0, 0, m_tiles, 0, blocks, &split);
    const bool wide = (uint64_t)w.n * (uint64_t)num_size(i->shape.dtype) > DOT_WIDE_BYTES;
    value *out = lower_value(l, i);
    dot_target to = { 0 };
    if (split || wide) {
        to.hbm = l->want[i->id] ? l->want[i->id] : store_hbm(l, "dot", i->shape.dtype, (uint64_t)(w.batch * w.m * w.n));
        value_linear(out, to.hbm, &i->shape);
        return emit_hbm_result(&w, &to, block);
    }
    to.rows = store_rows(l, i->shape.dtype, w.batch, w.m, w.n);
    value_in_rows(out, to.rows, &i->shape, i->shape.rank - w.rhs.nx);
    return emit_rows_result(&w, &to, block);
}
