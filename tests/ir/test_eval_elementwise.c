// SPDX-License-Identifier: Apache-2.0
// Elementwise ops at their edges: wraparound, division by zero, wide shifts, NaN, signed zeros, rounding, conversions.
// Wanted values are from the StableHLO specification where it speaks, else from what XLA does (facts: stablehlo C.1).
#include "ir/eval_helper.h"

// clang-format off: programs and rows are laid out by hand

TEST(eval_elementwise, integers_wrap)
{
    static const eval_row rows[] = {
        { "add", { "s8[3] {127, -128, 5}", "s8[3] {1, -1, -7}" }, "", "s8[3] {-128, 127, -2}" },
        { "subtract", { "u8[2] {0, 9}", "u8[2] {1, 4}" }, "", "u8[2] {255, 5}" },
        { "multiply", { "s32[2] {2147483647, -2147483648}", "s32[2] {2, -1}" }, "", "s32[2] {-2, -2147483648}" },
        { "multiply", { "u64[1] {18446744073709551615}", "u64[1] {2}" }, "", "u64[1] {18446744073709551614}" },
        { "multiply", { "s64[1] {4611686018427387904}", "s64[1] {3}" }, "", "s64[1] {-4611686018427387904}" },
        { "abs", { "s8[3] {-128, -5, 7}" }, "", "s8[3] {-128, 5, 7}" },
        { "negate", { "s8[2] {-128, 5}" }, "", "s8[2] {-128, -5}" },
        { "negate", { "u8[2] {1, 0}" }, "", "u8[2] {255, 0}" },
        { "sign", { "s32[3] {-9, 0, 4}" }, "", "s32[3] {-1, 0, 1}" },
        { "not", { "s8[3] {0, -1, 5}" }, "", "s8[3] {-1, 0, -6}" },
        { "not", { "u16[1] {1}" }, "", "u16[1] {65534}" },
        { "maximum", { "s8[2] {-1, 3}", "s8[2] {1, 2}" }, "", "s8[2] {1, 3}" },
        { "maximum", { "u8[2] {255, 3}", "u8[2] {1, 2}" }, "", "u8[2] {255, 3}" },
        { "minimum", { "u64[1] {18446744073709551615}", "u64[1] {1}" }, "", "u64[1] {1}" },
    };
    RUN_ROWS("", rows);
}

TEST(eval_elementwise, integer_division_never_traps)
{
    static const eval_row rows[] = {
        { "divide", { "s32[4] {7, -7, 5, -2147483648}", "s32[4] {2, 2, 0, -1}" }, "", "s32[4] {3, -3, -1, -2147483648}" },
        { "divide", { "s64[2] {-9223372036854775808, 9}", "s64[2] {-1, 0}" }, "", "s64[2] {-9223372036854775808, -1}" },
        { "divide", { "s8[2] {-128, 0}", "s8[2] {-1, 0}" }, "", "s8[2] {-128, -1}" },
        { "divide", { "u8[3] {7, 9, 250}", "u8[3] {2, 0, 3}" }, "", "u8[3] {3, 255, 83}" },
        { "remainder", { "s32[5] {7, -7, 7, 5, -2147483648}", "s32[5] {3, 3, -3, 0, -1}" }, "", "s32[5] {1, -1, 1, 5, 0}" },
        { "remainder", { "s64[1] {-9223372036854775808}", "s64[1] {-1}" }, "", "s64[1] {0}" },
        { "remainder", { "u16[2] {7, 9}", "u16[2] {4, 0}" }, "", "u16[2] {3, 9}" },
    };
    RUN_ROWS("", rows);
}

TEST(eval_elementwise, integer_powers)
{
    static const eval_row rows[] = {
        { "power", { "s32[8] {2, -3, 0, 1, -1, -1, 7, 3}", "s32[8] {10, 3, 0, -5, -3, -4, -1, 40}" }, "",
          "s32[8] {1024, -27, 1, 1, -1, 1, 0, 689956897}" },
        { "power", { "u8[2] {3, 2}", "u8[2] {5, 200}" }, "", "u8[2] {243, 0}" },
    };
    RUN_ROWS("", rows);
}

TEST(eval_elementwise, shifts_of_the_width_or_more_move_every_bit_out)
{
    static const eval_row rows[] = {
        { "shift-left", { "s8[4] {1, 1, -1, 1}", "s8[4] {7, 8, 1, -1}" }, "", "s8[4] {-128, 0, -2, 0}" },
        { "shift-right-logical", { "s8[4] {-1, -128, 64, -1}", "s8[4] {1, 7, 8, -1}" }, "", "s8[4] {127, 1, 0, 0}" },
        { "shift-right-arithmetic", { "s8[4] {-128, 64, -5, 5}", "s8[4] {1, 9, -1, -1}" }, "", "s8[4] {-64, 0, -1, 0}" },
        { "shift-right-arithmetic", { "u8[3] {128, 64, 128}", "u8[3] {1, 1, 8}" }, "", "u8[3] {192, 32, 255}" },
        { "shift-left", { "u64[3] {1, 1, 3}", "u64[3] {63, 64, 1}" }, "", "u64[3] {9223372036854775808, 0, 6}" },
        { "shift-right-arithmetic", { "s64[2] {-9223372036854775808, -2}", "s64[2] {63, 64}" }, "", "s64[2] {-1, -1}" },
    };
    RUN_ROWS("", rows);
}

TEST(eval_elementwise, bool_adds_as_or_and_multiplies_as_and)
{
    static const eval_row rows[] = {
        { "add", { "pred[4] {0, 0, 1, 1}", "pred[4] {0, 1, 0, 1}" }, "", "pred[4] {0, 1, 1, 1}" },
        { "multiply", { "pred[4] {0, 0, 1, 1}", "pred[4] {0, 1, 0, 1}" }, "", "pred[4] {0, 0, 0, 1}" },
        { "xor", { "pred[4] {0, 0, 1, 1}", "pred[4] {0, 1, 0, 1}" }, "", "pred[4] {0, 1, 1, 0}" },
        { "maximum", { "pred[2] {0, 1}", "pred[2] {0, 0}" }, "", "pred[2] {0, 1}" },
        { "minimum", { "pred[2] {1, 1}", "pred[2] {0, 1}" }, "", "pred[2] {0, 1}" },
        { "not", { "pred[2] {0, 1}" }, "", "pred[2] {1, 0}" },
    };
    RUN_ROWS("", rows);
}

TEST(eval_elementwise, floats_keep_nan_and_signed_zeros)
{
    static const eval_row rows[] = {
        { "maximum", { "f32[4] {nan, 1, -0, 0}", "f32[4] {1, nan, 0, -0}" }, "", "f32[4] {nan, nan, 0, 0}" },
        { "minimum", { "f32[4] {nan, 1, -0, 0}", "f32[4] {1, nan, 0, -0}" }, "", "f32[4] {nan, nan, -0, -0}" },
        { "sign", { "f32[5] {-0, 0, nan, -3, inf}" }, "", "f32[5] {-0, 0, nan, -1, 1}" },
        { "abs", { "f32[3] {-0, -inf, -2}" }, "", "f32[3] {0, inf, 2}" },
        { "negate", { "f32[2] {0, -2}" }, "", "f32[2] {-0, 2}" },
        { "round-nearest-even", { "f32[6] {0.5, 1.5, 2.5, -0.5, -1.5, -0.2}" }, "", "f32[6] {0, 2, 2, -0, -2, -0}" },
        { "floor", { "f32[3] {-0.5, -0, 1.75}" }, "", "f32[3] {-1, -0, 1}" },
        { "ceil", { "f32[2] {-0.5, 1.25}" }, "", "f32[2] {-0, 2}" },
        { "remainder", { "f32[5] {5.5, -5.5, 5.5, 1, -4}", "f32[5] {2, 2, -2, inf, 2}" }, "",
          "f32[5] {1.5, -1.5, 1.5, 1, -0}" },
        { "divide", { "f32[4] {1, -1, 0, 1}", "f32[4] {0, 0, 0, -0}" }, "", "f32[4] {inf, -inf, nan, -inf}" },
        { "is-finite", { "f32[4] {inf, -inf, nan, 1}" }, "", "pred[4] {0, 0, 0, 1}" },
    };
    RUN_ROWS("", rows);
}

TEST(eval_elementwise, functions_at_their_limits)
{
    static const eval_row rows[] = {
        { "power", { "f32[7] {2, 0, nan, 1, -8, -2, 0}", "f32[7] {-1, 0, 0, nan, 0.5, 3, -1}" }, "",
          "f32[7] {0.5, 1, 1, 1, nan, -8, inf}" },
        { "rsqrt", { "f32[4] {-0, 0, 4, -1}" }, "", "f32[4] {-inf, inf, 0.5, nan}" },
        { "sqrt", { "f32[3] {-1, -0, 9}" }, "", "f32[3] {nan, -0, 3}" },
        { "log", { "f32[4] {0, -0, -1, 1}" }, "", "f32[4] {-inf, -inf, nan, 0}" },
        { "log-plus-one", { "f32[2] {-1, 1e-10}" }, "", "f32[2] {-inf, 1e-10}" },
        { "exponential-minus-one", { "f32[3] {1e-10, -inf, -0}" }, "", "f32[3] {1e-10, -1, -0}" },
        { "exponential", { "f32[4] {-inf, 0, 89, 1}" }, "", "f32[4] {0, 1, inf, 2.7182817}" },
        { "tanh", { "f32[3] {inf, -0, -inf}" }, "", "f32[3] {1, -0, -1}" },
        { "logistic", { "f32[4] {-inf, 0, inf, -1}" }, "", "f32[4] {0, 0.5, 1, 0.26894143}" },
        { "erf", { "f32[3] {inf, 0.5, -0}" }, "", "f32[3] {1, 0.5204999, -0}" },
        { "sine", { "f32[2] {inf, -0}" }, "", "f32[2] {nan, -0}" },
        { "cosine", { "f32[2] {0, 3.1415927}" }, "", "f32[2] {1, -1}" },
    };
    RUN_ROWS("", rows);
}

TEST(eval_elementwise, results_round_to_the_dtype)
{
    static const eval_row rows[] = {
        { "add", { "bf16[3] {256, 1, 256}", "bf16[3] {1, 0.00390625, 3}" }, "", "bf16[3] {256, 1, 260}" },
        { "multiply", { "f16[2] {60000, 0.0001}", "f16[2] {2, 0.0001}" }, "", "f16[2] {inf, 0}" },
        { "add", { "f8e4m3fn[2] {448, 1}", "f8e4m3fn[2] {448, 0.0625}" }, "", "f8e4m3fn[2] {nan, 1}" },
        { "add", { "f8e5m2[2] {57344, 4}", "f8e5m2[2] {57344, 0.5}" }, "", "f8e5m2[2] {inf, 4}" },
        { "add", { "f64[1] {1}", "f64[1] {1e-15}" }, "", "f64[1] {1.000000000000001}" },
        { "add", { "f32[1] {16777216}", "f32[1] {1}" }, "", "f32[1] {16777216}" },
    };
    RUN_ROWS("", rows);
}

TEST(eval_elementwise, select_and_clamp_take_scalars)
{
    static const eval_row rows[] = {
        { "select", { "pred[] true", "s32[2] {1, 2}", "s32[2] {3, 4}" }, "", "s32[2] {1, 2}" },
        { "select", { "pred[] false", "s32[2] {1, 2}", "s32[2] {3, 4}" }, "", "s32[2] {3, 4}" },
        { "select", { "pred[2] {1, 0}", "f64[2] {1, 2}", "f64[2] {3, 4}" }, "", "f64[2] {1, 4}" },
        { "clamp", { "f32[] 0", "f32[4] {-1, 0.5, nan, 7}", "f32[] 1" }, "", "f32[4] {0, 0.5, nan, 1}" },
        { "clamp", { "f32[] 2", "f32[1] {0}", "f32[] 1" }, "", "f32[1] {1}" },
        { "clamp", { "s8[3] {-5, 0, 0}", "s8[3] {-128, 9, -1}", "s8[3] {5, 5, 5}" }, "", "s8[3] {-5, 5, 0}" },
        { "clamp", { "u8[] 3", "u8[2] {255, 0}", "u8[] 200" }, "", "u8[2] {200, 3}" },
    };
    RUN_ROWS("", rows);
}

TEST(eval_elementwise, comparisons_with_nan_are_false_but_ne)
{
    static const eval_row rows[] = {
        { "compare", { "f32[4] {nan, 1, -0, 2}", "f32[4] {nan, nan, 0, 1}" }, ", direction=EQ", "pred[4] {0, 0, 1, 0}" },
        { "compare", { "f32[4] {nan, 1, -0, 2}", "f32[4] {nan, nan, 0, 1}" }, ", direction=NE", "pred[4] {1, 1, 0, 1}" },
        { "compare", { "f32[4] {nan, 1, -0, 2}", "f32[4] {nan, nan, 0, 1}" }, ", direction=GE", "pred[4] {0, 0, 1, 1}" },
        { "compare", { "f32[4] {nan, 1, -0, 2}", "f32[4] {nan, nan, 0, 1}" }, ", direction=LE", "pred[4] {0, 0, 1, 0}" },
        { "compare", { "s8[2] {-1, 1}", "s8[2] {1, 1}" }, ", direction=LT", "pred[2] {1, 0}" },
        { "compare", { "u8[2] {255, 1}", "u8[2] {1, 1}" }, ", direction=LT", "pred[2] {0, 0}" },
        { "compare", { "pred[2] {0, 1}", "pred[2] {1, 1}" }, ", direction=GE", "pred[2] {0, 1}" },
    };
    RUN_ROWS("", rows);
}

// -NaN < -inf < -1 < -0 < +0 < 1 < inf < NaN, each bit pattern of f32: every pair of them.
TEST(eval_elementwise, total_order_places_nan_and_zeros)
{
    eval_run r = eval_text("HloModule t\nENTRY main {\n"
                           "  bits = u32[8] constant({4290772992, 4286578688, 3212836864, 2147483648, 0, 1065353216, "
                           "2139095040, 2143289344})\n"
                           "  x = f32[8] bitcast-convert(bits)\n"
                           "  row = f32[8,8] broadcast(x), dimensions={0}\n"
                           "  column = f32[8,8] broadcast(x), dimensions={1}\n"
                           "  ROOT lt = pred[8,8] compare(row, column), direction=LT, type=TOTALORDER\n}\n", NULL, 0);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) EXPECT_EQ_INT(((const uint8_t *)r.out[0].data)[i * 8 + j], i < j);
    eval_run_fini(&r);
}

TEST(eval_elementwise, convert_truncates_and_saturates)
{
    static const eval_row rows[] = {
        { "convert", { "f32[6] {2.75, -2.75, nan, 3e9, -3e9, inf}" }, "",
          "s32[6] {2, -2, 0, 2147483647, -2147483648, 2147483647}" },
        { "convert", { "f32[5] {-1, 255.9, 256, nan, -inf}" }, "", "u8[5] {0, 255, 255, 0, 0}" },
        { "convert", { "f32[2] {9.3e18, -9.3e18}" }, "", "s64[2] {9223372036854775807, -9223372036854775808}" },
        { "convert", { "f64[2] {1.9e19, 18446744073709549568}" }, "", "u64[2] {18446744073709551615, 18446744073709549568}" },
        { "convert", { "bf16[2] {2.5, -3.5}" }, "", "s8[2] {2, -3}" },
        { "convert", { "s32[2] {300, -129}" }, "", "s8[2] {44, 127}" },
        { "convert", { "s8[1] {-1}" }, "", "u32[1] {4294967295}" },
        { "convert", { "u8[1] {200}" }, "", "s32[1] {200}" },
        { "convert", { "f32[4] {0, -0, nan, 0.1}" }, "", "pred[4] {0, 0, 1, 1}" },
        { "convert", { "s32[2] {256, 0}" }, "", "pred[2] {1, 0}" },
        { "convert", { "pred[2] {1, 0}" }, "", "f32[2] {1, 0}" },
    };
    RUN_ROWS("", rows);
}

// 2^53 + 2^29 + 1 is just above the middle of two fp32 values; by way of fp64 it would be a tie and go down.
TEST(eval_elementwise, convert_rounds_once)
{
    static const eval_row rows[] = {
        { "convert", { "s64[3] {16777217, 9007199791611905, -9007199791611905}" }, "",
          "f32[3] {16777216, 9007200328482816, -9007200328482816}" },
        { "convert", { "u64[1] {18446744073709551615}" }, "", "f32[1] {18446744073709551616}" },
        { "convert", { "s32[2] {257, 259}" }, "", "bf16[2] {256, 260}" },
        { "convert", { "f64[1] {1.00390625000090949}" }, "", "bf16[1] {1.0078125}" },
        { "convert", { "f64[2] {1e39, 1e-46}" }, "", "f32[2] {inf, 0}" },
        { "convert", { "f32[2] {1e6, 17}" }, "", "f8e4m3fn[2] {nan, 16}" },
    };
    RUN_ROWS("", rows);
}

TEST(eval_elementwise, bitcast_convert_regroups_bytes)
{
    static const eval_row rows[] = {
        { "bitcast-convert", { "f32[2] {1, -2}" }, "", "u32[2] {1065353216, 3221225472}" },
        { "bitcast-convert", { "u32[1] {67305985}" }, "", "u8[1,4] { {1, 2, 3, 4} }" },
        { "bitcast-convert", { "u8[2,4] { {1, 2, 3, 4}, {255, 0, 0, 128} }" }, "", "s32[2] {67305985, -2147483393}" },
        { "bitcast-convert", { "bf16[2] {1, -2}" }, "", "s16[2] {16256, -16384}" },
    };
    RUN_ROWS("", rows);
}

TEST(eval_elementwise, reduce_precision_to_half)
{
    static const eval_row rows[] = {
        { "reduce-precision", { "f32[9] {65504, 65520, 6.1035156e-05, 6e-05, -6e-05, 1.00048828125, 1.00146484375, nan, -inf}" },
          ", exponent_bits=5, mantissa_bits=10", "f32[9] {65504, inf, 6.1035156e-05, 0, -0, 1, 1.001953125, nan, -inf}" },
        { "reduce-precision", { "f32[2] {3.0e38, 1.75}" }, ", exponent_bits=8, mantissa_bits=0", "f32[2] {inf, 2}" },
        { "reduce-precision", { "f16[2] {5.9604645e-08, 1.0009765625}" }, ", exponent_bits=5, mantissa_bits=10",
          "f16[2] {5.9604645e-08, 1.0009765625}" },
    };
    RUN_ROWS("", rows);
}

TEST(eval_elementwise, an_undefined_dtype_is_named)
{
    AUTO_STATUS s = eval_text_fails("HloModule t\nENTRY main {\n  a = s32[2] constant({1, 2})\n"
                                    "  ROOT r = f4e2m1fn[2] convert(a)\n}\n", NULL);
    EXPECT(s);
    EXPECT_EQ_INT(glia_status_code(s), GLIA_CODE_UNSUPPORTED);
    EXPECT(strstr(glia_status_message(s), "test.hlo.txt:4"));
    EXPECT(strstr(glia_status_message(s), "conversion from s32 to f4e2m1"));
}
