// SPDX-License-Identifier: Apache-2.0
// Reading HLO text: places, layouts, aliases, stack frames, normal forms, and what may be left out or ignored.
#include "ir/ir_helper.h"

TEST(parse, places_and_framework_lines)
{
    AUTO(ir_module)
    m = helper_must_parse(
        "HloModule m\n\nFileNames\n1 \"a.py\"\n2 \"b.py\"\n\nFunctionNames\n1 \"f\"\n\nFileLocations\n"
        "1 {file_name_id=2 function_name_id=1 line=15 end_line=15 column=0 end_column=85}\n"
        "2 {file_name_id=1 function_name_id=1 line=3}\n\nStackFrames\n1 {file_location_id=2 parent_frame_id=1}\n"
        "2 {file_location_id=1 parent_frame_id=1}\n\n"
        "ENTRY e {\n"
        "  x = f32[] parameter(0), metadata={op_name=\"x\"}\n"
        "  y = f32[] negate(x), metadata={op_name=\"f/neg\" stack_frame_id=2}\n"
        "  ROOT z = f32[] negate(y), metadata={op_name=\"f/g\" source_file=\"c.py\" source_line=8 "
        "stack_frame_id=1}\n}\n");
    const ir_inst *x = helper_find(m, "x"), *y = helper_find(m, "y"), *z = helper_find(m, "z");
    EXPECT_EQ_STR(x->loc.file, "t.hlo");
    EXPECT_EQ_INT(x->loc.line, 19);
    EXPECT_EQ_INT(x->loc.column, 3);
    EXPECT_EQ_STR(x->loc.op_name, "x");
    EXPECT_EQ_STR(y->loc.op_name, "f/neg @ b.py:15");
    EXPECT_EQ_INT(z->loc.line, 21);
    EXPECT_EQ_INT(z->loc.column, 8);
    EXPECT_EQ_STR(z->loc.op_name, "f/g @ c.py:8");
    helper_round_trip(m, "a module with stack frames");
}

TEST(parse, entry_layouts_are_kept_and_others_dropped)
{
    AUTO(ir_module)
    m = helper_must_parse("HloModule m, entry_computation_layout={(f32[2,3]{0,1:T(8,128)})->f32[3,2]{1,0}}\n"
                          "ENTRY e { x = f32[2,3]{1,0} parameter(0)\n y = f32[2,3]{0,1} negate(x)\n"
                          " ROOT t = f32[3,2]{0,1} transpose(y), dimensions={1,0} }");
    EXPECT(m->entry->params.items[0]->shape.minor_to_major != NULL);
    EXPECT_EQ_INT(m->entry->params.items[0]->shape.minor_to_major[0], 0);
    EXPECT(helper_find(m, "y")->shape.minor_to_major == NULL);
    EXPECT(m->entry->root->shape.minor_to_major == NULL); // {1,0} is the default
    AUTO(ir_module)
    own =
        helper_must_parse("HloModule m\nENTRY e { x = f32[2,3]{0,1} parameter(0)\n ROOT y = f32[2,3]{0,1} negate(x) }");
    EXPECT(own->entry->params.items[0]->shape.minor_to_major != NULL);
    EXPECT(own->entry->root->shape.minor_to_major != NULL);
    helper_round_trip(own, "layouts of the instructions");
}

TEST(parse, aliases)
{
    AUTO(ir_module)
    m = helper_must_parse(
        "HloModule m, input_output_alias={ {1}: (0, {}, must-alias), {0}: (1, {}), {2}: (2, {}, may-alias) }\n"
        "ENTRY e { a = f32[2] parameter(0)\n b = s32[] parameter(1)\n c = s32[] parameter(2)\n"
        "ROOT r = (s32[], f32[2], s32[]) tuple(b, a, c) }");
    EXPECT_EQ_INT(m->aliases.count, 3);
    EXPECT_EQ_INT(m->aliases.items[0].output_index, 1);
    EXPECT_EQ_INT(m->aliases.items[0].parameter, 0);
    EXPECT(m->aliases.items[0].must && !m->aliases.items[1].must && !m->aliases.items[2].must);
    AUTO(ir_module)
    whole = helper_must_parse(
        "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\nENTRY e { ROOT a = f32[2] parameter(0) }");
    EXPECT_EQ_INT(whole->aliases.items[0].output_index, 0);
    helper_round_trip(m, "aliases");
    helper_round_trip(whole, "an alias of the whole output");
}

TEST(parse, the_last_instruction_is_the_root_and_the_last_computation_the_entry)
{
    AUTO(ir_module)
    m = helper_must_parse(
        "HloModule m\na { x = f32[] parameter(0) }\nb { y = f32[] parameter(0)\n z = f32[] negate(y) }");
    EXPECT_EQ_STR(m->entry->name, "b");
    EXPECT_EQ_STR(m->entry->root->name, "z");
    AUTO(ir_module)
    marked = helper_must_parse(
        "HloModule m\nENTRY a { ROOT x = f32[] parameter(0)\n y = f32[] negate(x) }\nb { z = f32[] parameter(0) }");
    EXPECT_EQ_STR(marked->entry->name, "a");
    EXPECT_EQ_STR(marked->entry->root->name, "x");
}

TEST(parse, equal_names_in_two_computations)
{
    AUTO(ir_module)
    m = helper_must_parse("HloModule m\nf { x = f32[] parameter(0)\n ROOT y = f32[] negate(x) }\n"
                          "ENTRY e { x = f32[] parameter(0)\n ROOT y = f32[] call(x), to_apply=f }");
    EXPECT_EQ_STR(m->entry->root->name, "y.2");
    EXPECT_EQ_STR(m->entry->root->operands[0]->name, "x.1");
    helper_round_trip(m, "equal names");
}

TEST(parse, what_means_nothing_here_is_skipped)
{
    AUTO(ir_module)
    m = helper_must_parse(
        "HloModule m, is_scheduled=true, replica_count=2, num_partitions=4, frontend_attributes={a=\"}\",b=\"{\"}, "
        "allow_spmd_sharding_propagation_to_output={true}, buffer_donor={ (0, {}) }, alias_passthrough_params=true\n"
        "/* a comment */ // and another\n"
        "ENTRY e {\n  x = f32[4]{0} parameter(0), sharding={replicated}, "
        "parameter_replication={false}\n"
        "  y = f32[4]{0} negate(x), control-predecessors={x}, statistics={visualizing_index=0,stat-0=0}, "
        "frontend_attributes={_x=\"1,2\"}, backend_config={\"a\":[1,{\"b\":\"c}\"}]}, result_accuracy={mode=highest}, "
        "origin={{\"z\"}}\n"
        "  ROOT d = f32[4,4]{1,0} dot(y, x), algorithm=dot_bf16_bf16_f32, operand_precision={default,default}\n}\n");
    EXPECT_EQ_STR(m->entry->root->attrs.operand_precision, "");
    EXPECT_EQ_INT(m->entry->insts.count, 3);
}

// Each with the place and the name of what is not understood.
TEST(parse, what_may_mean_something_is_refused)
{
    static const struct { const char *text, *want; } cases[] = {
        { "HloModule m\nENTRY e { p = f32[4] parameter(0)\n ROOT r = f32[4] add(p, p), bogus_attr={1} }",
          "t.hlo:3:29: 'add' has the attribute 'bogus_attr', which is not known" },
        { "HloModule m\nENTRY e { p = f32[4,4] parameter(0)\n ROOT r = f32[4,4] dot(p, p), sparsity=L.1@2:4, lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
          "t.hlo:3:31: 'dot' has the attribute 'sparsity'" },
        { "HloModule m\nENTRY e { p = f32[4,4] parameter(0)\n ROOT r = f32[4,4] dot(p, p), algorithm=dot_f64_f64_f64, lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
          "t.hlo:3:31: 'dot' has 'algorithm=dot_f64_f64_f64', which is not supported" },
        { "HloModule m\nENTRY e { p = f32[4,4] parameter(0)\n ROOT r = f32[4,4] dot(p, p), operand_precision={packed_nibble,default}, lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
          "precision 'packed_nibble' is not supported" },
        { "HloModule m\nENTRY e { p = f32[4] parameter(0)\n ROOT r = f32[4] negate(p), window={size=2} }", "3:29: 'negate' has the attribute 'window'" },
        { "HloModule m\nf { x = f32[] parameter(0) }\nENTRY e { p = f32[4] parameter(0)\n ROOT r = f32[4] negate(p), to_apply=f }",
          "4:29: 'negate' has the attribute 'to_apply'" },
        { "HloModule m\nENTRY e { ROOT p = f32[4] parameter(0), sharding={devices=[2]<=[2]} }",
          "2:41: 'parameter' has 'sharding={devices=[2]<=[2]}', which is not supported" },
        { "HloModule m\nENTRY e { ROOT p = f32[4] parameter(0), sharding={{replicated}, {maximal device=1}} }", "which is not supported" },
        { "HloModule m\nENTRY e { p = f32[4] parameter(0)\n ROOT r = f32[4] tanh(p), result_accuracy={tolerance={atol=0,rtol=0,ulps=1}} }",
          "'tanh' has 'result_accuracy={tolerance=" },
        { "HloModule m, dynamic_parameter_binding={ (0, {}) }\nENTRY e { p = f32[4] parameter(0) }",
          "t.hlo:1:14: 'module' has the attribute 'dynamic_parameter_binding'" },
        { "HloModule m\nENTRY e { p = f32[4] parameter(0) }, execution_thread=\"host\"", "t.hlo:2:38: 'computation' has 'execution_thread=\"host\"'" },
        { "HloModule m\nENTRY e { ROOT x = f32[<=8,3] parameter(0) }", "t.hlo:2:24: dim 0 of an array is a bound" },
        { "HloModule m\nENTRY e { ROOT x = f32[8,3]{1,0:D(D,C)} parameter(0) }", "t.hlo:2:28: layout '{1,0:D(D,C)}' is of a sparse array" },
        { "HloModule m\nf { x = f32[] parameter(0) }\nENTRY e { p = f32[] parameter(0)\n ROOT r = f32[] fusion(p), kind=kBogus, calls=f }", "expected kLoop" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        ir_module *m = NULL;
        AUTO_STATUS s = helper_parse(cases[i].text, &m);
        if (!s || !strstr(glia_status_message(s), cases[i].want))
            FAIL_TEST("case %zu: got \"%s\", want \"%s\"", i, s ? glia_status_message(s) : "success", cases[i].want);
    }
}

TEST(parse, shardings_that_leave_arrays_whole_are_read)
{
    AUTO(ir_module)
    m = helper_must_parse("HloModule m\nENTRY e { a = f32[4] parameter(0), sharding={devices=[1,1]<=[1]}\n b = f32[4] parameter(1), sharding={maximal device=0}\n"
                          " ROOT r = (f32[4], f32[4]) tuple(a, b), sharding={{replicated}, {replicated}} }, execution_thread=\"main\"");
    EXPECT_EQ_INT(m->entry->insts.count, 3);
}

static ir_module *parse_body(const char *params, const char *body)
{
    char text[1024];
    snprintf(text, sizeof text,
             "HloModule m\nadd { a0 = f32[] parameter(0)\n b0 = f32[] parameter(1)\n ROOT c0 = f32[] add(a0, b0) "
             "}\nENTRY e { %s\n %s }\n",
             params, body);
    ir_module *m = helper_must_parse(text);
    helper_round_trip(m, body);
    return m;
}

static void expect_ops(const ir_module *m, int count, const ir_op *ops)
{
    EXPECT_EQ_INT(m->entry->insts.count, count + 1); // and the parameter
    for (int i = 0; i < count; i++)
        EXPECT_EQ_INT(m->entry->insts.items[i + 1]->op, ops[i]);
}

TEST(parse, bitcast_is_what_the_layouts_say)
{
    AUTO(ir_module) plain = parse_body("x = f32[3,8]{1,0} parameter(0)", "ROOT b = f32[24]{0} bitcast(x)");
    expect_ops(plain, 1, (ir_op[]){IR_RESHAPE});
    EXPECT_EQ_STR(plain->entry->root->name, "b");
    // f32[3,8]{1,0} lies in memory as 3 rows of 8; read as f32[8,3]{0,1} that is the transpose
    AUTO(ir_module) turned = parse_body("x = f32[3,8]{1,0} parameter(0)", "ROOT b = f32[8,3]{0,1} bitcast(x)");
    expect_ops(turned, 1, (ir_op[]){IR_TRANSPOSE});
    EXPECT_EQ_INT(turned->entry->root->attrs.dimensions.items[0], 1);
    AUTO(ir_module) back = parse_body("x = f32[8,3]{0,1} parameter(0)", "ROOT b = f32[3,8]{1,0} bitcast(x)");
    expect_ops(back, 1, (ir_op[]){IR_TRANSPOSE});
    // memory order of x is dims (2, 0, 1) = [4,2,3]; the result lies as [24]
    AUTO(ir_module) both = parse_body("x = f32[2,3,4]{1,0,2} parameter(0)", "ROOT b = f32[24]{0} bitcast(x)");
    expect_ops(both, 2, (ir_op[]){IR_TRANSPOSE, IR_RESHAPE});
    const int64_t *order = both->entry->insts.items[1]->attrs.dimensions.items;
    EXPECT(order[0] == 2 && order[1] == 0 && order[2] == 1);
    // result f32[2,3,4]{0,2,1}: in memory [3,4,2]; logical dim k lies at position inverse[k] = (2, 0, 1)
    AUTO(ir_module) result = parse_body("x = f32[24]{0} parameter(0)", "ROOT b = f32[2,3,4]{0,2,1} bitcast(x)");
    expect_ops(result, 2, (ir_op[]){IR_RESHAPE, IR_TRANSPOSE});
    EXPECT_SHAPE(&result->entry->insts.items[1]->shape, "f32[3,4,2]");
    order = result->entry->root->attrs.dimensions.items;
    EXPECT(order[0] == 2 && order[1] == 0 && order[2] == 1);
    AUTO(ir_module) none = parse_body("x = f32[3,8]{0,1} parameter(0)", "ROOT b = f32[3,8]{0,1} bitcast(x)");
    EXPECT_EQ_INT(none->entry->insts.items[none->entry->insts.count - 1]->op, IR_TRANSPOSE); // there and back
    AUTO(ir_module) typed = parse_body("x = f32[4] parameter(0)", "ROOT b = s32[2,2] bitcast(x)");
    expect_ops(typed, 2, (ir_op[]){IR_RESHAPE, IR_BITCAST_CONVERT});
}

TEST(parse, identities_leave_nothing_behind)
{
    AUTO(ir_module)
    m = parse_body("x = f32[4] parameter(0)",
                   "t = token[] after-all()\n d = f32[4] domain(x), domain={kind=\"sharding\", entry={}, exit={}}\n"
                   " a = f32[4] add-dependency(d, t)\n ROOT r = f32[4] negate(a)");
    expect_ops(m, 2, (ir_op[]){IR_TUPLE, IR_NEGATE});
    EXPECT_EQ_STR(m->entry->root->operands[0]->name, "x");
}

TEST(parse, reduce_window_that_tiles_is_a_reduce)
{
    AUTO(ir_module)
    m = parse_body(
        "x = f32[8,64] parameter(0)",
        "z = f32[] constant(0)\n ROOT w = f32[8,2] reduce-window(x, z), window={size=1x32 stride=1x32}, to_apply=add");
    expect_ops(m, 3, (ir_op[]){IR_CONSTANT, IR_RESHAPE, IR_REDUCE});
    EXPECT_SHAPE(&m->entry->root->operands[0]->shape, "f32[8,2,32]");
    EXPECT_EQ_INT(m->entry->root->attrs.dimensions.count, 1);
    EXPECT_EQ_INT(m->entry->root->attrs.dimensions.items[0], 2);
    EXPECT_EQ_STR(m->entry->root->name, "w");
    ir_module *none = NULL;
    EXPECT_FAILS(
        helper_parse("HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
                     "ENTRY e { x = f32[4] parameter(0)\n z = f32[] constant(0)\n"
                     "ROOT w = f32[4] reduce-window(x, z), window={size=4 pad=3_0}, to_apply=add }",
                     &none),
        UNSUPPORTED, "t.hlo:7:6: 'reduce-window' with window '{size=4 pad=3_0}' of f32[4] is not supported");
}

TEST(parse, custom_calls_keep_their_attributes)
{
    AUTO(ir_module)
    m = parse_body(
        "x = f32[4] parameter(0)",
        "ROOT c = (f32[4], f32[4]) custom-call(x), custom_call_target=\"a\\\"b\", backend_config={\"k\": \"v}\"}, "
        "api_version=API_VERSION_TYPED_FFI, output_to_operand_aliasing={{1}: (0, {})}");
    const ir_attrs *a = &m->entry->root->attrs;
    EXPECT_EQ_STR(a->custom_call_target, "a\"b");
    EXPECT_EQ_STR(a->backend_config, "{\"k\": \"v}\"}");
    EXPECT_EQ_INT(a->aliasing.count, 2);
    EXPECT_EQ_INT(a->aliasing.items[0], 1);
    EXPECT_EQ_INT(a->aliasing.items[1], 0);
}

TEST(parse, a_large_constant_is_read_once_and_fast)
{
    enum { N = 1 << 20 };
    glia_strbuf text = {0};
    glia_putf(&text, "HloModule m\nENTRY e { ROOT c = f32[%d] constant({", N);
    for (int i = 0; i < N; i++)
        glia_putf(&text, "%s%d.%d", i ? ", " : "", i, i % 10);
    glia_put(&text, "}) }\n");
    ir_module *m = NULL;
    EXPECT_OK(ir_parse(glia_strbuf_span(&text), "big.hlo", &m));
    const float *data = m->entry->root->attrs.literal.data;
    EXPECT_NEAR(data[12345], 12345.5, 1e-3);
    EXPECT_NEAR(data[N - 1], 1048575.5, 0.1);
    ir_module_destroy(m);
    glia_strbuf_fini(&text);
}

TEST(parse, deep_nesting_is_bounded)
{
    glia_strbuf text = {0};
    glia_put(&text, "HloModule m\nENTRY e { ROOT x = ");
    for (int i = 0; i < 100000; i++)
        glia_put(&text, "(");
    ir_module *m = NULL;
    EXPECT_FAILS(ir_parse(glia_strbuf_span(&text), "t.hlo", &m), INVALID, "more than 32 levels deep");
    glia_strbuf_clear(&text);
    glia_put(&text, "HloModule m, frontend_attributes=");
    for (int i = 0; i < 100000; i++)
        glia_put(&text, "{");
    EXPECT_FAILS(ir_parse(glia_strbuf_span(&text), "t.hlo", &m), INVALID, "no value that ends");
    glia_strbuf_clear(&text);
    glia_put(&text, "HloModule m\nc0 { x = f32[] parameter(0) }\n");
    for (int i = 1; i <= 300; i++)
        glia_putf(&text, "c%d { x = f32[] parameter(0)\n ROOT y = f32[] call(x), to_apply=c%d }\n", i, i - 1);
    EXPECT_FAILS(ir_parse(glia_strbuf_span(&text), "t.hlo", &m), INVALID,
                 "calls go 257 computations deep at 'c257', at most 256 are read");
    glia_strbuf_fini(&text);
    EXPECT(m == NULL);
}

// Whatever one byte is changed to, the answer is a module that verifies or an error with a place.
static void expect_sane(const char *text, size_t size)
{
    ir_module *m = NULL;
    AUTO_STATUS s = ir_parse((glia_span){(const uint8_t *)text, size}, "t.hlo", &m);
    if (s && strncmp(glia_status_message(s), "t.hlo:", 6) != 0)
        FAIL_TEST("an error without a place: %s", glia_status_message(s));
    if (!s) helper_round_trip(m, "a damaged module");
    ir_module_destroy(m);
}

static const char small_module[] =
    "HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }, "
    "entry_computation_layout={(f32[2,3]{1,0})->(f32[2,3]{0,1}, f32[2])}\n"
    "add { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b) }\n"
    "ENTRY %e (x: f32[2,3]) -> (f32[2,3], f32[2]) {\n  %x = f32[2,3]{1,0} parameter(0), metadata={op_name=\"x\" "
    "source_line=3}\n"
    "  k = f32[2,3] constant({ { 1, 2, -3e2 }, { inf, nan, 0 } })\n  s = f32[2,3]{1,0} subtract(f32[2,3] x, k) /* c "
    "*/\n"
    "  z = f32[] constant(0)\n  p = f32[4,3] pad(s, z), padding=1_1x0_0\n  q = f32[2,3] slice(p), slice={[1:3], "
    "[0:3]}\n"
    "  r = f32[2] reduce(q, z), dimensions={1}, to_apply=add\n  ROOT t = (f32[2,3], f32[2]) tuple(q, r)\n}\n";

TEST(parse, truncation_at_every_byte)
{
    AUTO(ir_module) whole = helper_must_parse(small_module);
    EXPECT_EQ_INT(whole->entry->insts.count, 8);
    for (size_t n = 0; n < sizeof small_module - 1; n++) {
        char *copy = glia_alloc(n ? n : 1); // its own block, so that a sanitizer sees a read past the end
        memcpy(copy, small_module, n);
        expect_sane(copy, n);
        glia_free(copy);
    }
}

TEST(parse, every_byte_changed)
{
    const char with[] = {'\0', '"', '{', '}', '(', ')', ',', '9', '-', 'x', '\xff', '\n', '/'};
    char copy[sizeof small_module];
    for (size_t n = 0; n < sizeof small_module - 1; n++) {
        for (size_t w = 0; w < sizeof with; w++) {
            memcpy(copy, small_module, sizeof copy);
            copy[n] = with[w];
            expect_sane(copy, sizeof small_module - 1);
        }
    }
}
