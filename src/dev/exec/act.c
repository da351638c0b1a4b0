// SPDX-License-Identifier: Apache-2.0
// The scalar engine: dst = func(data * scale + bias), each operation rounded once in fp32, and the engine's reduce
// registers: one fp32 a partition, summed from left to right over the row before it is rounded to dst's type. They
// persist between instructions; `idle` leaves them alone.
#include "dev/alu.h"
#include "dev/rows.h"

static void reduce_row(float *sum, isa_reduce_cmd cmd, const float *row, size_t n)
{
    if (cmd == ISA_REDUCE_RESET || cmd == ISA_REDUCE_RESET_REDUCE) *sum = 0;
    if (cmd != ISA_REDUCE_REDUCE && cmd != ISA_REDUCE_RESET_REDUCE) return;
    for (size_t f = 0; f < n; f++) *sum += row[f];
}

glia_status dev_exec_activation(dev_exec *x)
{
    const dev_ap *dst = &x->ap[0], *data = &x->ap[1];
    const isa_act func = (isa_act)x->insn->attr[0];
    const isa_reduce_cmd cmd = (isa_reduce_cmd)x->insn->attr[1];
    if (cmd == ISA_REDUCE_LOAD_REDUCE) return dev_fault(x, "the scalar engine has no reduce command 'load_reduce'");
    float *row = dev_row(x, 0);
    for (uint32_t p = 0; p < dst->partitions; p++) {
        const float scale = dev_column_f32(x, 2, p), bias = dev_has(x, 3) ? dev_column_f32(x, 3, p) : 0;
        dev_load_f32(data, p, row);
        for (size_t f = 0; f < data->free; f++) row[f] = row[f] * scale;
        if (dev_has(x, 3))
            for (size_t f = 0; f < data->free; f++) row[f] = row[f] + bias;
        for (size_t f = 0; f < data->free; f++) row[f] = dev_act(func, row[f]);
        reduce_row(&x->core->act_sum[dst->start_partition + p], cmd, row, data->free);
        dev_store_f32(x, dst, p, row);
    }
    if (!dev_has(x, 4)) return GLIA_OK;
    // The registers are read by a second instruction: where `reduce` aliases `dst`, the sum wins.
    for (uint32_t p = 0; p < dst->partitions; p++)
        dev_store_f32(x, &x->ap[4], p, &x->core->act_sum[dst->start_partition + p]);
    return GLIA_OK;
}
