// SPDX-License-Identifier: Apache-2.0
// Is simulated time right? The frozen list of published measurements, each as a tile program; errors are bounded and
// the table of docs/timing.md is what is computed here.
#include "harness/harness.h"

#include "base/file.h"
#include "calibration/kernels.h"
#include "sim/sim.h"

#include <stdlib.h>

typedef enum measure { MEASURE_TOTAL, MEASURE_DMA, MEASURE_EACH } measure;
typedef struct row {
    const char *id, *series, *source;
    const hw_chip *chip;
    double measured_ns;
    measure measure;
    isa_program *(*build)(const hw_chip *);
} row;
#define CALIBRATION(id_, series_, chip_, measured_, measure_, source_)                                                 \
    { #id_, #series_, source_, &hw_##chip_, measured_, MEASURE_##measure_, cal_build_##id_ },
static const row rows[] = {
#include "calibration/list.def"
};
enum { ROWS = COUNT_OF(rows) };

typedef struct outcome { double ns, error, read_mb, written_mb, matmuls; bool done; } outcome;
static outcome outcomes[ROWS];

static outcome run(size_t k)
{
    if (outcomes[k].done) return outcomes[k];
    AUTO(isa_program) p = rows[k].build(rows[k].chip);
    sim_options options = sim_options_default();
    options.launch = false;
    AUTO(sim_result) r = NULL;
    EXPECT_OK(sim_run(p, rows[k].chip, &options, &r));
    double ns = (double)sim_total(r).ps * 1e-3;
    if (rows[k].measure == MEASURE_DMA) ns = sim_metric(r, "dma_active_time") * 1e9;
    if (rows[k].measure == MEASURE_EACH) ns /= CAL_CHAIN;
    outcomes[k] = (outcome){ ns, (ns - rows[k].measured_ns) / rows[k].measured_ns, sim_metric(r, "hbm_read_bytes") * 1e-6,
                             sim_metric(r, "hbm_write_bytes") * 1e-6, sim_metric(r, "matmul_instruction_count"), true };
    return outcomes[k];
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

TEST(calibration, errors_are_bounded)
{
    double errors[ROWS];
    for (size_t k = 0; k < ROWS; k++) {
        const outcome o = run(k);
        errors[k] = fabs(o.error);
        if (errors[k] > 0.40) FAIL_TEST("%s: %.1f us, measured %.1f us", rows[k].id, o.ns * 1e-3, rows[k].measured_ns * 1e-3);
    }
    qsort(errors, ROWS, sizeof *errors, by_size);
    if (errors[ROWS / 2] > 0.20) FAIL_TEST("median error %.1f %%, at most 20 %% wanted", 100 * errors[ROWS / 2]);
}

TEST(calibration, every_series_in_its_published_order)
{
    for (size_t k = 1; k < ROWS; k++) {
        if (strcmp(rows[k].series, rows[k - 1].series) != 0) continue;
        const outcome before = run(k - 1), after = run(k);
        if (after.ns >= before.ns)
            FAIL_TEST("%s %.1f us, %s %.1f us: published the other way round", rows[k - 1].id, before.ns * 1e-3, rows[k].id,
                      after.ns * 1e-3);
    }
}

// Megabytes by the profiles of benchmarks B1; matmuls (transposes included) by B3, or by the size of the problem.
TEST(calibration, programs_have_the_published_traffic_and_counts)
{
    static const struct { const char *id; double read_mb, written_mb, matmuls; } published[] = {
        { "suite_matmul", 9059.8, 201.3, 30720 + 15360 }, { "suite_transpose_matmul", 392.2, 179.3, 11264 },
        { "suite_rope", 268.4, 134.2, 0 }, { "suite_silu", 117.4, 117.4, 0 },
        { "tutorial_naive", 5368.7, 67.1, 32768 }, { "tutorial_all", 671.1, 67.1, 32768 },
        { "guide_naive", 10737.4, 134.2, 32768 }, { "guide_hoisted", 8724.2, 134.2, 32768 },
    };
    for (size_t n = 0; n < COUNT_OF(published); n++) {
        size_t k = 0;
        while (strcmp(rows[k].id, published[n].id) != 0) k++;
        const outcome o = run(k);
        EXPECT_NEAR(o.read_mb, published[n].read_mb, 0.001 * published[n].read_mb);
        EXPECT_NEAR(o.written_mb, published[n].written_mb, 0.001 * published[n].written_mb);
        EXPECT_EQ_INT(o.matmuls, published[n].matmuls);
    }
}

// ---- docs/timing.md ------------------------------------------------------------------------------------------------

static void put_ns(glia_strbuf *out, double ns)
{
    if (ns >= 1e5) glia_putf(out, " %.2f ms |", ns * 1e-6);
    else glia_putf(out, " %.0f ns |", ns);
}

static void put_table(glia_strbuf *out)
{
    double errors[ROWS];
    glia_put(out, "| row | chip | published | simulated | error | source |\n|---|---|---|---|---|---|\n");
    for (size_t k = 0; k < ROWS; k++) {
        const outcome o = run(k);
        errors[k] = fabs(o.error);
        glia_putf(out, "| %s | %s |", rows[k].id, rows[k].chip->target);
        put_ns(out, rows[k].measured_ns);
        put_ns(out, o.ns);
        glia_putf(out, " %+.1f %% | %s |\n", 100 * o.error, rows[k].source);
    }
    qsort(errors, ROWS, sizeof *errors, by_size);
    glia_putf(out, "\nMedian error %.1f %%, worst %.1f %%; every series is in its published order.\n", 100 * errors[ROWS / 2],
              100 * errors[ROWS - 1]);
}

TEST(calibration, the_page_has_this_table)
{
    const char *const path = GLIA_SOURCE_DIR "/docs/timing.md", *const begin = "<!-- calibration -->\n", *const end = "<!-- end -->";
    AUTO_VALUE(glia_map) map = { 0 };
    EXPECT_OK(glia_map_open(path, &map));
    const char *const text = (const char *)map.bytes.data;
    const char *from = memmem(text, map.bytes.size, begin, strlen(begin)), *to = memmem(text, map.bytes.size, end, strlen(end));
    EXPECT(from && to && from < to);
    from += strlen(begin);
    glia_strbuf page = { 0 };
    glia_put_bytes(&page, text, (size_t)(from - text));
    put_table(&page);
    glia_put_bytes(&page, to, map.bytes.size - (size_t)(to - text));
    const bool same = page.size == map.bytes.size && memcmp(page.data, text, page.size) == 0;
    if (getenv("GLIA_BLESS")) EXPECT_OK(glia_file_write_atomic(path, glia_strbuf_span(&page)));
    else if (!same) FAIL_TEST("%s has another table; GLIA_BLESS=1 test_sim_calibration rewrites it", path);
    glia_strbuf_fini(&page);
}
