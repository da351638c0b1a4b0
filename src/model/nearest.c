// SPDX-License-Identifier: Apache-2.0
// Edit distance over at most the first 127 characters: names are short, and this only words an error.
#include "model/nearest.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 127 };

static size_t edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
    uint8_t row[LONGEST + 1];   // row[j]: edits between the first i of a and the first j of b
    for (size_t j = 0; j <= nb; j++) row[j] = (uint8_t)j;
    for (size_t i = 1; i <= na; i++) {
        uint8_t diagonal = row[0];
        row[0] = (uint8_t)i;
        for (size_t j = 1; j <= nb; j++) {
            const uint8_t above = row[j];
            uint8_t best = (uint8_t)(diagonal + (a[i - 1] != b[j - 1]));
            if (above + 1 < best) best = (uint8_t)(above + 1);
            if (row[j - 1] + 1 < best) best = (uint8_t)(row[j - 1] + 1);
            diagonal = above;
            row[j] = best;
        }
    }
    return row[nb];
}

model_nearest model_nearest_of(const char *wanted)
{
    return (model_nearest){ .wanted = wanted };
}

void model_nearest_offer(model_nearest *n, const char *candidate)
{
    const size_t edits = edit_distance(n->wanted, strnlen(n->wanted, LONGEST), candidate, strnlen(candidate, LONGEST));
    if (n->best && edits >= n->edits) return;
    n->best = candidate;
    n->edits = edits;
}

// A third of the letters: past that a suggestion is a guess, and a wrong one is worse than none.
const char *model_nearest_say(model_nearest *n, const char *before)
{
    n->said[0] = 0;
    if (n->best && n->edits * 3 <= strnlen(n->wanted, LONGEST) + 2)
        (void)snprintf(n->said, sizeof n->said, "; the nearest is '%s%.*s'", before, LONGEST, n->best);
    return n->said;
}
