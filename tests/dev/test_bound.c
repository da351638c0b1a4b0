// SPDX-License-Identifier: Apache-2.0
// Bound mode against exact mode on generated programs: the same bytes in every output, on every level of CPU features
// that the host has, with one and two threads, on one and two cores.
//
// A generated program works on slots: tiles of one type each in SBUF, all written at the start. Views of slots are plain,
// strided, two-dimensional or broadcast. At the end all slots and PSUM are written out. On failure the seed is printed.
#include "dev/rig.h"

#include "dev/fast/kernels.h"

enum { SLOTS = 18, SLOT_BYTES = 2048 + 32, SLOT_ELEMENTS = 512, PSUM_WORDS = 4096, BOUNCE_AT = SLOTS * SLOT_BYTES + 96 };
static const num_dtype slot_types[] = { NUM_F32, NUM_BF16, NUM_F16, NUM_F8E4M3, NUM_U8, NUM_S32, NUM_BF16, NUM_F32, NUM_F8E5M2 };

typedef struct gen {
    rig r;
    glia_rng g;
    uint32_t input, output, scratch;
    uint32_t core;
    int loop_depth;
} gen;

static num_dtype type_of(int slot) { return slot_types[(size_t)slot % COUNT_OF(slot_types)]; }
static int below(gen *t, int n) { return (int)glia_rng_below(&t->g, (uint32_t)n); }

// ---- data ----------------------------------------------------------------------------------------------------------

static void fill_words(glia_rng *g, uint8_t *data, size_t bytes)
{
    // Moderate values seen as any of the float types; in some programs raw bits (NaN, infinities, subnormals) in places.
    const bool wild = glia_rng_below(g, 3) == 0;
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
        const uint32_t kind = glia_rng_below(g, 2000);
        uint32_t w = glia_rng_u32(g);
        if (kind > 1 || !wild) {
            const uint32_t a = 0x3c00u + glia_rng_below(g, 0x500), b = 0x3c00u + glia_rng_below(g, 0x500);
            w = (a | (glia_rng_u32(g) & 0x8000u)) | (b | (glia_rng_u32(g) & 0x8000u)) << 16;
        }
        if (kind == 3) w = 0x80000000u;
        memcpy(data + i, &w, 4);
    }
}

// ---- views ---------------------------------------------------------------------------------------------------------

static int start_for(gen *t, int partitions)
{
    if (partitions > 64) return 0;
    if (partitions > 32) return below(t, 2) * 64;
    return below(t, 4) * 32;
}

static int some_partitions(gen *t)
{
    static const int sizes[] = { 128, 128, 64, 32, 1, 17, 100, 48, 3 };
    return sizes[below(t, (int)COUNT_OF(sizes))];
}

static int some_free(gen *t)
{
    static const int sizes[] = { 512, 128, 64, 48, 1, 8, 33, 100, 16, 256, 2 };
    return sizes[below(t, (int)COUNT_OF(sizes))];
}

// n elements of a slot on `partitions` partitions.
static isa_operand view(gen *t, int slot, int partitions, int n, bool write)
{
    const int64_t size = num_size(type_of(slot)), base = (int64_t)slot * SLOT_BYTES;
    const int start = start_for(t, partitions), kind = below(t, 8);
    if (kind == 0 && !write) return isa_chip_ap(ISA_SBUF, type_of(slot), start, partitions, base + below(t, 8) * size, 1, (int64_t[]){ 0 }, (uint32_t[]){ (uint32_t)n });
    if (kind == 1 && n * 2 <= SLOT_ELEMENTS) return isa_chip_ap(ISA_SBUF, type_of(slot), start, partitions, base, 1, (int64_t[]){ 2 }, (uint32_t[]){ (uint32_t)n });
    if (kind == 2 && n % 4 == 0 && n <= SLOT_ELEMENTS / 2) {
        const int64_t inner = n / 4;
        return isa_chip_ap(ISA_SBUF, type_of(slot), start, partitions, base, 2, (int64_t[]){ inner + 1 < SLOT_ELEMENTS / 4 ? inner + 1 : inner, 1 }, (uint32_t[]){ 4, (uint32_t)inner });
    }
    if (kind == 3 && n % 4 == 0) return isa_chip_ap(ISA_SBUF, type_of(slot), start, partitions, base, 2, (int64_t[]){ 1, 4 }, (uint32_t[]){ 4, (uint32_t)n / 4 });
    const int64_t slack = SLOT_ELEMENTS - n;
    return isa_chip(ISA_SBUF, type_of(slot), start, partitions, base + (slack ? below(t, (int)slack) * size : 0), n);
}

static int slot_where(gen *t, bool (*fits)(num_dtype))
{
    for (;;) {
        const int s = below(t, SLOTS);
        if (fits(type_of(s))) return s;
    }
}

static bool any(num_dtype t) { return t != NUM_DTYPE_NONE; }
static bool is_float(num_dtype t) { return num_is_float(t); }
static bool is_fp32(num_dtype t) { return t == NUM_F32; }
static bool is_narrow_float(num_dtype t) { return num_is_float(t) && num_bits(t) <= 16; }
static bool is_integer(num_dtype t) { return num_is_integer(t); }
static bool is_s32(num_dtype t) { return t == NUM_S32; }
static bool is_plain(num_dtype t) { return t == NUM_F32 || t == NUM_BF16 || t == NUM_F16; }

static isa_operand column(gen *t, int partitions, bool may_be_immediate)
{
    if (may_be_immediate && below(t, 2)) return isa_imm_f32((float)(below(t, 9) - 4) * 0.5f);
    isa_operand o = view(t, slot_where(t, is_fp32), partitions, 1, true);
    return o;
}

static isa_operand psum_view(gen *t, int partitions, int n)
{
    const int bank = below(t, 8), slack = 512 - n;
    return isa_chip(ISA_PSUM, NUM_F32, start_for(t, partitions), partitions, bank * 2048 + (slack && below(t, 2) ? 4 * below(t, slack) : 0), n);
}

static isa_operand source(gen *t, bool (*fits)(num_dtype), int partitions, int n)
{
    if (fits(NUM_F32) && below(t, 4) == 0) return psum_view(t, partitions, n);
    return view(t, slot_where(t, fits), partitions, n, false);
}

// ---- instructions --------------------------------------------------------------------------------------------------

static const uint8_t float_ops[] = { ISA_ALU_ADD, ISA_ALU_SUBTRACT, ISA_ALU_MULTIPLY, ISA_ALU_MAXIMUM, ISA_ALU_MINIMUM, ISA_ALU_EQ,
    ISA_ALU_NE, ISA_ALU_GE, ISA_ALU_GT, ISA_ALU_LE, ISA_ALU_LT, ISA_ALU_LOGICAL_AND, ISA_ALU_LOGICAL_OR, ISA_ALU_LOGICAL_XOR };
static uint8_t float_op(gen *t) { return float_ops[below(t, (int)COUNT_OF(float_ops))]; }

static void emit(gen *t, isa_op op, isa_engine e, int n, const isa_operand *o, int attrs, const uint8_t *attr)
{
    (void)rig_emit(&t->r, op, e, n, o, attrs, attr);
}
#define EMIT(t, op, e, attrs, ...)                                                                                     \
    emit((t), ISA_##op, ISA_##e, COUNT_OF(((isa_operand[]){ __VA_ARGS__ })), (isa_operand[]){ __VA_ARGS__ },            \
         COUNT_OF(((uint8_t[])attrs)), (uint8_t[])attrs)

static void gen_matmul(gen *t)
{
    const bool wide = below(t, 3) == 0;
    static const int ks[] = { 128, 128, 64, 32, 7, 1, 100 }, ns[] = { 512, 512, 128, 1, 2, 8, 9, 48, 77 }, ms[] = { 128, 128, 64, 1, 4, 8, 33, 3 };
    const int k = ks[below(t, (int)COUNT_OF(ks))], n = ns[below(t, (int)COUNT_OF(ns))], m = ms[below(t, (int)COUNT_OF(ms))];
    const int s = slot_where(t, wide ? is_fp32 : is_narrow_float), v = slot_where(t, wide ? is_fp32 : is_narrow_float);
    const isa_operand dst = psum_view(t, m, n);
    const int chain = 1 + below(t, 4);
    for (int i = 0; i < chain; i++) {
        isa_operand stationary = view(t, s, k, m, false), moving = view(t, v, k, n, false);
        const bool fp8 = num_bits(type_of(s)) == 8 && num_bits(type_of(v)) == 8 && n <= 256 && below(t, 2);
        if (fp8) {
            stationary = isa_chip(ISA_SBUF, type_of(s), 0, k, (int64_t)s * SLOT_BYTES, 2 * m);
            moving = isa_chip(ISA_SBUF, type_of(v), 0, k, (int64_t)v * SLOT_BYTES, 2 * n);
        }
        EMIT(t, matmul, PE, A((uint8_t)(i > 0 || below(t, 3) == 0), fp8 ? ISA_PERF_DOUBLE_ROW : ISA_PERF_NONE), dst, stationary, moving);
        if (below(t, 5) == 0) EMIT(t, memset, DVE, A(0), view(t, v, some_partitions(t), 64, true), isa_imm_f32(0.5f));
    }
}

static void gen_dma(gen *t)
{
    const int slot = slot_where(t, any), partitions = some_partitions(t), n = some_free(t), kind = below(t, 6);
    const num_dtype type = type_of(slot);
    const int size = num_size(type);
    const isa_operand chip = view(t, slot, partitions, n, true);
    const uint32_t hbm = below(t, 3) ? t->input : t->scratch;
    const int64_t pitch = kind == 0 ? n : n + 64;
    const int64_t at = (int64_t)below(t, 16) * 4 * size;
    isa_operand other = isa_hbm(rig_slot(&t->r, hbm), type, at, 2, (int64_t[]){ pitch, 1 }, (uint32_t[]){ (uint32_t)partitions, (uint32_t)n });
    if (kind == 1 && n % 2 == 0)
        other = isa_hbm(rig_slot(&t->r, hbm), type, at, 3, (int64_t[]){ n, 40000 / size, 1 }, (uint32_t[]){ (uint32_t)partitions, 2, (uint32_t)n / 2 });
    if (kind == 2 && below(t, 3) == 0)      // a cast
        other = isa_hbm(rig_slot(&t->r, hbm), NUM_F32, at, 2, (int64_t[]){ pitch, 1 }, (uint32_t[]){ (uint32_t)partitions, (uint32_t)n });
    if (t->loop_depth && below(t, 2)) other = isa_plus(other, 3, 64 * size);
    if (hbm == t->scratch && below(t, 2)) rig_dma(&t->r, other, chip);
    else rig_dma(&t->r, chip, other);
}

static void gen_vector(gen *t)
{
    const int p = some_partitions(t), n = some_free(t);
    switch (below(t, 13)) {
    case 0: EMIT(t, tensor_tensor, DVE, A(float_op(t)), view(t, slot_where(t, any), p, n, true), source(t, any, p, n), view(t, slot_where(t, any), p, n, false)); break;
    case 1: EMIT(t, tensor_scalar, DVE, A(float_op(t), (uint8_t)below(t, 2), below(t, 2) ? float_op(t) : ISA_ALU_NONE, (uint8_t)below(t, 2)),
                 view(t, slot_where(t, any), p, n, true), source(t, any, p, n), column(t, p, true), column(t, p, true)); break;
    case 2: EMIT(t, scalar_tensor_tensor, DVE, A(float_op(t), (uint8_t)below(t, 2), float_op(t), (uint8_t)below(t, 2)),
                 view(t, slot_where(t, any), p, n, true), source(t, any, p, n), column(t, p, true), view(t, slot_where(t, any), p, n, false)); break;
    case 3:
    case 4: {
        const bool reduce = below(t, 2);
        const isa_operand dst = below(t, 6) ? view(t, slot_where(t, any), p, n, true) : psum_view(t, p, n);
        isa_operand sum = reduce && below(t, 2) ? column(t, p, false) : isa_none();
        EMIT(t, activation, ACT, A((uint8_t)below(t, ISA_ACT_COUNT), (uint8_t)(reduce ? 1 + below(t, 3) : 0)), dst, source(t, any, p, n),
             below(t, 2) ? isa_imm_f32(1) : column(t, p, true), below(t, 2) ? isa_none() : column(t, p, true), sum);
        break;
    }
    case 5: {
        static const uint8_t ops[] = { ISA_ALU_ADD, ISA_ALU_MULTIPLY, ISA_ALU_MAXIMUM, ISA_ALU_MINIMUM, ISA_ALU_SUBTRACT, ISA_ALU_LOGICAL_AND };
        const int s = slot_where(t, any), a = 1 + below(t, 8), b = 1 + below(t, 60);
        const isa_operand data = isa_chip_ap(ISA_SBUF, type_of(s), start_for(t, p), p, (int64_t)s * SLOT_BYTES, 2,
                                             below(t, 3) ? (int64_t[]){ b, 1 } : (int64_t[]){ 1, a }, (uint32_t[]){ (uint32_t)a, (uint32_t)b });
        EMIT(t, tensor_reduce, DVE, A(ops[below(t, 6)], 1, (uint8_t)below(t, 2)), view(t, slot_where(t, any), p, a, true), data);
        break;
    }
    case 6: EMIT(t, tensor_copy, DVE, A(0), below(t, 4) ? view(t, slot_where(t, any), p, n, true) : psum_view(t, p, n), source(t, any, p, n)); break;
    case 7: EMIT(t, memset, DVE, A(0), below(t, 4) ? view(t, slot_where(t, any), p, n, true) : psum_view(t, p, n), isa_imm_f32((float)below(t, 5) * 0.25f)); break;
    case 8: EMIT(t, reciprocal, DVE, A(0), view(t, slot_where(t, is_float), p, n, true), source(t, is_float, p, n)); break;
    case 9: EMIT(t, tensor_tensor, POOL, A(float_op(t)), view(t, slot_where(t, is_s32), p, n, true), view(t, slot_where(t, is_s32), p, n, false), view(t, slot_where(t, is_s32), p, n, false)); break;
    case 10: {
        const int s = slot_where(t, any), src = below(t, 3) ? s : slot_where(t, any);
        const int rows = 1 + below(t, 128), columns = 1 + below(t, 128);
        if (type_of(src) != type_of(s) || num_bits(type_of(s)) == 8) break;
        const isa_operand identity = view(t, s, rows, rows, false);
        EMIT(t, transpose, PE, A(0), isa_chip(ISA_PSUM, type_of(s), 0, columns, below(t, 8) * 2048, rows),
             isa_chip(ISA_SBUF, type_of(s), 0, rows, (int64_t)s * SLOT_BYTES, columns), identity);
        break;
    }
    case 11: EMIT(t, copy_predicated, DVE, A((uint8_t)below(t, 2)), view(t, slot_where(t, is_plain), p, n, true), isa_imm_f32(2), view(t, slot_where(t, is_integer), p, n, false)); break;
    default: {
        const int s = slot_where(t, is_plain);
        EMIT(t, affine_select, POOL, A((uint8_t)(ISA_ALU_EQ + below(t, 6))), view(t, s, p, n, true), view(t, s, p, n, false),
             isa_pattern(below(t, 9) - 4, below(t, 3) - 1, 1, (int64_t[]){ below(t, 3) - 1 }, (uint32_t[]){ (uint32_t)n }), isa_imm_f32(-3.4028235e38f));
    }
    }
}

static void gen_one(gen *t)
{
    const int kind = below(t, 10);
    if (kind < 3) gen_matmul(t);
    else if (kind < 5) gen_dma(t);
    else gen_vector(t);
}

static void gen_loop(gen *t)
{
    const int32_t trips = 1 + below(t, 3);
    isa_operand o[] = { isa_reg(3), isa_imm_int(0), isa_imm_int(trips), isa_imm_int(1) };
    const uint32_t head = rig_emit(&t->r, ISA_for, ISA_SP, 4, o, 0, NULL);
    t->r.f->insns.items[head].engines = 31;
    t->loop_depth++;
    for (int i = 0, n = 1 + below(t, 5); i < n; i++) gen_one(t);
    t->loop_depth--;
    const uint32_t end = rig_emit(&t->r, ISA_end_for, ISA_SP, 0, NULL, 0, NULL);
    t->r.f->insns.items[end].engines = 31;
}

static void gen_core(gen *t, int instructions)
{
    for (int s = 0; s < SLOTS; s++) rig_dma(&t->r, isa_chip(ISA_SBUF, NUM_U32, 0, 128, s * SLOT_BYTES, SLOT_BYTES / 4),
                                            isa_hbm(rig_slot(&t->r, t->input), NUM_U32, s * 64, 2, (int64_t[]){ 777, 1 }, (uint32_t[]){ 128, SLOT_BYTES / 4 }));
    for (int b = 0; b < 8; b++) EMIT(t, tensor_copy, DVE, A(0), isa_chip(ISA_PSUM, NUM_F32, 0, 128, b * 2048, 512), isa_chip(ISA_SBUF, NUM_F32, 0, 128, 0, 512));
    for (int i = 0; i < instructions; i++) {
        if (below(t, 12) == 0) gen_loop(t);
        else gen_one(t);
    }
}

static void gen_end(gen *t)
{
    const int64_t at = (int64_t)t->core * 128 * (SLOTS * SLOT_BYTES + PSUM_WORDS * 4);
    for (int s = 0; s < SLOTS; s++)
        rig_dma(&t->r, isa_hbm(rig_slot(&t->r, t->output), NUM_U32, at + (int64_t)s * 128 * SLOT_BYTES, 2, (int64_t[]){ SLOT_BYTES / 4, 1 }, (uint32_t[]){ 128, SLOT_BYTES / 4 }),
                isa_chip(ISA_SBUF, NUM_U32, 0, 128, s * SLOT_BYTES, SLOT_BYTES / 4));
    for (int b = 0; b < 8; b++) {
        const isa_operand bounce = isa_chip(ISA_SBUF, NUM_F32, 0, 128, BOUNCE_AT, 512);
        EMIT(t, tensor_copy, DVE, A(0), bounce, isa_chip(ISA_PSUM, NUM_F32, 0, 128, b * 2048, 512));
        rig_dma(&t->r, isa_hbm(rig_slot(&t->r, t->output), NUM_F32, at + (int64_t)SLOTS * 128 * SLOT_BYTES + b * 128 * 2048, 2, (int64_t[]){ 512, 1 }, (uint32_t[]){ 128, 512 }), bounce);
    }
}

// Two cores work on their own scratch until a barrier; afterwards each reads what the other wrote before it.
static void generate(gen *t, uint64_t seed, int cores, int threads)
{
    t->g = glia_rng_of(seed);
    t->loop_depth = 0;
    rig_init(&t->r, &hw_trainium2, cores, threads);
    t->input = rig_tensor(&t->r, ISA_TENSOR_INPUT, NUM_U32, 1 << 19, NULL);
    t->output = rig_tensor(&t->r, ISA_TENSOR_OUTPUT, NUM_U32, (int64_t)cores * 128 * (SLOTS * SLOT_BYTES / 4 + PSUM_WORDS), NULL);
    uint32_t scratch[2] = { 0, 0 };
    for (int c = 0; c < cores; c++) scratch[c] = rig_tensor(&t->r, ISA_TENSOR_SCRATCH, NUM_U32, 1 << 17, NULL);
    glia_rng data = glia_rng_of(seed + 1000003);
    fill_words(&data, t->r.buffers[t->input].data, t->r.buffers[t->input].bytes);
    for (int c = 0; c < cores; c++) {
        t->core = (uint32_t)c;
        t->r.f = t->r.program->cores[c].functions.items[0];
        t->scratch = scratch[c];
        gen_core(t, cores == 2 ? 20 : 40);
        if (cores == 2) {
            EMIT(t, barrier, SP, A(5), isa_none());
            rig_dma(&t->r, isa_chip(ISA_SBUF, NUM_U32, 0, 128, 4 * SLOT_BYTES, 512),
                    isa_hbm(rig_slot(&t->r, scratch[1 - c]), NUM_U32, 0, 2, (int64_t[]){ 600, 1 }, (uint32_t[]){ 128, 512 }));
            EMIT(t, barrier, SP, A(6), isa_none());
            for (int i = 0; i < 15; i++) gen_one(t);
        }
        gen_end(t);
    }
}

static uint8_t *output_of(uint64_t seed, int cores, int threads, const char *level, int runs, bool constant, size_t *bytes)
{
    gen t;
    generate(&t, seed, cores, threads);
    t.r.mode = level ? DEV_BOUND : DEV_EXACT;
    if (level) setenv("GLIA_CPU", level, 1);
    t.r.buffers[t.input].constant = constant;
    for (int k = 0; k < runs; k++) {
        for (uint32_t i = t.output + 1; i < t.r.tensors; i++) memset(t.r.buffers[i].data, 0, t.r.buffers[i].bytes);
        glia_status s = rig_run(&t.r);
        if (s) FAIL_TEST("seed %llu: %s", (unsigned long long)seed, glia_status_message(s));
    }
    unsetenv("GLIA_CPU");
    *bytes = t.r.buffers[t.output].bytes;
    uint8_t *out = glia_alloc(*bytes);
    memcpy(out, t.r.buffers[t.output].data, *bytes);
    rig_fini(&t.r);
    return out;
}

static void compare(uint64_t seed, int cores)
{
    static const char *const levels[] = { "scalar", "avx2", "avx512", "avx512bf16" };
    size_t bytes, other;
    uint8_t *want = output_of(seed, cores, 1, NULL, 1, false, &bytes);
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        if (i > 0 && !dev_kernels_named(levels[i])) continue;
        for (int threads = 1; threads <= 2; threads++) {
            uint8_t *got = output_of(seed, cores, threads, levels[i], 1 + (int)(seed % 2), seed % 3 == 0, &other);
            for (size_t b = 0; b < bytes; b++)
                if (got[b] != want[b])
                    FAIL_TEST("seed %llu, %d cores, %s, %d threads: core %zu, slot %zu partition %zu byte %zu: got %02x, want %02x",
                              (unsigned long long)seed, cores, levels[i], threads, b / (128 * (SLOTS * SLOT_BYTES + PSUM_WORDS * 4)),
                              b % (128 * (SLOTS * SLOT_BYTES + PSUM_WORDS * 4)) / (128 * SLOT_BYTES), b % (128 * SLOT_BYTES) / SLOT_BYTES, b % SLOT_BYTES, got[b], want[b]);
            glia_free(got);
        }
    }
    glia_free(want);
}

static uint64_t count_of_programs(uint64_t standard)
{
    const char *n = getenv("GLIA_DEV_PROGRAMS");
    return n ? strtoull(n, NULL, 10) : standard;
}

TEST(bound, equals_exact_on_generated_programs_of_one_core)
{
    for (uint64_t seed = 1; seed <= count_of_programs(12); seed++) compare(seed, 1);
}

TEST(bound, equals_exact_on_generated_programs_of_two_cores)
{
    for (uint64_t seed = 101; seed <= 100 + count_of_programs(8); seed++) compare(seed, 2);
}

// ---- what packed operands may remember -----------------------------------------------------------------------------

// out[1, 16] = a[128, 1]^T w[128, 16], twice from the same bound memory with changes in between.
TEST(bound, packed_weights_follow_their_generation)
{
    float a[128], w[128 * 16];
    for (int i = 0; i < 128; i++) a[i] = 1;
    for (int i = 0; i < 128 * 16; i++) w[i] = 1;
    for (int constant = 0; constant < 2; constant++) {
        rig r;
        rig_init(&r, &hw_trainium2, 1, 1);
        r.mode = DEV_BOUND;
        rig_in(&r, rig_sbuf(NUM_F32, 128, 0, 1), a);
        rig_in(&r, rig_sbuf(NUM_F32, 128, 64, 16), w);
        RIG_EMIT(&r, matmul, PE, A(0, 0), rig_psum(NUM_F32, 1, 0, 16), rig_sbuf(NUM_F32, 128, 0, 1), rig_sbuf(NUM_F32, 128, 64, 16));
        const uint32_t out = rig_out(&r, rig_psum(NUM_F32, 1, 0, 16));
        r.buffers[1].constant = (uint8_t)constant;
        EXPECT_OK(rig_run(&r));
        EXPECT_EQ_INT(rig_f32(&r, out)[15], 128);
        rig_f32(&r, 1)[15] = 1001;
        r.buffers[1].generation++;
        EXPECT_OK(rig_run(&r));
        EXPECT_EQ_INT(rig_f32(&r, out)[15], 1128);
        dev_buffer_release(&r.buffers[1]);
        EXPECT(r.buffers[1].packed == NULL);
        rig_f32(&r, 0)[0] = 3;              // not constant: seen without notice
        EXPECT_OK(rig_run(&r));
        EXPECT_EQ_INT(rig_f32(&r, out)[15], 127 + 3 * 1001);
        rig_fini(&r);
    }
}

// A noted DMA whose image an elementwise instruction reads after its SBUF bytes were half overwritten.
TEST(bound, a_noted_dma_is_made_before_a_partial_write)
{
    float x[4 * 32];
    for (int i = 0; i < 4 * 32; i++) x[i] = (float)i;
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    r.mode = DEV_BOUND;
    rig_in(&r, rig_sbuf(NUM_F32, 4, 0, 32), x);
    RIG_EMIT(&r, memset, DVE, A(0), rig_sbuf(NUM_F32, 4, 64, 16), isa_imm_f32(-1));
    const uint32_t out = rig_out(&r, rig_sbuf(NUM_F32, 4, 0, 32));
    EXPECT_OK(rig_run(&r));
    for (int i = 0; i < 4 * 32; i++) EXPECT_EQ_INT(rig_f32(&r, out)[i], i % 32 < 16 ? x[i] : -1);
    rig_fini(&r);
}

TEST(bound, faults_and_hangs_of_two_threads_end_both)
{
    for (int hang = 0; hang < 2; hang++) {
        rig r;
        rig_init(&r, &hw_trainium2, 2, 2);
        r.mode = DEV_BOUND;
        const uint32_t t = rig_tensor(&r, ISA_TENSOR_OUTPUT, NUM_U32, 8, NULL);
        RIG_EMIT(&r, barrier, SP, A(1), isa_none());
        r.f = r.program->cores[1].functions.items[0];
        if (!hang) rig_dma(&r, rig_hbm(&r, t, NUM_U32, 20, 1, 4), rig_hbm(&r, t, NUM_U32, 0, 1, 4));
        if (!hang) EXPECT_FAILS(rig_run(&r), FAULT, "bytes 20..36 of 't0', which has 32");
        else EXPECT_FAILS(rig_run(&r), HANG, "core 0 waits at barrier 1, core 1 has ended");
        rig_fini(&r);
    }
}
