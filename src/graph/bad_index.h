/* Bad index: a run notes the first index that is out of range and stops there; it is refused afterwards
 * (program/bad_index.h). */
#pragma once
#include "graph/op.h"

typedef struct BadIndex {
  const Node *node; /* NULL: none */
  int input;        /* the node's input that holds the index */
  size_t at;        /* its element */
  int64_t least, most;
  Status (*refuse)(const Node *n); /* not NULL: no index, this says why the run ends */
} BadIndex;

/* The first of the run in progress, in the thread that executes its nodes. */
const BadIndex *bad_index_first(void);

/* Element `at` of this input is not least … most. */
void bad_index_note(const Node *n, int input, size_t at, int64_t least, int64_t most);
/* The run ends at this node, for a reason that `refuse` gives. */
void bad_index_refuse(const Node *n, Status (*refuse)(const Node *n));
/* True if the node that ran had no bad index; forgets the result. */
bool bad_index_none(void);
