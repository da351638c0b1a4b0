// SPDX-License-Identifier: Apache-2.0
// What the files of this layer share about modules: interned strings, unique names, limits on input.
//
// Not for other layers: they see ir.h only.
#ifndef GLIA_IR_MODULE_H
#define GLIA_IR_MODULE_H

#include "ir/ir.h"

// Limits that judge input (not the IR's own: they bound what hostile text can make us do).
enum {
    IR_RANK_LIMIT = 256,       // dims of one array
    IR_TUPLE_DEPTH_LIMIT = 32, // tuples inside tuples
    IR_CALL_DEPTH_LIMIT = 256, // computations inside computations: readers may recurse this deep
    IR_PROBLEM_LIMIT = 20,     // problems that one report lists
};

// The module's own copy of `s`, the same pointer for equal strings. NULL gives "".
const char *ir_module_intern(ir_module *m, const char *s);
// `wanted` with foreign characters replaced, or "<wanted>.<n>" if the module has an instruction of that name already.
// The result counts as taken.
const char *ir_module_inst_name(ir_module *m, const char *wanted);
const char *ir_module_fresh_name(ir_module *m, ir_op op); // "<op>.<n>"

// "file:line:column" of an instruction, or "module 'm', computation 'c', instruction 'i'" where no file is known.
void ir_loc_print(glia_strbuf *out, const ir_loc *loc, const ir_computation *c, const char *inst_name);

// Is alias `i` possible: indices in range, equal shapes, no parameter or output used twice?
GLIA_MUST_USE glia_status ir_alias_check(const ir_module *m, uint32_t i);

// ---- shapes in any arena (shape.c) ----
ir_shape ir_shape_array_in(glia_arena *a, num_dtype dtype, int rank, const int64_t *dims);
ir_shape ir_shape_copy_in(glia_arena *a, const ir_shape *s); // deep
size_t ir_dtype_bytes(num_dtype t);                          // bytes of one element of a literal
const char *ir_shape_text(glia_arena *a, const ir_shape *s); // for messages
// INVALID for a negative dim or too many dims, EXHAUSTED when the bytes pass 2^62.
GLIA_MUST_USE glia_status ir_shape_check(const ir_shape *s);
bool ir_shape_dims_equal(const ir_shape *a, const ir_shape *b); // two arrays, dtype ignored
bool ir_layout_is_default(int rank, const int *minor_to_major); // NULL is

// Appends an instruction whose shape is known already and whose attrs and operands live in the module's arena.
// The only place where instructions are born; builder.c and the parser's error recovery call it.
ir_inst *ir_inst_append(ir_computation *c, ir_op op, const char *name, const ir_shape *shape, int operand_count,
                        ir_inst **operands, const ir_attrs *attrs, const ir_loc *loc);
// ir_make without the copy of attrs: their arrays are in the module's arena already.
ir_inst *ir_make_taking(ir_builder *b, ir_op op, const ir_shape *shape, int operand_count, ir_inst *const *operands,
                        const ir_attrs *attrs);

#endif
