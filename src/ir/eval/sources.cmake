# SPDX-License-Identifier: Apache-2.0
# The reference evaluator's files, relative to src/ir.
set(IR_EVAL_SOURCES
    eval/eval.c eval/exec.c eval/buffer.c eval/element.c eval/strided.c
    eval/float_kernels.c eval/int_kernels.c eval/complex_kernels.c
    eval/lanes.c eval/elementwise.c eval/convert.c
    eval/shape.c eval/pad.c eval/dot.c eval/region.c eval/reduce.c
    eval/gather.c eval/scatter.c eval/dynamic_slice.c eval/sort.c
    eval/control.c eval/custom_call.c)
