// SPDX-License-Identifier: Apache-2.0
// Attributes in HLO text: what attrs.def lists for the op is read by kind; metadata becomes the place of the
// instruction; what ignored.def lists is skipped; all else is refused.
#include <string.h>

#include "ir/attrs.h"
#include "ir/parse.h"

typedef VEC(int64_t) int_list;

static ir_dims take_list(parse *p, int_list *list)
{
    int64_t *items = ARENA_ARRAY(p->module->arena, int64_t, list->count);
    if (list->count) memcpy(items, list->items, list->count * sizeof *items);
    ir_dims dims = {.count = (int)list->count, .items = items};
    VEC_FREE(list);
    return dims;
}

static bool expected(parse *p, const char *what)
{
    return PARSE_FAIL(p, p->lex.at, INVALID, "expected %s, found %s", what, parse_found(p));
}

static bool int_items(parse *p, int_list *list)
{
    while (!ir_lex_accept(&p->lex, '}')) {
        int64_t value;
        if (list->count && !parse_expect(p, ',', "a number of a list")) return false;
        if (list->count == PARSE_LIST_LIMIT)
            return PARSE_FAIL(p, p->lex.at, INVALID, "a list has more than %d numbers", PARSE_LIST_LIMIT);
        if (!ir_lex_int(&p->lex, &value)) return expected(p, "a number or '}'");
        VEC_PUSH(list) = value;
    }
    return true;
}

bool parse_int_list(parse *p, ir_dims *out)
{
    int_list list = {0};
    bool good = parse_expect(p, '{', "'='") && int_items(p, &list);
    *out = take_list(p, &list);
    return good;
}

static bool parse_int(parse *p, int64_t *out)
{
    return ir_lex_int(&p->lex, out) || expected(p, "a number");
}

static bool parse_int32(parse *p, int *out)
{
    int64_t value;
    const char *where = p->lex.at;
    if (!parse_int(p, &value)) return false;
    if (value < INT32_MIN || value > INT32_MAX)
        return PARSE_FAIL(p, where, INVALID, "%lld does not fit 32 bits", (long long)value);
    *out = (int)value;
    return true;
}

static bool parse_bool(parse *p, bool *out)
{
    *out = ir_lex_accept_word(&p->lex, "true");
    return *out || ir_lex_accept_word(&p->lex, "false") || expected(p, "true or false");
}

// A string; or, as newer XLA writes backend_config, a JSON object, kept as its text.
static bool parse_string(parse *p, const char **out)
{
    ir_text raw;
    if (ir_lex_peek(&p->lex, '"'))
        return ir_lex_string(&p->lex, p->module->arena, out) || expected(p, "a string that ends, with known escapes");
    if (!ir_lex_peek(&p->lex, '{') || !ir_lex_skip_group(&p->lex, &raw)) return expected(p, "a string or an object");
    if (memchr(raw.data, 0, (size_t)raw.size)) return expected(p, "an object without NUL bytes");
    *out = glia_arena_strndup(p->module->arena, raw.data, (size_t)raw.size);
    return true;
}

static bool parse_one_dim(parse *p, int64_t *out)
{
    ir_dims dims;
    const char *where = p->lex.at;
    if (!parse_int_list(p, &dims)) return false;
    if (dims.count != 1)
        return PARSE_FAIL(p, where, INVALID, "dimensions lists %d dims, this op takes one", dims.count);
    *out = dims.items[0];
    return true;
}

typedef struct triples {
    int_list a, b, c;
} triples;

static void take_triples(parse *p, triples *t, ir_attrs *attrs)
{
    attrs->starts = take_list(p, &t->a);
    attrs->limits = take_list(p, &t->b);
    attrs->strides = take_list(p, &t->c);
}

static bool push_triple(parse *p, triples *t, int64_t a, int64_t b, int64_t c)
{
    if (t->a.count == IR_RANK_LIMIT)
        return PARSE_FAIL(p, p->lex.at, INVALID, "more than %d dims are listed", IR_RANK_LIMIT);
    VEC_PUSH(&t->a) = a;
    VEC_PUSH(&t->b) = b;
    VEC_PUSH(&t->c) = c;
    return true;
}

static bool slice_items(parse *p, triples *t)
{
    if (!parse_expect(p, '{', "slice=")) return false;
    while (!ir_lex_accept(&p->lex, '}')) {
        int64_t start, limit, stride = 1;
        if (t->a.count && !parse_expect(p, ',', "a slice of a dim")) return false;
        if (!parse_expect(p, '[', "slice={") || !parse_int(p, &start) || !parse_expect(p, ':', "a slice's start") ||
            !parse_int(p, &limit))
            return false;
        if (ir_lex_accept(&p->lex, ':') && !parse_int(p, &stride)) return false;
        if (!parse_expect(p, ']', "a slice of a dim") || !push_triple(p, t, start, limit, stride)) return false;
    }
    return true;
}

static bool padding_items(parse *p, triples *t)
{
    const char *at = p->lex.at;
    if (at == p->lex.end || !strchr("-0123456789", *at) || !*at) return true; // of a scalar
    do {
        int64_t low, high, interior = 0;
        if (!parse_int(p, &low) || !parse_expect(p, '_', "low padding") || !parse_int(p, &high)) return false;
        if (ir_lex_accept(&p->lex, '_') && !parse_int(p, &interior)) return false;
        if (!push_triple(p, t, low, high, interior)) return false;
    } while (p->lex.at < p->lex.end && *p->lex.at == 'x' && ir_lex_accept(&p->lex, 'x'));
    return true;
}

static bool parse_triples(parse *p, bool (*items)(parse *, triples *), ir_attrs *attrs)
{
    triples t = {0};
    bool good = items(p, &t);
    take_triples(p, &t, attrs);
    return good;
}

static bool parse_direction(parse *p, ir_compare_direction *out)
{
    for (int d = IR_EQ; d <= IR_LT; d++) {
        *out = (ir_compare_direction)d;
        if (ir_lex_accept_word(&p->lex, ir_direction_name(*out))) return true;
    }
    return expected(p, "EQ, NE, GE, GT, LE or LT");
}

static bool parse_compare_type(parse *p, ir_compare_type *out)
{
    *out = ir_lex_accept_word(&p->lex, "TOTALORDER") ? IR_COMPARE_TOTALORDER : IR_COMPARE_DEFAULT;
    if (*out == IR_COMPARE_TOTALORDER) return true;
    const char *defaults[] = {"FLOAT", "SIGNED", "UNSIGNED"};
    for (size_t i = 0; i < COUNT_OF(defaults); i++)
        if (ir_lex_accept_word(&p->lex, defaults[i])) return true;
    return expected(p, "FLOAT, TOTALORDER, SIGNED or UNSIGNED");
}

static bool parse_precision(parse *p, const char **out)
{
    AUTO_VALUE(glia_strbuf) text = {0};
    bool any = false;
    if (!parse_expect(p, '{', "operand_precision=")) return false;
    while (!ir_lex_accept(&p->lex, '}')) {
        ir_text name;
        if (text.size && !parse_expect(p, ',', "a precision")) return false;
        const char *where = p->lex.at;
        if (!ir_lex_name(&p->lex, &name)) return expected(p, "a precision");
        const bool plain = ir_text_is(name, "default");
        if (!plain && !ir_text_is(name, "high") && !ir_text_is(name, "highest")) // packed_nibble: another type
            return PARSE_FAIL(p, where, UNSUPPORTED, "precision '%.*s' is not supported; default, high and highest are",
                              name.size, name.data);
        any |= !plain;
        glia_putf(&text, "%s%.*s", text.size ? "," : "", name.size, name.data);
    }
    *out = any ? glia_arena_strdup(p->module->arena, glia_strbuf_str(&text)) : "";
    return true;
}

static bool parse_fusion_kind(parse *p)
{
    static const char *const kinds[] = {"kLoop", "kInput", "kOutput", "kCustom"};
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (ir_lex_accept_word(&p->lex, kinds[i])) return true;
    return expected(p, "kLoop, kInput, kOutput or kCustom");
}

bool parse_callee_name(parse *p, ir_computation **out)
{
    ir_text name;
    ir_lex_skip(&p->lex);
    const char *where = p->lex.at;
    if (!ir_lex_name(&p->lex, &name)) return expected(p, "the name of a computation");
    const ir_strmap_slot *slot = ir_strmap_find(&p->callees, name.data, (size_t)name.size);
    if (!slot)
        return PARSE_FAIL(p, where, INVALID, "computation '%.*s' is not defined before this use of it", name.size,
                          name.data);
    const parse_callee *callee = slot->value;
    *out = callee->computation;
    p->calls_broken |= callee->broken;
    if (callee->depth >= p->depth) p->depth = callee->depth + 1;
    return true;
}

static bool parse_branch(parse *p, int number, ir_attrs *attrs)
{
    if (!attrs->branches) attrs->branches = ARENA_ARRAY(p->module->arena, ir_computation *, 2);
    attrs->branch_count = 2;
    return parse_callee_name(p, &attrs->branches[number]);
}

static bool parse_branches(parse *p, ir_attrs *attrs)
{
    VEC(ir_computation *) list = {0};
    bool good = parse_expect(p, '{', "branch_computations=");
    while (good && !ir_lex_accept(&p->lex, '}')) {
        ir_computation *c = NULL;
        good = (!list.count || parse_expect(p, ',', "a branch")) && parse_callee_name(p, &c);
        if (good && list.count == PARSE_LIST_LIMIT)
            good = PARSE_FAIL(p, p->lex.at, INVALID, "a conditional has more than %d branches", PARSE_LIST_LIMIT);
        VEC_PUSH(&list) = c;
    }
    attrs->branch_count = (int)list.count;
    attrs->branches = ARENA_ARRAY(p->module->arena, ir_computation *, list.count);
    if (list.count) memcpy(attrs->branches, list.items, list.count * sizeof *attrs->branches);
    VEC_FREE(&list);
    return good;
}

// {{0}: (1, {})}: output element 0 reuses operand 1.
static bool aliasing_items(parse *p, int_list *list)
{
    if (!parse_expect(p, '{', "output_to_operand_aliasing=")) return false;
    while (!ir_lex_accept(&p->lex, '}')) {
        ir_dims output, inner = {0};
        int64_t operand;
        const char *where = p->lex.at;
        if (list->count && !parse_expect(p, ',', "an alias")) return false;
        if (list->count >= PARSE_LIST_LIMIT)
            return PARSE_FAIL(p, where, INVALID, "more than %d aliases are listed", PARSE_LIST_LIMIT / 2);
        if (!parse_int_list(p, &output) || !parse_expect(p, ':', "an output index") || !parse_expect(p, '(', "':'") ||
            !parse_int(p, &operand))
            return false;
        if (ir_lex_accept(&p->lex, ',') && !parse_int_list(p, &inner)) return false;
        if (!parse_expect(p, ')', "an alias")) return false;
        if (output.count > 1 || inner.count > 0)
            return PARSE_FAIL(
                p, where, UNSUPPORTED,
                "an alias inside nested tuples is not supported (output index of %d numbers, operand index of %d); "
                "at most 1 and 0 are",
                output.count, inner.count);
        VEC_PUSH(list) = output.count ? output.items[0] : -1;
        VEC_PUSH(list) = operand;
    }
    return true;
}

static bool parse_aliasing(parse *p, ir_dims *out)
{
    int_list list = {0};
    bool good = aliasing_items(p, &list);
    *out = take_list(p, &list);
    return good;
}

static bool parse_value_of(parse *p, const ir_attr_row *row, ir_attrs *attrs)
{
    void *field = ir_attr_field(attrs, row);
    switch (row->kind) {
    case IR_ATTR_INT:
        return parse_int(p, field);
    case IR_ATTR_INT32:
        return parse_int32(p, field);
    case IR_ATTR_BOOL:
        return parse_bool(p, field);
    case IR_ATTR_STRING:
        return parse_string(p, field);
    case IR_ATTR_DIM:
        return parse_one_dim(p, field);
    case IR_ATTR_DIMS:
        return parse_int_list(p, field);
    case IR_ATTR_SLICE:
        return parse_triples(p, slice_items, attrs);
    case IR_ATTR_PADDING:
        return parse_triples(p, padding_items, attrs);
    case IR_ATTR_DIRECTION:
        return parse_direction(p, field);
    case IR_ATTR_COMPARE_TYPE:
        return parse_compare_type(p, field);
    case IR_ATTR_PRECISION:
        return parse_precision(p, field);
    case IR_ATTR_COMPUTATION:
        return parse_callee_name(p, field);
    case IR_ATTR_TRUE_BRANCH:
        return parse_branch(p, 0, attrs);
    case IR_ATTR_FALSE_BRANCH:
        return parse_branch(p, 1, attrs);
    case IR_ATTR_BRANCHES:
        return parse_branches(p, attrs);
    case IR_ATTR_FUSION_KIND:
        return parse_fusion_kind(p);
    case IR_ATTR_ALIASING:
        return parse_aliasing(p, field);
    case IR_ATTR_KIND_COUNT:
        break;
    }
    return false;
}

// {op_type="..." op_name="..." source_file="..." source_line=3 stack_frame_id=7 ...}
static bool parse_metadata(parse *p, parse_extra *extra)
{
    if (!parse_expect(p, '{', "metadata=")) return false;
    while (!ir_lex_accept(&p->lex, '}')) {
        ir_text key;
        if (!ir_lex_name(&p->lex, &key) || !ir_lex_accept(&p->lex, '=')) return expected(p, "key=value of metadata");
        bool good;
        if (ir_text_is(key, "op_name"))
            good = ir_lex_string(&p->lex, p->module->arena, &extra->op_name);
        else if (ir_text_is(key, "source_file"))
            good = ir_lex_string(&p->lex, p->module->arena, &extra->source_file);
        else if (ir_text_is(key, "source_line"))
            good = ir_lex_int(&p->lex, &extra->source_line);
        else if (ir_text_is(key, "stack_frame_id"))
            good = ir_lex_int(&p->lex, &extra->stack_frame);
        else
            good = ir_lex_skip_value(&p->lex, NULL);
        if (!good) return expected(p, "a value of metadata");
        ir_lex_accept(&p->lex, ',');
    }
    return true;
}

// Keys without a row for the op: metadata, those of reduce-window (which has a normal form), those without meaning.
static bool parse_foreign(parse *p, const char *where, ir_text opcode, ir_text key, ir_attrs *attrs, parse_extra *extra)
{
    const bool window = ir_text_is(opcode, "reduce-window");
    if (ir_text_is(key, "metadata")) return parse_metadata(p, extra);
    if (window && ir_text_is(key, "window"))
        return ir_lex_skip_group(&p->lex, &extra->window) || expected(p, "a window");
    if (window && ir_text_is(key, "to_apply")) return parse_callee_name(p, &attrs->computations[0]);
    return parse_ignored(p, where, opcode, key);
}

// Of an opcode that is not known: what its attributes mean cannot be judged, and the opcode has been reported.
static bool skip_attributes(parse *p)
{
    while (ir_lex_accept(&p->lex, ',')) {
        ir_text key;
        if (!ir_lex_name(&p->lex, &key) || !ir_lex_accept(&p->lex, '=')) return expected(p, "key=value of an attribute");
        if (!ir_lex_skip_value(&p->lex, NULL)) return expected(p, "a value");
    }
    return true;
}

bool parse_attributes(parse *p, ir_op op, ir_text opcode, const char *where, ir_attrs *attrs, parse_extra *extra)
{
    if (op == IR_OP_COUNT && !parse_is_normalised(opcode)) return skip_attributes(p);
    bool seen[128] = {0};
    BUG_ON(ir_attr_row_count > (int)COUNT_OF(seen));
    while (ir_lex_accept(&p->lex, ',')) {
        ir_text key;
        ir_lex_skip(&p->lex);
        const char *at = p->lex.at;
        if (!ir_lex_name(&p->lex, &key)) return expected(p, "key=value of an attribute");
        if (!ir_lex_accept(&p->lex, '='))
            return PARSE_FAIL(p, at, INVALID, "expected key=value of an attribute, found '%.*s'", key.size, key.data);
        const ir_attr_row *row = op < IR_OP_COUNT ? ir_attr_find(op, key.data, (size_t)key.size) : NULL;
        if (row && seen[row - ir_attr_rows])
            return PARSE_FAIL(p, at, INVALID, "'%s' has attribute '%s' twice", ir_op_name(op), row->key);
        if (row) seen[row - ir_attr_rows] = true;
        if (row ? !parse_value_of(p, row, attrs) : !parse_foreign(p, at, opcode, key, attrs, extra)) return false;
    }
    for (int r = 0; r < ir_attr_row_count; r++)
        if (ir_attr_rows[r].op == op && ir_attr_rows[r].required && !seen[r])
            return PARSE_FAIL(p, where, INVALID, "'%s' lacks the attribute '%s'", ir_op_name(op), ir_attr_rows[r].key);
    return true;
}
