// SPDX-License-Identifier: Apache-2.0
// Programs that break the rules of stage STRUCTURE: what every reader relies on.
#include "isa/rules.h"

// One line a case: a table of small functions, then of what is said about each.
// clang-format off
#define TENSOR(b, t) ((b)->p->tensors.items[t])
#define INSN_OF(b, n) ((b)->f->insns.items[n])

static void fill(rule_base *b) { PUT(b, memset, DVE, (0), sbuf(NUM_F32, 128, 0, 8), isa_imm_f32(0)); }
static isa_operand *dst(rule_base *b) { return &b->f->operands.items[0]; }
static void call(rule_base *b, int function, isa_operand table, isa_operand row)
{
    const isa_operand o[] = { isa_imm_int(function), table, row };
    put(b, ISA_call, ISA_SP, 3, o, 0, NULL);
}

static void cores(rule_base *b) { b->p->core_count = 2; }
static void cores_formals(rule_base *b) { isa_slot_formal(b->f, "z", 4, ISA_READ); }
static void group_ranks(rule_base *b)
{
    static const uint32_t ranks[] = { 3, 1, 3 };
    VEC_PUSH(&b->p->groups) = (isa_group){ 3, ranks };
}
static void tensor_type(rule_base *b) { TENSOR(b, SCRATCH).dtype = 200; }
static void tensor_type_dims(rule_base *b) { TENSOR(b, SCRATCH).dims[0] = -1; }
static void tensor_layout(rule_base *b) { TENSOR(b, SCRATCH).layout = (isa_layout){ 2, { { 2, 128, 0 }, { 1, 256, 1 } } }; }
static void tensor_layout_dim(rule_base *b) { TENSOR(b, SCRATCH).layout = (isa_layout){ 1, { { 1, 128, 7 } } }; }
static void tensor_bytes(rule_base *b) { TENSOR(b, SCRATCH).bytes = 5; }
static void tensor_alias_kind(rule_base *b) { TENSOR(b, SCRATCH).alias = IN; }
static void tensor_alias_input(rule_base *b) { TENSOR(b, OUT).alias = SCRATCH; }
static void tensor_alias_bytes(rule_base *b) { TENSOR(b, OUT).alias = IN_BF16; }
static void tensor_alias_twice(rule_base *b)
{
    const uint32_t t = isa_tensor_add(b->p, "again", ISA_TENSOR_OUTPUT, NUM_F32, 2, (const int64_t[]){ 128, 256 });
    TENSOR(b, OUT).alias = TENSOR(b, t).alias = IN;
}
static void tensor_core(rule_base *b) { TENSOR(b, IN).core = 0; }
static void tensor_core_missing(rule_base *b) { TENSOR(b, SCRATCH).core = 1; }
static void const_data(rule_base *b) { TENSOR(b, CONSTANT).data.size = 12; }
static void opcode(rule_base *b) { fill(b); INSN_OF(b, 0).op = 250; }
static void opcode_engine(rule_base *b) { fill(b); INSN_OF(b, 0).engine = 9; }
static void operand_count(rule_base *b) { fill(b); INSN_OF(b, 0).operand_count = 1; }
static void operand_array(rule_base *b) { fill(b); INSN_OF(b, 0).operand = 1; }
static void wait_array(rule_base *b) { fill(b); INSN_OF(b, 0).wait_count = 1; }
static void attributes(rule_base *b)
{
    PUT(b, tensor_tensor, DVE, (99), sbuf(NUM_F32, 8, 0, 8), sbuf(NUM_F32, 8, 64, 8), sbuf(NUM_F32, 8, 128, 8));
}
static void attributes_extra(rule_base *b) { fill(b); INSN_OF(b, 0).attr[3] = 1; }
static void attributes_mask(rule_base *b) { fill(b); INSN_OF(b, 0).engines = 1; }
static void queue(rule_base *b)
{
    PUT(b, dma_copy, SP, (0), sbuf(NUM_F32, 8, 0, 8), hbm(IN, NUM_F32, 0, 8, 8));
    INSN_OF(b, 0).queue = 16;
}
static void queue_compute(rule_base *b) { fill(b); INSN_OF(b, 0).queue = 0; }
static void semaphore(rule_base *b) { fill(b); isa_add_wait(b->f, 0, 256, 1, false); }
static void semaphore_update(rule_base *b) { fill(b); isa_add_update(b->f, 0, 300, 1); }
static void origin(rule_base *b) { fill(b); INSN_OF(b, 0).origin = 2; }
static void operand_space(rule_base *b) { PUT(b, dma_copy, SP, (0), psum(NUM_F32, 8, 0, 8), hbm(IN, NUM_F32, 0, 8, 8)); }
static void operand_space_pe(rule_base *b)
{
    PUT(b, matmul, PE, (0), sbuf(NUM_F32, 8, 0, 8), sbuf(NUM_F32, 8, 64, 8), sbuf(NUM_F32, 8, 128, 8));
}
static void operand_absent(rule_base *b) { PUT(b, memset, DVE, (0), sbuf(NUM_F32, 8, 0, 8)); }
static void operand_type(rule_base *b) { fill(b); dst(b)->dtype = NUM_F4E2M1; }
static void operand_type_unknown(rule_base *b) { fill(b); dst(b)->dtype = 99; }
static void operand_dims(rule_base *b) { fill(b); dst(b)->rank = 6; }
static void operand_dims_terms(rule_base *b) { fill(b); dst(b)->term_count = 3; }
static void operand_dims_empty(rule_base *b) { fill(b); dst(b)->count[0] = 0; }
static void operand_register(rule_base *b) { PUT(b, reg_move, SP, (0), isa_reg(64), isa_imm_int(0)); }
static void operand_register_term(rule_base *b) { fill(b); *dst(b) = isa_plus(*dst(b), 70, 4); }
static void operand_partitions(rule_base *b) { fill(b); dst(b)->start_partition = 32; }
static void operand_partitions_none(rule_base *b) { fill(b); dst(b)->partitions = 0; }
static void operand_slot(rule_base *b) { PUT(b, dma_copy, SP, (0), sbuf(NUM_F32, 8, 0, 8), hbm(9, NUM_F32, 0, 8, 8)); }
static void operand_indirect(rule_base *b) { fill(b); dst(b)->indirect = 1; }
static void operand_indirect_missing(rule_base *b)
{
    PUT(b, dma_gather, POOL, (ISA_DGE_SWDGE), sbuf(NUM_F32, 8, 0, 8), hbm(IN, NUM_F32, 0, 128, 8), sbuf(NUM_S32, 8, 64, 1));
}
static void operand_packing(rule_base *b) { fill(b); dst(b)->packing = 1; }
static void slots(rule_base *b) { b->f->slots.items[0].index = 40; }
static void slots_formals(rule_base *b) { b->callee->slots.items[1].index = 0; }
static void slots_count(rule_base *b) { b->callee->formal_count = 3; b->p->cores[0].tables.items[0].formals = 3; }
static void nesting_open(rule_base *b)
{
    PUT(b, for, SP, (0), isa_reg(1), isa_imm_int(0), isa_imm_int(2), isa_imm_int(1));
}
static void nesting_close(rule_base *b) { put(b, ISA_end_while, ISA_SP, 0, NULL, 0, NULL); }
static void nesting_else(rule_base *b) { put(b, ISA_else, ISA_SP, 0, NULL, 0, NULL); }
static void nesting_cross(rule_base *b)
{
    nesting_open(b);
    put(b, ISA_end_if, ISA_SP, 0, NULL, 0, NULL);
}
static void nesting_deep(rule_base *b)
{
    for (int k = 0; k < 33; k++) nesting_open(b);
    for (int k = 0; k < 33; k++) put(b, ISA_end_for, ISA_SP, 0, NULL, 0, NULL);
}
static void call_target(rule_base *b) { call(b, 0, isa_none(), isa_none()); }
static void call_target_missing(rule_base *b) { call(b, 2, isa_none(), isa_none()); }
static void call_table_none(rule_base *b) { call(b, 1, isa_none(), isa_none()); }
static void call_table_missing(rule_base *b) { call(b, 1, isa_imm_int(1), isa_none()); }
static void call_table_columns(rule_base *b)
{
    uint32_t table;
    isa_table_add(b->p, 0, 1, 1, &table);
    call(b, 1, isa_imm_int(table), isa_none());
}
static void call_table_row(rule_base *b) { call(b, 1, isa_imm_int(0), isa_imm_int(1)); }
static void call_slots(rule_base *b)
{
    b->p->cores[0].tables.items[0].items[0].slot = 9;
    call(b, 1, isa_imm_int(0), isa_imm_int(0));
}
static void call_slots_bytes(rule_base *b)
{
    b->p->cores[0].tables.items[0].items[0].offset = 130560;
    call(b, 1, isa_imm_int(0), isa_imm_int(0));
}
static void cc_group(rule_base *b)
{
    PUT(b, cc_all_reduce, SP, (ISA_ALU_ADD), hbm(OUT, NUM_F32, 0, 8, 8), hbm(IN, NUM_F32, 0, 8, 8), isa_imm_int(0));
}

const rule_case rules_structure[] = {
    { "cores", &hw_trainium2, cores, "core 1 has no function" },
    { "cores", &hw_trainium2, cores_formals, "has 1 formals" },
    { "group_ranks", &hw_trainium2, group_ranks, "group 0 names rank 3 twice" },
    { "tensor_type", &hw_trainium2, tensor_type, "element type 200" },
    { "tensor_type", &hw_trainium2, tensor_type_dims, "dim 0 is -1" },
    { "tensor_layout", &hw_trainium2, tensor_layout, "2 axes" },
    { "tensor_layout", &hw_trainium2, tensor_layout_dim, "1 axes" },
    { "tensor_bytes", &hw_trainium2, tensor_bytes, "states 5 bytes, its dims, type and layout make 131072" },
    { "tensor_alias", &hw_trainium2, tensor_alias_kind, "no output" },
    { "tensor_alias", &hw_trainium2, tensor_alias_input, "no input" },
    { "tensor_alias", &hw_trainium2, tensor_alias_bytes, "131072 bytes, input 'in_bf16' whose storage it reuses 65536" },
    { "tensor_alias", &hw_trainium2, tensor_alias_twice, "which output 'out' reuses too" },
    { "tensor_core", &hw_trainium2, tensor_core, "no scratch" },
    { "tensor_core", &hw_trainium2, tensor_core_missing, "core 1, the program has 1" },
    { "const_data", &hw_trainium2, const_data, "12 bytes of data, should carry 16" },
    { "opcode", &hw_trainium2, opcode, "operator 250" },
    { "opcode", &hw_trainium2, opcode_engine, "engine 9" },
    { "operand_count", &hw_trainium2, operand_count, "1 operands, its format 2" },
    { "operand_count", &hw_trainium2, operand_array, "begin at 1 of 2" },
    { "operand_count", &hw_trainium2, wait_array, "begin at 0 of 0" },
    { "attributes", &hw_trainium2, attributes, "'op' is 99" },
    { "attributes", &hw_trainium2, attributes_extra, "attribute 3 is 1" },
    { "attributes", &hw_trainium2, attributes_mask, "engine mask" },
    { "queue", &hw_trainium2, queue, "queue 16, there are 16" },
    { "queue", &hw_trainium2, queue_compute, "queue 0, but is no DMA" },
    { "semaphore", &hw_trainium2, semaphore, "semaphore 256, there are 256" },
    { "semaphore", &hw_trainium2, semaphore_update, "semaphore 300" },
    { "origin", &hw_trainium2, origin, "origin 2, the program has 2" },
    { "operand_space", &hw_trainium2, operand_space, "space 0x4, 'dma_copy' takes it from 0x3" },
    { "operand_space", &hw_trainium2, operand_space_pe, "space 0x2, 'matmul' takes it from 0x4" },
    { "operand_space", &hw_trainium2, operand_absent, "is absent" },
    { "operand_type", &hw_trainium2, operand_type, "elements of 4 bits" },
    { "operand_type", &hw_trainium2, operand_type_unknown, "type 99" },
    { "operand_dims", &hw_trainium2, operand_dims, "6 dims, at most 5" },
    { "operand_dims", &hw_trainium2, operand_dims_terms, "3 dynamic terms, at most 2" },
    { "operand_dims", &hw_trainium2, operand_dims_empty, "dim 0 is empty" },
    { "operand_register", &hw_trainium2, operand_register, "register 64, there are 64" },
    { "operand_register", &hw_trainium2, operand_register_term, "register 70" },
    { "operand_partitions", &hw_trainium2, operand_partitions, "partitions 32 to 160, there are 128" },
    { "operand_partitions", &hw_trainium2, operand_partitions_none, "partitions 0 to 0" },
    { "operand_slot", &hw_trainium2, operand_slot, "slot 9, the function has 5" },
    { "operand_indirect", &hw_trainium2, operand_indirect, "no table" },
    { "operand_indirect", &hw_trainium2, operand_indirect_missing, "not indirect" },
    { "operand_packing", &hw_trainium2, operand_packing, "packing 1" },
    { "slots", &hw_trainium2, slots, "tensor 40, the program has 5" },
    { "slots", &hw_trainium2, slots_formals, "formal 0, the next in order is 1" },
    { "slots", &hw_trainium2, slots_count, "3 formals, slots for 2" },
    { "nesting", &hw_trainium2, nesting_open, "'for' is never closed" },
    { "nesting", &hw_trainium2, nesting_close, "'end_while' has nothing to close" },
    { "nesting", &hw_trainium2, nesting_else, "'else' has no 'if'" },
    { "nesting", &hw_trainium2, nesting_cross, "'end_if' closes 'for'" },
    { "nesting", &hw_trainium2, nesting_deep, "more than 32 deep" },
    { "call_target", &hw_trainium2, call_target, "function 0 calls function 0 of 2" },
    { "call_target", &hw_trainium2, call_target_missing, "calls function 2 of 2" },
    { "call_table", &hw_trainium2, call_table_none, "binds none of the 2 formals" },
    { "call_table", &hw_trainium2, call_table_missing, "table 1, the core has 1" },
    { "call_table", &hw_trainium2, call_table_columns, "1 columns, 'callee' has 2 formals" },
    { "call_table", &hw_trainium2, call_table_row, "row 1 of table 0, which has 1" },
    { "call_slots", &hw_trainium2, call_slots, "slot 9, the caller has 5" },
    { "call_slots", &hw_trainium2, call_slots_bytes, "1024 bytes to 'in' of 131072, from byte 130560" },
    { "cc_group", &hw_trainium2, cc_group, "group 0, the program has 0" },
    { NULL, NULL, NULL, NULL },
};
// clang-format on
