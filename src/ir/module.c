// SPDX-License-Identifier: Apache-2.0
// Modules: an arena, the computations in it, and tables of strings and names.
//
// Invariant: every name that the module's instructions carry is in `inst_names`, so a new one is unique by one look-up
// (likewise for computations). The tables are behind the public struct, since readers have no use for them.
#include "ir/module.h"

#include <string.h>

#include "ir/strmap.h"

typedef struct ir_module_impl {
    ir_module module;                                 // first: a module pointer is an impl pointer
    ir_strmap strings, inst_names, computation_names; // computations and instructions have a name space each, as in HLO
    uint64_t next_name;
} ir_module_impl;

static ir_module_impl *impl_of(const ir_module *m)
{
    return (ir_module_impl *)(uintptr_t)m;
}

const char *ir_module_intern(ir_module *m, const char *s)
{
    if (!s || !*s) return "";
    ir_strmap *strings = &impl_of(m)->strings;
    const ir_strmap_slot *found = ir_strmap_find(strings, s, strlen(s));
    if (found) return found->key;
    const char *copy = glia_arena_strdup(m->arena, s);
    ir_strmap_add(strings, copy, NULL);
    return copy;
}

// HLO's alphabet of names; anything else becomes '_', so that what is printed can be read.
static char *sanitized(ir_module *m, const char *wanted)
{
    bool digit_first = !*wanted || (*wanted >= '0' && *wanted <= '9') || *wanted == '-' || *wanted == '.';
    char *name = glia_arena_printf(m->arena, "%s%s", digit_first ? "_" : "", wanted);
    for (char *c = name; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-", *c)) *c = '_';
    return name;
}

// The first free one of `wanted` (when `exact` allows it), "<wanted>.<n>".
static const char *take_name(ir_module *m, ir_strmap *taken, const char *wanted, bool exact)
{
    const char *name = wanted;
    while (!exact || ir_strmap_find(taken, name, strlen(name))) {
        name = glia_arena_printf(m->arena, "%s.%llu", wanted, (unsigned long long)impl_of(m)->next_name++);
        exact = true;
    }
    ir_strmap_add(taken, name, NULL);
    return name;
}

const char *ir_module_inst_name(ir_module *m, const char *wanted)
{
    return take_name(m, &impl_of(m)->inst_names, sanitized(m, wanted), true);
}

const char *ir_module_fresh_name(ir_module *m, ir_op op)
{
    return take_name(m, &impl_of(m)->inst_names, ir_op_name(op), false);
}

ir_module *ir_module_create(const char *name)
{
    ir_module_impl *impl = glia_alloc(sizeof *impl);
    ir_module *m = &impl->module;
    m->arena = glia_arena_create();
    m->name = sanitized(m, name && *name ? name : "module");
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
    ir_strmap_fini(&impl_of(m)->strings);
    ir_strmap_fini(&impl_of(m)->inst_names);
    ir_strmap_fini(&impl_of(m)->computation_names);
    glia_arena_destroy(m->arena);
    glia_free(impl_of(m));
}

ir_computation *ir_computation_create(ir_module *m, const char *name)
{
    ir_computation *c = ARENA_NEW(m->arena, ir_computation);
    c->name = take_name(m, &impl_of(m)->computation_names, sanitized(m, name && *name ? name : "computation"), true);
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
