// SPDX-License-Identifier: Apache-2.0
// Rows: all free elements of one partition of an operand, in order, as a flat array. Handlers read whole rows, compute,
// and write whole rows, so an instruction may write where it reads.
#ifndef GLIA_DEV_ROWS_H
#define GLIA_DEV_ROWS_H

#include "dev/machine.h"

static inline float *dev_row(const dev_exec *x, int i) { return x->core->rows + (size_t)i * x->core->row_elements; }
static inline uint32_t *dev_row_words(const dev_exec *x, int i) { return (uint32_t *)dev_row(x, i); }
static inline float dev_canonical(float v) { return v == v ? v : num_f32_of(0x7FC00000u); }

void dev_load_f32(const dev_ap *a, uint32_t p, float *out);         // widened to fp32
void dev_load_bits(const dev_ap *a, uint32_t p, uint32_t *out);     // zero-extended; element size <= 4
void dev_store_bits(const dev_ap *a, uint32_t p, const uint32_t *in);
// Rounded to the operand's dtype, stochastically when the run asks for it. NaN is stored canonical.
void dev_store_f32(const dev_exec *x, const dev_ap *a, uint32_t p, const float *in);
float dev_column_f32(const dev_exec *x, int slot, uint32_t p);      // a COLUMN operand of partition p, or an immediate
uint32_t dev_column_bits(const dev_exec *x, int slot, uint32_t p);
float dev_imm_f32(const isa_operand *o);
uint32_t dev_imm_bits(const isa_operand *o, num_dtype as);          // the immediate as an element of `as`

// Walks an operand's rows run by run: equal steps inside a run. `fn` gets the address, the step in bytes, the count.
typedef struct dev_run { uint8_t *at; int64_t step; uint32_t count; } dev_run;
typedef struct dev_walk { const dev_ap *a; uint8_t *base; uint32_t index[ISA_DIMS]; bool done; } dev_walk;
dev_walk dev_walk_of(const dev_ap *a, uint8_t *base);
bool dev_walk_next(dev_walk *w, dev_run *run);      // false at the end

#endif
