// SPDX-License-Identifier: Apache-2.0
// The walk of the verifier: every rule of rules.def over every object of its scope, up to twenty violations in program
// order. What each rule asks is in verify_*.c; a rule without a function is a link error that names it.
#include "isa/judge.h"

#include <stdarg.h>
#include <stdio.h>

typedef enum rule_stage { STRUCTURE, HARDWARE } rule_stage;
typedef enum rule_scope { PROGRAM, TENSOR, INSN_SCOPE, OPERAND_SCOPE, FUNCTION } rule_scope;
#define INSN INSN_SCOPE // rules.def says INSN and OPERAND; isa.def and formats.def use the words as macros
#define OPERAND OPERAND_SCOPE

typedef struct rule_row {
    rule_stage stage;
    rule_scope scope;
    void (*check)(isa_judge *j);
} rule_row;

#define RULE(name, stage, scope, first, last, fact, text) {stage, scope, isa_rule_##name},
static const rule_row rows[ISA_RULE_ID_COUNT] = {
#include "isa/rules.def"
};
#undef INSN
#undef OPERAND

#define RULE(name, stage, scope, first, last, fact, text) {#name, fact, text, stage == STRUCTURE, first, last},
static const isa_rule_row public_rows[ISA_RULE_ID_COUNT] = {
#include "isa/rules.def"
};

uint32_t isa_rule_count(void)
{
    return ISA_RULE_ID_COUNT;
}

const isa_rule_row *isa_rule_at(uint32_t index)
{
    BUG_ON(index >= ISA_RULE_ID_COUNT);
    return &public_rows[index];
}

static void put_place(isa_judge *j)
{
    const isa_program *p = j->p;
    if (j->t) {
        glia_putf(&j->text, "tensor '%s'", j->t->name);
        return;
    }
    if (!j->f) {
        glia_putf(&j->text, "program '%s'", p->name);
        return;
    }
    glia_putf(&j->text, "core %u function '%s'", j->core, j->f->name);
    if (!j->i) return;
    glia_putf(&j->text, " instruction %u", j->insn);
    if (j->i->op < ISA_OP_COUNT)
        glia_putf(&j->text, ", %s of %s", isa_row_get((isa_op)j->i->op)->name,
                  isa_engine_name((isa_engine)j->i->engine));
    if (j->slot >= 0) glia_putf(&j->text, ", operand '%s'", j->row->operands[j->slot].name);
    if (j->i->origin > 0 && j->i->origin < p->origins.count) {
        const isa_origin *o = &p->origins.items[j->i->origin];
        glia_putf(&j->text, " (%s at %s)", o->op, o->where);
    }
}

void isa_violation(isa_judge *j, const char *format, ...)
{
    if (j->violations++ >= ISA_VIOLATIONS) return;
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (j->violations > 1) glia_put(&j->text, "\n");
    put_place(j);
    glia_putf(&j->text, ": %s [rule %s]", text, public_rows[j->rule].name);
}

// Runs the rules of a stage and scope on the object that `j` stands at; in stage STRUCTURE it stops at the first
// violation. False if anything was wrong.
static bool run(isa_judge *j, rule_stage stage, rule_scope scope)
{
    const uint32_t before = j->violations;
    for (int r = 0; r < ISA_RULE_ID_COUNT; r++) {
        if (rows[r].stage != stage || rows[r].scope != scope) continue;
        if (j->generation < public_rows[r].first || j->generation > public_rows[r].last) continue;
        j->rule = (isa_rule_id)r;
        rows[r].check(j);
        if (stage == STRUCTURE && j->violations > before) return false;
    }
    return j->violations == before;
}

static void run_insn(isa_judge *j, rule_stage stage, uint32_t insn)
{
    j->insn = insn;
    j->i = &j->f->insns.items[insn];
    j->row = j->i->op < ISA_OP_COUNT ? isa_row_get((isa_op)j->i->op) : NULL;
    j->operands = NULL;
    if (stage == HARDWARE) j->operands = &j->f->operands.items[j->i->operand];
    bool sound = run(j, stage, INSN_SCOPE);
    if (stage == STRUCTURE && sound) j->operands = &j->f->operands.items[j->i->operand];
    for (int k = 0; j->operands && k < j->i->operand_count; k++) {
        if (j->operands[k].space == ISA_SPACE_NONE && stage == HARDWARE) continue;
        j->slot = k;
        j->o = &j->operands[k];
        run(j, stage, OPERAND_SCOPE);
    }
    j->slot = -1;
    j->o = NULL;
    j->i = NULL;
}

static void for_each_function(isa_judge *j, rule_stage stage, void (*each)(isa_judge *, rule_stage))
{
    for (j->core = 0; j->core < j->p->core_count; j->core++) {
        const isa_core *core = &j->p->cores[j->core];
        for (j->function = 0; j->function < core->functions.count; j->function++) {
            j->f = core->functions.items[j->function];
            each(j, stage);
        }
    }
    j->f = NULL;
}

static void each_insn(isa_judge *j, rule_stage stage)
{
    for (uint32_t i = 0; i < j->f->insns.count && j->violations < ISA_VIOLATIONS; i++)
        run_insn(j, stage, i);
}

static void each_function(isa_judge *j, rule_stage stage)
{
    if (j->violations < ISA_VIOLATIONS) run(j, stage, FUNCTION);
}

// Later scopes rely on the structure that earlier ones have judged.
static void run_stage(isa_judge *j, rule_stage stage)
{
    run(j, stage, PROGRAM);
    if (stage == STRUCTURE && j->violations) return;
    for (j->tensor = 0; j->tensor < j->p->tensors.count && j->violations < ISA_VIOLATIONS; j->tensor++) {
        j->t = &j->p->tensors.items[j->tensor];
        run(j, stage, TENSOR);
    }
    j->t = NULL;
    if (stage == STRUCTURE && j->violations) return;
    for_each_function(j, stage, each_insn);
    if (stage == STRUCTURE && j->violations) return;
    for_each_function(j, stage, each_function);
}

static glia_status verdict(isa_judge *j)
{
    if (j->violations == 0) {
        glia_strbuf_fini(&j->text);
        return GLIA_OK;
    }
    if (j->violations >= ISA_VIOLATIONS)
        glia_putf(&j->text, "\nthe first %d are shown; there may be more", ISA_VIOLATIONS);
    glia_status s = GLIA_FAIL(INVALID, "%s", glia_strbuf_str(&j->text));
    glia_strbuf_fini(&j->text);
    return s;
}

glia_status isa_check_structure(const isa_program *p)
{
    isa_judge j = {.p = p, .generation = 2, .slot = -1};
    run_stage(&j, STRUCTURE);
    return verdict(&j);
}

glia_status isa_verify(const isa_program *p, const hw_chip *chip)
{
    TRY(isa_check_structure(p));
    isa_judge j = {.p = p, .chip = chip, .generation = (int)hw_int(chip->generation), .slot = -1};
    for (int t = 0; t < NUM_DTYPE_COUNT; t++)
        j.has_dtype[t] = hw_chip_has_dtype(chip, num_dtype_get((num_dtype)t)->name);
    run_stage(&j, HARDWARE);
    return verdict(&j);
}
