// SPDX-License-Identifier: Apache-2.0
// How the operands of one instruction relate: the shape column of formats.def, and PE's shapes. (docs/facts/isa.md,
// docs/facts/pe.md)
#include "isa/judge.h"

#include <string.h>

static const char *name_of(const isa_judge *j, int slot)
{
    return j->row->operands[slot].name;
}

static uint64_t free_of(const isa_judge *j, int slot)
{
    return isa_operand_free(&j->operands[slot]);
}

static const char *dtype_of(const isa_judge *j, int slot)
{
    return num_dtype_get((num_dtype)j->operands[slot].dtype)->name;
}

// The operand that FULL, COLUMN and EIGHT are relative to; -1 if the format has none.
static int reference(const isa_judge *j)
{
    for (int k = 0; k < j->row->operand_count; k++)
        if (j->row->operands[k].rule == ISA_RULE_FULL && isa_on_chip(&j->operands[k])) return k;
    return -1;
}

void isa_rule_shape_full(isa_judge *j)
{
    const int ref = reference(j);
    if (ref < 0 || j->i->op == ISA_transpose32) return; // has its own rule
    for (int k = ref + 1; k < j->row->operand_count; k++) {
        const isa_operand *o = &j->operands[k];
        if (j->row->operands[k].rule != ISA_RULE_FULL || !isa_on_chip(o)) continue;
        if (o->partitions != j->operands[ref].partitions || free_of(j, k) != free_of(j, ref))
            isa_violation(j, "'%s' is [%u, %llu], '%s' is [%u, %llu]; they must be equal", name_of(j, ref),
                          j->operands[ref].partitions, (unsigned long long)free_of(j, ref), name_of(j, k),
                          o->partitions, (unsigned long long)free_of(j, k));
    }
}

static void check_per_partition(isa_judge *j, isa_rule rule, uint64_t free)
{
    const int ref = reference(j);
    for (int k = 0; ref >= 0 && k < j->row->operand_count; k++) {
        const isa_operand *o = &j->operands[k];
        if (j->row->operands[k].rule != rule || !isa_on_chip(o)) continue;
        if (o->partitions != j->operands[ref].partitions || free_of(j, k) != free)
            isa_violation(j, "'%s' is [%u, %llu], must be [%u, %llu] beside '%s'", name_of(j, k), o->partitions,
                          (unsigned long long)free_of(j, k), j->operands[ref].partitions, (unsigned long long)free,
                          name_of(j, ref));
    }
}

void isa_rule_shape_column(isa_judge *j)
{
    check_per_partition(j, ISA_RULE_COLUMN, 1);
}

void isa_rule_shape_eight(isa_judge *j)
{
    check_per_partition(j, ISA_RULE_EIGHT, 8);
}

void isa_rule_shape_one(isa_judge *j)
{
    for (int k = 0; k < j->row->operand_count; k++) {
        const isa_operand *o = &j->operands[k];
        if (j->row->operands[k].rule == ISA_RULE_ONE && isa_is_bound(o) && isa_operand_elements(o) != 1)
            isa_violation(j, "'%s' has %llu elements, must have one", name_of(j, k),
                          (unsigned long long)isa_operand_elements(o));
    }
}

void isa_rule_one_psum_input(isa_judge *j)
{
    int other = 2; // tensor_tensor and copy_predicated: slots 1 and 2
    if (isa_has_format(j, "stt"))
        other = 3;
    else if (!isa_has_format(j, "tt") && !isa_has_format(j, "pred"))
        return;
    if (j->operands[1].space == ISA_PSUM && j->operands[other].space == ISA_PSUM)
        isa_violation(j, "'%s' and '%s' are both in PSUM; copy one to SBUF first", name_of(j, 1), name_of(j, other));
}

// ---- matmul ----

static bool is_double_row(const isa_judge *j)
{
    return j->i->attr[1] == ISA_PERF_DOUBLE_ROW;
}

// Free elements of stationary (slot 1) or moving (slot 2), the pairs of double_row counted once.
static uint64_t columns(const isa_judge *j, int slot)
{
    return free_of(j, slot) / (is_double_row(j) ? 2 : 1);
}

void isa_rule_matmul_contraction(isa_judge *j)
{
    if (j->i->op != ISA_matmul || j->operands[1].partitions == j->operands[2].partitions) return;
    isa_violation(j, "stationary contracts %u partitions, moving %u", j->operands[1].partitions,
                  j->operands[2].partitions);
}

void isa_rule_matmul_stationary(isa_judge *j)
{
    const uint64_t most = (uint64_t)hw_int(j->chip->pe_cols);
    if (j->i->op == ISA_matmul && columns(j, 1) > most)
        isa_violation(j, "stationary has %llu free elements, at most %llu", (unsigned long long)columns(j, 1),
                      (unsigned long long)most);
}

void isa_rule_matmul_moving(isa_judge *j)
{
    if (j->i->op != ISA_matmul) return;
    const bool narrow = num_bits((num_dtype)j->operands[0].dtype) == 16;
    const uint64_t most = (uint64_t)hw_int(narrow ? j->chip->pe_moving_max_16bit : j->chip->pe_moving_max);
    if (columns(j, 2) > most)
        isa_violation(j, "moving has %llu free elements, at most %llu into '%s'", (unsigned long long)columns(j, 2),
                      (unsigned long long)most, dtype_of(j, 0));
}

void isa_rule_matmul_shape(isa_judge *j)
{
    if (j->i->op != ISA_matmul || columns(j, 1) > (uint64_t)hw_int(j->chip->pe_cols))
        return; // matmul_stationary says so
    if (j->operands[0].partitions != columns(j, 1) || free_of(j, 0) != columns(j, 2))
        isa_violation(j, "dst is [%u, %llu], stationary and moving make [%llu, %llu]", j->operands[0].partitions,
                      (unsigned long long)free_of(j, 0), (unsigned long long)columns(j, 1),
                      (unsigned long long)columns(j, 2));
}

static bool is_fp8(uint8_t t)
{
    return t == NUM_F8E4M3 || t == NUM_F8E4M3FN || t == NUM_F8E5M2 || t == NUM_F8E3M4;
}

static bool is_wide(uint8_t t)
{
    return t == NUM_F32 || t == NUM_TF32;
}

static bool pe_takes(uint8_t t)
{
    return is_wide(t) || t == NUM_BF16 || t == NUM_F16 || is_fp8(t);
}

void isa_rule_matmul_dtype(isa_judge *j)
{
    for (int k = 1; j->i->op == ISA_matmul && k <= 2; k++)
        if (!pe_takes(j->operands[k].dtype)) isa_violation(j, "'%s' has type '%s'", name_of(j, k), dtype_of(j, k));
}

void isa_rule_matmul_pair(isa_judge *j)
{
    if (j->i->op != ISA_matmul) return;
    const uint8_t a = j->operands[1].dtype, b = j->operands[2].dtype;
    const bool e4m3 = (a == NUM_F8E4M3 && b == NUM_F8E4M3FN) || (a == NUM_F8E4M3FN && b == NUM_F8E4M3);
    if (is_wide(a) != is_wide(b) || e4m3)
        isa_violation(j, "stationary has type '%s', moving '%s'", dtype_of(j, 1), dtype_of(j, 2));
}

void isa_rule_matmul_dst_dtype(isa_judge *j)
{
    if (j->i->op != ISA_matmul || j->operands[0].dtype == NUM_F32) return;
    if (j->operands[0].dtype != NUM_BF16 || !hw_flag(j->chip->psum_bf16))
        isa_violation(j, "dst has type '%s', %s sums into %s", dtype_of(j, 0), j->chip->name,
                      hw_flag(j->chip->psum_bf16) ? "'f32' and 'bf16'" : "'f32'");
}

void isa_rule_matmul_double_row(isa_judge *j)
{
    if (j->i->op != ISA_matmul || !is_double_row(j)) return;
    if (j->generation < 3) isa_violation(j, "%s has no double_row mode", j->chip->name);
    for (int k = 1; k <= 2; k++) {
        const isa_operand *o = &j->operands[k];
        if (!is_fp8(o->dtype) || o->dtype == NUM_F8E3M4)
            isa_violation(j, "'%s' has type '%s', double_row takes e4m3 and e5m2", name_of(j, k), dtype_of(j, k));
        if (o->rank < 2 || o->count[0] != 2)
            isa_violation(j, "'%s' has no outermost free dim of 2: the pairs of rows", name_of(j, k));
    }
}

void isa_rule_psum_bank(isa_judge *j)
{
    int64_t lo, hi;
    const isa_operand *dst = &j->operands[0];
    if (j->i->engine != ISA_PE || !isa_has_format(j, j->i->op == ISA_matmul ? "mm" : "pet")) return;
    if (!isa_operand_range(dst, &lo, &hi) || lo < 0) return;
    const int64_t bank = hw_int(j->chip->psum_bank_bytes), most = hw_int(j->chip->pe_destination_banks);
    const int64_t banks = (hi - 1) / bank - lo / bank + 1;
    if (banks > most)
        isa_violation(j, "dst touches bytes %lld to %lld, %lld banks of %lld; at most %lld", (long long)lo,
                      (long long)hi, (long long)banks, (long long)bank, (long long)most);
}

// ---- accumulation ----

// Who wrote each 4-byte word of each quadrant of PSUM last, as far as straight-line code tells. Control makes it
// unknown, so that nothing is refused by guesswork.
enum { QUADRANTS = 4, WORDS = ISA_PSUM_BANKS * ISA_PSUM_BANK_BYTES / 4 };
typedef enum psum_writer { WRITER_UNKNOWN, WRITER_PE, WRITER_OTHER } psum_writer;
typedef struct psum_state {
    uint8_t writer[QUADRANTS][WORDS];
} psum_state;

// The words and quadrants of a static operand; false if it has dynamic terms or leaves PSUM.
static bool psum_area(const isa_operand *o, int *first_quadrant, int *last_quadrant, int *first, int *last)
{
    int64_t lo, hi;
    if (o->term_count || !isa_operand_range(o, &lo, &hi) || lo < 0 || hi > WORDS * 4) return false;
    *first_quadrant = o->start_partition / 32;
    *last_quadrant = (o->start_partition + o->partitions - 1) / 32;
    *first = (int)(lo / 4);
    *last = (int)((hi - 1) / 4);
    return true;
}

static bool written_by_other(const psum_state *s, const isa_operand *o)
{
    int q0, q1, w0, w1;
    if (!psum_area(o, &q0, &q1, &w0, &w1)) return false;
    for (int q = q0; q <= q1; q++)
        if (memchr(&s->writer[q][w0], WRITER_OTHER, (size_t)(w1 - w0 + 1))) return true;
    return false;
}

static void note_write(psum_state *s, const isa_operand *o, psum_writer writer)
{
    int q0, q1, w0, w1;
    if (!psum_area(o, &q0, &q1, &w0, &w1)) {
        memset(s, WRITER_UNKNOWN, sizeof *s); // it may be anywhere
        return;
    }
    for (int q = q0; q <= q1; q++)
        memset(&s->writer[q][w0], writer, (size_t)(w1 - w0 + 1));
}

void isa_rule_psum_accumulate(isa_judge *j)
{
    psum_state s = {0};
    for (uint32_t n = 0; n < j->f->insns.count; n++) {
        const isa_insn *i = &j->f->insns.items[n];
        if (isa_is_control((isa_op)i->op)) memset(&s, WRITER_UNKNOWN, sizeof s);
        if (i->op == ISA_matmul && i->attr[0] && written_by_other(&s, isa_operand_of(j->f, i, 0))) {
            j->insn = n;
            j->i = i;
            isa_violation(j, "adds to PSUM that another engine wrote last");
            j->i = NULL;
        }
        for (int k = 0; k < i->operand_count; k++) {
            const isa_operand *o = isa_operand_of(j->f, i, k);
            if (o->space == ISA_PSUM && (isa_operand_access(i, k) & ISA_WRITE))
                note_write(&s, o, i->engine == ISA_PE ? WRITER_PE : WRITER_OTHER);
        }
    }
}

// ---- transposes ----

void isa_rule_transpose_shape(isa_judge *j)
{
    if (j->i->op != ISA_transpose) return;
    const isa_operand *dst = &j->operands[0], *data = &j->operands[1], *identity = &j->operands[2];
    const uint64_t f = free_of(j, 1);
    if (f > (uint64_t)hw_int(j->chip->pe_cols))
        isa_violation(j, "data has %llu free elements, at most %lld", (unsigned long long)f,
                      (long long)hw_int(j->chip->pe_cols));
    if (dst->partitions != f || free_of(j, 0) != data->partitions)
        isa_violation(j, "dst is [%u, %llu], data is [%u, %llu]", dst->partitions, (unsigned long long)free_of(j, 0),
                      data->partitions, (unsigned long long)f);
    if (identity->partitions != data->partitions || free_of(j, 2) != data->partitions)
        isa_violation(j, "identity is [%u, %llu], must be [%u, %u]", identity->partitions,
                      (unsigned long long)free_of(j, 2), data->partitions, data->partitions);
}

void isa_rule_transpose_dtype(isa_judge *j)
{
    if (j->i->op != ISA_transpose) return;
    const uint8_t data = j->operands[1].dtype;
    if (!pe_takes(data)) isa_violation(j, "data has type '%s'", dtype_of(j, 1));
    if (j->operands[2].dtype != data)
        isa_violation(j, "data has type '%s', identity '%s'", dtype_of(j, 1), dtype_of(j, 2));
    if (!hw_flag(j->chip->transpose_mode)) {
        if (j->operands[0].dtype != NUM_F32)
            isa_violation(j, "dst has type '%s', must have 'f32' on %s", dtype_of(j, 0), j->chip->name);
    } else if (is_fp8(data) || j->operands[0].dtype != (data == NUM_TF32 ? NUM_F32 : data)) {
        isa_violation(j, "dst has type '%s', data '%s'; %s", dtype_of(j, 0), dtype_of(j, 1),
                      is_fp8(data) ? "transpose fp8 as pairs in a 16-bit type" : "they must be equal");
    }
}

void isa_rule_transpose32(isa_judge *j)
{
    if (j->i->op != ISA_transpose32) return;
    const isa_operand *dst = &j->operands[0], *src = &j->operands[1];
    const uint64_t most = (uint64_t)hw_int(j->chip->quadrant_partitions);
    if (src->partitions > most || free_of(j, 1) > most)
        isa_violation(j, "src is [%u, %llu], at most [%llu, %llu]", src->partitions, (unsigned long long)free_of(j, 1),
                      (unsigned long long)most, (unsigned long long)most);
    if (dst->partitions != free_of(j, 1) || free_of(j, 0) != src->partitions)
        isa_violation(j, "dst is [%u, %llu], src is [%u, %llu]", dst->partitions, (unsigned long long)free_of(j, 0),
                      src->partitions, (unsigned long long)free_of(j, 1));
    if (dst->dtype != src->dtype) isa_violation(j, "dst has type '%s', src '%s'", dtype_of(j, 0), dtype_of(j, 1));
}
