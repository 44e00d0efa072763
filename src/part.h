/* Part: a function or table that a build may be without. It is used through a pointer alone, which is NULL where it was
 * left out: `npx trainlet shrink` writes zeros over it in a finished wasm file.
 *
 *   OPTIONAL(recompute, recompute_at_peak);
 *   if (!part_recompute) return part_missing(error, "recomputing");
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "status.h"

#ifdef TRAINLET_PARTS /* -DTRAINLET_KEEP=…: a header with `#define KEPT_recompute a,` for each part that stays */
#include TRAINLET_PARTS
#define OPTIONAL(name, function) PART_OF(name, function, KEPT_##name &function, NULL, )
#define PART_OF(...) PART_SECOND(__VA_ARGS__)
#define PART_SECOND(name, function, first, second, ...)                                                                \
  extern __typeof__(function) *const part_##name;                                                                      \
  __typeof__(function) *const part_##name = second
#else
/* Volatile, so that the compiler does not look behind the pointer. */
#define OPTIONAL(name, function)                                                                                       \
  extern __typeof__(function) *const volatile part_##name;                                                             \
  __typeof__(function) *const volatile part_##name = &function
#endif

enum { SHRUNK_FOR_MAX = 80 };
extern char shrunk_for[SHRUNK_FOR_MAX]; /* in its maker's words; not constant, for the compiler does not know it */
bool is_shrunk(void);

/* unsupported-op: "this build was shrunk for … and has no " + what. */
Status part_missing(Error *error, const char *what);
/* The same of operators, by name; `node` is who wants the first. */
Status part_missing_operators(Error *error, const char *node, const char *names);
