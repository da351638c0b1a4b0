// SPDX-License-Identifier: Apache-2.0
// The contention-free cost of an instruction, by the rule that its row of isa.def names. (docs/facts/isa.md)
//
// Engine costs are initiation intervals in cycles of the executing engine, a function of N, the elements of one
// partition (never of how many partitions: the lanes run in lock-step). Every hardware number comes from hw_chip; the
// small factors below (2 N, N / 2, 4 N) are the published formulas themselves. A DMA's cost is the shape of its
// transfer; how long that takes, and what contention adds anywhere, is sim's.
#include "isa/cost.h"
#include "isa/dma_shape.h"

#include <math.h>

typedef struct cost_in {
    const isa_function *f;
    const isa_insn *i;
    const hw_chip *chip;
} cost_in;

static const isa_operand *at(const cost_in *in, int slot)
{
    return isa_operand_of(in->f, in->i, slot);
}

static bool has(const cost_in *in, int slot)
{
    return isa_operand_has(in->f, in->i, slot);
}

static double free_of(const cost_in *in, int slot)
{
    return (double)isa_operand_free(at(in, slot));
}

static double bytes_of(const isa_operand *o)
{
    return (double)isa_operand_elements(o) * num_bits((num_dtype)o->dtype) / 8;
}

static double clock_hz(const cost_in *in)
{
    return hw_engine_hz(in->chip, (hw_engine)in->i->engine);
}

// Up to whole cycles, but for what floating point adds. Hostile counts make huge numbers, never undefined conversions.
static int64_t whole(double cycles)
{
    return cycles >= 9e18 ? INT64_MAX : (int64_t)ceil(cycles - 1e-6);
}

static bool is_16bit_float(const isa_operand *o)
{
    return o->dtype == NUM_BF16 || o->dtype == NUM_F16;
}

static bool is_fast_on_dve(const cost_in *in, const isa_operand *o)
{
    const bool fp8 = num_is_float((num_dtype)o->dtype) && num_bits((num_dtype)o->dtype) == 8;
    return is_16bit_float(o) || (fp8 && hw_flag(in->chip->dve_fast_fp8));
}

static int64_t minor_step(const isa_operand *o)
{
    for (int k = o->rank - 1; k >= 0; k--)
        if (o->count[k] > 1) return o->step[k] < 0 ? -o->step[k] : o->step[k];
    return 1;
}

static bool is_contiguous(const isa_operand *o)
{
    return minor_step(o) == 1;
}

// An innermost stride above the limit halves the port's rate [isa:stride].
static double stride_factor(const cost_in *in)
{
    for (int k = 0; k < in->i->operand_count; k++) {
        const isa_operand *o = at(in, k);
        if (o->space != ISA_SBUF) continue;
        if ((double)minor_step(o) * num_bits((num_dtype)o->dtype) / 8 > hw_value(in->chip->stride_limit_bytes))
            return hw_value(in->chip->stride_penalty);
    }
    return 1;
}

static void add_cycles(isa_cost *out, double cycles)
{
    if (__builtin_add_overflow(out->cycles, whole(cycles), &out->cycles)) out->cycles = INT64_MAX;
}

// The interval of an instruction that streams `n` element-cycles, and the delay until its result can be used: a
// dependent instruction sees the start of its own access and the pipeline behind it, which overlap hides otherwise.
static void stream(const cost_in *in, double n, isa_cost *out)
{
    const double cycles = n * stride_factor(in);
    out->cycles = whole(fmax(hw_value(in->chip->min_cycles), cycles));
    out->latency = whole(hw_value(in->chip->access_cycles) + hw_value(in->chip->dependent_cycles));
}

static void pool(const cost_in *in, double n, isa_cost *out)
{
    stream(in, n, out);
    out->cycles = whole(hw_value(in->chip->pool_start_cycles) + n * stride_factor(in));
}

// ---- PE ----

static double pe_passes(const cost_in *in, const isa_operand *a, const isa_operand *b)
{
    return a->dtype == NUM_F32 || b->dtype == NUM_F32 ? hw_value(in->chip->pe_fp32_passes) : 1;
}

static void cost_systolic(const cost_in *in, isa_cost *out)
{
    const isa_operand *stationary = at(in, 1), *moving = at(in, 2);
    const bool double_row = in->i->attr[1] == ISA_PERF_DOUBLE_ROW;
    const double rows = double_row ? 2 : 1; // pairs of contraction rows in one pass
    const double m = free_of(in, 1) / rows, n = free_of(in, 2) / rows;
    const double passes = double_row ? rows * hw_value(in->chip->pe_fp8_passes) : pe_passes(in, stationary, moving);
    out->cycles = whole(fmax(fmin(hw_value(in->chip->pe_min_cycles), m), n) * passes * stride_factor(in));
    out->load_cycles = whole(m / hw_value(in->chip->pe_load_speedup));
    out->latency = whole(hw_value(in->chip->pe_first_cycles));
    out->flops = 2 * rows * moving->partitions * m * n;
}

// A transpose is a matmul of the data, stationary, with the identity, moving.
static void cost_transpose(const cost_in *in, isa_cost *out)
{
    const isa_operand *data = at(in, 1);
    const double p = data->partitions, free = free_of(in, 1);
    double passes = pe_passes(in, data, data);
    if (passes > 1) passes /= hw_value(in->chip->pe_transpose_speedup_fp32);
    out->cycles = whole(fmax(p, fmin(hw_value(in->chip->pe_min_cycles), free)) * passes * stride_factor(in));
    out->load_cycles = whole(free / hw_value(in->chip->pe_load_speedup));
    out->latency = whole(hw_value(in->chip->pe_first_cycles));
    out->flops = 2 * p * p * free;
}

// ---- ACT, DVE ----

static void cost_activation(const cost_in *in, isa_cost *out)
{
    stream(in, free_of(in, 1), out);
    if (has(in, 4)) add_cycles(out, hw_value(in->chip->accumulate_read_cycles));
}

static void cost_stream(const cost_in *in, isa_cost *out)
{
    stream(in, free_of(in, 1), out);
}

static void cost_memset(const cost_in *in, isa_cost *out)
{
    const bool fast = at(in, 1)->offset == 0 && is_16bit_float(at(in, 0)) && in->i->engine == ISA_DVE;
    stream(in, fast ? free_of(in, 0) / 2 : free_of(in, 0), out);
}

// tensor_copy and tensor_scalar: the fast modes of docs/facts/isa.md.
static double fast_mode(const cost_in *in)
{
    const isa_operand *dst = at(in, 0), *src = at(in, 1);
    const hw_chip *chip = in->chip;
    if (in->i->engine == ISA_ACT) return is_16bit_float(dst) && is_16bit_float(src) ? hw_value(chip->act_fast2) : 1;
    if (in->i->engine != ISA_DVE || !is_fast_on_dve(in, dst) || !is_fast_on_dve(in, src)) return 1;
    const bool contiguous = is_contiguous(dst) && is_contiguous(src);
    const int in_sbuf = (dst->space == ISA_SBUF) + (src->space == ISA_SBUF);
    if (in_sbuf == 2) return hw_value(contiguous ? chip->dve_fast4 : chip->dve_fast2);
    return in_sbuf == 1 && contiguous ? hw_value(chip->dve_fast2) : 1;
}

static bool is_slow_on_pool(uint8_t alu)
{
    return alu == ISA_ALU_RSQRT || alu == ISA_ALU_POWER;
}

static void cost_stream_fast(const cost_in *in, isa_cost *out)
{
    const double n = free_of(in, 1);
    const bool slow = in->i->op == ISA_tensor_scalar && in->i->engine == ISA_POOL &&
                      (is_slow_on_pool(in->i->attr[0]) || is_slow_on_pool(in->i->attr[2]));
    if (slow)
        pool(in, 4 * n, out); // docs/facts/isa.md: four times ACT's cost
    else
        stream(in, n / fast_mode(in), out);
}

static bool is_simple(uint8_t alu)
{
    return alu == ISA_ALU_ADD || alu == ISA_ALU_SUBTRACT || alu == ISA_ALU_MULTIPLY;
}

static void cost_tensor_tensor(const cost_in *in, isa_cost *out)
{
    const isa_operand *dst = at(in, 0), *a = at(in, 1), *b = at(in, 2);
    const double n = free_of(in, 1);
    if (in->i->engine == ISA_POOL) { // two reads through one port of pool_simd_bits for its share of partitions
        const double port_bits =
            hw_value(in->chip->pool_simd_bits) * hw_value(in->chip->pool_processors) / hw_value(in->chip->partitions);
        const double bits = num_bits((num_dtype)a->dtype) + num_bits((num_dtype)b->dtype);
        pool(in, n * fmax(1, bits / port_bits), out);
        return;
    }
    const bool one_in_psum = (a->space == ISA_PSUM) != (b->space == ISA_PSUM);
    const bool both_in_sbuf = a->space == ISA_SBUF && b->space == ISA_SBUF;
    const bool bf16 = dst->dtype == NUM_BF16 && a->dtype == NUM_BF16 && b->dtype == NUM_BF16;
    const bool contiguous = is_contiguous(dst) && is_contiguous(a) && is_contiguous(b);
    double cycles = one_in_psum || (both_in_sbuf && bf16 && contiguous && is_simple(in->i->attr[0])) ? n : 2 * n;
    if (both_in_sbuf && is_fast_on_dve(in, dst) && is_fast_on_dve(in, a) && is_fast_on_dve(in, b))
        cycles /= hw_value(in->chip->dve_fast2);
    stream(in, cycles, out);
}

static void cost_stt(const cost_in *in, isa_cost *out)
{
    const double n = free_of(in, 1);
    const bool fast = at(in, 1)->dtype == NUM_BF16 && at(in, 3)->dtype == NUM_BF16 &&
                      in->i->attr[0] == ISA_ALU_SUBTRACT && in->i->attr[2] == ISA_ALU_MULTIPLY && fmod(n, 2) == 0;
    stream(in, fast ? n : 2 * n, out);
}

static void cost_reduce(const cost_in *in, isa_cost *out)
{
    const double n = free_of(in, 1);
    const bool fast = at(in, 0)->dtype == NUM_BF16 && at(in, 1)->dtype == NUM_BF16 &&
                      (in->i->attr[0] == ISA_ALU_ADD || in->i->attr[0] == ISA_ALU_MAXIMUM);
    stream(in, fast ? n / 2 : n, out);
}

static void cost_predicated(const cost_in *in, isa_cost *out)
{
    const double n = free_of(in, 0);
    const bool both_in_sbuf = at(in, 1)->space == ISA_SBUF && at(in, 2)->space == ISA_SBUF;
    stream(in, both_in_sbuf ? 2 * n : n, out);
}

// ---- POOL ----

static void cost_gpsimd(const cost_in *in, isa_cost *out)
{
    pool(in, free_of(in, 0), out);
}

static void cost_partition_reduce(const cost_in *in, isa_cost *out)
{
    const double each = hw_value(in->chip->partitions) / hw_value(in->chip->pool_processors);
    pool(in, free_of(in, 1) * ceil(at(in, 1)->partitions / each), out);
}

// One group of instructions for each 512 elements (docs/facts/isa.md); a group's cost is not published, so each is taken to
// begin like an instruction.
static void cost_gather(const cost_in *in, isa_cost *out)
{
    const double n = free_of(in, 0);
    pool(in, n, out);
    add_cycles(out, (ceil(n / 512) - 1) * hw_value(in->chip->pool_start_cycles));
}

// ---- DMA, sequencer, cores ----

static void cost_dma(const cost_in *in, isa_cost *out)
{
    const isa_dma_shape shape = isa_dma_shape_of(in->f, in->i, in->chip);
    out->dma_bytes = shape.bytes;
    out->dma_descriptors = shape.descriptors;
    out->dma_run_bytes = shape.run_bytes;
    out->dma_engines = shape.engines;
    double cycles = hw_value(in->chip->min_cycles); // the trigger
    if (in->i->attr[0] == ISA_DGE_SWDGE)
        cycles =
            hw_value(in->chip->swdge_start_cycles) + shape.descriptors * hw_value(in->chip->swdge_descriptor_cycles);
    out->cycles = whole(cycles);
}

static void cost_sequencer(const cost_in *in, isa_cost *out)
{
    out->cycles = whole(hw_value(in->chip->register_cycles));
}

static void cost_reg_access(const cost_in *in, isa_cost *out)
{
    const isa_operand *memory = at(in, in->i->op == ISA_reg_load ? 1 : 0);
    double cycles = hw_value(in->chip->register_load_cycles);
    if (memory->space == ISA_HBM) cycles += hw_value(in->chip->dma_fixed_ns) * 1e-9 * clock_hz(in);
    out->cycles = whole(cycles);
}

static void cost_branch(const cost_in *in, isa_cost *out)
{
    out->cycles = whole(hw_value(in->chip->branch_cycles));
}

static void cost_barrier(const cost_in *in, isa_cost *out)
{
    out->cycles = whole(hw_value(in->chip->core_barrier_ns) * 1e-9 * clock_hz(in));
}

static void cost_collective(const cost_in *in, isa_cost *out)
{
    out->cycles = whole(hw_value(in->chip->min_cycles));
    const double bytes = fmax(bytes_of(at(in, 0)), bytes_of(at(in, 1)));
    out->dma_bytes = bytes >= 1.8e19 ? UINT64_MAX : (uint64_t)bytes;
}

// ---- all ----

// What each operand moves through the memories' ports. PE adds into PSUM in place: that is a write.
static void add_traffic(const cost_in *in, isa_cost *out)
{
    for (int k = 0; k < in->i->operand_count; k++) {
        if (!has(in, k)) continue;
        const isa_operand *o = at(in, k);
        int access = isa_operand_access(in->i, k);
        if (in->i->engine == ISA_PE && access == ISA_RW) access = ISA_WRITE;
        // The table of a gather or scatter moves as many elements as its other side.
        const double bytes = o->indirect == 1 ? (double)out->dma_bytes : bytes_of(o);
        const double reads = access & ISA_READ ? bytes : 0, writes = access & ISA_WRITE ? bytes : 0;
        if (o->space == ISA_SBUF) {
            out->reads_sbuf += reads;
            out->writes_sbuf += writes;
        }
        if (o->space == ISA_PSUM) {
            out->reads_psum += reads;
            out->writes_psum += writes;
        }
        if (o->space == ISA_HBM) {
            out->reads_hbm += reads;
            out->writes_hbm += writes;
        }
    }
}

static bool has_dynamic_address(const cost_in *in)
{
    for (int k = 0; k < in->i->operand_count; k++) {
        const isa_operand *o = at(in, k);
        if ((o->space == ISA_SBUF || o->space == ISA_PSUM) && o->term_count) return true;
    }
    return false;
}

#define INSN(name, engines, format, cost, gen, hard, fact) [ISA_##name] = cost_##cost,
static void (*const rules[ISA_OP_COUNT])(const cost_in *, isa_cost *) = {
#include "isa/isa.def"
};

isa_cost isa_cost_of(const isa_function *f, const isa_insn *i, const hw_chip *chip)
{
    const cost_in in = {f, i, chip};
    const isa_row *row = isa_row_get((isa_op)i->op);
    isa_cost out = {0};
    rules[i->op](&in, &out);
    add_traffic(&in, &out);
    const bool compute = row->hard == ISA_HARD && !isa_is_dma((isa_op)i->op);
    if (compute && has_dynamic_address(&in)) {
        const int64_t least = whole(hw_value(chip->min_cycles_dynamic));
        if (out.cycles < least) out.cycles = least;
    }
    return out;
}
