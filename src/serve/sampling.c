// SPDX-License-Identifier: Apache-2.0
// Sampling (see sampling.h). A max-heap over the row hands out tokens in order of likelihood, so that a vocabulary of
// 262,144 is never sorted: making the heap is linear, and top_k and top_p mostly end after a few pops.
#include "serve/sampling.h"

#include <math.h>

#include "base/arena.h"
#include "num/math.h"

struct serve_sampler {
    serve_sampling with;
    int vocab;
    glia_rng rng;
    int32_t *heap;     // [vocab] ids
    double *kept;      // [vocab] cumulative weights of the tokens popped so far, not normalised
    int32_t *kept_ids; // [vocab]
};

glia_status serve_sampler_create(const serve_sampling *s, int vocab, serve_sampler **out)
{
    *out = NULL;
    ENSURE(vocab > 0, INVALID, "a vocabulary of %d tokens; there must be one at least", vocab);
    ENSURE(s->temperature >= 0 && s->temperature <= 1e6, INVALID,
           "'temperature' is %g; it must be from 0 (greedy) to 1e6", s->temperature);
    ENSURE(s->top_k >= 0, INVALID, "'top_k' is %d; it must be 0 (all tokens) or more", s->top_k);
    ENSURE(s->top_p > 0 && s->top_p <= 1, INVALID, "'top_p' is %g; it must be above 0 and at most 1 (all tokens)",
           s->top_p);
    serve_sampler *made = glia_alloc(sizeof *made);
    *made = (serve_sampler){.with = *s, .vocab = vocab, .rng = glia_rng_of(s->seed)};
    if (s->temperature > 0) {
        made->heap = glia_alloc(glia_array_bytes((size_t)vocab, sizeof *made->heap));
        made->kept = glia_alloc(glia_array_bytes((size_t)vocab, sizeof *made->kept));
        made->kept_ids = glia_alloc(glia_array_bytes((size_t)vocab, sizeof *made->kept_ids));
    }
    *out = made;
    return GLIA_OK;
}

void serve_sampler_destroy(serve_sampler *s)
{
    if (!s) return;
    glia_free(s->heap);
    glia_free(s->kept);
    glia_free(s->kept_ids);
    glia_free(s);
}

glia_status serve_argmax(const float *logits, int vocab, int32_t *out)
{
    int32_t best = 0;
    for (int32_t id = 0; id < vocab; id++) {
        ENSURE(!isnan(logits[id]), INVALID,
               "logit %d of %d is NaN; the model computed it from what it was given\n"
               "hint: try --dtype fp32, and check the checkpoint",
               id, vocab);
        if (logits[id] > logits[best]) best = id;
    }
    ENSURE(isfinite(logits[best]), INVALID, "the largest logit is %g, of token %d; no distribution follows from it",
           (double)logits[best], best);
    *out = best;
    return GLIA_OK;
}

// ---- a heap by (logit descending, id ascending) --------------------------------------------------------------------

static bool before(const float *logits, int32_t a, int32_t b)
{
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
}

static void sift_down(int32_t *heap, int count, int at, const float *logits)
{
    const int32_t moving = heap[at];
    for (int child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(logits, heap[child + 1], heap[child])) child++;
        if (!before(logits, heap[child], moving)) break;
        heap[at] = heap[child];
    }
    heap[at] = moving;
}

static void heap_make(int32_t *heap, int count, const float *logits)
{
    for (int i = 0; i < count; i++)
        heap[i] = i;
    for (int i = count / 2; i-- > 0;)
        sift_down(heap, count, i, logits);
}

static int32_t heap_pop(int32_t *heap, int *count, const float *logits)
{
    const int32_t top = heap[0];
    heap[0] = heap[--*count];
    if (*count) sift_down(heap, *count, 0, logits);
    return top;
}

// ---- drawing -------------------------------------------------------------------------------------------------------

// exp((logit - largest) / temperature). The quotient is rounded to fp32 once; weights below its range are 0.
static double weight_of(const serve_sampler *s, float logit, float largest)
{
    return (double)num_exp((float)(((double)logit - (double)largest) / s->with.temperature));
}

// The sum that top_p is a share of: over the top_k, or over the whole row. In the order in which tokens are kept for
// the first; by id for the second, so that the row need not be sorted for it.
static double total_weight(const serve_sampler *s, const float *logits, float largest)
{
    double total = 0;
    for (int id = 0; id < s->vocab; id++)
        total += weight_of(s, logits[id], largest);
    return total;
}

static int keep(serve_sampler *s, const float *logits, float largest)
{
    const bool limited = s->with.top_k > 0 && s->with.top_k < s->vocab;
    const int limit = limited ? s->with.top_k : s->vocab;
    int left = s->vocab, kept = 0;
    double sum = 0;
    heap_make(s->heap, left, logits);
    const double enough = limited || s->with.top_p == 1 ? INFINITY : s->with.top_p * total_weight(s, logits, largest);
    while (kept < limit && sum < enough) {
        const int32_t id = heap_pop(s->heap, &left, logits);
        const double weight = weight_of(s, logits[id], largest);
        if (weight == 0) break; // so are all that follow
        sum += weight;
        s->kept_ids[kept] = id;
        s->kept[kept++] = sum;
    }
    if (!limited || s->with.top_p == 1) return kept;
    int nucleus = 1; // of what top_k kept
    while (nucleus < kept && s->kept[nucleus - 1] < s->with.top_p * sum)
        nucleus++;
    return nucleus;
}

glia_status serve_sampler_draw(serve_sampler *s, const float *logits, int32_t *out)
{
    int32_t best;
    TRY(serve_argmax(logits, s->vocab, &best));
    if (s->with.temperature == 0) {
        *out = best;
        return GLIA_OK;
    }
    const int count = keep(s, logits, logits[best]);
    const double at = glia_rng_double(&s->rng) * s->kept[count - 1];
    int low = 0, high = count - 1; // the first whose cumulative weight is above `at`
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (s->kept[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    *out = s->kept_ids[low];
    return GLIA_OK;
}
