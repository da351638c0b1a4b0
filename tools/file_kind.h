// SPDX-License-Identifier: Apache-2.0
// What a file is, by how it begins: so that whoever gives a verb the wrong one is told which it is and who takes it.
#ifndef GLIA_TOOLS_FILE_KIND_H
#define GLIA_TOOLS_FILE_KIND_H

#include "base/span.h"
#include "base/status.h"

// UNSUPPORTED for a file that is known to be something else than the bits of `wanted`: says what it is, what `taker`
// ("'glia neff'") takes, and what takes it. What is not known passes: its reader judges it.
typedef enum tool_wanted { TOOL_WANT_PROGRAM = 1, TOOL_WANT_HLO = 2, TOOL_WANT_MODEL = 4 } tool_wanted;
GLIA_MUST_USE glia_status tool_check_kind(glia_span bytes, const char *path, unsigned wanted, const char *taker);

#endif
