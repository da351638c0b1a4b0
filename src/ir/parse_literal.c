// SPDX-License-Identifier: Apache-2.0
// Constants in HLO text: { { 1, 2 }, { 3, 4 } } in row-major order, whatever the layout says.
//
// Memory is taken only after a look at how much text is left (an element needs a character at least), so that a short
// text cannot ask for a large array. Braces are counted, per depth, against the dims.
#include <string.h>

#include "ir/literal.h"
#include "ir/parse.h"

typedef struct reader {
    parse *p;
    const ir_shape *shape;
    char *data;
    int64_t total, done;               // elements
    size_t step;                       // bytes of one
    int depth;                         // open braces
    int64_t counts[IR_RANK_LIMIT + 1]; // children so far of the brace at each depth; [0] counts the whole
} reader;

static bool element(reader *r)
{
    ir_lex *l = &r->p->lex;
    if (r->done == r->total)
        return PARSE_FAIL(r->p, l->at, INVALID, "'constant' has more than the %lld elements of %s", (long long)r->total,
                          ir_shape_text(r->p->module->arena, r->shape));
    glia_status bad = ir_literal_get(&l->at, l->end, r->shape->dtype, r->data + (size_t)r->done * r->step);
    if (bad) return parse_fail(r->p, l->at, glia_status_prefix(bad, "'constant'"));
    r->done++;
    return true;
}

// Before each child of a brace: a comma if it is not the first, and room in the dim.
static bool begin_child(reader *r)
{
    if (r->counts[r->depth]++ && !parse_expect(r->p, ',', "an element of a constant")) return false;
    ir_lex_skip(&r->p->lex);
    return true;
}

static bool close_brace(reader *r)
{
    int64_t want = r->shape->dims[r->depth - 1];
    if (r->counts[r->depth] != want && r->total)
        return PARSE_FAIL(r->p, r->p->lex.at - 1, INVALID,
                          "'constant' of %s has %lld elements in dim %d, the shape %lld",
                          ir_shape_text(r->p->module->arena, r->shape), (long long)r->counts[r->depth], r->depth - 1,
                          (long long)want);
    r->depth--;
    return true;
}

static bool array(reader *r)
{
    ir_lex *l = &r->p->lex;
    do {
        if (r->depth > 0 && ir_lex_accept(l, '}')) {
            if (!close_brace(r)) return false;
            continue;
        }
        if (!begin_child(r)) return false;
        if (l->at < l->end && *l->at == '{') {
            if (r->depth == r->shape->rank)
                return PARSE_FAIL(r->p, l->at, INVALID, "'constant' nests braces deeper than the %d dims of %s",
                                  r->shape->rank, ir_shape_text(r->p->module->arena, r->shape));
            l->at++;
            r->counts[++r->depth] = 0;
        } else if (r->depth < r->shape->rank) {
            return PARSE_FAIL(r->p, l->at, INVALID, "expected '{' of dim %d of a constant, found %s", r->depth,
                              parse_found(r->p));
        } else if (!element(r)) {
            return false;
        }
    } while (r->depth > 0);
    return true;
}

static bool check_size(parse *p, const ir_shape *shape)
{
    if (shape->is_tuple)
        return PARSE_FAIL(p, p->lex.at, UNSUPPORTED,
                          "'constant' of a tuple is not supported; write its elements as constants and a 'tuple'");
    int64_t total = ir_shape_elements(shape);
    if (total > p->lex.end - p->lex.at)
        return PARSE_FAIL(p, p->lex.at, INVALID, "'constant' of %s has %lld elements, only %lld characters are left",
                          ir_shape_text(p->module->arena, shape), (long long)total,
                          (long long)(p->lex.end - p->lex.at));
    return true;
}

bool parse_literal(parse *p, const ir_shape *shape, ir_literal *out)
{
    ir_lex_skip(&p->lex);
    if (p->lex.end - p->lex.at >= 4 && memcmp(p->lex.at, "{...", 4) == 0)
        return PARSE_FAIL(p, p->lex.at, INVALID,
                          "'constant' of %s is elided ('{...}'), its data is not in the text\n"
                          "hint: print with large constants, for instance XLA_FLAGS=--xla_dump_large_constants",
                          ir_shape_text(p->module->arena, shape));
    if (!check_size(p, shape)) return false;
    reader r = {.p = p, .shape = shape, .total = ir_shape_elements(shape), .step = ir_dtype_bytes(shape->dtype)};
    r.data = glia_arena_alloc_aligned(p->module->arena, ir_shape_bytes(shape), 64);
    if (shape->rank == 0 ? !element(&r) : !array(&r)) return false;
    *out = (ir_literal){.data = r.data, .size_bytes = ir_shape_bytes(shape)};
    return true;
}
