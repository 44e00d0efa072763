/* What a shrunk build says of what it lacks. */
#include "part.h"

#ifdef TRAINLET_SHRUNK_FOR /* wasm/keep.cmake */
char shrunk_for[SHRUNK_FOR_MAX] = TRAINLET_SHRUNK_FOR;
#else /* `npx trainlet shrink` writes it. Until then spaces: of zeros, the wasm file would have no room for it. */
char shrunk_for[SHRUNK_FOR_MAX] = {[0 ... SHRUNK_FOR_MAX - 2] = ' '};
#endif

bool is_shrunk(void) { return *shrunk_for != ' '; }

static Status missing(Error *error, const char *node, const char *kind, const char *what) {
  return error_set(error, STATUS_UNSUPPORTED_OP, node, "this build was shrunk for %.79s and has no %s%s", shrunk_for,
                   kind, what);
}

Status part_missing(Error *error, const char *what) { return missing(error, NULL, "", what); }

Status part_missing_operators(Error *error, const char *node, const char *names) {
  return missing(error, node, "operator ", names);
}
