// SPDX-License-Identifier: Apache-2.0
// Looking a name up in a small table, and what to say when it is not there. Private to hw.
#ifndef GLIA_HW_NAMES_H
#define GLIA_HW_NAMES_H

#include "base/status.h"
#include "base/strbuf.h"

typedef const char *(*hw_name_at)(size_t index);

bool hw_name_equal(const char *a, const char *b); // letter case ignored
// ", the nearest is 'X'": the first name with the fewest edits from `name`. Nothing when they are more than a third of it.
void hw_name_put_nearest(const char *name, hw_name_at at, size_t count, glia_strbuf *out);
void hw_names_put(hw_name_at at, size_t count, glia_strbuf *out); // "a, b, c"

#endif
