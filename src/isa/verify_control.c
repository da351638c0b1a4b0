// SPDX-License-Identifier: Apache-2.0
// Rules of programs as a whole: cores, engines in control, barriers, semaphore sums, where register values come from.
// Control is replicated in each engine that takes part, so that what one engine skips the others must skip too; and
// nothing resets a semaphore, so that both arms of a branch must leave the same sums behind.
#include "isa/judge.h"

#include <string.h>

// ---- program ----

void isa_rule_target(isa_judge *j)
{
    if (strcmp(j->p->target, j->chip->target) != 0)
        isa_violation(j, "was compiled for '%s', this is '%s'; recompile it with --target %s", j->p->target,
                      j->chip->target, j->chip->target);
}

void isa_rule_lnc(isa_judge *j)
{
    if (!hw_lnc_is_legal(j->chip, (int)j->p->core_count))
        isa_violation(j, "uses %u physical cores as one, %s allows %lld", j->p->core_count, j->chip->name,
                      (long long)hw_int(j->chip->lnc_max));
}

// A sequence of barriers as a polynomial hash that concatenation and repetition respect: unrolled and rolled loops, and
// called and inlined bodies, compare equal. Arithmetic is modulo 2^61 - 1.
typedef struct barriers {
    uint64_t hash, power; // power = base^length
    uint64_t count;       // saturates; of a dynamic loop, as if it ran once
} barriers;
#define MODULUS ((1ull << 61) - 1)

static uint64_t mul_mod(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b % MODULUS);
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static const barriers no_barriers = {0, 1, 0};

static barriers one_barrier(uint64_t token)
{
    return (barriers){token % MODULUS, 1000003, 1};
}

static barriers then(barriers a, barriers b)
{
    return (barriers){(mul_mod(a.hash, b.power) + b.hash) % MODULUS, mul_mod(a.power, b.power),
                      add_saturated(a.count, b.count)};
}

static barriers repeat(barriers a, uint64_t times)
{
    barriers out = no_barriers;
    for (; times; times >>= 1) {
        if (times & 1) out = then(out, a);
        a = then(a, a);
    }
    return out;
}

// Iterations of a loop whose bounds are immediates; -1 if they are not.
static int64_t trips_of(const isa_function *f, const isa_insn *i)
{
    if (i->op != ISA_for) return -1;
    const isa_operand *start = isa_operand_of(f, i, 1), *limit = isa_operand_of(f, i, 2),
                      *stride = isa_operand_of(f, i, 3);
    if (start->space != ISA_IMM || limit->space != ISA_IMM || stride->offset <= 0) return -1;
    if (limit->offset <= start->offset) return 0;
    const __int128 span = (__int128)limit->offset - start->offset;
    return (int64_t)((span + stride->offset - 1) / stride->offset);
}

typedef struct barrier_frame {
    const isa_insn *open;
    barriers before, arm;
    bool has_arm;
} barrier_frame;

static barriers close_frame(const isa_function *f, const barrier_frame *frame, barriers body)
{
    if (body.count == 0 && (!frame->has_arm || frame->arm.count == 0)) return frame->before;
    const int64_t trips = trips_of(f, frame->open);
    if (trips >= 0) return then(frame->before, repeat(body, (uint64_t)trips));
    // What runs an unknown number of times, or one of two arms, is a token of its own: only its like equals it.
    uint64_t token = mul_mod(body.hash + 17, 0x9e3779b97f4a7c15ull % MODULUS);
    if (frame->has_arm) token = mul_mod(token + frame->arm.hash + 29, 0xbf58476d1ce4e5b9ull % MODULUS);
    barriers b = one_barrier(token);
    b.count = add_saturated(body.count, frame->has_arm ? frame->arm.count : 0);
    return then(frame->before, b);
}

static barriers barriers_of(const isa_function *f, const barriers *callees)
{
    barrier_frame stack[ISA_CONTROL_DEPTH];
    int depth = 0;
    barriers now = no_barriers;
    for (uint32_t n = 0; n < f->insns.count; n++) {
        const isa_insn *i = &f->insns.items[n];
        switch (i->op) {
        case ISA_barrier:
            now = then(now, one_barrier(i->attr[0] + 1u));
            break;
        case ISA_call:
            now = then(now, callees[isa_operand_of(f, i, 0)->offset]);
            break;
        case ISA_for:
        case ISA_while:
        case ISA_if:
            stack[depth++] = (barrier_frame){.open = i, .before = now};
            now = no_barriers;
            break;
        case ISA_else:
            stack[depth - 1].arm = now;
            stack[depth - 1].has_arm = true;
            now = no_barriers;
            break;
        case ISA_end_for:
        case ISA_end_while:
        case ISA_end_if:
            now = close_frame(f, &stack[--depth], now);
            break;
        default:
            break;
        }
    }
    return now;
}

static barriers barriers_of_core(const isa_core *core)
{
    barriers *of = glia_alloc(glia_array_bytes(core->functions.count, sizeof *of));
    for (uint32_t k = core->functions.count; k-- > 0;)
        of[k] = barriers_of(core->functions.items[k], of);
    const barriers entry = of[0];
    glia_free(of);
    return entry;
}

void isa_rule_barrier_pair(isa_judge *j)
{
    const barriers a = barriers_of_core(&j->p->cores[0]);
    if (j->p->core_count == 1) {
        if (a.count) isa_violation(j, "has barriers, but one core");
        return;
    }
    const barriers b = barriers_of_core(&j->p->cores[1]);
    if (a.count != b.count)
        isa_violation(j, "core 0 meets %llu barriers, core 1 %llu", (unsigned long long)a.count,
                      (unsigned long long)b.count);
    else if (a.hash != b.hash || a.power != b.power)
        isa_violation(j, "both cores meet %llu barriers, but not the same ones in the same order",
                      (unsigned long long)a.count);
}

// ---- instructions ----

void isa_rule_engine(isa_judge *j)
{
    if (!(j->row->engines & (1u << j->i->engine)))
        isa_violation(j, "%s does not execute '%s'", isa_engine_name((isa_engine)j->i->engine), j->row->name);
}

void isa_rule_generation(isa_judge *j)
{
    if (j->generation < j->row->gen)
        isa_violation(j, "'%s' exists from generation %u on, %s is %d", j->row->name, j->row->gen, j->chip->name,
                      j->generation);
}

void isa_rule_loop_stride(isa_judge *j)
{
    if (j->i->op == ISA_for && j->operands[3].offset <= 0)
        isa_violation(j, "steps by %lld", (long long)j->operands[3].offset);
}

void isa_rule_semaphore_value(isa_judge *j)
{
    for (uint32_t k = 0; k < j->i->update_count; k++) {
        const isa_update *u = &j->f->updates.items[j->i->update + k];
        if (u->value <= 0) isa_violation(j, "adds %d to semaphore %u", u->value, u->sem);
    }
    for (uint32_t k = 0; k < j->i->wait_count; k++) {
        const isa_wait *w = &j->f->waits.items[j->i->wait + k];
        if (!w->relative && w->value < 0) isa_violation(j, "waits until semaphore %u is %d", w->sem, w->value);
    }
}

// ---- engines and registers of a core's functions, with those that they call ----

typedef struct usage {
    uint8_t engines;
    uint64_t writes[ISA_ENGINE_COUNT]; // registers, as bits
} usage;

static void use_insn(usage *u, const isa_function *f, const isa_insn *i)
{
    u->engines |= (uint8_t)(i->engines | 1u << i->engine);
    const isa_row *row = isa_row_get((isa_op)i->op);
    for (int k = 0; k < row->operand_count; k++) {
        const isa_operand *o = isa_operand_of(f, i, k);
        if (o->space != ISA_REG || row->operands[k].access != ISA_WRITE) continue;
        for (int e = 0; e < ISA_ENGINE_COUNT; e++)
            if (((i->engines | 1u << i->engine) >> e) & 1) u->writes[e] |= 1ull << o->tensor;
    }
}

// Of the functions from `from` on: what a function uses includes its callees, whose numbers are greater.
static usage *usage_of(const isa_core *core, uint32_t from)
{
    usage *of = glia_alloc(glia_array_bytes(core->functions.count, sizeof *of));
    for (uint32_t k = core->functions.count; k-- > from;) {
        const isa_function *f = core->functions.items[k];
        for (uint32_t n = 0; n < f->insns.count; n++) {
            const isa_insn *i = &f->insns.items[n];
            use_insn(&of[k], f, i);
            if (i->op != ISA_call) continue;
            const usage *callee = &of[isa_operand_of(f, i, 0)->offset];
            of[k].engines |= callee->engines;
            for (int e = 0; e < ISA_ENGINE_COUNT; e++)
                of[k].writes[e] |= callee->writes[e];
        }
    }
    return of;
}

static bool has_control(const isa_function *f)
{
    for (uint32_t n = 0; n < f->insns.count; n++)
        if (isa_is_control((isa_op)f->insns.items[n].op)) return true;
    return false;
}

static void put_engines(char out[32], uint8_t mask)
{
    out[0] = 0;
    for (int e = 0; e < ISA_ENGINE_COUNT; e++) {
        if (!((mask >> e) & 1)) continue;
        if (out[0]) strcat(out, "|");
        strcat(out, isa_engine_name((isa_engine)e));
    }
}

static void outside(isa_judge *j, uint32_t n, uint8_t engines, const char *what, uint8_t mask)
{
    char a[32], b[32];
    put_engines(a, engines);
    put_engines(b, mask);
    j->insn = n;
    j->i = &j->f->insns.items[n];
    isa_violation(j, "%s %s, in which only %s take part", a, what, b);
    j->i = NULL;
}

static void check_engines(isa_judge *j, const usage *of)
{
    uint8_t masks[ISA_CONTROL_DEPTH];
    int depth = 0;
    for (uint32_t n = 0; n < j->f->insns.count; n++) {
        const isa_insn *i = &j->f->insns.items[n];
        const uint8_t uses = (uint8_t)(i->engines | 1u << i->engine);
        const bool part = i->op == ISA_else || i->op == ISA_end_for || i->op == ISA_end_while || i->op == ISA_end_if;
        const uint8_t around = depth ? masks[depth - 1] : 0xff;
        if (uses & ~around) outside(j, n, (uint8_t)(uses & ~around), "is inside a construct", around);
        if (part && i->engines != around) outside(j, n, i->engines, "is the mask of a part of a construct", around);
        if (isa_is_control((isa_op)i->op) && !((i->engines >> i->engine) & 1))
            outside(j, n, (uint8_t)(1u << i->engine), "leads control", i->engines);
        if (i->op == ISA_call) {
            const uint8_t callee = of[isa_operand_of(j->f, i, 0)->offset].engines;
            if (callee & ~i->engines)
                outside(j, n, (uint8_t)(callee & ~i->engines), "is used by the callee of a call", i->engines);
        }
        if (i->op == ISA_for || i->op == ISA_while || i->op == ISA_if)
            masks[depth++] = i->engines;
        else if (part && i->op != ISA_else)
            depth--;
    }
}

void isa_rule_control_engines(isa_judge *j)
{
    if (!has_control(j->f)) return;
    usage *of = usage_of(&j->p->cores[j->core], j->function);
    check_engines(j, of);
    glia_free(of);
}

typedef struct loop_frame {
    bool is_for;
    uint8_t engines, reg;
} loop_frame;

static void check_loop_writes(isa_judge *j, uint32_t n, const usage *u, const loop_frame *stack, int depth)
{
    for (int d = 0; d < depth; d++)
        for (int e = 0; stack[d].is_for && e < ISA_ENGINE_COUNT; e++) {
            if (!((stack[d].engines >> e) & 1) || !((u->writes[e] >> stack[d].reg) & 1)) continue;
            j->insn = n;
            j->i = &j->f->insns.items[n];
            isa_violation(j, "writes r%u of %s, the register of a loop around it", stack[d].reg,
                          isa_engine_name((isa_engine)e));
            j->i = NULL;
            return;
        }
}

void isa_rule_loop_register(isa_judge *j)
{
    if (!has_control(j->f)) return;
    usage *of = usage_of(&j->p->cores[j->core], j->function + 1);
    loop_frame stack[ISA_CONTROL_DEPTH];
    int depth = 0;
    for (uint32_t n = 0; n < j->f->insns.count; n++) {
        const isa_insn *i = &j->f->insns.items[n];
        usage own = {0};
        use_insn(&own, j->f, i);
        check_loop_writes(j, n, i->op == ISA_call ? &of[isa_operand_of(j->f, i, 0)->offset] : &own, stack, depth);
        if (i->op == ISA_for || i->op == ISA_while || i->op == ISA_if)
            stack[depth++] = (loop_frame){i->op == ISA_for, i->engines,
                                          i->op == ISA_for ? (uint8_t)isa_operand_of(j->f, i, 0)->tensor : 0};
        else if (i->op == ISA_end_for || i->op == ISA_end_while || i->op == ISA_end_if)
            depth--;
    }
    glia_free(of);
}

// ---- bindings that are written ----

void isa_rule_call_write(isa_judge *j)
{
    const isa_core *core = &j->p->cores[j->core];
    for (uint32_t n = 0; n < j->f->insns.count; n++) {
        const isa_insn *i = &j->f->insns.items[n];
        if (i->op != ISA_call || isa_operand_of(j->f, i, 1)->space == ISA_SPACE_NONE) continue;
        const isa_function *callee = core->functions.items[isa_operand_of(j->f, i, 0)->offset];
        const isa_table *t = &core->tables.items[isa_operand_of(j->f, i, 1)->offset];
        j->insn = n;
        j->i = i;
        for (uint32_t s = 0; s < callee->slots.count; s++) {
            const isa_slot *to = &callee->slots.items[s];
            if (to->kind != ISA_SLOT_FORMAL) continue;
            for (uint32_t r = 0; r < t->rows && j->violations < ISA_VIOLATIONS; r++) {
                const isa_slot *from = &j->f->slots.items[t->items[(size_t)r * t->formals + to->index].slot];
                if (from->kind == ISA_SLOT_FORMAL) {
                    if (to->access & ~from->access)
                        isa_violation(j, "row %u binds formal '%s' to '%s', which the caller declares for less", r,
                                      to->name, from->name);
                    continue;
                }
                const uint8_t kind = j->p->tensors.items[from->index].kind;
                if ((to->access & ISA_WRITE) && (kind == ISA_TENSOR_CONST || kind == ISA_TENSOR_INPUT))
                    isa_violation(j, "row %u binds formal '%s', which is written, to '%s', which must not be", r,
                                  to->name, from->name);
            }
        }
    }
    j->i = NULL;
}

// ---- semaphore sums of arms ----

typedef struct sums {
    int64_t value[ISA_SEMAPHORES];
    bool unknown[ISA_SEMAPHORES]; // added to an unknown number of times
} sums;

static void add_sums(sums *to, const sums *from, int64_t times) // times < 0: unknown
{
    for (int s = 0; s < ISA_SEMAPHORES; s++) {
        if (from->value[s] == 0 && !from->unknown[s]) continue;
        int64_t product = 0;
        if (times < 0 || from->unknown[s] || __builtin_mul_overflow(from->value[s], times, &product) ||
            __builtin_add_overflow(to->value[s], product, &to->value[s]))
            to->unknown[s] = times != 0;
    }
}

typedef struct sum_frame {
    const isa_insn *open;
    sums before, arm;
    bool has_arm;
} sum_frame;

// Adds up f's updates into *out; reports unequal arms when `j` is given, which stands at f then.
static void sum_updates(isa_judge *j, const isa_function *f, const sums *const *callees, sum_frame *stack, sums *out)
{
    int depth = 0;
    memset(out, 0, sizeof *out);
    for (uint32_t n = 0; n < f->insns.count; n++) {
        const isa_insn *i = &f->insns.items[n];
        for (uint32_t k = 0; k < i->update_count; k++) {
            const isa_update *u = &f->updates.items[i->update + k];
            if (__builtin_add_overflow(out->value[u->sem], u->value, &out->value[u->sem])) out->unknown[u->sem] = true;
        }
        if (i->op == ISA_call) {
            const sums *callee = callees[isa_operand_of(f, i, 0)->offset];
            if (callee) add_sums(out, callee, 1);
        } else if (i->op == ISA_for || i->op == ISA_while || i->op == ISA_if) {
            stack[depth] = (sum_frame){.open = i, .before = *out};
            depth++;
            memset(out, 0, sizeof *out);
        } else if (i->op == ISA_else) {
            stack[depth - 1].arm = *out;
            stack[depth - 1].has_arm = true;
            memset(out, 0, sizeof *out);
        } else if (i->op == ISA_end_for || i->op == ISA_end_while) {
            sum_frame *frame = &stack[--depth];
            add_sums(&frame->before, out, trips_of(f, frame->open));
            *out = frame->before;
        } else if (i->op == ISA_end_if) {
            sum_frame *frame = &stack[--depth];
            for (int s = 0; j && s < ISA_SEMAPHORES; s++) {
                const bool unknown = frame->arm.unknown[s] || out->unknown[s];
                if (frame->arm.value[s] == out->value[s] && !unknown) continue;
                j->insn = (uint32_t)(frame->open - f->insns.items);
                j->i = frame->open;
                if (unknown)
                    isa_violation(j, "one arm adds to semaphore %d an unknown number of times", s);
                else
                    isa_violation(j, "its first arm adds %lld to semaphore %d, its other arm %lld",
                                  (long long)(frame->has_arm ? frame->arm.value[s] : out->value[s]), s,
                                  (long long)(frame->has_arm ? out->value[s] : 0));
                j->i = NULL;
            }
            add_sums(&frame->before, out, 1);
            *out = frame->before;
        }
    }
}

static bool has_if(const isa_core *core)
{
    for (uint32_t k = 0; k < core->functions.count; k++) {
        const isa_function *f = core->functions.items[k];
        for (uint32_t n = 0; n < f->insns.count; n++)
            if (f->insns.items[n].op == ISA_if) return true;
    }
    return false;
}

// For the whole core at once, when its entry is judged: callees first, since their sums are part of the callers'.
void isa_rule_if_increments(isa_judge *j)
{
    const isa_core *core = &j->p->cores[j->core];
    if (j->function != 0 || !has_if(core)) return;
    const uint32_t count = core->functions.count;
    sums **of = glia_alloc(glia_array_bytes(count, sizeof *of));
    sum_frame *stack = glia_alloc(ISA_CONTROL_DEPTH * sizeof *stack);
    const isa_function *entry = j->f;
    for (j->function = count; j->function-- > 0;) {
        j->f = core->functions.items[j->function];
        of[j->function] = glia_alloc(sizeof **of);
        sum_updates(j, j->f, (const sums *const *)of, stack, of[j->function]);
    }
    j->function = 0;
    j->f = entry;
    for (uint32_t k = 0; k < count; k++)
        glia_free(of[k]);
    glia_free(of);
    glia_free(stack);
}

// ---- addresses that are known before execution ----

typedef struct taint {
    uint64_t reg[ISA_ENGINE_COUNT]; // registers that may hold a loaded value
    bool *calls;                    // functions whose binding may depend on one
} taint;

static bool is_tainted(const taint *t, int engine, const isa_operand *o)
{
    return o->space == ISA_REG && ((t->reg[engine] >> o->tensor) & 1);
}

static bool writes_register(uint8_t op)
{
    return op == ISA_reg_load || op == ISA_reg_move || op == ISA_reg_alu || op == ISA_for;
}

// One round over a function; true if anything was added. What is written under a loaded condition counts as loaded.
static bool spread(taint *t, const isa_function *f, bool in_tainted_call)
{
    bool changed = false, under[ISA_CONTROL_DEPTH];
    int depth = 0;
    for (uint32_t n = 0; n < f->insns.count; n++) {
        const isa_insn *i = &f->insns.items[n];
        const bool loaded_path = depth && under[depth - 1];
        if (i->op == ISA_for || i->op == ISA_while || i->op == ISA_if) {
            const bool condition = i->op != ISA_for && (is_tainted(t, i->engine, isa_operand_of(f, i, 0)) ||
                                                        is_tainted(t, i->engine, isa_operand_of(f, i, 1)));
            under[depth++] = loaded_path || condition;
        } else if (i->op == ISA_end_for || i->op == ISA_end_while || i->op == ISA_end_if)
            depth--;
        if (i->op == ISA_call) {
            const int64_t target = isa_operand_of(f, i, 0)->offset;
            const bool row = is_tainted(t, i->engine, isa_operand_of(f, i, 2));
            if ((row || in_tainted_call) && !t->calls[target]) changed = t->calls[target] = true;
        }
        if (!writes_register(i->op)) continue;
        for (int e = 0; e < ISA_ENGINE_COUNT; e++) {
            if (!(((i->engines | 1u << i->engine) >> e) & 1)) continue;
            bool loaded = i->op == ISA_reg_load || loaded_path;
            for (int k = 1; k < i->operand_count; k++)
                loaded |= is_tainted(t, e, isa_operand_of(f, i, k));
            const uint64_t bit = 1ull << isa_operand_of(f, i, 0)->tensor;
            if (!loaded || (t->reg[e] & bit)) continue;
            t->reg[e] |= bit;
            changed = true;
        }
    }
    return changed;
}

static void check_static(isa_judge *j, const taint *t)
{
    for (uint32_t n = 0; n < j->f->insns.count; n++) {
        const isa_insn *i = &j->f->insns.items[n];
        if (!isa_is_dma((isa_op)i->op) || i->attr[0] != ISA_DGE_NONE) continue;
        j->insn = n;
        j->i = i;
        for (int k = 0; k < 2; k++) {
            const isa_operand *o = isa_operand_of(j->f, i, k);
            for (int m = 0; m < o->term_count; m++)
                if ((t->reg[i->engine] >> o->terms[m].reg) & 1)
                    isa_violation(j, "its address comes from r%u, which is loaded from memory; use swdge or hwdge",
                                  o->terms[m].reg);
            const bool formal = o->space == ISA_HBM && j->f->slots.items[o->tensor].kind == ISA_SLOT_FORMAL;
            if (formal && t->calls[j->function])
                isa_violation(j, "formal '%s' is bound by a loaded row; use swdge or hwdge",
                              j->f->slots.items[o->tensor].name);
        }
        j->i = NULL;
    }
}

static bool loads_registers(const isa_core *core)
{
    for (uint32_t k = 0; k < core->functions.count; k++) {
        const isa_function *f = core->functions.items[k];
        for (uint32_t n = 0; n < f->insns.count; n++)
            if (f->insns.items[n].op == ISA_reg_load) return true;
    }
    return false;
}

// For the whole core at once: which registers may hold loaded values, wherever they are written. Loop counters between
// immediates, and what is computed from them, are known beforehand: a ring of descriptors is made for every iteration.
void isa_rule_dma_static(isa_judge *j)
{
    const isa_core *core = &j->p->cores[j->core];
    if (j->function != 0 || !loads_registers(core)) return;
    const isa_function *entry = j->f;
    taint t = {.calls = glia_alloc(core->functions.count)};
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < core->functions.count; k++)
            changed |= spread(&t, core->functions.items[k], t.calls[k]);
    }
    for (j->function = 0; j->function < core->functions.count; j->function++) {
        j->f = core->functions.items[j->function];
        check_static(j, &t);
    }
    j->function = 0;
    j->f = entry;
    glia_free(t.calls);
}
