// SPDX-License-Identifier: Apache-2.0
// The compiler: an IR module becomes a tile program, by the passes of passes.def.
//
// Deterministic: module, options and compiler version decide every byte. Thread-safe: each compile owns its state.
#ifndef GLIA_COMPILE_COMPILE_H
#define GLIA_COMPILE_COMPILE_H

#include "hw/hw.h"
#include "ir/ir.h"
#include "isa/isa.h"

typedef enum compile_cast { COMPILE_CAST_NONE, COMPILE_CAST_MATMULT, COMPILE_CAST_ALL } compile_cast;

typedef struct compile_options {
    const hw_chip *chip;        // the target; borrowed until the call returns
    int lnc;                    // physical cores of a logical core: 1 or 2; 0 = the chip's default
    compile_cast auto_cast;     // which operands lose precision
    num_dtype auto_cast_type;   // to which type: BF16, F16, TF32
    const char *print_after;    // NULL, a pass name, or "all": its result goes to `print_to`
    void (*print_to)(void *context, const char *pass, const char *text);
    void *print_context;
} compile_options;

compile_options compile_options_default(const hw_chip *chip);
// The canonical flag string: what names a compile in the cache and in the NEFF's metadata.
void compile_flags(const compile_options *o, glia_strbuf *out);
// `m` is rewritten by the passes and must not be used afterwards. UNSUPPORTED names op, attribute and place.
GLIA_MUST_USE glia_status compile_module(ir_module *m, const compile_options *o, isa_program **out);

#endif
