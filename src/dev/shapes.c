// SPDX-License-Identifier: Apache-2.0
// What handlers rely on, judged once when a program is loaded: indices in range, operands of the spaces and shapes that
// the instruction's format states, element types that the host converts. It is not the verifier of a chip's rules
// (isa/verify.h): it is what keeps any program, however made, inside the memories of the machine.
#include "dev/alu.h"
#include "dev/machine.h"

#include <stdio.h>


typedef struct judge {          // the instruction that is judged
    const dev_loaded *l;
    const isa_function *f;
    uint32_t core, function, pc;
    const isa_insn *i;
    const isa_operand *o;
    const isa_row *row;
} judge;

GLIA_PRINTF(2, 3) static glia_status invalid(const judge *j, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const isa_origin *origin = &j->l->program->origins.items[j->i->origin < j->l->program->origins.count ? j->i->origin : 0];
    return GLIA_FAIL(INVALID, "core %u, '%s' instruction %u, '%s' (from '%s' at %s): %s", j->core, j->f->name, j->pc,
                     j->row->name, origin->op ? origin->op : "", origin->where ? origin->where : "", text);
}

static bool in_memory(const isa_operand *o) { return dev_in_memory(o->space); }
static uint64_t free_of(const isa_operand *o) { return isa_operand_free(o); }
static bool is_int_type(uint8_t t) { return num_is_integer((num_dtype)t) || t == NUM_BOOL; }

// ---- one operand ---------------------------------------------------------------------------------------------------

static const int64_t step_limit = (int64_t)1 << 40;     // products of steps, sizes and counts stay far from 2^63 or are
                                                        // refused by their range
static const uint64_t row_limit = 1u << 20;             // elements of one partition; the chip's limits are smaller

static glia_status check_slot(const judge *j, int k)
{
    const isa_operand *o = &j->o[k];
    const char *name = j->row->operands[k].name;
    if (o->tensor >= j->f->slots.count)
        return invalid(j, "operand '%s' names tensor slot %u, the function has %u", name, o->tensor, j->f->slots.count);
    if (!(isa_operand_access(j->i, k) & ISA_WRITE)) return GLIA_OK;
    const isa_slot *s = &j->f->slots.items[o->tensor];
    if (s->kind == ISA_SLOT_FORMAL && !(s->access & ISA_WRITE))
        return invalid(j, "operand '%s' writes formal '%s', which is declared to be read only", name, s->name);
    if (s->kind == ISA_SLOT_GLOBAL && j->l->program->tensors.items[s->index].kind == ISA_TENSOR_CONST)
        return invalid(j, "operand '%s' writes constant '%s'", name, s->name);
    return GLIA_OK;
}

static glia_status check_memory(const judge *j, int k)
{
    const isa_operand *o = &j->o[k];
    const char *name = j->row->operands[k].name;
    if (o->dtype >= NUM_DTYPE_COUNT || !num_can_convert((num_dtype)o->dtype))
        return invalid(j, "operand '%s' has element type '%s', which is not executed", name,
                       o->dtype < NUM_DTYPE_COUNT ? num_dtype_get((num_dtype)o->dtype)->name : "?");
    if (dev_on_chip(o->space) && num_bits((num_dtype)o->dtype) > 32)
        return invalid(j, "operand '%s' holds '%s' on chip, whose elements have at most 32 bits", name,
                       num_dtype_get((num_dtype)o->dtype)->name);
    if (o->rank > ISA_DIMS) return invalid(j, "operand '%s' has %u dims, at most %d are encoded", name, o->rank, ISA_DIMS);
    if (o->packing) return invalid(j, "operand '%s' has packing %u: packed elements are not executed", name, o->packing);
    const bool may_index = (j->i->op == ISA_dma_gather && k == 1) || (j->i->op == ISA_dma_scatter && k == 0);
    if (o->indirect && !(may_index && o->indirect == 1))
        return invalid(j, "operand '%s' has indirection %u, which this instruction does not execute", name, o->indirect);
    for (int d = 0; d < o->rank; d++)
        if (o->step[d] > step_limit || o->step[d] < -step_limit)
            return invalid(j, "operand '%s' has a step of %lld elements", name, (long long)o->step[d]);
    if (o->space == ISA_HBM) return check_slot(j, k);
    if (o->partitions == 0 || o->start_partition + o->partitions > ISA_PARTITIONS)
        return invalid(j, "operand '%s' covers partitions %u..%u of %d", name, o->start_partition,
                       o->start_partition + o->partitions, ISA_PARTITIONS);
    if (free_of(o) > row_limit)
        return invalid(j, "operand '%s' has %llu elements a partition, at most %llu are executed", name,
                       (unsigned long long)free_of(o), (unsigned long long)row_limit);
    return GLIA_OK;
}

static glia_status check_operand(const judge *j, int k)
{
    const isa_operand *o = &j->o[k];
    const isa_format_operand *want = &j->row->operands[k];
    if (o->space == ISA_SPACE_NONE)
        return want->optional ? GLIA_OK : invalid(j, "operand '%s' is missing", want->name);
    if (!(o->space & want->spaces) || (o->space & (o->space - 1)))
        return invalid(j, "operand '%s' is in space %u, allowed are those of mask %u", want->name, o->space, want->spaces);
    if (o->term_count > ISA_TERMS) return invalid(j, "operand '%s' has %u dynamic terms", want->name, o->term_count);
    for (int t = 0; t < o->term_count; t++)
        if (o->terms[t].reg >= ISA_REGISTERS)
            return invalid(j, "operand '%s' uses register %u of %d", want->name, o->terms[t].reg, ISA_REGISTERS);
    if (o->space == ISA_REG && o->tensor >= ISA_REGISTERS)
        return invalid(j, "operand '%s' is register %u of %d", want->name, o->tensor, ISA_REGISTERS);
    if (o->space == ISA_PATTERN && o->rank > ISA_DIMS)
        return invalid(j, "operand '%s' has %u dims, at most %d are encoded", want->name, o->rank, ISA_DIMS);
    return in_memory(o) ? check_memory(j, k) : GLIA_OK;
}

// ---- operands together ---------------------------------------------------------------------------------------------

static glia_status check_rules(const judge *j)
{
    const isa_operand *first = NULL;
    for (int k = 0; k < j->row->operand_count && !first; k++)
        if (j->row->operands[k].rule == ISA_RULE_FULL && in_memory(&j->o[k])) first = &j->o[k];
    for (int k = 0; k < j->row->operand_count; k++) {
        const isa_operand *o = &j->o[k];
        if (!in_memory(o)) continue;
        const isa_rule rule = (isa_rule)j->row->operands[k].rule;
        if (rule == ISA_RULE_ANY || (rule != ISA_RULE_ONE && !first)) continue;     // check_shape judges
        const uint64_t want = rule == ISA_RULE_FULL ? free_of(first) : rule == ISA_RULE_EIGHT ? 8 : 1;
        const int partitions = rule == ISA_RULE_ONE || !dev_on_chip(first->space) ? 1 : first->partitions;
        if (free_of(o) != want || (dev_on_chip(o->space) && o->partitions != partitions))
            return invalid(j, "operand '%s' is [%u, %llu], it must be [%d, %llu]", j->row->operands[k].name,
                           o->partitions, (unsigned long long)free_of(o), partitions, (unsigned long long)want);
    }
    return GLIA_OK;
}

static glia_status want_shape(const judge *j, int k, uint64_t partitions, uint64_t free)
{
    const isa_operand *o = &j->o[k];
    if (o->partitions == partitions && free_of(o) == free) return GLIA_OK;
    return invalid(j, "operand '%s' is [%u, %llu], it must be [%llu, %llu]", j->row->operands[k].name, o->partitions,
                   (unsigned long long)free_of(o), (unsigned long long)partitions, (unsigned long long)free);
}

static glia_status check_matmul(const judge *j)
{
    const isa_operand *s = &j->o[1], *v = &j->o[2];
    const uint64_t pair = j->i->attr[1] == ISA_PERF_DOUBLE_ROW ? 2 : 1;
    const bool wide = num_bits((num_dtype)s->dtype) > 16;
    if (wide != (num_bits((num_dtype)v->dtype) > 16))
        return invalid(j, "'%s' cannot be multiplied with '%s': 32-bit types go with 32-bit types",
                       num_dtype_get((num_dtype)s->dtype)->name, num_dtype_get((num_dtype)v->dtype)->name);
    if (free_of(s) % pair || free_of(v) % pair) return invalid(j, "double_row needs pairs of rows");
    TRY(want_shape(j, 2, s->partitions, free_of(v)));
    return want_shape(j, 0, free_of(s) / pair, free_of(v) / pair);
}

static glia_status check_transpose(const judge *j)
{
    const isa_operand *data = &j->o[1];
    if (num_bits((num_dtype)j->o[0].dtype) < num_bits((num_dtype)data->dtype))
        return invalid(j, "operand 'dst' has narrower elements than 'data'");
    TRY(want_shape(j, 2, data->partitions, data->partitions));
    return want_shape(j, 0, free_of(data), data->partitions);
}

static glia_status check_tensor_reduce(const judge *j)
{
    const isa_operand *data = &j->o[1];
    if (j->i->attr[1] < 1 || j->i->attr[1] > 4) return invalid(j, "%u axes are reduced, 1..4 can be", j->i->attr[1]);
    uint64_t reduced = 1;
    for (int d = data->rank - 1; d >= 0 && d >= data->rank - j->i->attr[1]; d--) reduced *= data->count[d];
    if (reduced == 0) return invalid(j, "the reduced axes have no elements");
    return want_shape(j, 0, data->partitions, free_of(data) / reduced);
}

static uint64_t row_elements_of(const isa_operand *table)
{
    uint64_t n = 1;
    for (int d = 1; d < table->rank; d++)
        if (__builtin_mul_overflow(n, table->count[d], &n)) return UINT64_MAX;
    return n;
}

static glia_status check_indirect(const judge *j, int table, int rows)
{
    const isa_operand *t = &j->o[table], *r = &j->o[rows], *index = &j->o[2];
    if (t->space != ISA_HBM || t->indirect != 1 || t->rank == 0)
        return invalid(j, "operand '%s' must be in HBM, its outermost dim indirect", j->row->operands[table].name);
    if (r->space != ISA_SBUF) return invalid(j, "operand '%s' must be in SBUF", j->row->operands[rows].name);
    if (index->dtype != NUM_S32 && index->dtype != NUM_U32) return invalid(j, "operand 'index' must be s32 or u32");
    TRY(want_shape(j, 2, r->partitions, 1));
    return want_shape(j, rows, r->partitions, row_elements_of(t));
}

static glia_status check_dma(const judge *j)
{
    const isa_operand *dst = &j->o[0], *src = &j->o[1];
    if (isa_operand_elements(dst) != isa_operand_elements(src))
        return invalid(j, "'dst' has %llu elements, 'src' %llu", (unsigned long long)isa_operand_elements(dst),
                       (unsigned long long)isa_operand_elements(src));
    if (j->i->op == ISA_dma_copy) return GLIA_OK;
    const int rank = src->rank + dev_on_chip(src->space);
    if (rank < 2 || rank > 4) return invalid(j, "'src' has %d dims, a transpose has 2 to 4", rank);
    if (src->dtype != dst->dtype) return invalid(j, "'dst' and 'src' must have the same element type");
    return GLIA_OK;
}

static glia_status check_pattern(const judge *j, int pattern)
{
    if (free_of(&j->o[pattern]) == free_of(&j->o[0])) return GLIA_OK;
    return invalid(j, "the pattern has %llu values, 'dst' has %llu elements a partition",
                   (unsigned long long)free_of(&j->o[pattern]), (unsigned long long)free_of(&j->o[0]));
}

static glia_status check_transpose32(const judge *j)
{
    if (j->o[1].partitions > 32 || free_of(&j->o[1]) > 32) return invalid(j, "'src' is larger than 32 x 32");
    if (j->o[0].dtype != j->o[1].dtype) return invalid(j, "'dst' and 'src' must have the same element type");
    return want_shape(j, 0, free_of(&j->o[1]), j->o[1].partitions);
}

static glia_status check_call(const judge *j)
{
    const isa_core *core = &j->l->program->cores[j->core];
    const int64_t callee = j->o[0].offset;
    if (callee <= (int64_t)j->function || callee >= core->functions.count)
        return invalid(j, "it calls function %lld from function %u of %u: only later ones may be called",
                       (long long)callee, j->function, core->functions.count);
    const isa_function *f = core->functions.items[callee];
    if (j->o[1].space == ISA_SPACE_NONE)
        return f->formal_count ? invalid(j, "'%s' has %u formals and no binding table", f->name, f->formal_count) : GLIA_OK;
    if (j->o[1].offset < 0 || j->o[1].offset >= core->tables.count)
        return invalid(j, "binding table %lld of %u", (long long)j->o[1].offset, core->tables.count);
    const isa_table *t = &core->tables.items[j->o[1].offset];
    if (t->formals != f->formal_count)
        return invalid(j, "the table binds %u tensors, '%s' has %u formals", t->formals, f->name, f->formal_count);
    for (uint64_t k = 0; k < (uint64_t)t->rows * t->formals; k++)
        if (t->items[k].slot >= j->f->slots.count)
            return invalid(j, "the table names tensor slot %u, '%s' has %u", t->items[k].slot, j->f->name,
                           j->f->slots.count);
    return GLIA_OK;
}

static glia_status check_shape(const judge *j)
{
    switch (j->i->op) {
    case ISA_matmul: return check_matmul(j);
    case ISA_transpose: return check_transpose(j);
    case ISA_tensor_reduce: return check_tensor_reduce(j);
    case ISA_partition_reduce: return want_shape(j, 0, 1, free_of(&j->o[1]));
    case ISA_transpose32: return check_transpose32(j);
    case ISA_iota: return check_pattern(j, 1);
    case ISA_affine_select: return check_pattern(j, 2);
    case ISA_n_gather:
        if (!is_int_type(j->o[2].dtype)) return invalid(j, "operand 'indices' must be of an integer type");
        return want_shape(j, 1, j->o[0].partitions, free_of(&j->o[1]));
    case ISA_dma_copy:
    case ISA_dma_transpose: return check_dma(j);
    case ISA_dma_gather: return check_indirect(j, 1, 0);
    case ISA_dma_scatter: return check_indirect(j, 0, 1);
    case ISA_reg_load:
        return is_int_type(j->o[1].dtype) ? GLIA_OK : invalid(j, "operand 'src' must be of an integer type");
    case ISA_reg_store:
        return is_int_type(j->o[0].dtype) ? GLIA_OK : invalid(j, "operand 'dst' must be of an integer type");
    case ISA_call: return check_call(j);
    default: return GLIA_OK;    // judged by the format's rules alone
    }
}

// ---- operators -----------------------------------------------------------------------------------------------------

static glia_status check_alu(const judge *j, isa_alu op)
{
    if (dev_alu_kind_of(op) != DEV_ALU_BITVEC) return GLIA_OK;
    if (j->i->op == ISA_scalar_tensor_tensor || j->i->op == ISA_affine_select)
        return invalid(j, "operator '%s' works on bits, this instruction is arithmetic", isa_alu_name(op));
    for (int k = 0; k < j->row->operand_count; k++) {
        const isa_operand *o = &j->o[k];
        if (in_memory(o) && !is_int_type(o->dtype))
            return invalid(j, "operator '%s' works on bits, operand '%s' is '%s'", isa_alu_name(op),
                           j->row->operands[k].name, num_dtype_get((num_dtype)o->dtype)->name);
    }
    return GLIA_OK;
}

static glia_status check_attrs(const judge *j)
{
    static const uint8_t limit[] = { [ISA_ATTR_BOOL] = 2, [ISA_ATTR_U8] = 255, [ISA_ATTR_ALU] = ISA_ALU_COUNT,
                                     [ISA_ATTR_ACT] = ISA_ACT_COUNT, [ISA_ATTR_REDUCE_CMD] = ISA_REDUCE_CMD_COUNT,
                                     [ISA_ATTR_PERF] = ISA_PERF_COUNT, [ISA_ATTR_DGE] = ISA_DGE_COUNT,
                                     [ISA_ATTR_OOB] = ISA_OOB_COUNT };
    for (int k = 0; k < j->row->attr_count; k++) {
        const uint8_t kind = j->row->attrs[k].kind, value = j->i->attr[k];
        if (kind != ISA_ATTR_U8 && value >= limit[kind])
            return invalid(j, "attribute '%s' is %u of %u", j->row->attrs[k].name, value, limit[kind]);
        if (kind == ISA_ATTR_ALU) TRY(check_alu(j, (isa_alu)value));
    }
    const bool reduces = j->i->op == ISA_tensor_reduce || j->i->op == ISA_partition_reduce;
    if (reduces && !dev_alu_reduces((isa_alu)j->i->attr[0]))
        return invalid(j, "operator '%s' does not reduce", isa_alu_name((isa_alu)j->i->attr[0]));
    const bool scalar = j->i->op == ISA_tensor_scalar;
    if (scalar && j->i->attr[2] != ISA_ALU_NONE &&
        (dev_alu_kind_of((isa_alu)j->i->attr[0]) == DEV_ALU_BITVEC) !=
            (dev_alu_kind_of((isa_alu)j->i->attr[2]) == DEV_ALU_BITVEC))
        return invalid(j, "both operators must work on bits, or both be arithmetic");
    return GLIA_OK;
}

static glia_status check_insn(judge *j)
{
    if (j->i->op >= ISA_OP_COUNT)
        return GLIA_FAIL(INVALID, "core %u, '%s' instruction %u has opcode %u of %d", j->core, j->f->name, j->pc,
                         j->i->op, ISA_OP_COUNT);
    j->row = isa_row_get((isa_op)j->i->op);
    if (j->i->operand_count != j->row->operand_count || j->i->operand > j->f->operands.count ||
        j->i->operand_count > j->f->operands.count - j->i->operand)
        return invalid(j, "%u operands at index %u of %u; the format has %u", j->i->operand_count, j->i->operand,
                       j->f->operands.count, j->row->operand_count);
    j->o = j->f->operands.items + j->i->operand;
    if (j->i->origin >= j->l->program->origins.count) return invalid(j, "its origin is not in the program");
    if (j->i->engine >= ISA_ENGINE_COUNT || !(j->row->engines & 1u << j->i->engine))
        return invalid(j, "engine %s does not execute it", isa_engine_name((isa_engine)j->i->engine));
    for (int k = 0; k < j->row->operand_count; k++) TRY(check_operand(j, k));
    TRY(check_attrs(j));
    if (j->i->op != ISA_transpose32) TRY(check_rules(j));
    return check_shape(j);
}

glia_status dev_check_shapes(const dev_loaded *l, size_t *row_elements)
{
    for (uint32_t c = 0; c < l->program->core_count; c++) {
        const isa_core *core = &l->program->cores[c];
        for (uint32_t k = 0; k < core->functions.count; k++) {
            judge j = { .l = l, .f = core->functions.items[k], .core = c, .function = k };
            for (j.pc = 0; j.pc < j.f->insns.count; j.pc++) {
                j.i = &j.f->insns.items[j.pc];
                TRY(check_insn(&j));
                for (int o = 0; o < j.i->operand_count; o++)
                    if (dev_on_chip(j.o[o].space) && free_of(&j.o[o]) > *row_elements) *row_elements = free_of(&j.o[o]);
            }
        }
    }
    return GLIA_OK;
}
