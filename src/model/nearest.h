// SPDX-License-Identifier: Apache-2.0
// The nearest of many names, for error messages: fewest single-character edits, the first of equals.
#ifndef GLIA_MODEL_NEAREST_H
#define GLIA_MODEL_NEAREST_H

#include <stddef.h>

typedef struct model_nearest {
    const char *wanted;     // borrowed, like what is offered
    const char *best;       // NULL until something is offered
    size_t edits;
    char said[192];
} model_nearest;

model_nearest model_nearest_of(const char *wanted);
void model_nearest_offer(model_nearest *n, const char *candidate);
// "; the nearest is 'X'", X begun with `before`; "" when the edits are more than a third of what was wanted. In `n`.
const char *model_nearest_say(model_nearest *n, const char *before);

#endif
