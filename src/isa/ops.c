// SPDX-License-Identifier: Apache-2.0
// The rows of isa.def, formats.def, alu.def and act.def as tables, and the arithmetic on access patterns that every
// reader of a program shares. Counts and steps may come from a hostile file: sums and products saturate, so that a
// nonsensical operand is merely out of bounds for whoever judges it.
#include "isa/isa.h"

#include <string.h>

// formats.def and isa.def write spaces and engines as bare words joined by `|`.
enum { HBM = ISA_HBM, SBUF = ISA_SBUF, PSUM = ISA_PSUM, REG = ISA_REG, IMM = ISA_IMM, PATTERN = ISA_PATTERN, OPT = 64 };
enum { PE = 1 << ISA_PE, ACT = 1 << ISA_ACT, DVE = 1 << ISA_DVE, POOL = 1 << ISA_POOL, SP = 1 << ISA_SP };

// operands_<format>[]: a zero row ends each, so that a format without operands is an array too.
#define FORMAT(name) static const isa_format_operand operands_##name[] = {
#define OPERAND(name, access, spaces, rule)                                                                            \
    { #name, ISA_##access, (uint8_t)((spaces) & ~OPT), ((spaces) & OPT) != 0, ISA_RULE_##rule },
#define ATTR(name, kind)
#define END_FORMAT { NULL, 0, 0, 0, 0 } };
#include "isa/formats.def"

// attrs_<format>[], likewise.
#define FORMAT(name) static const isa_format_attr attrs_##name[] = {
#define OPERAND(name, access, spaces, rule)
#define ATTR(name, kind) { #name, ISA_ATTR_##kind },
#define END_FORMAT { NULL, 0 } };
#include "isa/formats.def"

#define INSN(name, engines, format, cost, gen, hard, fact)                                                             \
    [ISA_##name] = { #name, fact, #format, engines, gen, ISA_##hard, COUNT_OF(operands_##format) - 1,                  \
                     COUNT_OF(attrs_##format) - 1, operands_##format, attrs_##format },
static const isa_row rows[ISA_OP_COUNT] = {
#include "isa/isa.def"
};

#define ALU(symbol, name, kind, flags) [ISA_ALU_##symbol] = name,
static const char *const alu_names[ISA_ALU_COUNT] = {
#include "isa/alu.def"
};

#define ACT(symbol, name) [ISA_ACT_##symbol] = name,
static const char *const act_names[ISA_ACT_COUNT] = {
#include "isa/act.def"
};

static const char *const engine_names[ISA_ENGINE_COUNT] = { "PE", "ACT", "DVE", "POOL", "SP" };

const isa_row *isa_row_get(isa_op op)
{
    BUG_ON((unsigned)op >= ISA_OP_COUNT);
    return &rows[op];
}

bool isa_op_find(const char *name, size_t size, isa_op *out)
{
    for (int op = 0; op < ISA_OP_COUNT; op++) {
        if (strlen(rows[op].name) != size || memcmp(rows[op].name, name, size) != 0) continue;
        *out = (isa_op)op;
        return true;
    }
    return false;
}

const char *isa_engine_name(isa_engine e)
{
    return (unsigned)e < ISA_ENGINE_COUNT ? engine_names[e] : "?";
}

const char *isa_alu_name(isa_alu a)
{
    return (unsigned)a < ISA_ALU_COUNT ? alu_names[a] : "?";
}

const char *isa_act_name(isa_act a)
{
    return (unsigned)a < ISA_ACT_COUNT ? act_names[a] : "?";
}

static uint64_t saturating_mul(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

uint64_t isa_operand_free(const isa_operand *o)
{
    uint64_t n = 1;
    for (int k = 0; k < o->rank; k++) n = saturating_mul(n, o->count[k]);
    return n;
}

uint64_t isa_operand_elements(const isa_operand *o)
{
    const uint64_t n = isa_operand_free(o);
    return o->space == ISA_SBUF || o->space == ISA_PSUM ? saturating_mul(n, o->partitions) : n;
}

bool isa_operand_has(const isa_function *f, const isa_insn *i, int slot)
{
    return slot >= 0 && slot < i->operand_count && isa_operand_of(f, i, slot)->space != ISA_SPACE_NONE;
}

isa_access isa_operand_access(const isa_insn *i, int slot)
{
    const isa_row *row = isa_row_get((isa_op)i->op);
    if (slot < 0 || slot >= row->operand_count) return ISA_READ;
    if (i->op == ISA_matmul && slot == 0 && i->attr[0]) return ISA_RW;
    return (isa_access)row->operands[slot].access;
}

static int64_t clamp_i64(__int128 v)
{
    return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

bool isa_operand_range(const isa_operand *o, int64_t *lo, int64_t *hi)
{
    __int128 first = 0, last = 0;       // elements; |step * count| < 2^95, so five of them cannot overflow
    for (int k = 0; k < o->rank; k++) {
        if (o->count[k] == 0) return false;
        const __int128 reach = (__int128)o->step[k] * (o->count[k] - 1);
        if (reach < 0) first += reach;
        else last += reach;
    }
    const int bits = num_bits((num_dtype)o->dtype);
    const __int128 first_bit = first * bits, end_bit = (last + 1) * bits;
    // Arithmetic shifts: whole bytes that hold the bits, also for types under 8 bits and negative steps.
    *lo = clamp_i64((__int128)o->offset + (first_bit >> 3));
    *hi = clamp_i64((__int128)o->offset + ((end_bit + 7) >> 3));
    return true;
}
