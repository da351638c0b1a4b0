// SPDX-License-Identifier: Apache-2.0
// Building tile programs: what the compiler, the kernels of the benchmarks and the tests use. No judging here: the
// verifier does that afterwards, on the finished program.
#ifndef GLIA_ISA_BUILD_H
#define GLIA_ISA_BUILD_H

#include "isa/isa.h"

isa_function *isa_function_create(isa_program *p, uint32_t core, const char *name);     // appended; index = count - 1
uint32_t isa_tensor_add(isa_program *p, const char *name, isa_tensor_kind kind, num_dtype dtype, int rank,
                        const int64_t *dims);       // row-major; bytes computed; fields may be changed afterwards
uint32_t isa_slot_global(isa_function *f, const isa_program *p, uint32_t tensor);       // finds or adds the slot
// `name` is borrowed for the life of the program: a literal or of its arena.
uint32_t isa_slot_formal(isa_function *f, const char *name, uint64_t bytes, isa_access access);
uint32_t isa_origin_add(isa_program *p, const char *op, const char *where);             // copies
isa_table *isa_table_add(isa_program *p, uint32_t core, uint32_t rows, uint32_t formals, uint32_t *index);

// Appends an instruction with the given operands (copied; trailing NONE operands may be left out, absent middle ones
// are isa_none()) and returns its index. Attributes follow the format's order; the rest are 0. The instruction always
// has all operands of its format, absent ones with space NONE. `engines` of control is the engine's own bit at first.
uint32_t isa_emit(isa_function *f, isa_op op, isa_engine engine, int operand_count, const isa_operand *operands,
                  int attr_count, const uint8_t *attrs, uint32_t origin);
uint32_t isa_emit_dma(isa_function *f, isa_op op, isa_engine issuer, uint8_t queue, isa_operand dst, isa_operand src,
                      isa_dge dge, uint32_t origin);
// Waits and updates of one instruction must be added before the next instruction gets any.
void isa_add_wait(isa_function *f, uint32_t insn, uint16_t sem, int32_t value, bool relative);
void isa_add_update(isa_function *f, uint32_t insn, uint16_t sem, int32_t value);

isa_operand isa_none(void);
isa_operand isa_imm_f32(float value);
isa_operand isa_imm_int(int64_t value);             // dtype s32
isa_operand isa_reg(uint8_t reg);
// Contiguous free elements: [partitions, free] at a byte offset of each partition.
isa_operand isa_chip(isa_space space, num_dtype dtype, int start_partition, int partitions, int64_t offset, int free);
isa_operand isa_chip_ap(isa_space space, num_dtype dtype, int start_partition, int partitions, int64_t offset, int rank,
                        const int64_t *step, const uint32_t *count);
isa_operand isa_hbm(uint32_t slot, num_dtype dtype, int64_t offset, int rank, const int64_t *step, const uint32_t *count);
isa_operand isa_pattern(int64_t base, int64_t channel, int rank, const int64_t *step, const uint32_t *count);
isa_operand isa_plus(isa_operand o, uint8_t reg, int64_t scale_bytes);      // adds a dynamic term

#endif
