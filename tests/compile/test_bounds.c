// SPDX-License-Identifier: Apache-2.0
// Sizes at their edges: nothing at all, more dims than an engine walks, more than a pattern counts.
#include "compile/check.h"
#include "harness/harness.h"

#define ADD "ad { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n"

TEST(bounds, parts_without_elements)
{
    check_hlo("HloModule m\n" ADD "ENTRY e { a = f32[3,5] parameter(0)\n s = f32[] parameter(1)\n n = f32[3,0] slice(a), slice={[0:3],[0:0]}\n"
              " w = f32[0,4] slice(a), slice={[0:0],[0:4]}\n p = f32[3,4] dot(n, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
              " t = f32[3] reduce(n, s), dimensions={1}, to_apply=ad\n b = f32[3,5] negate(a)\n c = f32[3,5] concatenate(n, b, n), dimensions={1}\n"
              " z = s32[] constant(0)\n u = f32[3,5] dynamic-update-slice(b, n, z, z)\n v = f32[0,5] slice(b), slice={[0:0],[0:5]}\n d = f32[3,5] concatenate(v, u), dimensions={0}\n"
              " ROOT r = (f32[3,4], f32[3], f32[3,5], f32[3,5]) tuple(p, t, c, d) }", (check_options){ 0 });
}

TEST(bounds, concatenation_along_any_dim)
{
    check_hlo("HloModule m\nENTRY e { a = f32[150,3,7] parameter(0)\n b = f32[150,2,7] parameter(1)\n n = f32[150,3,7] negate(a)\n o = f32[] constant(1)\n"
              " ob = f32[150,2,7] broadcast(o), dimensions={}\n ROOT r = f32[150,10,7] concatenate(n, b, ob, a), dimensions={1} }", (check_options){ 0 });
    check_hlo("HloModule m\nENTRY e { a = f32[2,3,2,4,2,3] parameter(0)\n n = f32[2,3,2,4,2,3] negate(a)\n"
              " ROOT r = f32[2,3,2,8,2,3] concatenate(a, n), dimensions={3} }", (check_options){ 0 });
}

// The reference clamps each start by itself; an optimizer that adds them first is wrong.
TEST(bounds, many_dynamic_starts)
{
    check_hlo("HloModule m\nENTRY e { a = f32[5,6,7] parameter(0)\n p = s32[] parameter(1)\n q = s32[] constant(2)\n i = s32[] add(p, q)\n j = s32[] parameter(2)\n"
              " b = f32[4,4,4] dynamic-slice(a, i, j, i), dynamic_slice_sizes={4,4,4}\n c = f32[2,3,2] dynamic-slice(b, j, i, j), dynamic_slice_sizes={2,3,2}\n"
              " ROOT r = f32[2,3,2] negate(c) }", (check_options){ 0 });
}

// A copy of 2^32 bytes and more, whose dims a pattern counts one by one only: what the program moves is all of it.
TEST(bounds, copies_of_more_than_a_pattern_counts)
{
    static const struct { const char *shape; uint64_t elements; } cases[] = {
        { "s8[65536,65537]", 65536ull * 65537 }, { "s8[100000,100000]", 100000ull * 100000 }, { "f32[65536,65536]", 65536ull * 65536 },
    };
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        char text[256];
        snprintf(text, sizeof text, "HloModule m\nENTRY e { a = %s parameter(0)\n ROOT r = %s copy(a) }", cases[k].shape, cases[k].shape);
        AUTO(isa_program) p = NULL;
        EXPECT_OK(check_compile(text, &(check_options){ .target = "trn2", .lnc = 1 }, &p));
        const isa_function *f = p->cores[0].functions.items[0];
        uint64_t moved[2] = { 0, 0 };
        for (uint32_t i = 0; i < f->insns.count; i++)
            for (int o = 0; f->insns.items[i].op == ISA_dma_copy && o < 2; o++) moved[o] += isa_operand_elements(isa_operand_of(f, &f->insns.items[i], o));
        for (int o = 0; o < 2; o++) EXPECT_EQ_INT((int64_t)moved[o], (int64_t)cases[k].elements);
    }
}

TEST(bounds, refusals_name_place_and_both_values)
{
    static const struct { const char *text, *want; } cases[] = {
        { "a = f32[4294967296] parameter(0)\n ROOT r = f32[4294967296] add(a, a)", "test.hlo.txt:2:11: 'parameter' (%a) has dimension 0 of 4294967296; an access pattern counts to 4294967295" },
        { "a = f32[128,3000000000] parameter(0)\n ROOT r = f32[128,3000000000] add(a, a)", "test.hlo.txt:3:7: 'add' (%r." },
        { "a = f32[2147483648,4] parameter(0)\n ROOT r = f32[2147483648,4] add(a, a)", "'add' (%r) takes 16777216 instructions or more; a function has at most " },
        { "a = f32[8000000,1000000] parameter(0)\n b = f32[1000000,8000000] parameter(1)\n"
          " ROOT r = f32[8000000,8000000] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "'dot' (%r) takes " },
        { "a = f32[1,1,1,1,1,1,1,1,2] parameter(0)\n ROOT r = f32[1,1,1,1,1,1,1,1,2] add(a, a)", "'parameter' (%a) has rank 9; at most 8 is lowered" },
        { "a = f32[2] parameter(0)\n ROOT r = f32[1,1,1,1,1,1,1,2,1] reshape(a)", "'reshape' (%r) has rank 9; at most 8 is lowered" },
        { "a = f32[3,0] parameter(0)\n b = f32[3,5] parameter(1)\n ROOT r = f32[3,5] concatenate(a, b), dimensions={1}", "'parameter' (%a) has no elements" },
        { "a = f32[3,5] parameter(0)\n ROOT r = f32[0,5] slice(a), slice={[0:0],[0:5]}", "returns no elements" },
        { "a = s4[64] parameter(0)\n ROOT r = s4[64] copy(a)", "'parameter' (%a) has type s4 of 4 bits" },
        { "a = f8e4m3fn[5,6] parameter(0)\n ROOT r = f32[5,6] convert(a)", "'convert' (%r) computes in f8e4m3fn, which trn2 lacks" },
    };
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        char text[512];
        snprintf(text, sizeof text, "HloModule m\nENTRY e { %s }", cases[k].text);
        AUTO(isa_program) p = NULL;
        EXPECT_FAILS(check_compile(text, &(check_options){ .target = "trn2", .lnc = 1 }, &p), UNSUPPORTED, cases[k].want);
    }
}
