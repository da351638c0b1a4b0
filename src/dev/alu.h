// SPDX-License-Identifier: Apache-2.0
// What the operators of alu.def and the functions of act.def compute: one element at a time, the reference for the fast
// kernels. fp32 is IEEE with gradual underflow; maximum and minimum are IEEE 754-2019's (NaN wins, +0 > -0), so that
// their reductions do not depend on the order; each operator rounds once.
#ifndef GLIA_DEV_ALU_H
#define GLIA_DEV_ALU_H

#include "isa/isa.h"

typedef enum dev_alu_kind { DEV_ALU_ARITH, DEV_ALU_BITVEC, DEV_ALU_UNARY } dev_alu_kind;
dev_alu_kind dev_alu_kind_of(isa_alu op);
bool dev_alu_compares(isa_alu op);                          // yields 1 or 0
bool dev_alu_reduces(isa_alu op);

float dev_alu_f32(isa_alu op, float a, float b);            // ARITH and UNARY (ignores b)
uint32_t dev_alu_bits(isa_alu op, uint32_t a, uint32_t b, int bits);    // BITVEC on `bits` wide elements
int64_t dev_alu_int(isa_alu op, int64_t a, int64_t b);      // exact: what ARITH means on 32-bit integers; the low 32
                                                            // bits of the result count
bool dev_alu_compare_int(isa_alu op, int64_t a, int64_t b); // compares only
bool dev_alu_has_int(isa_alu op);                           // dev_alu_int is defined
float dev_power(float x, float y);
float dev_act(isa_act f, float x);

#endif
