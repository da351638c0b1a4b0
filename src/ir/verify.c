// SPDX-License-Identifier: Apache-2.0
// The verifier: everything that must hold of a module, judged anew from its instructions; lists what it finds (up to
// twenty problems), in the order of computations and instructions.
//
// What the builder makes and the parser reads holds already; passes change modules by hand, and are checked here. It
// trusts no pointer's meaning, only that pointers point at nodes of some module.
#include <string.h>

#include "ir/infer.h"
#include "ir/module.h"
#include "ir/ops.h"
#include "ir/problems.h"
#include "ir/strmap.h"

typedef struct verifier {
    const ir_module *module;
    glia_arena *arena; // shapes and texts of inference
    ir_problems problems;
    ir_strmap names;
    uint8_t *state; // by computation: 0 unseen, 1 being walked, 2 done
    int *depth;     // by computation: calls below it
} verifier;

static void report(verifier *v, const ir_computation *c, const ir_inst *i, glia_status problem)
{
    AUTO_VALUE(glia_strbuf) place = {0};
    static const ir_loc nowhere;
    ir_loc_print(&place, i ? &i->loc : &nowhere, c, i ? i->name : NULL);
    ir_problems_add(&v->problems, glia_strbuf_str(&place), problem);
}
#define REPORT(v, c, i, ...) report((v), (c), (i), GLIA_FAIL(INVALID, __VA_ARGS__))

static bool is_ours(const verifier *v, const ir_computation *c)
{
    return c && c->id >= 0 && (uint32_t)c->id < v->module->computations.count &&
           v->module->computations.items[c->id] == c;
}

// ---- one instruction ----

static bool check_operand_links(verifier *v, const ir_computation *c, const ir_inst *i)
{
    bool sound = true;
    for (int n = 0; n < i->operand_count; n++) {
        const ir_inst *o = i->operands[n];
        if (o && o->parent == c && o->id >= 0 && o->id < i->id && c->insts.items[o->id] == o) continue;
        sound = false;
        if (!o)
            REPORT(v, c, i, "'%s' has no operand %d of %d", ir_op_name(i->op), n, i->operand_count);
        else if (o->parent != c)
            REPORT(v, c, i, "'%s' uses '%s' of computation '%s'; values are passed as arguments", ir_op_name(i->op),
                   o->name, o->parent ? o->parent->name : "(none)");
        else if (o->id >= i->id && (uint32_t)o->id < c->insts.count && c->insts.items[o->id] == o)
            REPORT(v, c, i, "'%s' at position %d uses '%s', which comes later, at position %d", ir_op_name(i->op),
                   i->id, o->name, o->id);
        else
            REPORT(v, c, i, "'%s' uses '%s', which is not in the list of computation '%s'", ir_op_name(i->op), o->name,
                   c->name);
    }
    return sound;
}

static bool check_callee(verifier *v, const ir_computation *c, const ir_inst *i, const ir_computation *callee)
{
    if (is_ours(v, callee)) return true;
    REPORT(v, c, i, "'%s' calls '%s', which is not a computation of module '%s'", ir_op_name(i->op), callee->name,
           v->module->name);
    return false;
}

static bool check_callees(verifier *v, const ir_computation *c, const ir_inst *i)
{
    bool sound = true;
    for (int n = 0; n < 2; n++)
        if (i->attrs.computations[n]) sound &= check_callee(v, c, i, i->attrs.computations[n]);
    for (int n = 0; n < i->attrs.branch_count; n++)
        if (i->attrs.branches[n]) sound &= check_callee(v, c, i, i->attrs.branches[n]);
    return sound;
}

static void check_name(verifier *v, const ir_computation *c, const ir_inst *i)
{
    if (!i->name || !*i->name) {
        REPORT(v, c, i, "'%s' has no name", ir_op_name(i->op));
        return;
    }
    if (ir_strmap_find(&v->names, i->name, strlen(i->name)))
        REPORT(v, c, i, "'%s' is the name of two instructions", i->name);
    else
        ir_strmap_add(&v->names, i->name, (void *)(uintptr_t)i);
}

static void check_shape(verifier *v, const ir_computation *c, const ir_inst *i)
{
    ir_infer in = {.arena = v->arena,
                   .op = i->op,
                   .given = &i->shape,
                   .operand_count = i->operand_count,
                   .operands = i->operands,
                   .attrs = &i->attrs};
    ir_shape inferred;
    glia_status bad = ir_infer_shape(&in, &inferred);
    if (bad) report(v, c, i, bad);
}

static void check_parameter(verifier *v, const ir_computation *c, const ir_inst *i)
{
    int64_t n = i->attrs.index;
    if (n < 0 || n >= (int64_t)c->params.count)
        REPORT(v, c, i, "'parameter' has number %lld, computation '%s' lists %u parameters", (long long)n, c->name,
               c->params.count);
    else if (c->params.items[n] != i)
        REPORT(v, c, i, "'parameter' has number %lld, computation '%s' lists '%s' there", (long long)n, c->name,
               c->params.items[n] ? c->params.items[n]->name : "(none)");
}

static void check_inst(verifier *v, const ir_computation *c, uint32_t position)
{
    const ir_inst *i = c->insts.items[position];
    if (!i) {
        REPORT(v, c, NULL, "position %u of computation '%s' holds no instruction", position, c->name);
        return;
    }
    if ((unsigned)i->op >= IR_OP_COUNT) {
        REPORT(v, c, i, "opcode %d is none, opcodes are 0 to %d", (int)i->op, IR_OP_COUNT - 1);
        return;
    }
    if (i->parent != c || i->id != (int)position) {
        REPORT(v, c, i, "'%s' is at position %u of '%s', but says that it is at %d of '%s'", ir_op_name(i->op),
               position, c->name, i->id, i->parent ? i->parent->name : "(none)");
        return;
    }
    check_name(v, c, i);
    bool operands_sound = check_operand_links(v, c, i), callees_sound = check_callees(v, c, i);
    if (operands_sound && callees_sound) check_shape(v, c, i);
    if (i->op == IR_PARAMETER) check_parameter(v, c, i);
}

// ---- one computation ----

static void check_params(verifier *v, const ir_computation *c)
{
    for (uint32_t n = 0; n < c->params.count; n++) {
        const ir_inst *p = c->params.items[n];
        if (!p)
            REPORT(v, c, NULL, "computation '%s' has %u parameters, number %u is missing", c->name, c->params.count, n);
        else if (p->op != IR_PARAMETER || p->parent != c || p->id < 0 || (uint32_t)p->id >= c->insts.count ||
                 c->insts.items[p->id] != p)
            REPORT(v, c, p, "computation '%s' lists '%s' as parameter %u, which is no parameter of its", c->name,
                   p->name, n);
    }
}

static void check_root(verifier *v, const ir_computation *c)
{
    const ir_inst *r = c->root;
    if (!r)
        REPORT(v, c, NULL, "computation '%s' has no root", c->name);
    else if (r->parent != c || r->id < 0 || (uint32_t)r->id >= c->insts.count || c->insts.items[r->id] != r)
        REPORT(v, c, r, "the root of computation '%s' is '%s' of computation '%s'", c->name, r->name,
               r->parent ? r->parent->name : "(none)");
}

// ---- calls: no cycles, and not too deep ----

typedef VEC(const ir_computation *) computation_list;

static void push_callee(const verifier *v, computation_list *list, const ir_computation *c)
{
    if (is_ours(v, c)) VEC_PUSH(list) = c;
}

static void list_callees(const verifier *v, const ir_computation *c, computation_list *list)
{
    for (uint32_t n = 0; n < c->insts.count; n++) {
        const ir_inst *i = c->insts.items[n];
        if (!i) continue;
        for (int k = 0; k < 2; k++)
            push_callee(v, list, i->attrs.computations[k]);
        for (int k = 0; k < i->attrs.branch_count; k++)
            push_callee(v, list, i->attrs.branches[k]);
    }
}

// Depth first with an explicit stack; a computation that is met while it is being walked calls itself.
static void walk_calls(verifier *v, const ir_computation *start)
{
    computation_list stack = {0}, callees = {0};
    VEC_PUSH(&stack) = start;
    while (stack.count) {
        const ir_computation *c = stack.items[stack.count - 1];
        if (v->state[c->id] == 2) { // called twice
            stack.count--;
            continue;
        }
        bool fresh = v->state[c->id] == 0;
        v->state[c->id] = fresh ? 1 : 2;
        if (!fresh) stack.count--;
        callees.count = 0;
        list_callees(v, c, &callees);
        for (uint32_t n = 0; n < callees.count; n++) {
            const ir_computation *callee = callees.items[n];
            if (fresh && v->state[callee->id] == 1)
                REPORT(v, c, NULL, "computation '%s' calls '%s', which calls it back; recursion is not possible",
                       c->name, callee->name);
            if (fresh && v->state[callee->id] == 0) VEC_PUSH(&stack) = callee;
            if (!fresh && v->depth[callee->id] >= v->depth[c->id]) v->depth[c->id] = v->depth[callee->id] + 1;
        }
        if (!fresh && v->depth[c->id] == IR_CALL_DEPTH_LIMIT + 1)
            REPORT(v, c, NULL, "calls go %d computations deep at '%s', at most %d may", v->depth[c->id], c->name,
                   IR_CALL_DEPTH_LIMIT);
    }
    VEC_FREE(&stack);
    VEC_FREE(&callees);
}

// ---- aliases ----

glia_status ir_alias_check(const ir_module *m, uint32_t i)
{
    AUTO(glia_arena) arena = glia_arena_create();
    const ir_alias *a = &m->aliases.items[i];
    const ir_computation *c = m->entry;
    ENSURE(c && c->root, INVALID, "an alias needs an entry with a root, module '%s' has none", m->name);
    const ir_shape *root = &c->root->shape;
    int outputs = root->is_tuple ? root->tuple_size : 1;
    ENSURE(a->output_index >= 0 && a->output_index < outputs, INVALID,
           "alias %u reuses output %d, the entry '%s' has %d", i, a->output_index, c->name, outputs);
    ENSURE(a->parameter >= 0 && a->parameter < (int)c->params.count && c->params.items[a->parameter], INVALID,
           "alias %u reuses parameter %d, the entry '%s' has %u", i, a->parameter, c->name, c->params.count);
    const ir_shape *output = ir_shape_element(root, a->output_index),
                   *parameter = &c->params.items[a->parameter]->shape;
    ENSURE(ir_shape_equal(output, parameter), INVALID,
           "alias %u joins output %d of %s with parameter %d of %s; the shapes must match", i, a->output_index,
           ir_shape_text(arena, output), a->parameter, ir_shape_text(arena, parameter));
    for (uint32_t j = 0; j < i; j++) {
        const ir_alias *b = &m->aliases.items[j];
        ENSURE(b->output_index != a->output_index && b->parameter != a->parameter, INVALID,
               "aliases %u and %u join the same output or parameter (outputs %d and %d, parameters %d and %d)", j, i,
               b->output_index, a->output_index, b->parameter, a->parameter);
    }
    return GLIA_OK;
}

static void check_module(verifier *v)
{
    const ir_module *m = v->module;
    if (!is_ours(v, m->entry))
        REPORT(v, NULL, NULL, "module '%s' has no entry among its %u computations", m->name, m->computations.count);
    for (uint32_t i = 0; i < m->computations.count && !ir_problems_full(&v->problems); i++) {
        const ir_computation *c = m->computations.items[i];
        if (c->id != (int)i || c->module != m) {
            REPORT(v, c, NULL, "computation '%s' is number %u of module '%s', but says that it is %d of '%s'", c->name,
                   i, m->name, c->id, c->module ? c->module->name : "(none)");
            continue;
        }
        for (uint32_t n = 0; n < c->insts.count && !ir_problems_full(&v->problems); n++)
            check_inst(v, c, n);
        check_params(v, c);
        check_root(v, c);
    }
    for (uint32_t i = 0; i < m->computations.count && !ir_problems_full(&v->problems); i++)
        if (is_ours(v, m->computations.items[i]) && v->state[i] == 0) walk_calls(v, m->computations.items[i]);
    for (uint32_t i = 0; i < m->aliases.count && is_ours(v, m->entry) && !ir_problems_full(&v->problems); i++) {
        glia_status bad = ir_alias_check(m, i);
        if (bad) report(v, m->entry, NULL, bad);
    }
}

glia_status ir_verify(const ir_module *m)
{
    AUTO(glia_arena) arena = glia_arena_create();
    verifier v = {.module = m, .arena = arena};
    v.state = ARENA_ARRAY(arena, uint8_t, m->computations.count);
    v.depth = ARENA_ARRAY(arena, int, m->computations.count);
    check_module(&v);
    ir_strmap_fini(&v.names);
    return ir_problems_finish(&v.problems);
}
