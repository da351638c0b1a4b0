// SPDX-License-Identifier: Apache-2.0
// Collectives: in the program's format, not executed yet. Each answers with its name and its replica group.
#include "dev/machine.h"

static glia_status refuse(const dev_exec *x)
{
    const isa_row *row = isa_row_get((isa_op)x->insn->op);
    return GLIA_FAIL(UNSUPPORTED, "core %u, '%s' instruction %u: '%s' over replica group %lld: collectives are not "
                     "executed yet\nhint: compile for one logical core", x->core_index, x->f->name, x->pc, row->name,
                     (long long)x->operand[2].offset);
}

glia_status dev_exec_cc_all_reduce(dev_exec *x) { return refuse(x); }
glia_status dev_exec_cc_all_gather(dev_exec *x) { return refuse(x); }
glia_status dev_exec_cc_reduce_scatter(dev_exec *x) { return refuse(x); }
glia_status dev_exec_cc_all_to_all(dev_exec *x) { return refuse(x); }
glia_status dev_exec_cc_permute(dev_exec *x) { return refuse(x); }
