// SPDX-License-Identifier: Apache-2.0
// The printed form, and that reading it gives the same again.
#include "ir/ir_helper.h"

static void expect_print(const char *text, const char *want)
{
    AUTO(ir_module) m = helper_must_parse(text);
    char *got = helper_print(m);
    EXPECT_EQ_STR(got, want);
    glia_free(got);
    helper_round_trip(m, "a printed module");
}

TEST(print, a_module_in_full)
{
    expect_print("HloModule jit_f, is_scheduled=true, input_output_alias={ {0}: (0, {}, must-alias) }, "
                 "entry_computation_layout={(f32[2,3]{0,1}, s32[])->(f32[2,3]{0,1}, pred[2,3]{1,0})}\n"
                 "%body (p: (f32[2,3], s32[])) -> (f32[2,3], s32[]) {\n"
                 "  ROOT %p = (f32[2,3]{1,0}, s32[]) parameter(0)\n}\n"
                 "%cond (q: (f32[2,3], s32[])) -> pred[] {\n"
                 "  %q = (f32[2,3]{1,0}, s32[]) parameter(0)\n  ROOT %no = pred[] constant(0)\n}\n"
                 "ENTRY %main (x: f32[2,3], n: s32[]) -> (f32[2,3], pred[2,3]) {\n"
                 "  %x = f32[2,3]{0,1} parameter(0), sharding={replicated}\n"
                 "  %n = s32[] parameter(1), metadata={op_name=\"n\"}\n"
                 "  %t = (f32[2,3]{1,0}, s32[]) tuple(f32[2,3]{0,1} %x, s32[] %n)\n"
                 "  %w = (f32[2,3]{1,0}, /*index=1*/s32[]) while(%t), condition=%cond, body=%body, "
                 "backend_config={\"n\":{\"n\":\"}\"}}\n"
                 "  %y = f32[2,3]{1,0} get-tuple-element(%w), index=0, metadata={op_type=\"g\" op_name=\"f/\\\"y\\\"\" "
                 "source_file=\"a b.py\" source_line=7}\n"
                 "  %c = f32[2,3] constant({ { 1, -2.5, inf }, { nan, 1e-45, -0 } })\n"
                 "  %e = pred[2,3] compare(%y, %c), direction=EQ, type=FLOAT\n"
                 "  ROOT %r = (f32[2,3], pred[2,3]) tuple(%y, %e)\n}, execution_thread=\"main\"\n",
                 "HloModule jit_f, input_output_alias={ {0}: (0, {}, must-alias) }, "
                 "entry_computation_layout={(f32[2,3]{0,1}, s32[])->(f32[2,3]{0,1}, pred[2,3]{1,0})}\n"
                 "\nbody {\n  ROOT p = (f32[2,3], s32[]) parameter(0)\n}\n"
                 "\ncond {\n  q = (f32[2,3], s32[]) parameter(0)\n  ROOT no = pred[] constant(false)\n}\n"
                 "\nENTRY main {\n"
                 "  x = f32[2,3] parameter(0)\n"
                 "  n = s32[] parameter(1), metadata={op_name=\"n\"}\n"
                 "  t = (f32[2,3], s32[]) tuple(x, n)\n"
                 "  w = (f32[2,3], s32[]) while(t), condition=cond, body=body\n"
                 "  y = f32[2,3] get-tuple-element(w), index=0, metadata={op_name=\"f/\\\"y\\\"\" source_file=\"a "
                 "b.py\" source_line=7}\n"
                 "  c = f32[2,3] constant({ { 1, -2.5, inf }, { nan, 1.40129846e-45, -0 } })\n"
                 "  e = pred[2,3] compare(y, c), direction=EQ\n"
                 "  ROOT r = (f32[2,3], pred[2,3]) tuple(y, e)\n}\n");
}

TEST(print, attributes_of_every_kind)
{
    const char *text = "HloModule m, entry_computation_layout={(f32[4,6]{1,0}, s32[])->f32[4,6]{1,0}}\n"
                       "\na {\n  ROOT a0 = f32[4,6] parameter(0)\n}\n"
                       "\nb {\n  b0 = f32[4,6] parameter(0)\n  ROOT b1 = f32[4,6] negate(b0)\n}\n"
                       "\nENTRY e {\n"
                       "  x = f32[4,6] parameter(0)\n"
                       "  n = s32[] parameter(1)\n"
                       "  c = pred[4,6] compare(x, x), direction=LT, type=TOTALORDER\n"
                       "  s = f32[2,2] slice(x), slice={[0:4:2], [1:3]}\n"
                       "  z = f32[] constant(-1.5)\n"
                       "  p = f32[4,9] pad(x, z), padding=-1_1x1_2\n"
                       "  d = f32[4,4] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
                       "operand_precision={highest,default}\n"
                       "  k = f32[4,6] conditional(n, x, x), branch_computations={a, b}\n"
                       "  q = pred[] constant(true)\n"
                       "  l = f32[4,6] conditional(q, x, x), true_computation=b, false_computation=a\n"
                       "  f = f32[4,6] fusion(x), kind=kLoop, calls=b\n"
                       "  u = (f32[4,6], s32[]) custom-call(x, n), custom_call_target=\"t\", "
                       "output_to_operand_aliasing={{0}: (0, {}), {1}: (1, {})}, "
                       "backend_config=\"\\\"a\\\\\\n\\001\"\n"
                       "  ROOT r = f32[4,6] reduce-precision(x), exponent_bits=8, mantissa_bits=7\n}\n";
    AUTO(ir_module) m = helper_must_parse(text);
    char *got = helper_print(m);
    EXPECT_EQ_STR(got, text);
    glia_free(got);
}

TEST(print, literals_of_every_rank)
{
    static const struct {
        const char *shape, *literal;
    } cases[] = {
        {"s32[]", "5"},
        {"s32[1]", "{5}"},
        {"s32[3]", "{1, 2, 3}"},
        {"s8[2,1,2]", "{ { { 1, 2 } }, { { 3, -4 } } }"},
        {"s32[0]", "{}"},
        {"s32[2,0]", "{}"},
        {"pred[2]", "{true, false}"},
        {"c64[2]", "{(1, -0), (inf, nan)}"},
        {"u4[2]", "{15, 0}"},
        {"s4[2]", "{-8, 7}"},
        {"bf16[2]", "{1e+30, 0.1001}"},
        {"f16[1]", "{6.1035e-05}"},
        {"f8e4m3fn[2]", "{448, nan}"},
        {"f32[1]", "{nan(0x1)}"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[256], want[128];
        snprintf(text, sizeof text, "HloModule m\nENTRY e { ROOT r = %s constant(%s) }", cases[i].shape,
                 cases[i].literal);
        snprintf(want, sizeof want, "r = %s constant(%s)", cases[i].shape, cases[i].literal);
        AUTO(ir_module) m = helper_must_parse(text);
        glia_strbuf got = {0};
        ir_print_inst(&got, m->entry->root);
        EXPECT_EQ_STR(glia_strbuf_str(&got), want);
        glia_strbuf_fini(&got);
        helper_round_trip(m, cases[i].shape);
    }
}

TEST(print, callees_come_first_whatever_the_order_of_building)
{
    AUTO(ir_module) m = ir_module_create("m");
    ir_builder b = ir_builder_of(ir_computation_create(m, "main"));
    ir_inst *x = ir_parameter(&b, 0, "x", NUM_F32, 1, (int64_t[]){4});
    ir_inst *r = ir_reduce(&b, IR_ADD, x, ir_constant_f32(&b, NUM_F32, 0), 1, (int64_t[]){0});
    EXPECT_OK(ir_builder_finish(&b, r));
    char *text = helper_print(m);
    EXPECT(strstr(text, "add_f32 {") && strstr(text, "add_f32 {") < strstr(text, "ENTRY main {"));
    glia_free(text);
    helper_round_trip(m, "a module built caller first");
}

TEST(print, a_broken_module_prints)
{
    AUTO(ir_module) m = ir_module_create("m");
    char *text = helper_print(m);
    EXPECT_EQ_STR(text, "HloModule m\n");
    glia_free(text);
    ir_computation *c = ir_computation_create(m, "main");
    ir_builder b = ir_builder_of(c);
    ir_inst *x = ir_constant_f32(&b, NUM_F32, 1);
    ir_inst *y = ir_unary(&b, IR_ABS, x);
    x->attrs.literal.size_bytes = 0;
    y->operands[0] = NULL;
    y->attrs.computations[0] = c; // calls itself
    text = helper_print(m);
    EXPECT(strstr(text, "constant({...})") && strstr(text, "abs((none))"));
    glia_free(text);
}
