// SPDX-License-Identifier: Apache-2.0
// Shape inference of ops without operands: their shape is stated, and only judged here.
#include "ir/infer.h"
#include "ir/module.h"

glia_status ir_infer_parameter(const ir_infer *in, ir_shape *out)
{
    ENSURE(in->given, INVALID, "'parameter' needs its shape stated, none is");
    ENSURE(in->attrs->index >= 0, INVALID, "'parameter' has number %lld, numbers start at 0",
           (long long)in->attrs->index);
    *out = *in->given;
    return GLIA_OK;
}

glia_status ir_infer_constant(const ir_infer *in, ir_shape *out)
{
    TRY(ir_infer_need_given(in));
    size_t want = ir_shape_bytes(in->given);
    ENSURE(in->attrs->literal.size_bytes == want && (want == 0 || in->attrs->literal.data), INVALID,
           "'constant' has %zu bytes of data, %s needs %zu", in->attrs->literal.size_bytes,
           ir_infer_text(in, in->given), want);
    *out = *in->given;
    return GLIA_OK;
}

glia_status ir_infer_iota(const ir_infer *in, ir_shape *out)
{
    TRY(ir_infer_need_given(in));
    ENSURE(in->attrs->index >= 0 && in->attrs->index < in->given->rank, INVALID,
           "'iota' counts along dim %lld, %s has dims 0 to %d", (long long)in->attrs->index,
           ir_infer_text(in, in->given), in->given->rank - 1);
    ENSURE(in->given->dtype != NUM_BOOL, INVALID, "'iota' gives numbers, it is stated to give %s",
           ir_infer_text(in, in->given));
    *out = *in->given;
    return GLIA_OK;
}
