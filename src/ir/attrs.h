// SPDX-License-Identifier: Apache-2.0
// attrs.def as a table: the parser finds rows by (op, key), the printer walks the rows of an op.
#ifndef GLIA_IR_ATTRS_H
#define GLIA_IR_ATTRS_H

#include "ir/ir.h"

typedef enum ir_attr_kind {
    IR_ATTR_INT,          // 3; the field is int64_t
    IR_ATTR_INT32,        // 3; the field is int
    IR_ATTR_BOOL,         // true
    IR_ATTR_STRING,       // "text"
    IR_ATTR_DIM,          // {3}; the field is int64_t
    IR_ATTR_DIMS,         // {0,2}
    IR_ATTR_SLICE,        // {[0:8], [0:8:2]}: starts, limits, strides
    IR_ATTR_PADDING,      // 0_1x2_2_1: low_high[_interior] per dim: starts, limits, strides
    IR_ATTR_DIRECTION,    // LT
    IR_ATTR_COMPARE_TYPE, // TOTALORDER, and spellings of the default
    IR_ATTR_PRECISION,    // {highest,default}
    IR_ATTR_COMPUTATION,  // %name
    IR_ATTR_TRUE_BRANCH,  // %name: branches[0]
    IR_ATTR_FALSE_BRANCH, // %name: branches[1]
    IR_ATTR_BRANCHES,     // {%a, %b}
    IR_ATTR_FUSION_KIND,  // kLoop; means nothing here: how to fuse is the compiler's decision
    IR_ATTR_ALIASING,     // {{0}: (1, {})}
    IR_ATTR_KIND_COUNT
} ir_attr_kind;

typedef struct ir_attr_row {
    ir_op op;
    const char *key;
    ir_attr_kind kind;
    size_t field; // offset in ir_attrs
    bool required;
} ir_attr_row;

extern const ir_attr_row ir_attr_rows[];
extern const int ir_attr_row_count;
const ir_attr_row *ir_attr_find(ir_op op, const char *key, size_t size); // NULL if the op has no such attribute
const char *ir_direction_name(ir_compare_direction d);
static inline void *ir_attr_field(ir_attrs *a, const ir_attr_row *row)
{
    return (char *)a + row->field;
}
static inline const void *ir_attr_field_const(const ir_attrs *a, const ir_attr_row *row)
{
    return (const char *)a + row->field;
}

#endif
