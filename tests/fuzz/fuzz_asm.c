// SPDX-License-Identifier: Apache-2.0
// Bytes as assembly text: no crash, and what parses verifies without a crash and prints to a fixed point.
#include <stdlib.h>
#include <string.h>

#include "isa/text.h"
#include "isa/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(isa_program) p = NULL;
    AUTO(isa_program) again = NULL;
    AUTO_VALUE(glia_strbuf) first = {0};
    AUTO_VALUE(glia_strbuf) second = {0};
    AUTO_STATUS bad = isa_parse((glia_span){data, size}, "fuzz.s", &p);
    if (bad) return 0;
    AUTO_STATUS verdict = isa_verify(p, &hw_trainium2);
    (void)verdict;
    isa_print(&first, p);
    AUTO_STATUS worse = isa_parse(glia_strbuf_span(&first), "printed.s", &again);
    if (worse) abort();
    isa_print(&second, again);
    if (first.size != second.size || memcmp(first.data, second.data, first.size) != 0) abort();
    return 0;
}
