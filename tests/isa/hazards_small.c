// SPDX-License-Identifier: Apache-2.0
// See hazards_small.h.
#include "isa/hazards_small.h"
#include "isa/build.h"

#include <string.h>

// ---- making --------------------------------------------------------------------------------------------------------

typedef struct maker {
    const small_options *o;
    isa_program *p;
    isa_function *f;
    glia_rng rng;
    uint32_t slots[SMALL_TENSORS];
} maker;

static uint32_t below(maker *m, uint32_t n)
{
    return glia_rng_below(&m->rng, n);
}

// [partitions, n] on chip or [partitions x n] in HBM, of 2 bytes an element, within the small memories.
static isa_operand some_operand(maker *m, bool hbm, int partitions, int n)
{
    const int step = 1 + (int)below(m, 3);
    if (!hbm) {
        const int offset = 2 * (int)below(m, (uint32_t)(SMALL_BYTES / 2 - (n - 1) * step));
        const int64_t steps[] = {step};
        const uint32_t counts[] = {(uint32_t)n};
        return isa_chip_ap(ISA_SBUF, NUM_BF16, (int)below(m, (uint32_t)(SMALL_PARTITIONS - partitions + 1)), partitions,
                           offset, 1, steps, counts);
    }
    const int row = (n - 1) * step + 1 + (int)below(m, 4);
    const int offset = 2 * (int)below(m, (uint32_t)(SMALL_HBM / 2 - (partitions - 1) * row - (n - 1) * step));
    const int64_t steps[] = {row, step};
    const uint32_t counts[] = {(uint32_t)partitions, (uint32_t)n};
    return isa_hbm(m->slots[below(m, SMALL_TENSORS)], NUM_BF16, offset, 2, steps, counts);
}

static uint16_t semaphore_of(const maker *m, const isa_insn *i)
{
    const bool dma = isa_is_dma((isa_op)i->op);
    if (m->o->shared_semaphores) return dma ? (uint16_t)(10 + i->queue % 2) : (uint16_t)(i->engine % 2);
    return dma ? (uint16_t)(10 + i->queue) : i->engine;
}

static void make_copy(maker *m)
{
    const int partitions = 1 + (int)below(m, SMALL_PARTITIONS), n = 1 + (int)below(m, 7);
    static const isa_engine computing[] = {ISA_DVE, ISA_ACT, ISA_POOL};
    static const isa_engine issuing[] = {ISA_SP, ISA_ACT, ISA_POOL};
    uint32_t at;
    if (below(m, 2)) {
        const isa_operand o[] = {some_operand(m, false, partitions, n), some_operand(m, false, partitions, n)};
        at = isa_emit(m->f, ISA_tensor_copy, computing[below(m, 3)], 2, o, 0, NULL, 0);
    } else {
        const isa_engine e = issuing[below(m, 3)];
        const uint8_t queue = m->o->shared_rings ? (uint8_t)below(m, 2) : (uint8_t)(2 * e + (int)below(m, 2));
        const int to = (int)below(m, 3);
        at = isa_emit_dma(m->f, ISA_dma_copy, e, queue, some_operand(m, to == 0, partitions, n),
                          some_operand(m, to == 1, partitions, n), ISA_DGE_NONE, 0);
    }
    isa_add_update(m->f, at, semaphore_of(m, &m->f->insns.items[at]),
                   isa_is_dma((isa_op)m->f->insns.items[at].op) ? 16 : 1);
}

static void make_barrier(maker *m, uint8_t id)
{
    const uint32_t at = isa_emit(m->f, ISA_barrier, ISA_SP, 0, NULL, 1, &id, 0);
    isa_add_update(m->f, at, 20, 1);
}

static void make_control(maker *m, isa_op op, int count, const isa_operand *o)
{
    const uint32_t at = isa_emit(m->f, op, ISA_SP, count, o, 0, NULL, 0);
    m->f->insns.items[at].engines = (1 << ISA_ENGINE_COUNT) - 1;
}

static void make_body(maker *m, int insns)
{
    const bool loop = m->o->loops && insns > 4;
    for (int k = 0; k < insns; k++) {
        if (loop && k == 1)
            make_control(m, ISA_for, 4,
                         (isa_operand[]){isa_reg(3), isa_imm_int(0), isa_imm_int(2 + below(m, 2)), isa_imm_int(1)});
        make_copy(m);
        if (loop && k == insns - 2) make_control(m, ISA_end_for, 0, NULL);
    }
}

static void bind_slots(maker *m)
{
    for (uint32_t t = 0; t < SMALL_TENSORS; t++)
        m->slots[t] = isa_slot_global(m->f, m->p, t);
}

static void add_waits(maker *m);

isa_program *small_program(const small_options *o)
{
    maker m = {.o = o, .rng = glia_rng_of(o->seed)};
    m.p = isa_program_create("small", "trn2", (uint32_t)o->cores);
    const int64_t dims[] = {SMALL_HBM / 2};
    isa_tensor_add(m.p, "a", ISA_TENSOR_INPUT, NUM_BF16, 1, dims);
    isa_tensor_add(m.p, "b", ISA_TENSOR_OUTPUT, NUM_BF16, 1, dims);
    m.p->tensors.items[isa_tensor_add(m.p, "c", ISA_TENSOR_OUTPUT, NUM_BF16, 1, dims)].alias = 0;
    for (uint32_t c = 0; c < (uint32_t)o->cores; c++) {
        isa_function *entry = isa_function_create(m.p, c, "main");
        isa_function *body = o->calls ? isa_function_create(m.p, c, "body") : NULL;
        if (body) {
            m.f = body;
            m.slots[0] = isa_slot_formal(body, "x", SMALL_HBM, ISA_RW);
            m.slots[1] = isa_slot_formal(body, "y", SMALL_HBM, ISA_RW);
            m.slots[2] = isa_slot_global(body, m.p, 2);
            make_body(&m, o->insns / 2);
        }
        m.f = entry;
        bind_slots(&m);
        make_body(&m, o->insns / 2);
        if (o->cores == 2) make_barrier(&m, 0);
        if (body) {
            uint32_t table;
            isa_table *t = isa_table_add(m.p, c, 2, 2, &table);
            for (uint32_t k = 0; k < 4; k++)
                t->items[k] = (isa_binding){m.slots[below(&m, SMALL_TENSORS)], 0};
            for (int row = 0; row < 2; row++) {
                make_control(&m, ISA_call, 3, (isa_operand[]){isa_imm_int(1), isa_imm_int(table), isa_imm_int(row)});
                if (row == 0) make_copy(&m);
            }
        } else {
            make_body(&m, o->insns / 2);
        }
        if (o->cores == 2) make_barrier(&m, 1);
    }
    add_waits(&m);
    return m.p;
}

// ---- expanding -----------------------------------------------------------------------------------------------------

typedef struct frame {
    int64_t base[SMALL_SEMAPHORES];
} frame;
typedef struct expander {
    const isa_program *p;
    uint32_t core;
    small_instance *out;
    int count, segment;
    bool cut;
    int64_t sum[SMALL_SEMAPHORES];
} expander;

static uint32_t end_of(const isa_function *f, uint32_t at)
{
    while (f->insns.items[at].op != ISA_end_for)
        at++; // never nested here
    return at;
}

static int lane_of(uint32_t core, const isa_insn *i)
{
    const bool dma = isa_is_dma((isa_op)i->op);
    return (int)core * 1000 + i->engine * 100 + (dma ? 1 + i->queue * 2 + (i->attr[0] == ISA_DGE_HWDGE) : 0);
}

static void mark(small_instance *x)
{
    for (int k = 0; k < x->i->operand_count; k++) {
        const isa_operand *o = isa_operand_of(x->f, x->i, k);
        if (o->space != ISA_SBUF && o->space != ISA_HBM) continue;
        for (uint32_t e = 0; e < small_elements(o); e++)
            for (int b = 0; b < 2; b++) {
                const int at = small_address(x, o, e) + b;
                if (isa_operand_access(x->i, k) & ISA_READ) x->read[at / 8] |= (uint8_t)(1 << at % 8);
                if (isa_operand_access(x->i, k) & ISA_WRITE) x->write[at / 8] |= (uint8_t)(1 << at % 8);
            }
    }
}

static void run(expander *e, const isa_function *f, uint32_t function, uint32_t first, uint32_t end,
                const int64_t *offsets, frame base)
{
    for (uint32_t n = first; n < end; n++) {
        const isa_insn *i = &f->insns.items[n];
        if (i->op == ISA_for) {
            const uint32_t last = end_of(f, n);
            for (int64_t k = 0; k < isa_operand_of(f, i, 2)->offset; k++) {
                frame inner;
                memcpy(inner.base, e->sum, sizeof inner.base);
                run(e, f, function, n + 1, last, offsets, inner);
            }
            n = last;
            continue;
        }
        if (i->op == ISA_call) {
            const isa_table *t = &e->p->cores[e->core].tables.items[isa_operand_of(f, i, 1)->offset];
            const isa_binding *row = &t->items[isa_operand_of(f, i, 2)->offset * 2];
            const int64_t inner_offsets[] = {offsets[row[0].slot], offsets[row[1].slot], offsets[2]};
            frame inner;
            memcpy(inner.base, e->sum, sizeof inner.base);
            const isa_function *g = e->p->cores[e->core].functions.items[1];
            run(e, g, 1, 0, g->insns.count, inner_offsets, inner);
            continue;
        }
        if (e->count == SMALL_MOST) {
            e->cut = true;
            return;
        }
        small_instance *x = &e->out[e->count++];
        *x = (small_instance){.core = e->core,
                              .function = function,
                              .insn = n,
                              .f = f,
                              .i = i,
                              .lane = lane_of(e->core, i),
                              .segment = e->segment};
        memcpy(x->tensor_offset, offsets, 3 * sizeof *offsets);
        for (uint32_t w = 0; w < i->wait_count; w++) {
            const isa_wait *wait = &f->waits.items[i->wait + w];
            x->wait[w] = wait->value + (wait->relative ? base.base[wait->sem] : 0);
        }
        for (uint32_t u = 0; u < i->update_count; u++)
            e->sum[f->updates.items[i->update + u].sem] += f->updates.items[i->update + u].value;
        memcpy(x->base, base.base, sizeof x->base);
        memcpy(x->sum, e->sum, sizeof x->sum);
        mark(x);
        if (i->op == ISA_barrier) e->segment++;
    }
}

int small_address(const small_instance *x, const isa_operand *o, uint32_t e)
{
    const uint32_t free = o->space == ISA_SBUF ? (uint32_t)isa_operand_free(o) : 0;
    uint32_t partition = 0;
    if (free) {
        partition = e / free;
        e %= free;
    }
    int64_t at = o->offset;
    for (int k = o->rank - 1; k >= 0; k--) {
        at += (int64_t)(e % o->count[k]) * o->step[k] * 2;
        e /= o->count[k];
    }
    if (o->space == ISA_SBUF)
        return (int)(((int64_t)x->core * SMALL_PARTITIONS + o->start_partition + partition) * SMALL_BYTES + at);
    return (int)(ISA_CORES * SMALL_PARTITIONS * SMALL_BYTES + x->tensor_offset[o->tensor] + at);
}

uint32_t small_elements(const isa_operand *o)
{
    return (uint32_t)isa_operand_elements(o);
}

void small_expand(const isa_program *p, small_graph *g)
{
    static const int64_t storage[] = {0, SMALL_HBM, 0}; // c is a's storage
    small_instance *of[ISA_CORES] = {0};
    int count[ISA_CORES] = {0};
    bool cut = false;
    for (uint32_t c = 0; c < p->core_count; c++) {
        of[c] = glia_alloc(SMALL_MOST * sizeof *of[c]);
        expander e = {.p = p, .core = c, .out = of[c]};
        const isa_function *f = p->cores[c].functions.items[0];
        run(&e, f, 0, 0, f->insns.count, storage, (frame){0});
        count[c] = e.count;
        cut |= e.cut;
    }
    g->count = 0;
    g->cut = cut;
    int at[ISA_CORES] = {0};
    for (int segment = 0; segment < 4; segment++)
        for (uint32_t c = 0; c < p->core_count; c++)
            while (at[c] < count[c] && of[c][at[c]].segment == segment && !g->cut) {
                if (g->count == SMALL_MOST)
                    g->cut = true;
                else
                    g->at[g->count++] = of[c][at[c]++];
            }
    for (uint32_t c = 0; c < p->core_count; c++)
        glia_free(of[c]);
}

// ---- order ---------------------------------------------------------------------------------------------------------

void small_close(small_graph *g)
{
    const int n = 2 * g->count;
    for (int k = 0; k < n; k++)
        for (int a = 0; a < n; a++) {
            if (!g->before[a][k]) continue;
            for (int b = 0; b < n; b++)
                g->before[a][b] |= g->before[k][b];
        }
}

static int64_t update_of(const small_instance *x, uint16_t sem)
{
    int64_t sum = 0;
    for (uint32_t u = 0; u < x->i->update_count; u++)
        if (x->f->updates.items[x->i->update + u].sem == sem) sum += x->f->updates.items[x->i->update + u].value;
    return sum;
}

// Can the count reach `value` before x starts, with instance e and the later ones of its lane still outstanding?
static bool can_do_without(const small_graph *g, int x, uint16_t sem, int64_t value, int e)
{
    int64_t most = 0;
    for (int j = 0; j < g->count; j++) {
        if (g->at[j].core != g->at[x].core || (g->at[j].lane == g->at[e].lane && j >= e)) continue;
        const bool lane_shares = g->at[j].lane == g->at[e].lane;
        if (!lane_shares && (j == x || g->before[2 * x][2 * j])) continue; // cannot have happened yet
        most += update_of(&g->at[j], sem);
    }
    return most >= value;
}

static bool is_engine(const small_instance *x)
{
    return !isa_is_dma((isa_op)x->i->op);
}

static void add_fixed(small_graph *g)
{
    for (int a = 0; a < g->count; a++) {
        g->before[2 * a][2 * a + 1] = true;
        for (int b = a + 1; b < g->count; b++) {
            const small_instance *x = &g->at[a], *y = &g->at[b];
            if (x->core == y->core && x->i->engine == y->i->engine) {
                g->before[2 * a][2 * b] = true;
                if (x->i->op == ISA_barrier) g->before[2 * a + 1][2 * b] = true;
            }
            if (x->lane == y->lane) g->before[2 * a + 1][2 * b + 1] = true;
            if (x->core != y->core && x->i->op == ISA_barrier && y->i->op == ISA_barrier &&
                x->i->attr[0] == y->i->attr[0]) {
                g->before[2 * a][2 * b + 1] = g->before[2 * b][2 * a + 1] = true;
                // Both complete at once: what is complete with one is complete with the other.
                for (int j = 0; j < g->count; j++) {
                    if (j != a && g->at[j].lane == x->lane && j < a) g->before[2 * j + 1][2 * b + 1] = true;
                    if (j != b && g->at[j].lane == y->lane && j < b) g->before[2 * j + 1][2 * a + 1] = true;
                }
            }
        }
    }
}

// A transfer that joined its ring before another was triggered completes earlier.
static bool add_rings(small_graph *g)
{
    bool changed = false;
    for (int a = 0; a < g->count; a++)
        for (int b = a + 1; b < g->count; b++) {
            const small_instance *x = &g->at[a], *y = &g->at[b];
            if (is_engine(x) || is_engine(y) || x->core != y->core || x->i->queue != y->i->queue || x->lane == y->lane)
                continue;
            // Joined for certain once the engine has started something else.
            bool joined = false;
            for (int j = 0; j < g->count; j++)
                joined |=
                    j > a && g->at[j].core == x->core && g->at[j].i->engine == x->i->engine && g->before[2 * j][2 * b];
            if (!joined || g->before[2 * a + 1][2 * b + 1]) continue;
            g->before[2 * a + 1][2 * b + 1] = changed = true;
        }
    return changed;
}

static bool add_waits_to_order(small_graph *g, const isa_function *skip_f, uint32_t skip_insn, uint32_t skip_wait)
{
    bool changed = false;
    static bool found[SMALL_MOST][SMALL_MOST];
    memset(found, 0, sizeof found);
    for (int x = 0; x < g->count; x++)
        for (uint32_t w = 0; w < g->at[x].i->wait_count; w++) {
            if (g->at[x].f == skip_f && g->at[x].insn == skip_insn && w == skip_wait) continue;
            const uint16_t sem = g->at[x].f->waits.items[g->at[x].i->wait + w].sem;
            for (int e = 0; e < x; e++)
                found[e][x] |= g->at[e].core == g->at[x].core && update_of(&g->at[e], sem) > 0 &&
                               !can_do_without(g, x, sem, g->at[x].wait[w], e);
        }
    for (int x = 0; x < g->count; x++)
        for (int e = 0; e < x; e++) {
            if (!found[e][x] || g->before[2 * e + 1][2 * x]) continue;
            g->before[2 * e + 1][2 * x] = changed = true;
        }
    return changed;
}

void small_order(small_graph *g, const isa_function *skip_f, uint32_t skip_insn, uint32_t skip_wait)
{
    memset(g->before, 0, sizeof g->before);
    add_fixed(g);
    bool changed = true;
    while (changed) { // each round may show that more comes after a wait
        small_close(g);
        changed = add_waits_to_order(g, skip_f, skip_insn, skip_wait);
        small_close(g);
        changed |= add_rings(g);
    }
}

bool small_conflict(const small_graph *g, int a, int b)
{
    const small_instance *x = &g->at[a], *y = &g->at[b];
    if (x->lane == y->lane && is_engine(x)) return false;
    for (int k = 0; k < SMALL_SPACE / 8; k++)
        if ((x->write[k] & (y->read[k] | y->write[k])) || (x->read[k] & y->write[k])) return true;
    return false;
}

bool small_ordered(const small_graph *g, int a, int b)
{
    return g->before[2 * a + 1][2 * b];
}

// ---- synchronising -------------------------------------------------------------------------------------------------

// What instruction n of f must wait for: for each conflict with an earlier instance of another lane (a barrier: for all
// of its core), that instance's count. By frame the strictest over all instances. Simple, and not the fewest.
static void want(const small_graph *g, const isa_function *f, uint32_t n, bool relative, bool *set, int64_t *value)
{
    for (int b = 0; b < g->count; b++)
        for (int a = 0; a < b && g->at[b].f == f && g->at[b].insn == n; a++) {
            if (g->at[a].core != g->at[b].core || (g->at[b].i->op != ISA_barrier && !small_conflict(g, a, b))) continue;
            for (uint32_t u = 0; u < g->at[a].i->update_count; u++) {
                const uint16_t sem = g->at[a].f->updates.items[g->at[a].i->update + u].sem;
                const int64_t v = g->at[a].sum[sem] - (relative ? g->at[b].base[sem] : 0);
                if (!set[sem] || v > value[sem]) value[sem] = v;
                set[sem] = true;
            }
        }
}

static void add_waits(maker *m)
{
    small_graph *g = glia_alloc(sizeof *g);
    small_expand(m->p, g);
    for (uint32_t c = 0; c < m->p->core_count; c++)
        for (uint32_t fn = 0; fn < m->p->cores[c].functions.count; fn++) {
            isa_function *f = m->p->cores[c].functions.items[fn];
            for (uint32_t n = 0; n < f->insns.count; n++) {
                bool set[SMALL_SEMAPHORES] = {0};
                int64_t value[SMALL_SEMAPHORES] = {0};
                const bool relative = fn > 0 || m->o->loops || below(m, 2);
                want(g, f, n, relative, set, value);
                for (uint16_t s = 0; s < SMALL_SEMAPHORES && f->insns.items[n].wait_count < 8; s++)
                    if (set[s] && (int)below(m, 100) < m->o->synced) isa_add_wait(f, n, s, (int32_t)value[s], relative);
            }
        }
    glia_free(g);
}
