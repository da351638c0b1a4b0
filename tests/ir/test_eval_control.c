// SPDX-License-Identifier: Apache-2.0
// Regions and control flow: reduce, sort, while, conditional, call, tuples, custom calls, limits; and public reports of
// programs that other stacks got wrong, with their right answers.
#include "ir/eval_helper.h"

// clang-format off: programs and rows are laid out by hand

// The comparator of jnp.argmax and argmin: NaN wins, then the value, then the lower index.
#define ARG_REGION(name, direction)                                                                                \
    name " {\n  v0 = f32[] parameter(0)\n  i0 = s32[] parameter(1)\n  v1 = f32[] parameter(2)\n"                   \
    "  i1 = s32[] parameter(3)\n  gt = pred[] compare(v0, v1), direction=" direction "\n"                          \
    "  nan = pred[] compare(v0, v0), direction=NE\n  keep = pred[] or(gt, nan)\n"                                  \
    "  eq = pred[] compare(v0, v1), direction=EQ\n  lt = pred[] compare(i0, i1), direction=LT\n"                   \
    "  tie = pred[] and(eq, lt)\n  keepi = pred[] or(keep, tie)\n  v = f32[] select(keep, v0, v1)\n"               \
    "  i = s32[] select(keepi, i0, i1)\n  ROOT t = (f32[], s32[]) tuple(v, i)\n}\n"

static void expect_arg(const char *direction, const char *init, const float *x, int n, int want)
{
    AUTO_VALUE(glia_strbuf) text = { 0 };
    const int64_t dims[] = { n };
    const ir_value input = { { .dtype = NUM_F32, .rank = 1, .dims = dims }, (void *)x };

    glia_put(&text, "HloModule t\n");
    if (strcmp(direction, "GT") == 0) glia_put(&text, ARG_REGION("arg", "GT"));
    else glia_put(&text, ARG_REGION("arg", "LT"));
    glia_putf(&text, "ENTRY main {\n  x = f32[%d] parameter(0)\n  i = s32[%d] iota(), iota_dimension=0\n", n, n);
    glia_putf(&text, "  v = f32[] constant(%s)\n  z = s32[] constant(0)\n", init);
    glia_put(&text, "  ROOT r = (f32[], s32[]) reduce(x, i, v, z), dimensions={0}, to_apply=arg\n}\n");
    eval_run r = eval_text(glia_strbuf_str(&text), &input, 1);
    EXPECT_EQ_INT(*(const int32_t *)r.out[1].data, want);
    eval_run_fini(&r);
}

// Report H19: the rule for NaN must not depend on the length.
TEST(eval_control, argmax_finds_the_first_nan_at_any_length)
{
    static const int lengths[] = { 2, 3, 4, 5, 8, 10, 16, 17 };

    for (size_t k = 0; k < COUNT_OF(lengths); k++) {
        float x[17], all_nan[17];
        for (int i = 0; i < 17; i++) {
            x[i] = (float)(i * 7 % 5);
            all_nan[i] = NAN;
        }
        x[1] = NAN;
        if (lengths[k] > 3) x[3] = NAN;
        expect_arg("GT", "-inf", x, lengths[k], 1);
        expect_arg("LT", "inf", x, lengths[k], 1);
        expect_arg("GT", "-inf", all_nan, lengths[k], 0);
        expect_arg("LT", "inf", all_nan, lengths[k], 0);
    }
    expect_arg("GT", "-inf", (const float[]){ 1, 3, 3, 2 }, 4, 1);
    expect_arg("LT", "inf", (const float[]){ 4, 1, 3, 1 }, 4, 1);
}

TEST(eval_control, reduce_over_some_dims)
{
    static const char *regions =
        "add {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT r = f32[] add(x, y)\n}\n"
        "max {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT r = f32[] maximum(x, y)\n}\n"
        "last {\n  x = f32[] parameter(0)\n  ROOT y = f32[] parameter(1)\n}\n"
        "sub {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT r = f32[] subtract(y, x)\n}\n";
    static const eval_row rows[] = {
        { "reduce", { "f32[2,3] { {1, 2, 3}, {4, 5, 6} }", "f32[] 10" }, ", dimensions={1}, to_apply=add", "f32[2] {16, 25}" },
        { "reduce", { "f32[2,3] { {1, 2, 3}, {4, 5, 6} }", "f32[] 10" }, ", dimensions={0}, to_apply=add", "f32[3] {15, 17, 19}" },
        { "reduce", { "f32[2,3] { {1, 2, 3}, {4, 5, 6} }", "f32[] 0" }, ", dimensions={1,0}, to_apply=add", "f32[] 21" },
        { "reduce", { "f32[2,2,2] { { {1, 2}, {3, 4} }, { {5, 6}, {7, 8} } }", "f32[] 0" }, ", dimensions={0,2}, to_apply=add",
          "f32[2] {14, 22}" },
        { "reduce", { "f32[2,2] { {1, nan}, {-0, -3} }", "f32[] -inf" }, ", dimensions={1}, to_apply=max", "f32[2] {nan, -0}" },
        { "reduce", { "f32[2,3] { {1, 2, 3}, {4, 5, 6} }", "f32[] 0" }, ", dimensions={1}, to_apply=last", "f32[2] {3, 6}" },
        // y - x, in ascending order: 3 - (2 - (1 - 0)) = 2
        { "reduce", { "f32[2,3] { {1, 2, 3}, {4, 5, 6} }", "f32[] 0" }, ", dimensions={1}, to_apply=sub", "f32[2] {2, 5}" },
        { "reduce", { "f32[] 3", "f32[] 4" }, ", dimensions={}, to_apply=add", "f32[] 7" },
        { "reduce", { "f32[0,2] {}", "f32[] 4" }, ", dimensions={0}, to_apply=add", "f32[2] {4, 4}" },
    };
    RUN_ROWS(regions, rows);
}

// 1024 ones on top of 1024 in bf16: an fp32 accumulator sees each of them, a bf16 one would see none.
TEST(eval_control, a_plain_reduce_accumulates_wide)
{
    eval_run r = eval_text("HloModule t\nadd {\n  x = bf16[] parameter(0)\n  y = bf16[] parameter(1)\n"
                           "  ROOT r = bf16[] add(x, y)\n}\nENTRY main {\n  one = bf16[] constant(1)\n"
                           "  init = bf16[] constant(1024)\n  x = bf16[1024] broadcast(one), dimensions={}\n"
                           "  ROOT r = bf16[] reduce(x, init), dimensions={0}, to_apply=add\n}\n", NULL, 0);
    EXPECT_NEAR(num_bf16_to_f32(*(const uint16_t *)r.out[0].data), 2048, 0);
    eval_run_fini(&r);
}

// 2^24 + 1 + ... : fp32 in ascending order loses each 1, fp64 keeps them.
TEST(eval_control, precise_accumulates_in_fp64)
{
    static const char *text = "HloModule t\nadd {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n"
                              "  ROOT r = f32[] add(x, y)\n}\nENTRY main {\n  x = f32[5] constant({16777216, 1, 1, 1, 1})\n"
                              "  z = f32[] constant(0)\n  one = f32[] constant(1)\n"
                              "  ones = f32[5] broadcast(one), dimensions={}\n"
                              "  a = f32[] reduce(x, z), dimensions={0}, to_apply=add\n"
                              "  b = f32[] dot(x, ones), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
                              "  ROOT t = (f32[], f32[]) tuple(a, b)\n}\n";
    eval_run r = eval_text(text, NULL, 0);
    ir_eval_options options = { .precise = true };
    ir_value *out;
    int count;

    EXPECT_LEAF(r, 0, float, 16777216);
    EXPECT_LEAF(r, 1, float, 16777216);
    EXPECT_OK(ir_eval(r.module, NULL, 0, r.arena, &options, &out, &count));
    EXPECT_NEAR(*(const float *)out[0].data, 16777220, 0);
    EXPECT_NEAR(*(const float *)out[1].data, 16777220, 0);
    eval_run_fini(&r);
}

// Report H07: argsort of [3, 1, 2, 1] is [1, 3, 2, 0].
TEST(eval_control, sort_is_stable_and_variadic)
{
    eval_run r = eval_text("HloModule t\nlt {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                           "  i = s32[] parameter(2)\n  j = s32[] parameter(3)\n"
                           "  ROOT r = pred[] compare(a, b), direction=LT\n}\nENTRY main {\n"
                           "  x = f32[4] constant({3, 1, 2, 1})\n  i = s32[4] iota(), iota_dimension=0\n"
                           "  ROOT s = (f32[4], s32[4]) sort(x, i), dimensions={0}, is_stable=true, to_apply=lt\n}\n", NULL, 0);
    EXPECT_LEAF(r, 0, float, 1, 1, 2, 3);
    EXPECT_LEAF(r, 1, int32_t, 1, 3, 2, 0);
    eval_run_fini(&r);
}

// What NaN and zeros do is the comparator's: by total order -0 goes before 0 and NaN last; by plain less-than, as jax
// gets it after normalising, both zeros stay in their order.
TEST(eval_control, sort_follows_its_comparator_on_nan_and_zeros)
{
    eval_run r = eval_text("HloModule t\nlt {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                           "  i = s32[] parameter(2)\n  j = s32[] parameter(3)\n"
                           "  ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER\n}\nENTRY main {\n"
                           "  x = f32[2,3] constant({ {nan, 0, -0}, {1, -inf, 0} })\n"
                           "  i = s32[2,3] iota(), iota_dimension=1\n"
                           "  ROOT s = (f32[2,3], s32[2,3]) sort(x, i), dimensions={1}, is_stable=true, to_apply=lt\n}\n",
                           NULL, 0);
    EXPECT_LEAF(r, 1, int32_t, 2, 1, 0, 1, 2, 0);
    eval_run_fini(&r);
}

TEST(eval_control, sort_along_an_outer_dim_and_by_a_contradictory_comparator)
{
    eval_run r = eval_text("HloModule t\ngt {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n"
                           "  ROOT r = pred[] compare(a, b), direction=GT\n}\n"
                           "always {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT r = pred[] constant(true)\n}\n"
                           "ENTRY main {\n  x = s32[3,2] constant({ {1, 6}, {5, 2}, {3, 4} })\n"
                           "  a = s32[3,2] sort(x), dimensions={0}, to_apply=gt\n"
                           "  b = s32[3,2] sort(x), dimensions={0}, to_apply=always\n"
                           "  ROOT t = (s32[3,2], s32[3,2]) tuple(a, b)\n}\n", NULL, 0);
    EXPECT_LEAF(r, 0, int32_t, 5, 6, 3, 4, 1, 2);
    int sum = 0;
    for (int i = 0; i < 6; i++) sum += ((const int32_t *)r.out[1].data)[i];
    EXPECT_EQ_INT(sum, 21);                 // still a permutation
    eval_run_fini(&r);
}

#define COLLATZ                                                                                                    \
    "HloModule collatz\n"                                                                                          \
    "cond {\n  s = (s32[], s32[]) parameter(0)\n  n = s32[] get-tuple-element(s), index=0\n"                       \
    "  one = s32[] constant(1)\n  ROOT r = pred[] compare(n, one), direction=NE\n}\n"                              \
    "odd {\n  n = s32[] parameter(0)\n  three = s32[] constant(3)\n  one = s32[] constant(1)\n"                    \
    "  m = s32[] multiply(n, three)\n  ROOT r = s32[] add(m, one)\n}\n"                                            \
    "even {\n  n = s32[] parameter(0)\n  two = s32[] constant(2)\n  ROOT r = s32[] divide(n, two)\n}\n"            \
    "body {\n  s = (s32[], s32[]) parameter(0)\n  n = s32[] get-tuple-element(s), index=0\n"                       \
    "  k = s32[] get-tuple-element(s), index=1\n  one = s32[] constant(1)\n  two = s32[] constant(2)\n"            \
    "  bit = s32[] remainder(n, two)\n  isodd = pred[] compare(bit, one), direction=EQ\n"                          \
    "  next = s32[] conditional(isodd, n, n), true_computation=odd, false_computation=even\n"                      \
    "  k1 = s32[] add(k, one)\n  ROOT t = (s32[], s32[]) tuple(next, k1)\n}\n"                                     \
    "ENTRY main {\n  n = s32[] constant(27)\n  k = s32[] constant(0)\n  t = (s32[], s32[]) tuple(n, k)\n"          \
    "  ROOT w = (s32[], s32[]) while(t), condition=cond, body=body\n}\n"

// Report H23: a loop whose count depends on the data, with both branches taken: 27 needs 111 steps.
TEST(eval_control, collatz_of_27_takes_111_steps)
{
    eval_run r = eval_text(COLLATZ, NULL, 0);
    EXPECT_LEAF(r, 0, int32_t, 1);
    EXPECT_LEAF(r, 1, int32_t, 111);
    eval_run_fini(&r);
}

TEST(eval_control, a_loop_past_the_limit_is_a_hang)
{
    EXPECT_FAILS(eval_text_fails(COLLATZ, &(ir_eval_options){ .while_limit = 110 }), HANG, "110 iterations");
    EXPECT_OK(eval_text_fails(COLLATZ, &(ir_eval_options){ .while_limit = 111 }));
}

TEST(eval_control, a_conditional_out_of_range_takes_the_last_branch)
{
    static const char *regions = "a {\n  x = s32[] parameter(0)\n  ROOT r = s32[] negate(x)\n}\n"
                                 "b {\n  ROOT x = s32[] parameter(0)\n}\n"
                                 "c {\n  x = s32[] parameter(0)\n  ROOT r = s32[] add(x, x)\n}\n";
    static const eval_row rows[] = {
        { "conditional", { "s32[] 0", "s32[] 1", "s32[] 2", "s32[] 3" }, ", branch_computations={a, b, c}", "s32[] -1" },
        { "conditional", { "s32[] 1", "s32[] 1", "s32[] 2", "s32[] 3" }, ", branch_computations={a, b, c}", "s32[] 2" },
        { "conditional", { "s32[] -1", "s32[] 1", "s32[] 2", "s32[] 3" }, ", branch_computations={a, b, c}", "s32[] 6" },
        { "conditional", { "s32[] 7", "s32[] 1", "s32[] 2", "s32[] 3" }, ", branch_computations={a, b, c}", "s32[] 6" },
        { "conditional", { "pred[] true", "s32[] 1", "s32[] 2" }, ", true_computation=a, false_computation=c", "s32[] -1" },
        { "conditional", { "pred[] false", "s32[] 1", "s32[] 2" }, ", true_computation=a, false_computation=c", "s32[] 4" },
        { "call", { "s32[] 4" }, ", to_apply=c", "s32[] 8" },
        { "fusion", { "s32[] 4" }, ", kind=kLoop, calls=a", "s32[] -4" },
    };
    RUN_ROWS(regions, rows);
}

TEST(eval_control, nested_tuples_are_read_by_index)
{
    eval_run r = eval_text("HloModule t\nENTRY main {\n  a = s32[] constant(1)\n  b = s32[] constant(2)\n"
                           "  c = s32[] constant(3)\n  ab = (s32[], s32[]) tuple(a, b)\n"
                           "  t = ((s32[], s32[]), s32[], (s32[], s32[])) tuple(ab, c, ab)\n"
                           "  u = (s32[], s32[]) get-tuple-element(t), index=2\n"
                           "  v = s32[] get-tuple-element(u), index=1\n  w = s32[] get-tuple-element(t), index=1\n"
                           "  ROOT r = (s32[], s32[], (s32[], s32[])) tuple(v, w, u)\n}\n", NULL, 0);
    EXPECT_EQ_INT(r.count, 4);
    EXPECT_LEAF(r, 0, int32_t, 2);
    EXPECT_LEAF(r, 1, int32_t, 3);
    EXPECT_LEAF(r, 3, int32_t, 2);
    eval_run_fini(&r);
}

// Report H01: one parameter used three times; (X X, Y X^T + X^T Y).
TEST(eval_control, a_parameter_used_three_times)
{
    static const float x[] = { 1, 2, 3, 4 }, y[] = { 5, 6, 7, 8 };
    const int64_t dims[] = { 2, 2 };
    const ir_shape shape = { .dtype = NUM_F32, .rank = 2, .dims = dims };
    const ir_value inputs[] = { { shape, (void *)x }, { shape, (void *)y } };
    eval_run r = eval_text("HloModule h01\nENTRY main {\n  x = f32[2,2]{1,0} parameter(0)\n  y = f32[2,2] parameter(1)\n"
                           "  xx = f32[2,2] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                           "  xt = f32[2,2] transpose(x), dimensions={1,0}\n"
                           "  a = f32[2,2] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
                           "  b = f32[2,2] dot(xt, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                           "  s = f32[2,2] add(a, b)\n  ROOT t = (f32[2,2], f32[2,2]) tuple(xx, s)\n}\n", inputs, 2);
    EXPECT_LEAF(r, 0, float, 7, 10, 15, 22);
    EXPECT_LEAF(r, 1, float, 43, 69, 61, 97);
    eval_run_fini(&r);
}

// Report H03: 64-bit data and 64-bit indices.
TEST(eval_control, a_gather_of_64_bit_integers)
{
    eval_run r = eval_text("HloModule h03\nENTRY main {\n  five = s64[] constant(5)\n"
                           "  fives = s64[10] broadcast(five), dimensions={}\n  i = s64[10] iota(), iota_dimension=0\n"
                           "  a = s64[10] gather(fives, i), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, "
                           "index_vector_dim=1, slice_sizes={1}\n  scale = s64[] constant(8589934592)\n"
                           "  scales = s64[10] broadcast(scale), dimensions={}\n  big = s64[10] multiply(i, scales)\n"
                           "  j = s64[3] constant({9, 0, 5})\n"
                           "  b = s64[3] gather(big, j), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, "
                           "index_vector_dim=1, slice_sizes={1}\n  ROOT t = (s64[10], s64[3]) tuple(a, b)\n}\n", NULL, 0);
    EXPECT_LEAF(r, 0, int64_t, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5);
    EXPECT_LEAF(r, 1, int64_t, 77309411328, 0, 42949672960);
    eval_run_fini(&r);
}

// Report H21: eight rows added into one, then gathered again in the same program.
TEST(eval_control, a_gather_sees_the_scatter_before_it)
{
    eval_run r = eval_text("HloModule h21\nadd {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n"
                           "  ROOT r = f32[] add(x, y)\n}\nENTRY main {\n  zero = f32[] constant(0)\n"
                           "  target = f32[1,4] broadcast(zero), dimensions={}\n  x = f32[32] iota(), iota_dimension=0\n"
                           "  rows = f32[8,4] reshape(x)\n  z = s32[] constant(0)\n  i = s32[8,1] broadcast(z), dimensions={}\n"
                           "  sum = f32[1,4] scatter(target, i, rows), update_window_dims={1}, inserted_window_dims={0}, "
                           "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n"
                           "  ROOT g = f32[8,4] gather(sum, i), offset_dims={1}, collapsed_slice_dims={0}, "
                           "start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}\n}\n", NULL, 0);
    for (int row = 0; row < 8; row++)
        for (int i = 0; i < 4; i++) EXPECT_NEAR(((const float *)r.out[0].data)[row * 4 + i], 112 + 8 * i, 0);
    eval_run_fini(&r);
}

// Report H23: (1 + 2i)(3 - i) = 5 + 5i.
TEST(eval_control, complex_products)
{
    static const float x[] = { 1, 2 }, y[] = { 3, -1 };
    const ir_shape shape = { .dtype = NUM_C64 };
    const ir_value inputs[] = { { shape, (void *)x }, { shape, (void *)y } };
    eval_run r = eval_text("HloModule t\nENTRY main {\n  x = c64[] parameter(0)\n  y = c64[] parameter(1)\n"
                           "  p = c64[] multiply(x, y)\n"
                           "  d = c64[] dot(x, y), lhs_contracting_dims={}, rhs_contracting_dims={}\n"
                           "  ROOT t = (c64[], c64[]) tuple(p, d)\n}\n", inputs, 2);
    for (int leaf = 0; leaf < 2; leaf++) {
        EXPECT_NEAR(((const float *)r.out[leaf].data)[0], 5, 0);
        EXPECT_NEAR(((const float *)r.out[leaf].data)[1], 5, 0);
    }
    eval_run_fini(&r);
}

// A region with a loop inside: the general path must give what the simple one would. The body doubles the element once.
TEST(eval_control, a_region_may_hold_a_loop)
{
    eval_run r = eval_text("HloModule t\ncond {\n  s = (s32[], s32[]) parameter(0)\n  k = s32[] get-tuple-element(s), index=1\n"
                           "  one = s32[] constant(1)\n  ROOT r = pred[] compare(k, one), direction=LT\n}\n"
                           "body {\n  s = (s32[], s32[]) parameter(0)\n  v = s32[] get-tuple-element(s), index=0\n"
                           "  k = s32[] get-tuple-element(s), index=1\n  one = s32[] constant(1)\n  k1 = s32[] add(k, one)\n"
                           "  v2 = s32[] add(v, v)\n  ROOT t = (s32[], s32[]) tuple(v2, k1)\n}\n"
                           "region {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  z = s32[] constant(0)\n"
                           "  t = (s32[], s32[]) tuple(b, z)\n  w = (s32[], s32[]) while(t), condition=cond, body=body\n"
                           "  v = s32[] get-tuple-element(w), index=0\n  ROOT r = s32[] add(a, v)\n}\n"
                           "ENTRY main {\n  x = s32[2,3] constant({ {1, 2, 3}, {4, 5, 6} })\n  z = s32[] constant(100)\n"
                           "  ROOT r = s32[2] reduce(x, z), dimensions={1}, to_apply=region\n}\n", NULL, 0);
    EXPECT_LEAF(r, 0, int32_t, 112, 130);
    eval_run_fini(&r);
}

TEST(eval_control, neuron_custom_calls)
{
    static const float x[] = { 0, 1, -1, -INFINITY };
    const int64_t dims[] = { 2, 2 };
    const ir_value input = { { .dtype = NUM_F32, .rank = 2, .dims = dims }, (void *)x };
    eval_run r = eval_text("HloModule t\nENTRY main {\n  x = f32[2,2] parameter(0)\n"
                           "  g = f32[2,2] custom-call(x), custom_call_target=\"AwsNeuronGelu\"\n"
                           "  s = f32[2,2] custom-call(x), custom_call_target=\"AwsNeuronSilu\"\n"
                           "  m = f32[2,2] custom-call(x), custom_call_target=\"AwsNeuronSoftmax\", backend_config=\"1\"\n"
                           "  w = f32[2] constant({2, 3})\n  e = f32[] constant(0.5)\n  y = f32[1,2] constant({ {3, 4} })\n"
                           "  n = f32[1,2] custom-call(y, w, e), custom_call_target=\"AwsNeuronRmsNorm\", backend_config=\"1\"\n"
                           "  ROOT t = (f32[2,2], f32[2,2], f32[2,2], f32[1,2]) tuple(g, s, m, n)\n}\n", &input, 1);
    EXPECT_LEAF(r, 0, float, 0, 0.84134475f, -0.15865526f, 0);
    EXPECT_LEAF(r, 1, float, 0, 0.7310586f, -0.26894143f, 0);
    EXPECT_LEAF(r, 2, float, 0.26894143f, 0.7310586f, 1, 0);
    EXPECT_NEAR(((const float *)r.out[3].data)[0], 6 / sqrt(13), 1e-6);     // mean of squares 12.5, plus 0.5
    EXPECT_NEAR(((const float *)r.out[3].data)[1], 12 / sqrt(13), 1e-6);
    eval_run_fini(&r);
}

TEST(eval_control, an_unknown_custom_call_is_named)
{
    EXPECT_FAILS(eval_text_fails("HloModule t\nENTRY main {\n  x = f32[2] constant({1, 2})\n"
                                 "  ROOT r = f32[2] custom-call(x), custom_call_target=\"lapack_sgetrf\"\n}\n", NULL),
                 UNSUPPORTED, "'lapack_sgetrf'");
}

TEST(eval_control, what_does_not_fit_is_exhausted_and_not_an_abort)
{
    static const char *huge = "HloModule t\nENTRY main {\n  x = f32[] constant(1)\n"
                              "  ROOT r = f32[1000000,1000000] broadcast(x), dimensions={}\n}\n";
    static const char *small = "HloModule t\nENTRY main {\n  x = f32[] constant(1)\n"
                               "  ROOT r = f32[1000,1000] broadcast(x), dimensions={}\n}\n";
    EXPECT_FAILS(eval_text_fails(huge, NULL), EXHAUSTED, "4000000000000");
    EXPECT_FAILS(eval_text_fails(small, &(ir_eval_options){ .memory_limit = 1000000 }), EXHAUSTED, "1000000");
    EXPECT_OK(eval_text_fails(small, &(ir_eval_options){ .memory_limit = 5000000 }));
}

// A thousand rounds over a megabyte in eight megabytes: what a round makes must die with it.
TEST(eval_control, a_long_loop_runs_in_constant_memory)
{
    static const char *text =
        "HloModule t\ncond {\n  s = (s32[], f32[262144]) parameter(0)\n  k = s32[] get-tuple-element(s), index=0\n"
        "  n = s32[] constant(1000)\n  ROOT r = pred[] compare(k, n), direction=LT\n}\n"
        "body {\n  s = (s32[], f32[262144]) parameter(0)\n  k = s32[] get-tuple-element(s), index=0\n"
        "  x = f32[262144] get-tuple-element(s), index=1\n  one = s32[] constant(1)\n  k1 = s32[] add(k, one)\n"
        "  y = f32[262144] negate(x)\n  ROOT t = (s32[], f32[262144]) tuple(k1, y)\n}\n"
        "ENTRY main {\n  k = s32[] constant(0)\n  z = f32[] constant(1)\n  x = f32[262144] broadcast(z), dimensions={}\n"
        "  t = (s32[], f32[262144]) tuple(k, x)\n"
        "  ROOT w = (s32[], f32[262144]) while(t), condition=cond, body=body\n}\n";
    EXPECT_OK(eval_text_fails(text, &(ir_eval_options){ .memory_limit = 8 << 20 }));
}

TEST(eval_control, inputs_are_checked_against_the_parameters)
{
    eval_run r = eval_text("HloModule t\nENTRY main {\n  x = f32[] constant(1)\n  ROOT r = f32[] negate(x)\n}\n", NULL, 0);
    const int64_t dims[] = { 3 };
    float x[3] = { 0 };
    const ir_value input = { { .dtype = NUM_F32, .rank = 1, .dims = dims }, x };
    ir_value *out;
    int count;

    EXPECT_FAILS(ir_eval(r.module, &input, 1, r.arena, NULL, &out, &count), INVALID, "takes 0 inputs, got 1");
    eval_run_fini(&r);
    const int64_t want[] = { 2 };
    const ir_value good = { { .dtype = NUM_F32, .rank = 1, .dims = want }, x };
    r = eval_text("HloModule t\nENTRY main {\n  x = f32[2] parameter(0)\n  ROOT r = f32[2] negate(x)\n}\n", &good, 1);
    EXPECT_FAILS(ir_eval(r.module, &input, 1, r.arena, NULL, &out, &count), INVALID, "f32[3], the parameter is f32[2]");
    eval_run_fini(&r);
}
