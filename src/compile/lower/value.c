// SPDX-License-Identifier: Apache-2.0
// Values and their stores: views, loads into SBUF, copies to HBM, and what has to be exchanged between two cores.
#include "compile/lower/lower.h"

#include <string.h>

// Rows of activations are moved by POOL, weights by SP: each stream issues without waiting for the other's data.
enum { QUEUE_ACT_IN = 4, QUEUE_ACT_OUT = 5, QUEUE_WEIGHT = 0, WEIGHT_QUEUES = 4 };

value *lower_value(lower *l, const ir_inst *i)
{
    return &l->values[i->id];
}

store *store_hbm(lower *l, const char *name, num_dtype dtype, uint64_t elements)
{
    store *s = ARENA_NEW(l->m->arena, store);
    *s = (store){ .kind = STORE_HBM, .dtype = dtype, .elements = elements, .parameter = -1 };
    const int64_t dims[1] = { (int64_t)elements };
    const char *full = glia_arena_printf(l->m->arena, "%s.%s.%u", l->computation->name, name, l->m->program->tensors.count);
    const uint32_t t = isa_tensor_add(l->m->program, full, ISA_TENSOR_SCRATCH, dtype, 1, dims);
    l->m->program->tensors.items[t].core = l->m->core_count == 1 ? 0 : -1;
    for (uint32_t c = 0; c < l->m->core_count; c++) {
        s->slot = l->f[c]->slots.count;
        VEC_PUSH(&l->f[c]->slots) = (isa_slot){ .name = full, .kind = ISA_SLOT_GLOBAL, .access = ISA_RW, .index = t,
                                                .bytes = l->m->program->tensors.items[t].bytes };
    }
    return s;
}

store *store_rows(lower *l, num_dtype dtype, int64_t blocks, int64_t block_rows, int64_t cols)
{
    store *s = ARENA_NEW(l->m->arena, store);
    *s = (store){ .kind = STORE_ROWS, .dtype = dtype, .blocks = blocks, .block_rows = block_rows, .cols = cols,
                  .parameter = -1 };
    s->tiles_per_block = (int)((block_rows + LOWER_ROWS - 1) / LOWER_ROWS);
    s->tile_count = (int)(blocks * s->tiles_per_block);
    for (uint32_t c = 0; c < l->m->core_count; c++) s->tile[c] = ARENA_ARRAY(l->m->arena, tile_id, (size_t)s->tile_count);
    return s;
}

int store_tile_rows(const store *s, int tile)
{
    const int64_t left = s->block_rows - (int64_t)(tile % s->tiles_per_block) * LOWER_ROWS;
    return left < LOWER_ROWS ? (int)left : LOWER_ROWS;
}

int64_t store_tile_first(const store *s, int tile)
{
    return (int64_t)(tile / s->tiles_per_block) * s->block_rows + (int64_t)(tile % s->tiles_per_block) * LOWER_ROWS;
}

// Tile and partition of a storage row.
static void store_locate(const store *s, int64_t row, int *tile, int *partition)
{
    const int64_t block = row / s->block_rows, in_block = row % s->block_rows;
    *tile = (int)(block * s->tiles_per_block + in_block / LOWER_ROWS);
    *partition = (int)(in_block % LOWER_ROWS);
}

void value_linear(value *v, store *s, const ir_shape *shape)
{
    *v = (value){ .store = s, .dtype = s->dtype, .rank = shape->rank };
    int64_t step = 1;
    for (int d = shape->rank - 1; d >= 0; d--) {
        v->dims[d] = shape->dims[d];
        v->cs[d] = step;
        step *= shape->dims[d];
    }
}

void value_in_rows(value *v, store *s, const ir_shape *shape, int row_rank)
{
    *v = (value){ .store = s, .dtype = s->dtype, .rank = shape->rank };
    int64_t step = 1;
    for (int d = shape->rank - 1; d >= 0; d--) {
        if (d == row_rank - 1) step = 1;
        v->dims[d] = shape->dims[d];
        if (d < row_rank) v->rs[d] = step;
        else v->cs[d] = step;
        step *= shape->dims[d];
    }
}

bool value_is_splat(const value *v)
{
    return !v->store && !v->elements;
}

bool value_is_linear(const value *v)
{
    if (v->dyn_count || v->dtype != v->store->dtype) return false;
    int64_t step = 1;
    for (int d = v->rank - 1; d >= 0; d--) {
        if (v->dims[d] != 1 && v->cs[d] != step) return false;
        step *= v->dims[d];
    }
    return true;
}

int value_row_rank(const value *v)
{
    const store *s = v->store;
    if (!s || s->kind != STORE_ROWS || v->row != 0) return -1;
    int64_t step = s->blocks * s->block_rows;
    if (step == 1) return 0;
    int rank = 0;
    for (int d = 0; d < v->rank; d++)
        if (v->rs[d] != 0 && v->dims[d] > 1) rank = d + 1;
    int64_t rows = 1;
    for (int d = 0; d < rank; d++) rows *= v->dims[d];
    if (rows != step) return -1;
    for (int d = 0; d < rank; d++) {
        step /= v->dims[d];
        if (v->dims[d] > 1 && (v->rs[d] != step || v->cs[d] != 0)) return -1;
    }
    return rank;
}

bool lower_worth_splitting(const lower *l, double weight_bytes)
{
    // An exchange is a write, a barrier and a read, each waiting for the one before.
    const hw_chip *c = l->m->chip;
    const double exchange_s = (2 * hw_value(c->dma_fixed_ns) + hw_value(c->core_barrier_ns)) * 1e-9;
    const double saved_s = weight_bytes / 2 / (hw_value(c->dma_engines) * hw_value(c->dma_sustained_bps));
    return l->m->core_count == 2 && saved_s > exchange_s;
}

// ---- exchange between cores ----------------------------------------------------------------------------------------

void lower_barrier(lower *l)
{
    const uint8_t id[1] = { (uint8_t)(l->barriers++ & 0xff) };
    for (uint32_t c = 0; c < l->m->core_count; c++)
        tile_emit(l->f[c], ISA_barrier, ISA_POOL, 0, 0, NULL, 1, id);
    for (uint32_t k = 0; k < l->shared.count; k++) l->shared.items[k]->pending = 0;
    for (uint32_t k = 0; k < l->seen.count; k++) l->seen.items[k]->readers = 0;
    l->shared.count = l->seen.count = 0;
}

void lower_read_hbm(lower *l, uint32_t core, store *s)
{
    if (s->pending & ~(1u << core)) lower_barrier(l);
    if (l->m->core_count == 1) return;
    if (!s->readers) VEC_PUSH(&l->seen) = s;
    s->readers |= (uint8_t)(1u << core);
}

void lower_wrote_hbm(lower *l, uint32_t core, store *s)
{
    s->updated = true;
    if (l->m->core_count == 1) return;
    if (!s->pending) VEC_PUSH(&l->shared) = s;
    s->pending |= (uint8_t)(1u << core);
}

void lower_overwrite_hbm(lower *l, uint32_t core, store *s)
{
    if ((s->pending | s->readers) & ~(1u << core)) lower_barrier(l);
    if (s->parameter >= 0) l->overwrites[s->parameter] = true;
    lower_memo_forget(l, s);        // tiles that were loaded from it show what it was
}

bool value_reads(lower *l, const value *v, const store *s)
{
    if (v->store && (v->store == s || v->store->copy == s)) return true;
    for (int k = 0; k < v->dyn_count; k++)
        if (value_reads(l, lower_value(l, v->dyn[k].scalar), s)) return true;
    for (int k = 0; k < v->element_count; k++)
        if (value_reads(l, &v->elements[k], s)) return true;
    return false;
}

bool store_lives(lower *l, int id, const store *s)
{
    for (uint32_t k = 0; k < l->computation->insts.count; k++) {
        const ir_inst *user = l->computation->insts.items[k];
        // What is part of a fused pattern is read where the pattern ends.
        if (user->id <= id && !l->skip[user->id]) continue;
        for (int o = 0; o < user->operand_count; o++)
            if (user->operands[o]->id < id && value_reads(l, lower_value(l, user->operands[o]), s)) return true;
    }
    return false;
}

// ---- engines -------------------------------------------------------------------------------------------------------

isa_engine lower_copy_engine(lower *l, uint32_t core, int64_t elements, bool psum)
{
    int64_t *busy = l->busy[core];
    const double act_hz = hw_value(l->m->chip->act_hz), dve_hz = hw_value(l->m->chip->dve_hz);
    const isa_engine e = (double)(busy[ISA_ACT] + elements) / act_hz < (double)(busy[ISA_DVE] + elements) / dve_hz ? ISA_ACT
                                                                                                           : ISA_DVE;
    busy[e] += elements > 64 ? elements : 64;
    return e;
}

void lower_copy(lower *l, uint32_t core, isa_engine e, uint32_t origin, tile_operand dst, tile_operand src)
{
    // ACT without exact copies goes through fp32, which rounds integers past 2^24.
    const bool bits = dst.o.dtype == src.o.dtype && num_is_integer((num_dtype)src.o.dtype) && num_bits((num_dtype)src.o.dtype) > 24;
    if (e == ISA_ACT && bits && !hw_flag(l->m->chip->act_exact_copy)) e = ISA_DVE;
    if (e == ISA_ACT && !hw_flag(l->m->chip->act_exact_copy)) {
        const tile_operand o[3] = { dst, src, tile_plain(isa_imm_f32(1.0f)) };
        const uint8_t a[2] = { ISA_ACT_COPY, ISA_REDUCE_IDLE };
        tile_emit(l->f[core], ISA_activation, e, origin, 3, o, 2, a);
        return;
    }
    const tile_operand o[2] = { dst, src };
    tile_emit(l->f[core], ISA_tensor_copy, e, origin, 2, o, 0, NULL);
}

// ---- loads ---------------------------------------------------------------------------------------------------------

// Joins adjacent dims where one step walks both and a pattern can count them. Returns the new rank (0 when all dims are 1).
int lower_merge_dims(int rank, const int64_t *dims, int64_t *steps, int64_t *out_dims, int64_t *out_steps)
{
    int n = 0;
    for (int d = 0; d < rank; d++) {
        if (dims[d] == 1) continue;
        if (n > 0 && out_steps[n - 1] == steps[d] * dims[d] && out_dims[n - 1] * dims[d] <= UINT32_MAX) {
            out_dims[n - 1] *= dims[d];
            out_steps[n - 1] = steps[d];
            continue;
        }
        out_dims[n] = dims[d];
        out_steps[n++] = steps[d];
    }
    return n;
}

// A scalar as one element at a fixed address: a register is loaded from no other. What was found by a dynamic slice
// itself is copied, once for all its readers.
static glia_status scalar_in_memory(lower *l, const ir_inst *scalar, value *out)
{
    value *v = lower_value(l, scalar);
    if (!num_is_integer(v->dtype) || num_bits(v->dtype) > 32)
        return LOWER_UNSUPPORTED(scalar, "is a start index of type %s; a register takes integers of at most 32 bits", num_dtype_get(v->dtype)->name);
    TRY(value_to_hbm(l, scalar, v, out));
    if (out->dyn_count == 0) return GLIA_OK;
    store *s = store_hbm(l, "index", v->dtype, 1);
    TRY(value_store(l, scalar, out, s, 0));
    value_linear(v, s, &scalar->shape);
    *out = *v;
    return GLIA_OK;
}

GLIA_MUST_USE static glia_status scalar_register(lower *l, uint32_t core, isa_engine e, const value_dyn *dyn, uint8_t *out)
{
    const int64_t key[] = { dyn->scalar->id, dyn->max, e };
    for (uint32_t k = 0; k < l->registers.count; k++) {
        const lower_memo *m = &l->registers.items[k];
        if (m->core == core && lower_same_key(m, COUNT_OF(key), key)) {
            *out = (uint8_t)m->tile;
            return GLIA_OK;
        }
    }
    const uint8_t reg = l->next_register[core][e]++;
    if (reg >= ISA_REGISTERS) return LOWER_UNSUPPORTED(dyn->scalar, "needs more than %d address registers on one engine", ISA_REGISTERS);
    value h;
    TRY(scalar_in_memory(l, dyn->scalar, &h));
    lower_read_hbm(l, core, h.store);
    isa_operand src = isa_hbm(h.store->slot, h.store->dtype, h.col * num_size(h.store->dtype), 0, NULL, NULL);
    const tile_operand o[4] = { tile_plain(isa_reg(reg)), tile_plain(src), tile_plain(isa_imm_int(0)),
                                tile_plain(isa_imm_int(dyn->max)) };
    tile_emit(l->f[core], ISA_reg_load, e, lower_origin(l, dyn->scalar), 4, o, 0, NULL);
    lower_memo *m = &VEC_PUSH(&l->registers);
    *m = (lower_memo){ .core = core, .tile = reg, .key_count = COUNT_OF(key), .key = lower_keep_key(l, COUNT_OF(key), key) };
    *out = reg;
    return GLIA_OK;
}

glia_status lower_dynamic(lower *l, uint32_t core, isa_engine issuer, const value *v, isa_operand *o)
{
    for (int k = 0; k < v->dyn_count; k++) {
        uint8_t reg = 0;
        TRY(scalar_register(l, core, issuer, &v->dyn[k], &reg));
        *o = isa_plus(*o, reg, v->dyn[k].scale * num_size(v->store->dtype));
    }
    return GLIA_OK;
}

glia_status lower_load_rows(lower *l, uint32_t core, const ir_inst *user, const value *v, const int64_t *row_off, int rows,
                            int free_rank, const int64_t *free_dims, const int64_t *free_steps, tile_operand dst,
                            bool weight)
{
    const num_dtype dtype = v->store->dtype;
    const int size = num_size(dtype);
    int64_t dims[LOWER_RANK], steps[LOWER_RANK], merged[LOWER_RANK];
    for (int d = 0; d < free_rank; d++) merged[d] = free_steps[d];
    const int rank = lower_merge_dims(free_rank, free_dims, merged, dims, steps);
    if (rank > 4) return LOWER_UNSUPPORTED(user, "reads memory with %d free dimensions; a DMA has 4", rank);
    lower_read_hbm(l, core, v->store);
    TRY(lower_judge_length(l, user));
    weight = weight && v->dyn_count == 0;       // register addresses are POOL's: it makes the descriptors
    const isa_engine issuer = weight ? ISA_SP : ISA_POOL;
    for (int p = 0; p < rows;) {
        int n = 1;
        const int64_t step = p + 1 < rows ? row_off[p + 1] - row_off[p] : 0;
        while (p + n < rows && row_off[p + n] - row_off[p + n - 1] == step) n++;
        int64_t st[5] = { step };
        uint32_t ct[5] = { (uint32_t)n };
        for (int d = 0; d < rank; d++) {
            st[d + 1] = steps[d];
            ct[d + 1] = (uint32_t)dims[d];
        }
        isa_operand src = isa_hbm(v->store->slot, dtype, row_off[p] * size, rank + 1, st, ct);
        TRY(lower_dynamic(l, core, issuer, v, &src));
        tile_operand part = dst;
        part.o.start_partition = (uint8_t)(dst.o.start_partition + p);
        part.o.partitions = (uint8_t)n;
        const int queue = weight ? QUEUE_WEIGHT + (int)(l->load_queue++ % WEIGHT_QUEUES) : QUEUE_ACT_IN;
        tile_emit_dma(l->f[core], ISA_dma_copy, issuer, queue, lower_origin(l, user), part, tile_plain(src),
                      src.term_count ? ISA_DGE_SWDGE : ISA_DGE_NONE);
        p += n;
    }
    return GLIA_OK;
}

void value_row_offsets(const value *v, int row_rank, int64_t first, int rows, int64_t *row_out, int64_t *col_out)
{
    int64_t index[LOWER_RANK] = { 0 };
    int64_t left = first;
    for (int d = row_rank - 1; d >= 0; d--) {
        index[d] = left % v->dims[d];
        left /= v->dims[d];
    }
    for (int p = 0; p < rows; p++) {
        int64_t r = v->row, c = v->col;
        for (int d = 0; d < row_rank; d++) {
            r += index[d] * v->rs[d];
            c += index[d] * v->cs[d];
        }
        row_out[p] = r;
        col_out[p] = c;
        for (int d = row_rank - 1; d >= 0; d--) {
            if (++index[d] < v->dims[d]) break;
            index[d] = 0;
        }
    }
}

glia_status store_need(lower *l, const ir_inst *user, store *s, uint32_t core, int tile)
{
    if (s->tile[core][tile]) return GLIA_OK;
    if (!s->copy) {
        value whole = { .store = s, .dtype = s->dtype, .rank = 2, .dims = { s->blocks * s->block_rows, s->cols }, .rs = { 1, 0 }, .cs = { 0, 1 } };
        s->copy = store_hbm(l, "exchange", s->dtype, (uint64_t)(s->blocks * s->block_rows * s->cols));
        TRY(value_store(l, user, &whole, s->copy, 0));
    }
    lower_read_hbm(l, core, s->copy);
    const int rows = store_tile_rows(s, tile);
    int64_t off[LOWER_ROWS];
    for (int p = 0; p < rows; p++) off[p] = (store_tile_first(s, tile) + p) * s->cols;
    const tile_id t = tile_new(l->f[core], ISA_SBUF, rows, (uint64_t)s->cols * (uint64_t)num_size(s->dtype));
    const int64_t dims[1] = { s->cols }, steps[1] = { 1 };
    const value from = { .store = s->copy, .dtype = s->dtype };
    TRY(lower_load_rows(l, core, user, &from, off, rows, 1, dims, steps,
                        tile_view(l->f[core], t, s->dtype, rows, 0, (int)s->cols), false));
    s->tile[core][tile] = t;
    return GLIA_OK;
}

static tile_operand free_view(const tile_function *f, tile_id t, num_dtype dtype, int rows, int64_t col, int rank,
                              const int64_t *dims, const int64_t *steps)
{
    int64_t st[4] = { 1, 1, 1, 1 };
    uint32_t ct[4] = { 1, 1, 1, 1 };
    for (int d = 0; d < rank; d++) {
        st[d] = steps[d];
        ct[d] = (uint32_t)dims[d];
    }
    return tile_view_ap(f, t, dtype, rows, col * num_size(dtype), rank ? rank : 1, st, ct);
}

// What a loaded tile depends on besides its store. Counts come before lists, so that no two keys read alike.
enum { LOAD_KEY = 7 + 2 * LOWER_RANK + 3 * LOWER_DYNS + 2 * LOWER_RANK };
static int load_key(const value *v, int row_rank, int64_t first, int rows, int rank, const int64_t *dims, const int64_t *steps, int64_t key[LOAD_KEY])
{
    int n = 0;
    key[n++] = v->dtype;
    key[n++] = first;
    key[n++] = rows;
    key[n++] = v->col;
    key[n++] = rank;
    for (int d = 0; d < rank; d++) {
        key[n++] = dims[d];
        key[n++] = steps[d];
    }
    key[n++] = v->dyn_count;
    for (int k = 0; k < v->dyn_count; k++) {
        key[n++] = v->dyn[k].scalar->id;
        key[n++] = v->dyn[k].scale;
        key[n++] = v->dyn[k].max;
    }
    key[n++] = row_rank;
    for (int d = 0; d < row_rank; d++) {
        key[n++] = v->dims[d];
        key[n++] = v->cs[d];
    }
    return n;
}

glia_status value_operand(lower *l, uint32_t core, const ir_inst *user, const value *v, int row_rank, int64_t first,
                          int rows, tile_operand *out, bool *column)
{
    const int free_rank = v->rank - row_rank;
    int64_t dims[LOWER_RANK], steps[LOWER_RANK], raw[LOWER_RANK];
    *column = true;
    for (int d = 0; d < free_rank; d++) {
        raw[d] = v->cs[row_rank + d];
        if (raw[d] != 0 && v->dims[row_rank + d] > 1) *column = false;
    }
    if (*column) {
        // One element per partition: the caller reads it as [P, 1].
    }
    const int rank = *column ? 0 : lower_merge_dims(free_rank, v->dims + row_rank, raw, dims, steps);
    if (rank > 4) return LOWER_UNSUPPORTED(user, "needs %d free dimensions in one operand; an access pattern has 4", rank);

    int64_t row[LOWER_ROWS], col[LOWER_ROWS];
    value_row_offsets(v, row_rank, first, rows, row, col);
    if (v->store->kind == STORE_ROWS) {
        int tile = 0, partition = 0;
        store_locate(v->store, row[0], &tile, &partition);
        bool in_place = partition == 0 && rows <= store_tile_rows(v->store, tile);
        for (int p = 1; p < rows && in_place; p++) in_place = row[p] == row[0] + p && col[p] == col[0];
        for (int d = row_rank; d < v->rank && in_place; d++) in_place = v->rs[d] == 0 || v->dims[d] == 1;
        if (in_place) {
            TRY(store_need(l, user, v->store, core, tile));
            *out = free_view(l->f[core], v->store->tile[core][tile], v->store->dtype, rows, col[0], rank, dims, steps);
            return GLIA_OK;
        }
        value h;
        TRY(value_to_hbm(l, user, v, &h));
        return value_operand(l, core, user, &h, row_rank, first, rows, out, column);
    }

    // In HBM: load the block densely, keep broadcast free dims (step 0) as step 0 of the tile's view.
    int64_t load_dims[LOWER_RANK], load_steps[LOWER_RANK], view_steps[LOWER_RANK];
    int64_t size = 1;
    for (int d = rank - 1; d >= 0; d--) {
        view_steps[d] = steps[d] == 0 ? 0 : size;
        if (steps[d] != 0) size *= dims[d];
    }
    int load_rank = 0;
    for (int d = 0; d < rank; d++)
        if (steps[d] != 0) {
            load_dims[load_rank] = dims[d];
            load_steps[load_rank++] = steps[d];
        }
    bool same = true;       // every row is the same memory: one load serves all tiles
    for (int d = 0; d < row_rank; d++) same = same && (v->cs[d] == 0 || v->dims[d] == 1);
    int64_t key[LOAD_KEY];
    const int key_count = load_key(v, same ? 0 : row_rank, same ? -1 : first, same ? LOWER_ROWS : rows, rank, dims, steps, key);
    tile_id *memo = lower_memo_find(l, v->store, core, MEMO_LOAD, key_count, key);
    const int load_rows = same && rows > 1 ? LOWER_ROWS : rows;
    if (*memo && l->f[core]->tiles.items[*memo].partitions < rows) *memo = 0;
    if (!*memo) {
        const tile_id t = tile_new(l->f[core], ISA_SBUF, load_rows, (uint64_t)size * (uint64_t)num_size(v->dtype));
        int64_t off[LOWER_ROWS];
        for (int p = 0; p < load_rows; p++) off[p] = p < rows ? col[p] : col[0];
        tile_operand dst = tile_view(l->f[core], t, v->dtype, load_rows, 0, (int)size);
        TRY(lower_load_rows(l, core, user, v, off, load_rows, load_rank, load_dims, load_steps, dst, store_is_static(v->store) && same));
        memo = lower_memo_find(l, v->store, core, MEMO_LOAD, key_count, key);
        *memo = t;
    }
    *out = free_view(l->f[core], *memo, v->dtype, rows, 0, rank, dims, view_steps);
    return GLIA_OK;
}

// ---- to HBM --------------------------------------------------------------------------------------------------------

// A splat: one row of SBUF set once, written as often as needed by a DMA that repeats it.
static glia_status store_splat(lower *l, const ir_inst *user, const value *v, store *to, int64_t offset)
{
    const num_dtype dtype = to->dtype;
    int64_t n = 1;
    for (int d = 0; d < v->rank; d++) n *= v->dims[d];
    if (n == 0) return GLIA_OK;
    const int64_t width = n < 4096 ? n : 4096;
    TRY(lower_judge_work(user, (double)n / (double)width));
    const tile_id t = tile_new(l->f[0], ISA_SBUF, 1, (uint64_t)width * (uint64_t)num_size(dtype));
    const bool is_float = num_is_float(dtype);
    const tile_operand set[2] = { tile_view(l->f[0], t, dtype, 1, 0, (int)width),
                                  tile_plain(is_float ? isa_imm_f32((float)v->number) : isa_imm_int((int64_t)v->number)) };
    tile_emit(l->f[0], ISA_memset, ISA_DVE, lower_origin(l, user), 2, set, 0, NULL);
    for (int64_t at = 0; at < n; at += width) {
        const int64_t part = n - at < width ? n - at : width;
        const int64_t st[1] = { 1 };
        const uint32_t ct[1] = { (uint32_t)part };
        tile_emit_dma(l->f[0], ISA_dma_copy, ISA_POOL, QUEUE_ACT_OUT, lower_origin(l, user),
                      tile_plain(isa_hbm(to->slot, dtype, (offset + at) * num_size(dtype), 1, st, ct)),
                      tile_view(l->f[0], t, dtype, 1, 0, (int)part), ISA_DGE_NONE);
    }
    lower_wrote_hbm(l, 0, to);
    return GLIA_OK;
}

// Adjacent dims that one step walks on both sides become one.
static int merge_two(int rank, const int64_t *dims, const int64_t *a, const int64_t *b, int64_t *out, int64_t *out_a, int64_t *out_b)
{
    int n = 0;
    for (int d = 0; d < rank; d++) {
        if (dims[d] == 1) continue;
        const bool joins = n > 0 && out_a[n - 1] == a[d] * dims[d] && out_b[n - 1] == b[d] * dims[d] && out[n - 1] * dims[d] <= UINT32_MAX;
        if (joins) n--;
        out[n] = joins ? out[n] * dims[d] : dims[d];
        out_a[n] = a[d];
        out_b[n++] = b[d];
    }
    return n;
}

static isa_operand memory_operand(const store *s, int64_t at, int rank, const int64_t *dims, const int64_t *steps)
{
    int64_t st[ISA_DIMS] = { 1 };
    uint32_t ct[ISA_DIMS] = { 1 };
    for (int d = 0; d < rank; d++) {
        st[d] = steps[d];
        ct[d] = (uint32_t)dims[d];
    }
    return isa_hbm(s->slot, s->dtype, at * num_size(s->dtype), rank ? rank : 1, st, ct);
}

// From memory to memory: one DMA, each side in as few dims as its steps allow.
static glia_status store_memory(lower *l, const ir_inst *user, const value *v, store *to, int64_t offset, const int64_t *target)
{
    int64_t dims[LOWER_RANK], from[LOWER_RANK], into[LOWER_RANK], dims_from[LOWER_RANK], dims_into[LOWER_RANK], merged[LOWER_RANK];
    const int rank = merge_two(v->rank, v->dims, v->cs, target, dims, from, into);
    memcpy(merged, from, sizeof merged);
    const int rank_from = lower_merge_dims(rank, dims, merged, dims_from, from);
    memcpy(merged, into, sizeof merged);
    const int rank_into = lower_merge_dims(rank, dims, merged, dims_into, into);
    const int most = rank_from > rank_into ? rank_from : rank_into;
    if (most > ISA_DIMS) return LOWER_UNSUPPORTED(user, "copies memory with %d dimensions; a DMA has %d", most, ISA_DIMS);
    lower_read_hbm(l, 0, v->store);
    isa_operand src = memory_operand(v->store, v->col, rank_from, dims_from, from);
    TRY(lower_dynamic(l, 0, ISA_POOL, v, &src));
    tile_emit_dma(l->f[0], ISA_dma_copy, ISA_POOL, QUEUE_ACT_OUT, lower_origin(l, user),
                  tile_plain(memory_operand(to, offset, rank_into, dims_into, into)), tile_plain(src),
                  src.term_count ? ISA_DGE_SWDGE : ISA_DGE_NONE);
    lower_wrote_hbm(l, 0, to);
    return GLIA_OK;
}

glia_status value_store(lower *l, const ir_inst *user, const value *v, store *to, int64_t offset)
{
    int64_t steps[LOWER_RANK], step = 1;
    for (int d = v->rank - 1; d >= 0; d--) {
        steps[d] = step;
        step *= v->dims[d];
    }
    if (value_is_splat(v)) return store_splat(l, user, v, to, offset);
    return value_store_strided(l, user, v, to, offset, steps);
}

glia_status value_store_strided(lower *l, const ir_inst *user, const value *v, store *to, int64_t offset, const int64_t *target)
{
    const num_dtype dtype = to->dtype;
    BUG_ON(to->kind != STORE_HBM);
    for (int d = 0; d < v->rank; d++)
        if (v->dims[d] == 0) return GLIA_OK;
    if (value_is_splat(v)) {
        value memory;
        TRY(value_to_hbm(l, user, v, &memory));
        return store_memory(l, user, &memory, to, offset, target);
    }
    if (v->store->kind == STORE_HBM) return store_memory(l, user, v, to, offset, target);

    // Rows: one DMA per tile (or per run of rows) from whichever core has it. Walks the *storage*, so that each tile is
    // read once whatever order the view has: the view must be invertible onto the target.
    const store *s = v->store;
    // Row dims and column dims of the view.
    int64_t rdims[LOWER_RANK], rsteps[LOWER_RANK], rtarget[LOWER_RANK], cdims[LOWER_RANK], csteps[LOWER_RANK], ctarget[LOWER_RANK];
    int nr = 0, nc = 0;
    for (int d = 0; d < v->rank; d++) {
        if (v->dims[d] == 1) continue;
        if (v->rs[d] != 0 && v->cs[d] != 0) return LOWER_UNSUPPORTED(user, "needs a diagonal view of rows and columns");
        if (v->rs[d] != 0) {
            rdims[nr] = v->dims[d];
            rsteps[nr] = v->rs[d];
            rtarget[nr++] = target[d];
        } else {
            cdims[nc] = v->dims[d];
            csteps[nc] = v->cs[d];
            ctarget[nc++] = target[d];
        }
    }
    int64_t rows = 1;
    for (int d = 0; d < nr; d++) rows *= rdims[d];
    if (nc > 4) return LOWER_UNSUPPORTED(user, "writes tiles with %d free dimensions; a DMA has 4", nc);
    for (int64_t r = 0; r < rows;) {
        TRY(lower_judge_length(l, user));
        int64_t index[LOWER_RANK], left = r, srow = v->row, trow = offset;
        for (int d = nr - 1; d >= 0; d--) {
            index[d] = left % rdims[d];
            left /= rdims[d];
        }
        for (int d = 0; d < nr; d++) {
            srow += index[d] * rsteps[d];
            trow += index[d] * rtarget[d];
        }
        int tile = 0, partition = 0;
        store_locate(s, srow, &tile, &partition);
        // The run: consecutive storage rows in this tile along the innermost row dim.
        int64_t run = 1;
        if (nr > 0 && rsteps[nr - 1] == 1) {
            run = rdims[nr - 1] - index[nr - 1];
            const int64_t in_tile = store_tile_rows(s, tile) - partition;
            if (run > in_tile) run = in_tile;
        }
        uint32_t core = 0;
        while (core < l->m->core_count && !s->tile[core][tile]) core++;
        BUG_ON(core == l->m->core_count);
        int64_t st[5] = { nr > 0 ? rtarget[nr - 1] : 0 }, sst[4] = { 1 };
        uint32_t ct[5] = { (uint32_t)run }, sct[4] = { 1 };
        for (int d = 0; d < nc; d++) {
            st[d + 1] = ctarget[d];
            ct[d + 1] = (uint32_t)cdims[d];
            sst[d] = csteps[d];
            sct[d] = (uint32_t)cdims[d];
        }
        tile_operand src = tile_view_ap(l->f[core], s->tile[core][tile], s->dtype, store_tile_rows(s, tile),
                                        v->col * num_size(s->dtype), nc ? nc : 1, sst, sct);
        src.o.start_partition = (uint8_t)partition;
        src.o.partitions = (uint8_t)run;
        // Innermost target dim first merges where possible: the HBM side keeps the same element order.
        tile_emit_dma(l->f[core], ISA_dma_copy, ISA_POOL, QUEUE_ACT_OUT, lower_origin(l, user),
                      tile_plain(isa_hbm(to->slot, dtype, trow * num_size(dtype), nc + 1, st, ct)), src, ISA_DGE_NONE);
        lower_wrote_hbm(l, core, to);
        r += run;
    }
    return GLIA_OK;
}

glia_status value_to_hbm(lower *l, const ir_inst *user, const value *v, value *out)
{
    if (v->store && v->store->kind == STORE_HBM) {
        *out = *v;
        return GLIA_OK;
    }
    BUG_ON(v->elements || (v->store && v->store->kind == STORE_FEATURES));      // layout_features lets none get here
    if (value_is_splat(v)) {
        int64_t n = 1;
        for (int d = 0; d < v->rank; d++) n *= v->dims[d];
        store *s = store_hbm(l, "splat", v->dtype, (uint64_t)n);
        TRY(value_store(l, user, v, s, 0));
        const ir_shape shape = { .rank = v->rank, .dims = v->dims };
        value_linear(out, s, &shape);
        return GLIA_OK;
    }
    store *s = v->store;
    if (!s->copy) {
        TRY(lower_flush(l));
        value whole = { .store = s, .dtype = s->dtype, .rank = 2, .dims = { s->blocks * s->block_rows, s->cols }, .rs = { 1, 0 }, .cs = { 0, 1 } };
        s->copy = store_hbm(l, "relayout", s->dtype, (uint64_t)(s->blocks * s->block_rows * s->cols));
        TRY(value_store(l, user, &whole, s->copy, 0));
    }
    *out = *v;
    out->store = s->copy;
    out->col = v->row * s->cols + v->col;
    out->row = 0;
    for (int d = 0; d < v->rank; d++) {
        out->cs[d] = v->rs[d] * s->cols + v->cs[d];
        out->rs[d] = 0;
    }
    return GLIA_OK;
}
