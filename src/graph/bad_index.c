/* Bad index: kept for each thread, so that a graph that only runs takes no more memory. */
#include "graph/bad_index.h"

#ifdef __wasm__ /* there only the engine's own thread runs operators that read indices; see budget.c */
static BadIndex bad_index;
#else
static _Thread_local BadIndex bad_index;
#endif

const BadIndex *bad_index_first(void) { return &bad_index; }

void bad_index_note(const Node *n, int input, size_t at, int64_t least, int64_t most) {
  if (!bad_index.node) bad_index = (BadIndex){n, input, at, least, most, NULL};
}

void bad_index_refuse(const Node *n, Status (*refuse)(const Node *n)) {
  if (!bad_index.node) bad_index = (BadIndex){.node = n, .refuse = refuse};
}

bool bad_index_none(void) {
  bool none = !bad_index.node;
  bad_index.node = NULL;
  return none;
}
