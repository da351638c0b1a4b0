// SPDX-License-Identifier: Apache-2.0
// Idioms: what graphs spell out and the activation engine has as one function.
//
//   0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))  ->  AwsNeuronGeluApprxTanh(x)
//   x logistic(x)                                    ->  AwsNeuronSilu(x)
//
// Products are matched as sets of factors, whatever their order and grouping. Intermediate values may have other
// readers: they stay, and only the last product is replaced. Constants must be those of the function, rounded to the
// type of the graph: nearly the same number is another function. What the replacement may change is stated in
// docs/decisions/idioms.md.
#include "compile/passes/passes.h"

#include <string.h>

enum { FACTORS = 8 };
typedef struct product { const ir_inst *factor[FACTORS]; int count, constants; double scale; } product;

static const double sqrt_2_over_pi = 0.79788456080286535588, gelu_cubic = 0.044715;

static bool splat_of(const ir_inst *x, double *out)
{
    const ir_inst *c = x->op == IR_BROADCAST ? x->operands[0] : x;
    if (c->op != IR_CONSTANT || ir_shape_elements(&c->shape) != 1 || !num_is_float(c->shape.dtype)) return false;
    *out = num_to_f64(c->shape.dtype, num_load(c->shape.dtype, c->attrs.literal.data));
    return true;
}

// The factors of a product tree; constants are multiplied into `scale`. `stop` is a factor that is not opened.
static bool flatten(const ir_inst *x, const ir_inst *stop, int depth, product *p)
{
    double c;
    if (splat_of(x, &c)) {
        p->scale *= c;
        p->constants++;
        return true;
    }
    if (x->op == IR_MULTIPLY && x != stop && depth < 6) return flatten(x->operands[0], stop, depth + 1, p) && flatten(x->operands[1], stop, depth + 1, p);
    if (p->count == FACTORS) return false;
    p->factor[p->count++] = x;
    return true;
}

static product product_of(const ir_inst *x, const ir_inst *stop, bool *ok)
{
    product p = { .scale = 1 };
    *ok = flatten(x, stop, 0, &p);
    return p;
}

// Is the product's one constant this number, as the type holds it?
static bool scales_by(const product *p, num_dtype t, double number)
{
    return p->constants == 1 && p->scale == num_to_f64(t, num_from_f64(t, number));
}

// Is t = tanh(sqrt(2/pi) (x + 0.044715 x^3))? Then x.
static const ir_inst *gelu_inner(const ir_inst *t)
{
    bool ok;
    const num_dtype dtype = t->shape.dtype;
    const product outer = product_of(t->operands[0], NULL, &ok);
    if (!ok || outer.count != 1 || outer.factor[0]->op != IR_ADD || !scales_by(&outer, dtype, sqrt_2_over_pi)) return NULL;
    for (int k = 0; k < 2; k++) {
        const ir_inst *x = outer.factor[0]->operands[k];
        const product cube = product_of(outer.factor[0]->operands[1 - k], x, &ok);
        if (ok && cube.count == 3 && cube.factor[0] == x && cube.factor[1] == x && cube.factor[2] == x &&
            scales_by(&cube, dtype, gelu_cubic))
            return x;
    }
    return NULL;
}

// The x of gelu(x) if `m` is one, given its product without opening x.
static const ir_inst *match_gelu(const ir_inst *m)
{
    bool ok;
    const product p = product_of(m, NULL, &ok);
    if (!ok) return NULL;
    for (int k = 0; k < p.count; k++) {
        const ir_inst *a = p.factor[k];
        if (a->op != IR_ADD) continue;
        for (int o = 0; o < 2; o++) {
            double one;
            if (!splat_of(a->operands[o], &one) || one != 1 || a->operands[1 - o]->op != IR_TANH) continue;
            const ir_inst *x = gelu_inner(a->operands[1 - o]);
            if (!x) continue;
            const product q = product_of(m, x, &ok);
            if (ok && q.count == 2 && q.scale == 0.5 && ((q.factor[0] == x && q.factor[1] == a) || (q.factor[1] == x && q.factor[0] == a))) return x;
        }
    }
    return NULL;
}

static const ir_inst *match_silu(const ir_inst *m)
{
    for (int k = 0; k < 2; k++)
        if (m->operands[k]->op == IR_LOGISTIC && m->operands[k]->operands[0] == m->operands[1 - k]) return m->operands[1 - k];
    return NULL;
}

glia_status pass_idioms(ir_module *m, const compile_options *o)
{
    (void)o;
    for (uint32_t k = 0; k < m->computations.count; k++) {
        ir_computation *c = m->computations.items[k];
        const uint32_t count = c->insts.count;
        ir_builder b = ir_builder_of(c);
        ir_inst *root = c->root;
        bool any = false;
        for (uint32_t i = 0; i < count; i++) {
            ir_inst *x = c->insts.items[i];
            if (x->op != IR_MULTIPLY || !num_is_float(x->shape.dtype) || x->shape.rank == 0) continue;
            const char *target = "AwsNeuronGeluApprxTanh";
            const ir_inst *of = match_gelu(x);
            if (!of) {
                of = match_silu(x);
                target = "AwsNeuronSilu";
            }
            if (!of) continue;
            b.loc = x->loc;
            ir_inst *operand = (ir_inst *)of;
            const ir_attrs attrs = { .custom_call_target = target };
            ir_inst *r = ir_make(&b, IR_CUSTOM_CALL, &x->shape, 1, &operand, &attrs);
            for (uint32_t u = 0; u < count; u++)
                for (int p = 0; p < c->insts.items[u]->operand_count; p++)
                    if (c->insts.items[u]->operands[p] == x) c->insts.items[u]->operands[p] = r;
            if (root == x) root = r;
            any = true;
        }
        TRY(ir_builder_finish(&b, root));
        if (any) pass_order(c);
    }
    return GLIA_OK;
}
