// SPDX-License-Identifier: Apache-2.0
// The chip that a verb simulates: of an instance or a target, with the numbers that the user replaced.
#ifndef GLIA_TOOLS_CHIPS_H
#define GLIA_TOOLS_CHIPS_H

#include "hw/hw.h"
#include "tool.h"

// FIELD=VALUE rows and a calibration file (NULL: none) over a copy of `chip`. USAGE or INVALID names row, field, value.
GLIA_MUST_USE glia_status tool_chip_overlay(const tool_list *set, const char *calibration, hw_chip *chip);

#endif
