/* Index: the check of indices and lengths that are few. */
#include "ops/index/index.h"

bool index_all_within(const Node *n, int input, int64_t most) {
  const Value *v = n->in[input];
  for (size_t i = 0; i < shape_elements(&v->shape); i++)
    if (index_at(v, i) < 0 || index_at(v, i) > most) return bad_index_note(n, input, i, 0, most), false;
  return true;
}
