/* Product: three operators are read as one, and written as the simplest of them that will do. */
#include "passes/product.h"
#include "ops/ops.h"

bool product_of(const Node *n, Product *p) {
  if ((n->op != &op_mat_mul && n->op != &op_fused_mat_mul && n->op != &op_gemm) || n->in[0]->type != DTYPE_FLOAT32)
    return false;
  if (node_int(n, "transBatchA", 0) || node_int(n, "transBatchB", 0)) return false;
  bool plain = n->op == &op_mat_mul;
  *p = (Product){.a = n->in[0],
                 .b = n->in[1],
                 .c = has_in(n, 2) ? n->in[2] : NULL,
                 .trans_a = !plain && node_int(n, "transA", 0),
                 .trans_b = !plain && node_int(n, "transB", 0),
                 .alpha = plain ? 1 : node_float(n, "alpha", 1),
                 .beta = node_float(n, "beta", 1)};
  return p->a->shape.rank >= 2 && p->b->shape.rank >= 2;
}

bool product_read(const Value *v, Product *p) {
  return v->kind == VALUE_NODE && v->readers == 1 && v->producer && product_of(v->producer, p);
}

Value *product_emit(Graph *g, const Product *p) {
  Attr attrs[] = {attr_of_float("alpha", p->alpha), attr_of_int("transA", p->trans_a),
                  attr_of_int("transB", p->trans_b), attr_of_float("beta", p->beta)};
  bool matrices = p->a->shape.rank == 2 && p->b->shape.rank == 2;
  return emit_first(g, matrices ? "Gemm" : "FusedMatMul", (AttrList){attrs, matrices ? 4 : 3},
                    (Value *[]){p->a, p->b, p->c}, p->c ? 3 : 2);
}
