// SPDX-License-Identifier: Apache-2.0
// What verbs ask of their words before they work: flags that this input has no use for, outputs that would replace it.
#ifndef GLIA_TOOLS_JUDGE_H
#define GLIA_TOOLS_JUDGE_H

#include "tool.h"

// USAGE names the flag, the input and what that is when one of `names` ("auto_cast") was given on the command line. A
// variable of the environment is for all runs and may say what this one has no use for.
GLIA_MUST_USE glia_status tool_refuse_flags(const tool *t, const char *const *names, size_t count, const char *path, const char *what);
#define TOOL_REFUSE_FLAGS(t, path, what, ...)                                                                          \
    tool_refuse_flags((t), (const char *const[]){ __VA_ARGS__ },                                                       \
                      COUNT_OF(((const char *const[]){ __VA_ARGS__ })), (path), (what))

// USAGE when `output` (NULL: fine) is the file `input`, by whatever name, or lies in the folder `input` already; what
// glia_file_check_writable says, so that nothing is computed for an output that has nowhere to go.
GLIA_MUST_USE glia_status tool_check_output(const char *flag, const char *output, const char *input);
// Variables that are read deep inside, judged before anything runs: USAGE names variable, value and what it may be.
GLIA_MUST_USE glia_status tool_check_environment(void);

#endif
