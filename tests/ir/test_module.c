// SPDX-License-Identifier: Apache-2.0
// Modules, shapes and the op table.
#include "ir/ir_helper.h"
#include "ir/module.h"
#include "ir/ops.h"

TEST(module, names_are_unique_and_printable)
{
    AUTO(ir_module) m = ir_module_create("a model/v1");
    EXPECT_EQ_STR(m->name, "a_model_v1");
    EXPECT_EQ_STR(ir_module_inst_name(m, "w"), "w");
    EXPECT_EQ_STR(ir_module_inst_name(m, "w"), "w.1");
    EXPECT_EQ_STR(ir_module_inst_name(m, "0/x y"), "_0_x_y");
    EXPECT_EQ_STR(ir_module_inst_name(m, ""), "_");
    EXPECT_EQ_STR(ir_module_fresh_name(m, IR_ADD), "add.2");
    EXPECT_EQ_STR(ir_module_inst_name(m, "add.3"), "add.3");
    EXPECT_EQ_STR(ir_module_fresh_name(m, IR_ADD), "add.4");
}

TEST(module, computations_and_instructions_have_a_name_space_each)
{
    AUTO(ir_module) m = ir_module_create("m");
    EXPECT_EQ_STR(ir_module_inst_name(m, "sort.2"), "sort.2");
    EXPECT_EQ_STR(ir_computation_create(m, "sort.2")->name, "sort.2");
    EXPECT_EQ_STR(ir_computation_create(m, "sort.2")->name, "sort.2.1");
    EXPECT(m->entry == m->computations.items[0]);
}

TEST(module, interned_strings_are_one)
{
    AUTO(ir_module) m = ir_module_create("m");
    char a[] = "f.py", b[] = "f.py";
    EXPECT(ir_module_intern(m, a) == ir_module_intern(m, b));
    EXPECT(ir_module_intern(m, NULL) == ir_module_intern(m, ""));
    for (int i = 0; i < 5000; i++) { // past several growths
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        const char *once = ir_module_intern(m, name);
        EXPECT_EQ_STR(once, name);
        EXPECT(once == ir_module_intern(m, name));
    }
}

TEST(shape, elements_and_bytes)
{
    AUTO(ir_module) m = ir_module_create("m");
    ir_shape matrix = ir_shape_array(m, NUM_BF16, 2, (int64_t[]){3, 5}), scalar = ir_shape_array(m, NUM_F64, 0, NULL);
    ir_shape empty = ir_shape_array(m, NUM_F32, 3, (int64_t[]){4, 0, 7}),
             nibbles = ir_shape_array(m, NUM_S4, 1, (int64_t[]){9});
    EXPECT_EQ_INT(ir_shape_elements(&matrix), 15);
    EXPECT_EQ_INT(ir_shape_bytes(&matrix), 30);
    EXPECT_EQ_INT(ir_shape_elements(&scalar), 1);
    EXPECT_EQ_INT(ir_shape_bytes(&scalar), 8);
    EXPECT_EQ_INT(ir_shape_elements(&empty), 0);
    EXPECT_EQ_INT(ir_shape_bytes(&nibbles), 9);
    ir_shape inner = ir_shape_tuple(m, 2, (ir_shape[]){matrix, scalar}),
             outer = ir_shape_tuple(m, 2, (ir_shape[]){inner, nibbles});
    EXPECT_EQ_INT(ir_shape_bytes(&outer), 47);
    EXPECT_EQ_INT(ir_shape_leaves(&outer), 3);
    EXPECT_SHAPE(&outer, "((bf16[3,5], f64[]), s4[9])");
    EXPECT_SHAPE(ir_shape_element(&outer, 1), "s4[9]");
    EXPECT(ir_shape_element(&matrix, 0) == &matrix);
}

TEST(shape, equality_ignores_layouts_only)
{
    AUTO(ir_module) m = ir_module_create("m");
    ir_shape a = ir_shape_array(m, NUM_F32, 2, (int64_t[]){2, 3}), b = a,
             c = ir_shape_array(m, NUM_F32, 2, (int64_t[]){3, 2});
    b.minor_to_major = (int[]){0, 1};
    EXPECT(ir_shape_equal(&a, &b));
    EXPECT(!ir_shape_equal(&a, &c));
    b.dtype = NUM_S32;
    EXPECT(!ir_shape_equal(&a, &b));
    ir_shape one = ir_shape_tuple(m, 1, &a), two = ir_shape_tuple(m, 2, (ir_shape[]){a, a});
    EXPECT(!ir_shape_equal(&one, &a));
    EXPECT(!ir_shape_equal(&one, &two));
    EXPECT(ir_layout_is_default(2, (int[]){1, 0}));
    EXPECT(!ir_layout_is_default(2, (int[]){0, 1}));
    EXPECT(ir_layout_is_default(2, NULL));
}

TEST(shape, sizes_that_overflow_are_refused)
{
    int64_t huge[] = {INT64_MAX, 2, 0};
    ir_shape s = {.dtype = NUM_F32, .rank = 2, .dims = huge};
    EXPECT_FAILS(ir_shape_check(&s), EXHAUSTED, "2^62");
    s.rank = 3; // empty, but its other dims would overflow
    EXPECT_FAILS(ir_shape_check(&s), EXHAUSTED, "2^62");
    s = (ir_shape){.dtype = NUM_F32, .rank = 1, .dims = (int64_t[]){-1}};
    EXPECT_FAILS(ir_shape_check(&s), INVALID, "negative");
    s = (ir_shape){.dtype = NUM_DTYPE_NONE};
    EXPECT_FAILS(ir_shape_check(&s), INVALID, "element type");
    ir_shape large = {.dtype = NUM_U8, .rank = 1, .dims = (int64_t[]){(int64_t)1 << 61}};
    ir_shape elements[] = {large, large, large};
    EXPECT_OK(ir_shape_check(&large));
    EXPECT_FAILS(ir_shape_check(&(ir_shape){.is_tuple = 1, .tuple_size = 3, .elements = elements}), EXHAUSTED,
                 "element 2");
}

TEST(ops, every_name_is_found_and_no_other)
{
    for (int op = 0; op < IR_OP_COUNT; op++) {
        ir_op found = IR_OP_COUNT;
        const char *name = ir_op_name((ir_op)op);
        EXPECT(ir_op_find(name, strlen(name), &found));
        EXPECT_EQ_INT(found, op);
        EXPECT(!ir_op_find(name, strlen(name) - 1, &found) || found != (ir_op)op);
        EXPECT_EQ_STR(ir_op_nearest(name, strlen(name)), name);
    }
    ir_op found;
    EXPECT(!ir_op_find("", 0, &found));
    EXPECT(!ir_op_find("addd", 4, &found));
    EXPECT_EQ_STR(ir_op_nearest("multpily", 8), "multiply");
    EXPECT_EQ_STR(ir_op_nearest("dynamicslice", 12), "dynamic-slice");
}
