// SPDX-License-Identifier: Apache-2.0
// Shape inference, a case at least for each row of ops.def: what it gives, and what it refuses with which words.
//
// A good case is an instruction as text. It must parse with the shape that it states, inference without that shape must
// give it too (where the op can do without), and no other shape may pass. A bad case must fail with this message.
#include "ir/infer.h"
#include "ir/ir_helper.h"

static const char prelude[] =
    "HloModule m\n"
    "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
    "less { a1 = f32[] parameter(0)\n b1 = f32[] parameter(1)\n ROOT c1 = pred[] compare(a1, b1), direction=LT }\n"
    "less2 { a2 = f32[] parameter(0)\n b2 = f32[] parameter(1)\n i2 = s32[] parameter(2)\n j2 = s32[] parameter(3)\n"
    "  ROOT c2 = pred[] compare(a2, b2), direction=LT }\n"
    "argmax { a3 = f32[] parameter(0)\n i3 = s32[] parameter(1)\n b3 = f32[] parameter(2)\n j3 = s32[] parameter(3)\n"
    "  ROOT c3 = (f32[], s32[]) tuple(b3, j3) }\n"
    "double { a4 = f32[2,3] parameter(0)\n ROOT c4 = f32[2,3] add(a4, a4) }\n"
    "count { a5 = s32[] parameter(0)\n ROOT c5 = s32[] add(a5, a5) }\n"
    "more { a6 = s32[] parameter(0)\n b6 = s32[] constant(5)\n ROOT c6 = pred[] compare(a6, b6), direction=LT }\n"
    "ENTRY e {\n"
    "  f = f32[2,3] parameter(0)\n  g = f32[3,4] parameter(1)\n  i = s32[2,3] parameter(2)\n  p = pred[2,3] "
    "parameter(3)\n"
    "  s = f32[] parameter(4)\n  n = s32[] parameter(5)\n  q = pred[] parameter(6)\n  z = c64[2,3] parameter(7)\n"
    "  u = u8[2,3] parameter(8)\n  t = (f32[2,3], s32[]) parameter(9)\n  b = bf16[4,2,3] parameter(10)\n"
    "  w = f32[5,6,7] parameter(11)\n  k = s32[8,2] parameter(12)\n  m = s16[] parameter(13)\n  v = f32[8,6,7] "
    "parameter(14)\n"
    "  h = f32[2] parameter(15)\n  u4 = u8[2,4] parameter(16)\n  kb = s32[5,8,1] parameter(17)\n";

typedef struct infer_case {
    ir_op op;
    const char *shape, *expression; // good: the stated shape; bad: any shape
    const char *message;            // NULL: good
} infer_case;

// clang-format off
static const infer_case cases[] = {
    {IR_PARAMETER, "f32[7]", "parameter(18)", NULL},
    {IR_PARAMETER, "f32[7]", "parameter(-1)", "'parameter' has number -1"},
    {IR_PARAMETER, "f32[7]", "parameter(3)", "number 3, which 'p' has already"},
    {IR_CONSTANT, "s32[2]", "constant({4, 5})", NULL},
    {IR_CONSTANT, "s32[2]", "constant({4})", "1 elements in dim 0, the shape 2"},
    {IR_IOTA, "s32[4,5]", "iota(), iota_dimension=1", NULL},
    {IR_IOTA, "s32[4,5]", "iota(), iota_dimension=2", "along dim 2, s32[4,5] has dims 0 to 1"},
    {IR_IOTA, "pred[4]", "iota(), iota_dimension=0", "'iota' gives numbers"},
    {IR_ABS, "f32[2,3]", "abs(f)", NULL},
    {IR_ABS, "f32[2,3]", "abs(z)", NULL},
    {IR_ABS, "u8[2,3]", "abs(u)", "'abs' takes element types float, signed, complex, operand 0 is u8[2,3]"},
    {IR_NEGATE, "s32[2,3]", "negate(i)", NULL},
    {IR_NEGATE, "pred[2,3]", "negate(p)", "operand 0 is pred[2,3]"},
    {IR_SIGN, "f32[2,3]", "sign(f)", NULL},
    {IR_SIGN, "u8[2,3]", "sign(u)", "'sign' takes"},
    {IR_EXP, "f32[2,3]", "exponential(f)", NULL},
    {IR_EXP, "s32[2,3]", "exponential(i)", "'exponential' takes element types float, complex, operand 0 is s32[2,3]"},
    {IR_EXPM1, "f32[2,3]", "exponential-minus-one(f)", NULL},
    {IR_EXPM1, "s32[2,3]", "exponential-minus-one(i)", "'exponential-minus-one' takes"},
    {IR_LOG, "c64[2,3]", "log(z)", NULL},
    {IR_LOG, "s32[2,3]", "log(i)", "'log' takes"},
    {IR_LOG1P, "f32[2,3]", "log-plus-one(f)", NULL},
    {IR_LOG1P, "s32[2,3]", "log-plus-one(i)", "'log-plus-one' takes"},
    {IR_LOGISTIC, "f32[2,3]", "logistic(f)", NULL},
    {IR_LOGISTIC, "s32[2,3]", "logistic(i)", "'logistic' takes"},
    {IR_TANH, "bf16[4,2,3]", "tanh(b)", NULL},
    {IR_TANH, "s32[2,3]", "tanh(i)", "'tanh' takes"},
    {IR_ERF, "f32[2,3]", "erf(f)", NULL},
    {IR_ERF, "c64[2,3]", "erf(z)", "'erf' takes element types float, operand 0 is c64[2,3]"},
    {IR_SQRT, "f32[2,3]", "sqrt(f)", NULL},
    {IR_SQRT, "s32[2,3]", "sqrt(i)", "'sqrt' takes"},
    {IR_RSQRT, "f32[2,3]", "rsqrt(f)", NULL},
    {IR_RSQRT, "s32[2,3]", "rsqrt(i)", "'rsqrt' takes"},
    {IR_SIN, "f32[2,3]", "sine(f)", NULL},
    {IR_SIN, "s32[2,3]", "sine(i)", "'sine' takes"},
    {IR_COS, "f32[2,3]", "cosine(f)", NULL},
    {IR_COS, "s32[2,3]", "cosine(i)", "'cosine' takes"},
    {IR_FLOOR, "f32[2,3]", "floor(f)", NULL},
    {IR_FLOOR, "c64[2,3]", "floor(z)", "'floor' takes"},
    {IR_CEIL, "f32[2,3]", "ceil(f)", NULL},
    {IR_CEIL, "s32[2,3]", "ceil(i)", "'ceil' takes"},
    {IR_ROUND_EVEN, "f32[2,3]", "round-nearest-even(f)", NULL},
    {IR_ROUND_EVEN, "s32[2,3]", "round-nearest-even(i)", "'round-nearest-even' takes"},
    {IR_NOT, "pred[2,3]", "not(p)", NULL},
    {IR_NOT, "f32[2,3]", "not(f)", "'not' takes element types signed, unsigned, pred, operand 0 is f32[2,3]"},
    {IR_IS_FINITE, "pred[2,3]", "is-finite(f)", NULL},
    {IR_IS_FINITE, "pred[2,3]", "is-finite(i)", "'is-finite' takes"},
    {IR_CONVERT, "bf16[2,3]", "convert(f)", NULL},
    {IR_CONVERT, "s32[2,3]", "convert(p)", NULL},
    {IR_CONVERT, "s32[3,2]", "convert(f)", "stated to give s32[3,2], its operands and attributes give s32[2,3]"},
    {IR_BITCAST_CONVERT, "s32[2,3]", "bitcast-convert(f)", NULL},
    {IR_BITCAST_CONVERT, "u8[2,3,4]", "bitcast-convert(f)", NULL},
    {IR_BITCAST_CONVERT, "f32[2]", "bitcast-convert(u4)", NULL},
    {IR_BITCAST_CONVERT, "f32[2]", "bitcast-convert(u)", "joins a last dim of 4 elements, the operand is u8[2,3]"},
    {IR_BITCAST_CONVERT, "u8[2,3]", "bitcast-convert(p)", "pred has no bit pattern"},
    {IR_REDUCE_PRECISION, "f32[2,3]", "reduce-precision(f), exponent_bits=8, mantissa_bits=7", NULL},
    {IR_REDUCE_PRECISION, "f32[2,3]", "reduce-precision(f), exponent_bits=0, mantissa_bits=7", "keeps 0 exponent and 7 mantissa"},
    {IR_ADD, "f32[2,3]", "add(f, f)", NULL},
    {IR_ADD, "pred[2,3]", "add(p, p)", NULL},
    {IR_ADD, "f32[2,3]", "add(f, g)", "'add' takes equal shapes, operand 0 is f32[2,3] and operand 1 is f32[3,4]"},
    {IR_ADD, "f32[2,3]", "add(f, i)", "operand 0 is f32[2,3] and operand 1 is s32[2,3]"},
    {IR_ADD, "f32[2,3]", "add(f)", "'add' has 1 operands, it takes 2"},
    {IR_ADD, "f32[2,3]", "add(f, f, f)", "'add' has 3 operands, it takes 2"},
    {IR_ADD, "(f32[2,3], s32[])", "add(t, t)", "'add' takes an array as operand 0, 't' is (f32[2,3], s32[])"},
    {IR_SUBTRACT, "f32[2,3]", "subtract(f, f)", NULL},
    {IR_SUBTRACT, "pred[2,3]", "subtract(p, p)", "'subtract' takes"},
    {IR_MULTIPLY, "c64[2,3]", "multiply(z, z)", NULL},
    {IR_MULTIPLY, "f32[2,3]", "multiply(f, g)", "'multiply' takes equal shapes"},
    {IR_DIVIDE, "s32[2,3]", "divide(i, i)", NULL},
    {IR_DIVIDE, "pred[2,3]", "divide(p, p)", "'divide' takes"},
    {IR_REMAINDER, "f32[2,3]", "remainder(f, f)", NULL},
    {IR_REMAINDER, "c64[2,3]", "remainder(z, z)", "'remainder' takes"},
    {IR_POWER, "f32[2,3]", "power(f, f)", NULL},
    {IR_POWER, "pred[2,3]", "power(p, p)", "'power' takes"},
    {IR_MAXIMUM, "pred[2,3]", "maximum(p, p)", NULL},
    {IR_MAXIMUM, "f32[2,3]", "maximum(f, s)", "'maximum' takes equal shapes"},
    {IR_MINIMUM, "s32[2,3]", "minimum(i, i)", NULL},
    {IR_MINIMUM, "f32[2,3]", "minimum(f, s)", "'minimum' takes equal shapes"},
    {IR_AND, "pred[2,3]", "and(p, p)", NULL},
    {IR_AND, "f32[2,3]", "and(f, f)", "'and' takes"},
    {IR_OR, "s32[2,3]", "or(i, i)", NULL},
    {IR_OR, "f32[2,3]", "or(f, f)", "'or' takes"},
    {IR_XOR, "u8[2,3]", "xor(u, u)", NULL},
    {IR_XOR, "f32[2,3]", "xor(f, f)", "'xor' takes"},
    {IR_SHIFT_LEFT, "s32[2,3]", "shift-left(i, i)", NULL},
    {IR_SHIFT_LEFT, "pred[2,3]", "shift-left(p, p)", "'shift-left' takes"},
    {IR_SHIFT_RIGHT_LOGICAL, "u8[2,3]", "shift-right-logical(u, u)", NULL},
    {IR_SHIFT_RIGHT_LOGICAL, "f32[2,3]", "shift-right-logical(f, f)", "'shift-right-logical' takes"},
    {IR_SHIFT_RIGHT_ARITH, "s32[2,3]", "shift-right-arithmetic(i, i)", NULL},
    {IR_SHIFT_RIGHT_ARITH, "f32[2,3]", "shift-right-arithmetic(f, f)", "'shift-right-arithmetic' takes"},
    {IR_COMPARE, "pred[2,3]", "compare(f, f), direction=GE", NULL},
    {IR_COMPARE, "pred[2,3]", "compare(z, z), direction=NE", NULL},
    {IR_COMPARE, "pred[2,3]", "compare(z, z), direction=LT", "complex numbers have no order"},
    {IR_COMPARE, "pred[2,3]", "compare(f, i), direction=LT", "'compare' takes equal shapes"},
    {IR_SELECT, "f32[2,3]", "select(p, f, f)", NULL},
    {IR_SELECT, "f32[2,3]", "select(q, f, f)", NULL},
    {IR_SELECT, "f32[2,3]", "select(i, f, f)", "the predicate is s32[2,3] and the values f32[2,3]"},
    {IR_SELECT, "f32[2,3]", "select(p, f, g)", "operand 1 is f32[2,3] and operand 2 is f32[3,4]"},
    {IR_CLAMP, "f32[2,3]", "clamp(s, f, f)", NULL},
    {IR_CLAMP, "f32[2,3]", "clamp(s, f, g)", "operand 2 is f32[3,4] and the value f32[2,3]"},
    {IR_CLAMP, "c64[2,3]", "clamp(z, z, z)", "'clamp' takes"},
    {IR_BROADCAST, "f32[2,9,3]", "broadcast(f), dimensions={0,2}", NULL},
    {IR_BROADCAST, "f32[3,2]", "broadcast(f), dimensions={1,0}", NULL},
    {IR_BROADCAST, "f32[7,3]", "broadcast(s), dimensions={}", NULL},
    {IR_BROADCAST, "f32[4,3]", "broadcast(f), dimensions={0,1}", "maps dim 0 of 2 to result dim 0 of 4"},
    {IR_BROADCAST, "f32[2,3]", "broadcast(f), dimensions={0}", "maps 1 dims, the operand f32[2,3] has 2"},
    {IR_BROADCAST, "f32[2,3]", "broadcast(f), dimensions={0,0}", "has 0 in dimensions twice, at 0 and 1"},
    {IR_BROADCAST, "f32[2,3]", "broadcast(f), dimensions={0,2}", "has 2 in dimensions, the dims are 0 to 1"},
    {IR_RESHAPE, "f32[6]", "reshape(f)", NULL},
    {IR_RESHAPE, "f32[7]", "reshape(f)", "'reshape' of f32[2,3] (6 elements) to f32[7] (7)"},
    {IR_TRANSPOSE, "f32[3,2]", "transpose(f), dimensions={1,0}", NULL},
    {IR_TRANSPOSE, "bf16[3,4,2]", "transpose(b), dimensions={2,0,1}", NULL},
    {IR_TRANSPOSE, "f32[3,2]", "transpose(f), dimensions={1}", "permutes 1 dims, the operand f32[2,3] has 2"},
    {IR_TRANSPOSE, "f32[3,2]", "transpose(f), dimensions={1,1}", "has 1 in dimensions twice"},
    {IR_SLICE, "f32[1,2]", "slice(f), slice={[1:2], [0:3:2]}", NULL},
    {IR_SLICE, "f32[0,3]", "slice(f), slice={[1:1], [0:3]}", NULL},
    {IR_SLICE, "f32[1,3]", "slice(f), slice={[0:3], [0:3]}", "takes [0:3] of dim 0, which has 2 elements"},
    {IR_SLICE, "f32[1,3]", "slice(f), slice={[1:0], [0:3]}", "takes [1:0] of dim 0"},
    {IR_SLICE, "f32[1,3]", "slice(f), slice={[0:1:0], [0:3]}", "stride 0 in dim 0"},
    {IR_SLICE, "f32[1,3]", "slice(f), slice={[0:1]}", "has 1 starts, 1 limits and 1 strides"},
    {IR_PAD, "f32[5,8]", "pad(f, s), padding=1_2x0_0", "f32[5,3]"},
    {IR_PAD, "f32[4,8]", "pad(f, s), padding=1_1x1_2_1", NULL},
    {IR_PAD, "f32[1,3]", "pad(f, s), padding=-1_0x0_0", NULL},
    {IR_PAD, "f32[2,3]", "pad(f, n), padding=0_0x0_0", "the operand is f32[2,3] and the value s32[]"},
    {IR_PAD, "f32[2,3]", "pad(f, s), padding=0_0x0_0_-1", "interior padding -1 in dim 1"},
    {IR_PAD, "f32[2,3]", "pad(f, s), padding=-3_0x0_0", "crops dim 0 of 2 elements"},
    {IR_PAD, "f32[2,3]", "pad(f, s), padding=9223372036854775807_9x0_0", "larger than 2^63"},
    {IR_PAD, "f32[2,3]", "pad(f, s), padding=0_0", "padding for 1 dims"},
    {IR_CONCATENATE, "f32[2,6]", "concatenate(f, f), dimensions={1}", NULL},
    {IR_CONCATENATE, "f32[2,6]", "concatenate(f, g), dimensions={1}", "operand 1 is f32[3,4], operand 0 is f32[2,3]"},
    {IR_CONCATENATE, "f32[2,6]", "concatenate(f, f), dimensions={2}", "goes along dim 2, operand 0 is f32[2,3]"},
    {IR_REVERSE, "f32[2,3]", "reverse(f), dimensions={1}", NULL},
    {IR_REVERSE, "f32[2,3]", "reverse(f), dimensions={2}", "has 2 in dimensions"},
    {IR_COPY, "(f32[2,3], s32[])", "copy(t)", NULL},
    {IR_COPY, "f32[3,2]", "copy(f)", "stated to give f32[3,2]"},
    {IR_DOT, "f32[2,4]", "dot(f, g), lhs_contracting_dims={1}, rhs_contracting_dims={0}", NULL},
    {IR_DOT, "f32[2,3,4,2,3]", "dot(f, b)", NULL},
    {IR_DOT, "f32[4,2,2]", "dot(b, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}", NULL},
    {IR_DOT, "f32[2,3,4,2]", "dot(b, b), lhs_batch_dims={1,2}, rhs_batch_dims={1,2}, lhs_contracting_dims={0}, rhs_contracting_dims={0}", "f32[2,3]"},
    {IR_DOT, "f32[2,4]", "dot(f, g), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
     "'dot' pairs contracting sizes 2 (f32[2,3], dim 0) and 3 (f32[3,4], dim 0); they must match"},
    {IR_DOT, "f32[2,4]", "dot(f, g), lhs_contracting_dims={1}, rhs_contracting_dims={0,1}", "1 contracting dims on the left and 2 on the right"},
    {IR_DOT, "f32[2,4]", "dot(f, f), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={0}, rhs_contracting_dims={0}",
     "has dim 0 in both lhs_batch_dims and lhs_contracting_dims"},
    {IR_DOT, "f32[2,4]", "dot(f, g), lhs_contracting_dims={2}, rhs_contracting_dims={0}", "has 2 in lhs_contracting_dims"},
    {IR_REDUCE, "f32[2]", "reduce(f, s), dimensions={1}, to_apply=add", NULL},
    {IR_REDUCE, "f32[]", "reduce(f, s), dimensions={0,1}, to_apply=add", NULL},
    {IR_REDUCE, "(f32[3], s32[3])", "reduce(f, i, s, n), dimensions={0}, to_apply=argmax", NULL},
    {IR_REDUCE, "f32[2]", "reduce(f, n), dimensions={1}, to_apply=add", "the input 0 is f32[2,3] and the value s32[]"},
    {IR_REDUCE, "f32[2]", "reduce(f, s, s), dimensions={1}, to_apply=add", "'reduce' has 3 operands"},
    {IR_REDUCE, "f32[2]", "reduce(f, s), dimensions={1}, to_apply=less", "needs to_apply 'less' to give f32[], it gives pred[]"},
    {IR_REDUCE, "f32[2]", "reduce(f, s), dimensions={1}, to_apply=argmax", "passes 2 values to to_apply 'argmax', which takes 4"},
    {IR_REDUCE, "s32[2]", "reduce(i, n), dimensions={1}, to_apply=add", "passes s32[] to parameter 0 of to_apply 'add', which is f32[]"},
    {IR_REDUCE, "f32[2]", "reduce(f, s), dimensions={3}, to_apply=add", "has 3 in dimensions"},
    {IR_GATHER, "f32[8,6,7]", "gather(w, k), offset_dims={1,2}, collapsed_slice_dims={0}, start_index_map={0,1}, index_vector_dim=1, "
     "slice_sizes={1,6,7}", NULL},
    {IR_GATHER, "f32[2,8,2,3,4]", "gather(w, k), offset_dims={0,2,3}, collapsed_slice_dims={}, start_index_map={0,1}, index_vector_dim=1, "
     "slice_sizes={2,3,4}", "f32[2,8,3,4]"},
    {IR_GATHER, "f32[8,2,6,7]", "gather(w, k), offset_dims={2,3}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=2, "
     "slice_sizes={1,6,7}", NULL},
    {IR_GATHER, "f32[5,8,7]", "gather(w, kb), offset_dims={2}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, "
     "start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1,7}", NULL},
    {IR_GATHER, "f32[8,6,7]", "gather(w, k), offset_dims={1,2}, collapsed_slice_dims={0}, start_index_map={0,1}, index_vector_dim=1, "
     "slice_sizes={2,6,7}", "drops dim 0 with slice size 2"},
    {IR_GATHER, "f32[8,6,7]", "gather(w, k), offset_dims={1,2}, collapsed_slice_dims={0}, start_index_map={0,1}, index_vector_dim=1, "
     "slice_sizes={1,9,7}", "takes 9 elements of dim 1, which has 6"},
    {IR_GATHER, "f32[8,6,7]", "gather(w, k), offset_dims={1,2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
     "slice_sizes={1,6,7}", "maps 1 coordinates, an index of s32[8,2] holds 2"},
    {IR_GATHER, "f32[8,6,7]", "gather(w, k), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0,1}, index_vector_dim=1, "
     "slice_sizes={1,6,7}", "places 1 window dims, the operand f32[5,6,7] keeps 2"},
    {IR_GATHER, "f32[8,6,7]", "gather(w, k), offset_dims={2,1}, collapsed_slice_dims={0}, start_index_map={0,1}, index_vector_dim=1, "
     "slice_sizes={1,6,7}", "has 2 before 1 in window dims, they must ascend"},
    {IR_GATHER, "f32[8,6,7]", "gather(w, k), offset_dims={1,2}, collapsed_slice_dims={0}, start_index_map={0,1}, index_vector_dim=3, "
     "slice_sizes={1,6,7}", "index_vector_dim 3, the indices are s32[8,2]"},
    {IR_GATHER, "f32[8,6,7]", "gather(w, f), offset_dims={1,2}, collapsed_slice_dims={0}, start_index_map={0,1}, index_vector_dim=1, "
     "slice_sizes={1,6,7}", "takes integer indices, operand 1 is f32[2,3]"},
    {IR_GATHER, "f32[5,8,7]", "gather(v, kb), offset_dims={2}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, "
     "start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1,7}", "pairs batching sizes 8 (operand, dim 0) and 5 (indices, dim 0)"},
    {IR_SCATTER, "f32[5,6,7]", "scatter(w, k, v), update_window_dims={1,2}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0,1}, "
     "index_vector_dim=1, to_apply=add", NULL},
    {IR_SCATTER, "f32[5,6,7]", "scatter(w, k, w), update_window_dims={1,2}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0,1}, "
     "index_vector_dim=1, to_apply=add", "whose dim 0 is 5, the indices s32[8,2] have 8 there"},
    {IR_SCATTER, "f32[5,6,7]", "scatter(w, k, f), update_window_dims={1,2}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0,1}, "
     "index_vector_dim=1, to_apply=add", "needs updates of 3 dims (1 of indices, 2 of the window), they are f32[2,3]"},
    {IR_SCATTER, "f32[5,6,7]", "scatter(w, k, v), update_window_dims={1,2}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0,1}, "
     "index_vector_dim=1, to_apply=less", "needs to_apply 'less' to give f32[]"},
    {IR_SCATTER, "f32[5,6,7]", "scatter(w, k, v, v), update_window_dims={1,2}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0,1}, "
     "index_vector_dim=1, to_apply=add", "'scatter' has 4 operands"},
    {IR_DYNAMIC_SLICE, "f32[1,2]", "dynamic-slice(f, n, n), dynamic_slice_sizes={1,2}", NULL},
    {IR_DYNAMIC_SLICE, "f32[1,2]", "dynamic-slice(f, n), dynamic_slice_sizes={1,2}", "has 1 start indices, the operand f32[2,3] has 2 dims"},
    {IR_DYNAMIC_SLICE, "f32[1,2]", "dynamic-slice(f, n, m), dynamic_slice_sizes={1,2}", "operand 1 is s32[], operand 2 is s16[]"},
    {IR_DYNAMIC_SLICE, "f32[1,2]", "dynamic-slice(f, n, s), dynamic_slice_sizes={1,2}", "takes integer indices, operand 2 is f32[]"},
    {IR_DYNAMIC_SLICE, "f32[1,2]", "dynamic-slice(f, i, i), dynamic_slice_sizes={1,2}", "takes scalar start indices, operand 1 is s32[2,3]"},
    {IR_DYNAMIC_SLICE, "f32[3,2]", "dynamic-slice(f, n, n), dynamic_slice_sizes={3,2}", "takes 3 elements of dim 0, which has 2"},
    {IR_DYNAMIC_UPDATE_SLICE, "f32[5,6,7]", "dynamic-update-slice(w, w, n, n, n)", NULL},
    {IR_DYNAMIC_UPDATE_SLICE, "f32[5,6,7]", "dynamic-update-slice(w, v, n, n, n)", "writes f32[8,6,7] into f32[5,6,7]"},
    {IR_SORT, "f32[2,3]", "sort(f), dimensions={1}, to_apply=less", NULL},
    {IR_SORT, "(f32[2,3], s32[2,3])", "sort(f, i), dimensions={0}, is_stable=true, to_apply=less2", NULL},
    {IR_SORT, "f32[2,3]", "sort(f), dimensions={2}, to_apply=less", "goes along dim 2"},
    {IR_SORT, "f32[2,3]", "sort(f), dimensions={1}, to_apply=add", "needs to_apply 'add' to give pred[], it gives f32[]"},
    {IR_SORT, "f32[2,3]", "sort(f, g), dimensions={1}, to_apply=less2", "operand 0 is f32[2,3], operand 1 is f32[3,4]"},
    {IR_WHILE, "s32[]", "while(n), condition=more, body=count", NULL},
    {IR_WHILE, "f32[]", "while(s), condition=more, body=count", "passes f32[] to parameter 0 of condition 'more', which is s32[]"},
    {IR_WHILE, "s32[]", "while(n), condition=count, body=count", "needs condition 'count' to give pred[]"},
    {IR_WHILE, "s32[]", "while(n), condition=more, body=more", "needs body 'more' to give s32[]"},
    {IR_CONDITIONAL, "f32[2,3]", "conditional(q, f, f), true_computation=double, false_computation=double", NULL},
    {IR_CONDITIONAL, "f32[2,3]", "conditional(n, f, f, f), branch_computations={double, double, double}", NULL},
    {IR_CONDITIONAL, "f32[2,3]", "conditional(n, f), branch_computations={double}", NULL},
    {IR_CONDITIONAL, "f32[2,3]", "conditional(n, f, n), branch_computations={double, count}", "needs branch 'count' to give f32[2,3]"},
    {IR_CONDITIONAL, "f32[2,3]", "conditional(n, f), branch_computations={double, double}", "has 2 branches and 1 arguments"},
    {IR_CONDITIONAL, "f32[2,3]", "conditional(q, f, f, f), branch_computations={double, double, double}", "on pred[] has 3 branches"},
    {IR_CONDITIONAL, "f32[2,3]", "conditional(s, f, f), branch_computations={double, double}", "steered by pred[] or s32[], operand 0 is f32[]"},
    {IR_CALL, "f32[2,3]", "call(f), to_apply=double", NULL},
    {IR_CALL, "f32[2,3]", "call(f, f), to_apply=double", "passes 2 values to to_apply 'double', which takes 1"},
    {IR_CALL, "f32[2,3]", "call(g), to_apply=double", "passes f32[3,4] to parameter 0 of to_apply 'double'"},
    {IR_FUSION, "f32[2,3]", "fusion(f), kind=kInput, calls=double", NULL},
    {IR_FUSION, "f32[3,2]", "fusion(f), kind=kLoop, calls=double", "stated to give f32[3,2]"},
    {IR_TUPLE, "(f32[2,3], s32[])", "tuple(f, n)", NULL},
    {IR_TUPLE, "()", "tuple()", NULL},
    {IR_TUPLE, "(f32[2,3])", "tuple(f, n)", "stated to give (f32[2,3])"},
    {IR_GET_TUPLE_ELEMENT, "s32[]", "get-tuple-element(t), index=1", NULL},
    {IR_GET_TUPLE_ELEMENT, "s32[]", "get-tuple-element(t), index=2", "reads element 2 of 't', which has 2"},
    {IR_GET_TUPLE_ELEMENT, "s32[]", "get-tuple-element(f), index=0", "reads a tuple, 'f' is f32[2,3]"},
    {IR_OPT_BARRIER, "(f32[2,3], s32[])", "opt-barrier(t)", NULL},
    {IR_OPT_BARRIER, "f32[2,3]", "opt-barrier(f, f)", "'opt-barrier' has 2 operands"},
    {IR_CUSTOM_CALL, "(f32[7], s8[])", "custom-call(f, n), custom_call_target=\"mine\"", NULL},
    {IR_CUSTOM_CALL, "f32[7]", "custom-call(f), custom_call_target=\"\"", "no custom_call_target"},
};
// clang-format on

// Ops whose result cannot be known from operands and attributes alone.
static bool states_its_shape(const ir_inst *i)
{
    switch (i->op) {
    case IR_PARAMETER:
    case IR_CONSTANT:
    case IR_IOTA:
    case IR_CONVERT:
    case IR_BITCAST_CONVERT:
    case IR_BROADCAST:
    case IR_RESHAPE:
    case IR_CUSTOM_CALL:
        return true;
    case IR_DOT:
        return i->operands[0]->shape.dtype != i->shape.dtype || i->operands[1]->shape.dtype != i->shape.dtype;
    default:
        return false;
    }
}

static glia_status parse_case(const infer_case *c, ir_module **out)
{
    glia_strbuf text = {0};
    glia_putf(&text, "%s  ROOT r = %s %s\n}\n", prelude, c->shape, c->expression);
    glia_status s = helper_parse(glia_strbuf_str(&text), out);
    glia_strbuf_fini(&text);
    return s;
}

static void check_good(const infer_case *c)
{
    ir_module *m = NULL;
    AUTO_STATUS bad = parse_case(c, &m);
    if (bad) FAIL_TEST("%s: %s", c->expression, glia_status_message(bad));
    const ir_inst *r = m->entry->root;
    EXPECT_EQ_INT(r->op, c->op);
    if (!states_its_shape(r)) {
        AUTO(glia_arena) arena = glia_arena_create();
        ir_infer in = {.arena = arena,
                       .op = r->op,
                       .operand_count = r->operand_count,
                       .operands = r->operands,
                       .attrs = &r->attrs};
        ir_shape inferred;
        EXPECT_OK(ir_infer_shape(&in, &inferred));
        EXPECT_SHAPE(&inferred, c->shape);
        ir_shape other = {.dtype = NUM_F64, .rank = 1, .dims = (int64_t[]){77}};
        in.given = &other;
        EXPECT_FAILS(ir_infer_shape(&in, &inferred), INVALID, "77");
    }
    helper_round_trip(m, c->expression);
    ir_module_destroy(m);
}

TEST(infer, every_case)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        ir_module *m = NULL;
        if (!cases[i].message) {
            check_good(&cases[i]);
            continue;
        }
        AUTO_STATUS s = parse_case(&cases[i], &m);
        if (!s) FAIL_TEST("%s: succeeded, want '%s'", cases[i].expression, cases[i].message);
        if (!strstr(glia_status_message(s), cases[i].message))
            FAIL_TEST("%s: '%s' lacks '%s'", cases[i].expression, glia_status_message(s), cases[i].message);
    }
}

TEST(infer, every_row_has_a_good_and_a_bad_case)
{
    for (int op = 0; op < IR_OP_COUNT; op++) {
        int good = 0, bad = 0;
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            if (cases[i].op != (ir_op)op) continue;
            good += !cases[i].message;
            bad += cases[i].message != NULL;
        }
        if (!good || !bad)
            FAIL_TEST("'%s' has %d good cases and %d bad ones, 1 of each at least is wanted", ir_op_name((ir_op)op),
                      good, bad);
    }
}
