// SPDX-License-Identifier: Apache-2.0
// Tile programs as files: a NEFF, or the assembly text of one; and what people want to know about one at a glance.
#ifndef GLIA_TOOLS_PROGRAMS_H
#define GLIA_TOOLS_PROGRAMS_H

#include "base/json.h"
#include "hw/hw.h"
#include "neff/neff.h"

typedef struct tool_program {
    glia_map map;
    isa_program *program;       // constants may point into `map`
    neff_meta meta;
    bool text;                  // it was assembly text
} tool_program;
GLIA_MUST_USE glia_status tool_program_open(const char *path, tool_program *out);
void tool_program_fini(tool_program *p);
bool tool_is_neff(glia_span bytes);     // by its header, ours or a vendor's
bool tool_is_program(glia_span bytes);  // a NEFF, or assembly text

// Static counts over cores and functions.
typedef struct tool_counts {
    uint64_t ops[ISA_OP_COUNT];
    uint64_t classes[ISA_SOFT + 1];     // by isa_hard
    uint64_t total;
} tool_counts;
void tool_count_function(const isa_function *f, tool_counts *into);
tool_counts tool_count(const isa_program *p);
tool_counts tool_count_core(const isa_core *c);
const char *tool_class_name(isa_hard hard);     // "hard", "control", "cc", "soft"
// "instructions": { mnemonic: count }, "classes": { class: count } of the object that is open.
void tool_json_counts(glia_json_writer *w, const tool_counts *c);

// "f32[4,8]"
void tool_put_shape(glia_strbuf *out, const isa_tensor *t);
void tool_json_shape(glia_json_writer *w, const isa_tensor *t);     // "shape": [4, 8], "dtype": "f32"
// Bytes of the tensor as whoever reads it sees it: row-major.
uint64_t tool_plain_bytes(const isa_tensor *t);

#endif
