// SPDX-License-Identifier: Apache-2.0
// Fusion: finds attention in the graph, and what is known of its mask.
//
// The pattern is softmax between two products, as every front end writes it:
//   s = dot(q, k) [+ mask];  p = exp(s - max(s)) / sum(exp(s - max(s)));  o = dot(p, v)
// Each value of it has no reader outside, the maximum begins at a value that cannot win, and the sum at zero; a softmax
// that begins elsewhere is lowered op by op. What the fused form may change is in docs/decisions/idioms.md.
//
// A mask that is a constant of the program (iotas and comparisons, possibly passed through a call) is evaluated here, so
// that blocks of keys that no query sees are never computed. Only -inf closes a key: whatever finite value is added, a
// row that holds nothing else is a softmax over all keys, and scores may be as large as the value.
#include "compile/lower/dot.h"

#include <float.h>
#include <math.h>
#include <string.h>

static int reader_count(const ir_computation *c, const ir_inst *x)
{
    int n = c->root == x;
    for (uint32_t k = 0; k < c->insts.count; k++)
        for (int o = 0; o < c->insts.items[k]->operand_count; o++) n += c->insts.items[k]->operands[o] == x;
    return n;
}

static const ir_inst *through_convert(const ir_inst *x)
{
    return x->op == IR_CONVERT && num_is_float(x->shape.dtype) ? x->operands[0] : x;
}

// The operand of a broadcast that only adds the last dim (a per-row value); NULL if it is something else.
static const ir_inst *row_broadcast(const ir_inst *x)
{
    if (x->op != IR_BROADCAST) return NULL;
    const ir_inst *v = x->operands[0];
    if (v->shape.rank != x->shape.rank - 1) return NULL;
    for (int d = 0; d < v->shape.rank; d++)
        if (x->attrs.dimensions.items[d] != d) return NULL;
    return v;
}

static bool is_row_reduce(const ir_inst *x, const ir_inst *of, ir_op op)
{
    ir_op region;
    return x && x->op == IR_REDUCE && x->operand_count == 2 && x->operands[0] == of && x->attrs.dimensions.count == 1 &&
           x->attrs.dimensions.items[0] == of->shape.rank - 1 && ir_region_is_binary(x->attrs.computations[0], &region) && region == op;
}

// A sum of exponentials is positive, so zeros of both signs begin it alike. -FLT_MAX wins the maximum of no row but one
// that is -inf throughout, which is NaN then (0 / 0) as it is without (-inf - -inf).
static bool begins_softmax(const ir_inst *reduce, ir_op op)
{
    const ir_inst *init = reduce->operands[1];
    if (init->op != IR_CONSTANT || init->shape.dtype != NUM_F32) return false;
    const double x = num_to_f64(NUM_F32, num_load(NUM_F32, init->attrs.literal.data));
    return op == IR_ADD ? x == 0 : x <= -(double)FLT_MAX;
}

static bool mask_operand(const ir_inst *x, int rank)
{
    // Broadcast of [T, S] or [1, S] over the leading dims.
    if (x->op != IR_BROADCAST || x->operands[0]->shape.rank != 2 || x->shape.rank != rank) return false;
    return x->attrs.dimensions.items[0] == rank - 2 && x->attrs.dimensions.items[1] == rank - 1;
}

static bool match(const ir_computation *c, const ir_inst *out, fused_attention *a, const ir_inst **inner, int *inner_count)
{
    if (out->op != IR_DOT || out->attrs.lhs_contract.count != 1) return false;
    const ir_inst *cast = out->operands[0], *p = through_convert(cast);
    if (out->attrs.lhs_contract.items[0] != p->shape.rank - 1 || p->op != IR_DIVIDE) return false;
    const ir_inst *e = p->operands[0], *sum_b = p->operands[1], *sum = row_broadcast(sum_b);
    if (e->op != IR_EXP || !is_row_reduce(sum, e, IR_ADD) || !begins_softmax(sum, IR_ADD)) return false;
    const ir_inst *sub = e->operands[0];
    if (sub->op != IR_SUBTRACT) return false;
    const ir_inst *s = sub->operands[0], *max_b = sub->operands[1], *max = row_broadcast(max_b);
    if (!is_row_reduce(max, s, IR_MAXIMUM) || !begins_softmax(max, IR_MAXIMUM)) return false;
    const ir_inst *scores = s, *mask_b = NULL;
    if (s->op == IR_ADD) {
        if (mask_operand(s->operands[1], s->shape.rank)) {
            scores = s->operands[0];
            mask_b = s->operands[1];
        } else if (mask_operand(s->operands[0], s->shape.rank)) {
            scores = s->operands[1];
            mask_b = s->operands[0];
        }
    }
    if (scores->op != IR_DOT || s->shape.dtype != NUM_F32 || scores->shape.dtype != NUM_F32) return false;
    // The row order of both products must be the same: batch dims, then the free dims of q.
    if (scores->attrs.lhs_batch.count != out->attrs.lhs_batch.count) return false;
    for (int d = 0; d < out->attrs.lhs_batch.count; d++)
        if (out->attrs.lhs_batch.items[d] != d || scores->attrs.lhs_batch.items[d] != d) return false;
    const int free_k = scores->operands[1]->shape.rank - scores->attrs.rhs_batch.count - scores->attrs.rhs_contract.count;
    if (free_k != 1) return false;
    if (ir_shape_elements(&s->shape) == 0) return false;
    // A row of the result stays in one PSUM bank.
    const int64_t width = ir_shape_elements(&out->shape) / (ir_shape_elements(&s->shape) / s->shape.dims[s->shape.rank - 1]);
    if (width > DOT_N) return false;
    const ir_inst *list[] = { cast, p, e, sum_b, sum, sub, max_b, max, s, scores };
    *inner_count = 0;
    for (size_t k = 0; k < COUNT_OF(list); k++) {
        bool seen = false;
        for (int j = 0; j < *inner_count; j++) seen = seen || inner[j] == list[k];
        if (!seen) inner[(*inner_count)++] = list[k];
    }
    // No reader outside the pattern. The broadcast of the mask is not part of it: it is a view, whoever else reads it.
    for (int k = 0; k < *inner_count; k++) {
        int inside = 0;
        for (int j = 0; j < *inner_count; j++)
            for (int o = 0; o < inner[j]->operand_count; o++) inside += inner[j]->operands[o] == inner[k];
        for (int o = 0; o < out->operand_count; o++) inside += out->operands[o] == inner[k];
        if (reader_count(c, inner[k]) != inside) return false;
    }
    *a = (fused_attention){ .out = out, .scores = scores, .mask = mask_b ? mask_b->operands[0] : NULL, .mask_add = mask_b ? s : NULL,
                            .p_dtype = cast->shape.dtype, .divide = true };
    return true;
}

void fuse_attention(lower_module *m, const ir_computation *c, fused_attention **by_inst, bool *skip)
{
    for (uint32_t k = 0; k < c->insts.count; k++) {
        const ir_inst *inner[16];
        int count = 0;
        fused_attention a;
        if (!match(c, c->insts.items[k], &a, inner, &count)) continue;
        by_inst[k] = ARENA_NEW(m->arena, fused_attention);
        *by_inst[k] = a;
        for (int j = 0; j < count; j++) skip[inner[j]->id] = true;
    }
}

// sum(x * x) over all of a row: one instruction of ACT, which squares and accumulates.
void fuse_square_sums(const ir_computation *c, bool *skip)
{
    for (uint32_t k = 0; k < c->insts.count; k++) {
        const ir_inst *r = c->insts.items[k];
        ir_op op;
        if (r->op != IR_REDUCE || r->operand_count != 2 || r->shape.dtype != NUM_F32 || r->shape.rank != 1 || r->operands[0]->shape.rank != 2 ||
            !ir_region_is_binary(r->attrs.computations[0], &op) || op != IR_ADD)
            continue;
        const ir_inst *m = r->operands[0], *init = r->operands[1];
        const bool zero = init->op == IR_CONSTANT && num_to_f64(NUM_F32, num_load(NUM_F32, init->attrs.literal.data)) == 0;
        if (zero && m->op == IR_MULTIPLY && m->operands[0] == m->operands[1] && reader_count(c, m) == 1 && r->attrs.dimensions.items[0] == 1)
            skip[m->id] = true;
    }
}

// ---- masks ---------------------------------------------------------------------------------------------------------

static ir_inst *clone_constant(ir_builder *b, const ir_inst *x, int depth)
{
    const ir_op_class k = ir_op_class_of(x->op);
    const bool plain = k == IR_CLASS_UNARY || k == IR_CLASS_BINARY || k == IR_CLASS_TERNARY || k == IR_CLASS_SHAPE;
    if (depth > 32 || (!plain && x->op != IR_CONSTANT && x->op != IR_IOTA) || x->operand_count > 4) return NULL;
    ir_inst *operands[4];
    for (int o = 0; o < x->operand_count; o++) {
        operands[o] = clone_constant(b, x->operands[o], depth + 1);
        if (!operands[o]) return NULL;
    }
    if (x->op == IR_CONSTANT) return ir_constant(b, x->shape.dtype, x->shape.rank, x->shape.dims, x->attrs.literal.data);
    return ir_make(b, x->op, &x->shape, x->operand_count, operands, &x->attrs);
}

static uint8_t mask_of(float x)
{
    if (x == 0) return MASK_OPEN;
    return x == -INFINITY ? MASK_CLOSED : MASK_OPEN | MASK_CLOSED;
}

// Adds what this constant says to the blocks; false when it is not a constant.
static bool add_mask(mask_blocks *mb, const ir_inst *x)
{
    AUTO(ir_module) m = ir_module_create("mask");
    ir_computation *c = ir_computation_create(m, "mask");
    ir_builder b = ir_builder_of(c);
    ir_inst *root = clone_constant(&b, x, 0);
    if (!root) {
        glia_status_destroy(b.error);
        return false;
    }
    AUTO_STATUS s = ir_builder_finish(&b, root);
    AUTO(glia_arena) arena = glia_arena_create();
    ir_value *v = NULL;
    int count = 0;
    const ir_eval_options eo = { 0 };
    if (!s) s = ir_eval(m, NULL, 0, arena, &eo, &v, &count);
    if (s) return false;
    const int64_t nc = (mb->cols + MASK_BLOCK - 1) / MASK_BLOCK;
    const float *data = v[0].data;
    for (int64_t r = 0; r < mb->rows; r++)
        for (int64_t k = 0; k < mb->cols; k++)
            mb->state[r / MASK_BLOCK * nc + k / MASK_BLOCK] |= mask_of(data[r * mb->cols + k]);
    return true;
}

static bool used_as_mask(const ir_computation *c, const ir_inst *p)
{
    for (uint32_t k = 0; k < c->insts.count; k++)
        if (c->insts.items[k]->op == IR_BROADCAST && c->insts.items[k]->operands[0] == p && p->shape.rank == 2 && p->shape.dtype == NUM_F32 &&
            p->shape.dims[0] > 1)
            return true;
    return false;
}

// Merges what all calls of `callee` pass as parameter p; false unless each passes a constant, and only calls enter it.
static bool merge_calls(const ir_module *ir, const ir_computation *callee, uint32_t p, mask_blocks *mb)
{
    bool known = true, called = false;
    VEC(const ir_inst *) done = { 0 };
    for (uint32_t j = 0; j < ir->computations.count && known; j++)
        for (uint32_t i = 0; i < ir->computations.items[j]->insts.count && known; i++) {
            const ir_inst *u = ir->computations.items[j]->insts.items[i];
            if (u->attrs.computations[0] != callee && u->attrs.computations[1] != callee) continue;
            if (u->op != IR_CALL) known = false;
            bool seen = false;      // many layers pass the same mask
            for (uint32_t d = 0; d < done.count; d++) seen = seen || done.items[d] == u->operands[p];
            if (seen || !known) continue;
            VEC_PUSH(&done) = u->operands[p];
            known = add_mask(mb, u->operands[p]);
            called = true;
        }
    VEC_FREE(&done);
    return known && called;
}

void fuse_masks(lower_module *m)
{
    const ir_module *ir = m->ir;
    m->masks = ARENA_ARRAY(m->arena, mask_blocks *, ir->computations.count);
    for (uint32_t k = 0; k < ir->computations.count; k++) {
        const ir_computation *c = ir->computations.items[k];
        m->masks[c->id] = ARENA_ARRAY(m->arena, mask_blocks, c->params.count);
    }
    for (uint32_t k = 0; k < ir->computations.count; k++) {
        const ir_computation *callee = ir->computations.items[k];
        for (uint32_t p = 0; p < callee->params.count; p++) {
            const ir_inst *param = callee->params.items[p];
            if (callee == ir->entry || !used_as_mask(callee, param)) continue;
            mask_blocks mb = { .rows = param->shape.dims[0], .cols = param->shape.dims[1] };
            const int64_t blocks = ((mb.rows + MASK_BLOCK - 1) / MASK_BLOCK) * ((mb.cols + MASK_BLOCK - 1) / MASK_BLOCK);
            mb.state = ARENA_ARRAY(m->arena, uint8_t, (size_t)blocks);
            if (merge_calls(ir, callee, p, &mb)) m->masks[callee->id][p] = mb;
        }
    }
}
