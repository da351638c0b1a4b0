// SPDX-License-Identifier: Apache-2.0
// Is simulated time right? The frozen list of published measurements, each as a tile program; errors are bounded and
// the table of docs/timing.md is what is computed here.
#include "harness/harness.h"

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

typedef struct outcome { double ns, error; bool done; } outcome;
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
    outcomes[k] = (outcome){ ns, (ns - rows[k].measured_ns) / rows[k].measured_ns, true };
    if (getenv("CAL_TEXT")) {
        glia_strbuf text = { 0 };
        sim_text(r, &text);
        printf("---- %s\n%s\n", rows[k].id, glia_strbuf_str(&text));
        glia_strbuf_fini(&text);
    }
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
        printf("  %-24s %12.1f us measured %12.1f us  %+6.1f %%\n", rows[k].id, o.ns * 1e-3, rows[k].measured_ns * 1e-3, 100 * o.error);
        if (errors[k] > 0.40) FAIL_TEST("%s: %.1f us, measured %.1f us", rows[k].id, o.ns * 1e-3, rows[k].measured_ns * 1e-3);
    }
    qsort(errors, ROWS, sizeof *errors, by_size);
    printf("  median %.1f %%, worst %.1f %%\n", 100 * errors[ROWS / 2], 100 * errors[ROWS - 1]);
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
