/* Scatter: reductions of rows, and the gradient that both operators share. */
#include "ops/index/scatter_reduction.h"

#include <string.h>

#include "kernels/rows.h"

static const char *const names[SCATTER_KINDS] = {"none", "add", "mul", "max", "min"};

ScatterKind scatter_kind(const Node *n) {
  const char *reduction = node_string(n, "reduction", "none");
  int kind = 0;
  while (kind < SCATTER_KINDS && strcmp(names[kind], reduction) != 0) kind++;
  return (ScatterKind)kind;
}

Status scatter_infer(const Node *n, ScatterKind *out) {
  DType type = n->in[0]->type;
  *out = scatter_kind(n);
  if (*out == SCATTER_KINDS)
    return node_invalid(n, "reduction is '%.40s', not none, add, mul, max or min", node_string(n, "reduction", ""));
  if (n->in[2]->type != type)
    return node_invalid(n, "data are %s, updates %s", dtype_name(type), dtype_name(n->in[2]->type));
  if (dtype_bytes(type) == 0) return node_fail(n, STATUS_UNSUPPORTED_OP, "it does not scatter %s", dtype_name(type));
  return *out == SCATTER_NONE ? STATUS_OK : node_want_float(n, 0);
}

void scatter_row(ScatterKind kind, void *to_, const void *from_, size_t count, size_t item) {
  float *to = to_;
  const float *from = from_;
  if (kind == SCATTER_NONE) {
    memcpy(to_, from_, count * item);
    return;
  }
  if (kind == SCATTER_ADD) {
    row_add(to, from, count);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    float a = to[i], b = from[i];
    to[i] = kind == SCATTER_MUL ? a * b : kind == SCATTER_MAX ? (b > a ? b : a) : b < a ? b : a;
  }
}

Status scatter_grad(Grad *g, const char *gather, AttrList attrs) {
  Node *n = g->node;
  Value *dy = g->dy[0];
  ScatterKind kind = scatter_kind(n);
  if (kind > SCATTER_ADD)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "with the reduction '%s' it has no gradient", names[kind]);
  if (g->want[0] && kind == SCATTER_ADD) g->dx[0] = dy;
  else if (g->want[0]) {
    Value *zeros = emit(g->graph, "ConstantOfShape", emit_shape(g->graph, n->in[2]));
    g->dx[0] = emit_with(g->graph, n->op->name, attrs, dy, n->in[1], zeros);
  }
  if (g->want[2]) g->dx[2] = emit_with(g->graph, gather, attrs, dy, n->in[1]);
  return STATUS_OK;
}
