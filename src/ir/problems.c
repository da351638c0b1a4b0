// SPDX-License-Identifier: Apache-2.0
// Problems are appended in the order in which they are found; whoever looks must look in source order.
#include "ir/problems.h"

#include "ir/module.h"

void ir_problems_add(ir_problems *p, const char *place, glia_status problem)
{
    if (p->count < IR_PROBLEM_LIMIT)
        glia_putf(&p->text, "%s%s%s%s", p->count ? "\n" : "", place ? place : "", place ? ": " : "",
                  glia_status_message(problem));
    glia_code code = glia_status_code(problem);
    p->code = p->count == 0 || p->code == code ? code : GLIA_CODE_INVALID;
    p->count++;
    glia_status_destroy(problem);
}

bool ir_problems_full(const ir_problems *p)
{
    return p->count >= IR_PROBLEM_LIMIT;
}

glia_status ir_problems_finish(ir_problems *p)
{
    if (p->count && ir_problems_full(p)) glia_putf(&p->text, "\nstopped after %d problems", IR_PROBLEM_LIMIT);
    glia_status report =
        p->count ? glia_status_make(p->code, __FILE__, __LINE__, "%s", glia_strbuf_str(&p->text)) : GLIA_OK;
    glia_strbuf_fini(&p->text);
    *p = (ir_problems){0};
    return report;
}
