// SPDX-License-Identifier: Apache-2.0
// The kernels for hosts with the features that this file is compiled with (see kernels.inc); never called elsewhere.
#include "dev/fast/simd_avx512.h"

#define NAME dev_kernels_avx512bf16
#define LEVEL "avx512bf16"
#define REGISTER_ROWS_8 1
#define HAS_PAIRS 1
#include "dev/fast/kernels.inc"
