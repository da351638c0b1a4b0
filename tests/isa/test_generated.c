// SPDX-License-Identifier: Apache-2.0
// Properties over generated programs: they are valid on their chip, print(parse(print)) is a fixed point, every
// instruction has a cost.
#include "harness/harness.h"
#include "isa/cost.h"
#include "isa/generate.h"
#include "isa/text.h"
#include "isa/verify.h"

#include <string.h>

static const hw_chip *const chips[] = {&hw_trainium1, &hw_inferentia2, &hw_trainium2, &hw_trainium3};

static generate_options options_of(uint64_t seed)
{
    generate_options o = generate_options_of(seed, chips[seed % COUNT_OF(chips)]);
    if (seed % COUNT_OF(chips) >= 2) o.core_count = 1 + (uint32_t)(seed / 4) % 2;
    o.control = seed % 3 != 0;
    o.insns = 20 + (uint32_t)(seed * 7) % 120;
    return o;
}

TEST(generated, programs_are_valid_on_their_chip)
{
    for (uint64_t seed = 0; seed < 400; seed++) {
        const generate_options o = options_of(seed);
        AUTO(isa_program) p = generate_program(&o);
        AUTO_STATUS s = isa_verify(p, o.chip);
        if (s) FAIL_TEST("seed %" PRIu64 ": %s", seed, glia_status_message(s));
    }
}

TEST(generated, text_round_trips)
{
    for (uint64_t seed = 0; seed < 400; seed++) {
        const generate_options o = options_of(seed);
        AUTO(isa_program) p = generate_program(&o);
        AUTO(isa_program) again = NULL;
        AUTO_VALUE(glia_strbuf) first = {0};
        AUTO_VALUE(glia_strbuf) second = {0};
        isa_print(&first, p);
        AUTO_STATUS s = isa_parse(glia_strbuf_span(&first), "first", &again);
        if (s) FAIL_TEST("seed %" PRIu64 ": %s", seed, glia_status_message(s));
        isa_print(&second, again);
        if (strcmp(glia_strbuf_str(&first), glia_strbuf_str(&second)) != 0)
            FAIL_TEST("seed %" PRIu64 ": the text changed", seed);
    }
}

TEST(generated, every_instruction_is_generated_and_has_a_cost)
{
    static const isa_op never[] = {ISA_wait,          ISA_cc_all_reduce, ISA_cc_all_gather, ISA_cc_reduce_scatter,
                                   ISA_cc_all_to_all, ISA_cc_permute};
    uint32_t seen[ISA_OP_COUNT] = {0};
    for (uint64_t seed = 0; seed < 200; seed++) {
        const generate_options o = options_of(seed);
        AUTO(isa_program) p = generate_program(&o);
        for (uint32_t c = 0; c < p->core_count; c++)
            for (uint32_t k = 0; k < p->cores[c].functions.count; k++) {
                const isa_function *f = p->cores[c].functions.items[k];
                for (uint32_t n = 0; n < f->insns.count; n++) {
                    const isa_cost cost = isa_cost_of(f, &f->insns.items[n], o.chip);
                    seen[f->insns.items[n].op]++;
                    if (cost.cycles <= 0)
                        FAIL_TEST("seed %" PRIu64 ": instruction %u costs %lld cycles", seed, n,
                                  (long long)cost.cycles);
                }
            }
    }
    for (size_t k = 0; k < COUNT_OF(never); k++)
        seen[never[k]]++;
    for (int op = 0; op < ISA_OP_COUNT; op++)
        if (!seen[op]) FAIL_TEST("'%s' was never generated", isa_row_get((isa_op)op)->name);
}
