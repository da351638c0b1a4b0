// SPDX-License-Identifier: Apache-2.0
// Files that are not what they say: each is refused with place and both values, none is believed.
#include "harness/harness.h"
#include "isa/generate.h"
#include "isa/verify.h"
#include "base/rng.h"
#include "neff/codec.h"
#include "neff/container.h"
#include "neff/neff.h"

static const neff_meta meta = {"glia 0.1.0", "", ""};

static void make(glia_strbuf *out)
{
    const generate_options o = generate_options_of(3, &hw_trainium2);
    AUTO(isa_program) p = generate_program(&o);
    EXPECT_OK(neff_encode(p, &meta, out));
}

static glia_status decode(const glia_strbuf *file, size_t size)
{
    AUTO(isa_program) p = NULL;
    return neff_decode((glia_span){(const uint8_t *)file->data, size}, "x.neff", &p, NULL);
}

TEST(hostile, every_truncation_is_refused)
{
    AUTO_VALUE(glia_strbuf) file = {0};
    make(&file);
    for (size_t size = 0; size < file.size; size += size < 2048 ? 1 : 97) {
        AUTO_STATUS s = decode(&file, size);
        if (!s) FAIL_TEST("the first %zu of %zu bytes pass", size, file.size);
    }
    EXPECT_FAILS(decode(&file, 1023), INVALID, "'x.neff' is no NEFF: it has 1023 bytes, the header alone 1024");
    EXPECT_FAILS(decode(&file, file.size - 512), CORRUPT, "'x.neff' is truncated");
}

TEST(hostile, every_changed_byte_is_noticed)
{
    AUTO_VALUE(glia_strbuf) file = {0};
    make(&file);
    glia_rng rng = glia_rng_of(7);
    for (size_t at = 0; at < file.size; at++) {
        const char before = file.data[at];
        file.data[at] ^= (char)(1 + glia_rng_below(&rng, 255));
        AUTO_STATUS s = decode(&file, file.size);
        if (!s) FAIL_TEST("a change at byte %zu of %zu passes", at, file.size);
        file.data[at] = before;
    }
}

TEST(hostile, a_vendor_neff_is_refused_politely)
{
    uint8_t bytes[2048] = {0};
    bytes[0] = 2;
    bytes[9] = 4; // header size 1024
    bytes[17] = 4;
    bytes[24] = 1;
    bytes[32] = 1;
    memcpy(bytes + 40, "1.0.41235.0+df4a714bb", 21);
    isa_program *p = NULL;
    EXPECT_FAILS(neff_decode((glia_span){bytes, sizeof bytes}, "vendor.neff", &p, NULL), UNSUPPORTED,
                 "'vendor.neff' is a NEFF for a real NeuronCore (build '1.0.41235.0+df4a714bb', NEFF version 1.1)");
    EXPECT(p == NULL);
}

TEST(hostile, another_format_version_is_named)
{
    AUTO_VALUE(glia_strbuf) file = {0};
    make(&file);
    file.data[564] = 9;
    EXPECT_FAILS(decode(&file, file.size), UNSUPPORTED, "glia's NEFF format 9, this build reads 1");
}

TEST(hostile, what_is_no_neff_at_all_says_so)
{
    uint8_t bytes[4096];
    memset(bytes, 'x', sizeof bytes);
    isa_program *p = NULL;
    EXPECT_FAILS(neff_decode((glia_span){bytes, sizeof bytes}, "notes.txt", &p, NULL), INVALID,
                 "'notes.txt' is no NEFF");
}

// Sections with right checksums and wrong contents: what a fuzzer cannot easily reach through them.
static void reseal(glia_strbuf *out, glia_strbuf *program, glia_strbuf *core)
{
    neff_writer w;
    glia_strbuf a = {0}, b = {0};
    neff_writer_init(&w, out);
    EXPECT_OK(neff_compress(glia_strbuf_span(program), &a));
    EXPECT_OK(neff_compress(glia_strbuf_span(core), &b));
    neff_writer_add(&w, "glia/program.bin", NEFF_SECTION_PROGRAM, 0, glia_strbuf_span(&a), program->size, 512);
    neff_writer_add(&w, "sg00/glia.bin", NEFF_SECTION_CORE, 0, glia_strbuf_span(&b), core->size, 512);
    const neff_head head = {"x", "glia", 1};
    EXPECT_OK(neff_writer_close(&w, &head));
    neff_writer_fini(&w);
    glia_strbuf_fini(&a);
    glia_strbuf_fini(&b);
}

static void section(const neff_reader *r, neff_section_kind kind, glia_strbuf *raw)
{
    const neff_section *s = neff_reader_find(r, kind, 0);
    EXPECT_OK(neff_decompress(neff_section_bytes(r, s), s->raw_size, "x", raw));
}

TEST(hostile, resealed_sections_never_crash_whatever_they_hold)
{
    generate_options o = generate_options_of(4, &hw_trainium2);
    o.constants = false;
    AUTO(isa_program) p = generate_program(&o);
    AUTO_VALUE(glia_strbuf) file = {0};
    EXPECT_OK(neff_encode(p, &meta, &file));
    neff_reader r;
    EXPECT_OK(neff_reader_init(&r, glia_strbuf_span(&file), "x"));
    AUTO_VALUE(glia_strbuf) program = {0};
    AUTO_VALUE(glia_strbuf) core = {0};
    section(&r, NEFF_SECTION_PROGRAM, &program);
    section(&r, NEFF_SECTION_CORE, &core);
    neff_reader_fini(&r);
    glia_rng rng = glia_rng_of(11);
    int passed = 0;
    for (int round = 0; round < 6000; round++) {
        glia_strbuf *victim = round % 4 ? &core : &program;
        const uint32_t at = glia_rng_below(&rng, (uint32_t)victim->size);
        const char before = victim->data[at];
        victim->data[at] =
            (char)(round % 3 ? (uint32_t)before ^ 1u << glia_rng_below(&rng, 8) : glia_rng_below(&rng, 256));
        AUTO_VALUE(glia_strbuf) forged = {0};
        reseal(&forged, &program, &core);
        AUTO(isa_program) q = NULL;
        AUTO_STATUS s = neff_decode(glia_strbuf_span(&forged), "x", &q, NULL);
        if (!s) {
            AUTO_STATUS verdict = isa_verify(q, &hw_trainium2);
            passed += verdict == NULL;
        }
        victim->data[at] = before;
    }
    EXPECT(passed > 0); // a changed immediate is still a program
}
