/* Class axis: from the scores back to the layer that gives them, by what leaves the axes where they are. */
#include "train/class_axis.h"

#include "ops/ops.h"
#include "passes/product.h"

enum { FAR = 64 }; /* nodes to walk back */

static bool is_held(const Value *v) { return v->kind == VALUE_STATE || v->kind == VALUE_CONSTANT; }

bool value_is_weight(const Value *v) {
  for (int i = 0; v->producer && i < FAR; i++) {
    const Node *n = v->producer;
    for (int k = 1; k < n->in_count; k++)
      if (n->in[k] && !is_held(n->in[k])) return false;
    if (n->in_count == 0 || !n->in[0]) return false;
    v = n->in[0];
  }
  return is_held(v);
}

/* The input of its node that v is another picture of, axis by axis; NULL where there is none. */
static const Value *same_axes(const Value *of) {
  const Node *n = of->producer;
  const Shape *out = &of->shape;
  bool moves = n->op == &op_transpose || n->op->weights || n->op->flags & OP_RANDOM;
  if (moves && n->op != &op_dropout) return NULL;
  if (n->op->flags & OP_VIEW) {
    const Shape *in = n->in_count && n->in[0] ? &n->in[0]->shape : out;
    return in->rank > 1 && in->dim[in->rank - 1] == out->dim[out->rank - 1] ? n->in[0] : NULL;
  }
  for (int i = 0; i < n->in_count; i++) {
    const Value *v = n->in[i];
    if (v && v->producer && !value_is_weight(v) && v->shape.rank == out->rank &&
        v->shape.dim[out->rank - 1] == out->dim[out->rank - 1])
      return v;
  }
  return NULL;
}

bool class_axis_is_last(const Value *scores) {
  const Value *v = scores;
  for (int i = 0; v && v->producer && i < FAR; i++) {
    const Node *n = v->producer;
    Product p;
    if (product_of(n, &p)) return value_is_weight(p.b);
    if (n->op == &op_mat_mul_n_bits) return true;
    v = same_axes(v);
  }
  return false;
}
