// SPDX-License-Identifier: Apache-2.0
// The rows of isa.def, formats.def, alu.def and act.def as tables, and the arithmetic on access patterns that every
// reader of a program shares. Counts and steps may come from a hostile file: sums and products saturate, so that a
// nonsensical operand is merely out of bounds for whoever judges it.
#include "isa/isa.h"

#include <string.h>

// formats.def and isa.def write spaces and engines as bare words joined by `|`.
enum { HBM = ISA_HBM, SBUF = ISA_SBUF, PSUM = ISA_PSUM, REG = ISA_REG, IMM = ISA_IMM, PATTERN = ISA_PATTERN, OPT = 64 };
enum { PE = 1 << ISA_PE, ACT = 1 << ISA_ACT, DVE = 1 << ISA_DVE, POOL = 1 << ISA_POOL, SP = 1 << ISA_SP };

// clang-format off
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
// clang-format on

enum { ARITH = 1, BITVEC = 2, UNARY = 4, REDUCE = 8, POOLONLY = 16, COMPARE = 32 };
#define ALU(symbol, name, kind, flags) [ISA_ALU_##symbol] = name,
static const char *const alu_names[ISA_ALU_COUNT] = {
#include "isa/alu.def"
};
#define ALU(symbol, name, kind, flags) [ISA_ALU_##symbol] = (kind) | (flags),
static const uint8_t alu_flags[ISA_ALU_COUNT] = {
#include "isa/alu.def"
};

#define ACT(symbol, name) [ISA_ACT_##symbol] = name,
static const char *const act_names[ISA_ACT_COUNT] = {
#include "isa/act.def"
};

static const char *const engine_names[ISA_ENGINE_COUNT] = {"PE", "ACT", "DVE", "POOL", "SP"};

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

static bool alu_has(isa_alu a, int flag)
{
    return (unsigned)a < ISA_ALU_COUNT && (alu_flags[a] & flag) != 0;
}

// clang-format off
bool isa_alu_is_bitvec(isa_alu a) { return alu_has(a, BITVEC); }
bool isa_alu_is_unary(isa_alu a) { return alu_has(a, UNARY) || a == ISA_ALU_INVERT; }
bool isa_alu_is_compare(isa_alu a) { return alu_has(a, COMPARE); }
bool isa_alu_can_reduce(isa_alu a) { return alu_has(a, REDUCE); }
bool isa_alu_is_pool_only(isa_alu a) { return alu_has(a, POOLONLY); }
// clang-format on

static const char *const reduce_cmd_names[ISA_REDUCE_CMD_COUNT] = {"idle", "reset", "reduce", "reset_reduce",
                                                                   "load_reduce"};
static const char *const perf_names[ISA_PERF_COUNT] = {"none", "double_row"};
static const char *const dge_names[ISA_DGE_COUNT] = {"none", "swdge", "hwdge"};
static const char *const oob_names[ISA_OOB_COUNT] = {"error", "skip"};

static const struct {
    const char *const *names;
    uint32_t count;
} attr_kinds[] = {
    [ISA_ATTR_BOOL] = {NULL, 2},
    [ISA_ATTR_U8] = {NULL, 256},
    [ISA_ATTR_ALU] = {alu_names, ISA_ALU_COUNT},
    [ISA_ATTR_ACT] = {act_names, ISA_ACT_COUNT},
    [ISA_ATTR_REDUCE_CMD] = {reduce_cmd_names, ISA_REDUCE_CMD_COUNT},
    [ISA_ATTR_PERF] = {perf_names, ISA_PERF_COUNT},
    [ISA_ATTR_DGE] = {dge_names, ISA_DGE_COUNT},
    [ISA_ATTR_OOB] = {oob_names, ISA_OOB_COUNT},
};

uint32_t isa_attr_value_count(isa_attr_kind kind)
{
    return attr_kinds[kind].count;
}

const char *isa_attr_value_name(isa_attr_kind kind, uint8_t value)
{
    return attr_kinds[kind].names && value < attr_kinds[kind].count ? attr_kinds[kind].names[value] : NULL;
}

bool isa_attr_value_find(isa_attr_kind kind, const char *name, size_t size, uint8_t *out)
{
    for (uint32_t v = 0; attr_kinds[kind].names && v < attr_kinds[kind].count; v++) {
        const char *candidate = attr_kinds[kind].names[v];
        if (strlen(candidate) != size || memcmp(candidate, name, size) != 0) continue;
        *out = (uint8_t)v;
        return true;
    }
    return false;
}

unsigned isa_operand_fields(uint8_t space)
{
    switch (space) {
    case ISA_SBUF:
    case ISA_PSUM:
        return ISA_FIELD_PARTITIONS | ISA_FIELD_OFFSET | ISA_FIELD_DIMS | ISA_FIELD_TERMS | ISA_FIELD_PACKING;
    case ISA_HBM:
        return ISA_FIELD_TENSOR | ISA_FIELD_OFFSET | ISA_FIELD_DIMS | ISA_FIELD_TERMS | ISA_FIELD_PACKING;
    case ISA_REG:
        return ISA_FIELD_TENSOR;
    case ISA_IMM:
        return ISA_FIELD_OFFSET;
    case ISA_PATTERN:
        return ISA_FIELD_OFFSET | ISA_FIELD_DIMS | ISA_FIELD_CHANNEL | ISA_FIELD_TERMS;
    default:
        return 0; // NONE, or a byte that is no space
    }
}

static uint64_t saturating_mul(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

uint64_t isa_operand_free(const isa_operand *o)
{
    uint64_t n = 1;
    for (int k = 0; k < o->rank; k++)
        n = saturating_mul(n, o->count[k]);
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
    __int128 first = 0, last = 0; // elements; |step * count| < 2^95, so five of them cannot overflow
    for (int k = 0; k < o->rank; k++) {
        if (o->count[k] == 0) return false;
        const __int128 reach = (__int128)o->step[k] * (o->count[k] - 1);
        if (reach < 0)
            first += reach;
        else
            last += reach;
    }
    const int bits = num_bits((num_dtype)o->dtype);
    const __int128 first_bit = first * bits, end_bit = (last + 1) * bits;
    // Arithmetic shifts: whole bytes that hold the bits, also for types under 8 bits and negative steps.
    *lo = clamp_i64((__int128)o->offset + (first_bit >> 3));
    *hi = clamp_i64((__int128)o->offset + ((end_bit + 7) >> 3));
    return true;
}
