// SPDX-License-Identifier: Apache-2.0
// See check.h. Inputs are drawn per parameter from one seed; bools are 0 or 1.
#include "compile/check.h"

#include "base/rng.h"
#include "harness/harness.h"

#include <stdio.h>

glia_status check_compile(const char *hlo, const check_options *o, isa_program **out)
{
    const hw_chip *chip = NULL;
    TRY(hw_chip_find(o->target ? o->target : "trn2", &chip));
    AUTO(ir_module) m = NULL;
    TRY(ir_parse((glia_span){ (const uint8_t *)hlo, strlen(hlo) }, "test.hlo.txt", &m));
    compile_options co = compile_options_default(chip);
    co.lnc = o->lnc;
    co.auto_cast = o->cast;
    return compile_module(m, &co, out);
}

static uint64_t extreme_integer(glia_rng *r, num_dtype t)
{
    const int bits = num_bits(t);
    const int64_t half = (int64_t)1 << (bits - 1), two24 = (int64_t)1 << 24;
    const int64_t special[] = { 0, 1, -1, 2, -2, half, half - 1, half + 1, -half + 1, 2 * half - 1, two24, two24 + 1, two24 - 1, -two24 - 1,
                                half / 2, half / 2 + 1, bits - 1, bits, bits + 1,
                                // just past the middle of two bf16s, where fp32 between would make it the middle
                                two24 + (1 << 16) + 1, -(two24 + (1 << 16) + 1), (1 << 30) + (1 << 22) + 1 };
    const uint64_t kind = glia_rng_below(r, 4);
    const uint64_t x = kind == 0 ? glia_rng_u32(r) : kind == 1 ? glia_rng_below(r, (uint32_t)bits + 2)
                                                               : (uint64_t)special[glia_rng_below(r, COUNT_OF(special))];
    return t == NUM_BOOL ? x & 1 : x & (2 * (uint64_t)half - 1);
}

static uint64_t extreme_float(glia_rng *r, num_dtype t)
{
    static const double special[] = { 0, -0.0, 0.5, -0.5, 1.5, 2.5, -1.5, -2.5, 0.3, -0.3, 0.99999994, -0.99999994, 127.5, -128.5, 255.5, 32767.5,
                                      -32768.5, 65535.5, 8388607.5, -8388607.5, 8388609, 16777215, 16777217, 2147483648.0, -2147483648.0,
                                      2147483520, 4294967296.0, 4294967040.0, 1e20, -1e20, INFINITY, -INFINITY, NAN, 1e-40, -1e-40 };
    if (glia_rng_below(r, 3) > 0) return num_from_f64(t, special[glia_rng_below(r, COUNT_OF(special))]);
    return num_from_f64(t, (double)glia_rng_normal(r) * (double)(1u << glia_rng_below(r, 24)));
}

static void fill(glia_rng *r, num_dtype t, void *data, int64_t n, double scale, bool extremes)
{
    const int size = num_size(t);
    for (int64_t k = 0; k < n && extremes; k++)
        num_store(t, (uint8_t *)data + k * size, num_is_float(t) ? extreme_float(r, t) : extreme_integer(r, t));
    if (extremes) return;
    for (int64_t k = 0; k < n; k++) {
        const double x = num_is_float(t) ? (double)glia_rng_normal(r) * scale : t == NUM_BOOL ? glia_rng_below(r, 2) : glia_rng_below(r, 4);
        num_store(t, (uint8_t *)data + k * size, num_from_f64(t, x));
    }
}

// A tensor of the program is called after the result that it holds: products get theirs before the others.
static int output_number(const isa_tensor *t)
{
    int number = -1;
    if (sscanf(t->name, "output.%d", &number) != 1) FAIL_TEST("output tensor '%s' has no number", t->name);
    return number;
}

typedef struct capture { void *out; size_t size, got; } capture;

static void run(const char *hlo, const check_options *o, capture *cap)
{
    AUTO(isa_program) p = NULL;
    glia_status failed = check_compile(hlo, o, &p);
    if (failed) FAIL_TEST("%s: %s", o->what ? o->what : "compiling", glia_status_message(failed));
    AUTO(ir_module) m = NULL;
    EXPECT_OK(ir_parse((glia_span){ (const uint8_t *)hlo, strlen(hlo) }, "test.hlo.txt", &m));
    AUTO(glia_arena) arena = glia_arena_create();
    const hw_chip *chip = NULL;
    EXPECT_OK(hw_chip_find(p->target, &chip));

    const int inputs = (int)m->entry->params.count;
    ir_value *in = ARENA_ARRAY(arena, ir_value, (size_t)inputs);
    dev_buffer *memory = ARENA_ARRAY(arena, dev_buffer, p->tensors.count);
    glia_rng rng = glia_rng_of(o->seed + 1);
    for (uint32_t t = 0; t < p->tensors.count; t++) {
        const isa_tensor *it = &p->tensors.items[t];
        memory[t].bytes = it->bytes;
        memory[t].data = glia_arena_alloc_aligned(arena, it->bytes + 64, 64);
    }
    int at = 0;
    for (uint32_t t = 0; t < p->tensors.count; t++) {
        const isa_tensor *it = &p->tensors.items[t];
        if (it->kind != ISA_TENSOR_INPUT) continue;
        const ir_shape *s = &m->entry->params.items[at]->shape;
        in[at].shape = *s;
        in[at].data = glia_arena_alloc_aligned(arena, ir_shape_bytes(s) + 64, 64);
        fill(&rng, s->dtype, in[at].data, ir_shape_elements(s), o->scale != 0 ? o->scale : 1, o->extremes);
        isa_layout_pack(&it->layout, it->rank, it->dims, num_size(s->dtype), memory[t].data, in[at].data);
        at++;
    }
    EXPECT_EQ_INT(at, inputs);

    AUTO(dev_machine) machine = NULL;
    EXPECT_OK(dev_machine_create(chip, (int)p->core_count, NULL, &machine));
    AUTO(dev_loaded) loaded = NULL;
    EXPECT_OK(dev_load(machine, p, o->mode, &loaded));
    for (uint32_t t = 0; t < p->tensors.count; t++) {
        const isa_tensor *it = &p->tensors.items[t];
        if (it->kind == ISA_TENSOR_INPUT) EXPECT_OK(dev_bind(loaded, t, &memory[t]));
        if (it->kind == ISA_TENSOR_OUTPUT) EXPECT_OK(dev_bind(loaded, t, it->alias >= 0 ? &memory[it->alias] : &memory[t]));
    }
    const dev_options eo = { .shadow = o->mode == DEV_EXACT };
    ir_value *want = NULL;
    int outputs = 0;
    EXPECT_OK(ir_eval(m, in, inputs, arena, &(ir_eval_options){ .precise = true }, &want, &outputs));
    EXPECT_OK(dev_execute(loaded, &eo));
    for (uint32_t t = 0; t < p->tensors.count; t++) dev_buffer_release(&memory[t]);     // what bound mode packed

    int seen = 0;
    const double tolerance = o->tolerance != 0 ? o->tolerance : 1e-5;
    for (uint32_t t = 0; t < p->tensors.count; t++) {
        const isa_tensor *it = &p->tensors.items[t];
        if (it->kind != ISA_TENSOR_OUTPUT) continue;
        const int out = output_number(it);
        EXPECT(out < outputs);
        seen++;
        const uint8_t *got = memory[it->alias >= 0 ? (uint32_t)it->alias : t].data;
        const num_dtype dtype = want[out].shape.dtype;
        if (cap && out == 0) {
            cap->got = ir_shape_bytes(&want[out].shape);
            memcpy(cap->out, got, cap->got < cap->size ? cap->got : cap->size);
        }
        for (int64_t k = 0; k < ir_shape_elements(&want[out].shape); k++) {
            const double g = num_to_f64(dtype, num_load(dtype, got + k * num_size(dtype)));
            const double w = num_to_f64(dtype, num_load(dtype, (const uint8_t *)want[out].data + k * num_size(dtype)));
            const bool exact = !num_is_float(dtype) || o->same_bits;
            const bool close = exact ? g == w && signbit(g) == signbit(w) : fabs(g - w) <= tolerance * (1 + fabs(w)) || g == w;
            if (!close && !(isnan(g) && isnan(w)))
                FAIL_TEST("%s%soutput %d element %lld: got %.9g, want %.9g (%s lnc %u, %s)", o->what ? o->what : "", o->what ? ": " : "", out,
                          (long long)k, g, w, p->target, p->core_count, o->mode == DEV_EXACT ? "exact" : "bound");
        }
    }
    EXPECT_EQ_INT(seen, outputs);
}

size_t check_output(const char *hlo, check_options o, void *out, size_t size)
{
    capture c = { out, size, 0 };
    o.mode = DEV_EXACT;
    run(hlo, &o, &c);
    return c.got;
}

static void run_both(const char *hlo, check_options o)
{
    o.mode = DEV_EXACT;
    run(hlo, &o, NULL);
    o.mode = DEV_BOUND;
    run(hlo, &o, NULL);
}

void check_hlo(const char *hlo, check_options o)
{
    if (o.target || o.lnc) {
        run_both(hlo, o);
        return;
    }
    static const struct { const char *target; int lnc; } all[] = { { "trn1", 1 }, { "trn2", 1 }, { "trn2", 2 }, { "trn3", 2 } };
    for (size_t k = 0; k < COUNT_OF(all); k++) {
        o.target = all[k].target;
        o.lnc = all[k].lnc;
        run_both(hlo, o);
    }
}
