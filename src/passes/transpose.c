/* Transpose: two in a row become one, and those that swap the last two dims go into the product beside them:
 *   Transpose(Transpose(x)) = Transpose(x);   Aᵀ · B = Gemm or FusedMatMul with transA;   (A · B)ᵀ = Bᵀ · Aᵀ */
#include "passes/product.h"
#include "ops/ops.h"

static Node *transpose_of(const Value *v) { return made_by(v, &op_transpose); }

static bool swaps_last_two(const Node *n) {
  const int *perm = n->params;
  int rank = n->in[0]->shape.rank;
  for (int i = 0; i < rank - 2; i++)
    if (perm[i] != i) return false;
  return rank >= 2 && perm[rank - 2] == rank - 1;
}

static bool expand(Graph *g, Node *n) {
  const Node *first = transpose_of(n->in[0]);
  if (!first) return false;
  const int *outer = n->params, *inner = first->params;
  int rank = n->in[0]->shape.rank;
  int64_t perm[RANK_MAX];
  bool same = true;
  for (int i = 0; i < rank; i++) perm[i] = inner[outer[i]], same &= perm[i] == i;
  if (same) return rewrite_value(n->out[0], first->in[0]);
  return rewrite_as(n, emit_with(g, "Transpose", ATTRS(attr_of_ints("perm", perm, rank)), first->in[0]));
}

/* (A · B)ᵀ = Bᵀ · Aᵀ where nobody else reads A · B */
static bool turn_product(Graph *g, Node *n) {
  Product p;
  if (!swaps_last_two(n) || !product_read(n->in[0], &p) || p.c) return false;
  Product turned = {.a = p.b, .b = p.a, .trans_a = !p.trans_b, .trans_b = !p.trans_a, .alpha = p.alpha};
  return rewrite_as(n, product_emit(g, &turned));
}

/* A batch of A with one B is a single product only as long as A is not transposed. */
static bool turn_operands(Graph *g, Node *n) {
  Product p;
  if (!product_of(n, &p)) return false;
  Node *a = transpose_of(p.a), *b = transpose_of(p.b);
  bool one_product = p.a->shape.rank > 2 && p.b->shape.rank == 2;
  if (a && (one_product || !swaps_last_two(a))) a = NULL;
  if (b && !swaps_last_two(b)) b = NULL;
  if (!a && !b) return false;
  if (a) p.a = a->in[0], p.trans_a = !p.trans_a;
  if (b) p.b = b->in[0], p.trans_b = !p.trans_b;
  return rewrite_as(n, product_emit(g, &p));
}

static bool rewrite(Graph *g, Node *n) {
  if (n->op == &op_transpose) return expand(g, n) || turn_product(g, n);
  return turn_operands(g, n);
}

Status pass_transpose(Graph *g) { return rewrite_each(g, rewrite); }
