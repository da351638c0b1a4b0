// SPDX-License-Identifier: Apache-2.0
// Loops, calls, branches and registers; relative semaphores; what is refused.
#include "harness/harness.h"

#include "kit.h"

enum { ALL = 31, ACT_ONLY = 1 << ISA_ACT };

static uint32_t work(isa_function *f, int slot)
{
    return kit_activation(f, ISA_ACT_SQUARE, kit_sbuf(slot, NUM_F32, 128, 1024), kit_sbuf(9, NUM_F32, 128, 1024));
}

static int64_t act(int64_t cycles) { return kit_cycles(&hw_trainium1, HW_ACT, cycles); }

static int64_t run(kit *k, const sim_options *o)
{
    const int64_t ps = kit_time(k->p, k->chip, o);
    isa_program_destroy(k->p);
    return ps;
}

TEST(control, a_loop_is_its_body_as_often)
{
    kit k = kit_create(&hw_trainium1, 1);
    kit_for(k.f, ACT_ONLY, 25);
    work(k.f, 0);
    kit_end_for(k.f, ACT_ONLY);
    const sim_options o = kit_options();
    EXPECT_EQ_INT(run(&k, &o), act(64) + 25 * act(1024) + act(160));    // jumps hide behind the work, all but the first
}

// DVE may be at most one iteration behind ACT; a value of 0 is the iteration before.
TEST(control, relative_waits_count_from_the_iteration)
{
    kit k = kit_create(&hw_trainium1, 1);
    const uint8_t both = 1 << ISA_ACT | 1 << ISA_DVE;
    kit_for(k.f, both, 10);
    const uint32_t a = work(k.f, 0);
    isa_add_wait(k.f, a, 1, 0, true);
    isa_add_update(k.f, a, 0, 1);
    const uint32_t d = kit_copy(k.f, ISA_DVE, kit_sbuf(1, NUM_F32, 128, 1024), kit_sbuf(0, NUM_F32, 128, 1024));
    isa_add_wait(k.f, d, 0, 1, true);
    isa_add_update(k.f, d, 1, 1);
    kit_end_for(k.f, both);
    const sim_options o = kit_options();
    const int64_t dve = kit_cycles(&hw_trainium1, HW_DVE, 1024) + kit_cycles(&hw_trainium1, HW_DVE, 160) + kit_cycles(&hw_trainium1, HW_DVE, 64);
    const int64_t acts = act(1024) + act(160);
    EXPECT_EQ_INT(run(&k, &o), act(64) + 10 * (acts + dve) + 9 * act(64));
}

TEST(control, semaphores_carry_over_calls)
{
    kit k = kit_create(&hw_trainium1, 1);
    isa_function *body = isa_function_create(k.p, 0, "body");
    const uint32_t a = work(body, 0);
    isa_add_update(body, a, 0, 1);
    const uint32_t d = kit_copy(body, ISA_DVE, kit_sbuf(1, NUM_F32, 128, 64), kit_sbuf(0, NUM_F32, 128, 64));
    isa_add_wait(body, d, 0, 1, true);          // of this call, whatever came before
    for (int n = 0; n < 2; n++) kit_call(k.f, ALL, 1);
    const uint32_t last = work(k.f, 2);
    isa_add_update(k.f, last, 0, 1);
    const uint32_t end = kit_copy(k.f, ISA_DVE, kit_sbuf(3, NUM_F32, 128, 64), kit_sbuf(2, NUM_F32, 128, 64));
    isa_add_wait(k.f, end, 0, 3, true);         // two in the calls, one here
    const sim_options o = kit_options();
    EXPECT_EQ_INT(run(&k, &o), act(64) + 3 * act(1024) + act(160) + kit_cycles(&hw_trainium1, HW_DVE, 64) +
                                   kit_cycles(&hw_trainium1, HW_DVE, 64) + kit_cycles(&hw_trainium1, HW_DVE, 160));
}

// ---- dynamic -------------------------------------------------------------------------------------------------------

// A loop whose limit is loaded: between 2 and 7.
static kit dynamic_loop(void)
{
    kit k = kit_create(&hw_trainium1, 1);
    const isa_operand load[] = { isa_reg(5), kit_sbuf(0, NUM_S32, 1, 1), isa_imm_int(2), isa_imm_int(7) };
    isa_emit(k.f, ISA_reg_load, ISA_ACT, 4, load, 0, NULL, 0);
    const isa_operand loop[] = { isa_reg(6), isa_imm_int(0), isa_reg(5), isa_imm_int(1) };
    isa_emit(k.f, ISA_for, ISA_ACT, 4, loop, 0, NULL, isa_origin_add(k.p, "%while.1", "a.hlo:7"));
    work(k.f, 0);
    isa_emit(k.f, ISA_end_for, ISA_ACT, 0, NULL, 0, NULL, 0);
    return k;
}

static void expect_trips(const sim_options *o, int64_t trips, const char *how)
{
    kit k = dynamic_loop();
    AUTO(sim_result) r = NULL;
    EXPECT_OK(sim_run(k.p, k.chip, o, &r));
    const double activations = sim_metric(r, "activate_instruction_count");
    EXPECT_EQ_INT(activations, trips);
    uint32_t count;
    const sim_assumption *a = sim_assumptions(r, &count);
    bool said = false;
    for (uint32_t n = 0; n < count; n++) said |= strstr(a[n].text, how) && strstr(a[n].text, "a.hlo:7") && a[n].share > 0.5;
    if (!said) FAIL_TEST("no assumption says '%s'", how);
    isa_program_destroy(k.p);
}

TEST(control, dynamic_trips_come_from_trace_expectation_or_bound_and_it_is_said)
{
    sim_options o = kit_options();
    expect_trips(&o, 7, "7 iterations, its bound");
    o.expected_trips = 4;
    expect_trips(&o, 4, "4 iterations, the stated expectation");
    const int64_t trips[] = { 3 };
    o.trips = trips;
    o.trip_count = 1;
    expect_trips(&o, 3, "as the control trace of a run decided");
}

TEST(control, a_trace_that_is_too_short_is_refused)
{
    kit k = dynamic_loop();
    sim_options o = kit_options();
    const int64_t none[] = { 0 };
    o.trips = none;
    sim_result *r = NULL;
    EXPECT_FAILS(sim_run(k.p, k.chip, &o, &r), INVALID, "the control trace has 0 decisions");
    isa_program_destroy(k.p);
}

TEST(control, a_counting_while_has_a_bound_another_is_said_to_be_unknown)
{
    for (int known = 0; known < 2; known++) {
        kit k = kit_create(&hw_trainium1, 1);
        const isa_operand zero[] = { isa_reg(1), isa_imm_int(0) };
        isa_emit(k.f, ISA_reg_move, ISA_ACT, 2, zero, 0, NULL, 0);
        const isa_operand test[] = { isa_reg(1), known ? isa_imm_int(5) : isa_reg(9) };
        const uint8_t less[] = { ISA_ALU_LT };
        isa_emit(k.f, ISA_while, ISA_ACT, 2, test, 1, less, 0);
        work(k.f, 0);
        const isa_operand add[] = { isa_reg(1), isa_reg(1), isa_imm_int(1) };
        const uint8_t plus[] = { ISA_ALU_ADD };
        isa_emit(k.f, ISA_reg_alu, ISA_ACT, 3, add, 1, plus, 0);
        isa_emit(k.f, ISA_end_while, ISA_ACT, 0, NULL, 0, NULL, 0);
        const sim_options o = kit_options();
        AUTO(sim_result) r = NULL;
        EXPECT_OK(sim_run(k.p, k.chip, &o, &r));
        EXPECT_EQ_INT(sim_metric(r, "activate_instruction_count"), known ? 5 : 1);
        uint32_t count;
        const sim_assumption *a = sim_assumptions(r, &count);
        bool said = false;
        for (uint32_t n = 0; n < count; n++) said |= strstr(a[n].text, known ? "its bound" : "no bound is known") != NULL;
        EXPECT(said);
        isa_program_destroy(k.p);
    }
}

TEST(control, a_branch_takes_its_first_arm_unless_a_trace_says_otherwise)
{
    for (int traced = 0; traced < 2; traced++) {
        kit k = kit_create(&hw_trainium1, 1);
        const isa_operand test[] = { isa_reg(1), isa_imm_int(0) };
        const uint8_t equal[] = { ISA_ALU_EQ };
        isa_emit(k.f, ISA_if, ISA_ACT, 2, test, 1, equal, 0);
        work(k.f, 0);
        work(k.f, 1);
        isa_emit(k.f, ISA_else, ISA_ACT, 0, NULL, 0, NULL, 0);
        work(k.f, 2);
        isa_emit(k.f, ISA_end_if, ISA_ACT, 0, NULL, 0, NULL, 0);
        sim_options o = kit_options();
        const int64_t no[] = { 0 };
        if (traced) {
            o.trips = no;
            o.trip_count = 1;
        }
        AUTO(sim_result) r = NULL;
        EXPECT_OK(sim_run(k.p, k.chip, &o, &r));
        EXPECT_EQ_INT(sim_metric(r, "activate_instruction_count"), traced ? 1 : 2);
        isa_program_destroy(k.p);
    }
}

TEST(control, a_dynamic_address_costs_600_cycles)
{
    kit k = kit_create(&hw_trainium1, 1);
    kit_copy(k.f, ISA_DVE, isa_plus(kit_sbuf(0, NUM_F32, 128, 64), 3, 4), kit_sbuf(1, NUM_F32, 128, 64));
    const sim_options o = kit_options();
    EXPECT_EQ_INT(run(&k, &o), kit_cycles(&hw_trainium1, HW_DVE, 600) + kit_cycles(&hw_trainium1, HW_DVE, 160));
}

// ---- refused -------------------------------------------------------------------------------------------------------

TEST(control, a_wait_that_nothing_satisfies_names_engine_instruction_and_values)
{
    kit k = kit_create(&hw_trainium1, 1);
    const uint32_t a = work(k.f, 0);
    isa_add_wait(k.f, a, 17, 2, true);
    const sim_options o = kit_options();
    sim_result *r = NULL;
    EXPECT_FAILS(sim_run(k.p, k.chip, &o, &r), INVALID,
                 "core 0, function 'main', insn 0 'activation' waits for semaphore 17 to reach 2, it stays at 0");
    EXPECT(r == NULL);
    isa_program_destroy(k.p);
}

TEST(control, collectives_are_refused_by_name)
{
    kit k = kit_create(&hw_trainium2, 1);
    const uint32_t rank = 0;
    VEC_PUSH(&k.p->groups) = (isa_group){ 1, &rank };
    const int64_t step = 1;
    const uint32_t count = 64;
    const isa_operand x = isa_hbm(isa_slot_global(k.f, k.p, k.tensor), NUM_F32, 0, 1, &step, &count);
    const isa_operand y = isa_hbm(isa_slot_global(k.f, k.p, k.scratch), NUM_F32, 0, 1, &step, &count);
    const isa_operand o[] = { y, x, isa_imm_int(0) };
    const uint8_t attrs[] = { ISA_ALU_ADD, 0 };
    isa_emit(k.f, ISA_cc_all_reduce, ISA_SP, 3, o, 2, attrs, isa_origin_add(k.p, "%all-reduce.3", "b.hlo:9"));
    const sim_options options = kit_options();
    sim_result *r = NULL;
    EXPECT_FAILS(sim_run(k.p, k.chip, &options, &r), UNSUPPORTED, "'cc_all_reduce' (%all-reduce.3, b.hlo:9)");
    isa_program_destroy(k.p);
}

TEST(control, a_loop_that_would_take_years_is_refused)
{
    kit k = kit_create(&hw_trainium1, 1);
    kit_for(k.f, ACT_ONLY, INT64_C(1) << 62);
    const uint32_t a = work(k.f, 0);
    isa_add_update(k.f, a, 0, INT32_MAX);
    kit_end_for(k.f, ACT_ONLY);
    const sim_options o = kit_options();
    sim_result *r = NULL;
    EXPECT_FAILS(sim_run(k.p, k.chip, &o, &r), EXHAUSTED, "is not simulated to its end");
    isa_program_destroy(k.p);
}

TEST(control, semaphores_on_control_are_refused)
{
    kit k = kit_create(&hw_trainium1, 1);
    const uint32_t loop = kit_for(k.f, ACT_ONLY, 3);
    isa_add_wait(k.f, loop, 0, 0, true);
    work(k.f, 0);
    kit_end_for(k.f, ACT_ONLY);
    const sim_options o = kit_options();
    sim_result *r = NULL;
    EXPECT_FAILS(sim_run(k.p, k.chip, &o, &r), UNSUPPORTED, "insn 0 'for' carries semaphores");
    isa_program_destroy(k.p);
}
