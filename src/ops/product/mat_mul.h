/* Parts that MatMul and FusedMatMul share: matrices in the last two dims, the dims before them broadcast. */
#pragma once
#include "graph/op.h"

typedef struct MatMulAttrs {
  bool trans_a, trans_b; /* the last two dims are exchanged */
  bool batch_a, batch_b; /* the first dim comes after all of the batch: (M, …, K) is (…, M, K) */
  float alpha;
} MatMulAttrs;

Status mat_mul_infer(Node *n, MatMulAttrs attrs);
void mat_mul_run(const Node *n);
