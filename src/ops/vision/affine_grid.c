/* AffineGrid: where theta's map puts the pixels of a picture of the given size, for GridSample:  grid = (x, y[, z], 1)
 * · thetaᵀ. */
#include "graph/compose.h"

/* Pixel i of n, from -1 to 1: its middle, or with align_corners those of the outer ones at the ends. */
static float place_of(int64_t i, int64_t n, bool align_corners) {
  if (align_corners) return n > 1 ? -1 + 2 * (float)i / (float)(n - 1) : 0;
  return (2 * (float)i + 1) / (float)n - 1;
}

/* (points, rank + 1) */
static Value *emit_places(Compose *c, const Dim *size, int rank, bool align_corners) {
  Shape spatial = shape_of(rank, size);
  size_t points = shape_elements(&spatial), columns = (size_t)rank + 1;
  float *places = arena_alloc_array(c->graph->arena, points, columns * sizeof *places);
  if (!places) return NULL;
  for (size_t p = 0; p < points; p++) {
    size_t rest = p;
    for (int a = rank - 1; a >= 0; rest /= (size_t)size[a--])
      places[p * columns + (size_t)(rank - 1 - a)] = place_of((int64_t)(rest % (size_t)size[a]), size[a],
                                                              align_corners);
    places[p * columns + (size_t)rank] = 1;
  }
  Shape shape = SHAPE((Dim)points, (Dim)columns);
  return emit_floats(c->graph, places, &shape);
}

static Status affine_grid_compose(Compose *c) {
  Graph *g = c->graph;
  Node *n = c->node;
  const Shape *theta = compose_shape(c, 0);
  const Dim *size;
  int count;
  size_t points;
  TRY(node_want_float(n, 0));
  TRY(node_want_rank(n, 0, 3, 3));
  TRY(node_known(n, 1, &size, &count));
  int rank = count - 2;
  if (rank < 2 || rank > 3 || theta->dim[1] != rank || theta->dim[2] != rank + 1)
    return node_invalid(n, "theta must be (N, 2, 3) with a size of 4 numbers, or (N, 3, 4) with 5");
  Shape spatial = shape_of(rank, size + 2);
  if (!shape_count(&spatial, &points) || points > 1 << 26)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its size must be known before the run, up to 2^26 points");
  Value *grid = emit(g, "MatMul", emit_places(c, size + 2, rank, node_int(n, "align_corners", 0) != 0),
                     emit_with(g, "Transpose", ATTRS(attr_of_ints("perm", (int64_t[]){0, 2, 1}, 3)), n->in[0]));
  int64_t dims[5] = {0};
  for (int a = 0; a < rank; a++) dims[1 + a] = size[2 + a];
  dims[1 + rank] = rank;
  Value *first = compose_dim(c, n->in[0], 0, true); /* a size of 0 is no copy here */
  Value *shape = emit_with(g, "Concat", ATTRS(attr_of_int("axis", 0)), first, emit_ints(g, dims + 1, rank + 1));
  return compose_done(c, emit(g, "Reshape", grid, shape));
}

OPERATOR(affine_grid) = {
    .name = "AffineGrid",
    .since = {20},
    .inputs = {2, 2},
    .compose = affine_grid_compose,
    .cases = CASES({"f32[2,2,3] i64[4]=2,3,4,5", "", 20}, {"f32[1,2,3] i64[4]=1,1,3,1", "align_corners=1", 20},
                   {"f32[2,3,4] i64[5]=2,1,2,3,4", "align_corners=1", 20}, {"f32[1,3,4] i64[5]=1,2,1,3,2", "", 20}),
};
