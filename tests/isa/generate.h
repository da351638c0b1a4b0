// SPDX-License-Identifier: Apache-2.0
// Generated tile programs: valid for their chip (isa_verify passes), with semaphores that order everything that must
// be ordered, and no read of what nothing wrote. The same seed gives the same program. For property tests of every
// reader of programs; link tests/isa/generate.c.
#ifndef GLIA_TESTS_ISA_GENERATE_H
#define GLIA_TESTS_ISA_GENERATE_H

#include "hw/hw.h"
#include "isa/isa.h"

typedef struct generate_options {
    uint64_t seed;
    const hw_chip *chip;
    uint32_t core_count;        // 1 or 2
    uint32_t insns;             // about how many in each core, fills and loads included
    bool control;               // loops, branches, calls, registers
    bool constants;             // tensors with embedded data
} generate_options;
generate_options generate_options_of(uint64_t seed, const hw_chip *chip);      // one core, 60 instructions, all of it
// Inputs are "in_f32" f32[128,256], "in_bf16" bf16[128,256], "in_s32" s32[128,256] (any bits are fine); outputs are
// "out0", and "out1" of the second core, f32[64,256] each. Free with isa_program_destroy.
isa_program *generate_program(const generate_options *options);

#endif
