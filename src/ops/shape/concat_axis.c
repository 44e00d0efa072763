/* Concat: inputs side by side along one axis; what Concat and ConcatTraining share. */
#include "ops/shape/concat_axis.h"

#include "kernels/strided.h"

int concat_axis(const Node *n) { return *(const int *)n->params; }

/* The shapes must agree except for the axis; a number replaces a symbol. */
static Status join(const Node *n, int i, int axis, Shape *y) {
  const Shape *x = &n->in[i]->shape;
  char tx[SHAPE_TEXT], ty[SHAPE_TEXT];
  bool fits = x->rank == y->rank;
  for (int k = 0; fits && k < y->rank; k++) {
    Dim a = y->dim[k], b = x->dim[k];
    if (k == axis) continue;
    fits = a == b || !dim_is_number(a) || !dim_is_number(b);
    y->dim[k] = dim_is_number(b) ? b : a;
  }
  if (fits) return STATUS_OK;
  return node_invalid(n, "input %d of shape %s does not fit beside %s along axis %d", i, shape_print(x, tx),
                      shape_print(y, ty), axis);
}

/* The sum along the axis: a symbol alone stays itself. */
static Status add_lengths(const Node *n, int axis, Dim *total) {
  Dim sum = 0, symbol = 0;
  int symbols = 0;
  for (int i = 0; i < n->in_count; i++) {
    Dim d = n->in[i]->shape.dim[axis];
    if (!dim_is_number(d)) symbol = d, symbols++;
    else if (__builtin_add_overflow(sum, d, &sum)) return node_invalid(n, "its output is too large");
  }
  *total = symbols == 0 ? sum : symbols == 1 && sum == 0 ? symbol : graph_fresh_dim(n->graph);
  return STATUS_OK;
}

/* Vectors known before the run give a known vector. */
static void join_known(Node *n) {
  Dim all[64];
  size_t count = 0;
  for (int i = 0; i < n->in_count; i++) {
    const Value *x = n->in[i];
    if (!node_is_known(n, i) || x->shape.rank != 1 || count + in_count(n, i) > 64) return;
    for (size_t k = 0; k < in_count(n, i); k++) all[count++] = x->known[k];
  }
  node_output_known(n, 0, all, (int)count);
}

Status concat_infer(Node *n, int64_t otherwise) {
  const Value *x = n->in[0];
  int *axis = NODE_PARAMS(n, int);
  if (!axis) return STATUS_OUT_OF_MEMORY;
  TRY(node_axis(n, node_int(n, "axis", otherwise), x->shape.rank, axis));
  Shape y = x->shape;
  for (int i = 1; i < n->in_count; i++) {
    if (!n->in[i]) return node_invalid(n, "input %d is absent", i);
    if (n->in[i]->type != x->type)
      return node_invalid(n, "input %d is %s, input 0 %s", i, dtype_name(n->in[i]->type), dtype_name(x->type));
    TRY(join(n, i, *axis, &y));
  }
  TRY(add_lengths(n, *axis, &y.dim[*axis]));
  TRY(node_output(n, 0, x->type, &y));
  join_known(n);
  return STATUS_OK;
}

void concat_run(const Node *n) {
  const Shape *y = &n->out[0]->shape;
  size_t item = dtype_bytes(n->out[0]->type), outer = shape_span(y, 0, concat_axis(n)),
         row = shape_span(y, concat_axis(n), y->rank);
  char *at = n->out[0]->data;
  for (int i = 0; i < n->in_count; i++) {
    size_t part = shape_span(&n->in[i]->shape, concat_axis(n), y->rank);
    Strided s = {2, {{outer, (ptrdiff_t)row, (ptrdiff_t)part}, {part, 1, 1}}};
    strided_copy(at, n->in[i]->data, s, item);
    at += part * item;
  }
}

/* The end of the part of x that starts at `start`. `offset` adds up the lengths while all are numbers; after that it is
 * -1. */
static Value *emit_end(Graph *g, Value *x, int axis, Value *start, int64_t *offset) {
  Dim length = x->shape.dim[axis];
  if (*offset >= 0 && dim_is_number(length)) return emit_ints(g, (int64_t[]){*offset += length}, 1);
  *offset = -1;
  Value *symbolic = emit(g, "Gather", emit_shape(g, x), emit_ints(g, (int64_t[]){axis}, 1));
  return emit(g, "Add", start, symbolic);
}

Status concat_grad(Grad *g) {
  const Node *n = g->node;
  int axis = concat_axis(n);
  int64_t offset = 0;
  Value *axes = emit_ints(g->graph, (int64_t[]){axis}, 1), *start = emit_ints(g->graph, (int64_t[]){0}, 1);
  for (int i = 0; i < n->in_count && start; i++) {
    Value *end = emit_end(g->graph, n->in[i], axis, start, &offset);
    if (g->want[i]) g->dx[i] = emit(g->graph, "Slice", g->dy[0], start, end, axes);
    bool same = !g->dx[i] || shape_equal(&g->dx[i]->shape, &n->in[i]->shape);
    if (!same)
      g->dx[i] = emit(g->graph, "Reshape", g->dx[i],
                      emit_shape(g->graph, n->in[i])); /* the same dims under x's names */
    start = end;
  }
  return STATUS_OK;
}
