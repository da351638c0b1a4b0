// SPDX-License-Identifier: Apache-2.0
// Def-use at load: a read of SBUF or PSUM that no instruction before it may have written is an error.
//
// One pass in program order over a map of "may be written" bytes, which only grows. Because it only grows, a loop's
// body is walked once (its first iteration has seen the least) and a function once (so has its first call). Dynamic
// writes mark all that they can reach: the range of a static loop's variable, otherwise the whole partition. Reads at
// dynamic addresses, and reads behind a branch inside a loop (which may guard the first iteration), are left to the
// shadow map of exact mode unless nothing at all can have been written there.
#include "dev/machine.h"

#include <string.h>

typedef struct reg_range { bool known; int64_t lo, hi; } reg_range;

typedef struct memory_map {     // one bit a byte
    uint64_t *words;            // [ISA_PARTITIONS][row_words]
    size_t row_words, bytes;
} memory_map;

typedef struct walk {
    const dev_loaded *l;
    uint32_t core;
    memory_map sbuf, psum;
    uint8_t *visited;           // [functions]
    reg_range registers[ISA_ENGINE_COUNT][ISA_REGISTERS];
    int loops, branches;        // open ones in the function that is walked
    int calls;
} walk;

// ---- the map -------------------------------------------------------------------------------------------------------

static uint64_t mask_of(size_t from, size_t to)     // bits from..to of a word, to <= 64
{
    const uint64_t upper = to == 64 ? UINT64_MAX : (1ull << to) - 1;
    return upper & ~((1ull << from) - 1);
}

typedef bool (*word_fn)(uint64_t *word, uint64_t mask);     // false stops

static bool mark_word(uint64_t *word, uint64_t mask)
{
    *word |= mask;
    return true;
}

static bool is_all(uint64_t *word, uint64_t mask)
{
    return (*word & mask) == mask;
}

static bool is_none(uint64_t *word, uint64_t mask)
{
    return (*word & mask) == 0;
}

static bool over_bytes(memory_map *m, int partition, size_t lo, size_t hi, word_fn fn)
{
    uint64_t *row = m->words + (size_t)partition * m->row_words;
    for (size_t at = lo; at < hi;) {
        const size_t word = at / 64, end = (word + 1) * 64 < hi ? (word + 1) * 64 : hi;
        if (!fn(&row[word], mask_of(at % 64, end - word * 64))) return false;
        at = end;
    }
    return true;
}

static bool over_pattern(memory_map *m, const isa_operand *o, int partition, int64_t at, int dim, word_fn fn)
{
    const int64_t size = num_size((num_dtype)o->dtype);
    if (dim == o->rank || dim == ISA_DIMS)      // never more dims than an operand has
        return over_bytes(m, partition, (size_t)at, (size_t)(at + size), fn);
    if (dim == o->rank - 1 && o->step[dim] == 1)
        return over_bytes(m, partition, (size_t)at, (size_t)(at + size * o->count[dim]), fn);
    for (uint32_t i = 0; i < o->count[dim]; i++) {
        if (!over_pattern(m, o, partition, at + o->step[dim] * size * (int64_t)i, dim + 1, fn)) return false;
        if (o->step[dim] == 0) break;
    }
    return true;
}

// ---- ranges --------------------------------------------------------------------------------------------------------

// The bytes that an operand can reach, with its dynamic terms; cut to the partition.
static bool reach(const walk *w, const isa_insn *i, const isa_operand *o, size_t bytes, int64_t *lo, int64_t *hi)
{
    if (!isa_operand_range(o, lo, hi)) return false;
    for (int k = 0; k < o->term_count; k++) {
        const reg_range r = w->registers[i->engine][o->terms[k].reg];
        const int64_t scale = o->terms[k].scale;
        int64_t a, b;
        if (!r.known || w->calls || __builtin_mul_overflow(scale, r.lo, &a) || __builtin_mul_overflow(scale, r.hi, &b)) {
            *lo = 0;
            *hi = (int64_t)bytes;
            return true;
        }
        *lo += a < b ? a : b;
        *hi += a < b ? b : a;
    }
    if (*lo < 0) *lo = 0;
    if (*hi > (int64_t)bytes) *hi = (int64_t)bytes;
    return *lo < *hi;
}

static void write_operand(walk *w, const isa_insn *i, const isa_operand *o)
{
    memory_map *m = o->space == ISA_SBUF ? &w->sbuf : &w->psum;
    int64_t lo, hi;
    if (!reach(w, i, o, m->bytes, &lo, &hi)) return;
    for (int p = o->start_partition; p < o->start_partition + o->partitions; p++) {
        if (o->term_count) (void)over_bytes(m, p, (size_t)lo, (size_t)hi, mark_word);
        else (void)over_pattern(m, o, p, o->offset, 0, mark_word);
    }
}

static glia_status unwritten(const walk *w, const isa_function *f, uint32_t pc, int slot, int partition, int64_t lo,
                             int64_t hi)
{
    const isa_insn *i = &f->insns.items[pc];
    const isa_row *row = isa_row_get((isa_op)i->op);
    const isa_origin *origin = &w->l->program->origins.items[i->origin];
    return GLIA_FAIL(INVALID, "core %u, '%s' instruction %u, '%s' (from '%s' at %s): operand '%s' reads %s partition %d "
                     "bytes %lld..%lld, some of which nothing before it has written", w->core, f->name, pc, row->name,
                     origin->op ? origin->op : "", origin->where ? origin->where : "", row->operands[slot].name,
                     isa_operand_of(f, i, slot)->space == ISA_SBUF ? "sbuf" : "psum", partition, (long long)lo,
                     (long long)hi);
}

static glia_status read_operand(walk *w, const isa_function *f, uint32_t pc, int slot)
{
    const isa_insn *i = &f->insns.items[pc];
    const isa_operand *o = isa_operand_of(f, i, slot);
    memory_map *m = o->space == ISA_SBUF ? &w->sbuf : &w->psum;
    int64_t lo, hi;
    if (!reach(w, i, o, m->bytes, &lo, &hi)) return GLIA_OK;
    const bool lenient = o->term_count > 0 || (w->loops && w->branches);
    for (int p = o->start_partition; p < o->start_partition + o->partitions; p++) {
        const bool wrong = lenient ? over_bytes(m, p, (size_t)lo, (size_t)hi, is_none)
                                   : !over_pattern(m, o, p, o->offset, 0, is_all);
        if (wrong && !(w->loops && w->branches)) return unwritten(w, f, pc, slot, p, lo, hi);
    }
    return GLIA_OK;
}

// ---- the walk ------------------------------------------------------------------------------------------------------

static void forget_register(walk *w, const isa_insn *i, uint32_t reg)
{
    for (int e = 0; e < ISA_ENGINE_COUNT; e++)
        if (e == i->engine || i->engines & 1u << e) w->registers[e][reg].known = false;
}

static void enter_for(walk *w, const isa_function *f, const isa_insn *i)
{
    const isa_operand *var = isa_operand_of(f, i, 0), *start = var + 1, *limit = var + 2, *stride = var + 3;
    forget_register(w, i, var->tensor);
    if (start->space != ISA_IMM || limit->space != ISA_IMM || stride->offset <= 0) return;
    if (start->offset < INT32_MIN || limit->offset > INT32_MAX || limit->offset <= start->offset) return;
    const int64_t steps = (limit->offset - 1 - start->offset) / stride->offset;
    for (int e = 0; e < ISA_ENGINE_COUNT; e++)
        if (e == i->engine || i->engines & 1u << e)
            w->registers[e][var->tensor] = (reg_range){ true, start->offset, start->offset + steps * stride->offset };
}

static glia_status walk_function(walk *w, uint32_t function);

static glia_status walk_call(walk *w, uint32_t callee)
{
    if (w->visited[callee]) return GLIA_OK;
    w->visited[callee] = 1;
    const int loops = w->loops, branches = w->branches;
    w->calls++;
    TRY(walk_function(w, callee));
    w->calls--;
    w->loops = loops;
    w->branches = branches;
    return GLIA_OK;
}

static glia_status walk_insn(walk *w, const isa_function *f, uint32_t pc)
{
    const isa_insn *i = &f->insns.items[pc];
    for (int k = 0; k < i->operand_count; k++) {
        const isa_operand *o = isa_operand_of(f, i, k);
        if (dev_on_chip(o->space) && (isa_operand_access(i, k) & ISA_READ)) TRY(read_operand(w, f, pc, k));
    }
    for (int k = 0; k < i->operand_count; k++) {
        const isa_operand *o = isa_operand_of(f, i, k);
        if (!(isa_operand_access(i, k) & ISA_WRITE)) continue;
        if (dev_on_chip(o->space)) write_operand(w, i, o);
        if (o->space == ISA_REG) forget_register(w, i, o->tensor);
    }
    w->loops += (i->op == ISA_for || i->op == ISA_while) - (i->op == ISA_end_for || i->op == ISA_end_while);
    w->branches += (i->op == ISA_if) - (i->op == ISA_end_if);
    if (i->op == ISA_for) enter_for(w, f, i);
    if (i->op == ISA_call) return walk_call(w, (uint32_t)isa_operand_of(f, i, 0)->offset);
    return GLIA_OK;
}

static glia_status walk_function(walk *w, uint32_t function)
{
    const isa_function *f = w->l->functions[w->core][function].f;
    for (uint32_t pc = 0; pc < f->insns.count; pc++) TRY(walk_insn(w, f, pc));
    return GLIA_OK;
}

static memory_map map_of(glia_arena *a, size_t bytes)
{
    const size_t row_words = (bytes + 63) / 64;
    return (memory_map){ ARENA_ARRAY(a, uint64_t, row_words * ISA_PARTITIONS), row_words, bytes };
}

glia_status dev_check_defuse(const dev_loaded *l)
{
    for (uint32_t c = 0; c < l->program->core_count; c++) {
        AUTO(glia_arena) scratch = glia_arena_create();
        walk w = { .l = l, .core = c };
        w.sbuf = map_of(scratch, l->machine->sbuf_bytes);
        w.psum = map_of(scratch, l->machine->psum_bytes);
        w.visited = ARENA_ARRAY(scratch, uint8_t, l->program->cores[c].functions.count);
        TRY(walk_function(&w, 0));
    }
    return GLIA_OK;
}
