// SPDX-License-Identifier: Apache-2.0
// What must hold whatever the program: time never beats the roofline, and more work or less bandwidth does not help.
//
// One ring serves transfers in a fixed order, so there it must hold exactly. With contention, a transfer that is put off
// gives way to others, and a program whose end hangs on those may end earlier: real machines do that too (Graham's
// anomalies); it must stay within 1 % of programs of a thousand instructions and more.
#include "harness/harness.h"

#include "kit.h"

// Sanitizers see the same code paths in a tenth of the programs.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STEP = 10 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { STEP = 10 };
#else
enum { STEP = 1 };
#endif
#else
enum { STEP = 1 };
#endif

static isa_program *generate(const hw_chip *chip, const kit_shape *shape, uint32_t cores)
{
    kit k = kit_create(chip, cores);
    for (uint32_t core = 0; core < cores; core++) {
        kit_shape own = *shape;
        own.seed += core * 7919;
        if (core) own.grow = -1;
        kit_generate(&k, kit_core(&k, core), &own, false);
    }
    return k.p;
}

static int64_t time_of(const hw_chip *chip, const kit_shape *shape, uint32_t cores, uint32_t sharers)
{
    AUTO(isa_program) p = generate(chip, shape, cores);
    sim_options o = kit_options();
    o.sharers = sharers;
    return kit_time(p, chip, &o);
}

static const hw_chip *chip_of(uint64_t seed)
{
    return seed % 3 == 0 ? &hw_trainium1 : seed % 3 == 1 ? &hw_trainium2 : &hw_trainium3;
}

// ---- one queue -----------------------------------------------------------------------------------------------------

TEST(bounds, on_one_queue_more_bytes_never_shorten)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        kit_shape shape = { .seed = seed, .instructions = 40, .queues = 1, .grow = -1, .factor = 1, .fixed_queue_engine = seed % 2 };
        const uint32_t sharers = seed % 4 == 0 ? 16 : 1;
        const int64_t before = time_of(chip_of(seed), &shape, 1, sharers);
        shape.grow = (int)(seed % 10);
        for (shape.factor = 2; shape.factor <= 3; shape.factor++) {
            const int64_t after = time_of(chip_of(seed), &shape, 1, sharers);
            if (after < before) FAIL_TEST("seed %llu: %lld ps, with more bytes %lld ps", (unsigned long long)seed, (long long)before, (long long)after);
        }
    }
}

static void slow_down(hw_chip *chip, const char *field, double factor)
{
    const double value = hw_value(*hw_chip_fact(chip, hw_chip_field_find(field)));
    EXPECT_OK(hw_chip_set(chip, field, value * factor, "test"));
}

static void check_slower(const char *field, double factor, uint64_t seed, const kit_shape *shape)
{
    const hw_chip *chip = chip_of(seed);
    hw_chip slow = hw_chip_copy(chip);
    slow_down(&slow, field, factor);
    const int64_t before = time_of(chip, shape, 1, 1), after = time_of(&slow, shape, 1, 1);
    if (after < before)
        FAIL_TEST("seed %llu, %s x %g: %lld ps, then %lld ps", (unsigned long long)seed, field, factor, (long long)before, (long long)after);
}

static const char *const bandwidths[] = { "dma_sustained_bps", "dma_peak_bps", "hbm_bps" };

TEST(bounds, on_one_queue_lower_bandwidth_never_shortens)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        const kit_shape shape = { .seed = seed, .instructions = 40, .queues = 1, .grow = -1, .factor = 1 };
        for (size_t k = 0; k < COUNT_OF(bandwidths); k++) {
            check_slower(bandwidths[k], 0.8, seed, &shape);
            check_slower(bandwidths[k], 0.3, seed, &shape);
        }
    }
}

// ---- contention ----------------------------------------------------------------------------------------------------

// Each program is changed in one of four ways: one transfer moves more, or one bandwidth is lower.
TEST(bounds, contended_programs_shorten_by_at_most_one_percent)
{
    int changed = 0;
    for (uint64_t seed = 1; seed <= 1000; seed += STEP) {
        kit_shape shape = { .seed = seed, .instructions = 1000 + (int)(seed % 5) * 200, .queues = 2 + (int)(seed % 6),
                            .grow = -1, .factor = 1 };
        const hw_chip *chip = chip_of(seed);
        const uint32_t cores = seed % 6 == 1 ? 2 : 1;
        const int64_t before = time_of(chip, &shape, cores, 1);
        hw_chip slow = hw_chip_copy(chip);
        if (seed % 4 == 0) {
            shape.grow = (int)(seed % 100);
            shape.factor = 2 + (int)(seed % 3);
        } else slow_down(&slow, bandwidths[seed % 4 - 1], seed % 2 ? 0.8 : 0.5);
        const int64_t after = time_of(&slow, &shape, cores, 1);
        changed += after != before;
        if ((double)after < 0.99 * (double)before)
            FAIL_TEST("seed %llu: %lld ps, then %lld ps", (unsigned long long)seed, (long long)before, (long long)after);
    }
    EXPECT(changed > 500 / STEP);
}

// ---- DMA engines ---------------------------------------------------------------------------------------------------

// Bound by DMA: sixteen queues that stream, nothing else. With half the engines, each serves twice the partitions.
TEST(bounds, half_the_dma_engines_lengthen_a_dma_bound_program)
{
    for (size_t n = 0; n < 3; n++) {
        const hw_chip *chip = chip_of(n);
        kit k = kit_create(chip, 1);
        for (int t = 0; t < 256; t++) {
            const uint32_t i = kit_load(&k, k.f, ISA_SP, (uint8_t)(t % 16), t % 16, 128, 1024, ISA_DGE_NONE);
            isa_add_update(k.f, i, (uint16_t)(t % 16), 1);
        }
        hw_chip half = hw_chip_copy(chip);
        EXPECT_OK(hw_chip_set(&half, "dma_engines", hw_value(chip->dma_engines) / 2, "test"));
        const sim_options o = kit_options();
        const int64_t before = kit_time(k.p, chip, &o), after = kit_time(k.p, &half, &o);
        EXPECT_NEAR((double)after / (double)before, 2, 0.02);
        isa_program_destroy(k.p);
    }
}

// ---- roofline ------------------------------------------------------------------------------------------------------

static void expect_within(const char *what, double least_s, const sim_result *r, uint64_t seed)
{
    const double total = (double)sim_total(r).ps * 1e-12;
    if (total < least_s * (1 - 1e-9))
        FAIL_TEST("seed %llu: %.9g s beats the roofline of %s, %.9g s", (unsigned long long)seed, total, what, least_s);
}

TEST(bounds, time_never_beats_the_roofline)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        const hw_chip *chip = chip_of(seed);
        const uint32_t cores = seed % 6 == 1 ? 2 : 1;
        const bool loop = seed % 2;
        kit k = kit_create(chip, cores);
        for (uint32_t core = 0; core < cores; core++) {
            const kit_shape shape = { .seed = seed + core, .instructions = 80, .queues = 1 + (int)(seed % 8), .iterations = 40,
                                      .grow = (int)(seed % 5), .factor = 4, .wide = seed % 3 == 0 };
            kit_generate(&k, kit_core(&k, core), &shape, loop);
        }
        sim_options o = kit_options();
        o.sharers = 1 + (uint32_t)(seed % 4);
        AUTO(sim_result) r = NULL;
        EXPECT_OK(sim_run(k.p, chip, &o, &r));
        const double stack = hw_value(chip->hbm_bps) / hw_value(chip->hbm_stacks) / o.sharers * hw_value(chip->hbm_stream_efficiency);
        const double engines = hw_value(chip->dma_engines) * cores * hw_value(chip->dma_sustained_bps);
        expect_within("PE", sim_metric(r, "adjusted_hardware_flops") / (hw_pe_flops(chip, HW_RATE_BF16) * cores), r, seed);
        expect_within("HBM", (sim_metric(r, "hbm_read_bytes") + sim_metric(r, "hbm_write_bytes")) / stack, r, seed);
        expect_within("the DMA engines", sim_metric(r, "dma_transfer_total_bytes") / engines, r, seed);
        for (uint32_t core = 0; core < cores; core++)
            for (int e = 0; e < ISA_ENGINE_COUNT; e++)
                expect_within(isa_engine_name((isa_engine)e), (double)sim_engine_active(r, core, (isa_engine)e).ps * 1e-12, r, seed);
        isa_program_destroy(k.p);
    }
}
