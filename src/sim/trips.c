// SPDX-License-Identifier: Apache-2.0
// How often a loop runs when its count is not in the instruction: as a trace decided, as was stated, or as often as
// straight-line code and clamps allow at most; and which of these it was.
#include "sim/machine.h"

// The latest instruction before `at` that writes a register of an engine in `mask`, in the same function.
static const isa_insn *writer_of(const isa_function *f, uint32_t at, uint16_t reg, uint8_t mask)
{
    while (at-- > 0) {
        const isa_insn *i = &f->insns.items[at];
        const bool writes = i->op == ISA_reg_move || i->op == ISA_reg_alu || i->op == ISA_reg_load || i->op == ISA_for;
        if (!writes || isa_operand_of(f, i, 0)->tensor != reg) continue;
        if (i->op == ISA_for ? (i->engines & mask) != 0 : (mask >> i->engine & 1) != 0) return i;
    }
    return NULL;
}

typedef struct bound { int64_t low, high; bool known, fixed; } bound;

// What a register or immediate may be, as far as straight-line code and clamps tell.
static bound bound_of(const isa_function *f, uint32_t at, const isa_operand *o, uint8_t mask)
{
    if (o->space == ISA_IMM) return (bound){ o->offset, o->offset, true, true };
    if (o->space != ISA_REG) return (bound){ 0 };
    const isa_insn *i = writer_of(f, at, o->tensor, mask);
    if (!i) return (bound){ 0 };
    if (i->op == ISA_reg_move && isa_operand_of(f, i, 1)->space == ISA_IMM) {
        const int64_t v = isa_operand_of(f, i, 1)->offset;
        return (bound){ v, v, true, false };
    }
    if (i->op == ISA_reg_load && isa_operand_has(f, i, 2) && isa_operand_has(f, i, 3))
        return (bound){ isa_operand_of(f, i, 2)->offset, isa_operand_of(f, i, 3)->offset, true, false };
    return (bound){ 0 };
}

static int64_t iterations(int64_t start, int64_t limit, int64_t stride)
{
    if (limit <= start || stride <= 0) return 0;
    return (int64_t)(((__int128)limit - start + stride - 1) / stride);
}

static void count_for(const isa_function *f, sim_control *k)
{
    const isa_insn *i = &f->insns.items[k->insn];
    const bound start = bound_of(f, k->insn, isa_operand_of(f, i, 1), i->engines);
    const bound limit = bound_of(f, k->insn, isa_operand_of(f, i, 2), i->engines);
    const int64_t stride = isa_operand_of(f, i, 3)->offset;
    if (start.known && limit.known) {
        k->count = iterations(start.low, limit.high, stride);
        k->source = start.fixed && limit.fixed ? SIM_TRIPS_STATIC : SIM_TRIPS_BOUND;
    }
}

// A `while` that counts: its register starts at a constant, grows by one in the body, and is compared with a bound.
static void count_while(const isa_function *f, sim_control *k)
{
    const isa_insn *i = &f->insns.items[k->insn];
    const isa_operand *a = isa_operand_of(f, i, 0);
    if (a->space != ISA_REG) return;
    const bound start = bound_of(f, k->insn, a, i->engines), limit = bound_of(f, k->insn, isa_operand_of(f, i, 1), i->engines);
    const isa_insn *step = writer_of(f, k->end, a->tensor, i->engines);
    if (!start.known || !limit.known || !step || step->op != ISA_reg_alu || step->attr[0] != ISA_ALU_ADD) return;
    const isa_operand *from = isa_operand_of(f, step, 1), *by = isa_operand_of(f, step, 2);
    if (from->space != ISA_REG || from->tensor != a->tensor || by->space != ISA_IMM) return;
    if (i->attr[0] != ISA_ALU_LT && i->attr[0] != ISA_ALU_LE && i->attr[0] != ISA_ALU_NE) return;
    k->count = iterations(start.low, limit.high + (i->attr[0] == ISA_ALU_LE), by->offset);
    k->source = SIM_TRIPS_BOUND;
}

bool sim_decide_trips(const sim *s, const isa_function *f, sim_control *k)
{
    const uint8_t op = f->insns.items[k->insn].op;
    k->count = 1;
    k->source = SIM_TRIPS_UNKNOWN;
    if (op == ISA_for) count_for(f, k);
    if (op == ISA_while) count_while(f, k);
    if (op == ISA_if) k->source = SIM_TRIPS_BOUND;      // its first arm is taken
    if (k->source == SIM_TRIPS_STATIC) return false;
    if (s->options.trips) k->source = SIM_TRIPS_TRACE;
    else if (op != ISA_if && s->options.expected_trips >= 0) {
        k->count = s->options.expected_trips;
        k->source = SIM_TRIPS_EXPECTED;
    }
    return true;
}
