// SPDX-License-Identifier: Apache-2.0
#include "num/lanes_avx512.h"

#include "lanes.h"

#define DEFINE(name)                                                                                                   \
    static void over_##name(float *out, const float *in, size_t count)                                                 \
    {                                                                                                                  \
        for (size_t i = 0; i < count; i += 16)                                                                         \
            _mm512_storeu_ps(out + i, avx512_##name(_mm512_loadu_ps(in + i)));                                         \
    }
LANE_FUNCTIONS(DEFINE)

#define ENTRY(name) over_##name,
const lanes_fn lanes_avx512[] = {LANE_FUNCTIONS(ENTRY)};
