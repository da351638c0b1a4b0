// SPDX-License-Identifier: Apache-2.0
// Gathers of whole rows along dimension 0, the form that a table of embeddings is read by.
//
// One DMA takes up to 128 rows, one for each partition: the table is memory whose rows are contiguous and a fixed step
// apart, the index a column of int32 in SBUF. The index may be any view; a table that is another kind of view is copied
// first. HLO moves an index that is out of range to the nearest row, where the DMA would fault: the column is clamped
// on the way.
#include "compile/lower/lower.h"

enum { QUEUE_GATHER = 6 };

typedef struct gather {
    lower *l;
    const ir_inst *i;
    value table, index;             // in HBM
    int index_rank;                 // dims of the index that count rows of the result
    int64_t rows, width;            // of the result: one row for each index, `width` elements each
} gather;

static bool takes_rows(const ir_inst *i, int index_rank)
{
    const ir_attrs *a = &i->attrs;
    const ir_shape *table = &i->operands[0]->shape, *index = &i->operands[1]->shape;
    bool plain = a->start_index_map.count == 1 && a->start_index_map.items[0] == 0 && a->collapsed_dims.count == 1 &&
                 a->collapsed_dims.items[0] == 0 && a->operand_batching_dims.count == 0 &&
                 (a->index_vector_dim == index->rank || (a->index_vector_dim == index->rank - 1 && index->dims[index->rank - 1] == 1));
    for (int d = 1; d < table->rank; d++) plain = plain && a->sizes.items[d] == table->dims[d];
    for (int d = 0; d < a->offset_dims.count; d++) plain = plain && a->offset_dims.items[d] == index_rank + d;
    return plain;
}

// Are the rows contiguous, in ascending order and apart, as they are stored?
static bool has_plain_rows(const value *v, int64_t width)
{
    if (v->dyn_count || v->dtype != v->store->dtype) return false;
    int64_t step = 1;
    for (int d = v->rank - 1; d >= 1; d--) {
        if (v->dims[d] != 1 && v->cs[d] != step) return false;
        step *= v->dims[d];
    }
    return v->dims[0] == 1 || v->cs[0] >= width;
}

static glia_status plain_table(gather *g)
{
    const ir_inst *table = g->i->operands[0];
    TRY(value_to_hbm(g->l, table, lower_value(g->l, table), &g->table));
    if (has_plain_rows(&g->table, g->width)) return GLIA_OK;
    store *s = store_hbm(g->l, "table", table->shape.dtype, (uint64_t)ir_shape_elements(&table->shape));
    TRY(value_store(g->l, g->i, &g->table, s, 0));
    value_linear(&g->table, s, &table->shape);
    return GLIA_OK;
}

// The result in rows, one for each index.
static store *plan_result(gather *g)
{
    const ir_shape *shape = &g->i->shape;
    store *s = store_rows(g->l, shape->dtype, 1, g->rows, g->width);
    value_in_rows(lower_value(g->l, g->i), s, shape, g->index_rank);
    return s;
}

// The indexes of `n` rows from `first` on as a column of int32, each within the table. DVE compares in fp32: numbers
// that it rounds are beyond 2^24, and so beyond a table of at most that many rows.
static glia_status index_column(gather *g, uint32_t core, int64_t first, int n, tile_operand *out)
{
    tile_function *f = g->l->f[core];
    const num_dtype dtype = g->index.dtype;
    int64_t row[LOWER_ROWS], offset[LOWER_ROWS];
    const int64_t one[1] = { 1 };
    value_row_offsets(&g->index, g->index_rank, first, n, row, offset);
    const tile_operand loaded = tile_view(f, tile_new(f, ISA_SBUF, n, (uint64_t)num_size(dtype)), dtype, n, 0, 1);
    TRY(lower_load_rows(g->l, core, g->i, &g->index, offset, n, 1, one, one, loaded, false));
    *out = tile_view(f, tile_new(f, ISA_SBUF, n, 4), NUM_S32, n, 0, 1);
    const tile_operand o[4] = { *out, loaded, tile_plain(isa_imm_f32(0)), tile_plain(isa_imm_f32((float)(g->table.dims[0] - 1))) };
    const uint8_t attr[4] = { ISA_ALU_MAXIMUM, 0, ISA_ALU_MINIMUM, 0 };
    tile_emit(f, ISA_tensor_scalar, ISA_DVE, lower_origin(g->l, g->i), 4, o, 4, attr);
    return GLIA_OK;
}

static glia_status emit_tile(gather *g, store *s, uint32_t core, int tile)
{
    lower *l = g->l;
    tile_function *f = l->f[core];
    const num_dtype dtype = g->i->shape.dtype;
    const int n = store_tile_rows(s, tile);
    tile_operand index;
    TRY(index_column(g, core, store_tile_first(s, tile), n, &index));
    lower_read_hbm(l, core, g->table.store);
    s->tile[core][tile] = tile_new(f, ISA_SBUF, n, (uint64_t)g->width * (uint64_t)num_size(dtype));
    const int64_t steps[2] = { g->table.dims[0] == 1 ? g->width : g->table.cs[0], 1 };
    const uint32_t counts[2] = { (uint32_t)g->table.dims[0], (uint32_t)g->width };
    isa_operand src = isa_hbm(g->table.store->slot, dtype, g->table.col * num_size(dtype), 2, steps, counts);
    src.indirect = 1;
    const tile_operand o[3] = { tile_view(f, s->tile[core][tile], dtype, n, 0, (int)g->width), tile_plain(src), index };
    const uint8_t attr[2] = { ISA_DGE_SWDGE, ISA_OOB_ERROR };
    tile_emit(f, ISA_dma_gather, ISA_POOL, lower_origin(l, g->i), 3, o, 2, attr)->queue = QUEUE_GATHER;
    return GLIA_OK;
}

glia_status lower_gather(lower *l, const ir_inst *i)
{
    const ir_shape *table = &i->operands[0]->shape, *index = &i->operands[1]->shape;
    gather g = { .l = l, .i = i, .index_rank = index->rank - (i->attrs.index_vector_dim < index->rank ? 1 : 0), .rows = 1, .width = 1 };
    if (!takes_rows(i, g.index_rank)) return LOWER_UNSUPPORTED(i, "gathers more than whole rows along dimension 0");
    if (!num_is_integer(index->dtype) || num_bits(index->dtype) > 32 || num_bits(index->dtype) < 8)
        return LOWER_UNSUPPORTED(i, "gathers by indices of type %s; use s32", num_dtype_get(index->dtype)->name);
    if (table->dims[0] > 1 << 24)
        return LOWER_UNSUPPORTED(i, "gathers from a table of %lld rows; an index is exact up to %d", (long long)table->dims[0], 1 << 24);
    for (int d = 0; d < g.index_rank; d++) g.rows *= index->dims[d];
    for (int d = 1; d < table->rank; d++) g.width *= table->dims[d];
    TRY(lower_judge_rows(l, i, (double)g.rows, (double)g.width));
    TRY(lower_flush(l));
    TRY(plain_table(&g));
    TRY(value_to_hbm(l, i->operands[1], lower_value(l, i->operands[1]), &g.index));
    store *s = plan_result(&g);
    for (int t = 0; t < s->tile_count; t++)
        for (uint32_t c = 0; c < l->m->core_count; c++) {
            if (l->m->core_count == 2 && s->tile_count > 1 && (uint32_t)t * 2 / (uint32_t)s->tile_count != c) continue;
            TRY(emit_tile(&g, s, c, t));
        }
    return GLIA_OK;
}
