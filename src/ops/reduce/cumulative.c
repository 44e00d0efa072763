/* Cumulative: the axis, and a walk over the lines along it. */
#include "ops/reduce/cumulative.h"
#include "threads.h"

Status cumulative_params(Node *n, int axis_input) {
  const Dim *axis;
  int count;
  Cumulative *p = NODE_PARAMS(n, Cumulative);
  if (!p) return STATUS_OUT_OF_MEMORY;
  *p = (Cumulative){.exclusive = node_int(n, "exclusive", 0) != 0, .reverse = node_int(n, "reverse", 0) != 0};
  TRY(node_want_index(n, axis_input));
  TRY(dims_known(n, axis_input, &axis, &count));
  if (count != 1) return node_invalid(n, "input %d, the axis, must be a scalar", axis_input);
  return axis ? node_axis(n, *axis, n->in[0]->shape.rank, &p->axis) : STATUS_OK;
}

Status cumulative_infer(Node *n) {
  const Value *x = n->in[0];
  if (x->type != DTYPE_INT64 && x->type != DTYPE_INT32 && x->type != DTYPE_FLOAT64) TRY(node_want_float(n, 0));
  TRY(cumulative_params(n, 1));
  return node_output(n, 0, x->type, &x->shape);
}

static CumulativeLines *lines_of(const Node *n) {
  const CumulativeOwn *own = n->op->own;
  switch (n->in[0]->type) {
    case DTYPE_FLOAT32: return own->floats;
    case DTYPE_FLOAT64: return own->doubles;
    case DTYPE_INT64: return own->int64;
    default: return own->int32;
  }
}

typedef struct Lines {
  const Node *n;
  size_t outer, inner, count, item;
} Lines;

/* Fours of what is outside of the axis, from … to - 1. */
static void run_fours(void *context, size_t from, size_t to) {
  const Lines *l = context;
  const Cumulative *p = l->n->params;
  const CumulativeOwn *own = l->n->op->own;
  bool floats = l->n->in[0]->type == DTYPE_FLOAT32;
  ptrdiff_t step = p->reverse ? -(ptrdiff_t)l->inner : (ptrdiff_t)l->inner;
  size_t end = 4 * to < l->outer ? 4 * to : l->outer, first = p->reverse ? l->count - 1 : 0;
  for (size_t o = 4 * from; o < end; o++) {
    size_t at = (o * l->count + first) * l->inner * l->item;
    const char *x = (const char *)l->n->in[0]->data + at;
    char *y = (char *)l->n->out[0]->data + at;
    if (floats && own->four && l->inner == 1 && o + 4 <= end) {
      own->four((const float *)x, (float *)y, l->count, l->count, step, p->exclusive);
      o += 3;
    } else lines_of(l->n)(x, y, l->count, l->inner, step, p->exclusive);
  }
}

void cumulative_run(const Node *n) {
  const Cumulative *p = n->params;
  const Shape *x = &n->in[0]->shape;
  Lines l = {n, shape_span(x, 0, p->axis), shape_span(x, p->axis + 1, x->rank), (size_t)x->dim[p->axis],
             dtype_bytes(n->in[0]->type)};
  if (l.count) threads_split((l.outer + 3) / 4, threads_grain(4 * l.count * l.inner), run_fours, &l);
}
