// SPDX-License-Identifier: Apache-2.0
// Values that share memory: updates in place, what still reads the old value, calls that overwrite their arguments, and
// two cores that read and write one tensor.
#include "compile/check.h"
#include "harness/harness.h"

TEST(memory, a_tile_loaded_before_an_update_is_loaded_again)
{
    check_hlo("HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }\nENTRY e { x = f32[130,64] parameter(0)\n u = f32[4,64] parameter(1)\n"
              " i = s32[] parameter(2)\n z = s32[] constant(0)\n one = f32[] constant(1)\n ones = f32[130,64] broadcast(one), dimensions={}\n"
              " a = f32[130,64] add(x, ones)\n y = f32[130,64] dynamic-update-slice(x, u, i, z)\n b = f32[130,64] add(y, ones)\n"
              " ROOT t = (f32[130,64], f32[130,64], f32[130,64]) tuple(y, a, b) }", (check_options){ 0 });
}

TEST(memory, an_alias_of_another_output_does_not_let_an_update_overwrite_the_input)
{
    check_hlo("HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }\nENTRY e { x = f32[130,64] parameter(0)\n u = f32[4,64] parameter(1)\n"
              " i = s32[] parameter(2)\n z = s32[] constant(0)\n a = f32[130,64] add(x, x)\n y = f32[130,64] dynamic-update-slice(x, u, i, z)\n"
              " ROOT t = (f32[130,64], f32[130,64]) tuple(a, y) }", (check_options){ 0 });
}

TEST(memory, an_update_by_a_part_of_what_it_overwrites)
{
    check_hlo("HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\nENTRY e { x = f32[300,20] parameter(0)\n i = s32[] parameter(1)\n"
              " z = s32[] constant(0)\n s = f32[290,20] slice(x), slice={[0:290],[0:20]}\n u = f32[290,20] add(s, s)\n"
              " ROOT y = f32[300,20] dynamic-update-slice(x, u, i, z) }", (check_options){ 0 });
}

TEST(memory, updates_of_updates)
{
    check_hlo("HloModule m\nENTRY e { x = f32[300,4] parameter(0)\n i = s32[] parameter(1)\n z = s32[] constant(0)\n w = f32[300,4] add(x, x)\n"
              " u = f32[200,4] slice(x), slice={[100:300],[0:4]}\n y = f32[300,4] dynamic-update-slice(w, u, i, z)\n s = f32[250,4] slice(y), slice={[0:250],[0:4]}\n"
              " v = f32[250,4] add(s, s)\n ROOT r = f32[300,4] dynamic-update-slice(y, v, i, z) }", (check_options){ 0 });
}

TEST(memory, a_constant_that_is_updated_stays_as_it_was)
{
    check_hlo("HloModule m\nENTRY e { u = f32[2] parameter(0)\n i = s32[] parameter(1)\n c = f32[5] constant({1, 2, 3, 4, 5})\n"
              " y = f32[5] dynamic-update-slice(c, u, i)\n ROOT r = f32[5] add(y, c) }", (check_options){ 0 });
}

TEST(memory, a_dynamic_start_in_memory_that_is_updated)
{
    check_hlo("HloModule m\nENTRY e { x = s32[4] parameter(0)\n big = f32[64,8] parameter(1)\n z = s32[] constant(0)\n w = s32[4] add(x, x)\n"
              " o = s32[1] slice(w), slice={[1:2]}\n i = s32[] reshape(o)\n d = f32[4,8] dynamic-slice(big, i, z), dynamic_slice_sizes={4,8}\n"
              " three = s32[1] constant({3})\n y = s32[4] dynamic-update-slice(w, three, z)\n e1 = f32[4,8] add(d, d)\n"
              " ROOT t = (f32[4,8], s32[4]) tuple(e1, y) }", (check_options){ 0 });
}

#define UPDATES "f { x = f32[16,8] parameter(0)\n y = f32[16,8] parameter(1)\n u = f32[2,8] slice(y), slice={[3:5],[0:8]}\n v = f32[2,8] add(u, u)\n" \
                " z = s32[] constant(0)\n d = f32[16,8] dynamic-update-slice(x, v, z, z)\n s = f32[16,8] add(d, y)\n" \
                " ROOT t = (f32[16,8], f32[16,8]) tuple(d, s) }\n"

TEST(memory, a_callee_overwrites_one_of_two_equal_arguments)
{
    check_hlo("HloModule m\n" UPDATES "ENTRY e { p = f32[16,8] parameter(0)\n x = f32[16,8] add(p, p)\n"
              " ROOT r = (f32[16,8], f32[16,8]) call(x, x), to_apply=f }", (check_options){ 0 });
}

TEST(memory, a_view_of_an_argument_is_read_after_the_call_that_overwrites_it)
{
    check_hlo("HloModule m\n" UPDATES "ENTRY e { p = f32[16,8] parameter(0)\n x = f32[16,8] add(p, p)\n v = f32[4,8] slice(x), slice={[0:4],[0:8]}\n"
              " r = (f32[16,8], f32[16,8]) call(x, p), to_apply=f\n a = f32[16,8] get-tuple-element(r), index=0\n w = f32[4,8] add(v, v)\n"
              " ROOT t = (f32[16,8], f32[4,8]) tuple(a, w) }", (check_options){ 0 });
}

TEST(memory, a_callee_that_updates_a_parameter_and_returns_something_else)
{
    check_hlo("HloModule m\nf { x = f32[16,8] parameter(0)\n u = f32[2,8] parameter(1)\n z = s32[] constant(0)\n"
              " d = f32[16,8] dynamic-update-slice(x, u, z, z)\n ROOT s = f32[16,8] add(d, d) }\n"
              "ENTRY e { x = f32[16,8] parameter(0)\n u = f32[2,8] parameter(1)\n y = f32[16,8] add(x, x)\n r = f32[16,8] call(y, u), to_apply=f\n"
              " q = f32[16,8] call(x, u), to_apply=f\n ROOT t = (f32[16,8], f32[16,8], f32[16,8]) tuple(r, q, y) }", (check_options){ 0 });
}

TEST(memory, a_callees_callee_writes_what_its_caller_reads)
{
    check_hlo("HloModule m\ng { a = f32[40,4] parameter(0)\n ROOT r = f32[40,4] add(a, a) }\n"
              "f { a = f32[40,4] parameter(0)\n b = f32[40,4] call(a), to_apply=g\n ROOT r = f32[40,4] multiply(b, b) }\n"
              "unused { a = f32[40,4] parameter(0)\n ROOT r = f32[40,4] call(a), to_apply=g }\n"
              "ENTRY e { x = f32[40,4] parameter(0)\n ROOT r = f32[40,4] call(x), to_apply=f }", (check_options){ 0 });
}
