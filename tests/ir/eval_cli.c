// SPDX-License-Identifier: Apache-2.0
// Evaluates case directories for eval_reference.py: `eval_cli [--precise] dir...`.
//
// A case directory holds module.hlo.txt and one raw little-endian file a parameter leaf, in0.raw, in1.raw, ...; the
// results become out0.raw, ... in it. A failed case prints "dir: code: message" and the program ends with 1.
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "ir/ir.h"

static glia_status read_leaf(const char *dir, int index, const ir_shape *shape, glia_arena *arena, ir_value *out)
{
    const char *path = glia_arena_printf(arena, "%s/in%d.raw", dir, index);
    glia_map file;

    TRY(glia_map_open(path, &file));
    const size_t want = ir_shape_bytes(shape), got = file.bytes.size;
    out->shape = *shape;
    out->data = glia_arena_alloc(arena, want);
    if (got == want && want) memcpy(out->data, file.bytes.data, want);
    glia_map_fini(&file);
    ENSURE(got == want, INVALID, "'%s' has %zu bytes, the parameter needs %zu", path, got, want);
    return GLIA_OK;
}

static glia_status read_parameter(const char *dir, const ir_shape *shape, glia_arena *arena, ir_value *inputs,
                                  int *count)
{
    if (!shape->is_tuple) {
        TRY(read_leaf(dir, *count, shape, arena, &inputs[*count]));
        (*count)++;
        return GLIA_OK;
    }
    for (int i = 0; i < shape->tuple_size; i++)
        TRY(read_parameter(dir, &shape->elements[i], arena, inputs, count));
    return GLIA_OK;
}

static glia_status load_module(const char *dir, glia_arena *arena, ir_module **out)
{
    const char *path = glia_arena_printf(arena, "%s/module.hlo.txt", dir);
    glia_map file;

    TRY(glia_map_open(path, &file));
    glia_status s = ir_parse(file.bytes, path, out);
    glia_map_fini(&file);
    return s;
}

static glia_status run_case(const char *dir, bool precise, glia_arena *arena)
{
    AUTO(ir_module) m = NULL;
    const ir_eval_options options = {.precise = precise};
    ir_value *inputs, *out;
    int input_count = 0, leaves = 0, out_count;

    TRY(load_module(dir, arena, &m));
    TRY(ir_verify(m));
    for (uint32_t p = 0; p < m->entry->params.count; p++)
        leaves += ir_shape_leaves(&m->entry->params.items[p]->shape);
    inputs = ARENA_ARRAY(arena, ir_value, (size_t)leaves);
    for (uint32_t p = 0; p < m->entry->params.count; p++)
        TRY(read_parameter(dir, &m->entry->params.items[p]->shape, arena, inputs, &input_count));
    TRY(ir_eval(m, inputs, input_count, arena, &options, &out, &out_count));
    for (int i = 0; i < out_count; i++) {
        const glia_span bytes = {out[i].data, ir_shape_bytes(&out[i].shape)};
        TRY(glia_file_write_atomic(glia_arena_printf(arena, "%s/out%d.raw", dir, i), bytes));
    }
    return GLIA_OK;
}

int main(int argc, char **argv)
{
    bool precise = false, failed = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--precise") == 0) {
            precise = true;
            continue;
        }
        AUTO(glia_arena) arena = glia_arena_create();
        AUTO_STATUS s = run_case(argv[i], precise, arena);
        if (!s) continue;
        printf("%s: %s: %s\n", argv[i], glia_code_name(glia_status_code(s)), glia_status_message(s));
        failed = true;
    }
    return failed;
}
