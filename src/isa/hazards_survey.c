// SPDX-License-Identifier: Apache-2.0
// What functions, and parts of them, may do whatever way they go: which registers they write, which semaphores they add
// to, how large they are when expanded, and where their control ends. What the walk needs to know of a loop before it
// walks it.
#include "isa/hazards_internal.h"

enum { DEPTH = 34 }; // isa_check_structure allows 32

uint64_t hz_times(uint64_t a, uint64_t b)
{
    uint64_t r;
    return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    uint64_t r;
    return __builtin_add_overflow(a, b, &r) ? UINT64_MAX : r;
}

bool hz_writes_register(const isa_insn *i)
{
    return i->op == ISA_reg_move || i->op == ISA_reg_alu || i->op == ISA_reg_load || i->op == ISA_for;
}

static bool opens(uint8_t op)
{
    return op == ISA_for || op == ISA_while || op == ISA_if;
}

static bool closes(uint8_t op)
{
    return op == ISA_end_for || op == ISA_end_while || op == ISA_end_if;
}

// How often the walk goes through the construct; *fixed if that is known from the instruction alone.
static uint64_t trips_of(const isa_function *f, const isa_insn *i, bool *fixed)
{
    *fixed = false;
    if (i->op != ISA_for) return 1;
    const isa_operand *start = isa_operand_of(f, i, 1), *limit = isa_operand_of(f, i, 2);
    const int64_t stride = isa_operand_of(f, i, 3)->offset;
    if (start->space != ISA_IMM || limit->space != ISA_IMM || stride <= 0) return 1;
    *fixed = true;
    if (limit->offset <= start->offset) return 0;
    const uint64_t trips = ((uint64_t)limit->offset - (uint64_t)start->offset - 1) / (uint64_t)stride + 1;
    return trips > HZ_LONG_TRIPS ? HZ_LONG_TRIPS : trips;
}

static void add_effects(const isa_function *f, const isa_insn *i, hz_survey *out)
{
    for (uint32_t u = 0; u < i->update_count; u++) {
        const uint16_t sem = f->updates.items[i->update + u].sem;
        out->adds[sem / 64] |= 1ull << sem % 64;
    }
    for (int e = 0; hz_writes_register(i) && e < ISA_ENGINE_COUNT; e++)
        if (((i->engines | 1u << i->engine) >> e) & 1) out->writes[e] |= 1ull << isa_operand_of(f, i, 0)->tensor;
}

static void add_callee(const hz_survey *callee, hz_survey *out)
{
    for (int e = 0; e < ISA_ENGINE_COUNT; e++)
        out->writes[e] |= callee->writes[e];
    for (int k = 0; k < ISA_SEMAPHORES / 64; k++)
        out->adds[k] |= callee->adds[k];
    out->varies |= callee->varies;
}

void hz_survey_range(const hz_survey *functions, const isa_function *f, uint32_t first, uint32_t end, hz_survey *out)
{
    uint64_t times[DEPTH] = {1}; // of the loops around
    int depth = 0;
    for (uint32_t n = first; n < end; n++) {
        const isa_insn *i = &f->insns.items[n];
        const hz_survey *callee = i->op == ISA_call ? &functions[isa_operand_of(f, i, 0)->offset] : NULL;
        out->size = plus(out->size, hz_times(callee ? callee->size : 1, times[depth]));
        add_effects(f, i, out);
        if (callee) {
            add_callee(callee, out);
            out->varies |= isa_operand_of(f, i, 2)->space == ISA_REG;
        } else if (opens(i->op)) {
            bool fixed;
            times[depth + 1] = hz_times(times[depth], trips_of(f, i, &fixed));
            out->varies |= !fixed;
            depth++;
        } else if (closes(i->op)) {
            depth--;
        }
    }
}

void hz_survey_control(const isa_function *f, hz_survey *out)
{
    uint32_t stack[DEPTH];
    int depth = 0;
    for (uint32_t n = 0; n < f->insns.count; n++) {
        const uint8_t op = f->insns.items[n].op;
        if (opens(op)) {
            stack[depth++] = n;
        } else if (op == ISA_else) {
            out->else_of[stack[depth - 1]] = n;
        } else if (closes(op)) {
            const uint32_t open = stack[--depth];
            out->end_of[open] = out->end_of[n] = n;
            if (!out->else_of[open]) out->else_of[open] = n;
            out->end_of[out->else_of[open]] = n; // so that an else finds its end
        }
    }
}
