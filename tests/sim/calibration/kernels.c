// SPDX-License-Identifier: Apache-2.0
// The kernels, with the loop orders, instruction counts and traffic that docs/facts/bench.md and docs/facts/isa.md
// publish. What is not published is decided by two rules for all of them:
//   - a tile that is loaded, used and forgotten rotates over STREAM buffers;
//   - tiles that a loop keeps (a block of an operand) are held twice if two sets fit into SBUF, once otherwise; a tile
//     may be overwritten as soon as its own last reader is through.
// What SBUF cannot hold at all is spilled to HBM and reloaded around its use.
#include "calibration/kernels.h"

enum { STREAM = 4, P = 128, COLUMNS = 512 };
enum { QUEUE_A, QUEUE_B, QUEUE_OUT, QUEUE_SAVE, QUEUE_RELOAD };

typedef struct pool { sched_tile tiles[8]; int count, next; } pool;

static pool rotate(schedule *s, num_dtype dtype, int partitions, int free, int count)
{
    pool r = { .count = count };
    for (int k = 0; k < count; k++) r.tiles[k] = schedule_sbuf(s, dtype, partitions, free);
    return r;
}

static sched_tile next(pool *r)
{
    const sched_tile t = r->tiles[r->next];
    r->next = (r->next + 1) % r->count;
    return t;
}

// A block of `count` tiles, once or twice.
typedef struct block { sched_tile tiles[2][64]; int sets, set; } block;

static block keep(schedule *s, num_dtype dtype, int free, int count, int sets)
{
    block b = { .sets = sets };
    for (int n = 0; n < sets; n++)
        for (int k = 0; k < count; k++) b.tiles[n][k] = schedule_sbuf(s, dtype, P, free);
    return b;
}

static const sched_tile *turn(block *b)
{
    b->set = (b->set + 1) % b->sets;
    return b->tiles[b->set];
}

static int64_t tile_bytes(num_dtype dtype, int64_t elements)
{
    return elements * num_bits(dtype) / 8;
}

static isa_engine evictor(const hw_chip *chip)
{
    return hw_int(chip->generation) == 2 ? ISA_ACT : ISA_DVE;
}

// ---- the matmul tutorial and guide: out[M, N] = lhsT[K, M]^T rhs[K, N] ---------------------------------------------

enum { M = 4096, K = 8192, N = 8192, KT = K / P };
typedef struct mm { schedule *s; uint32_t lhs, rhs, out; num_dtype dtype; isa_engine evict; } mm;

static mm mm_create(const hw_chip *chip, const char *name, num_dtype dtype)
{
    mm m = { .s = schedule_create(chip, name), .dtype = dtype, .evict = evictor(chip) };
    m.lhs = schedule_tensor(m.s, "lhsT", ISA_TENSOR_INPUT, dtype, K, M);
    m.rhs = schedule_tensor(m.s, "rhs", ISA_TENSOR_INPUT, dtype, K, N);
    m.out = schedule_tensor(m.s, "out", ISA_TENSOR_OUTPUT, dtype, M, N);
    return m;
}

static isa_program *mm_naive(const hw_chip *chip, num_dtype dtype)
{
    mm m = mm_create(chip, "naive", dtype);
    pool lhs = rotate(m.s, dtype, P, P, STREAM), rhs = rotate(m.s, dtype, P, COLUMNS, STREAM), out = rotate(m.s, dtype, P, COLUMNS, STREAM);
    for (int i = 0; i < M / P; i++) {
        for (int j = 0; j < N / COLUMNS; j++) {
            const sched_tile acc = schedule_bank(m.s, P, COLUMNS);
            for (int k = 0; k < KT; k++) {
                const sched_tile a = next(&lhs), b = next(&rhs);
                schedule_load(m.s, QUEUE_A, a, m.lhs, k * P, i * P);
                schedule_load(m.s, QUEUE_B, b, m.rhs, k * P, j * COLUMNS);
                schedule_matmul(m.s, acc, a, b, k > 0);
            }
            const sched_tile o = next(&out);
            schedule_copy(m.s, m.evict, o, acc);
            schedule_store(m.s, QUEUE_OUT, o, m.out, i * P, j * COLUMNS);
        }
    }
    return schedule_take(m.s);
}

// Blocks of bm x bn tiles; all of K of both operands is held while a block is computed. bm = bn = 1 is "hoisted".
static isa_program *mm_free_blocked(const hw_chip *chip, const char *name, num_dtype dtype, int bm, int bn)
{
    mm m = mm_create(chip, name, dtype);
    pool out = rotate(m.s, dtype, P, COLUMNS, STREAM);
    const int64_t lhs_bytes = KT * tile_bytes(dtype, bm * P), rhs_bytes = KT * tile_bytes(dtype, bn * COLUMNS);
    const int sets = 2 * (lhs_bytes + rhs_bytes) <= schedule_room(m.s) ? 2 : 1;
    block lhs = keep(m.s, dtype, bm * P, KT, sets), rhs = keep(m.s, dtype, bn * COLUMNS, KT, sets);
    for (int i = 0; i < M / P / bm; i++) {
        const sched_tile *a = turn(&lhs);
        for (int k = 0; k < KT; k++) schedule_load(m.s, QUEUE_A, a[k], m.lhs, k * P, i * bm * P);
        for (int j = 0; j < N / COLUMNS / bn; j++) {
            const sched_tile *b = turn(&rhs);
            for (int k = 0; k < KT; k++) schedule_load(m.s, QUEUE_B, b[k], m.rhs, k * P, j * bn * COLUMNS);
            for (int t = 0; t < bm * bn; t++) {
                const sched_tile acc = schedule_bank(m.s, P, COLUMNS);
                const int row = t / bn, column = t % bn;
                for (int k = 0; k < KT; k++)
                    schedule_matmul(m.s, acc, tile_columns(a[k], row * P, P), tile_columns(b[k], column * COLUMNS, COLUMNS), k > 0);
                const sched_tile o = next(&out);
                schedule_copy(m.s, m.evict, o, acc);
                schedule_store(m.s, QUEUE_OUT, o, m.out, (i * bm + row) * P, (j * bn + column) * COLUMNS);
            }
        }
    }
    return schedule_take(m.s);
}

// 16 x 2 x 8 tiles of M, N and K; partial sums are added up in SBUF, those that do not fit are spilled.
enum { BM = 16, BN = 2, BK = 8, SUMS = M / P * BN };
typedef struct sums { schedule *s; sched_tile held[SUMS]; int kept; pool spilled; uint32_t scratch; } sums;

static sums sums_create(schedule *s, num_dtype dtype, int64_t others)
{
    sums r = { .s = s, .kept = SUMS };
    const int64_t each = tile_bytes(dtype, COLUMNS);
    while (r.kept * each + (r.kept < SUMS ? STREAM * each : 0) + others > schedule_room(s)) r.kept--;
    for (int k = 0; k < r.kept; k++) r.held[k] = schedule_sbuf(s, dtype, P, COLUMNS);
    if (r.kept == SUMS) return r;
    r.spilled = rotate(s, dtype, P, COLUMNS, STREAM);
    r.scratch = schedule_tensor(s, "spill", ISA_TENSOR_SCRATCH, dtype, SUMS * P, COLUMNS);
    return r;
}

static sched_tile sums_get(sums *r, int k, bool fresh)
{
    if (k < r->kept) {
        if (fresh) schedule_zero(r->s, r->held[k]);
        return r->held[k];
    }
    const sched_tile t = next(&r->spilled);
    if (fresh) schedule_zero(r->s, t);
    else schedule_load(r->s, QUEUE_RELOAD, t, r->scratch, k * P, 0);
    return t;
}

static void sums_put(sums *r, int k, sched_tile t)
{
    if (k >= r->kept) schedule_store(r->s, QUEUE_SAVE, t, r->scratch, k * P, 0);
}

static void all_blocked_step(mm *m, sums *r, const sched_tile *a, const sched_tile *b, int mb, bool fresh)
{
    for (int t = 0; t < BM * BN; t++) {
        const int row = t % BM, column = t / BM, number = (mb * BM + row) * BN + column;
        const sched_tile acc = schedule_bank(m->s, P, COLUMNS);
        for (int k = 0; k < BK; k++)
            schedule_matmul(m->s, acc, tile_columns(a[k], row * P, P), tile_columns(b[k], column * COLUMNS, COLUMNS), k > 0);
        const sched_tile sum = sums_get(r, number, fresh);
        schedule_tensor_tensor(m->s, ISA_ALU_ADD, sum, acc, sum);
        sums_put(r, number, sum);
    }
}

static isa_program *mm_all_blocked(const hw_chip *chip, num_dtype dtype)
{
    mm m = mm_create(chip, "all blocked", dtype);
    pool packed = rotate(m.s, dtype, P, BN * COLUMNS, 2);
    const int64_t operands = BK * (tile_bytes(dtype, BM * P) + tile_bytes(dtype, BN * COLUMNS));
    const int64_t all_sums = SUMS * tile_bytes(dtype, COLUMNS);
    const int sets = 2 * operands + all_sums <= schedule_room(m.s) ? 2 : 1;
    block lhs = keep(m.s, dtype, BM * P, BK, sets), rhs = keep(m.s, dtype, BN * COLUMNS, BK, sets);
    sums r = sums_create(m.s, dtype, 0);
    for (int j = 0; j < N / COLUMNS / BN; j++) {
        for (int kb = 0; kb < KT / BK; kb++) {
            const sched_tile *b = turn(&rhs);
            for (int k = 0; k < BK; k++) schedule_load(m.s, QUEUE_B, b[k], m.rhs, (kb * BK + k) * P, j * BN * COLUMNS);
            for (int mb = 0; mb < M / P / BM; mb++) {
                const sched_tile *a = turn(&lhs);
                for (int k = 0; k < BK; k++) schedule_load(m.s, QUEUE_A, a[k], m.lhs, (kb * BK + k) * P, mb * BM * P);
                all_blocked_step(&m, &r, a, b, mb, kb == 0);
            }
        }
        for (int row = 0; row < M / P; row++) {
            const sched_tile o = next(&packed);
            for (int column = 0; column < BN; column++) {
                const sched_tile sum = sums_get(&r, row * BN + column, false);
                schedule_copy(m.s, ISA_DVE, tile_columns(o, column * COLUMNS, COLUMNS), sum);
            }
            schedule_store(m.s, QUEUE_OUT, o, m.out, row * P, j * BN * COLUMNS);
        }
    }
    return schedule_take(m.s);
}

isa_program *cal_build_tutorial_naive(const hw_chip *chip) { return mm_naive(chip, NUM_BF16); }
isa_program *cal_build_tutorial_hoisted(const hw_chip *chip) { return mm_free_blocked(chip, "hoisted", NUM_BF16, 1, 1); }
isa_program *cal_build_tutorial_free(const hw_chip *chip) { return mm_free_blocked(chip, "free blocked", NUM_BF16, 2, 2); }
isa_program *cal_build_tutorial_all(const hw_chip *chip) { return mm_all_blocked(chip, NUM_BF16); }
isa_program *cal_build_guide_naive(const hw_chip *chip) { return mm_naive(chip, NUM_F32); }
isa_program *cal_build_guide_hoisted(const hw_chip *chip) { return mm_free_blocked(chip, "hoisted", NUM_F32, 1, 1); }
isa_program *cal_build_guide_blocked(const hw_chip *chip) { return mm_all_blocked(chip, NUM_F32); }

// ---- the suite of B1 -----------------------------------------------------------------------------------------------

// matmul: x[4096, 5120] y[5120, 12288]. A block of 1,024 columns at a time; for each row tile x is loaded and transposed
// through PE, and the block of y is loaded again (9.06 GB of reads say so).
isa_program *cal_build_suite_matmul(const hw_chip *chip)
{
    enum { ROWS = 4096, DEPTH = 5120, WIDTH = 12288, BLOCK = 1024 };
    schedule *s = schedule_create(chip, "matmul");
    const uint32_t x = schedule_tensor(s, "x", ISA_TENSOR_INPUT, NUM_F32, ROWS, DEPTH);
    const uint32_t y = schedule_tensor(s, "y", ISA_TENSOR_INPUT, NUM_F32, DEPTH, WIDTH);
    const uint32_t out = schedule_tensor(s, "out", ISA_TENSOR_OUTPUT, NUM_F32, ROWS, WIDTH);
    const uint32_t identity = schedule_tensor(s, "identity", ISA_TENSOR_INPUT, NUM_F32, P, P);
    const sched_tile eye = schedule_sbuf(s, NUM_F32, P, P);
    schedule_load(s, QUEUE_RELOAD, eye, identity, 0, 0);
    pool rows = rotate(s, NUM_F32, P, BLOCK, STREAM), turned = rotate(s, NUM_F32, P, P, STREAM);
    pool columns = rotate(s, NUM_F32, P, BLOCK, STREAM), result = rotate(s, NUM_F32, P, BLOCK, STREAM);
    for (int j = 0; j < WIDTH / BLOCK; j++) {
        for (int i = 0; i < ROWS / P; i++) {
            const sched_tile acc[2] = { schedule_bank(s, P, COLUMNS), schedule_bank(s, P, COLUMNS) };
            sched_tile row = { 0 };
            for (int k = 0; k < DEPTH / P; k++) {
                if (k % 8 == 0) {
                    row = next(&rows);
                    schedule_load(s, QUEUE_A, row, x, i * P, k * P);
                }
                const sched_tile flipped = schedule_bank(s, P, P), xt = next(&turned), b = next(&columns);
                schedule_load(s, QUEUE_B, b, y, k * P, j * BLOCK);
                schedule_transpose(s, flipped, tile_columns(row, k % 8 * P, P), eye);
                schedule_copy(s, ISA_ACT, xt, flipped);
                for (int half = 0; half < 2; half++) schedule_matmul(s, acc[half], xt, tile_columns(b, half * COLUMNS, COLUMNS), k > 0);
            }
            const sched_tile o = next(&result);
            for (int half = 0; half < 2; half++) schedule_copy(s, ISA_ACT, tile_columns(o, half * COLUMNS, COLUMNS), acc[half]);
            schedule_store(s, QUEUE_OUT, o, out, i * P, j * BLOCK);
        }
    }
    return schedule_take(s);
}

// transpose_matmul: xT[2048, 4096] y[2048, 10944]; blocks of 1,024 by 1,024, all of the depth.
isa_program *cal_build_suite_transpose_matmul(const hw_chip *chip)
{
    enum { ROWS = 4096, DEPTH = 2048, WIDTH = 10944, BLOCK = 1024, TILES = DEPTH / P };
    schedule *s = schedule_create(chip, "transpose_matmul");
    const uint32_t x = schedule_tensor(s, "x", ISA_TENSOR_INPUT, NUM_F32, DEPTH, ROWS);
    const uint32_t y = schedule_tensor(s, "y", ISA_TENSOR_INPUT, NUM_F32, DEPTH, WIDTH);
    const uint32_t out = schedule_tensor(s, "out", ISA_TENSOR_OUTPUT, NUM_F32, ROWS, WIDTH);
    pool result = rotate(s, NUM_F32, P, BLOCK, STREAM);
    const int sets = 2 * 2 * TILES * tile_bytes(NUM_F32, BLOCK) <= schedule_room(s) ? 2 : 1;
    block lhs = keep(s, NUM_F32, BLOCK, TILES, sets), rhs = keep(s, NUM_F32, BLOCK, TILES, sets);
    for (int i = 0; i < ROWS / BLOCK; i++) {
        const sched_tile *a = turn(&lhs);
        for (int k = 0; k < TILES; k++) schedule_load(s, QUEUE_A, a[k], x, k * P, i * BLOCK);
        for (int j = 0; j * BLOCK < WIDTH; j++) {
            const int width = WIDTH - j * BLOCK < BLOCK ? WIDTH - j * BLOCK : BLOCK;
            const sched_tile *b = turn(&rhs);
            for (int k = 0; k < TILES; k++) schedule_load(s, QUEUE_B, tile_columns(b[k], 0, width), y, k * P, j * BLOCK);
            for (int row = 0; row < BLOCK / P; row++) {
                const sched_tile o = tile_columns(next(&result), 0, width);
                for (int first = 0; first < width; first += COLUMNS) {
                    const int n = width - first < COLUMNS ? width - first : COLUMNS;
                    const sched_tile acc = schedule_bank(s, P, n);
                    for (int k = 0; k < TILES; k++)
                        schedule_matmul(s, acc, tile_columns(a[k], row * P, P), tile_columns(b[k], first, n), k > 0);
                    schedule_copy(s, ISA_ACT, tile_columns(o, first, n), acc);
                }
                schedule_store(s, QUEUE_OUT, o, out, i * BLOCK + row * P, j * BLOCK);
            }
        }
    }
    return schedule_take(s);
}

// rope: heads and sequence flattened into 512 tiles of 512 columns, the two halves of a head on partitions 0 and 64.
isa_program *cal_build_suite_rope(const hw_chip *chip)
{
    enum { TILES = 512, HALF = 64 };
    schedule *s = schedule_create(chip, "rope");
    const uint32_t x = schedule_tensor(s, "x", ISA_TENSOR_INPUT, NUM_F32, P, TILES * COLUMNS);
    const uint32_t cos = schedule_tensor(s, "cos", ISA_TENSOR_INPUT, NUM_F32, HALF, TILES * COLUMNS);
    const uint32_t sin = schedule_tensor(s, "sin", ISA_TENSOR_INPUT, NUM_F32, HALF, TILES * COLUMNS);
    const uint32_t out = schedule_tensor(s, "out", ISA_TENSOR_OUTPUT, NUM_F32, P, TILES * COLUMNS);
    pool xs = rotate(s, NUM_F32, P, COLUMNS, STREAM), cs = rotate(s, NUM_F32, HALF, COLUMNS, STREAM);
    pool ss = rotate(s, NUM_F32, HALF, COLUMNS, STREAM), odds = rotate(s, NUM_F32, HALF, COLUMNS, STREAM);
    pool products = rotate(s, NUM_F32, HALF, COLUMNS, STREAM), results = rotate(s, NUM_F32, P, COLUMNS, STREAM);
    for (int t = 0; t < TILES; t++) {
        const sched_tile v = next(&xs), c = next(&cs), n = next(&ss), odd = next(&odds), r = next(&results);
        const sched_tile even = tile_part(v, 0, HALF);
        schedule_load(s, QUEUE_A, v, x, 0, t * COLUMNS);
        schedule_load(s, QUEUE_B, c, cos, 0, t * COLUMNS);
        schedule_load(s, QUEUE_B, n, sin, 0, t * COLUMNS);
        schedule_copy(s, ISA_ACT, odd, tile_part(v, HALF, HALF));
        const sched_tile p[4] = { next(&products), next(&products), next(&products), next(&products) };
        schedule_tensor_tensor(s, ISA_ALU_MULTIPLY, p[0], even, c);
        schedule_tensor_tensor(s, ISA_ALU_MULTIPLY, p[1], odd, n);
        schedule_tensor_tensor(s, ISA_ALU_SUBTRACT, tile_part(r, 0, HALF), p[0], p[1]);
        schedule_tensor_tensor(s, ISA_ALU_MULTIPLY, p[2], even, n);
        schedule_tensor_tensor(s, ISA_ALU_MULTIPLY, p[3], odd, c);
        schedule_tensor_tensor(s, ISA_ALU_ADD, tile_part(r, HALF, HALF), p[2], p[3]);
        schedule_store(s, QUEUE_OUT, r, out, 0, t * COLUMNS);
    }
    return schedule_take(s);
}

// silu: x / (1 + exp(-x)), by halves of [128, 1024] tiles.
isa_program *cal_build_suite_silu(const hw_chip *chip)
{
    enum { ROWS = 4096, WIDTH = 7168, TILE = 1024 };
    schedule *s = schedule_create(chip, "silu");
    const uint32_t x = schedule_tensor(s, "x", ISA_TENSOR_INPUT, NUM_F32, ROWS, WIDTH);
    const uint32_t out = schedule_tensor(s, "out", ISA_TENSOR_OUTPUT, NUM_F32, ROWS, WIDTH);
    pool xs = rotate(s, NUM_F32, P, TILE, STREAM), results = rotate(s, NUM_F32, P, TILE, STREAM);
    pool es = rotate(s, NUM_F32, P, COLUMNS, STREAM), plus = rotate(s, NUM_F32, P, COLUMNS, STREAM);
    pool inverses = rotate(s, NUM_F32, P, COLUMNS, STREAM);
    for (int i = 0; i < ROWS / P; i++) {
        for (int j = 0; j < WIDTH / TILE; j++) {
            const sched_tile v = next(&xs), r = next(&results);
            schedule_load(s, QUEUE_A, v, x, i * P, j * TILE);
            for (int half = 0; half < 2; half++) {
                const sched_tile in = tile_columns(v, half * COLUMNS, COLUMNS), e = next(&es), one = next(&plus), inverse = next(&inverses);
                schedule_activation(s, ISA_ACT_EXP, -1, e, in);
                schedule_add_one(s, one, e);
                schedule_reciprocal(s, inverse, one);
                schedule_tensor_tensor(s, ISA_ALU_MULTIPLY, tile_columns(r, half * COLUMNS, COLUMNS), in, inverse);
            }
            schedule_store(s, QUEUE_OUT, r, out, i * P, j * TILE);
        }
    }
    return schedule_take(s);
}

// ---- single points -------------------------------------------------------------------------------------------------

isa_program *cal_build_dma_32k(const hw_chip *chip)
{
    schedule *s = schedule_create(chip, "dma 32 KiB");
    const uint32_t x = schedule_tensor(s, "x", ISA_TENSOR_INPUT, NUM_BF16, 4, 4096);
    schedule_load(s, QUEUE_A, schedule_sbuf(s, NUM_BF16, 4, 4096), x, 0, 0);
    return schedule_take(s);
}

isa_program *cal_build_act_dependent(const hw_chip *chip)
{
    schedule *s = schedule_create(chip, "dependent activations");
    const sched_tile t = schedule_sbuf(s, NUM_F32, 1, 1);
    for (int k = 0; k < CAL_CHAIN; k++) schedule_activation(s, ISA_ACT_SQUARE, 1, t, t);
    return schedule_take(s);
}
