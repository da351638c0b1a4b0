// SPDX-License-Identifier: Apache-2.0
// Order after rewriting; see passes.h. Depth first with an explicit stack: graphs are deep.
#include "compile/passes/passes.h"

typedef struct frame { ir_inst *inst; int next; } frame;

void pass_order(ir_computation *c)
{
    enum { NEW = 0, OPEN = 1, DONE = 2 };
    uint8_t *state = glia_alloc(c->insts.count + 1);
    VEC(ir_inst *) order = { 0 };
    VEC(frame) stack = { 0 };
    for (uint32_t k = 0; k < c->insts.count; k++) c->insts.items[k]->id = (int)k;
    for (uint32_t k = 0; k < c->params.count; k++) {
        VEC_PUSH(&order) = c->params.items[k];
        state[c->params.items[k]->id] = DONE;
    }
    // In the old order, so that what need not move does not: every needed instruction, its operands before it.
    uint8_t *needed = glia_alloc(c->insts.count + 1);
    if (state[c->root->id] == NEW) {
        VEC_PUSH(&stack) = (frame){ c->root, 0 };
        needed[c->root->id] = 1;
    }
    while (stack.count) {
        ir_inst *i = stack.items[--stack.count].inst;
        for (int o = 0; o < i->operand_count; o++)
            if (!needed[i->operands[o]->id]) {
                needed[i->operands[o]->id] = 1;
                VEC_PUSH(&stack) = (frame){ i->operands[o], 0 };
            }
    }
    for (uint32_t k = 0; k < c->insts.count; k++) {
        ir_inst *start = c->insts.items[k];
        if (!needed[start->id] || state[start->id] == DONE) continue;
        VEC_PUSH(&stack) = (frame){ start, 0 };
        while (stack.count) {
            frame *f = &stack.items[stack.count - 1];
            if (f->next < f->inst->operand_count) {
                ir_inst *o = f->inst->operands[f->next++];
                if (state[o->id] == NEW) VEC_PUSH(&stack) = (frame){ o, 0 };
                continue;
            }
            if (state[f->inst->id] != DONE) {
                state[f->inst->id] = DONE;
                VEC_PUSH(&order) = f->inst;
            }
            stack.count--;
        }
    }
    c->insts.count = 0;
    for (uint32_t k = 0; k < order.count; k++) {
        order.items[k]->id = (int)k;
        VEC_PUSH(&c->insts) = order.items[k];
    }
    VEC_FREE(&order);
    VEC_FREE(&stack);
    glia_free(state);
    glia_free(needed);
}
