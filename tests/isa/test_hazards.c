// SPDX-License-Identifier: Apache-2.0
#include "harness/harness.h"
#include "isa/generate.h"
#include "isa/hazards.h"

TEST(hazards, generated_programs_have_none)
{
    static const char *const chips[] = {"trn1", "trn2", "trn3"};
    for (uint64_t seed = 0; seed < 100; seed++) {
        const hw_chip *chip = NULL;
        EXPECT_OK(hw_chip_find(chips[seed % 3], &chip));
        generate_options o = generate_options_of(seed, chip);
        o.core_count = seed % 3 ? 1 + (uint32_t)(seed / 3 % 2) : 1;
        AUTO(isa_program) p = generate_program(&o);
        AUTO_VALUE(isa_hazard_report) r = {0};
        EXPECT_OK(isa_check_hazards(p, false, &r));
        if (r.violated) fprintf(stderr, "seed %d: %d violated %d assumed of %d: %s\n", (int)seed, (int)r.violated, (int)r.assumed, (int)r.proved,r.items.items[0].why);
    }
}
