// SPDX-License-Identifier: Apache-2.0
// The JSON files of the archive: for people, and for tools that know the public outline. Readers of ours ignore them.
#ifndef GLIA_NEFF_OUTLINE_H
#define GLIA_NEFF_OUTLINE_H

#include "neff/neff.h"

void neff_outline_info(const isa_program *p, const neff_meta *meta, uint32_t core, glia_strbuf *out);
void neff_outline_graph(const isa_program *p, const neff_meta *meta, uint32_t core, glia_strbuf *out);
void neff_outline_definition(const isa_program *p, const neff_meta *meta, uint32_t core, glia_strbuf *out);

#endif
