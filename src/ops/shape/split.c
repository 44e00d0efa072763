/* Split: x cut along an axis into parts of the given sizes, or of equal ones.  dx = the dys side by side. */
#include "ops/shape/split.h"

#include "graph/dims.h"
#include "kernels/strided.h"
#include "graph/second_output.h"
#include "graph/upgrade.h"

typedef struct SplitParams {
  int axis;
  Dim sizes[]; /* size of each output along the axis */
} SplitParams;

/* Equal parts; since opset 18 the last may be smaller. */
static Status equal_sizes(const Node *n, Dim whole, Dim *sizes) {
  int64_t parts = n->out_count;
  if (n->version >= 18 && node_int(n, "num_outputs", parts) != parts)
    return node_invalid(n, "num_outputs is %lld, it has %d outputs", (long long)node_int(n, "num_outputs", parts),
                        n->out_count);
  Dim size, rest = whole;
  if (n->version >= 18 && dim_is_number(whole)) size = whole / parts + (whole % parts != 0);
  else if (!dims_divide(n->graph, &whole, 1, &parts, 1, &size))
    return node_invalid(n, "%lld cannot be cut into %d equal parts", (long long)whole, n->out_count);
  for (int i = 0; i < n->out_count; i++) {
    sizes[i] = dim_is_number(whole) && size > rest ? rest : size;
    if (dim_is_number(whole)) rest -= sizes[i];
  }
  return STATUS_OK;
}

static Status split_sizes(const Node *n, Dim whole, Dim *sizes) {
  const Dim *given = NULL;
  int count = 0;
  Dim sum = 0;
  if (has_in(n, 1)) TRY(dims_known(n, 1, &given, &count));
  if (!given && !count) return equal_sizes(n, whole, sizes);
  if (count != n->out_count) return node_invalid(n, "split has %d sizes, it has %d outputs", count, n->out_count);
  bool numbers = given && dim_is_number(whole);
  for (int i = 0; i < count; i++) {
    sizes[i] = given ? given[i] : graph_fresh_dim(n->graph);
    if (sizes[i] < 0 && !dim_is_symbol(sizes[i]))
      return node_invalid(n, "part %d has the size %lld", i, (long long)sizes[i]);
    if (dim_is_symbol(sizes[i])) numbers = false;
    else if (__builtin_add_overflow(sum, sizes[i], &sum)) return node_invalid(n, "the sizes are too large");
  }
  if (numbers && sum != whole)
    return node_invalid(n, "the sizes add up to %lld, the axis has %lld", (long long)sum, (long long)whole);
  return STATUS_OK;
}

Status split_infer(Node *n) {
  const Value *x = n->in[0];
  SplitParams *p = node_params(n, sizeof *p + (size_t)n->out_count * sizeof(Dim));
  if (!p) return STATUS_OUT_OF_MEMORY;
  TRY(node_axis(n, node_int(n, "axis", 0), x->shape.rank, &p->axis));
  if (!n->out_count) return node_invalid(n, "it has no outputs");
  TRY(split_sizes(n, x->shape.dim[p->axis], p->sizes));
  int64_t at = 0;
  for (int i = 0; i < n->out_count; i++) {
    Shape y = x->shape;
    y.dim[p->axis] = p->sizes[i];
    TRY(node_output(n, i, x->type, &y));
    bool known = x->known && y.rank == 1 && at >= 0 && dim_is_number(p->sizes[i]);
    if (known) node_output_known(n, i, x->known + at, (int)p->sizes[i]);
    at = known ? at + p->sizes[i] : -1;
  }
  return STATUS_OK;
}

void split_run(const Node *n) {
  const SplitParams *p = n->params;
  const Shape *x = &n->in[0]->shape;
  size_t item = dtype_bytes(n->in[0]->type), outer = shape_span(x, 0, p->axis);
  size_t row = shape_span(x, p->axis, x->rank), inner = shape_span(x, p->axis + 1, x->rank);
  const char *at = n->in[0]->data;
  for (int i = 0; i < n->out_count; i++) {
    size_t part = (size_t)p->sizes[i] * inner;
    Strided s = {2, {{outer, (ptrdiff_t)part, (ptrdiff_t)row}, {part, 1, 1}}};
    if (n->out[i]) strided_copy(n->out[i]->data, at, s, item);
    at += part * item;
  }
}

/* dx = Concat(dy…), zeros for an output from which no gradient comes. */
Status split_grad(Grad *g) {
  const Node *n = g->node;
  const SplitParams *p = n->params;
  Value **parts = ARENA_ARRAY(g->graph->arena, Value *, n->out_count);
  if (!parts) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < n->out_count; i++) {
    if (!n->out[i]) TRY(output_want(g->node, i, "unread"));
    parts[i] = g->dy[i] ? g->dy[i] : emit(g->graph, "ConstantOfShape", emit_shape(g->graph, n->out[i]));
  }
  g->dx[0] = emit_first(g->graph, "Concat", ATTRS(attr_of_int("axis", p->axis)), parts, n->out_count);
  if (g->dx[0] && !shape_equal(&g->dx[0]->shape, &n->in[0]->shape)) /* the same dims under x's names */
    g->dx[0] = emit(g->graph, "Reshape", g->dx[0], emit_shape(g->graph, n->in[0]));
  return STATUS_OK;
}

static Status split_upgrade(Upgrade *u) { return upgrade_move(u, "split", 1, 13), STATUS_OK; }

OPERATOR(split) = {
    .name = "Split",
    .since = {1, 2, 11, 13, 18},
    .inputs = {1, 2},
    .outputs = {1, -1},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .infer = split_infer,
    .run = split_run,
    .grad = GRADIENT(split_grad),
    .upgrade = split_upgrade,
    .cases = CASES({"f32[2,6]", "axis=1", 13, 3}, {"f32[6,2] i64[2]=2,4", NULL, 13, 2},
                   {"f32[2,3,2] i64[3]=1,0,2", "axis=-2", 13, 3}, {"f32[2,6]", "axis=1 split=[1,5]", 11, 2},
                   {"f32[4,2]", NULL, 2, 2}, {"f32[7,2]", "num_outputs=3", 18, 3},
                   {"i64[4]=1,2,3,4 i64[2]=1,3", NULL, 13, 2}),
};
