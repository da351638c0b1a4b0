// SPDX-License-Identifier: Apache-2.0
#include "num/lanes_avx2.h"

#include "lanes.h"

#define DEFINE(name)                                                                                                   \
    static void over_##name(float *out, const float *in, size_t count)                                                 \
    {                                                                                                                  \
        for (size_t i = 0; i < count; i += 8)                                                                          \
            _mm256_storeu_ps(out + i, avx2_##name(_mm256_loadu_ps(in + i)));                                           \
    }
LANE_FUNCTIONS(DEFINE)

#define ENTRY(name) over_##name,
const lanes_fn lanes_avx2[] = {LANE_FUNCTIONS(ENTRY)};
