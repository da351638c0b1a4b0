// SPDX-License-Identifier: Apache-2.0
// Tile functions: instructions over virtual tiles, between lowering and emission.
//
// A virtual tile is a block of SBUF or PSUM with partitions and bytes but no address yet; operands name a tile and an
// offset inside it. `place` gives addresses (and spills), `sync` adds semaphores, `emit` makes the isa_function.
// Instructions are in program order, which is the meaning.
#ifndef GLIA_COMPILE_TILE_H
#define GLIA_COMPILE_TILE_H

#include "isa/build.h"
#include "isa/isa.h"

typedef uint32_t tile_id;                   // 0 = none

typedef struct vtile {
    uint8_t space;                          // ISA_SBUF or ISA_PSUM
    uint8_t partitions;
    uint32_t bytes;                         // per partition
    int64_t address;                        // byte offset in each partition, after `place`
} vtile;

typedef struct tile_operand { isa_operand o; tile_id tile; } tile_operand;

enum { TILE_OPERANDS = 6 };
typedef struct tile_insn {
    uint8_t op, engine, queue, operand_count;
    uint8_t engines;                        // control: participants
    uint8_t attr[ISA_ATTRS];
    uint32_t origin;
    tile_operand operands[TILE_OPERANDS];
} tile_insn;

typedef struct tile_function {              // one function of one physical core
    const char *name;
    uint32_t core;
    VEC(vtile) tiles;                        // [0] unused
    VEC(tile_insn) insns;
    VEC(isa_slot) slots;
    uint32_t formal_count;
} tile_function;

void tile_function_init(tile_function *f, const char *name, uint32_t core);
void tile_function_fini(tile_function *f);
tile_id tile_new(tile_function *f, isa_space space, int partitions, uint64_t bytes);

// Operands over tiles. `offset` is in bytes inside the tile's partition range.
tile_operand tile_view(const tile_function *f, tile_id t, num_dtype dtype, int partitions, int64_t offset, int free);
tile_operand tile_view_ap(const tile_function *f, tile_id t, num_dtype dtype, int partitions, int64_t offset, int rank,
                          const int64_t *step, const uint32_t *count);
static inline tile_operand tile_plain(isa_operand o) { return (tile_operand){ o, 0 }; }

tile_insn *tile_emit(tile_function *f, isa_op op, isa_engine e, uint32_t origin, int operand_count,
                     const tile_operand *operands, int attr_count, const uint8_t *attrs);
tile_insn *tile_emit_dma(tile_function *f, isa_op op, isa_engine issuer, int queue, uint32_t origin, tile_operand dst,
                         tile_operand src, isa_dge dge);

#endif
