// SPDX-License-Identifier: Apache-2.0
// A program and what XLA made of it mean the same: the dumps in hlo/ come in pairs, and both are evaluated on the same
// drawn inputs. This is what judges the parser's normal forms (bitcast by layout, reduce-window, fusions, copies).
//
// Tolerance: XLA reorders sums and keeps bf16 chains in f32, so results differ by a few roundings of the result's type:
// 16 ulp of f32, or 4 ulp of bf16 and f16, relative to the largest magnitude of that result.
#include "base/file.h"
#include "base/rng.h"
#include "ir/ir_helper.h"

static void fill(glia_rng *r, const ir_value *v)
{
    int64_t n = ir_shape_elements(&v->shape);
    size_t size = (size_t)num_size(v->shape.dtype);
    for (int64_t i = 0; i < n; i++) {
        double x = num_is_float(v->shape.dtype) ? glia_rng_normal(r) : (double)glia_rng_below(r, 3);
        num_store(v->shape.dtype, (char *)v->data + (size_t)i * size, num_from_f64(v->shape.dtype, x));
    }
}

static int draw_inputs(const ir_module *m, glia_arena *a, ir_value **out)
{
    int count = (int)m->entry->params.count;
    glia_rng r = glia_rng_of(5);
    *out = ARENA_ARRAY(a, ir_value, (size_t)count);
    for (int i = 0; i < count; i++) {
        ir_value *v = &(*out)[i];
        v->shape = m->entry->params.items[i]->shape;
        v->data = glia_arena_alloc(a, ir_shape_bytes(&v->shape));
        fill(&r, v);
    }
    return count;
}

static void compare(const char *what, int leaf, const ir_value *a, const ir_value *b)
{
    num_dtype t = a->shape.dtype;
    int64_t n = ir_shape_elements(&a->shape);
    size_t size = (size_t)num_size(t);
    double scale = 0, tolerance = 0;
    EXPECT(ir_shape_equal(&a->shape, &b->shape));
    for (int64_t i = 0; i < n; i++) {
        double x = num_to_f64(t, num_load(t, (const char *)a->data + (size_t)i * size));
        if (isfinite(x) && fabs(x) > scale) scale = fabs(x);
    }
    if (num_is_float(t)) tolerance = scale * (t == NUM_F32 ? 16 : 4) * ldexp(1, -num_dtype_get(t)->mantissa_bits);
    for (int64_t i = 0; i < n; i++) {
        double x = num_to_f64(t, num_load(t, (const char *)a->data + (size_t)i * size));
        double y = num_to_f64(t, num_load(t, (const char *)b->data + (size_t)i * size));
        if (x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= tolerance) continue;
        FAIL_TEST("%s: element %lld of result %d is %.9g before optimisation and %.9g after (tolerance %.3g)", what,
                  (long long)i, leaf, x, y, tolerance);
    }
}

static void read(const char *path, ir_module **out)
{
    glia_map text = {0};
    EXPECT_OK(glia_map_open(path, &text));
    EXPECT_OK(ir_parse(text.bytes, path, out));
    glia_map_fini(&text);
}

TEST(equivalence, optimised_programs_compute_the_same)
{
    int count = 0, compared = 0;
    char **list = helper_list("tests/ir/hlo", ".opt.hlo.txt", &count);
    for (int i = 0; i < count; i++) {
        AUTO(glia_arena) arena = glia_arena_create();
        ir_module *plain = NULL, *optimised = NULL;
        ir_value *inputs, *a, *b;
        int a_count, b_count;
        char *plain_path = glia_arena_printf(arena, "%.*s.hlo.txt", (int)(strstr(list[i], ".opt.") - list[i]), list[i]);
        read(plain_path, &plain);
        read(list[i], &optimised);
        int input_count = draw_inputs(plain, arena, &inputs);
        ir_eval_options options = {.precise = true};
        EXPECT_OK(ir_eval(plain, inputs, input_count, arena, &options, &a, &a_count));
        EXPECT_OK(ir_eval(optimised, inputs, input_count, arena, &options, &b, &b_count));
        EXPECT_EQ_INT(a_count, b_count);
        for (int leaf = 0; leaf < a_count; leaf++)
            compare(list[i], leaf, &a[leaf], &b[leaf]);
        compared++;
        ir_module_destroy(plain);
        ir_module_destroy(optimised);
    }
    EXPECT(compared >= 19);
    helper_free_list(list, count);
}

// ---- bitcast, against its definition: the same bytes, read in another order ----

// The position in memory of the element that is number `logical` in row-major order.
static int64_t memory_position(int rank, const int64_t *dims, const int *minor_to_major, int64_t logical)
{
    int64_t index[4], stride = 1, position = 0;
    for (int d = rank - 1; d >= 0; d--) {
        index[d] = logical % dims[d];
        logical /= dims[d];
    }
    for (int i = 0; i < rank; i++) {
        position += index[minor_to_major[i]] * stride;
        stride *= dims[minor_to_major[i]];
    }
    return position;
}

static void check_bitcast(const int *from, int rank, const int64_t *dims, const int *to)
{
    const int64_t from_dims[] = {2, 3, 4};
    char text[256], shape[64];
    if (rank == 2)
        snprintf(shape, sizeof shape, "f32[%d,%d]{%d,%d}", (int)dims[0], (int)dims[1], to[0], to[1]);
    else
        snprintf(shape, sizeof shape, "f32[%d,%d,%d]{%d,%d,%d}", (int)dims[0], (int)dims[1], (int)dims[2], to[0], to[1],
                 to[2]);
    snprintf(text, sizeof text,
             "HloModule m\nENTRY e { x = f32[2,3,4]{%d,%d,%d} parameter(0)\n ROOT b = %s bitcast(x) }", from[0],
             from[1], from[2], shape);
    AUTO(ir_module) m = helper_must_parse(text);
    AUTO(glia_arena) arena = glia_arena_create();
    float x[24], memory[24];
    for (int i = 0; i < 24; i++)
        x[i] = (float)i;
    for (int i = 0; i < 24; i++)
        memory[memory_position(3, from_dims, from, i)] = x[i];
    ir_value input = {.shape = m->entry->params.items[0]->shape, .data = x}, *out;
    int count;
    ir_eval_options options = {0};
    EXPECT_OK(ir_eval(m, &input, 1, arena, &options, &out, &count));
    for (int i = 0; i < 24; i++) {
        float got = ((const float *)out[0].data)[i], want = memory[memory_position(rank, dims, to, i)];
        if (got != want) FAIL_TEST("%s: element %d is %g, want %g", text, i, (double)got, (double)want);
    }
}

TEST(equivalence, bitcast_reads_the_same_bytes)
{
    static const int orders[6][3] = {{2, 1, 0}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {1, 0, 2}, {0, 1, 2}};
    static const int flat_orders[2][2] = {{1, 0}, {0, 1}};
    static const int64_t results[][3] = {{2, 3, 4}, {4, 3, 2}, {3, 2, 4}, {6, 2, 2}, {1, 8, 3}},
                         flat[][2] = {{6, 4}, {8, 3}, {24, 1}};
    for (int from = 0; from < 6; from++) {
        for (size_t r = 0; r < COUNT_OF(results); r++)
            for (int to = 0; to < 6; to++)
                check_bitcast(orders[from], 3, results[r], orders[to]);
        for (size_t r = 0; r < COUNT_OF(flat); r++)
            for (int to = 0; to < 2; to++)
                check_bitcast(orders[from], 2, flat[r], flat_orders[to]);
    }
}
