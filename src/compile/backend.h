// SPDX-License-Identifier: Apache-2.0
// From tile functions to the program: addresses, semaphores, emission.
#ifndef GLIA_COMPILE_BACKEND_H
#define GLIA_COMPILE_BACKEND_H

#include "compile/lower/lower.h"

// EXHAUSTED, with place and both values: more instructions than a program has, inputs and outputs larger than a chip's HBM.
GLIA_MUST_USE glia_status judge_calls(const ir_module *m);
GLIA_MUST_USE glia_status judge_tensors(const ir_module *m, const hw_chip *chip);
// Gives every tile of `f` an address; spills to HBM what does not fit, the tile with the farthest next use first.
// EXHAUSTED when one instruction's operands alone exceed SBUF.
GLIA_MUST_USE glia_status place_run(lower_module *m, tile_function *f);
// Makes the isa functions of every core from the placed tile functions (no semaphores yet).
void emit_run(lower_module *m);
// Adds waits and updates to the program, so that every dependency between lanes holds.
GLIA_MUST_USE glia_status sync_run(isa_program *p);

#endif
