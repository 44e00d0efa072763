/* Pad: x in a frame made of a constant, its mirror image, its border or x repeated; a negative width cuts off. dx = dy
 * with the widths negated; where the frame repeats x, the frame's gradient is added to where its elements came from,
 * axis by axis. */
#include <string.h>

#include "kernels/copy.h"
#include "graph/expansion.h"
#include "graph/dims.h"
#include "kernels/strided.h"
#include "graph/upgrade.h"

typedef enum PadMode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP, PAD_MODES } PadMode;

typedef struct Pad {
  PadMode mode;
  bool known; /* all are numbers; before a run some may be symbols */
  int64_t begin[RANK_MAX], end[RANK_MAX];
} Pad;

static Status read_mode(const Node *n, PadMode *out) {
  static const char *const names[PAD_MODES] = {"constant", "reflect", "edge", "wrap"};
  const char *mode = node_string(n, "mode", "constant");
  for (int i = 0; i < PAD_MODES; i++)
    if (strcmp(names[i], mode) == 0) return *out = (PadMode)i, STATUS_OK;
  return node_invalid(n, "mode is '%.40s', not constant, reflect, edge or wrap", mode);
}

/* The axes that the widths are for: all, or those of input 3. */
static Status read_axes(const Node *n, int rank, int axes[RANK_MAX], int *count) {
  const Dim *given = NULL;
  unsigned mask;
  *count = rank;
  if (has_in(n, 3)) TRY(node_known(n, 3, &given, count));
  if (*count > rank) return node_invalid(n, "it has %d axes, x has %d dimensions", *count, rank);
  if (given) TRY(dims_axes(n, given, *count, rank, &mask));
  for (int i = 0; i < *count; i++) axes[i] = (int)(!given ? i : given[i] < 0 ? given[i] + rank : given[i]);
  return STATUS_OK;
}

static Status read_widths(Node *n, Pad *p) {
  int axes[RANK_MAX], axis_count, count;
  const Dim *widths;
  TRY(read_axes(n, n->in[0]->shape.rank, axes, &axis_count));
  if (!has_in(n, 1)) return node_invalid(n, "input 1, the widths, must be there");
  TRY(node_want_type(n, 1, DTYPE_INT64));
  TRY(dims_known(n, 1, &widths, &count));
  if (count != 2 * axis_count) return node_invalid(n, "it has %d widths for %d dimensions", count, axis_count);
  p->known = true;
  for (int i = 0; i < axis_count; i++) {
    Dim begin = widths ? widths[i] : SYMBOL_0, end = widths ? widths[axis_count + i] : SYMBOL_0;
    if (dim_is_symbol(begin) || dim_is_symbol(end)) begin = SYMBOL_0, p->known = false;
    else if (begin < -INT32_MAX || begin > INT32_MAX || end < -INT32_MAX || end > INT32_MAX)
      return node_invalid(n, "dim %d is padded by %lld and %lld", axes[i], (long long)begin, (long long)end);
    p->begin[axes[i]] = begin;
    p->end[axes[i]] = end;
  }
  return STATUS_OK;
}

static Status padded_dim(const Node *n, const Pad *p, int i, Dim size, Dim *out) {
  int64_t begin = p->begin[i], end = p->end[i];
  if (dim_is_symbol(begin) || (!dim_is_number(size) && (begin || end)))
    return *out = graph_fresh_dim(n->graph), STATUS_OK;
  *out = size;
  if (!dim_is_number(size)) return STATUS_OK;
  if (size > INT64_MAX / 2) return node_invalid(n, "its output is too large");
  *out = size + begin + end;
  if (*out < 0) return node_invalid(n, "dim %d of %lld is cut by %lld", i, (long long)size, (long long)-(begin + end));
  if (p->mode == PAD_REFLECT && (begin >= size || end >= size) && (begin > 0 || end > 0))
    return node_invalid(n, "dim %d of %lld has too few elements to reflect %lld and %lld", i, (long long)size,
                        (long long)begin, (long long)end);
  if (p->mode != PAD_CONSTANT && size == 0 && *out > 0)
    return node_invalid(n, "dim %d has nothing to fill its frame with", i);
  return STATUS_OK;
}

static Status pad_infer(Node *n) {
  const Value *x = n->in[0];
  size_t count;
  Shape y = x->shape;
  Pad *p = NODE_PARAMS(n, Pad);
  if (!p) return STATUS_OUT_OF_MEMORY;
  TRY(read_mode(n, &p->mode));
  TRY(read_widths(n, p));
  if (dtype_bytes(x->type) == 0) return node_fail(n, STATUS_UNSUPPORTED_OP, "it does not pad %s", dtype_name(x->type));
  if (has_in(n, 2) && (n->in[2]->type != x->type || !shape_count(&n->in[2]->shape, &count) || count != 1))
    return node_invalid(n, "input 2 must be one %s", dtype_name(x->type));
  for (int i = 0; i < x->shape.rank; i++) TRY(padded_dim(n, p, i, x->shape.dim[i], &y.dim[i]));
  return node_output(n, 0, x->type, &y);
}

/* ---- run ---- */

/* Elements from … to - 1 of dim d, of a block of y, get the value; other dims as the block has them. */
static void fill_slab(char *y, const void *value, Strided s, int d, int64_t from, int64_t to, size_t item) {
  if (to <= from) return;
  y += (size_t)from * (size_t)s.dim[d].to * item;
  s.dim[d].count = (size_t)(to - from);
  for (int i = 0; i < s.rank; i++) s.dim[i].from = 0;
  strided_copy(y, value, s, item);
}

/* Dim by dim what lies before and behind x's elements first … last - 1 gets the value, as far as the dims before have
 * x's; in the end these are copied. */
static void run_constant(const Node *n, const Pad *p) {
  const Shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
  size_t from[RANK_MAX], to[RANK_MAX], item = dtype_bytes(n->in[0]->type);
  const uint64_t zero = 0;
  const void *value = has_in(n, 2) ? n->in[2]->data : &zero;
  const char *x_at = n->in[0]->data;
  char *y_at = n->out[0]->data;
  shape_strides(x, from);
  shape_strides(y, to);
  Strided s = {.rank = x->rank};
  for (int i = 0; i < x->rank; i++) s.dim[i] = (StridedDim){(size_t)y->dim[i], (ptrdiff_t)to[i], (ptrdiff_t)from[i]};
  for (int i = 0; i < x->rank; i++) {
    int64_t begin = p->begin[i], first = begin < 0 ? -begin : 0,
            last = y->dim[i] - begin < x->dim[i] ? y->dim[i] - begin : x->dim[i];
    if (last <= first) first = last = -begin; /* nothing is left of x */
    fill_slab(y_at, value, s, i, 0, first + begin, item);
    fill_slab(y_at, value, s, i, last + begin, y->dim[i], item);
    if (last == first) return;
    s.dim[i].count = (size_t)(last - first);
    x_at += (size_t)first * from[i] * item;
    y_at += (size_t)(first + begin) * to[i] * item;
  }
  strided_copy(y_at, x_at, s, item);
}

/* The source of element i of the padded dim. */
static int64_t source_of(PadMode mode, int64_t i, int64_t begin, int64_t size) {
  int64_t at = i - begin;
  if (mode == PAD_WRAP) return (at % size + size) % size;
  if (mode == PAD_EDGE) return at < 0 ? 0 : at >= size ? size - 1 : at;
  return at < 0 ? -at : at >= size ? 2 * (size - 1) - at : at;
}

/* A row of the last dim: its frame element by element, x between them as it is. */
static void repeat_row(const Pad *p, char *to, const char *from, int last, int64_t size, int64_t padded, size_t item) {
  int64_t begin = p->begin[last], first = begin > 0 ? begin : 0, end = begin + size < padded ? begin + size : padded;
  if (first > padded) first = padded;
  if (end < first) end = first;
  for (int64_t i = 0; i < padded; i++) {
    if (i == first && i < end) {
      copy_bytes(to + (size_t)first * item, from + (size_t)(first - begin) * item, (size_t)(end - first) * item);
      i = end;
    }
    if (i < padded) copy_element(to + (size_t)i * item, from + (size_t)source_of(p->mode, i, begin, size) * item, item);
  }
}

static void run_repeating(const Node *n, const Pad *p) {
  const Shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
  size_t stride[RANK_MAX], item = dtype_bytes(n->in[0]->type), count = out_count(n, 0);
  int64_t index[RANK_MAX] = {0};
  char *to = n->out[0]->data;
  int last = x->rank - 1;
  shape_strides(x, stride);
  if (last < 0) memcpy(to, n->in[0]->data, item);
  while (last >= 0 && count) {
    size_t row = 0;
    for (int d = 0; d < last; d++) row += (size_t)source_of(p->mode, index[d], p->begin[d], x->dim[d]) * stride[d];
    repeat_row(p, to, (const char *)n->in[0]->data + row * item, last, x->dim[last], y->dim[last], item);
    to += (size_t)y->dim[last] * item;
    int d = last - 1;
    while (d >= 0 && ++index[d] == y->dim[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

static void pad_run(const Node *n) {
  const Pad *p = n->params;
  if (p->mode == PAD_CONSTANT) run_constant(n, p);
  else run_repeating(n, p);
}

/* ---- gradient ---- */

static Value *dims_between(Graph *g, Value *shape, int from, int to) {
  int64_t picked[RANK_MAX];
  for (int i = from; i < to; i++) picked[i - from] = i;
  return emit(g, "Gather", shape, emit_ints(g, picked, to - from));
}

/* The element of x that each of y is along the axis: places of x padded alike, where its size is not known yet. */
static Value *sources_of(Graph *g, const Node *n, int axis) {
  const Pad *p = n->params;
  Dim size = n->in[0]->shape.dim[axis], count = n->out[0]->shape.dim[axis];
  Expansion c = {.graph = g};
  if (!p->known || !dim_is_number(size) || count > INT32_MAX) {
    Value *widths = p->known
                      ? emit_ints(g, (int64_t[]){p->begin[axis], p->end[axis]}, 2)
                      : emit(g, "Gather", n->in[1], emit_ints(g, (int64_t[]){axis, axis + n->in[0]->shape.rank}, 2));
    return emit_with(g, "Pad", ATTRS(attr_of_string("mode", node_string(n, "mode", ""))),
                     expand_range(&c, expand_dim(&c, n->in[0], axis, false)), widths);
  }
  int64_t *sources = ARENA_ARRAY(g->arena, int64_t, count);
  for (int64_t i = 0; sources && i < count; i++) sources[i] = source_of(p->mode, i, p->begin[axis], size);
  return sources ? emit_ints(g, sources, (int)count) : NULL;
}

/* The pads axis by axis are Gathers; this is the gradient of the one along `axis`, before which the dims are y's
 * already. */
static Value *axis_gradient(Grad *grad, Value *d, int axis) {
  Graph *g = grad->graph;
  Node *n = grad->node;
  const Shape *x = &n->in[0]->shape;
  Value *sources = sources_of(g, n, axis);
  Value *shape = emit_shape(g, n->in[0]);
  if (axis > 0)
    shape = emit_with(g, "Concat", ATTRS(attr_of_int("axis", 0)), dims_between(g, emit_shape(g, n->out[0]), 0, axis),
                      dims_between(g, shape, axis, x->rank));
  return emit_with(g, "GatherGrad", ATTRS(attr_of_int("axis", axis)), shape, sources, d);
}

static Status pad_grad(Grad *g) {
  Node *n = g->node;
  const Pad *p = n->params;
  const Shape *x = &n->in[0]->shape;
  int64_t back[2 * RANK_MAX];
  if (!p->known && has_in(n, 3)) return node_fail(n, STATUS_UNSUPPORTED_OP, "its gradient needs to know the widths");
  if (n->in_count > 2 && g->want[2]) return node_fail(n, STATUS_UNSUPPORTED_OP, "its constant value has no gradient");
  Value *d = g->dy[0];
  for (int i = 0; i < x->rank; i++) back[i] = -p->begin[i], back[x->rank + i] = -p->end[i];
  if (p->mode == PAD_CONSTANT)
    d = emit(g->graph, "Pad", d, p->known ? emit_ints(g->graph, back, 2 * x->rank) : emit(g->graph, "Neg", n->in[1]));
  for (int i = x->rank - 1; i >= 0 && p->mode != PAD_CONSTANT; i--) {
    if (!p->begin[i] && !p->end[i]) continue;
    d = axis_gradient(g, d, i);
  }
  g->dx[0] = d;
  return STATUS_OK;
}

static Status pad_upgrade(Upgrade *u) {
  upgrade_move(u, "paddings", 1, 2);
  upgrade_move(u, "pads", 1, 11);
  upgrade_move(u, "value", 2, 11);
  return STATUS_OK;
}

OPERATOR(pad) = {
    .name = "Pad",
    .since = {1, 2, 11, 13, 18, 19, 21},
    .inputs = {1, 4},
    .flags = OP_ANY_TYPE,
    .infer = pad_infer,
    .run = pad_run,
    .grad = GRADIENT(pad_grad),
    .upgrade = pad_upgrade,
    .cases = CASES({"f32[2,3] i64[4]=1,0,2,3"}, {"f32[2,5] i64[4]=0,-2,1,-1 f32[]=0.5"},
                   {"f32[2,3,4,5] i64[8]=0,0,1,2,0,0,0,1", "mode=constant"},
                   {"f32[2,3,4] i64[6]=0,1,2,0,1,3", "mode=reflect"}, {"f32[2,3,4] i64[6]=0,1,2,0,4,-3", "mode=edge"},
                   {"f32[2,3] i64[4]=0,2,0,4", "mode=wrap", 19}, {"f32[2,3,4] i64[2]=1,2 - i64[1]=-2", NULL, 18},
                   {"f32[3] i64[2]=5,-7"}, {"i64[2,2] i64[4]=0,1,1,0 i64[]=7"},
                   {"f32[2,3]", "pads=[0,1,1,0] value=2.5", 2}, {"f32[2,3]", "paddings=[1,0,0,2] value=-0.5", 1},
                   {"f32[2,3,4] i64[6]=0,2,1,0,0,2", "mode=reflect"}, {"f32[3,4] i64[4]=2,1,0,2", "mode=reflect"}),
};
