/* Errors: a status number is passed up to the caller; the first sentence wins and is kept in one Error. */
#pragma once
#include <stddef.h>

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

/* Keeps "out of memory " and `what`, e.g. "for the head". */
Status error_memory(Error *error, const char *what);
/* The same with names or numbers in the sentence. */
#define ERROR_MEMORY(error, format, ...)                                                                               \
  error_set(error, STATUS_OUT_OF_MEMORY, NULL, "out of memory " format, __VA_ARGS__)
/* Keeps "out of memory: ", `what`, e.g. "a step needs", and how many bytes. */
Status error_memory_bytes(Error *error, const char *what, size_t bytes);

void error_clear(Error *error);

#define TRY(expr)                                                                                                      \
  do {                                                                                                                 \
    Status try_status_ = (expr);                                                                                       \
    if (try_status_ != STATUS_OK) return try_status_;                                                                  \
  } while (0)
