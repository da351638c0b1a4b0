// SPDX-License-Identifier: Apache-2.0
// Counting device memory (see memory.h). The invariant: a core's bytes of a category are the sum of its charges and of
// its NEFFs' footprints, plus microcode; its shared scratchpad is the largest need of its NEFFs in whole pages
// [runtime:memory.scratchpad]; and the cores of an HBM never sum to more than it has.
#include "rt/memory_internal.h"

#include <string.h>

static const struct {
    const char *title, *key;
} categories[] = {
#define RT_MEMORY(symbol, title, key, neff) {title, key},
#include "rt/memory.def"
};

enum { FIRST_NEFF_ID = 1001 }; // [runtime:memory.neff_id]

const char *rt_category_title(rt_category c)
{
    BUG_ON((size_t)c >= COUNT_OF(categories));
    return categories[c].title;
}

const char *rt_category_key(rt_category c)
{
    BUG_ON((size_t)c >= COUNT_OF(categories));
    return categories[c].key;
}

void rt_put_size(glia_strbuf *out, uint64_t bytes)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    double n = (double)bytes;
    size_t unit = 0;
    while (n >= 1024 && unit + 1 < COUNT_OF(units)) {
        n /= 1024;
        unit++;
    }
    glia_putf(out, "%.3f%s", n, units[unit]);
}

// ---- the cores -----------------------------------------------------------------------------------------------------

// Logical cores are laid over the chips in order, and over a chip's stacks in order: at LNC 1 two cores of a four-stack
// chip of eight cores share a stack.
static rt_place place_of(const hw_chip *chip, int lnc, uint32_t core)
{
    const uint32_t on_chip = (uint32_t)hw_int(chip->cores) / (uint32_t)lnc;
    const uint32_t local = core % on_chip;
    return (rt_place){
        .chip = core / on_chip, .core = local, .hbm = local * (uint32_t)hw_int(chip->hbm_stacks) / on_chip};
}

rt_memory *rt_memory_create(const hw_instance *instance, int lnc, uint32_t first, uint32_t count)
{
    const hw_chip *chip = instance->chip;
    rt_memory *m = glia_alloc(sizeof *m);
    *m = (rt_memory){.instance = instance, .lnc = lnc, .core_count = count, .next_id = FIRST_NEFF_ID};
    m->hbm_bytes = (uint64_t)hw_int(chip->hbm_bytes) / (uint64_t)hw_int(chip->hbm_stacks);
    // Contiguous unless a chip with two sizes of logical core is run at LNC 1 [runtime:memory.scratchpad_page].
    m->page_bytes = hw_int(chip->lnc_max) > 1 && lnc == 1 ? 512u << 20 : 64u << 20;
    m->cores = glia_alloc(glia_array_bytes(count, sizeof *m->cores));
    for (uint32_t c = 0; c < count; c++) {
        m->cores[c].place = place_of(chip, lnc, first + c);
        m->cores[c].peak = m->cores[c].bytes[RT_MEMORY_MODEL_CODE] =
            (uint64_t)hw_int(chip->microcode_bytes) * (uint64_t)lnc;
    }
    pthread_mutex_init(&m->lock, NULL);
    return m;
}

static void charge_destroy(rt_charge *c)
{
    glia_free(c->label);
    glia_free(c);
}

static void neff_destroy(rt_neff *n)
{
    glia_free(n->name);
    glia_free(n);
}

void rt_memory_destroy(rt_memory *m)
{
    if (!m) return;
    for (rt_charge *c = m->charges, *next; c; c = next) {
        next = c->next;
        charge_destroy(c);
    }
    for (rt_neff *n = m->neffs, *next; n; n = next) {
        next = n->next;
        neff_destroy(n);
    }
    pthread_mutex_destroy(&m->lock);
    glia_free(m->cores);
    glia_free(m);
}

rt_place rt_memory_place(const rt_memory *m, uint32_t core)
{
    BUG_ON(core >= m->core_count);
    return m->cores[core].place;
}

bool rt_memory_same_hbm(const rt_memory *m, uint32_t a, uint32_t b)
{
    const rt_place p = rt_memory_place(m, a), q = rt_memory_place(m, b);
    return p.chip == q.chip && p.hbm == q.hbm;
}

uint64_t rt_core_total_locked(const rt_memory *m, uint32_t core)
{
    uint64_t total = 0;
    for (int k = 0; k < RT_MEMORY_COUNT; k++)
        total += m->cores[core].bytes[k];
    return total;
}

uint64_t rt_hbm_used_locked(const rt_memory *m, rt_place place)
{
    uint64_t used = 0;
    for (uint32_t c = 0; c < m->core_count; c++)
        if (m->cores[c].place.chip == place.chip && m->cores[c].place.hbm == place.hbm)
            used += rt_core_total_locked(m, c);
    return used;
}

static void note_peak_locked(rt_memory *m, uint32_t core)
{
    const uint64_t total = rt_core_total_locked(m, core);
    if (total > m->cores[core].peak) m->cores[core].peak = total;
}

rt_usage rt_memory_usage(rt_memory *m, uint32_t core)
{
    BUG_ON(core >= m->core_count);
    pthread_mutex_lock(&m->lock);
    rt_usage u = {.total = rt_core_total_locked(m, core), .peak = m->cores[core].peak};
    memcpy(u.bytes, m->cores[core].bytes, sizeof u.bytes);
    const uint64_t others = rt_hbm_used_locked(m, m->cores[core].place) - u.total;
    u.limit = others < m->hbm_bytes ? m->hbm_bytes - others : 0;
    pthread_mutex_unlock(&m->lock);
    return u;
}

// ---- admission -----------------------------------------------------------------------------------------------------

static glia_status admit_locked(const rt_memory *m, const rt_request *r)
{
    const rt_place place = m->cores[r->core].place;
    const uint64_t used = rt_hbm_used_locked(m, place);
    if (used <= m->hbm_bytes && r->bytes <= m->hbm_bytes - used) return GLIA_OK;

    AUTO_VALUE(glia_strbuf) text = {0};
    glia_putf(&text, "'%s' needs ", r->label);
    rt_put_size(&text, r->bytes);
    glia_putf(&text, " of device memory (usage: %s) on ND %u:NC %u; HBM %u has ", r->usage, place.chip, place.core,
              place.hbm);
    rt_put_size(&text, m->hbm_bytes);
    glia_put(&text, ", of which ");
    rt_put_size(&text, used);
    glia_put(&text, " are in use\n");
    rt_memory_table_locked(m, r->core, r, &text);
    glia_put(&text, "hint: ");
    rt_memory_advice_locked(m, r, &text);
    return GLIA_FAIL(EXHAUSTED, "%s", glia_strbuf_str(&text));
}

// ---- tensors -------------------------------------------------------------------------------------------------------

static rt_request tensor_request(uint32_t core, uint64_t bytes, const char *label)
{
    rt_request r = {.core = core, .bytes = bytes, .usage = "tensors", .label = label};
    r.parts.bytes[RT_MEMORY_TENSORS] = bytes;
    return r;
}

glia_status rt_memory_tensor(rt_memory *m, uint32_t core, uint64_t bytes, const char *label, rt_charge **out)
{
    *out = NULL;
    BUG_ON(core >= m->core_count);
    pthread_mutex_lock(&m->lock);
    const rt_request r = tensor_request(core, bytes, label);
    glia_status s = admit_locked(m, &r);
    if (!s) {
        rt_charge *c = glia_alloc(sizeof *c);
        *c = (rt_charge){.next = m->charges, .core = core, .bytes = bytes, .label = glia_strdup(label)};
        if (c->next) c->next->prev = c;
        m->charges = c;
        m->cores[core].bytes[RT_MEMORY_TENSORS] += bytes;
        note_peak_locked(m, core);
        *out = c;
    }
    pthread_mutex_unlock(&m->lock);
    return s;
}

glia_status rt_memory_resize(rt_memory *m, rt_charge *c, uint64_t bytes)
{
    glia_status s = GLIA_OK;
    pthread_mutex_lock(&m->lock);
    const rt_request r = tensor_request(c->core, bytes > c->bytes ? bytes - c->bytes : 0, c->label);
    if (r.bytes) s = admit_locked(m, &r);
    if (!s) {
        m->cores[c->core].bytes[RT_MEMORY_TENSORS] += bytes - c->bytes; // modulo 2^64: right for smaller too
        c->bytes = bytes;
        note_peak_locked(m, c->core);
    }
    pthread_mutex_unlock(&m->lock);
    return s;
}

void rt_memory_release(rt_memory *m, rt_charge *c)
{
    if (!c) return;
    pthread_mutex_lock(&m->lock);
    m->cores[c->core].bytes[RT_MEMORY_TENSORS] -= c->bytes;
    if (c->prev)
        c->prev->next = c->next;
    else
        m->charges = c->next;
    if (c->next) c->next->prev = c->prev;
    pthread_mutex_unlock(&m->lock);
    charge_destroy(c);
}

// ---- NEFFs ---------------------------------------------------------------------------------------------------------

uint64_t rt_neff_total(const rt_neff *n)
{
    uint64_t total = 0;
    for (int k = 0; k < RT_MEMORY_COUNT; k++)
        if (k != RT_MEMORY_SHARED_SCRATCH) total += n->footprint.bytes[k];
    return total;
}

static uint64_t whole_pages(const rt_memory *m, uint64_t bytes)
{
    const uint64_t pages = bytes / m->page_bytes + (bytes % m->page_bytes != 0);
    return pages > UINT64_MAX / m->page_bytes ? UINT64_MAX / 2 : pages * m->page_bytes;
}

// The core's shared region if `extra` were loaded too (NULL: as it is).
static uint64_t shared_scratch_locked(const rt_memory *m, uint32_t core, const rt_footprint *extra)
{
    uint64_t need = extra ? extra->bytes[RT_MEMORY_SHARED_SCRATCH] : 0;
    for (const rt_neff *n = m->neffs; n; n = n->next)
        if (n->core == core && n->footprint.bytes[RT_MEMORY_SHARED_SCRATCH] > need)
            need = n->footprint.bytes[RT_MEMORY_SHARED_SCRATCH];
    return whole_pages(m, need);
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

glia_status rt_memory_neff(rt_memory *m, uint32_t core, const char *name, const rt_footprint *f, rt_neff **out)
{
    *out = NULL;
    BUG_ON(core >= m->core_count);
    pthread_mutex_lock(&m->lock);
    const uint64_t shared = shared_scratch_locked(m, core, f);
    rt_request r = {.core = core, .usage = "model", .label = name, .parts = *f};
    r.parts.bytes[RT_MEMORY_SHARED_SCRATCH] = shared - m->cores[core].bytes[RT_MEMORY_SHARED_SCRATCH];
    for (int k = 0; k < RT_MEMORY_COUNT; k++)
        r.bytes = add_saturated(r.bytes, r.parts.bytes[k]);
    glia_status s = admit_locked(m, &r);
    if (!s) {
        rt_neff *n = glia_alloc(sizeof *n);
        *n = (rt_neff){.next = m->neffs, .core = core, .id = m->next_id++, .name = glia_strdup(name), .footprint = *f};
        if (n->next) n->next->prev = n;
        m->neffs = n;
        for (int k = 0; k < RT_MEMORY_COUNT; k++)
            if (k != RT_MEMORY_SHARED_SCRATCH) m->cores[core].bytes[k] += f->bytes[k];
        m->cores[core].bytes[RT_MEMORY_SHARED_SCRATCH] = shared;
        note_peak_locked(m, core);
        *out = n;
    }
    pthread_mutex_unlock(&m->lock);
    return s;
}

void rt_memory_neff_release(rt_memory *m, rt_neff *n)
{
    if (!n) return;
    pthread_mutex_lock(&m->lock);
    if (n->prev)
        n->prev->next = n->next;
    else
        m->neffs = n->next;
    if (n->next) n->next->prev = n->prev;
    rt_memory_core *core = &m->cores[n->core];
    for (int k = 0; k < RT_MEMORY_COUNT; k++)
        if (k != RT_MEMORY_SHARED_SCRATCH) core->bytes[k] -= n->footprint.bytes[k];
    core->bytes[RT_MEMORY_SHARED_SCRATCH] = shared_scratch_locked(m, n->core, NULL);
    pthread_mutex_unlock(&m->lock);
    neff_destroy(n);
}

uint32_t rt_neff_id(const rt_neff *n)
{
    return n->id;
}
