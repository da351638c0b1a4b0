// SPDX-License-Identifier: Apache-2.0
// Rules of ACT, DVE and POOL: which operations, on which types, with which extra operands. (docs/facts/isa.md)
#include "isa/judge.h"

static const char *name_of(const isa_judge *j, int slot)
{
    return j->row->operands[slot].name;
}

static const char *dtype_of(const isa_judge *j, int slot)
{
    return num_dtype_get((num_dtype)j->operands[slot].dtype)->name;
}

static uint64_t free_of(const isa_judge *j, int slot)
{
    return isa_operand_free(&j->operands[slot]);
}

static bool has(const isa_judge *j, int slot)
{
    return j->operands[slot].space != ISA_SPACE_NONE;
}

// The ALU operators of an instruction: 0, 1 or 2 of them.
static int alus_of(const isa_judge *j, isa_alu out[2])
{
    if (j->row->hard != ISA_HARD) return 0;
    int n = 0;
    for (int k = 0; k < j->row->attr_count && n < 2; k++)
        if (j->row->attrs[k].kind == ISA_ATTR_ALU) out[n++] = (isa_alu)j->i->attr[k];
    return n;
}

// ---- operators ----

static bool is_ts(const isa_judge *j)
{
    return isa_has_format(j, "ts");
}

static bool is_stt(const isa_judge *j)
{
    return isa_has_format(j, "stt");
}

// tensor_scalar: operator `n` (slots 2 and 3 hold the operands).
static void check_operation(isa_judge *j, isa_alu op, int n)
{
    const bool zero = j->operands[2 + n].space == ISA_IMM && j->operands[2 + n].offset == 0;
    const bool needs = op != ISA_ALU_NONE && !isa_alu_is_unary(op);
    if (needs && !has(j, 2 + n)) isa_violation(j, "op%d '%s' has no operand", n, isa_alu_name(op));
    if (!needs && has(j, 2 + n) && !(zero && op != ISA_ALU_NONE))
        isa_violation(j, "op%d '%s' takes no operand, but has one", n, isa_alu_name(op));
}

void isa_rule_alu_present(isa_judge *j)
{
    if (!is_ts(j)) return;
    if (j->i->attr[0] == ISA_ALU_NONE) isa_violation(j, "op0 is none; the first operation is needed");
    check_operation(j, (isa_alu)j->i->attr[0], 0);
    check_operation(j, (isa_alu)j->i->attr[2], 1);
}

void isa_rule_alu_binary(isa_judge *j)
{
    isa_alu ops[2];
    const int n = alus_of(j, ops);
    if (!is_stt(j) && !isa_has_format(j, "tt")) return;
    for (int k = 0; k < n; k++)
        if (ops[k] == ISA_ALU_NONE || isa_alu_is_unary(ops[k]))
            isa_violation(j, "operation %d is '%s', which takes fewer operands", k, isa_alu_name(ops[k]));
}

void isa_rule_alu_bitvec(isa_judge *j)
{
    isa_alu ops[2];
    const int n = alus_of(j, ops);
    bool bitvec = false, arithmetic = false;
    for (int k = 0; k < n; k++) {
        if (ops[k] == ISA_ALU_NONE) continue;
        if (isa_alu_is_bitvec(ops[k]))
            bitvec = true;
        else
            arithmetic = true;
    }
    if (!bitvec) return;
    if (arithmetic) isa_violation(j, "mixes '%s' with '%s'", isa_alu_name(ops[0]), isa_alu_name(ops[1]));
    if (is_stt(j)) isa_violation(j, "'%s' is bit-wise, this instruction takes arithmetic alone", isa_alu_name(ops[0]));
    if (j->i->engine != ISA_DVE && j->i->op != ISA_partition_reduce)
        isa_violation(j, "'%s' is bit-wise, which %s lacks", isa_alu_name(ops[0]),
                      isa_engine_name((isa_engine)j->i->engine));
    for (int k = 0; k < j->row->operand_count; k++) {
        if (!isa_on_chip(&j->operands[k])) continue;
        if (!num_is_integer((num_dtype)j->operands[k].dtype) || j->operands[k].dtype != j->operands[0].dtype)
            if (j->row->operands[k].rule != ISA_RULE_COLUMN || !num_is_integer((num_dtype)j->operands[k].dtype))
                isa_violation(j, "'%s' has type '%s', bit-wise operations take one integer type, uncast", name_of(j, k),
                              dtype_of(j, k));
    }
}

void isa_rule_alu_pool_only(isa_judge *j)
{
    isa_alu ops[2] = {ISA_ALU_NONE, ISA_ALU_NONE};
    const int n = alus_of(j, ops);
    bool pool = false;
    for (int k = 0; k < n; k++)
        pool |= isa_alu_is_pool_only(ops[k]);
    if (pool && j->i->engine != ISA_POOL)
        isa_violation(j, "'%s' is an operation of POOL", isa_alu_name(isa_alu_is_pool_only(ops[0]) ? ops[0] : ops[1]));
    if (!pool && is_ts(j) && j->i->engine == ISA_POOL)
        isa_violation(j, "'%s' is no operation of POOL's tensor_scalar; use DVE", isa_alu_name(ops[0]));
}

void isa_rule_alu_reduce(isa_judge *j)
{
    if (!isa_has_format(j, "tr")) return;
    const isa_alu op = (isa_alu)j->i->attr[0];
    if (!isa_alu_can_reduce(op)) isa_violation(j, "'%s' cannot reduce", isa_alu_name(op));
    if (j->i->attr[2] && isa_alu_is_bitvec(op)) isa_violation(j, "negates the result of '%s'", isa_alu_name(op));
}

void isa_rule_alu_compare(isa_judge *j)
{
    if (!isa_has_format(j, "affine") && !isa_has_format(j, "cond")) return;
    if (!isa_alu_is_compare((isa_alu)j->i->attr[0]))
        isa_violation(j, "'%s' is no comparison", isa_alu_name((isa_alu)j->i->attr[0]));
}

void isa_rule_alu_register(isa_judge *j)
{
    static const isa_alu known[] = {ISA_ALU_ADD, ISA_ALU_SUBTRACT, ISA_ALU_MULTIPLY, ISA_ALU_MAXIMUM, ISA_ALU_MINIMUM,
                                    ISA_ALU_AND, ISA_ALU_OR,       ISA_ALU_XOR,      ISA_ALU_SHL,     ISA_ALU_SHR};
    if (j->i->op != ISA_reg_alu) return;
    for (size_t k = 0; k < COUNT_OF(known); k++)
        if (j->i->attr[0] == known[k]) return;
    isa_violation(j, "'%s' is no operation on registers", isa_alu_name((isa_alu)j->i->attr[0]));
}

static void check_scalar(isa_judge *j, int slot, isa_alu op)
{
    if (!has(j, slot)) return;
    const uint8_t t = j->operands[slot].dtype;
    if (isa_alu_is_bitvec(op) ? !num_is_integer((num_dtype)t) : t != NUM_F32)
        isa_violation(j, "'%s' has type '%s', '%s' takes %s", name_of(j, slot), dtype_of(j, slot), isa_alu_name(op),
                      isa_alu_is_bitvec(op) ? "integers" : "'f32'");
}

void isa_rule_scalar_dtype(isa_judge *j)
{
    if (is_ts(j) || is_stt(j)) check_scalar(j, 2, (isa_alu)j->i->attr[0]);
    if (is_ts(j)) check_scalar(j, 3, (isa_alu)j->i->attr[2]);
    if (j->i->op == ISA_activation && j->operands[2].dtype != NUM_F32)
        isa_violation(j, "'scale' has type '%s', must have 'f32'", dtype_of(j, 2));
}

// ---- reductions ----

void isa_rule_reduce_shape(isa_judge *j)
{
    if (!isa_has_format(j, "tr")) return;
    const isa_operand *dst = &j->operands[0], *data = &j->operands[1];
    const int axes = j->i->attr[1];
    if (axes < 1 || axes > 4 || axes > data->rank) {
        isa_violation(j, "reduces %d trailing dims of %u, 1 to 4 are possible", axes, data->rank);
        return;
    }
    isa_operand kept = *data;
    kept.rank = (uint8_t)(data->rank - axes);
    if (dst->partitions != data->partitions || free_of(j, 0) != isa_operand_free(&kept))
        isa_violation(j, "dst is [%u, %llu], what remains of data is [%u, %llu]", dst->partitions,
                      (unsigned long long)free_of(j, 0), data->partitions, (unsigned long long)isa_operand_free(&kept));
}

void isa_rule_partition_reduce(isa_judge *j)
{
    if (j->i->op != ISA_partition_reduce) return;
    const isa_alu op = (isa_alu)j->i->attr[0];
    if (op != ISA_ALU_ADD && op != ISA_ALU_MAXIMUM && op != ISA_ALU_OR && op != ISA_ALU_AND)
        isa_violation(j, "'%s' does not reduce over partitions", isa_alu_name(op));
    if (j->operands[0].partitions != 1 || free_of(j, 0) != free_of(j, 1))
        isa_violation(j, "dst is [%u, %llu], must be [1, %llu]", j->operands[0].partitions,
                      (unsigned long long)free_of(j, 0), (unsigned long long)free_of(j, 1));
}

// ---- ACT ----

void isa_rule_act_bias_immediate(isa_judge *j)
{
    if (j->i->op == ISA_activation && j->operands[3].space == ISA_IMM && !hw_flag(j->chip->act_bias_immediate))
        isa_violation(j, "'bias' is an immediate, which %s lacks; keep it in a [P, 1] tile", j->chip->name);
}

void isa_rule_act_bias_dtype(isa_judge *j)
{
    if (j->i->op != ISA_activation || !has(j, 3)) return;
    if (j->operands[3].dtype == NUM_TF32) isa_violation(j, "'bias' has type 'tf32'");
    if (j->operands[3].space == ISA_IMM && j->operands[3].dtype != NUM_F32)
        isa_violation(j, "'bias' is an immediate of type '%s', must have 'f32'", dtype_of(j, 3));
    if (j->generation < 3 && j->i->attr[0] == ISA_ACT_RECIPROCAL)
        isa_violation(j, "reciprocal has a bias, which %s lacks", j->chip->name);
}

void isa_rule_act_reduce_command(isa_judge *j)
{
    if (j->i->op != ISA_activation) return;
    if (j->i->attr[1] == ISA_REDUCE_LOAD_REDUCE) isa_violation(j, "reduces with 'load_reduce', which ACT lacks");
}

void isa_rule_act_tensor_copy(isa_judge *j)
{
    if (j->i->op == ISA_tensor_copy && j->i->engine == ISA_ACT && !hw_flag(j->chip->act_exact_copy))
        isa_violation(j, "%s copies with 'activation' and func copy", j->chip->name);
}

void isa_rule_act_tensor_scalar(isa_judge *j)
{
    if (!is_ts(j) || j->i->engine != ISA_ACT) return;
    const uint8_t a = j->i->attr[0], b = j->i->attr[2];
    if (j->generation < 3)
        isa_violation(j, "%s has no tensor_scalar on ACT", j->chip->name);
    else if (!((a == ISA_ALU_MULTIPLY && (b == ISA_ALU_ADD || b == ISA_ALU_NONE)) ||
               (a == ISA_ALU_ADD && b == ISA_ALU_NONE)))
        isa_violation(j, "ACT has multiply-add, multiply and add, not '%s' then '%s'", isa_alu_name((isa_alu)a),
                      isa_alu_name((isa_alu)b));
}

// ---- DVE ----

void isa_rule_predicate(isa_judge *j)
{
    if (!isa_has_format(j, "pred")) return;
    const uint8_t p = j->operands[2].dtype;
    if (p != NUM_U8 && p != NUM_U16 && p != NUM_U32)
        isa_violation(j, "'predicate' has type '%s', must be 'u8', 'u16' or 'u32'", dtype_of(j, 2));
    if (isa_on_chip(&j->operands[1]) && j->operands[1].dtype != j->operands[0].dtype)
        isa_violation(j, "'src' has type '%s', 'dst' '%s'", dtype_of(j, 1), dtype_of(j, 0));
}

void isa_rule_memset_value(isa_judge *j)
{
    if (j->i->op != ISA_memset) return;
    const num_dtype dst = (num_dtype)j->operands[0].dtype, value = (num_dtype)j->operands[1].dtype;
    if (num_is_float(dst)) return;
    if (!num_is_integer(value)) {
        isa_violation(j, "the value has type '%s', dst '%s'", dtype_of(j, 1), dtype_of(j, 0));
        return;
    }
    const int bits = dst == NUM_BOOL ? 1 : num_bits(dst);
    if (bits > 32) return; // dtype_compute says so
    const int64_t v = j->operands[1].offset, span = (int64_t)1 << bits;
    const bool is_signed = num_dtype_get(dst)->kind == NUM_KIND_SIGNED;
    const int64_t lo = is_signed ? -span / 2 : 0, hi = is_signed ? span / 2 : span;
    if (v < lo || v >= hi)
        isa_violation(j, "the value is %lld, '%s' holds %lld to %lld", (long long)v, dtype_of(j, 0), (long long)lo,
                      (long long)hi - 1);
}

static bool is_search(const isa_judge *j)
{
    return j->i->op == ISA_max8 || j->i->op == ISA_find_index8 || j->i->op == ISA_match_replace8;
}

void isa_rule_search_size(isa_judge *j)
{
    if (!is_search(j)) return;
    const uint64_t n = free_of(j, 1);
    if (n < 8 || n > 16384) isa_violation(j, "searches %llu elements, 8 to 16384 are possible", (unsigned long long)n);
    if (j->operands[1].rank > 2) isa_violation(j, "searches %u free dims, at most 2", j->operands[1].rank);
}

void isa_rule_search_index(isa_judge *j)
{
    const int slot = j->i->op == ISA_find_index8 ? 0 : j->i->op == ISA_match_replace8 ? 4 : -1;
    if (slot < 0 || !has(j, slot)) return;
    const uint8_t t = j->operands[slot].dtype;
    if (t != NUM_U16 && t != NUM_U32)
        isa_violation(j, "'%s' has type '%s', must be 'u16' or 'u32'", name_of(j, slot), dtype_of(j, slot));
}

// ---- POOL ----

void isa_rule_pattern_shape(isa_judge *j)
{
    const int slot = j->i->op == ISA_iota ? 1 : j->i->op == ISA_affine_select ? 2 : -1;
    if (slot < 0) return;
    const int most = (int)hw_int(j->chip->pattern_dims);
    if (j->operands[slot].rank < 1 || j->operands[slot].rank > most)
        isa_violation(j, "the pattern has %u dims, 1 to %d are possible", j->operands[slot].rank, most);
    if (free_of(j, slot) != free_of(j, 0))
        isa_violation(j, "the pattern has %llu values, dst %llu free elements", (unsigned long long)free_of(j, slot),
                      (unsigned long long)free_of(j, 0));
}

void isa_rule_gather_dtype(isa_judge *j)
{
    if (j->i->op != ISA_n_gather) return;
    if (j->operands[1].dtype != j->operands[0].dtype)
        isa_violation(j, "'data' has type '%s', 'dst' '%s'", dtype_of(j, 1), dtype_of(j, 0));
    if (j->operands[2].dtype != NUM_U32) isa_violation(j, "'indices' has type '%s', must have 'u32'", dtype_of(j, 2));
    if (j->operands[1].partitions != j->operands[0].partitions)
        isa_violation(j, "'data' has %u partitions, 'dst' %u", j->operands[1].partitions, j->operands[0].partitions);
}
