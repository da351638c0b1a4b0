// SPDX-License-Identifier: Apache-2.0
// Walking a core's program in program order, calls and loops expanded, with what registers may hold and how far every
// semaphore has counted.
//
// A branch whose condition is not known is taken as the walk's way says; a loop whose trip count is not known runs a
// few times, or as seldom as it can; the judge walks all ways (HZ_WAYS). What such a loop or branch writes to registers
// is unknown before it and after it, since the walk stands for any number of iterations. A long loop with equal
// iterations is walked at its beginning, in its middle, with its variable as a symbol that takes all values between,
// and at its end.
//
// Counts are those of program order. After a loop of unknown length they are known only relative to what comes later:
// its semaphores enter a new epoch, and a wait implies nothing about epochs after that of its base.
#include "isa/hazards_internal.h"

#include <string.h>

enum { LONG_INSNS = 4096, WHILE_TRIPS = 64, ENGINES = ISA_ENGINE_COUNT };

typedef struct loop {
    uint32_t open, end, outer_frame;
    bool is_for, dynamic, skips;
    int64_t trips, k; // iterations in all, and the current one
    hz_value start;
    int64_t stride;
    uint32_t middle; // symbol of the middle iterations, or of all when dynamic
    int64_t *count;  // semaphores when the current iteration began
} loop;

typedef struct activation {
    uint32_t function, pc, outer_frame;
    const hz_slot *slots;
    uint32_t loops; // open ones of the callers
} activation;

struct hz_walker {
    const isa_program *p;
    const isa_core *c;
    uint32_t core;
    hz_way way;
    const uint8_t *written;
    hz_symbols *symbols;
    glia_arena *arena;
    hz_survey *info;
    VEC(activation) calls;
    VEC(loop) loops;
    VEC(hz_frame) frames;
    uint32_t frame;
    uint16_t index_of[ISA_SEMAPHORES]; // + 1
    uint32_t semaphores;
    int64_t *count;
    uint32_t *epoch;
    bool *leapt; // increments that were not walked
    hz_value reg[ENGINES][ISA_REGISTERS];
    uint64_t steps;
    uint32_t branches; // unknown ones so far
    bool chose;
};

// ---- creation ------------------------------------------------------------------------------------------------------

static uint32_t storage_of(const isa_program *p, uint32_t tensor)
{
    const isa_tensor *t = &p->tensors.items[tensor];
    return t->kind == ISA_TENSOR_OUTPUT && t->alias >= 0 ? (uint32_t)t->alias : tensor;
}

static hz_slot slot_to(hz_walker *w, uint32_t tensor)
{
    hz_target *t = ARENA_NEW(w->arena, hz_target);
    *t = (hz_target){.storage = storage_of(w->p, tensor), .tensor = tensor};
    return (hz_slot){t, 1, false};
}

static uint32_t new_frame(hz_walker *w)
{
    const uint32_t n = w->semaphores;
    hz_frame f = {ARENA_ARRAY(w->arena, int64_t, n + 1), ARENA_ARRAY(w->arena, uint32_t, n + 1)};
    memcpy(f.count, w->count, n * sizeof *w->count);
    memcpy(f.epoch, w->epoch, n * sizeof *w->epoch);
    VEC_PUSH(&w->frames) = f;
    w->steps += n / 16; // frames cost memory
    return w->frames.count - 1;
}

static void number_semaphores(hz_walker *w)
{
    for (uint32_t k = 0; k < w->c->functions.count; k++) {
        const isa_function *f = w->c->functions.items[k];
        for (uint32_t n = 0; n < f->insns.count; n++)
            for (uint32_t u = 0; u < f->insns.items[n].update_count; u++) {
                const uint16_t sem = f->updates.items[f->insns.items[n].update + u].sem;
                if (!w->index_of[sem]) w->index_of[sem] = (uint16_t)++w->semaphores;
            }
    }
    w->count = ARENA_ARRAY(w->arena, int64_t, w->semaphores + 1);
    w->epoch = ARENA_ARRAY(w->arena, uint32_t, w->semaphores + 1);
    w->leapt = ARENA_ARRAY(w->arena, bool, w->semaphores + 1);
}

hz_walker *hz_walker_create(const isa_program *p, uint32_t core, hz_way way, const uint8_t *written,
                            hz_symbols *symbols, glia_arena *arena)
{
    hz_walker *w = ARENA_NEW(arena, hz_walker);
    *w = (hz_walker){
        .p = p, .c = &p->cores[core], .core = core, .way = way, .written = written, .symbols = symbols, .arena = arena};
    number_semaphores(w);
    w->info = ARENA_ARRAY(arena, hz_survey, w->c->functions.count);
    for (uint32_t k = w->c->functions.count; k-- > 0;) { // callees have greater numbers
        const isa_function *f = w->c->functions.items[k];
        w->info[k].end_of = ARENA_ARRAY(arena, uint32_t, f->insns.count + 1);
        w->info[k].else_of = ARENA_ARRAY(arena, uint32_t, f->insns.count + 1);
        hz_survey_control(f, &w->info[k]);
        hz_survey_range(w->info, f, 0, f->insns.count, &w->info[k]);
    }
    const isa_function *entry = w->c->functions.items[0];
    hz_slot *slots = ARENA_ARRAY(arena, hz_slot, entry->slots.count + 1);
    for (uint32_t s = 0; s < entry->slots.count; s++)
        slots[s] = slot_to(w, entry->slots.items[s].index);
    w->frame = new_frame(w);
    VEC_PUSH(&w->calls) = (activation){.slots = slots};
    return w; // registers are zero at the start of an execution, as symbol 0 is
}

void hz_walker_destroy(hz_walker *w)
{
    if (!w) return;
    VEC_FREE(&w->calls);
    VEC_FREE(&w->loops);
    VEC_FREE(&w->frames);
}

// ---- small things --------------------------------------------------------------------------------------------------

bool hz_walker_chose(const hz_walker *w)
{
    return w->chose;
}

hz_value hz_walker_register(const hz_walker *w, uint8_t engine, uint8_t reg)
{
    return w->reg[engine][reg];
}

const hz_frame *hz_walker_frame(const hz_walker *w, uint32_t frame)
{
    return &w->frames.items[frame];
}

uint32_t hz_semaphore_index(const hz_walker *w, uint16_t sem)
{
    return w->index_of[sem] ? w->index_of[sem] - 1u : HZ_NONE;
}

int64_t hz_walker_count(const hz_walker *w, uint32_t sem, uint32_t *epoch)
{
    *epoch = w->epoch[sem];
    return w->count[sem];
}

bool hz_walker_is_regular(const hz_walker *w, uint32_t sem)
{
    return w->epoch[sem] == 0 && !w->leapt[sem];
}

static const isa_function *function_of(const hz_walker *w, const activation *a)
{
    return w->c->functions.items[a->function];
}

// An immediate is not cut to a register's 32 bits before it is in one: loop bounds may be larger.
static hz_value value_of(const hz_walker *w, const isa_insn *i, const isa_operand *o)
{
    const int64_t far = (int64_t)1 << 40;
    if (o->space == ISA_REG) return w->reg[i->engine][o->tensor];
    return hz_constant(o->offset > far ? far : o->offset < -far ? -far : o->offset);
}

static hz_symbol unknown_here(const hz_walker *w, uint32_t function, uint32_t insn, int engine, int reg)
{
    return (hz_symbol){.storage = HZ_NONE,
                       .min = INT32_MIN,
                       .max = INT32_MAX,
                       .engine = (uint8_t)engine,
                       .reg = (uint8_t)reg,
                       .place = {w->core, function, insn}};
}

static void forget(hz_walker *w, const hz_survey *body, uint32_t function, uint32_t insn)
{
    for (int e = 0; e < ENGINES; e++)
        for (int r = 0; body->writes[e] && r < ISA_REGISTERS; r++) {
            if (!((body->writes[e] >> r) & 1)) continue;
            const uint32_t s = hz_symbol_add(w->symbols, unknown_here(w, function, insn, e, r));
            w->reg[e][r] = hz_symbol_value(w->symbols, s, 0);
        }
}

static void new_epoch(hz_walker *w, const hz_survey *body)
{
    for (uint32_t sem = 0; sem < ISA_SEMAPHORES; sem++)
        if ((body->adds[sem / 64] >> sem % 64) & 1) w->epoch[w->index_of[sem] - 1]++;
}

static void add_count(hz_walker *w, uint32_t sem, __int128 by)
{
    const __int128 sum = w->count[sem] + by, far = (__int128)1 << 60;
    if (sum > far || sum < -far)
        w->epoch[sem]++; // beyond any counter: nothing is known of it
    else
        w->count[sem] = (int64_t)sum;
}

// ---- branches ------------------------------------------------------------------------------------------------------

// Does the arm [first, end) add to each semaphore what the other does? Only straight arms are compared.
static bool add_straight(const isa_function *f, uint32_t first, uint32_t end, int64_t sign, int64_t *sums)
{
    for (uint32_t n = first; n < end; n++) {
        const isa_insn *i = &f->insns.items[n];
        if (isa_is_control((isa_op)i->op)) return false;
        for (uint32_t u = 0; u < i->update_count; u++)
            sums[f->updates.items[i->update + u].sem] += sign * f->updates.items[i->update + u].value;
    }
    return true;
}

static bool arms_add_equally(const isa_function *f, uint32_t open, uint32_t middle, uint32_t end)
{
    int64_t sums[ISA_SEMAPHORES] = {0};
    if (!add_straight(f, open + 1, middle, 1, sums)) return false;
    if (middle != end && !add_straight(f, middle + 1, end, -1, sums)) return false;
    for (int k = 0; k < ISA_SEMAPHORES; k++)
        if (sums[k]) return false;
    return true;
}

static bool takes_first_arm(const hz_walker *w)
{
    switch (w->way) {
    case HZ_WAY_THEN:
        return true;
    case HZ_WAY_ELSE:
        return false;
    case HZ_WAY_THEN_ELSE:
        return w->branches % 2 == 1;
    case HZ_WAY_ELSE_THEN:
    case HZ_WAYS:
        break;
    }
    return w->branches % 2 == 0;
}

static void enter_if(hz_walker *w, activation *a, const isa_function *f, const isa_insn *i)
{
    const hz_survey *info = &w->info[a->function];
    const uint32_t open = a->pc, middle = info->else_of[open], end = info->end_of[open];
    int holds = hz_compare((isa_alu)i->attr[0], value_of(w, i, isa_operand_of(f, i, 0)),
                           value_of(w, i, isa_operand_of(f, i, 1)));
    if (holds < 0) {
        w->chose = true;
        w->branches++;
        holds = takes_first_arm(w);
        if (!arms_add_equally(f, open, middle, end)) {
            hz_survey arms = {0};
            hz_survey_range(w->info, f, open + 1, end, &arms);
            new_epoch(w, &arms);
        }
    }
    a->pc = holds ? open + 1 : middle + 1;
}

// ---- loops ---------------------------------------------------------------------------------------------------------

static int64_t trips_between(int64_t start, int64_t limit, int64_t stride)
{
    return limit <= start || stride <= 0 ? 0 : (limit - start - 1) / stride + 1;
}

static void set_variable(hz_walker *w, const loop *l, const isa_function *f)
{
    const isa_insn *i = &f->insns.items[l->open];
    const uint8_t reg = (uint8_t)isa_operand_of(f, i, 0)->tensor;
    const int64_t middle = l->trips / 2;
    hz_value v = hz_constant(l->start.lo + l->k * l->stride);
    if (l->dynamic)
        v = hz_symbol_value(w->symbols, l->middle, l->k * l->stride);
    else if (l->skips && l->k >= HZ_EDGE && l->k < l->trips - HZ_EDGE)
        v = hz_symbol_value(w->symbols, l->middle, (l->k - middle) * l->stride);
    for (int e = 0; e < ENGINES; e++)
        if (((i->engines | 1u << i->engine) >> e) & 1) w->reg[e][reg] = v;
}

static void begin_iteration(hz_walker *w, loop *l)
{
    memcpy(l->count, w->count, w->semaphores * sizeof *w->count);
    w->frame = new_frame(w);
}

static void survey_body(const hz_walker *w, const isa_function *f, const loop *l, hz_survey *out)
{
    *out = (hz_survey){0};
    hz_survey_range(w->info, f, l->open + 1, l->end, out);
}

static loop *open_loop(hz_walker *w, const activation *a, bool is_for)
{
    VEC_PUSH(&w->loops) = (loop){.open = a->pc,
                                 .end = w->info[a->function].end_of[a->pc],
                                 .outer_frame = w->frame,
                                 .is_for = is_for,
                                 .count = ARENA_ARRAY(w->arena, int64_t, w->semaphores + 1)};
    return &w->loops.items[w->loops.count - 1];
}

static void close_loop(hz_walker *w, activation *a, const isa_function *f)
{
    const loop l = w->loops.items[--w->loops.count];
    if (l.dynamic) {
        hz_survey body = {0};
        hz_survey_range(w->info, f, l.open, l.end + 1, &body); // with the variable
        forget(w, &body, a->function, l.open);
        new_epoch(w, &body);
    }
    w->frame = l.outer_frame;
    a->pc = l.end + 1;
}

// A loop that runs an unknown number of times: what its body writes is unknown from now on.
static void make_dynamic(hz_walker *w, loop *l, const activation *a, const isa_function *f)
{
    hz_survey body;
    survey_body(w, f, l, &body);
    forget(w, &body, a->function, l->open);
    l->dynamic = w->chose = true;
}

static int64_t dynamic_trips(const hz_walker *w, int64_t least, int64_t most)
{
    if (w->way == HZ_WAY_ELSE) return least;
    return most < HZ_DYNAMIC_TRIPS ? most : least > HZ_DYNAMIC_TRIPS ? least : HZ_DYNAMIC_TRIPS;
}

static void enter_for(hz_walker *w, activation *a, const isa_function *f, const isa_insn *i)
{
    const hz_value start = value_of(w, i, isa_operand_of(f, i, 1)), limit = value_of(w, i, isa_operand_of(f, i, 2));
    const int64_t stride = isa_operand_of(f, i, 3)->offset;
    const int64_t least = trips_between(start.hi, limit.lo, stride), most = trips_between(start.lo, limit.hi, stride);
    loop *l = open_loop(w, a, true);
    l->start = start;
    l->stride = stride;
    l->trips = most;
    hz_symbol s = unknown_here(w, a->function, a->pc, i->engine, (int)isa_operand_of(f, i, 0)->tensor);
    hz_survey body;
    survey_body(w, f, l, &body);
    if (least != most || !hz_is_exact(start)) {
        make_dynamic(w, l, a, f);
        l->trips = dynamic_trips(w, least > HZ_DYNAMIC_TRIPS ? HZ_DYNAMIC_TRIPS : least, most);
        s.min = start.lo;
        s.max = limit.hi - 1 - (l->trips > 1 ? l->trips - 1 : 0) * stride;
        if (s.max < s.min) s.max = s.min;
        l->middle = hz_symbol_add(w->symbols, s);
    } else if (most > HZ_LONG_TRIPS && !body.varies && hz_times(body.size, (uint64_t)most) > LONG_INSNS) {
        l->skips = true;
        s.min = start.lo + HZ_EDGE * stride;
        s.max = start.lo + (most - HZ_EDGE - 2) * stride; // so that the second of two middle iterations is inside
        s.stride = stride;
        l->middle = hz_symbol_add(w->symbols, s);
    }
    if (l->trips == 0) {
        close_loop(w, a, f);
        return;
    }
    begin_iteration(w, l);
    set_variable(w, l, f);
    a->pc++;
}

// Leaps over iterations that are like the one that ended: their counts are added.
static void leap(hz_walker *w, loop *l, const activation *a, const isa_function *f)
{
    const int64_t middle = l->trips / 2;
    const int64_t to = l->k == HZ_EDGE - 1 ? middle : l->k == middle + 1 ? l->trips - HZ_EDGE : l->k + 1;
    for (uint32_t s = 0; s < w->semaphores && to > l->k + 1; s++) {
        const int64_t each = w->count[s] - l->count[s];
        w->leapt[s] |= each != 0;
        add_count(w, s, (__int128)each * (to - l->k - 1));
    }
    if (to > l->k + 1) {
        hz_survey body;
        survey_body(w, f, l, &body);
        forget(w, &body, a->function, l->open);
    }
    l->k = to;
}

static void end_for(hz_walker *w, activation *a, const isa_function *f)
{
    loop *l = &w->loops.items[w->loops.count - 1];
    if (l->skips)
        leap(w, l, a, f);
    else
        l->k++;
    if (l->k >= l->trips) {
        close_loop(w, a, f);
        return;
    }
    begin_iteration(w, l);
    set_variable(w, l, f);
    a->pc = l->open + 1;
}

// At a `while`, from above or from its end.
static void at_while(hz_walker *w, activation *a, const isa_function *f, const isa_insn *i)
{
    const bool again = w->loops.count > a->loops && w->loops.items[w->loops.count - 1].open == a->pc;
    loop *l = again ? &w->loops.items[w->loops.count - 1] : open_loop(w, a, false);
    if (again) l->k++;
    const int holds = hz_compare((isa_alu)i->attr[0], value_of(w, i, isa_operand_of(f, i, 0)),
                                 value_of(w, i, isa_operand_of(f, i, 1)));
    if (!l->dynamic && (holds < 0 || l->k >= WHILE_TRIPS)) {
        make_dynamic(w, l, a, f);
        l->trips = l->k + dynamic_trips(w, 0, INT32_MAX);
    }
    if (l->dynamic ? l->k >= l->trips : !holds) {
        close_loop(w, a, f);
        return;
    }
    begin_iteration(w, l);
    a->pc++;
}

// ---- calls ---------------------------------------------------------------------------------------------------------

static void add_target(hz_target *list, uint32_t *count, hz_target t)
{
    for (uint32_t k = 0; k < *count; k++) {
        if (list[k].storage != t.storage) continue;
        if (t.lo < list[k].lo) list[k].lo = t.lo;
        if (t.hi > list[k].hi) list[k].hi = t.hi;
        return;
    }
    list[(*count)++] = t;
}

static int64_t offset_sum(int64_t a, uint64_t b)
{
    const int64_t far = (int64_t)1 << 50; // past any memory; sums of a few of these do not overflow
    return b > (uint64_t)far || a > far ? far : a + (int64_t)b;
}

// What a formal stands for over rows [lo, hi] of the call's table.
static hz_slot bind_formal(hz_walker *w, const activation *a, const isa_table *t, uint32_t formal, int64_t lo,
                           int64_t hi)
{
    hz_slot out = {0};
    uint32_t most = 0;
    for (int64_t r = lo; r <= hi; r++)
        most += a->slots[t->items[(size_t)r * t->formals + formal].slot].count;
    hz_target *list = ARENA_ARRAY(w->arena, hz_target, most + 1);
    for (int64_t r = lo; r <= hi; r++) {
        const isa_binding *b = &t->items[(size_t)r * t->formals + formal];
        const hz_slot *from = &a->slots[b->slot];
        for (uint32_t k = 0; k < from->count; k++) {
            hz_target x = from->targets[k];
            x.lo = offset_sum(x.lo, b->offset);
            x.hi = offset_sum(x.hi, b->offset);
            add_target(list, &out.count, x);
        }
        out.dynamic |= from->dynamic;
    }
    out.targets = list;
    out.dynamic |= out.count > 1 || (out.count == 1 && list[0].lo != list[0].hi);
    return out;
}

static void enter_call(hz_walker *w, const isa_function *f, const isa_insn *i)
{
    const activation a = w->calls.items[w->calls.count - 1];
    const uint32_t callee = (uint32_t)isa_operand_of(f, i, 0)->offset;
    const isa_function *g = w->c->functions.items[callee];
    const isa_table *t = g->formal_count ? &w->c->tables.items[isa_operand_of(f, i, 1)->offset] : NULL;
    hz_value row = hz_constant(0);
    if (t && isa_operand_has(f, i, 2)) row = value_of(w, i, isa_operand_of(f, i, 2));
    const int64_t last = t ? (int64_t)t->rows - 1 : 0;
    const int64_t lo = row.lo < 0      ? 0
                       : row.lo > last ? last
                                       : row.lo,
                  hi = row.hi > last ? last
                       : row.hi < lo ? lo
                                     : row.hi;
    w->steps += (uint64_t)(hi - lo);
    hz_slot *slots = ARENA_ARRAY(w->arena, hz_slot, g->slots.count + 1);
    for (uint32_t s = 0; s < g->slots.count; s++) {
        const isa_slot *slot = &g->slots.items[s];
        slots[s] = slot->kind == ISA_SLOT_GLOBAL ? slot_to(w, slot->index) : bind_formal(w, &a, t, slot->index, lo, hi);
    }
    VEC_PUSH(&w->calls) =
        (activation){.function = callee, .outer_frame = w->frame, .slots = slots, .loops = w->loops.count};
    w->frame = new_frame(w);
}

static void leave_call(hz_walker *w)
{
    w->frame = w->calls.items[--w->calls.count].outer_frame;
    if (w->calls.count) w->calls.items[w->calls.count - 1].pc++;
}

// ---- stepping ------------------------------------------------------------------------------------------------------

// Goes on behind a control instruction.
static void control(hz_walker *w, activation *a, const isa_function *f, const isa_insn *i)
{
    switch (i->op) {
    case ISA_call:
        enter_call(w, f, i);
        break;
    case ISA_for:
        enter_for(w, a, f, i);
        break;
    case ISA_while:
        at_while(w, a, f, i);
        break;
    case ISA_if:
        enter_if(w, a, f, i);
        break;
    case ISA_else: // reached from the first arm
        a->pc = w->info[a->function].end_of[a->pc];
        break;
    case ISA_end_for:
        end_for(w, a, f);
        break;
    case ISA_end_while:
        a->pc = w->loops.items[w->loops.count - 1].open;
        break;
    default: // end_if
        a->pc++;
        break;
    }
}

glia_status hz_walker_next(hz_walker *w, hz_step *step, bool *more)
{
    *more = false;
    while (w->calls.count) {
        activation *a = &w->calls.items[w->calls.count - 1];
        const isa_function *f = function_of(w, a);
        ENSURE(++w->steps <= HZ_STEPS, EXHAUSTED,
               "program '%s' core %u expands to more than %d instructions, which the hazard checker does not hold\n"
               "hint: make the bounds of its loops immediates, and their bodies alike in each iteration",
               w->p->name, w->core, HZ_STEPS);
        if (a->pc >= f->insns.count) {
            leave_call(w);
            continue;
        }
        const isa_insn *i = &f->insns.items[a->pc];
        if (isa_is_control((isa_op)i->op)) {
            control(w, a, f, i);
            continue;
        }
        *step = (hz_step){.function = a->function, .insn = a->pc, .frame = w->frame, .f = f, .i = i, .slots = a->slots};
        *more = true;
        return GLIA_OK;
    }
    return GLIA_OK;
}

// ---- registers -----------------------------------------------------------------------------------------------------

static hz_value loaded(hz_walker *w, const hz_step *s)
{
    const isa_operand *src = isa_operand_of(s->f, s->i, 1);
    hz_symbol x = unknown_here(w, s->function, s->insn, s->i->engine, (int)isa_operand_of(s->f, s->i, 0)->tensor);
    x.dtype = src->dtype;
    if (isa_operand_has(s->f, s->i, 2)) x.min = (int32_t)isa_operand_of(s->f, s->i, 2)->offset;
    if (isa_operand_has(s->f, s->i, 3)) x.max = (int32_t)isa_operand_of(s->f, s->i, 3)->offset;
    if (x.min > x.max) x.min = INT32_MIN, x.max = INT32_MAX;
    if (src->space == ISA_HBM && s->slots[src->tensor].count == 1) {
        const hz_target *t = s->slots[src->tensor].targets;
        x.storage = t->storage;
        x.at = offset_sum(t->lo, 0) + (src->offset >= 0 ? offset_sum(0, (uint64_t)src->offset) : 0);
        x.constant = w->written && !w->written[t->storage] && !s->slots[src->tensor].dynamic && src->offset >= 0 &&
                     src->term_count == 0;
    }
    return hz_symbol_value(w->symbols, hz_symbol_add(w->symbols, x), 0);
}

static hz_value narrowed(hz_value v)
{
    return hz_is_exact(v) ? hz_constant((int32_t)v.lo) : v;
}

static hz_value written_value(hz_walker *w, const hz_step *s)
{
    if (s->i->op == ISA_reg_load) return loaded(w, s);
    const hz_value a = narrowed(value_of(w, s->i, isa_operand_of(s->f, s->i, 1)));
    if (s->i->op == ISA_reg_move) return a;
    const hz_symbol fresh =
        unknown_here(w, s->function, s->insn, s->i->engine, (int)isa_operand_of(s->f, s->i, 0)->tensor);
    return hz_alu(w->symbols, (isa_alu)s->i->attr[0], a, narrowed(value_of(w, s->i, isa_operand_of(s->f, s->i, 2))),
                  fresh);
}

void hz_walker_done(hz_walker *w, const hz_step *s)
{
    if (hz_writes_register(s->i)) w->reg[s->i->engine][isa_operand_of(s->f, s->i, 0)->tensor] = written_value(w, s);
    for (uint32_t u = 0; u < s->i->update_count; u++) {
        const isa_update *up = &s->f->updates.items[s->i->update + u];
        add_count(w, w->index_of[up->sem] - 1u, up->value);
    }
    w->calls.items[w->calls.count - 1].pc++;
}
