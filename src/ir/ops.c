// SPDX-License-Identifier: Apache-2.0
// The op table: ops.def expanded to names, operand counts, classes and inference functions.
//
// A row whose ir_infer_<name> is missing is a link error that names it. Evaluation (eval/) and differentiation (vjp.c)
// expand the same rows for themselves.
#include "ir/ops.h"

#include <string.h>

#define OP(symbol, hlo, min, max, cls, infer_name, eval, vjp)                                                          \
    [IR_##symbol] = {.name = hlo,                                                                                      \
                     .min_operands = min,                                                                              \
                     .max_operands = max,                                                                              \
                     .class = IR_CLASS_##cls,                                                                          \
                     .infer = ir_infer_##infer_name},
static const ir_op_info op_table[IR_OP_COUNT] = {
#include "ir/ops.def"
};

const ir_op_info *ir_op_get(ir_op op)
{
    BUG_ON((unsigned)op >= IR_OP_COUNT);
    return &op_table[op];
}

const char *ir_op_name(ir_op op)
{
    return ir_op_get(op)->name;
}

ir_op_class ir_op_class_of(ir_op op)
{
    return ir_op_get(op)->class;
}

bool ir_op_find(const char *name, size_t size, ir_op *out)
{
    for (int op = 0; op < IR_OP_COUNT; op++) {
        if (strncmp(op_table[op].name, name, size) != 0 || op_table[op].name[size] != '\0') continue;
        *out = (ir_op)op;
        return true;
    }
    return false;
}

// Edit distance of two short names, one row at a time; names past the bound are cut, which only blunts the advice.
static int edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
    enum { BOUND = 40 };
    int row[BOUND + 1];
    if (na > BOUND) na = BOUND;
    if (nb > BOUND) nb = BOUND;
    for (size_t j = 0; j <= nb; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            int above = row[j];
            int best = diagonal + (a[i - 1] != b[j - 1]);
            if (above + 1 < best) best = above + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
            diagonal = above;
        }
    }
    return row[nb];
}

const char *ir_op_nearest(const char *name, size_t size)
{
    const char *nearest = op_table[0].name;
    int least = 1 << 20;
    for (int op = 0; op < IR_OP_COUNT; op++) {
        int distance = edit_distance(name, size, op_table[op].name, strlen(op_table[op].name));
        if (distance >= least) continue;
        least = distance;
        nearest = op_table[op].name;
    }
    return nearest;
}
