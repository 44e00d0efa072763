/* BatchNorm: BatchNormalization with given statistics becomes part of the weights of the Conv or Gemm before it, if
 * nobody else reads the output of that; a is one number for each feature:
 *   a = scale / √(var + ε);   W' = W · a,   b' = (b - mean) · a + B
 * Weights that are made of constants are computed while planning. Others are computed in every run, so they must be
 * fewer than the numbers that are saved. */
#include "passes/rewrite.h"
#include "ops/norm/batch_norm.h"
#include "ops/ops.h"

static bool uses_given_statistics(const Node *n) {
  return n->op == &op_batch_normalization && !batch_norm_trains(n) && !has_out(n, 1) && !has_out(n, 2);
}

static bool is_constant(const Node *from, const Node *bn) {
  bool constant = from->in[1]->kind == VALUE_CONSTANT && (!has_in(from, 2) || from->in[2]->kind == VALUE_CONSTANT);
  for (int i = 1; i < 5; i++) constant &= bn->in[i]->kind == VALUE_CONSTANT;
  return constant;
}

/* A Conv, or a plain Gemm with a bias or none. */
static bool takes_factor(const Node *from, const Shape *y) {
  if (from->op == &op_conv) return true;
  if (from->op != &op_gemm || node_float(from, "alpha", 1) != 1 || node_float(from, "beta", 1) != 1) return false;
  return !has_in(from, 2) || (from->in[2]->shape.rank == 1 && from->in[2]->shape.dim[0] == y->dim[1]);
}

/* The shape in which a number a feature multiplies the weights. */
static Shape factor_shape(const Node *from, Dim features) {
  Shape s = SHAPE(features);
  if (from->op == &op_gemm && !node_int(from, "transB", 0)) return s;
  while (s.rank < from->in[1]->shape.rank) s.dim[s.rank++] = 1;
  return s;
}

static bool rewrite(Graph *g, Node *n) {
  if (!uses_given_statistics(n)) return false;
  Node *from = rewrite_only(n->in[0], n->in[0]->producer ? n->in[0]->producer->op : NULL);
  const Shape *y = &n->out[0]->shape;
  if (!from || !takes_factor(from, y)) return false;
  if (!is_constant(from, n) && shape_elements(&from->in[1]->shape) > shape_elements(y) / 2) return false;
  Value *w = from->in[1], *b = has_in(from, 2) ? from->in[2] : NULL, *scale = n->in[1], *shift = n->in[2],
        *mean = n->in[3], *var = n->in[4];
  Value *a = emit(g, "Div", scale,
                  emit(g, "Sqrt", emit(g, "Add", var, emit_float(g, node_float(n, "epsilon", 1e-5f)))));
  Shape factor = factor_shape(from, y->dim[1]);
  Value *weights = emit(g, "Mul", w, rewrite_reshape(g, a, &factor));
  Value *bias = b ? emit(g, "Add", emit(g, "Mul", emit(g, "Sub", b, mean), a), shift)
                  : emit(g, "Sub", shift, emit(g, "Mul", mean, a));
  return rewrite_as(n, emit_first(g, from->op->name, (AttrList){from->attrs, from->attr_count},
                                  (Value *[]){from->in[0], weights, bias}, 3));
}

Status pass_batch_norm(Graph *g) { return rewrite_each(g, rewrite); }
