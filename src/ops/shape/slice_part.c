/* Slice: the part of each dim that a Slice or SliceGrad takes. */
#include "ops/shape/slice_part.h"

#include "graph/dims.h"

enum { STARTS, ENDS, AXES, STEPS, LISTS };

typedef struct List {
  const Dim *items; /* NULL when absent, or when only the count is known yet */
  int count;
} List;

static Status read_lists(const Node *n, int first, List lists[LISTS]) {
  for (int i = 0; i < LISTS; i++) {
    lists[i] = (List){0};
    if (i < AXES || has_in(n, first + i)) TRY(dims_known(n, first + i, &lists[i].items, &lists[i].count));
  }
  int count = lists[STARTS].count;
  if (count > RANK_MAX || lists[ENDS].count != count || (lists[AXES].items && lists[AXES].count != count) ||
      (lists[STEPS].items && lists[STEPS].count != count))
    return node_invalid(n, "starts, ends, axes and steps have different lengths: %d, %d, %d, %d", count,
                        lists[ENDS].count, lists[AXES].count, lists[STEPS].count);
  return STATUS_OK;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high) { return x < low ? low : x > high ? high : x; }

/* ONNX: negative positions count from the end, positions outside are moved to the nearest end. */
static int64_t place(int64_t x, int64_t dim, int64_t low, int64_t high) {
  return clamp(x < 0 ? x + dim : x, low, high);
}

static Dim cut_number(int64_t dim, int64_t *start, int64_t end, int64_t step) {
  if (dim == 0) return *start = 0; /* an empty dim has no last element to begin at */
  if (step > 0) {
    *start = place(*start, dim, 0, dim);
    end = place(end, dim, 0, dim);
    return *start < end ? 1 + (end - *start - 1) / step : 0;
  }
  *start = place(*start, dim, 0, dim - 1);
  end = place(end, dim, -1, dim - 1);
  return *start > end ? 1 + (*start - end - 1) / -step : 0;
}

/* A slice whose dim, start or end is a symbol: only cases that occur in models, assuming that a dim is at least 1 and
 * is large enough for a part that ends at a symbol. */
static Dim cut_symbol(Graph *g, Dim dim, Dim start, Dim end, int64_t step) {
  bool to_end = end == dim || (!dim_is_symbol(end) && end >= INT32_MAX);
  if (step == 1 && start == 0 && to_end) return dim;
  if (step == 1 && start == 0 && dim_is_symbol(end)) return end;
  bool first = start == 0 && end == 1, last = start == -1 && to_end;
  return step == 1 && (first || last) ? 1 : graph_fresh_dim(g);
}

static Status cut(Node *n, Slice *out, int axis, Dim start, Dim end, int64_t step) {
  Dim *dim = &out->shape.dim[axis];
  if (step == 0) return node_invalid(n, "the step of axis %d is 0", axis);
  step = clamp(step, -INT64_MAX, INT64_MAX);
  out->start[axis] = start;
  out->step[axis] = step;
  bool numbers = dim_is_number(*dim) && !dim_is_symbol(start) && !dim_is_symbol(end);
  *dim = numbers ? cut_number(*dim, &out->start[axis], end, step) : cut_symbol(n->graph, *dim, start, end, step);
  return STATUS_OK;
}

static bool has_open_length(const Node *n, int first) {
  bool open = false;
  for (int i = first; i < first + LISTS && i < n->in_count; i++) {
    const Shape *list = n->in[i] ? &n->in[i]->shape : NULL;
    open |= list && list->rank == 1 && !dim_is_number(list->dim[0]);
  }
  return open;
}

static Status all_open(const Node *n, Slice *out) {
  for (int i = 0; i < out->shape.rank; i++) out->shape.dim[i] = graph_fresh_dim(n->graph);
  return STATUS_OK;
}

Status slice_read(Node *n, int first, const Shape *whole, Slice *out) {
  List lists[LISTS];
  *out = (Slice){.shape = *whole};
  for (int i = 0; i < RANK_MAX; i++) out->step[i] = 1;
  if (!n->graph->deferral.tries && has_open_length(n, first)) return all_open(n, out);
  TRY(read_lists(n, first, lists));
  const Dim *starts = lists[STARTS].items, *ends = lists[ENDS].items, *steps = lists[STEPS].items;
  bool axes_later = lists[AXES].count && !lists[AXES].items, steps_later = lists[STEPS].count && !steps;
  if (axes_later) return all_open(n, out);
  unsigned seen = 0;
  for (int i = 0; i < lists[STARTS].count; i++) {
    int axis;
    TRY(node_axis(n, lists[AXES].items ? lists[AXES].items[i] : i, whole->rank, &axis));
    if (seen >> axis & 1) return node_invalid(n, "axis %d is cut twice", axis);
    seen |= 1u << axis;
    if (!starts || !ends || steps_later) out->shape.dim[axis] = graph_fresh_dim(n->graph);
    else TRY(cut(n, out, axis, starts[i], ends[i], steps ? steps[i] : 1));
  }
  return STATUS_OK;
}

Strided slice_layout(const Slice *s, const Shape *whole, ptrdiff_t *at) {
  Strided layout = {.rank = whole->rank};
  size_t part_stride[RANK_MAX], whole_stride[RANK_MAX];
  shape_strides(&s->shape, part_stride);
  shape_strides(whole, whole_stride);
  *at = 0;
  for (int i = 0; i < whole->rank; i++) {
    *at += (ptrdiff_t)s->start[i] * (ptrdiff_t)whole_stride[i];
    layout.dim[i] = (StridedDim){(size_t)s->shape.dim[i], (ptrdiff_t)part_stride[i],
                                 (ptrdiff_t)s->step[i] * (ptrdiff_t)whole_stride[i]};
  }
  return layout;
}
