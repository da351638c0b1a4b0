// SPDX-License-Identifier: Apache-2.0
// The reference page of the instruction set, printed from the rows of isa.def, formats.def, alu.def, act.def, rules.def.
#ifndef GLIA_ISA_REFERENCE_H
#define GLIA_ISA_REFERENCE_H

#include "base/strbuf.h"

void isa_reference_page(glia_strbuf *out);      // docs/reference/instructions.md

#endif
