/* AffineGrid: where theta's map puts the pixels of a picture of the given size, for GridSample:  grid = (x, y[, z], 1)
 * · thetaᵀ. As x differs along one dim alone, and so do y and z, hardly more than the last of the sums is as long as
 * the grid. */
#include "graph/expansion.h"
#include "graph/dims.h"

/* Pixel i of n, from -1 to 1: its middle, or with align_corners those of the outer ones at the ends. */
static float place_of(int64_t i, int64_t n, bool align_corners) {
  if (align_corners) return n > 1 ? -1 + 2 * (float)i / (float)(n - 1) : 0;
  return (2 * (float)i + 1) / (float)n - 1;
}

/* The pixels along dim `axis` of an output (N, rank, H, W). */
static Value *emit_places(Expansion *c, Dim size, int rank, int axis, bool align_corners) {
  float *places = ARENA_ARRAY(c->graph->arena, float, size);
  Shape shape = SHAPE(1, 1, 1, 1, 1);
  shape.rank = rank + 2, shape.dim[axis] = size;
  for (Dim i = 0; places && i < size; i++) places[i] = place_of(i, size, align_corners);
  return places ? emit_floats(c->graph, places, &shape) : NULL;
}

static Status affine_grid_expand(Expansion *c) {
  Graph *g = c->graph;
  Node *n = c->node;
  const Shape *theta = expand_shape(c, 0);
  const Dim *size;
  int count;
  size_t points;
  TRY(node_want_float(n, 0));
  TRY(node_want_rank(n, 0, 3, 3));
  TRY(node_known(n, 1, &size, &count));
  int rank = count - 2;
  if (rank < 2 || rank > 3 || !dims_meet(theta->dim[1], rank) || !dims_meet(theta->dim[2], rank + 1))
    return node_invalid(n, "theta must be (N, 2, 3) with a size of 4 numbers, or (N, 3, 4) with 5");
  Shape spatial = shape_of(rank, size + 2);
  if (!shape_count(&spatial, &points) || points > 1 << 26)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its size must be known before the run, up to 2^26 points");
  /* grid[k] = theta[k][rank] + Σ over a of theta[k][rank - 1 - a] · place along a */
  static const int64_t one[] = {1, 1, 1, 1}, last[] = {0, 2, 3, 1}, last_of_volume[] = {0, 2, 3, 4, 1};
  Value *columns[4];
  Value *planes = emit(g, "Reshape", n->in[0], emit_ints(g, (int64_t[]){0, rank, rank + 1, 1, 1}, rank + 2));
  if (!expand_split(c, planes, 2, emit_ints(g, one, rank + 1), rank + 1, columns)) return g->error->status;
  Value *grid = columns[rank];
  for (int a = 0; a < rank; a++)
    grid = emit(g, "Add", grid,
                emit(g, "Mul", columns[rank - 1 - a],
                     emit_places(c, size[2 + a], rank, 2 + a, node_int(n, "align_corners", 0) != 0)));
  return expand_done(
      c, emit_with(g, "Transpose", ATTRS(attr_of_ints("perm", rank == 2 ? last : last_of_volume, count)), grid));
}

OPERATOR(affine_grid) = {
    .name = "AffineGrid",
    .since = {20},
    .inputs = {2, 2},
    .expand = affine_grid_expand,
    .cases = CASES({"f32[2,2,3] i64[4]=2,3,4,5", "", 20}, {"f32[1,2,3] i64[4]=1,1,3,1", "align_corners=1", 20},
                   {"f32[2,3,4] i64[5]=2,1,2,3,4", "align_corners=1", 20}, {"f32[1,3,4] i64[5]=1,2,1,3,2", "", 20}),
};
