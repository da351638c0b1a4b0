// SPDX-License-Identifier: Apache-2.0
// Waist 2: the tile program. What a NEFF holds, what `dev` executes, `sim` times, and the verifiers judge.
//
// A program has, per physical core, functions of program-ordered instructions. *Program order is the meaning*: dev
// executes the list in that order. Each engine's stream is the subsequence with its tag; sim runs the streams
// concurrently, held back only by semaphores, queues and ports.
//
// Memory spaces: HBM tensors are byte arrays in device layout; SBUF is 128 partitions of sbuf_partition_bytes, PSUM
// 128 partitions of 16 KiB in 8 banks of 2 KiB; registers are 64 x int32 per engine.
//
// A program is plain data, built once (isa/build.h), read-only afterwards, then usable from any thread.
#ifndef GLIA_ISA_ISA_H
#define GLIA_ISA_ISA_H

#include "base/arena.h"
#include "base/span.h"
#include "base/strbuf.h"
#include "num/dtype.h"

typedef enum isa_engine { ISA_PE, ISA_ACT, ISA_DVE, ISA_POOL, ISA_SP, ISA_ENGINE_COUNT } isa_engine;
enum {
    ISA_QUEUES = 16,                // DMA rings of a core
    ISA_LANES = ISA_ENGINE_COUNT + ISA_QUEUES,      // lane = engine, or ISA_ENGINE_COUNT + queue for a DMA's data
    ISA_SEMAPHORES = 256,
    ISA_REGISTERS = 64,
    ISA_DIMS = 5,
    ISA_ATTRS = 8,
    ISA_OPERANDS = 20,              // the most operands of one instruction (dma_compute needs 17)
    ISA_TERMS = 2,
    ISA_CORES = 2,                  // physical cores of a logical core
    ISA_PARTITIONS = 128,
    ISA_PSUM_BANKS = 8,
    ISA_PSUM_BANK_BYTES = 2048,
    ISA_NO_QUEUE = 0xff
};

typedef enum isa_op {
#define INSN(name, engines, format, cost, gen, hard, fact) ISA_##name,
#include "isa/isa.def"
    ISA_OP_COUNT
} isa_op;
typedef enum isa_alu {
#define ALU(symbol, name, kind, flags) ISA_ALU_##symbol,
#include "isa/alu.def"
    ISA_ALU_COUNT
} isa_alu;
typedef enum isa_act {
#define ACT(symbol, name) ISA_ACT_##symbol,
#include "isa/act.def"
    ISA_ACT_COUNT
} isa_act;
typedef enum isa_reduce_cmd { ISA_REDUCE_IDLE, ISA_REDUCE_RESET, ISA_REDUCE_REDUCE, ISA_REDUCE_RESET_REDUCE,
                              ISA_REDUCE_LOAD_REDUCE, ISA_REDUCE_CMD_COUNT } isa_reduce_cmd;
typedef enum isa_perf { ISA_PERF_NONE, ISA_PERF_DOUBLE_ROW, ISA_PERF_COUNT } isa_perf;
typedef enum isa_dge { ISA_DGE_NONE, ISA_DGE_SWDGE, ISA_DGE_HWDGE, ISA_DGE_COUNT } isa_dge;  // who builds descriptors
typedef enum isa_oob { ISA_OOB_ERROR, ISA_OOB_SKIP, ISA_OOB_COUNT } isa_oob;
typedef enum isa_hard { ISA_HARD, ISA_CONTROL, ISA_CC, ISA_SOFT } isa_hard;

// Where an operand lives. Values are bits so that a format can allow several.
typedef enum isa_space { ISA_SPACE_NONE = 0, ISA_HBM = 1, ISA_SBUF = 2, ISA_PSUM = 4, ISA_REG = 8, ISA_IMM = 16,
                         ISA_PATTERN = 32 } isa_space;
typedef enum isa_access { ISA_READ = 1, ISA_WRITE = 2, ISA_RW = 3 } isa_access;

// A dynamic part of an address: bytes += register[reg] * scale, the register of the executing engine. Loop variables
// are registers, so "affine in loop variables" and "at a register" are the same thing.
typedef struct isa_term { int64_t scale; uint8_t reg; } isa_term;

// One operand: an access pattern. On chip, element (p, i0..in) of `partitions` x counts lives in partition
// start_partition + p at byte offset + sum(step[k] * i[k]) * size(dtype) + terms. In HBM the same without partitions;
// a DMA matches the two sides element by element in row-major order of (partitions, counts). rank 0 = one element.
typedef struct isa_operand {
    uint8_t space;                  // isa_space
    uint8_t dtype;                  // num_dtype
    uint8_t rank;                   // dims used
    uint8_t term_count;
    uint8_t start_partition;        // on chip
    uint8_t partitions;             // on chip, 1..128; 0 in HBM
    uint8_t packing;                // 0 = plain elements; MX, x4 containers and block formats number theirs from 1
    uint8_t indirect;               // 0 = direct; 1 = the outermost HBM dim comes from the index operand (dma_gather,
                                    // dma_scatter); 2 = free-dim indirection of gen 4
    uint16_t tensor;                // HBM: slot of the function; REG: the register; otherwise 0
    int64_t offset;                 // bytes; IMM: the value's bits (f32 bits for floats, the integer otherwise);
                                    // PATTERN: the base value
    int64_t step[ISA_DIMS];         // elements, outermost first; PATTERN: value steps
    uint32_t count[ISA_DIMS];
    int64_t channel;                // PATTERN: value step per partition; otherwise 0
    isa_term terms[ISA_TERMS];
} isa_operand;

// Semaphores: 32-bit counters of the core, zero at launch. A relative value counts from the base of the enclosing
// frame: the number that the semaphore would have, in program order, when that frame (the function's call, or the
// loop's current iteration) is entered. It may be zero or negative: then it names an increment before the frame.
typedef struct isa_wait { uint16_t sem; uint8_t relative; int32_t value; } isa_wait;    // until sem >= value
typedef struct isa_update { uint16_t sem; int32_t value; } isa_update;                  // sem += value on completion

typedef struct isa_insn {
    uint8_t op;                     // isa_op
    uint8_t engine;                 // isa_engine: who executes it, or issues the DMA
    uint8_t queue;                  // DMA ring, ISA_NO_QUEUE otherwise
    uint8_t engines;                // control (for, while, if, call): bit mask of engines that take part
    uint8_t operand_count, wait_count, update_count;
    uint8_t priority;               // DMA class of gen 4, 0 otherwise
    uint8_t attr[ISA_ATTRS];        // by the format's ATTR rows
    uint32_t operand, wait, update; // first index in the function's arrays
    uint32_t origin;                // index in the program's origins
} isa_insn;

// A tensor as a function sees it: one of the program's, or a formal that `call` binds.
typedef enum isa_slot_kind { ISA_SLOT_GLOBAL, ISA_SLOT_FORMAL } isa_slot_kind;
typedef struct isa_slot {
    const char *name;
    uint8_t kind;                   // isa_slot_kind
    uint8_t access;                 // formals: isa_access that the body makes
    uint32_t index;                 // program tensor, or formal number
    uint64_t bytes;                 // formals: how many bytes the body may touch
} isa_slot;

typedef struct isa_function {
    const char *name;
    VEC(isa_insn) insns;
    VEC(isa_operand) operands;
    VEC(isa_wait) waits;
    VEC(isa_update) updates;
    VEC(isa_slot) slots;
    uint32_t formal_count;
} isa_function;

// A binding table: rows x formals of (slot of the caller, byte offset).
typedef struct isa_binding { uint32_t slot; uint64_t offset; } isa_binding;
typedef struct isa_table {
    uint32_t rows, formals;
    isa_binding *items;             // [rows][formals]
} isa_table;

typedef struct isa_core {           // the program of one physical core; functions.items[0] is the entry
    VEC(isa_function *) functions;
    VEC(isa_table) tables;
    uint64_t sbuf_used, psum_used;  // highest byte per partition + 1
} isa_core;

// The HBM layout of a tensor: device order iterates axes outermost first; axis k walks logical dim `dim` in steps of
// `step`, `count` times. A logical index at or past the dim is padding (zero). No axes = plain row-major.
typedef struct isa_axis { uint32_t step, count; uint8_t dim; } isa_axis;
enum { ISA_AXES = 8, ISA_RANK = 8 };
typedef struct isa_layout { uint8_t axis_count; isa_axis axes[ISA_AXES]; } isa_layout;

typedef enum isa_tensor_kind { ISA_TENSOR_INPUT, ISA_TENSOR_OUTPUT, ISA_TENSOR_CONST, ISA_TENSOR_SCRATCH,
                               ISA_TENSOR_KIND_COUNT } isa_tensor_kind;
typedef struct isa_tensor {
    const char *name;
    uint8_t kind;                   // isa_tensor_kind
    uint8_t dtype;
    uint8_t rank;
    uint8_t weight;                 // input that keeps its value over many executions (for accounting and packing)
    int64_t dims[ISA_RANK];         // logical, row-major to whoever reads the nrt tensor
    isa_layout layout;
    uint64_t bytes;                 // in device layout
    int32_t alias;                  // OUTPUT: the input tensor whose storage it reuses, or -1
    int32_t core;                   // SCRATCH: the physical core it belongs to, or -1 when shared by both
    glia_span data;                 // CONST: its bytes (borrowed from the arena or the mapped file)
} isa_tensor;

typedef struct isa_origin { const char *op, *where; } isa_origin;       // "%dot.3" / "layer.hlo.txt:14"

typedef struct isa_group { uint32_t count; const uint32_t *ranks; } isa_group;

typedef struct isa_program {
    glia_arena *arena;              // owned; strings, layouts, tables, constants
    const char *name;
    const char *target;             // chip target name of hw: "trn1", "inf2", "trn2", "trn3"
    uint32_t core_count;            // 1 or 2 (LNC)
    isa_core cores[ISA_CORES];
    VEC(isa_tensor) tensors;
    VEC(isa_origin) origins;        // [0] is the empty origin
    VEC(isa_group) groups;          // replica groups of CC instructions
    VEC(const char *) assumptions;  // stated by the compiler, e.g. an expected trip count
} isa_program;

isa_program *isa_program_create(const char *name, const char *target, uint32_t core_count);
void isa_program_destroy(isa_program *p);           // NULL is fine
DEFINE_CLEANUP(isa_program, isa_program_destroy)

// ---- row access ----
typedef struct isa_format_operand { const char *name; uint8_t access, spaces, optional, rule; } isa_format_operand;
typedef enum isa_rule { ISA_RULE_FULL, ISA_RULE_COLUMN, ISA_RULE_EIGHT, ISA_RULE_ONE, ISA_RULE_ANY } isa_rule;
typedef enum isa_attr_kind { ISA_ATTR_BOOL, ISA_ATTR_U8, ISA_ATTR_ALU, ISA_ATTR_ACT, ISA_ATTR_REDUCE_CMD,
                             ISA_ATTR_PERF, ISA_ATTR_DGE, ISA_ATTR_OOB } isa_attr_kind;
typedef struct isa_format_attr { const char *name; uint8_t kind; } isa_format_attr;
typedef struct isa_row {
    const char *name, *fact, *format;
    uint8_t engines;                // bit mask
    uint8_t gen, hard;
    uint8_t operand_count, attr_count;
    const isa_format_operand *operands;
    const isa_format_attr *attrs;
} isa_row;
const isa_row *isa_row_get(isa_op op);              // never NULL for a valid op
bool isa_op_find(const char *name, size_t size, isa_op *out);
static inline bool isa_is_dma(isa_op op) { return op >= ISA_dma_copy && op <= ISA_dma_scatter; }
static inline bool isa_is_control(isa_op op) { return op >= ISA_for && op <= ISA_call; }
const char *isa_engine_name(isa_engine e);          // "PE" ...
const char *isa_alu_name(isa_alu a);
const char *isa_act_name(isa_act a);
// Of alu.def. Bit-wise operators work on raw integers, unary ones ignore their operand.
bool isa_alu_is_bitvec(isa_alu a);
bool isa_alu_is_unary(isa_alu a);
bool isa_alu_is_compare(isa_alu a);
bool isa_alu_can_reduce(isa_alu a);
bool isa_alu_is_pool_only(isa_alu a);
// Values of an attribute kind, by their names in text: "add", "exp", "reset_reduce", "hwdge", "skip". BOOL and U8 have none.
uint32_t isa_attr_value_count(isa_attr_kind kind);      // 2 for BOOL, 256 for U8
const char *isa_attr_value_name(isa_attr_kind kind, uint8_t value);     // NULL for BOOL, U8 or out of range
bool isa_attr_value_find(isa_attr_kind kind, const char *name, size_t size, uint8_t *out);

// ---- operands ----
static inline const isa_operand *isa_operand_of(const isa_function *f, const isa_insn *i, int slot)
{
    return &f->operands.items[i->operand + (uint32_t)slot];
}
uint64_t isa_operand_free(const isa_operand *o);    // elements per partition (on chip) or in all (HBM)
uint64_t isa_operand_elements(const isa_operand *o);    // partitions x free on chip
bool isa_operand_has(const isa_function *f, const isa_insn *i, int slot);   // the slot exists and is not NONE
// The access that instruction i makes to its operand, attributes considered (matmul's dst is RW when it accumulates).
isa_access isa_operand_access(const isa_insn *i, int slot);
// Bytes touched without the dynamic terms, as [*lo, *hi) inside the partition or the tensor; false if empty.
bool isa_operand_range(const isa_operand *o, int64_t *lo, int64_t *hi);

// Which fields of an operand mean something, by its space; the others are 0. Encoders, printers and parsers go by it.
typedef enum isa_field { ISA_FIELD_PARTITIONS = 1, ISA_FIELD_TENSOR = 2, ISA_FIELD_OFFSET = 4, ISA_FIELD_DIMS = 8,
                         ISA_FIELD_CHANNEL = 16, ISA_FIELD_TERMS = 32, ISA_FIELD_PACKING = 64 } isa_field;
unsigned isa_operand_fields(uint8_t space);         // 0 for NONE and for what is no space

// ---- layouts ----
// Every dim's axes are the digits of its index (the finest steps by 1, each further one by the product of those below)
// and reach its end, so that each element has exactly one place. The functions below need this.
bool isa_layout_valid(const isa_layout *l, int rank, const int64_t *dims);
uint64_t isa_layout_elements(const isa_layout *l, int rank, const int64_t *dims);   // with padding
// Copies between row-major and device order. `size` is the element's bytes. Padding is written as zero.
void isa_layout_pack(const isa_layout *l, int rank, const int64_t *dims, int size, void *device, const void *plain);
void isa_layout_unpack(const isa_layout *l, int rank, const int64_t *dims, int size, void *plain, const void *device);

#endif
