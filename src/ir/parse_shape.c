// SPDX-License-Identifier: Apache-2.0
// Shapes in HLO text: f32[2,3]{1,0:T(8,128)}, (f32[], s32[4]), token[]. Tuples nest, up to a limit; the stack of open
// tuples is ours, not the C stack.
#include <string.h>

#include "ir/parse.h"

static bool dtype_of(ir_text name, num_dtype *out)
{
    num_dtype t = num_dtype_find(name.data, (size_t)name.size);
    const num_dtype_info *info = num_dtype_get(t);
    *out = t;
    return t != NUM_DTYPE_NONE && ir_text_is(name, *info->hlo ? info->hlo : info->name);
}

bool parse_at_shape(parse *p)
{
    ir_lex ahead = p->lex;
    ir_text name;
    if (ir_lex_peek(&ahead, '(')) return true;
    if (ir_lex_peek(&ahead, '%') || !ir_lex_name(&ahead, &name)) return false;
    return ir_lex_peek(&ahead, '[');
}

static bool parse_dims(parse *p, ir_shape *out)
{
    int64_t dims[IR_RANK_LIMIT];
    int rank = 0;
    while (!ir_lex_accept(&p->lex, ']')) {
        const char *where = p->lex.at;
        if (rank == IR_RANK_LIMIT)
            return PARSE_FAIL(p, where, INVALID, "an array has more than %d dims", IR_RANK_LIMIT);
        if (rank && !parse_expect(p, ',', "a dim")) return false;
        if (ir_lex_accept(&p->lex, '?'))
            return PARSE_FAIL(p, where, UNSUPPORTED, "a dim without a bound ('?') is not supported; a number is");
        // An array of fewer elements than the bound would be computed as if it were full.
        if (ir_lex_accept_text(&p->lex, "<="))
            return PARSE_FAIL(p, where, UNSUPPORTED, "dim %d of an array is a bound ('<='), which is not supported; a number is\n"
                              "hint: compile once for each size, padded where that keeps the meaning", rank);
        if (!ir_lex_int(&p->lex, &dims[rank]) || dims[rank] < 0)
            return PARSE_FAIL(p, where, INVALID, "expected a dim from 0 to 2^63-1, found %s", parse_found(p));
        rank++;
    }
    *out = ir_shape_array_in(p->module->arena, out->dtype, rank, dims);
    return true;
}

// '{' starts a layout only before a digit or ':' (a computation's body may follow a shape, too), or as "{}".
static bool at_layout(parse *p)
{
    const char *at = p->lex.at;
    if (p->lex.end - at < 2 || *at != '{') return false;
    return at[1] == ':' || at[1] == '}' || (at[1] >= '0' && at[1] <= '9');
}

static bool parse_layout(parse *p, ir_shape *s)
{
    const char *where = p->lex.at;
    int order[IR_RANK_LIMIT];
    bool seen[IR_RANK_LIMIT] = {0};
    int count = 0;
    ir_text all;
    if (!ir_lex_skip_group(&p->lex, &all)) return PARSE_FAIL(p, where, INVALID, "a layout's '{' is never closed");
    ir_lex inside = ir_lex_of((glia_span){(const uint8_t *)all.data + 1, (size_t)all.size - 2});
    int64_t dim;
    while (ir_lex_int(&inside, &dim)) {
        if (dim < 0 || dim >= s->rank || seen[dim])
            return PARSE_FAIL(p, where, INVALID, "layout '%.*s' does not permute the %d dims of the shape", all.size,
                              all.data, s->rank);
        seen[dim] = true;
        order[count++] = (int)dim;
        ir_lex_accept(&inside, ',');
    }
    if (count != 0 && count != s->rank)
        return PARSE_FAIL(p, where, INVALID, "layout '%.*s' orders %d dims, the shape has %d", all.size, all.data,
                          count, s->rank);
    if (memmem(all.data, (size_t)all.size, "D(", 2)) // per dim dense, compressed, singleton: of a sparse array
        return PARSE_FAIL(p, where, UNSUPPORTED, "layout '%.*s' is of a sparse array, which is not supported; dense ones are",
                          all.size, all.data);
    if (count == 0 || ir_layout_is_default(s->rank, order)) return true; // tiling and memory space do not matter here
    int *copy = ARENA_ARRAY(p->module->arena, int, (size_t)count);
    s->minor_to_major = memcpy(copy, order, (size_t)count * sizeof *copy);
    return true;
}

// A token is a tuple of nothing: it only orders, which the order of instructions does.
static bool parse_array(parse *p, ir_shape *out)
{
    ir_text name;
    ir_lex_skip(&p->lex);
    const char *where = p->lex.at;
    if (!ir_lex_name(&p->lex, &name))
        return PARSE_FAIL(p, where, INVALID, "expected a shape, found %s", parse_found(p));
    *out = (ir_shape){0};
    if (ir_text_is(name, "token")) {
        if (ir_lex_accept(&p->lex, '[') && !parse_expect(p, ']', "token[")) return false;
        out->is_tuple = 1;
        return true;
    }
    if (!dtype_of(name, &out->dtype))
        return PARSE_FAIL(p, where, UNSUPPORTED,
                          "'%.*s' is no element type that this build knows; types are rows of num/dtypes.def",
                          name.size, name.data);
    if (!parse_expect(p, '[', "an element type") || !parse_dims(p, out)) return false;
    return !at_layout(p) || parse_layout(p, out);
}

typedef struct open_tuple {
    VEC(ir_shape) elements;
} open_tuple;

static void close_tuple(parse *p, open_tuple *t, ir_shape *out)
{
    ir_shape *elements = ARENA_ARRAY(p->module->arena, ir_shape, t->elements.count);
    if (t->elements.count) memcpy(elements, t->elements.items, t->elements.count * sizeof *elements);
    *out = (ir_shape){.is_tuple = 1, .tuple_size = (int)t->elements.count, .elements = elements};
    t->elements.count = 0;
}

static bool parse_nested(parse *p, open_tuple *open, ir_shape *out)
{
    int depth = 0;
    for (;;) {
        const char *where = p->lex.at;
        bool complete = false;
        if (ir_lex_accept(&p->lex, '(')) {
            if (depth == IR_TUPLE_DEPTH_LIMIT)
                return PARSE_FAIL(p, where, INVALID, "a tuple is more than %d levels deep", IR_TUPLE_DEPTH_LIMIT);
            depth++;
            complete = ir_lex_accept(&p->lex, ')');
            if (complete) close_tuple(p, &open[--depth], out);
        } else {
            if (!parse_array(p, out)) return false;
            complete = true;
        }
        while (complete && depth > 0) { // `out` is an element of the innermost open tuple
            open_tuple *t = &open[depth - 1];
            if (t->elements.count == PARSE_LIST_LIMIT)
                return PARSE_FAIL(p, where, INVALID, "a tuple has more than %d elements", PARSE_LIST_LIMIT);
            VEC_PUSH(&t->elements) = *out;
            if (ir_lex_accept(&p->lex, ',')) break;
            if (!parse_expect(p, ')', "a tuple's element")) return false;
            close_tuple(p, &open[--depth], out);
        }
        if (complete && depth == 0) return true;
    }
}

bool parse_shape(parse *p, ir_shape *out)
{
    open_tuple open[IR_TUPLE_DEPTH_LIMIT] = {0};
    ir_lex_skip(&p->lex);
    const char *where = p->lex.at;
    bool good = parse_nested(p, open, out);
    for (int i = 0; i < IR_TUPLE_DEPTH_LIMIT; i++)
        VEC_FREE(&open[i].elements);
    if (!good) return false;
    glia_status bad = ir_shape_check(out);
    return bad ? parse_fail(p, where, bad) : true;
}
