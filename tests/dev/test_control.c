// SPDX-License-Identifier: Apache-2.0
// DMA, control, two cores, faults, and the two searches for reads of what nothing wrote.
#include "dev/rig.h"

// ---- DMA -----------------------------------------------------------------------------------------------------------

TEST(dma, copies_bits_and_casts_through_fp32)
{
    const uint32_t bits[] = { 0x7f812345u, 1, 0x3f808000u, 0xbf808000u };
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    const uint32_t in = rig_tensor(&r, ISA_TENSOR_INPUT, NUM_F32, 4, bits), same = rig_tensor(&r, ISA_TENSOR_OUTPUT, NUM_F32, 4, NULL),
                   cast = rig_tensor(&r, ISA_TENSOR_OUTPUT, NUM_BF16, 4, NULL);
    rig_dma(&r, rig_hbm(&r, same, NUM_F32, 0, 1, 4), rig_hbm(&r, in, NUM_F32, 0, 1, 4));
    rig_dma(&r, rig_hbm(&r, cast, NUM_BF16, 0, 1, 4), rig_hbm(&r, in, NUM_F32, 0, 1, 4));
    EXPECT_OK(rig_run(&r));
    for (int k = 0; k < 4; k++) EXPECT_EQ_HEX(rig_u32(&r, same)[k], bits[k]);
    const uint16_t want[] = { 0x7fc0, 0, 0x3f80, 0xbf80 };
    for (int k = 0; k < 4; k++) EXPECT_EQ_HEX(rig_u16(&r, cast)[k], want[k]);
    rig_fini(&r);
}

TEST(dma, walks_both_sides_in_row_major_order)
{
    uint16_t x[24];
    for (int i = 0; i < 24; i++) x[i] = (uint16_t)i;
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    const uint32_t in = rig_tensor(&r, ISA_TENSOR_INPUT, NUM_U16, 24, x), out = rig_tensor(&r, ISA_TENSOR_OUTPUT, NUM_U16, 24, NULL);
    // [4, 6] read by columns onto 6 partitions of 4, then written back flat.
    const isa_operand columns = isa_hbm(rig_slot(&r, in), NUM_U16, 0, 2, (int64_t[]){ 1, 6 }, (uint32_t[]){ 6, 4 });
    rig_dma(&r, rig_sbuf(NUM_U16, 6, 32, 4), columns);
    rig_dma(&r, isa_hbm(rig_slot(&r, out), NUM_U16, 0, 1, (int64_t[]){ 1 }, (uint32_t[]){ 24 }), rig_sbuf(NUM_U16, 6, 32, 4));
    EXPECT_OK(rig_run(&r));
    for (int i = 0; i < 24; i++) EXPECT_EQ_INT(rig_u16(&r, out)[i], i % 4 * 6 + i / 4);
    rig_fini(&r);
}

TEST(dma, an_overlapping_transfer_reads_first)
{
    uint32_t x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    const uint32_t t = rig_tensor(&r, ISA_TENSOR_OUTPUT, NUM_U32, 8, x);
    rig_dma(&r, rig_hbm(&r, t, NUM_U32, 4, 1, 7), rig_hbm(&r, t, NUM_U32, 0, 1, 7));
    EXPECT_OK(rig_run(&r));
    for (int i = 1; i < 8; i++) EXPECT_EQ_INT(rig_u32(&r, t)[i], x[i - 1]);
    rig_fini(&r);
}

TEST(dma, transposes_two_three_and_four_dims)
{
    uint16_t x[2 * 3 * 2 * 2];
    for (int i = 0; i < 24; i++) x[i] = (uint16_t)i;
    for (int rank = 2; rank <= 4; rank++) {
        const uint32_t n2[] = { 6, 4 }, n3[] = { 3, 2, 4 }, n4[] = { 3, 2, 2, 2 };
        const int64_t s2[] = { 4, 1 }, s3[] = { 8, 4, 1 }, s4[] = { 8, 4, 2, 1 };
        const uint32_t *n = rank == 2 ? n2 : rank == 3 ? n3 : n4;
        const int64_t *s = rank == 2 ? s2 : rank == 3 ? s3 : s4;
        rig r;
        rig_init(&r, &hw_trainium2, 1, 1);
        const uint32_t in = rig_tensor(&r, ISA_TENSOR_INPUT, NUM_U16, 24, x);
        const int p = (int)n[rank - 1];
        const isa_operand d = rig_sbuf(NUM_U16, p, 0, 24 / p);
        (void)isa_emit_dma(r.f, ISA_dma_transpose, ISA_SP, 0, d, isa_hbm(rig_slot(&r, in), NUM_U16, 0, rank, s, n), ISA_DGE_NONE, 0);
        const uint32_t out = rig_out(&r, d);
        EXPECT_OK(rig_run(&r));
        int at = 0;
        if (rank == 2)
            for (int a = 0; a < 4; a++)
                for (int b = 0; b < 6; b++) EXPECT_EQ_INT(rig_u16(&r, out)[at++], b * 4 + a);
        if (rank == 3)      // [2, 1, 0]
            for (int a = 0; a < 4; a++)
                for (int b = 0; b < 2; b++)
                    for (int c = 0; c < 3; c++) EXPECT_EQ_INT(rig_u16(&r, out)[at++], c * 8 + b * 4 + a);
        if (rank == 4)      // [3, 1, 2, 0]
            for (int a = 0; a < 2; a++)
                for (int b = 0; b < 2; b++)
                    for (int c = 0; c < 2; c++)
                        for (int e = 0; e < 3; e++) EXPECT_EQ_INT(rig_u16(&r, out)[at++], e * 8 + b * 4 + c * 2 + a);
        rig_fini(&r);
    }
}

static uint32_t gather_program(rig *r, const int32_t *index, isa_oob oob)
{
    const uint32_t table[] = { 10, 11, 20, 21, 30, 31 }, old[] = { 1, 2, 3, 4 };
    const uint32_t t = rig_tensor(r, ISA_TENSOR_INPUT, NUM_U32, 6, table);
    rig_in(r, rig_sbuf(NUM_S32, 2, 0, 1), index);
    rig_in(r, rig_sbuf(NUM_U32, 2, 64, 2), old);
    isa_operand rows = rig_hbm(r, t, NUM_U32, 0, 3, 2);
    rows.indirect = 1;
    RIG_EMIT(r, dma_gather, POOL, A(ISA_DGE_SWDGE, (uint8_t)oob), rig_sbuf(NUM_U32, 2, 64, 2), rows, rig_sbuf(NUM_S32, 2, 0, 1));
    return rig_out(r, rig_sbuf(NUM_U32, 2, 64, 2));
}

TEST(dma, gather_takes_rows_skips_or_faults)
{
    static const struct { int32_t index[2]; isa_oob oob; uint32_t want[4]; const char *fault; } cases[] = {
        { { 2, 0 }, ISA_OOB_ERROR, { 30, 31, 10, 11 }, NULL },
        { { -1, 1 }, ISA_OOB_SKIP, { 1, 2, 20, 21 }, NULL },
        { { 0, 3 }, ISA_OOB_SKIP, { 10, 11, 3, 4 }, NULL },
        { { 0, 3 }, ISA_OOB_ERROR, { 0 }, "index 3 of partition 1 is outside the 3 rows of tensor 't0'" } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        rig r;
        rig_init(&r, &hw_trainium2, 1, 1);
        const uint32_t out = gather_program(&r, cases[i].index, cases[i].oob);
        if (cases[i].fault) EXPECT_FAILS(rig_run(&r), FAULT, cases[i].fault);
        else EXPECT_OK(rig_run(&r));
        for (int k = 0; k < 4 && !cases[i].fault; k++) EXPECT_EQ_INT(rig_u32(&r, out)[k], cases[i].want[k]);
        rig_fini(&r);
    }
}

TEST(dma, scatter_writes_rows)
{
    const int32_t index[] = { 2, 0 };
    const uint32_t rows[] = { 7, 8, 9, 10 }, table[] = { 0, 1, 2, 3, 4, 5 };
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    const uint32_t t = rig_tensor(&r, ISA_TENSOR_OUTPUT, NUM_U32, 6, table);
    rig_in(&r, rig_sbuf(NUM_S32, 2, 0, 1), index);
    rig_in(&r, rig_sbuf(NUM_U32, 2, 64, 2), rows);
    isa_operand to = rig_hbm(&r, t, NUM_U32, 0, 3, 2);
    to.indirect = 1;
    RIG_EMIT(&r, dma_scatter, POOL, A(ISA_DGE_SWDGE, 0), to, rig_sbuf(NUM_U32, 2, 64, 2), rig_sbuf(NUM_S32, 2, 0, 1));
    EXPECT_OK(rig_run(&r));
    const uint32_t want[] = { 9, 10, 2, 3, 7, 8 };
    for (int k = 0; k < 6; k++) EXPECT_EQ_INT(rig_u32(&r, t)[k], want[k]);
    rig_fini(&r);
}

// ---- control -------------------------------------------------------------------------------------------------------

static void emit_for(rig *r, isa_engine e, uint8_t var, isa_operand start, isa_operand limit, int64_t stride)
{
    (void)rig_emit(r, ISA_for, e, 4, (isa_operand[]){ isa_reg(var), start, limit, isa_imm_int(stride) }, 0, NULL);
}

static void emit_end(rig *r, isa_op op, isa_engine e) { (void)rig_emit(r, op, e, 0, NULL, 0, NULL); }

TEST(control, loops_nest_and_address_by_their_variables)
{
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    const uint32_t out = rig_tensor(&r, ISA_TENSOR_OUTPUT, NUM_S32, 16, NULL);
    dev_control_trace trace = { 0 };
    r.options.trace = &trace;
    RIG_EMIT(&r, reg_move, SP, A(0), isa_reg(9), isa_imm_int(3));
    RIG_EMIT(&r, reg_move, SP, A(0), isa_reg(5), isa_imm_int(0));
    emit_for(&r, ISA_SP, 1, isa_imm_int(0), isa_imm_int(2), 1);
    emit_for(&r, ISA_SP, 2, isa_imm_int(0), isa_reg(9), 2);             // dynamic: 2 trips
    RIG_EMIT(&r, reg_alu, SP, A(ISA_ALU_ADD), isa_reg(5), isa_reg(5), isa_imm_int(1));
    const isa_operand one = isa_hbm(rig_slot(&r, out), NUM_S32, 0, 0, NULL, NULL);
    RIG_EMIT(&r, reg_store, SP, A(0), isa_plus(isa_plus(one, 1, 16), 2, 4), isa_reg(5));
    emit_end(&r, ISA_end_for, ISA_SP);
    emit_end(&r, ISA_end_for, ISA_SP);
    EXPECT_OK(rig_run(&r));
    const int want[8] = { 1, 0, 2, 0, 3, 0, 4, 0 };
    for (int k = 0; k < 8; k++) EXPECT_EQ_INT((int32_t)rig_u32(&r, out)[k], want[k]);
    EXPECT_EQ_INT(trace.trips.count, 2);
    EXPECT_EQ_INT(trace.trips.items[0], 2);
    EXPECT_EQ_INT(trace.trips.items[1], 2);
    VEC_FREE(&trace.trips);
    rig_fini(&r);
}

TEST(control, while_if_else_and_clamped_loads)
{
    // Collatz from 6: 6 3 10 5 16 8 4 2 1, eight steps.
    const int32_t start[] = { 6, 100 };
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    const uint32_t in = rig_tensor(&r, ISA_TENSOR_INPUT, NUM_S32, 2, start), out = rig_tensor(&r, ISA_TENSOR_OUTPUT, NUM_S32, 2, NULL);
    const isa_operand first = isa_hbm(rig_slot(&r, in), NUM_S32, 0, 0, NULL, NULL), second = isa_hbm(rig_slot(&r, in), NUM_S32, 4, 0, NULL, NULL);
    dev_control_trace trace = { 0 };
    r.options.trace = &trace;
    RIG_EMIT(&r, reg_load, SP, A(0), isa_reg(1), first);
    RIG_EMIT(&r, reg_load, SP, A(0), isa_reg(7), second, isa_imm_int(-3), isa_imm_int(11));
    RIG_EMIT(&r, reg_move, SP, A(0), isa_reg(2), isa_imm_int(0));
    RIG_EMIT(&r, while, SP, A(ISA_ALU_GT), isa_reg(1), isa_imm_int(1));
    RIG_EMIT(&r, reg_alu, SP, A(ISA_ALU_AND), isa_reg(3), isa_reg(1), isa_imm_int(1));
    RIG_EMIT(&r, if, SP, A(ISA_ALU_EQ), isa_reg(3), isa_imm_int(0));
    RIG_EMIT(&r, reg_alu, SP, A(ISA_ALU_SHR), isa_reg(1), isa_reg(1), isa_imm_int(1));
    emit_end(&r, ISA_else, ISA_SP);
    RIG_EMIT(&r, reg_alu, SP, A(ISA_ALU_MULTIPLY), isa_reg(1), isa_reg(1), isa_imm_int(3));
    RIG_EMIT(&r, reg_alu, SP, A(ISA_ALU_ADD), isa_reg(1), isa_reg(1), isa_imm_int(1));
    emit_end(&r, ISA_end_if, ISA_SP);
    RIG_EMIT(&r, reg_alu, SP, A(ISA_ALU_ADD), isa_reg(2), isa_reg(2), isa_imm_int(1));
    emit_end(&r, ISA_end_while, ISA_SP);
    const uint32_t slot = rig_slot(&r, out);
    RIG_EMIT(&r, reg_store, SP, A(0), isa_hbm(slot, NUM_S32, 0, 0, NULL, NULL), isa_reg(2));
    RIG_EMIT(&r, reg_store, SP, A(0), isa_hbm(slot, NUM_S32, 4, 0, NULL, NULL), isa_reg(7));
    EXPECT_OK(rig_run(&r));
    EXPECT_EQ_INT((int32_t)rig_u32(&r, out)[0], 8);
    EXPECT_EQ_INT((int32_t)rig_u32(&r, out)[1], 11);
    EXPECT_EQ_INT(trace.trips.count, 9);
    EXPECT_EQ_INT(trace.trips.items[0], 8);
    EXPECT_EQ_INT(trace.trips.items[1], 1);     // 6 is even
    EXPECT_EQ_INT(trace.trips.items[2], 0);     // 3 is not
    VEC_FREE(&trace.trips);
    rig_fini(&r);
}

TEST(control, a_loop_of_no_trips_is_skipped)
{
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    const uint32_t out = rig_tensor(&r, ISA_TENSOR_OUTPUT, NUM_S32, 1, NULL);
    emit_for(&r, ISA_SP, 1, isa_imm_int(5), isa_imm_int(5), 1);
    RIG_EMIT(&r, reg_store, SP, A(0), isa_hbm(rig_slot(&r, out), NUM_S32, 0, 0, NULL, NULL), isa_reg(1));
    emit_end(&r, ISA_end_for, ISA_SP);
    EXPECT_OK(rig_run(&r));
    EXPECT_EQ_INT(rig_u32(&r, out)[0], 0);
    rig_fini(&r);
}

TEST(control, calls_bind_tensors_through_calls)
{
    const uint32_t x[4] = { 1, 2, 3, 4 };
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    const uint32_t in = rig_tensor(&r, ISA_TENSOR_INPUT, NUM_U32, 4, x), out = rig_tensor(&r, ISA_TENSOR_OUTPUT, NUM_U32, 4, NULL);
    isa_function *middle = isa_function_create(r.program, 0, "middle"), *leaf = isa_function_create(r.program, 0, "leaf");
    const uint32_t leaf_dst = isa_slot_formal(leaf, "dst", 4, ISA_WRITE), leaf_src = isa_slot_formal(leaf, "src", 4, ISA_READ);
    (void)isa_emit_dma(leaf, ISA_dma_copy, ISA_SP, 0, isa_hbm(leaf_dst, NUM_U32, 0, 0, NULL, NULL), isa_hbm(leaf_src, NUM_U32, 0, 0, NULL, NULL), ISA_DGE_NONE, 0);
    const uint32_t mid_dst = isa_slot_formal(middle, "to", 16, ISA_WRITE), mid_src = isa_slot_formal(middle, "from", 16, ISA_READ);
    uint32_t inner, outer;
    isa_table *t = isa_table_add(r.program, 0, 4, 2, &inner);
    for (uint32_t k = 0; k < 4; k++) {
        t->items[k * 2] = (isa_binding){ mid_dst, 4 * k };
        t->items[k * 2 + 1] = (isa_binding){ mid_src, 4 * (3 - k) };
    }
    (void)isa_emit(middle, ISA_for, ISA_SP, 4, (isa_operand[]){ isa_reg(3), isa_imm_int(0), isa_imm_int(4), isa_imm_int(1) }, 0, NULL, 0);
    (void)isa_emit(middle, ISA_call, ISA_SP, 3, (isa_operand[]){ isa_imm_int(2), isa_imm_int(inner), isa_reg(3) }, 0, NULL, 0);
    (void)isa_emit(middle, ISA_end_for, ISA_SP, 0, NULL, 0, NULL, 0);
    t = isa_table_add(r.program, 0, 1, 2, &outer);
    t->items[0] = (isa_binding){ rig_slot(&r, out), 0 };
    t->items[1] = (isa_binding){ rig_slot(&r, in), 0 };
    RIG_EMIT(&r, call, SP, A(0), isa_imm_int(1), isa_imm_int(outer), isa_imm_int(0));
    EXPECT_OK(rig_run(&r));
    for (int k = 0; k < 4; k++) EXPECT_EQ_INT(rig_u32(&r, out)[k], x[3 - k]);
    rig_fini(&r);
}

TEST(control, engines_must_agree_on_a_bound)
{
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    RIG_EMIT(&r, reg_move, SP, A(0), isa_reg(1), isa_imm_int(3));
    RIG_EMIT(&r, reg_move, ACT, A(0), isa_reg(1), isa_imm_int(4));
    emit_for(&r, ISA_SP, 2, isa_imm_int(0), isa_reg(1), 1);
    r.f->insns.items[2].engines = 1u << ISA_SP | 1u << ISA_ACT;
    emit_end(&r, ISA_end_for, ISA_SP);
    EXPECT_FAILS(rig_run(&r), FAULT, "register r1 is 3 in SP and 4 in ACT");
    rig_fini(&r);
}

TEST(control, nesting_is_judged_at_load)
{
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    emit_for(&r, ISA_SP, 2, isa_imm_int(0), isa_imm_int(2), 1);
    emit_end(&r, ISA_end_if, ISA_SP);
    EXPECT_FAILS(rig_run(&r), INVALID, "closes something else");
    rig_fini(&r);
}

TEST(control, collectives_answer_with_their_name)
{
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    const uint32_t t = rig_tensor(&r, ISA_TENSOR_OUTPUT, NUM_F32, 4, NULL);
    RIG_EMIT(&r, cc_all_reduce, SP, A(ISA_ALU_ADD, 0), rig_hbm(&r, t, NUM_F32, 0, 1, 4), rig_hbm(&r, t, NUM_F32, 0, 1, 4), isa_imm_int(0));
    EXPECT_FAILS(rig_run(&r), UNSUPPORTED, "cc_all_reduce");
    rig_fini(&r);
}

// ---- two cores -----------------------------------------------------------------------------------------------------

// Core 1 reads what core 0 wrote before the barrier, then core 0 reads core 1's answer after another.
TEST(cores, barriers_define_the_result)
{
    const uint32_t x[] = { 5 };
    rig r;
    rig_init(&r, &hw_trainium2, 2, 2);
    const uint32_t in = rig_tensor(&r, ISA_TENSOR_INPUT, NUM_U32, 1, x), a = rig_tensor(&r, ISA_TENSOR_SCRATCH, NUM_U32, 1, NULL),
                   b = rig_tensor(&r, ISA_TENSOR_SCRATCH, NUM_U32, 1, NULL), out = rig_tensor(&r, ISA_TENSOR_OUTPUT, NUM_U32, 1, NULL);
    isa_function *g = r.program->cores[1].functions.items[0];
#define HBM1(f, t) isa_hbm(isa_slot_global(f, r.program, t), NUM_U32, 0, 0, NULL, NULL)
    rig_dma(&r, HBM1(r.f, a), HBM1(r.f, in));
    RIG_EMIT(&r, barrier, SP, A(1), isa_none());
    RIG_EMIT(&r, barrier, SP, A(2), isa_none());
    rig_dma(&r, HBM1(r.f, out), HBM1(r.f, b));
    (void)isa_emit(g, ISA_barrier, ISA_SP, 0, NULL, 1, (uint8_t[]){ 1 }, 0);
    (void)isa_emit_dma(g, ISA_dma_copy, ISA_SP, 0, HBM1(g, b), HBM1(g, a), ISA_DGE_NONE, 0);
    (void)isa_emit(g, ISA_barrier, ISA_SP, 0, NULL, 1, (uint8_t[]){ 2 }, 0);
    for (int round = 0; round < 3; round++) {
        rig_u32(&r, in)[0] = 5 + (uint32_t)round;
        EXPECT_OK(rig_run(&r));
        EXPECT_EQ_INT(rig_u32(&r, out)[0], 5 + round);
    }
    rig_fini(&r);
}

TEST(cores, a_barrier_that_one_core_never_reaches_is_a_hang)
{
    rig r;
    rig_init(&r, &hw_trainium2, 2, 1);
    RIG_EMIT(&r, barrier, SP, A(9), isa_none());
    EXPECT_FAILS(rig_run(&r), HANG, "core 0 waits at barrier 9, core 1 has ended");
    rig_fini(&r);
}

// ---- faults --------------------------------------------------------------------------------------------------------

TEST(fault, a_dynamic_address_names_place_tensor_register_and_bound)
{
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    const uint32_t in = rig_tensor(&r, ISA_TENSOR_INPUT, NUM_U32, 8, NULL), out = rig_tensor(&r, ISA_TENSOR_OUTPUT, NUM_U32, 8, NULL);
    const uint32_t origin = isa_origin_add(r.program, "%slice.7", "layer.hlo:12");
    const uint32_t slot = rig_slot(&r, out);
    RIG_EMIT(&r, reg_load, SP, A(0), isa_reg(6), isa_hbm(rig_slot(&r, in), NUM_U32, 0, 0, NULL, NULL));
    const isa_operand to = isa_plus(isa_hbm(slot, NUM_U32, 0, 1, (int64_t[]){ 1 }, (uint32_t[]){ 2 }), 6, 4);
    (void)isa_emit_dma(r.f, ISA_dma_copy, ISA_SP, 0, to, rig_hbm(&r, in, NUM_U32, 0, 1, 2), ISA_DGE_SWDGE, origin);
    static const struct { int32_t index; const char *text; } bad[] = {
        { 7, "bytes 28..36 of 't1', which has 32: register r6 of SP is 7" }, { -1, "bytes -4..4 of 't1'" },
        { INT32_MIN, "register r6 of SP is -2147483648" }, { 100, "'%slice.7' at layer.hlo:12" }, { 100, "core 0, 'main' instruction 1" } };
    for (size_t k = 0; k < COUNT_OF(bad); k++) {
        rig_u32(&r, in)[0] = (uint32_t)bad[k].index;
        EXPECT_FAILS(rig_run(&r), FAULT, bad[k].text);
    }
    rig_u32(&r, in)[0] = 6;                      // the machine is usable afterwards
    rig_u32(&r, in)[1] = 77;
    EXPECT_OK(rig_run(&r));
    EXPECT_EQ_INT(rig_u32(&r, out)[7], 77);
    rig_fini(&r);
}

TEST(fault, a_static_address_out_of_bounds)
{
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    const uint32_t t = rig_tensor(&r, ISA_TENSOR_OUTPUT, NUM_U32, 8, NULL);
    rig_dma(&r, rig_hbm(&r, t, NUM_U32, 20, 1, 4), rig_hbm(&r, t, NUM_U32, 0, 1, 4));
    EXPECT_FAILS(rig_run(&r), FAULT, "bytes 20..36 of 't0', which has 32");
    rig_fini(&r);
}

TEST(fault, shapes_are_judged_at_load)
{
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    RIG_EMIT(&r, memset, DVE, A(0), rig_sbuf(NUM_F32, 128, 0, 64), isa_imm_f32(1));
    RIG_EMIT(&r, matmul, PE, A(0, 0), rig_psum(NUM_F32, 64, 0, 32), rig_sbuf(NUM_F32, 128, 0, 64), rig_sbuf(NUM_F32, 128, 0, 64));
    EXPECT_FAILS(rig_run(&r), INVALID, "operand 'dst' is [64, 32], it must be [64, 64]");
    rig_fini(&r);
}

TEST(fault, a_bound_buffer_may_not_be_smaller_than_its_tensor)
{
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    const uint32_t t = rig_tensor(&r, ISA_TENSOR_OUTPUT, NUM_U32, 8, NULL);
    r.buffers[t].bytes = 16;
    EXPECT_FAILS(rig_run(&r), INVALID, "tensor 't0' has 32 bytes, the memory bound to it 16");
    rig_fini(&r);
}

// ---- reads of what nothing wrote -----------------------------------------------------------------------------------

TEST(unwritten, found_at_load_by_def_use)
{
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    RIG_EMIT(&r, memset, DVE, A(0), rig_sbuf(NUM_F32, 2, 0, 8), isa_imm_f32(1));
    RIG_EMIT(&r, tensor_copy, DVE, A(0), rig_sbuf(NUM_F32, 2, 256, 4), rig_sbuf(NUM_F32, 2, 20, 4));
    EXPECT_FAILS(rig_load(&r), INVALID, "instruction 1, 'tensor_copy'");
    rig_fini(&r);
    rig_init(&r, &hw_trainium2, 1, 1);
    RIG_EMIT(&r, memset, DVE, A(0), rig_sbuf(NUM_F32, 2, 0, 8), isa_imm_f32(1));
    RIG_EMIT(&r, tensor_copy, DVE, A(0), rig_sbuf(NUM_F32, 2, 256, 4), rig_sbuf(NUM_F32, 2, 16, 4));
    EXPECT_OK(rig_load(&r));
    rig_fini(&r);
}

TEST(unwritten, accumulation_onto_nothing_is_a_read)
{
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    RIG_EMIT(&r, memset, DVE, A(0), rig_sbuf(NUM_F32, 4, 0, 4), isa_imm_f32(1));
    RIG_EMIT(&r, matmul, PE, A(1, 0), rig_psum(NUM_F32, 4, 0, 4), rig_sbuf(NUM_F32, 4, 0, 4), rig_sbuf(NUM_F32, 4, 0, 4));
    EXPECT_FAILS(rig_load(&r), INVALID, "operand 'dst' reads psum partition 0");
    rig_fini(&r);
}

// A loop writes tiles 0 and 1 of four; the read of all passes def-use only when the loop covers them.
TEST(unwritten, loops_write_what_their_variable_reaches)
{
    for (int trips = 2; trips <= 4; trips += 2) {
        rig r;
        rig_init(&r, &hw_trainium2, 1, 1);
        emit_for(&r, ISA_DVE, 1, isa_imm_int(0), isa_imm_int(trips), 1);
        RIG_EMIT(&r, memset, DVE, A(0), isa_plus(rig_sbuf(NUM_F32, 1, 0, 4), 1, 16), isa_imm_f32(1));
        emit_end(&r, ISA_end_for, ISA_DVE);
        RIG_EMIT(&r, tensor_copy, DVE, A(0), rig_sbuf(NUM_F32, 1, 256, 16), rig_sbuf(NUM_F32, 1, 0, 16));
        if (trips == 2) EXPECT_FAILS(rig_load(&r), INVALID, "bytes 0..64");
        else EXPECT_OK(rig_load(&r));
        rig_fini(&r);
    }
}

TEST(unwritten, the_shadow_map_sees_what_def_use_cannot)
{
    for (int index = 0; index < 2; index++) {
        rig r;
        rig_init(&r, &hw_trainium2, 1, 1);
        r.options.shadow = true;
        const uint32_t in = rig_tensor(&r, ISA_TENSOR_INPUT, NUM_S32, 1, &index);
        RIG_EMIT(&r, memset, DVE, A(0), rig_sbuf(NUM_F32, 1, 0, 4), isa_imm_f32(1));
        RIG_EMIT(&r, reg_load, DVE, A(0), isa_reg(1), isa_hbm(rig_slot(&r, in), NUM_S32, 0, 0, NULL, NULL));
        RIG_EMIT(&r, tensor_copy, DVE, A(0), rig_sbuf(NUM_F32, 1, 256, 4), isa_plus(rig_sbuf(NUM_F32, 1, 0, 4), 1, 4));
        (void)rig_out(&r, rig_sbuf(NUM_F32, 1, 256, 4));
        if (index) EXPECT_FAILS(rig_run(&r), FAULT, "operand 'src' reads sbuf partition 0 byte 16, which nothing has written");
        else EXPECT_OK(rig_run(&r));
        rig_fini(&r);
    }
}

TEST(unwritten, hbm_scratch_is_in_the_shadow_map)
{
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    r.options.shadow = true;
    const uint32_t s = rig_tensor(&r, ISA_TENSOR_SCRATCH, NUM_U32, 8, NULL), out = rig_tensor(&r, ISA_TENSOR_OUTPUT, NUM_U32, 8, NULL),
                   in = rig_tensor(&r, ISA_TENSOR_INPUT, NUM_U32, 8, NULL);
    rig_dma(&r, rig_hbm(&r, s, NUM_U32, 0, 1, 4), rig_hbm(&r, in, NUM_U32, 0, 1, 4));
    rig_dma(&r, rig_hbm(&r, out, NUM_U32, 0, 1, 5), rig_hbm(&r, s, NUM_U32, 0, 1, 5));
    EXPECT_FAILS(rig_run(&r), FAULT, "reads byte 16 past its start in tensor 't0'");
    rig_fini(&r);
}

// ---- aliases, observation ------------------------------------------------------------------------------------------

TEST(tensors, an_output_that_is_not_bound_is_its_alias)
{
    const uint32_t x[] = { 1, 2 };
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    const uint32_t in = rig_tensor(&r, ISA_TENSOR_INPUT, NUM_U32, 2, x), out = rig_tensor(&r, ISA_TENSOR_OUTPUT, NUM_U32, 2, NULL);
    r.program->tensors.items[out].alias = (int32_t)in;
    rig_dma(&r, rig_hbm(&r, out, NUM_U32, 0, 1, 1), rig_hbm(&r, in, NUM_U32, 4, 1, 1));
    EXPECT_OK(rig_load(&r));
    EXPECT_OK(dev_bind(r.loaded, out, NULL));
    EXPECT_OK(rig_run(&r));
    EXPECT_EQ_INT(rig_u32(&r, in)[0], 2);
    EXPECT(r.buffers[in].generation > 0);
    rig_fini(&r);
}

static void count_insn(void *context, uint32_t core, const isa_function *f, uint32_t insn)
{
    EXPECT(core == 0 && insn < f->insns.count);
    ++*(int *)context;
}

TEST(tensors, the_observer_sees_each_instruction)
{
    int seen = 0;
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    r.options.observe = count_insn;
    r.options.observe_context = &seen;
    emit_for(&r, ISA_DVE, 1, isa_imm_int(0), isa_imm_int(3), 1);
    RIG_EMIT(&r, memset, DVE, A(0), rig_sbuf(NUM_F32, 1, 0, 4), isa_imm_f32(1));
    emit_end(&r, ISA_end_for, ISA_DVE);
    EXPECT_OK(rig_run(&r));
    EXPECT_EQ_INT(seen, 1 + 3 * 2);
    rig_fini(&r);
}
