// SPDX-License-Identifier: Apache-2.0
// The vector and scalar engines, fast: groups of partitions are widened to fp32 rows (fp32 that lies contiguous is read
// in place), the kernels run over whole rows, and rows are narrowed on the way out. Small rows are taken together, so
// that a [128, 1] column is one short vector. Elements are computed by the same operations as in exact mode.
#include <string.h>

#include "dev/alu.h"
#include "dev/fast/fast.h"
#include "dev/rows.h"

// ---- rows in and out -----------------------------------------------------------------------------------------------

static void widen_run(const dev_kernels *k, num_dtype t, float *out, const uint8_t *in, int64_t step, size_t n)
{
    const int size = num_size(t);
    if (step == size && t == NUM_BF16) k->from_bf16(out, (const uint16_t *)(const void *)in, n);
    else if (step == size && t == NUM_F16) k->from_f16(out, (const uint16_t *)(const void *)in, n);
    else if (step == size && (t == NUM_F32 || t == NUM_TF32)) memcpy(out, in, n * sizeof *out);
    else if (t == NUM_F32 || t == NUM_TF32)
        for (size_t i = 0; i < n; i++) memcpy(&out[i], in + step * (int64_t)i, sizeof *out);
    else
        for (size_t i = 0; i < n; i++) out[i] = num_to_f32(t, num_load(t, in + step * (int64_t)i));
}

static void widen_row(const dev_kernels *k, const dev_ap *a, uint32_t p, float *out)
{
    const uint8_t *in = a->base + p * a->pitch;
    if (a->rank == 0) widen_run(k, (num_dtype)a->dtype, out, in, a->size, 1);
    else if (a->rank == 1) widen_run(k, (num_dtype)a->dtype, out, in, a->step[0], a->count[0]);
    else {
        dev_run run;
        for (dev_walk w = dev_walk_of(a, a->base + p * a->pitch); dev_walk_next(&w, &run); out += run.count)
            widen_run(k, (num_dtype)a->dtype, out, run.at, run.step, run.count);
    }
}

static bool in_place(const dev_ap *a)
{
    return (a->dtype == NUM_F32 || a->dtype == NUM_TF32) && dev_is_run(a);
}

// Rows p0..p1 as one array; a single contiguous fp32 row is borrowed.
static const float *rows_in(const dev_kernels *k, const dev_ap *a, uint32_t p0, uint32_t p1, float *buffer)
{
    if (p1 - p0 == 1 && in_place(a)) return (const float *)(const void *)(a->base + p0 * a->pitch);
    for (uint32_t p = p0; p < p1; p++) widen_row(k, a, p, buffer + (p - p0) * a->free);
    return buffer;
}

static void rows_out(const dev_exec *x, const dev_kernels *k, const dev_ap *a, uint32_t p0, uint32_t p1, const float *rows)
{
    for (uint32_t p = p0; p < p1; p++) {
        const float *in = rows + (p - p0) * a->free;
        uint8_t *out = a->base + p * a->pitch;
        if (x->stochastic || !dev_is_run(a)) dev_store_f32(x, a, p, in);
        else if (a->dtype == NUM_F32) k->canonical((float *)(void *)out, in, a->free);
        else if (a->dtype == NUM_BF16) k->to_bf16((uint16_t *)(void *)out, in, a->free);
        else if (a->dtype == NUM_F16) k->to_f16((uint16_t *)(void *)out, in, a->free);
        else dev_store_f32(x, a, p, in);
    }
}

// A per-partition operand over the rows p0..p1 of `free` elements: a scalar for one row, else spread out.
typedef struct column { bool scalar; float value; const float *rows; } column;

static column column_of(const dev_exec *x, int slot, uint32_t p0, uint32_t p1, size_t free, float *buffer)
{
    if (!dev_has(x, slot)) return (column){ .scalar = true };
    if (p1 - p0 == 1 || x->operand[slot].space == ISA_IMM)
        return (column){ .scalar = true, .value = dev_column_f32(x, slot, p0) };
    for (uint32_t p = p0; p < p1; p++) {
        const float v = dev_column_f32(x, slot, p);
        for (size_t f = 0; f < free; f++) buffer[(p - p0) * free + f] = v;
    }
    return (column){ .rows = buffer };
}

static void apply(const dev_kernels *k, isa_alu op, bool reverse, float *out, const float *a, column b, size_t n)
{
    if (b.scalar && !reverse) k->alu_vs[op](out, a, b.value, n);
    else if (b.scalar) k->alu_sv[op](out, a, b.value, n);
    else if (!reverse) k->alu_vv[op](out, a, b.rows, n);
    else k->alu_vv[op](out, b.rows, a, n);
}

static bool has_alu(const dev_kernels *k, isa_alu op, bool reverse, bool tensor)
{
    return op == ISA_ALU_NONE || (k->alu_vs[op] && (!reverse || k->alu_sv[op]) && (!tensor || k->alu_vv[op]));
}

// A unary operator ignores its operand, so a spread-out column would only be in the way.
static column operand_of(const dev_exec *x, isa_alu op, int slot, uint32_t p0, uint32_t p1, size_t free, float *buffer)
{
    if (dev_alu_kind_of(op) == DEV_ALU_UNARY) return (column){ .scalar = true };
    return column_of(x, slot, p0, p1, free, buffer);
}

// ---- partitions ----------------------------------------------------------------------------------------------------

typedef struct split { dev_exec *x; uint32_t partitions; dev_rows_fn fn; void *context; } split;

static void split_worker(void *context, int worker, int workers)
{
    const split *s = context;
    // Whole groups of 16, so that folds are grouped alike.
    const uint32_t groups = (s->partitions + DEV_FOLD_ROWS - 1) / DEV_FOLD_ROWS;
    const uint32_t from = groups * (uint32_t)worker / (uint32_t)workers * DEV_FOLD_ROWS;
    uint32_t to = groups * (uint32_t)(worker + 1) / (uint32_t)workers * DEV_FOLD_ROWS;
    if (to > s->partitions) to = s->partitions;
    if (from < to) s->fn(s->context, from, to, dev_scratch_of(s->x, worker));
}

void dev_over_partitions(dev_exec *x, uint32_t partitions, uint64_t work, dev_rows_fn fn, void *context)
{
    if (x->loaded->fast->workers > 1 && work > 4000 && partitions > DEV_FOLD_ROWS)
        glia_pool_run(x->machine->pool, split_worker, &(split){ x, partitions, fn, context });
    else
        fn(context, 0, partitions, dev_scratch_of(x, 0));
}

// Partitions that are taken together: about 512 elements, at most 16 rows of any length.
static uint32_t together(uint64_t free)
{
    return free >= 128 ? 1 : free >= 32 ? DEV_FOLD_ROWS : (uint32_t)(512 / (free ? free : 1));
}

static uint32_t group_end(uint32_t p, uint32_t step, uint32_t end) { return end - p < step ? end : p + step; }

// ---- elementwise ---------------------------------------------------------------------------------------------------

typedef struct rows_job {       // what the row functions of an instruction share
    const dev_exec *x;
    bool direct;                // results of single rows are computed in dst itself
} rows_job;

// dst may be written while an input is read when both are the same plain row, element for element, or far apart.
static bool may_write_directly(const dev_exec *x, int inputs, const int *slots)
{
    const dev_ap *dst = &x->ap[0];
    if (dst->dtype != NUM_F32 || !dev_is_run(dst)) return false;
    const dev_region to = dev_region_of(x, 0);
    for (int i = 0; i < inputs; i++) {
        if (!dev_in_memory(x->operand[slots[i]].space) || x->operand[slots[i]].space != x->operand[0].space) continue;
        const dev_region from = dev_region_of(x, slots[i]);
        const bool apart = to.hi <= from.lo || from.hi <= to.lo;
        const bool same = x->ap[slots[i]].base == dst->base && in_place(&x->ap[slots[i]]);
        if (!apart && !same) return false;
    }
    return true;
}

static float *target(const rows_job *j, uint32_t p, uint32_t end, float *scratch)
{
    const dev_ap *dst = &j->x->ap[0];
    return j->direct && end - p == 1 ? (float *)(void *)(dst->base + p * dst->pitch) : scratch;
}

static void finish(const rows_job *j, const dev_kernels *k, uint32_t p, uint32_t end, const float *rows)
{
    const dev_ap *dst = &j->x->ap[0];
    if ((const uint8_t *)rows != dst->base + p * dst->pitch) rows_out(j->x, k, dst, p, end, rows);
}

static void tensor_tensor_rows(void *context, uint32_t from, uint32_t to, dev_scratch *s)
{
    const rows_job *j = context;
    const dev_exec *x = j->x;
    const dev_kernels *k = x->loaded->fast->kernels;
    const isa_alu op = (isa_alu)x->insn->attr[0];
    const uint64_t free = x->ap[0].free;
    for (uint32_t p = from, step = together(free), end; p < to; p = end) {
        end = group_end(p, step, to);
        const float *a = rows_in(k, &x->ap[1], p, end, s->rows[0]), *b = rows_in(k, &x->ap[2], p, end, s->rows[1]);
        float *out = target(j, p, end, s->rows[2]);
        k->alu_vv[op](out, a, b, (end - p) * free);
        finish(j, k, p, end, out);
    }
}

static bool is_int32(const isa_operand *o) { return o->dtype == NUM_S32 || o->dtype == NUM_U32; }

bool dev_fast_tensor_tensor(dev_exec *x)
{
    const isa_alu op = (isa_alu)x->insn->attr[0];
    if (!x->loaded->fast->kernels->alu_vv[op]) return false;
    if (x->insn->engine == ISA_POOL && is_int32(&x->operand[1]) && is_int32(&x->operand[2])) return false;
    rows_job j = { x, may_write_directly(x, 2, (const int[]){ 1, 2 }) };
    dev_over_partitions(x, x->ap[0].partitions, x->ap[0].free * x->ap[0].partitions / 8, tensor_tensor_rows, &j);
    return true;
}

// Both operands are fetched before anything is written: they may lie where dst does.
static void tensor_scalar_rows(void *context, uint32_t from, uint32_t to, dev_scratch *s)
{
    const rows_job *j = context;
    const dev_exec *x = j->x;
    const dev_kernels *k = x->loaded->fast->kernels;
    const isa_alu op0 = (isa_alu)x->insn->attr[0], op1 = (isa_alu)x->insn->attr[2];
    const uint64_t free = x->ap[0].free;
    for (uint32_t p = from, step = together(free), end; p < to; p = end) {
        end = group_end(p, step, to);
        const size_t n = (end - p) * free;
        const float *a = rows_in(k, &x->ap[1], p, end, s->rows[0]);
        const column c0 = operand_of(x, op0, 2, p, end, free, s->rows[1]), c1 = operand_of(x, op1, 3, p, end, free, s->rows[3]);
        float *out = target(j, p, end, s->rows[2]);
        if (op0 != ISA_ALU_NONE) {
            apply(k, op0, x->insn->attr[1], out, a, c0, n);
            a = out;
        }
        if (op1 != ISA_ALU_NONE) {
            apply(k, op1, x->insn->attr[3], out, a, c1, n);
            a = out;
        }
        finish(j, k, p, end, a);
    }
}

bool dev_fast_tensor_scalar(dev_exec *x)
{
    const dev_kernels *k = x->loaded->fast->kernels;
    const isa_alu op0 = (isa_alu)x->insn->attr[0], op1 = (isa_alu)x->insn->attr[2];
    if (!has_alu(k, op0, x->insn->attr[1], dev_alu_kind_of(op0) != DEV_ALU_UNARY) ||
        !has_alu(k, op1, x->insn->attr[3], dev_alu_kind_of(op1) != DEV_ALU_UNARY)) return false;
    if (x->insn->engine == ISA_POOL && is_int32(&x->operand[1])) return false;
    const bool computes = op0 != ISA_ALU_NONE || op1 != ISA_ALU_NONE;
    rows_job j = { x, computes && may_write_directly(x, 1, (const int[]){ 1 }) };
    dev_over_partitions(x, x->ap[0].partitions, x->ap[0].free * x->ap[0].partitions / 8, tensor_scalar_rows, &j);
    return true;
}

static void stt_rows(void *context, uint32_t from, uint32_t to, dev_scratch *s)
{
    const rows_job *j = context;
    const dev_exec *x = j->x;
    const dev_kernels *k = x->loaded->fast->kernels;
    const isa_alu op0 = (isa_alu)x->insn->attr[0], op1 = (isa_alu)x->insn->attr[2];
    const uint64_t free = x->ap[0].free;
    for (uint32_t p = from, step = together(free), end; p < to; p = end) {
        end = group_end(p, step, to);
        const size_t n = (end - p) * free;
        const float *a = rows_in(k, &x->ap[1], p, end, s->rows[0]);
        if (op0 != ISA_ALU_NONE) {
            apply(k, op0, x->insn->attr[1], s->rows[2], a, operand_of(x, op0, 2, p, end, free, s->rows[1]), n);
            a = s->rows[2];
        }
        const column tile = { .rows = rows_in(k, &x->ap[3], p, end, s->rows[1]) };
        float *out = target(j, p, end, s->rows[2]);
        apply(k, op1, x->insn->attr[3], out, a, tile, n);
        finish(j, k, p, end, out);
    }
}

bool dev_fast_scalar_tensor_tensor(dev_exec *x)
{
    const dev_kernels *k = x->loaded->fast->kernels;
    const isa_alu op0 = (isa_alu)x->insn->attr[0], op1 = (isa_alu)x->insn->attr[2];
    if (!has_alu(k, op0, x->insn->attr[1], dev_alu_kind_of(op0) != DEV_ALU_UNARY) || !k->alu_vv[op1]) return false;
    rows_job j = { x, may_write_directly(x, 2, (const int[]){ 1, 3 }) };
    dev_over_partitions(x, x->ap[0].partitions, x->ap[0].free * x->ap[0].partitions / 6, stt_rows, &j);
    return true;
}

static void reciprocal_rows(void *context, uint32_t from, uint32_t to, dev_scratch *s)
{
    const rows_job *j = context;
    const dev_exec *x = j->x;
    const dev_kernels *k = x->loaded->fast->kernels;
    const uint64_t free = x->ap[0].free;
    for (uint32_t p = from, step = together(free), end; p < to; p = end) {
        end = group_end(p, step, to);
        float *out = target(j, p, end, s->rows[2]);
        k->act[ISA_ACT_RECIPROCAL](out, rows_in(k, &x->ap[1], p, end, s->rows[0]), (end - p) * free);
        finish(j, k, p, end, out);
    }
}

bool dev_fast_reciprocal(dev_exec *x)
{
    rows_job j = { x, may_write_directly(x, 1, (const int[]){ 1 }) };
    dev_over_partitions(x, x->ap[0].partitions, x->ap[0].free * x->ap[0].partitions / 4, reciprocal_rows, &j);
    return true;
}

// ---- activation ----------------------------------------------------------------------------------------------------

// Adds `rows` (of partitions p..end, at most 16) to the reduce registers, from left to right.
static void sum_rows(const dev_exec *x, const dev_kernels *k, uint32_t p, uint32_t end, const float **rows, size_t free)
{
    const isa_reduce_cmd cmd = (isa_reduce_cmd)x->insn->attr[1];
    float *sums = &x->core->act_sum[x->ap[0].start_partition];
    if (cmd == ISA_REDUCE_RESET || cmd == ISA_REDUCE_RESET_REDUCE)
        for (uint32_t i = p; i < end; i++) sums[i] = 0;
    if (cmd != ISA_REDUCE_REDUCE && cmd != ISA_REDUCE_RESET_REDUCE) return;
    float acc[DEV_FOLD_ROWS] = { 0 };
    for (uint32_t i = 0; i < DEV_FOLD_ROWS; i++) {
        if (p + i < end) acc[i] = sums[p + i];
        else rows[i] = rows[0];                 // spare lanes repeat the first row
    }
    k->fold_add(acc, rows, free);
    for (uint32_t i = p; i < end; i++) sums[i] = acc[i - p];
}

// func(data * scale + bias) of rows p..end in `out`, or data itself where nothing is to be computed.
static const float *activate(const dev_exec *x, const dev_kernels *k, uint32_t p, uint32_t end, float *out, dev_scratch *s)
{
    const isa_act func = (isa_act)x->insn->attr[0];
    const size_t free = x->ap[0].free, n = (end - p) * free;
    const bool plain = x->operand[2].space == ISA_IMM && dev_imm_f32(&x->operand[2]) == 1;     // x * 1 is x
    const float *a = rows_in(k, &x->ap[1], p, end, s->rows[0]);
    const column scale = plain ? (column){ .scalar = true } : column_of(x, 2, p, end, free, s->rows[1]);
    const column bias = column_of(x, 3, p, end, free, s->rows[3]);
    if (!plain) {
        apply(k, ISA_ALU_MULTIPLY, false, out, a, scale, n);
        a = out;
    }
    if (dev_has(x, 3)) {
        apply(k, ISA_ALU_ADD, false, out, a, bias, n);
        a = out;
    }
    if (func != ISA_ACT_COPY) {
        k->act[func](out, a, n);
        a = out;
    }
    return a;
}

static void activation_rows(void *context, uint32_t from, uint32_t to, dev_scratch *s)
{
    const rows_job *j = context;
    const dev_exec *x = j->x;
    const dev_kernels *k = x->loaded->fast->kernels;
    const bool sums = x->insn->attr[1] != ISA_REDUCE_IDLE;
    const uint64_t free = x->ap[0].free;
    const uint32_t step = together(free) < DEV_FOLD_ROWS || !sums ? together(free) : DEV_FOLD_ROWS;
    const float *rows[DEV_FOLD_ROWS] = { 0 };
    for (uint32_t p = from, group = from, end; p < to; p = end) {
        end = group_end(p, step, to);
        float *out = target(j, p, end, s->rows[2] + (sums ? (p - group) * free : 0));
        const float *a = activate(x, k, p, end, out, s);
        if (sums && a != out) a = memcpy(out, a, (end - p) * free * sizeof *out);   // the next row overwrites the buffer
        for (uint32_t i = p; sums && i < end; i++) rows[i - group] = a + (i - p) * free;
        finish(j, k, p, end, a);
        if (!sums || (end - group < DEV_FOLD_ROWS && end < to)) continue;
        sum_rows(x, k, group, end, rows, free);
        group = end;
    }
}

bool dev_fast_activation(dev_exec *x)
{
    const isa_act func = (isa_act)x->insn->attr[0];
    const dev_kernels *k = x->loaded->fast->kernels;
    if ((func != ISA_ACT_COPY && !k->act[func]) || x->insn->attr[1] == ISA_REDUCE_LOAD_REDUCE || x->ap[0].free == 0)
        return false;
    const bool computes = func != ISA_ACT_COPY;
    rows_job j = { x, computes && may_write_directly(x, 1, (const int[]){ 1 }) };
    dev_over_partitions(x, x->ap[0].partitions, x->ap[0].free * x->ap[0].partitions / 3, activation_rows, &j);
    if (!dev_has(x, 4)) return true;
    for (uint32_t p = 0; p < x->ap[0].partitions; p++)
        dev_store_f32(x, &x->ap[4], p, &x->core->act_sum[x->ap[0].start_partition + p]);
    return true;
}

// ---- reductions ----------------------------------------------------------------------------------------------------

// 16 rows of `n` elements each, `have` of them real, folded into out.
static void fold_rows(const dev_kernels *k, isa_alu op, const float *const *rows, int have, size_t n, float *out)
{
    if (op == ISA_ALU_MAXIMUM || op == ISA_ALU_MINIMUM) {
        for (int r = 0; r < have; r++)
            out[r] = op == ISA_ALU_MAXIMUM ? k->fold_maximum(rows[r][0], rows[r], n) : k->fold_minimum(rows[r][0], rows[r], n);
        return;
    }
    float acc[DEV_FOLD_ROWS];
    // The neutral elements: -0 + x is x for every x, 1 * x too.
    for (int r = 0; r < DEV_FOLD_ROWS; r++) acc[r] = op == ISA_ALU_ADD ? -0.0f : 1.0f;
    if (op == ISA_ALU_ADD) k->fold_add(acc, rows, n);
    else k->fold_multiply(acc, rows, n);
    memcpy(out, acc, (size_t)have * sizeof *out);
}

static void tensor_reduce_rows(void *context, uint32_t from, uint32_t to, dev_scratch *s)
{
    const dev_exec *x = context;
    const dev_kernels *k = x->loaded->fast->kernels;
    const dev_ap *dst = &x->ap[0], *data = &x->ap[1];
    const isa_alu op = (isa_alu)x->insn->attr[0];
    const size_t kept = dst->free, n = data->free / kept;
    const bool direct = in_place(data);
    for (uint32_t p = from, end; p < to; p = end) {
        end = group_end(p, DEV_FOLD_ROWS, to);
        if (!direct) (void)rows_in(k, data, p, end, s->rows[0]);
        const size_t total = (end - p) * kept;
        for (size_t first = 0; first < total; first += DEV_FOLD_ROWS) {
            const float *rows[DEV_FOLD_ROWS];
            const int have = total - first < DEV_FOLD_ROWS ? (int)(total - first) : DEV_FOLD_ROWS;
            for (int r = 0; r < DEV_FOLD_ROWS; r++) {
                const size_t at = first + (size_t)(r < have ? r : 0), row = at / kept;
                const float *base = direct ? (const float *)(const void *)(data->base + (p + row) * data->pitch)
                                           : s->rows[0] + row * data->free;
                rows[r] = base + at % kept * n;
            }
            fold_rows(k, op, rows, have, n, s->rows[2] + first);
        }
        if (x->insn->attr[2]) k->alu_vs[ISA_ALU_MULTIPLY](s->rows[2], s->rows[2], -1, total);
        rows_out(x, k, dst, p, end, s->rows[2]);
    }
}

bool dev_fast_tensor_reduce(dev_exec *x)
{
    const isa_alu op = (isa_alu)x->insn->attr[0];
    if (op != ISA_ALU_ADD && op != ISA_ALU_MULTIPLY && op != ISA_ALU_MAXIMUM && op != ISA_ALU_MINIMUM) return false;
    if (x->ap[0].free == 0 || x->ap[1].free == 0) return false;
    dev_over_partitions(x, x->ap[1].partitions, x->ap[1].free * x->ap[1].partitions / 8, tensor_reduce_rows, x);
    return true;
}

// ---- casts ---------------------------------------------------------------------------------------------------------

static void cast_rows(void *context, uint32_t from, uint32_t to, dev_scratch *s)
{
    const dev_exec *x = context;
    const dev_kernels *k = x->loaded->fast->kernels;
    for (uint32_t p = from, step = together(x->ap[0].free), end; p < to; p = end) {
        end = group_end(p, step, to);
        rows_out(x, k, &x->ap[0], p, end, rows_in(k, &x->ap[1], p, end, s->rows[0]));
    }
}

static void copy_rows(void *context, uint32_t from, uint32_t to, dev_scratch *s)
{
    (void)s;
    const dev_exec *x = context;
    for (uint32_t p = from; p < to; p++)
        memmove(x->ap[0].base + p * x->ap[0].pitch, x->ap[1].base + p * x->ap[1].pitch, x->ap[0].free * x->ap[0].size);
}

// Elements of one size between a row and a flat array.
static void gather_run(uint8_t *out, const dev_run *r, int size)
{
    if (r->step == size) memcpy(out, r->at, (size_t)size * r->count);
    else if (size == 4)
        for (uint32_t i = 0; i < r->count; i++) memcpy(out + 4 * (size_t)i, r->at + r->step * (int64_t)i, 4);
    else if (size == 2)
        for (uint32_t i = 0; i < r->count; i++) memcpy(out + 2 * (size_t)i, r->at + r->step * (int64_t)i, 2);
    else
        for (uint32_t i = 0; i < r->count; i++) out[i] = r->at[r->step * (int64_t)i];
}

static void scatter_run(const dev_run *r, const uint8_t *in, int size)
{
    if (r->step == size) memcpy(r->at, in, (size_t)size * r->count);
    else if (size == 4)
        for (uint32_t i = 0; i < r->count; i++) memcpy(r->at + r->step * (int64_t)i, in + 4 * (size_t)i, 4);
    else if (size == 2)
        for (uint32_t i = 0; i < r->count; i++) memcpy(r->at + r->step * (int64_t)i, in + 2 * (size_t)i, 2);
    else
        for (uint32_t i = 0; i < r->count; i++) r->at[r->step * (int64_t)i] = in[i];
}

static void copy_patterns(void *context, uint32_t from, uint32_t to, dev_scratch *s)
{
    const dev_exec *x = context;
    const dev_ap *dst = &x->ap[0], *src = &x->ap[1];
    for (uint32_t p = from; p < to; p++) {
        uint8_t *flat = (uint8_t *)s->rows[0];
        dev_run run;
        for (dev_walk w = dev_walk_of(src, src->base + p * src->pitch); dev_walk_next(&w, &run); flat += (size_t)run.count * src->size)
            gather_run(flat, &run, src->size);
        flat = (uint8_t *)s->rows[0];
        for (dev_walk w = dev_walk_of(dst, dst->base + p * dst->pitch); dev_walk_next(&w, &run); flat += (size_t)run.count * dst->size)
            scatter_run(&run, flat, dst->size);
    }
}

bool dev_fast_tensor_copy(dev_exec *x)
{
    const dev_ap *dst = &x->ap[0], *src = &x->ap[1];
    const uint64_t work = dst->free * dst->partitions / 16;
    const bool bits = dst->dtype == src->dtype && !(x->insn->engine == ISA_ACT && x->machine->generation < 3);
    const bool plain = dev_is_run(dst) && dev_is_run(src);
    dev_over_partitions(x, dst->partitions, bits && plain ? work : 4 * work, !bits ? cast_rows : plain ? copy_rows : copy_patterns, x);
    return true;
}
