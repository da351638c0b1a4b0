// SPDX-License-Identifier: Apache-2.0
// The op table's columns that only this layer reads.
#ifndef GLIA_IR_OPS_H
#define GLIA_IR_OPS_H

#include "ir/infer.h"
#include "ir/ir.h"

typedef struct ir_op_info {
    const char *name;
    int min_operands, max_operands; // max -1: any
    ir_op_class class;
    ir_infer_fn *infer;
} ir_op_info;

const ir_op_info *ir_op_get(ir_op op);
// The known opcode that takes the fewest edits to reach from `name`; for "did you mean".
const char *ir_op_nearest(const char *name, size_t size);

#endif
