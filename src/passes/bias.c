/* Bias: MatMul + Add becomes Gemm, whether a bias or another matrix is added; a batch of rows with one B is flattened:
 *   (N, T, K) · (K, D) + (D)   =   Reshape(Gemm(Reshape(A), B, bias)) */
#include "passes/product.h"
#include "ops/ops.h"

/* C of Gemm: `v` added to each row of (rows, columns), or to all of it; NULL when it is neither. */
static Value *as_c(Graph *g, Value *v, const Shape *y, const Shape *matrix) {
  Dim columns = matrix->dim[1];
  if (v->type != DTYPE_FLOAT32 || columns < 1) return NULL;
  if (shape_equal(&v->shape, y)) return rewrite_reshape(g, v, matrix);
  bool row = v->shape.rank >= 1 && v->shape.rank <= y->rank &&
             shape_span(&v->shape, 0, v->shape.rank) == (size_t)columns;
  if (!row || v->shape.dim[v->shape.rank - 1] != columns) return NULL;
  Shape bias = SHAPE(columns);
  return rewrite_reshape(g, v, &bias);
}

static bool fuse(Graph *g, Node *n, Value *product, Value *other) {
  Product p;
  const Shape *y = &n->out[0]->shape;
  if (product == other || !product_read(product, &p) || p.c || p.b->shape.rank != 2 || !shape_equal(&product->shape, y))
    return false;
  if (p.trans_a && p.a->shape.rank > 2) return false;
  Shape matrix = SHAPE((Dim)shape_span(y, 0, y->rank - 1), y->dim[y->rank - 1]);
  p.beta = 1;
  p.c = as_c(g, other, y, &matrix);
  if (!p.c) return false;
  Shape rows = SHAPE(matrix.dim[0], p.a->shape.dim[p.a->shape.rank - 1]);
  if (p.a->shape.rank > 2) p.a = rewrite_reshape(g, p.a, &rows);
  Value *made = p.a ? product_emit(g, &p) : NULL;
  if (made && !shape_equal(&made->shape, y)) {
    made->producer->name = n->name;
    made = rewrite_reshape(g, made, y);
  }
  return rewrite_as(n, made);
}

static bool rewrite(Graph *g, Node *n) {
  if ((n->op != &op_add && n->op != &op_sum) || n->in_count != 2) return false;
  return fuse(g, n, n->in[0], n->in[1]) || fuse(g, n, n->in[1], n->in[0]);
}

Status pass_bias(Graph *g) { return rewrite_each(g, rewrite); }
