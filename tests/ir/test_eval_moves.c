// SPDX-License-Identifier: Apache-2.0
// Ops that move elements: pad, slice, gather, scatter, dynamic slices, dot's dimension numbers, at their edges. The
// examples of the StableHLO specification are among the rows; the other values are worked out by hand.
#include "ir/eval_helper.h"

// clang-format off: programs and rows are laid out by hand

static const char *add_region = "add {\n  x = s32[] parameter(0)\n  y = s32[] parameter(1)\n  ROOT r = s32[] add(x, y)\n}\n";
static const char *set_region = "set {\n  x = s32[] parameter(0)\n  ROOT y = s32[] parameter(1)\n}\n";

TEST(eval_moves, pad_with_interior_and_negative_edges)
{
    static const eval_row rows[] = {
        { "pad", { "s32[2,3] { {1, 2, 3}, {4, 5, 6} }", "s32[] 0" }, ", padding=0_2_1x1_1_2",
          "s32[5,9] { {0,1,0,0,2,0,0,3,0}, {0,0,0,0,0,0,0,0,0}, {0,4,0,0,5,0,0,6,0}, {0,0,0,0,0,0,0,0,0}, {0,0,0,0,0,0,0,0,0} }" },
        { "pad", { "s32[4] {1, 2, 3, 4}", "s32[] 9" }, ", padding=-1_-2_1", "s32[4] {9, 2, 9, 3}" },
        { "pad", { "s32[3] {1, 2, 3}", "s32[] 9" }, ", padding=-2_2", "s32[3] {3, 9, 9}" },
        // what a negative edge cuts off must not land in the row before
        { "pad", { "s32[2,2] { {1, 2}, {3, 4} }", "s32[] 9" }, ", padding=0_0x-1_1_1", "s32[2,3] { {9, 2, 9}, {9, 4, 9} }" },
        { "pad", { "s32[3] {1, 2, 3}", "s32[] 9" }, ", padding=2_-4", "s32[1] {9}" },
        { "pad", { "s32[3] {1, 2, 3}", "s32[] 9" }, ", padding=-5_4", "s32[2] {9, 9}" },
    };
    RUN_ROWS("", rows);
}

TEST(eval_moves, slices_reversals_and_concatenation)
{
    static const eval_row rows[] = {
        { "slice", { "s32[10] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}" }, ", slice={[1:9:3]}", "s32[3] {1, 4, 7}" },
        { "slice", { "s32[2,3] { {1, 2, 3}, {4, 5, 6} }" }, ", slice={[1:2], [0:3:2]}", "s32[1,2] { {4, 6} }" },
        { "reverse", { "s32[2,3] { {1, 2, 3}, {4, 5, 6} }" }, ", dimensions={1}", "s32[2,3] { {3, 2, 1}, {6, 5, 4} }" },
        { "reverse", { "s32[2,3] { {1, 2, 3}, {4, 5, 6} }" }, ", dimensions={0,1}", "s32[2,3] { {6, 5, 4}, {3, 2, 1} }" },
        { "transpose", { "s32[2,3] { {1, 2, 3}, {4, 5, 6} }" }, ", dimensions={1,0}", "s32[3,2] { {1, 4}, {2, 5}, {3, 6} }" },
        { "concatenate", { "s32[2,1] { {1}, {2} }", "s32[2,2] { {3, 4}, {5, 6} }" }, ", dimensions={1}",
          "s32[2,3] { {1, 3, 4}, {2, 5, 6} }" },
        { "broadcast", { "s32[2] {1, 2}" }, ", dimensions={1}", "s32[3,2] { {1, 2}, {1, 2}, {1, 2} }" },
        { "broadcast", { "s32[2] {1, 2}" }, ", dimensions={0}", "s32[2,3] { {1, 1, 1}, {2, 2, 2} }" },
        { "broadcast", { "s32[2,3] { {1, 2, 3}, {4, 5, 6} }" }, ", dimensions={1,0}", "s32[3,2] { {1, 4}, {2, 5}, {3, 6} }" },
        { "iota", { NULL }, ", iota_dimension=0", "s32[3,2] { {0, 0}, {1, 1}, {2, 2} }" },
        { "iota", { NULL }, ", iota_dimension=1", "f16[2,3] { {0, 1, 2}, {0, 1, 2} }" },
    };
    RUN_ROWS("", rows);
}

TEST(eval_moves, an_iota_wraps_and_rounds)
{
    eval_run r = eval_text("HloModule t\nENTRY main {\n  a = u8[300] iota(), iota_dimension=0\n"
                           "  b = bf16[300] iota(), iota_dimension=0\n"
                           "  ROOT t = (u8[300], bf16[300]) tuple(a, b)\n}\n", NULL, 0);
    EXPECT_EQ_INT(((const uint8_t *)r.out[0].data)[299], 43);
    EXPECT_NEAR(num_bf16_to_f32(((const uint16_t *)r.out[1].data)[257]), 256, 0);
    EXPECT_NEAR(num_bf16_to_f32(((const uint16_t *)r.out[1].data)[299]), 300, 0);
    eval_run_fini(&r);
}

TEST(eval_moves, dynamic_starts_are_clamped)
{
    static const eval_row rows[] = {
        { "dynamic-slice", { "s32[4] {0, 1, 2, 3}", "s32[] 3" }, ", dynamic_slice_sizes={2}", "s32[2] {2, 3}" },
        { "dynamic-slice", { "s32[4] {0, 1, 2, 3}", "s8[] -5" }, ", dynamic_slice_sizes={2}", "s32[2] {0, 1}" },
        { "dynamic-slice", { "s32[4] {0, 1, 2, 3}", "u64[] 18446744073709551615" }, ", dynamic_slice_sizes={2}", "s32[2] {2, 3}" },
        { "dynamic-slice", { "s32[2,3] { {1, 2, 3}, {4, 5, 6} }", "s64[] 9", "s64[] 1" }, ", dynamic_slice_sizes={1,2}",
          "s32[1,2] { {5, 6} }" },
        { "dynamic-update-slice", { "s32[4] {0, 1, 2, 3}", "s32[2] {8, 9}", "s32[] 3" }, "", "s32[4] {0, 1, 8, 9}" },
        { "dynamic-update-slice", { "s32[4] {0, 1, 2, 3}", "s32[2] {8, 9}", "u8[] 255" }, "", "s32[4] {0, 1, 8, 9}" },
        { "dynamic-update-slice", { "s32[2,2] { {1, 2}, {3, 4} }", "s32[1,1] { {9} }", "s32[] -1", "s32[] 1" }, "",
          "s32[2,2] { {1, 9}, {3, 4} }" },
    };
    RUN_ROWS("", rows);
}

#define CUBE "{ { {1,2},{3,4},{5,6},{7,8} }, { {9,10},{11,12},{13,14},{15,16} }, { {17,18},{19,20},{21,22},{23,24} } }"

// The first row is the specification's example, with its out-of-range start clamped.
TEST(eval_moves, gather_with_every_attribute)
{
    static const eval_row rows[] = {
        { "gather", { "s32[3,4,2] " CUBE, "s64[2,3,2] { { {0,0},{1,0},{2,1} }, { {0,1},{1,1},{0,9} } }" },
          ", offset_dims={2,3}, collapsed_slice_dims={0}, start_index_map={1,0}, index_vector_dim=2, slice_sizes={1,2,2}",
          "s32[2,3,2,2] { { { {1,2},{3,4} }, { {3,4},{5,6} }, { {13,14},{15,16} } }, "
          "{ { {9,10},{11,12} }, { {11,12},{13,14} }, { {17,18},{19,20} } } }" },
        // index_vector_dim = rank: each index is a scalar
        { "gather", { "s32[3,2] { {1, 2}, {3, 4}, {5, 6} }", "s32[4] {2, 0, -7, 99}" },
          ", offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,2}",
          "s32[4,2] { {5, 6}, {1, 2}, {1, 2}, {5, 6} }" },
        // the window before the batch
        { "gather", { "s32[3,2] { {1, 2}, {3, 4}, {5, 6} }", "s32[2] {2, 0}" },
          ", offset_dims={0}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,2}",
          "s32[2,2] { {5, 1}, {6, 2} }" },
        // batching dims: row i of the operand is read with row i of the indices
        { "gather", { "s32[2,3] { {1, 2, 3}, {4, 5, 6} }", "s32[2,2,1] { { {2}, {0} }, { {1}, {1} } }" },
          ", offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, "
          "start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1}",
          "s32[2,2] { {3, 1}, {5, 5} }" },
        // a window that is not collapsed is clamped so that it fits
        { "gather", { "s32[5] {0, 1, 2, 3, 4}", "u8[1] {4}" },
          ", offset_dims={0}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=0, slice_sizes={3}", "s32[3] {2, 3, 4}" },
    };
    RUN_ROWS("", rows);
}

#define ONES "{ { { {1,1},{1,1} }, { {1,1},{1,1} }, { {1,1},{1,1} } }, { { {1,1},{1,1} }, { {1,1},{1,1} }, { {1,1},{1,1} } } }"

// The first row is the specification's example; its last window is out of range and changes nothing.
TEST(eval_moves, scatter_adds_and_drops_what_does_not_fit)
{
    static const eval_row rows[] = {
        { "scatter", { "s32[3,4,2] " CUBE, "s64[2,3,2] { { {0,2},{1,0},{2,1} }, { {0,1},{1,0},{0,9} } }", "s32[2,3,2,2] " ONES },
          ", update_window_dims={2,3}, inserted_window_dims={0}, scatter_dims_to_operand_dims={1,0}, index_vector_dim=2, "
          "to_apply=add",
          "s32[3,4,2] { { {1,2},{5,6},{7,8},{7,8} }, { {10,11},{12,13},{14,15},{16,17} }, { {18,19},{20,21},{21,22},{23,24} } }" },
        // a window half outside is dropped whole, not clamped; so is a negative start
        { "scatter", { "s32[5] {0, 0, 0, 0, 0}", "s32[3,1] { {4}, {-1}, {2} }", "s32[3,2] { {1, 2}, {3, 4}, {5, 6} }" },
          ", update_window_dims={1}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
          "s32[5] {0, 0, 5, 6, 0}" },
        // batching dims
        { "scatter", { "s32[2,3] { {0, 0, 0}, {0, 0, 0} }", "s32[2,1] { {2}, {0} }", "s32[2] {7, 8}" },
          ", update_window_dims={}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, input_batching_dims={0}, "
          "scatter_indices_batching_dims={0}, index_vector_dim=1, to_apply=add",
          "s32[2,3] { {0, 0, 7}, {8, 0, 0} }" },
    };
    RUN_ROWS(add_region, rows);
}

TEST(eval_moves, scatter_of_a_region_that_ignores_the_old_value)
{
    static const eval_row rows[] = {
        { "scatter", { "s32[4] {1, 2, 3, 4}", "s32[2,1] { {3}, {0} }", "s32[2] {8, 9}" },
          ", update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=set",
          "s32[4] {9, 2, 3, 8}" },
    };
    RUN_ROWS(set_region, rows);
}

TEST(eval_moves, dot_with_any_dimension_numbers)
{
    static const eval_row rows[] = {
        { "dot", { "s32[2,2] { {1, 2}, {3, 4} }", "s32[2,2] { {5, 6}, {7, 8} }" },
          ", lhs_contracting_dims={1}, rhs_contracting_dims={0}", "s32[2,2] { {19, 22}, {43, 50} }" },
        { "dot", { "s32[2,2] { {1, 2}, {3, 4} }", "s32[2,2] { {5, 6}, {7, 8} }" },
          ", lhs_contracting_dims={0}, rhs_contracting_dims={1}", "s32[2,2] { {23, 31}, {34, 46} }" },
        // two contracting dims, paired crosswise: sum over i, j of a[i, j] b[j, i]
        { "dot", { "s32[2,2] { {1, 2}, {3, 4} }", "s32[2,2] { {5, 6}, {7, 8} }" },
          ", lhs_contracting_dims={0,1}, rhs_contracting_dims={1,0}", "s32[] 69" },
        // a batch dim that is the last of the one and the first of the other
        { "dot", { "s32[3,2] { {1, 2}, {3, 4}, {5, 6} }", "s32[2,3] { {1, 0, 2}, {0, 1, 1} }" },
          ", lhs_batch_dims={1}, rhs_batch_dims={0}, lhs_contracting_dims={0}, rhs_contracting_dims={1}", "s32[2] {11, 10}" },
        { "dot", { "s8[2] {127, -128}", "s8[2] {127, -128}" }, ", lhs_contracting_dims={0}, rhs_contracting_dims={0}",
          "s32[] 32513" },
        { "dot", { "s8[2] {127, -128}", "s8[2] {127, -128}" }, ", lhs_contracting_dims={0}, rhs_contracting_dims={0}",
          "s8[] 1" },
        { "dot", { "pred[2,2] { {1, 0}, {0, 0} }", "pred[2] {1, 1}" }, ", lhs_contracting_dims={1}, rhs_contracting_dims={0}",
          "pred[2] {1, 0}" },
        // bf16 in, one rounding out: 256 + 1 + 1 = 258, where a bf16 sum would stay at 256
        { "dot", { "bf16[3] {256, 1, 1}", "bf16[3] {1, 1, 1}" }, ", lhs_contracting_dims={0}, rhs_contracting_dims={0}",
          "bf16[] 258" },
        { "dot", { "f32[2] {1, 2}", "f32[3] {1, 10, 100}" }, ", lhs_contracting_dims={}, rhs_contracting_dims={}",
          "f32[2,3] { {1, 10, 100}, {2, 20, 200} }" },
    };
    RUN_ROWS("", rows);
}

TEST(eval_moves, dot_over_nothing_is_zero)
{
    eval_run r = eval_text("HloModule t\nENTRY main {\n  z = f32[] constant(7)\n"
                           "  a = f32[2,0] broadcast(z), dimensions={}\n  b = f32[0,3] broadcast(z), dimensions={}\n"
                           "  c = f32[0,2] broadcast(z), dimensions={}\n"
                           "  d = f32[2,3] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                           "  e = f32[0,3] dot(c, d), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                           "  ROOT t = (f32[2,3], f32[0,3]) tuple(d, e)\n}\n", NULL, 0);
    EXPECT_LEAF(r, 0, float, 0, 0, 0, 0, 0, 0);
    EXPECT_EQ_INT(ir_shape_elements(&r.out[1].shape), 0);
    eval_run_fini(&r);
}
