/* LayerNormalization: the pieces that exporters write before opset 17 become one node again:
 *   d = x - mean(x);   y = d / √(mean(d²) + ε) · scale + B, the means over the last dims */
#include "ops/reduce/reduce.h"
#include "passes/rewrite.h"
#include "ops/ops.h"

/* If v is the mean of `wanted` over its last dims, kept as 1: the first of these dims; else -1. */
static int mean_axis(const Value *v, const Value *of) {
  const Node *n = made_by(v, &op_reduce_mean);
  if (!n || (of && n->in[0] != of) || node_int(n, "keepdims", 1) != 1) return -1;
  const Reduce *p = n->params;
  int rank = n->in[0]->shape.rank, axis = rank;
  while (axis > 0 && p->axes >> (axis - 1) & 1) axis--;
  return p->known && axis < rank && p->axes == ((1u << rank) - 1) - ((1u << axis) - 1) ? axis : -1;
}

/* x of v = x - mean(x). */
static Value *centered(const Value *v, int *axis) {
  const Node *sub = made_by(v, &op_sub);
  if (!sub) return NULL;
  *axis = mean_axis(sub->in[1], sub->in[0]);
  return *axis >= 0 ? sub->in[0] : NULL;
}

/* The d of v = d². It may be a copy of the wanted one: the exporter writes the subtraction twice. */
static bool is_square(const Value *v, const Value *x, int axis) {
  const Node *pow = made_by(v, &op_pow), *mul = made_by(v, &op_mul);
  float power;
  int other;
  const Value *d = pow && rewrite_number(pow->in[1], &power) && power == 2 ? pow->in[0]
                 : mul && mul->in[0] == mul->in[1]                         ? mul->in[0]
                                                                           : NULL;
  return d && centered(d, &other) == x && other == axis;
}

/* v = d / √(mean(d²) + ε): its x, ε and axis. */
static Value *normalized(const Value *v, float *epsilon, int *axis) {
  const Node *div = made_by(v, &op_div), *root = div ? made_by(div->in[1], &op_sqrt) : NULL,
             *add = root ? made_by(root->in[0], &op_add) : NULL;
  Value *x = add ? centered(div->in[0], axis) : NULL;
  for (int i = 0; x && i < 2; i++) {
    if (!rewrite_number(add->in[i], epsilon) || mean_axis(add->in[1 - i], NULL) != *axis) continue;
    return is_square(add->in[1 - i]->producer->in[0], x, *axis) ? x : NULL;
  }
  return NULL;
}

static bool fits_row(const Value *v, const Value *x, int axis) {
  if (v->type != DTYPE_FLOAT32 || v->shape.rank != x->shape.rank - axis) return false;
  for (int i = 0; i < v->shape.rank; i++)
    if (v->shape.dim[i] != x->shape.dim[axis + i]) return false;
  return true;
}

/* v = x̂ · scale, either way round. */
static Value *scaled(const Value *v, Value **scale, float *epsilon, int *axis) {
  const Node *mul = made_by(v, &op_mul);
  for (int i = 0; mul && i < 2; i++) {
    Value *x = normalized(mul->in[i], epsilon, axis);
    *scale = mul->in[1 - i];
    if (x && fits_row(*scale, x, *axis)) return x;
  }
  return NULL;
}

static bool replace(Graph *g, Node *n, Value *x, Value *scale, Value *shift, float epsilon, int axis) {
  Attr attrs[] = {attr_of_int("axis", axis - x->shape.rank), attr_of_float("epsilon", epsilon)};
  return rewrite_as(
      n, emit_first(g, "LayerNormalization", (AttrList){attrs, 2}, (Value *[]){x, scale, shift}, shift ? 3 : 2));
}

static bool with_shift(Graph *g, Node *n) {
  float epsilon;
  int axis;
  Value *scale;
  for (int i = 0; n->op == &op_add && i < 2; i++) {
    Value *x = scaled(n->in[i], &scale, &epsilon, &axis);
    if (x && fits_row(n->in[1 - i], x, axis)) return replace(g, n, x, scale, n->in[1 - i], epsilon, axis);
  }
  return false;
}

static bool without_shift(Graph *g, Node *n) {
  float epsilon;
  int axis;
  Value *scale, *x = n->op == &op_mul ? scaled(n->out[0], &scale, &epsilon, &axis) : NULL;
  return x && replace(g, n, x, scale, NULL, epsilon, axis);
}

Status pass_layer_norm(Graph *g) {
  TRY(rewrite_each(g, with_shift));
  return rewrite_each(g, without_shift);
}
