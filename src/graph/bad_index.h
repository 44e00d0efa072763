/* Bad index: a run notes the first index that is out of range and stops there; it is refused afterwards
 * (run/bad_index.h). */
#pragma once
#include "graph/op.h"

/* Element `at` of this input is not least … most. */
void bad_index_note(const Node *n, int input, size_t at, int64_t least, int64_t most);
/* Whether the node that ran had none; forgets it. */
bool bad_index_none(const Node *n);
