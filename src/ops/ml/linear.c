/* Linear models: y = x · coefficientsᵀ + intercepts, as a Gemm of initializers. */
#include "ops/ml/linear.h"

Value *linear_rows(Expansion *c) {
  static const int64_t one_row[] = {1, -1};
  if (node_want_rank(c->node, 0, 1, 2) != STATUS_OK) return NULL;
  Value *x = expand_cast(c, c->node->in[0], DTYPE_FLOAT32);
  return x && x->shape.rank == 1 ? emit(c->graph, "Reshape", x, emit_ints(c->graph, one_row, 2)) : x;
}

/* A weight, named after the node. */
static Value *weight(Expansion *c, const Attr *floats, Shape shape) {
  const char *stem = arena_print(c->graph->arena, "%s.%s", c->node->name, floats->name),
             *name = stem ? graph_fresh_name(c->graph, stem) : NULL;
  Value *v = name ? graph_constant(c->graph, name, DTYPE_FLOAT32, &shape, floats->floats) : NULL;
  if (v) v->initializer = true;
  return v;
}

Value *linear_scores(Expansion *c, int64_t rows, const Attr *coefficients, const Attr *intercepts) {
  const Node *n = c->node;
  Value *x = linear_rows(c);
  if (!x) return NULL;
  if (!coefficients || rows < 1 || !coefficients->count || coefficients->count % rows)
    return node_invalid(n, "its %d coefficients are no %lld rows", coefficients ? coefficients->count : 0,
                        (long long)rows),
           NULL;
  Dim features = coefficients->count / rows;
  if (dim_is_number(x->shape.dim[1]) && x->shape.dim[1] != features)
    return node_invalid(n, "it has coefficients for %lld features, '%.64s' has %lld", (long long)features,
                        n->in[0]->name, (long long)x->shape.dim[1]),
           NULL;
  Value *w = weight(c, coefficients, SHAPE(rows, features));
  Graph *g = c->graph;
  Node *around = g->expanding;
  AttrList attrs = ATTRS(attr_of_int("transB", 1));
  g->expanding = NULL; /* the Gemm is the model's own: its weights train as those of any other */
  Value *scores = intercepts ? emit_with(g, "Gemm", attrs, x, w, weight(c, intercepts, SHAPE(rows)))
                             : emit_with(g, "Gemm", attrs, x, w);
  g->expanding = around;
  return scores;
}
