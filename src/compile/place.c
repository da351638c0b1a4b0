// SPDX-License-Identifier: Apache-2.0
// Placement: one linear scan over a function's instructions.
//
// SBUF is handed out next-fit, so that an address is reused as late as possible: that is what lets loads run ahead of
// their readers (double buffering falls out of it). PSUM is handed out by whole banks. When SBUF is full, the complete
// tile with the farthest next use is written to HBM scratch and loaded again before that use; a tile that came from
// memory nobody writes is simply loaded again.
#include "compile/backend.h"

#include <string.h>

enum { PLACE_ALIGN = 64, QUEUE_SPILL = 7 };

typedef struct use_list { uint32_t *at; uint32_t count, next, last_write; bool spilled; uint32_t slot; tile_insn source; bool clean; } use_list;

typedef struct live { int64_t address, end; tile_id tile; } live;

typedef struct placer {
    lower_module *m;
    tile_function *f;
    glia_arena *arena;
    use_list *uses;             // by original tile
    tile_id *current;           // original tile -> the tile that holds it now, 0 when it is in HBM or not yet made
    tile_id *original;          // tile -> original tile (grows)
    uint32_t original_capacity;
    VEC(tile_insn) out;
    VEC(live) sbuf;             // by address
    int64_t cursor, limit;
    tile_id banks[ISA_PSUM_BANKS];
    int bank_cursor;
} placer;

static bool is_write(const tile_insn *i, int k)
{
    const isa_row *row = isa_row_get((isa_op)i->op);
    return k < row->operand_count && (row->operands[k].access & ISA_WRITE);
}

static void collect_uses(placer *p)
{
    const tile_function *f = p->f;
    uint32_t *counts = ARENA_ARRAY(p->arena, uint32_t, f->tiles.count);
    for (uint32_t i = 0; i < f->insns.count; i++)
        for (int k = 0; k < f->insns.items[i].operand_count; k++) counts[f->insns.items[i].operands[k].tile]++;
    p->uses = ARENA_ARRAY(p->arena, use_list, f->tiles.count);
    for (uint32_t t = 1; t < f->tiles.count; t++) p->uses[t].at = ARENA_ARRAY(p->arena, uint32_t, counts[t]);
    for (uint32_t i = 0; i < f->insns.count; i++) {
        const tile_insn *n = &f->insns.items[i];
        for (int k = 0; k < n->operand_count; k++) {
            use_list *u = &p->uses[n->operands[k].tile];
            if (n->operands[k].tile == 0) continue;
            if (is_write(n, k)) {
                // Clean: written once, whole, by a static DMA from a parameter that nothing in this function writes.
                u->clean = u->count == 0 && n->op == ISA_dma_copy && n->operands[1].o.space == ISA_HBM &&
                           n->operands[1].o.term_count == 0 && isa_operand_elements(&n->operands[0].o) *
                           (uint64_t)num_size((num_dtype)n->operands[0].o.dtype) ==
                           (uint64_t)f->tiles.items[n->operands[k].tile].partitions * f->tiles.items[n->operands[k].tile].bytes;
                if (u->clean) u->source = *n;
                u->last_write = i;
            }
            if (u->count == 0 || u->at[u->count - 1] != i) u->at[u->count++] = i;
        }
    }
}

static void note_original(placer *p, tile_id t, tile_id original)
{
    if (t >= p->original_capacity) {
        p->original_capacity = t * 2 + 64;
        p->original = glia_realloc(p->original, p->original_capacity * sizeof *p->original);
    }
    p->original[t] = original;
}

// ---- SBUF ----------------------------------------------------------------------------------------------------------

static bool sbuf_gap(const placer *p, int64_t from, int64_t size, int64_t *address, uint32_t *index)
{
    int64_t at = from;
    for (uint32_t k = 0; k <= p->sbuf.count; k++) {
        if (k < p->sbuf.count && p->sbuf.items[k].end <= at) continue;
        const int64_t end = k < p->sbuf.count ? p->sbuf.items[k].address : p->limit;
        if (end - at >= size) {
            *address = at;
            *index = k;
            return true;
        }
        if (k < p->sbuf.count) at = p->sbuf.items[k].end > at ? p->sbuf.items[k].end : at;
    }
    return false;
}

static bool sbuf_take(placer *p, tile_id t)
{
    const int64_t size = ((int64_t)p->f->tiles.items[t].bytes + PLACE_ALIGN - 1) / PLACE_ALIGN * PLACE_ALIGN;
    int64_t address = 0;
    uint32_t index = 0;
    if (!sbuf_gap(p, p->cursor, size, &address, &index) && !sbuf_gap(p, 0, size, &address, &index)) return false;
    (void)VEC_PUSH(&p->sbuf);
    memmove(&p->sbuf.items[index + 1], &p->sbuf.items[index], (p->sbuf.count - 1 - index) * sizeof(live));
    p->sbuf.items[index] = (live){ address, address + size, t };
    p->cursor = address + size;
    p->f->tiles.items[t].address = address;
    return true;
}

static void sbuf_drop(placer *p, tile_id t)
{
    for (uint32_t k = 0; k < p->sbuf.count; k++)
        if (p->sbuf.items[k].tile == t) {
            memmove(&p->sbuf.items[k], &p->sbuf.items[k + 1], (p->sbuf.count - 1 - k) * sizeof(live));
            p->sbuf.count--;
            return;
        }
}

// ---- spilling ------------------------------------------------------------------------------------------------------

static uint32_t next_use(const placer *p, tile_id original, uint32_t now)
{
    const use_list *u = &p->uses[original];
    for (uint32_t k = u->next; k < u->count; k++)
        if (u->at[k] >= now) return u->at[k];
    return UINT32_MAX;
}

static isa_operand spill_operand(placer *p, const use_list *u, const vtile *t, num_dtype dtype)
{
    const int64_t st[2] = { t->bytes / num_size(dtype), 1 };
    const uint32_t ct[2] = { t->partitions, (uint32_t)(t->bytes / (uint32_t)num_size(dtype)) };
    (void)p;
    return isa_hbm(u->slot, dtype, 0, 2, st, ct);
}

static num_dtype raw_dtype(uint32_t bytes)
{
    return bytes % 4 == 0 ? NUM_U32 : bytes % 2 == 0 ? NUM_U16 : NUM_U8;
}

static void emit_spill(placer *p, tile_id original)
{
    use_list *u = &p->uses[original];
    const tile_id held = p->current[original];
    if (!u->clean && !u->spilled) {
        const vtile t = p->f->tiles.items[held];
        const num_dtype dtype = raw_dtype(t.bytes);
        const int64_t dims[1] = { (int64_t)t.partitions * (int64_t)(t.bytes / (uint32_t)num_size(dtype)) };
        const char *name = glia_arena_printf(p->m->arena, "spill.%s.%u", p->f->name, p->m->program->tensors.count);
        const uint32_t tensor = isa_tensor_add(p->m->program, name, ISA_TENSOR_SCRATCH, dtype, 1, dims);
        p->m->program->tensors.items[tensor].core = (int32_t)p->f->core;
        u->slot = p->f->slots.count;
        VEC_PUSH(&p->f->slots) = (isa_slot){ .name = name, .kind = ISA_SLOT_GLOBAL, .access = ISA_RW, .index = tensor,
                                             .bytes = p->m->program->tensors.items[tensor].bytes };
        tile_insn i = { .op = ISA_dma_copy, .engine = ISA_POOL, .queue = QUEUE_SPILL, .operand_count = 2, .attr = { ISA_DGE_NONE, ISA_OOB_ERROR } };
        i.operands[0] = tile_plain(spill_operand(p, u, &t, dtype));
        i.operands[1] = tile_view(p->f, held, dtype, t.partitions, 0, (int)(t.bytes / (uint32_t)num_size(dtype)));
        VEC_PUSH(&p->out) = i;
        u->spilled = true;
    }
    sbuf_drop(p, held);
    p->current[original] = 0;
}

static bool used_now(const tile_insn *i, tile_id original)
{
    for (int k = 0; k < i->operand_count; k++)
        if (i->operands[k].tile == original) return true;
    return false;
}

// Frees SBUF until `t` fits. EXHAUSTED when nothing is left to spill.
static glia_status make_room(placer *p, tile_id t, const tile_insn *insn, uint32_t now)
{
    while (!sbuf_take(p, t)) {
        tile_id victim = 0;
        uint32_t farthest = 0;
        for (uint32_t k = 0; k < p->sbuf.count; k++) {
            const tile_id o = p->original[p->sbuf.items[k].tile];
            if (used_now(insn, o) || p->uses[o].last_write >= now) continue;
            const uint32_t n = next_use(p, o, now);
            if (!victim || n > farthest) {
                victim = o;
                farthest = n;
            }
        }
        const isa_origin *from = &p->m->program->origins.items[insn->origin];
        ENSURE(victim, EXHAUSTED,
               "'%s' (%s): function '%s': one instruction (%s) needs %u bytes of each partition beside %u live tiles, SBUF has %lld\n"
               "hint: reduce the size of the last dimension, or of the batch",
               from->op, from->where, p->f->name, isa_row_get((isa_op)insn->op)->name, p->f->tiles.items[t].bytes, p->sbuf.count, (long long)p->limit);
        emit_spill(p, victim);
    }
    return GLIA_OK;
}

static glia_status bring_back(placer *p, tile_id original, const tile_insn *insn, uint32_t now)
{
    use_list *u = &p->uses[original];
    const vtile old = p->f->tiles.items[original];
    const tile_id t = tile_new(p->f, (isa_space)old.space, old.partitions, old.bytes);
    note_original(p, t, original);
    TRY(make_room(p, t, insn, now));
    p->current[original] = t;
    if (u->clean) {
        tile_insn again = u->source;
        again.operands[0].tile = t;
        VEC_PUSH(&p->out) = again;
        return GLIA_OK;
    }
    const num_dtype dtype = raw_dtype(old.bytes);
    tile_insn i = { .op = ISA_dma_copy, .engine = ISA_POOL, .queue = QUEUE_SPILL, .operand_count = 2, .attr = { ISA_DGE_NONE, ISA_OOB_ERROR } };
    i.operands[0] = tile_view(p->f, t, dtype, old.partitions, 0, (int)(old.bytes / (uint32_t)num_size(dtype)));
    i.operands[1] = tile_plain(spill_operand(p, u, &old, dtype));
    VEC_PUSH(&p->out) = i;
    return GLIA_OK;
}

// ---- PSUM ----------------------------------------------------------------------------------------------------------

static glia_status psum_take(placer *p, tile_id t)
{
    BUG_ON(p->f->tiles.items[t].bytes > ISA_PSUM_BANK_BYTES);
    for (int k = 0; k < ISA_PSUM_BANKS; k++) {
        const int b = (p->bank_cursor + k) % ISA_PSUM_BANKS;
        if (p->banks[b]) continue;
        p->banks[b] = t;
        p->bank_cursor = (b + 1) % ISA_PSUM_BANKS;
        p->f->tiles.items[t].address = (int64_t)b * ISA_PSUM_BANK_BYTES;
        return GLIA_OK;
    }
    return GLIA_FAIL(EXHAUSTED, "'%s': more than %d PSUM banks are live at once", p->f->name, ISA_PSUM_BANKS);
}

static glia_status place_insn(placer *p, uint32_t now)
{
    tile_insn i = p->f->insns.items[now];
    for (int k = 0; k < i.operand_count; k++) {
        const tile_id o = i.operands[k].tile;
        if (!o || p->current[o]) continue;
        if (p->f->tiles.items[o].space == ISA_PSUM) {
            TRY(psum_take(p, o));
            p->current[o] = o;
        } else if (p->uses[o].next == 0) {
            TRY(make_room(p, o, &p->f->insns.items[now], now));
            p->current[o] = o;
        } else {
            TRY(bring_back(p, o, &p->f->insns.items[now], now));
        }
    }
    for (int k = 0; k < i.operand_count; k++)
        if (i.operands[k].tile) i.operands[k].tile = p->current[i.operands[k].tile];
    VEC_PUSH(&p->out) = i;
    const tile_insn *orig = &p->f->insns.items[now];
    for (int k = 0; k < orig->operand_count; k++) {
        const tile_id o = orig->operands[k].tile;
        use_list *u = &p->uses[o];
        if (!o) continue;
        while (u->next < u->count && u->at[u->next] <= now) u->next++;
        if (u->next < u->count || !p->current[o]) continue;
        if (p->f->tiles.items[o].space == ISA_PSUM) {
            for (int b = 0; b < ISA_PSUM_BANKS; b++)
                if (p->banks[b] == o) p->banks[b] = 0;
        } else {
            sbuf_drop(p, p->current[o]);
        }
        p->current[o] = 0;
    }
    return GLIA_OK;
}

glia_status place_run(lower_module *m, tile_function *f)
{
    AUTO(glia_arena) arena = glia_arena_create();
    placer p = { .m = m, .f = f, .arena = arena, .limit = hw_int(m->chip->sbuf_usable_bytes) / PLACE_ALIGN * PLACE_ALIGN };
    const uint32_t tiles = f->tiles.count;
    p.current = ARENA_ARRAY(arena, tile_id, tiles);
    note_original(&p, tiles, 0);
    for (uint32_t t = 0; t < tiles; t++) p.original[t] = t;
    collect_uses(&p);
    glia_status s = GLIA_OK;
    const uint32_t n = f->insns.count;
    for (uint32_t i = 0; i < n && !s; i++) s = place_insn(&p, i);
    VEC_FREE(&f->insns);
    memcpy(&f->insns, &p.out, sizeof f->insns);
    VEC_FREE(&p.sbuf);
    glia_free(p.original);
    return s;
}
