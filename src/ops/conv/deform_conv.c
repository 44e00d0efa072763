/* DeformConv: a convolution in which each kernel cell looks at a place that is moved by an offset and weighted by a
 * mask, both of them inputs. GridSample reads X at these places, the rest is a matrix product. */
#include "graph/compose.h"
#include "ops/conv/window.h"

typedef struct Deform {
  WindowAttrs w;
  int64_t group, offset_group, channels, features, cells, points, out[3];
  int rank;
} Deform;

static Status read_channels(Compose *c, Deform *d) {
  Node *n = c->node;
  const Shape *x = compose_shape(c, 0), *w = compose_shape(c, 1);
  d->group = node_int(n, "group", 1), d->offset_group = node_int(n, "offset_group", 1);
  TRY(compose_want_number(c, 0, 1));
  for (int i = 0; i < d->rank + 2; i++) TRY(compose_want_number(c, 1, i));
  for (int i = 1; i < compose_shape(c, 2)->rank; i++) TRY(compose_want_number(c, 2, i));
  d->channels = x->dim[1], d->features = w->dim[0];
  bool fit = d->group > 0 && d->offset_group > 0 && d->channels % d->group == 0 && d->features % d->group == 0 &&
             d->channels % d->offset_group == 0;
  if (!fit || w->dim[1] != d->channels / d->group)
    return node_invalid(n, "%lld channels, W for %lld of them, group %lld and offset_group %lld do not fit",
                        (long long)d->channels, (long long)w->dim[1], (long long)d->group, (long long)d->offset_group);
  return STATUS_OK;
}

static Status read_places(Compose *c, Deform *d) {
  Node *n = c->node;
  const Shape *x = compose_shape(c, 0), *offset = compose_shape(c, 2);
  d->cells = d->points = 1;
  for (int a = 0; a < d->rank; a++) {
    TRY(compose_want_number(c, 0, 2 + a));
    TRY(window_out_dim(n, &d->w, a, x->dim[2 + a], &d->out[a]));
    if (offset->rank != x->rank || !dim_is_number(offset->dim[2 + a]) || offset->dim[2 + a] != d->out[a])
      return node_invalid(n, "the offset must have size %lld along spatial dimension %d", (long long)d->out[a], a);
    d->cells *= d->w.kernel[a], d->points *= d->out[a];
    if (d->cells > INT32_MAX || d->points > INT32_MAX)
      return node_fail(n, STATUS_OUT_OF_MEMORY, "its picture is too large");
  }
  if (d->cells * d->points > 1 << 26) return node_fail(n, STATUS_OUT_OF_MEMORY, "its picture is too large");
  if (offset->dim[1] != d->offset_group * d->cells * d->rank)
    return node_invalid(n, "the offset has %lld channels, %lld are wanted", (long long)offset->dim[1],
                        (long long)(d->offset_group * d->cells * d->rank));
  return STATUS_OK;
}

static Status read_deform(Compose *c, Deform *d) {
  Node *n = c->node;
  for (int i = 0; i < 5; i++) TRY(node_want_float(n, i));
  TRY(node_want_rank(n, 0, 4, 5));
  *d = (Deform){.rank = compose_shape(c, 0)->rank - 2};
  TRY(node_want_rank(n, 1, d->rank + 2, d->rank + 2));
  TRY(read_channels(c, d));
  TRY(window_attrs(n, d->rank, compose_shape(c, 1)->dim + 2, &d->w));
  return read_places(c, d);
}

/* Number a of each place (cells, points, rank) that the kernel looks at before it is moved, counted from the last dim;
 * as GridSample has it: from -1 to 1. */
static Value *emit_base(Compose *c, const Deform *d) {
  const Shape *x = compose_shape(c, 0);
  size_t all = (size_t)(d->cells * d->points);
  float *base = arena_alloc_array(c->graph->arena, all, (size_t)d->rank * sizeof *base);
  for (size_t i = 0; base && i < all; i++) {
    int64_t cell = (int64_t)i / d->points, point = (int64_t)i % d->points;
    for (int a = d->rank - 1; a >= 0; a--) {
      int64_t at = point % d->out[a] * d->w.stride[a] - d->w.pad_begin[a] + cell % d->w.kernel[a] * d->w.dilation[a];
      base[i * (size_t)d->rank + (size_t)(d->rank - 1 - a)] = (float)(2 * at + 1) / (float)x->dim[2 + a] - 1;
      cell /= d->w.kernel[a], point /= d->out[a];
    }
  }
  Shape shape = SHAPE(d->cells, d->points, d->rank);
  return base ? emit_floats(c->graph, base, &shape) : NULL;
}

static Value *reshape(Graph *g, Value *x, const int64_t *dims, int count) {
  return emit(g, "Reshape", x, emit_ints(g, dims, count));
}
#define RESHAPE(g, x, ...)                                                                                             \
  reshape(g, x, (int64_t[]){__VA_ARGS__}, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

/* The grid (N · offset_group, cells, points[, 1], rank): offsets are (N, offset_group · cells · rank, points) in
 * pixels, the first dim first. */
static Value *emit_grid(Compose *c, const Deform *d) {
  Graph *g = c->graph;
  float scale[3];
  int64_t turned[] = {2, 1, 0};
  for (int a = 0; a < d->rank; a++) scale[d->rank - 1 - a] = 2 / (float)compose_shape(c, 0)->dim[2 + a];
  Shape shape = SHAPE(d->rank);
  Value *offset = RESHAPE(g, c->node->in[2], -1, d->cells, d->rank, d->points);
  offset = emit_with(g, "Transpose", ATTRS(attr_of_ints("perm", (int64_t[]){0, 1, 3, 2}, 4)), offset);
  offset = emit_with(g, "Gather", ATTRS(attr_of_int("axis", 3)), offset, emit_ints(g, turned + 3 - d->rank, d->rank));
  Value *grid = emit(g, "Add", emit(g, "Mul", offset, emit_floats(g, scale, &shape)), emit_base(c, d));
  return d->rank == 2 ? grid : RESHAPE(g, grid, -1, d->cells, d->points, 1, 3);
}

static Status deform_conv_compose(Compose *c) {
  Graph *g = c->graph;
  Deform d;
  TRY(read_deform(c, &d));
  const Shape *x = compose_shape(c, 0);
  Value *bias = compose_in(c, 3), *mask = compose_in(c, 4);
  int64_t pictures[5] = {-1, d.channels / d.offset_group}, out[5] = {0, d.features};
  for (int a = 0; a < d.rank; a++) pictures[2 + a] = x->dim[2 + a], out[2 + a] = d.out[a];
  Value *seen = emit(g, "GridSample", reshape(g, c->node->in[0], pictures, x->rank), emit_grid(c, &d));
  seen = RESHAPE(g, seen, -1, d.channels / d.offset_group, d.cells, d.points);
  if (mask) seen = emit(g, "Mul", seen, RESHAPE(g, mask, -1, 1, d.cells, d.points));
  seen = RESHAPE(g, seen, -1, d.group, d.channels / d.group * d.cells, d.points);
  Value *weights = RESHAPE(g, c->node->in[1], d.group, d.features / d.group, d.channels / d.group * d.cells);
  Value *y = reshape(g, emit(g, "MatMul", weights, seen), (out[0] = -1, out), x->rank);
  if (bias) y = emit(g, "Add", y, reshape(g, bias, (int64_t[]){-1, 1, 1, 1}, d.rank + 1));
  return compose_done(c, y);
}

OPERATOR(deform_conv) = {
    .name = "DeformConv",
    .since = {19, 22},
    .inputs = {3, 5},
    .weights = 2,
    .biases = 8,
    .compose = deform_conv_compose,
    .cases = CASES({"f32[1,1,3,3] f32[1,1,2,2] f32[1,8,4,4]:-0.4..0.4 f32[1]", "kernel_shape=[2,2] pads=[1,1,1,1]", 19},
                   {"f32[2,4,4,5] f32[4,2,2,3] f32[2,24,2,2]:-1.3..1.3 f32[4] f32[2,12,2,2]",
                    "group=2 offset_group=2 strides=[2,1] pads=[0,0,0,1] dilations=[1,2]", 19},
                   {"f32[1,2,3,4] f32[3,2,2,2] f32[1,8,2,3]:-1.3..1.3 - f32[1,4,2,3]", "", 22},
                   {"f32[1,1,2,3,3] f32[2,1,1,2,2] f32[1,12,2,2,2]:-0.7..0.7", "", 22}),
};
