// SPDX-License-Identifier: Apache-2.0
// What to do when device memory does not suffice: the smallest change after which the request would fit. Candidates are
// tried from the one that costs the user least: another core that has room, giving back one thing, giving back several,
// cores with more memory each, more cores.
#include "rt/memory_internal.h"

static uint64_t free_of(const rt_memory *m, uint32_t core)
{
    const uint64_t used = rt_hbm_used_locked(m, m->cores[core].place);
    return used < m->hbm_bytes ? m->hbm_bytes - used : 0;
}

// The tightest core that has room, so that large rooms stay large.
static bool advise_core(const rt_memory *m, const rt_request *r, glia_strbuf *out)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t c = 0; c < m->core_count; c++)
        if (free_of(m, c) >= r->bytes && (best == UINT32_MAX || free_of(m, c) < free_of(m, best))) best = c;
    if (best == UINT32_MAX) return false;
    glia_putf(out, "put it on core %u, whose HBM has ", best);
    rt_put_size(out, free_of(m, best));
    glia_put(out, " free");
    return true;
}

static bool shares_hbm(const rt_memory *m, uint32_t core, uint32_t other)
{
    return rt_memory_same_hbm(m, core, other);
}

// The smallest tensor or NEFF that alone makes room.
static bool advise_one(const rt_memory *m, const rt_request *r, uint64_t excess, glia_strbuf *out)
{
    const rt_charge *tensor = NULL;
    for (const rt_charge *c = m->charges; c; c = c->next)
        if (shares_hbm(m, r->core, c->core) && c->bytes >= excess && (!tensor || c->bytes <= tensor->bytes)) tensor = c;
    const rt_neff *neff = NULL;
    for (const rt_neff *n = m->neffs; n; n = n->next)
        if (shares_hbm(m, r->core, n->core) && rt_neff_total(n) >= excess &&
            (!neff || rt_neff_total(n) <= rt_neff_total(neff)))
            neff = n;
    if (!tensor && !neff) return false;
    if (neff && (!tensor || rt_neff_total(neff) <= tensor->bytes)) {
        glia_putf(out, "unload NEFF %u '%s', which has ", neff->id, neff->name);
        rt_put_size(out, rt_neff_total(neff));
    } else {
        glia_putf(out, "free tensor '%s', which has ", tensor->label);
        rt_put_size(out, tensor->bytes);
    }
    return true;
}

static bool advise_several(const rt_memory *m, const rt_request *r, uint64_t excess, glia_strbuf *out)
{
    uint64_t held = 0;
    for (const rt_charge *c = m->charges; c; c = c->next)
        if (shares_hbm(m, r->core, c->core)) held += c->bytes;
    for (const rt_neff *n = m->neffs; n; n = n->next)
        if (shares_hbm(m, r->core, n->core)) held += rt_neff_total(n);
    if (held < excess) return false;
    glia_put(out, "free ");
    rt_put_size(out, excess);
    glia_put(out, " of the tensors and NEFFs in the table");
    return true;
}

static uint64_t room_of(const hw_chip *chip, int lnc)
{
    const double stack = hw_value(chip->hbm_bytes) / hw_value(chip->hbm_stacks);
    const double left = stack - hw_value(chip->microcode_bytes) * lnc;
    return left > 0 ? (uint64_t)left : 0;
}

// An instance, the first in order of generation and size, whose cores would take it whole.
static bool advise_instance(const rt_memory *m, const rt_request *r, glia_strbuf *out)
{
    for (size_t i = 0; i < hw_instance_count(); i++) {
        const hw_instance *other = hw_instance_at(i);
        const int lnc = (int)hw_int(other->chip->lnc_default);
        if (room_of(other->chip, lnc) < r->bytes) continue;
        glia_putf(out, "a core of %s has room for ", other->name);
        rt_put_size(out, room_of(other->chip, lnc));
        glia_putf(out, "; compile for %s", other->chip->target);
        return true;
    }
    return false;
}

static void advise_split(const rt_memory *m, const rt_request *r, glia_strbuf *out)
{
    const uint64_t room = room_of(m->instance->chip, m->lnc);
    const uint64_t cores = room ? (r->bytes - 1) / room + 1 : 0;
    glia_put(out, "an empty core has room for ");
    rt_put_size(out, room);
    glia_putf(out, "; this takes as much as %llu cores have, and nothing splits a program over cores so far: take a smaller model, type "
              "of elements or context", (unsigned long long)cores);
}

void rt_memory_advice_locked(const rt_memory *m, const rt_request *r, glia_strbuf *out)
{
    const uint64_t excess = r->bytes - free_of(m, r->core);
    if (advise_core(m, r, out)) return;
    if (r->bytes <= room_of(m->instance->chip, m->lnc)) {
        if (advise_one(m, r, excess, out)) return;
        if (advise_several(m, r, excess, out)) return;
    }
    if (advise_instance(m, r, out)) return;
    advise_split(m, r, out);
}
