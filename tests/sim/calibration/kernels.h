// SPDX-License-Identifier: Apache-2.0
// The published kernels as tile programs: one function per row of list.def, cal_build_<id>.
#ifndef GLIA_TESTS_SIM_KERNELS_H
#define GLIA_TESTS_SIM_KERNELS_H

#include "calibration/schedule.h"

#define CALIBRATION(id, series, chip, measured_ns, measure, source) isa_program *cal_build_##id(const hw_chip *chip_);
#include "calibration/list.def"

enum { CAL_CHAIN = 1000 };      // instructions of act_dependent

#endif
