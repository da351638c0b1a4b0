// SPDX-License-Identifier: Apache-2.0
// The assembly text of tile programs. parse(print(p)) encodes to the same bytes.
#ifndef GLIA_ISA_TEXT_H
#define GLIA_ISA_TEXT_H

#include "isa/isa.h"

// The grammar is in text_print.c. Needs a program whose structure holds (isa_check_structure).
void isa_print(glia_strbuf *out, const isa_program *p);
// One line, without newline and origin.
void isa_print_insn(glia_strbuf *out, const isa_program *p, const isa_function *f, uint32_t insn);
// INVALID: up to twenty errors, each with path:line:column; then what isa_check_structure says. Constants are in the
// text, as base64. Lines that begin with `meta` are the container's (neff_parse) and skipped here.
GLIA_MUST_USE glia_status isa_parse(glia_span text, const char *path, isa_program **out);

#endif
