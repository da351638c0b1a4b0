// SPDX-License-Identifier: Apache-2.0
// Emission: placed tile functions become functions of the program. Addresses replace tiles, nothing else changes.
#include "compile/backend.h"

#include <string.h>

static void emit_function(lower_module *m, const tile_function *t, uint32_t core)
{
    isa_function *f = isa_function_create(m->program, core, t->name);
    isa_core *c = &m->program->cores[core];
    for (uint32_t k = 0; k < t->slots.count; k++) {
        isa_slot *slot = &VEC_PUSH(&f->slots);
        *slot = t->slots.items[k];
        slot->name = glia_arena_strdup(m->program->arena, slot->name);      // the compile's arena dies before the program
    }
    f->formal_count = t->formal_count;
    for (uint32_t k = 0; k < t->insns.count; k++) {
        const tile_insn *i = &t->insns.items[k];
        isa_operand o[TILE_OPERANDS];
        for (int j = 0; j < i->operand_count; j++) {
            o[j] = i->operands[j].o;
            if (!i->operands[j].tile) continue;
            const vtile *tl = &t->tiles.items[i->operands[j].tile];
            BUG_ON(tl->address < 0);
            o[j].offset += tl->address;
            uint64_t *used = tl->space == ISA_PSUM ? &c->psum_used : &c->sbuf_used;
            const uint64_t end = (uint64_t)tl->address + tl->bytes;
            if (end > *used) *used = end;
        }
        const isa_row *row = isa_row_get((isa_op)i->op);
        const uint32_t at = isa_emit(f, (isa_op)i->op, (isa_engine)i->engine, i->operand_count, o, row->attr_count, i->attr, i->origin);
        f->insns.items[at].queue = i->queue;
        f->insns.items[at].engines = i->engines;
    }
}

void emit_run(lower_module *m)
{
    for (uint32_t c = 0; c < m->core_count; c++)
        for (uint32_t k = 0; k < m->functions[c].count; k++) emit_function(m, m->functions[c].items[k], c);
}
