// SPDX-License-Identifier: Apache-2.0
// Bytes as a NEFF. Checksums would keep a fuzzer outside, so an input is read twice: as a file, and as the contents of
// a program section and a core section (the first two bytes say where it is cut) that are sealed rightly. What decodes
// verifies without a crash, has costs, prints, and encodes again.
#include <stdlib.h>
#include <string.h>

#include "isa/cost.h"
#include "isa/text.h"
#include "isa/verify.h"
#include "neff/codec.h"
#include "neff/container.h"
#include "neff/neff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(glia_status s)
{
    if (s) abort();
}

static void use(const isa_program *p, const neff_meta *meta)
{
    const hw_chip *const chips[] = {&hw_trainium1, &hw_trainium2, &hw_trainium3};
    for (size_t k = 0; k < COUNT_OF(chips); k++) {
        AUTO_STATUS verdict = isa_verify(p, chips[k]);
        (void)verdict;
        for (uint32_t c = 0; c < p->core_count; c++)
            for (uint32_t f = 0; f < p->cores[c].functions.count; f++) {
                const isa_function *function = p->cores[c].functions.items[f];
                for (uint32_t n = 0; n < function->insns.count; n++)
                    (void)isa_cost_of(function, &function->insns.items[n], chips[k]);
            }
    }
    AUTO_VALUE(glia_strbuf) text = {0};
    AUTO_VALUE(glia_strbuf) first = {0};
    AUTO_VALUE(glia_strbuf) second = {0};
    AUTO(isa_program) again = NULL;
    neff_meta found;
    neff_print(&text, p, meta);
    require(neff_parse(glia_strbuf_span(&text), "printed", &again, &found));
    require(neff_encode(p, meta, &first));
    require(neff_encode(again, &found, &second));
    if (first.size != second.size || memcmp(first.data, second.data, first.size) != 0) abort();
}

static void try_file(glia_span bytes)
{
    AUTO(isa_program) p = NULL;
    neff_meta meta;
    AUTO_STATUS s = neff_decode(bytes, "fuzz.neff", &p, &meta);
    if (!s) use(p, &meta);
}

static void try_sections(const uint8_t *data, size_t size)
{
    if (size < 2) return;
    const size_t cut = (data[0] | (size_t)data[1] << 8) % (size - 1);
    const glia_span parts[] = {{data + 2, cut < size - 2 ? cut : size - 2},
                               {data + 2 + cut, cut < size - 2 ? size - 2 - cut : 0}};
    AUTO_VALUE(glia_strbuf) file = {0};
    neff_writer w;
    neff_writer_init(&w, &file);
    for (uint32_t k = 0; k < 2; k++) {
        AUTO_VALUE(glia_strbuf) frame = {0};
        require(neff_compress(parts[k], &frame));
        neff_writer_add(&w, "x", k ? NEFF_SECTION_CORE : NEFF_SECTION_PROGRAM, 0, glia_strbuf_span(&frame),
                        parts[k].size, 512);
    }
    const neff_head head = {"fuzz", "glia", 1};
    require(neff_writer_close(&w, &head));
    neff_writer_fini(&w);
    try_file(glia_strbuf_span(&file));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_file((glia_span){data, size});
    try_sections(data, size);
    return 0;
}
