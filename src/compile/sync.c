// SPDX-License-Identifier: Apache-2.0
// Semaphores: makes every dependency between lanes hold on engines that run freely.
//
// A lane is an engine (its instructions complete in order) or a DMA queue (its transfers complete in order). Lane n
// owns semaphore n; each instruction adds 1 to its lane's when it completes, each transfer 16. The program is walked
// in program order with its calls expanded. For each access the walk finds the earlier accesses that conflict; what
// the issuing engine does not know to be complete yet, it must wait for. "Know" is a vector, per engine: how many
// completions of each lane are implied by all that it waited for, and transitively by what those had waited for.
//
// A wait's value counts from the frame of its instruction (its function's call). An instruction of a body that is
// called often gets the strictest value over all calls, which names a completion that every call has already started.
#include "compile/backend.h"

#include <string.h>

enum { DMA_STEP = 16, BUCKET_BYTES = 1024, RUNS = 64 };

typedef struct region { int64_t lo, hi; uint8_t p0, p1; } region;       // bytes, partitions (HBM: 0..1)

typedef struct record {             // one earlier access
    region box;
    const isa_operand *o;           // for the exact test
    int64_t shift;                  // address of the operand's tensor binding (HBM)
    int32_t seq;                    // in its lane, from 1
    uint8_t lane;
    bool write;
} record;

typedef struct bucket { VEC(record) items; } bucket;

typedef struct known { int32_t done[ISA_LANES]; } known;

// The number of barriers that a core has passed at its last read and its last write of a tensor; -1: there is none.
typedef struct last_use { int64_t read, write; } last_use;

typedef struct walker {
    isa_program *p;
    uint32_t core;
    glia_arena *arena;
    bucket *sbuf, *psum;            // by BUCKET_BYTES of the partition
    uint32_t sbuf_buckets, psum_buckets;
    bucket *hbm;                    // by program tensor
    uint8_t *written;               // [tensor]: anything in the program writes it
    known engine[ISA_ENGINE_COUNT];
    VEC(known) start[ISA_LANES];    // by lane and seq - 1: what its issuer knew
    int32_t count[ISA_LANES];       // completions so far
    int32_t skipped[ISA_LANES];     // completions of calls that were not walked (see may_skip)
    int32_t floor;                  // seq on POOL of the last barrier, 0 if none
    uint32_t barriers;              // passed so far, those of calls that were not walked included
    const last_use *other;          // [tensor] of the other core; NULL when there is none
    int32_t ***needs;               // [function][insn] -> int32[ISA_LANES] or NULL
} walker;

typedef struct binding { uint32_t tensor; int64_t offset; } binding;    // what a slot is, in this call

enum { NO_NEED = INT32_MIN };

// ---- overlap -------------------------------------------------------------------------------------------------------

// The contiguous byte runs of an operand, without dynamic terms. False when there are more than RUNS.
static bool runs_of(const isa_operand *o, int64_t shift, int64_t (*runs)[2], int *count)
{
    const int64_t size = num_size((num_dtype)o->dtype);
    int64_t inner = size;
    int d = o->rank - 1;
    while (d >= 0 && (o->count[d] == 1 || o->step[d] * size == inner)) {
        if (o->count[d] > 1) inner *= o->count[d];
        d--;
    }
    int64_t n = 1;
    for (int k = 0; k <= d; k++) {
        if (o->step[k] == 0) continue;
        n *= o->count[k];
        if (n > RUNS) return false;
    }
    *count = 0;
    uint32_t index[ISA_DIMS] = { 0 };
    for (;;) {
        int64_t at = o->offset + shift;
        for (int k = 0; k <= d; k++) at += (int64_t)index[k] * o->step[k] * size;
        runs[*count][0] = at;
        runs[(*count)++][1] = at + inner;
        int k = d;
        for (; k >= 0; k--) {
            if (o->step[k] != 0 && ++index[k] < o->count[k]) break;
            index[k] = 0;
        }
        if (k < 0) return true;
    }
}

static bool boxes_meet(const region *a, const region *b)
{
    return a->lo < b->hi && b->lo < a->hi && a->p0 < b->p1 && b->p0 < a->p1;
}

static bool is_contiguous(const isa_operand *o, const region *box)
{
    return (uint64_t)(box->hi - box->lo) == isa_operand_free(o) * (uint64_t)num_size((num_dtype)o->dtype);
}

static bool overlap(const record *a, const record *b)
{
    if (!boxes_meet(&a->box, &b->box)) return false;
    if (a->o->term_count || b->o->term_count || a->o->indirect || b->o->indirect) return true;
    if (is_contiguous(a->o, &a->box) && is_contiguous(b->o, &b->box)) return true;
    int64_t ra[RUNS][2], rb[RUNS][2];
    int na, nb;
    if (!runs_of(a->o, a->shift, ra, &na) || !runs_of(b->o, b->shift, rb, &nb)) return true;
    for (int i = 0; i < na; i++)
        for (int j = 0; j < nb; j++)
            if (ra[i][0] < rb[j][1] && rb[j][0] < ra[i][1]) return true;
    return false;
}

static bool covers(const record *w, const record *old)
{
    return !w->o->term_count && !w->o->indirect && is_contiguous(w->o, &w->box) && w->box.lo <= old->box.lo &&
           w->box.hi >= old->box.hi && w->box.p0 <= old->box.p0 && w->box.p1 >= old->box.p1;
}

// ---- one instruction -----------------------------------------------------------------------------------------------

typedef struct needs { int32_t seq[ISA_LANES]; } needs;

static void need(needs *n, int lane, int32_t seq)
{
    if (seq > n->seq[lane]) n->seq[lane] = seq;
}

static void meet_bucket(bucket *b, const record *r, needs *n)
{
    uint32_t keep = 0;
    for (uint32_t k = 0; k < b->items.count; k++) {
        record *old = &b->items.items[k];
        bool drop = false;
        if ((r->write || old->write) && overlap(r, old)) {
            need(n, old->lane, old->seq);
            drop = r->write && covers(r, old);
        } else if (!r->write && !old->write && old->lane == r->lane && covers(r, old)) {
            drop = true;            // a later read of the same lane stands for this one
        }
        if (!drop) b->items.items[keep++] = *old;
    }
    b->items.count = keep;
}

static bucket *buckets_of(walker *w, const isa_operand *o, const region *box, const binding *bind, uint32_t *first, uint32_t *last)
{
    if (o->space == ISA_HBM) {
        *first = *last = bind->tensor;
        return w->hbm;
    }
    *first = (uint32_t)(box->lo / BUCKET_BYTES);
    *last = (uint32_t)((box->hi - 1) / BUCKET_BYTES);
    return o->space == ISA_SBUF ? w->sbuf : w->psum;
}

static uint32_t storage_of(const isa_program *p, uint32_t tensor)
{
    const isa_tensor *t = &p->tensors.items[tensor];
    return t->kind == ISA_TENSOR_OUTPUT && t->alias >= 0 ? (uint32_t)t->alias : tensor;
}

static bool access_record(const walker *w, const isa_function *f, const isa_insn *i, int k, const binding *binds, record *out,
                          binding *bind)
{
    const isa_operand *o = isa_operand_of(f, i, k);
    if (o->space != ISA_HBM && o->space != ISA_SBUF && o->space != ISA_PSUM) return false;
    *out = (record){ .o = o };
    *bind = (binding){ 0 };
    if (o->space == ISA_HBM) {
        *bind = binds[o->tensor];
        bind->tensor = storage_of(w->p, bind->tensor);
        if (!w->written[bind->tensor]) return false;
        out->shift = bind->offset;
        out->box.p1 = 1;
    } else {
        out->box.p0 = o->start_partition;
        out->box.p1 = (uint8_t)(o->start_partition + o->partitions);
    }
    if (!isa_operand_range(o, &out->box.lo, &out->box.hi)) return false;
    out->box.lo += out->shift;
    out->box.hi += out->shift;
    if (o->term_count || o->indirect) {
        out->box.lo = 0;
        out->box.hi = INT64_MAX / 2;
    }
    return true;
}

// What instruction `i` needs that its engine does not know; the engine knows it afterwards.
static void settle(walker *w, const isa_insn *i, bool dma, const needs *n, int32_t *waits)
{
    const int e = i->engine;
    known *k = &w->engine[e];
    for (int lane = 0; lane < ISA_LANES; lane++) {
        waits[lane] = NO_NEED;
        if (n->seq[lane] == 0 || (lane == e && !dma) || k->done[lane] >= n->seq[lane]) continue;
        bool implied = false;       // by another wait of this instruction?
        for (int other = 0; other < ISA_LANES && !implied; other++) {
            if (other == lane || n->seq[other] == 0 || (other == e && !dma) || k->done[other] >= n->seq[other]) continue;
            const known *s = &w->start[other].items[n->seq[other] - 1];
            implied = s->done[lane] >= n->seq[lane];
            // Two waits never imply each other: the one that started later cannot be known by the earlier.
        }
        if (!implied) waits[lane] = n->seq[lane];
    }
    for (int lane = 0; lane < ISA_LANES; lane++) {
        if (waits[lane] == NO_NEED) continue;
        const known *s = &w->start[lane].items[waits[lane] - 1];
        for (int x = 0; x < ISA_LANES; x++)
            if (s->done[x] > k->done[x]) k->done[x] = s->done[x];
        if (k->done[lane] < waits[lane]) k->done[lane] = waits[lane];
    }
}

// What the other core reads or overwrites behind the barrier has to be complete before it.
static void meet_barrier(walker *w, needs *n)
{
    w->barriers++;
    for (uint32_t t = 0; t < w->p->tensors.count && w->other; t++) {
        const bool written = w->other[t].write >= w->barriers, used = written || w->other[t].read >= w->barriers;
        uint32_t kept = 0;
        for (uint32_t k = 0; k < w->hbm[t].items.count; k++) {
            const record *r = &w->hbm[t].items.items[k];
            if (r->write ? used : written) need(n, r->lane, r->seq);
            else w->hbm[t].items.items[kept++] = *r;
        }
        w->hbm[t].items.count = kept;
    }
}

static void step(walker *w, uint32_t function, uint32_t at, const binding *binds, const int32_t *base)
{
    const isa_function *f = w->p->cores[w->core].functions.items[function];
    const isa_insn *i = &f->insns.items[at];
    const bool dma = isa_is_dma((isa_op)i->op);
    const int lane = dma ? ISA_ENGINE_COUNT + i->queue : i->engine;
    needs n = { 0 };
    record records[ISA_OPERANDS * 2];
    binding where[ISA_OPERANDS * 2];
    int count = 0;
    if (i->op == ISA_barrier) meet_barrier(w, &n);
    for (int k = 0; k < i->operand_count; k++) {
        const isa_access a = isa_operand_access(i, k);
        record r;
        binding b;
        if (!access_record(w, f, i, k, binds, &r, &b)) continue;
        r.lane = (uint8_t)lane;
        // What POOL issues after its own barrier comes after it anyway.
        if (r.o->space == ISA_HBM && w->floor && i->engine != ISA_POOL) need(&n, ISA_POOL, w->floor);
        r.write = (a & ISA_WRITE) != 0;
        records[count] = r;
        where[count++] = b;
    }
    // Look at all operands before recording any: an instruction does not conflict with itself.
    for (int k = 0; k < count; k++) {
        uint32_t first, last;
        bucket *b = buckets_of(w, records[k].o, &records[k].box, &where[k], &first, &last);
        for (uint32_t x = first; x <= last; x++) meet_bucket(&b[x], &records[k], &n);
    }
    int32_t waits[ISA_LANES];
    settle(w, i, dma, &n, waits);
    int32_t **slot = &w->needs[function][at];
    for (int x = 0; x < ISA_LANES; x++) {
        if (waits[x] == NO_NEED) continue;
        if (!*slot) {
            *slot = ARENA_ARRAY(w->arena, int32_t, ISA_LANES);
            for (int y = 0; y < ISA_LANES; y++) (*slot)[y] = NO_NEED;
        }
        const int32_t relative = waits[x] + w->skipped[x] - base[x];
        if (relative > (*slot)[x]) (*slot)[x] = relative;
    }
    known mine = w->engine[i->engine];
    if (!dma) mine.done[lane] = w->count[lane];     // an engine's earlier instructions are complete for it
    else if (mine.done[lane] < w->count[lane]) { }  // a queue's earlier transfers are not complete when this one starts
    w->count[lane]++;
    // When this transfer is complete, so are the earlier ones of its queue.
    if (dma && w->count[lane] > 1) mine.done[lane] = w->count[lane] - 1;
    VEC_PUSH(&w->start[lane]) = mine;
    if (i->op == ISA_barrier) w->floor = w->count[lane];
    for (int k = 0; k < count; k++) {
        uint32_t first, last;
        records[k].seq = w->count[lane];
        bucket *b = buckets_of(w, records[k].o, &records[k].box, &where[k], &first, &last);
        for (uint32_t x = first; x <= last; x++) VEC_PUSH(&b[x].items) = records[k];
    }
}

static bool signals(const isa_insn *i)
{
    return !isa_is_control((isa_op)i->op);
}

// Calls of one body in a row, as a stack of equal layers makes: after the first WALKED, all but the last are alike, so
// they need not be walked. A call is alike when what it shares with others (tensors that are written) it shares with
// its neighbours only, or with all.
enum { WALKED = 3 };

static bool same_callee(const isa_function *f, const uint32_t *calls, uint32_t a, uint32_t b)
{
    return isa_operand_of(f, &f->insns.items[calls[a]], 0)->offset == isa_operand_of(f, &f->insns.items[calls[b]], 0)->offset;
}

// Marks in `skip` (by instruction) the calls of `f` that may be left out.
static void find_skips(const walker *w, const isa_function *f, const binding *binds, uint8_t *skip)
{
    const isa_core *c = &w->p->cores[w->core];
    uint32_t *calls = glia_alloc((f->insns.count + 1) * sizeof *calls), n = 0;
    for (uint32_t k = 0; k < f->insns.count; k++)
        if (f->insns.items[k].op == ISA_call) calls[n++] = k;
    // By tensor: the first and last call that touches it.
    uint32_t *low = glia_alloc((w->p->tensors.count + 1) * sizeof *low), *high = glia_alloc((w->p->tensors.count + 1) * sizeof *high);
    for (uint32_t t = 0; t < w->p->tensors.count; t++) low[t] = UINT32_MAX;
    for (uint32_t k = 0; k < n; k++) {
        const isa_table *t = &c->tables.items[isa_operand_of(f, &f->insns.items[calls[k]], 1)->offset];
        const isa_binding *row = &t->items[(uint64_t)isa_operand_of(f, &f->insns.items[calls[k]], 2)->offset * t->formals];
        for (uint32_t x = 0; x < t->formals; x++) {
            const uint32_t tensor = storage_of(w->p, binds[row[x].slot].tensor);
            if (low[tensor] == UINT32_MAX) low[tensor] = k;
            high[tensor] = k;
        }
    }
    for (uint32_t k = WALKED; k + 1 < n; k++) {
        bool alike = calls[k] - calls[k - 1] == 1 && calls[k + 1] - calls[k] == 1;      // nothing between them
        for (uint32_t j = 1; j <= WALKED && alike; j++) alike = same_callee(f, calls, k, k - j);
        alike = alike && same_callee(f, calls, k, k + 1);
        const isa_table *t = &c->tables.items[isa_operand_of(f, &f->insns.items[calls[k]], 1)->offset];
        const isa_binding *row = &t->items[(uint64_t)isa_operand_of(f, &f->insns.items[calls[k]], 2)->offset * t->formals];
        for (uint32_t x = 0; x < t->formals && alike; x++) {
            const uint32_t tensor = storage_of(w->p, binds[row[x].slot].tensor);
            if (w->written[tensor]) alike = high[tensor] - low[tensor] <= 1 || (low[tensor] <= 1 && high[tensor] + 2 >= n);
        }
        skip[calls[k]] = alike;
    }
    glia_free(calls);
    glia_free(low);
    glia_free(high);
}

// What the callee's slots are in this call. The caller frees them.
static binding *callee_bindings(const isa_core *c, const isa_function *f, const isa_insn *call, const binding *binds)
{
    const isa_table *t = &c->tables.items[isa_operand_of(f, call, 1)->offset];
    const isa_binding *row = &t->items[(uint64_t)isa_operand_of(f, call, 2)->offset * t->formals];
    const isa_function *g = c->functions.items[isa_operand_of(f, call, 0)->offset];
    binding *inner = glia_alloc((g->slots.count + 1) * sizeof *inner);
    for (uint32_t s = 0; s < g->slots.count; s++) {
        const isa_slot *slot = &g->slots.items[s];
        inner[s] = slot->kind == ISA_SLOT_GLOBAL ? (binding){ slot->index, 0 }
                                                 : (binding){ binds[row[slot->index].slot].tensor,
                                                              binds[row[slot->index].slot].offset + (int64_t)row[slot->index].offset };
    }
    return inner;
}

static void walk(walker *w, uint32_t function, const binding *binds)
{
    const isa_core *c = &w->p->cores[w->core];
    const isa_function *f = c->functions.items[function];
    int32_t base[ISA_LANES], before[ISA_LANES];
    uint32_t barriers_in_call = 0;  // the last one walked
    for (int x = 0; x < ISA_LANES; x++) base[x] = w->count[x] + w->skipped[x];
    uint8_t *skip = glia_alloc(f->insns.count + 1);
    find_skips(w, f, binds, skip);
    for (uint32_t k = 0; k < f->insns.count; k++) {
        const isa_insn *i = &f->insns.items[k];
        if (i->op != ISA_call) {
            BUG_ON(isa_is_control((isa_op)i->op));      // the lowering makes straight-line functions
            step(w, function, k, binds, base);
            continue;
        }
        if (skip[k]) {
            for (int x = 0; x < ISA_LANES; x++) w->skipped[x] += w->count[x] - before[x];
            w->barriers += barriers_in_call;
            continue;
        }
        memcpy(before, w->count, sizeof before);
        const uint32_t barriers_before = w->barriers;
        const uint32_t callee = (uint32_t)isa_operand_of(f, i, 0)->offset;
        binding *inner = callee_bindings(c, f, i, binds);
        walk(w, callee, inner);
        glia_free(inner);
        barriers_in_call = w->barriers - barriers_before;
    }
    glia_free(skip);
}

// ---- the whole -----------------------------------------------------------------------------------------------------

// Every tensor that a function writes itself, or passes to a callee that writes it. What it passes on as its own formal is
// marked where that has a tensor.
static void mark_written(const isa_program *p, const isa_core *c, const isa_function *f, uint8_t *written)
{
    for (uint32_t k = 0; k < f->insns.count; k++) {
        const isa_insn *i = &f->insns.items[k];
        if (i->op != ISA_call) {
            for (int o = 0; o < i->operand_count; o++) {
                const isa_operand *op = isa_operand_of(f, i, o);
                if (op->space != ISA_HBM || !(isa_operand_access(i, o) & ISA_WRITE)) continue;
                const isa_slot *slot = &f->slots.items[op->tensor];
                if (slot->kind == ISA_SLOT_GLOBAL) written[storage_of(p, slot->index)] = 1;
            }
            continue;
        }
        const isa_function *g = c->functions.items[isa_operand_of(f, i, 0)->offset];
        const isa_table *t = &c->tables.items[isa_operand_of(f, i, 1)->offset];
        const isa_binding *row = &t->items[(uint64_t)isa_operand_of(f, i, 2)->offset * t->formals];
        for (uint32_t s = 0; s < g->slots.count; s++) {
            if (g->slots.items[s].kind != ISA_SLOT_FORMAL || !(g->slots.items[s].access & ISA_WRITE)) continue;
            const isa_slot *slot = &f->slots.items[row[g->slots.items[s].index].slot];
            if (slot->kind == ISA_SLOT_GLOBAL) written[storage_of(p, slot->index)] = 1;
        }
    }
}

// The last uses of all tensors by a core, calls expanded.
static void find_last_uses(const isa_program *p, const isa_core *c, uint32_t function, const binding *binds, int64_t *barriers, last_use *out)
{
    const isa_function *f = c->functions.items[function];
    for (uint32_t k = 0; k < f->insns.count; k++) {
        const isa_insn *i = &f->insns.items[k];
        if (i->op == ISA_call) {
            binding *inner = callee_bindings(c, f, i, binds);
            find_last_uses(p, c, (uint32_t)isa_operand_of(f, i, 0)->offset, inner, barriers, out);
            glia_free(inner);
            continue;
        }
        *barriers += i->op == ISA_barrier;
        for (int o = 0; o < i->operand_count; o++) {
            const isa_operand *op = isa_operand_of(f, i, o);
            if (op->space != ISA_HBM) continue;
            last_use *u = &out[storage_of(p, binds[op->tensor].tensor)];
            const isa_access a = isa_operand_access(i, o);
            if (a & ISA_READ) u->read = *barriers;
            if (a & ISA_WRITE) u->write = *barriers;
        }
    }
}

static binding *entry_bindings(const isa_function *f)
{
    binding *b = glia_alloc((f->slots.count + 1) * sizeof *b);
    for (uint32_t s = 0; s < f->slots.count; s++) b[s] = (binding){ f->slots.items[s].index, 0 };
    return b;
}

// Rebuilds a function's waits and updates from the needs.
static void write_back(walker *w, uint32_t function)
{
    isa_function *f = w->p->cores[w->core].functions.items[function];
    f->waits.count = 0;
    f->updates.count = 0;
    for (uint32_t k = 0; k < f->insns.count; k++) {
        isa_insn *i = &f->insns.items[k];
        i->wait = f->waits.count;
        i->update = f->updates.count;
        i->wait_count = i->update_count = 0;
        if (!signals(i)) continue;
        const int32_t *n = w->needs[function][k];
        for (int lane = 0; n && lane < ISA_LANES; lane++) {
            if (n[lane] == NO_NEED) continue;
            const int32_t until = lane < ISA_ENGINE_COUNT ? n[lane] : n[lane] * DMA_STEP;
            isa_add_wait(f, k, (uint16_t)lane, until, true);
        }
        const bool dma = isa_is_dma((isa_op)i->op);
        isa_add_update(f, k, (uint16_t)(dma ? ISA_ENGINE_COUNT + i->queue : i->engine), dma ? DMA_STEP : 1);
    }
}

glia_status sync_run(isa_program *p)
{
    uint8_t *written = glia_alloc(p->tensors.count + 1);
    for (uint32_t core = 0; core < p->core_count; core++)
        for (uint32_t k = 0; k < p->cores[core].functions.count; k++)
            mark_written(p, &p->cores[core], p->cores[core].functions.items[k], written);
    last_use *uses = glia_alloc((p->core_count * p->tensors.count + 1) * sizeof *uses);
    for (uint32_t k = 0; k < p->core_count * p->tensors.count; k++) uses[k] = (last_use){ -1, -1 };
    for (uint32_t core = 0; core < p->core_count && p->core_count > 1; core++) {
        int64_t barriers = 0;
        binding *b = entry_bindings(p->cores[core].functions.items[0]);
        find_last_uses(p, &p->cores[core], 0, b, &barriers, uses + core * p->tensors.count);
        glia_free(b);
    }
    for (uint32_t core = 0; core < p->core_count; core++) {
        const isa_core *c = &p->cores[core];
        AUTO(glia_arena) arena = glia_arena_create();
        walker w = { .p = p, .core = core, .arena = arena, .written = written,
                     .other = p->core_count == 2 ? uses + (1 - core) * p->tensors.count : NULL };
        w.sbuf_buckets = 512;
        w.psum_buckets = 32;
        w.sbuf = ARENA_ARRAY(arena, bucket, w.sbuf_buckets);
        w.psum = ARENA_ARRAY(arena, bucket, w.psum_buckets);
        w.hbm = ARENA_ARRAY(arena, bucket, p->tensors.count + 1);
        w.needs = ARENA_ARRAY(arena, int32_t **, c->functions.count);
        for (uint32_t k = 0; k < c->functions.count; k++) w.needs[k] = ARENA_ARRAY(arena, int32_t *, c->functions.items[k]->insns.count);
        binding *b = entry_bindings(c->functions.items[0]);
        walk(&w, 0, b);
        glia_free(b);
        for (uint32_t k = 0; k < c->functions.count; k++) write_back(&w, k);
        for (uint32_t k = 0; k < w.sbuf_buckets; k++) VEC_FREE(&w.sbuf[k].items);
        for (uint32_t k = 0; k < w.psum_buckets; k++) VEC_FREE(&w.psum[k].items);
        for (uint32_t k = 0; k < p->tensors.count; k++) VEC_FREE(&w.hbm[k].items);
        for (int k = 0; k < ISA_LANES; k++) VEC_FREE(&w.start[k]);
    }
    glia_free(uses);
    glia_free(written);
    return GLIA_OK;
}
