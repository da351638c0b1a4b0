// SPDX-License-Identifier: Apache-2.0
// Bound mode against exact mode on whole steps of Gemma 3 270M: its real shapes, random weights. Every live-out byte
// (logits and caches) is the same for one and two physical cores, one and two threads, AVX2 and AVX-512.
#include "harness/harness.h"

#include "base/rng.h"
#include "compile/compile.h"
#include "dev/dev.h"
#include "model/graph.h"

enum { BUCKET = 128, CONTEXT = 256, POSITION = 100 };

typedef struct step {
    model_graph *graph;
    isa_program *program[2];        // LNC 1, LNC 2
    uint8_t **input;                // [param_count] plain row-major
} step;

static void fill(const model_graph_param *p, uint8_t *out, uint64_t seed)
{
    glia_rng r = glia_rng_of(seed);
    size_t n = p->size_bytes / (size_t)num_size(p->dtype);
    if (p->role == MODEL_PARAM_POSITION) {
        num_store(p->dtype, out, POSITION);
        return;
    }
    if (p->role == MODEL_PARAM_LENGTH) {
        num_store(p->dtype, out, BUCKET - 5);
        return;
    }
    // Weights: uniform values, cheap to draw; their size keeps activations in range.
    const float scale = p->rank >= 2 && p->role == MODEL_PARAM_WEIGHT ? 0.06f : 1.0f;
    for (size_t k = 0; k < n; k++) {
        if (p->role == MODEL_PARAM_TOKENS) num_store(p->dtype, out + 4 * k, glia_rng_below(&r, 262144));
        else if (p->dtype == NUM_BF16) ((uint16_t *)out)[k] = num_bf16_from_f32(((float)(glia_rng_u32(&r) >> 8) * 0x1p-23f - 1) * scale);
        else ((float *)out)[k] = ((float)(glia_rng_u32(&r) >> 8) * 0x1p-23f - 1) * scale;
    }
}

static void step_init(step *s, model_phase phase, num_dtype dtype)
{
    model_config config = { 0 };
    const hw_chip *chip = NULL;
    EXPECT_OK(model_config_read_json(GLIA_SOURCE_DIR "/tests/compile/data/gemma-3-270m.json", &config));
    EXPECT_OK(hw_chip_find("trn2", &chip));
    const model_graph_options o = { .phase = phase, .tokens = phase == MODEL_DECODE ? 1 : BUCKET, .context = CONTEXT, .dtype = dtype };
    for (int lnc = 1; lnc <= 2; lnc++) {
        model_graph *g = NULL;
        EXPECT_OK(model_graph_build(&config, &o, &g));
        compile_options co = compile_options_default(chip);
        co.lnc = lnc;
        EXPECT_OK(compile_module(g->module, &co, &s->program[lnc - 1]));
        if (lnc == 1) s->graph = g;
        else model_graph_destroy(g);
    }
    s->input = glia_alloc((size_t)s->graph->param_count * sizeof *s->input);
    for (int k = 0; k < s->graph->param_count; k++) {
        s->input[k] = glia_alloc(s->graph->params[k].size_bytes);
        fill(&s->graph->params[k], s->input[k], (uint64_t)k + 7);
    }
}

static void step_fini(step *s)
{
    for (int k = 0; k < s->graph->param_count; k++) glia_free(s->input[k]);
    glia_free(s->input);
    isa_program_destroy(s->program[0]);
    isa_program_destroy(s->program[1]);
    model_graph_destroy(s->graph);
}

// Runs the step; the bytes of all outputs, one after another, into a fresh buffer.
static uint8_t *run(const step *s, int lnc, dev_mode mode, int threads, size_t *size)
{
    const isa_program *p = s->program[lnc - 1];
    const hw_chip *chip = NULL;
    EXPECT_OK(hw_chip_find("trn2", &chip));
    AUTO(glia_pool) pool = glia_pool_create(threads);
    AUTO(dev_machine) machine = NULL;
    EXPECT_OK(dev_machine_create(chip, lnc, pool, &machine));
    AUTO(dev_loaded) loaded = NULL;
    EXPECT_OK(dev_load(machine, p, mode, &loaded));
    dev_buffer *memory = glia_alloc(p->tensors.count * sizeof *memory);
    int at = 0;
    for (uint32_t t = 0; t < p->tensors.count; t++) {
        const isa_tensor *it = &p->tensors.items[t];
        if (it->kind != ISA_TENSOR_INPUT && it->kind != ISA_TENSOR_OUTPUT) continue;
        if (it->kind == ISA_TENSOR_OUTPUT && it->alias >= 0) {
            EXPECT_OK(dev_bind(loaded, t, &memory[it->alias]));
            continue;
        }
        memory[t] = (dev_buffer){ .data = glia_alloc(it->bytes + 64), .bytes = it->bytes, .constant = it->weight };
        if (it->kind == ISA_TENSOR_INPUT) isa_layout_pack(&it->layout, it->rank, it->dims, num_size((num_dtype)it->dtype), memory[t].data, s->input[at++]);
        EXPECT_OK(dev_bind(loaded, t, &memory[t]));
    }
    const dev_options o = { 0 };
    EXPECT_OK(dev_execute(loaded, &o));
    *size = 0;
    for (uint32_t t = 0; t < p->tensors.count; t++)
        if (p->tensors.items[t].kind == ISA_TENSOR_OUTPUT) *size += p->tensors.items[t].bytes;
    uint8_t *out = glia_alloc(*size), *end = out;
    for (uint32_t t = 0; t < p->tensors.count; t++) {
        const isa_tensor *it = &p->tensors.items[t];
        if (it->kind != ISA_TENSOR_OUTPUT) continue;
        memcpy(end, memory[it->alias >= 0 ? (uint32_t)it->alias : t].data, it->bytes);
        end += it->bytes;
    }
    for (uint32_t t = 0; t < p->tensors.count; t++) {
        dev_buffer_release(&memory[t]);
        glia_free(memory[t].data);
    }
    glia_free(memory);
    return out;
}

static void compare(model_phase phase, num_dtype dtype)
{
    step s = { 0 };
    step_init(&s, phase, dtype);
    size_t size = 0;
    uint8_t *want = run(&s, 1, DEV_EXACT, 1, &size);
    const float *logits = (const float *)want;
    float low = logits[0], high = logits[0];
    for (int k = 1; k < 262144; k++) {
        low = logits[k] < low ? logits[k] : low;
        high = logits[k] > high ? logits[k] : high;
    }
    EXPECT(isfinite(low) && isfinite(high) && high - low > 0.1f);      // a real answer, not a constant
    static const char *const levels[] = { "avx2", "avx512bf16" };
    for (int lnc = 1; lnc <= 2; lnc++)
        for (int exact = 0; exact < 2; exact++)
            for (int threads = 1; threads <= 2; threads++)
                for (size_t l = 0; l < COUNT_OF(levels); l++) {
                    if (exact && (threads == 2 || l > 0 || lnc == 1)) continue;
                    setenv("GLIA_CPU", levels[l], 1);
                    size_t got_size = 0;
                    uint8_t *got = run(&s, lnc, exact ? DEV_EXACT : DEV_BOUND, threads, &got_size);
                    unsetenv("GLIA_CPU");
                    EXPECT_EQ_INT(got_size, size);
                    for (size_t k = 0; k < size; k++)
                        if (got[k] != want[k])
                            FAIL_TEST("byte %zu of %zu: got %02x, want %02x (LNC %d, %s, %d threads, %s)", k, size, got[k], want[k], lnc,
                                      exact ? "exact" : "bound", threads, levels[l]);
                    glia_free(got);
                }
    glia_free(want);
    step_fini(&s);
}

TEST(gemma, decode_step_is_the_same_in_both_modes_bf16)
{
    compare(MODEL_DECODE, NUM_BF16);
}

TEST(gemma, prefill_step_is_the_same_in_both_modes_bf16)
{
    compare(MODEL_PREFILL, NUM_BF16);
}

TEST(gemma, decode_step_is_the_same_in_both_modes_fp32)
{
    compare(MODEL_DECODE, NUM_F32);
}
