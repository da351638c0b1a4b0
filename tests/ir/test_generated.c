// SPDX-License-Identifier: Apache-2.0
// Modules made at random by the builder: each verifies, and parse(print(m)) prints the same text. A failure names its
// seed.
#include "base/rng.h"
#include "ir/ir_helper.h"

enum { POOL = 64 };

typedef struct maker {
    glia_rng rng;
    ir_builder b;
    ir_inst *pool[POOL]; // arrays to take operands from
    int count;
} maker;

static int draw(maker *g, int below)
{
    return (int)glia_rng_below(&g->rng, (uint32_t)below);
}

static ir_inst *any(maker *g)
{
    return g->pool[draw(g, g->count)];
}

static void keep(maker *g, ir_inst *i)
{
    if (ir_shape_elements(&i->shape) > 4096 || i->shape.rank > 6) return;
    g->pool[g->count < POOL ? g->count++ : draw(g, POOL)] = i;
}

static ir_inst *make_leaf(maker *g)
{
    const num_dtype types[] = {NUM_F32, NUM_BF16, NUM_S32, NUM_U8, NUM_BOOL, NUM_F16, NUM_S64, NUM_S4, NUM_F8E4M3FN};
    num_dtype t = types[draw(g, COUNT_OF(types))];
    int64_t dims[4];
    int rank = draw(g, 4);
    for (int d = 0; d < rank; d++)
        dims[d] = draw(g, 5);
    if (rank && t != NUM_BOOL && draw(g, 3) == 0) return ir_iota(&g->b, t, rank, dims, draw(g, rank));
    uint8_t data[256 * 8];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)glia_rng_u32(&g->rng);
    for (size_t i = 0; i < sizeof data && (t == NUM_BOOL || t == NUM_S4); i++)
        data[i] &= t == NUM_BOOL ? 1 : 15;
    return ir_constant(&g->b, t, rank, dims, data);
}

static ir_inst *make_elementwise(maker *g)
{
    ir_inst *x = any(g);
    num_dtype t = x->shape.dtype;
    if (draw(g, 4) == 0) return ir_convert(&g->b, x, draw(g, 2) ? NUM_F32 : NUM_S32);
    if (t == NUM_BOOL) return ir_binary(&g->b, draw(g, 2) ? IR_AND : IR_XOR, x, x);
    const ir_op both[] = {IR_ADD, IR_MULTIPLY, IR_MAXIMUM, IR_SUBTRACT},
                floats[] = {IR_EXP, IR_TANH, IR_RSQRT, IR_FLOOR};
    if (num_is_float(t) && draw(g, 2)) return ir_unary(&g->b, floats[draw(g, COUNT_OF(floats))], x);
    ir_inst *y = ir_binary(&g->b, both[draw(g, COUNT_OF(both))], x, x);
    return draw(g, 3) ? y : ir_select(&g->b, ir_compare(&g->b, (ir_compare_direction)draw(g, 6), x, y), x, y);
}

static ir_inst *make_shaped(maker *g)
{
    ir_inst *x = any(g);
    int rank = x->shape.rank;
    int64_t a[8] = {0}, b[8] = {0}, c[8] = {0};
    for (int d = 0; d < rank; d++) {
        a[d] = draw(g, (int)x->shape.dims[d] + 1);
        b[d] = a[d] + draw(g, (int)(x->shape.dims[d] - a[d]) + 1);
        c[d] = 1 + draw(g, 3);
    }
    switch (draw(g, 6)) {
    case 0:
        return ir_slice(&g->b, x, a, b, draw(g, 2) ? c : NULL);
    case 1: {
        for (int d = 0; d < rank; d++)
            a[d] = d;
        for (int d = rank - 1; d > 0; d--) {
            int with = draw(g, d + 1);
            int64_t swap = a[d];
            a[d] = a[with], a[with] = swap;
        }
        return ir_transpose(&g->b, x, a);
    }
    case 2:
        a[0] = ir_shape_elements(&x->shape);
        return ir_reshape(&g->b, x, 1, a);
    case 3: {
        for (int d = 0; d < rank; d++)
            a[d] = d + 1, b[d + 1] = x->shape.dims[d];
        b[0] = 1 + draw(g, 3);
        return ir_broadcast(&g->b, x, rank + 1, b, a);
    }
    case 4:
        return rank ? ir_concatenate(&g->b, 2, (ir_inst *[]){x, x}, draw(g, rank)) : x;
    default: {
        ir_attrs attrs = {.dimensions = {.count = rank ? 1 : 0, .items = a}};
        a[0] = rank ? draw(g, rank) : 0;
        return ir_make(&g->b, IR_REVERSE, NULL, 1, &x, &attrs);
    }
    }
}

static ir_inst *make_combined(maker *g)
{
    ir_inst *x = any(g);
    int rank = x->shape.rank;
    int64_t dims[8];
    if (!rank || x->shape.dtype == NUM_BOOL || !num_can_convert(x->shape.dtype)) return x;
    dims[0] = draw(g, rank);
    switch (draw(g, x->shape.dims[0] ? 3 : 2)) {
    case 0:
        return ir_reduce(&g->b, draw(g, 2) ? IR_ADD : IR_MAXIMUM, x, ir_constant_f32(&g->b, x->shape.dtype, 0), 1,
                         dims);
    case 1:
        return ir_dot(&g->b, x, x, NUM_F32, 0, NULL, NULL, 1, dims, dims);
    default: {
        int64_t shape[] = {2, 2};
        return ir_take_rows(&g->b, x, ir_iota(&g->b, NUM_S32, 2, shape, draw(g, 2)));
    }
    }
}

static ir_inst *make_region(maker *g)
{
    ir_inst *x = any(g);
    ir_module *m = g->b.computation->module;
    ir_builder body = ir_builder_of(ir_computation_create(m, "body")),
               cond = ir_builder_of(ir_computation_create(m, "cond"));
    ir_inst *p = ir_parameter(&body, 0, "state", x->shape.dtype, x->shape.rank, x->shape.dims);
    ir_inst *q = ir_parameter(&cond, 0, "state", x->shape.dtype, x->shape.rank, x->shape.dims);
    EXPECT_OK(ir_builder_finish(&body, ir_unary(&body, IR_COPY, p)));
    EXPECT_OK(ir_builder_finish(&cond, ir_constant(&cond, NUM_BOOL, 0, NULL, &(uint8_t){0})));
    (void)q;
    ir_attrs attrs = {.computations = {cond.computation, body.computation}};
    if (draw(g, 2)) return ir_make(&g->b, IR_WHILE, NULL, 1, &x, &attrs);
    attrs = (ir_attrs){.computations = {body.computation}};
    return ir_make(&g->b, draw(g, 2) ? IR_CALL : IR_FUSION, NULL, 1, &x, &attrs);
}

static ir_module *generate(uint64_t seed)
{
    ir_module *m = ir_module_create("generated");
    maker g = {.rng = glia_rng_of(seed), .b = ir_builder_of(ir_computation_create(m, "main"))};
    ir_inst *(*const makers[])(maker *) = {make_leaf, make_elementwise, make_shaped, make_combined, make_region};
    int64_t dims[] = {1 + draw(&g, 4), 1 + draw(&g, 4)};
    keep(&g, ir_parameter(&g.b, 0, "x", NUM_F32, 2, dims));
    for (int n = 5 + draw(&g, 40); n > 0; n--) {
        char op_name[32];
        snprintf(op_name, sizeof op_name, "op%d%s", n, draw(&g, 2) ? "" : " @ a.py:7");
        g.b.loc.op_name = op_name;
        keep(&g, makers[draw(&g, COUNT_OF(makers))](&g));
    }
    g.b.loc.op_name = "";
    ir_inst *root = draw(&g, 2) ? any(&g) : ir_tuple(&g.b, 3, (ir_inst *[]){any(&g), g.pool[0], any(&g)});
    AUTO_STATUS s = ir_builder_finish(&g.b, root);
    if (s) FAIL_TEST("seed %llu: %s", (unsigned long long)seed, glia_status_message(s));
    return m;
}

TEST(generated, modules_verify_and_make_the_round_trip)
{
    for (uint64_t seed = 0; seed < 400; seed++) {
        char what[32];
        snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
        ir_module *m = generate(seed);
        helper_round_trip(m, what);
        ir_module_destroy(m);
    }
}

// A line dropped or doubled, two lines swapped: an error with a place, or a module that verifies.
TEST(generated, texts_with_damaged_lines_are_judged)
{
    for (uint64_t seed = 0; seed < 100; seed++) {
        ir_module *m = generate(seed);
        char *text = helper_print(m);
        glia_rng r = glia_rng_of(seed);
        size_t size = strlen(text), cut = glia_rng_below(&r, (uint32_t)size), length = glia_rng_below(&r, 60);
        if (cut + length > size) length = size - cut;
        memmove(text + cut, text + cut + length, size - cut - length + 1);
        ir_module *damaged = NULL;
        AUTO_STATUS s = helper_parse(text, &damaged);
        if (s && strncmp(glia_status_message(s), "t.hlo:", 6) != 0)
            FAIL_TEST("seed %llu: %s", (unsigned long long)seed, glia_status_message(s));
        if (!s) helper_round_trip(damaged, "a damaged text");
        ir_module_destroy(damaged);
        glia_free(text);
        ir_module_destroy(m);
    }
}
