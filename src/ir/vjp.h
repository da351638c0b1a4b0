// SPDX-License-Identifier: Apache-2.0
// Reverse-mode rules: the `vjp` column of ops.def as functions.
//
// A rule takes an instruction and the cotangent of its result (the shape of the result; of a tuple, a tuple) and
// appends, through `b`, what computes the cotangents of its operands: out[i] has the shape of operand i, or stays NULL
// where operand i is not differentiable (integers, predicates, shapes). `out` holds operand_count NULLs on entry.
// Walking a graph and adding up cotangents is the caller's business.
#ifndef GLIA_IR_VJP_H
#define GLIA_IR_VJP_H

#include "ir/ir.h"

typedef glia_status ir_vjp_fn(ir_builder *b, const ir_inst *inst, ir_inst *cotangent, ir_inst **out);

// Applies the rule of inst->op. Errors: UNSUPPORTED, naming op and place, where the table has no rule.
GLIA_MUST_USE glia_status ir_vjp(ir_builder *b, const ir_inst *inst, ir_inst *cotangent, ir_inst **out);

// The rule of rows marked `none`.
ir_vjp_fn ir_vjp_none;

#endif
