// SPDX-License-Identifier: Apache-2.0
// See rig.h. Bounce tiles of results in PSUM lie at the end of SBUF.
#include "dev/rig.h"

enum { BOUNCE = 150 * 1024 };

void rig_init(rig *r, const hw_chip *chip, int cores, int threads)
{
    memset(r, 0, sizeof *r);
    r->chip = chip;
    r->pool = glia_pool_create(threads);
    r->mode = DEV_EXACT;
    EXPECT_OK(dev_machine_create(chip, cores, r->pool, &r->machine));
    r->program = isa_program_create("test", chip->target, (uint32_t)cores);
    for (int c = 0; c < cores; c++) {
        isa_function *f = isa_function_create(r->program, (uint32_t)c, "main");
        if (c == 0) r->f = f;
    }
}

void rig_fini(rig *r)
{
    dev_unload(r->loaded);
    dev_machine_destroy(r->machine);
    isa_program_destroy(r->program);
    glia_pool_destroy(r->pool);
    for (uint32_t t = 0; t < r->tensors; t++) {
        dev_buffer_release(&r->buffers[t]);
        glia_free(r->buffers[t].data);
    }
}

uint32_t rig_tensor(rig *r, isa_tensor_kind kind, num_dtype dtype, int64_t elements, const void *data)
{
    char name[16];
    (void)snprintf(name, sizeof name, "t%u", r->tensors);
    const uint32_t t = isa_tensor_add(r->program, name, kind, dtype, 1, &elements);
    const size_t bytes = (size_t)elements * (size_t)num_size(dtype);
    BUG_ON(t != r->tensors || t >= RIG_TENSORS);
    r->buffers[t] = (dev_buffer){ .data = glia_alloc(bytes), .bytes = bytes };
    if (data) memcpy(r->buffers[t].data, data, bytes);
    r->tensors++;
    return t;
}

uint32_t rig_slot(rig *r, uint32_t tensor) { return isa_slot_global(r->f, r->program, tensor); }

isa_operand rig_hbm(rig *r, uint32_t tensor, num_dtype dtype, int64_t offset, int64_t rows, int64_t cols)
{
    const int64_t step[] = { cols, 1 };
    const uint32_t count[] = { (uint32_t)rows, (uint32_t)cols };
    return isa_hbm(rig_slot(r, tensor), dtype, offset, 2, step, count);
}

isa_operand rig_sbuf(num_dtype dtype, int partitions, int64_t offset, int free)
{
    return isa_chip(ISA_SBUF, dtype, 0, partitions, offset, free);
}

isa_operand rig_psum(num_dtype dtype, int partitions, int64_t offset, int free)
{
    return isa_chip(ISA_PSUM, dtype, 0, partitions, offset, free);
}

void rig_dma(rig *r, isa_operand dst, isa_operand src)
{
    (void)isa_emit_dma(r->f, ISA_dma_copy, ISA_SP, 0, dst, src, ISA_DGE_NONE, 0);
}

void rig_in(rig *r, isa_operand chip, const void *data)
{
    const int64_t free = (int64_t)isa_operand_free(&chip);
    const uint32_t t = rig_tensor(r, ISA_TENSOR_INPUT, (num_dtype)chip.dtype, chip.partitions * free, data);
    rig_dma(r, chip, rig_hbm(r, t, (num_dtype)chip.dtype, 0, chip.partitions, free));
}

uint32_t rig_out(rig *r, isa_operand chip)
{
    const int64_t free = (int64_t)isa_operand_free(&chip);
    const uint32_t t = rig_tensor(r, ISA_TENSOR_OUTPUT, (num_dtype)chip.dtype, chip.partitions * free, NULL);
    isa_operand from = chip;
    if (chip.space == ISA_PSUM) {
        from = isa_chip(ISA_SBUF, (num_dtype)chip.dtype, chip.start_partition, chip.partitions, BOUNCE, (int)free);
        RIG_EMIT(r, tensor_copy, DVE, A(0), from, chip);
    }
    rig_dma(r, rig_hbm(r, t, (num_dtype)chip.dtype, 0, chip.partitions, free), from);
    return t;
}

uint32_t rig_emit(rig *r, isa_op op, isa_engine e, int n, const isa_operand *o, int attrs, const uint8_t *attr)
{
    if (n > isa_row_get(op)->operand_count) n = isa_row_get(op)->operand_count;    // isa_none() stands for none
    if (attrs > isa_row_get(op)->attr_count) attrs = isa_row_get(op)->attr_count;
    return isa_emit(r->f, op, e, n, o, attrs, attr, 0);
}

glia_status rig_load(rig *r)
{
    if (r->loaded) return GLIA_OK;
    TRY(dev_load(r->machine, r->program, r->mode, &r->loaded));
    for (uint32_t t = 0; t < r->tensors; t++)
        if (r->program->tensors.items[t].kind != ISA_TENSOR_CONST) TRY(dev_bind(r->loaded, t, &r->buffers[t]));
    return GLIA_OK;
}

glia_status rig_run(rig *r)
{
    TRY(rig_load(r));
    return dev_execute(r->loaded, &r->options);
}
