// SPDX-License-Identifier: Apache-2.0
// From encoded operands to addresses. Every address is judged here, at the moment of use, against the memory that it
// names, so that no program can reach outside of it: a dynamic address out of bounds is a FAULT that names the tensor,
// the register's value and the bound. Also the shadow map: which bytes were ever written.
#include "dev/machine.h"

#include <string.h>

int64_t dev_scalar_int(const dev_exec *x, int slot)
{
    const isa_operand *o = &x->operand[slot];
    return o->space == ISA_REG ? *dev_reg(x, o->tensor) : o->offset;
}

// offset + terms, saturated (the bounds refuse what is far away).
static int64_t dynamic_offset(const dev_exec *x, const isa_operand *o)
{
    __int128 at = o->offset;
    for (int k = 0; k < o->term_count; k++) at += (__int128)o->terms[k].scale * *dev_reg(x, o->terms[k].reg);
    return at > INT64_MAX ? INT64_MAX : at < INT64_MIN ? INT64_MIN : (int64_t)at;
}

static glia_status out_of_bounds(const dev_exec *x, int slot, int64_t at, int64_t lo, int64_t hi, uint64_t bound)
{
    const isa_operand *o = &x->operand[slot];
    const char *name = isa_row_get((isa_op)x->insn->op)->operands[slot].name;
    const char *memory = o->space == ISA_HBM ? dev_tensor_name(x, slot) : o->space == ISA_SBUF ? "sbuf" : "psum";
    if (o->term_count == 0)
        return dev_fault(x, "operand '%s' touches bytes %lld..%lld of '%s', which has %llu", name, (long long)lo,
                         (long long)hi, memory, (unsigned long long)bound);
    return dev_fault(x, "operand '%s' touches bytes %lld..%lld of '%s', which has %llu: register r%u of %s is %d, "
                     "which makes the start byte %lld", name, (long long)lo, (long long)hi, memory,
                     (unsigned long long)bound, o->terms[0].reg, isa_engine_name((isa_engine)x->insn->engine),
                     *dev_reg(x, o->terms[0].reg), (long long)at);
}

// Drops dims of one element and merges an outer dim into the inner one that continues it.
static void normalise(dev_ap *a)
{
    int rank = 0;
    for (int k = 0; k < a->rank; k++) {
        if (a->count[k] == 1) continue;
        const bool continues = rank > 0 && a->step[rank - 1] == a->step[k] * (int64_t)a->count[k] &&
                               (uint64_t)a->count[rank - 1] * a->count[k] <= UINT32_MAX;
        if (continues) {
            a->count[rank - 1] *= a->count[k];
            a->step[rank - 1] = a->step[k];
            continue;
        }
        a->count[rank] = a->count[k];
        a->step[rank] = a->step[k];
        rank++;
    }
    a->rank = (uint8_t)rank;
}

dev_shape dev_shape_of(const dev_machine *m, const isa_operand *o)
{
    dev_shape s = { .ap = { .space = o->space, .dtype = o->dtype, .size = (uint8_t)num_size((num_dtype)o->dtype),
                            .rank = o->rank, .free = isa_operand_free(o), .start_partition = o->start_partition } };
    dev_ap *a = &s.ap;
    a->partitions = o->space == ISA_HBM ? 1 : o->partitions;
    a->pitch = o->space == ISA_HBM ? 0 : o->space == ISA_SBUF ? m->sbuf_pitch : m->psum_pitch;
    for (int k = 0; k < o->rank; k++) {
        a->step[k] = o->step[k] * a->size;
        a->count[k] = o->count[k];
    }
    normalise(a);
    isa_operand at_zero = *o;
    at_zero.offset = 0;
    s.empty = !isa_operand_range(&at_zero, &s.lo, &s.hi);
    return s;
}

glia_status dev_resolve(dev_exec *x, int slot)
{
    const isa_operand *o = &x->operand[slot];
    const dev_shape *shape = &x->shape[slot];
    dev_ap *a = &x->ap[slot];
    *a = shape->ap;
    const int64_t at = o->term_count ? dynamic_offset(x, o) : o->offset;
    uint8_t *memory, *shadow;
    uint64_t bound;
    if (o->space == ISA_HBM) {
        const dev_slot *s = &x->core->at.slots.items[dev_top(&x->core->at)->first_slot + o->tensor];
        memory = s->base;
        shadow = s->shadow;
        bound = s->bytes;
    } else {
        const bool sbuf = o->space == ISA_SBUF;
        const size_t row = o->start_partition * a->pitch;
        bound = sbuf ? x->machine->sbuf_bytes : x->machine->psum_bytes;
        memory = (sbuf ? x->core->sbuf : x->core->psum) + row;
        shadow = sbuf ? x->core->sbuf_shadow : x->core->psum_shadow;
        if (shadow) shadow += row;
    }
    int64_t lo, hi;
    const bool lo_wraps = __builtin_add_overflow(at, shape->lo, &lo);
    const bool hi_wraps = __builtin_add_overflow(at, shape->hi, &hi);
    if (!shape->empty && (lo_wraps || hi_wraps || lo < 0 || (uint64_t)hi > bound)) return out_of_bounds(x, slot, at, lo, hi, bound);
    a->base = memory + at;
    a->shadow = shadow && x->options->shadow ? shadow + at : NULL;
    return GLIA_OK;
}

// ---- the shadow map ------------------------------------------------------------------------------------------------

// Calls for each run of adjacent bytes; returns the first byte (relative to base) that is not written, or -1.
typedef int64_t (*run_fn)(uint8_t *shadow, size_t bytes);

static int64_t first_unwritten(uint8_t *shadow, size_t bytes)
{
    const uint8_t *hole = memchr(shadow, 0, bytes);
    return hole ? hole - shadow : -1;
}

static int64_t mark_written(uint8_t *shadow, size_t bytes)
{
    memset(shadow, 1, bytes);
    return -1;
}

static int64_t over_dims(const dev_ap *a, uint8_t *shadow, int dim, run_fn fn)
{
    if (dim == a->rank || dim == ISA_DIMS) return fn(shadow, a->size);     // never more dims than an operand has
    if (dim == a->rank - 1 && a->step[dim] == a->size) return fn(shadow, (size_t)a->size * a->count[dim]);
    for (uint32_t i = 0; i < a->count[dim]; i++) {
        const int64_t step = a->step[dim] * (int64_t)i;
        const int64_t hole = over_dims(a, shadow + step, dim + 1, fn);
        if (hole >= 0) return hole + step;
    }
    return -1;
}

glia_status dev_shadow_read(const dev_exec *x, int slot, const dev_ap *a)
{
    if (!a->shadow || a->free == 0) return GLIA_OK;
    const char *name = isa_row_get((isa_op)x->insn->op)->operands[slot].name;
    for (uint32_t p = 0; p < a->partitions; p++) {
        const int64_t hole = over_dims(a, a->shadow + p * a->pitch, 0, first_unwritten);
        if (hole < 0) continue;
        if (a->space == ISA_HBM)
            return dev_fault(x, "operand '%s' reads byte %lld past its start in tensor '%s', which nothing has written",
                             name, (long long)hole, dev_tensor_name(x, slot));
        const uint8_t *image = a->space == ISA_SBUF ? x->core->sbuf : x->core->psum;
        const size_t byte = (size_t)(a->base - image) % a->pitch;
        return dev_fault(x, "operand '%s' reads %s partition %u byte %lld, which nothing has written", name,
                         a->space == ISA_SBUF ? "sbuf" : "psum", a->start_partition + p, (long long)byte + hole);
    }
    return GLIA_OK;
}

void dev_shadow_write(const dev_ap *a)
{
    if (!a->shadow || a->free == 0) return;
    for (uint32_t p = 0; p < a->partitions; p++) (void)over_dims(a, a->shadow + p * a->pitch, 0, mark_written);
}
