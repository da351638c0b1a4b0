// SPDX-License-Identifier: Apache-2.0
// Writes seed inputs for fuzz_neff and fuzz_asm into <corpus>/neff and <corpus>/asm: small generated programs as files,
// as bare sections (see fuzz_neff.c), and as text.
#include "isa/generate.h"
#include "neff/codec.h"
#include "neff/container.h"
#include "neff/neff.h"

#include <stdio.h>

static void write_file(const char *folder, const char *kind, uint64_t seed, glia_span bytes)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s_%llu", folder, kind, (unsigned long long)seed);
    AUTO_STATUS s = glia_file_write_atomic(path, bytes);
    if (s) fprintf(stderr, "%s\n", glia_status_message(s));
}

static glia_status write_seed(const char *corpus, uint64_t seed)
{
    static const hw_chip *const chips[] = {&hw_trainium1, &hw_trainium2, &hw_trainium3};
    generate_options o = generate_options_of(seed, chips[seed % 3]);
    o.insns = 6 + (uint32_t)seed * 3;
    o.constants = seed % 2;
    AUTO(isa_program) p = generate_program(&o);
    AUTO_VALUE(glia_strbuf) file = {0};
    AUTO_VALUE(glia_strbuf) text = {0};
    AUTO_VALUE(glia_strbuf) program = {0};
    AUTO_VALUE(glia_strbuf) core = {0};
    AUTO_VALUE(glia_strbuf) bare = {0};
    const neff_meta meta = {"glia", "--target x", "seed"};
    char folder[2048];
    TRY(neff_encode(p, &meta, &file));
    neff_print(&text, p, &meta);
    neff_reader r;
    TRY(neff_reader_init(&r, glia_strbuf_span(&file), "seed"));
    const neff_section *a = neff_reader_find(&r, NEFF_SECTION_PROGRAM, 0),
                       *b = neff_reader_find(&r, NEFF_SECTION_CORE, 0);
    TRY(neff_decompress(neff_section_bytes(&r, a), a->raw_size, "seed", &program));
    TRY(neff_decompress(neff_section_bytes(&r, b), b->raw_size, "seed", &core));
    neff_reader_fini(&r);
    glia_put_u16(&bare, (uint16_t)program.size);
    glia_put_bytes(&bare, program.data, program.size);
    glia_put_bytes(&bare, core.data, core.size);
    snprintf(folder, sizeof folder, "%s/neff", corpus);
    if (seed < 3) write_file(folder, "file", seed, glia_strbuf_span(&file));
    write_file(folder, "sections", seed, glia_strbuf_span(&bare));
    snprintf(folder, sizeof folder, "%s/asm", corpus);
    write_file(folder, "text", seed, glia_strbuf_span(&text));
    return GLIA_OK;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
        return 2;
    }
    for (uint64_t seed = 0; seed < 8; seed++) {
        AUTO_STATUS s = write_seed(argv[1], seed);
        if (s) {
            fprintf(stderr, "%s\n", glia_status_message(s));
            return 1;
        }
    }
    return 0;
}
