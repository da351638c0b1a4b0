// SPDX-License-Identifier: Apache-2.0
// The evaluator against NumPy on random programs: see eval_reference.py. GLIA_PYTHON names a Python that has numpy and
// ml_dtypes. (ml_dtypes rounds the narrow floats here, so that num is checked through the evaluator as well.)
#include "harness/harness.h"

#include <sys/wait.h>

TEST(eval_reference, random_programs_agree_with_numpy)
{
    const char *python = getenv("GLIA_PYTHON");
    if (!python || !*python) SKIP_TEST("GLIA_PYTHON is not set: numpy and ml_dtypes come from the python registry");
    char command[4096];
    snprintf(command, sizeof command, "'%s' '%s/tests/ir/eval_reference.py' '%s'", python, GLIA_SOURCE_DIR, EVAL_CLI);
    const int how = system(command);
    EXPECT(WIFEXITED(how));
    EXPECT_EQ_INT(WEXITSTATUS(how), 0);
}
