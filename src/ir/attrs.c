// SPDX-License-Identifier: Apache-2.0
// The attribute table, expanded from attrs.def.
#include "ir/attrs.h"

#include <string.h>

enum { OPTIONAL = 0, REQUIRED = 1 };

#define ATTR(op_symbol, text, kind_symbol, field_name, presence)                                                       \
    {.op = IR_##op_symbol,                                                                                             \
     .key = text,                                                                                                      \
     .kind = IR_ATTR_##kind_symbol,                                                                                    \
     .field = offsetof(ir_attrs, field_name),                                                                          \
     .required = presence},
const ir_attr_row ir_attr_rows[] = {
#include "ir/attrs.def"
};
const int ir_attr_row_count = COUNT_OF(ir_attr_rows);

const ir_attr_row *ir_attr_find(ir_op op, const char *key, size_t size)
{
    for (int i = 0; i < ir_attr_row_count; i++) {
        const ir_attr_row *row = &ir_attr_rows[i];
        if (row->op == op && strncmp(row->key, key, size) == 0 && row->key[size] == '\0') return row;
    }
    return NULL;
}

const char *ir_direction_name(ir_compare_direction d)
{
    switch (d) {
    case IR_EQ:
        return "EQ";
    case IR_NE:
        return "NE";
    case IR_GE:
        return "GE";
    case IR_GT:
        return "GT";
    case IR_LE:
        return "LE";
    case IR_LT:
        return "LT";
    }
    return "?";
}
