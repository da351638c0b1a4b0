// SPDX-License-Identifier: Apache-2.0
// Life of a tile program: one arena for strings, tables, layouts and constants, and growable arrays for what a builder
// appends. The invariant is that a program owns everything it points to, save the bytes of constants that a mapped
// file lends; it never judges what it holds (see verify.c).
#include "isa/isa.h"

isa_program *isa_program_create(const char *name, const char *target, uint32_t core_count)
{
    BUG_ON(core_count < 1 || core_count > ISA_CORES);
    isa_program *p = glia_alloc(sizeof *p);
    p->arena = glia_arena_create();
    p->name = glia_arena_strdup(p->arena, name);
    p->target = glia_arena_strdup(p->arena, target);
    p->core_count = core_count;
    VEC_PUSH(&p->origins) = (isa_origin){"", ""};
    return p;
}

static void function_free(isa_function *f)
{
    VEC_FREE(&f->insns);
    VEC_FREE(&f->operands);
    VEC_FREE(&f->waits);
    VEC_FREE(&f->updates);
    VEC_FREE(&f->slots);
}

void isa_program_destroy(isa_program *p)
{
    if (!p) return;
    for (uint32_t c = 0; c < ISA_CORES; c++) {
        for (uint32_t i = 0; i < p->cores[c].functions.count; i++)
            function_free(p->cores[c].functions.items[i]);
        VEC_FREE(&p->cores[c].functions);
        VEC_FREE(&p->cores[c].tables);
    }
    VEC_FREE(&p->tensors);
    VEC_FREE(&p->origins);
    VEC_FREE(&p->groups);
    VEC_FREE(&p->assumptions);
    glia_arena_destroy(p->arena);
    glia_free(p);
}
