// SPDX-License-Identifier: Apache-2.0
// The printer: HLO text in XLA's form, such that parsing it and printing again gives the same bytes.
//
// Computations are written callees first, whatever order they were built in. Layouts are written in
// entry_computation_layout only: inside, every array is row-major. Works on modules that do not verify, too, since a
// pass that went wrong is what one wants to look at.
#include <string.h>

#include "ir/attrs.h"
#include "ir/literal.h"
#include "ir/module.h"

// ---- values of attributes ----

static void put_dims(glia_strbuf *out, const ir_dims *d)
{
    glia_put(out, "{");
    for (int i = 0; i < d->count; i++)
        glia_putf(out, "%s%lld", i ? "," : "", (long long)d->items[i]);
    glia_put(out, "}");
}

static void put_string(glia_strbuf *out, const char *s)
{
    glia_put(out, "\"");
    for (; s && *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            glia_putf(out, "\\%c", c);
        else if (c == '\n')
            glia_put(out, "\\n");
        else if (c < 0x20 || c == 0x7f)
            glia_putf(out, "\\%03o", c);
        else
            glia_put_u8(out, c);
    }
    glia_put(out, "\"");
}

static void put_slice(glia_strbuf *out, const ir_attrs *a)
{
    glia_put(out, "{");
    for (int i = 0; i < a->starts.count; i++) {
        glia_putf(out, "%s[%lld:%lld", i ? ", " : "", (long long)a->starts.items[i], (long long)a->limits.items[i]);
        if (a->strides.items[i] != 1) glia_putf(out, ":%lld", (long long)a->strides.items[i]);
        glia_put(out, "]");
    }
    glia_put(out, "}");
}

static void put_padding(glia_strbuf *out, const ir_attrs *a)
{
    for (int i = 0; i < a->starts.count; i++) {
        glia_putf(out, "%s%lld_%lld", i ? "x" : "", (long long)a->starts.items[i], (long long)a->limits.items[i]);
        if (a->strides.items[i]) glia_putf(out, "_%lld", (long long)a->strides.items[i]);
    }
}

static void put_computation(glia_strbuf *out, const ir_computation *c)
{
    glia_put(out, c ? c->name : "(none)");
}

static void put_branches(glia_strbuf *out, const ir_attrs *a)
{
    glia_put(out, "{");
    for (int i = 0; i < a->branch_count; i++) {
        if (i) glia_put(out, ", ");
        put_computation(out, a->branches[i]);
    }
    glia_put(out, "}");
}

// Flat pairs: output element (-1: the whole output), operand.
static void put_aliasing(glia_strbuf *out, const ir_dims *d)
{
    glia_put(out, "{");
    for (int i = 0; i + 1 < d->count; i += 2) {
        glia_put(out, i ? ", {" : "{");
        if (d->items[i] >= 0) glia_putf(out, "%lld", (long long)d->items[i]);
        glia_putf(out, "}: (%lld, {})", (long long)d->items[i + 1]);
    }
    glia_put(out, "}");
}

static bool two_way(const ir_inst *i)
{
    return i->attrs.branch_count == 2 && i->operand_count > 0 && i->operands[0] && !i->operands[0]->shape.is_tuple &&
           i->operands[0]->shape.dtype == NUM_BOOL;
}

static bool is_default(const ir_inst *i, const ir_attr_row *row)
{
    const void *field = ir_attr_field_const(&i->attrs, row);
    switch (row->kind) {
    case IR_ATTR_INT:
    case IR_ATTR_DIM:
        return *(const int64_t *)field == 0;
    case IR_ATTR_INT32:
        return *(const int *)field == 0;
    case IR_ATTR_BOOL:
        return !*(const bool *)field;
    case IR_ATTR_STRING:
    case IR_ATTR_PRECISION:
        return !*(const char *const *)field || !**(const char *const *)field;
    case IR_ATTR_DIMS:
    case IR_ATTR_SLICE:
    case IR_ATTR_PADDING:
    case IR_ATTR_ALIASING:
        return ((const ir_dims *)field)->count == 0;
    case IR_ATTR_COMPARE_TYPE:
        return i->attrs.compare_type == IR_COMPARE_DEFAULT;
    case IR_ATTR_TRUE_BRANCH:
    case IR_ATTR_FALSE_BRANCH:
        return !two_way(i);
    case IR_ATTR_BRANCHES:
        return two_way(i);
    case IR_ATTR_DIRECTION:
    case IR_ATTR_COMPUTATION:
    case IR_ATTR_FUSION_KIND:
    case IR_ATTR_KIND_COUNT:
        return false;
    }
    return false;
}

static void put_value(glia_strbuf *out, const ir_inst *i, const ir_attr_row *row)
{
    const ir_attrs *a = &i->attrs;
    const void *field = ir_attr_field_const(a, row);
    switch (row->kind) {
    case IR_ATTR_INT:
        glia_putf(out, "%lld", (long long)*(const int64_t *)field);
        return;
    case IR_ATTR_INT32:
        glia_putf(out, "%d", *(const int *)field);
        return;
    case IR_ATTR_BOOL:
        glia_put(out, *(const bool *)field ? "true" : "false");
        return;
    case IR_ATTR_STRING:
        put_string(out, *(const char *const *)field);
        return;
    case IR_ATTR_DIM:
        glia_putf(out, "{%lld}", (long long)*(const int64_t *)field);
        return;
    case IR_ATTR_DIMS:
        put_dims(out, field);
        return;
    case IR_ATTR_SLICE:
        put_slice(out, a);
        return;
    case IR_ATTR_PADDING:
        put_padding(out, a);
        return;
    case IR_ATTR_DIRECTION:
        glia_put(out, ir_direction_name(a->direction));
        return;
    case IR_ATTR_COMPARE_TYPE:
        glia_put(out, "TOTALORDER");
        return;
    case IR_ATTR_PRECISION:
        glia_putf(out, "{%s}", a->operand_precision);
        return;
    case IR_ATTR_COMPUTATION:
        put_computation(out, *(ir_computation *const *)field);
        return;
    case IR_ATTR_TRUE_BRANCH:
        put_computation(out, a->branches[0]);
        return;
    case IR_ATTR_FALSE_BRANCH:
        put_computation(out, a->branches[1]);
        return;
    case IR_ATTR_BRANCHES:
        put_branches(out, a);
        return;
    case IR_ATTR_FUSION_KIND:
        glia_put(out, "kLoop");
        return;
    case IR_ATTR_ALIASING:
        put_aliasing(out, field);
        return;
    case IR_ATTR_KIND_COUNT:
        return;
    }
}

// ---- instructions ----

// Nested braces around row-major elements; a dim of size 0 prints as empty braces.
static void put_array(glia_strbuf *out, const ir_shape *s, const char *data)
{
    int64_t total = ir_shape_elements(s);
    size_t step = ir_dtype_bytes(s->dtype);
    if (total == 0) {
        glia_put(out, "{}");
        return;
    }
    for (int64_t e = 0; e < total; e++) {
        int64_t stride = 1;
        int opened = 0, closed = 0; // dims that begin or end at this element
        for (int d = s->rank - 1; d >= 0; d--) {
            stride *= s->dims[d];
            opened += e % stride == 0;
            closed += (e + 1) % stride == 0;
        }
        if (e) glia_put(out, ", ");
        for (int d = 0; d < opened; d++)
            glia_put(out, d + 1 < opened || s->rank > 1 ? "{ " : "{");
        ir_literal_put(out, s->dtype, data + (size_t)e * step);
        for (int d = 0; d < closed; d++)
            glia_put(out, s->rank > 1 ? " }" : "}");
    }
}

static void put_literal(glia_strbuf *out, const ir_inst *i)
{
    if (i->shape.is_tuple || i->attrs.literal.size_bytes != ir_shape_bytes(&i->shape))
        glia_put(out, "{...}"); // does not verify; the parser refuses it
    else if (i->shape.rank == 0)
        ir_literal_put(out, i->shape.dtype, i->attrs.literal.data);
    else
        put_array(out, &i->shape, i->attrs.literal.data);
}

static void put_operands(glia_strbuf *out, const ir_inst *i)
{
    glia_put(out, "(");
    if (i->op == IR_PARAMETER) glia_putf(out, "%lld", (long long)i->attrs.index);
    if (i->op == IR_CONSTANT) put_literal(out, i);
    for (int n = 0; n < i->operand_count; n++)
        glia_putf(out, "%s%s", n ? ", " : "", i->operands[n] ? i->operands[n]->name : "(none)");
    glia_put(out, ")");
}

// "name @ file:line" is how the parser keeps a framework's source line in op_name; it is written back as its parts.
static void put_metadata(glia_strbuf *out, const char *op_name)
{
    const char *at = NULL, *colon = strrchr(op_name, ':');
    for (const char *p = op_name; (p = strstr(p, " @ ")); p++)
        at = p;
    bool source = at && colon && colon > at + 3 && colon[1] && strlen(colon + 1) < 10 &&
                  strspn(colon + 1, "0123456789") == strlen(colon + 1);
    AUTO_VALUE(glia_strbuf) part = {0};
    glia_put(out, ", metadata={op_name=");
    glia_put_bytes(&part, op_name, source ? (size_t)(at - op_name) : strlen(op_name));
    put_string(out, glia_strbuf_str(&part));
    if (source) {
        glia_strbuf_clear(&part);
        glia_put_bytes(&part, at + 3, (size_t)(colon - at - 3));
        glia_put(out, " source_file=");
        put_string(out, glia_strbuf_str(&part));
        glia_putf(out, " source_line=%s", colon + 1);
    }
    glia_put(out, "}");
}

void ir_print_inst(glia_strbuf *out, const ir_inst *i)
{
    glia_putf(out, "%s = ", i->name);
    ir_shape_print(out, &i->shape);
    glia_putf(out, " %s", ir_op_name(i->op));
    put_operands(out, i);
    for (int r = 0; r < ir_attr_row_count; r++) {
        const ir_attr_row *row = &ir_attr_rows[r];
        if (row->op != i->op || (!row->required && is_default(i, row))) continue;
        glia_putf(out, ", %s=", row->key);
        put_value(out, i, row);
    }
    if (i->loc.op_name && *i->loc.op_name) put_metadata(out, i->loc.op_name);
}

// ---- modules ----

static void put_layout_shape(glia_strbuf *out, const ir_shape *s)
{
    if (s->is_tuple) {
        glia_put(out, "(");
        for (int i = 0; i < s->tuple_size; i++) {
            if (i) glia_put(out, ", ");
            put_layout_shape(out, &s->elements[i]);
        }
        glia_put(out, ")");
        return;
    }
    ir_shape_print(out, s);
    if (s->rank == 0) return;
    glia_put(out, "{");
    for (int d = 0; d < s->rank; d++)
        glia_putf(out, "%s%d", d ? "," : "", s->minor_to_major ? s->minor_to_major[d] : s->rank - 1 - d);
    glia_put(out, "}");
}

static void put_header(glia_strbuf *out, const ir_module *m)
{
    glia_putf(out, "HloModule %s", m->name);
    const ir_inst *root = m->entry ? m->entry->root : NULL;
    for (uint32_t i = 0; i < m->aliases.count; i++) {
        const ir_alias *a = &m->aliases.items[i];
        glia_put(out, i ? ", {" : ", input_output_alias={ {");
        if (root && root->shape.is_tuple) glia_putf(out, "%d", a->output_index);
        glia_putf(out, "}: (%d, {}, %s-alias)", a->parameter, a->must ? "must" : "may");
    }
    if (m->aliases.count) glia_put(out, " }");
    if (root) {
        glia_put(out, ", entry_computation_layout={(");
        for (uint32_t i = 0; i < m->entry->params.count; i++) {
            if (i) glia_put(out, ", ");
            if (m->entry->params.items[i]) put_layout_shape(out, &m->entry->params.items[i]->shape);
        }
        glia_put(out, ")->");
        put_layout_shape(out, &root->shape);
        glia_put(out, "}");
    }
    glia_put(out, "\n");
}

static void put_computation_body(glia_strbuf *out, const ir_computation *c)
{
    glia_putf(out, "\n%s%s {\n", c == c->module->entry ? "ENTRY " : "", c->name);
    for (uint32_t i = 0; i < c->insts.count; i++) {
        glia_put(out, c->insts.items[i] == c->root ? "  ROOT " : "  ");
        ir_print_inst(out, c->insts.items[i]);
        glia_put(out, "\n");
    }
    glia_put(out, "}\n");
}

typedef struct walk {
    const ir_module *m;
    uint8_t *state; // by computation id: 0 new, 1 waiting for callees, 2 written
    VEC(const ir_computation *) stack;
} walk;

static void push_new(walk *w, const ir_computation *c)
{
    if (c && c->module == w->m && w->state[c->id] == 0) VEC_PUSH(&w->stack) = c;
}

// Callees go on the stack in reverse, so that the first one is written first.
static void push_callees(walk *w, const ir_computation *c)
{
    for (uint32_t n = c->insts.count; n-- > 0;) {
        const ir_attrs *a = &c->insts.items[n]->attrs;
        for (int i = a->branch_count; i-- > 0;)
            push_new(w, a->branches[i]);
        for (int i = 2; i-- > 0;)
            push_new(w, a->computations[i]);
    }
}

void ir_print(glia_strbuf *out, const ir_module *m)
{
    walk w = {.m = m, .state = glia_alloc((size_t)m->computations.count + 1)};
    put_header(out, m);
    for (uint32_t i = 0; i < m->computations.count; i++) {
        push_new(&w, m->computations.items[i]);
        while (w.stack.count) {
            const ir_computation *c = w.stack.items[w.stack.count - 1];
            if (w.state[c->id] == 0) {
                w.state[c->id] = 1;
                push_callees(&w, c);
                continue;
            }
            w.stack.count--;
            if (w.state[c->id] == 1) put_computation_body(out, c);
            w.state[c->id] = 2;
        }
    }
    VEC_FREE(&w.stack);
    glia_free(w.state);
}
