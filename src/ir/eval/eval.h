// SPDX-License-Identifier: Apache-2.0
// The reference evaluator, from the inside: what an op's handler gets and what it may call.
//
// A value is a list of leaves (tuples are flattened, depth first); a leaf is a dense row-major array that nobody writes
// once its handler has returned, so leaves are shared freely: a reshape, a copy or a loop-carried weight costs nothing.
// Buffers are counted and freed at their last use, which is what lets a loop of a million rounds run in constant
// memory; whatever an error leaves behind is freed when the context is. Scratch lives until the handler that asked for
// it returns.
//
// Numerics (ir.h, ir_eval): floats of 32 bits and fewer are widened to fp64, computed there, rounded to fp32, then to
// their dtype. For + - * / sqrt and fmod that is the same as computing in fp32 (53 bits >= 2 * 24 + 2), and for the
// transcendental functions it is nearly correctly rounded. A NaN that arithmetic makes is the positive quiet one.
// Sub-byte elements take a byte each. The host is little-endian.
//
// Not here: anything fast, and anything that `dev` or `compile` shares; the oracle must be able to disagree with them.
#ifndef GLIA_IR_EVAL_EVAL_H
#define GLIA_IR_EVAL_EVAL_H

#include "ir/ir.h"

typedef struct ir_eval_buffer ir_eval_buffer; // buffer.c
typedef struct ir_eval_context ir_eval_context;

typedef struct ir_eval_array {
    const ir_shape *shape; // an array's; lives as long as the module
    void *data;            // row-major; read-only once its handler has returned
    ir_eval_buffer *owner; // NULL: borrowed (an input, a constant)
} ir_eval_array;

typedef struct ir_eval_value {
    int count;
    ir_eval_array *leaves; // [count]
} ir_eval_value;

struct ir_eval_context {
    const ir_module *module;
    ir_eval_options options;   // with the defaults filled in
    const ir_eval_value *args; // of the computation that is running, by parameter number
    ir_eval_buffer *buffers;   // all live value buffers
    ir_eval_buffer *scratch;   // a stack; the newest first
    size_t bytes;              // in both
    int depth;                 // nesting of computations
    bool placed;               // the error on its way out names its place already
};

// An op's handler. `operands` are borrowed; `out` has one leaf for each leaf of the op's shape with `shape` set and
// data NULL: the handler makes each with ir_eval_new or ir_eval_share.
typedef glia_status (*ir_eval_fn)(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands,
                                  ir_eval_value *out);
#define OP(symbol, name, min, max, class, infer, eval, vjp)                                                            \
    GLIA_MUST_USE glia_status ir_eval_##eval(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands,   \
                                             ir_eval_value *out);
#include "ir/ops.def"

// ---- memory (buffer.c) ----
void ir_eval_context_fini(ir_eval_context *c);
// Bytes of an array of this shape; EXHAUSTED when they do not fit into size_t.
GLIA_MUST_USE glia_status ir_eval_bytes(const ir_shape *shape, size_t *out);
// A fresh buffer of leaf->shape, owned once, zeroed. EXHAUSTED past the memory limit.
GLIA_MUST_USE glia_status ir_eval_new(ir_eval_context *c, ir_eval_array *leaf);
void ir_eval_share(ir_eval_array *leaf, const ir_eval_array *from); // same data; keeps leaf->shape
void ir_eval_release(ir_eval_context *c, ir_eval_value *v);         // drops every leaf once; leaves become empty
// `count` zeroed elements of `size` bytes until the handler returns.
GLIA_MUST_USE glia_status ir_eval_scratch(ir_eval_context *c, size_t count, size_t size, void *out_pointer);
void ir_eval_scratch_pop(ir_eval_context *c, ir_eval_buffer *mark); // frees what is newer than `mark`

// ---- running (exec.c) ----
// Runs a computation. `args` by parameter number; `out` has the root's leaf count and gets owned references.
GLIA_MUST_USE glia_status ir_eval_computation(ir_eval_context *c, const ir_computation *computation,
                                              const ir_eval_value *args, ir_eval_value *out);
// A value with `count` empty leaves for `shape`, in scratch.
GLIA_MUST_USE glia_status ir_eval_value_new(ir_eval_context *c, const ir_shape *shape, ir_eval_value *out);

// ---- elements (element.c): between a dtype and the domain that it is computed in ----
typedef enum ir_eval_domain { IR_EVAL_NONE, IR_EVAL_FLOAT, IR_EVAL_INT, IR_EVAL_COMPLEX } ir_eval_domain;
enum { IR_EVAL_CHUNK = 256 }; // elements that elementwise code handles at a time

ir_eval_domain ir_eval_domain_of(num_dtype t); // NONE: only moves and bit casts are defined; bool is INT
size_t ir_eval_size(num_dtype t);              // bytes of a stored element; 1 for sub-byte types
uint64_t ir_eval_load_bits(num_dtype t, const void *p);
void ir_eval_store_bits(num_dtype t, void *p, uint64_t bits);
// FLOAT and INT dtypes to fp64 (64-bit integers round to nearest even).
void ir_eval_load_f64(num_dtype t, const void *p, size_t n, double *out);
void ir_eval_store_f64(num_dtype t, void *p, size_t n, const double *in); // FLOAT dtypes; through fp32 unless f64
// INT dtypes, sign- or zero-extended; the store wraps, and keeps bit 0 of a bool.
void ir_eval_load_int(num_dtype t, const void *p, size_t n, uint64_t *out);
void ir_eval_store_int(num_dtype t, void *p, size_t n, const uint64_t *in);
void ir_eval_load_complex(num_dtype t, const void *p, size_t n, _Complex double *out); // any domain
void ir_eval_store_complex(num_dtype t, void *p, size_t n, const _Complex double *in);
// Both parts as given (re + im * I would turn an infinite part into a NaN); clang's <complex.h> lacks CMPLX before C23.
static inline _Complex double ir_eval_complex(double re, double im)
{
    _Complex double z;
    __real__ z = re;
    __imag__ z = im;
    return z;
}
// Element i of an integer array as an index; what int64_t cannot hold becomes INT64_MAX.
int64_t ir_eval_index(const ir_eval_array *a, int64_t i);

// ---- elementwise (lanes.c) ----
typedef struct ir_eval_lane {
    num_dtype dtype;
    const void *data; // n elements, or one
    bool scalar;      // the one element stands for all
} ir_eval_lane;
// n lanes of an elementwise op (classes UNARY, BINARY, TERNARY). UNSUPPORTED for a dtype that the op does not have.
GLIA_MUST_USE glia_status ir_eval_lanes(const ir_inst *inst, int64_t n, const ir_eval_lane *in, void *out);
// n elements between dtypes by StableHLO's convert: float to integer truncates toward zero and saturates, NaN gives 0.
GLIA_MUST_USE glia_status ir_eval_convert_lanes(num_dtype to, void *out, num_dtype from, const void *in, size_t n);
GLIA_MUST_USE glia_status ir_eval_reduce_precision_lanes(const ir_inst *inst, size_t n, const void *in, void *out);

// Scalar functions by op; NULL where the domain lacks the op.
typedef struct ir_eval_int_type {
    int bits;
    bool is_signed;
} ir_eval_int_type;
typedef double (*ir_eval_float_unary)(double x);
typedef double (*ir_eval_float_binary)(double x, double y);
typedef uint64_t (*ir_eval_int_unary)(ir_eval_int_type t, uint64_t x);
typedef uint64_t (*ir_eval_int_binary)(ir_eval_int_type t, uint64_t x, uint64_t y);
typedef _Complex double (*ir_eval_complex_unary)(_Complex double x);
typedef _Complex double (*ir_eval_complex_binary)(_Complex double x, _Complex double y);
ir_eval_float_unary ir_eval_float_unary_of(ir_op op);
ir_eval_float_binary ir_eval_float_binary_of(ir_op op);
ir_eval_int_unary ir_eval_int_unary_of(ir_op op);
ir_eval_int_binary ir_eval_int_binary_of(ir_op op, bool is_bool);
ir_eval_complex_unary ir_eval_complex_unary_of(ir_op op);
ir_eval_complex_binary ir_eval_complex_binary_of(ir_op op);
ir_eval_int_type ir_eval_int_type_of(num_dtype t);

// ---- indices (strided.c) ----
void ir_eval_strides(int rank, const int64_t *dims, int64_t *out); // row-major, in elements
bool ir_eval_next(int rank, const int64_t *dims, int64_t *index);  // the next in row-major order; false past the last
int64_t ir_eval_offset(int rank, const int64_t *index, const int64_t *strides);
int64_t ir_eval_count(int rank, const int64_t *dims); // product; 0 if any is 0
bool ir_eval_has(ir_dims d, int64_t x);
// dst[i . dst_strides] = src[i . src_strides] for every index i of `dims`. Strides are in elements, of any sign.
void ir_eval_copy_strided(void *dst, const int64_t *dst_strides, const void *src, const int64_t *src_strides, int rank,
                          const int64_t *dims, size_t size);

// ---- regions of scalars (region.c) ----
// A region prepared to run over many lanes at once. One that is made of elementwise ops runs as a list of steps over
// lane buffers; any other runs lane by lane as a computation. Both do the same arithmetic in the same order.
typedef struct ir_eval_region {
    ir_eval_context *c;
    const ir_computation *computation;
    int64_t lanes; // at most this many a run
    bool simple;
    void **slots; // [insts]: lane buffers; NULL for tuples, and in a region that is not simple
    int param_count;
    void **params; // [param_count]: lane buffers to fill before a run
    int result_count;
    void **results;           // [result_count]: lane buffers that a run leaves; may be a param's
    num_dtype *result_dtypes; // [result_count]
} ir_eval_region;
// Prepared in scratch. `params` scalars of the given dtypes, `results` likewise; INVALID when the region has others.
GLIA_MUST_USE glia_status ir_eval_region_open(ir_eval_context *c, const ir_computation *computation, int64_t lanes,
                                              int param_count, const num_dtype *params, int result_count,
                                              const num_dtype *results, ir_eval_region *out);
GLIA_MUST_USE glia_status ir_eval_region_run(ir_eval_region *r, int64_t n);

#endif
