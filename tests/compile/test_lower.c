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
