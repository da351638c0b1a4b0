// SPDX-License-Identifier: Apache-2.0
// The checker against a slow, obvious reading of the same random programs (hazards_small.c): what it calls a race is
// one; and what it does not list follows: once the races that it lists are ordered, no other remains. Then waits are
// deleted, one by one.
#include "harness/harness.h"
#include "isa/hazards.h"
#include "isa/hazards_small.h"

static small_options options_of(uint64_t seed)
{
    return (small_options){.seed = seed,
                           .insns = 6 + (int)(seed % 7) * 2,
                           .cores = seed % 5 == 4 ? 2 : 1,
                           .loops = seed % 3 == 1,
                           .calls = seed % 4 == 2,
                           .shared_semaphores = seed % 7 == 3,
                           .shared_rings = seed % 11 == 5,
                           .synced = seed % 2 ? 100 : 85};
}

static bool is_place(const small_instance *x, isa_place p)
{
    return x->core == p.core && x->function == p.function && x->insn == p.insn;
}

// Some instances of these two instructions conflict and are not ordered.
static bool is_race(const small_graph *g, isa_place first, isa_place second)
{
    for (int a = 0; a < g->count; a++)
        for (int b = a + 1; b < g->count; b++)
            if (is_place(&g->at[a], first) && is_place(&g->at[b], second) && small_conflict(g, a, b) &&
                !small_ordered(g, a, b))
                return true;
    return false;
}

static int races(const small_graph *g)
{
    int n = 0;
    for (int a = 0; a < g->count; a++)
        for (int b = a + 1; b < g->count; b++)
            n += small_conflict(g, a, b) && !small_ordered(g, a, b);
    return n;
}

static void order_listed(small_graph *g, const isa_hazard_report *r)
{
    for (uint32_t k = 0; k < r->items.count; k++)
        for (int a = 0; a < g->count; a++)
            for (int b = a + 1; b < g->count; b++)
                if (is_place(&g->at[a], r->items.items[k].first) && is_place(&g->at[b], r->items.items[k].second) &&
                    small_conflict(g, a, b))
                    g->before[2 * a + 1][2 * b] = true;
    small_close(g);
}

TEST(hazards_reference, verdicts_are_those_of_the_slow_reading)
{
    small_graph *g = glia_alloc(sizeof *g);
    int clean = 0, racy = 0;
    for (uint64_t seed = 0; seed < 1500; seed++) {
        const small_options o = options_of(seed);
        AUTO(isa_program) p = small_program(&o);
        small_expand(p, g);
        if (g->cut) continue;
        small_order(g, NULL, 0, 0);
        AUTO_VALUE(isa_hazard_report) r = {0};
        EXPECT_OK(isa_check_hazards(p, false, &r));
        EXPECT_EQ_INT(r.assumed, 0);
        for (uint32_t k = 0; k < r.items.count; k++)
            if (!is_race(g, r.items.items[k].first, r.items.items[k].second))
                FAIL_TEST("seed %d: no race: %s", (int)seed, r.items.items[k].why);
        const int all = races(g);
        if (!all != !r.violated) FAIL_TEST("seed %d: %d races, the checker sees %d", (int)seed, all, (int)r.violated);
        clean += !all;
        racy += all > 0;
        order_listed(g, &r);
        if (races(g))
            FAIL_TEST("seed %d: %d races of %d do not follow from the %d listed", (int)seed, races(g), all,
                      (int)r.items.count);
    }
    EXPECT(clean > 200);
    EXPECT(racy > 200);
    glia_free(g);
}

// A wait is needed if and only if a pair becomes unordered without it.
TEST(hazards_reference, deleted_waits_are_missed_when_something_is_unordered)
{
    small_graph *g = glia_alloc(sizeof *g);
    int role[4] = {0};
    for (uint64_t seed = 0; seed < 400; seed++) {
        small_options o = options_of(seed);
        o.synced = 100;
        AUTO(isa_program) p = small_program(&o);
        small_expand(p, g);
        small_order(g, NULL, 0, 0);
        if (g->cut || races(g)) continue;
        AUTO(isa_hazard_session) s = NULL;
        AUTO(glia_arena) arena = glia_arena_create();
        EXPECT_OK(isa_hazard_session_create(p, &s));
        for (uint32_t c = 0; c < p->core_count; c++)
            for (uint32_t fn = 0; fn < p->cores[c].functions.count; fn++)
                for (uint32_t n = 0; n < p->cores[c].functions.items[fn]->insns.count; n++) {
                    const isa_function *f = p->cores[c].functions.items[fn];
                    for (uint32_t w = 0; w < f->insns.items[n].wait_count; w++) {
                        isa_wait_finding found;
                        EXPECT_OK(isa_hazard_session_without(s, (isa_place){c, fn, n}, w, arena, &found));
                        small_order(g, f, n, w);
                        const int all = races(g);
                        if (!all != (found.role != ISA_WAIT_NEEDED))
                            FAIL_TEST("seed %d: core %u function %u instruction %u wait %u: %d races without it, the "
                                      "checker says %d: %s",
                                      (int)seed, c, fn, n, w, all, found.role, found.hazard.why);
                        if (all && !is_race(g, found.hazard.first, found.hazard.second))
                            FAIL_TEST("seed %d: no race: %s", (int)seed, found.hazard.why);
                        if (strstr(found.hazard.why, "both barriers knew"))
                            FAIL_TEST("seed %d: a chain that leads nowhere: %s", (int)seed, found.hazard.why);
                        role[found.role]++;
                    }
                }
    }
    EXPECT(role[ISA_WAIT_NEEDED] > 500);
    EXPECT(role[ISA_WAIT_REDUNDANT] > 100);
    EXPECT_EQ_INT(role[ISA_WAIT_ASSUMED], 0);
    glia_free(g);
}
