// SPDX-License-Identifier: Apache-2.0
// One instruction: [ROOT] name = shape opcode(operands), attributes.
//
// After a problem the name still gets a value of the shape as written, so that the instructions after it are judged on
// their own; where not even the shape could be read, those that use it are taken on trust. Reading then goes on at the
// next line that looks like an instruction.
#include <string.h>

#include "ir/ops.h"
#include "ir/parse.h"

static ir_shape without_layout(parse *p, const ir_shape *s)
{
    ir_shape plain = *s;
    plain.minor_to_major = NULL;
    if (!s->is_tuple) return plain;
    ir_shape *elements = ARENA_ARRAY(p->module->arena, ir_shape, (size_t)s->tuple_size);
    for (int i = 0; i < s->tuple_size; i++)
        elements[i] = without_layout(p, &s->elements[i]);
    plain.elements = elements;
    return plain;
}

// ---- values ----

static parse_value *new_value(parse *p, ir_inst *inst, const ir_shape *declared)
{
    parse_value *v = ARENA_NEW(p->module->arena, parse_value);
    *v = (parse_value){.inst = inst, .declared = declared};
    return v;
}

// What a name stands for after a problem: a value of this shape that is in no computation's list.
static ir_inst *stand_in(parse *p, const char *name, const ir_shape *shape)
{
    ir_inst *i = ARENA_NEW(p->module->arena, ir_inst);
    *i = (ir_inst){.op = IR_CUSTOM_CALL,
                   .name = name,
                   .shape = *shape,
                   .parent = p->computation,
                   .loc = {.file = "", .op_name = ""}};
    return i;
}

static void define(parse *p, const char *where, const char *name, ir_inst *inst, const ir_shape *declared)
{
    ir_strmap_slot *known = ir_strmap_find(&p->values, name, strlen(name));
    if (known) {
        PARSE_FAIL(p, where, INVALID, "'%s' is defined twice in computation '%s'", name, p->computation->name);
        return;
    }
    ir_strmap_add(&p->values, name, new_value(p, inst, declared));
}

// ---- operands ----

typedef struct operands {
    VEC(ir_inst *) insts;
    VEC(const ir_shape *) layouts;
    bool unknown; // one of them was in error: do not judge
} operands;

static bool parse_operand(parse *p, operands *o)
{
    ir_shape stated;
    bool has_shape = parse_at_shape(p);
    ir_text name;
    if (has_shape && !parse_shape(p, &stated)) return false;
    ir_lex_skip(&p->lex);
    const char *where = p->lex.at;
    if (!ir_lex_name(&p->lex, &name))
        return PARSE_FAIL(p, where, INVALID, "expected the name of an operand, found %s", parse_found(p));
    if (p->lex.at < p->lex.end && *p->lex.at == '(')
        return PARSE_FAIL(p, where, UNSUPPORTED,
                          "an instruction inside another's operands ('%.*s') is not supported; print without nesting",
                          name.size, name.data);
    const ir_strmap_slot *slot = ir_strmap_find(&p->values, name.data, (size_t)name.size);
    const parse_value *v = slot ? slot->value : NULL;
    if (!v)
        PARSE_FAIL(p, where, INVALID, "'%.*s' is not defined before this use of it", name.size, name.data);
    else if (has_shape && v->inst && !ir_shape_equal(&stated, &v->inst->shape))
        PARSE_FAIL(p, where, INVALID, "operand '%.*s' is stated to be %s, it is %s", name.size, name.data,
                   ir_shape_text(p->module->arena, &stated), ir_shape_text(p->module->arena, &v->inst->shape));
    o->unknown |= !v || !v->inst;
    VEC_PUSH(&o->insts) = v ? v->inst : NULL;
    VEC_PUSH(&o->layouts) = v ? v->declared : NULL;
    return true;
}

static bool parse_operand_list(parse *p, operands *o)
{
    while (!ir_lex_accept(&p->lex, ')')) {
        if (o->insts.count && !ir_lex_accept(&p->lex, ','))
            return PARSE_FAIL(p, p->lex.at, INVALID, "expected ',' or ')' after an operand, found %s", parse_found(p));
        if (o->insts.count == PARSE_LIST_LIMIT)
            return PARSE_FAIL(p, p->lex.at, INVALID, "more than %d operands", PARSE_LIST_LIMIT);
        if (!parse_operand(p, o)) return false;
    }
    return true;
}

static bool parse_inside(parse *p, ir_op op, parse_written *w, operands *o)
{
    if (!parse_expect(p, '(', "an opcode")) return false;
    if (op == IR_CONSTANT) return parse_literal(p, w->shape, &w->attrs.literal) && parse_expect(p, ')', "a constant");
    if (op != IR_PARAMETER) return parse_operand_list(p, o);
    if (ir_lex_int(&p->lex, &w->attrs.index)) return parse_expect(p, ')', "a parameter's number");
    return PARSE_FAIL(p, p->lex.at, INVALID, "expected the number of a parameter, found %s", parse_found(p));
}

// ---- the place ----

static ir_loc place_of(parse *p, const parse_written *w)
{
    ir_loc loc = {.file = p->path, .op_name = w->extra.op_name ? w->extra.op_name : ""};
    ir_lex_place(&p->lex, w->where, &loc.line, &loc.column);
    const char *source = parse_frame_source(p, w->extra.stack_frame);
    if (w->extra.source_file && *w->extra.source_file)
        source = glia_arena_printf(p->module->arena, "%s:%lld", w->extra.source_file, (long long)w->extra.source_line);
    if (source) loc.op_name = glia_arena_printf(p->module->arena, "%s @ %s", loc.op_name, source);
    return loc;
}

// ---- putting it together ----

static ir_inst *build(parse *p, const char *name, ir_op op, parse_written *w)
{
    ir_builder b = ir_builder_of(p->computation);
    b.loc = place_of(p, w);
    b.name = name;
    ir_inst *inst = op < IR_OP_COUNT ? ir_make_taking(&b, op, w->shape, w->operand_count, w->operands, &w->attrs)
                                     : parse_normalise(p, &b, w);
    if (!b.error) {
        if (op == IR_PARAMETER) inst->pass = (void *)(uintptr_t)w->declared; // for entry_layouts
        return inst;
    }
    ir_problems_add(&p->problems, NULL, b.error);
    p->broken = true;
    return NULL;
}

static bool known_opcode(parse *p, const char *where, ir_text opcode, ir_op *op)
{
    *op = IR_OP_COUNT;
    if (ir_op_find(opcode.data, (size_t)opcode.size, op) || parse_is_normalised(opcode)) return true;
    return PARSE_FAIL(
        p, where, UNSUPPORTED, "unknown opcode '%.*s'; the nearest known is '%s'\nhint: opcodes are rows of ir/ops.def",
        opcode.size < 64 ? opcode.size : 64, opcode.data, ir_op_nearest(opcode.data, (size_t)opcode.size));
}

static ir_inst *parse_right_side(parse *p, const char *name, parse_written *w, operands *o)
{
    ir_op op;
    ir_lex_skip(&p->lex);
    const char *where = p->lex.at;
    if (!ir_lex_name(&p->lex, &w->opcode)) {
        PARSE_FAIL(p, where, INVALID, "expected an opcode, found %s", parse_found(p));
        return NULL;
    }
    p->calls_broken = false;
    if (!known_opcode(p, where, w->opcode, &op)) {
        w->complete = ir_lex_skip_group(&p->lex, NULL) && parse_attributes(p, op, w->opcode, w->where, &w->attrs, &w->extra);
        return NULL;
    }
    if (!parse_inside(p, op, w, o)) return NULL;
    w->complete = parse_attributes(p, op, w->opcode, w->where, &w->attrs, &w->extra);
    if (!w->complete || o->unknown || p->calls_broken) return NULL;
    w->operand_count = (int)o->insts.count;
    w->operands = o->insts.items;
    w->operand_layouts = o->layouts.items;
    return build(p, name, op, w);
}

// Does a line start an instruction, or end the computation?
static bool at_instruction(parse *p)
{
    ir_lex ahead = p->lex;
    ir_text name;
    if (ir_lex_peek(&ahead, '}') || ir_lex_accept_word(&ahead, "ROOT")) return true;
    return ir_lex_name(&ahead, &name) && ir_lex_peek(&ahead, '=');
}

static bool at_line_start(const ir_lex *l)
{
    const char *c = l->at;
    while (c > l->start && (c[-1] == ' ' || c[-1] == '\t'))
        c--;
    return c == l->start || c[-1] == '\n';
}

static void recover(parse *p)
{
    while (!ir_lex_done(&p->lex) && !(at_line_start(&p->lex) && at_instruction(p)))
        ir_lex_skip_line(&p->lex);
}

static void set_root(parse *p, const char *where, ir_inst *inst, const ir_shape *declared, bool marked)
{
    if (marked && p->computation->root && p->root_marked)
        PARSE_FAIL(p, where, INVALID, "computation '%s' has a second ROOT; the first is '%s'", p->computation->name,
                   p->computation->root->name);
    if (!marked && p->root_marked) return;
    p->computation->root = inst;
    p->root_declared = declared;
    p->root_marked |= marked;
}

void parse_instruction(parse *p)
{
    parse_written w = {0};
    operands o = {0};
    ir_text text;
    bool marked = ir_lex_accept_word(&p->lex, "ROOT");
    ir_lex_skip(&p->lex);
    w.where = p->lex.at;
    if (!ir_lex_name(&p->lex, &text) || !ir_lex_accept(&p->lex, '=')) {
        PARSE_FAIL(p, w.where, INVALID, "expected 'name = ...' or '}', found %s", parse_found(p));
        recover(p);
        return;
    }
    char *name = glia_arena_strndup(p->module->arena, text.data, (size_t)text.size);
    ir_shape *declared = ARENA_NEW(p->module->arena, ir_shape), *plain = ARENA_NEW(p->module->arena, ir_shape);
    bool has_shape = parse_shape(p, declared);
    ir_inst *inst = NULL;
    if (has_shape) {
        *plain = without_layout(p, declared);
        w.declared = declared;
        w.shape = plain;
        inst = parse_right_side(p, name, &w, &o);
    }
    if (!inst) p->broken = true;
    if (!w.complete) recover(p);
    if (!inst && has_shape) inst = stand_in(p, name, plain);
    define(p, w.where, name, inst, has_shape ? declared : NULL);
    set_root(p, w.where, inst, declared, marked);
    VEC_FREE(&o.insts);
    VEC_FREE(&o.layouts);
}
