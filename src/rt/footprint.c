// SPDX-License-Identifier: Apache-2.0
// What loading a program takes of a core's HBM, by the vendor's categories. Constants and scratch are the program's own
// numbers. Instruction streams and descriptor rings are estimates, since their formats are not public: so many bytes an
// instruction [runtime:code.instruction], and for each contiguous piece of a DMA whose descriptors are made before
// execution one descriptor to read and one to write [runtime:ring.sides], as often as static loops and calls repeat it.
#include "isa/dma_shape.h"
#include "rt/objects.h"

enum { INSTRUCTION_BYTES = 64, RING_SIDES = 2, SCRATCH_ALIGN = 64 };

// A hostile program's numbers end here: more than any HBM has, and sums of several do not overflow.
static const uint64_t LIMIT = UINT64_MAX / 64;

static uint64_t add(uint64_t a, uint64_t b)
{
    return a >= LIMIT || b >= LIMIT - a ? LIMIT : a + b;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t n = 0;
    return __builtin_mul_overflow(a, b, &n) || n > LIMIT ? LIMIT : n;
}

// ---- rings ---------------------------------------------------------------------------------------------------------

// What is known of a function before its turn: how often it runs, and what its formals are bound to.
typedef struct callee {
    uint64_t runs;
    uint8_t *formal; // [formal_count] isa_tensor_kind + 1 of a tensor bound to it, 0: not known
} callee;

static uint8_t kind_of_slot(const isa_program *p, const isa_function *f, const callee *c, uint32_t slot)
{
    const isa_slot *s = &f->slots.items[slot];
    return s->kind == ISA_SLOT_GLOBAL ? (uint8_t)(p->tensors.items[s->index].kind + 1) : c->formal[s->index];
}

static uint64_t trips_of(const isa_function *f, const isa_insn *i)
{
    const isa_operand *start = isa_operand_of(f, i, 1), *limit = isa_operand_of(f, i, 2),
                      *stride = isa_operand_of(f, i, 3);
    if (start->space != ISA_IMM || limit->space != ISA_IMM || stride->offset <= 0) return 1;
    if (limit->offset <= start->offset) return 0;
    return ((uint64_t)limit->offset - (uint64_t)start->offset - 1) / (uint64_t)stride->offset + 1;
}

// Callees have greater numbers than their callers, so one pass in order sees every caller first.
static void note_call(const isa_program *p, const isa_core *core, const isa_function *f, const callee *from,
                      callee *callees, const isa_insn *i, uint64_t runs)
{
    const uint32_t number = (uint32_t)isa_operand_of(f, i, 0)->offset;
    callee *to = &callees[number];
    to->runs = add(to->runs, runs);
    if (!isa_operand_has(f, i, 1)) return;
    const isa_table *t = &core->tables.items[isa_operand_of(f, i, 1)->offset];
    const isa_operand *row = isa_operand_of(f, i, 2);
    const uint64_t r = row->space == ISA_IMM ? (uint64_t)row->offset : 0;
    for (uint32_t k = 0; r < t->rows && k < t->formals; k++)
        if (!to->formal[k]) to->formal[k] = kind_of_slot(p, f, from, t->items[r * t->formals + k].slot);
}

static rt_category ring_of(const isa_program *p, const isa_function *f, const callee *c, const isa_insn *i)
{
    for (int k = 0; k < i->operand_count; k++) {
        const isa_operand *o = isa_operand_of(f, i, k);
        if (o->space != ISA_HBM) continue;
        const uint8_t kind = kind_of_slot(p, f, c, o->tensor);
        if (kind == ISA_TENSOR_INPUT + 1 || kind == ISA_TENSOR_OUTPUT + 1) return RT_MEMORY_RINGS_IO;
    }
    return RT_MEMORY_RINGS_SPILL;
}

static bool has_ring(const isa_insn *i)
{
    return isa_is_dma((isa_op)i->op) && i->attr[0] == ISA_DGE_NONE;
}

static void count_function(const isa_program *p, const hw_chip *chip, const isa_core *core, const isa_function *f,
                           const callee *c, callee *callees, rt_footprint *out)
{
    VEC(uint64_t) loops = {0};
    uint64_t runs = c->runs;
    for (uint32_t k = 0; k < f->insns.count; k++) {
        const isa_insn *i = &f->insns.items[k];
        if (i->op == ISA_for) {
            VEC_PUSH(&loops) = runs;
            runs = multiply(runs, trips_of(f, i));
        } else if (i->op == ISA_end_for && loops.count) {
            runs = loops.items[--loops.count];
        } else if (i->op == ISA_call) {
            note_call(p, core, f, c, callees, i, runs);
        } else if (has_ring(i)) {
            const uint64_t bytes = multiply(isa_dma_shape_of(f, i, chip).descriptors,
                                            RING_SIDES * (uint64_t)hw_int(chip->dma_descriptor_bytes));
            const rt_category ring = ring_of(p, f, c, i);
            out->bytes[ring] = add(out->bytes[ring], multiply(bytes, runs));
        }
    }
    VEC_FREE(&loops);
}

static void count_core(const isa_program *p, const hw_chip *chip, const isa_core *core, rt_footprint *out)
{
    glia_arena *arena = glia_arena_create();
    callee *callees = ARENA_ARRAY(arena, callee, core->functions.count);
    for (uint32_t k = 0; k < core->functions.count; k++)
        callees[k].formal = ARENA_ARRAY(arena, uint8_t, core->functions.items[k]->formal_count);
    callees[0].runs = 1;
    for (uint32_t k = 0; k < core->functions.count; k++) {
        const isa_function *f = core->functions.items[k];
        out->bytes[RT_MEMORY_MODEL_CODE] =
            add(out->bytes[RT_MEMORY_MODEL_CODE], (uint64_t)f->insns.count * INSTRUCTION_BYTES);
        count_function(p, chip, core, f, &callees[k], callees, out);
    }
    glia_arena_destroy(arena);
}

// ---- tensors of the program ----------------------------------------------------------------------------------------

// Scratch lies one after the other in the core's shared region. Where that is made of pages, what would cross one gets
// memory of its own, and its place in the region stays unused [runtime:memory.scratchpad_page].
static void count_scratch(const isa_program *p, uint64_t page, rt_footprint *out)
{
    uint64_t at = 0;
    for (uint32_t k = 0; k < p->tensors.count; k++) {
        const isa_tensor *t = &p->tensors.items[k];
        if (t->kind == ISA_TENSOR_CONST)
            out->bytes[RT_MEMORY_MODEL_CONSTANTS] = add(out->bytes[RT_MEMORY_MODEL_CONSTANTS], t->bytes);
        if (t->kind != ISA_TENSOR_SCRATCH) continue;
        if (page && (t->bytes > page || at % page > page - t->bytes))
            out->bytes[RT_MEMORY_SCRATCH] = add(out->bytes[RT_MEMORY_SCRATCH], t->bytes);
        at = add(at, t->bytes);
        at = add(at, (SCRATCH_ALIGN - at % SCRATCH_ALIGN) % SCRATCH_ALIGN);
    }
    out->bytes[RT_MEMORY_SHARED_SCRATCH] = at;
}

void rt_footprint_of(const isa_program *p, const hw_chip *chip, int lnc, rt_footprint *out)
{
    const bool paged = hw_int(chip->lnc_max) > 1 && lnc == 1;
    *out = (rt_footprint){{0}};
    count_scratch(p, paged ? 512u << 20 : 0, out);
    for (uint32_t c = 0; c < p->core_count; c++)
        count_core(p, chip, &p->cores[c], out);
}
