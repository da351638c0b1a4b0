// SPDX-License-Identifier: Apache-2.0
// Rows that are longer than SBUF takes: each against the evaluator.
#include "compile/check.h"
#include "harness/harness.h"

#include <stdio.h>

#define REGIONS \
    "ad { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n" \
    "mx { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] maximum(x, y) }\n"

static const check_options two_cores = { .target = "trn2", .lnc = 2, .tolerance = 1e-5 };
static const check_options one_core = { .target = "trn2", .lnc = 1, .tolerance = 1e-5 };

static void check_cores(const char *hlo)
{
    check_hlo(hlo, one_core);
    check_hlo(hlo, two_cores);
}

TEST(split, elementwise_over_a_long_vector)
{
    // Divided evenly, with a tail, and of a prime length.
    static const int lengths[] = { 1000000, 30002, 65537 };
    for (size_t k = 0; k < COUNT_OF(lengths); k++) {
        char text[512];
        const int n = lengths[k];
        snprintf(text, sizeof text, "HloModule m\nENTRY e { a = f32[%d] parameter(0)\n b = f32[%d] parameter(1)\n p = f32[%d] multiply(a, b)\n"
                 " q = f32[%d] tanh(p)\n ROOT r = f32[%d] add(q, a) }", n, n, n, n, n);
        check_cores(text);
    }
}

TEST(split, elementwise_over_long_rows_with_views)
{
    check_cores("HloModule m\nENTRY e { a = f32[3,20011] parameter(0)\n b = bf16[20011,3] parameter(1)\n c = f32[3] parameter(2)\n d = f32[20011] parameter(3)\n s = f32[] parameter(4)\n"
                " t = bf16[3,20011] transpose(b), dimensions={1,0}\n u = f32[3,20011] convert(t)\n cb = f32[3,20011] broadcast(c), dimensions={0}\n db = f32[3,20011] broadcast(d), dimensions={1}\n"
                " v = f32[3,20011] add(a, u)\n w = f32[3,20011] multiply(v, cb)\n x = f32[3,20011] subtract(w, db)\n n = f32[] negate(s)\n y = f32[3,20011] clamp(n, x, s)\n"
                " p = pred[3,20011] compare(a, y), direction=GT\n z = f32[3,20011] select(p, x, y)\n k = f32[3,10] slice(z), slice={[0:3],[100:20000:1990]}\n"
                " ROOT r = (f32[3,20011], f32[3,10]) tuple(z, k) }");
}

TEST(split, softmax_over_long_rows)
{
    check_cores("HloModule m\n" REGIONS "ENTRY e { a = f32[3,60000] parameter(0)\n ninf = f32[] constant(-inf)\n zero = f32[] constant(0)\n"
                " m1 = f32[3] reduce(a, ninf), dimensions={1}, to_apply=mx\n mb = f32[3,60000] broadcast(m1), dimensions={0}\n s = f32[3,60000] subtract(a, mb)\n"
                " x = f32[3,60000] exponential(s)\n t = f32[3] reduce(x, zero), dimensions={1}, to_apply=ad\n tb = f32[3,60000] broadcast(t), dimensions={0}\n"
                " ROOT r = f32[3,60000] divide(x, tb) }");
}

TEST(split, reductions_of_much_data)
{
    check_cores("HloModule m\n" REGIONS "ENTRY e { a = f32[7,10007] parameter(0)\n b = f32[3,170,130] parameter(1)\n one = f32[] constant(1)\n zero = f32[] constant(0)\n n = f32[3,170,130] negate(b)\n"
                " ra = f32[7] reduce(a, one), dimensions={1}, to_apply=ad\n rb = f32[] reduce(a, one), dimensions={0,1}, to_apply=ad\n rc = f32[10007] reduce(a, zero), dimensions={0}, to_apply=mx\n"
                " rd = f32[130] reduce(n, zero), dimensions={0,1}, to_apply=ad\n re = f32[170] reduce(b, zero), dimensions={0,2}, to_apply=ad\n rf = f32[3,130] reduce(n, zero), dimensions={1}, to_apply=mx\n"
                " ROOT r = (f32[7], f32[], f32[10007], f32[130], f32[170], f32[3,130]) tuple(ra, rb, rc, rd, re, rf) }");
}

TEST(split, a_reduction_of_leading_dims_of_rows)
{
    check_cores("HloModule m\n" REGIONS "ENTRY e { a = f32[140,40] parameter(0)\n zero = f32[] constant(0)\n n = f32[140,40] negate(a)\n"
                " s = f32[40] reduce(n, zero), dimensions={0}, to_apply=ad\n t = f32[140] reduce(n, zero), dimensions={1}, to_apply=mx\n ROOT r = (f32[40], f32[140]) tuple(s, t) }");
}

TEST(split, long_iotas)
{
    check_cores("HloModule m\nENTRY e { i = s32[20011] iota(), iota_dimension=0\n j = s32[2,20000] iota(), iota_dimension=1\n k = f32[3,10000] iota(), iota_dimension=0\n"
                " l = s32[20011] add(i, i)\n ROOT r = (s32[20011], s32[2,20000], f32[3,10000]) tuple(l, j, k) }");
}

TEST(split, a_product_with_long_rows_is_used_elementwise)
{
    check_cores("HloModule m\nENTRY e { x = f32[2,64] parameter(0)\n w = f32[64,12800] parameter(1)\n d = f32[2,12800] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                " t = f32[2,12800] tanh(d)\n ROOT r = f32[2,12800] multiply(t, d) }");
}
