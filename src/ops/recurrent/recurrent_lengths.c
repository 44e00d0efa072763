/* Sequence lengths, and the values that a step keeps for the gradient. */
#include "ops/recurrent/recurrent.h"

size_t recurrent_kept_floats(const Recurrent *p) { return p->rows * (size_t)p->cell->slots * p->hidden; }

bool recurrent_over(const Node *n, const Recurrent *p, size_t step, size_t b) {
  if (!has_in(n, RECURRENT_LENGTHS)) return false;
  return (int64_t)step >= ((const int32_t *)n->in[RECURRENT_LENGTHS]->data)[b];
}
