// SPDX-License-Identifier: Apache-2.0
// num_convert against NumPy and ml_dtypes: see vectors.py. GLIA_PYTHON names a Python that has both.
#include "harness/harness.h"

#include <sys/wait.h>

TEST(vectors, numpy_and_ml_dtypes_agree)
{
    const char *python = getenv("GLIA_PYTHON");
    if (!python || !*python) SKIP_TEST("GLIA_PYTHON is not set: numpy and ml_dtypes come from the python registry");
    char command[4096];
    snprintf(command, sizeof command, "'%s' '%s/tests/num/vectors.py' '%s'", python, GLIA_SOURCE_DIR, NUM_CONVERT_CLI);
    const int how = system(command);
    EXPECT(WIFEXITED(how));
    EXPECT_EQ_INT(WEXITSTATUS(how), 0);
}
