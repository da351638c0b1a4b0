// SPDX-License-Identifier: Apache-2.0
// What a program can hold, judged before anything is emitted: sizes that no access pattern counts, types that the chip
// lacks, rows that no partition takes, and more instructions than a program should have. Every refusal names the
// instruction of the IR and both values; past these checks a size fits the field that it goes into.
#include "compile/lower/lower.h"

#include <inttypes.h>

// A function of this many instructions takes seconds to compile; the largest of a known model has some ten thousand.
enum { INSTRUCTIONS_MAX = 1 << 19 };

static const char *dtype_name(num_dtype t)
{
    return num_dtype_get(t)->name;
}

static bool computes(const ir_inst *i)
{
    return (lower_is_row_op(i) && i->op != IR_CONCATENATE) || i->op == IR_DOT || i->op == IR_GATHER;
}

static glia_status judge_type(const lower_module *m, const ir_inst *i, num_dtype t)
{
    if (hw_chip_has_dtype(m->chip, dtype_name(t))) return GLIA_OK;
    return LOWER_UNSUPPORTED(i, "computes in %s, which %s lacks; convert it before", dtype_name(t), m->chip->target);
}

static glia_status judge_inst(const lower_module *m, const ir_inst *i)
{
    if (i->shape.is_tuple) return GLIA_OK;
    if (i->shape.rank > LOWER_RANK) return LOWER_UNSUPPORTED(i, "has rank %d; at most %d is lowered", i->shape.rank, LOWER_RANK);
    if (num_bits(i->shape.dtype) < 8)
        return LOWER_UNSUPPORTED(i, "has type %s of %d bits; memory is addressed by bytes, use s8 or u8", dtype_name(i->shape.dtype),
                                 num_bits(i->shape.dtype));
    for (int d = 0; d < i->shape.rank; d++)
        if (i->shape.dims[d] > UINT32_MAX)
            return LOWER_UNSUPPORTED(i, "has dimension %d of %" PRId64 "; an access pattern counts to %" PRIu32 ", split the dimension in two", d,
                                     i->shape.dims[d], UINT32_MAX);
    if (!computes(i)) return GLIA_OK;
    TRY(judge_type(m, i, i->shape.dtype));
    for (int k = 0; k < i->operand_count; k++)
        if (!i->operands[k]->shape.is_tuple) TRY(judge_type(m, i, i->operands[k]->shape.dtype));
    return GLIA_OK;
}

// Parameters and results are tensors of the runtime.
static glia_status judge_parameters(const ir_computation *c)
{
    for (uint32_t k = 0; k < c->params.count; k++) {
        const ir_inst *i = c->params.items[k];
        if (i->shape.is_tuple) return LOWER_UNSUPPORTED(i, "is a tuple parameter; pass its elements as parameters");
        if (ir_shape_elements(&i->shape) == 0) return LOWER_UNSUPPORTED(i, "has no elements; a tensor has at least one byte, drop the parameter");
    }
    return GLIA_OK;
}

static glia_status judge_results(const ir_computation *c)
{
    const ir_inst *root = c->root;
    for (int k = 0; k < (root->shape.is_tuple ? root->shape.tuple_size : 1); k++) {
        const ir_shape *shape = ir_shape_element(&root->shape, k);
        const ir_inst *at = root->op == IR_TUPLE ? root->operands[k] : root;
        if (shape->is_tuple) return LOWER_UNSUPPORTED(at, "returns a tuple inside a tuple; return its elements");
        if (ir_shape_elements(shape) == 0) return LOWER_UNSUPPORTED(at, "returns no elements; a tensor has at least one byte, drop the result");
    }
    return GLIA_OK;
}

glia_status lower_judge(const lower_module *m, const ir_computation *c, const uint8_t *needed)
{
    TRY(judge_parameters(c));
    for (uint32_t k = 0; k < c->insts.count; k++)
        if (needed[c->insts.items[k]->id] || c->insts.items[k]->op == IR_PARAMETER) TRY(judge_inst(m, c->insts.items[k]));
    return judge_results(c);
}

glia_status lower_judge_rows(const lower *l, const ir_inst *i, double rows, double cols)
{
    const double bytes = cols * num_size(i->shape.dtype), room = (double)hw_int(l->m->chip->sbuf_usable_bytes);
    if (bytes > room)
        return LOWER_UNSUPPORTED(i, "makes rows of %.0f elements, %.0f bytes; a partition of SBUF has %.0f, so that %.0f fit: split the last dimension",
                                 cols, bytes, room, room / num_size(i->shape.dtype));
    return lower_judge_work(i, rows / LOWER_ROWS);
}

glia_status lower_judge_work(const ir_inst *i, double instructions)
{
    if (instructions > INSTRUCTIONS_MAX)
        return LOWER_UNSUPPORTED(i, "takes %.0f instructions or more; a function has at most %d: use smaller dimensions, or several programs", instructions,
                                 INSTRUCTIONS_MAX);
    return GLIA_OK;
}

glia_status lower_judge_length(const lower *l, const ir_inst *i)
{
    for (uint32_t c = 0; c < l->m->core_count; c++) TRY(lower_judge_work(i, l->f[c]->insns.count));
    return GLIA_OK;
}
