// SPDX-License-Identifier: Apache-2.0
// examples/rounding, switched by its environment variables.
#include "harness/harness.h"

#include <sys/wait.h>

static double run_example(const char *environment)
{
    char command[4096], text[64] = {0};
    snprintf(command, sizeof command, "%s '%s'", environment, EXAMPLE_ROUNDING);
    FILE *f = popen(command, "r");
    EXPECT(f != NULL);
    EXPECT(fgets(text, sizeof text, f) != NULL);
    const int how = pclose(f);
    EXPECT(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    char *end;
    const double value = strtod(text, &end);
    EXPECT_EQ_STR(end, "\n");
    return value;
}

TEST(example, rounding_to_nearest_stays_at_one)
{
    EXPECT(run_example("env -u NEURON_RT_STOCHASTIC_ROUNDING_EN") == 1.0);
    EXPECT(run_example("NEURON_RT_STOCHASTIC_ROUNDING_EN=0") == 1.0);
}

TEST(example, rounding_stochastically_ends_near_two)
{
    double sum = 0;
    for (int seed = 0; seed < 16; seed++) {
        char environment[128];
        snprintf(environment, sizeof environment,
                 "NEURON_RT_STOCHASTIC_ROUNDING_EN=1 NEURON_RT_STOCHASTIC_ROUNDING_SEED=%d", seed);
        const double end = run_example(environment);
        EXPECT_NEAR(end, 2.0, 0.45); // 5 standard deviations of one run
        sum += end;
    }
    EXPECT_NEAR(sum / 16, 2.0, 0.1125); // 5 of the mean
    // The default seed is 0, and a seed always gives the same end.
    EXPECT(run_example("NEURON_RT_STOCHASTIC_ROUNDING_EN=1") ==
           run_example("NEURON_RT_STOCHASTIC_ROUNDING_EN=1 NEURON_RT_STOCHASTIC_ROUNDING_SEED=0"));
}

TEST(example, rounding_refuses_a_bad_switch)
{
    char command[4096];
    snprintf(command, sizeof command, "NEURON_RT_STOCHASTIC_ROUNDING_EN=yes '%s' 2>/dev/null", EXAMPLE_ROUNDING);
    const int how = system(command);
    EXPECT(WIFEXITED(how) && WEXITSTATUS(how) == 2);
}
