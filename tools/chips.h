// SPDX-License-Identifier: Apache-2.0
// The chip that a verb simulates: the size of its logical cores, and the numbers that the user replaced.
#ifndef GLIA_TOOLS_CHIPS_H
#define GLIA_TOOLS_CHIPS_H

#include "hw/hw.h"
#include "tool.h"

// How many physical cores a logical core has: --lnc, else the runtime's variables, else 0, the chip's default. USAGE names
// who gave the number, the number and the chip's range.
GLIA_MUST_USE glia_status tool_lnc(int64_t flag, const hw_chip *chip, int *out);
// --target (NULL: not given) is a chip. USAGE says whose chip an instance has.
GLIA_MUST_USE glia_status tool_check_target(const char *target);
// A program that is compiled already has its own number. INVALID when another was asked for, with both.
GLIA_MUST_USE glia_status tool_check_lnc(int64_t flag, const char *path, int compiled);

// FIELD=VALUE rows and a calibration file (NULL: none) over a copy of `chip`. USAGE or INVALID names row, field, value.
GLIA_MUST_USE glia_status tool_chip_overlay(const tool_list *set, const char *calibration, hw_chip *chip);

#endif
