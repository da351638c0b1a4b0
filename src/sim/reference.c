// SPDX-License-Identifier: Apache-2.0
// docs/reference/metrics.md from the rows. A test compares the two, so the page is never a second list.
#include "sim/reference.h"

#include "base/status.h"

#include <string.h>

typedef struct metric_row { const char *name, *unit, *kind, *text; } metric_row;
static const metric_row rows[] = {
#define METRIC(name, unit, kind, source, text) { #name, unit, #kind, text },
#include "sim/metrics.def"
};

static const char head[] =
    "# Metrics\n\n"
    "Printed by `glia doc metrics`. What `glia time` says of a program, in text and, under the same names, in `--json`;\n"
    "the names are the vendor profiler's where it has one. [timing.md](../timing.md) states the model behind them.\n\n"
    "## How to read them\n\n"
    "- **Launch.** `total_time` is `device_time` and `launch_time`, the host's submit and complete of one execution.\n"
    "  `neuroncore_cycle_count` and every percentage are of `total_time`, so a short program shows low percentages\n"
    "  because it mostly waits for the host; with `--no-launch` they are of the device's time alone.\n"
    "- **Cores.** Counts and bytes are sums over the physical cores of the program, times are means over them.\n"
    "- **Bandwidth** is what the program's HBM stack gives it as published: the whole stack divided by `--sharers`, with\n"
    "  one physical core or two. On trn2 and trn3 two cores share a stack, and at LNC 1 one of them can draw all of it\n"
    "  while the other rests: a transfer-bound program then takes as long at LNC 1 as at LNC 2. Where the neighbour\n"
    "  streams too, say `--sharers 2`. HBM reaches less than published (`core:hbm.stream_efficiency`), so\n"
    "  `mbu_estimated_percent` stays below that.\n"
    "- **Peak** is the published bf16 peak of the chip, of it the share of the program's physical cores.\n"
    "- **Waiting and working overlap.** An engine is active from the begin of an instruction until its result is written;\n"
    "  the next instruction is held by its semaphore meanwhile, and that is waiting too. So active and\n"
    "  semaphore_wait time of one engine may add up to more than `device_time`; each alone may not.\n"
    "- **Numbers.** Whole ones are written in plain digits, others with the digits that read back as the same double.\n\n"
    "In `--json`, `engines` repeats time, percentage, wait and count by engine, and `dma` those of transfers.\n\n"
    "## Rows\n\n"
    "| metric | unit | over cores | what it is |\n|---|---|---|---|\n";

static const char *over_cores(const char *kind)
{
    if (strcmp(kind, "COUNT") == 0) return "sum";
    return strcmp(kind, "VALUE") == 0 ? "program" : "mean";
}

void sim_reference_page(glia_strbuf *out)
{
    glia_put(out, head);
    for (size_t k = 0; k < COUNT_OF(rows); k++) {
        const metric_row *r = &rows[k];
        const bool share = strcmp(r->kind, "SHARE") == 0;
        glia_putf(out, share ? "| `%s` | %s | %s | `%s` of `total_time` |\n" : "| `%s` | %s | %s | %s |\n", r->name,
                  r->unit[0] ? r->unit : "count", over_cores(r->kind), r->text);
    }
}
