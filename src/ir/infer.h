// SPDX-License-Identifier: Apache-2.0
// Shape inference: one function per row of ops.def. The same functions judge what the builder makes, what the parser
// reads and what the verifier sees, so that a rule exists once.
//
// Messages name the op in single quotes and both values; they carry no place, since the caller knows it and prefixes
// it.
#ifndef GLIA_IR_INFER_H
#define GLIA_IR_INFER_H

#include "ir/ir.h"

typedef struct ir_infer {
    glia_arena *arena; // result shapes and message texts
    ir_op op;
    const ir_shape *given; // the shape that the caller states; NULL: inference alone decides
    int operand_count;
    ir_inst *const *operands;
    const ir_attrs *attrs;
} ir_infer;

typedef glia_status ir_infer_fn(const ir_infer *in, ir_shape *out);

// Checks operand counts, attributes, regions and shapes, and gives the result shape; a given shape must agree with it.
GLIA_MUST_USE glia_status ir_infer_shape(const ir_infer *in, ir_shape *out);

// ---- the rows' functions ----
ir_infer_fn ir_infer_parameter, ir_infer_constant, ir_infer_iota; // infer_leaf.c
ir_infer_fn ir_infer_unary, ir_infer_is_finite, ir_infer_convert, ir_infer_bitcast_convert, ir_infer_binary,
    ir_infer_compare, ir_infer_select, ir_infer_clamp; // infer_elementwise.c
ir_infer_fn ir_infer_broadcast, ir_infer_reshape, ir_infer_transpose, ir_infer_slice, ir_infer_pad,
    ir_infer_concatenate, ir_infer_reverse;               // infer_shape.c
ir_infer_fn ir_infer_dot, ir_infer_reduce, ir_infer_sort; // infer_contract.c
ir_infer_fn ir_infer_gather, ir_infer_scatter, ir_infer_dynamic_slice, ir_infer_dynamic_update_slice; // infer_index.c
ir_infer_fn ir_infer_while, ir_infer_conditional, ir_infer_call, ir_infer_tuple, ir_infer_get_tuple_element,
    ir_infer_custom_call; // infer_control.c

// ---- helpers of those files (infer_common.c) ----
#define INFER_NAME(in) ir_op_name((in)->op)
static inline const ir_shape *infer_operand(const ir_infer *in, int i)
{
    return &in->operands[i]->shape;
}
GLIA_MUST_USE glia_status ir_infer_need_array(const ir_infer *in, int operand);
GLIA_MUST_USE glia_status ir_infer_need_arrays(const ir_infer *in); // all operands
GLIA_MUST_USE glia_status ir_infer_need_given(const ir_infer *in);  // an array shape is given
// Strictly inside [0, bound), no value twice; `what` names the attribute.
GLIA_MUST_USE glia_status ir_infer_unique_dims(const ir_infer *in, const char *what, const ir_dims *dims,
                                               int64_t bound);
GLIA_MUST_USE glia_status ir_infer_sorted_dims(const ir_infer *in, const char *what, const ir_dims *dims);
bool ir_dims_has(const ir_dims *dims, int64_t value);
const char *ir_infer_text(const ir_infer *in, const ir_shape *s);
// A region of `param_count` parameters of these shapes and this root.
GLIA_MUST_USE glia_status ir_infer_region(const ir_infer *in, const char *what, const ir_computation *region,
                                          int param_count, const ir_shape *params, const ir_shape *root);
// One shape as itself, several as a tuple.
ir_shape ir_infer_pack(const ir_infer *in, int count, const ir_shape *shapes);

#endif
