/* Tile: x repeated along each dim, as often as input 1 says.  dx = Σ of the copies' dys. */
#include "graph/dims.h"
#include "kernels/strided.h"
#include "graph/upgrade.h"
#include "kernels/number.h"

typedef struct Tile {
  bool known;
  Dim repeats[RANK_MAX];
} Tile;

static Status tile_dim(const Node *n, Dim size, Dim repeats, Dim *out) {
  if (!dim_is_number(repeats) && !dim_is_symbol(repeats))
    return node_invalid(n, "it repeats a dim %lld times", (long long)repeats);
  if (dim_is_number(size) && dim_is_number(repeats)) {
    if (__builtin_mul_overflow(size, repeats, out)) return node_invalid(n, "its output is too large");
  } else *out = repeats == 1 ? size : size == 1 ? repeats : graph_fresh_dim(n->graph);
  return STATUS_OK;
}

static Status tile_infer(Node *n) {
  const Shape *x = &n->in[0]->shape;
  const Dim *repeats;
  Shape y = *x;
  int count, loops = x->rank;
  Tile *p = NODE_PARAMS(n, Tile);
  if (!p) return STATUS_OUT_OF_MEMORY;
  TRY(node_want_type(n, 1, DTYPE_INT64));
  TRY(dims_known(n, 1, &repeats, &count));
  if (count != x->rank) return node_invalid(n, "it has %d repeats, x has %d dimensions", count, x->rank);
  p->known = repeats != NULL;
  for (int i = 0; i < x->rank; i++) {
    p->repeats[i] = repeats ? repeats[i] : graph_fresh_dim(n->graph);
    TRY(tile_dim(n, x->dim[i], p->repeats[i], &y.dim[i]));
    loops += p->repeats[i] != 1;
  }
  if (p->known && loops > RANK_MAX)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "%d dimensions and repeated ones together are more than %d", loops,
                     RANK_MAX);
  return node_output(n, 0, n->in[0]->type, &y);
}

/* y as (repeats, dim) pairs: x does not move along the repeats. */
static void tile_run(const Node *n) {
  const Tile *p = n->params;
  const Shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
  size_t from[RANK_MAX], to[RANK_MAX];
  shape_strides(x, from);
  shape_strides(y, to);
  Strided s = {0};
  for (int i = 0; i < x->rank; i++) {
    if (p->repeats[i] != 1)
      s.dim[s.rank++] = (StridedDim){(size_t)p->repeats[i], (ptrdiff_t)(to[i] * (size_t)x->dim[i]), 0};
    s.dim[s.rank++] = (StridedDim){(size_t)x->dim[i], (ptrdiff_t)to[i], (ptrdiff_t)from[i]};
  }
  strided_copy(n->out[0]->data, n->in[0]->data, s, dtype_bytes(n->in[0]->type));
}

static Value *element_of(Graph *g, Value *vector, int i) {
  return emit(g, "Gather", vector, emit_ints(g, (int64_t[]){i}, 1));
}

/* dx = Σ over the repeats of dy in the shape (repeats0, dim0, repeats1, …) */
static Status tile_grad(Grad *grad) {
  Graph *g = grad->graph;
  Node *n = grad->node;
  const Tile *p = n->params;
  const Shape *x = &n->in[0]->shape;
  if (!p->known) return node_fail(n, STATUS_UNSUPPORTED_OP, "its gradient needs to know which dims are repeated");
  Value *pieces[RANK_MAX]; /* infer allows no more */
  int64_t axes[RANK_MAX];
  int count = 0, repeated = 0;
  for (int i = 0; i < x->rank; i++) {
    bool number = dim_is_number(p->repeats[i]);
    if (p->repeats[i] != 1) {
      axes[repeated++] = count;
      pieces[count++] = number ? emit_ints(g, (int64_t[]){p->repeats[i]}, 1) : element_of(g, n->in[1], i);
    }
    pieces[count++] = dim_is_number(x->dim[i]) ? emit_ints(g, (int64_t[]){x->dim[i]}, 1)
                                               : element_of(g, emit_shape(g, n->in[0]), i);
  }
  grad->dx[0] = grad->dy[0];
  if (!repeated) return STATUS_OK;
  Value *pairs = emit(g, "Reshape", grad->dy[0], emit_first(g, "Concat", ATTRS(attr_of_int("axis", 0)), pieces, count));
  grad->dx[0] = emit_with(g, "ReduceSumTraining", ATTRS(attr_of_int("keepdims", 0)), pairs,
                          emit_ints(g, axes, repeated));
  return STATUS_OK;
}

static bool number_of(const Value *v, double *out) {
  Numbers x;
  if (!v || v->kind != VALUE_CONSTANT || shape_elements(&v->shape) != 1 || !dtype_is_number(v->type)) return false;
  numbers_load(&x, v->data, v->type, 0, 1, 1);
  return *out = dtype_is_float(v->type) ? x.floats[0] : (double)x.ints[0], true;
}

/* In opset 1 it repeated x along one axis; both were inputs, in x's type. */
static Status tile_upgrade(Upgrade *u) {
  Added *a = u->node;
  double tiles, axis;
  int64_t repeats[RANK_MAX];
  if (u->graph->file_opset >= 7 || a->in_count != 3) return STATUS_OK;
  int rank = a->in[0] ? a->in[0]->shape.rank : 0;
  if (!number_of(u->in[1], &tiles) || !number_of(u->in[2], &axis) || !(axis >= 0 && axis < rank) ||
      !(tiles >= 0 && tiles <= INT32_MAX))
    return error_set(u->graph->error, STATUS_UNSUPPORTED_OP, a->name,
                     "Tile '%.128s': tiles and axis must be constants that fit x", a->name ? a->name : "");
  for (int i = 0; i < rank; i++) repeats[i] = i == (int)axis ? (int64_t)tiles : 1;
  u->in[1] = emit_ints(u->graph, repeats, rank), u->in[2] = NULL, a->in_count = 2;
  return STATUS_OK;
}

OPERATOR(tile) = {
    .name = "Tile",
    .since = {1, 6, 13},
    .inputs = {2, 2},
    .flags = OP_ANY_TYPE | OP_STRINGS | OP_REPEATS,
    .infer = tile_infer,
    .run = tile_run,
    .grad = GRADIENT(tile_grad),
    .upgrade = tile_upgrade,
    .cases = CASES({"f32[2,3] i64[2]=2,4"}, {"f32[2,1,3] i64[3]=1,5,2"}, {"f32[3] i64[1]=1"}, {"f32[2,3] i64[2]=0,2"},
                   {"i64[2,2] i64[2]=1,3"}, {"bool[3] i64[1]=2"}, {"f32[2,3] f32[]=3 f32[]=1", NULL, 1},
                   {"f32[] i64[0]="}),
};
