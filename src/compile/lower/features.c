// SPDX-License-Identifier: Apache-2.0
// Values kept by features: planning, the exchange between cores, and the fused emission group by group.
//
// One group is emitted through the whole chain (its products, then the elementwise ops on their results) before the
// next, so that an MLP's hidden layer exists only as its last value. With several tiles of tokens and two cores each
// core has its own tokens of every feature; with one tile of tokens each core has half of the groups.
#include "compile/lower/lower.h"

#include <string.h>

enum { GROUP_COLUMNS = 512 };

int feature_pack(const store *s, int g)
{
    const int left = s->tile_count - g * s->pack;
    return left < s->pack ? left : s->pack;
}

static store *store_features(lower *l, num_dtype dtype, int64_t tokens, int64_t features, bool split)
{
    store *s = ARENA_NEW(l->m->arena, store);
    const uint32_t cores = l->m->core_count;
    *s = (store){ .kind = STORE_FEATURES, .dtype = dtype, .blocks = 1, .block_rows = features, .cols = tokens, .parameter = -1,
                  .tile_count = (int)(features / LOWER_ROWS) };
    s->tiles_per_block = s->tile_count;
    const int64_t m_tiles = (tokens + LOWER_ROWS - 1) / LOWER_ROWS;
    for (uint32_t c = 0; c < cores; c++) {
        // The tokens of the row tiles that products give to this core (dot.c, cores_for).
        int64_t lo = m_tiles, hi = 0;
        for (int64_t t = 0; t < m_tiles; t++)
            if (m_tiles < 2 || (uint32_t)(t * cores / m_tiles) == c) {
                if (t < lo) lo = t;
                hi = t + 1;
            }
        s->first[c] = lo * LOWER_ROWS;
        s->width[c] = (hi * LOWER_ROWS < tokens ? hi * LOWER_ROWS : tokens) - s->first[c];
    }
    int64_t pack = s->width[0] < GROUP_COLUMNS ? GROUP_COLUMNS / s->width[0] : 1;
    s->split = split && m_tiles < 2 && s->tile_count >= 2;
    const int64_t share = (s->tile_count + 1) / 2;
    if (s->split && pack > share) pack = share;
    if (pack > s->tile_count) pack = s->tile_count;
    s->pack = (int)pack;
    s->groups = (s->tile_count + s->pack - 1) / s->pack;
    for (uint32_t c = 0; c < cores; c++) s->tile[c] = ARENA_ARRAY(l->m->arena, tile_id, (size_t)s->groups);
    return s;
}

glia_status lower_feature_op(lower *l, const ir_inst *i)
{
    const int64_t tokens = i->shape.dims[0], features = i->shape.dims[1];
    if (l->pending.count > 0) {
        const store *first = lower_value(l, l->pending.items[0])->store;
        bool flush = l->pending_blocks != -1 || l->pending_block_rows != features || first->cols != tokens;
        // A product may only join if what it contracts is not part of the group.
        for (uint32_t k = 0; k < l->pending.count && i->op == IR_DOT; k++) flush = flush || l->pending.items[k] == i->operands[0];
        if (flush) TRY(lower_flush(l));
    }
    l->pending_blocks = -1;
    l->pending_block_rows = features;
    // A group is split as its first product says; an elementwise op follows the group.
    const bool split = l->pending.count > 0 ? lower_value(l, l->pending.items[0])->store->split
                                            : lower_worth_splitting(l, 2.0 * (double)features * (double)i->operands[0]->shape.dims[1] *
                                                                           num_size(i->operands[0]->shape.dtype));
    *lower_value(l, i) = (value){ .store = store_features(l, i->shape.dtype, tokens, features, split), .dtype = i->shape.dtype, .rank = 2,
                                  .dims = { tokens, features }, .rs = { 0, 1 }, .cs = { 1, 0 } };
    VEC_PUSH(&l->pending) = i;
    return GLIA_OK;
}

// Exchange layout: group after group, each [128][tiles x tokens], as the tiles are.
static void exchange_operand(const lower *l, const store *s, uint32_t core, int g, isa_operand *memory, tile_operand *chip, tile_id t)
{
    const int64_t cols = feature_pack(s, g) * s->width[core];
    const int64_t at = (int64_t)g * s->pack * s->width[core] * LOWER_ROWS;
    const int64_t st[2] = { cols, 1 };
    const uint32_t ct[2] = { LOWER_ROWS, (uint32_t)cols };
    *memory = isa_hbm(s->copy->slot, s->dtype, at * num_size(s->dtype), 2, st, ct);
    *chip = tile_view(l->f[core], t, s->dtype, LOWER_ROWS, 0, (int)cols);
}

glia_status feature_need(lower *l, const ir_inst *user, store *s, uint32_t core, int g)
{
    if (s->tile[core][g]) return GLIA_OK;
    isa_operand memory;
    tile_operand chip;
    const uint32_t origin = lower_origin(l, user);
    if (!s->copy) {
        s->copy = store_hbm(l, "exchange", s->dtype, (uint64_t)(s->block_rows * s->cols));
        for (int k = 0; k < s->groups; k++)
            for (uint32_t c = 0; c < l->m->core_count; c++) {
                if (!s->tile[c][k]) continue;
                exchange_operand(l, s, c, k, &memory, &chip, s->tile[c][k]);
                tile_emit_dma(l->f[c], ISA_dma_copy, ISA_POOL, 5, origin, tile_plain(memory), chip, ISA_DGE_NONE);
                lower_wrote_hbm(l, c, s->copy);
                break;
            }
    }
    lower_read_hbm(l, core, s->copy);
    const tile_id t = tile_new(l->f[core], ISA_SBUF, LOWER_ROWS, (uint64_t)(feature_pack(s, g) * s->width[core] * num_size(s->dtype)));
    exchange_operand(l, s, core, g, &memory, &chip, t);
    tile_emit_dma(l->f[core], ISA_dma_copy, ISA_POOL, 4, origin, chip, tile_plain(memory), ISA_DGE_NONE);
    s->tile[core][g] = t;
    return GLIA_OK;
}

glia_status lower_feature_flush(lower *l)
{
    VEC(const ir_inst *) group;
    memcpy(&group, &l->pending, sizeof group);
    memset(&l->pending, 0, sizeof l->pending);
    const store *first = lower_value(l, group.items[0])->store;
    const uint32_t cores = l->m->core_count;
    glia_status s = GLIA_OK;
    l->group = group.items;
    l->group_count = group.count;
    for (int g = 0; g < first->groups && !s; g++)
        for (uint32_t c = 0; c < cores && !s; c++) {
            if (first->split && (uint32_t)g * cores / (uint32_t)first->groups != c) continue;
            for (uint32_t k = 0; k < group.count && !s; k++)
                s = group.items[k]->op == IR_DOT ? lower_dot_features(l, group.items[k], c, g) : lower_row_features(l, group.items[k], c, g);
        }
    l->group = NULL;
    l->group_count = 0;
    VEC_FREE(&group);
    return s;
}
