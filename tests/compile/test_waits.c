// SPDX-License-Identifier: Apache-2.0
// The compiler's semaphores against the hazard checker. Twenty compiled programs are free of hazards; and each of their
// waits (200 drawn by seed where there are more), deleted, is found missing, or shown to be covered by other waits, or
// depends on an address that is not known, which at most 5 % may. A wait that orders nothing at all would be
// a fault of the compiler.
#include "base/rng.h"
#include "compile/check.h"
#include "harness/harness.h"
#include "isa/hazards.h"
#include "model/graph.h"

#include <time.h>

enum { DRAWN = 200 };
#define SHOW(...) (getenv("GLIA_SHOW_WAITS") ? fprintf(stderr, __VA_ARGS__) : 0)    // the numbers, for people

#define MAX_ADD                                                                                                        \
    "mx { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] maximum(x, y) }\n"                          \
    "ad { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n"

static const char elementwise[] =
    "HloModule m\nENTRY e { a = f32[300,70] parameter(0)\n b = f32[300,70] parameter(1)\n c = f32[300,70] multiply(a, b)\n"
    " d = f32[300,70] exponential(c)\n e1 = f32[300,70] subtract(d, a)\n ROOT r = f32[300,70] maximum(e1, b) }";
static const char softmax[] =
    "HloModule m\n" MAX_ADD "ENTRY e { a = f32[200,300] parameter(0)\n ninf = f32[] constant(-inf)\n zero = f32[] constant(0)\n"
    " m1 = f32[200] reduce(a, ninf), dimensions={1}, to_apply=mx\n mb = f32[200,300] broadcast(m1), dimensions={0}\n"
    " s = f32[200,300] subtract(a, mb)\n x = f32[200,300] exponential(s)\n t = f32[200] reduce(x, zero), dimensions={1}, to_apply=ad\n"
    " tb = f32[200,300] broadcast(t), dimensions={0}\n ROOT r = f32[200,300] divide(x, tb) }";
static const char matmul[] =
    "HloModule m\nENTRY e { a = f32[150,200] parameter(0)\n b = f32[200,700] parameter(1)\n"
    " ROOT r = f32[150,700] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }";
static const char matmul_bf16[] =
    "HloModule m\nENTRY e { a = bf16[130,256] parameter(0)\n b = bf16[256,600] parameter(1)\n"
    " ROOT r = f32[130,600] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }";
static const char perceptron[] =
    "HloModule m\nENTRY e { x = f32[64,128] parameter(0)\n w = f32[128,512] parameter(1)\n v = f32[512,128] parameter(2)\n"
    " h = f32[64,512] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n g = f32[64,512] tanh(h)\n"
    " ROOT r = f32[64,128] dot(g, v), lhs_contracting_dims={1}, rhs_contracting_dims={0} }";
static const char transpose[] =
    "HloModule m\nENTRY e { a = f32[6,40] parameter(0)\n b = f32[6,40] negate(a)\n c = f32[40,6] transpose(b), dimensions={1,0}\n"
    " ROOT r = f32[40,6] abs(c) }";
static const char gather[] =
    "HloModule m\nENTRY e { t = f32[4,96] parameter(0)\n i = s32[150] parameter(1)\n"
    " ROOT r = f32[150,96] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,96} }";
static const char update[] =
    "HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }\nENTRY e { c = f32[2,8,64] parameter(0)\n u = f32[2,1,64] parameter(1)\n"
    " p = s32[] parameter(2)\n z = s32[] constant(0)\n n = f32[2,1,64] negate(u)\n d = f32[2,8,64] dynamic-update-slice(c, n, z, p, z)\n"
    " s = f32[2,1,64] dynamic-slice(d, z, p, z), dynamic_slice_sizes={2,1,64}\n e1 = f32[2,1,64] abs(s)\n"
    " ROOT r = (f32[2,8,64], f32[2,1,64]) tuple(d, e1) }";
static const char layers[] =
    "HloModule m\nlayer { h = f32[70,128] parameter(0)\n w = f32[128,128] parameter(1)\n"
    " d = f32[70,128] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n t = f32[70,128] tanh(d)\n ROOT r = f32[70,128] add(h, t) }\n"
    "ENTRY e { x = f32[70,128] parameter(0)\n w0 = f32[128,128] parameter(1)\n w1 = f32[128,128] parameter(2)\n w2 = f32[128,128] parameter(3)\n"
    " a = f32[70,128] call(x, w0), to_apply=layer\n b = f32[70,128] call(a, w1), to_apply=layer\n c = f32[70,128] call(b, w2), to_apply=layer\n"
    " ROOT r = f32[70,128] negate(c) }";
static const char attention[] =
    "HloModule m\n" MAX_ADD
    "ENTRY e { q = f32[256,512] parameter(0)\n k0 = f32[256,128] parameter(1)\n v0 = f32[256,128] parameter(2)\n w = f32[100,512] parameter(3)\n mask = f32[256,256] parameter(4)\n"
    " q2 = f32[256,512] negate(q)\n k1 = f32[256,128] abs(k0)\n v1 = f32[256,128] abs(v0)\n k = f32[256,2,64] reshape(k1)\n v = f32[256,2,64] reshape(v1)\n"
    " q3 = f32[256,2,4,64] reshape(q2)\n q4 = f32[2,4,256,64] transpose(q3), dimensions={1,2,0,3}\n"
    " s0 = f32[2,4,256,256] dot(q4, k), lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={3}, rhs_contracting_dims={2}\n"
    " maskb = f32[2,4,256,256] broadcast(mask), dimensions={2,3}\n s = f32[2,4,256,256] add(s0, maskb)\n"
    " ninf = f32[] constant(-inf)\n zero = f32[] constant(0)\n m1 = f32[2,4,256] reduce(s, ninf), dimensions={3}, to_apply=mx\n"
    " mb = f32[2,4,256,256] broadcast(m1), dimensions={0,1,2}\n sb = f32[2,4,256,256] subtract(s, mb)\n x = f32[2,4,256,256] exponential(sb)\n"
    " t = f32[2,4,256] reduce(x, zero), dimensions={3}, to_apply=ad\n tb = f32[2,4,256,256] broadcast(t), dimensions={0,1,2}\n p = f32[2,4,256,256] divide(x, tb)\n"
    " o = f32[2,4,256,64] dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={3}, rhs_contracting_dims={0}\n"
    " w4 = f32[100,2,4,64] reshape(w)\n ROOT r = f32[256,100] dot(o, w4), lhs_contracting_dims={0,1,3}, rhs_contracting_dims={1,2,3} }";

static const char gemma_json[] =
    "{\"model_type\":\"gemma3_text\",\"num_hidden_layers\":6,\"hidden_size\":640,\"num_attention_heads\":4,\"num_key_value_heads\":1,"
    "\"head_dim\":256,\"intermediate_size\":2048,\"vocab_size\":4096,\"max_position_embeddings\":2048,\"sliding_window\":64,"
    "\"sliding_window_pattern\":3,\"query_pre_attn_scalar\":256,\"rope_theta\":1000000,\"rms_norm_eps\":1e-6}";
static const char llama_json[] =
    "{\"model_type\":\"llama\",\"num_hidden_layers\":4,\"hidden_size\":512,\"num_attention_heads\":8,\"num_key_value_heads\":2,"
    "\"head_dim\":64,\"intermediate_size\":1024,\"vocab_size\":2000,\"max_position_embeddings\":1024,\"rope_theta\":10000,\"rms_norm_eps\":1e-5}";

// One row a program: HLO text, or a model's config with tokens (1: a decode step) and context.
static const struct {
    const char *name, *hlo, *json, *target;
    int lnc, tokens, context;
} programs[] = {
    { "elementwise", elementwise, NULL, "trn1", 1, 0, 0 },
    { "elementwise, 2 cores", elementwise, NULL, "trn2", 2, 0, 0 },
    { "softmax", softmax, NULL, "trn2", 1, 0, 0 },
    { "softmax, 2 cores", softmax, NULL, "trn3", 2, 0, 0 },
    { "matmul", matmul, NULL, "trn1", 1, 0, 0 },
    { "matmul, 2 cores", matmul, NULL, "trn2", 2, 0, 0 },
    { "matmul bf16", matmul_bf16, NULL, "trn2", 1, 0, 0 },
    { "perceptron", perceptron, NULL, "trn3", 1, 0, 0 },
    { "perceptron, 2 cores", perceptron, NULL, "trn2", 2, 0, 0 },
    { "transpose", transpose, NULL, "trn2", 2, 0, 0 },
    { "gather", gather, NULL, "trn2", 2, 0, 0 },
    { "update", update, NULL, "trn1", 1, 0, 0 },
    { "update, 2 cores", update, NULL, "trn2", 2, 0, 0 },
    { "layers, 2 cores", layers, NULL, "trn2", 2, 0, 0 },
    { "attention", attention, NULL, "trn2", 1, 0, 0 },
    { "attention, 2 cores", attention, NULL, "trn3", 2, 0, 0 },
    { "gemma prefill", NULL, gemma_json, "trn1", 1, 128, 256 },
    { "gemma decode, 2 cores", NULL, gemma_json, "trn2", 2, 1, 256 },
    { "gemma prefill, 2 cores", NULL, gemma_json, "trn3", 2, 128, 256 },
    { "llama decode", NULL, llama_json, "trn2", 1, 1, 256 },
};

static glia_status compile_model(size_t k, isa_program **out)
{
    model_config c;
    TRY(model_config_parse_json((glia_span){ (const uint8_t *)programs[k].json, strlen(programs[k].json) }, programs[k].name, &c));
    const model_graph_options go = { .phase = programs[k].tokens == 1 ? MODEL_DECODE : MODEL_PREFILL, .tokens = programs[k].tokens,
                                     .context = programs[k].context, .dtype = NUM_BF16 };
    AUTO(model_graph) g = NULL;
    TRY(model_graph_build(&c, &go, &g));
    const hw_chip *chip = NULL;
    TRY(hw_chip_find(programs[k].target, &chip));
    compile_options co = compile_options_default(chip);
    co.lnc = programs[k].lnc;
    return compile_module(g->module, &co, out);
}

static void compile_program(size_t k, isa_program **out)
{
    if (programs[k].json) {
        EXPECT_OK(compile_model(k, out));
        return;
    }
    const check_options o = { .target = programs[k].target, .lnc = programs[k].lnc };
    EXPECT_OK(check_compile(programs[k].hlo, &o, out));
}

TEST(waits, compiled_programs_have_no_hazards)
{
    int wrong = 0;
    for (size_t k = 0; k < COUNT_OF(programs); k++) {
        AUTO(isa_program) p = NULL;
        compile_program(k, &p);
        AUTO_VALUE(isa_hazard_report) r = { 0 };
        EXPECT_OK(isa_check_hazards(p, false, &r));
        EXPECT(r.proved > 0 || r.violated > 0);
        for (uint32_t n = 0; n < r.items.count && n < 5; n++)
            fprintf(stderr, "%s: %s: %s\n", programs[k].name, r.items.items[n].verdict == ISA_VIOLATED ? "violated" : "assumed", r.items.items[n].why);
        if (r.violated || r.assumed) fprintf(stderr, "%s: %llu violated, %llu assumed pairs\n", programs[k].name, (unsigned long long)r.violated, (unsigned long long)r.assumed);
        wrong += r.violated > 0;
    }
    if (wrong) FAIL_TEST("%d of %zu compiled programs have hazards", wrong, COUNT_OF(programs));
}

// ---- deletion ------------------------------------------------------------------------------------------------------

typedef struct wait_at { isa_place at; uint32_t wait; } wait_at;
typedef VEC(wait_at) wait_list;

static void list_waits(const isa_program *p, wait_list *out)
{
    for (uint32_t c = 0; c < p->core_count; c++)
        for (uint32_t f = 0; f < p->cores[c].functions.count; f++) {
            const isa_function *fn = p->cores[c].functions.items[f];
            for (uint32_t i = 0; i < fn->insns.count; i++)
                for (uint32_t w = 0; w < fn->insns.items[i].wait_count; w++) VEC_PUSH(out) = (wait_at){ { c, f, i }, w };
        }
}

// The first DRAWN of a seeded shuffle, or all.
static void draw(wait_list *l, uint64_t seed)
{
    glia_rng r = glia_rng_of(seed);
    if (l->count <= DRAWN) return;
    for (uint32_t k = 0; k < DRAWN; k++) {
        const uint32_t other = k + glia_rng_below(&r, l->count - k);
        const wait_at x = l->items[k];
        l->items[k] = l->items[other];
        l->items[other] = x;
    }
    l->count = DRAWN;
}

static void judge_deletions(size_t k, uint64_t *of_role)
{
    AUTO(isa_program) p = NULL;
    compile_program(k, &p);
    wait_list l = { 0 };
    list_waits(p, &l);
    const uint32_t all = l.count;
    draw(&l, 1000 + k);
    const clock_t begin = clock();
    AUTO(isa_hazard_session) s = NULL;
    EXPECT_OK(isa_hazard_session_create(p, &s));
    const double built = (double)(clock() - begin) / CLOCKS_PER_SEC;
    AUTO(glia_arena) arena = glia_arena_create();
    uint64_t count[4] = { 0 };
    for (uint32_t n = 0; n < l.count; n++) {
        isa_wait_finding f;
        EXPECT_OK(isa_hazard_session_without(s, l.items[n].at, l.items[n].wait, arena, &f));
        EXPECT(f.hazard.why && *f.hazard.why);
        EXPECT((f.role == ISA_WAIT_NEEDED) == (f.hazard.verdict == ISA_VIOLATED));
        if (f.role == ISA_WAIT_REDUNDANT) EXPECT(!strstr(f.hazard.why, "..."));
        if (count[f.role]++ < 1) SHOW("  %d: %s: %s\n", f.role, f.hazard.what, f.hazard.why);
        of_role[f.role]++;
    }
    SHOW("  %-24s %6u waits, %3u judged: %3llu needed, %3llu redundant, %2llu assumed, %2llu order nothing; %llu instances, %llu pairs; %.2f s, deletions %.2f s\n",
           programs[k].name, all, l.count, (unsigned long long)count[ISA_WAIT_NEEDED], (unsigned long long)count[ISA_WAIT_REDUNDANT],
           (unsigned long long)count[ISA_WAIT_ASSUMED], (unsigned long long)count[ISA_WAIT_ORDERS_NOTHING],
           (unsigned long long)isa_hazard_session_instances(s), (unsigned long long)isa_hazard_session_pairs(s), built,
           (double)(clock() - begin) / CLOCKS_PER_SEC - built);
    VEC_FREE(&l);
}

TEST(waits, each_deleted_wait_is_missed_or_covered)
{
    uint64_t role[4] = { 0 };
    for (size_t k = 0; k < COUNT_OF(programs); k++) judge_deletions(k, role);
    const uint64_t all = role[0] + role[1] + role[2] + role[3];
    SHOW("  all: %llu waits: %.1f %% needed, %.1f %% redundant, %.1f %% assumed, %.1f %% order nothing\n", (unsigned long long)all,
           100.0 * (double)role[ISA_WAIT_NEEDED] / (double)all, 100.0 * (double)role[ISA_WAIT_REDUNDANT] / (double)all,
           100.0 * (double)role[ISA_WAIT_ASSUMED] / (double)all, 100.0 * (double)role[ISA_WAIT_ORDERS_NOTHING] / (double)all);
    EXPECT(all > 1000);
    EXPECT(role[ISA_WAIT_ASSUMED] * 20 <= all);
    EXPECT_EQ_INT(role[ISA_WAIT_ORDERS_NOTHING], 0);
}
