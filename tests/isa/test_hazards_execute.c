// SPDX-License-Identifier: Apache-2.0
// What the verdict promises, by execution: random programs of copies run in random legal orders. Engines start their
// streams as soon as their waits hold; a transfer reads and writes at any moments between its start and its completion;
// a queue completes in order. A program without hazards ends with the bytes of program order, whatever the order; and
// of those with hazards many do not, or this test would prove nothing.
#include "harness/harness.h"
#include "isa/hazards.h"
#include "isa/hazards_small.h"

enum { ORDERS = 30 };

typedef struct machine {
    const small_graph *g;
    glia_rng rng;
    uint8_t memory[SMALL_SPACE];
    int64_t semaphore[ISA_CORES][SMALL_SEMAPHORES];
    uint8_t data[SMALL_MOST][SMALL_SPACE]; // what each instance has read
    enum { WAITING, STARTED, READ, WRITTEN, COMPLETE } state[SMALL_MOST];
    bool arrived[ISA_CORES][2];
} machine;

static void fill(machine *m)
{
    for (int k = 0; k < SMALL_SPACE; k++)
        m->memory[k] = (uint8_t)(k * 7 + 1);
    memset(m->semaphore, 0, sizeof m->semaphore);
    memset(m->state, 0, sizeof m->state);
    memset(m->arrived, 0, sizeof m->arrived);
}

static bool copies(const small_instance *x)
{
    return x->i->op != ISA_barrier;
}

static void read_source(machine *m, int n)
{
    const small_instance *x = &m->g->at[n];
    const isa_operand *src = isa_operand_of(x->f, x->i, 1);
    for (uint32_t e = 0; copies(x) && e < small_elements(src); e++)
        memcpy(&m->data[n][2 * e], &m->memory[small_address(x, src, e)], 2);
}

static void write_result(machine *m, int n)
{
    const small_instance *x = &m->g->at[n];
    const isa_operand *dst = isa_operand_of(x->f, x->i, 0);
    for (uint32_t e = 0; copies(x) && e < small_elements(dst); e++)
        memcpy(&m->memory[small_address(x, dst, e)], &m->data[n][2 * e], 2);
}

static bool is_engine(const small_instance *x)
{
    return !isa_is_dma((isa_op)x->i->op);
}

static bool waits_hold(const machine *m, const small_instance *x)
{
    for (uint32_t w = 0; w < x->i->wait_count; w++)
        if (m->semaphore[x->core][x->f->waits.items[x->i->wait + w].sem] < x->wait[w]) return false;
    return true;
}

// Everything before n of its engine has started; a barrier there is complete.
static bool may_start(const machine *m, int n)
{
    const small_instance *x = &m->g->at[n];
    for (int k = 0; k < n; k++) {
        const small_instance *y = &m->g->at[k];
        if (y->core != x->core || y->i->engine != x->i->engine) continue;
        if (m->state[k] == WAITING || (y->i->op == ISA_barrier && m->state[k] != COMPLETE)) return false;
    }
    return waits_hold(m, x);
}

static bool lane_has(const machine *m, int n, int state) // all of its lane before n are as far as that
{
    for (int k = 0; k < n; k++)
        if (m->g->at[k].lane == m->g->at[n].lane && (int)m->state[k] < state) return false;
    return true;
}

static bool may_go_on(const machine *m, int n)
{
    const small_instance *x = &m->g->at[n];
    switch (m->state[n]) {
    case WAITING:
        return may_start(m, n);
    case STARTED: // an engine's data path is in order
        return !is_engine(x) || lane_has(m, n, WRITTEN);
    case READ:
        return true;
    case WRITTEN:
        if (x->i->op == ISA_barrier && !(m->arrived[0][x->i->attr[0]] && m->arrived[1][x->i->attr[0]])) return false;
        return lane_has(m, n, COMPLETE);
    case COMPLETE:
        break;
    }
    return false;
}

static void go_on(machine *m, int n)
{
    const small_instance *x = &m->g->at[n];
    m->state[n]++;
    if (m->state[n] == STARTED && x->i->op == ISA_barrier) m->arrived[x->core][x->i->attr[0]] = true;
    if (m->state[n] == READ) read_source(m, n);
    if (m->state[n] == READ && is_engine(x)) m->state[n]++; // one step: the next instruction sees it
    if (m->state[n] == WRITTEN) write_result(m, n);
    for (uint32_t u = 0; m->state[n] == COMPLETE && u < x->i->update_count; u++) {
        const isa_update *up = &x->f->updates.items[x->i->update + u];
        m->semaphore[x->core][up->sem] += up->value;
    }
}

// One random order; false if nothing can go on before all is done.
static bool run_somehow(machine *m)
{
    fill(m);
    // Some instances are slow in this run, so that long overtakings happen.
    bool slow[SMALL_MOST];
    for (int n = 0; n < m->g->count; n++)
        slow[n] = glia_rng_below(&m->rng, 4) == 0;
    for (;;) {
        int can[SMALL_MOST], count = 0, quick = 0, left = 0;
        for (int n = 0; n < m->g->count; n++) {
            left += m->state[n] != COMPLETE;
            if (!may_go_on(m, n)) continue;
            can[count++] = n;
            if (!slow[n]) {
                can[count - 1] = can[quick];
                can[quick++] = n;
            }
        }
        if (!left) return true;
        if (!count) return false;
        const int among = quick && glia_rng_below(&m->rng, 8) ? quick : count;
        go_on(m, can[glia_rng_below(&m->rng, (uint32_t)among)]);
    }
}

static void run_in_order(machine *m)
{
    fill(m);
    for (int n = 0; n < m->g->count; n++) {
        read_source(m, n);
        write_result(m, n);
    }
}

static void try_orders(machine *m, bool clean, uint64_t seed, int *differ, int *stuck)
{
    static uint8_t want[SMALL_SPACE];
    run_in_order(m);
    memcpy(want, m->memory, sizeof want);
    for (int k = 0; k < ORDERS; k++) {
        if (!run_somehow(m)) {
            ++*stuck;
            return;
        }
        if (memcmp(want, m->memory, sizeof want) == 0) continue;
        if (clean) FAIL_TEST("seed %d: judged free of hazards, but order %d ends with other bytes", (int)seed, k);
        ++*differ;
        return;
    }
}

TEST(hazards_execute, programs_without_hazards_end_alike_in_every_order)
{
    small_graph *g = glia_alloc(sizeof *g);
    machine *m = glia_alloc(sizeof *m);
    int count[2] = {0}, differ[2] = {0}, stuck[2] = {0};
    for (uint64_t seed = 0; seed < 600; seed++) {
        // One core in order of triggering: rings that engines share complete in the order in which they were joined,
        // which this machine does not keep.
        const small_options o = {.seed = seed,
                                 .insns = 8 + (int)(seed % 5) * 2,
                                 .cores = seed % 5 == 4 ? 2 : 1,
                                 .loops = seed % 3 == 1,
                                 .calls = seed % 4 == 2,
                                 .shared_semaphores = seed % 7 == 3,
                                 .synced = seed % 2 ? 100 : 80};
        AUTO(isa_program) p = small_program(&o);
        small_expand(p, g);
        if (g->cut) continue;
        AUTO_VALUE(isa_hazard_report) r = {0};
        EXPECT_OK(isa_check_hazards(p, false, &r));
        const bool clean = r.violated == 0;
        *m = (machine){.g = g, .rng = glia_rng_of(seed)};
        count[clean]++;
        try_orders(m, clean, seed, &differ[clean], &stuck[clean]);
    }
    EXPECT(count[1] - stuck[1] > 100);
    EXPECT(count[0] > 100);
    if (differ[0] * 2 < count[0] - stuck[0])
        FAIL_TEST("of %d programs with hazards only %d ever end with other bytes", count[0], differ[0]);
    glia_free(m);
    glia_free(g);
}
