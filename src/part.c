/* What a shrunk build says of what it lacks. */
#include "part.h"

#include <string.h>

#ifdef TRAINLET_SHRUNK_FOR /* wasm/keep.cmake */
char shrunk_for[SHRUNK_FOR_MAX] = TRAINLET_SHRUNK_FOR;
#else /* `npx trainlet shrink` writes it. Until then spaces: of zeros, the wasm file would have no room for it. */
char shrunk_for[SHRUNK_FOR_MAX] = {[0 ... SHRUNK_FOR_MAX - 2] = ' '};
#endif

bool is_shrunk(void) { return *shrunk_for != ' '; }

static void append(Error *error, const char *text) {
  size_t length = strlen(error->text);
  while (*text && length + 1 < sizeof error->text) error->text[length++] = *text++;
  error->text[length] = 0;
}

/* Said by a build without sentences, too. */
static Status missing(Error *error, const char *node, const char *kind, const char *what) {
  if (error->status != STATUS_OK) return error->status;
  error_set(error, STATUS_UNSUPPORTED_OP, node, "%s", "");
  append(error, "this build was shrunk for "), append(error, shrunk_for), append(error, " and has no ");
  append(error, kind), append(error, what);
  return error->status;
}

Status part_missing(Error *error, const char *what) { return missing(error, NULL, "", what); }

Status part_missing_operators(Error *error, const char *node, const char *names) {
  return missing(error, node, "operator ", names);
}
