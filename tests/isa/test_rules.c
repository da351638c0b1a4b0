// SPDX-License-Identifier: Apache-2.0
// Each rule of rules.def has a program that breaks it, and that one alone; each message names the rule and both values.
#include "harness/harness.h"
#include "isa/rules.h"
#include "isa/verify.h"

#include <string.h>

isa_operand sbuf(num_dtype t, int partitions, int64_t offset, int free)
{
    return isa_chip(ISA_SBUF, t, 0, partitions, offset, free);
}

isa_operand psum(num_dtype t, int partitions, int64_t offset, int free)
{
    return isa_chip(ISA_PSUM, t, 0, partitions, offset, free);
}

isa_operand hbm(int tensor, num_dtype t, int64_t offset, uint32_t rows, uint32_t columns)
{
    return isa_hbm((uint32_t)tensor, t, offset, 2, (const int64_t[]){256, 1}, (const uint32_t[]){rows, columns});
}

uint32_t put(rule_base *b, isa_op op, isa_engine e, int operands, const isa_operand *o, int attrs, const uint8_t *a)
{
    const int known = isa_row_get(op)->attr_count;
    const uint32_t n = isa_emit(b->f, op, e, operands, o, attrs < known ? attrs : known, a, 1);
    if (isa_is_dma(op)) b->f->insns.items[n].queue = 2;
    return n;
}

static rule_base base_of(const hw_chip *chip)
{
    static const float four[4] = {1, 2, 3, 4};
    rule_base b = {.p = isa_program_create("rules", chip->target, 1)};
    isa_tensor_add(b.p, "in", ISA_TENSOR_INPUT, NUM_F32, 2, (const int64_t[]){128, 256});
    isa_tensor_add(b.p, "in_bf16", ISA_TENSOR_INPUT, NUM_BF16, 2, (const int64_t[]){128, 256});
    isa_tensor_add(b.p, "out", ISA_TENSOR_OUTPUT, NUM_F32, 2, (const int64_t[]){128, 256});
    const uint32_t c = isa_tensor_add(b.p, "constant", ISA_TENSOR_CONST, NUM_F32, 1, (const int64_t[]){4});
    b.p->tensors.items[c].data = (glia_span){(const uint8_t *)four, sizeof four};
    isa_tensor_add(b.p, "scratch", ISA_TENSOR_SCRATCH, NUM_F32, 2, (const int64_t[]){128, 256});
    isa_origin_add(b.p, "%op", "rules.txt:1");
    b.f = isa_function_create(b.p, 0, "main");
    for (uint32_t t = 0; t < b.p->tensors.count; t++)
        isa_slot_global(b.f, b.p, t);
    b.callee = isa_function_create(b.p, 0, "callee");
    isa_slot_formal(b.callee, "x", 1024, ISA_READ);
    isa_slot_formal(b.callee, "y", 1024, ISA_WRITE);
    uint32_t table;
    isa_table *t = isa_table_add(b.p, 0, 1, 2, &table);
    t->items[0] = (isa_binding){IN, 0};
    t->items[1] = (isa_binding){OUT, 0};
    return b;
}

TEST(rules, the_base_program_is_sound)
{
    static const hw_chip *const chips[] = {&hw_trainium1, &hw_trainium2, &hw_trainium3};
    for (size_t k = 0; k < COUNT_OF(chips); k++) {
        rule_base b = base_of(chips[k]);
        EXPECT_OK(isa_verify(b.p, chips[k]));
        isa_program_destroy(b.p);
    }
}

static int complain(const char *format, ...) GLIA_PRINTF(1, 2);
static int complain(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    return 1;
}

// Prints what is wrong and goes on, so that one run shows every case; returns how many were wrong.
static int check_case(const rule_case *c)
{
    int wrong = 0;
    rule_base b = base_of(c->chip);
    c->breaks(&b);
    AUTO_STATUS s = isa_verify(b.p, c->chip);
    char want[80];
    snprintf(want, sizeof want, "[rule %s]", c->rule);
    const char *text = s ? glia_status_message(s) : "it passes";
    if (!s || glia_status_code(s) != GLIA_CODE_INVALID || !strstr(text, want) || !strstr(text, c->says))
        wrong += complain("rule '%s' (\"%s\"): %s", c->rule, c->says, text);
    for (const char *at = strstr(text, "[rule "); at; at = strstr(at + 1, "[rule "))
        if (strncmp(at, want, strlen(want)) != 0)
            wrong += complain("rule '%s' alone should be broken: %s", c->rule, text);
    isa_program_destroy(b.p);
    return wrong;
}

static const rule_case *const tables[] = {rules_structure, rules_compute, rules_move};

TEST(rules, each_case_breaks_its_rule_and_no_other)
{
    int wrong = 0;
    for (size_t t = 0; t < COUNT_OF(tables); t++)
        for (const rule_case *c = tables[t]; c->rule; c++)
            wrong += check_case(c);
    EXPECT_EQ_INT(wrong, 0);
}

TEST(rules, each_row_has_a_case)
{
    for (uint32_t r = 0; r < isa_rule_count(); r++) {
        bool found = false;
        for (size_t t = 0; t < COUNT_OF(tables); t++)
            for (const rule_case *c = tables[t]; c->rule; c++)
                found |= strcmp(c->rule, isa_rule_at(r)->name) == 0;
        if (!found) FAIL_TEST("rule '%s' has no program that breaks it", isa_rule_at(r)->name);
    }
}

TEST(rules, twenty_violations_are_reported_at_once)
{
    rule_base b = base_of(&hw_trainium2);
    for (int k = 0; k < 30; k++)
        PUT(&b, memset, POOL, (0), psum(NUM_F32, 128, 0, 8), isa_imm_f32(0));
    AUTO_STATUS s = isa_verify(b.p, &hw_trainium2);
    int n = 0;
    for (const char *at = glia_status_message(s); (at = strstr(at, "[rule pool_psum]")) != NULL; at++)
        n++;
    EXPECT_EQ_INT(n, 20);
    EXPECT(strstr(glia_status_message(s),
                  "core 0 function 'main' instruction 19, memset of POOL, operand 'dst' (%op at rules.txt:1)"));
    isa_program_destroy(b.p);
}
