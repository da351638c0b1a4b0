// SPDX-License-Identifier: Apache-2.0
// Would it fit? A NEFF and its tensors asked of the ledger of an empty core, all in one request, so that the answer
// names all of it. What nrt_load and nrt_tensor_allocate would count, and nothing else; nothing is prepared or kept.
#include "rt/objects.h"

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

// An output that takes the place of an input has no memory of its own.
static uint64_t tensor_bytes_of(const isa_program *p)
{
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < p->tensors.count; k++) {
        const isa_tensor *t = &p->tensors.items[k];
        const bool own = t->kind == ISA_TENSOR_INPUT || (t->kind == ISA_TENSOR_OUTPUT && t->alias < 0);
        if (own) bytes = add_saturated(bytes, t->bytes);
    }
    return bytes;
}

static glia_status add_neff(const hw_chip *chip, int lnc, const char *name, glia_span neff, rt_footprint *f)
{
    AUTO(isa_program) p = NULL;
    neff_meta meta;
    TRY(neff_decode(neff, name, &p, &meta));
    ENSURE(p->core_count == (uint32_t)lnc, INVALID, "'%s' was compiled for logical cores of %u physical cores, not of %d", name,
           p->core_count, lnc);
    rt_footprint_of(p, chip, lnc, f);
    f->bytes[RT_MEMORY_TENSORS] = add_saturated(f->bytes[RT_MEMORY_TENSORS], tensor_bytes_of(p));
    return GLIA_OK;
}

glia_status rt_would_fit(const hw_instance *instance, int lnc, const char *name, glia_span neff, uint64_t tensor_bytes,
                         rt_usage *out)
{
    const hw_chip *chip = instance->chip;
    if (!lnc) lnc = (int)hw_int(chip->lnc_default);
    ENSURE(hw_lnc_is_legal(chip, lnc), INVALID, "logical core size %d; '%s' has 1 to %d", lnc, chip->target,
           (int)hw_int(chip->lnc_max));
    rt_footprint f = {{0}};
    if (neff.data) TRY(add_neff(chip, lnc, name, neff, &f));
    f.bytes[RT_MEMORY_TENSORS] = add_saturated(f.bytes[RT_MEMORY_TENSORS], tensor_bytes);
    AUTO(rt_memory) m = rt_memory_create(instance, lnc, 0, 1);
    rt_neff *held;
    TRY(rt_memory_neff(m, 0, name, &f, &held));
    *out = rt_memory_usage(m, 0);
    return GLIA_OK;
}
