// SPDX-License-Identifier: Apache-2.0
// The verifier: for each of its rules a module that is right but for one change by hand.
#include "ir/ir_helper.h"

static const char good_text[] =
    "HloModule m, input_output_alias={ {0}: (0, {}) }\n"
    "add { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b) }\n"
    "ENTRY e {\n  x = f32[2,3] parameter(0)\n  y = f32[2,3] negate(x)\n  z = f32[] constant(0)\n"
    "  r = f32[2] reduce(y, z), dimensions={1}, to_apply=add\n  ROOT t = (f32[2,3], f32[2]) tuple(y, r)\n}\n";

typedef void change_fn(ir_module *m);

static ir_inst *inst(ir_module *m, const char *name)
{
    return helper_find(m, name);
}

static void null_operand(ir_module *m)
{
    inst(m, "y")->operands[0] = NULL;
}
static void foreign_operand(ir_module *m)
{
    inst(m, "y")->operands[0] = inst(m, "a");
}
static void later_operand(ir_module *m)
{
    inst(m, "y")->operands[0] = inst(m, "r");
}
static void unlisted_operand(ir_module *m)
{
    ir_inst *copy = ARENA_NEW(m->arena, ir_inst);
    *copy = *inst(m, "x");
    inst(m, "y")->operands[0] = copy;
}
static void operand_count(ir_module *m)
{
    inst(m, "y")->operand_count = 0;
}
static void opcode(ir_module *m)
{
    inst(m, "y")->op = (ir_op)999;
}
static void position(ir_module *m)
{
    inst(m, "y")->id = 7;
}
static void owner(ir_module *m)
{
    inst(m, "y")->parent = m->computations.items[0];
}
static void no_inst(ir_module *m)
{
    m->entry->insts.items[1] = NULL;
}
static void shape(ir_module *m)
{
    inst(m, "y")->shape = ir_shape_array(m, NUM_F32, 2, (int64_t[]){3, 2});
}
static void bad_dim(ir_module *m)
{
    inst(m, "x")->shape = ir_shape_array(m, NUM_F32, 2, (int64_t[]){-3, 2});
}
static void name_twice(ir_module *m)
{
    inst(m, "y")->name = "a";
}
static void no_name(ir_module *m)
{
    inst(m, "y")->name = "";
}
static const int64_t two[] = {2};
static const ir_dims two_dims = {.count = 1, .items = two};
static void attribute(ir_module *m)
{
    inst(m, "r")->attrs.dimensions = two_dims;
}
static void region_gone(ir_module *m)
{
    inst(m, "r")->attrs.computations[0] = NULL;
}
static void region_wrong(ir_module *m)
{
    m->computations.items[0]->root = inst(m, "z");
}
static void region_params(ir_module *m)
{
    m->computations.items[0]->params.count = 1;
}
static void recursion(ir_module *m)
{
    ir_inst *c = inst(m, "c");
    c->attrs.computations[0] = m->computations.items[0];
}
static void no_root(ir_module *m)
{
    m->entry->root = NULL;
}
static void foreign_root(ir_module *m)
{
    m->entry->root = inst(m, "c");
}
static void no_entry(ir_module *m)
{
    m->entry = NULL;
}
static void param_missing(ir_module *m)
{
    m->entry->params.items[0] = NULL;
}
static void param_wrong(ir_module *m)
{
    m->entry->params.items[0] = inst(m, "y");
}
static void param_number(ir_module *m)
{
    inst(m, "x")->attrs.index = 4;
}
static void computation_number(ir_module *m)
{
    m->computations.items[0]->id = 5;
}
static void alias_output(ir_module *m)
{
    m->aliases.items[0].output_index = 2;
}
static void alias_parameter(ir_module *m)
{
    m->aliases.items[0].parameter = 1;
}
static void alias_shape(ir_module *m)
{
    m->aliases.items[0].output_index = 1;
}
static void alias_twice(ir_module *m)
{
    ir_add_alias(m, 0, 0, true);
}
static void literal_size(ir_module *m)
{
    inst(m, "z")->attrs.literal.size_bytes = 3;
}

static ir_module *other_module;
static void foreign_region(ir_module *m)
{
    other_module = ir_module_create("other");
    inst(m, "r")->attrs.computations[0] = ir_computation_create(other_module, "theirs");
    other_module->computations.items[0]->id = 1;
}

static const struct {
    change_fn *change;
    const char *message;
} rules[] = {
    {null_operand, "t.hlo:7:3: 'negate' has no operand 0 of 1"},
    {foreign_operand, "t.hlo:7:3: 'negate' uses 'a' of computation 'add'"},
    {later_operand, "t.hlo:7:3: 'negate' at position 1 uses 'r', which comes later, at position 3"},
    {unlisted_operand, "'negate' uses 'x', which is not in the list of computation 'e'"},
    {operand_count, "t.hlo:7:3: 'negate' has 0 operands, it takes 1"},
    {opcode, "opcode 999 is none"},
    {position, "'negate' is at position 1 of 'e', but says that it is at 7 of 'e'"},
    {owner, "'negate' is at position 1 of 'e', but says that it is at 1 of 'add'"},
    {no_inst, "position 1 of computation 'e' holds no instruction"},
    {shape, "t.hlo:7:3: 'negate' is stated to give f32[3,2], its operands and attributes give f32[2,3]"},
    {bad_dim, "t.hlo:6:3: 'parameter': dim 0 is -3, it must not be negative"},
    {name_twice, "t.hlo:7:3: 'a' is the name of two instructions"},
    {no_name, "t.hlo:7:3: 'negate' has no name"},
    {attribute, "t.hlo:9:3: 'reduce' has 2 in dimensions, the dims are 0 to 1"},
    {region_gone, "t.hlo:9:3: 'reduce' has no to_apply"},
    {region_wrong, "the root of computation 'add' is 'z' of computation 'e'"},
    {region_params, "t.hlo:9:3: 'reduce' passes 2 values to to_apply 'add', which takes 1"},
    {recursion, "computation 'add' calls 'add', which calls it back"},
    {no_root, "computation 'e' has no root"},
    {foreign_root, "the root of computation 'e' is 'c' of computation 'add'"},
    {no_entry, "module 'm' has no entry among its 2 computations"},
    {param_missing, "computation 'e' has 1 parameters, number 0 is missing"},
    {param_wrong, "computation 'e' lists 'y' as parameter 0, which is no parameter of its"},
    {param_number, "t.hlo:6:3: 'parameter' has number 4, computation 'e' lists 1 parameters"},
    {computation_number, "computation 'add' is number 0 of module 'm', but says that it is 5 of 'm'"},
    {alias_output, "alias 0 reuses output 2, the entry 'e' has 2"},
    {alias_parameter, "alias 0 reuses parameter 1, the entry 'e' has 1"},
    {alias_shape, "alias 0 joins output 1 of f32[2] with parameter 0 of f32[2,3]"},
    {alias_twice, "aliases 0 and 1 join the same output or parameter"},
    {literal_size, "t.hlo:8:3: 'constant' has 3 bytes of data, f32[] needs 4"},
    {foreign_region, "'reduce' calls 'theirs', which is not a computation of module 'm'"},
};

TEST(verify, each_rule_has_a_module_that_breaks_it)
{
    AUTO(ir_module) good = helper_must_parse(good_text);
    EXPECT_OK(ir_verify(good));
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        ir_module *m = helper_must_parse(good_text);
        rules[i].change(m);
        EXPECT_FAILS(ir_verify(m), INVALID, rules[i].message);
        ir_module_destroy(m);
        ir_module_destroy(other_module);
        other_module = NULL;
    }
}

TEST(verify, lists_all_problems_in_order_up_to_twenty)
{
    AUTO(ir_module) m = helper_must_parse(good_text);
    shape(m);
    param_number(m);
    alias_output(m);
    AUTO_STATUS s = ir_verify(m);
    const char *text = glia_status_message(s);
    const char *parameter = strstr(text, "t.hlo:6:3"), *negate = strstr(text, "t.hlo:7:3"),
               *alias = strstr(text, "alias 0");
    EXPECT(parameter && negate && alias && parameter < negate && negate < alias);
    AUTO(ir_module) many = ir_module_create("many");
    ir_builder b = ir_builder_of(ir_computation_create(many, "main"));
    ir_inst *x = ir_parameter(&b, 0, "x", NUM_F32, 0, NULL);
    for (int i = 0; i < 50; i++)
        x = ir_unary(&b, IR_ABS, x);
    EXPECT_OK(ir_builder_finish(&b, x));
    for (uint32_t i = 1; i < many->entry->insts.count; i++)
        many->entry->insts.items[i]->shape.dtype = NUM_S32;
    for (uint32_t i = 1; i < many->entry->insts.count; i++)
        many->entry->insts.items[i]->operands[0] = many->entry->insts.items[0];
    AUTO_STATUS all = ir_verify(many);
    int lines = 0;
    for (const char *c = glia_status_message(all); *c; c++)
        lines += *c == '\n';
    EXPECT_EQ_INT(lines, 20);
    EXPECT(strstr(glia_status_message(all), "stopped after 20 problems") != NULL);
}

TEST(verify, calls_too_deep)
{
    AUTO(ir_module) m = ir_module_create("deep");
    ir_computation *below = NULL;
    for (int depth = 0; depth < 300; depth++) {
        ir_computation *c = ir_computation_create(m, "c");
        ir_builder b = ir_builder_of(c);
        ir_inst *x = ir_parameter(&b, 0, "x", NUM_F32, 0, NULL);
        ir_attrs attrs = {.computations = {below}};
        ir_inst *r = below ? ir_make(&b, IR_CALL, NULL, 1, &x, &attrs) : x;
        EXPECT_OK(ir_builder_finish(&b, r));
        below = c;
    }
    EXPECT_FAILS(ir_verify(m), INVALID, "calls go 257 computations deep");
}
