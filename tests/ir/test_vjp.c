// SPDX-License-Identifier: Apache-2.0
// The vjp column: a row without a rule answers UNSUPPORTED with its name and place.
#include "ir/ir_helper.h"
#include "ir/vjp.h"

#define OP(symbol, name, min, max, class, infer, eval, vjp) [IR_##symbol] = ir_vjp_##vjp,
static ir_vjp_fn *const rules[IR_OP_COUNT] = {
#include "ir/ops.def"
};

TEST(vjp, rows_without_a_rule_say_so)
{
    AUTO(ir_module) m = ir_module_create("m");
    ir_builder b = ir_builder_of(ir_computation_create(m, "main"));
    for (int op = 0; op < IR_OP_COUNT; op++) {
        if (rules[op] != ir_vjp_none) continue;
        ir_inst inst = {
            .op = (ir_op)op, .name = "x", .loc = {.file = "f.hlo", .line = 3, .column = 5}, .parent = b.computation};
        char want[96];
        snprintf(want, sizeof want, "f.hlo:3:5: '%s' has no derivative rule", ir_op_name((ir_op)op));
        EXPECT_FAILS(ir_vjp(&b, &inst, NULL, NULL), UNSUPPORTED, want);
    }
}
