// SPDX-License-Identifier: Apache-2.0
// Bytes as HLO text: no crash, no read outside, and what parses verifies and prints to a fixed point.
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(glia_status s)
{
    if (s) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(ir_module) m = NULL;
    AUTO(ir_module) again = NULL;
    AUTO_VALUE(glia_strbuf) first = {0};
    AUTO_VALUE(glia_strbuf) second = {0};
    AUTO_STATUS bad = ir_parse((glia_span){data, size}, "fuzz.hlo", &m);
    if (bad) return 0;
    require(ir_verify(m));
    ir_print(&first, m);
    require(ir_parse(glia_strbuf_span(&first), "printed.hlo", &again));
    ir_print(&second, again);
    if (first.size != second.size || (first.size && memcmp(first.data, second.data, first.size) != 0)) abort();
    return 0;
}
