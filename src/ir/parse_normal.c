// SPDX-License-Identifier: Apache-2.0
// Opcodes of HLO text that have no row of their own, since they are made of rows:
//
//   domain, add-dependency   their first operand
//   after-all                an empty tuple (a token orders, and so does the order of instructions)
//   bitcast                  transpose to the operand's byte order, reshape, transpose from the result's byte order
//   reduce-window            when windows tile the operand (stride = size, no padding, no dilation): reshape, reduce
#include <string.h>

#include "ir/parse.h"

typedef ir_inst *normal_fn(parse *p, ir_builder *b, const parse_written *w);

static ir_inst *refuse(ir_builder *b, const parse_written *w, glia_status problem)
{
    AUTO_VALUE(glia_strbuf) place = {0};
    glia_putf(&place, "%s:%d:%d", b->loc.file, b->loc.line, b->loc.column);
    b->error = glia_status_prefix(problem, "%s", glia_strbuf_str(&place));
    return NULL;
}
#define REFUSE(b, w, code, ...) refuse((b), (w), GLIA_FAIL(code, __VA_ARGS__))

static ir_inst *first_operand(parse *p, ir_builder *b, const parse_written *w)
{
    if (w->operand_count < 1) return REFUSE(b, w, INVALID, "'%.*s' has no operand", w->opcode.size, w->opcode.data);
    if (!ir_shape_equal(&w->operands[0]->shape, w->shape))
        return REFUSE(b, w, INVALID, "'%.*s' is stated to give %s, its operand '%s' is %s", w->opcode.size,
                      w->opcode.data, ir_shape_text(p->module->arena, w->shape), w->operands[0]->name,
                      ir_shape_text(p->module->arena, &w->operands[0]->shape));
    return w->operands[0];
}

static ir_inst *empty_tuple(parse *p, ir_builder *b, const parse_written *w)
{
    return ir_make(b, IR_TUPLE, w->shape, 0, NULL, NULL);
}

// The dims in the order in which they lie in memory, outermost first: [i] = logical dim.
static void memory_order(const ir_shape *s, int64_t *order)
{
    for (int i = 0; i < s->rank; i++)
        order[i] = s->minor_to_major ? s->minor_to_major[s->rank - 1 - i] : i;
}

static ir_inst *transposed(ir_builder *b, ir_inst *x, const int64_t *permutation)
{
    for (int i = 0; i < x->shape.rank; i++)
        if (permutation[i] != i) return ir_transpose(b, x, permutation);
    return x;
}

static ir_inst *normal_bitcast(parse *p, ir_builder *b, const parse_written *w)
{
    const ir_shape *to = w->declared, *from = w->operand_count == 1 ? w->operand_layouts[0] : NULL;
    if (w->operand_count != 1) return REFUSE(b, w, INVALID, "'bitcast' has %d operands, it takes 1", w->operand_count);
    ir_inst *x = w->operands[0];
    if (!from) from = &x->shape;
    if (from->is_tuple || to->is_tuple || num_bits(from->dtype) != num_bits(to->dtype))
        return REFUSE(b, w, UNSUPPORTED, "'bitcast' from %s to %s is not supported; arrays of equal element sizes are",
                      ir_shape_text(p->module->arena, from), ir_shape_text(p->module->arena, to));
    int64_t order[IR_RANK_LIMIT], dims[IR_RANK_LIMIT], inverse[IR_RANK_LIMIT];
    memory_order(from, order);
    x = transposed(b, x, order);
    memory_order(to, order);
    for (int i = 0; i < to->rank; i++) {
        dims[i] = to->dims[order[i]];
        inverse[order[i]] = i;
    }
    ir_shape in_memory = {.dtype = x->shape.dtype, .rank = to->rank, .dims = dims};
    if (!b->error && !ir_shape_dims_equal(&x->shape, &in_memory)) x = ir_reshape(b, x, to->rank, dims);
    x = transposed(b, x, inverse);
    if (!b->error && from->dtype != to->dtype) x = ir_make(b, IR_BITCAST_CONVERT, w->shape, 1, &x, NULL);
    return x;
}

// ---- reduce-window ----

typedef struct window_dim {
    int64_t size, stride, low, high, lhs_dilate, rhs_dilate, reversal;
} window_dim;

// One item of a window: numbers per dim, joined by 'x'; pad has two, joined by '_'.
static bool window_numbers(ir_lex *l, window_dim *dims, int rank, size_t field, bool pair)
{
    for (int d = 0; d < rank; d++) {
        int64_t *value = (int64_t *)((char *)&dims[d] + field);
        if (d && !ir_lex_accept(l, 'x')) return false;
        if (!ir_lex_int(l, value) || (pair && (!ir_lex_accept(l, '_') || !ir_lex_int(l, value + 1)))) return false;
    }
    return true;
}

static bool read_window(ir_text text, window_dim *dims, int rank)
{
    static const struct {
        const char *key;
        size_t field;
        bool pair;
    } items[] = {
        {"size", offsetof(window_dim, size), false},
        {"stride", offsetof(window_dim, stride), false},
        {"pad", offsetof(window_dim, low), true},
        {"lhs_dilate", offsetof(window_dim, lhs_dilate), false},
        {"rhs_dilate", offsetof(window_dim, rhs_dilate), false},
        {"rhs_reversal", offsetof(window_dim, reversal), false},
    };
    if (text.size < 2) return false;
    ir_lex l = ir_lex_of((glia_span){(const uint8_t *)text.data + 1, (size_t)text.size - 2});
    for (int d = 0; d < rank; d++)
        dims[d] = (window_dim){.size = 1, .stride = 1, .lhs_dilate = 1, .rhs_dilate = 1};
    while (!ir_lex_done(&l)) {
        ir_text key;
        bool read = false;
        if (!ir_lex_name(&l, &key) || !ir_lex_accept(&l, '=')) return false;
        for (size_t i = 0; i < COUNT_OF(items); i++)
            if (ir_text_is(key, items[i].key)) read = window_numbers(&l, dims, rank, items[i].field, items[i].pair);
        if (!read) return false;
    }
    return true;
}

static bool tiles(const window_dim *w, int64_t dim)
{
    bool plain = w->low == 0 && w->high == 0 && w->lhs_dilate == 1 && w->rhs_dilate == 1 && w->reversal == 0;
    return plain && w->size >= 1 && dim % w->size == 0 && (w->stride == w->size || w->size == dim);
}

static ir_inst *normal_reduce_window(parse *p, ir_builder *b, const parse_written *w)
{
    window_dim window[IR_RANK_LIMIT];
    int64_t dims[2 * IR_RANK_LIMIT], over[IR_RANK_LIMIT];
    int rank = 0, over_count = 0, inputs = w->operand_count / 2;
    if (w->operand_count < 2 || w->operand_count % 2 || w->operands[0]->shape.is_tuple)
        return REFUSE(b, w, INVALID, "'reduce-window' has %d operands; it takes arrays and as many initial values",
                      w->operand_count);
    const ir_shape *x = &w->operands[0]->shape;
    if (!read_window(w->extra.window, window, x->rank))
        return REFUSE(b, w, INVALID, "'reduce-window' of %s has no window of %d dims in '%.*s'",
                      ir_shape_text(p->module->arena, x), x->rank, w->extra.window.size,
                      w->extra.window.data ? w->extra.window.data : "");
    for (int d = 0; d < x->rank; d++) {
        if (!tiles(&window[d], x->dims[d]))
            return REFUSE(
                b, w, UNSUPPORTED,
                "'reduce-window' with window '%.*s' of %s is not supported; windows that tile the operand are "
                "(stride = size, no padding), as 'reduce' is",
                w->extra.window.size, w->extra.window.data, ir_shape_text(p->module->arena, x));
        dims[rank++] = x->dims[d] / window[d].size;
        if (window[d].size == 1) continue;
        over[over_count++] = rank;
        dims[rank++] = window[d].size;
    }
    const char *name = b->name;
    ir_inst **operands = ARENA_ARRAY(p->module->arena, ir_inst *, (size_t)w->operand_count);
    memcpy(operands, w->operands, (size_t)w->operand_count * sizeof *operands);
    for (int i = 0; i < inputs; i++) {
        b->name = NULL;
        operands[i] = ir_reshape(b, operands[i], rank, dims);
    }
    if (!b->error) b->name = name;
    ir_attrs attrs = {.dimensions = {.count = over_count, .items = over}, .computations = {w->attrs.computations[0]}};
    return ir_make(b, IR_REDUCE, w->shape, w->operand_count, operands, &attrs);
}

static const struct {
    const char *opcode;
    normal_fn *make;
} normal_forms[] = {
    {"domain", first_operand},   {"add-dependency", first_operand},       {"after-all", empty_tuple},
    {"bitcast", normal_bitcast}, {"reduce-window", normal_reduce_window},
};

bool parse_is_normalised(ir_text opcode)
{
    for (size_t i = 0; i < COUNT_OF(normal_forms); i++)
        if (ir_text_is(opcode, normal_forms[i].opcode)) return true;
    return false;
}

ir_inst *parse_normalise(parse *p, ir_builder *b, const parse_written *w)
{
    for (size_t i = 0; i < COUNT_OF(normal_forms); i++)
        if (ir_text_is(w->opcode, normal_forms[i].opcode)) return normal_forms[i].make(p, b, w);
    return NULL;
}
