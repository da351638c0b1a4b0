// SPDX-License-Identifier: Apache-2.0
// Sequencers: registers, loops, branches, calls, barriers. Control is replicated in the engines that take part: a loop
// variable is written in each of them, and a value that control reads from a register must be the same in all, since
// the hardware's engines would otherwise part ways. Semaphores order engines in time; program order is what executes.
#include "dev/alu.h"
#include "dev/machine.h"

// ---- registers -----------------------------------------------------------------------------------------------------

glia_status dev_exec_reg_move(dev_exec *x)
{
    *dev_reg(x, x->operand[0].tensor) = (int32_t)dev_scalar_int(x, 1);
    return GLIA_OK;
}

glia_status dev_exec_reg_alu(dev_exec *x)
{
    const isa_alu op = (isa_alu)x->insn->attr[0];
    const int64_t a = (int32_t)dev_scalar_int(x, 1), b = (int32_t)dev_scalar_int(x, 2);
    if (dev_alu_kind_of(op) != DEV_ALU_BITVEC && !dev_alu_has_int(op))
        return dev_fault(x, "registers have no operator '%s'", isa_alu_name(op));
    const bool bits = dev_alu_kind_of(op) == DEV_ALU_BITVEC;
    *dev_reg(x, x->operand[0].tensor) =
        (int32_t)(bits ? dev_alu_bits(op, (uint32_t)a, (uint32_t)b, 32) : (uint32_t)dev_alu_int(op, a, b));
    return GLIA_OK;
}

// Clamped to [min, max] when given, before it is cut to the register's 32 bits.
glia_status dev_exec_reg_load(dev_exec *x)
{
    const dev_ap *src = &x->ap[1];
    const num_dtype t = (num_dtype)src->dtype;
    int64_t v = num_to_i64(t, num_load(t, src->base));
    if (dev_has(x, 3) && v > dev_scalar_int(x, 3)) v = dev_scalar_int(x, 3);
    if (dev_has(x, 2) && v < dev_scalar_int(x, 2)) v = dev_scalar_int(x, 2);
    *dev_reg(x, x->operand[0].tensor) = (int32_t)v;
    return GLIA_OK;
}

glia_status dev_exec_reg_store(dev_exec *x)
{
    const dev_ap *dst = &x->ap[0];
    const num_dtype t = (num_dtype)dst->dtype;
    const int64_t v = *dev_reg(x, x->operand[1].tensor);
    num_store(t, dst->base, t == NUM_BOOL ? v != 0 : (uint64_t)v);
    return GLIA_OK;
}

// ---- agreement of the engines --------------------------------------------------------------------------------------

static glia_status control_value(const dev_exec *x, int slot, int64_t *out)
{
    const isa_operand *o = &x->operand[slot];
    *out = dev_scalar_int(x, slot);
    if (o->space != ISA_REG) return GLIA_OK;
    for (int e = 0; e < ISA_ENGINE_COUNT; e++) {
        if (!(x->insn->engines & 1u << e)) continue;
        const int32_t other = x->core->at.registers[e][o->tensor];
        if (other != *out)
            return dev_fault(x, "register r%u is %lld in %s and %d in %s: they would take different ways", o->tensor,
                             (long long)*out, isa_engine_name((isa_engine)x->insn->engine), other,
                             isa_engine_name((isa_engine)e));
    }
    return GLIA_OK;
}

static void jump(dev_exec *x, uint32_t pc)
{
    dev_top(&x->core->at)->pc = pc;
}

// ---- loops ---------------------------------------------------------------------------------------------------------

static int64_t trace_begin(dev_exec *x)
{
    if (!x->options->trace) return -1;
    VEC_PUSH(&x->core->at.trips) = 0;
    return x->core->at.trips.count - 1;
}

static void set_loop_variable(dev_exec *x, const isa_insn *head, const isa_operand *var, int64_t value)
{
    x->core->at.registers[head->engine][var->tensor] = (int32_t)value;
    for (int e = 0; e < ISA_ENGINE_COUNT; e++)
        if (head->engines & 1u << e) x->core->at.registers[e][var->tensor] = (int32_t)value;
}

glia_status dev_exec_for(dev_exec *x)
{
    dev_loop loop = { .head = x->pc, .trace = -1 };
    TRY(control_value(x, 1, &loop.value));
    TRY(control_value(x, 2, &loop.limit));
    loop.stride = x->operand[3].offset;
    if (loop.stride <= 0) return dev_fault(x, "the stride is %lld, it must be positive", (long long)loop.stride);
    const bool is_static = x->operand[1].space == ISA_IMM && x->operand[2].space == ISA_IMM;
    if (!is_static) loop.trace = trace_begin(x);
    if (loop.value >= loop.limit) {
        jump(x, *x->target + 1);
        return GLIA_OK;
    }
    if (loop.trace >= 0) x->core->at.trips.items[loop.trace]++;
    set_loop_variable(x, x->insn, &x->operand[0], loop.value);
    VEC_PUSH(&x->core->at.loops) = loop;
    return GLIA_OK;
}

glia_status dev_exec_end_for(dev_exec *x)
{
    dev_position *at = &x->core->at;
    dev_loop *loop = &at->loops.items[at->loops.count - 1];
    loop->value += loop->stride;
    loop->iteration++;
    if (loop->value >= loop->limit) {
        at->loops.count--;
        return GLIA_OK;
    }
    if (loop->trace >= 0) at->trips.items[loop->trace]++;
    const isa_insn *head = &x->f->insns.items[loop->head];
    set_loop_variable(x, head, isa_operand_of(x->f, head, 0), loop->value);
    jump(x, loop->head + 1);
    return GLIA_OK;
}

static glia_status condition(const dev_exec *x, bool *out)
{
    const isa_alu compare = (isa_alu)x->insn->attr[0];
    int64_t a, b;
    if (!dev_alu_compares(compare)) return dev_fault(x, "'%s' does not compare", isa_alu_name(compare));
    TRY(control_value(x, 0, &a));
    TRY(control_value(x, 1, &b));
    *out = dev_alu_compare_int(compare, a, b);
    return GLIA_OK;
}

// Entered from above it opens a loop; from its end_while, the loop is there already.
glia_status dev_exec_while(dev_exec *x)
{
    dev_position *at = &x->core->at;
    const bool again = at->loops.count > dev_top(at)->first_loop && at->loops.items[at->loops.count - 1].head == x->pc;
    if (!again) VEC_PUSH(&at->loops) = (dev_loop){ .head = x->pc, .trace = trace_begin(x) };
    bool goes_on = false;
    TRY(condition(x, &goes_on));
    dev_loop *loop = &at->loops.items[at->loops.count - 1];
    if (!goes_on) {
        at->loops.count--;
        jump(x, *x->target + 1);
        return GLIA_OK;
    }
    if (loop->trace >= 0) at->trips.items[loop->trace]++;
    return GLIA_OK;
}

glia_status dev_exec_end_while(dev_exec *x)
{
    dev_position *at = &x->core->at;
    at->loops.items[at->loops.count - 1].iteration++;
    jump(x, *x->target);
    return GLIA_OK;
}

// ---- branches, calls -----------------------------------------------------------------------------------------------

glia_status dev_exec_if(dev_exec *x)
{
    bool taken = false;
    TRY(condition(x, &taken));
    const int64_t trace = trace_begin(x);
    if (trace >= 0) x->core->at.trips.items[trace] = taken;
    if (!taken) jump(x, *x->target + 1);        // past the else, or the end_if
    return GLIA_OK;
}

glia_status dev_exec_else(dev_exec *x)          // reached from the taken branch
{
    jump(x, *x->target + 1);
    return GLIA_OK;
}

glia_status dev_exec_end_if(dev_exec *x)
{
    return GLIA_OK;
}

glia_status dev_exec_call(dev_exec *x)
{
    const isa_core *code = &x->loaded->program->cores[x->core_index];
    const uint32_t function = (uint32_t)x->operand[0].offset;
    const isa_table *table = NULL;
    int64_t row = 0;
    if (dev_has(x, 1)) table = &code->tables.items[x->operand[1].offset];
    if (dev_has(x, 2)) TRY(control_value(x, 2, &row));
    if (table && (row < 0 || row >= table->rows))
        return dev_fault(x, "row %lld of a binding table that has %u", (long long)row, table->rows);
    return dev_enter(x->loaded, x->core_index, function, table, (uint32_t)row, x);
}

// ---- meeting points ------------------------------------------------------------------------------------------------

glia_status dev_exec_wait(dev_exec *x)
{
    return GLIA_OK;
}

glia_status dev_exec_barrier(dev_exec *x)
{
    if (x->machine->core_count == 1) return GLIA_OK;
    x->core->at.state = DEV_AT_BARRIER;
    x->core->at.barrier = x->insn->attr[0];
    return GLIA_OK;
}
