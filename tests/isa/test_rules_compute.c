// SPDX-License-Identifier: Apache-2.0
// Programs that break the rules on engines, tiles, element types and shapes.
#include "isa/rules.h"

// One line a case: a table of small functions, then of what is said about each.
// clang-format off
static isa_operand ap(isa_space space, num_dtype t, int partitions, int rank, const int64_t *step, const uint32_t *count)
{
    return isa_chip_ap(space, t, 0, partitions, 0, rank, step, count);
}

static void memset_of(rule_base *b, isa_operand dst) { PUT(b, memset, DVE, (0), dst, isa_imm_int(0)); }
static isa_operand at(int start, isa_operand o) { o.start_partition = (uint8_t)start; return o; }

// ---- placement ----
static void target(rule_base *b) { b->p->target = "trn3"; }
static void lnc(rule_base *b)
{
    b->p->core_count = 2;
    isa_function_create(b->p, 1, "main");
}
static void engine(rule_base *b) { PUT(b, memset, ACT, (0), sbuf(NUM_F32, 8, 0, 8), isa_imm_f32(0)); }
static void generation(rule_base *b) { PUT(b, dma_transpose, SP, (0), sbuf(NUM_BF16, 32, 0, 16), hbm(IN_BF16, NUM_BF16, 0, 16, 32)); }
static void pool_psum(rule_base *b) { PUT(b, tensor_copy, POOL, (0), sbuf(NUM_F32, 8, 0, 8), psum(NUM_F32, 8, 0, 8)); }
static void start_32(rule_base *b) { memset_of(b, at(16, sbuf(NUM_F32, 32, 0, 8))); }
static void start_64(rule_base *b) { memset_of(b, at(32, sbuf(NUM_F32, 48, 0, 8))); }
static void start_128(rule_base *b) { memset_of(b, at(32, sbuf(NUM_F32, 65, 0, 8))); }
static void pattern_rank(rule_base *b)
{
    memset_of(b, ap(ISA_SBUF, NUM_F32, 8, 5, (const int64_t[]){ 16, 8, 4, 2, 1 }, (const uint32_t[]){ 2, 2, 2, 2, 2 }));
}
static void pattern_size(rule_base *b)
{
    memset_of(b, ap(ISA_SBUF, NUM_U8, 8, 1, (const int64_t[]){ 1 }, (const uint32_t[]){ 65536 }));
}
static void pattern_stride(rule_base *b)
{
    memset_of(b, ap(ISA_SBUF, NUM_F32, 8, 2, (const int64_t[]){ 32768, 1 }, (const uint32_t[]){ 2, 1 }));
}
static void free_sbuf(rule_base *b)
{
    memset_of(b, ap(ISA_SBUF, NUM_F32, 8, 2, (const int64_t[]){ 0, 1 }, (const uint32_t[]){ 3, 32768 }));
}
static void free_psum(rule_base *b)
{
    memset_of(b, ap(ISA_PSUM, NUM_F32, 8, 2, (const int64_t[]){ 0, 1 }, (const uint32_t[]){ 3, 2048 }));
}
static void alignment(rule_base *b) { memset_of(b, sbuf(NUM_F32, 8, 2, 8)); }
static void alignment_term(rule_base *b) { memset_of(b, isa_plus(sbuf(NUM_F32, 8, 0, 8), 1, 6)); }
static void sbuf_capacity(rule_base *b) { memset_of(b, sbuf(NUM_F32, 8, 180224 - 28, 8)); }
static void sbuf_capacity_v3(rule_base *b) { memset_of(b, sbuf(NUM_F32, 8, 212984 - 28, 8)); }
static void sbuf_below(rule_base *b)
{
    memset_of(b, ap(ISA_SBUF, NUM_F32, 8, 1, (const int64_t[]){ -1 }, (const uint32_t[]){ 2 }));
}
static void psum_capacity(rule_base *b) { memset_of(b, psum(NUM_F32, 8, 16384 - 28, 8)); }
static void hbm_bounds(rule_base *b) { PUT(b, dma_copy, SP, (0), sbuf(NUM_F32, 8, 0, 8), hbm(IN, NUM_F32, 130000, 8, 8)); }
static void hbm_bounds_formal(rule_base *b)
{
    b->f = b->callee;
    PUT(b, dma_copy, SP, (0), sbuf(NUM_F32, 8, 0, 8), hbm(0, NUM_F32, 0, 8, 8));
}
static void hbm_write(rule_base *b) { PUT(b, dma_copy, SP, (0), hbm(IN, NUM_F32, 0, 8, 8), sbuf(NUM_F32, 8, 0, 8)); }
static void hbm_write_const(rule_base *b) { PUT(b, dma_copy, SP, (0), hbm(CONSTANT, NUM_F32, 0, 1, 4), sbuf(NUM_F32, 1, 0, 4)); }
static void hbm_write_formal(rule_base *b)
{
    b->f = b->callee;
    PUT(b, dma_copy, SP, (0), hbm(0, NUM_F32, 0, 1, 8), sbuf(NUM_F32, 1, 0, 8));
}
static void hbm_read_formal(rule_base *b)
{
    b->f = b->callee;
    PUT(b, dma_copy, SP, (0), sbuf(NUM_F32, 1, 0, 8), hbm(1, NUM_F32, 0, 1, 8));
}
static void scratch_core(rule_base *b)
{
    b->p->core_count = 2;
    b->p->tensors.items[SCRATCH].core = 1;
    isa_function_create(b->p, 1, "main");
    PUT(b, dma_copy, SP, (0), sbuf(NUM_F32, 8, 0, 8), hbm(SCRATCH, NUM_F32, 0, 8, 8));
}
static void dtype_generation(rule_base *b) { memset_of(b, sbuf(NUM_F8E4M3FN, 8, 0, 8)); }
static void dtype_compute(rule_base *b) { PUT(b, memset, DVE, (0), sbuf(NUM_S64, 8, 0, 8), isa_imm_int(0)); }

// ---- shapes ----
static void shape_full(rule_base *b) { PUT(b, tensor_copy, DVE, (0), sbuf(NUM_F32, 8, 0, 8), sbuf(NUM_F32, 8, 64, 9)); }
static void shape_full_partitions(rule_base *b)
{
    PUT(b, tensor_tensor, DVE, (ISA_ALU_ADD), sbuf(NUM_F32, 8, 0, 8), sbuf(NUM_F32, 8, 64, 8), sbuf(NUM_F32, 16, 128, 8));
}
static void shape_column(rule_base *b)
{
    PUT(b, tensor_scalar, DVE, (ISA_ALU_ADD), sbuf(NUM_F32, 8, 0, 8), sbuf(NUM_F32, 8, 64, 8), sbuf(NUM_F32, 8, 128, 2));
}
static void shape_eight(rule_base *b) { PUT(b, max8, DVE, (0), sbuf(NUM_F32, 8, 0, 4), sbuf(NUM_F32, 8, 64, 8)); }
static void shape_one(rule_base *b) { PUT(b, reg_load, SP, (0), isa_reg(1), sbuf(NUM_S32, 2, 0, 1)); }
static void psum_tt(rule_base *b)
{
    PUT(b, tensor_tensor, DVE, (ISA_ALU_ADD), sbuf(NUM_F32, 8, 0, 8), psum(NUM_F32, 8, 64, 8), psum(NUM_F32, 8, 128, 8));
}
static void psum_stt(rule_base *b)
{
    PUT(b, scalar_tensor_tensor, DVE, (ISA_ALU_ADD, 0, ISA_ALU_ADD), sbuf(NUM_F32, 8, 0, 8), psum(NUM_F32, 8, 64, 8), isa_imm_f32(1),
        psum(NUM_F32, 8, 128, 8));
}
static void psum_pred(rule_base *b)
{
    PUT(b, copy_predicated, DVE, (0), sbuf(NUM_F32, 8, 0, 8), psum(NUM_F32, 8, 64, 8), psum(NUM_U32, 8, 128, 8));
}

// ---- PE ----
static void mm(rule_base *b, isa_operand dst, isa_operand stationary, isa_operand moving)
{
    PUT(b, matmul, PE, (0), dst, stationary, moving);
}
static void matmul_contraction(rule_base *b) { mm(b, psum(NUM_F32, 8, 0, 8), sbuf(NUM_BF16, 64, 0, 8), sbuf(NUM_BF16, 128, 64, 8)); }
static void matmul_stationary(rule_base *b)
{
    mm(b, psum(NUM_F32, 128, 0, 8), sbuf(NUM_BF16, 64, 0, 129), sbuf(NUM_BF16, 64, 512, 8));
}
static void matmul_moving(rule_base *b)
{
    // dst writes 27 times over the same 19 elements, to stay within a bank.
    const isa_operand dst = ap(ISA_PSUM, NUM_F32, 8, 2, (const int64_t[]){ 0, 1 }, (const uint32_t[]){ 27, 19 });
    mm(b, dst, sbuf(NUM_BF16, 64, 0, 8), sbuf(NUM_BF16, 64, 64, 513));
}
static void matmul_shape(rule_base *b) { mm(b, psum(NUM_F32, 16, 0, 8), sbuf(NUM_BF16, 64, 0, 8), sbuf(NUM_BF16, 64, 64, 16)); }
static void matmul_dtype(rule_base *b) { mm(b, psum(NUM_F32, 8, 0, 8), sbuf(NUM_S8, 64, 0, 8), sbuf(NUM_S8, 64, 64, 8)); }
static void matmul_pair(rule_base *b) { mm(b, psum(NUM_F32, 8, 0, 8), sbuf(NUM_F32, 64, 0, 8), sbuf(NUM_BF16, 64, 64, 8)); }
static void matmul_pair_fp8(rule_base *b) { mm(b, psum(NUM_F32, 8, 0, 8), sbuf(NUM_F8E4M3, 64, 0, 8), sbuf(NUM_F8E4M3FN, 64, 64, 8)); }
static void matmul_dst(rule_base *b) { mm(b, psum(NUM_BF16, 8, 0, 8), sbuf(NUM_BF16, 64, 0, 8), sbuf(NUM_BF16, 64, 64, 8)); }
static void matmul_dst_v4(rule_base *b) { mm(b, psum(NUM_F16, 8, 0, 8), sbuf(NUM_BF16, 64, 0, 8), sbuf(NUM_BF16, 64, 64, 8)); }
static void double_row(rule_base *b, num_dtype t, uint32_t pairs)
{
    const int64_t step[] = { 8, 1 };
    const uint32_t count[] = { pairs, 16 / pairs };
    isa_operand stationary = ap(ISA_SBUF, t, 64, 2, step, count), moving = stationary;
    moving.offset = 64;
    PUT(b, matmul, PE, (0, ISA_PERF_DOUBLE_ROW), psum(NUM_F32, 8, 0, 8), stationary, moving);
}
static void double_row_old(rule_base *b) { double_row(b, NUM_F8E5M2, 2); }
static void double_row_type(rule_base *b) { double_row(b, NUM_BF16, 2); }
static void double_row_pairs(rule_base *b) { double_row(b, NUM_F8E5M2, 4); }
static void psum_bank(rule_base *b) { mm(b, psum(NUM_F32, 8, 2048 - 16, 8), sbuf(NUM_BF16, 64, 0, 8), sbuf(NUM_BF16, 64, 64, 8)); }
static void psum_accumulate(rule_base *b)
{
    memset_of(b, psum(NUM_F32, 8, 0, 8));
    PUT(b, matmul, PE, (1), psum(NUM_F32, 8, 0, 8), sbuf(NUM_BF16, 64, 0, 8), sbuf(NUM_BF16, 64, 64, 8));
}
static void pe_t(rule_base *b, isa_operand dst, isa_operand data, isa_operand identity) { PUT(b, transpose, PE, (0), dst, data, identity); }
static void transpose_shape(rule_base *b) { pe_t(b, psum(NUM_BF16, 16, 0, 8), sbuf(NUM_BF16, 16, 0, 8), sbuf(NUM_BF16, 16, 64, 16)); }
static void transpose_identity(rule_base *b) { pe_t(b, psum(NUM_BF16, 8, 0, 16), sbuf(NUM_BF16, 16, 0, 8), sbuf(NUM_BF16, 16, 64, 8)); }
static void transpose_v2(rule_base *b) { pe_t(b, psum(NUM_BF16, 8, 0, 16), sbuf(NUM_BF16, 16, 0, 8), sbuf(NUM_BF16, 16, 64, 16)); }
static void transpose_v3(rule_base *b) { pe_t(b, psum(NUM_F32, 8, 0, 16), sbuf(NUM_BF16, 16, 0, 8), sbuf(NUM_BF16, 16, 64, 16)); }
static void transpose_types(rule_base *b) { pe_t(b, psum(NUM_BF16, 8, 0, 16), sbuf(NUM_BF16, 16, 0, 8), sbuf(NUM_F16, 16, 64, 16)); }
static void transpose32(rule_base *b) { PUT(b, transpose32, DVE, (0), sbuf(NUM_BF16, 64, 0, 32), sbuf(NUM_BF16, 32, 128, 64)); }
static void transpose32_shape(rule_base *b) { PUT(b, transpose32, DVE, (0), sbuf(NUM_BF16, 32, 0, 16), sbuf(NUM_BF16, 32, 128, 16)); }
static void transpose32_type(rule_base *b) { PUT(b, transpose32, DVE, (0), sbuf(NUM_F32, 16, 0, 32), sbuf(NUM_BF16, 32, 128, 16)); }

// ---- operations ----
#define TS(b, e, attrs, ...) PUT(b, tensor_scalar, e, attrs, sbuf(NUM_F32, 8, 0, 8), sbuf(NUM_F32, 8, 64, 8), __VA_ARGS__)
#define TT(b, e, t, attrs) PUT(b, tensor_tensor, e, attrs, sbuf(t, 8, 0, 8), sbuf(t, 8, 64, 8), sbuf(t, 8, 128, 8))
static void present_none(rule_base *b) { TS(b, DVE, (ISA_ALU_NONE), isa_none()); }
static void present_missing(rule_base *b) { TS(b, DVE, (ISA_ALU_ADD, 0, ISA_ALU_MULTIPLY), isa_imm_f32(1)); }
static void present_extra(rule_base *b) { TS(b, DVE, (ISA_ALU_ADD), isa_imm_f32(1), isa_imm_f32(2)); }
static void present_unary(rule_base *b) { TS(b, DVE, (ISA_ALU_ABS), isa_imm_f32(1)); }
static void alu_binary(rule_base *b) { TT(b, DVE, NUM_F32, (ISA_ALU_ABS)); }
static void alu_binary_stt(rule_base *b)
{
    PUT(b, scalar_tensor_tensor, DVE, (ISA_ALU_ADD), sbuf(NUM_F32, 8, 0, 8), sbuf(NUM_F32, 8, 64, 8), isa_imm_f32(1), sbuf(NUM_F32, 8, 128, 8));
}
static void bitvec_float(rule_base *b) { TT(b, DVE, NUM_F32, (ISA_ALU_AND)); }
static void bitvec_engine(rule_base *b) { TT(b, POOL, NUM_S32, (ISA_ALU_OR)); }
static void bitvec_mix(rule_base *b)
{
    PUT(b, tensor_scalar, DVE, (ISA_ALU_AND, 0, ISA_ALU_ADD), sbuf(NUM_S32, 8, 0, 8), sbuf(NUM_S32, 8, 64, 8), isa_imm_int(7), isa_imm_f32(1));
}
static void bitvec_cast(rule_base *b)
{
    PUT(b, tensor_tensor, DVE, (ISA_ALU_XOR), sbuf(NUM_S32, 8, 0, 8), sbuf(NUM_S32, 8, 64, 8), sbuf(NUM_S16, 8, 128, 8));
}
static void pool_only(rule_base *b) { TT(b, DVE, NUM_F32, (ISA_ALU_POWER)); }
static void pool_others(rule_base *b) { TS(b, POOL, (ISA_ALU_ADD), isa_imm_f32(1)); }
static void alu_reduce(rule_base *b) { PUT(b, tensor_reduce, DVE, (ISA_ALU_EQ, 1), sbuf(NUM_F32, 8, 0, 1), sbuf(NUM_F32, 8, 64, 8)); }
static void alu_reduce_negate(rule_base *b) { PUT(b, tensor_reduce, DVE, (ISA_ALU_AND, 1, 1), sbuf(NUM_S32, 8, 0, 1), sbuf(NUM_S32, 8, 64, 8)); }
static void alu_compare(rule_base *b)
{
    PUT(b, affine_select, POOL, (ISA_ALU_ADD), sbuf(NUM_F32, 8, 0, 8), sbuf(NUM_F32, 8, 64, 8),
        isa_pattern(0, 1, 1, (const int64_t[]){ 1 }, (const uint32_t[]){ 8 }), isa_imm_f32(0));
}
static void alu_compare_if(rule_base *b)
{
    PUT(b, if, SP, (ISA_ALU_MULTIPLY), isa_reg(1), isa_imm_int(0));
    put(b, ISA_end_if, ISA_SP, 0, NULL, 0, NULL);
}
static void alu_register(rule_base *b) { PUT(b, reg_alu, SP, (ISA_ALU_POWER), isa_reg(1), isa_reg(2), isa_imm_int(2)); }
static void scalar_tile(rule_base *b) { TS(b, DVE, (ISA_ALU_ADD), sbuf(NUM_BF16, 8, 128, 1)); }
static void scalar_bitwise(rule_base *b)
{
    PUT(b, tensor_scalar, DVE, (ISA_ALU_SHL), sbuf(NUM_S32, 8, 0, 8), sbuf(NUM_S32, 8, 64, 8), isa_imm_f32(2));
}
static void scalar_scale(rule_base *b) { PUT(b, activation, ACT, (ISA_ACT_EXP), sbuf(NUM_F32, 8, 0, 8), sbuf(NUM_F32, 8, 64, 8), isa_imm_int(2)); }
static void reduce_axes(rule_base *b) { PUT(b, tensor_reduce, DVE, (ISA_ALU_ADD, 2), sbuf(NUM_F32, 8, 0, 1), sbuf(NUM_F32, 8, 64, 8)); }
static void reduce_shape(rule_base *b) { PUT(b, tensor_reduce, DVE, (ISA_ALU_ADD, 1), sbuf(NUM_F32, 8, 0, 2), sbuf(NUM_F32, 8, 64, 8)); }
static void partition_op(rule_base *b) { PUT(b, partition_reduce, POOL, (ISA_ALU_MINIMUM), sbuf(NUM_F32, 1, 0, 8), sbuf(NUM_F32, 8, 64, 8)); }
static void partition_dst(rule_base *b) { PUT(b, partition_reduce, POOL, (ISA_ALU_ADD), sbuf(NUM_F32, 8, 0, 8), sbuf(NUM_F32, 8, 64, 8)); }

// ---- ACT, DVE, POOL ----
#define ACTIVATE(b, attrs, ...) PUT(b, activation, ACT, attrs, sbuf(NUM_F32, 8, 0, 8), sbuf(NUM_F32, 8, 64, 8), isa_imm_f32(1), __VA_ARGS__)
static void bias_immediate(rule_base *b) { ACTIVATE(b, (ISA_ACT_EXP), isa_imm_f32(1)); }
static void bias_tf32(rule_base *b) { ACTIVATE(b, (ISA_ACT_EXP), sbuf(NUM_TF32, 8, 128, 1)); }
static void bias_reciprocal(rule_base *b) { ACTIVATE(b, (ISA_ACT_RECIPROCAL), sbuf(NUM_F32, 8, 128, 1)); }
static void reduce_command(rule_base *b) { ACTIVATE(b, (ISA_ACT_EXP, ISA_REDUCE_LOAD_REDUCE), isa_none()); }
static void act_copy(rule_base *b) { PUT(b, tensor_copy, ACT, (0), sbuf(NUM_F32, 8, 0, 8), sbuf(NUM_F32, 8, 64, 8)); }
static void act_ts(rule_base *b) { TS(b, ACT, (ISA_ALU_MULTIPLY), isa_imm_f32(2)); }
static void act_ts_op(rule_base *b) { TS(b, ACT, (ISA_ALU_ADD, 0, ISA_ALU_MULTIPLY), isa_imm_f32(2), isa_imm_f32(2)); }
static void predicate(rule_base *b) { PUT(b, copy_predicated, DVE, (0), sbuf(NUM_F32, 8, 0, 8), sbuf(NUM_F32, 8, 64, 8), sbuf(NUM_F32, 8, 128, 8)); }
static void predicate_source(rule_base *b) { PUT(b, copy_predicated, DVE, (0), sbuf(NUM_F32, 8, 0, 8), sbuf(NUM_BF16, 8, 64, 8), sbuf(NUM_U8, 8, 128, 8)); }
static void memset_float(rule_base *b) { PUT(b, memset, DVE, (0), sbuf(NUM_S32, 8, 0, 8), isa_imm_f32(1)); }
static void memset_range(rule_base *b) { PUT(b, memset, DVE, (0), sbuf(NUM_U8, 8, 0, 8), isa_imm_int(256)); }
static void search_few(rule_base *b) { PUT(b, max8, DVE, (0), sbuf(NUM_F32, 8, 0, 8), sbuf(NUM_F32, 8, 64, 7)); }
static void search_many(rule_base *b) { PUT(b, max8, DVE, (0), sbuf(NUM_F32, 8, 0, 8), sbuf(NUM_F32, 8, 64, 16385)); }
static void search_rank(rule_base *b)
{
    PUT(b, max8, DVE, (0), sbuf(NUM_F32, 8, 512, 8),
        ap(ISA_SBUF, NUM_F32, 8, 3, (const int64_t[]){ 8, 4, 1 }, (const uint32_t[]){ 2, 2, 4 }));
}
static void search_index(rule_base *b) { PUT(b, find_index8, DVE, (0), sbuf(NUM_S32, 8, 0, 8), sbuf(NUM_F32, 8, 64, 8), sbuf(NUM_F32, 8, 128, 8)); }
static void pattern_shape(rule_base *b)
{
    PUT(b, iota, POOL, (0), sbuf(NUM_F32, 8, 0, 8), isa_pattern(0, 1, 1, (const int64_t[]){ 1 }, (const uint32_t[]){ 9 }));
}
static void pattern_dims(rule_base *b) { PUT(b, iota, POOL, (0), sbuf(NUM_F32, 8, 0, 1), isa_pattern(0, 1, 0, NULL, NULL)); }
static void gather_index(rule_base *b) { PUT(b, n_gather, POOL, (0), sbuf(NUM_F32, 8, 0, 8), sbuf(NUM_F32, 8, 64, 16), sbuf(NUM_S32, 8, 128, 8)); }
static void gather_type(rule_base *b) { PUT(b, n_gather, POOL, (0), sbuf(NUM_F32, 8, 0, 8), sbuf(NUM_BF16, 8, 64, 16), sbuf(NUM_U32, 8, 128, 8)); }
static void gather_partitions(rule_base *b) { PUT(b, n_gather, POOL, (0), sbuf(NUM_F32, 8, 0, 8), sbuf(NUM_F32, 16, 64, 16), sbuf(NUM_U32, 8, 128, 8)); }

#define V2 &hw_trainium1
#define V3 &hw_trainium2
#define V4 &hw_trainium3
const rule_case rules_compute[] = {
    { "target", V3, target, "compiled for 'trn3', this is 'trn2'" },
    { "lnc", V2, lnc, "2 physical cores as one, Trainium1 allows 1" },
    { "engine", V3, engine, "ACT does not execute 'memset'" },
    { "generation", V2, generation, "from generation 3 on, Trainium1 is 2" },
    { "pool_psum", V3, pool_psum, "in PSUM, which POOL" },
    { "start_partition", V3, start_32, "32 partitions start at 16, must at a multiple of 32" },
    { "start_partition", V3, start_64, "48 partitions start at 32, must at a multiple of 64" },
    { "start_partition", V3, start_128, "65 partitions start at 32, must at a multiple of 128" },
    { "pattern_rank", V3, pattern_rank, "5 free dims, at most 4" },
    { "pattern_size", V3, pattern_size, "65536, at most 65535" },
    { "pattern_stride", V3, pattern_stride, "32768 elements, at most 32767" },
    { "free_size", V3, free_sbuf, "98304 free elements, at most 65536 in SBUF" },
    { "free_size", V3, free_psum, "6144 free elements, at most 4096 in PSUM" },
    { "alignment", V3, alignment, "byte 2 is no multiple of the element's 4" },
    { "alignment", V3, alignment_term, "r1 moves it by 6 bytes" },
    { "sbuf_capacity", V2, sbuf_capacity, "bytes 180196 to 180228" },
    { "sbuf_capacity", V3, sbuf_capacity_v3, "which has 212984" },
    { "sbuf_capacity", V3, sbuf_below, "bytes -4 to 4" },
    { "psum_capacity", V3, psum_capacity, "to 16388 of each PSUM partition, which has 16384" },
    { "hbm_bounds", V3, hbm_bounds, "bytes 130000 to 137200 of tensor 'in', which has 131072" },
    { "hbm_bounds", V3, hbm_bounds_formal, "tensor 'x', which has 1024" },
    { "hbm_write", V3, hbm_write, "'in', which is an input" },
    { "hbm_write", V3, hbm_write_const, "'constant', which is constant" },
    { "hbm_write", V3, hbm_write_formal, "writes formal 'x', which declares that it is only read" },
    { "hbm_write", V3, hbm_read_formal, "reads formal 'y', which declares that it is only written" },
    { "scratch_core", V3, scratch_core, "core 0 uses tensor 'scratch', which belongs to core 1" },
    { "dtype_generation", V3, dtype_generation, "'f8e4m3fn', which Trainium2 lacks" },
    { "dtype_compute", V3, dtype_compute, "'s64' of 64 bits" },
    { "shape_full", V3, shape_full, "'dst' is [8, 8], 'src' is [8, 9]" },
    { "shape_full", V3, shape_full_partitions, "'data2' is [16, 8]" },
    { "shape_column", V3, shape_column, "'operand0' is [8, 2], must be [8, 1]" },
    { "shape_eight", V3, shape_eight, "'dst' is [8, 4], must be [8, 8]" },
    { "shape_one", V3, shape_one, "'src' has 2 elements" },
    { "one_psum_input", V3, psum_tt, "'data1' and 'data2' are both in PSUM" },
    { "one_psum_input", V3, psum_stt, "'data' and 'operand1' are both in PSUM" },
    { "one_psum_input", V3, psum_pred, "'src' and 'predicate' are both in PSUM" },
    { "matmul_contraction", V3, matmul_contraction, "contracts 64 partitions, moving 128" },
    { "matmul_stationary", V3, matmul_stationary, "129 free elements, at most 128" },
    { "matmul_moving", V3, matmul_moving, "513 free elements, at most 512" },
    { "matmul_shape", V3, matmul_shape, "dst is [16, 8], stationary and moving make [8, 16]" },
    { "matmul_dtype", V3, matmul_dtype, "type 's8'" },
    { "matmul_pair", V3, matmul_pair, "stationary has type 'f32', moving 'bf16'" },
    { "matmul_pair", V4, matmul_pair_fp8, "'f8e4m3', moving 'f8e4m3fn'" },
    { "matmul_dst_dtype", V3, matmul_dst, "'bf16', Trainium2 sums into 'f32'" },
    { "matmul_dst_dtype", V4, matmul_dst_v4, "'f16', Trainium3 sums into 'f32' and 'bf16'" },
    { "matmul_double_row", V2, double_row_old, "Trainium1 has no double_row" },
    { "matmul_double_row", V3, double_row_type, "'bf16', double_row takes e4m3 and e5m2" },
    { "matmul_double_row", V3, double_row_pairs, "outermost free dim of 2" },
    { "psum_bank", V3, psum_bank, "2 banks of 2048; at most 1" },
    { "psum_accumulate", V3, psum_accumulate, "instruction 1, matmul of PE (%op at rules.txt:1): adds to PSUM that another engine wrote" },
    { "transpose_shape", V3, transpose_shape, "dst is [16, 8], data is [16, 8]" },
    { "transpose_shape", V3, transpose_identity, "identity is [16, 8], must be [16, 16]" },
    { "transpose_dtype", V2, transpose_v2, "must have 'f32' on Trainium1" },
    { "transpose_dtype", V3, transpose_v3, "dst has type 'f32', data 'bf16'" },
    { "transpose_dtype", V3, transpose_types, "data has type 'bf16', identity 'f16'" },
    { "transpose32", V3, transpose32, "src is [32, 64], at most [32, 32]" },
    { "transpose32", V3, transpose32_shape, "dst is [32, 16], src is [32, 16]" },
    { "transpose32", V3, transpose32_type, "dst has type 'f32', src 'bf16'" },
    { "alu_present", V3, present_none, "op0 is none" },
    { "alu_present", V3, present_missing, "op1 'multiply' has no operand" },
    { "alu_present", V3, present_extra, "op1 'none' takes no operand" },
    { "alu_present", V3, present_unary, "op0 'abs' takes no operand" },
    { "alu_binary", V3, alu_binary, "'abs', which takes fewer" },
    { "alu_binary", V3, alu_binary_stt, "operation 1 is 'none'" },
    { "alu_bitvec", V3, bitvec_float, "'dst' has type 'f32'" },
    { "alu_bitvec", V3, bitvec_engine, "'bitwise_or' is bit-wise, which POOL lacks" },
    { "alu_bitvec", V3, bitvec_mix, "mixes 'bitwise_and' with 'add'" },
    { "alu_bitvec", V3, bitvec_cast, "'data2' has type 's16'" },
    { "alu_pool_only", V3, pool_only, "'power' is an operation of POOL" },
    { "alu_pool_only", V3, pool_others, "'add' is no operation of POOL's" },
    { "alu_reduce", V3, alu_reduce, "'equal' cannot reduce" },
    { "alu_reduce", V3, alu_reduce_negate, "negates the result of 'bitwise_and'" },
    { "alu_compare", V3, alu_compare, "'add' is no comparison" },
    { "alu_compare", V3, alu_compare_if, "'multiply' is no comparison" },
    { "alu_register", V3, alu_register, "'power' is no operation on registers" },
    { "scalar_dtype", V3, scalar_tile, "'operand0' has type 'bf16', 'add' takes 'f32'" },
    { "scalar_dtype", V3, scalar_bitwise, "'left_shift' takes integers" },
    { "scalar_dtype", V3, scalar_scale, "'scale' has type 's32'" },
    { "reduce_shape", V3, reduce_axes, "reduces 2 trailing dims of 1" },
    { "reduce_shape", V3, reduce_shape, "dst is [8, 2], what remains of data is [8, 1]" },
    { "partition_reduce", V3, partition_op, "'minimum' does not reduce" },
    { "partition_reduce", V3, partition_dst, "dst is [8, 8], must be [1, 8]" },
    { "act_bias_immediate", V2, bias_immediate, "which Trainium1 lacks" },
    { "act_bias_dtype", V3, bias_tf32, "'bias' has type 'tf32'" },
    { "act_bias_dtype", V2, bias_reciprocal, "reciprocal has a bias" },
    { "act_reduce_command", V3, reduce_command, "'load_reduce', which ACT lacks" },
    { "act_tensor_copy", V2, act_copy, "Trainium1 copies with 'activation'" },
    { "act_tensor_scalar", V2, act_ts, "Trainium1 has no tensor_scalar on ACT" },
    { "act_tensor_scalar", V3, act_ts_op, "not 'add' then 'multiply'" },
    { "predicate", V3, predicate, "'predicate' has type 'f32'" },
    { "predicate", V3, predicate_source, "'src' has type 'bf16', 'dst' 'f32'" },
    { "memset_value", V3, memset_float, "the value has type 'f32', dst 's32'" },
    { "memset_value", V3, memset_range, "the value is 256, 'u8' holds 0 to 255" },
    { "search_size", V3, search_few, "searches 7 elements" },
    { "search_size", V3, search_many, "searches 16385 elements" },
    { "search_size", V3, search_rank, "searches 3 free dims" },
    { "search_index", V3, search_index, "'dst' has type 's32'" },
    { "pattern_shape", V3, pattern_shape, "9 values, dst 8 free elements" },
    { "pattern_shape", V3, pattern_dims, "0 dims, 1 to 4" },
    { "gather_dtype", V3, gather_index, "'indices' has type 's32'" },
    { "gather_dtype", V3, gather_type, "'data' has type 'bf16', 'dst' 'f32'" },
    { "gather_dtype", V3, gather_partitions, "'data' has 16 partitions, 'dst' 8" },
    { NULL, NULL, NULL, NULL },
};
// clang-format on
