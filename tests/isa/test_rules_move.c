// SPDX-License-Identifier: Apache-2.0
// Programs that break the rules on DMA, collectives, registers, semaphores and control.
#include "isa/rules.h"

// One line a case: a table of small functions, then of what is said about each.
// clang-format off
#define LOAD(b, e, attrs, dst, src) PUT(b, dma_copy, e, attrs, dst, src)

static isa_operand table(isa_operand o) { o.indirect = 1; return o; }

// ---- DMA ----
static void elements(rule_base *b) { LOAD(b, SP, (0), sbuf(NUM_F32, 8, 0, 8), hbm(IN, NUM_F32, 0, 8, 9)); }
static void cast(rule_base *b) { LOAD(b, SP, (0), sbuf(NUM_F8E4M3FN, 8, 0, 8), hbm(IN, NUM_F32, 0, 8, 8)); }
static void cast_wide(rule_base *b) { LOAD(b, SP, (0), sbuf(NUM_S64, 8, 0, 8), hbm(IN, NUM_F32, 0, 8, 8)); }
static void hwdge_old(rule_base *b) { LOAD(b, SP, (ISA_DGE_HWDGE), sbuf(NUM_F32, 8, 0, 8), hbm(IN, NUM_F32, 0, 8, 8)); }
static void hwdge_engine(rule_base *b) { LOAD(b, PE, (ISA_DGE_HWDGE), sbuf(NUM_F32, 8, 0, 8), hbm(IN, NUM_F32, 0, 8, 8)); }
static void hwdge_cast(rule_base *b) { LOAD(b, SP, (ISA_DGE_HWDGE), sbuf(NUM_BF16, 8, 0, 8), hbm(IN, NUM_F32, 0, 8, 8)); }
static void swdge(rule_base *b) { LOAD(b, SP, (ISA_DGE_SWDGE), sbuf(NUM_F32, 8, 0, 8), hbm(IN, NUM_F32, 0, 8, 8)); }
static void loaded_address(rule_base *b)
{
    PUT(b, reg_load, SP, (0), isa_reg(1), sbuf(NUM_S32, 1, 0, 1));
    PUT(b, reg_alu, SP, (ISA_ALU_MULTIPLY), isa_reg(2), isa_reg(1), isa_imm_int(8));
    LOAD(b, SP, (0), sbuf(NUM_F32, 8, 0, 8), isa_plus(hbm(IN, NUM_F32, 0, 8, 8), 2, 4));
}
static void loaded_row(rule_base *b)
{
    const isa_operand o[] = { isa_imm_int(1), isa_imm_int(0), isa_reg(1) };
    PUT(b, reg_load, SP, (0), isa_reg(1), sbuf(NUM_S32, 1, 0, 1));
    put(b, ISA_call, ISA_SP, 3, o, 0, NULL);
    rule_base callee = { b->p, b->callee, NULL };
    LOAD(&callee, SP, (0), sbuf(NUM_F32, 1, 0, 8), hbm(0, NUM_F32, 0, 1, 8));
}
static void loaded_branch(rule_base *b)
{
    PUT(b, reg_load, SP, (0), isa_reg(1), sbuf(NUM_S32, 1, 0, 1));
    PUT(b, if, SP, (ISA_ALU_GT), isa_reg(1), isa_imm_int(0));
    PUT(b, reg_move, SP, (0), isa_reg(3), isa_imm_int(1));
    put(b, ISA_end_if, ISA_SP, 0, NULL, 0, NULL);
    LOAD(b, SP, (0), sbuf(NUM_F32, 8, 0, 8), isa_plus(hbm(IN, NUM_F32, 0, 8, 8), 3, 4));
}
static void priority(rule_base *b)
{
    const uint32_t n = LOAD(b, SP, (0), sbuf(NUM_F32, 8, 0, 8), hbm(IN, NUM_F32, 0, 8, 8));
    b->f->insns.items[n].priority = 1;
}
static void priority_v4(rule_base *b) { priority(b); b->f->insns.items[0].priority = 4; }
static void priority_compute(rule_base *b)
{
    const uint32_t n = PUT(b, memset, DVE, (0), sbuf(NUM_F32, 8, 0, 8), isa_imm_f32(0));
    b->f->insns.items[n].priority = 1;
}
#define DT(b, dge, dst, src) PUT(b, dma_transpose, SP, (dge), dst, src)
static void transpose_shape(rule_base *b) { DT(b, 0, sbuf(NUM_BF16, 16, 0, 32), hbm(IN_BF16, NUM_BF16, 0, 16, 32)); }
static void transpose_type(rule_base *b) { DT(b, 0, sbuf(NUM_F32, 32, 0, 16), hbm(IN_BF16, NUM_BF16, 0, 16, 32)); }
static void transpose_bytes(rule_base *b) { DT(b, 0, sbuf(NUM_U8, 32, 0, 16), hbm(IN_BF16, NUM_U8, 0, 16, 32)); }
static void transpose_hbm(rule_base *b) { DT(b, 0, hbm(OUT, NUM_BF16, 0, 32, 16), hbm(IN_BF16, NUM_BF16, 0, 16, 32)); }
static void transpose_flat(rule_base *b)
{
    const isa_operand src = isa_hbm(IN_BF16, NUM_BF16, 0, 1, (const int64_t[]){ 1 }, (const uint32_t[]){ 32 });
    DT(b, 0, sbuf(NUM_BF16, 32, 0, 1), src);
}
static void transpose_swdge(rule_base *b)
{
    PUT(b, dma_transpose, POOL, (ISA_DGE_SWDGE), sbuf(NUM_BF16, 32, 0, 16), hbm(IN_BF16, NUM_BF16, 0, 16, 32));
}
static void transpose_hwdge(rule_base *b) { DT(b, ISA_DGE_HWDGE, sbuf(NUM_F32, 32, 0, 16), hbm(IN, NUM_F32, 0, 16, 32)); }
static void transpose_hwdge_first(rule_base *b) { DT(b, ISA_DGE_HWDGE, sbuf(NUM_BF16, 32, 0, 8), hbm(IN_BF16, NUM_BF16, 0, 8, 32)); }
static void transpose_hwdge_three(rule_base *b)
{
    const isa_operand src = isa_hbm(IN_BF16, NUM_BF16, 0, 3, (const int64_t[]){ 1024, 256, 1 }, (const uint32_t[]){ 3, 4, 32 });
    DT(b, ISA_DGE_HWDGE, sbuf(NUM_BF16, 32, 0, 12), src);
}
#define GATHER(b, e, dge, dst, src, index) PUT(b, dma_gather, e, (dge), dst, src, index)
static const isa_dge sw = ISA_DGE_SWDGE;
static void indirect_dge(rule_base *b) { GATHER(b, POOL, 0, sbuf(NUM_F32, 8, 0, 8), table(hbm(IN, NUM_F32, 0, 128, 8)), sbuf(NUM_S32, 8, 64, 1)); }
static void indirect_index(rule_base *b) { GATHER(b, POOL, sw, sbuf(NUM_F32, 8, 0, 8), table(hbm(IN, NUM_F32, 0, 128, 8)), sbuf(NUM_F32, 8, 64, 1)); }
static void indirect_count(rule_base *b) { GATHER(b, POOL, sw, sbuf(NUM_F32, 8, 0, 8), table(hbm(IN, NUM_F32, 0, 128, 8)), sbuf(NUM_S32, 16, 64, 1)); }
static void indirect_row(rule_base *b) { GATHER(b, POOL, sw, sbuf(NUM_F32, 8, 0, 9), table(hbm(IN, NUM_F32, 0, 128, 8)), sbuf(NUM_S32, 8, 64, 1)); }
static void indirect_hbm(rule_base *b) { GATHER(b, POOL, sw, hbm(OUT, NUM_F32, 0, 8, 8), table(hbm(IN, NUM_F32, 0, 128, 8)), sbuf(NUM_S32, 8, 64, 1)); }

// ---- collectives ----
static void group_of(rule_base *b)
{
    static const uint32_t ranks[] = { 0, 1 };
    VEC_PUSH(&b->p->groups) = (isa_group){ 2, ranks };
}
static void cc_gather(rule_base *b)
{
    group_of(b);
    PUT(b, cc_all_gather, SP, (0), hbm(OUT, NUM_F32, 0, 8, 8), hbm(IN, NUM_F32, 0, 8, 8), isa_imm_int(0));
}
static void cc_type(rule_base *b)
{
    group_of(b);
    PUT(b, cc_permute, SP, (0), hbm(OUT, NUM_F32, 0, 8, 8), hbm(IN_BF16, NUM_BF16, 0, 8, 8), isa_imm_int(0));
}
static void cc_op(rule_base *b)
{
    group_of(b);
    PUT(b, cc_all_reduce, SP, (ISA_ALU_MULTIPLY), hbm(OUT, NUM_F32, 0, 8, 8), hbm(IN, NUM_F32, 0, 8, 8), isa_imm_int(0));
}

// ---- registers, semaphores ----
static void register_type(rule_base *b) { PUT(b, reg_load, SP, (0), isa_reg(1), sbuf(NUM_F32, 1, 0, 1)); }
static void register_wide(rule_base *b) { PUT(b, reg_store, SP, (0), sbuf(NUM_S64, 1, 0, 1), isa_reg(1)); }
static void register_clamp(rule_base *b) { PUT(b, reg_load, SP, (0), isa_reg(1), sbuf(NUM_S32, 1, 0, 1), isa_imm_int(3), isa_imm_int(2)); }
static void begin(rule_base *b, int stride) { PUT(b, for, SP, (0), isa_reg(1), isa_imm_int(0), isa_imm_int(2), isa_imm_int(stride)); }
static void end(rule_base *b, isa_op op) { put(b, op, ISA_SP, 0, NULL, 0, NULL); }
static void loop_stride(rule_base *b) { begin(b, 0); end(b, ISA_end_for); }
static uint32_t nothing(rule_base *b) { return put(b, ISA_wait, ISA_SP, 0, NULL, 0, NULL); }
static void update_zero(rule_base *b) { isa_add_update(b->f, nothing(b), 3, 0); }
static void wait_negative(rule_base *b) { isa_add_wait(b->f, nothing(b), 3, -1, false); }

// ---- control ----
static void engines_inside(rule_base *b)
{
    begin(b, 1);
    PUT(b, memset, DVE, (0), sbuf(NUM_F32, 8, 0, 8), isa_imm_f32(0));
    end(b, ISA_end_for);
}
static void engines_end(rule_base *b)
{
    begin(b, 1);
    end(b, ISA_end_for);
    b->f->insns.items[0].engines = 1 << ISA_SP | 1 << ISA_PE;
}
static void engines_lead(rule_base *b)
{
    begin(b, 1);
    end(b, ISA_end_for);
    b->f->insns.items[0].engines = b->f->insns.items[1].engines = 1 << ISA_PE;
}
static void engines_callee(rule_base *b)
{
    const isa_operand o[] = { isa_imm_int(1), isa_imm_int(0), isa_none() };
    put(b, ISA_call, ISA_SP, 3, o, 0, NULL);
    rule_base callee = { b->p, b->callee, NULL };
    PUT(&callee, memset, DVE, (0), sbuf(NUM_F32, 8, 0, 8), isa_imm_f32(0));
}
static void loop_register(rule_base *b)
{
    begin(b, 1);
    PUT(b, reg_move, SP, (0), isa_reg(1), isa_imm_int(0));
    end(b, ISA_end_for);
}
static void loop_register_callee(rule_base *b)
{
    const isa_operand o[] = { isa_imm_int(1), isa_imm_int(0), isa_none() };
    begin(b, 1);
    put(b, ISA_call, ISA_SP, 3, o, 0, NULL);
    end(b, ISA_end_for);
    rule_base callee = { b->p, b->callee, NULL };
    PUT(&callee, reg_move, SP, (0), isa_reg(1), isa_imm_int(0));
}
static void call_write(rule_base *b)
{
    const isa_operand o[] = { isa_imm_int(1), isa_imm_int(0), isa_none() };
    b->p->cores[0].tables.items[0].items[1].slot = IN_BF16;
    put(b, ISA_call, ISA_SP, 3, o, 0, NULL);
}
static void branch(rule_base *b) { PUT(b, if, SP, (ISA_ALU_GT), isa_reg(1), isa_imm_int(0)); }
static void one_arm(rule_base *b)
{
    branch(b);
    isa_add_update(b->f, nothing(b), 5, 2);
    end(b, ISA_end_if);
}
static void unequal_arms(rule_base *b)
{
    branch(b);
    isa_add_update(b->f, nothing(b), 5, 2);
    end(b, ISA_else);
    begin(b, 1);
    isa_add_update(b->f, nothing(b), 5, 2);
    end(b, ISA_end_for);
    end(b, ISA_end_if);
}
static void uncounted_arm(rule_base *b)
{
    branch(b);
    PUT(b, while, SP, (ISA_ALU_GT), isa_reg(1), isa_imm_int(0));
    isa_add_update(b->f, nothing(b), 5, 1);
    end(b, ISA_end_while);
    end(b, ISA_end_if);
}
static void barrier(rule_base *b, int id)
{
    const uint8_t a = (uint8_t)id;
    put(b, ISA_barrier, ISA_SP, 0, NULL, 1, &a);
}
static rule_base second(rule_base *b)
{
    b->p->core_count = 2;
    return (rule_base){ b->p, isa_function_create(b->p, 1, "main"), NULL };
}
static void barrier_alone(rule_base *b) { barrier(b, 1); }
static void barrier_missing(rule_base *b)
{
    rule_base other = second(b);
    begin(b, 1);
    barrier(b, 1);
    end(b, ISA_end_for);
    barrier(&other, 1);
}
static void barrier_order(rule_base *b)
{
    rule_base other = second(b);
    barrier(b, 1);
    barrier(b, 2);
    barrier(&other, 2);
    barrier(&other, 1);
}

#define V2 &hw_trainium1
#define V3 &hw_trainium2
#define V4 &hw_trainium3
const rule_case rules_move[] = {
    { "dma_elements", V3, elements, "dst has 64 elements, src 72" },
    { "dma_cast", V3, cast, "'f8e4m3fn' is no type that a DMA of Trainium2 casts" },
    { "dma_cast", V3, cast_wide, "casts 'f32' to 's64'" },
    { "dma_hwdge", V2, hwdge_old, "Trainium1 has no hardware descriptor generation" },
    { "dma_hwdge", V3, hwdge_engine, "PE issues it" },
    { "dma_hwdge", V3, hwdge_cast, "casts 'f32' to 'bf16', which hwdge cannot" },
    { "dma_swdge", V3, swdge, "SP issues it" },
    { "dma_static", V3, loaded_address, "r2, which is loaded from memory" },
    { "dma_static", V3, loaded_row, "formal 'x' is bound by a loaded row" },
    { "dma_static", V3, loaded_branch, "r3, which is loaded from memory" },
    { "dma_priority", V3, priority, "class 1; 1 exist" },
    { "dma_priority", V4, priority_v4, "class 4; 4 exist" },
    { "dma_priority", V4, priority_compute, "for what is no DMA" },
    { "dma_transpose", V3, transpose_shape, "src is [16, 32], dst [16, 32]" },
    { "dma_transpose", V3, transpose_type, "src has type 'bf16', dst 'f32'" },
    { "dma_transpose", V3, transpose_bytes, "src has type 'u8'" },
    { "dma_transpose", V3, transpose_hbm, "not in SBUF" },
    { "dma_transpose", V3, transpose_flat, "src has 1 dims" },
    { "dma_transpose", V3, transpose_swdge, "swdge transposes gathers alone" },
    { "dma_transpose_hwdge", V3, transpose_hwdge, "src has type 'f32' and a last dim of 32" },
    { "dma_transpose_hwdge", V3, transpose_hwdge_first, "src has 2 dims, the first of 8" },
    { "dma_transpose_hwdge", V3, transpose_hwdge_three, "src has 3 dims, the first of 3" },
    { "dma_indirect", V3, indirect_dge, "has dge 'none'" },
    { "dma_indirect", V3, indirect_index, "'index' has type 'f32'" },
    { "dma_indirect", V3, indirect_count, "'index' is [16, 1], must be [8, 1]" },
    { "dma_indirect", V3, indirect_row, "a row of the table has 8 elements, a partition of the SBUF side 9" },
    { "dma_indirect", V3, indirect_hbm, "both sides are in HBM" },
    { "cc_shape", V3, cc_gather, "src has 64 elements, dst 64, the group 2 ranks" },
    { "cc_shape", V3, cc_type, "src has type 'bf16', dst 'f32'" },
    { "cc_shape", V3, cc_op, "operation 'multiply'" },
    { "register_memory", V3, register_type, "'src' has type 'f32'" },
    { "register_memory", V3, register_wide, "'dst' has type 's64'" },
    { "register_memory", V3, register_clamp, "at least 3 and at most 2" },
    { "loop_stride", V3, loop_stride, "steps by 0" },
    { "semaphore_value", V3, update_zero, "adds 0 to semaphore 3" },
    { "semaphore_value", V3, wait_negative, "semaphore 3 is -1" },
    { "control_engines", V3, engines_inside, "DVE is inside a construct, in which only SP take part" },
    { "control_engines", V3, engines_end, "SP is the mask of a part of a construct, in which only PE|SP" },
    { "control_engines", V3, engines_lead, "SP leads control, in which only PE" },
    { "control_engines", V3, engines_callee, "DVE is used by the callee" },
    { "loop_register", V3, loop_register, "writes r1 of SP" },
    { "loop_register", V3, loop_register_callee, "writes r1 of SP" },
    { "call_write", V3, call_write, "formal 'y', which is written, to 'in_bf16'" },
    { "if_increments", V3, one_arm, "first arm adds 2 to semaphore 5, its other arm 0" },
    { "if_increments", V3, unequal_arms, "first arm adds 2 to semaphore 5, its other arm 4" },
    { "if_increments", V3, uncounted_arm, "unknown number of times" },
    { "barrier_pair", V3, barrier_alone, "has barriers, but one core" },
    { "barrier_pair", V3, barrier_missing, "core 0 meets 2 barriers, core 1 1" },
    { "barrier_pair", V3, barrier_order, "both cores meet 2 barriers" },
    { NULL, NULL, NULL, NULL },
};
// clang-format on
