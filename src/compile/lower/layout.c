// SPDX-License-Identifier: Apache-2.0
// The layout pass: which parameters lie packed in HBM.
//
// A parameter [N, K] or [K, N] that is used only as the right side of products (possibly through a reshape that splits
// K, a conversion between floats, or a call) is a weight: it is declared in blocks of columns, each block partition by
// partition, so that a DMA reads long runs and the PE needs no transpose. All uses must agree, through calls too.
#include "compile/lower/lower.h"

#include <string.h>

enum { BLOCK_MAX = 512 };

static bool same_weight(const layout_weight *a, const layout_weight *b)
{
    return a->block == b->block && a->kc == b->kc && a->chunks == b->chunks && a->n_dim == b->n_dim && a->n == b->n && a->k == b->k;
}

// The layout that `dot` wants for parameter `p` reached through `via` (p itself, or a reshape of it). False: none.
static bool wanted(const lower_module *m, const ir_inst *dot, const ir_inst *via, const ir_inst *p, layout_weight *out)
{
    const ir_attrs *a = &dot->attrs;
    if (dot->operands[1] != via || dot->operands[0] == via || a->rhs_batch.count || p->shape.rank != 2) return false;
    const int contract = a->rhs_contract.count;
    if (contract == 0 || contract == via->shape.rank) return false;
    // The contracted dims are a run in order, at the front or the back.
    const int64_t first = a->rhs_contract.items[0];
    for (int k = 0; k < contract; k++)
        if (a->rhs_contract.items[k] != first + k) return false;
    const bool back = first + contract == via->shape.rank;
    if (!back && first != 0) return false;
    int64_t k_total = 1;
    for (int k = 0; k < contract; k++) k_total *= via->shape.dims[first + k];
    const int k_dim = back ? 1 : 0, n_dim = 1 - k_dim;
    if (p->shape.dims[k_dim] != k_total) return false;
    const int64_t inner = via->shape.dims[first + contract - 1], n = p->shape.dims[n_dim];
    const int64_t kc = inner < LOWER_ROWS ? inner : LOWER_ROWS;
    if (contract > 1 && inner % kc != 0) return false;
    int64_t blocks = (n + BLOCK_MAX - 1) / BLOCK_MAX;
    if (m->core_count == 2 && n >= 64 && blocks % 2) blocks++;
    int64_t block = (n + blocks - 1) / blocks;
    if (blocks > 1) block = (block + 31) / 32 * 32;
    *out = (layout_weight){ .block = (int)block, .kc = (int)kc, .chunks = (int)((k_total + kc - 1) / kc), .n_dim = n_dim,
                            .n = n, .k = k_total };
    return true;
}

// Joins a want into the decision: -1 undecided (all fields zero), a disagreement makes it row-major for good.
typedef struct decision { layout_weight w; bool any, broken; } decision;

static void join(decision *d, bool ok, const layout_weight *w)
{
    if (!ok || (d->any && !same_weight(&d->w, w))) d->broken = true;
    d->w = *w;
    d->any = true;
}

// A conversion that the loading DMA makes leaves the weight where it lies; any other would read it as row-major. A DMA
// casts once, from the type in memory.
static bool casts_by_dma(const lower_module *m, const ir_inst *p, const ir_inst *via, const ir_inst *u)
{
    return u->op == IR_CONVERT && via->shape.dtype == p->shape.dtype && lower_casts_by_dma(m, p->shape.dtype, u->shape.dtype);
}

static void scan_uses(const lower_module *m, const ir_computation *c, const ir_inst *p, const ir_inst *via, decision *d, bool deep)
{
    if (c->root == via) d->broken = true;
    for (uint32_t k = 0; k < c->insts.count; k++) {
        const ir_inst *u = c->insts.items[k];
        for (int o = 0; o < u->operand_count; o++) {
            if (u->operands[o] != via) continue;
            layout_weight w = { 0 };
            if (u->op == IR_DOT) {
                const bool ok = wanted(m, u, via, p, &w);
                join(d, ok, &w);
            } else if (!deep && (u->op == IR_RESHAPE || casts_by_dma(m, p, via, u))) {
                scan_uses(m, c, p, u, d, u->op == IR_RESHAPE);
            } else if (u->op == IR_CALL && via == p) {
                const layout_weight *callee = &m->weights[u->attrs.computations[0]->id][o];
                join(d, callee->block != 0, callee);
            } else {
                d->broken = true;
            }
        }
    }
}

static bool decide(lower_module *m, const ir_computation *c)
{
    bool changed = false;
    for (uint32_t p = 0; p < c->params.count; p++) {
        layout_weight *w = &m->weights[c->id][p];
        decision d = { 0 };
        scan_uses(m, c, c->params.items[p], c->params.items[p], &d, false);
        const layout_weight next = d.any && !d.broken ? d.w : (layout_weight){ 0 };
        changed = changed || !same_weight(w, &next);
        *w = next;
    }
    return changed;
}

// A callee's weight is packed only if every call site passes a parameter that is packed the same way.
static bool check_sites(lower_module *m, const ir_computation *c)
{
    bool changed = false;
    for (uint32_t k = 0; k < c->insts.count; k++) {
        const ir_inst *u = c->insts.items[k];
        if (u->op != IR_CALL) continue;
        const ir_computation *callee = u->attrs.computations[0];
        for (int o = 0; o < u->operand_count; o++) {
            layout_weight *w = &m->weights[callee->id][o];
            if (!w->block) continue;
            const ir_inst *arg = u->operands[o];
            if (arg->op == IR_PARAMETER && same_weight(w, &m->weights[c->id][arg->attrs.index])) continue;
            *w = (layout_weight){ 0 };
            changed = true;
        }
    }
    return changed;
}

void layout_weights(lower_module *m)
{
    const ir_module *ir = m->ir;
    m->weights = ARENA_ARRAY(m->arena, layout_weight *, ir->computations.count);
    for (uint32_t k = 0; k < ir->computations.count; k++)
        m->weights[ir->computations.items[k]->id] = ARENA_ARRAY(m->arena, layout_weight, ir->computations.items[k]->params.count);
    // Callees first: wants travel from the products outwards, then refusals travel back in.
    for (int round = 0; round < 8; round++) {
        bool changed = false;
        for (uint32_t k = 0; k < ir->computations.count; k++) changed |= round < 4 && decide(m, ir->computations.items[k]);
        if (changed) continue;
        for (uint32_t k = 0; k < ir->computations.count; k++) changed |= check_sites(m, ir->computations.items[k]);
        if (!changed) return;
        // Refused callees: their callers' parameters become row-major.
        bool again = true;
        while (again) {
            again = false;
            for (uint32_t k = 0; k < ir->computations.count; k++) {
                const ir_computation *c = ir->computations.items[k];
                for (uint32_t i = 0; i < c->insts.count; i++) {
                    const ir_inst *u = c->insts.items[i];
                    if (u->op != IR_CALL) continue;
                    for (int o = 0; o < u->operand_count; o++) {
                        const ir_inst *arg = u->operands[o];
                        if (arg->op != IR_PARAMETER) continue;
                        layout_weight *w = &m->weights[c->id][arg->attrs.index];
                        if (!w->block || same_weight(w, &m->weights[u->attrs.computations[0]->id][o])) continue;
                        *w = (layout_weight){ 0 };
                        again = true;
                    }
                }
                again |= check_sites(m, c);
            }
        }
        return;
    }
}

// ---- features ------------------------------------------------------------------------------------------------------

static const ir_inst *weight_parameter(const ir_inst *x)
{
    while (x->op == IR_RESHAPE || x->op == IR_CONVERT) x = x->operands[0];
    return x->op == IR_PARAMETER ? x : NULL;
}

// A product [T, K] x weight -> [T, N] with N a multiple of 128.
static bool feature_product(const lower_module *m, const ir_computation *c, const ir_inst *i)
{
    const ir_attrs *a = &i->attrs;
    if (i->op != IR_DOT || i->shape.rank != 2 || i->operands[0]->shape.rank != 2 || a->lhs_batch.count || a->lhs_contract.count != 1 ||
        a->lhs_contract.items[0] != 1 || i->shape.dims[1] % LOWER_ROWS != 0)
        return false;
    const ir_inst *w = weight_parameter(i->operands[1]);
    return w && m->weights[c->id][w->attrs.index].block != 0 && m->weights[c->id][w->attrs.index].block % LOWER_ROWS == 0;
}

// A call between a value and its reader takes all of SBUF.
static bool call_between(const ir_computation *c, int from, int to)
{
    for (int k = from + 1; k < to; k++)
        if (c->insts.items[k]->op == IR_CALL) return true;
    return false;
}

static bool is_splat(const ir_inst *x)
{
    return x->op == IR_BROADCAST ? ir_shape_elements(&x->operands[0]->shape) == 1 && x->operands[0]->op == IR_CONSTANT : x->op == IR_CONSTANT;
}

static bool elementwise(const ir_inst *i)
{
    const ir_op_class k = ir_op_class_of(i->op);
    return (k == IR_CLASS_UNARY || k == IR_CLASS_BINARY || (i->op == IR_CUSTOM_CALL && lower_is_row_op(i))) && i->shape.rank == 2 && num_is_float(i->shape.dtype) && num_bits(i->shape.dtype) <= 32 &&
           i->shape.dims[1] % LOWER_ROWS == 0;
}

void layout_features(const lower_module *m, const ir_computation *c, bool *feature)
{
    const uint32_t n = c->insts.count;
    for (uint32_t k = 0; k < n; k++) feature[k] = feature_product(m, c, c->insts.items[k]) || elementwise(c->insts.items[k]);
    for (bool changed = true; changed;) {
        changed = false;
        bool *keep = glia_alloc(n);
        for (uint32_t k = 0; k < n; k++) keep[k] = feature[k];
        keep[c->root->id] = false;
        for (uint32_t k = 0; k < n; k++) {
            const ir_inst *u = c->insts.items[k];
            bool fed = false;
            for (int o = 0; o < u->operand_count; o++) {
                const ir_inst *x = u->operands[o];
                if (feature[x->id] && ir_shape_elements(&x->shape) > 0) {
                    const bool contracts = u->op == IR_DOT && o == 0 && u->operands[1] != x && u->attrs.lhs_batch.count == 0 &&
                                           u->attrs.lhs_contract.count == 1 && u->attrs.lhs_contract.items[0] == 1;
                    if ((!contracts && !(feature[u->id] && elementwise(u))) || call_between(c, x->id, u->id)) keep[x->id] = false;
                }
                if (elementwise(u)) {
                    if (feature[x->id]) fed = true;
                    else if (!is_splat(x)) keep[u->id] = false;
                }
            }
            if (elementwise(u) && !fed) keep[u->id] = false;
        }
        for (uint32_t k = 0; k < n; k++) {
            changed = changed || keep[k] != feature[k];
            feature[k] = keep[k];
        }
        glia_free(keep);
    }
}

void layout_axes(const layout_weight *w, isa_layout *out)
{
    const uint8_t n = (uint8_t)w->n_dim, k = (uint8_t)(1 - w->n_dim);
    *out = (isa_layout){ .axis_count = 4,
                         .axes = { { .dim = n, .step = (uint32_t)w->block, .count = (uint32_t)((w->n + w->block - 1) / w->block) },
                                   { .dim = k, .step = 1, .count = (uint32_t)w->kc },
                                   { .dim = k, .step = (uint32_t)w->kc, .count = (uint32_t)w->chunks },
                                   { .dim = n, .step = 1, .count = (uint32_t)w->block } } };
}
