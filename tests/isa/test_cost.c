// SPDX-License-Identifier: Apache-2.0
// Costs against the published formulas, worked out by hand for each case (docs/facts/isa.md).
#include "harness/harness.h"
#include "isa/build.h"
#include "isa/cost.h"

static isa_operand sb(num_dtype t, int p, int free)
{
    return isa_chip(ISA_SBUF, t, 0, p, 0, free);
}
static isa_operand ps(num_dtype t, int p, int free)
{
    return isa_chip(ISA_PSUM, t, 0, p, 0, free);
}

static isa_cost cost_of(const hw_chip *chip, isa_op op, isa_engine e, int operands, const isa_operand *o, int attrs,
                        const uint8_t *a)
{
    AUTO(isa_program) p = isa_program_create("cost", chip->target, 1);
    isa_function *f = isa_function_create(p, 0, "main");
    isa_emit(f, op, e, operands, o, attrs, a, 0);
    if (isa_is_dma(op)) f->insns.items[0].queue = 0;
    return isa_cost_of(f, &f->insns.items[0], chip);
}
#define COST(chip, op, e, attrs, ...)                                                                                  \
    cost_of(chip, ISA_##op, ISA_##e, (int)COUNT_OF(((isa_operand[]){__VA_ARGS__})), (isa_operand[]){__VA_ARGS__},      \
            isa_row_get(ISA_##op)->attr_count, (const uint8_t[8]){UNPACK attrs})
#define UNPACK(...) __VA_ARGS__
#define V2 &hw_trainium1
#define V3 &hw_trainium2
#define V4 &hw_trainium3

static isa_cost matmul(const hw_chip *chip, num_dtype t, int k, int m, int n)
{
    return COST(chip, matmul, PE, (0), ps(NUM_F32, m, n), sb(t, k, m), sb(t, k, n));
}

TEST(cost, matmul_is_max_of_moving_and_64_and_four_times_that_in_fp32)
{
    EXPECT_EQ_INT(matmul(V2, NUM_BF16, 128, 128, 512).cycles, 512);
    EXPECT_EQ_INT(matmul(V2, NUM_BF16, 128, 128, 1).cycles, 64);
    EXPECT_EQ_INT(matmul(V2, NUM_BF16, 128, 32, 1).cycles, 32); // max(min(64, 32), 1)
    EXPECT_EQ_INT(matmul(V2, NUM_F32, 128, 128, 512).cycles, 2048);
    EXPECT_EQ_INT(matmul(V3, NUM_TF32, 128, 128, 512).cycles, 512);
    EXPECT_EQ_INT(matmul(V3, NUM_BF16, 64, 128, 512).load_cycles, 32); // 128 columns, four a cycle
    EXPECT_EQ_INT(matmul(V3, NUM_BF16, 64, 128, 512).flops, 2ll * 64 * 128 * 512);
    EXPECT_EQ_INT(matmul(V3, NUM_F32, 64, 128, 512).flops, 2ll * 64 * 128 * 512);
    EXPECT_EQ_INT(matmul(V3, NUM_BF16, 128, 64, 256).reads_sbuf, 128 * (64 + 256) * 2);
    EXPECT_EQ_INT(matmul(V3, NUM_BF16, 128, 64, 256).writes_psum, 64 * 256 * 4);
    EXPECT_EQ_INT(matmul(V3, NUM_BF16, 128, 64, 256).reads_psum, 0);
}

TEST(cost, double_row_contracts_256_in_the_time_of_128)
{
    const isa_operand stationary =
        isa_chip_ap(ISA_SBUF, NUM_F8E5M2, 0, 128, 0, 2, (const int64_t[]){128, 1}, (const uint32_t[]){2, 128});
    const isa_operand moving =
        isa_chip_ap(ISA_SBUF, NUM_F8E5M2, 0, 128, 512, 2, (const int64_t[]){512, 1}, (const uint32_t[]){2, 512});
    const isa_cost c = COST(V3, matmul, PE, (0, ISA_PERF_DOUBLE_ROW), ps(NUM_F32, 128, 512), stationary, moving);
    EXPECT_EQ_INT(c.cycles, 512);
    EXPECT_EQ_INT(c.flops, 2ll * 256 * 128 * 512);
}

TEST(cost, pe_transpose_is_max_of_partitions_and_free_up_to_64)
{
    EXPECT_EQ_INT(
        COST(V3, transpose, PE, (0), ps(NUM_BF16, 128, 32), sb(NUM_BF16, 32, 128), sb(NUM_BF16, 32, 32)).cycles, 64);
    EXPECT_EQ_INT(
        COST(V3, transpose, PE, (0), ps(NUM_BF16, 128, 128), sb(NUM_BF16, 128, 128), sb(NUM_BF16, 128, 128)).cycles,
        128);
    EXPECT_EQ_INT(
        COST(V2, transpose, PE, (0), ps(NUM_F32, 128, 128), sb(NUM_F32, 128, 128), sb(NUM_F32, 128, 128)).cycles, 512);
    EXPECT_EQ_INT(
        COST(V3, transpose, PE, (0), ps(NUM_F32, 128, 128), sb(NUM_F32, 128, 128), sb(NUM_F32, 128, 128)).cycles, 256);
}

static isa_cost activation(const hw_chip *chip, int n, isa_operand reduce)
{
    return COST(chip, activation, ACT, (ISA_ACT_EXP), sb(NUM_F32, 128, n), sb(NUM_F32, 128, n), isa_imm_f32(1),
                isa_none(), reduce);
}

TEST(cost, activation_streams_and_reading_its_accumulator_costs_64)
{
    EXPECT_EQ_INT(activation(V2, 512, isa_none()).cycles, 512);
    EXPECT_EQ_INT(activation(V2, 1, isa_none()).cycles, 64);
    EXPECT_EQ_INT(activation(V2, 512, sb(NUM_F32, 128, 1)).cycles, 576);
    EXPECT_EQ_INT(activation(V2, 1, isa_none()).latency, 160); // access 60, dependent 100
}

static isa_cost copy(const hw_chip *chip, isa_operand dst, isa_operand src)
{
    return COST(chip, tensor_copy, DVE, (0), dst, src);
}

TEST(cost, copies_are_four_times_faster_on_contiguous_16_bit_sbuf)
{
    isa_operand strided = isa_chip_ap(ISA_SBUF, NUM_BF16, 0, 128, 0, 1, (const int64_t[]){2}, (const uint32_t[]){1024});
    isa_operand far = strided;
    far.step[0] = 16;
    EXPECT_EQ_INT(copy(V3, sb(NUM_BF16, 128, 1024), sb(NUM_F16, 128, 1024)).cycles, 256);
    EXPECT_EQ_INT(copy(V3, sb(NUM_BF16, 128, 1024), strided).cycles, 512);
    EXPECT_EQ_INT(copy(V3, sb(NUM_BF16, 128, 1024), far).cycles, 1024); // 32 bytes apart: half the port's rate
    EXPECT_EQ_INT(copy(V3, sb(NUM_BF16, 128, 1024), ps(NUM_BF16, 128, 1024)).cycles, 512);
    EXPECT_EQ_INT(copy(V3, sb(NUM_F32, 128, 1024), sb(NUM_F32, 128, 1024)).cycles, 1024);
    EXPECT_EQ_INT(copy(V2, sb(NUM_BF16, 128, 1024), sb(NUM_BF16, 128, 1024)).cycles, 1024);
    EXPECT_EQ_INT(copy(V4, sb(NUM_F8E5M2, 128, 1024), sb(NUM_F8E5M2, 128, 1024)).cycles, 256);
    EXPECT_EQ_INT(copy(V3, sb(NUM_F8E5M2, 128, 1024), sb(NUM_F8E5M2, 128, 1024)).cycles, 1024);
    EXPECT_EQ_INT(COST(V4, tensor_copy, ACT, (0), sb(NUM_BF16, 128, 1024), sb(NUM_BF16, 128, 1024)).cycles, 512);
    EXPECT_EQ_INT(COST(V3, tensor_copy, ACT, (0), sb(NUM_BF16, 128, 1024), sb(NUM_BF16, 128, 1024)).cycles, 1024);
}

TEST(cost, an_address_from_a_register_costs_600_at_least)
{
    EXPECT_EQ_INT(copy(V3, sb(NUM_F32, 128, 64), isa_plus(sb(NUM_F32, 128, 64), 3, 4)).cycles, 600);
    EXPECT_EQ_INT(copy(V3, sb(NUM_F32, 128, 1000), isa_plus(sb(NUM_F32, 128, 1000), 3, 4)).cycles, 1000);
}

static isa_cost tt(const hw_chip *chip, isa_engine e, uint8_t op, isa_operand dst, isa_operand a, isa_operand b)
{
    const isa_operand o[] = {dst, a, b};
    return cost_of(chip, ISA_tensor_tensor, e, 3, o, 1, &op);
}

TEST(cost, tensor_tensor_pays_twice_for_two_fp32_tiles_in_sbuf)
{
    EXPECT_EQ_INT(tt(V2, ISA_DVE, ISA_ALU_ADD, sb(NUM_F32, 8, 512), sb(NUM_F32, 8, 512), sb(NUM_F32, 8, 512)).cycles,
                  1024);
    EXPECT_EQ_INT(tt(V2, ISA_DVE, ISA_ALU_ADD, sb(NUM_F32, 8, 512), ps(NUM_F32, 8, 512), sb(NUM_F32, 8, 512)).cycles,
                  512);
    EXPECT_EQ_INT(tt(V2, ISA_DVE, ISA_ALU_ADD, sb(NUM_BF16, 8, 512), sb(NUM_BF16, 8, 512), sb(NUM_BF16, 8, 512)).cycles,
                  512);
    EXPECT_EQ_INT(
        tt(V2, ISA_DVE, ISA_ALU_MAXIMUM, sb(NUM_BF16, 8, 512), sb(NUM_BF16, 8, 512), sb(NUM_BF16, 8, 512)).cycles,
        1024);
    EXPECT_EQ_INT(tt(V3, ISA_DVE, ISA_ALU_ADD, sb(NUM_BF16, 8, 512), sb(NUM_BF16, 8, 512), sb(NUM_BF16, 8, 512)).cycles,
                  256);
    EXPECT_EQ_INT(
        tt(V3, ISA_DVE, ISA_ALU_MAXIMUM, sb(NUM_BF16, 8, 512), sb(NUM_BF16, 8, 512), sb(NUM_BF16, 8, 512)).cycles, 512);
    EXPECT_EQ_INT(tt(V3, ISA_POOL, ISA_ALU_ADD, sb(NUM_F32, 8, 512), sb(NUM_F32, 8, 512), sb(NUM_F32, 8, 512)).cycles,
                  150 + 1024);
    EXPECT_EQ_INT(
        tt(V3, ISA_POOL, ISA_ALU_ADD, sb(NUM_BF16, 8, 512), sb(NUM_BF16, 8, 512), sb(NUM_BF16, 8, 512)).cycles,
        150 + 512);
}

TEST(cost, the_other_vector_rules)
{
    const isa_operand b16 = sb(NUM_BF16, 8, 512), f32 = sb(NUM_F32, 8, 512), one = isa_imm_f32(1);
    EXPECT_EQ_INT(
        COST(V2, scalar_tensor_tensor, DVE, (ISA_ALU_SUBTRACT, 0, ISA_ALU_MULTIPLY), b16, b16, one, b16).cycles, 512);
    EXPECT_EQ_INT(COST(V2, scalar_tensor_tensor, DVE, (ISA_ALU_ADD, 0, ISA_ALU_MULTIPLY), b16, b16, one, b16).cycles,
                  1024);
    EXPECT_EQ_INT(COST(V2, tensor_reduce, DVE, (ISA_ALU_ADD, 1), sb(NUM_BF16, 8, 1), b16).cycles, 256);
    EXPECT_EQ_INT(COST(V2, tensor_reduce, DVE, (ISA_ALU_ADD, 1), sb(NUM_F32, 8, 1), b16).cycles, 512);
    EXPECT_EQ_INT(COST(V2, copy_predicated, DVE, (0), f32, f32, sb(NUM_U8, 8, 512)).cycles, 1024);
    EXPECT_EQ_INT(COST(V2, copy_predicated, DVE, (0), f32, ps(NUM_F32, 8, 512), sb(NUM_U8, 8, 512)).cycles, 512);
    EXPECT_EQ_INT(COST(V2, memset, DVE, (0), b16, isa_imm_f32(0)).cycles, 256);
    EXPECT_EQ_INT(COST(V2, memset, DVE, (0), b16, isa_imm_f32(1)).cycles, 512);
    EXPECT_EQ_INT(COST(V2, reciprocal, DVE, (0), f32, f32).cycles, 512);
    EXPECT_EQ_INT(COST(V2, max8, DVE, (0), sb(NUM_F32, 8, 8), f32).cycles, 512);
    const isa_operand pattern = isa_pattern(0, 1, 1, (const int64_t[]){1}, (const uint32_t[]){512});
    EXPECT_EQ_INT(COST(V2, iota, POOL, (0), f32, pattern).cycles, 662);
    EXPECT_EQ_INT(COST(V2, affine_select, POOL, (ISA_ALU_GE), f32, f32, pattern, one).cycles, 662);
    EXPECT_EQ_INT(COST(V2, tensor_scalar, POOL, (ISA_ALU_RSQRT), f32, f32).cycles, 150 + 4 * 512);
    EXPECT_EQ_INT(COST(V2, partition_reduce, POOL, (ISA_ALU_ADD), sb(NUM_F32, 1, 64), sb(NUM_F32, 40, 64)).cycles,
                  150 + 64 * 3);
    EXPECT_EQ_INT(COST(V2, n_gather, POOL, (0), sb(NUM_F32, 8, 1024), sb(NUM_F32, 8, 64), sb(NUM_U32, 8, 1024)).cycles,
                  2 * 150 + 1024);
}

TEST(cost, registers_branches_and_barriers)
{
    EXPECT_EQ_INT(COST(V3, reg_move, SP, (0), isa_reg(1), isa_imm_int(3)).cycles, 8);
    EXPECT_EQ_INT(COST(V3, reg_load, SP, (0), isa_reg(1), sb(NUM_S32, 1, 1)).cycles, 64);
    EXPECT_EQ_INT(COST(V3, reg_load, SP, (0), isa_reg(1), isa_hbm(0, NUM_S32, 0, 0, NULL, NULL)).cycles,
                  64 + 1560);                                                       // 1,300 ns at 1.2 GHz
    EXPECT_EQ_INT(cost_of(V3, ISA_barrier, ISA_SP, 0, NULL, 0, NULL).cycles, 1500); // 1,250 ns
}

static isa_cost dma(isa_operand dst, isa_operand src, isa_dge dge)
{
    const uint8_t a = (uint8_t)dge;
    const isa_operand o[] = {dst, src};
    return cost_of(V3, ISA_dma_copy, dge == ISA_DGE_SWDGE ? ISA_POOL : ISA_SP, 2, o, 1, &a);
}

static isa_operand rows(num_dtype t, uint32_t n, int64_t step, uint32_t columns)
{
    return isa_hbm(0, t, 0, 2, (const int64_t[]){step, 1}, (const uint32_t[]){n, columns});
}

TEST(cost, dma_shapes_are_those_of_the_published_examples)
{
    isa_cost c = dma(sb(NUM_BF16, 4, 4096), rows(NUM_BF16, 4, 4096, 4096), ISA_DGE_NONE); // one engine, 32 KiB
    EXPECT_EQ_INT(c.dma_bytes, 32768);
    EXPECT_EQ_INT(c.dma_descriptors, 4);
    EXPECT_EQ_INT(c.dma_run_bytes, 8192);
    EXPECT_EQ_INT(c.dma_engines, 1);
    c = dma(sb(NUM_BF16, 128, 128), rows(NUM_BF16, 128, 128, 128), ISA_DGE_NONE); // 16 engines of 8 rows of 256 B
    EXPECT_EQ_INT(c.dma_engines, 16);
    EXPECT_EQ_INT(c.dma_descriptors, 128);
    EXPECT_EQ_INT(c.dma_run_bytes, 256);
    EXPECT_EQ_INT(c.reads_hbm, 32768);
    EXPECT_EQ_INT(c.writes_sbuf, 32768);
    c = dma(sb(NUM_F32, 128, 64), isa_hbm(0, NUM_F32, 0, 2, (const int64_t[]){1, 128}, (const uint32_t[]){128, 64}),
            ISA_DGE_NONE);
    EXPECT_EQ_INT(c.dma_descriptors, 128 * 64); // transposed: an element each
    EXPECT_EQ_INT(c.dma_run_bytes, 4);
    c = dma(rows(NUM_F32, 1, 1, 65536), rows(NUM_F32, 1, 1, 65536), ISA_DGE_NONE); // 256 KiB, 64 KiB a descriptor
    EXPECT_EQ_INT(c.dma_descriptors, 4);
    EXPECT_EQ_INT(c.dma_engines, 4);
    c = dma(sb(NUM_BF16, 16, 64), rows(NUM_F32, 16, 64, 64), ISA_DGE_NONE); // casting: the wider side
    EXPECT_EQ_INT(c.dma_bytes, 16 * 64 * 4);
    EXPECT_EQ_INT(c.writes_sbuf, 16 * 64 * 2);
    EXPECT_EQ_INT(c.dma_engines, 2);
}

TEST(cost, software_descriptors_take_pool_time)
{
    EXPECT_EQ_INT(dma(sb(NUM_F32, 16, 64), rows(NUM_F32, 16, 256, 64), ISA_DGE_SWDGE).cycles, 150 + 16 * 8);
    isa_operand table = rows(NUM_F32, 1000, 64, 64);
    table.indirect = 1;
    const isa_cost c = COST(V3, dma_gather, POOL, (ISA_DGE_SWDGE), sb(NUM_F32, 32, 64), table, sb(NUM_S32, 32, 1));
    EXPECT_EQ_INT(c.dma_bytes, 32 * 64 * 4);
    EXPECT_EQ_INT(c.dma_descriptors, 32);
    EXPECT_EQ_INT(c.dma_run_bytes, 256);
    EXPECT_EQ_INT(c.dma_engines, 4);
    EXPECT_EQ_INT(c.cycles, 150 + 32 * 8);
    EXPECT_EQ_INT(c.reads_hbm, 32 * 64 * 4); // not the whole table
}
