// SPDX-License-Identifier: Apache-2.0
// Skipping exact repetitions: the same picosecond, counters and path as simulating every iteration.
#include "harness/harness.h"

#include "kit.h"

enum { ALL = 31 };

// Both ways; how much of the time was simulated, in percent.
static double both(const isa_program *p, const hw_chip *chip, sim_options o, const char *what, uint64_t seed)
{
    AUTO(sim_result) fast = NULL;
    AUTO(sim_result) slow = NULL;
    o.extrapolate = true;
    EXPECT_OK(sim_run(p, chip, &o, &fast));
    o.extrapolate = false;
    EXPECT_OK(sim_run(p, chip, &o, &slow));
    if (sim_total(fast).ps != sim_total(slow).ps)
        FAIL_TEST("%s, seed %llu: %lld ps with, %lld ps without extrapolation", what, (unsigned long long)seed,
                  (long long)sim_total(fast).ps, (long long)sim_total(slow).ps);
    static const char *const names[] = {
#define METRIC(name, unit, kind, source, text) #name,
#include "sim/metrics.def"
    };
    for (size_t k = 0; k < COUNT_OF(names); k++) {
        if (strncmp(names[k], "simulated", 9) == 0) continue;
        const double a = sim_metric(fast, names[k]), b = sim_metric(slow, names[k]);
        if (fabs(a - b) > 1e-9 * fabs(b))
            FAIL_TEST("%s, seed %llu: %s is %.12g with, %.12g without extrapolation", what, (unsigned long long)seed, names[k], a, b);
    }
    uint32_t count;
    const sim_critical *path = sim_critical_path(fast, &count);
    int64_t sum = 0;
    for (uint32_t k = 0; k < count; k++) sum += path[k].span.ps;
    EXPECT_NEAR((double)sum, (double)sim_total(fast).ps, 1e-6 * (double)sim_total(fast).ps + count);
    return sim_metric(fast, "simulated_percent");
}

TEST(steady, generated_loops_are_skipped_exactly)
{
    int skipped = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        kit k = kit_create(seed % 3 == 0 ? &hw_trainium1 : seed % 3 == 1 ? &hw_trainium2 : &hw_trainium3, 1);
        const kit_shape shape = { .seed = seed, .instructions = 6 + (int)(seed % 30), .queues = 1 + (int)(seed % 4),
                                  .iterations = 50 + (int64_t)(seed % 7) * 31, .grow = -1, .wide = seed % 2,
                                  .loose = seed % 4 == 0 };
        kit_generate(&k, k.f, &shape, true);
        sim_options o = kit_options();
        o.throttle = seed % 5 == 0;
        o.sharers = 1 + (uint32_t)(seed % 3);
        skipped += both(k.p, k.chip, o, "loop", seed) < 50;
        isa_program_destroy(k.p);
    }
    EXPECT(skipped >= 100);
}

TEST(steady, layers_called_in_a_row_or_in_a_loop_are_skipped_exactly)
{
    int skipped = 0;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        kit k = kit_create(&hw_trainium2, 1);
        isa_function *layer = isa_function_create(k.p, 0, "layer");
        const kit_shape shape = { .seed = seed, .instructions = 40, .queues = 3, .iterations = 1, .grow = -1 };
        kit_generate(&k, layer, &shape, false);
        kit_generate(&k, k.f, &shape, false);
        if (seed % 2) {
            kit_for(k.f, ALL, 64);
            kit_call(k.f, ALL, 1);
            kit_end_for(k.f, ALL);
        } else
            for (int n = 0; n < 64; n++) kit_call(k.f, ALL, 1);
        kit_generate(&k, k.f, &shape, false);
        skipped += both(k.p, k.chip, kit_options(), "layers", seed) < 50;
        isa_program_destroy(k.p);
    }
    EXPECT(skipped >= 16);
}

TEST(steady, nested_loops_and_two_cores_are_skipped_exactly)
{
    int skipped = 0;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        kit k = kit_create(&hw_trainium2, 2);
        for (uint32_t core = 0; core < 2; core++) {
            isa_function *f = kit_core(&k, core);
            kit_for(f, ALL, 12);
            const kit_shape shape = { .seed = seed + core * (seed % 2), .instructions = 10, .queues = 2,
                                      .iterations = 40, .grow = -1 };
            kit_generate(&k, f, &shape, true);
            kit_end_for(f, ALL);
        }
        sim_options o = kit_options();
        o.sharers = 1 + (uint32_t)(seed % 2);
        skipped += both(k.p, k.chip, o, "nested", seed) < 50;
        isa_program_destroy(k.p);
    }
    EXPECT(skipped >= 12);
}

// A stack as compilers write it: before each call something is made ready, whose waits count from the start of main, and
// the cores meet. `distinct` makes each stretch another, in a way that takes the same time.
static isa_program *stack(uint64_t seed, bool distinct)
{
    enum { READY = 40, MET, LAYERS = 40 };
    kit k = kit_create(&hw_trainium2, 2);
    for (uint32_t core = 0; core < 2; core++) {
        isa_function *f = kit_core(&k, core), *layer = isa_function_create(k.p, core, "layer");
        const kit_shape shape = { .seed = seed, .instructions = 60, .queues = 3, .iterations = 1, .grow = -1 };
        kit_generate(&k, layer, &shape, false);
        kit_generate(&k, f, &shape, false);
        for (int n = 0; n < LAYERS; n++) {
            const isa_operand fill[] = { kit_sbuf(15, NUM_F32, 128, 64), isa_imm_f32(distinct ? 1 + (float)n : 1) };
            isa_emit(f, ISA_memset, ISA_POOL, 2, fill, 0, NULL, 0);
            const uint32_t load = kit_load(&k, f, ISA_POOL, 9, 15, 128, 64, ISA_DGE_NONE);
            isa_add_update(f, load, READY, 16);
            const uint8_t id[] = { (uint8_t)n };
            const uint32_t meet = isa_emit(f, ISA_barrier, ISA_POOL, 0, NULL, 1, id, 0);
            isa_add_wait(f, meet, READY, 16 * (n + 1), true);
            isa_add_update(f, meet, MET, 1);
            for (int e = 0; e < ISA_ENGINE_COUNT; e++)
                isa_add_wait(f, isa_emit(f, ISA_wait, (isa_engine)e, 0, NULL, 0, NULL, 0), MET, n + 1, true);
            kit_call(f, ALL, 1);
        }
        kit_generate(&k, f, &shape, false);
    }
    return k.p;
}

TEST(steady, a_stack_with_preparations_is_a_loop)
{
    int skipped = 0;
    for (uint64_t seed = 1; seed <= 16; seed++) {
        AUTO(isa_program) equal = stack(seed, false);
        AUTO(isa_program) distinct = stack(seed, true);
        skipped += both(equal, &hw_trainium2, kit_options(), "stack", seed) < 50;
        const sim_options o = kit_options();
        EXPECT_EQ_INT(kit_time(equal, &hw_trainium2, &o), kit_time(distinct, &hw_trainium2, &o));
    }
    EXPECT(skipped >= 8);
}

// A pipeline of load, matmul, evict, store on rotating buffers settles, whatever the trip count: time per iteration is
// that of the slowest part, and a million iterations cost no more to simulate than a hundred.
TEST(steady, a_million_iterations_of_a_pipeline)
{
    kit k = kit_create(&hw_trainium1, 1);
    enum { LOADED = 0, MULTIPLIED = 1, EVICTED = 2, STORED = 3 };
    kit_for(k.f, ALL, 1000000);
    const uint32_t load = kit_load(&k, k.f, ISA_SP, 0, 0, 128, 1024, ISA_DGE_NONE);
    isa_add_wait(k.f, load, MULTIPLIED, 0, true);           // the matmul of the iteration before is done
    isa_add_update(k.f, load, LOADED, 1);
    const uint32_t mm = kit_matmul(k.f, kit_psum(0, 128, 512), kit_sbuf(2, NUM_F32, 128, 128), kit_sbuf(0, NUM_F32, 128, 512), false);
    isa_add_wait(k.f, mm, LOADED, 1, true);
    isa_add_wait(k.f, mm, EVICTED, 0, true);
    isa_add_update(k.f, mm, MULTIPLIED, 1);
    const uint32_t copy = kit_activation(k.f, ISA_ACT_COPY, kit_sbuf(1, NUM_F32, 128, 512), kit_psum(0, 128, 512));
    isa_add_wait(k.f, copy, MULTIPLIED, 1, true);
    isa_add_wait(k.f, copy, STORED, 0, true);
    isa_add_update(k.f, copy, EVICTED, 1);
    const uint32_t store = kit_store(&k, k.f, ISA_POOL, 1, 1, 128, 512, ISA_DGE_NONE);
    isa_add_wait(k.f, store, EVICTED, 1, true);
    isa_add_update(k.f, store, STORED, 1);
    kit_end_for(k.f, ALL);
    const sim_options o = kit_options();
    const int64_t many = kit_time(k.p, k.chip, &o);
    k.f->operands.items[k.f->insns.items[0].operand + 2].offset = 500000;
    const int64_t half = kit_time(k.p, k.chip, &o);
    k.f->operands.items[k.f->insns.items[0].operand + 2].offset = 1;
    const int64_t one = kit_time(k.p, k.chip, &o);
    EXPECT(one < many / 100000);
    EXPECT_NEAR((double)(many - half) / 500000, (double)(half - one) / 499999, 1);
    isa_program_destroy(k.p);
}
