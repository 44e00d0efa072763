/* Errors: a status number is passed up to the caller; the first sentence wins and is kept in one Error. */
#pragma once

typedef enum Status {
#define STATUS(NAME, code, meaning) STATUS_##NAME,
#include "status.def"
#undef STATUS
  STATUS_COUNT,
  STATUS_DEFERRED = STATUS_COUNT, /* not an error, and users never see it: what an infer needs will be known later
                                  (graph.h: Deferral) */
} Status;

typedef struct Error {
  Status status;
  char node[128]; /* the name of the node that the sentence is about, "" when none */
  char text[512]; /* one sentence for a person: what was wanted, what came */
} Error;

/* The code of a status as users see it, e.g. "invalid-feed". */
const char *status_code(Status status);

/* Keeps the sentence if it is the first; returns `status` so that `return error_set(...)` reads well. */
Status error_set(Error *error, Status status, const char *node, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

void error_clear(Error *error);

#define TRY(expr)                                                                                                      \
  do {                                                                                                                 \
    Status try_status_ = (expr);                                                                                       \
    if (try_status_ != STATUS_OK) return try_status_;                                                                  \
  } while (0)
