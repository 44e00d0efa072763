/* Extreme: the gradient of Max and Min. */
#include "ops/elementwise/extreme.h"

/* From the last input to the first: y = f(left, x), left = f of those before;
 * share = dy / 2 where left = x, else dy;  dx = share where x is not behind left, dleft the other way round. */
Status extreme_gradient(Grad *grad, const char *behind) {
  Graph *g = grad->graph;
  Node *n = grad->node;
  Value *dy = grad->dy[0], *zero = emit_float(g, 0), *half = emit_float(g, 0.5f);
  for (int i = n->in_count - 1; i > 0; i--) {
    Value *x = n->in[i], *left = i == 1 ? n->in[0] : emit_first(g, n->op->name, NO_ATTRS, n->in, i);
    Value *share = emit(g, "Where", emit(g, "Equal", left, x), emit(g, "Mul", dy, half), dy);
    if (grad->want[i]) grad->dx[i] = emit(g, "Where", emit(g, behind, x, left), zero, share);
    dy = emit(g, "Where", emit(g, behind, left, x), zero, share);
  }
  grad->dx[0] = dy;
  return STATUS_OK;
}
