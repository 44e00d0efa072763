/* TopK: the k largest (or smallest) of x along an axis, best first, and where they stood; of equal ones the first.  dx
 * = dy where they stood. */
#include <string.h>

#include "kernels/copy.h"
#include "graph/dims.h"
#include "kernels/number.h"
#include "graph/second_output.h"
#include "kernels/select.h"
#include "graph/work.h"
#include "graph/upgrade.h"

typedef struct TopK {
  int axis;
  bool largest;
} TopK;

static Status known_k(Node *n, Dim *k) {
  const Dim *dims;
  int count;
  TRY(dims_known(n, 1, &dims, &count));
  if (count != 1) return node_invalid(n, "input 1, k, must be one number");
  *k = dims ? *dims : graph_fresh_dim(n->graph);
  return STATUS_OK;
}

static Status top_k_infer(Node *n) {
  const Shape *x = &n->in[0]->shape;
  Dim k;
  TopK *p = NODE_PARAMS(n, TopK);
  if (!p) return STATUS_OUT_OF_MEMORY;
  if (!dtype_is_number(n->in[0]->type)) TRY(node_want_float(n, 0));
  TRY(node_axis(n, node_int(n, "axis", -1), x->rank, &p->axis));
  TRY(known_k(n, &k));
  p->largest = node_int(n, "largest", 1) != 0;
  Dim size = x->dim[p->axis];
  if (dim_is_number(size) && !dim_is_symbol(k) && (k < 0 || k > size))
    return node_invalid(n, "k is %lld, axis %d has %lld elements", (long long)k, p->axis, (long long)size);
  if (dim_is_number(size)) n->scratch_bytes = (size_t)size * (sizeof(size_t) + sizeof(double)) + 8;
  Shape y = *x;
  y.dim[p->axis] = k;
  TRY(node_output(n, 0, n->in[0]->type, &y));
  return node_output(n, 1, DTYPE_INT64, &y);
}

/* One line being sorted. */
typedef struct Line {
  const Numbers *numbers; /* as many as the line has, past NUMBERS, too: scratch */
  bool largest, floats;
  DType type;
} Line;

/* Whether element a comes before element b. NaN is larger than all. */
static bool before(const void *context, size_t a, size_t b) {
  const Line *l = context;
  if (l->floats) {
    double x = l->numbers->floats[a], y = l->numbers->floats[b];
    bool more = x > y || (x != x && y == y), less = y > x || (y != y && x == x);
    if (more || less) return l->largest == more;
    return a < b;
  }
  int64_t x = l->numbers->ints[a], y = l->numbers->ints[b];
  if (x == y) return a < b;
  return l->largest == (l->type == DTYPE_UINT64 ? (uint64_t)x > (uint64_t)y : x > y);
}

static void load_line(const Node *n, Numbers *to, size_t at, size_t step, size_t count) {
  for (size_t i = 0; i < count; i++) {
    Numbers one;
    numbers_load(&one, n->in[0]->data, n->in[0]->type, at + i * step, 1, 1);
    to->ints[i] = one.ints[0]; /* whichever of the two it is */
  }
}

static void top_k_run(const Node *n) {
  const TopK *p = n->params;
  const Shape *x = &n->in[0]->shape, *y = &n->out[has_out(n, 0) ? 0 : 1]->shape;
  size_t inner = shape_span(x, p->axis + 1, x->rank), count = (size_t)x->dim[p->axis], k = (size_t)y->dim[p->axis],
         item = dtype_bytes(n->in[0]->type);
  size_t lines = shape_span(x, 0, p->axis) * inner;
  Numbers *numbers = n->scratch;
  size_t *order = (size_t *)((double *)n->scratch + count);
  Line line = {numbers, p->largest, dtype_is_float(n->in[0]->type), n->in[0]->type};
  for (size_t i = 0; i < lines && k; i++) {
    size_t from = i / inner * count * inner + i % inner, to = i / inner * k * inner + i % inner;
    load_line(n, numbers, from, inner, count);
    select_best(order, k, count, before, &line);
    for (size_t j = 0; j < k; j++) {
      const char *best = (const char *)n->in[0]->data + (from + order[j] * inner) * item;
      if (has_out(n, 0)) copy_element((char *)n->out[0]->data + (to + j * inner) * item, best, item);
      if (has_out(n, 1)) ((int64_t *)n->out[1]->data)[to + j * inner] = (int64_t)order[j];
    }
  }
}

static Status top_k_grad(Grad *g) {
  const TopK *p = g->node->params;
  TRY(second_output_want(g->node, "indices"));
  g->dx[0] = emit_with(g->graph, "GatherElementsGrad", ATTRS(attr_of_int("axis", p->axis)), g->dy[0],
                       emit_shape(g->graph, g->node->in[0]), g->node->out[1]);
  return STATUS_OK;
}

static double top_k_work(const Node *n) { return work_elements(n->in[0]) * 64; }

static Status top_k_upgrade(Upgrade *u) { return upgrade_move(u, "k", 1, 10), STATUS_OK; }

OPERATOR(top_k) = {
    .name = "TopK",
    .since = {1, 10, 11},
    .inputs = {1, 2},
    .outputs = {2, 2},
    .flags = OP_ANY_TYPE,
    .infer = top_k_infer,
    .run = top_k_run,
    .grad = GRADIENT(top_k_grad),
    .work = top_k_work,
    .upgrade = top_k_upgrade,
    .cases = CASES({"f32[3,5] i64[1]=2", NULL, 0, 2}, {"f32[2,6,3] i64[1]=4", "axis=1 largest=0", 0, 2},
                   {"v:f32[5]=1,3,3,0,3 i64[1]=2", NULL, 0, 2, "ties"},
                   {"v:i64[5]=1,3,-3,0,9 i64[1]=5", "largest=0", 0, 2}, {"v:u64[3]=1,9e18,3 i64[1]=1", NULL, 0, 2}),
};
