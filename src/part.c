/* What a shrunk build says of what it lacks. */
#include "part.h"

#ifndef TRAINLET_SHRUNK_FOR /* src/keep/keep.cmake */
#define TRAINLET_SHRUNK_FOR ""
#endif
const char shrunk_for[SHRUNK_FOR_MAX] = TRAINLET_SHRUNK_FOR; /* `npx trainlet shrink` writes it, too */

static Status missing(Error *error, const char *node, const char *kind, const char *what) {
  return error_set(error, STATUS_UNSUPPORTED_OP, node, "this build was shrunk for %.119s and has no %s%s", shrunk_for,
                   kind, what);
}

Status part_missing(Error *error, const char *what) { return missing(error, NULL, "", what); }

Status part_missing_operators(Error *error, const char *node, const char *names) {
  return missing(error, node, "operator ", names);
}
