// SPDX-License-Identifier: Apache-2.0
// Waist 1: the HLO-like IR that every front end builds and the compiler reads.
//
// A module owns computations; a computation owns instructions in a topological order (operands before users); one is
// its root. Everything lives in the module's arena: nodes are never freed singly, pointers stay valid until the module
// is destroyed. Shapes are static. Semantics are StableHLO's, in the normal form of HLO: `broadcast` is broadcast_in_dim, `dot` is dot_general, a multi-result op has
// a tuple shape and is read with get-tuple-element.
//
// Not here: how anything is compiled. Not thread-safe while being built; read-only afterwards, then any thread.
#ifndef GLIA_IR_IR_H
#define GLIA_IR_IR_H

#include "base/arena.h"
#include "base/span.h"
#include "base/strbuf.h"
#include "num/dtype.h"

typedef enum ir_op {
#define OP(symbol, name, min, max, class, infer, eval, vjp) IR_##symbol,
#include "ir/ops.def"
    IR_OP_COUNT
} ir_op;

typedef enum ir_op_class { IR_CLASS_LEAF, IR_CLASS_UNARY, IR_CLASS_BINARY, IR_CLASS_TERNARY, IR_CLASS_SHAPE,
                           IR_CLASS_CONTRACT, IR_CLASS_REDUCE, IR_CLASS_INDEX, IR_CLASS_CONTROL, IR_CLASS_TUPLE,
                           IR_CLASS_OTHER } ir_op_class;
const char *ir_op_name(ir_op op);
ir_op_class ir_op_class_of(ir_op op);
bool ir_op_find(const char *name, size_t size, ir_op *out);

// A shape is an array (dtype, dims) or a tuple of shapes. `dims` and `elements` live in the module's arena.
typedef struct ir_shape {
    num_dtype dtype;                // NUM_DTYPE_NONE for a tuple
    uint8_t is_tuple;
    int rank;                       // of an array
    const int64_t *dims;            // [rank], outermost first
    const int *minor_to_major;      // [rank] or NULL: the layout as the text gave it (entry layouts only; default is row-major)
    int tuple_size;
    const struct ir_shape *elements;    // [tuple_size]
} ir_shape;

typedef struct ir_literal {         // dense row-major data of an array shape
    const void *data;               // element 0 first; sub-byte types one element a byte, in its low bits
    size_t size_bytes;
} ir_literal;

typedef struct ir_loc {             // where an op comes from; every message and every instruction carries it
    const char *file;               // the parsed text, or the framework's source file; "" if unknown
    int line, column;
    const char *op_name;            // framework name, e.g. "jit(f)/dot_general"; "" if unknown
} ir_loc;

typedef enum ir_compare_direction { IR_EQ, IR_NE, IR_GE, IR_GT, IR_LE, IR_LT } ir_compare_direction;
typedef enum ir_compare_type { IR_COMPARE_DEFAULT, IR_COMPARE_TOTALORDER } ir_compare_type;

typedef struct ir_dims { int count; const int64_t *items; } ir_dims;

typedef struct ir_inst ir_inst;
typedef struct ir_computation ir_computation;
typedef struct ir_module ir_module;

// Attributes, grouped by the ops that read them. Unused groups are zero.
typedef struct ir_attrs {
    int64_t index;                      // parameter number, tuple index, iota dimension, concatenate dimension, sort dim
    ir_dims dimensions;                 // broadcast (operand dim -> result dim), transpose, reduce, reverse
    ir_dims starts, limits, strides;    // slice;   pad: starts = low, limits = high, strides = interior
    ir_dims sizes;                      // dynamic-slice sizes; gather slice_sizes
    ir_dims lhs_batch, rhs_batch, lhs_contract, rhs_contract;               // dot
    ir_dims offset_dims, collapsed_dims, start_index_map;                   // gather; scatter: update_window_dims,
    ir_dims operand_batching_dims, indices_batching_dims;                   //   inserted_window_dims, scatter_dims_to_operand_dims
    int64_t index_vector_dim;
    bool indices_are_sorted, unique_indices, is_stable;
    ir_compare_direction direction;
    ir_compare_type compare_type;
    int exponent_bits, mantissa_bits;   // reduce-precision
    ir_literal literal;                 // constant
    ir_computation *computations[2];    // reduce/sort/scatter/call/fusion: [0]; while: [0] condition, [1] body
    ir_computation **branches;          // conditional
    int branch_count;
    const char *custom_call_target;     // custom-call
    const char *backend_config;
    ir_dims aliasing;                   // custom-call output aliases, flat pairs
    const char *operand_precision;      // dot: kept for printing; "" = default
} ir_attrs;

struct ir_inst {
    ir_op op;
    int id;                     // index inside its computation's order; dense
    const char *name;           // unique in the module, without '%'
    ir_shape shape;
    int operand_count;
    ir_inst **operands;         // [operand_count]
    ir_attrs attrs;
    ir_loc loc;
    ir_computation *parent;
    void *pass;                 // scratch of the pass that is running; undefined between passes
};

struct ir_computation {
    const char *name;
    ir_module *module;
    VEC(ir_inst *) insts;       // topological
    VEC(ir_inst *) params;      // by parameter number
    ir_inst *root;
    int id;
};

typedef struct ir_alias { int output_index, parameter; bool must; } ir_alias;   // output element i reuses parameter p

struct ir_module {
    glia_arena *arena;          // owned
    const char *name;
    const char *source;         // path or description of where the text came from
    VEC(ir_computation *) computations;
    ir_computation *entry;
    VEC(ir_alias) aliases;
};

// ---- life ----
ir_module *ir_module_create(const char *name);
void ir_module_destroy(ir_module *m);       // NULL is fine
DEFINE_CLEANUP(ir_module, ir_module_destroy)
ir_computation *ir_computation_create(ir_module *m, const char *name);  // the first one becomes the entry

// ---- shapes ----
int64_t ir_shape_elements(const ir_shape *s);       // product of dims (1 for a scalar); arrays only
size_t ir_shape_bytes(const ir_shape *s);           // elements x element size (sub-byte: 1 byte each); tuples: the sum
bool ir_shape_equal(const ir_shape *a, const ir_shape *b);      // dtype and dims, layouts ignored
ir_shape ir_shape_array(ir_module *m, num_dtype dtype, int rank, const int64_t *dims);  // copies dims
ir_shape ir_shape_tuple(ir_module *m, int count, const ir_shape *elements);             // copies
void ir_shape_print(glia_strbuf *out, const ir_shape *s);       // f32[2,3]
// Element i of a tuple shape; the shape itself for an array and i == 0.
const ir_shape *ir_shape_element(const ir_shape *s, int i);
int ir_shape_leaves(const ir_shape *s);             // arrays in it, depth first

// ---- building (builder.c): each infers the result shape and returns its error, naming the op and `loc` ----
// The builder is the only way to make instructions; the parser uses it too. `b` carries the computation, the current
// location, and the first error: after an error every call returns a placeholder, and ir_builder_finish reports it.
typedef struct ir_builder {
    ir_computation *computation;
    ir_loc loc;                 // given to each new instruction
    glia_status error;          // first error; owned until ir_builder_finish
    const char *name;           // given to the next instruction and cleared (made unique, copied); NULL: "<op>.<n>"
} ir_builder;

ir_builder ir_builder_of(ir_computation *c);
GLIA_MUST_USE glia_status ir_builder_finish(ir_builder *b, ir_inst *root);   // sets the root, or returns the error

// The generic form: infers the shape from op, operands and attrs (copied). `shape` overrides inference where the op
// needs it (parameter, constant, iota, convert, reshape, broadcast, custom-call, bitcast-convert); NULL otherwise.
ir_inst *ir_make(ir_builder *b, ir_op op, const ir_shape *shape, int operand_count, ir_inst *const *operands,
                 const ir_attrs *attrs);
ir_inst *ir_parameter(ir_builder *b, int number, const char *name, num_dtype dtype, int rank, const int64_t *dims);
ir_inst *ir_constant(ir_builder *b, num_dtype dtype, int rank, const int64_t *dims, const void *data);   // copies data
ir_inst *ir_constant_f32(ir_builder *b, num_dtype dtype, double value);     // scalar of any float or integer dtype
ir_inst *ir_iota(ir_builder *b, num_dtype dtype, int rank, const int64_t *dims, int dimension);
ir_inst *ir_unary(ir_builder *b, ir_op op, ir_inst *x);
ir_inst *ir_binary(ir_builder *b, ir_op op, ir_inst *x, ir_inst *y);        // equal shapes
ir_inst *ir_convert(ir_builder *b, ir_inst *x, num_dtype dtype);            // x itself if it has the dtype already
ir_inst *ir_compare(ir_builder *b, ir_compare_direction d, ir_inst *x, ir_inst *y);
ir_inst *ir_select(ir_builder *b, ir_inst *pred, ir_inst *on_true, ir_inst *on_false);
// Broadcast in dim: dimensions[i] is the result dim of operand dim i.
ir_inst *ir_broadcast(ir_builder *b, ir_inst *x, int rank, const int64_t *dims, const int64_t *dimensions);
ir_inst *ir_broadcast_scalar(ir_builder *b, ir_inst *x, const ir_shape *like);      // scalar to the dims of `like`
ir_inst *ir_reshape(ir_builder *b, ir_inst *x, int rank, const int64_t *dims);
ir_inst *ir_transpose(ir_builder *b, ir_inst *x, const int64_t *permutation);
ir_inst *ir_slice(ir_builder *b, ir_inst *x, const int64_t *starts, const int64_t *limits, const int64_t *strides);  // strides NULL: 1
ir_inst *ir_concatenate(ir_builder *b, int count, ir_inst *const *xs, int dimension);
ir_inst *ir_dot(ir_builder *b, ir_inst *lhs, ir_inst *rhs, num_dtype result, int batch_count, const int64_t *lhs_batch,
                const int64_t *rhs_batch, int contract_count, const int64_t *lhs_contract, const int64_t *rhs_contract);
// Reduce with a binary op (ADD, MAXIMUM, MINIMUM, MULTIPLY) from `init`, a scalar; makes the region.
ir_inst *ir_reduce(ir_builder *b, ir_op op, ir_inst *x, ir_inst *init, int count, const int64_t *dimensions);
ir_inst *ir_dynamic_slice(ir_builder *b, ir_inst *x, ir_inst *const *starts, const int64_t *sizes);
ir_inst *ir_dynamic_update_slice(ir_builder *b, ir_inst *x, ir_inst *update, ir_inst *const *starts);
// Rows of a [N, ...] operand by an integer index array: result index dims followed by the row's dims (a plain gather).
ir_inst *ir_take_rows(ir_builder *b, ir_inst *x, ir_inst *indices);
ir_inst *ir_tuple(ir_builder *b, int count, ir_inst *const *xs);
ir_inst *ir_get_tuple_element(ir_builder *b, ir_inst *x, int index);
void ir_add_alias(ir_module *m, int output_index, int parameter, bool must);

// ---- reading and writing ----
// HLO text as XLA dumps it. Reports all errors that it finds (up to twenty), each with file:line:column, then fails.
GLIA_MUST_USE glia_status ir_parse(glia_span text, const char *path, ir_module **out);
void ir_print(glia_strbuf *out, const ir_module *m);    // parse(print(m)) prints the same text
void ir_print_inst(glia_strbuf *out, const ir_inst *i);

// ---- checking ----
// All problems at once (up to twenty): operand counts, shapes against inference, dominance, regions, aliases.
GLIA_MUST_USE glia_status ir_verify(const ir_module *m);
// The region's single binary op over its two parameters, when it is one (add, max, ...); false otherwise.
bool ir_region_is_binary(const ir_computation *c, ir_op *out);

// ---- evaluating (the slow, obvious oracle) ----
typedef struct ir_value {           // an array value; tuples are flattened to their leaves
    ir_shape shape;
    void *data;                     // row-major, one element per num_size bytes (sub-byte types: one byte)
} ir_value;
// Runs the entry computation. `inputs` are the entry parameters' leaves, `out` receives the root's leaves, allocated
// in `arena`. Floats of 32 bits and fewer are computed in fp32 and rounded after each op to the op's dtype; dot and
// reduce accumulate in fp64 when `precise`, else fp32 in ascending order. Errors: INVALID for shape mismatch, HANG past
// `while_limit` iterations (0: 1e8), EXHAUSTED
// past `memory_limit` bytes of live values (0: the host's memory). Result shapes borrow their dims from the module.
typedef struct ir_eval_options { bool precise; int64_t while_limit; size_t memory_limit; } ir_eval_options;
GLIA_MUST_USE glia_status ir_eval(const ir_module *m, const ir_value *inputs, int input_count, glia_arena *arena,
                                  const ir_eval_options *options, ir_value **out, int *out_count);

#endif
