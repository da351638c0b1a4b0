// SPDX-License-Identifier: Apache-2.0
// The table of device memory as the vendor's runtime prints it [runtime:memory.categories]: a row for the HBM, one for
// each of its cores that this process has, one for each NEFF; then which NEFF the ids are. glia adds a row for what was
// asked for and did not fit.
#include "rt/memory_internal.h"

#include <stdio.h>
#include <string.h>

static const bool of_neff[] = {
#define NEFF true
#define CORE false
#define RT_MEMORY(symbol, title, key, neff) neff,
#include "rt/memory.def"
#undef NEFF
#undef CORE
};

typedef enum row_kind { ROW_HEAD, ROW_CORE, ROW_NEFF } row_kind;

static int width_of(int category)
{
    const int title = (int)strlen(rt_category_title((rt_category)category));
    return title < 10 ? 10 : title;
}

static void put_row(glia_strbuf *out, const char *name, uint64_t total, const uint64_t *bytes, row_kind kind)
{
    AUTO_VALUE(glia_strbuf) cell = {0};
    rt_put_size(&cell, total);
    glia_putf(out, "%-18s | %10s", name, kind == ROW_HEAD ? "TOTAL" : glia_strbuf_str(&cell));
    for (int k = 0; k < RT_MEMORY_COUNT; k++) {
        glia_strbuf_clear(&cell);
        if (kind == ROW_HEAD)
            glia_put(&cell, rt_category_title((rt_category)k));
        else if (kind == ROW_NEFF && !of_neff[k])
            glia_put(&cell, "n/a");
        else
            rt_put_size(&cell, bytes[k]);
        glia_putf(out, " | %*s", width_of(k), glia_strbuf_str(&cell));
    }
    glia_put(out, "\n");
}

static bool on_hbm(const rt_memory *m, uint32_t core, rt_place place)
{
    return m->cores[core].place.chip == place.chip && m->cores[core].place.hbm == place.hbm;
}

// NEFFs are kept newest first and shown by id.
static const rt_neff *next_neff(const rt_memory *m, uint32_t after)
{
    const rt_neff *best = NULL;
    for (const rt_neff *n = m->neffs; n; n = n->next)
        if (n->id > after && (!best || n->id < best->id)) best = n;
    return best;
}

void rt_memory_table_locked(const rt_memory *m, uint32_t core, const rt_request *r, glia_strbuf *out)
{
    const rt_place place = m->cores[core].place;
    char name[64];
    uint64_t all[RT_MEMORY_COUNT] = {0};
    for (uint32_t c = 0; c < m->core_count; c++)
        for (int k = 0; on_hbm(m, c, place) && k < RT_MEMORY_COUNT; k++)
            all[k] += m->cores[c].bytes[k];

    put_row(out, "", 0, NULL, ROW_HEAD);
    (void)snprintf(name, sizeof name, "ND %u HBM %u", place.chip, place.hbm);
    put_row(out, name, rt_hbm_used_locked(m, place), all, ROW_CORE);
    for (uint32_t c = 0; c < m->core_count; c++) {
        if (!on_hbm(m, c, place)) continue;
        (void)snprintf(name, sizeof name, "\\_NC %u", m->cores[c].place.core);
        put_row(out, name, rt_core_total_locked(m, c), m->cores[c].bytes, ROW_CORE);
        for (const rt_neff *n = next_neff(m, 0); n; n = next_neff(m, n->id)) {
            if (n->core != c) continue;
            (void)snprintf(name, sizeof name, "  \\_NEFF %u", n->id);
            put_row(out, name, rt_neff_total(n), n->footprint.bytes, ROW_NEFF);
        }
    }
    if (r) put_row(out, "asked for", r->bytes, r->parts.bytes, ROW_CORE);
    glia_put(out, "NEFF id to name mapping:\n");
    for (const rt_neff *n = next_neff(m, 0); n; n = next_neff(m, n->id))
        if (on_hbm(m, n->core, place)) glia_putf(out, "%u: \"%s\"\n", n->id, n->name);
}

void rt_memory_table(rt_memory *m, uint32_t core, glia_strbuf *out)
{
    BUG_ON(core >= m->core_count);
    pthread_mutex_lock(&m->lock);
    rt_memory_table_locked(m, core, NULL, out);
    pthread_mutex_unlock(&m->lock);
}
