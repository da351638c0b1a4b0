// SPDX-License-Identifier: Apache-2.0
// Each lowering against the evaluator.
#include "compile/check.h"
#include "harness/harness.h"

#define CHECK(...) check_hlo(__VA_ARGS__)

TEST(lower, add_of_two_rows)
{
    CHECK("HloModule m\nENTRY e { a = f32[3,40] parameter(0)\n b = f32[3,40] parameter(1)\n ROOT r = f32[3,40] add(a, b) }", (check_options){ 0 });
}

TEST(lower, elementwise_over_many_row_tiles)
{
    CHECK("HloModule m\nENTRY e { a = f32[300,70] parameter(0)\n b = f32[300,70] parameter(1)\n c = f32[300,70] multiply(a, b)\n"
          " d = f32[300,70] exponential(c)\n e1 = f32[300,70] subtract(d, a)\n ROOT r = f32[300,70] maximum(e1, b) }",
          (check_options){ .scale = 0.5 });
}

TEST(lower, softmax)
{
    CHECK("HloModule m\nmx { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] maximum(x, y) }\n"
          "ad { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n"
          "ENTRY e { a = f32[200,300] parameter(0)\n ninf = f32[] constant(-inf)\n zero = f32[] constant(0)\n"
          " m1 = f32[200] reduce(a, ninf), dimensions={1}, to_apply=mx\n mb = f32[200,300] broadcast(m1), dimensions={0}\n"
          " s = f32[200,300] subtract(a, mb)\n x = f32[200,300] exponential(s)\n t = f32[200] reduce(x, zero), dimensions={1}, to_apply=ad\n"
          " tb = f32[200,300] broadcast(t), dimensions={0}\n ROOT r = f32[200,300] divide(x, tb) }", (check_options){ 0 });
}

TEST(lower, matmul_row_major)
{
    CHECK("HloModule m\nENTRY e { a = f32[150,200] parameter(0)\n b = f32[200,700] parameter(1)\n"
          " ROOT r = f32[150,700] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }", (check_options){ .tolerance = 1e-4 });
}

TEST(lower, matmul_transposed_weight)
{
    CHECK("HloModule m\nENTRY e { a = f32[1,640] parameter(0)\n b = f32[1024,640] parameter(1)\n"
          " ROOT r = f32[1,1024] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={1} }", (check_options){ .tolerance = 1e-4 });
}

TEST(lower, matmul_bf16)
{
    CHECK("HloModule m\nENTRY e { a = bf16[130,256] parameter(0)\n b = bf16[256,600] parameter(1)\n"
          " ROOT r = f32[130,600] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }", (check_options){ .tolerance = 1e-4 });
}

TEST(lower, batched_matmul)
{
    CHECK("HloModule m\nENTRY e { a = f32[3,40,64] parameter(0)\n b = f32[3,64,96] parameter(1)\n"
          " ROOT r = f32[3,40,96] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1} }",
          (check_options){ .tolerance = 1e-4 });
}

TEST(lower, two_layer_perceptron)
{
    CHECK("HloModule m\nENTRY e { x = f32[64,128] parameter(0)\n w = f32[128,512] parameter(1)\n v = f32[512,128] parameter(2)\n"
          " h = f32[64,512] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n g = f32[64,512] tanh(h)\n"
          " ROOT r = f32[64,128] dot(g, v), lhs_contracting_dims={1}, rhs_contracting_dims={0} }", (check_options){ .tolerance = 1e-4, .scale = 0.3 });
}

TEST(lower, reshape_that_needs_memory)
{
    CHECK("HloModule m\nENTRY e { a = f32[6,40] parameter(0)\n b = f32[6,40] negate(a)\n c = f32[40,6] reshape(b)\n ROOT r = f32[40,6] abs(c) }",
          (check_options){ 0 });
}

TEST(lower, transpose_through_memory)
{
    CHECK("HloModule m\nENTRY e { a = f32[6,40] parameter(0)\n b = f32[6,40] negate(a)\n c = f32[40,6] transpose(b), dimensions={1,0}\n ROOT r = f32[40,6] abs(c) }",
          (check_options){ 0 });
}

TEST(lower, slices_and_concatenation_on_the_free_axis)
{
    CHECK("HloModule m\nENTRY e { a = f32[130,4,64] parameter(0)\n n = f32[130,4,64] negate(a)\n x = f32[130,4,32] slice(n), slice={[0:130],[0:4],[0:32]}\n"
          " y = f32[130,4,32] slice(n), slice={[0:130],[0:4],[32:64]}\n ROOT r = f32[130,4,64] concatenate(y, x), dimensions={2} }", (check_options){ 0 });
}

TEST(lower, select_and_compare)
{
    CHECK("HloModule m\nENTRY e { a = f32[20,30] parameter(0)\n b = f32[20,30] parameter(1)\n p = pred[20,30] compare(a, b), direction=GT\n"
          " z = f32[] constant(7)\n zb = f32[20,30] broadcast(z), dimensions={}\n ROOT r = f32[20,30] select(p, a, zb) }", (check_options){ 0 });
}

TEST(lower, causal_mask_from_iotas)
{
    CHECK("HloModule m\nENTRY e { i = s32[200,200] iota(), iota_dimension=0\n j = s32[200,200] iota(), iota_dimension=1\n"
          " p = pred[200,200] compare(i, j), direction=GE\n z = f32[] constant(0)\n zb = f32[200,200] broadcast(z), dimensions={}\n"
          " m = f32[] constant(-1e30)\n mb = f32[200,200] broadcast(m), dimensions={}\n ROOT r = f32[200,200] select(p, zb, mb) }", (check_options){ 0 });
}

TEST(lower, gather_rows)
{
    CHECK("HloModule m\nENTRY e { t = f32[4,96] parameter(0)\n i = s32[150] parameter(1)\n"
          " ROOT r = f32[150,96] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,96} }",
          (check_options){ 0 });
}

TEST(lower, dynamic_update_and_slice)
{
    CHECK("HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }\nENTRY e { c = f32[2,8,64] parameter(0)\n u = f32[2,1,64] parameter(1)\n p = s32[] parameter(2)\n z = s32[] constant(0)\n"
          " n = f32[2,1,64] negate(u)\n d = f32[2,8,64] dynamic-update-slice(c, n, z, p, z)\n s = f32[2,1,64] dynamic-slice(d, z, p, z), dynamic_slice_sizes={2,1,64}\n"
          " e1 = f32[2,1,64] abs(s)\n ROOT r = (f32[2,8,64], f32[2,1,64]) tuple(d, e1) }", (check_options){ 0 });
}

TEST(lower, calls_share_a_body)
{
    CHECK("HloModule m\nlayer { h = f32[70,128] parameter(0)\n w = f32[128,128] parameter(1)\n d = f32[70,128] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
          " t = f32[70,128] tanh(d)\n ROOT r = f32[70,128] add(h, t) }\n"
          "ENTRY e { x = f32[70,128] parameter(0)\n w0 = f32[128,128] parameter(1)\n w1 = f32[128,128] parameter(2)\n w2 = f32[128,128] parameter(3)\n"
          " a = f32[70,128] call(x, w0), to_apply=layer\n b = f32[70,128] call(a, w1), to_apply=layer\n c = f32[70,128] call(b, w2), to_apply=layer\n ROOT r = f32[70,128] negate(c) }",
          (check_options){ .tolerance = 1e-4, .scale = 0.2 });
}

TEST(lower, grouped_query_attention_decode)
{
    CHECK("HloModule m\nmx { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] maximum(x, y) }\n"
          "ad { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n"
          "ENTRY e { q = f32[1,512] parameter(0)\n k = f32[2,300,64] parameter(1)\n v = f32[2,300,64] parameter(2)\n w = f32[100,512] parameter(3)\n"
          " q2 = f32[1,512] negate(q)\n q3 = f32[1,2,4,64] reshape(q2)\n q4 = f32[2,4,1,64] transpose(q3), dimensions={1,2,0,3}\n"
          " s = f32[2,4,1,300] dot(q4, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={3}, rhs_contracting_dims={2}\n"
          " ninf = f32[] constant(-inf)\n zero = f32[] constant(0)\n m1 = f32[2,4,1] reduce(s, ninf), dimensions={3}, to_apply=mx\n"
          " mb = f32[2,4,1,300] broadcast(m1), dimensions={0,1,2}\n sb = f32[2,4,1,300] subtract(s, mb)\n x = f32[2,4,1,300] exponential(sb)\n"
          " t = f32[2,4,1] reduce(x, zero), dimensions={3}, to_apply=ad\n tb = f32[2,4,1,300] broadcast(t), dimensions={0,1,2}\n p = f32[2,4,1,300] divide(x, tb)\n"
          " o = f32[2,4,1,64] dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={3}, rhs_contracting_dims={1}\n"
          " w4 = f32[100,2,4,64] reshape(w)\n ROOT r = f32[1,100] dot(o, w4), lhs_contracting_dims={0,1,3}, rhs_contracting_dims={1,2,3} }",
          (check_options){ .tolerance = 1e-4, .scale = 0.5 });
}

TEST(lower, grouped_query_attention_prefill)
{
    CHECK("HloModule m\nmx { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] maximum(x, y) }\n"
          "ad { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n"
          "ENTRY e { q = f32[256,512] parameter(0)\n k0 = f32[256,128] parameter(1)\n v0 = f32[256,128] parameter(2)\n w = f32[100,512] parameter(3)\n mask = f32[256,256] parameter(4)\n"
          " q2 = f32[256,512] negate(q)\n k1 = f32[256,128] abs(k0)\n v1 = f32[256,128] abs(v0)\n k = f32[256,2,64] reshape(k1)\n v = f32[256,2,64] reshape(v1)\n"
          " q3 = f32[256,2,4,64] reshape(q2)\n q4 = f32[2,4,256,64] transpose(q3), dimensions={1,2,0,3}\n"
          " s0 = f32[2,4,256,256] dot(q4, k), lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={3}, rhs_contracting_dims={2}\n"
          " maskb = f32[2,4,256,256] broadcast(mask), dimensions={2,3}\n s = f32[2,4,256,256] add(s0, maskb)\n"
          " ninf = f32[] constant(-inf)\n zero = f32[] constant(0)\n m1 = f32[2,4,256] reduce(s, ninf), dimensions={3}, to_apply=mx\n"
          " mb = f32[2,4,256,256] broadcast(m1), dimensions={0,1,2}\n sb = f32[2,4,256,256] subtract(s, mb)\n x = f32[2,4,256,256] exponential(sb)\n"
          " t = f32[2,4,256] reduce(x, zero), dimensions={3}, to_apply=ad\n tb = f32[2,4,256,256] broadcast(t), dimensions={0,1,2}\n p = f32[2,4,256,256] divide(x, tb)\n"
          " o = f32[2,4,256,64] dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={3}, rhs_contracting_dims={0}\n"
          " w4 = f32[100,2,4,64] reshape(w)\n ROOT r = f32[256,100] dot(o, w4), lhs_contracting_dims={0,1,3}, rhs_contracting_dims={1,2,3} }",
          (check_options){ .tolerance = 2e-4, .scale = 0.3 });
}

TEST(lower, hidden_layer_by_features)
{
    static const int tokens[] = { 1, 100, 300, 1100 };
    for (size_t k = 0; k < COUNT_OF(tokens); k++) {
        char text[2048];
        const int t = tokens[k];
        snprintf(text, sizeof text,
                 "HloModule m\nENTRY e { x = f32[%d,128] parameter(0)\n g = f32[512,128] parameter(1)\n u = f32[512,128] parameter(2)\n d = f32[128,512] parameter(3)\n"
                 " a = f32[%d,512] dot(x, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n b = f32[%d,512] dot(x, u), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
                 " s = f32[%d,512] logistic(a)\n c = f32[%d,512] multiply(a, s)\n h = f32[%d,512] multiply(c, b)\n"
                 " ROOT r = f32[%d,128] dot(h, d), lhs_contracting_dims={1}, rhs_contracting_dims={1} }", t, t, t, t, t, t, t);
        CHECK(text, (check_options){ .tolerance = 1e-4, .scale = 0.3 });
    }
}

TEST(lower, spelled_out_activations_become_one_instruction)
{
    const char *text =
        "HloModule m\nENTRY e { x = f32[140,128] parameter(0)\n y = f32[140,128] negate(x)\n a = f32[] constant(0.044715)\n ab = f32[140,128] broadcast(a), dimensions={}\n"
        " c = f32[] constant(0.7978845608)\n cb = f32[140,128] broadcast(c), dimensions={}\n o = f32[] constant(1)\n ob = f32[140,128] broadcast(o), dimensions={}\n"
        " h = f32[] constant(0.5)\n hb = f32[140,128] broadcast(h), dimensions={}\n y2 = f32[140,128] multiply(y, y)\n y3 = f32[140,128] multiply(y, y2)\n"
        " t1 = f32[140,128] multiply(ab, y3)\n t2 = f32[140,128] add(y, t1)\n t3 = f32[140,128] multiply(t2, cb)\n t4 = f32[140,128] tanh(t3)\n t5 = f32[140,128] add(ob, t4)\n"
        " t6 = f32[140,128] multiply(t5, hb)\n g = f32[140,128] multiply(y, t6)\n s = f32[140,128] logistic(g)\n ROOT r = f32[140,128] multiply(s, g) }";
    CHECK(text, (check_options){ .tolerance = 1e-5 });
    AUTO(isa_program) p = NULL;
    const check_options o = { .target = "trn2", .lnc = 1 };
    EXPECT_OK(check_compile(text, &o, &p));
    int acts = 0, other = 0;
    const isa_function *f = p->cores[0].functions.items[0];
    for (uint32_t k = 0; k < f->insns.count; k++) {
        acts += f->insns.items[k].op == ISA_activation;
        other += f->insns.items[k].op == ISA_tensor_tensor;
    }
    EXPECT_EQ_INT(acts, 4);         // gelu and silu for each of two row tiles
    EXPECT_EQ_INT(other, 0);
}

TEST(lower, sum_of_squares_in_one_instruction)
{
    CHECK("HloModule m\nad { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n"
          "ENTRY e { a = f32[150,200] parameter(0)\n n = f32[150,200] negate(a)\n s = f32[150,200] multiply(n, n)\n zero = f32[] constant(0)\n"
          " r = f32[150] reduce(s, zero), dimensions={1}, to_apply=ad\n e1 = f32[] constant(1e-6)\n eb = f32[150] broadcast(e1), dimensions={}\n v = f32[150] add(r, eb)\n"
          " q = f32[150] rsqrt(v)\n qb = f32[150,200] broadcast(q), dimensions={0}\n ROOT o = f32[150,200] multiply(n, qb) }", (check_options){ .tolerance = 1e-5 });
}

TEST(lower, products_of_products_stay_in_psum)
{
    CHECK("HloModule m\nENTRY e { x = f32[100,128] parameter(0)\n g = f32[256,128] parameter(1)\n u = f32[256,128] parameter(2)\n d = f32[128,256] parameter(3)\n"
          " a = f32[100,256] dot(x, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n b = f32[100,256] dot(x, u), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
          " h = f32[100,256] multiply(a, b)\n ROOT r = f32[100,128] dot(h, d), lhs_contracting_dims={1}, rhs_contracting_dims={1} }",
          (check_options){ .tolerance = 1e-4, .scale = 0.3 });
}

// A fold in any order needs an op that does not mind; the others have no place in the accumulator.
TEST(lower, regions_that_depend_on_the_order_are_refused)
{
    static const char *const ops[] = { "subtract", "divide", "power" };
    for (size_t k = 0; k < COUNT_OF(ops); k++) {
        char text[512];
        snprintf(text, sizeof text,
                 "HloModule m\nf { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] %s(x, y) }\n"
                 "ENTRY e { a = f32[4] parameter(0)\n c = f32[] constant(100)\n ROOT r = f32[] reduce(a, c), dimensions={0}, to_apply=f }", ops[k]);
        const check_options o = { .target = "trn2", .lnc = 1 };
        isa_program *p = NULL;
        EXPECT_FAILS(check_compile(text, &o, &p), UNSUPPORTED, "has a region that is not one of add");
    }
}

// ---- scalars beside arrays -----------------------------------------------------------------------------------------

TEST(lower, a_scalar_predicate_chooses_for_all_rows)
{
    CHECK("HloModule m\nENTRY e { p = pred[] parameter(0)\n a = f32[300,20] parameter(1)\n b = f32[300,20] parameter(2)\n"
          " ROOT r = f32[300,20] select(p, a, b) }", (check_options){ 0 });
    CHECK("HloModule m\nENTRY e { x = f32[] parameter(0)\n y = f32[] parameter(1)\n a = f32[300,20] parameter(2)\n b = f32[300,20] parameter(3)\n"
          " p = pred[] compare(x, y), direction=LT\n c = f32[300,20] add(a, b)\n ROOT r = f32[300,20] select(p, a, c) }", (check_options){ 0 });
}

TEST(lower, scalar_bounds_clamp_all_rows)
{
    CHECK("HloModule m\nENTRY e { l = f32[] parameter(0)\n a = f32[300,20] parameter(1)\n h = f32[] parameter(2)\n"
          " k = f32[] add(l, h)\n n = f32[300,20] negate(a)\n ROOT r = f32[300,20] clamp(l, n, k) }", (check_options){ 0 });
    CHECK("HloModule m\nENTRY e { l = f32[] parameter(0)\n a = f32[2,3,40] parameter(1)\n h = f32[] parameter(2)\n"
          " ROOT r = f32[2,3,40] clamp(l, a, h) }", (check_options){ 0 });
}

TEST(lower, a_reduction_starts_from_a_scalar_that_is_computed)
{
    CHECK("HloModule m\nad { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n"
          "ENTRY e { a = f32[300,20] parameter(0)\n i = f32[] parameter(1)\n j = f32[] negate(i)\n n = f32[300,20] negate(a)\n"
          " s = f32[300] reduce(a, i), dimensions={1}, to_apply=ad\n t = f32[300] reduce(n, j), dimensions={1}, to_apply=ad\n"
          " ROOT r = (f32[300], f32[300]) tuple(s, t) }", (check_options){ 0 });
    CHECK("HloModule m\nmx { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] maximum(x, y) }\n"
          "ENTRY e { a = f32[50] parameter(0)\n i = f32[] parameter(1)\n j = f32[] negate(i)\n"
          " ROOT r = f32[] reduce(a, j), dimensions={0}, to_apply=mx }", (check_options){ 0 });
}

TEST(lower, a_sum_counts_a_broadcast_element_each_time)
{
    CHECK("HloModule m\nad { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n"
          "ENTRY e { a = f32[200] parameter(0)\n b = f32[200,7] broadcast(a), dimensions={0}\n c = f32[200,3,5] broadcast(a), dimensions={0}\n"
          " z = f32[] constant(0)\n h = f32[] constant(0.5)\n s = f32[200] reduce(b, z), dimensions={1}, to_apply=ad\n"
          " t = f32[200] reduce(c, h), dimensions={1,2}, to_apply=ad\n u = f32[200,3] reduce(c, z), dimensions={2}, to_apply=ad\n"
          " ROOT r = (f32[200], f32[200], f32[200,3]) tuple(s, t, u) }", (check_options){ 0 });
}

// Forty computations of two calls each: 4 KB of text, 2^41 instructions.
TEST(lower, calls_that_multiply_are_refused_with_place_and_counts)
{
    AUTO_VALUE(glia_strbuf) text = { 0 };
    glia_put(&text, "HloModule m\nc0 { p = f32[4] parameter(0)\n ROOT r = f32[4] tanh(p)\n}\n");
    for (int k = 1; k <= 40; k++)
        glia_putf(&text, "c%d { p = f32[4] parameter(0)\n a = f32[4] call(p), to_apply=c%d\n ROOT r = f32[4] call(a), to_apply=c%d\n}\n", k, k - 1, k - 1);
    glia_put(&text, "ENTRY e { p = f32[4] parameter(0)\n ROOT r = f32[4] call(p), to_apply=c40\n}\n");
    const check_options o = { .target = "trn2", .lnc = 1 };
    isa_program *p = NULL;
    // c0 has 2 instructions and ck 3 + 2 c(k-1), which is 5 2^k - 3: c18 passes 2^20 with its second call.
    EXPECT_FAILS(check_compile(glia_strbuf_str(&text), &o, &p), EXHAUSTED,
                 "brings 'c18' to 1310717 instructions with its calls written out; at most 1048576 are compiled");
}

TEST(lower, tensors_that_no_chip_has_room_for_are_refused_with_both_sizes)
{
    const char *text = "HloModule m\nENTRY e { a = f32[60000,60000] parameter(0)\n b = f32[60000,50000] parameter(1)\n"
                       " ROOT r = (f32[60000,60000], f32[60000,50000]) tuple(a, b)\n}";
    const check_options o = { .target = "trn1", .lnc = 1 };
    isa_program *p = NULL;
    EXPECT_FAILS(check_compile(text, &o, &p), EXHAUSTED, "test.hlo.txt:2:11: inputs and outputs of 'm' take 52800000000 bytes, 'a' alone 14400000000; trn1 has 34359738368 bytes of HBM");
}
