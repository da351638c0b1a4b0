// SPDX-License-Identifier: Apache-2.0
#ifndef GLIA_SIM_REFERENCE_H
#define GLIA_SIM_REFERENCE_H

#include "base/strbuf.h"

void sim_reference_page(glia_strbuf *out);      // docs/reference/metrics.md

#endif
