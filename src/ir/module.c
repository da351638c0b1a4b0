// SPDX-License-Identifier: Apache-2.0
// Modules: an arena, the computations in it, and two string tables.
//
// Invariant: every name that the module's instructions and computations carry is in `names`, so a new one is unique by
// one look-up. The tables are behind the public struct (ir_module_impl), since readers have no use for them.
#include "ir/module.h"

#include <string.h>

typedef struct string_table {       // open addressing; slots hold strings of the module's arena
    const char **slots;
    uint32_t capacity, count;       // capacity is 0 or a power of two
} string_table;

typedef struct ir_module_impl {
    ir_module module;               // first: a module pointer is an impl pointer
    string_table strings, names;
    uint64_t next_name;
} ir_module_impl;

static uint64_t hash_bytes(const char *s, size_t n)     // FNV-1a
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ (uint8_t)s[i]) * 0x100000001b3u;
    return h ^ (h >> 29);
}

static const char **table_slot(const string_table *t, const char *s, size_t n)
{
    uint32_t mask = t->capacity - 1;
    uint32_t at = (uint32_t)hash_bytes(s, n) & mask;
    while (t->slots[at] && (strncmp(t->slots[at], s, n) != 0 || t->slots[at][n] != '\0')) at = (at + 1) & mask;
    return &t->slots[at];
}

static const char *table_find(const string_table *t, const char *s, size_t n)
{
    return t->capacity ? *table_slot(t, s, n) : NULL;
}

static void table_grow(string_table *t)
{
    string_table bigger = {.capacity = t->capacity ? t->capacity * 2 : 64, .count = t->count};
    bigger.slots = glia_alloc(glia_array_bytes(bigger.capacity, sizeof *bigger.slots));
    for (uint32_t i = 0; i < t->capacity; i++)
        if (t->slots[i]) *table_slot(&bigger, t->slots[i], strlen(t->slots[i])) = t->slots[i];
    glia_free(t->slots);
    *t = bigger;
}

static void table_add(string_table *t, const char *s)
{
    if ((t->count + 1) * 2 > t->capacity) table_grow(t);
    *table_slot(t, s, strlen(s)) = s;
    t->count++;
}

static ir_module_impl *impl_of(const ir_module *m) { return (ir_module_impl *)(uintptr_t)m; }

ir_module *ir_module_create(const char *name)
{
    ir_module_impl *impl = glia_alloc(sizeof *impl);
    ir_module *m = &impl->module;
    m->arena = glia_arena_create();
    m->name = ir_module_intern(m, name);
    m->source = "";
    impl->next_name = 1;
    return m;
}

void ir_module_destroy(ir_module *m)
{
    if (!m) return;
    for (uint32_t i = 0; i < m->computations.count; i++) {
        VEC_FREE(&m->computations.items[i]->insts);
        VEC_FREE(&m->computations.items[i]->params);
    }
    VEC_FREE(&m->computations);
    VEC_FREE(&m->aliases);
    glia_free(impl_of(m)->strings.slots);
    glia_free(impl_of(m)->names.slots);
    glia_arena_destroy(m->arena);
    glia_free(impl_of(m));
}

ir_computation *ir_computation_create(ir_module *m, const char *name)
{
    ir_computation *c = ARENA_NEW(m->arena, ir_computation);
    c->name = ir_module_unique_name(m, name && *name ? name : "computation");
    c->module = m;
    c->id = (int)m->computations.count;
    VEC_PUSH(&m->computations) = c;
    if (!m->entry) m->entry = c;
    return c;
}

void ir_add_alias(ir_module *m, int output_index, int parameter, bool must)
{
    VEC_PUSH(&m->aliases) = (ir_alias){.output_index = output_index, .parameter = parameter, .must = must};
}

const char *ir_module_intern(ir_module *m, const char *s)
{
    if (!s || !*s) return "";
    string_table *t = &impl_of(m)->strings;
    const char *found = table_find(t, s, strlen(s));
    if (found) return found;
    const char *copy = glia_arena_strdup(m->arena, s);
    table_add(t, copy);
    return copy;
}

bool ir_module_has_name(const ir_module *m, const char *name, size_t size)
{
    return table_find(&impl_of(m)->names, name, size) != NULL;
}

static const char *take_name(ir_module *m, const char *name)
{
    const char *copy = glia_arena_strdup(m->arena, name);
    table_add(&impl_of(m)->names, copy);
    return copy;
}

const char *ir_module_fresh_name(ir_module *m, const char *base)
{
    for (;;) {
        const char *name = glia_arena_printf(m->arena, "%s.%llu", base, (unsigned long long)impl_of(m)->next_name++);
        if (ir_module_has_name(m, name, strlen(name))) continue;
        table_add(&impl_of(m)->names, name);
        return name;
    }
}

const char *ir_module_unique_name(ir_module *m, const char *wanted)
{
    return ir_module_has_name(m, wanted, strlen(wanted)) ? ir_module_fresh_name(m, wanted) : take_name(m, wanted);
}

void ir_loc_print(glia_strbuf *out, const ir_loc *loc, const ir_computation *c, const char *inst_name)
{
    if (loc->file && *loc->file) {
        glia_putf(out, "%s:%d:%d", loc->file, loc->line, loc->column);
        return;
    }
    glia_putf(out, "module '%s', computation '%s'", c ? c->module->name : "", c ? c->name : "");
    if (inst_name) glia_putf(out, ", instruction '%s'", inst_name);
    if (loc->op_name && *loc->op_name) glia_putf(out, " (%s)", loc->op_name);
}

ir_inst *ir_inst_append(ir_computation *c, ir_op op, const char *name, const ir_shape *shape, int operand_count,
                        ir_inst **operands, const ir_attrs *attrs, const ir_loc *loc)
{
    ir_inst *i = ARENA_NEW(c->module->arena, ir_inst);
    *i = (ir_inst){
        .op = op,
        .id = (int)c->insts.count,
        .name = name,
        .shape = *shape,
        .operand_count = operand_count,
        .operands = operands,
        .attrs = *attrs,
        .loc = *loc,
        .parent = c,
    };
    VEC_PUSH(&c->insts) = i;
    return i;
}
