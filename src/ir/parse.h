// SPDX-License-Identifier: Apache-2.0
// The state that the parts of the HLO text parser share.
//
// Convention: a parse_* function returns false after it has reported what was wrong, with its place; the caller then
// gives up on the same construct and recovers at the next instruction. Nothing recurses over input.
#ifndef GLIA_IR_PARSE_H
#define GLIA_IR_PARSE_H

#include "ir/lex.h"
#include "ir/module.h"
#include "ir/problems.h"
#include "ir/strmap.h"

enum {
    PARSE_LIST_LIMIT = 1 << 20, // items of one list (operands, tuple elements, dims of an attribute)
};

// What a name in the text stands for.
typedef struct parse_value {
    ir_inst *inst;            // NULL: the definition was in error and its shape is unknown
    const ir_shape *declared; // the shape as written, with its layout; NULL if unknown
} parse_value;

typedef struct parse_callee {
    ir_computation *computation;
    bool broken; // its text was in error: calls of it are not judged
    int depth;   // computations below it
} parse_callee;

typedef struct parse_frame_location {
    int file, line;
} parse_frame_location;

typedef struct parse_frames { // tables of framework source lines (parse_frames.c); ids count from 1
    VEC(const char *) files;
    VEC(parse_frame_location) locations;
    VEC(int) frames; // location of a frame
} parse_frames;

typedef struct parse {
    ir_lex lex;
    const char *path;
    ir_module *module;
    ir_problems problems;
    ir_strmap callees; // computation name -> parse_callee
    ir_strmap values;  // instruction name -> parse_value, of the computation that is being read
    parse_frames frames;
    // of the module line
    bool has_layout; // entry_computation_layout was given
    const ir_shape *layout_params, *layout_result;
    int layout_param_count;
    const char *layout_at;
    const char *alias_at; // where input_output_alias was
    bool entry_marked;    // by ENTRY
    // of the computation that is being read
    ir_computation *computation;
    bool broken;
    int depth;                     // calls below it
    bool calls_broken;             // of the instruction that is being read: a callee was in error
    const ir_shape *root_declared; // with its layout
    bool root_marked;              // by ROOT
} parse;

// Reports a problem at `where` and returns false.
bool parse_fail(parse *p, const char *where, glia_status problem);
#define PARSE_FAIL(p, where, code, ...) parse_fail((p), (where), GLIA_FAIL(code, __VA_ARGS__))
const char *parse_found(parse *p);                      // what is next, in quotes, for messages
bool parse_expect(parse *p, char c, const char *after); // "expected ')' after ..., found '...'"

// parse_shape.c. Layouts are kept; the shape passes ir_shape_check.
bool parse_shape(parse *p, ir_shape *out);
bool parse_at_shape(parse *p); // is a shape next, rather than a name?
// parse_literal.c: the inside of constant(...), up to the ')'.
bool parse_literal(parse *p, const ir_shape *shape, ir_literal *out);
// parse_frames.c
bool parse_frame_tables(parse *p);
void parse_frames_fini(parse_frames *f);
const char *parse_frame_source(parse *p, int64_t frame); // "file:line", or NULL
// parse_attr.c: ", key=value" until the end of the instruction. `extra` receives what has no row in attrs.def.
typedef struct parse_extra {
    const char *op_name, *source_file; // of metadata
    int64_t source_line, stack_frame;
    ir_text window; // of reduce-window; size 0: none
} parse_extra;
// `op` decides which keys have meaning; IR_OP_COUNT for an opcode that is not in the table: then `opcode` does.
bool parse_attributes(parse *p, ir_op op, ir_text opcode, const char *where, ir_attrs *attrs, parse_extra *extra);
bool parse_int_list(parse *p, ir_dims *out); // {0,2}
// parse_ignored.c: skips the value of `key`, which stands at `where`, of an opcode, or of "module" or "computation", and
// reports it unless ignored.def says that it may be ignored. False where the value does not end.
bool parse_ignored(parse *p, const char *where, ir_text of, ir_text key);
bool parse_callee_name(parse *p, ir_computation **out);
// parse_inst.c: one instruction; never fails (problems are reported and recovered from).
void parse_instruction(parse *p);
// parse_normal.c: opcodes that are written in terms of the table's.
typedef struct parse_written { // an instruction as written
    const char *where;         // of its name
    ir_text opcode;
    const ir_shape *declared; // with layout
    const ir_shape *shape;    // without
    int operand_count;
    ir_inst **operands;
    const ir_shape **operand_layouts; // the operands' declared shapes; an item is NULL if row-major
    ir_attrs attrs;
    parse_extra extra;
    bool complete; // read to its end, whether or not it makes sense
} parse_written;
bool parse_is_normalised(ir_text opcode);
// Appends the instructions that `w` means; NULL after a problem (then b->error is set).
ir_inst *parse_normalise(parse *p, ir_builder *b, const parse_written *w);

#endif
