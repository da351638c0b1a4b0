// SPDX-License-Identifier: Apache-2.0
// One, two or three instructions whose time can be worked out by hand. Cycles are those of docs/facts/isa.md; ps are
// ceil(cycles / clock).
#include "harness/harness.h"

#include "kit.h"

static int64_t run(kit *k)
{
    const sim_options o = kit_options();
    const int64_t ps = kit_time(k->p, k->chip, &o);
    isa_program_destroy(k->p);
    return ps;
}

static int64_t act(int64_t cycles) { return kit_cycles(&hw_trainium1, HW_ACT, cycles); }
static int64_t dve(int64_t cycles) { return kit_cycles(&hw_trainium1, HW_DVE, cycles); }

TEST(engines, an_instruction_takes_its_interval_and_its_latency)
{
    kit k = kit_create(&hw_trainium1, 1);
    kit_activation(k.f, ISA_ACT_SQUARE, kit_sbuf(0, NUM_F32, 128, 512), kit_sbuf(1, NUM_F32, 128, 512));
    EXPECT_EQ_INT(run(&k), act(512) + act(60 + 100));
}

TEST(engines, independent_instructions_overlap_all_but_their_intervals)
{
    kit k = kit_create(&hw_trainium1, 1);
    for (int n = 0; n < 10; n++) kit_activation(k.f, ISA_ACT_SQUARE, kit_sbuf(n, NUM_F32, 128, 512), kit_sbuf(12, NUM_F32, 128, 512));
    EXPECT_EQ_INT(run(&k), 10 * act(512) + act(160));
}

TEST(engines, a_dependent_instruction_waits_for_the_result)
{
    kit k = kit_create(&hw_trainium1, 1);
    for (int n = 0; n < 10; n++) kit_activation(k.f, ISA_ACT_SQUARE, kit_sbuf(0, NUM_F32, 128, 1), kit_sbuf(0, NUM_F32, 128, 1));
    EXPECT_EQ_INT(run(&k), 10 * (act(64) + act(160)));
}

// A, B, C with C reading A: B hides some of A's latency, not all.
TEST(engines, a_result_of_the_instruction_before_the_last_is_waited_for_too)
{
    kit k = kit_create(&hw_trainium1, 1);
    kit_activation(k.f, ISA_ACT_SQUARE, kit_sbuf(0, NUM_F32, 128, 64), kit_sbuf(9, NUM_F32, 128, 64));
    kit_activation(k.f, ISA_ACT_SQUARE, kit_sbuf(1, NUM_F32, 128, 64), kit_sbuf(9, NUM_F32, 128, 64));
    kit_activation(k.f, ISA_ACT_SQUARE, kit_sbuf(2, NUM_F32, 128, 64), kit_sbuf(0, NUM_F32, 128, 64));
    EXPECT_EQ_INT(run(&k), 2 * (act(64) + act(160)));
}

TEST(engines, a_semaphore_costs_64_cycles_of_the_engine_that_waits)
{
    kit k = kit_create(&hw_trainium1, 1);
    const uint32_t a = kit_activation(k.f, ISA_ACT_SQUARE, kit_sbuf(0, NUM_F32, 128, 512), kit_sbuf(1, NUM_F32, 128, 512));
    isa_add_update(k.f, a, 3, 1);
    const uint32_t b = kit_copy(k.f, ISA_DVE, kit_sbuf(2, NUM_F32, 128, 256), kit_sbuf(0, NUM_F32, 128, 256));
    isa_add_wait(k.f, b, 3, 1, true);
    EXPECT_EQ_INT(run(&k), act(512) + act(160) + dve(64) + dve(256) + dve(160));
}

TEST(engines, a_semaphore_that_was_raised_long_ago_costs_nothing)
{
    kit k = kit_create(&hw_trainium1, 1);
    const uint32_t a = kit_activation(k.f, ISA_ACT_SQUARE, kit_sbuf(0, NUM_F32, 128, 64), kit_sbuf(1, NUM_F32, 128, 64));
    isa_add_update(k.f, a, 3, 1);
    kit_copy(k.f, ISA_DVE, kit_sbuf(2, NUM_F32, 128, 512), kit_sbuf(3, NUM_F32, 128, 512));
    const uint32_t b = kit_copy(k.f, ISA_DVE, kit_sbuf(4, NUM_F32, 128, 512), kit_sbuf(0, NUM_F32, 128, 512));
    isa_add_wait(k.f, b, 3, 1, true);
    EXPECT_EQ_INT(run(&k), 2 * dve(512) + dve(160));
}

// ---- PE ------------------------------------------------------------------------------------------------------------

static int64_t matmuls(const hw_chip *chip, num_dtype dtype, int count, int free, bool same, bool throttle)
{
    kit k = kit_create(chip, 1);
    for (int n = 0; n < count; n++)
        kit_matmul(k.f, kit_psum(n % 8, 128, free), kit_sbuf(same ? 0 : n % 8, dtype, 128, 128), kit_sbuf(9, dtype, 128, free), false);
    sim_options o = kit_options();
    o.throttle = throttle;
    const int64_t ps = kit_time(k.p, chip, &o);
    isa_program_destroy(k.p);
    return ps;
}

static int64_t pe(int64_t cycles) { return kit_cycles(&hw_trainium1, HW_PE, cycles); }

TEST(engines, weight_loads_hide_behind_the_matmul_before)
{
    const int64_t first = pe(128 / 4), latency = pe(64);
    EXPECT_EQ_INT(matmuls(&hw_trainium1, NUM_BF16, 20, 512, false, false), first + 20 * pe(512) + latency);
    EXPECT_EQ_INT(matmuls(&hw_trainium1, NUM_BF16, 20, 512, true, false), first + 20 * pe(512) + latency);
}

TEST(engines, fp32_takes_four_passes_and_short_matmuls_64_cycles)
{
    EXPECT_EQ_INT(matmuls(&hw_trainium1, NUM_F32, 20, 512, false, false), pe(32) + 20 * pe(2048) + pe(64));
    EXPECT_EQ_INT(matmuls(&hw_trainium1, NUM_BF16, 20, 16, true, false), pe(32) + 20 * pe(64) + pe(64));
}

TEST(engines, a_stationary_that_is_there_is_not_loaded_again)
{
    for (int rewritten = 0; rewritten < 2; rewritten++) {
        kit k = kit_create(&hw_trainium1, 1);
        kit_matmul(k.f, kit_psum(0, 128, 64), kit_sbuf(0, NUM_BF16, 128, 128), kit_sbuf(9, NUM_BF16, 128, 64), false);
        if (rewritten) kit_copy(k.f, ISA_DVE, kit_sbuf(0, NUM_BF16, 128, 8), kit_sbuf(5, NUM_BF16, 128, 8));
        kit_matmul(k.f, kit_psum(1, 128, 64), kit_sbuf(0, NUM_BF16, 128, 128), kit_sbuf(9, NUM_BF16, 128, 64), false);
        const sim_options o = kit_options();
        AUTO(sim_result) r = NULL;
        EXPECT_OK(sim_run(k.p, k.chip, &o, &r));
        EXPECT_EQ_INT(sim_metric(r, "load_weight_count"), rewritten ? 2 : 1);
        EXPECT_EQ_INT(sim_metric(r, "load_weight_bytes"), (rewritten ? 2 : 1) * 128 * 128 * 2);
        EXPECT_EQ_INT(sim_metric(r, "hardware_flops"), 2 * 2 * 128 * 128 * 64);
        isa_program_destroy(k.p);
    }
}

// Half rate until 3 us of work have been seen: 3 us / (2 x 213.3 ns) = 8 matmuls of 512 columns take twice as long.
TEST(engines, pe_warms_up_from_half_rate_on_generation_3)
{
    const int64_t one = kit_cycles(&hw_trainium2, HW_PE, 512);
    const int64_t cold = matmuls(&hw_trainium2, NUM_BF16, 100, 512, true, true);
    const int64_t warm = matmuls(&hw_trainium2, NUM_BF16, 100, 512, true, false);
    EXPECT_EQ_INT(cold - warm, 8 * one);
    EXPECT_EQ_INT(matmuls(&hw_trainium1, NUM_BF16, 100, 512, true, true), matmuls(&hw_trainium1, NUM_BF16, 100, 512, true, false));
}

// ---- what engines share --------------------------------------------------------------------------------------------

// DVE and ACT read PSUM at the same time.
static int64_t both_read_psum(const hw_chip *chip, int dve_bank, int act_bank)
{
    kit k = kit_create(chip, 1);
    kit_copy(k.f, ISA_DVE, kit_sbuf(0, NUM_F32, 128, 512), kit_psum(dve_bank, 128, 512));
    kit_activation(k.f, ISA_ACT_COPY, kit_sbuf(1, NUM_F32, 128, 512), kit_psum(act_bank, 128, 512));
    return run(&k);
}

TEST(engines, psum_is_exclusive_on_generation_2_and_banked_later)
{
    EXPECT_EQ_INT(both_read_psum(&hw_trainium1, 0, 1), dve(512) + act(512) + act(160));
    const int64_t dve3 = kit_cycles(&hw_trainium2, HW_DVE, 512), act3 = kit_cycles(&hw_trainium2, HW_ACT, 512);
    EXPECT_EQ_INT(both_read_psum(&hw_trainium2, 0, 0), dve3 + act3 + kit_cycles(&hw_trainium2, HW_ACT, 160));
    EXPECT_EQ_INT(both_read_psum(&hw_trainium2, 0, 1), dve3 + kit_cycles(&hw_trainium2, HW_DVE, 160));
}

TEST(engines, dve_and_pool_exclude_each_other_from_sbuf_on_generation_2)
{
    for (size_t n = 0; n < 2; n++) {
        const hw_chip *chip = n ? &hw_trainium2 : &hw_trainium1;
        kit k = kit_create(chip, 1);
        kit_copy(k.f, ISA_DVE, kit_sbuf(0, NUM_F32, 128, 2048), kit_sbuf(1, NUM_F32, 128, 2048));
        kit_copy(k.f, ISA_POOL, kit_sbuf(2, NUM_F32, 128, 512), kit_sbuf(3, NUM_F32, 128, 512));
        const sim_options o = kit_options();
        AUTO(sim_result) r = NULL;
        EXPECT_OK(sim_run(k.p, chip, &o, &r));
        const int64_t first = kit_cycles(chip, HW_DVE, 2048);
        if (n == 0) EXPECT(sim_total(r).ps == first + kit_cycles(chip, HW_POOL, 512) + kit_cycles(chip, HW_POOL, 160));
        if (n == 1) EXPECT(sim_total(r).ps == first + kit_cycles(chip, HW_DVE, 160));
        EXPECT_EQ_INT(sim_metric(r, "port_conflict_time") > 0, n == 0);
        isa_program_destroy(k.p);
    }
}

TEST(engines, act_loads_a_table_when_the_function_family_changes)
{
    static const isa_act funcs[] = { ISA_ACT_EXP, ISA_ACT_COPY, ISA_ACT_EXP, ISA_ACT_SILU, ISA_ACT_GELU_TANH, ISA_ACT_EXP };
    kit k = kit_create(&hw_trainium2, 1);
    for (size_t n = 0; n < COUNT_OF(funcs); n++)
        kit_activation(k.f, funcs[n], kit_sbuf((int)n, NUM_F32, 128, 512), kit_sbuf(9, NUM_F32, 128, 512));
    const int64_t each = kit_cycles(&hw_trainium2, HW_ACT, 512), latency = kit_cycles(&hw_trainium2, HW_ACT, 160);
    EXPECT_EQ_INT(run(&k), 3 * 1300000 + 6 * each + latency);      // exp, silu, exp
}

// ---- the two cores -------------------------------------------------------------------------------------------------

TEST(engines, a_barrier_ends_when_the_later_core_has_come)
{
    kit k = kit_create(&hw_trainium2, 2);
    isa_function *other = kit_core(&k, 1);
    kit_activation(k.f, ISA_ACT_SQUARE, kit_sbuf(0, NUM_F32, 128, 8192 / 4), kit_sbuf(1, NUM_F32, 128, 8192 / 4));
    const uint8_t id[] = { 1 };
    isa_emit(k.f, ISA_barrier, ISA_ACT, 0, NULL, 1, id, 0);
    isa_emit(other, ISA_barrier, ISA_ACT, 0, NULL, 1, id, 0);
    kit_activation(other, ISA_ACT_SQUARE, kit_sbuf(0, NUM_F32, 128, 64), kit_sbuf(1, NUM_F32, 128, 64));
    EXPECT_EQ_INT(run(&k), kit_cycles(&hw_trainium2, HW_ACT, 2048) + kit_cycles(&hw_trainium2, HW_ACT, 1500) +
                               kit_cycles(&hw_trainium2, HW_ACT, 64) + kit_cycles(&hw_trainium2, HW_ACT, 160));
}
