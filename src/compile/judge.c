// SPDX-License-Identifier: Apache-2.0
// What no pass should begin with: a graph that calls make longer than any program, tensors that no chip has room for.
// Judged on the graph, in time that follows its text. What single instructions may be is lower/bounds.c's; what else is in
// the HBM of a logical core, and whether there is room beside it, is the runtime's.
#include "compile/backend.h"

#include <inttypes.h>

// Of the graph, calls written out. An 8B model has some 2,000; each makes a few of the program or more, and the passes behind
// lowering walk calls.
enum { EXPANDED_MAX = 1 << 20 };

static uint64_t sum(uint64_t a, uint64_t b)
{
    uint64_t s;
    return __builtin_add_overflow(a, b, &s) ? UINT64_MAX : s;
}

static uint64_t callees_size(const ir_inst *i, const uint64_t *size)
{
    uint64_t n = 0;
    for (int k = 0; k < 2; k++)
        if (i->attrs.computations[k]) n = sum(n, size[i->attrs.computations[k]->id]);
    for (int k = 0; k < i->attrs.branch_count; k++) n = sum(n, size[i->attrs.branches[k]->id]);
    return n;
}

// Callees come before callers in what is read; a builder may have made them in another order, whence the rounds.
static glia_status judge_size(const ir_module *m, uint64_t *size)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t c = 0; c < m->computations.count; c++) {
            const ir_computation *in = m->computations.items[c];
            uint64_t n = 0;
            for (uint32_t k = 0; k < in->insts.count; k++) {
                const ir_inst *i = in->insts.items[k];
                n = sum(n, sum(1, callees_size(i, size)));
                ENSURE(n <= EXPANDED_MAX, EXHAUSTED, "%s:%d:%d: '%s' brings '%s' to %" PRIu64 " instructions with its calls written out; at most %d are compiled\n"
                       "hint: call the computation fewer times, or split the program", i->loc.file, i->loc.line, i->loc.column, i->name, in->name, n, EXPANDED_MAX);
            }
            changed = changed || size[in->id] != n;
            size[in->id] = n;
        }
    }
    return GLIA_OK;
}

typedef struct tensors {
    uint64_t bytes, largest_bytes;
    const ir_inst *largest;
} tensors;

static void count_tensor(tensors *t, const ir_inst *i, const ir_shape *shape)
{
    const uint64_t bytes = ir_shape_bytes(shape);
    t->bytes = sum(t->bytes, bytes);
    if (t->largest && bytes <= t->largest_bytes) return;
    t->largest = i;
    t->largest_bytes = bytes;
}

static bool is_aliased(const ir_module *m, int output)
{
    for (uint32_t k = 0; k < m->aliases.count; k++)
        if (m->aliases.items[k].output_index == output) return true;
    return false;
}

glia_status judge_tensors(const ir_module *m, const hw_chip *chip)
{
    const ir_inst *root = m->entry->root;
    tensors t = { 0 };
    for (uint32_t k = 0; k < m->entry->params.count; k++) count_tensor(&t, m->entry->params.items[k], &m->entry->params.items[k]->shape);
    for (int k = 0; k < (root->shape.is_tuple ? root->shape.tuple_size : 1); k++)
        if (!is_aliased(m, k)) count_tensor(&t, root->op == IR_TUPLE ? root->operands[k] : root, ir_shape_element(&root->shape, k));
    if (!t.largest) return GLIA_OK;
    const double room = hw_value(chip->hbm_bytes);
    ENSURE((double)t.bytes <= room, EXHAUSTED, "%s:%d:%d: inputs and outputs of '%s' take %" PRIu64 " bytes, '%s' alone %" PRIu64 "; %s has %.0f bytes of HBM\n"
           "hint: compile it for parts of the tensors", t.largest->loc.file, t.largest->loc.line, t.largest->loc.column, m->name, t.bytes,
           t.largest->name, t.largest_bytes, chip->target, room);
    return GLIA_OK;
}

glia_status judge_calls(const ir_module *m)
{
    uint64_t *size = glia_alloc(glia_array_bytes(m->computations.count + 1, sizeof *size));
    glia_status s = judge_size(m, size);
    glia_free(size);
    return s;
}
