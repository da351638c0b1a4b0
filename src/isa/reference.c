// SPDX-License-Identifier: Apache-2.0
// docs/reference/instructions.md from the rows. A test compares the two, so the page is never a second list.
#include "isa/reference.h"
#include "isa/isa.h"
#include "isa/verify.h"

#include <string.h>

#define INSN(name, engines, format, cost, gen, hard, fact) [ISA_##name] = #cost,
static const char *const cost_rules[ISA_OP_COUNT] = {
#include "isa/isa.def"
};

#define FORMAT(name) #name,
#define OPERAND(name, access, spaces, rule)
#define ATTR(name, kind)
#define END_FORMAT
static const char *const formats[] = {
#include "isa/formats.def"
};

static void put_flags(glia_strbuf *out, unsigned bits, const char *const *names, int count, const char *sep)
{
    const char *between = "";
    for (int k = 0; k < count; k++) {
        if (!((bits >> k) & 1)) continue;
        glia_putf(out, "%s%s", between, names[k]);
        between = sep;
    }
}

static void put_instructions(glia_strbuf *out)
{
    static const char *const engines[] = {"PE", "ACT", "DVE", "POOL", "SP"};
    static const char *const kinds[] = {"chip", "control", "collective", "soft"};
    glia_put(out, "## Instructions\n\n| instruction | engines | from generation | kind | format | cost rule | fact "
                  "|\n|---|---|---|---|---|---|---|\n");
    for (int op = 0; op < ISA_OP_COUNT; op++) {
        const isa_row *row = isa_row_get((isa_op)op);
        glia_putf(out, "| `%s` | ", row->name);
        if (row->engines == (1 << ISA_ENGINE_COUNT) - 1)
            glia_put(out, "any");
        else
            put_flags(out, row->engines, engines, ISA_ENGINE_COUNT, ", ");
        glia_putf(out, " | %u | %s | `%s` | %s | %s |\n", row->gen, kinds[row->hard], row->format, cost_rules[op],
                  row->fact);
    }
}

static const isa_row *row_of_format(const char *format)
{
    for (int op = 0; op < ISA_OP_COUNT; op++)
        if (strcmp(isa_row_get((isa_op)op)->format, format) == 0) return isa_row_get((isa_op)op);
    return NULL;
}

static void put_format(glia_strbuf *out, const isa_row *row)
{
    static const char *const spaces[] = {"hbm", "sbuf", "psum", "register", "immediate", "pattern"};
    static const char *const accesses[] = {"", "read", "write", "read and write"};
    static const char *const shapes[] = {"equal shape", "one a partition", "eight a partition", "one", "own rule"};
    static const char *const kinds[] = {"flag",           "number", "operator",    "function",
                                        "reduce command", "mode",   "descriptors", "out of bounds"};
    glia_putf(out, "\n### %s\n\n", row->format);
    if (row->operand_count == 0 && row->attr_count == 0) glia_put(out, "No operands, no attributes.\n");
    if (row->operand_count) glia_put(out, "| operand | access | lives in | shape |\n|---|---|---|---|\n");
    for (int k = 0; k < row->operand_count; k++) {
        const isa_format_operand *o = &row->operands[k];
        glia_putf(out, "| `%s`%s | %s | ", o->name, o->optional ? ", optional" : "", accesses[o->access]);
        put_flags(out, o->spaces, spaces, 6, ", ");
        glia_putf(out, " | %s |\n", shapes[o->rule]);
    }
    if (row->attr_count) glia_put(out, "\nAttributes: ");
    for (int k = 0; k < row->attr_count; k++)
        glia_putf(out, "%s`%s` (%s)", k ? ", " : "", row->attrs[k].name, kinds[row->attrs[k].kind]);
    if (row->attr_count) glia_put(out, ".\n");
}

static void put_operators(glia_strbuf *out)
{
    glia_put(out, "\n## Operators\n\n| operator | operands | on | reduces |\n|---|---|---|---|\n");
    for (int a = ISA_ALU_NONE + 1; a < ISA_ALU_COUNT; a++)
        glia_putf(out, "| `%s` | %s | %s%s | %s |\n", isa_alu_name((isa_alu)a),
                  isa_alu_is_unary((isa_alu)a) ? "1" : "2",
                  isa_alu_is_bitvec((isa_alu)a)    ? "integer bits"
                  : isa_alu_is_compare((isa_alu)a) ? "fp32, gives 1 or 0"
                                                   : "fp32",
                  isa_alu_is_pool_only((isa_alu)a) ? ", POOL alone" : "", isa_alu_can_reduce((isa_alu)a) ? "yes" : "");
    glia_put(out, "\nFunctions of ACT: ");
    for (int a = 0; a < ISA_ACT_COUNT; a++)
        glia_putf(out, "%s`%s`", a ? ", " : "", isa_act_name((isa_act)a));
    glia_put(out, ".\n");
}

static void put_rules(glia_strbuf *out, bool structure)
{
    glia_put(out, "| rule | what must hold | generations | fact |\n|---|---|---|---|\n");
    for (uint32_t k = 0; k < isa_rule_count(); k++) {
        const isa_rule_row *r = isa_rule_at(k);
        if (r->structure != structure) continue;
        glia_putf(out, "| `%s` | %s | ", r->name, r->text);
        if (r->last >= 99)
            glia_putf(out, "%s", r->first <= 2 ? "all" : r->first == 3 ? "from 3" : "from 4");
        else
            glia_putf(out, "%u to %u", r->first, r->last);
        glia_putf(out, " | %s |\n", r->fact);
    }
}

void isa_reference_page(glia_strbuf *out)
{
    glia_put(out, "# Instructions\n\nPrinted from the rows in `src/isa/*.def`; `docs/isa.md` says how what is not here "
                  "yet would fit.\n"
                  "What a rule of cost means is in `src/isa/cost.c`; facts are rows of `docs/facts/`.\n\n");
    put_instructions(out);
    glia_put(out, "\n## Formats\n\nWhat the operands and attributes of an instruction are, in order.\n");
    for (size_t k = 0; k < COUNT_OF(formats); k++) {
        const isa_row *row = row_of_format(formats[k]);
        if (row) put_format(out, row);
    }
    put_operators(out);
    glia_put(
        out,
        "\n## Rules\n\nWhat `glia neff verify` judges. First the structure, which is judged as a file is read:\n\n");
    put_rules(out, true);
    glia_put(out, "\nThen the chip's:\n\n");
    put_rules(out, false);
}
