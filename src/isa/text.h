// SPDX-License-Identifier: Apache-2.0
// The assembly text of tile programs. parse(print(p)) encodes to the same bytes.
#ifndef GLIA_ISA_TEXT_H
#define GLIA_ISA_TEXT_H

#include "isa/isa.h"

void isa_print(glia_strbuf *out, const isa_program *p);
void isa_print_insn(glia_strbuf *out, const isa_program *p, const isa_function *f, uint32_t insn);  // one line, no newline
// Reports up to twenty errors with line:column. CONST data is not in the text: `resolve` provides it by tensor name
// (NULL: constants are refused unless they are small enough to be inline, 64 bytes).
GLIA_MUST_USE glia_status isa_parse(glia_span text, const char *path, isa_program **out);

#endif
