/* Errors of a shrunk build about the parts that it lacks. */
#include "part.h"

#ifdef TRAINLET_SHRUNK_FOR /* wasm/keep.cmake */
char shrunk_for[SHRUNK_FOR_MAX] = TRAINLET_SHRUNK_FOR;
#else /* `npx trainlet shrink` writes it. Until then spaces: of zeros, the wasm file would have no room for it. */
char shrunk_for[SHRUNK_FOR_MAX] = {[0 ... SHRUNK_FOR_MAX - 2] = ' '};
#endif

bool is_shrunk(void) { return *shrunk_for != ' '; }

/* Said by a build without sentences, too. */
static Status missing(Error *error, const char *node, const char *kind, const char *what) {
  if (error->status != STATUS_OK) return error->status;
  error_set(error, STATUS_UNSUPPORTED_OP, node, "%s", "");
  const char *pieces[] = {"this build was shrunk for ", shrunk_for, " and has no ", kind, what};
  char *to = error->text, *end = to + sizeof error->text - 1;
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
    for (const char *from = pieces[i]; *from && to < end;) *to++ = *from++;
  *to = 0;
  return error->status;
}

Status part_missing(Error *error, const char *what) { return missing(error, NULL, "", what); }

Status part_missing_operators(Error *error, const char *node, const char *names) {
  return missing(error, node, "operator ", names);
}
