/* Regular expression: RE2's syntax without flags, Unicode classes and names of classes, as a machine that is in several
 * places at once, so that no pattern takes longer than its length times that of the text.
 *
 *   a(b|c)*  ─▶  0 a   1 split 2, 6   2 split 3, 5   3 b   4 jump 6…
 */
#pragma once
#include "arena.h"

typedef struct Regex Regex;

/* Is told what a search takes, in multiply-adds that take as long. False: it ends there and finds nothing. */
typedef struct RegexWork {
  bool (*spend)(const void *context, double work);
  const void *context;
} RegexWork;

/* `work` NULL: it may take any. NULL with what is wrong in *wrong: a text that never ends with a period; "out of
 * memory" when that is so. */
const Regex *regex_read(const char *pattern, RegexWork *work, Arena *arena, const char **wrong);
/* True if all of the text is matched. */
bool regex_matches_all(const Regex *r, const char *text);
/* The leftmost match that begins at `from` or after, and of these the longest; what is before `from` counts for \b. */
bool regex_find(const Regex *r, const char *text, const char *from, const char **begin, const char **end);
/* The start of the next letter; `at` must not be at the end. */
const char *regex_next_letter(const char *at);
