// SPDX-License-Identifier: Apache-2.0
// Packed operands of matmuls: made once, remembered (see fast.h, and kernels.h for the layout).
//
// A tensor's store hangs on its dev_buffer and is shared by cores and machines: lookups take no lock, insertions do; an
// entry that another thread is filling is waited for when the queue runs. It is valid for one generation of the buffer and one level of
// kernels; what is not constant is packed anew in each execution, in place. SBUF's cache is a core's own.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "dev/fast/fast.h"
#include "dev/rows.h"

// ---- packing -------------------------------------------------------------------------------------------------------

static const uint16_t zero_row[DEV_COLUMNS_MAX * 2];        // any type's zeros

// fp8 as fp32 and bf16, which both hold it exactly. Filled once.
static float f8_f32[NUM_DTYPE_COUNT][256];
static uint16_t f8_bf16[NUM_DTYPE_COUNT][256];
static pthread_once_t f8_once = PTHREAD_ONCE_INIT;

static void fill_f8(void)
{
    static const num_dtype types[] = { NUM_F8E4M3, NUM_F8E4M3FN, NUM_F8E5M2, NUM_F8E3M4 };
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        for (uint32_t u = 0; u < 256; u++) {
            const float v = num_to_f32(types[t], u);
            f8_f32[types[t]][u] = v;
            f8_bf16[types[t]][u] = num_bf16_from_f32(v);
        }
    }
}

static const uint8_t *row_at(const dev_pack_job *j, uint32_t row, dev_scratch *s, int buffer)
{
    const dev_pack_key *k = &j->key;
    if (row >= k->rows) return (const uint8_t *)zero_row;
    const int size = num_size((num_dtype)k->dtype);
    const uint32_t partition = row / k->pair, half = row % k->pair;
    if (!j->ap.base) return j->base + k->pitch * (int64_t)partition + (size_t)half * k->columns * (size_t)size;
    // A pattern: its elements are copied together, then the half is taken.
    uint8_t *flat = (uint8_t *)s->rows[buffer];
    dev_run run;
    uint8_t *to = flat;
    for (dev_walk w = dev_walk_of(&j->ap, j->ap.base + partition * j->ap.pitch); dev_walk_next(&w, &run);)
        for (uint32_t i = 0; i < run.count; i++, to += size) memcpy(to, run.at + run.step * (int64_t)i, (size_t)size);
    return flat + (size_t)half * k->columns * (size_t)size;
}

static const uint16_t *row_bf16(const dev_pack_job *j, uint32_t row, dev_scratch *s, int buffer)
{
    const uint8_t *in = row_at(j, row, s, buffer);
    if (j->key.dtype == NUM_BF16 || row >= j->key.rows) return (const uint16_t *)in;
    uint16_t *out = (uint16_t *)s->row[buffer];
    for (uint32_t f = 0; f < j->key.columns; f++) out[f] = f8_bf16[j->key.dtype][in[f]];
    return out;
}

static const float *row_f32(const dev_kernels *k, const dev_pack_job *j, uint32_t row, dev_scratch *s)
{
    const uint8_t *in = row_at(j, row, s, 0);
    const num_dtype t = (num_dtype)j->key.dtype;
    if (t == NUM_F32 || t == NUM_TF32 || row >= j->key.rows) return (const float *)in;
    float *out = s->row[0];
    if (t == NUM_BF16) k->from_bf16(out, (const uint16_t *)in, j->key.columns);
    else if (t == NUM_F16) k->from_f16(out, (const uint16_t *)in, j->key.columns);
    else for (uint32_t f = 0; f < j->key.columns; f++) out[f] = f8_f32[t][in[f]];
    return out;
}

void dev_pack(const dev_kernels *k, const dev_pack_job *j, dev_scratch *s)
{
    const int steps = dev_pack_steps(&j->key);
    const dev_packing p = { .out = j->out, .steps = steps, .columns = (int)j->key.columns, .panels = j->key.panels };
    for (int i = 0; i < steps; i++) {
        if (j->key.form == DEV_PAIRS)
            k->pack_pair(&p, i, row_bf16(j, (uint32_t)i * 2, s, 0), row_bf16(j, (uint32_t)i * 2 + 1, s, 1));
        else
            k->pack_f32(&p, i, row_f32(k, j, j->key.form == DEV_NARROW ? (uint32_t)i ^ 1 : (uint32_t)i, s));
    }
    if (j->ready) atomic_store_explicit(j->ready, j->epoch, memory_order_release);     // the words are seen before
}

static size_t packed_bytes(const dev_pack_key *k)
{
    const int steps = dev_pack_steps(k);
    return k->panels ? dev_panels_bytes((int)k->columns, steps) : dev_strips_bytes((int)k->columns, steps);
}

static uint32_t *packed_alloc(size_t bytes)
{
    void *p = NULL;
    if (posix_memalign(&p, 64, bytes + 64) != 0) glia_bug(__FILE__, __LINE__, "out of memory");
    return p;
}

static uint64_t hash_of(const dev_pack_key *k)
{
    const uint64_t *w = (const uint64_t *)(const void *)k;
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < sizeof *k / 8; i++) h = (h ^ w[i]) * 0xff51afd7ed558ccdu, h ^= h >> 32;
    return h;
}

// ---- a tensor's store ----------------------------------------------------------------------------------------------

typedef struct entry {
    struct entry *next;
    dev_pack_key key;
    const dev_fast_core *maker; // who fills it in this epoch; written before `claimed`
    _Atomic uint32_t claimed;   // the epoch that it is, or is being, filled for
    _Atomic uint32_t ready;     // the epoch that it is filled for
    uint32_t *data;
} entry;

typedef struct chunk {          // packed words lie in chunks, in the order of their first use, on huge pages if there are any
    struct chunk *next;
    uint8_t *data;
    size_t bytes, used;
} chunk;

// Entries of an old epoch are stale: their words are made again, in place.
typedef struct store {
    uint64_t generation;
    uint32_t epoch;
    uint32_t users;             // executions under way; guarded by: stores_lock
    const dev_kernels *kernels;
    pthread_mutex_t lock;       // of claims
    chunk *chunks;              // guarded by: lock
    size_t chunk_bytes;
    size_t mask;
    _Atomic(entry *) buckets[];
} store;

static pthread_mutex_t stores_lock = PTHREAD_MUTEX_INITIALIZER;     // of making, dropping and beginning stores

static uint32_t *chunk_alloc(store *s, size_t bytes)
{
    bytes = (bytes + 127) / 64 * 64;            // and a cache line of room for loads past the end
    if (!s->chunks || s->chunks->bytes - s->chunks->used < bytes) {
        chunk *c = glia_alloc(sizeof *c);
        c->bytes = bytes > s->chunk_bytes ? bytes : s->chunk_bytes;
        c->data = mmap(NULL, c->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (c->data == MAP_FAILED) glia_bug(__FILE__, __LINE__, "out of memory");
        (void)madvise(c->data, c->bytes, MADV_HUGEPAGE);
        c->next = s->chunks;
        s->chunks = c;
    }
    uint32_t *at = (uint32_t *)(void *)(s->chunks->data + s->chunks->used);
    s->chunks->used += bytes;
    return at;
}

static store *store_create(const dev_buffer *b, const dev_kernels *kernels)
{
    size_t n = 64;
    while (n < b->bytes / 16384 && n < (1u << 20)) n *= 2;
    store *s = glia_alloc(sizeof *s + n * sizeof s->buckets[0]);
    const size_t most = 8u << 20, least = 64u << 10, quarter = b->bytes / 4;
    s->chunk_bytes = quarter > most ? most : quarter < least ? least : quarter;
    s->generation = b->generation;
    s->epoch = 1;
    s->kernels = kernels;
    s->mask = n - 1;
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

static void store_destroy(store *s)
{
    if (!s) return;
    for (size_t b = 0; b <= s->mask; b++) {
        for (entry *e = atomic_load(&s->buckets[b]), *next; e; e = next) {
            next = e->next;
            glia_free(e);
        }
    }
    for (chunk *c = s->chunks, *next; c; c = next) {
        next = c->next;
        (void)munmap(c->data, c->bytes);
        glia_free(c);
    }
    pthread_mutex_destroy(&s->lock);
    glia_free(s);
}

void dev_buffer_release(dev_buffer *b)
{
    pthread_mutex_lock(&stores_lock);
    store_destroy(b->packed);
    b->packed = NULL;
    pthread_mutex_unlock(&stores_lock);
}

static entry *store_find(store *s, const dev_pack_key *key, uint64_t hash)
{
    entry *e = atomic_load_explicit(&s->buckets[hash & s->mask], memory_order_acquire);     // its fields are seen
    while (e && memcmp(&e->key, key, sizeof *key) != 0) e = e->next;
    return e;
}

// Finds or makes the entry; `made` says that the caller must fill it.
static entry *store_get(store *s, const dev_pack_key *key, const dev_fast_core *c, bool *made)
{
    const uint64_t hash = hash_of(key);
    *made = false;
    entry *e = store_find(s, key, hash);
    if (e && atomic_load_explicit(&e->claimed, memory_order_acquire) == s->epoch) return e;     // `maker` is seen
    pthread_mutex_lock(&s->lock);
    e = store_find(s, key, hash);
    const bool is_new = !e;
    if (is_new) {
        e = glia_alloc(sizeof *e);
        e->key = *key;
        e->data = chunk_alloc(s, packed_bytes(key));
    }
    if (atomic_load_explicit(&e->claimed, memory_order_relaxed) != s->epoch) {
        e->maker = c;
        atomic_store_explicit(&e->claimed, s->epoch, memory_order_release);
        *made = true;
    }
    if (is_new) {
        e->next = atomic_load_explicit(&s->buckets[hash & s->mask], memory_order_relaxed);
        atomic_store_explicit(&s->buckets[hash & s->mask], e, memory_order_release);
    }
    pthread_mutex_unlock(&s->lock);
    return e;
}

// The store of a tensor for one execution: the buffer's, or a private one while others still use a stale one. What is
// not constant may have been changed by its owner without notice, so each execution packs it anew.
static store *store_begin(const dev_loaded *l, dev_buffer *b)
{
    pthread_mutex_lock(&stores_lock);
    store *s = b->packed;
    const bool stale = s && s->generation != b->generation, other_level = s && s->kernels != l->fast->kernels;
    if (s && s->users == 0 && other_level) {
        store_destroy(s);
        s = b->packed = NULL;
    } else if (s && s->users == 0 && (stale || !b->constant)) {
        s->generation = b->generation;
        s->epoch++;
    } else if (stale || other_level) {
        s = NULL;
    }
    if (!s) {
        s = store_create(b, l->fast->kernels);
        if (!b->packed) b->packed = s;
    }
    s->users++;
    pthread_mutex_unlock(&stores_lock);
    return s;
}

static void store_end(dev_buffer *b, store *s)
{
    pthread_mutex_lock(&stores_lock);
    s->users--;
    if (b->packed != s) store_destroy(s);
    pthread_mutex_unlock(&stores_lock);
}

void dev_packed_begin(dev_loaded *l)
{
    (void)pthread_once(&f8_once, fill_f8);
    for (uint32_t t = 0; t < l->program->tensors.count; t++) {
        dev_buffer *b = dev_tensor_buffer(l, t);
        l->fast->stores[t] = l->written[t] || b->bytes == 0 ? NULL : store_begin(l, b);
    }
}

void dev_packed_end(dev_loaded *l)
{
    for (uint32_t t = 0; t < l->program->tensors.count; t++)
        if (l->fast->stores[t]) store_end(dev_tensor_buffer(l, t), l->fast->stores[t]);
}

// ---- operands ------------------------------------------------------------------------------------------------------

static void fill(dev_exec *x, dev_fast_core *c, const dev_pack_job *job)
{
    c->queued_bytes += packed_bytes(&job->key);
    if (x->loaded->fast->workers > 1) VEC_PUSH(&c->packs) = *job;
    else dev_pack(x->loaded->fast->kernels, job, dev_scratch_of(x, 0));
}

static const uint32_t *from_hbm(dev_exec *x, dev_fast_core *c, const dev_tile *t, dev_region r, dev_pack_key *key)
{
    const uint8_t *base = dev_source_at(t, r);
    key->at = (uint64_t)(uintptr_t)base;
    key->pitch = t->pitch;
    bool made;
    store *s = x->loaded->fast->stores[t->tensor];
    entry *e = store_get(s, key, c, &made);
    if (made)
        fill(x, c, &(dev_pack_job){ .key = *key, .base = base, .out = e->data, .ready = &e->ready, .epoch = s->epoch });
    else if (e->maker != c)                     // another core packs it; meanwhile this one packs what comes next
        VEC_PUSH(&c->awaits) = (dev_await){ &e->ready, s->epoch };
    return e->data;
}

static uint32_t newest(const dev_fast_core *c, dev_region r)
{
    uint32_t stamp = 0;
    for (uint32_t g = r.lo / DEV_GRANULE; g <= (r.hi - 1) / DEV_GRANULE; g++)
        if (c->stamp[g] > stamp) stamp = c->stamp[g];
    return stamp;
}

// The slot for a key: its own, else an empty or the oldest of four.
static dev_cached *cache_slot(dev_exec *x, dev_fast_core *c, const dev_pack_key *key)
{
    const uint64_t h = hash_of(key);
    dev_cached *victim = NULL;
    for (uint64_t i = 0; i < 4; i++) {
        dev_cached *e = &c->cache[(h + i) % DEV_CACHE_SLOTS];
        if (e->stamp && memcmp(&e->key, key, sizeof *key) == 0) return e;
        if (!victim || e->stamp < victim->stamp) victim = e;
    }
    if (victim->batch == c->batch && victim->stamp) dev_queue_flush(x, c);      // the queue still reads it
    victim->stamp = 0;
    return victim;
}

// From SBUF's bytes; those of `t`, when it is given, are still in HBM.
static const uint32_t *from_sbuf(dev_exec *x, dev_fast_core *c, int slot, dev_region r, const dev_tile *t, dev_pack_key *key)
{
    const dev_ap *a = &x->ap[slot];
    key->at = (uint64_t)r.start << 32 | (uint32_t)(a->base - x->core->sbuf - r.start * a->pitch);
    key->pitch = t ? t->pitch : (int64_t)a->pitch;
    if (!dev_is_run(a)) {
        for (int k = 0; k < a->rank; k++) {
            key->step[k] = a->step[k];
            key->count[k] = a->count[k];
        }
    }
    dev_cached *e = cache_slot(x, c, key);
    const uint32_t state = newest(c, r);
    const bool fresh = e->stamp && memcmp(&e->key, key, sizeof *key) == 0 && e->stamp >= state;
    if (!fresh) {
        if (e->stamp && e->batch == c->batch) dev_queue_flush(x, c);
        const size_t bytes = packed_bytes(key);
        if (e->bytes < bytes) {
            free(e->data);
            e->data = packed_alloc(bytes);
            e->bytes = bytes;
        }
        e->key = *key;
        e->stamp = c->sequence;
        dev_pack_job job = { .key = *key, .base = t ? dev_source_at(t, r) : a->base, .out = e->data };
        if (!dev_is_run(a)) job.ap = *a;
        fill(x, c, &job);
        if (x->loaded->fast->workers > 1 && t) c->volatile_packs = true;
        else if (x->loaded->fast->workers > 1)
            for (uint32_t g = r.lo / DEV_GRANULE; g <= (r.hi - 1) / DEV_GRANULE; g++) c->read_batch[g] = c->batch;
    }
    e->batch = c->batch;
    return e->data;
}

glia_status dev_packed_of(dev_exec *x, dev_fast_core *c, int slot, bool panels, dev_form form, const uint32_t **out)
{
    const dev_ap *a = &x->ap[slot];
    const dev_region r = dev_region_of(x, slot);
    const uint8_t pair = x->insn->op == ISA_matmul && x->insn->attr[1] == ISA_PERF_DOUBLE_ROW ? 2 : 1;
    dev_pack_key key;
    memset(&key, 0, sizeof key);
    key.rows = a->partitions * pair;
    key.columns = (uint32_t)(a->free / pair);
    key.dtype = a->dtype;
    key.form = (uint8_t)form;
    key.panels = panels;
    key.pair = pair;
    const dev_tile *t = dev_tile_at(c, r);
    if (!t) dev_before_read(x, c, r);
    *out = t && !t->is_volatile ? from_hbm(x, c, t, r, &key) : from_sbuf(x, c, slot, r, t, &key);
    return GLIA_OK;
}
