// SPDX-License-Identifier: Apache-2.0
// HLO text as XLA dumps it: the module line, stack frame tables, computations.
//
//   module      := 'HloModule' NAME (',' key '=' value)*  [tables]  computation+
//   computation := ['ENTRY'] NAME ['(' NAME ':' shape, ... ')' '->' shape] '{' instruction+ '}' [',' key '=' value]
//
// [stablehlo.md D.4]. Invariant: a module that is returned verifies. Callees come before callers, as XLA writes them,
// so recursion cannot be written down; how deep calls go is bounded, since readers of the IR recurse over them. Not
// here: what instructions mean (the builder judges them).
#include "ir/parse.h"

#include <string.h>

bool parse_fail(parse *p, const char *where, glia_status problem)
{
    int line, column;
    AUTO_VALUE(glia_strbuf) place = {0};
    ir_lex_place(&p->lex, where, &line, &column);
    glia_putf(&place, "%s:%d:%d", p->path, line, column);
    ir_problems_add(&p->problems, glia_strbuf_str(&place), problem);
    p->broken = true;
    return false;
}

const char *parse_found(parse *p)
{
    ir_text here = ir_lex_here(&p->lex);
    if (ir_lex_done(&p->lex)) return "the end of the text";
    return glia_arena_printf(p->module->arena, "'%.*s'", here.size, here.data);
}

bool parse_expect(parse *p, char c, const char *after)
{
    if (ir_lex_accept(&p->lex, c)) return true;
    ir_lex_skip(&p->lex);
    return PARSE_FAIL(p, p->lex.at, INVALID, "expected '%c' after %s, found %s", c, after, parse_found(p));
}

// ---- the module line ----

static bool parse_entry_layout(parse *p)
{
    ir_shape *params = ARENA_NEW(p->module->arena, ir_shape), *result = ARENA_NEW(p->module->arena, ir_shape);
    p->layout_at = p->lex.at;
    if (!parse_expect(p, '{', "entry_computation_layout=") || !parse_shape(p, params)) return false;
    if (!params->is_tuple)
        return PARSE_FAIL(p, p->layout_at, INVALID, "entry_computation_layout lists no parameters in parentheses");
    if (!ir_lex_accept_text(&p->lex, "->"))
        return PARSE_FAIL(p, p->lex.at, INVALID, "expected '->' in entry_computation_layout");
    if (!parse_shape(p, result) || !parse_expect(p, '}', "entry_computation_layout")) return false;
    p->has_layout = true;
    p->layout_params = params->elements;
    p->layout_param_count = params->tuple_size;
    p->layout_result = result;
    return true;
}

// { {0}: (1, {}, may-alias), ... }
static bool parse_alias(parse *p)
{
    ir_dims output, inner = {0};
    int64_t parameter;
    bool must = false;
    ir_lex_skip(&p->lex);
    const char *where = p->lex.at;
    if (!parse_int_list(p, &output) || !parse_expect(p, ':', "an output index") || !parse_expect(p, '(', "':'"))
        return false;
    if (!ir_lex_int(&p->lex, &parameter))
        return PARSE_FAIL(p, p->lex.at, INVALID, "expected a parameter's number in input_output_alias");
    if (ir_lex_accept(&p->lex, ',') && !parse_int_list(p, &inner)) return false;
    if (ir_lex_accept(&p->lex, ',')) {
        must = ir_lex_accept_word(&p->lex, "must-alias");
        if (!must && !ir_lex_accept_word(&p->lex, "may-alias"))
            return PARSE_FAIL(p, p->lex.at, INVALID, "expected may-alias or must-alias in input_output_alias");
    }
    if (!parse_expect(p, ')', "an alias")) return false;
    if (output.count > 1 || inner.count > 0)
        return PARSE_FAIL(p, where, UNSUPPORTED,
                          "an alias inside nested tuples is not supported (output index of %d numbers, parameter index "
                          "of %d); at most 1 and 0 are",
                          output.count, inner.count);
    int64_t element = output.count ? output.items[0] : 0;
    if (element < 0 || element > INT32_MAX || parameter < 0 || parameter > INT32_MAX)
        return PARSE_FAIL(p, where, INVALID,
                          "input_output_alias joins output %lld with parameter %lld: no such numbers",
                          (long long)element, (long long)parameter);
    ir_add_alias(p->module, (int)element, (int)parameter, must);
    return true;
}

static bool parse_aliases(parse *p)
{
    p->alias_at = p->lex.at;
    if (!parse_expect(p, '{', "input_output_alias=")) return false;
    while (!ir_lex_accept(&p->lex, '}')) {
        if (p->module->aliases.count && !parse_expect(p, ',', "an alias")) return false;
        if (p->module->aliases.count == PARSE_LIST_LIMIT)
            return PARSE_FAIL(p, p->lex.at, INVALID, "more than %d aliases", PARSE_LIST_LIMIT);
        if (!parse_alias(p)) return false;
    }
    return true;
}

static bool parse_header(parse *p)
{
    ir_text name;
    if (!ir_lex_accept_word(&p->lex, "HloModule") || !ir_lex_name(&p->lex, &name)) {
        return PARSE_FAIL(p, p->lex.at, INVALID, "expected 'HloModule name', found %s; is this HLO text?",
                          parse_found(p));
    }
    p->module->name = glia_arena_strndup(p->module->arena, name.data, (size_t)name.size);
    while (ir_lex_accept(&p->lex, ',')) {
        ir_lex_skip(&p->lex);
        const char *where = p->lex.at;
        if (!ir_lex_name(&p->lex, &name) || !parse_expect(p, '=', "a module attribute")) {
            return PARSE_FAIL(p, p->lex.at, INVALID, "expected key=value of the module");
        } else if (ir_text_is(name, "entry_computation_layout")) {
            if (!parse_entry_layout(p)) return false;
        } else if (ir_text_is(name, "input_output_alias")) {
            if (!parse_aliases(p)) return false;
        } else if (!parse_ignored(p, where, (ir_text){"module", 6}, name))
            return false;
    }
    return true;
}

// ---- computations ----

typedef struct signature {
    bool given;
    VEC(ir_shape) params;
    ir_shape result;
} signature;

static bool parse_signature(parse *p, signature *s)
{
    ir_text name;
    s->given = ir_lex_accept(&p->lex, '(');
    if (!s->given) return true;
    while (!ir_lex_accept(&p->lex, ')')) {
        ir_shape shape;
        if (s->params.count && !parse_expect(p, ',', "a parameter")) return false;
        if (s->params.count == PARSE_LIST_LIMIT)
            return PARSE_FAIL(p, p->lex.at, INVALID, "more than %d parameters", PARSE_LIST_LIMIT);
        if (!ir_lex_name(&p->lex, &name)) return PARSE_FAIL(p, p->lex.at, INVALID, "expected the name of a parameter");
        if (!parse_expect(p, ':', "a parameter's name") || !parse_shape(p, &shape)) return false;
        VEC_PUSH(&s->params) = shape;
    }
    if (!ir_lex_accept_text(&p->lex, "->"))
        return PARSE_FAIL(p, p->lex.at, INVALID, "expected '->' after the parameters of a computation");
    return parse_shape(p, &s->result);
}

static void check_signature(parse *p, const char *where, const signature *s)
{
    const ir_computation *c = p->computation;
    glia_arena *a = p->module->arena;
    if (!s->given) return;
    if (s->params.count != c->params.count) {
        PARSE_FAIL(p, where, INVALID, "computation '%s' is stated to take %u parameters, it has %u", c->name,
                   s->params.count, c->params.count);
        return;
    }
    for (uint32_t i = 0; i < c->params.count; i++)
        if (!ir_shape_equal(&s->params.items[i], &c->params.items[i]->shape))
            PARSE_FAIL(p, where, INVALID, "computation '%s' is stated to take %s as parameter %u, it is %s", c->name,
                       ir_shape_text(a, &s->params.items[i]), i, ir_shape_text(a, &c->params.items[i]->shape));
    if (!ir_shape_equal(&s->result, &c->root->shape))
        PARSE_FAIL(p, where, INVALID, "computation '%s' is stated to give %s, its root is %s", c->name,
                   ir_shape_text(a, &s->result), ir_shape_text(a, &c->root->shape));
}

static void parse_body(parse *p)
{
    while (!ir_lex_accept(&p->lex, '}')) {
        if (ir_lex_done(&p->lex)) {
            PARSE_FAIL(p, p->lex.at, INVALID, "computation '%s' has no '}': the text ends", p->computation->name);
            return;
        }
        parse_instruction(p);
        if (ir_problems_full(&p->problems)) return;
    }
    while (ir_lex_accept(&p->lex, ',')) { // execution_thread="..."
        ir_text key;
        ir_lex_skip(&p->lex);
        const char *where = p->lex.at;
        if (!ir_lex_name(&p->lex, &key) || !ir_lex_accept(&p->lex, '='))
            PARSE_FAIL(p, where, INVALID, "expected key=value after computation '%s'", p->computation->name);
        else if (parse_ignored(p, where, (ir_text){"computation", 11}, key))
            continue;
        return;
    }
}

static void finish_computation(parse *p, const char *where, const signature *s)
{
    ir_computation *c = p->computation;
    if (!c->root && !p->broken) PARSE_FAIL(p, where, INVALID, "computation '%s' has no instructions", c->name);
    if (p->depth > IR_CALL_DEPTH_LIMIT)
        PARSE_FAIL(p, where, INVALID, "calls go %d computations deep at '%s', at most %d are read", p->depth, c->name,
                   IR_CALL_DEPTH_LIMIT);
    if (p->broken) return;
    ir_builder b = ir_builder_of(c);
    glia_status bad = ir_builder_finish(&b, c->root);
    if (bad)
        parse_fail(p, where, bad);
    else
        check_signature(p, where, s);
}

// What the entry's text says about layouts counts unless the module line says it.
static void apply_layouts(ir_shape *to, const ir_shape *from)
{
    to->minor_to_major = from->minor_to_major;
    for (int i = 0; to->is_tuple && i < to->tuple_size; i++)
        apply_layouts((ir_shape *)(uintptr_t)&to->elements[i], &from->elements[i]);
}

static void entry_layouts(parse *p)
{
    const ir_computation *c = p->computation;
    if (p->has_layout) return;
    for (uint32_t i = 0; i < c->params.count; i++)
        apply_layouts(&c->params.items[i]->shape, c->params.items[i]->pass);
    if (p->root_declared) apply_layouts(&c->root->shape, p->root_declared);
}

static bool parse_computation(parse *p, signature *s)
{
    ir_text text;
    ir_lex_skip(&p->lex);
    const char *where = p->lex.at;
    bool entry = ir_lex_accept_word(&p->lex, "ENTRY");
    if (!ir_lex_name(&p->lex, &text))
        return PARSE_FAIL(p, where, INVALID, "expected a computation, found %s", parse_found(p));
    char *name = glia_arena_strndup(p->module->arena, text.data, (size_t)text.size);
    if (!parse_signature(p, s) || !parse_expect(p, '{', "a computation's head")) return false;
    bool known = ir_strmap_find(&p->callees, name, strlen(name)) != NULL;
    if (known) PARSE_FAIL(p, where, INVALID, "computation '%s' is defined twice", name);
    if (entry && p->entry_marked)
        PARSE_FAIL(p, where, INVALID, "'%s' is a second ENTRY; the first is '%s'", name, p->module->entry->name);
    parse_callee *callee = ARENA_NEW(p->module->arena, parse_callee);
    callee->computation = p->computation = ir_computation_create(p->module, name);
    if (entry || !p->entry_marked) p->module->entry = p->computation; // without a mark, the last one
    p->entry_marked |= entry;
    ir_strmap_clear(&p->values);
    p->broken = p->root_marked = false;
    p->depth = 0;
    p->root_declared = NULL;
    parse_body(p);
    finish_computation(p, where, s);
    callee->broken = p->broken;
    callee->depth = p->depth;
    if (!known) ir_strmap_add(&p->callees, name, callee);
    if (!p->broken && p->module->entry == p->computation) entry_layouts(p);
    return true;
}

// After a head that cannot be read: on behind the next '}' that starts a line, or at the entry.
static void skip_computation(parse *p)
{
    while (p->lex.at < p->lex.end) {
        ir_lex_skip_line(&p->lex);
        ir_lex ahead = p->lex;
        if (ir_lex_accept_word(&ahead, "ENTRY")) return;
        if (p->lex.at == p->lex.end || *p->lex.at != '}') continue;
        p->lex.at++;
        return;
    }
}

// ---- the whole ----

static void check_entry_layout(parse *p)
{
    ir_computation *c = p->module->entry;
    glia_arena *a = p->module->arena;
    if (!p->has_layout) return;
    if (p->layout_param_count != (int)c->params.count) {
        PARSE_FAIL(p, p->layout_at, INVALID, "entry_computation_layout lists %d parameters, '%s' has %u",
                   p->layout_param_count, c->name, c->params.count);
        return;
    }
    for (int i = 0; i < p->layout_param_count; i++) {
        ir_shape *have = &c->params.items[i]->shape;
        if (ir_shape_equal(have, &p->layout_params[i]))
            apply_layouts(have, &p->layout_params[i]);
        else
            PARSE_FAIL(p, p->layout_at, INVALID, "entry_computation_layout has %s as parameter %d, '%s' has %s",
                       ir_shape_text(a, &p->layout_params[i]), i, c->name, ir_shape_text(a, have));
    }
    if (ir_shape_equal(&c->root->shape, p->layout_result))
        apply_layouts(&c->root->shape, p->layout_result);
    else
        PARSE_FAIL(p, p->layout_at, INVALID, "entry_computation_layout gives %s, '%s' gives %s",
                   ir_shape_text(a, p->layout_result), c->name, ir_shape_text(a, &c->root->shape));
}

static void parse_module(parse *p)
{
    if (!parse_header(p) || !parse_frame_tables(p)) return;
    while (!ir_lex_done(&p->lex) && !ir_problems_full(&p->problems)) {
        signature s = {0};
        if (!parse_computation(p, &s)) skip_computation(p);
        VEC_FREE(&s.params);
    }
    if (p->problems.count) return;
    if (!p->module->entry) {
        PARSE_FAIL(p, p->lex.at, INVALID, "module '%s' has no computation", p->module->name);
        return;
    }
    check_entry_layout(p);
    for (uint32_t i = 0; i < p->module->aliases.count && !ir_problems_full(&p->problems); i++) {
        glia_status bad = ir_alias_check(p->module, i);
        if (bad) parse_fail(p, p->alias_at, bad);
    }
}

glia_status ir_parse(glia_span text, const char *path, ir_module **out)
{
    AUTO(ir_module) m = ir_module_create("module");
    *out = NULL;
    m->source = glia_arena_strdup(m->arena, path && *path ? path : "hlo");
    parse p = {.lex = ir_lex_of(text), .path = m->source, .module = m};
    parse_module(&p);
    ir_strmap_fini(&p.callees);
    ir_strmap_fini(&p.values);
    parse_frames_fini(&p.frames);
    TRY(ir_problems_finish(&p.problems));
    *out = TAKE(m);
    return GLIA_OK;
}
