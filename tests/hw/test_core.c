// SPDX-License-Identifier: Apache-2.0
// What follows from a chip's numbers: engine peaks, shares of a logical core, instance totals, prices.
#include "harness/harness.h"
#include "hw/hw.h"

TEST(core, engine_peaks_are_the_published_ones)
{
    // Tflop/s of one core's PE, to the digits that the vendor's guides give: bf16, fp8, fp32, MX.
    static const double want[4][4] = {
        {91.75, 91.75, 22.94, 0},
        {91.75, 91.75, 22.94, 0},
        {78.64, 157.29, 19.66, 0},
        {78.64, 157.29, 19.66, 314.57},
    };
    for (size_t c = 0; c < hw_chip_count(); c++) {
        EXPECT_NEAR(hw_pe_flops(hw_chip_at(c), HW_RATE_BF16) / 1e12, want[c][0], 0.005);
        EXPECT_NEAR(hw_pe_flops(hw_chip_at(c), HW_RATE_FP8) / 1e12, want[c][1], 0.005);
        EXPECT_NEAR(hw_pe_flops(hw_chip_at(c), HW_RATE_FP32) / 1e12, want[c][2], 0.005);
        EXPECT_NEAR(hw_pe_flops(hw_chip_at(c), HW_RATE_MX) / 1e12, want[c][3], 0.005);
        EXPECT_NEAR(hw_pe_flops(hw_chip_at(c), HW_RATE_INT8), 2 * hw_pe_flops(hw_chip_at(c), HW_RATE_BF16), 1);
    }
    EXPECT_EQ_INT(hw_pe_flops(&hw_trainium1, HW_RATE_BF16), 128LL * 128 * 2 * 2800000000);
}

TEST(core, published_chip_peaks_stay_near_the_engines)
{
    // The vendor adds other engines to PE's; nowhere by more than 20 %, nor less than PE alone by more than 4 %.
    for (size_t c = 0; c < hw_chip_count(); c++) {
        const hw_chip *chip = hw_chip_at(c);
        for (hw_rate_class rate = 0; rate < HW_RATE_COUNT; rate++) {
            const double published = hw_chip_peak_flops(chip, rate),
                         engines = hw_pe_flops(chip, rate) * hw_value(chip->cores);
            if (published == 0) continue;
            if (!(published / engines > 0.96 && published / engines < 1.2))
                FAIL_TEST("%s class %d: published %g, engines %g", chip->target, (int)rate, published, engines);
        }
    }
}

TEST(core, capacities_are_partitions_times_128)
{
    static const uint64_t sbuf[4] = {25165824, 25165824, 29360128, 33554432};
    for (size_t c = 0; c < hw_chip_count(); c++) {
        hw_core core;
        EXPECT_OK(hw_core_of(hw_chip_at(c), 1, &core));
        EXPECT_EQ_INT(core.sbuf_bytes, sbuf[c]);
        EXPECT_EQ_INT(core.psum_bytes, 2097152);
    }
}

TEST(core, a_logical_core_of_two_is_a_quarter_of_the_chip)
{
    hw_core core;
    EXPECT_OK(hw_core_of(&hw_trainium2, 0, &core)); // 2 is the default
    EXPECT_EQ_INT(core.lnc, 2);
    EXPECT_EQ_INT(core.hbm_bytes, 24LL << 30);
    EXPECT_EQ_INT(core.microcode_bytes, 192000000);
    EXPECT_NEAR(core.hbm_bps, 725e9, 1);
    EXPECT_NEAR(core.dma_bps, 736e9, 1);
    EXPECT_NEAR(core.hbm_stacks, 1, 0);
    EXPECT_EQ_INT(core.dma_engines, 32);
    EXPECT_EQ_INT(core.cc_cores, 4);
    EXPECT_NEAR(core.peak_bf16_flops, 667e12 / 4, 1);

    EXPECT_OK(hw_core_of(&hw_trainium2, 1, &core));
    EXPECT_EQ_INT(core.hbm_bytes, 12LL << 30);
    EXPECT_NEAR(core.hbm_stacks, 0.5, 0);
    EXPECT_EQ_INT(core.dma_engines, 16);
    EXPECT_OK(hw_core_of(&hw_trainium1, 0, &core));
    EXPECT_EQ_INT(core.lnc, 1);
    EXPECT_NEAR(core.hbm_bps, 410e9, 1);
    EXPECT_NEAR(core.dma_bps, 272e9, 1);
    EXPECT_EQ_INT(core.cc_cores, 3);
}

TEST(core, an_illegal_size_of_logical_core_names_the_legal_ones)
{
    hw_core core;
    int64_t cores;
    EXPECT_FAILS(hw_core_of(&hw_trainium1, 2, &core), INVALID, "size 2 is not legal on trn1\nhint: use 1");
    EXPECT_FAILS(hw_core_of(&hw_trainium3, 3, &core), INVALID, "use 1 or 2");
    EXPECT_FAILS(hw_core_of(&hw_trainium3, -1, &core), INVALID, "size -1");
    EXPECT_FAILS(hw_instance_logical_cores(&hw_instance_inf2_xlarge, 2, &cores), INVALID, "inf2");
}

TEST(core, instances_have_the_published_totals)
{
    static const struct {
        const char *name;
        int64_t lnc1, lnc2; // lnc2 0: not legal
        double hbm_gib, hbm_tbps, bf16_tflops;
    } want[] = {
        {"inf2.xlarge", 2, 0, 32, 0.82, 190},
        {"trn1.2xlarge", 2, 0, 32, 0.82, 190},
        {"trn1.32xlarge", 32, 0, 512, 13.12, 3040},
        {"trn2.3xlarge", 8, 4, 96, 2.9, 667},
        {"trn2.48xlarge", 128, 64, 1536, 46.4, 10672},
        {"trn3-ultraserver-gen1", 512, 256, 9216, 313.6, 42944},
        {"trn3-ultraserver-gen2", 1152, 576, 20736, 705.6, 96624},
    };
    EXPECT_EQ_INT(hw_instance_count(), COUNT_OF(want));
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        const hw_instance *n;
        int64_t cores;
        EXPECT_OK(hw_instance_find(want[i].name, &n));
        EXPECT_OK(hw_instance_logical_cores(n, 1, &cores));
        EXPECT_EQ_INT(cores, want[i].lnc1);
        if (want[i].lnc2) {
            EXPECT_OK(hw_instance_logical_cores(n, 2, &cores));
            EXPECT_EQ_INT(cores, want[i].lnc2);
        }
        EXPECT_NEAR(hw_value(n->chips) * hw_value(n->chip->hbm_bytes) / GIB, want[i].hbm_gib, 0);
        EXPECT_NEAR(hw_value(n->chips) * hw_value(n->chip->hbm_bps) / 1e12, want[i].hbm_tbps, 1e-9);
        EXPECT_NEAR(hw_value(n->chips) * hw_value(n->chip->peak_bf16_flops) / 1e12, want[i].bf16_tflops, 1e-6);
    }
}

TEST(core, the_price_that_counts_is_published_before_assumed)
{
    static const struct {
        const char *name;
        hw_purchase purchase;
        double usd, usd_per_chip;
        bool assumed;
    } want[] = {
        {"inf2.xlarge", HW_ON_DEMAND, 0.7582, 0.7582, false},
        {"trn1.2xlarge", HW_ON_DEMAND, 1.34375, 1.34375, false},
        {"trn1.32xlarge", HW_ON_DEMAND, 21.5, 1.34375, false},
        {"trn2.3xlarge", HW_CAPACITY_BLOCK, 2.235, 2.235, false},
        {"trn2.48xlarge", HW_CAPACITY_BLOCK, 35.7608, 2.23505, false},
        {"trn3-ultraserver-gen1", HW_ON_DEMAND, 288, 4.5, true},
        {"trn3-ultraserver-gen2", HW_ON_DEMAND, 648, 4.5, true},
    };
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        const hw_instance *n;
        EXPECT_OK(hw_instance_find(want[i].name, &n));
        const hw_price *price = hw_instance_price(n);
        EXPECT_EQ_STR(hw_purchase_name(price->purchase), hw_purchase_name(want[i].purchase));
        EXPECT_NEAR(hw_value(price->usd_per_hour), want[i].usd, 1e-12);
        EXPECT_NEAR(hw_value(price->usd_per_hour) / hw_value(n->chips), want[i].usd_per_chip, 1e-9);
        EXPECT_EQ_INT(price->usd_per_hour.provenance == HW_ASSUMED, want[i].assumed);
    }
    EXPECT(hw_instance_price_of(&hw_instance_trn2_3xlarge, HW_SPOT) == NULL);
}

TEST(core, each_engine_has_its_clock)
{
    EXPECT_NEAR(hw_engine_hz(&hw_trainium2, HW_PE), 2.4e9, 0);
    EXPECT_NEAR(hw_engine_hz(&hw_trainium2, HW_DVE), 0.96e9, 0);
    EXPECT_NEAR(hw_engine_hz(&hw_trainium2, HW_ACT), 1.2e9, 0);
    EXPECT_NEAR(hw_engine_hz(&hw_trainium1, HW_POOL), 1.4e9, 0);
    EXPECT_NEAR(hw_engine_hz(&hw_trainium1, HW_SP), 1.4e9, 0);
    EXPECT_EQ_STR(hw_engine_name(HW_POOL), "POOL");
}
