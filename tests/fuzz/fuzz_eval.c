// SPDX-License-Identifier: Apache-2.0
// Fuzz target: whatever text parses and verifies must evaluate or fail politely. Inputs are zeros, and the limits are
// small, so that a hostile shape or loop ends in EXHAUSTED or HANG.
#include "ir/ir.h"

enum { MEMORY_LIMIT = 1 << 20, WHILE_LIMIT = 16 };

static bool bind_zeros(const ir_shape *shape, glia_arena *arena, ir_value *inputs, int *count)
{
    if (shape->is_tuple) {
        for (int i = 0; i < shape->tuple_size; i++)
            if (!bind_zeros(&shape->elements[i], arena, inputs, count)) return false;
        return true;
    }
    size_t bytes = num_bits(shape->dtype) < 8 ? 1 : (size_t)num_bits(shape->dtype) / 8;
    for (int d = 0; d < shape->rank; d++)
        if (__builtin_mul_overflow(bytes, (size_t)shape->dims[d], &bytes) || bytes > MEMORY_LIMIT) return false;
    inputs[(*count)++] = (ir_value){*shape, glia_arena_alloc(arena, bytes)};
    return true;
}

static void evaluate(const ir_module *m, glia_arena *arena)
{
    const ir_eval_options options = {.while_limit = WHILE_LIMIT, .memory_limit = MEMORY_LIMIT};
    int leaves = 0, count = 0, out_count;
    ir_value *out;

    for (uint32_t p = 0; p < m->entry->params.count; p++)
        leaves += ir_shape_leaves(&m->entry->params.items[p]->shape);
    ir_value *inputs = ARENA_ARRAY(arena, ir_value, (size_t)leaves);
    for (uint32_t p = 0; p < m->entry->params.count; p++)
        if (!bind_zeros(&m->entry->params.items[p]->shape, arena, inputs, &count)) return;
    AUTO_STATUS s = ir_eval(m, inputs, count, arena, &options, &out, &out_count);
    (void)s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(ir_module) m = NULL;
    AUTO(glia_arena) arena = glia_arena_create();
    AUTO_STATUS parsed = ir_parse((glia_span){data, size}, "fuzz", &m);

    if (parsed) return 0;
    AUTO_STATUS verified = ir_verify(m);
    if (!verified) evaluate(m, arena);
    return 0;
}
