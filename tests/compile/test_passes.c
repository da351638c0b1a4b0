// SPDX-License-Identifier: Apache-2.0
// What the passes promise beyond right values: spills, casts, equal bits for one core and two, errors with a place.
#include "compile/check.h"
#include "harness/harness.h"

#include "isa/text.h"

static int count_op(const isa_program *p, isa_op op)
{
    int n = 0;
    for (uint32_t c = 0; c < p->core_count; c++)
        for (uint32_t f = 0; f < p->cores[c].functions.count; f++)
            for (uint32_t k = 0; k < p->cores[c].functions.items[f]->insns.count; k++) n += p->cores[c].functions.items[f]->insns.items[k].op == op;
    return n;
}

// Twelve values of 32 KiB a partition, all needed at the end: more than SBUF holds.
static void spilling_text(glia_strbuf *b)
{
    glia_put(b, "HloModule m\nENTRY e { a = f32[100,8192] parameter(0)\n");
    for (int k = 0; k < 12; k++) {
        glia_putf(b, " c%d = f32[] constant(%d)\n b%d = f32[100,8192] broadcast(c%d), dimensions={}\n v%d = f32[100,8192] multiply(a, b%d)\n", k, k + 2, k, k, k, k);
        glia_putf(b, " w%d = f32[100,8192] tanh(v%d)\n", k, k);
    }
    glia_put(b, " s0 = f32[100,8192] add(w0, w1)\n");
    for (int k = 1; k < 11; k++) glia_putf(b, " s%d = f32[100,8192] add(s%d, w%d)\n", k, k - 1, k + 1);
    // Each value is read again, so that none can be dropped early.
    glia_put(b, " t0 = f32[100,8192] multiply(s10, w0)\n");
    for (int k = 1; k < 12; k++) glia_putf(b, " t%d = f32[100,8192] multiply(t%d, w%d)\n", k, k - 1, k);
    glia_put(b, " ROOT r = f32[100,8192] add(t11, s10) }");
}

TEST(passes, what_does_not_fit_into_sbuf_is_spilled)
{
    glia_strbuf text = { 0 };
    spilling_text(&text);
    const check_options o = { .target = "trn2", .lnc = 1, .tolerance = 1e-5 };
    check_hlo(glia_strbuf_str(&text), o);
    AUTO(isa_program) p = NULL;
    EXPECT_OK(check_compile(glia_strbuf_str(&text), &o, &p));
    int spills = 0;
    for (uint32_t t = 0; t < p->tensors.count; t++) spills += !strncmp(p->tensors.items[t].name, "spill.", 6);
    EXPECT(spills > 0);
    glia_strbuf_fini(&text);
}

TEST(passes, rows_longer_than_sbuf_are_an_error_with_both_sizes)
{
    AUTO(isa_program) p = NULL;
    const check_options o = { .target = "trn2", .lnc = 1 };
    EXPECT_FAILS(check_compile("HloModule m\nENTRY e { a = f32[9,60000] parameter(0)\n i = s32[2] parameter(1)\n ROOT r = f32[2,60000] gather(a, i), offset_dims={1},"
                               " collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,60000} }", &o, &p), UNSUPPORTED,
                 "rows of 60000 elements, 240000 bytes; a partition of SBUF has 212984");
    // Each row fits, but not two of them: the message comes from the placement, with the place in the HLO all the same.
    EXPECT_FAILS(check_compile("HloModule m\nENTRY e { a = f32[9,40000] parameter(0)\n i = s32[2] parameter(1)\n g = f32[2,40000] gather(a, i), offset_dims={1},"
                               " collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,40000}\n ROOT r = bf16[2,40000] convert(g) }", &o, &p),
                 EXHAUSTED, "'%r' (test.hlo.txt:5): function 'e': one instruction (");
}

static const char *const layer =
    "HloModule m\nad { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n"
    "ENTRY e { x = f32[%d,256] parameter(0)\n g = f32[1024,256] parameter(1)\n u = f32[1024,256] parameter(2)\n d = f32[256,1024] parameter(3)\n"
    " q = f32[%d,256] multiply(x, x)\n zero = f32[] constant(0)\n s = f32[%d] reduce(q, zero), dimensions={1}, to_apply=ad\n"
    " e1 = f32[] constant(1e-6)\n eb = f32[%d] broadcast(e1), dimensions={}\n v = f32[%d] add(s, eb)\n i = f32[%d] rsqrt(v)\n ib = f32[%d,256] broadcast(i), dimensions={0}\n"
    " n = f32[%d,256] multiply(x, ib)\n a = f32[%d,1024] dot(n, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
    " b = f32[%d,1024] dot(n, u), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n t = f32[%d,1024] tanh(a)\n h = f32[%d,1024] multiply(t, b)\n"
    " y = f32[%d,256] dot(h, d), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n ROOT r = f32[%d,256] add(x, y) }";

TEST(passes, one_core_and_two_give_the_same_bits)
{
    static const int tokens[] = { 1, 5, 200, 384 };
    for (size_t k = 0; k < COUNT_OF(tokens); k++) {
        char text[4096];
        const int t = tokens[k];
        snprintf(text, sizeof text, layer, t, t, t, t, t, t, t, t, t, t, t, t, t, t);
        const size_t size = (size_t)t * 256 * 4;
        uint8_t *one = glia_alloc(size), *two = glia_alloc(size);
        for (compile_cast cast = COMPILE_CAST_NONE; cast <= COMPILE_CAST_MATMULT; cast++) {
            const check_options o = { .target = "trn2", .lnc = 1, .cast = cast, .tolerance = cast ? 0.1 : 1e-4, .scale = 0.1 };
            check_options o2 = o;
            o2.lnc = 2;
            EXPECT_EQ_INT(check_output(text, o, one, size), size);
            EXPECT_EQ_INT(check_output(text, o2, two, size), size);
            EXPECT(!memcmp(one, two, size));
        }
        glia_free(one);
        glia_free(two);
    }
}

TEST(passes, auto_cast_matmult_gives_bf16_operands_and_fp32_sums)
{
    const char *text = "HloModule m\nENTRY e { a = f32[130,256] parameter(0)\n b = f32[256,300] parameter(1)\n"
                       " ROOT r = f32[130,300] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }";
    for (compile_cast cast = COMPILE_CAST_NONE; cast <= COMPILE_CAST_ALL; cast++) {
        AUTO(isa_program) p = NULL;
        const check_options o = { .target = "trn2", .lnc = 1, .cast = cast };
        EXPECT_OK(check_compile(text, &o, &p));
        const isa_function *f = p->cores[0].functions.items[0];
        for (uint32_t k = 0; k < f->insns.count; k++) {
            if (f->insns.items[k].op != ISA_matmul) continue;
            EXPECT_EQ_INT(isa_operand_of(f, &f->insns.items[k], 0)->dtype, NUM_F32);
            EXPECT_EQ_INT(isa_operand_of(f, &f->insns.items[k], 1)->dtype, cast ? NUM_BF16 : NUM_F32);
            EXPECT_EQ_INT(isa_operand_of(f, &f->insns.items[k], 2)->dtype, cast ? NUM_BF16 : NUM_F32);
        }
        EXPECT(count_op(p, ISA_matmul) > 0);
    }
    check_hlo(text, (check_options){ .target = "trn2", .lnc = 1, .cast = COMPILE_CAST_MATMULT, .tolerance = 0.2 });
}

TEST(passes, equal_layers_are_one_function)
{
    AUTO(isa_program) p = NULL;
    const check_options o = { .target = "trn2", .lnc = 2 };
    EXPECT_OK(check_compile("HloModule m\nlayer { h = f32[1,128] parameter(0)\n w = f32[128,128] parameter(1)\n ROOT d = f32[1,128] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={1} }\n"
                            "ENTRY e { x = f32[1,128] parameter(0)\n w0 = f32[128,128] parameter(1)\n w1 = f32[128,128] parameter(2)\n"
                            " a = f32[1,128] call(x, w0), to_apply=layer\n ROOT b = f32[1,128] call(a, w1), to_apply=layer }", &o, &p));
    for (uint32_t c = 0; c < 2; c++) {
        EXPECT_EQ_INT(p->cores[c].functions.count, 2);
        EXPECT_EQ_INT(p->cores[c].tables.items[0].rows, 2);
    }
    EXPECT_EQ_INT(count_op(p, ISA_call), 4);
}

TEST(passes, weights_lie_packed_and_declare_it)
{
    AUTO(isa_program) p = NULL;
    const check_options o = { .target = "trn2", .lnc = 1 };
    EXPECT_OK(check_compile("HloModule m\nENTRY e { x = f32[4,256] parameter(0)\n w = f32[1024,256] parameter(1)\n"
                            " ROOT r = f32[4,1024] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1} }", &o, &p));
    const isa_tensor *w = &p->tensors.items[1];
    EXPECT_EQ_STR(w->name, "w");
    EXPECT_EQ_INT(w->weight, 1);
    EXPECT_EQ_INT(w->layout.axis_count, 4);
    EXPECT_EQ_INT(w->layout.axes[0].count * w->layout.axes[1].count * w->layout.axes[2].count * w->layout.axes[3].count, 1024 * 256);
    EXPECT_EQ_INT(p->tensors.items[0].layout.axis_count, 0);
}

TEST(passes, what_is_not_lowered_names_op_attribute_and_place)
{
    static const struct { const char *text, *want; } cases[] = {
        { "HloModule m\nENTRY e { a = f32[4,8] parameter(0)\n ROOT r = f32[4,8] sine(a) }", "test.hlo.txt:3:" },
        { "HloModule m\nENTRY e { a = f32[4,8] parameter(0)\n ROOT r = f32[4,8] remainder(a, a) }", "'remainder' (%r) has no lowering for f32" },
        { "HloModule m\nENTRY e { a = s32[4,8] parameter(0)\n b = s32[8,4] parameter(1)\n"
          " ROOT r = s32[4,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }", "contracts s32 with s32" },
    };
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        AUTO(isa_program) p = NULL;
        const check_options o = { .target = "trn2", .lnc = 1 };
        EXPECT_FAILS(check_compile(cases[k].text, &o, &p), UNSUPPORTED, cases[k].want);
    }
}

typedef struct printed { int count; char names[16][32]; } printed;
static void on_print(void *context, const char *pass, const char *text)
{
    printed *p = context;
    EXPECT(strlen(text) > 10);
    snprintf(p->names[p->count++], sizeof p->names[0], "%s", pass);
}

TEST(passes, each_pass_can_be_printed)
{
    const hw_chip *chip = NULL;
    EXPECT_OK(hw_chip_find("trn2", &chip));
    const char *text = "HloModule m\nENTRY e { a = f32[4,8] parameter(0)\n ROOT r = f32[4,8] tanh(a) }";
    AUTO(ir_module) m = NULL;
    EXPECT_OK(ir_parse((glia_span){ (const uint8_t *)text, strlen(text) }, "t", &m));
    printed p = { 0 };
    compile_options o = compile_options_default(chip);
    o.print_after = "all";
    o.print_to = on_print;
    o.print_context = &p;
    AUTO(isa_program) out = NULL;
    EXPECT_OK(compile_module(m, &o, &out));
    EXPECT(p.count >= 6);
    EXPECT_EQ_STR(p.names[0], "verify");
    EXPECT_EQ_STR(p.names[p.count - 1], "sync");
}

TEST(passes, the_same_input_gives_the_same_program)
{
    char text[4096];
    snprintf(text, sizeof text, layer, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200);
    glia_strbuf a = { 0 }, b = { 0 };
    const check_options o = { .target = "trn2", .lnc = 2 };
    for (int k = 0; k < 2; k++) {
        AUTO(isa_program) p = NULL;
        EXPECT_OK(check_compile(text, &o, &p));
        isa_print(k ? &b : &a, p);
    }
    EXPECT_EQ_INT(a.size, b.size);
    EXPECT(!memcmp(a.data, b.data, a.size));
    glia_strbuf_fini(&a);
    glia_strbuf_fini(&b);
}

// Loads run ahead: the weights of several blocks are requested before the first product needs to have finished.
TEST(passes, weight_loads_run_ahead_of_their_readers)
{
    AUTO(isa_program) p = NULL;
    const check_options o = { .target = "trn2", .lnc = 1 };
    EXPECT_OK(check_compile("HloModule m\nENTRY e { x = f32[4,2048] parameter(0)\n w = f32[4096,2048] parameter(1)\n"
                            " ROOT r = f32[4,4096] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1} }", &o, &p));
    const isa_function *f = p->cores[0].functions.items[0];
    int loads = 0, free_loads = 0;
    for (uint32_t k = 0; k < f->insns.count; k++) {
        const isa_insn *i = &f->insns.items[k];
        if (i->op != ISA_dma_copy || i->engine != ISA_SP) continue;
        loads++;
        if (i->wait_count == 0 && free_loads == loads - 1) free_loads++;
    }
    EXPECT(loads > 20);
    EXPECT(free_loads >= 16);       // SBUF holds many tiles of 8 KiB a partition: so many loads wait for nobody
}

// What leaves PSUM is shared out between ACT and DVE by what each has to do.
TEST(passes, copies_are_balanced_between_engines)
{
    AUTO(isa_program) p = NULL;
    const check_options o = { .target = "trn2", .lnc = 1 };
    EXPECT_OK(check_compile("HloModule m\nENTRY e { x = f32[128,256] parameter(0)\n w = f32[8192,256] parameter(1)\n"
                            " ROOT r = f32[128,8192] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1} }", &o, &p));
    const isa_function *f = p->cores[0].functions.items[0];
    const hw_chip *chip = NULL;
    EXPECT_OK(hw_chip_find("trn2", &chip));
    double seconds[ISA_ENGINE_COUNT] = { 0 };
    for (uint32_t k = 0; k < f->insns.count; k++) {
        const isa_insn *i = &f->insns.items[k];
        if (i->op == ISA_tensor_copy) seconds[i->engine] += (double)isa_operand_free(isa_operand_of(f, i, 0)) / hw_engine_hz(chip, (hw_engine)i->engine);
    }
    EXPECT(seconds[ISA_ACT] > 0 && seconds[ISA_DVE] > 0);
    EXPECT(seconds[ISA_ACT] / seconds[ISA_DVE] < 1.3 && seconds[ISA_DVE] / seconds[ISA_ACT] < 1.3);
}
