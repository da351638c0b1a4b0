// SPDX-License-Identifier: Apache-2.0
// ir_eval: checks the inputs against the entry's parameters, runs it, copies the results into the caller's arena.
#include "ir/eval/eval.h"

#include <string.h>
#include <unistd.h>

enum { WHILE_LIMIT = 100000000 };

static size_t host_memory(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (size_t)pages * (size_t)size : SIZE_MAX / 2;
}

static glia_status shapes_differ(const ir_inst *parameter, int leaf, const ir_shape *got, const ir_shape *want)
{
    AUTO_VALUE(glia_strbuf) text = {0};

    glia_put(&text, "has shape ");
    ir_shape_print(&text, got);
    glia_put(&text, ", the parameter is ");
    ir_shape_print(&text, want);
    return GLIA_FAIL(INVALID, "input for leaf %d of parameter '%s' %s", leaf, parameter->name, glia_strbuf_str(&text));
}

static glia_status bind_parameter(ir_eval_context *c, const ir_inst *parameter, const ir_value *inputs,
                                  ir_eval_value *out)
{
    TRY(ir_eval_value_new(c, &parameter->shape, out));
    for (int i = 0; i < out->count; i++) {
        if (!ir_shape_equal(&inputs[i].shape, out->leaves[i].shape))
            return shapes_differ(parameter, i, &inputs[i].shape, out->leaves[i].shape);
        out->leaves[i].data = inputs[i].data;
    }
    return GLIA_OK;
}

static glia_status bind_inputs(ir_eval_context *c, const ir_value *inputs, int input_count, ir_eval_value **out)
{
    const ir_computation *entry = c->module->entry;
    int want = 0, at = 0;

    for (uint32_t p = 0; p < entry->params.count; p++)
        want += ir_shape_leaves(&entry->params.items[p]->shape);
    ENSURE(want == input_count, INVALID, "module '%s' takes %d inputs, got %d", c->module->name, want, input_count);
    TRY(ir_eval_scratch(c, entry->params.count, sizeof **out, out));
    for (uint32_t p = 0; p < entry->params.count; p++) {
        TRY(bind_parameter(c, entry->params.items[p], inputs + at, &(*out)[p]));
        at += (*out)[p].count;
    }
    return GLIA_OK;
}

static glia_status copy_results(const ir_eval_value *result, glia_arena *arena, ir_value **out, int *out_count)
{
    ir_value *values = ARENA_ARRAY(arena, ir_value, (size_t)result->count);

    for (int i = 0; i < result->count; i++) {
        size_t bytes;
        TRY(ir_eval_bytes(result->leaves[i].shape, &bytes));
        values[i].shape = *result->leaves[i].shape;
        values[i].data = glia_arena_alloc(arena, bytes);
        if (bytes) memcpy(values[i].data, result->leaves[i].data, bytes);
    }
    *out = values;
    *out_count = result->count;
    return GLIA_OK;
}

static glia_status evaluate(ir_eval_context *c, const ir_value *inputs, int input_count, glia_arena *arena,
                            ir_value **out, int *out_count)
{
    ir_eval_value *args, result;

    TRY(bind_inputs(c, inputs, input_count, &args));
    TRY(ir_eval_value_new(c, &c->module->entry->root->shape, &result));
    TRY(ir_eval_computation(c, c->module->entry, args, &result));
    return copy_results(&result, arena, out, out_count);
}

glia_status ir_eval(const ir_module *m, const ir_value *inputs, int input_count, glia_arena *arena,
                    const ir_eval_options *options, ir_value **out, int *out_count)
{
    ir_eval_context c = {.module = m};

    *out = NULL;
    *out_count = 0;
    if (options) c.options = *options;
    if (c.options.while_limit == 0) c.options.while_limit = WHILE_LIMIT;
    if (c.options.memory_limit == 0) c.options.memory_limit = host_memory();
    glia_status s = evaluate(&c, inputs, input_count, arena, out, out_count);
    ir_eval_context_fini(&c);
    return s;
}
