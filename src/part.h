/* Part: what a build may be without. It is called through a pointer alone, which is NULL where it was left out: `npx
 * trainlet shrink` writes zeros over it in a finished wasm file.
 *
 *   PART(recompute, recompute_at_peak);
 *   if (!part_recompute) return part_missing(error, "recomputing");
 */
#pragma once
#include "status.h"

/* Weak, so that the compiler does not look behind the pointer. */
#define PART(name, function)                                                                                           \
  extern __typeof__(function) *const part_##name;                                                                      \
  __attribute__((weak)) __typeof__(function) *const part_##name = function

enum { SHRUNK_FOR_MAX = 120 };
extern const char shrunk_for[SHRUNK_FOR_MAX]; /* what this build was shrunk for, in its maker's words; "": nothing */

/* unsupported-op: "this build was shrunk for … and has no " + what. */
Status part_missing(Error *error, const char *what);
/* The same of operators, by name; `node` is who wants the first. */
Status part_missing_operators(Error *error, const char *node, const char *names);
