/* Identity: removes nodes whose output is their input: Identity, Dropout that does not train, Cast to the same type,
 * Expand, Reshape, and a sum to the same shape (backward adds one wherever an unknown size might have been broadcast).
 * A Transpose that moves no element becomes a Reshape, which is a view. */
#include "passes/rewrite.h"
#include "ops/ops.h"

/* A flag that is absent or a constant false. */
static bool is_off(const Node *n, int i) {
  return !has_in(n, i) || (n->in[i]->kind == VALUE_CONSTANT && !*(const uint8_t *)n->in[i]->data);
}

/* Dropout by a constant ratio of 0: its mask keeps all. */
static bool drops_nothing(const Node *n, int i) {
  float ratio;
  return has_in(n, i) && rewrite_number(n->in[i], &ratio) && ratio == 0;
}

static bool gives_back(const Node *n) {
  const Value *x = n->in[0], *y = n->out[0];
  if (n->op == &op_identity || n->op == &op_pass_through) return n->out_count == 1;
  if (n->op == &op_dropout) return (is_off(n, 2) || drops_nothing(n, 1)) && (!has_out(n, 1) || n->out[1]->readers == 0);
  if (n->op == &op_dropout_grad) return (has_in(n, 3) && is_off(n, 3)) || drops_nothing(n, 2);
  if (n->op == &op_cast) return x->type == y->type;
  bool one = n->op == &op_expand || n->op == &op_reshape || n->op == &op_reduce_sum_training ||
             ((n->op == &op_concat || n->op == &op_sum) && n->in_count == 1);
  return one && shape_equal(&x->shape, &y->shape);
}

/* The axes that have more than one element stay in their order. */
static bool moves_nothing(const Node *n) {
  const int *perm = n->params;
  int last = -1;
  for (int i = 0; i < n->out[0]->shape.rank; i++) {
    if (n->out[0]->shape.dim[i] == 1) continue;
    if (perm[i] < last) return false;
    last = perm[i];
  }
  return true;
}

static bool rewrite(Graph *g, Node *n) {
  if (!has_out(n, 0)) return false;
  if (n->op == &op_transpose && moves_nothing(n)) {
    Value *same = rewrite_reshape(g, n->in[0], &n->out[0]->shape);
    return same == n->in[0] ? rewrite_value(n->out[0], same) : rewrite_as(n, same);
  }
  return gives_back(n) && rewrite_value(n->out[0], n->in[0]);
}

/* Done twice: a Dropout stays as long as its gradient reads the mask. */
Status pass_identity(Graph *g) {
  TRY(rewrite_each(g, rewrite));
  return rewrite_each(g, rewrite);
}
