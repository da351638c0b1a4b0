// SPDX-License-Identifier: Apache-2.0
// Transfers whose time can be worked out by hand: fixed latency 1.3 us, then packets of 4 KiB at most, each its bytes at
// the theoretical rate plus what keeps full packets at the sustained one.
#include "harness/harness.h"

#include "kit.h"

static double packet_ns(const hw_chip *chip, double bytes)
{
    const double peak = hw_value(chip->dma_peak_bps) * 1e-9, sustained = hw_value(chip->dma_sustained_bps) * 1e-9;
    return bytes / peak + 4096 * (1 / sustained - 1 / peak);
}

static int64_t run(kit *k, uint32_t sharers)
{
    sim_options o = kit_options();
    o.sharers = sharers;
    const int64_t ps = kit_time(k->p, k->chip, &o);
    isa_program_destroy(k->p);
    return ps;
}

static double load_ns(const hw_chip *chip, int partitions, int bytes)
{
    kit k = kit_create(chip, 1);
    kit_load(&k, k.f, ISA_SP, 0, 0, partitions, bytes / 4, ISA_DGE_NONE);
    return (double)run(&k, 1) * 1e-3;
}

TEST(dma, a_transfer_takes_the_fixed_latency_and_the_packets_of_its_busiest_engine)
{
    static const hw_chip *const chips[] = { &hw_trainium1, &hw_trainium2, &hw_trainium3 };
    for (size_t n = 0; n < COUNT_OF(chips); n++) {
        EXPECT_NEAR(load_ns(chips[n], 128, 4096), 1300 + 8 * 4096 / (hw_value(chips[n]->dma_sustained_bps) * 1e-9), 0.01);
        EXPECT_NEAR(load_ns(chips[n], 8, 4096), 1300 + 8 * 4096 / (hw_value(chips[n]->dma_sustained_bps) * 1e-9), 0.01);
        EXPECT_NEAR(load_ns(chips[n], 1, 8192), 1300 + 2 * packet_ns(chips[n], 4096), 0.01);
        EXPECT_NEAR(load_ns(chips[n], 12, 256), 1300 + 8 * packet_ns(chips[n], 256), 0.01);
    }
}

// [dma-bw: below 256 B very poor, 2 KiB near peak, from 4 KiB on saturated]
TEST(dma, efficiency_by_row_length_has_the_published_ends)
{
    const double sustained = hw_value(hw_trainium2.dma_sustained_bps) * 1e-9;
    EXPECT(128 / packet_ns(&hw_trainium2, 128) < 0.25 * sustained);
    EXPECT(2048 / packet_ns(&hw_trainium2, 2048) > 0.85 * sustained);
    EXPECT_NEAR(4096 / packet_ns(&hw_trainium2, 4096), sustained, 1e-9);
}

TEST(dma, one_ring_keeps_order_and_overlaps_fixed_latencies)
{
    kit k = kit_create(&hw_trainium1, 1);
    for (int n = 0; n < 10; n++) kit_load(&k, k.f, ISA_SP, 0, n, 128, 1024, ISA_DGE_NONE);
    EXPECT_NEAR((double)run(&k, 1) * 1e-3, 1300 + 10 * 8 * 4096 / 17.0, 0.1);
}

TEST(dma, rings_share_engines_evenly_and_lose_no_time)
{
    kit k = kit_create(&hw_trainium1, 1);
    kit_load(&k, k.f, ISA_SP, 0, 0, 128, 1024, ISA_DGE_NONE);
    kit_load(&k, k.f, ISA_ACT, 1, 1, 128, 1024, ISA_DGE_NONE);
    EXPECT_NEAR((double)run(&k, 1) * 1e-3, 1300 + 2 * 8 * 4096 / 17.0, 0.1);
    kit far = kit_create(&hw_trainium1, 1);     // on other engines: side by side
    kit_load(&far, far.f, ISA_SP, 0, 0, 8, 1024, ISA_DGE_NONE);
    const uint32_t i = kit_load(&far, far.f, ISA_ACT, 1, 1, 8, 1024, ISA_DGE_NONE);
    far.f->operands.items[far.f->insns.items[i].operand].start_partition = 64;
    EXPECT_NEAR((double)run(&far, 1) * 1e-3, 1300 + 8 * 4096 / 17.0, 0.1);
}

TEST(dma, service_classes_of_generation_4_go_first)
{
    kit k = kit_create(&hw_trainium3, 1);
    const uint32_t slow = kit_load(&k, k.f, ISA_SP, 0, 0, 128, 1024, ISA_DGE_NONE);
    const uint32_t fast = kit_load(&k, k.f, ISA_ACT, 1, 1, 128, 1024, ISA_DGE_NONE);
    k.f->insns.items[slow].priority = 3;
    isa_add_update(k.f, fast, 0, 1);
    const uint32_t after = kit_copy(k.f, ISA_DVE, kit_sbuf(2, NUM_F32, 128, 64), kit_sbuf(1, NUM_F32, 128, 64));
    isa_add_wait(k.f, after, 0, 1, true);
    sim_options o = kit_options();
    o.trace = true;
    AUTO(sim_result) r = NULL;
    EXPECT_OK(sim_run(k.p, k.chip, &o, &r));
    uint32_t count;
    const sim_critical *path = sim_critical_path(r, &count);
    EXPECT_EQ_STR(path[count - 1].insn, "dma_copy");        // the slow one ends last, on its own time
    EXPECT_NEAR((double)sim_total(r).ps * 1e-3, 1300 + 2 * 8 * 4096 / 33.0, 1);
    isa_program_destroy(k.p);
}

// HBM at 90 % of the stack over its sharers, when that is less than the engines move.
TEST(dma, the_hbm_stack_is_shared)
{
    const double stack = 2.9e3 / 4 * 0.9;       // B/ns
    kit k = kit_create(&hw_trainium2, 2);
    for (uint32_t core = 0; core < 2; core++)
        for (int n = 0; n < 100; n++) kit_load(&k, kit_core(&k, core), ISA_SP, 0, n % 16, 128, 1024, ISA_DGE_NONE);
    EXPECT_NEAR((double)run(&k, 1) * 1e-3, 1300 + 2 * 100 * 128 * 4096 / stack, 10);
    kit one = kit_create(&hw_trainium2, 1);
    for (int n = 0; n < 100; n++) kit_load(&one, one.f, ISA_SP, 0, n % 16, 128, 1024, ISA_DGE_NONE);
    EXPECT_NEAR((double)run(&one, 4) * 1e-3, 1300 + 4 * 100 * 128 * 4096 / stack, 10);
}

TEST(dma, who_makes_descriptors_costs)
{
    kit hard = kit_create(&hw_trainium2, 1);
    for (int n = 0; n < 10; n++) kit_load(&hard, hard.f, ISA_SP, 0, n, 1, 16, ISA_DGE_HWDGE);
    EXPECT_NEAR((double)run(&hard, 1) * 1e-3, 10 * 600 + 1300 + packet_ns(&hw_trainium2, 64), 0.1);
    kit soft = kit_create(&hw_trainium1, 1);
    kit_load(&soft, soft.f, ISA_POOL, 0, 0, 128, 16, ISA_DGE_SWDGE);
    EXPECT_NEAR((double)run(&soft, 1) * 1e-3, (150 + 8 * 128) / 1.4 + 1300 + 8 * packet_ns(&hw_trainium1, 64), 0.1);
}

TEST(dma, within_hbm_a_transfer_uses_all_engines)
{
    kit k = kit_create(&hw_trainium1, 1);
    const int64_t step = 1;
    const uint32_t count = 1 << 20;
    const isa_operand dst = isa_hbm(isa_slot_global(k.f, k.p, k.scratch), NUM_F32, 0, 1, &step, &count);
    const isa_operand src = isa_hbm(isa_slot_global(k.f, k.p, k.tensor), NUM_F32, 0, 1, &step, &count);
    isa_emit_dma(k.f, ISA_dma_copy, ISA_SP, 0, dst, src, ISA_DGE_NONE, 0);
    // 4 MiB, read and written: 8 MiB of HBM traffic at 0.9 x 410 GB/s is slower than 4 MiB at 272 GB/s.
    EXPECT_NEAR((double)run(&k, 1) * 1e-3, 1300 + 2 * 4 * 1048576 / (0.9 * 410), 10);
}
