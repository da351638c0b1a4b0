// SPDX-License-Identifier: Apache-2.0
// Looking a name up in a small table, and what to say when it is not there. Private to hw.
#ifndef GLIA_HW_NAMES_H
#define GLIA_HW_NAMES_H

#include "base/status.h"
#include "base/strbuf.h"

typedef const char *(*hw_name_at)(size_t index);

bool hw_name_equal(const char *a, const char *b); // letter case ignored
// The name with the fewest edits from `name`, the first such; NULL for an empty table.
const char *hw_name_nearest(const char *name, hw_name_at at, size_t count);
void hw_names_put(hw_name_at at, size_t count, glia_strbuf *out); // "a, b, c"

#endif
