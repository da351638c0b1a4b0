// SPDX-License-Identifier: Apache-2.0
// A program survives the file and the text: same bytes again, field by field equal. Constants are aligned and lent.
#include "harness/harness.h"
#include "isa/generate.h"
#include "isa/build.h"
#include "isa/text.h"
#include "isa/verify.h"
#include "neff/container.h"
#include "neff/neff.h"

#include <unistd.h>

static const neff_meta meta = {"glia 0.1.0", "--target trn2 --auto-cast \"none\"", "layer\\x.hlo.txt"};
static const hw_chip *const chips[] = {&hw_trainium1, &hw_trainium2, &hw_trainium3};

static isa_program *generated(uint64_t seed)
{
    generate_options o = generate_options_of(seed, chips[seed % COUNT_OF(chips)]);
    if (seed % COUNT_OF(chips)) o.core_count = 1 + (uint32_t)seed % 2;
    o.insns = 20 + (uint32_t)(seed * 11) % 150;
    return generate_program(&o);
}

static void expect_same(const glia_strbuf *a, const glia_strbuf *b, uint64_t seed, const char *what)
{
    if (a->size != b->size || memcmp(a->data, b->data, a->size) != 0)
        FAIL_TEST("seed %" PRIu64 ": %s differs (%zu bytes, %zu)", seed, what, a->size, b->size);
}

TEST(round_trip, encode_decode_encode_gives_the_same_bytes_and_the_same_program)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        AUTO(isa_program) p = generated(seed);
        AUTO(isa_program) q = NULL;
        AUTO_VALUE(glia_strbuf) first = {0};
        AUTO_VALUE(glia_strbuf) second = {0};
        AUTO_VALUE(glia_strbuf) text_p = {0};
        AUTO_VALUE(glia_strbuf) text_q = {0};
        neff_meta found;
        EXPECT_OK(neff_encode(p, &meta, &first));
        EXPECT_OK(neff_decode(glia_strbuf_span(&first), "first", &q, &found));
        EXPECT_EQ_STR(found.compiler, meta.compiler);
        EXPECT_EQ_STR(found.flags, meta.flags);
        EXPECT_EQ_STR(found.source, meta.source);
        EXPECT_OK(neff_encode(q, &found, &second));
        expect_same(&first, &second, seed, "the file");
        isa_print(&text_p, p);
        isa_print(&text_q, q);
        expect_same(&text_p, &text_q, seed, "the text");
    }
}

TEST(round_trip, disassembly_assembles_to_the_same_bytes)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        AUTO(isa_program) p = generated(seed);
        AUTO(isa_program) q = NULL;
        AUTO_VALUE(glia_strbuf) first = {0};
        AUTO_VALUE(glia_strbuf) second = {0};
        AUTO_VALUE(glia_strbuf) text = {0};
        neff_meta found;
        EXPECT_OK(neff_encode(p, &meta, &first));
        neff_print(&text, p, &meta);
        EXPECT_OK(neff_parse(glia_strbuf_span(&text), "text", &q, &found));
        EXPECT_OK(neff_encode(q, &found, &second));
        expect_same(&first, &second, seed, "the file");
    }
}

// Everything that a program can hold and the generator does not make.
static isa_program *everything(void)
{
    static const uint32_t ranks[] = {3, 0, 2, 1};
    static const uint8_t bytes[5] = {0, 1, 0xfe, 0xff, 0x80};
    isa_program *p = isa_program_create("every\"thing\" \n", "trn3", 2);
    const uint32_t in = isa_tensor_add(p, "kv cache", ISA_TENSOR_INPUT, NUM_BF16, 3, (const int64_t[]){3, 300, 128});
    const uint32_t out = isa_tensor_add(p, "9new", ISA_TENSOR_OUTPUT, NUM_BF16, 3, (const int64_t[]){3, 300, 128});
    const uint32_t c = isa_tensor_add(p, "same", ISA_TENSOR_CONST, NUM_U8, 1, (const int64_t[]){5});
    const uint32_t s = isa_tensor_add(p, "same", ISA_TENSOR_SCRATCH, NUM_S4, 2, (const int64_t[]){3, 7});
    const uint32_t scalar = isa_tensor_add(p, "scalar", ISA_TENSOR_INPUT, NUM_F64, 0, NULL);
    (void)scalar;
    isa_layout l = {4, {{128, 3, 1}, {1, 3, 0}, {1, 128, 1}, {1, 128, 2}}};
    p->tensors.items[in].layout = p->tensors.items[out].layout = l;
    p->tensors.items[in].bytes = p->tensors.items[out].bytes = 3 * 3 * 128 * 128 * 2;
    p->tensors.items[in].weight = 1;
    p->tensors.items[out].alias = (int32_t)in;
    p->tensors.items[s].core = 1;
    p->tensors.items[c].data = (glia_span){bytes, sizeof bytes};
    VEC_PUSH(&p->groups) = (isa_group){4, ranks};
    VEC_PUSH(&p->assumptions) = "loop %while.3 runs 128 times";
    VEC_PUSH(&p->assumptions) = "";
    const uint32_t o = isa_origin_add(p, "%a \\ b", "x.py:3\t(\x01)");
    isa_function *f = isa_function_create(p, 0, "main");
    isa_function *g = isa_function_create(p, 1, "other one");
    const uint32_t slot_in = isa_slot_global(f, p, in), slot_out = isa_slot_global(f, p, out);
    isa_slot_global(f, p, c);
    isa_slot_global(f, p, s);
    const int64_t step[] = {-4, 3, 0, 1, 9};
    const uint32_t count[] = {2, 1, 7, 3, 1};
    const isa_operand dma[] = {
        isa_plus(isa_plus(isa_hbm(slot_out, NUM_BF16, -6, 5, step, count), 3, -8), 63, INT64_MAX),
        isa_hbm(slot_in, NUM_BF16, 1ll << 40, 0, NULL, NULL)};
    const uint8_t attrs[] = {ISA_DGE_HWDGE, ISA_OOB_SKIP};
    uint32_t n = isa_emit(f, ISA_dma_copy, ISA_ACT, 2, dma, 2, attrs, o);
    f->insns.items[n].queue = 15;
    f->insns.items[n].priority = 3;
    isa_add_wait(f, n, 255, -7, true);
    isa_add_wait(f, n, 0, INT32_MAX, false);
    isa_add_update(f, n, 255, 16);
    isa_add_update(f, n, 4, -1);
    const isa_operand activation[] = {isa_chip_ap(ISA_PSUM, NUM_F32, 96, 32, 2048, 4, step, count),
                                      isa_chip(ISA_SBUF, NUM_BF16, 0, 32, 0, 42), isa_imm_f32(-0.0f), isa_none(),
                                      isa_chip(ISA_SBUF, NUM_F32, 0, 32, 64, 1)};
    const uint8_t act[] = {ISA_ACT_COPY, ISA_REDUCE_RESET};
    isa_emit(f, ISA_activation, ISA_ACT, 5, activation, 2, act, 0);
    static const uint32_t floats[] = {0x7fc00001, 0xff800000, 0x00000001, 0x3f800001, 0x7f7fffff};
    for (size_t k = 0; k < COUNT_OF(floats); k++) {
        const isa_operand fill[] = {isa_chip(ISA_SBUF, NUM_F32, 0, 1, 0, 1), isa_imm_f32(num_f32_of(floats[k]))};
        isa_emit(f, ISA_memset, ISA_DVE, 2, fill, 0, NULL, 0);
    }
    isa_operand half = isa_imm_int(0x3c00);
    half.dtype = NUM_F16;
    const isa_operand fill[] = {isa_chip(ISA_SBUF, NUM_F16, 0, 1, 0, 1), half};
    isa_emit(f, ISA_memset, ISA_DVE, 2, fill, 0, NULL, 0);
    const isa_operand all[] = {isa_hbm(slot_out, NUM_BF16, 0, 1, &step[3], &count[2]),
                               isa_hbm(slot_in, NUM_BF16, 0, 1, &step[3], &count[2]), isa_imm_int(0)};
    const uint8_t cc[] = {ISA_ALU_MAXIMUM, 2};
    isa_emit(f, ISA_cc_all_reduce, ISA_POOL, 3, all, 2, cc, o);
    isa_emit(g, ISA_wait, ISA_PE, 0, NULL, 0, NULL, 0);
    p->cores[0].sbuf_used = 12345;
    p->cores[1].psum_used = UINT64_MAX;
    return p;
}

TEST(round_trip, every_field_survives_file_and_text)
{
    AUTO(isa_program) p = everything();
    AUTO(isa_program) q = NULL;
    AUTO(isa_program) r = NULL;
    AUTO_VALUE(glia_strbuf) first = {0};
    AUTO_VALUE(glia_strbuf) second = {0};
    AUTO_VALUE(glia_strbuf) text = {0};
    neff_meta found;
    EXPECT_OK(isa_check_structure(p));
    EXPECT_OK(neff_encode(p, &meta, &first));
    EXPECT_OK(neff_decode(glia_strbuf_span(&first), "first", &q, &found));
    neff_print(&text, q, &found);
    EXPECT_OK(neff_parse(glia_strbuf_span(&text), "text", &r, &found));
    EXPECT_OK(neff_encode(r, &found, &second));
    expect_same(&first, &second, 0, "the file");

    EXPECT_EQ_STR(r->name, "every\"thing\" \n");
    EXPECT_EQ_STR(r->target, "trn3");
    EXPECT_EQ_INT(r->core_count, 2);
    EXPECT_EQ_INT(r->tensors.count, 5);
    const isa_tensor *in = &r->tensors.items[0], *out = &r->tensors.items[1], *c = &r->tensors.items[2],
                     *s = &r->tensors.items[3];
    EXPECT_EQ_STR(in->name, "kv cache");
    EXPECT_EQ_INT(in->weight, 1);
    EXPECT_EQ_INT(in->bytes, 294912);
    EXPECT_EQ_INT(in->layout.axis_count, 4);
    EXPECT_EQ_INT(in->layout.axes[0].step, 128);
    EXPECT_EQ_INT(in->layout.axes[0].count, 3);
    EXPECT_EQ_INT(in->layout.axes[3].dim, 2);
    EXPECT_EQ_INT(out->alias, 0);
    EXPECT_EQ_INT(out->core, -1);
    EXPECT_EQ_INT(c->data.size, 5);
    EXPECT_EQ_INT(c->data.data[4], 0x80);
    EXPECT_EQ_INT(s->core, 1);
    EXPECT_EQ_INT(s->bytes, 11); // 21 elements of 4 bits
    EXPECT_EQ_INT(r->groups.count, 1);
    EXPECT_EQ_INT(r->groups.items[0].ranks[2], 2);
    EXPECT_EQ_STR(r->assumptions.items[0], "loop %while.3 runs 128 times");
    EXPECT_EQ_STR(r->origins.items[1].where, "x.py:3\t(\x01)");
    const isa_function *f = r->cores[0].functions.items[0];
    const isa_insn *i = &f->insns.items[0];
    EXPECT_EQ_INT(i->op, ISA_dma_copy);
    EXPECT_EQ_INT(i->engine, ISA_ACT);
    EXPECT_EQ_INT(i->queue, 15);
    EXPECT_EQ_INT(i->priority, 3);
    EXPECT_EQ_INT(i->attr[0], ISA_DGE_HWDGE);
    EXPECT_EQ_INT(i->attr[1], ISA_OOB_SKIP);
    EXPECT_EQ_INT(i->origin, 1);
    EXPECT_EQ_INT(f->waits.items[0].value, -7);
    EXPECT_EQ_INT(f->waits.items[0].relative, 1);
    EXPECT_EQ_INT(f->waits.items[1].value, INT32_MAX);
    EXPECT_EQ_INT(f->updates.items[1].value, -1);
    const isa_operand *dst = isa_operand_of(f, i, 0);
    EXPECT_EQ_INT(dst->offset, -6);
    EXPECT_EQ_INT(dst->rank, 5);
    EXPECT_EQ_INT(dst->step[0], -4);
    EXPECT_EQ_INT(dst->count[2], 7);
    EXPECT_EQ_INT(dst->terms[0].scale, -8);
    EXPECT_EQ_INT(dst->terms[1].reg, 63);
    EXPECT_EQ_INT(dst->terms[1].scale, INT64_MAX);
    EXPECT_EQ_INT(isa_operand_of(f, &f->insns.items[1], 3)->space, ISA_SPACE_NONE);
    EXPECT_EQ_HEX(isa_operand_of(f, &f->insns.items[1], 2)->offset, 0x80000000);
    EXPECT_EQ_HEX(isa_operand_of(f, &f->insns.items[2], 1)->offset, 0x7fc00001);
    EXPECT_EQ_INT(isa_operand_of(f, &f->insns.items[7], 1)->dtype, NUM_F16);
    EXPECT_EQ_INT(f->insns.items[8].attr[1], 2);
    EXPECT_EQ_INT(r->cores[0].sbuf_used, 12345);
    EXPECT_EQ_STR(r->cores[1].functions.items[0]->name, "other one");
}

TEST(round_trip, constants_are_aligned_and_lent_by_the_file)
{
    for (uint64_t seed = 0; seed < 10; seed++) {
        AUTO(isa_program) p = generated(seed);
        AUTO(isa_program) q = NULL;
        AUTO_VALUE(glia_strbuf) file = {0};
        EXPECT_OK(neff_encode(p, &meta, &file));
        EXPECT_OK(neff_decode(glia_strbuf_span(&file), "file", &q, NULL));
        for (uint32_t t = 0; t < q->tensors.count; t++) {
            const isa_tensor *c = &q->tensors.items[t];
            if (c->kind != ISA_TENSOR_CONST) continue;
            const size_t at = (size_t)(c->data.data - (const uint8_t *)file.data);
            EXPECT(at < file.size);
            EXPECT_EQ_INT(at % 4096, 0);
            EXPECT(memcmp(c->data.data, p->tensors.items[t].data.data, c->data.size) == 0);
        }
    }
}

TEST(round_trip, the_outline_is_the_public_one)
{
    AUTO(isa_program) p = generated(1);
    AUTO_VALUE(glia_strbuf) file = {0};
    EXPECT_OK(neff_encode(p, &meta, &file));
    uint64_t header_size, data_size;
    memcpy(&header_size, file.data + 8, 8);
    memcpy(&data_size, file.data + 16, 8);
    EXPECT_EQ_INT(header_size, 1024);
    EXPECT_EQ_INT(data_size, file.size - 1024);
    EXPECT_EQ_STR(file.data + 40, "glia 0.1.0");
    EXPECT_EQ_STR(file.data + 220, "generated");
    EXPECT_EQ_STR(file.data + 1024, "info.json");
    EXPECT(memcmp(file.data + 1024 + 257, "ustar", 5) == 0);
    EXPECT_EQ_INT((file.size - 1024) % 512, 0);
}

TEST(round_trip, files_are_written_opened_and_hashed)
{
    char path[] = "/tmp/glia-neff-XXXXXX";
    const int fd = mkstemp(path);
    EXPECT(fd >= 0);
    close(fd);
    AUTO(isa_program) p = generated(5);
    AUTO(neff_file) f = NULL;
    EXPECT_OK(neff_write(p, &meta, path));
    EXPECT_OK(neff_open(path, &f));
    EXPECT_EQ_INT(strlen(f->sha256), 64);
    EXPECT_EQ_STR(f->meta.flags, meta.flags);
    EXPECT_EQ_STR(f->program->name, "generated");
    AUTO_VALUE(glia_strbuf) again = {0};
    EXPECT_OK(neff_encode(f->program, &f->meta, &again));
    EXPECT_EQ_INT(again.size, f->map.bytes.size);
    EXPECT(memcmp(again.data, f->map.bytes.data, again.size) == 0);
    unlink(path);
}
