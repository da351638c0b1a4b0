// SPDX-License-Identifier: Apache-2.0
// Status values: how every fallible function of glia reports.
//
// A status is a pointer. NULL is success; anything else owns a code, a message and a trail of the places that it
// passed on its way out. It must be used: returned, reported or destroyed. Three macros change control flow and no
// others do: TRY (propagate), ENSURE (judge input), BUG_ON (our own mistake; aborts, in release too).
//
// A message says what, where, what to do: lower case, no full stop, the subject in single quotes, both values, and
// optionally a second line that starts with "hint: ".
#ifndef GLIA_BASE_STATUS_H
#define GLIA_BASE_STATUS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#define GLIA_MUST_USE __attribute__((warn_unused_result))
#define GLIA_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define GLIA_NONNULL __attribute__((returns_nonnull))   // lets the compiler see that TRY and ENSURE leave

typedef enum glia_code {
    GLIA_CODE_OK = 0,
#define CODE(symbol, exit, http, nrt, name, when) GLIA_CODE_##symbol,
#include "base/codes.def"
    GLIA_CODE_COUNT
} glia_code;

typedef struct glia_status_s *glia_status;   // NULL is success

#define GLIA_OK ((glia_status)NULL)

// Makes a failed status. The text is formatted now; `file` and `line` start the trail. Never returns NULL.
GLIA_MUST_USE glia_status glia_status_make(glia_code code, const char *file, int line, const char *format, ...)
    GLIA_PRINTF(4, 5) GLIA_NONNULL;
// Adds a place to the trail (at most 32 are kept) and returns the same status, which is a failure (NULL is our bug).
GLIA_MUST_USE glia_status glia_status_pass(glia_status s, const char *file, int line) GLIA_NONNULL;
// Puts "prefix: " before the message; returns the same status. For adding the file or the op that was at work.
GLIA_MUST_USE glia_status glia_status_prefix(glia_status s, const char *format, ...) GLIA_PRINTF(2, 3);
void glia_status_destroy(glia_status s);     // NULL is fine

glia_code glia_status_code(glia_status s);            // GLIA_CODE_OK for NULL
const char *glia_status_message(glia_status s);       // "" for NULL; borrowed until destroyed
// The trail as "a.c:12 < b.c:40"; borrowed until destroyed.
const char *glia_status_trail(glia_status s);

const char *glia_code_name(glia_code code);
int glia_code_exit(glia_code code);
int glia_code_http(glia_code code);
int glia_code_nrt(glia_code code);

_Noreturn void glia_bug(const char *file, int line, const char *format, ...) GLIA_PRINTF(3, 4);

#define GLIA_FAIL(code, ...) glia_status_make(GLIA_CODE_##code, __FILE__, __LINE__, __VA_ARGS__)
#define TRY(expr)                                                                                                  \
    do {                                                                                                           \
        glia_status try_status_ = (expr);                                                                          \
        if (__builtin_expect(try_status_ != NULL, 0)) return glia_status_pass(try_status_, __FILE__, __LINE__);    \
    } while (0)
#define ENSURE(cond, code, ...)                                                                                    \
    do {                                                                                                           \
        if (__builtin_expect(!(cond), 0)) return GLIA_FAIL(code, __VA_ARGS__);                                     \
    } while (0)
#define BUG_ON(cond)                                                                                               \
    do {                                                                                                           \
        if (__builtin_expect(!!(cond), 0)) glia_bug(__FILE__, __LINE__, "%s", #cond);                              \
    } while (0)

// AUTO(type) calls `type_cleanup(&variable)` when the variable leaves scope; TAKE moves a pointer out and disarms it.
#define AUTO(type) __attribute__((cleanup(type##_cleanup))) type *
#define AUTO_VALUE(type) __attribute__((cleanup(type##_fini))) type
#define AUTO_STATUS __attribute__((cleanup(glia_status_cleanup))) glia_status
#define TAKE(pointer)                                                                                              \
    ({                                                                                                             \
        __typeof__(pointer) take_tmp_ = (pointer);                                                                 \
        (pointer) = NULL;                                                                                          \
        take_tmp_;                                                                                                 \
    })
// Defines `type_cleanup` from `destroy`, a function of one pointer that accepts NULL.
#define DEFINE_CLEANUP(type, destroy)                                                                              \
    static inline void type##_cleanup(type **p) { destroy(*p); }

static inline void glia_status_cleanup(glia_status *s) { glia_status_destroy(*s); }

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
