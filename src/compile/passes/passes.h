// SPDX-License-Identifier: Apache-2.0
// The IR passes and what they share.
#ifndef GLIA_COMPILE_PASSES_H
#define GLIA_COMPILE_PASSES_H

#include "compile/compile.h"

// Puts the instructions that the root needs into a topological order (parameters first, otherwise stable) and numbers
// them; drops the others. Passes append with the builder and call this once at their end.
void pass_order(ir_computation *c);
GLIA_MUST_USE glia_status pass_simplify(ir_module *m, const compile_options *o);
GLIA_MUST_USE glia_status pass_idioms(ir_module *m, const compile_options *o);
GLIA_MUST_USE glia_status pass_auto_cast(ir_module *m, const compile_options *o);

#endif
