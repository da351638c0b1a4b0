// SPDX-License-Identifier: Apache-2.0
// What the parser says about wrong text, compared with tests/golden/ir_errors.txt. GLIA_BLESS=1 rewrites that file.
#include "base/file.h"
#include "ir/ir_helper.h"

static const char *const bad_texts[] = {
    "",
    "module {}",
    "HloModule m",
    "HloModule m, input_output_alias={ {0}: (0, {}, will-alias) }\nENTRY e { x = f32[] parameter(0) }",
    "HloModule m, input_output_alias={ {0}: (3, {}) }\nENTRY e { x = f32[] parameter(0) }",
    "HloModule m, input_output_alias={ {0, 1}: (0, {}) }\nENTRY e { x = f32[] parameter(0) }",
    "HloModule m, entry_computation_layout={(f32[2]{0})->f32[]}\nENTRY e { x = f32[] parameter(0) }",
    "HloModule m, entry_computation_layout={()->f32[]}\nENTRY e { x = f32[] parameter(0) }",
    "HloModule m\nENTRY e { x = f32[2] parameter(0)\n  y = f32[2] tnah(x)\n  z = f32[2] convolution(x, y)\n}",
    "HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  y = f32[3] add(x, x)\n  z = f32[2] add(x, w)\n  v = f32[4] "
    "add(y, x)\n"
    "  u = f32[2] add(z, x\n  t = f32[2] add(u, x), oops\n  s = f32[2] sub(x, x)\n  ROOT r = s32[2] compare(x, x), "
    "direction=LT\n}",
    "HloModule m\nENTRY e {\n  c = f32[1000] constant({...})\n  d = f32[2,2] constant({ { 1, 2 }, { 3 } })\n  g = "
    "f32[2] constant({1, 2, 3})\n"
    "  h = s8[2] constant({1, 300})\n  i = f32[100000000000] constant({1})\n  j = f32[2] constant({ { 1, 2 } })\n  k = "
    "f32[2] constant(1)\n"
    "  l = (f32[]) constant((1))\n}",
    "HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  x = f32[2] parameter(1)\n  ROOT y = f32[2] add(x, x)\n  ROOT "
    "z = f32[2] add(x, x)\n}",
    "HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  y = f32[2] call(x), to_apply=f\n  z = f32[2] transpose(x)\n"
    "  w = f32[2] transpose(x), dimensions={0}, dimensions={0}\n  v = pred[2] compare(x, x), direction=XX\n"
    "  u = f32[2] slice(x), slice={[0:2:]}\n  t = f32[2] custom-call(x), custom_call_target=none\n}",
    "HloModule m\nENTRY e {\n  x = f32[2]{1} parameter(0)\n  y = f32[2,3]{0,0} parameter(1)\n  z = f8e4m3fnuz[2] "
    "parameter(2)\n  w = f32[?] parameter(3)\n"
    "  v = f32[-1] parameter(4)\n  u = f32[9223372036854775807,9] parameter(5)\n  t = f32 parameter(6)\n  s = (f32[2] "
    "parameter(7)\n}",
    "HloModule m\na { x = f32[] parameter(0) }\na { x = f32[] parameter(0) }\nENTRY b { x = f32[] parameter(0) "
    "}\nENTRY c { x = f32[] parameter(1) }\nd { }\n",
    "HloModule m\ne (x: f32[2], y: f32[]) -> f32[2] {\n  x = f32[2] parameter(0)\n}\nf (x: f32[3]) -> s32[2] {\n  x = "
    "f32[2] parameter(0)\n}",
    "HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  y = f32[2] add(s32[2] x, f32[2]{0} x)\n  z = f32[2] "
    "add(negate(x), x)\n",
    "HloModule m\n\nFileNames\n1 \"a\"\n3 \"b\"\n\nENTRY e { x = f32[] parameter(0) }",
    "HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  a = f32[1] add(x, x)\n  b = f32[1] add(x, x)\n  c = f32[1] "
    "add(x, x)\n  d = f32[1] add(x, x)\n"
    "  f = f32[1] add(x, x)\n  g = f32[1] add(x, x)\n  h = f32[1] add(x, x)\n  i = f32[1] add(x, x)\n  j = f32[1] "
    "add(x, x)\n  k = f32[1] add(x, x)\n"
    "  l = f32[1] add(x, x)\n  n = f32[1] add(x, x)\n  o = f32[1] add(x, x)\n  p = f32[1] add(x, x)\n  q = f32[1] "
    "add(x, x)\n  r = f32[1] add(x, x)\n"
    "  s = f32[1] add(x, x)\n  t = f32[1] add(x, x)\n  u = f32[1] add(x, x)\n  v = f32[1] add(x, x)\n  w = f32[1] "
    "add(x, x)\n  y = f32[1] add(x, x)\n}",
};

TEST(parse_errors, are_as_in_the_golden_file)
{
    const char *path = GLIA_SOURCE_DIR "/tests/golden/ir_errors.txt";
    glia_strbuf got = {0};
    for (size_t i = 0; i < COUNT_OF(bad_texts); i++) {
        ir_module *m = NULL;
        AUTO_STATUS s = helper_parse(bad_texts[i], &m);
        EXPECT(s != NULL && m == NULL);
        glia_putf(&got, "---- %zu\n%s\n>>>> %s\n%s\n", i, bad_texts[i], glia_code_name(glia_status_code(s)),
                  glia_status_message(s));
    }
    if (getenv("GLIA_BLESS")) EXPECT_OK(glia_file_write_atomic(path, glia_strbuf_span(&got)));
    glia_map want = {0};
    EXPECT_OK(glia_map_open(path, &want));
    size_t same = 0;
    while (same < got.size && same < want.bytes.size && got.data[same] == (char)want.bytes.data[same])
        same++;
    if (same != got.size || same != want.bytes.size)
        FAIL_TEST("differs from %s at byte %zu; got ...%.200s", path, same, got.data + (same > 80 ? same - 80 : 0));
    glia_map_fini(&want);
    glia_strbuf_fini(&got);
}
