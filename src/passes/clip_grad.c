/* ClipGrad: the gradient of Clip, Where(And(Greater(y, low), Less(y, high)), dy, 0), in one walk. */
#include "passes/rewrite.h"
#include "ops/ops.h"

/* True if `v` compares y with a constant bound and is true inside it. Stores the bound and y. */
static bool takes_bound(const Value *v, const Op *op, Value **y, float *bound) {
  const Node *n = v->kind == VALUE_NODE && v->producer && v->producer->op == op ? v->producer : NULL;
  if (!n || (*y && n->in[0] != *y) || !rewrite_number(n->in[1], bound)) return false;
  *y = n->in[0];
  return true;
}

static bool rewrite(Graph *g, Node *n) {
  float low, high, zero;
  Value *y = NULL, *mask;
  if (n->op != &op_where || !rewrite_number(n->in[2], &zero) || zero != 0) return false;
  mask = n->in[0];
  const Node *both = made_by(mask, &op_and);
  bool has_low = takes_bound(both ? both->in[0] : mask, &op_greater, &y, &low),
       has_high = takes_bound(both ? both->in[1] : mask, &op_less, &y, &high);
  if (both ? !has_low || !has_high : !has_low && !has_high) return false;
  if (!shape_equal(&y->shape, &n->in[1]->shape) || !shape_equal(&y->shape, &n->out[0]->shape)) return false;
  Attr attrs[2];
  int count = 0;
  if (has_low) attrs[count++] = attr_of_float("min", low);
  if (has_high) attrs[count++] = attr_of_float("max", high);
  return rewrite_as(n, emit_with(g, "ClipGrad", ((AttrList){attrs, count}), n->in[1], y));
}

Status pass_clip_grad(Graph *g) { return rewrite_each(g, rewrite); }
