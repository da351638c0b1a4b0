// SPDX-License-Identifier: Apache-2.0
// What leaves sim: metrics, JSON, text, critical path, assumptions, the trace file.
#include "harness/harness.h"

#include "base/file.h"
#include "base/json.h"
#include "kit.h"

static sim_result *simulate(kit *k, sim_options o, uint64_t seed)
{
    const kit_shape shape = { .seed = seed, .instructions = 60, .queues = 3, .iterations = 20, .grow = -1 };
    kit_generate(k, k->f, &shape, true);
    sim_result *r = NULL;
    EXPECT_OK(sim_run(k->p, k->chip, &o, &r));
    return r;
}

TEST(report, launch_is_added_when_asked_for)
{
    for (int launch = 0; launch < 2; launch++) {
        kit k = kit_create(&hw_trainium1, 1);
        sim_options o = kit_options();
        o.launch = launch;
        AUTO(sim_result) r = simulate(&k, o, 1);
        EXPECT_NEAR(sim_metric(r, "launch_time"), launch ? 58e-6 : 0, 1e-12);
        EXPECT_NEAR(sim_metric(r, "total_time"), sim_metric(r, "device_time") + sim_metric(r, "launch_time"), 1e-15);
        EXPECT_NEAR((double)sim_total(r).ps * 1e-12, sim_metric(r, "total_time"), 1e-15);
        isa_program_destroy(k.p);
    }
}

TEST(report, every_metric_is_a_number_and_an_unknown_one_is_not)
{
    kit k = kit_create(&hw_trainium2, 1);
    AUTO(sim_result) r = simulate(&k, sim_options_default(), 2);
#define METRIC(name, unit, kind, source, text)                                                                               \
    if (!isfinite(sim_metric(r, #name)) || sim_metric(r, #name) < 0) FAIL_TEST("%s is %g", #name, sim_metric(r, #name));
#include "sim/metrics.def"
    EXPECT(isnan(sim_metric(r, "warp_speed")));
    static const char *const shares[] = { "tensor_engine_active_time_percent", "dma_active_time_percent", "total_active_time_percent" };
    for (size_t n = 0; n < COUNT_OF(shares); n++) EXPECT(sim_metric(r, shares[n]) > 0 && sim_metric(r, shares[n]) <= 100);
    isa_program_destroy(k.p);
}

// One matmul: 2 x 128 x 128 x 512 flop; 8 published cores share 667 TF.
TEST(report, utilisation_divides_by_the_published_peak)
{
    kit k = kit_create(&hw_trainium2, 1);
    for (int n = 0; n < 100; n++)
        kit_matmul(k.f, kit_psum(n % 8, 128, 512), kit_sbuf(0, NUM_BF16, 128, 128), kit_sbuf(1, NUM_BF16, 128, 512), false);
    const sim_options o = kit_options();
    AUTO(sim_result) r = NULL;
    EXPECT_OK(sim_run(k.p, k.chip, &o, &r));
    const double flops = 100 * 2.0 * 128 * 128 * 512;
    EXPECT_NEAR(sim_metric(r, "hfu_estimated_percent"), 100 * flops / (667e12 / 8) / ((double)sim_total(r).ps * 1e-12), 1e-6);
    EXPECT_NEAR(sim_metric(r, "mfu_estimated_percent"), sim_metric(r, "hfu_estimated_percent"), 1e-9);
    EXPECT_EQ_INT(sim_metric(r, "matmul_instruction_count"), 100);
    isa_program_destroy(k.p);
}

// The bandwidth that a program's use is measured by is what the simulation lets it draw: with one core of two on a stack
// as with both, with sharers and without.
TEST(report, no_program_uses_more_than_all_of_the_bandwidth)
{
    const hw_chip *const chips[] = { &hw_trainium1, &hw_trainium2, &hw_trainium3 };
    for (size_t c = 0; c < COUNT_OF(chips); c++)
        for (uint32_t cores = 1; cores <= (uint32_t)hw_int(chips[c]->lnc_max); cores++)
            for (uint32_t sharers = 1; sharers <= 4; sharers += 3) {
                kit k = kit_create(chips[c], cores);
                const int64_t step = 1;
                const uint32_t count = 1 << 24;
                const isa_operand dst = isa_hbm(isa_slot_global(k.f, k.p, k.scratch), NUM_F32, 0, 1, &step, &count);
                const isa_operand src = isa_hbm(isa_slot_global(k.f, k.p, k.tensor), NUM_F32, 0, 1, &step, &count);
                isa_emit_dma(k.f, ISA_dma_copy, ISA_SP, 0, dst, src, ISA_DGE_NONE, 0);
                sim_options o = kit_options();
                o.sharers = sharers;
                AUTO(sim_result) r = NULL;
                EXPECT_OK(sim_run(k.p, k.chip, &o, &r));
                const double mbu = sim_metric(r, "mbu_estimated_percent"), stack = hw_value(k.chip->hbm_bps) / hw_value(k.chip->hbm_stacks);
                EXPECT_NEAR(mbu, 100 * 2 * 4.0 * count / ((double)sim_total(r).ps * 1e-12 * stack / sharers), 1e-6);
                EXPECT(mbu > 80 && mbu <= 100 * hw_value(k.chip->hbm_stream_efficiency));
                isa_program_destroy(k.p);
            }
}

// The report as JSON, read back. The text is the caller's, as is the arena.
static const glia_json *json_of(const sim_result *r, glia_arena *arena, glia_strbuf *text)
{
    glia_json_writer w = glia_json_writer_of(text, true);
    sim_json(r, &w);
    glia_json *root;
    EXPECT_OK(glia_json_parse(arena, glia_strbuf_span(text), "json", &root));
    return root;
}

// Integers in the file are integers: nobody has to guess whether 1e+01 is a count.
TEST(report, what_is_counted_is_written_as_a_whole_number)
{
    kit k = kit_create(&hw_trainium2, 1);
    AUTO(sim_result) r = simulate(&k, sim_options_default(), 6);
    glia_strbuf text = { 0 };
    AUTO(glia_arena) arena = glia_arena_create();
    const glia_json *root = json_of(r, arena, &text);
    static const char *const units[] = { "", "B", "flop", "cycles" };
    int counted = 0;
#define METRIC(name, unit, kind, source, text)                                                                         \
    for (size_t n = 0; n < COUNT_OF(units); n++) {                                                                     \
        if (strcmp(units[n], unit) != 0 || strstr(#name, "average")) continue;                                         \
        counted++;                                                                                                     \
        if (!glia_json_find(root, #name)->is_integer) FAIL_TEST("%s is %.17g", #name, glia_json_find(root, #name)->number); \
    }
#include "sim/metrics.def"
    EXPECT(counted > 40);
    glia_strbuf_fini(&text);
    isa_program_destroy(k.p);
}

TEST(report, traffic_is_counted_by_what_the_tensor_is)
{
    kit k = kit_create(&hw_trainium1, 1);
    const int64_t dims[] = { 128, 1 << 20 };
    const uint32_t weight = isa_tensor_add(k.p, "w", ISA_TENSOR_INPUT, NUM_F32, 2, dims);
    k.p->tensors.items[weight].weight = 1;
    kit_load(&k, k.f, ISA_SP, 0, 0, 128, 256, ISA_DGE_NONE);
    kit_store(&k, k.f, ISA_SP, 1, 0, 128, 512, ISA_DGE_NONE);
    kit w = k;
    w.tensor = weight;
    kit_load(&w, k.f, ISA_SP, 2, 1, 128, 1024, ISA_DGE_NONE);
    const sim_options o = kit_options();
    AUTO(sim_result) r = NULL;
    EXPECT_OK(sim_run(k.p, k.chip, &o, &r));
    EXPECT_EQ_INT(sim_metric(r, "input_queue_bytes"), 128 * 256 * 4);
    EXPECT_EQ_INT(sim_metric(r, "spill_save_bytes"), 128 * 512 * 4);
    EXPECT_EQ_INT(sim_metric(r, "weight_queue_bytes"), 128 * 1024 * 4);
    EXPECT_EQ_INT(sim_metric(r, "hbm_read_bytes"), 128 * 1280 * 4);
    EXPECT_EQ_INT(sim_metric(r, "hbm_write_bytes"), 128 * 512 * 4);
    EXPECT_EQ_INT(sim_metric(r, "dma_transfer_count"), 3);
    EXPECT_EQ_INT(sim_metric(r, "dma_queue_count"), 3);
    EXPECT_EQ_INT(sim_metric(r, "static_dma_packet_count"), 3 * 128);
    isa_program_destroy(k.p);
}

TEST(report, the_critical_path_adds_up_and_names_what_binds)
{
    kit k = kit_create(&hw_trainium1, 1);
    const uint32_t load = kit_load(&k, k.f, ISA_SP, 4, 0, 128, 1024, ISA_DGE_NONE);
    isa_add_update(k.f, load, 0, 1);
    const uint32_t a = kit_activation(k.f, ISA_ACT_SQUARE, kit_sbuf(1, NUM_F32, 128, 1024), kit_sbuf(0, NUM_F32, 128, 1024));
    isa_add_wait(k.f, a, 0, 1, true);
    k.f->insns.items[a].origin = isa_origin_add(k.p, "%exp.2", "a.hlo:4");
    const sim_options o = kit_options();
    AUTO(sim_result) r = NULL;
    EXPECT_OK(sim_run(k.p, k.chip, &o, &r));
    uint32_t count;
    const sim_critical *path = sim_critical_path(r, &count);
    EXPECT(count >= 2);
    int64_t sum = 0;
    for (uint32_t n = 0; n < count; n++) sum += path[n].span.ps;
    EXPECT_EQ_INT(sum, sim_total(r).ps);
    EXPECT_EQ_STR(path[count - 1].lane, "ACT");
    EXPECT_EQ_STR(path[count - 1].origin, "%exp.2 a.hlo:4");
    EXPECT_EQ_STR(path[count - 2].lane, "DMA q4");
    isa_program_destroy(k.p);
}

TEST(report, assumed_facts_are_listed_with_their_share)
{
    kit k = kit_create(&hw_trainium2, 1);
    for (int n = 0; n < 10; n++)
        kit_activation(k.f, n % 2 ? ISA_ACT_EXP : ISA_ACT_SILU, kit_sbuf(0, NUM_F32, 128, 64), kit_sbuf(1, NUM_F32, 128, 64));
    const sim_options o = kit_options();
    AUTO(sim_result) r = NULL;
    EXPECT_OK(sim_run(k.p, k.chip, &o, &r));
    uint32_t count;
    const sim_assumption *a = sim_assumptions(r, &count);
    EXPECT_EQ_INT(count, 1);
    EXPECT_EQ_STR(a[0].key, "act:table_switch");
    EXPECT_NEAR(a[0].share, 10 * 1.3e6 / (double)sim_total(r).ps, 1e-3);
    isa_program_destroy(k.p);
}

TEST(report, json_holds_every_metric_and_the_named_fields)
{
    kit k = kit_create(&hw_trainium2, 1);
    AUTO(sim_result) r = simulate(&k, sim_options_default(), 3);
    glia_strbuf text = { 0 };
    AUTO(glia_arena) arena = glia_arena_create();
    const glia_json *root = json_of(r, arena, &text);
#define METRIC(name, unit, kind, source, text)                                                                               \
    EXPECT_NEAR(glia_json_find(root, #name)->number, sim_metric(r, #name), 1e-12 * fabs(sim_metric(r, #name)));
#include "sim/metrics.def"
    const glia_json *engines = glia_json_find(root, "engines");
    for (int e = 0; e < ISA_ENGINE_COUNT; e++)
        EXPECT_NEAR(glia_json_find(glia_json_find(engines, isa_engine_name((isa_engine)e)), "active_time")->number,
                    (double)sim_engine_active(r, 0, (isa_engine)e).ps * 1e-12, 1e-15);
    EXPECT(glia_json_find(glia_json_find(root, "dma"), "dma_active_time")->number > 0);
    EXPECT(glia_json_find(root, "critical_path")->size > 0);
    EXPECT(glia_json_find(root, "assumptions")->size > 0);
    glia_strbuf_fini(&text);
    sim_text(r, &text);
    EXPECT(strstr(glia_strbuf_str(&text), "critical path") != NULL);
    glia_strbuf_fini(&text);
    isa_program_destroy(k.p);
}

// ---- the trace -----------------------------------------------------------------------------------------------------

static const glia_json *events_of(glia_arena *arena, const glia_map *map)
{
    glia_json *root;
    EXPECT_OK(glia_json_parse(arena, map->bytes, "trace", &root));
    return glia_json_find(root, "traceEvents");
}

TEST(report, the_trace_has_each_instruction_once_and_slices_of_a_lane_nest)
{
    kit k = kit_create(&hw_trainium1, 1);
    sim_options o = kit_options();
    o.trace = true;
    AUTO(sim_result) r = simulate(&k, o, 4);
    char path[512];
    snprintf(path, sizeof path, "%s/sim_trace.json", GLIA_BINARY_DIR);
    EXPECT_OK(sim_write_trace(r, path));
    AUTO_VALUE(glia_map) map = { 0 };
    EXPECT_OK(glia_map_open(path, &map));
    AUTO(glia_arena) arena = glia_arena_create();
    const glia_json *events = events_of(arena, &map);
    double until[ISA_LANES + ISA_ENGINE_COUNT] = { 0 };
    int spans = 0;
    for (size_t n = 0; n < events->size; n++) {
        const glia_json *e = &events->items[n];
        if (strcmp(glia_json_find(e, "ph")->string, "X") != 0) continue;
        const int64_t lane = glia_json_find(e, "tid")->integer;
        const double start = glia_json_find(e, "ts")->number, end = start + glia_json_find(e, "dur")->number;
        EXPECT(start >= until[lane] - 1e-6);
        until[lane] = end;
        EXPECT(end <= (double)sim_total(r).ps * 1e-6 + 1e-6);
        spans++;
    }
    const double transfers = sim_metric(r, "dma_transfer_count");
    const double engines = sim_metric(r, "tensor_engine_instruction_count") + sim_metric(r, "scalar_engine_instruction_count") +
                           sim_metric(r, "vector_engine_instruction_count") + sim_metric(r, "gpsimd_engine_instruction_count") +
                           sim_metric(r, "sync_engine_instruction_count");
    EXPECT_EQ_INT(spans, engines);              // a transfer is drawn once, on its queue
    EXPECT(transfers > 0);
    remove(path);
    isa_program_destroy(k.p);
}

TEST(report, a_trace_that_was_not_kept_is_refused)
{
    kit k = kit_create(&hw_trainium1, 1);
    AUTO(sim_result) r = simulate(&k, kit_options(), 5);
    EXPECT_FAILS(sim_write_trace(r, "/nowhere/trace.json"), INVALID, "without a trace");
    isa_program_destroy(k.p);
}
