// SPDX-License-Identifier: Apache-2.0
// Auto-cast: what `--auto-cast matmult` and `all` do. Products keep their result type: sums stay in fp32. With `all`,
// elementwise work is left in fp32 too, since the engines compute in fp32 and casts are free; only what is stored
// between them would change, which this compiler does not store.
#include "compile/passes/passes.h"

#include <string.h>

// One cast for each value, whoever reads it: `casts` is by the value's index.
static ir_inst *cast_operand(ir_builder *b, ir_inst *x, num_dtype to, ir_inst **casts)
{
    if (x->shape.dtype != NUM_F32 || to == NUM_F32) return x;
    if (!casts[x->id]) casts[x->id] = ir_convert(b, x, to);
    return casts[x->id];
}

glia_status pass_auto_cast(ir_module *m, const compile_options *o)
{
    if (o->auto_cast == COMPILE_CAST_NONE) return GLIA_OK;
    for (uint32_t k = 0; k < m->computations.count; k++) {
        ir_computation *c = m->computations.items[k];
        const uint32_t count = c->insts.count;
        ir_builder b = ir_builder_of(c);
        ir_inst **casts = glia_alloc((count + 1) * sizeof *casts);
        for (uint32_t i = 0; i < count; i++) {
            ir_inst *d = c->insts.items[i];
            if (d->op != IR_DOT || d->operands[0]->shape.dtype != NUM_F32 || d->operands[1]->shape.dtype != NUM_F32) continue;
            b.loc = d->loc;
            d->operands[0] = cast_operand(&b, d->operands[0], o->auto_cast_type, casts);
            d->operands[1] = cast_operand(&b, d->operands[1], o->auto_cast_type, casts);
        }
        glia_free(casts);
        TRY(ir_builder_finish(&b, c->root));
        pass_order(c);
    }
    return GLIA_OK;
}
