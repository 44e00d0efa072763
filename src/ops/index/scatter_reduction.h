/* Scatter: how an update is combined with existing data; the reductions of ScatterND and ScatterElements. */
#pragma once
#include "graph/expansion.h"

typedef enum ScatterKind {
  SCATTER_NONE,
  SCATTER_ADD,
  SCATTER_MUL,
  SCATTER_MAX,
  SCATTER_MIN,
  SCATTER_KINDS
} ScatterKind;

/* The attribute `reduction`; all but none are of numbers. Data and updates must be of one type. */
Status scatter_infer(const Node *n, ScatterKind *out);
/* The same of a node that passed infer. */
ScatterKind scatter_kind(const Node *n);
/* to[i] = to[i] ∘ from[i] */
void scatter_row(ScatterKind kind, DType type, void *to, const void *from, size_t count);
/* dData and dUpdates. The operator `gather`, with the node's attributes, reads the latter at the indices `at`. */
Status scatter_grad(Grad *g, const char *gather, Value *at, AttrList attrs);
/* Floats of 16 bits and fewer are reduced in float32, and rounded once. */
bool scatter_expands(const Added *a);
Status scatter_in_float(Expansion *c);
