/* DeformConv: a convolution in which each kernel cell looks at a place that is moved by an offset and weighted by a
 * mask, both of them inputs. GridSample reads X at these places, the rest is a matrix product. */
#include "graph/expansion.h"
#include "graph/dims.h"
#include "ops/conv/window.h"

enum { DEFORM_RANK_MAX = 3 };

static Status check(Expansion *c, int rank, WindowAttrs *window, int64_t group, int64_t offset_group) {
  Node *n = c->node;
  for (int i = 0; i < 5; i++) TRY(node_want_float(n, i));
  TRY(node_want_rank(n, 0, 4, DEFORM_RANK_MAX + 2));
  for (int i = 1; i < 3; i++) TRY(node_want_rank(n, i, rank + 2, rank + 2));
  TRY(window_attrs(n, rank, expand_shape(c, 1)->dim + 2, window));
  const Shape *x = expand_shape(c, 0), *w = expand_shape(c, 1), *offset = expand_shape(c, 2);
  Dim channels = x->dim[1], numbers = offset_group * rank; /* numbers in the offset, for each place of the output */
  bool fit = group > 0 && offset_group > 0 && dim_divides(channels, group) && dim_divides(w->dim[0], group) &&
             dim_divides(channels, offset_group) && dims_meet(w->dim[1], channels / group);
  if (!fit)
    return node_invalid(n, "%lld channels, W for %lld of them, group %lld and offset_group %lld do not fit",
                        (long long)channels, (long long)w->dim[1], (long long)group, (long long)offset_group);
  for (int a = 0; a < rank; a++) {
    Dim out;
    TRY(window_out_dim(n, window, a, x->dim[2 + a], &out));
    if (!dims_meet(offset->dim[2 + a], out))
      return node_invalid(n, "the offset must have size %lld along spatial dimension %d", (long long)out, a);
    numbers *= window->kernel[a]; /* 0: W has not said it yet */
  }
  if (numbers && !dims_meet(offset->dim[1], numbers))
    return node_invalid(n, "the offset has %lld channels, %lld are wanted", (long long)offset->dim[1],
                        (long long)numbers);
  return STATUS_OK;
}

/* x in the shape whose dims the letters name: of sizes['n' - 'a'] and so on. */
static Value *shaped(Expansion *c, const Size *sizes, const char *letters, int count, Value *x) {
  Size named[RANK_MAX];
  for (int i = 0; i < count; i++) named[i] = sizes[letters[i] - 'a'];
  return expand_reshape(c, x, named, count);
}
#define SHAPED(letters, x) shaped(c, sizes, letters, sizeof letters - 1, x)

/* 0, step … along a dim of `of`, with `after` dims of size 1 behind. */
static Value *emit_steps(Expansion *c, Value *of, int axis, int64_t step, int after) {
  static const int64_t dims[] = {-1, 1, 1, 1, 1, 1, 1};
  Graph *g = c->graph;
  Value *steps = emit(g, "Mul", expand_range(c, expand_dim(c, of, axis, false)), emit_int(g, step));
  return emit(g, "Reshape", steps, emit_ints(g, dims, 1 + after));
}

/* Offsets (N · offset_group, k0, k1, 1, y0, y1) along dim a in pixels, as places of GridSample: from -1 to 1. Without
 * an offset, cell k of the kernel looks at place y · stride - pad + k · dilation. */
static Value *emit_places(Expansion *c, const WindowAttrs *w, int a, Value *offset) {
  Graph *g = c->graph;
  Value **in = c->node->in, *size = expand_cast(c, expand_dim(c, in[0], 2 + a, false), DTYPE_FLOAT32);
  Value *base = emit(g, "Add", emit_steps(c, in[1], 2 + a, 2 * w->dilation[a], 2 * w->rank - a),
                     emit_steps(c, in[2], 2 + a, 2 * w->stride[a], w->rank - 1 - a));
  base = expand_cast(c, emit(g, "Add", base, emit_int(g, 1 - 2 * w->pad_begin[a])), DTYPE_FLOAT32);
  base = emit(g, "Sub", emit(g, "Div", base, size), emit_float(g, 1));
  return emit(g, "Add", emit(g, "Mul", offset, emit(g, "Div", emit_float(g, 2), size)), base);
}

/* The grid (N · offset_group, cells, points[, 1], rank): offsets are (N, offset_group · cells · rank, points) in
 * pixels, the first dim first. */
static Value *emit_grid(Expansion *c, const WindowAttrs *w, const Size *sizes) {
  static const int64_t ones[] = {1, 1, 1};
  Graph *g = c->graph;
  int rank = w->rank;
  Value *parts[DEFORM_RANK_MAX], *turned[DEFORM_RANK_MAX], *offset = c->node->in[2];
  offset = rank == 2 ? SHAPED("nklrij", offset) : SHAPED("nklmrijh", offset);
  if (!expand_split(c, offset, 1 + rank, emit_ints(g, ones, rank), rank, parts)) return NULL;
  for (int a = 0; a < rank; a++) turned[rank - 1 - a] = emit_places(c, w, a, parts[a]);
  Value *grid = SHAPED("ncrp", emit_first(g, "Concat", ATTRS(attr_of_int("axis", 1 + rank)), turned, rank));
  grid = emit_with(g, "Transpose", ATTRS(attr_of_ints("perm", (int64_t[]){0, 1, 3, 2}, 4)), grid);
  return rank == 2 ? grid : SHAPED("ncpor", grid);
}

static Status deform_conv_expand(Expansion *c) {
  Graph *g = c->graph;
  Node *n = c->node;
  int64_t group = node_int(n, "group", 1), offset_group = node_int(n, "offset_group", 1);
  int rank = expand_shape(c, 0)->rank - 2;
  WindowAttrs window;
  TRY(check(c, rank, &window, group, offset_group));
  Value *x = n->in[0], *w = n->in[1], *offset = n->in[2], *bias = expand_in(c, 3), *mask = expand_in(c, 4);
  /* i j h: the output; k l m: the kernel; x y z: the picture */
  Size sizes[26] = {['n' - 'a'] = SIZE_NUMBER(-1),
                    ['o' - 'a'] = SIZE_NUMBER(1),
                    ['r' - 'a'] = SIZE_NUMBER(rank),
                    ['g' - 'a'] = SIZE_NUMBER(group),
                    ['c' - 'a'] = {w, 2, rank, 1, 0},
                    ['d' - 'a'] = {w, 1, 1 + rank, 1, 0},
                    ['e' - 'a'] = {x, 1, 1, 1, offset_group},
                    ['f' - 'a'] = SIZE_DIM(w, 0),
                    ['s' - 'a'] = {w, 0, 1, 1, group},
                    ['p' - 'a'] = {offset, 2, rank, 1, 0}};
  for (int a = 0; a < rank; a++) {
    sizes["ijh"[a] - 'a'] = SIZE_DIM(offset, 2 + a);
    sizes["klm"[a] - 'a'] = SIZE_DIM(w, 2 + a);
    sizes["xyz"[a] - 'a'] = SIZE_DIM(x, 2 + a);
  }
  Value *seen = emit(g, "GridSample", shaped(c, sizes, "nexyz", rank + 2, x), emit_grid(c, &window, sizes));
  seen = SHAPED("necp", seen);
  if (mask) seen = emit(g, "Mul", seen, SHAPED("nocp", mask));
  seen = emit(g, "MatMul", SHAPED("gsd", w), SHAPED("ngdp", seen));
  Value *y = shaped(c, sizes, "nfijh", rank + 2, seen);
  if (bias) y = emit(g, "Add", y, shaped(c, sizes, "nooo", rank + 1, bias));
  return expand_done(c, y);
}

OPERATOR(deform_conv) = {
    .name = "DeformConv",
    .since = {19, 22},
    .inputs = {3, 5},
    .weights = 2,
    .biases = 8,
    .expand = deform_conv_expand,
    .cases = CASES({"f32[1,1,3,3] f32[1,1,2,2] f32[1,8,4,4]:-0.4..0.4 f32[1]", "kernel_shape=[2,2] pads=[1,1,1,1]", 19},
                   {"f32[2,4,4,5] f32[4,2,2,3] f32[2,24,2,2]:-1.3..1.3 f32[4] f32[2,12,2,2]",
                    "group=2 offset_group=2 strides=[2,1] pads=[0,0,0,1] dilations=[1,2]", 19},
                   {"f32[1,2,3,4] f32[3,2,2,2] f32[1,8,2,3]:-1.3..1.3 - f32[1,4,2,3]", "", 22},
                   {"f32[1,1,2,3,3] f32[2,1,1,2,2] f32[1,12,2,2,2]:-0.7..0.7", "", 22}),
};
