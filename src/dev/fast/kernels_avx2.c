// SPDX-License-Identifier: Apache-2.0
// The kernels for hosts with the features that this file is compiled with (see kernels.inc); never called elsewhere.
#include "dev/fast/simd_avx2.h"

#define NAME dev_kernels_avx2
#define LEVEL "avx2"
#define REGISTER_ROWS_8 0
#include "dev/fast/kernels.inc"
