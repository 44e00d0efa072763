/* Product: MatMul, FusedMatMul and Gemm as one thing, so that a rewrite need not care which of them it finds.
 *   alpha · op(A) · op(B) + beta · C */
#pragma once
#include "passes/rewrite.h"

typedef struct Product {
  Value *a, *b, *c; /* c: NULL for none */
  bool trans_a, trans_b;
  float alpha, beta;
} Product;

/* Reads n, a product of matrices (no vectors); false when it is something else. */
bool product_of(const Node *n, Product *p);
/* The same for the node that makes v, which nobody else may read. */
bool product_read(const Value *v, Product *p);
/* Gemm of matrices, FusedMatMul of batches of them (which takes no C). NULL on failure. */
Value *product_emit(Graph *g, const Product *p);
