// SPDX-License-Identifier: Apache-2.0
// Views, what is remembered of them, and what is read through them: each against the evaluator.
#include "compile/check.h"
#include "harness/harness.h"

#include <stdio.h>

#define ADD "ad { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n"
#define MAX "mx { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] maximum(x, y) }\n"

// ---- weights that are converted ------------------------------------------------------------------------------------

// Only a cast that the loading DMA makes leaves a weight packed; K > 128, where packed and row-major differ.
TEST(values, converted_weights)
{
    static const char *const types[] = { "s8", "u8", "s16", "s32", "pred", "bf16", "f16" };
    for (size_t k = 0; k < COUNT_OF(types); k++) {
        char text[512];
        snprintf(text, sizeof text, "HloModule m\nENTRY e { x = f32[3,300] parameter(0)\n w = %s[300,64] parameter(1)\n c = f32[300,64] convert(w)\n"
                 " ROOT r = f32[3,64] dot(x, c), lhs_contracting_dims={1}, rhs_contracting_dims={0} }", types[k]);
        check_hlo(text, (check_options){ .tolerance = 1e-4 });
    }
}

TEST(values, weights_converted_twice)
{
    check_hlo("HloModule m\nENTRY e { x = f32[3,300] parameter(0)\n w = f32[300,64] parameter(1)\n b = bf16[300,64] convert(w)\n c = f32[300,64] convert(b)\n"
              " ROOT r = f32[3,64] dot(x, c), lhs_contracting_dims={1}, rhs_contracting_dims={0} }", (check_options){ .tolerance = 1e-4 });
}

// ---- memos ---------------------------------------------------------------------------------------------------------

// Both views have the same number of columns times 31 plus step: loads are told apart by all that they depend on.
TEST(values, views_of_one_tensor_are_told_apart)
{
    check_hlo("HloModule m\nENTRY e { x = f32[130,64] parameter(0)\n a = f32[130,33] slice(x), slice={[0:130],[0:33]}\n b = f32[130,2] slice(x), slice={[0:130],[0:4:2]}\n"
              " n = f32[130,33] negate(a)\n m = f32[130,2] negate(b)\n ROOT r = (f32[130,33], f32[130,2]) tuple(n, m) }", (check_options){ 0 });
}

TEST(values, dynamic_slices_by_one_index_are_told_apart)
{
    check_hlo("HloModule m\nENTRY e { x = f32[64,64] parameter(0)\n i = s32[] parameter(1)\n z = s32[] constant(0)\n k = s32[] constant(7)\n j = s32[] add(i, k)\n"
              " a = f32[4,4] dynamic-slice(x, j, z), dynamic_slice_sizes={4,4}\n b = f32[4,4] dynamic-slice(x, z, j), dynamic_slice_sizes={4,4}\n"
              " n = f32[4,4] negate(a)\n m = f32[4,4] negate(b)\n ROOT r = (f32[4,4], f32[4,4]) tuple(n, m) }", (check_options){ 0 });
}

TEST(values, a_start_index_found_by_a_dynamic_slice)
{
    check_hlo("HloModule m\nENTRY e { x = f32[64,64] parameter(0)\n i = s32[] parameter(1)\n z = s32[] constant(0)\n t = s32[5] constant({40, 31, 22, 13, 4})\n"
              " s = s32[1] dynamic-slice(t, i), dynamic_slice_sizes={1}\n j = s32[] reshape(s)\n"
              " a = f32[4,4] dynamic-slice(x, j, z), dynamic_slice_sizes={4,4}\n ROOT n = f32[4,4] negate(a) }", (check_options){ 0 });
}

// ---- reductions ----------------------------------------------------------------------------------------------------

TEST(values, sums_over_broadcast_dims)
{
    check_hlo("HloModule m\n" ADD "ENTRY e { x = f32[300] parameter(0)\n y = f32[20,3] parameter(1)\n s = f32[] parameter(2)\n z = f32[] constant(0)\n"
              " a = f32[300,3] broadcast(x), dimensions={0}\n ra = f32[300] reduce(a, z), dimensions={1}, to_apply=ad\n"
              " n = f32[300] negate(x)\n b = f32[300,3,5] broadcast(n), dimensions={0}\n rb = f32[300,5] reduce(b, z), dimensions={1}, to_apply=ad\n"
              " c = f32[20,3,5] broadcast(y), dimensions={0,1}\n rc = f32[20] reduce(c, z), dimensions={1,2}, to_apply=ad\n"
              " d = f32[20,5] broadcast(s), dimensions={}\n rd = f32[] reduce(d, z), dimensions={0,1}, to_apply=ad\n"
              " q = f32[300,3] multiply(a, a)\n re = f32[300] reduce(q, z), dimensions={1}, to_apply=ad\n"
              " ROOT r = (f32[300], f32[300,5], f32[20], f32[], f32[300]) tuple(ra, rb, rc, rd, re) }", (check_options){ 0 });
}

TEST(values, reductions_that_start_from_a_parameter)
{
    check_hlo("HloModule m\n" ADD MAX "ENTRY e { x = f32[300,4] parameter(0)\n s = f32[] parameter(1)\n b = bf16[] parameter(2)\n t = f32[] negate(s)\n"
              " c = f32[] convert(b)\n ra = f32[300] reduce(x, s), dimensions={1}, to_apply=ad\n rb = f32[300] reduce(x, t), dimensions={1}, to_apply=mx\n"
              " rc = f32[300] reduce(x, c), dimensions={1}, to_apply=ad\n ROOT r = (f32[300], f32[300], f32[300]) tuple(ra, rb, rc) }", (check_options){ 0 });
}

TEST(values, scalars_of_clamp_and_select)
{
    check_hlo("HloModule m\nENTRY e { lo = f32[] parameter(0)\n x = f32[300,4] parameter(1)\n p = pred[] parameter(2)\n y = f32[300,4] parameter(3)\n"
              " a = f32[] abs(lo)\n n = f32[] negate(a)\n c = f32[300,4] clamp(n, x, a)\n s = f32[300,4] select(p, c, y)\n ROOT r = f32[300,4] negate(s) }",
              (check_options){ 0 });
}

// ---- gathers -------------------------------------------------------------------------------------------------------

#define GATHER ", collapsed_slice_dims={0}, start_index_map={0}, slice_sizes={1,8}, "

// Indexes are 24 different numbers, so that a wrong order shows.
#define INDEX " i = s32[6,4] constant({ {40,1,22,3}, {4,35,6,17}, {8,49,10,11}, {12,0,14,25}, {16,37,18,19}, {20,21,2,43} })\n"

TEST(values, gathers_by_any_view_of_an_index)
{
    check_hlo("HloModule m\nENTRY e { t = f32[50,8] parameter(0)\n" INDEX
              " a = s32[4,6] transpose(i), dimensions={1,0}\n ra = f32[4,6,8] gather(t, a), offset_dims={2}" GATHER "index_vector_dim=2\n"
              " b = s32[3,1] slice(i), slice={[0:6:2],[0:1]}\n rb = f32[3,8] gather(t, b), offset_dims={1}" GATHER "index_vector_dim=1\n"
              " c = s32[6,1] slice(i), slice={[0:6],[1:2]}\n c1 = s32[6] reshape(c)\n rc = f32[6,8] gather(t, c1), offset_dims={1}" GATHER "index_vector_dim=1\n"
              " d = s32[3,2] slice(i), slice={[1:4],[1:3]}\n rd = f32[3,2,8] gather(t, d), offset_dims={2}" GATHER "index_vector_dim=2\n"
              " v = s32[6,4] reverse(i), dimensions={0}\n e1 = s32[6,1] slice(v), slice={[0:6],[0:1]}\n re = f32[6,8] gather(t, e1), offset_dims={1}" GATHER "index_vector_dim=1\n"
              " f = s32[6,3] broadcast(c1), dimensions={0}\n rf = f32[6,3,8] gather(t, f), offset_dims={2}" GATHER "index_vector_dim=2\n"
              " ROOT r = (f32[4,6,8], f32[3,8], f32[6,8], f32[3,2,8], f32[6,8], f32[6,3,8]) tuple(ra, rb, rc, rd, re, rf) }", (check_options){ 0 });
}

TEST(values, gathers_from_any_view_of_a_table)
{
    check_hlo("HloModule m\nENTRY e { t = f32[8,50] parameter(0)\n u = f32[60,8] parameter(1)\n" INDEX
              " a = f32[50,8] transpose(t), dimensions={1,0}\n ra = f32[6,4,8] gather(a, i), offset_dims={2}" GATHER "index_vector_dim=2\n"
              " b = f32[50,8] slice(u), slice={[10:60],[0:8]}\n rb = f32[6,4,8] gather(b, i), offset_dims={2}" GATHER "index_vector_dim=2\n"
              " c = bf16[60,8] convert(u)\n rc = bf16[6,4,8] gather(c, i), offset_dims={2}" GATHER "index_vector_dim=2\n"
              " d = f32[60,8] reverse(u), dimensions={0}\n rd = f32[6,4,8] gather(d, i), offset_dims={2}" GATHER "index_vector_dim=2\n"
              " ROOT r = (f32[6,4,8], f32[6,4,8], bf16[6,4,8], f32[6,4,8]) tuple(ra, rb, rc, rd) }", (check_options){ 0 });
}

TEST(values, gathers_move_indexes_into_the_table)
{
    check_hlo("HloModule m\nENTRY e { t = f32[50,8] parameter(0)\n i = s32[7] constant({0, 49, 50, -1, 1000, 2147483647, -2147483648})\n"
              " u = u32[3] constant({7, 4294967295, 50})\n h = s8[3] constant({7, -128, 127})\n"
              " ra = f32[7,8] gather(t, i), offset_dims={1}" GATHER "index_vector_dim=1\n"
              " rb = f32[3,8] gather(t, u), offset_dims={1}" GATHER "index_vector_dim=1\n"
              " rc = f32[3,8] gather(t, h), offset_dims={1}" GATHER "index_vector_dim=1\n"
              " ROOT r = (f32[7,8], f32[3,8], f32[3,8]) tuple(ra, rb, rc) }", (check_options){ 0 });
}

// ---- masks ---------------------------------------------------------------------------------------------------------

// Two counters of one row each make a square: rows of it, not one row of all its elements.
TEST(values, masks_of_two_counters)
{
    static const int sizes[] = { 100, 300, 513 };
    for (size_t k = 0; k < COUNT_OF(sizes); k++) {
        char text[1024];
        const int t = sizes[k];
        snprintf(text, sizeof text, "HloModule m\nENTRY e { x = f32[%d,%d] parameter(0)\n n = s32[%d] iota(), iota_dimension=0\n i = s32[%d,%d] broadcast(n), dimensions={0}\n"
                 " j = s32[%d,%d] broadcast(n), dimensions={1}\n p = pred[%d,%d] compare(i, j), direction=GE\n z = f32[] constant(0)\n zb = f32[%d,%d] broadcast(z), dimensions={}\n"
                 " ROOT r = f32[%d,%d] select(p, x, zb) }", t, t, t, t, t, t, t, t, t, t, t, t, t);
        check_hlo(text, (check_options){ .target = k == 0 ? NULL : "trn2", .lnc = k == 0 ? 0 : 2 });
    }
}
