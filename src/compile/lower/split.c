// SPDX-License-Identifier: Apache-2.0
// Rows that are longer than a partition of SBUF takes are cut before they are lowered.
//
// An elementwise op over [.., C] becomes one over [.., C / w, w], and one over the last C % w columns where w does not
// divide C; a reduction along C becomes one along w and one along what that leaves. Only ops that lie next to each
// other keep their values in pieces: to everything else a value is put together again in memory, where pieces are
// neighbours anyway. A reduction of leading dims over much data is turned, so that the kept dims make the rows.
//
// What fusion or the feature layout takes over is left alone: it handles rows of any length.
#include "compile/lower/lower.h"
#include "compile/passes/passes.h"

#include <string.h>

// `main` is [.., C / w, w], `tail` [.., C % w] or NULL.
typedef struct pieces { ir_inst *main, *tail; bool computed; } pieces;

typedef struct splitter {
    const lower_module *m;
    ir_builder b;
    ir_computation *c;
    uint32_t count;             // instructions that were there before
    bool *keep;                 // [count] not ours
    pieces *cut;                // [count] of values that were cut; `computed` where only the pieces exist
    ir_inst **became;           // [count] the value in one piece; NULL while it exists in pieces only
} splitter;

enum { PIECE = 2048, PIECE_MIN = 64 };     // columns of a piece: long enough for a DMA, short enough for many live tiles

static int64_t last_dim(const ir_shape *s)
{
    return s->rank > 0 ? s->dims[s->rank - 1] : 1;
}

// The number of columns of a piece: what divides C best, else PIECE with a tail.
static int64_t piece_of(int64_t columns)
{
    for (int64_t w = PIECE; w >= PIECE_MIN; w--)
        if (columns % w == 0) return w;
    return PIECE;
}

// The dims of the main piece of `s`; the rank is one more.
static void main_dims(const ir_shape *s, int64_t *out)
{
    const int64_t w = piece_of(last_dim(s));
    for (int d = 0; d < s->rank; d++) out[d] = s->dims[d];
    out[s->rank - 1] = last_dim(s) / w;
    out[s->rank] = w;
}

static ir_inst *columns(splitter *s, ir_inst *x, int64_t first, int64_t end)
{
    int64_t starts[LOWER_RANK] = { 0 }, limits[LOWER_RANK];
    for (int d = 0; d < x->shape.rank; d++) limits[d] = x->shape.dims[d];
    starts[x->shape.rank - 1] = first;
    limits[x->shape.rank - 1] = end;
    return ir_slice(&s->b, x, starts, limits, NULL);
}

// Both pieces of a value that is in one: views of it.
static pieces cut_whole(splitter *s, ir_inst *x)
{
    int64_t dims[LOWER_RANK + 1];
    main_dims(&x->shape, dims);
    const int64_t all = last_dim(&x->shape), tail = all % dims[x->shape.rank];
    ir_inst *head = tail ? columns(s, x, 0, all - tail) : x;
    return (pieces){ .main = ir_reshape(&s->b, head, x->shape.rank + 1, dims), .tail = tail ? columns(s, x, all - tail, all) : NULL };
}

static ir_inst *join(splitter *s, const pieces *p, const ir_shape *shape)
{
    int64_t dims[LOWER_RANK];
    for (int d = 0; d < shape->rank; d++) dims[d] = shape->dims[d];
    dims[shape->rank - 1] -= p->tail ? last_dim(&p->tail->shape) : 0;
    ir_inst *head = ir_reshape(&s->b, p->main, shape->rank, dims);
    return p->tail ? ir_concatenate(&s->b, 2, (ir_inst *[]){ head, p->tail }, shape->rank - 1) : head;
}

static bool is_old(const splitter *s, const ir_inst *x)
{
    return (uint32_t)x->id < s->count && s->c->insts.items[x->id] == x;
}

static ir_inst *whole(splitter *s, ir_inst *x)
{
    if (!is_old(s, x)) return x;
    if (!s->became[x->id]) s->became[x->id] = join(s, &s->cut[x->id], &x->shape);
    return s->became[x->id];
}

static pieces pieces_of(splitter *s, ir_inst *x)
{
    if (!is_old(s, x)) return cut_whole(s, x);
    if (!s->cut[x->id].main) s->cut[x->id] = cut_whole(s, whole(s, x));
    return s->cut[x->id];
}

// ---- iotas ---------------------------------------------------------------------------------------------------------

// 0 .. n - 1 as s32: a number in a row of w is row * w + column.
static pieces count_up(splitter *s, int64_t n)
{
    const int64_t w = piece_of(n), dims[2] = { n / w, w }, tail = n % w;
    const ir_shape main = { .dtype = NUM_S32, .rank = 2, .dims = dims }, rest = { .dtype = NUM_S32, .rank = 1, .dims = &tail };
    ir_inst *row = ir_broadcast(&s->b, ir_iota(&s->b, NUM_S32, 1, &dims[0], 0), 2, dims, (int64_t[]){ 0 });
    ir_inst *column = ir_broadcast(&s->b, ir_iota(&s->b, NUM_S32, 1, &dims[1], 0), 2, dims, (int64_t[]){ 1 });
    ir_inst *scale = ir_broadcast_scalar(&s->b, ir_constant_f32(&s->b, NUM_S32, (double)w), &main);
    pieces p = { .main = ir_binary(&s->b, IR_ADD, ir_binary(&s->b, IR_MULTIPLY, row, scale), column) };
    if (tail) {
        ir_inst *base = ir_broadcast_scalar(&s->b, ir_constant_f32(&s->b, NUM_S32, (double)(n - tail)), &rest);
        p.tail = ir_binary(&s->b, IR_ADD, ir_iota(&s->b, NUM_S32, 1, &tail, 0), base);
    }
    return p;
}

static pieces cut_iota(splitter *s, const ir_inst *i)
{
    const int rank = i->shape.rank, axis = (int)i->attrs.index;
    const int64_t axes[2] = { axis, rank };
    int64_t dims[LOWER_RANK + 1], tail_dims[LOWER_RANK];
    main_dims(&i->shape, dims);
    memcpy(tail_dims, i->shape.dims, (size_t)rank * sizeof *tail_dims);
    tail_dims[rank - 1] %= dims[rank];
    pieces line = { 0 };
    if (axis == rank - 1) {
        line = count_up(s, i->shape.dims[axis]);
    } else if (i->shape.dims[axis] > LOWER_COLUMNS) {
        const pieces cut = count_up(s, i->shape.dims[axis]);
        const ir_shape flat = { .dtype = NUM_S32, .rank = 1, .dims = &i->shape.dims[axis] };
        line.main = line.tail = join(s, &cut, &flat);
    } else {
        line.main = line.tail = ir_iota(&s->b, NUM_S32, 1, &i->shape.dims[axis], 0);
    }
    pieces p = { .main = ir_convert(&s->b, ir_broadcast(&s->b, line.main, rank + 1, dims, axes), i->shape.dtype), .computed = true };
    if (tail_dims[rank - 1]) p.tail = ir_convert(&s->b, ir_broadcast(&s->b, line.tail, rank, tail_dims, axes), i->shape.dtype);
    return p;
}

// ---- elementwise ops -----------------------------------------------------------------------------------------------

// A cast of a value in memory is made by the DMA that reads it: a view, whatever its length.
static bool is_cast_view(const splitter *s, const ir_inst *i)
{
    const ir_inst *x = i->operands[0];
    return i->op == IR_CONVERT && lower_casts_by_dma(s->m, x->shape.dtype, i->shape.dtype) && x->op != IR_CONVERT && !s->cut[x->id].computed;
}

static bool is_long_elementwise(const splitter *s, const ir_inst *i)
{
    const ir_op_class k = ir_op_class_of(i->op);
    if (i->shape.is_tuple || i->shape.rank == 0 || i->shape.rank >= LOWER_RANK || last_dim(&i->shape) <= LOWER_COLUMNS) return false;
    if (ir_shape_elements(&i->shape) == 0 || num_bits(i->shape.dtype) > 32) return false;
    const bool elementwise = k == IR_CLASS_UNARY || k == IR_CLASS_BINARY || k == IR_CLASS_TERNARY || i->op == IR_IOTA ||
                             (i->op == IR_CUSTOM_CALL && lower_is_row_op(i));
    return elementwise && !is_cast_view(s, i);
}

static ir_inst *make_piece(splitter *s, const ir_inst *i, ir_inst *const *operands, const ir_inst *like)
{
    ir_shape shape = like->shape;
    shape.dtype = i->shape.dtype;
    s->b.name = i->name;
    return ir_make(&s->b, i->op, &shape, i->operand_count, operands, &i->attrs);
}

static pieces cut_elementwise(splitter *s, ir_inst *i)
{
    if (i->op == IR_IOTA) return cut_iota(s, i);
    ir_inst *main[3], *tail[3];
    const ir_inst *like_main = NULL, *like_tail = NULL;
    for (int o = 0; o < i->operand_count; o++) {
        ir_inst *x = i->operands[o];
        if (x->shape.rank == 0) {       // a scalar of clamp or select is one for all pieces
            main[o] = tail[o] = whole(s, x);
            continue;
        }
        const pieces p = pieces_of(s, x);
        like_main = main[o] = p.main;
        like_tail = tail[o] = p.tail;
    }
    pieces p = { .main = make_piece(s, i, main, like_main), .computed = true };
    if (like_tail) p.tail = make_piece(s, i, tail, like_tail);
    return p;
}

// ---- reductions ----------------------------------------------------------------------------------------------------

static ir_inst *reduce_last(splitter *s, const ir_inst *i, ir_inst *x, ir_inst *init)
{
    const int64_t last = x->shape.rank - 1;
    ir_attrs attrs = i->attrs;
    attrs.dimensions = (ir_dims){ 1, &last };
    s->b.name = i->name;
    return ir_make(&s->b, IR_REDUCE, NULL, 2, (ir_inst *[]){ x, init }, &attrs);
}

// A start that changes nothing: of a sum or a product a number, of the others the start itself, any number of times.
static ir_inst *neutral(splitter *s, ir_op op, const ir_inst *x, ir_inst *init)
{
    const num_dtype dtype = x->shape.dtype;
    if (op == IR_ADD) return ir_constant_f32(&s->b, dtype, num_is_float(dtype) ? -0.0 : 0);
    return op == IR_MULTIPLY ? ir_constant_f32(&s->b, dtype, 1) : init;
}

// Along the last dim: the pieces each by itself, then what they left.
static ir_inst *reduce_pieces(splitter *s, const ir_inst *i, ir_op op, const pieces *p, ir_inst *init)
{
    ir_inst *left = reduce_last(s, i, p->main, neutral(s, op, i, init));
    if (last_dim(&left->shape) > LOWER_COLUMNS) {
        const pieces again = cut_whole(s, left);
        left = reduce_pieces(s, i, op, &again, init);
    } else {
        left = reduce_last(s, i, left, init);
    }
    return p->tail ? ir_binary(&s->b, op, left, reduce_last(s, i, p->tail, neutral(s, op, i, init))) : left;
}

// The columns that a row of `i` would read: from the first reduced dim on, whether reduced or not.
static int64_t reduced_columns(const ir_inst *i)
{
    const ir_shape *x = &i->operands[0]->shape;
    int first = x->rank;
    for (int k = 0; k < i->attrs.dimensions.count; k++)
        if (i->attrs.dimensions.items[k] < first) first = (int)i->attrs.dimensions.items[k];
    int64_t n = 1;
    for (int d = first; d < x->rank; d++) n *= x->dims[d];
    return n;
}

static bool is_long_reduce(const ir_inst *i, ir_op *op)
{
    if (i->op != IR_REDUCE || i->operand_count != 2 || i->operands[0]->shape.rank >= LOWER_RANK || num_bits(i->shape.dtype) > 32) return false;
    if (!ir_region_is_binary(i->attrs.computations[0], op) || ir_shape_elements(&i->operands[0]->shape) == 0) return false;
    if (*op != IR_ADD && *op != IR_MULTIPLY && *op != IR_MAXIMUM && *op != IR_MINIMUM && *op != IR_AND && *op != IR_OR) return false;
    return reduced_columns(i) > LOWER_COLUMNS;
}

// The operand as [kept.., reduced]: the dims that are kept first, the others joined into one.
static ir_inst *turned(splitter *s, const ir_inst *i)
{
    ir_inst *x = whole(s, i->operands[0]);
    bool reduced[LOWER_RANK] = { false };
    int64_t order[LOWER_RANK], dims[LOWER_RANK + 1], columns_total = 1;
    for (int k = 0; k < i->attrs.dimensions.count; k++) reduced[i->attrs.dimensions.items[k]] = true;
    int n = 0;
    for (int d = 0; d < x->shape.rank; d++)
        if (!reduced[d]) {
            dims[n] = x->shape.dims[d];
            order[n++] = d;
        }
    const int kept = n;
    for (int d = 0; d < x->shape.rank; d++)
        if (reduced[d]) {
            columns_total *= x->shape.dims[d];
            order[n++] = d;
        }
    dims[kept] = columns_total;
    bool moved = false;
    for (int d = 0; d < n; d++) moved = moved || order[d] != d;
    if (moved) x = ir_transpose(&s->b, x, order);
    return x->shape.rank == kept + 1 ? x : ir_reshape(&s->b, x, kept + 1, dims);
}

static ir_inst *cut_reduce(splitter *s, const ir_inst *i, ir_op op)
{
    ir_inst *init = whole(s, i->operands[1]);
    const ir_dims *dims = &i->attrs.dimensions;
    if (dims->count == 1 && dims->items[0] == i->operands[0]->shape.rank - 1) {
        const pieces p = pieces_of(s, i->operands[0]);
        return reduce_pieces(s, i, op, &p, init);
    }
    ir_inst *x = turned(s, i);
    if (last_dim(&x->shape) <= LOWER_COLUMNS) return reduce_last(s, i, x, init);
    const pieces p = cut_whole(s, x);
    return reduce_pieces(s, i, op, &p, init);
}

// ---- one computation -----------------------------------------------------------------------------------------------

static bool anything_long(const splitter *s)
{
    for (uint32_t k = 0; k < s->count; k++) {
        ir_op op;
        if (!s->keep[k] && (is_long_elementwise(s, s->c->insts.items[k]) || is_long_reduce(s->c->insts.items[k], &op))) return true;
    }
    return false;
}

static void split_inst(splitter *s, ir_inst *i)
{
    ir_op op;
    s->b.loc = i->loc;
    s->became[i->id] = i;
    if (!s->keep[i->id] && is_long_elementwise(s, i)) {
        s->cut[i->id] = cut_elementwise(s, i);
        s->became[i->id] = NULL;
        return;
    }
    if (!s->keep[i->id] && is_long_reduce(i, &op)) {
        s->became[i->id] = cut_reduce(s, i, op);
        return;
    }
    for (int o = 0; o < i->operand_count; o++) i->operands[o] = whole(s, i->operands[o]);
}

static void what_others_take(lower_module *m, const ir_computation *c, bool *keep)
{
    const uint32_t count = c->insts.count;
    fused_attention **attention = ARENA_ARRAY(m->arena, fused_attention *, count);
    bool *feature = ARENA_ARRAY(m->arena, bool, count);
    fuse_attention(m, c, attention, keep);
    layout_features(m, c, feature);
    for (uint32_t k = 0; k < count; k++) keep[k] = keep[k] || attention[k] || feature[k];
}

static glia_status split_computation(lower_module *m, ir_computation *c)
{
    const uint32_t count = c->insts.count;
    splitter s = { .m = m, .b = ir_builder_of(c), .c = c, .count = count, .keep = ARENA_ARRAY(m->arena, bool, count),
                   .cut = ARENA_ARRAY(m->arena, pieces, count), .became = ARENA_ARRAY(m->arena, ir_inst *, count) };
    what_others_take(m, c, s.keep);
    if (!anything_long(&s)) return GLIA_OK;
    for (uint32_t k = 0; k < count; k++) split_inst(&s, c->insts.items[k]);
    TRY(ir_builder_finish(&s.b, whole(&s, c->root)));
    pass_order(c);
    return GLIA_OK;
}

glia_status split_long_rows(lower_module *m)
{
    for (uint32_t k = 0; k < m->ir->computations.count; k++) TRY(split_computation(m, m->ir->computations.items[k]));
    return GLIA_OK;
}
