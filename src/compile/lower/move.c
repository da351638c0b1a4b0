// SPDX-License-Identifier: Apache-2.0
// Ops that move data between HBM places: constants, dynamic updates in place, concatenation in memory.
#include "compile/lower/lower.h"

#include <string.h>

enum { QUEUE_DATA = 6 };

glia_status lower_constant(lower *l, const ir_inst *i)
{
    value *out = lower_value(l, i);
    const int64_t n = ir_shape_elements(&i->shape);
    const int size = num_size(i->shape.dtype);
    const uint8_t *data = i->attrs.literal.data;
    bool splat = n > 0;
    for (int64_t k = 1; k < n && splat; k++) splat = !memcmp(data, data + k * size, (size_t)size);
    if (splat && num_bits(i->shape.dtype) < 64 && hw_chip_has_dtype(l->m->chip, num_dtype_get(i->shape.dtype)->name)) {
        *out = (value){ .dtype = i->shape.dtype, .rank = i->shape.rank,
                        .number = num_to_f64(i->shape.dtype, num_load(i->shape.dtype, data)) };
        for (int d = 0; d < i->shape.rank; d++) out->dims[d] = i->shape.dims[d];
        return GLIA_OK;
    }
    store *s = store_hbm(l, i->name, i->shape.dtype, (uint64_t)n);
    isa_tensor *t = &l->m->program->tensors.items[l->f[0]->slots.items[s->slot].index];
    uint8_t *copy = glia_arena_alloc_aligned(l->m->program->arena, (size_t)(n * size), 64);
    memcpy(copy, data, (size_t)(n * size));
    s->constant = true;
    t->kind = ISA_TENSOR_CONST;
    t->core = -1;
    t->data = (glia_span){ copy, (size_t)(n * size) };
    value_linear(out, s, &i->shape);
    return GLIA_OK;
}

// Does the value of `i`, updated further in place, end as the result that takes the storage of this parameter?
static bool ends_in_alias(const lower *l, const ir_inst *i, int parameter)
{
    const ir_inst *root = l->computation->root;
    for (const ir_inst *next = i; next;) {
        i = next;
        next = NULL;
        for (uint32_t k = 0; k < l->m->ir->aliases.count; k++) {
            const int output = l->m->ir->aliases.items[k].output_index;
            if (l->m->ir->aliases.items[k].parameter != parameter) continue;
            if (root->op == IR_TUPLE ? output < root->operand_count && root->operands[output] == i : output == 0 && root == i) return true;
        }
        for (uint32_t k = (uint32_t)i->id + 1; k < l->computation->insts.count && !next; k++) {
            const ir_inst *u = l->computation->insts.items[k];
            if (u->op == IR_DYNAMIC_UPDATE_SLICE && u->operands[0] == i) next = u;
        }
    }
    return false;
}

// May the memory of this store be overwritten by an update? Temporaries may; a parameter of a function may (the caller
// passes a copy where the old value lives on); an input of the program only when the value ends in an output that is
// aliased to it.
static bool may_overwrite(const lower *l, const ir_inst *i, const store *s)
{
    if (s->packed_block || s->constant) return false;
    return s->parameter < 0 || !l->is_entry || ends_in_alias(l, i, s->parameter);
}

glia_status lower_dynamic_update(lower *l, const ir_inst *i)
{
    TRY(lower_flush(l));
    const ir_inst *base = i->operands[0];
    const value *x = lower_value(l, base), *update = lower_value(l, i->operands[1]);
    value h;
    TRY(value_to_hbm(l, base, x, &h));
    const bool in_place = x->store && x->store->kind == STORE_HBM && !store_lives(l, i->id, x->store) && may_overwrite(l, i, x->store);
    if (!in_place || !value_is_linear(&h)) {
        // The old value lives on: update a copy.
        store *copy = store_hbm(l, "updated", i->shape.dtype, (uint64_t)ir_shape_elements(&i->shape));
        TRY(value_store(l, i, &h, copy, 0));
        value_linear(&h, copy, &i->shape);
    }
    value *out = lower_value(l, i);
    *out = h;

    // The update window as a view of the target.
    value window = h;
    for (int d = 0; d < i->shape.rank; d++) {
        const int64_t max = h.dims[d] - i->operands[1]->shape.dims[d];
        const value *start = lower_value(l, i->operands[2 + d]);
        window.dims[d] = i->operands[1]->shape.dims[d];
        if (max == 0) continue;
        if (value_is_splat(start)) {
            const int64_t at = (int64_t)start->number;
            window.col += (at < 0 ? 0 : at > max ? max : at) * h.cs[d];
            continue;
        }
        if (window.dyn_count == 2) return LOWER_UNSUPPORTED(i, "has more than 2 dynamic start indices");
        window.dyn[window.dyn_count++] = (value_dyn){ .scalar = i->operands[2 + d], .scale = h.cs[d], .max = max };
    }
    value splat;
    if (value_is_splat(update)) {
        TRY(value_to_hbm(l, i->operands[1], update, &splat));
        update = &splat;
    }
    if (update->store->kind == STORE_HBM) {
        isa_operand o[2];
        const value *v[2] = { &window, update };
        int n = 0;
        int64_t st[2][5] = { { 1 }, { 1 } };
        uint32_t ct[5] = { 1 };
        for (int d = 0; d < window.rank; d++) {
            if (window.dims[d] == 1) continue;
            if (n == 5) return LOWER_UNSUPPORTED(i, "copies memory with more than 5 dimensions");
            st[0][n] = window.cs[d];
            st[1][n] = update->cs[d];
            ct[n++] = (uint32_t)window.dims[d];
        }
        lower_read_hbm(l, 0, update->store);
        lower_overwrite_hbm(l, 0, h.store);
        for (int k = 0; k < 2; k++) {
            o[k] = isa_hbm(v[k]->store->slot, v[k]->store->dtype, v[k]->col * num_size(v[k]->store->dtype), n ? n : 1, st[k], ct);
            TRY(lower_dynamic(l, 0, ISA_POOL, v[k], &o[k]));
        }
        tile_emit_dma(l->f[0], ISA_dma_copy, ISA_POOL, QUEUE_DATA, lower_origin(l, i), tile_plain(o[0]), tile_plain(o[1]),
                      o[0].term_count || o[1].term_count ? ISA_DGE_SWDGE : ISA_DGE_NONE);
        lower_wrote_hbm(l, 0, h.store);
        return GLIA_OK;
    }
    // From rows: one DMA per run of storage rows and outer indices.
    const store *s = update->store;
    int rd[LOWER_RANK], cd[LOWER_RANK], nr = 0, nc = 0;
    for (int d = 0; d < update->rank; d++) {
        if (update->dims[d] == 1) continue;
        if (update->rs[d] != 0) rd[nr++] = d;
        else cd[nc++] = d;
    }
    if (nc > 4) return LOWER_UNSUPPORTED(i, "writes tiles with %d free dimensions; a DMA has 4", nc);
    int64_t rows = 1;
    for (int d = 0; d < nr; d++) rows *= update->dims[rd[d]];
    for (int64_t r = 0; r < rows;) {
        int64_t index[LOWER_RANK] = { 0 }, left = r, srow = update->row, at = window.col;
        for (int d = nr - 1; d >= 0; d--) {
            index[d] = left % update->dims[rd[d]];
            left /= update->dims[rd[d]];
        }
        for (int d = 0; d < nr; d++) {
            srow += index[d] * update->rs[rd[d]];
            at += index[d] * window.cs[rd[d]];
        }
        const int64_t in_block = srow % s->block_rows;
        const int tile = (int)(srow / s->block_rows * s->tiles_per_block + in_block / LOWER_ROWS), partition = (int)(in_block % LOWER_ROWS);
        int64_t run = 1;
        if (nr > 0 && update->rs[rd[nr - 1]] == 1) {
            run = update->dims[rd[nr - 1]] - index[nr - 1];
            const int64_t in_tile = store_tile_rows(s, tile) - partition;
            if (run > in_tile) run = in_tile;
        }
        uint32_t core = 0;
        while (core < l->m->core_count && !s->tile[core][tile]) core++;
        BUG_ON(core == l->m->core_count);
        lower_overwrite_hbm(l, core, h.store);
        int64_t st[5] = { nr > 0 ? window.cs[rd[nr - 1]] : 0 }, sst[4] = { 1 };
        uint32_t ct[5] = { (uint32_t)run }, sct[4] = { 1 };
        for (int d = 0; d < nc; d++) {
            st[d + 1] = window.cs[cd[d]];
            sst[d] = update->cs[cd[d]];
            ct[d + 1] = sct[d] = (uint32_t)update->dims[cd[d]];
        }
        tile_operand src = tile_view_ap(l->f[core], s->tile[core][tile], s->dtype, store_tile_rows(s, tile),
                                        update->col * num_size(s->dtype), nc ? nc : 1, sst, sct);
        src.o.start_partition = (uint8_t)partition;
        src.o.partitions = (uint8_t)run;
        isa_operand dst = isa_hbm(h.store->slot, h.store->dtype, at * num_size(h.store->dtype), nc + 1, st, ct);
        TRY(lower_dynamic(l, core, ISA_POOL, &window, &dst));
        tile_emit_dma(l->f[core], ISA_dma_copy, ISA_POOL, QUEUE_DATA, lower_origin(l, i), tile_plain(dst), src,
                      dst.term_count ? ISA_DGE_SWDGE : ISA_DGE_NONE);
        lower_wrote_hbm(l, core, h.store);
        r += run;
    }
    return GLIA_OK;
}

// In memory: every part is written where it lies in one linear tensor.
glia_status lower_concatenate(lower *l, const ir_inst *i)
{
    TRY(lower_flush(l));
    const int axis = (int)i->attrs.index;
    store *s = l->want[i->id] ? l->want[i->id] : store_hbm(l, "concat", i->shape.dtype, (uint64_t)ir_shape_elements(&i->shape));
    value *out = lower_value(l, i);
    value_linear(out, s, &i->shape);
    int64_t at = 0;
    for (int k = 0; k < i->operand_count; k++) {
        const value *part = lower_value(l, i->operands[k]);
        bool linear = true;
        for (int d = 0; d < axis; d++) linear = linear && i->shape.dims[d] == 1;
        if (linear) TRY(value_store(l, i, part, s, at));
        else TRY(value_store_strided(l, i, part, s, at, out->cs));
        at += part->dims[axis] * out->cs[axis];
    }
    return GLIA_OK;
}
