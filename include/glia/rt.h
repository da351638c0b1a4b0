// SPDX-License-Identifier: Apache-2.0
// What glia's runtime tells beyond libnrt's interface: why a call failed, how long a model would take on the simulated
// instance, where device memory went. For clients of nrt/nrt.h, in C or C++; linked with the same library.
//
// Functions that answer NRT_STATUS answer as nrt_* do. Texts that a function returns as `char *` are the caller's:
// glia_rt_free. Any function may be called from any thread.
#ifndef GLIA_RT_H
#define GLIA_RT_H

#include "nrt/nrt.h"

#ifndef GLIA_API
#if defined(__GNUC__)
#define GLIA_API __attribute__((visibility("default")))
#else
#define GLIA_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

// ---- simple --------------------------------------------------------------------------------------------------------

// Why this thread's last nrt_* or glia_rt_* call that failed did so, in words, with a hint where there is one; ""
// before the first. A success does not clear it. Borrowed until the thread's next failure. Callable at any time.
GLIA_API const char *glia_rt_last_error(void);

// "quiet", "error" (the default), "warn", "info", "debug" or "trace": how much goes to stderr from now on, in libnrt's
// line format. nrt_init sets it to what NEURON_RT_LOG_LEVEL says. INVALID for any other name. Callable at any time.
GLIA_API NRT_STATUS glia_rt_set_log_level(const char *level);

// The instance that is simulated, "trn2.3xlarge"; NULL while the runtime is not open. Static text.
GLIA_API const char *glia_rt_instance(void);

// The environment variables that the runtime reads, in the order in which it judges them; NULL past the last.
typedef struct glia_rt_variable { const char *name, *fallback, *text; } glia_rt_variable;
GLIA_API const glia_rt_variable *glia_rt_variable_at(uint32_t index);
GLIA_API void glia_rt_free(void *text);         // NULL is fine

// ---- time ----------------------------------------------------------------------------------------------------------

typedef struct glia_rt_time_options {
    size_t size;                // sizeof(glia_rt_time_options)
    int extrapolate;            // 1: loops that repeat exactly are extrapolated
    int throttle;               // 1: PE's warm-up throttle
    int launch;                 // 1: the overhead of a launch is part of the time
    uint32_t sharers;           // logical cores that stream from the same HBM stack at once, at least 1
    int follow_execution;       // 1: dynamic loops and branches go as in the model's last execution, if there was one
    int64_t expected_trips;     // of dynamic loops otherwise; < 0: their bound
    int trace;                  // 1: keep what glia_rt_timing_write_trace writes
} glia_rt_time_options;
#define GLIA_RT_TIME_OPTIONS_INIT { sizeof(glia_rt_time_options), 1, 1, 1, 1, 1, -1, 0 }

// What an execution of the model would take on the simulated instance. Nothing is executed and no tensor is looked at.
// Computed once for a NEFF, options and control; borrowed until nrt_close. `options` NULL: as _INIT says.
typedef struct glia_rt_timing glia_rt_timing;
GLIA_API NRT_STATUS glia_rt_model_time(nrt_model_t *model, const glia_rt_time_options *options,
                                       const glia_rt_timing **timing);
GLIA_API int64_t glia_rt_timing_ps(const glia_rt_timing *timing);       // picoseconds in all
// By the vendor profiler's names, "mfu_estimated_percent"; NaN for a name that there is not.
GLIA_API double glia_rt_timing_metric(const glia_rt_timing *timing, const char *name);
GLIA_API char *glia_rt_timing_text(const glia_rt_timing *timing);       // for people
// One JSON object: total_time, engines{}, dma{}, critical_path[], assumptions[], every metric.
GLIA_API char *glia_rt_timing_json(const glia_rt_timing *timing);
// A Chrome trace, which Perfetto opens. INVALID unless `trace` was asked for.
GLIA_API NRT_STATUS glia_rt_timing_write_trace(const glia_rt_timing *timing, const char *path);

// ---- device memory -------------------------------------------------------------------------------------------------

enum { GLIA_RT_MEMORY_CATEGORIES = 13 };
typedef struct glia_rt_memory {
    size_t size;                // sizeof(glia_rt_memory), set by the caller
    uint64_t bytes[GLIA_RT_MEMORY_CATEGORIES];      // of the logical core, in the vendor's order
    uint64_t total, peak;
    uint64_t limit;             // what `total` may come to: its HBM stack less what the stack's other cores use
} glia_rt_memory;
GLIA_API NRT_STATUS glia_rt_memory_of(uint32_t vnc, glia_rt_memory *memory);
GLIA_API const char *glia_rt_memory_title(int category);        // "Model Code"; NULL past the last
GLIA_API const char *glia_rt_memory_key(int category);          // "model_code"
GLIA_API char *glia_rt_memory_table(uint32_t vnc);              // as libnrt logs it; NULL on failure
// Whether a NEFF and its tensors would fit on an empty logical core of `lnc` physical cores (0: the chip's default; a
// NEFF's own must agree), by the ledger that nrt_load and nrt_tensor_allocate go by. Nothing is loaded, and no runtime
// need be open. `name` is what the table calls it; `tensor_bytes` come on top of the tensors that the NEFF names;
// `neff_bytes` NULL: they alone. RESOURCE, with the table and the smallest change, when it would not fit. `memory` is
// what it would take, microcode included.
GLIA_API NRT_STATUS glia_rt_would_fit(const char *instance, int lnc, const char *name, const void *neff_bytes,
                                      size_t size, uint64_t tensor_bytes, glia_rt_memory *memory);

// ---- models and counters -------------------------------------------------------------------------------------------

// As nrt_load, from a file, which stays mapped: constants that it embeds are used where they are. It must not be
// written to while the model is loaded. `vnc` as there; unloaded by nrt_unload.
GLIA_API NRT_STATUS glia_rt_load_file(const char *path, int32_t vnc, nrt_model_t **model);

GLIA_API NRT_STATUS glia_rt_model_neff_id(const nrt_model_t *model, uint32_t *neff_id);         // as in the table
GLIA_API NRT_STATUS glia_rt_model_executions(const nrt_model_t *model, uint64_t *executions);   // that succeeded
// What control did in the last execution, in program order: the trips of dynamic loops, 0 or 1 for branches.
// `trips` is the caller's: glia_rt_free.
GLIA_API NRT_STATUS glia_rt_model_trips(const nrt_model_t *model, int64_t **trips, uint32_t *count);

// Counters of the open runtime, by number from 0 or by name ("executions", "packs" ...). A name past the last is NULL;
// the value of what there is not, or while the runtime is not open, is 0.
GLIA_API const char *glia_rt_counter_name(int counter);
GLIA_API const char *glia_rt_counter_text(int counter);         // what it counts
GLIA_API uint64_t glia_rt_counter(const char *name);

#ifdef __cplusplus
}
#endif

#endif
