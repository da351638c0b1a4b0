// SPDX-License-Identifier: Apache-2.0
// The table of reverse-mode rules, expanded from the `vjp` column, and the rule of ops that have none.
// A row whose ir_vjp_<name> is missing is a link error that names it.
#include "ir/vjp.h"

#include "ir/module.h"

#define OP(symbol, name, min, max, class, infer, eval, vjp_name) [IR_##symbol] = ir_vjp_##vjp_name,
static ir_vjp_fn *const vjp_table[IR_OP_COUNT] = {
#include "ir/ops.def"
};

glia_status ir_vjp_none(ir_builder *b, const ir_inst *inst, ir_inst *cotangent, ir_inst **out)
{
    AUTO_VALUE(glia_strbuf) place = {0};
    ir_loc_print(&place, &inst->loc, inst->parent, inst->name);
    return GLIA_FAIL(UNSUPPORTED, "%s: '%s' has no derivative rule; rules are the vjp column of ir/ops.def",
                     glia_strbuf_str(&place), ir_op_name(inst->op));
}

glia_status ir_vjp(ir_builder *b, const ir_inst *inst, ir_inst *cotangent, ir_inst **out)
{
    BUG_ON((unsigned)inst->op >= IR_OP_COUNT);
    return vjp_table[inst->op](b, inst, cotangent, out);
}
