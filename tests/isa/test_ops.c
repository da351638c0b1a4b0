// SPDX-License-Identifier: Apache-2.0
// Rows, access patterns, and the builder's promise that an instruction has all operands of its format.
#include "harness/harness.h"
#include "isa/build.h"

TEST(ops, names_find_their_rows)
{
    for (int op = 0; op < ISA_OP_COUNT; op++) {
        const isa_row *row = isa_row_get((isa_op)op);
        isa_op found;
        EXPECT(isa_op_find(row->name, strlen(row->name), &found));
        EXPECT_EQ_INT(found, op);
        EXPECT(row->engines != 0);
        EXPECT(row->operand_count <= ISA_OPERANDS && row->attr_count <= ISA_ATTRS);
    }
    isa_op none;
    EXPECT(!isa_op_find("matmul", 3, &none));
    EXPECT(!isa_op_find("matmu", 5, &none));
}

TEST(ops, attribute_values_have_names_both_ways)
{
    for (int kind = ISA_ATTR_BOOL; kind <= ISA_ATTR_OOB; kind++)
        for (uint32_t v = 0; v < isa_attr_value_count((isa_attr_kind)kind); v++) {
            const char *name = isa_attr_value_name((isa_attr_kind)kind, (uint8_t)v);
            uint8_t found = 0;
            if (!name) continue;
            EXPECT(isa_attr_value_find((isa_attr_kind)kind, name, strlen(name), &found));
            EXPECT_EQ_INT(found, v);
        }
}

TEST(ops, ranges_follow_steps_of_either_sign)
{
    int64_t lo, hi;
    isa_operand o =
        isa_chip_ap(ISA_SBUF, NUM_F32, 0, 8, 1000, 3, (const int64_t[]){-10, 3, 0}, (const uint32_t[]){4, 5, 9});
    EXPECT(isa_operand_range(&o, &lo, &hi));
    EXPECT_EQ_INT(lo, 1000 - 4 * 30);
    EXPECT_EQ_INT(hi, 1000 + 4 * 12 + 4);
    EXPECT_EQ_INT(isa_operand_free(&o), 180);
    EXPECT_EQ_INT(isa_operand_elements(&o), 1440);
    o.count[1] = 0;
    EXPECT(!isa_operand_range(&o, &lo, &hi));
    o = isa_chip_ap(ISA_SBUF, NUM_S32, 0, 8, 12, 0, NULL, NULL);
    EXPECT(isa_operand_range(&o, &lo, &hi));
    EXPECT_EQ_INT(hi, 16);
    isa_operand huge =
        isa_hbm(0, NUM_F64, INT64_MAX, 5, (const int64_t[]){INT64_MAX, INT64_MAX, INT64_MAX, INT64_MIN, INT64_MIN},
                (const uint32_t[]){UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX});
    EXPECT(isa_operand_range(&huge, &lo, &hi));
    EXPECT(lo == INT64_MIN && hi == INT64_MAX);
    EXPECT_EQ_HEX(isa_operand_free(&huge), UINT64_MAX);
}

TEST(ops, accumulation_reads_its_destination)
{
    AUTO(isa_program) p = isa_program_create("x", "trn2", 1);
    isa_function *f = isa_function_create(p, 0, "main");
    const isa_operand o[] = {isa_chip(ISA_PSUM, NUM_F32, 0, 8, 0, 8), isa_chip(ISA_SBUF, NUM_F32, 0, 8, 0, 8),
                             isa_chip(ISA_SBUF, NUM_F32, 0, 8, 64, 8)};
    isa_emit(f, ISA_matmul, ISA_PE, 3, o, 2, (const uint8_t[]){0, 0}, 0);
    isa_emit(f, ISA_matmul, ISA_PE, 3, o, 2, (const uint8_t[]){1, 0}, 0);
    EXPECT_EQ_INT(isa_operand_access(&f->insns.items[0], 0), ISA_WRITE);
    EXPECT_EQ_INT(isa_operand_access(&f->insns.items[1], 0), ISA_RW);
    EXPECT_EQ_INT(isa_operand_access(&f->insns.items[1], 1), ISA_READ);
}

TEST(ops, emitted_instructions_have_all_operands_of_their_format)
{
    AUTO(isa_program) p = isa_program_create("x", "trn2", 1);
    isa_function *f = isa_function_create(p, 0, "main");
    const isa_operand o[] = {isa_chip(ISA_SBUF, NUM_F32, 0, 8, 0, 8), isa_chip(ISA_SBUF, NUM_F32, 0, 8, 64, 8),
                             isa_imm_f32(1)};
    isa_emit(f, ISA_activation, ISA_ACT, 3, o, 1, (const uint8_t[]){ISA_ACT_EXP}, 0);
    const isa_insn *i = &f->insns.items[0];
    EXPECT_EQ_INT(i->operand_count, 5);
    EXPECT(isa_operand_has(f, i, 2));
    EXPECT(!isa_operand_has(f, i, 3));
    EXPECT(!isa_operand_has(f, i, 5));
}

TEST(ops, slots_of_a_tensor_are_found_again)
{
    AUTO(isa_program) p = isa_program_create("x", "trn2", 1);
    isa_function *f = isa_function_create(p, 0, "main");
    const uint32_t a = isa_tensor_add(p, "a", ISA_TENSOR_INPUT, NUM_BF16, 2, (const int64_t[]){3, 5});
    const uint32_t b = isa_tensor_add(p, "b", ISA_TENSOR_INPUT, NUM_F32, 0, NULL);
    EXPECT_EQ_INT(p->tensors.items[a].bytes, 30);
    EXPECT_EQ_INT(p->tensors.items[b].bytes, 4);
    EXPECT_EQ_INT(isa_slot_global(f, p, b), 0);
    EXPECT_EQ_INT(isa_slot_global(f, p, a), 1);
    EXPECT_EQ_INT(isa_slot_global(f, p, b), 0);
}
