// SPDX-License-Identifier: Apache-2.0
// The builder: each convenience gives the shape that its contract states, the first error is kept, and nothing after it
// is appended.
#include "ir/ir_helper.h"

#define DIMS(...) ((int64_t[]){__VA_ARGS__})

typedef struct fixture {
    ir_module *m;
    ir_builder b;
} fixture;

static fixture begin(void)
{
    ir_module *m = ir_module_create("m");
    return (fixture){.m = m, .b = ir_builder_of(ir_computation_create(m, "main"))};
}

TEST(builder, each_convenience_gives_its_shape)
{
    fixture f = begin();
    ir_builder *b = &f.b;
    ir_inst *x = ir_parameter(b, 0, "x", NUM_F32, 2, DIMS(4, 6)), *i = ir_parameter(b, 1, "i", NUM_S32, 2, DIMS(2, 3));
    ir_inst *zero = ir_constant_f32(b, NUM_F32, 0), *at = ir_constant_f32(b, NUM_S32, 1);
    EXPECT_SHAPE(&ir_iota(b, NUM_S32, 2, DIMS(2, 3), 1)->shape, "s32[2,3]");
    EXPECT_SHAPE(&ir_unary(b, IR_EXP, x)->shape, "f32[4,6]");
    EXPECT_SHAPE(&ir_binary(b, IR_ADD, x, x)->shape, "f32[4,6]");
    EXPECT_SHAPE(&ir_convert(b, x, NUM_BF16)->shape, "bf16[4,6]");
    EXPECT(ir_convert(b, x, NUM_F32) == x);
    ir_inst *pred = ir_compare(b, IR_LT, x, x);
    EXPECT_SHAPE(&pred->shape, "pred[4,6]");
    EXPECT_SHAPE(&ir_select(b, pred, x, x)->shape, "f32[4,6]");
    EXPECT_SHAPE(&ir_broadcast(b, x, 3, DIMS(4, 5, 6), DIMS(0, 2))->shape, "f32[4,5,6]");
    EXPECT_SHAPE(&ir_broadcast_scalar(b, zero, &x->shape)->shape, "f32[4,6]");
    EXPECT_SHAPE(&ir_reshape(b, x, 3, DIMS(2, 2, 6))->shape, "f32[2,2,6]");
    EXPECT_SHAPE(&ir_transpose(b, x, DIMS(1, 0))->shape, "f32[6,4]");
    EXPECT_SHAPE(&ir_slice(b, x, DIMS(1, 0), DIMS(4, 6), DIMS(1, 4))->shape, "f32[3,2]");
    EXPECT_SHAPE(&ir_slice(b, x, DIMS(1, 0), DIMS(1, 6), NULL)->shape, "f32[0,6]");
    EXPECT_SHAPE(&ir_concatenate(b, 3, (ir_inst *[]){x, x, x}, 1)->shape, "f32[4,18]");
    EXPECT_SHAPE(&ir_dot(b, x, x, NUM_F32, 0, NULL, NULL, 1, DIMS(1), DIMS(1))->shape, "f32[4,4]");
    EXPECT_SHAPE(&ir_dot(b, x, x, NUM_BF16, 1, DIMS(0), DIMS(0), 1, DIMS(1), DIMS(1))->shape, "bf16[4]");
    EXPECT_SHAPE(&ir_dot(b, x, x, NUM_F32, 0, NULL, NULL, 0, NULL, NULL)->shape, "f32[4,6,4,6]");
    EXPECT_SHAPE(&ir_reduce(b, IR_MAXIMUM, x, zero, 1, DIMS(0))->shape, "f32[6]");
    EXPECT_SHAPE(&ir_dynamic_slice(b, x, (ir_inst *[]){at, at}, DIMS(1, 6))->shape, "f32[1,6]");
    ir_inst *row = ir_dynamic_slice(b, x, (ir_inst *[]){at, at}, DIMS(1, 6));
    EXPECT_SHAPE(&ir_dynamic_update_slice(b, x, row, (ir_inst *[]){at, at})->shape, "f32[4,6]");
    EXPECT_SHAPE(&ir_take_rows(b, x, i)->shape, "f32[2,3,6]");
    ir_inst *pair = ir_tuple(b, 2, (ir_inst *[]){x, i});
    EXPECT_SHAPE(&pair->shape, "(f32[4,6], s32[2,3])");
    ir_inst *root = ir_get_tuple_element(b, pair, 1);
    EXPECT_SHAPE(&root->shape, "s32[2,3]");
    EXPECT_OK(ir_builder_finish(b, root));
    helper_round_trip(f.m, "a module of every convenience");
    ir_module_destroy(f.m);
}

TEST(builder, keeps_the_first_error_and_its_place)
{
    fixture f = begin();
    ir_builder *b = &f.b;
    ir_inst *x = ir_parameter(b, 0, "x", NUM_F32, 2, DIMS(4, 6)), *y = ir_parameter(b, 1, "y", NUM_F32, 1, DIMS(6));
    b->loc = (ir_loc){.file = "model.py", .line = 12, .column = 3, .op_name = ""};
    uint32_t before = f.b.computation->insts.count;
    ir_inst *bad = ir_binary(b, IR_ADD, x, y);
    EXPECT(bad != NULL);
    b->loc.line = 13;
    ir_inst *after = ir_dot(b, bad, x, NUM_F32, 0, NULL, NULL, 1, DIMS(1), DIMS(0));
    after = ir_transpose(b, after, DIMS(1, 0));
    after = ir_take_rows(b, after, ir_reduce(b, IR_ADD, after, bad, 1, DIMS(0)));
    after = ir_slice(b, ir_convert(b, after, NUM_BF16), DIMS(0), DIMS(1), NULL);
    EXPECT_EQ_INT(after->shape.dims[0], 1); // a placeholder's dims may be read
    EXPECT_EQ_INT(f.b.computation->insts.count, before);
    EXPECT_FAILS(ir_builder_finish(b, after), INVALID,
                 "model.py:12:3: 'add' takes equal shapes, operand 0 is f32[4,6] and operand 1 is f32[6]");
    ir_module_destroy(f.m);
}

TEST(builder, names_the_computation_where_no_file_is_known)
{
    fixture f = begin();
    ir_inst *x = ir_parameter(&f.b, 0, "x", NUM_S32, 0, NULL);
    ir_unary(&f.b, IR_EXP, x);
    EXPECT_FAILS(
        ir_builder_finish(&f.b, x), INVALID,
        "module 'm', computation 'main': 'exponential' takes element types float, complex, operand 0 is s32[]");
    ir_module_destroy(f.m);
}

TEST(builder, refuses_values_of_other_computations)
{
    fixture f = begin();
    ir_builder other = ir_builder_of(ir_computation_create(f.m, "other"));
    ir_inst *x = ir_parameter(&other, 0, "x", NUM_F32, 0, NULL);
    ir_unary(&f.b, IR_EXP, x);
    EXPECT_FAILS(ir_builder_finish(&f.b, x), INVALID, "uses 'x' of computation 'other'");
    EXPECT_FAILS(ir_builder_finish(&f.b, x), INVALID, "cannot have 'x' as its root");
    EXPECT_FAILS(ir_builder_finish(&f.b, NULL), INVALID, "missing");
    ir_module_destroy(f.m);
}

TEST(builder, parameters_come_in_any_order_without_gaps)
{
    fixture f = begin();
    ir_inst *b1 = ir_parameter(&f.b, 1, "b", NUM_F32, 0, NULL);
    EXPECT_FAILS(ir_builder_finish(&f.b, b1), INVALID, "number 0 is missing");
    ir_parameter(&f.b, 0, "a", NUM_S32, 0, NULL);
    EXPECT_OK(ir_builder_finish(&f.b, b1));
    EXPECT_EQ_STR(f.m->entry->params.items[0]->name, "a");
    ir_parameter(&f.b, 1, "again", NUM_S32, 0, NULL);
    EXPECT_FAILS(ir_builder_finish(&f.b, b1), INVALID, "number 1, which 'b' has already");
    ir_parameter(&f.b, 1 << 30, "far", NUM_S32, 0, NULL);
    EXPECT_FAILS(ir_builder_finish(&f.b, b1), INVALID, "numbers end at");
    ir_module_destroy(f.m);
}

TEST(builder, copies_what_it_is_given)
{
    fixture f = begin();
    float data[2] = {1, 2};
    int64_t dims[1] = {2}, permutation[1] = {0};
    char file[] = "a.py", name[] = "c";
    f.b.loc = (ir_loc){.file = file, .line = 1, .column = 1, .op_name = "op"};
    f.b.name = name;
    ir_inst *c = ir_constant(&f.b, NUM_F32, 1, dims, data), *t = ir_transpose(&f.b, c, permutation);
    data[0] = 9, dims[0] = 9, permutation[0] = 9, file[0] = 'x', name[0] = 'x';
    EXPECT_OK(ir_builder_finish(&f.b, t));
    EXPECT_EQ_STR(c->name, "c");
    EXPECT_EQ_STR(c->loc.file, "a.py");
    EXPECT_EQ_INT(c->shape.dims[0], 2);
    EXPECT_NEAR(((const float *)c->attrs.literal.data)[0], 1, 0);
    EXPECT_EQ_INT(t->attrs.dimensions.items[0], 0);
    EXPECT(f.b.name == NULL);
    EXPECT(strncmp(t->name, "transpose.", 10) == 0);
    ir_module_destroy(f.m);
}

TEST(builder, scalar_constants_of_every_convertible_type)
{
    for (int t = NUM_DTYPE_NONE + 1; t < NUM_DTYPE_COUNT; t++) {
        fixture f = begin();
        ir_inst *c = ir_constant_f32(&f.b, (num_dtype)t, 1.0);
        if (num_can_convert((num_dtype)t)) {
            EXPECT_OK(ir_builder_finish(&f.b, c));
            EXPECT_NEAR(num_to_f64((num_dtype)t, num_load((num_dtype)t, c->attrs.literal.data)), 1.0, 0);
        } else {
            EXPECT_FAILS(ir_builder_finish(&f.b, c), UNSUPPORTED, num_dtype_get((num_dtype)t)->name);
        }
        ir_module_destroy(f.m);
    }
}

static bool region_is(const char *root, ir_op *op)
{
    char text[512];
    snprintf(text, sizeof text,
             "HloModule m\nr { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] add(a, b)\n ROOT d = %s }\n"
             "ENTRY e { ROOT x = f32[] parameter(0) }",
             root);
    AUTO(ir_module) m = helper_must_parse(text);
    return ir_region_is_binary(m->computations.items[0], op);
}

TEST(builder, a_region_of_one_binary_op_is_recognised)
{
    ir_op op;
    EXPECT(region_is("f32[] add(a, b)", &op) && op == IR_ADD);
    EXPECT(region_is("f32[] maximum(b, a)", &op) && op == IR_MAXIMUM);
    EXPECT(region_is("f32[] subtract(a, b)", &op) && op == IR_SUBTRACT);
    EXPECT(!region_is("f32[] subtract(b, a)", &op));
    EXPECT(!region_is("f32[] add(a, a)", &op));
    EXPECT(!region_is("f32[] add(c, b)", &op));
    EXPECT(!region_is("pred[] compare(a, b), direction=LT", &op));
    EXPECT(!region_is("f32[] negate(a)", &op));
    EXPECT(!ir_region_is_binary(NULL, &op));
}

TEST(builder, reduce_makes_its_region)
{
    fixture f = begin();
    ir_inst *x = ir_parameter(&f.b, 0, "x", NUM_BF16, 1, DIMS(4));
    ir_inst *r = ir_reduce(&f.b, IR_MULTIPLY, x, ir_constant_f32(&f.b, NUM_BF16, 1), 1, DIMS(0));
    ir_op op = IR_OP_COUNT;
    EXPECT_OK(ir_builder_finish(&f.b, r));
    EXPECT(ir_region_is_binary(r->attrs.computations[0], &op));
    EXPECT_EQ_INT(op, IR_MULTIPLY);
    EXPECT(f.m->entry == f.b.computation);
    helper_round_trip(f.m, "a reduce");
    ir_reduce(&f.b, IR_EXP, x, ir_constant_f32(&f.b, NUM_BF16, 1), 1, DIMS(0));
    EXPECT_FAILS(ir_builder_finish(&f.b, r), INVALID, "'exponential' has 2 operands");
    ir_module_destroy(f.m);
}
