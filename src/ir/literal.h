// SPDX-License-Identifier: Apache-2.0
// One element of a literal as text and back. print(parse(t)) may differ from t in spelling, never in bits:
// a float is written with as many digits as tell it apart from its neighbours, a NaN with its sign and payload.
#ifndef GLIA_IR_LITERAL_H
#define GLIA_IR_LITERAL_H

#include "base/strbuf.h"
#include "num/dtype.h"

// Appends the element at `element` (one byte for sub-byte types).
void ir_literal_put(glia_strbuf *out, num_dtype t, const void *element);

// Reads one element from [*at, end) into `element`, moves *at past it. INVALID when it is no such number or does not
// fit the type (naming both), UNSUPPORTED for a type whose numbers this build cannot read.
GLIA_MUST_USE glia_status ir_literal_get(const char **at, const char *end, num_dtype t, void *element);

#endif
