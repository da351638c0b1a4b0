// SPDX-License-Identifier: Apache-2.0
// Floats to whole numbers; see rounding.c.
#ifndef GLIA_COMPILE_LOWER_ROUNDING_H
#define GLIA_COMPILE_LOWER_ROUNDING_H

#include "compile/lower/rows.h"

void rounding_emit(row_site *s, tile_operand x);           // floor, ceil, round-nearest-even, is-finite
void rounding_to_integer(row_site *s, tile_operand x);     // convert: toward zero, saturating, NaN is 0

#endif
