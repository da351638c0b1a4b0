// SPDX-License-Identifier: Apache-2.0
// Vector, scalar and pool engines in exact mode: each instruction against values worked out by hand or in double.
#include "dev/rig.h"

#include "num/math.h"

// Runs one elementwise instruction [1, n] with up to two inputs of type `in`, result of type `out` as raw words.
typedef struct one { num_dtype in, out; int n; const void *a, *b; isa_op op; isa_engine engine; isa_operand o2, o3; int attrs;
                     uint8_t attr[8]; } one;

static void run_one(const one *t, void *result)
{
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    const isa_operand a = rig_sbuf(t->in, 1, 0, t->n), b = rig_sbuf(t->in, 1, 4096, t->n), d = rig_sbuf(t->out, 1, 8192, t->n);
    rig_in(&r, a, t->a);
    if (t->b) rig_in(&r, b, t->b);
    const isa_operand o[] = { d, a, t->b ? b : t->o2, t->o3 };
    (void)rig_emit(&r, t->op, t->engine, isa_row_get(t->op)->operand_count < 4 ? isa_row_get(t->op)->operand_count : 4, o,
                   t->attrs, t->attr);
    const uint32_t out = rig_out(&r, d);
    EXPECT_OK(rig_run(&r));
    memcpy(result, r.buffers[out].data, (size_t)t->n * (size_t)num_size(t->out));
    rig_fini(&r);
}

typedef struct alu_case { isa_alu op; float a, b; float want; } alu_case;

TEST(vector, arithmetic_operators)
{
    static const alu_case cases[] = {
        { ISA_ALU_ADD, 1.5f, 2, 3.5f },          { ISA_ALU_SUBTRACT, 1, 3, -2 },
        { ISA_ALU_MULTIPLY, 3, -2, -6 },         { ISA_ALU_MAXIMUM, -1, 2, 2 },
        { ISA_ALU_MINIMUM, -1, 2, -1 },          { ISA_ALU_EQ, 2, 2, 1 },
        { ISA_ALU_NE, 2, 2, 0 },                 { ISA_ALU_GE, 2, 2, 1 },
        { ISA_ALU_GT, 2, 2, 0 },                 { ISA_ALU_LE, 1, 2, 1 },
        { ISA_ALU_LT, 3, 2, 0 },                 { ISA_ALU_LOGICAL_AND, 2, 4, 1 },    // not 2 & 4
        { ISA_ALU_LOGICAL_OR, 0, 4, 1 },         { ISA_ALU_LOGICAL_XOR, 1, 4, 0 },
        { ISA_ALU_MAXIMUM, 0.0f, -0.0f, 0.0f },  { ISA_ALU_MAXIMUM, -0.0f, 0.0f, 0.0f },
        { ISA_ALU_MINIMUM, 0.0f, -0.0f, -0.0f }, { ISA_ALU_MAXIMUM, 1, NAN, NAN },
        { ISA_ALU_MINIMUM, NAN, 1, NAN },        { ISA_ALU_EQ, NAN, NAN, 0 },
        { ISA_ALU_ADD, 0x1p-149f, 0, 0x1p-149f }, { ISA_ALU_ADD, INFINITY, -INFINITY, NAN },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint32_t got;
        run_one(&(one){ NUM_F32, NUM_F32, 1, &cases[i].a, &cases[i].b, ISA_tensor_tensor, ISA_DVE, .attrs = 1,
                        .attr = { (uint8_t)cases[i].op } }, &got);
        const uint32_t want = isnan(cases[i].want) ? 0x7FC00000u : num_f32_bits(cases[i].want);
        if (got != want) FAIL_TEST("%s(%g, %g): got 0x%x, want 0x%x", isa_alu_name(cases[i].op), (double)cases[i].a,
                                   (double)cases[i].b, got, want);
    }
}

TEST(vector, power_follows_ieee)
{
    static const float cases[][3] = { { 2, 10, 1024 }, { 2, -1, 0.5f }, { -2, 3, -8 }, { -2, 2, 4 }, { -8, 0.5f, NAN },
        { 0, -1, INFINITY }, { -0.0f, -3, -INFINITY }, { 0, 0, 1 }, { NAN, 0, 1 }, { 1, NAN, 1 }, { 2, 200, INFINITY },
        { 2, -149, 0x1p-149f }, { 0.5f, INFINITY, 0 }, { 9, 0.5f, 3 }, { 10, 20, 1e20f } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        float got;
        run_one(&(one){ NUM_F32, NUM_F32, 1, &cases[i][0], &cases[i][1], ISA_tensor_tensor, ISA_POOL, .attrs = 1,
                        .attr = { ISA_ALU_POWER } }, &got);
        if (!(isnan(got) && isnan(cases[i][2])) && got != cases[i][2])
            FAIL_TEST("%g ^ %g: got %.9g, want %.9g", (double)cases[i][0], (double)cases[i][1], (double)got, (double)cases[i][2]);
    }
}

TEST(vector, pool_computes_int32_exactly_and_dve_in_fp32)
{
    const int32_t a[] = { 0x7fffffff, 16777217, -5, 65536 }, b[] = { 1, 1, 3, 65536 };
    int32_t sum[4], product[4], less[4], vector_sum[4];
    run_one(&(one){ NUM_S32, NUM_S32, 4, a, b, ISA_tensor_tensor, ISA_POOL, .attrs = 1, .attr = { ISA_ALU_ADD } }, sum);
    run_one(&(one){ NUM_S32, NUM_S32, 4, a, b, ISA_tensor_tensor, ISA_POOL, .attrs = 1, .attr = { ISA_ALU_MULTIPLY } }, product);
    run_one(&(one){ NUM_S32, NUM_S32, 4, a, b, ISA_tensor_tensor, ISA_POOL, .attrs = 1, .attr = { ISA_ALU_LT } }, less);
    run_one(&(one){ NUM_S32, NUM_S32, 4, a, b, ISA_tensor_tensor, ISA_DVE, .attrs = 1, .attr = { ISA_ALU_ADD } }, vector_sum);
    EXPECT_EQ_INT(sum[0], INT32_MIN);                   // wraps
    EXPECT_EQ_INT(sum[1], 16777218);
    EXPECT_EQ_INT(product[2], -15);
    EXPECT_EQ_INT(product[3], 0);
    EXPECT_EQ_INT(less[2], 1);
    EXPECT_EQ_INT(vector_sum[0], INT32_MAX);            // 2^31 saturates
    EXPECT_EQ_INT(vector_sum[1], 16777216);             // 2^24 + 1 is no fp32
}

TEST(vector, bitvec_works_on_raw_bits)
{
    const uint8_t a[] = { 0xf0, 0x81, 0x01, 0xff }, b[] = { 0x3c, 1, 9, 4 };
    static const struct { isa_alu op; uint8_t want[4]; } cases[] = {
        { ISA_ALU_AND, { 0x30, 0x01, 0x01, 0x04 } }, { ISA_ALU_OR, { 0xfc, 0x81, 0x09, 0xff } },
        { ISA_ALU_XOR, { 0xcc, 0x80, 0x08, 0xfb } }, { ISA_ALU_SHL, { 0, 0x02, 0, 0xf0 } },
        { ISA_ALU_SHR, { 0, 0x40, 0, 0x0f } } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t got[4];
        run_one(&(one){ NUM_U8, NUM_U8, 4, a, b, ISA_tensor_tensor, ISA_DVE, .attrs = 1, .attr = { (uint8_t)cases[i].op } }, got);
        for (int k = 0; k < 4; k++) EXPECT_EQ_HEX(got[k], cases[i].want[k]);
    }
}

TEST(vector, casts_round_to_even_and_saturate)
{
    const float x[] = { 0.5f, 1.5f, 2.5f, -0.5f, 300, -300, NAN, 127.5f };
    const int8_t want[] = { 0, 2, 2, 0, 127, -128, 0, 127 };
    int8_t got[8];
    run_one(&(one){ NUM_F32, NUM_S8, 8, x, NULL, ISA_tensor_copy, ISA_DVE }, got);
    for (int k = 0; k < 8; k++) EXPECT_EQ_INT(got[k], want[k]);
}

TEST(vector, a_copy_of_one_type_keeps_bits)
{
    const uint32_t x[] = { 0x7f812345u, 0xffffffffu, 0x00000001u }, *want = x;
    uint32_t got[3];
    run_one(&(one){ NUM_F32, NUM_F32, 3, x, NULL, ISA_tensor_copy, ISA_DVE }, got);
    for (int k = 0; k < 3; k++) EXPECT_EQ_HEX(got[k], want[k]);
}

TEST(vector, tensor_scalar_chains_two_operators_and_reverses)
{
    const float x[] = { 1, 2, 3 };
    float got[3];
    run_one(&(one){ NUM_F32, NUM_F32, 3, x, NULL, ISA_tensor_scalar, ISA_DVE, isa_imm_f32(10), isa_imm_f32(2), 4,
                    { ISA_ALU_SUBTRACT, 1, ISA_ALU_MULTIPLY, 0 } }, got);
    for (int k = 0; k < 3; k++) EXPECT_EQ_INT(got[k], (10 - x[k]) * 2);
}

TEST(vector, tensor_scalar_takes_a_column_for_each_partition)
{
    const float x[6] = { 1, 2, 3, 4, 5, 6 }, c[2] = { 10, 100 };
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    rig_in(&r, rig_sbuf(NUM_F32, 2, 0, 3), x);
    rig_in(&r, rig_sbuf(NUM_F32, 2, 64, 1), c);
    const isa_operand d = rig_sbuf(NUM_BF16, 2, 128, 3);
    RIG_EMIT(&r, tensor_scalar, DVE, A(ISA_ALU_MULTIPLY, 0, ISA_ALU_NONE, 0), d, rig_sbuf(NUM_F32, 2, 0, 3), rig_sbuf(NUM_F32, 2, 64, 1));
    const uint32_t out = rig_out(&r, d);
    EXPECT_OK(rig_run(&r));
    for (int k = 0; k < 6; k++) EXPECT_EQ_HEX(rig_u16(&r, out)[k], num_bf16_from_f32(x[k] * c[k / 3]));
    rig_fini(&r);
}

TEST(vector, scalar_tensor_tensor_uses_the_tile_second)
{
    const float x[] = { 1, 2 }, y[] = { 5, 7 };
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    rig_in(&r, rig_sbuf(NUM_F32, 1, 0, 2), x);
    rig_in(&r, rig_sbuf(NUM_F32, 1, 64, 2), y);
    const isa_operand d = rig_sbuf(NUM_F32, 1, 128, 2);
    RIG_EMIT(&r, scalar_tensor_tensor, DVE, A(ISA_ALU_MULTIPLY, 0, ISA_ALU_SUBTRACT, 1), d, rig_sbuf(NUM_F32, 1, 0, 2),
             isa_imm_f32(3), rig_sbuf(NUM_F32, 1, 64, 2));
    const uint32_t out = rig_out(&r, d);
    EXPECT_OK(rig_run(&r));
    EXPECT_EQ_INT(rig_f32(&r, out)[0], 5 - 3);      // reversed: tile - (data * 3)
    EXPECT_EQ_INT(rig_f32(&r, out)[1], 7 - 6);
    rig_fini(&r);
}

TEST(vector, strided_and_broadcast_patterns)
{
    float x[12];
    for (int i = 0; i < 12; i++) x[i] = (float)i;
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    rig_in(&r, rig_sbuf(NUM_F32, 1, 0, 12), x);
    // A [3, 4] tile read transposed, plus its first row broadcast over the three... of the [4, 3] view.
    const isa_operand transposed = isa_chip_ap(ISA_SBUF, NUM_F32, 0, 1, 0, 2, (int64_t[]){ 1, 4 }, (uint32_t[]){ 4, 3 });
    const isa_operand broadcast = isa_chip_ap(ISA_SBUF, NUM_F32, 0, 1, 0, 2, (int64_t[]){ 1, 0 }, (uint32_t[]){ 4, 3 });
    const isa_operand d = rig_sbuf(NUM_F32, 1, 128, 12);
    RIG_EMIT(&r, tensor_tensor, DVE, A(ISA_ALU_ADD), d, transposed, broadcast);
    const uint32_t out = rig_out(&r, d);
    EXPECT_OK(rig_run(&r));
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) EXPECT_EQ_INT(rig_f32(&r, out)[i * 3 + k], k * 4 + i + i);
    rig_fini(&r);
}

TEST(vector, copy_predicated_leaves_the_rest)
{
    const float x[] = { 1, 2, 3, 4 }, old[] = { 10, 20, 30, 40 };
    const uint8_t p[] = { 0, 1, 255, 0 };
    for (int reverse = 0; reverse < 2; reverse++) {
        rig r;
        rig_init(&r, &hw_trainium2, 1, 1);
        rig_in(&r, rig_sbuf(NUM_F32, 1, 0, 4), x);
        rig_in(&r, rig_sbuf(NUM_F32, 1, 64, 4), old);
        rig_in(&r, rig_sbuf(NUM_U8, 1, 128, 4), p);
        RIG_EMIT(&r, copy_predicated, DVE, A((uint8_t)reverse), rig_sbuf(NUM_F32, 1, 64, 4), rig_sbuf(NUM_F32, 1, 0, 4), rig_sbuf(NUM_U8, 1, 128, 4));
        const uint32_t out = rig_out(&r, rig_sbuf(NUM_F32, 1, 64, 4));
        EXPECT_OK(rig_run(&r));
        for (int k = 0; k < 4; k++) EXPECT_EQ_INT(rig_f32(&r, out)[k], (p[k] != 0) != reverse ? x[k] : old[k]);
        rig_fini(&r);
    }
}

TEST(vector, memset_and_reciprocal)
{
    const float x[] = { 4, -0.0f, 3 };
    float got[3];
    run_one(&(one){ NUM_F32, NUM_F32, 3, x, NULL, ISA_reciprocal, ISA_DVE }, got);
    EXPECT_EQ_INT(got[0] == 0.25f && isinf(got[1]) && signbit(got[1]) && got[2] == 1.0f / 3, 1);
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    RIG_EMIT(&r, memset, DVE, A(0), rig_sbuf(NUM_BF16, 2, 0, 2), isa_imm_f32(-1.5f));
    RIG_EMIT(&r, memset, DVE, A(0), rig_sbuf(NUM_U32, 1, 64, 1), isa_imm_int(0xfffffff0ll));
    const uint32_t a = rig_out(&r, rig_sbuf(NUM_BF16, 2, 0, 2)), b = rig_out(&r, rig_sbuf(NUM_U32, 1, 64, 1));
    EXPECT_OK(rig_run(&r));
    for (int k = 0; k < 4; k++) EXPECT_EQ_HEX(rig_u16(&r, a)[k], 0xbfc0);
    EXPECT_EQ_HEX(rig_u32(&r, b)[0], 0xfffffff0u);
    rig_fini(&r);
}

TEST(vector, transpose32)
{
    uint16_t x[2 * 3] = { 1, 2, 3, 4, 5, 6 };
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    rig_in(&r, rig_sbuf(NUM_BF16, 2, 0, 3), x);
    RIG_EMIT(&r, transpose32, DVE, A(0), rig_sbuf(NUM_BF16, 3, 64, 2), rig_sbuf(NUM_BF16, 2, 0, 3));
    const uint32_t out = rig_out(&r, rig_sbuf(NUM_BF16, 3, 64, 2));
    EXPECT_OK(rig_run(&r));
    for (int f = 0; f < 3; f++)
        for (int p = 0; p < 2; p++) EXPECT_EQ_INT(rig_u16(&r, out)[f * 2 + p], x[p * 3 + f]);
    rig_fini(&r);
}

// ---- activation ----------------------------------------------------------------------------------------------------

TEST(act, scale_and_bias_come_before_the_function)
{
    const float x[] = { 1, -2, 3 }, scale[] = { 2 }, bias[] = { 1 };
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    rig_in(&r, rig_sbuf(NUM_F32, 1, 0, 3), x);
    rig_in(&r, rig_sbuf(NUM_F32, 1, 64, 1), scale);
    rig_in(&r, rig_sbuf(NUM_F32, 1, 128, 1), bias);
    const isa_operand d = rig_sbuf(NUM_F32, 1, 192, 3);
    RIG_EMIT(&r, activation, ACT, A(ISA_ACT_RELU, ISA_REDUCE_IDLE), d, rig_sbuf(NUM_F32, 1, 0, 3), rig_sbuf(NUM_F32, 1, 64, 1), rig_sbuf(NUM_F32, 1, 128, 1));
    const uint32_t out = rig_out(&r, d);
    EXPECT_OK(rig_run(&r));
    EXPECT_EQ_INT(rig_f32(&r, out)[0], 3);
    EXPECT_EQ_INT(rig_f32(&r, out)[1], 0);
    EXPECT_EQ_INT(rig_f32(&r, out)[2], 7);
    rig_fini(&r);
}

static double reference(isa_act f, double x)
{
    switch (f) {
    case ISA_ACT_COPY: return x;
    case ISA_ACT_SQUARE: return x * x;
    case ISA_ACT_RELU: return x > 0 ? x : 0;
    case ISA_ACT_ABS: return fabs(x);
    case ISA_ACT_SIGN: return (x > 0) - (x < 0);
    case ISA_ACT_EXP: return exp(x);
    case ISA_ACT_LOG: return log(x);
    case ISA_ACT_TANH: return tanh(x);
    case ISA_ACT_SIGMOID: return 1 / (1 + exp(-x));
    case ISA_ACT_SILU: return x / (1 + exp(-x));
    case ISA_ACT_GELU: return 0.5 * x * erfc(-x / sqrt(2));
    case ISA_ACT_GELU_TANH: return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case ISA_ACT_ERF: return erf(x);
    case ISA_ACT_SOFTPLUS: return log1p(exp(x));
    case ISA_ACT_SIN: return sin(x);
    case ISA_ACT_ARCTAN: return atan(x);
    case ISA_ACT_SQRT: return sqrt(x);
    case ISA_ACT_RSQRT: return 1 / sqrt(x);
    case ISA_ACT_RECIPROCAL: return 1 / x;
    case ISA_ACT_COUNT: break;
    }
    return NAN;
}

TEST(act, every_function_is_the_one_that_it_names)
{
    float x[64], got[64];
    for (int i = 0; i < 64; i++) x[i] = 0.01f + (float)i * 0.045f;      // within every function's range
    for (int f = 0; f < ISA_ACT_COUNT; f++) {
        run_one(&(one){ NUM_F32, NUM_F32, 64, x, NULL, ISA_activation, ISA_ACT, isa_imm_f32(1), .attrs = 2, .attr = { (uint8_t)f, 0 } }, got);
        for (int i = 0; i < 64; i++) {
            const double want = reference((isa_act)f, (double)x[i]);
            EXPECT_NEAR(got[i], want, 3e-7 * fabs(want) + 1e-9);
        }
    }
}

TEST(act, reduce_registers_persist_and_win_where_they_alias)
{
    const float x[] = { 1, 2, 3, 4 };
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    const isa_operand a = rig_sbuf(NUM_F32, 1, 0, 4), d = rig_sbuf(NUM_F32, 1, 64, 4), sum = rig_sbuf(NUM_F32, 1, 128, 1);
    rig_in(&r, a, x);
    RIG_EMIT(&r, activation, ACT, A(ISA_ACT_SQUARE, ISA_REDUCE_RESET_REDUCE), d, a, isa_imm_f32(1));    // 30
    RIG_EMIT(&r, activation, ACT, A(ISA_ACT_COPY, ISA_REDUCE_IDLE), d, a, isa_imm_f32(100));            // untouched
    RIG_EMIT(&r, activation, ACT, A(ISA_ACT_COPY, ISA_REDUCE_REDUCE), d, a, isa_imm_f32(1), isa_none(), sum);   // 40
    RIG_EMIT(&r, activation, ACT, A(ISA_ACT_COPY, ISA_REDUCE_RESET_REDUCE), d, a, isa_imm_f32(1), isa_none(), rig_sbuf(NUM_F32, 1, 64, 1));
    const uint32_t s = rig_out(&r, sum), out = rig_out(&r, d);
    EXPECT_OK(rig_run(&r));
    EXPECT_EQ_INT(rig_f32(&r, s)[0], 40);
    EXPECT_EQ_INT(rig_f32(&r, out)[0], 10);
    EXPECT_EQ_INT(rig_f32(&r, out)[1], 2);
    rig_fini(&r);
}

// ---- reductions ----------------------------------------------------------------------------------------------------

TEST(reduce, folds_trailing_axes_from_the_left)
{
    const float x[] = { 0x1p24f, 1, -0x1p24f, 1, 5, 6, 7, 8 };
    static const struct { isa_alu op; uint8_t negate; float want[2]; } cases[] = {
        { ISA_ALU_ADD, 0, { 1, 26 } },                       // ((2^24 + 1) - 2^24) + 1 = 1
        { ISA_ALU_SUBTRACT, 0, { 0x1p25f, -16 } },           // 2^25 - 1 and 2^25 - 1 are ties
        { ISA_ALU_MAXIMUM, 1, { -0x1p24f, -8 } }, { ISA_ALU_MINIMUM, 0, { -0x1p24f, 5 } } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        rig r;
        rig_init(&r, &hw_trainium2, 1, 1);
        rig_in(&r, rig_sbuf(NUM_F32, 1, 0, 8), x);
        const isa_operand data = isa_chip_ap(ISA_SBUF, NUM_F32, 0, 1, 0, 3, (int64_t[]){ 4, 2, 1 }, (uint32_t[]){ 2, 2, 2 });
        RIG_EMIT(&r, tensor_reduce, DVE, A((uint8_t)cases[i].op, 2, cases[i].negate), rig_sbuf(NUM_F32, 1, 64, 2), data);
        const uint32_t out = rig_out(&r, rig_sbuf(NUM_F32, 1, 64, 2));
        EXPECT_OK(rig_run(&r));
        for (int k = 0; k < 2; k++) EXPECT_NEAR(rig_f32(&r, out)[k], cases[i].want[k], 0);
        rig_fini(&r);
    }
}

TEST(reduce, across_partitions)
{
    const float x[6] = { 1, 2, 3, 40, 50, -60 };
    const uint8_t bits[6] = { 1, 2, 3, 16, 32, 1 };
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    rig_in(&r, rig_sbuf(NUM_F32, 2, 0, 3), x);
    rig_in(&r, rig_sbuf(NUM_U8, 2, 64, 3), bits);
    RIG_EMIT(&r, partition_reduce, POOL, A(ISA_ALU_ADD), rig_sbuf(NUM_F32, 1, 128, 3), rig_sbuf(NUM_F32, 2, 0, 3));
    RIG_EMIT(&r, partition_reduce, POOL, A(ISA_ALU_OR), rig_sbuf(NUM_U8, 1, 192, 3), rig_sbuf(NUM_U8, 2, 64, 3));
    const uint32_t sum = rig_out(&r, rig_sbuf(NUM_F32, 1, 128, 3)), or = rig_out(&r, rig_sbuf(NUM_U8, 1, 192, 3));
    EXPECT_OK(rig_run(&r));
    EXPECT_EQ_INT(rig_f32(&r, sum)[0], 41);
    EXPECT_EQ_INT(rig_f32(&r, sum)[2], -57);
    EXPECT_EQ_HEX(r.buffers[or].data[0], 17);
    EXPECT_EQ_HEX(r.buffers[or].data[1], 34);
    rig_fini(&r);
}

// ---- the max8 family -----------------------------------------------------------------------------------------------

TEST(search, max8_keeps_duplicates_in_descending_order)
{
    const float x[] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5 }, want[] = { 9, 6, 5, 5, 5, 4, 3, 3 };
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    rig_in(&r, rig_sbuf(NUM_F32, 1, 0, 11), x);
    RIG_EMIT(&r, max8, DVE, A(0), rig_sbuf(NUM_F32, 1, 64, 8), rig_sbuf(NUM_F32, 1, 0, 11));
    RIG_EMIT(&r, find_index8, DVE, A(0), rig_sbuf(NUM_U32, 1, 128, 8), rig_sbuf(NUM_F32, 1, 0, 11), rig_sbuf(NUM_F32, 1, 64, 8));
    const uint32_t top = rig_out(&r, rig_sbuf(NUM_F32, 1, 64, 8)), at = rig_out(&r, rig_sbuf(NUM_U32, 1, 128, 8));
    EXPECT_OK(rig_run(&r));
    const uint32_t index[] = { 5, 7, 4, 8, 10, 2, 0, 9 };       // equal values: successive places
    for (int k = 0; k < 8; k++) EXPECT_EQ_INT(rig_f32(&r, top)[k], want[k]);
    for (int k = 0; k < 8; k++) EXPECT_EQ_INT(rig_u32(&r, at)[k], index[k]);
    rig_fini(&r);
}

TEST(search, what_is_not_found_is_all_ones)
{
    const float x[] = { 1, 2, 3, 4, 5, 6, 7, 8 }, vals[] = { 8, 8, 9, 1, 1, 2, 3, 4 };
    const uint16_t want[] = { 7, 0xffff, 0xffff, 0, 0xffff, 1, 2, 3 };
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    rig_in(&r, rig_sbuf(NUM_F32, 1, 0, 8), x);
    rig_in(&r, rig_sbuf(NUM_F32, 1, 64, 8), vals);
    RIG_EMIT(&r, find_index8, DVE, A(0), rig_sbuf(NUM_U16, 1, 128, 8), rig_sbuf(NUM_F32, 1, 0, 8), rig_sbuf(NUM_F32, 1, 64, 8));
    const uint32_t out = rig_out(&r, rig_sbuf(NUM_U16, 1, 128, 8));
    EXPECT_OK(rig_run(&r));
    for (int k = 0; k < 8; k++) EXPECT_EQ_HEX(rig_u16(&r, out)[k], want[k]);
    rig_fini(&r);
}

TEST(search, match_replace8_gives_the_earliest_place_to_the_highest_slot)
{
    // The documented example: data [1,2,3,4,8 x 7], values [3, 8 x 7].
    const float x[] = { 1, 2, 3, 4, 8, 8, 8, 8, 8, 8, 8 }, vals[] = { 3, 8, 8, 8, 8, 8, 8, 8 };
    const uint32_t index[] = { 2, 10, 9, 8, 7, 6, 5, 4 };
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    rig_in(&r, rig_sbuf(NUM_F32, 1, 0, 11), x);
    rig_in(&r, rig_sbuf(NUM_F32, 1, 64, 8), vals);
    RIG_EMIT(&r, match_replace8, DVE, A(0), rig_sbuf(NUM_F32, 1, 128, 11), rig_sbuf(NUM_F32, 1, 0, 11), rig_sbuf(NUM_F32, 1, 64, 8),
             isa_imm_f32(-1), rig_sbuf(NUM_U32, 1, 192, 8));
    const uint32_t out = rig_out(&r, rig_sbuf(NUM_F32, 1, 128, 11)), at = rig_out(&r, rig_sbuf(NUM_U32, 1, 192, 8));
    EXPECT_OK(rig_run(&r));
    for (int k = 0; k < 8; k++) EXPECT_EQ_INT(rig_u32(&r, at)[k], index[k]);
    for (int k = 0; k < 11; k++) EXPECT_EQ_INT(rig_f32(&r, out)[k], k == 2 || k > 3 ? -1 : x[k]);
    rig_fini(&r);
}

// ---- pool ----------------------------------------------------------------------------------------------------------

TEST(pool, iota_counts_and_reads_its_register_at_run_time)
{
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    const isa_operand pattern = isa_pattern(100, 10, 2, (int64_t[]){ 3, -1 }, (uint32_t[]){ 2, 2 });
    RIG_EMIT(&r, reg_move, POOL, A(0), isa_reg(4), isa_imm_int(7));
    RIG_EMIT(&r, iota, POOL, A(0), rig_sbuf(NUM_S32, 3, 0, 4), isa_plus(pattern, 4, 2));
    RIG_EMIT(&r, iota, POOL, A(0), rig_sbuf(NUM_BF16, 1, 64, 4), pattern);
    const uint32_t a = rig_out(&r, rig_sbuf(NUM_S32, 3, 0, 4)), b = rig_out(&r, rig_sbuf(NUM_BF16, 1, 64, 4));
    EXPECT_OK(rig_run(&r));
    for (int p = 0; p < 3; p++)
        for (int i = 0; i < 4; i++) EXPECT_EQ_INT((int32_t)rig_u32(&r, a)[p * 4 + i], 114 + 10 * p + 3 * (i / 2) - i % 2);
    EXPECT_EQ_HEX(rig_u16(&r, b)[2], num_bf16_from_f32(103));
    rig_fini(&r);
}

TEST(pool, affine_select_makes_a_causal_mask)
{
    float x[16];
    for (int i = 0; i < 16; i++) x[i] = (float)(i + 1);
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    rig_in(&r, rig_sbuf(NUM_F32, 4, 0, 4), x);
    const isa_operand pattern = isa_pattern(0, 1, 1, (int64_t[]){ -1 }, (uint32_t[]){ 4 });     // row - column >= 0
    RIG_EMIT(&r, affine_select, POOL, A(ISA_ALU_GE), rig_sbuf(NUM_F32, 4, 64, 4), rig_sbuf(NUM_F32, 4, 0, 4), pattern, isa_imm_f32(-3.4028235e38f));
    RIG_EMIT(&r, affine_select, POOL, A(ISA_ALU_GE), rig_sbuf(NUM_BF16, 4, 128, 4), rig_sbuf(NUM_F32, 4, 0, 4), pattern, isa_imm_f32(-3.4028235e38f));
    const uint32_t out = rig_out(&r, rig_sbuf(NUM_F32, 4, 64, 4)), narrow = rig_out(&r, rig_sbuf(NUM_BF16, 4, 128, 4));
    EXPECT_OK(rig_run(&r));
    for (int p = 0; p < 4; p++)
        for (int f = 0; f < 4; f++) EXPECT_NEAR(rig_f32(&r, out)[p * 4 + f], p >= f ? x[p * 4 + f] : -3.4028235e38f, 0);
    EXPECT_EQ_HEX(rig_u16(&r, narrow)[1], 0xff80);      // becomes -inf
    rig_fini(&r);
}

TEST(pool, n_gather_and_its_bound)
{
    const uint16_t x[] = { 10, 11, 12, 20, 21, 22 };
    uint32_t index[] = { 2, 0, 1, 1 };
    for (int bad = 0; bad < 2; bad++) {
        if (bad) index[3] = 3;
        rig r;
        rig_init(&r, &hw_trainium2, 1, 1);
        rig_in(&r, rig_sbuf(NUM_U16, 2, 0, 3), x);
        rig_in(&r, rig_sbuf(NUM_U32, 2, 64, 2), index);
        RIG_EMIT(&r, n_gather, POOL, A(0), rig_sbuf(NUM_U16, 2, 128, 2), rig_sbuf(NUM_U16, 2, 0, 3), rig_sbuf(NUM_U32, 2, 64, 2));
        const uint32_t out = rig_out(&r, rig_sbuf(NUM_U16, 2, 128, 2));
        if (bad) EXPECT_FAILS(rig_run(&r), FAULT, "index 3 of partition 1");
        else EXPECT_OK(rig_run(&r));
        if (!bad) {
            EXPECT_EQ_INT(rig_u16(&r, out)[0], 12);
            EXPECT_EQ_INT(rig_u16(&r, out)[3], 21);
        }
        rig_fini(&r);
    }
}

// ---- stochastic rounding -------------------------------------------------------------------------------------------

static double mean_of_rounded(uint64_t seed, uint64_t execution, uint16_t *first)
{
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    r.options = (dev_options){ .seed = seed, .execution = execution, .stochastic = true };
    const isa_operand wide = rig_sbuf(NUM_F32, 64, 0, 64), narrow = rig_sbuf(NUM_BF16, 64, 512, 64);
    RIG_EMIT(&r, memset, DVE, A(0), wide, isa_imm_f32(1 + 0.25f / 128));
    RIG_EMIT(&r, tensor_copy, DVE, A(0), narrow, wide);
    const uint32_t out = rig_out(&r, narrow);
    EXPECT_OK(rig_run(&r));
    double sum = 0;
    for (int i = 0; i < 4096; i++) sum += (double)num_bf16_to_f32(rig_u16(&r, out)[i]);
    memcpy(first, rig_u16(&r, out), 64 * sizeof *first);
    rig_fini(&r);
    return sum / 4096;
}

TEST(rounding, stochastic_is_unbiased_and_keyed)
{
    uint16_t a[64], b[64], c[64];
    // A quarter of the way between two bf16 values; standard deviation of the mean: 0.0034 / 64.
    EXPECT_NEAR(mean_of_rounded(1, 1, a), 1 + 0.25 / 128, 3e-4);
    (void)mean_of_rounded(1, 1, b);
    (void)mean_of_rounded(1, 2, c);
    EXPECT_EQ_INT(memcmp(a, b, sizeof a), 0);
    EXPECT(memcmp(a, c, sizeof a) != 0);
}
