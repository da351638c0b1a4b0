// SPDX-License-Identifier: Apache-2.0
// What assembly looks like, and what is said about text that is wrong: line, column, both values.
#include "harness/harness.h"
#include "isa/build.h"
#include "isa/text.h"

static glia_status parse(const char *text)
{
    AUTO(isa_program) p = NULL;
    return isa_parse((glia_span){(const uint8_t *)text, strlen(text)}, "x.s", &p);
}

#define HEAD "glia-asm 1\nprogram p target trn2 cores 1\n"
#define BODY                                                                                                           \
    HEAD "tensor x input f32[128,512]\ntensor c const u8[3]\ndata c\n  AQID\nend\ncore 0 sbuf=0 psum=0\n  function "   \
         "main formals=0\n    slot x = x\n"

TEST(text, an_instruction_is_one_readable_line)
{
    AUTO(isa_program) p = isa_program_create("x", "trn2", 1);
    isa_function *f = isa_function_create(p, 0, "main");
    const uint32_t x =
        isa_slot_global(f, p, isa_tensor_add(p, "x", ISA_TENSOR_INPUT, NUM_BF16, 2, (const int64_t[]){128, 512}));
    const isa_operand mm[] = {isa_chip(ISA_PSUM, NUM_F32, 0, 128, 2048, 512),
                              isa_chip(ISA_SBUF, NUM_BF16, 0, 128, 0, 128),
                              isa_chip(ISA_SBUF, NUM_BF16, 0, 128, 256, 512)};
    isa_emit(f, ISA_matmul, ISA_PE, 3, mm, 2, (const uint8_t[]){1, ISA_PERF_NONE}, 0);
    isa_add_wait(f, 0, 3, 16, false);
    isa_add_wait(f, 0, 5, -2, true);
    isa_add_update(f, 0, 4, 1);
    const isa_operand src =
        isa_plus(isa_hbm(x, NUM_BF16, 64, 2, (const int64_t[]){512, 1}, (const uint32_t[]){128, 32}), 7, 1024);
    isa_emit_dma(f, ISA_dma_copy, ISA_SP, 2, isa_chip(ISA_SBUF, NUM_BF16, 0, 128, 0, 32), src, ISA_DGE_HWDGE, 0);
    isa_emit(f, ISA_wait, ISA_POOL, 0, NULL, 0, NULL, 0);
    AUTO_VALUE(glia_strbuf) a = {0};
    isa_print_insn(&a, p, f, 0);
    EXPECT_EQ_STR(glia_strbuf_str(&a),
                  "PE    matmul               psum:f32(0+128, 2048, 1:512), sbuf:bf16(0+128, 0, 1:128), "
                  "sbuf:bf16(0+128, 256, 1:512) accumulate wait(s3>=16, s5>=base-2) inc(s4+1)");
    glia_strbuf_clear(&a);
    isa_print_insn(&a, p, f, 1);
    EXPECT_EQ_STR(
        glia_strbuf_str(&a),
        "SP    dma_copy             sbuf:bf16(0+128, 0, 1:32), %x:bf16(64+r7*1024, 512:128 1:32) dge=hwdge queue=2");
    glia_strbuf_clear(&a);
    isa_print_insn(&a, p, f, 2);
    EXPECT_EQ_STR(glia_strbuf_str(&a), "POOL  wait");
}

TEST(text, a_program_is_read_with_comments_and_blank_lines)
{
    EXPECT_OK(parse(BODY "    DVE memset sbuf:f32(0+8, 0, 1:4), 1.5 // a comment\n\n  end   // the end\n"));
    EXPECT_OK(parse("\n// first\n" HEAD "core 0 sbuf=0 psum=0\nfunction f formals=0\nend"));
}

TEST(text, errors_name_line_and_column)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "x.s:0:1: the text is empty"},
        {"hello\n", "x.s:1:1: this is no tile program"},
        {"glia-asm 2\n", "x.s:1:10: expected 'glia-asm 1'"},
        {"glia-asm 1\ncore 0\n", "x.s:2:5: 'program' comes before 'core'"},
        {"glia-asm 1\nprogram p target trn2 cores 3\n", "x.s:2:29: the number is too large"},
        {HEAD "tensor x input f33[3]\n", "x.s:3:16: 'f33' is no element type"},
        {HEAD "tensor x inpt f32[3]\n", "'inpt' is no kind of tensor"},
        {HEAD "tensor x input f32[3] waight=1\n", "a tensor has no 'waight'"},
        {HEAD "tensor x output f32[3] alias=y\n", "there is no tensor 'y' to be an alias of"},
        {BODY "    DVE memzet sbuf:f32(0+8, 0, 1:4), 1.5\n  end\n", "x.s:11:15: 'memzet' is no instruction"},
        {BODY "    DVE memset sbuf:f32(0+8, 0, 1:4), 1.5, 3\n  end\n", "'memset' has at most 2 operands"},
        {BODY "    SP dma_copy sbuf:f32(0+8, 0, 1:4), %y:f32(0, 1:4) queue=0\n  end\n",
         "x.s:11:41: there is no slot 'y'"},
        {BODY "    DVE memset sbuf:f32(0+8, 0, 1:4), 1.5 colour=3\n  end\n", "'colour' is no attribute of 'memset'"},
        {BODY
         "    DVE tensor_tensor sbuf:f32(0+8, 0, 1:4), sbuf:f32(0+8, 0, 1:4), sbuf:f32(0+8, 0, 1:4) op=ad\n  end\n",
         "'ad' is no value of attribute 'op'"},
        {BODY "    DVE memset sbuf:f32(0+8, 0, 1:4), 1.5 wait(s256>=1)\n  end\n", "x.s:11:49: the number is too large"},
        {BODY "    DVE memset sbuf:f32(0+8, 0, 1:4), 1.5 on=XE\n  end\n", "'XE' is no engine"},
        {BODY "    SP reg_move r64, 0\n  end\n", "the number is too large"},
        {BODY "    SP call 0\n  end\n", "calls function 0 of 1"},
        {BODY, "'end' is missing"},
        {HEAD "tensor c const u8[4]\ndata c\n  AQID\nend\n", "constant 'c' has 4 bytes, its data 3"},
        {HEAD "tensor c const u8[4]\ndata c\n  A*ID\nend\n", "'A*ID' is not base64"},
        {HEAD "origin 2 \"a\" \"b\"\n", "this is origin 2, the next in order is 1"},
        {HEAD "origin 1 \"a\\q\n", "the string is not closed"},
        {HEAD "core 1 sbuf=0 psum=0\n", "has 1 cores, not one numbered 1"},
        {HEAD "    PE matmul\n", "an instruction stands in a function"},
        {HEAD "core 0 sbuf=0 psum=0\ntable 0 formals=2\nrow 3+0\nend\n", "the row binds 1 of 2 formals"},
        {HEAD, "has no function"},
    };
    for (size_t k = 0; k < COUNT_OF(cases); k++)
        EXPECT_FAILS(parse(cases[k].text), INVALID, cases[k].says);
}

TEST(text, twenty_errors_are_reported_in_order)
{
    AUTO_VALUE(glia_strbuf) text = {0};
    glia_put(&text, BODY);
    for (int k = 0; k < 30; k++)
        glia_put(&text, "    DVE nonsense\n");
    AUTO_STATUS s = parse(glia_strbuf_str(&text));
    int n = 0;
    for (const char *at = glia_status_message(s); (at = strstr(at, "is no instruction")) != NULL; at++)
        n++;
    EXPECT_EQ_INT(n, 20);
    EXPECT(strstr(glia_status_message(s), "x.s:11:17") && strstr(glia_status_message(s), "x.s:30:17"));
}

TEST(text, base64_may_look_like_a_comment_or_an_end)
{
    AUTO(isa_program) p = NULL;
    static const char text[] =
        HEAD "tensor c const u8[9]\ndata c\n  //79end/\n  end+\nend\ncore 0 sbuf=0 psum=0\nfunction f formals=0\nend\n";
    EXPECT_OK(isa_parse((glia_span){(const uint8_t *)text, sizeof text - 1}, "x.s", &p));
    EXPECT_EQ_HEX(p->tensors.items[0].data.data[0], 0xff);
    EXPECT_EQ_HEX(p->tensors.items[0].data.data[8], 0x7e);
}
