// SPDX-License-Identifier: Apache-2.0
// See nets.h. Each net is synchronised: every step waits for the one before, since what is tested is the runtime.
#include "rt/nets.h"

#include <stdarg.h>

#include "rt/config.h"

// ---- building ------------------------------------------------------------------------------------------------------

net net_begin(const char *name, const char *target, uint32_t cores)
{
    net n = { .program = isa_program_create(name, target, cores) };
    for (uint32_t c = 0; c < cores; c++) {
        isa_function *f = isa_function_create(n.program, c, "main");
        if (c == 0) n.f = f;
    }
    return n;
}

uint32_t net_tensor(net *n, const char *name, isa_tensor_kind kind, int64_t rows, int64_t columns)
{
    return isa_tensor_add(n->program, name, kind, NUM_F32, 2, (int64_t[]){ rows, columns });
}

// Waits for the step before, if there is one, and raises a semaphore for the next.
static void chain(net *n, uint32_t insn)
{
    if (n->semaphore) isa_add_wait(n->f, insn, (uint16_t)(n->semaphore - 1), 1, false);
    isa_add_update(n->f, insn, n->semaphore++, 1);
}

static isa_operand hbm_of(net *n, uint32_t tensor)
{
    const isa_tensor *t = &n->program->tensors.items[tensor];
    return isa_hbm(isa_slot_global(n->f, n->program, tensor), (num_dtype)t->dtype, 0, 2, (int64_t[]){ t->dims[1], 1 },
                   (uint32_t[]){ (uint32_t)t->dims[0], (uint32_t)t->dims[1] });
}

static isa_operand sbuf_of(net *n, uint32_t tensor, int64_t at)
{
    const isa_tensor *t = &n->program->tensors.items[tensor];
    return isa_chip(ISA_SBUF, (num_dtype)t->dtype, 0, (int)t->dims[0], at, (int)t->dims[1]);
}

void net_load(net *n, int64_t at, uint32_t tensor)
{
    chain(n, isa_emit_dma(n->f, ISA_dma_copy, ISA_SP, 0, sbuf_of(n, tensor, at), hbm_of(n, tensor), ISA_DGE_NONE, 0));
}

void net_store(net *n, uint32_t tensor, int64_t at)
{
    chain(n, isa_emit_dma(n->f, ISA_dma_copy, ISA_SP, 0, hbm_of(n, tensor), sbuf_of(n, tensor, at), ISA_DGE_NONE, 0));
}

void net_binary(net *n, isa_alu op, int64_t dst, int64_t a, int64_t b, int64_t columns)
{
    const isa_operand o[] = { isa_chip(ISA_SBUF, NUM_F32, 0, 128, dst, (int)columns),
                              isa_chip(ISA_SBUF, NUM_F32, 0, 128, a, (int)columns),
                              isa_chip(ISA_SBUF, NUM_F32, 0, 128, b, (int)columns) };
    const uint8_t attr = (uint8_t)op;
    chain(n, isa_emit(n->f, ISA_tensor_tensor, ISA_DVE, 3, o, 1, &attr, 0));
}

glia_strbuf net_neff(net *n)
{
    glia_strbuf bytes = { 0 };
    EXPECT_OK(neff_encode(n->program, &(neff_meta){ "test", "", "" }, &bytes));
    isa_program_destroy(n->program);
    return bytes;
}

// ---- nets ----------------------------------------------------------------------------------------------------------

enum { AT_A = 0, AT_B = 16384, AT_Y = 32768 };

static void add_columns(net *n, int64_t columns)
{
    const uint32_t a = net_tensor(n, "a", ISA_TENSOR_INPUT, 128, columns);
    const uint32_t b = net_tensor(n, "b", ISA_TENSOR_INPUT, 128, columns);
    const uint32_t y = net_tensor(n, "y", ISA_TENSOR_OUTPUT, 128, columns);
    net_load(n, AT_A, a);
    net_load(n, AT_B, b);
    net_binary(n, ISA_ALU_ADD, AT_Y, AT_A, AT_B, columns);
    net_store(n, y, AT_Y);
}

glia_strbuf neff_add(const char *name, int64_t columns)
{
    net n = net_begin(name, "trn2", 1);
    add_columns(&n, columns);
    return net_neff(&n);
}

static isa_operand half_of(net *n, isa_function *f, uint32_t tensor, int half, int64_t columns)
{
    return isa_hbm(isa_slot_global(f, n->program, tensor), NUM_F32, half * columns / 2 * 4, 2, (int64_t[]){ columns, 1 },
                   (uint32_t[]){ 128, (uint32_t)columns / 2 });
}

glia_strbuf neff_add_lnc2(int64_t columns)
{
    net n = net_begin("add", "trn2", 2);
    const uint32_t a = net_tensor(&n, "a", ISA_TENSOR_INPUT, 128, columns);
    const uint32_t b = net_tensor(&n, "b", ISA_TENSOR_INPUT, 128, columns);
    const uint32_t y = net_tensor(&n, "y", ISA_TENSOR_OUTPUT, 128, columns);
    const int half = (int)columns / 2;
    for (int c = 0; c < 2; c++) {
        n.f = n.program->cores[c].functions.items[0];
        n.semaphore = 0;
        const isa_operand ta = isa_chip(ISA_SBUF, NUM_F32, 0, 128, AT_A, half), tb = isa_chip(ISA_SBUF, NUM_F32, 0, 128, AT_B, half),
                          ty = isa_chip(ISA_SBUF, NUM_F32, 0, 128, AT_Y, half);
        chain(&n, isa_emit_dma(n.f, ISA_dma_copy, ISA_SP, 0, ta, half_of(&n, n.f, a, c, columns), ISA_DGE_NONE, 0));
        chain(&n, isa_emit_dma(n.f, ISA_dma_copy, ISA_SP, 0, tb, half_of(&n, n.f, b, c, columns), ISA_DGE_NONE, 0));
        net_binary(&n, ISA_ALU_ADD, AT_Y, AT_A, AT_B, half);
        chain(&n, isa_emit_dma(n.f, ISA_dma_copy, ISA_SP, 0, half_of(&n, n.f, y, c, columns), ty, ISA_DGE_NONE, 0));
    }
    return net_neff(&n);
}

glia_strbuf neff_accumulate(int64_t columns)
{
    net n = net_begin("accumulate", "trn2", 1);
    const uint32_t state = net_tensor(&n, "state", ISA_TENSOR_INPUT, 128, columns);
    const uint32_t x = net_tensor(&n, "x", ISA_TENSOR_INPUT, 128, columns);
    const uint32_t next = net_tensor(&n, "next", ISA_TENSOR_OUTPUT, 128, columns);
    n.program->tensors.items[next].alias = (int32_t)state;
    net_load(&n, AT_A, state);
    net_load(&n, AT_B, x);
    net_binary(&n, ISA_ALU_ADD, AT_Y, AT_A, AT_B, columns);
    net_store(&n, next, AT_Y);
    return net_neff(&n);
}

static isa_layout layout_of(int64_t columns, bool tiles)
{
    if (!tiles) return (isa_layout){ 2, { { 1, (uint32_t)columns, 1 }, { 1, 128, 0 } } };
    return (isa_layout){ 3, { { 32, (uint32_t)columns / 32, 1 }, { 1, 128, 0 }, { 1, 32, 1 } } };
}

glia_strbuf neff_transposed(int64_t columns, bool tiles)
{
    net n = net_begin(tiles ? "tiles" : "columns", "trn2", 1);
    const uint32_t w = net_tensor(&n, "w", ISA_TENSOR_INPUT, 128, columns);
    const uint32_t y = net_tensor(&n, "y", ISA_TENSOR_OUTPUT, 128, columns);
    n.program->tensors.items[w].layout = layout_of(columns, tiles);
    n.program->tensors.items[w].weight = 1;
    net_load(&n, AT_A, w);
    net_store(&n, y, AT_A);
    return net_neff(&n);
}

glia_strbuf neff_gather(int64_t columns)
{
    net n = net_begin("gather", "trn2", 1);
    const uint32_t table = net_tensor(&n, "table", ISA_TENSOR_INPUT, 128, columns);
    const uint32_t index = isa_tensor_add(n.program, "index", ISA_TENSOR_INPUT, NUM_S32, 2, (int64_t[]){ 128, 1 });
    const uint32_t y = net_tensor(&n, "y", ISA_TENSOR_OUTPUT, 128, columns);
    net_load(&n, AT_B, index);
    isa_operand rows = hbm_of(&n, table);
    rows.indirect = 1;
    const isa_operand o[] = { sbuf_of(&n, y, AT_Y), rows, sbuf_of(&n, index, AT_B) };
    const uint8_t attrs[] = { ISA_DGE_SWDGE, ISA_OOB_ERROR };
    const uint32_t i = isa_emit(n.f, ISA_dma_gather, ISA_POOL, 3, o, 2, attrs, 0);
    n.f->insns.items[i].queue = 1;
    chain(&n, i);
    net_store(&n, y, AT_Y);
    return net_neff(&n);
}

glia_strbuf neff_scratch(const char *name, uint64_t bytes)
{
    net n = net_begin(name, "trn2", 1);
    const uint32_t a = net_tensor(&n, "a", ISA_TENSOR_INPUT, 128, 8);
    const uint32_t y = net_tensor(&n, "y", ISA_TENSOR_OUTPUT, 128, 8);
    (void)isa_tensor_add(n.program, "spill", ISA_TENSOR_SCRATCH, NUM_U8, 1, (int64_t[]){ (int64_t)bytes });
    net_load(&n, AT_A, a);
    net_store(&n, y, AT_A);
    return net_neff(&n);
}

glia_strbuf neff_constant(void)
{
    static float ones[128 * 8];
    for (size_t k = 0; k < COUNT_OF(ones); k++) ones[k] = 1;
    net n = net_begin("constant", "trn2", 1);
    const uint32_t a = net_tensor(&n, "a", ISA_TENSOR_INPUT, 128, 8);
    const uint32_t one = net_tensor(&n, "one", ISA_TENSOR_CONST, 128, 8);
    const uint32_t y = net_tensor(&n, "y", ISA_TENSOR_OUTPUT, 128, 8);
    n.program->tensors.items[one].data = (glia_span){ (const uint8_t *)ones, sizeof ones };
    net_load(&n, AT_A, a);
    net_load(&n, AT_B, one);
    net_binary(&n, ISA_ALU_ADD, AT_Y, AT_A, AT_B, 8);
    net_store(&n, y, AT_Y);
    return net_neff(&n);
}

glia_strbuf neff_dynamic(void)
{
    enum { REG_N = 1, REG_I = 2 };
    net n = net_begin("dynamic", "trn2", 1);
    const uint32_t a = net_tensor(&n, "a", ISA_TENSOR_INPUT, 128, 8);
    const uint32_t count = isa_tensor_add(n.program, "n", ISA_TENSOR_INPUT, NUM_S32, 1, (int64_t[]){ 1 });
    const uint32_t y = net_tensor(&n, "y", ISA_TENSOR_OUTPUT, 128, 8);
    net_load(&n, AT_A, a);
    isa_operand one = isa_hbm(isa_slot_global(n.f, n.program, count), NUM_S32, 0, 0, NULL, NULL);
    (void)isa_emit(n.f, ISA_reg_load, ISA_DVE, 4, (isa_operand[]){ isa_reg(REG_N), one, isa_imm_int(0), isa_imm_int(100) }, 0,
                   NULL, 0);
    const uint32_t loop = isa_emit(n.f, ISA_for, ISA_DVE, 4,
                                   (isa_operand[]){ isa_reg(REG_I), isa_imm_int(0), isa_reg(REG_N), isa_imm_int(1) }, 0, NULL, 0);
    const isa_operand tile = isa_chip(ISA_SBUF, NUM_F32, 0, 128, AT_A, 8);
    const uint8_t add = ISA_ALU_ADD;
    const uint32_t first = isa_emit(n.f, ISA_tensor_tensor, ISA_DVE, 3, (isa_operand[]){ tile, tile, tile }, 1, &add, 0);
    isa_add_wait(n.f, first, (uint16_t)(n.semaphore - 1), 1, false);
    (void)isa_emit(n.f, ISA_end_for, ISA_DVE, 0, NULL, 0, NULL, 0);
    (void)loop;
    // One more step outside the loop, so that the store has something to wait for.
    const isa_operand copy[] = { isa_chip(ISA_SBUF, NUM_F32, 0, 128, AT_Y, 8), tile };
    const uint32_t last = isa_emit(n.f, ISA_tensor_copy, ISA_DVE, 2, copy, 0, NULL, 0);
    chain(&n, last);
    net_store(&n, y, AT_Y);
    return net_neff(&n);
}

glia_strbuf neff_product(bool packed)
{
    net n = net_begin("product", "trn2", 1);
    const uint32_t w = net_tensor(&n, "w", ISA_TENSOR_INPUT, 128, 128), x = net_tensor(&n, "x", ISA_TENSOR_INPUT, 128, 64);
    const uint32_t y = net_tensor(&n, "y", ISA_TENSOR_OUTPUT, 128, 64);
    if (packed) n.program->tensors.items[w].layout = (isa_layout){ 2, { { 1, 128, 1 }, { 1, 128, 0 } } };
    n.program->tensors.items[w].weight = 1;
    // Packed, SBUF partition r, element c = w[r, c], which lies at c * 128 + r.
    const int64_t rows = packed ? 1 : 128, columns = packed ? 128 : 1;
    const isa_operand from = isa_hbm(isa_slot_global(n.f, n.program, w), NUM_F32, 0, 2, (int64_t[]){ rows, columns }, (uint32_t[]){ 128, 128 });
    chain(&n, isa_emit_dma(n.f, ISA_dma_copy, ISA_SP, 0, sbuf_of(&n, w, AT_A), from, ISA_DGE_NONE, 0));
    net_load(&n, AT_B, x);
    const isa_operand psum = isa_chip(ISA_PSUM, NUM_F32, 0, 128, 0, 64);
    const isa_operand o[] = { psum, sbuf_of(&n, w, AT_A), sbuf_of(&n, x, AT_B) };
    chain(&n, isa_emit(n.f, ISA_matmul, ISA_PE, 3, o, 0, NULL, 0));
    chain(&n, isa_emit(n.f, ISA_tensor_copy, ISA_DVE, 2, (isa_operand[]){ sbuf_of(&n, y, AT_Y), psum }, 0, NULL, 0));
    net_store(&n, y, AT_Y);
    return net_neff(&n);
}

glia_strbuf neff_round(void)
{
    net n = net_begin("round", "trn2", 1);
    const uint32_t a = net_tensor(&n, "a", ISA_TENSOR_INPUT, 128, 8);
    const uint32_t y = isa_tensor_add(n.program, "y", ISA_TENSOR_OUTPUT, NUM_BF16, 2, (int64_t[]){ 128, 8 });
    net_load(&n, AT_A, a);
    chain(&n, isa_emit(n.f, ISA_tensor_copy, ISA_DVE, 2, (isa_operand[]){ sbuf_of(&n, y, AT_Y), sbuf_of(&n, a, AT_A) }, 0, NULL, 0));
    net_store(&n, y, AT_Y);
    return net_neff(&n);
}

// ---- sessions ------------------------------------------------------------------------------------------------------

static void set_environment(const char *first, va_list more)
{
    for (uint32_t k = 0; k < rt_env_count(); k++) unsetenv(rt_env_at(k)->name);
    for (const char *pair = first; pair; pair = va_arg(more, const char *)) {
        char name[128];
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(pair, "="), pair);
        setenv(name, strchr(pair, '=') + 1, 1);
    }
}

void session_environment(const char *first, ...)
{
    va_list more;
    va_start(more, first);
    set_environment(first, more);
    va_end(more);
    (void)glia_rt_set_log_level("quiet");
}

void session_begin(const char *first, ...)
{
    va_list more;
    nrt_close();            // what a failed test left
    va_start(more, first);
    set_environment(first, more);
    va_end(more);
    setenv("NEURON_RT_LOG_LEVEL", "QUIET", 1);
    setenv("GLIA_THREADS", "1", 0);
    EXPECT_NRT(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
}

void session_end(void)
{
    nrt_close();
}

nrt_model_t *session_load(glia_strbuf neff, int vnc)
{
    nrt_model_t *model = NULL;
    EXPECT_NRT(nrt_load(neff.data, neff.size, vnc, -1, &model), NRT_SUCCESS);
    glia_strbuf_fini(&neff);
    return model;
}

nrt_tensor_t *session_tensor(int vnc, size_t floats, float first, float step)
{
    nrt_tensor_t *t = NULL;
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, vnc, floats * 4, "t", &t), NRT_SUCCESS);
    float *values = glia_alloc(floats * 4);
    for (size_t k = 0; k < floats; k++) values[k] = first + step * (float)k;
    EXPECT_NRT(nrt_tensor_write(t, values, 0, floats * 4), NRT_SUCCESS);
    glia_free(values);
    return t;
}

nrt_tensor_set_t *session_set(const char *name, nrt_tensor_t *tensor, ...)
{
    nrt_tensor_set_t *set = NULL;
    va_list more;
    EXPECT_NRT(nrt_allocate_tensor_set(&set), NRT_SUCCESS);
    va_start(more, tensor);
    while (name) {
        EXPECT_NRT(nrt_add_tensor_to_tensor_set(set, name, tensor), NRT_SUCCESS);
        name = va_arg(more, const char *);
        if (name) tensor = va_arg(more, nrt_tensor_t *);
    }
    va_end(more);
    return set;
}

void expect_floats(const nrt_tensor_t *t, size_t floats, float first, float step)
{
    float *values = glia_alloc(floats * 4);
    EXPECT_NRT(nrt_tensor_read(t, values, 0, floats * 4), NRT_SUCCESS);
    for (size_t k = 0; k < floats; k++)
        if (values[k] != first + step * (float)k)
            FAIL_TEST("element %zu is %g, want %g", k, (double)values[k], (double)(first + step * (float)k));
    glia_free(values);
}
