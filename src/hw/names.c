// SPDX-License-Identifier: Apache-2.0
// Names that people type: compared without case, and answered with the nearest one when they miss. Distances are
// counted over the first 64 characters, which bounds the work on hostile input.
#include "hw/names.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { NAME_MAX_COMPARED = 64 };

bool hw_name_equal(const char *a, const char *b)
{
    return strcasecmp(a, b) == 0;
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

// Levenshtein's distance by its last row only.
static int name_distance(const char *a, const char *b)
{
    const int m = (int)strnlen(a, NAME_MAX_COMPARED), n = (int)strnlen(b, NAME_MAX_COMPARED);
    int row[NAME_MAX_COMPARED + 1];

    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 1; i <= m; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            const int same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            const int replaced = diagonal + !same;
            diagonal = row[j];
            row[j] = min_int(replaced, min_int(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}

void hw_name_put_nearest(const char *name, hw_name_at at, size_t count, glia_strbuf *out)
{
    const char *nearest = NULL;
    int fewest = 0;

    for (size_t i = 0; i < count; i++) {
        const int edits = name_distance(name, at(i));
        if (nearest && edits >= fewest) continue;
        nearest = at(i);
        fewest = edits;
    }
    if (nearest && fewest * 3 <= (int)strnlen(name, NAME_MAX_COMPARED) + 2) glia_putf(out, ", the nearest is '%s'", nearest);
}

void hw_names_put(hw_name_at at, size_t count, glia_strbuf *out)
{
    for (size_t i = 0; i < count; i++)
        glia_putf(out, "%s%s", i ? ", " : "", at(i));
}
