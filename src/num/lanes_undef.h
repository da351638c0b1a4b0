// SPDX-License-Identifier: Apache-2.0
// Ends what a lanes_*.h began: the next one may define its own. No include guard, like math_lanes.h.
#undef lane_f
#undef lane_u
#undef lane_m
#undef LANE
#undef LANE_F
#undef LANE_U
#undef LANE_ADD
#undef LANE_SUB
#undef LANE_MUL
#undef LANE_DIV
#undef LANE_FMA
#undef LANE_SQRT
#undef LANE_MAX
#undef LANE_MIN
#undef LANE_LT
#undef LANE_NAN
#undef LANE_SELECT
#undef LANE_BITS
#undef LANE_FLOAT
#undef LANE_AND
#undef LANE_XOR
#undef LANE_IADD
#undef LANE_ISUB
#undef LANE_SHL
#undef LANE_SAR
#undef LANE_TO_FLOAT
