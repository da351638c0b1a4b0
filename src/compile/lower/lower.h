// SPDX-License-Identifier: Apache-2.0
// Lowering: from IR computations to tile functions, one per physical core and computation.
//
// A value is a view of a store. A store is an HBM tensor, or rows in SBUF: blocks of `block_rows` rows, each cut into
// tiles of up to 128 partitions, `cols` elements on the free axis. A view maps each logical dim to a step in rows, in
// columns, or (HBM) in elements; reshape, transpose, slice and broadcast only make views. What a view cannot express
// goes through HBM. Elementwise work and reductions ("row ops") are collected and emitted tile by tile, so that
// intermediate tiles die young; everything else flushes them first.
//
// A value that is made by a product and read by a product only (an MLP's hidden layer) is kept in a third store, by
// features: its last dim on partitions, tokens on the free axis, so that no transpose is needed and one token still
// uses all lanes. Products and elementwise ops of that kind are emitted together, 128 or more features at a time.
//
// With two cores every op is emitted for both in lockstep. A tile knows on which cores it is (`owner`); an HBM store
// knows which cores wrote it since the last barrier, and a read by the other core makes a barrier first.
#ifndef GLIA_COMPILE_LOWER_H
#define GLIA_COMPILE_LOWER_H

#include "compile/compile.h"
#include "compile/tile.h"
#include "ir/ir.h"

enum { LOWER_RANK = 8, LOWER_ROWS = ISA_PARTITIONS };
// Columns that a row of an elementwise op may have: of 4 bytes, six live tiles of them fit into SBUF. Longer rows are cut.
enum { LOWER_COLUMNS = 8192 };

typedef enum store_kind { STORE_HBM, STORE_ROWS, STORE_FEATURES } store_kind;

typedef struct store {
    store_kind kind;
    num_dtype dtype;
    // HBM
    uint32_t slot;                  // of the function, the same on each core
    uint64_t elements;
    int parameter;                  // formal number when it is a parameter of the function, else -1
    int packed_block;               // > 0: packed weight layout with this many columns a block (see layout.c)
    uint8_t pending, readers;       // cores that wrote it, that read it, since the last barrier
    bool updated;                   // this function writes it: loads of it must not hold up the loads of weights
    bool constant;                  // of the program: never written
    // ROWS
    int64_t blocks, block_rows, cols;
    int tiles_per_block, tile_count;
    tile_id *tile[ISA_CORES];       // [tile_count]; 0 where the core has none
    struct store *copy;             // HBM copy of a ROWS store, made on demand (the same rows and columns, linear)
    // FEATURES: `block_rows` features in tiles of 128; `pack` tiles side by side in one virtual tile ("group"), each
    // with the tokens [first, first + width) of its core; `cols` tokens in all
    int pack, groups;
    bool split;                     // one tile of tokens on two cores: each makes half of the groups
    int64_t first[ISA_CORES], width[ISA_CORES];
} store;

typedef struct value_dyn {          // HBM: offset += clamp(scalar, 0, max) * scale elements
    const ir_inst *scalar;
    int64_t scale, max;
} value_dyn;
enum { LOWER_DYNS = 2 };            // dynamic terms of one address

typedef struct value {
    store *store;                   // NULL: a constant splat
    num_dtype dtype;                // of the value; an HBM store of another dtype is cast by the DMA that loads it
    double number;                  // of a splat
    int rank;
    int64_t dims[LOWER_RANK];
    int64_t rs[LOWER_RANK];         // ROWS: storage rows per step
    int64_t cs[LOWER_RANK];         // ROWS: columns per step; HBM: elements per step
    int64_t row, col;               // origin
    int dyn_count;
    value_dyn dyn[LOWER_DYNS];
    struct value *elements;         // tuple values
    int element_count;
} value;

typedef struct lower_memo {         // a derived tile: loaded rows, a transposed block, ...
    const store *store;
    uint32_t core;
    int kind;
    int key_count;
    const int64_t *key;             // [key_count] every number that the tile depends on; compared, never hashed
    tile_id tile;
    uint32_t hash, next;            // memo.c: only what finds it fast
} lower_memo;
enum { MEMO_LOAD = 1, MEMO_TRANSPOSED, MEMO_ASSEMBLED, MEMO_IDENTITY, MEMO_WEIGHT };

struct lower_module;
// How a weight parameter lies in HBM: [block][partition][chunk][column], ready for the PE. block 0: row-major.
typedef struct layout_weight { int block, kc, chunks, n_dim; int64_t n, k; } layout_weight;
// Marks the values of a computation that are kept by features.
void layout_features(const struct lower_module *m, const ir_computation *c, bool *feature);
void layout_axes(const layout_weight *w, isa_layout *out);

// Attention as the fuse pass finds it: out = softmax(q k^T + mask) v, rows of probabilities never leave the core.
typedef struct fused_attention {
    const ir_inst *out;             // the second product; everything between is not lowered by itself
    const ir_inst *scores;          // the first product: lhs q, rhs k
    const ir_inst *mask;            // [.., T, S] additive, broadcast over leading dims; NULL if there is none
    const ir_inst *mask_add;        // the add of the mask
    num_dtype p_dtype;              // of the probabilities
    bool divide;                    // probabilities are divided by their sum (always, for now)
} fused_attention;
// What is known of a mask when it is a constant of the program: per block of 128 x 128, over all call sites. Open is 0,
// closed is -inf; a block with both bits has both, or other values.
enum { MASK_BLOCK = 128, MASK_OPEN = 1, MASK_CLOSED = 2 };
typedef struct mask_blocks { int64_t rows, cols; uint8_t *state; } mask_blocks;
void fuse_attention(struct lower_module *m, const ir_computation *c, fused_attention **by_inst, bool *skip);
void fuse_square_sums(const ir_computation *c, bool *skip);
void fuse_masks(struct lower_module *m);

typedef struct lowered {            // a computation's result, shared by its call sites
    const ir_computation *computation;
    uint32_t function;              // index in each core's functions
    uint32_t table, sites, used;    // its binding table: one row per call site
    int result_count;
    int *result_alias;              // [result_count] parameter whose storage the result takes, or -1
    int *result_formal;             // [result_count] formal of the result's own tensor, or -1 when aliased
    bool *overwrites;               // [parameters] it changes the argument's memory
    uint32_t formal_count;
} lowered;

struct lower_module;
typedef struct lower_module {
    ir_module *ir;                  // split_long_rows rewrites it, nothing else does
    const compile_options *options;
    const hw_chip *chip;
    isa_program *program;
    glia_arena *arena;
    uint32_t core_count;
    VEC(lowered *) done;
    VEC(tile_function *) functions[ISA_CORES];      // [0] is the entry
    layout_weight **weights; // [computation id][parameter]: see layout.c
    mask_blocks **masks;            // [computation id][parameter]: state NULL when unknown
} lower_module;

// Is a conversion only a view of memory, which the DMA that loads it casts? One step; what is stored has type `from`.
bool lower_casts_by_dma(const struct lower_module *m, num_dtype from, num_dtype to);

// Cuts rows of more than LOWER_COLUMNS into pieces (split.c). After layout_weights, whose decisions it must not disturb.
GLIA_MUST_USE glia_status split_long_rows(lower_module *m);

// Decides for every parameter of every computation (layout.c); fills m->weights.
void layout_weights(lower_module *m);

typedef struct lower {              // one computation at work
    lower_module *m;
    const ir_computation *computation;
    tile_function *f[ISA_CORES];
    value *values;                  // [insts.count] by inst id
    store **want;                   // [insts.count] the result's own tensor, where an op may write it directly
    VEC(lower_memo) memos;
    VEC(uint32_t) memo_chains;      // [power of two] the first memo of a chain + 1
    VEC(const ir_inst *) pending;   // row ops planned, not emitted
    int64_t pending_blocks, pending_block_rows;     // blocks -1: a group of feature ops, of block_rows features
    const ir_inst *const *group;    // the feature group that is being emitted, [group_count]
    uint32_t group_count;
    bool *feature;                  // [insts.count] kept by features (layout_features)
    fused_attention **attention;    // [insts.count] at the inst that gives the result
    bool *skip;                     // [insts.count] part of a fused pattern
    VEC(store *) shared, seen;      // HBM stores that a core wrote, or read, since the last barrier
    bool *overwrites;               // [parameters] as in `lowered`
    uint8_t next_register[ISA_CORES][ISA_ENGINE_COUNT];
    VEC(lower_memo) registers;      // scalar inst -> register, kind = engine
    int64_t busy[ISA_CORES][ISA_ENGINE_COUNT];      // estimated cycles so far, for balancing copies
    uint32_t load_queue, barriers;
    bool is_entry;
} lower;

// ---- errors ----
#define LOWER_UNSUPPORTED(i, ...) lower_unsupported((i), __FILE__, __LINE__, __VA_ARGS__)
GLIA_MUST_USE glia_status lower_unsupported(const ir_inst *i, const char *file, int line, const char *format, ...)
    GLIA_PRINTF(4, 5);
uint32_t lower_origin(lower *l, const ir_inst *i);

// ---- memos (memo.c) ----
// The tile of this key, or a new empty one. The pointer lives until the next memo is made.
tile_id *lower_memo_find(lower *l, const store *s, uint32_t core, int kind, int key_count, const int64_t *key);
void lower_memo_forget(lower *l, const store *s);       // those of a store; NULL: all
bool lower_same_key(const lower_memo *m, int key_count, const int64_t *key);
const int64_t *lower_keep_key(lower *l, int key_count, const int64_t *key);     // a copy in the compile's arena

// ---- bounds (bounds.c) ----
// Shapes and types of all that is needed of a computation, of its parameters and its results, before it is lowered.
GLIA_MUST_USE glia_status lower_judge(const lower_module *m, const ir_computation *c, const uint8_t *needed);
GLIA_MUST_USE glia_status lower_judge_rows(const lower *l, const ir_inst *i, double rows, double cols);     // before a rows store
GLIA_MUST_USE glia_status lower_judge_work(const ir_inst *i, double instructions);
GLIA_MUST_USE glia_status lower_judge_length(const lower *l, const ir_inst *i);     // of the functions so far, while emitting

// ---- values (value.c) ----
value *lower_value(lower *l, const ir_inst *i);
store *store_hbm(lower *l, const char *name, num_dtype dtype, uint64_t elements);   // a scratch tensor, shared by the cores
store *store_rows(lower *l, num_dtype dtype, int64_t blocks, int64_t block_rows, int64_t cols);
int store_tile_rows(const store *s, int tile);          // partitions of tile i
int64_t store_tile_first(const store *s, int tile);     // its first row
void value_linear(value *v, store *s, const ir_shape *shape);   // row-major view of an HBM store
bool value_is_splat(const value *v);
// A view of a new ROWS store: the first `row_rank` dims walk its rows, the others its columns, both row-major.
void value_in_rows(value *v, store *s, const ir_shape *shape, int row_rank);
bool value_is_linear(const value *v);           // HBM: row-major, without gaps and dynamic terms, as it is stored
// The number of leading dims that walk rows in canonical order over the whole store; -1 if it does not.
int value_row_rank(const value *v);
// Storage rows (ROWS) and columns, or (HBM) element offsets, of the rows [first, first + rows) over the leading dims.
void value_row_offsets(const value *v, int row_rank, int64_t first, int rows, int64_t *row_out, int64_t *col_out);
// One elementwise operand of row tile [first, first + rows) of a result with `dims`, of which `row_rank` lead. Loads
// it when it is in HBM or not addressable in place. `*column` is set when it is one element per partition.
GLIA_MUST_USE glia_status value_operand(lower *l, uint32_t core, const ir_inst *user, const value *v, int row_rank,
                                        int64_t first, int rows, tile_operand *out, bool *column);
// An HBM view of the same elements; copies through a scratch tensor where needed.
GLIA_MUST_USE glia_status value_to_hbm(lower *l, const ir_inst *user, const value *v, value *out);
// Copies a value into a linear HBM store (row-major). Each core writes what it has.
GLIA_MUST_USE glia_status value_store(lower *l, const ir_inst *user, const value *v, store *to, int64_t offset);
// The same with `steps` elements between neighbours along each dim of `v`.
GLIA_MUST_USE glia_status value_store_strided(lower *l, const ir_inst *user, const value *v, store *to, int64_t offset, const int64_t *steps);
// Is row tile `t` of `s` on this core? Otherwise copies it there through HBM and a barrier.
GLIA_MUST_USE glia_status store_need(lower *l, const ir_inst *user, store *s, uint32_t core, int tile);
// Around every access of `core` to memory. A barrier comes before it where the other core has the memory in work: wrote
// what is read or overwritten, or reads what is overwritten. Parts of a new store that cores write once do not conflict.
void lower_read_hbm(lower *l, uint32_t core, store *s);
void lower_wrote_hbm(lower *l, uint32_t core, store *s);
void lower_overwrite_hbm(lower *l, uint32_t core, store *s);    // before a write of what had a value already
bool value_reads(lower *l, const value *v, const store *s);     // also through its copy in HBM, or for its dynamic starts
// Does what is still to be lowered after instruction `id` read `s` through a value that exists already?
bool store_lives(lower *l, int id, const store *s);
static inline bool store_is_static(const store *s) { return s->parameter >= 0 && !s->updated; }
void lower_barrier(lower *l);
// Adds the dynamic terms of `v` to an HBM operand whose DMA `issuer` will issue.
GLIA_MUST_USE glia_status lower_dynamic(lower *l, uint32_t core, isa_engine issuer, const value *v, isa_operand *o);
// DMA from an HBM view: element (p, free...) of a [rows, free] block; `row_off[p]` are element offsets of the rows.
GLIA_MUST_USE glia_status lower_load_rows(lower *l, uint32_t core, const ir_inst *user, const value *v,
                                          const int64_t *row_off, int rows, int free_rank, const int64_t *free_dims,
                                          const int64_t *free_steps, tile_operand dst, bool weight);
int lower_merge_dims(int rank, const int64_t *dims, int64_t *steps, int64_t *out_dims, int64_t *out_steps);
isa_engine lower_copy_engine(lower *l, uint32_t core, int64_t elements, bool psum);
void lower_copy(lower *l, uint32_t core, isa_engine e, uint32_t origin, tile_operand dst, tile_operand src);

// ---- features (features.c) ----
GLIA_MUST_USE glia_status lower_feature_op(lower *l, const ir_inst *i);     // plans; may flush
GLIA_MUST_USE glia_status lower_feature_flush(lower *l);
// Group `g` of `s` on this core, exchanged if the other has it.
GLIA_MUST_USE glia_status feature_need(lower *l, const ir_inst *user, store *s, uint32_t core, int g);
int feature_pack(const store *s, int g);        // tiles in group g
// The part of product `i` that makes group `g`: fills `dst`, a virtual tile of 128 x (tiles of the group x width).
GLIA_MUST_USE glia_status lower_dot_features(lower *l, const ir_inst *i, uint32_t core, int g);
GLIA_MUST_USE glia_status lower_row_features(lower *l, const ir_inst *i, uint32_t core, int g);     // an elementwise op

// With two cores and one tile of rows: is half of `weight_bytes` for each core, and an exchange of the result, faster
// than all of it for both?
bool lower_worth_splitting(const lower *l, double weight_bytes);

// ---- kinds of ops ----
bool lower_is_row_op(const ir_inst *i);
GLIA_MUST_USE glia_status lower_row_op(lower *l, const ir_inst *i);     // rows.c: plans; may flush
GLIA_MUST_USE glia_status lower_flush(lower *l);
GLIA_MUST_USE glia_status lower_view_op(lower *l, const ir_inst *i);    // view.c: reshape, transpose, slice, broadcast, ...
GLIA_MUST_USE glia_status lower_dot(lower *l, const ir_inst *i);        // dot.c
GLIA_MUST_USE glia_status lower_attention(lower *l, const fused_attention *a);      // attention.c
GLIA_MUST_USE glia_status lower_gather(lower *l, const ir_inst *i);     // move.c
GLIA_MUST_USE glia_status lower_dynamic_update(lower *l, const ir_inst *i);
GLIA_MUST_USE glia_status lower_concatenate(lower *l, const ir_inst *i);
GLIA_MUST_USE glia_status lower_iota(lower *l, const ir_inst *i);
GLIA_MUST_USE glia_status lower_constant(lower *l, const ir_inst *i);
GLIA_MUST_USE glia_status lower_call(lower *l, const ir_inst *i);       // lower.c

// The whole module: fills `program` tensors and the tile functions.
GLIA_MUST_USE glia_status lower_run(lower_module *m);

#endif
