/* ConvInteger: y = Conv(x - x_zero_point, w - w_zero_point) in int32. */
#include <string.h>

#include "ops/quantize/integer_product.h"

static Value *slice(Expansion *c, Value *x, int64_t axis, int64_t from, int64_t count) {
  Graph *g = c->graph;
  return emit(g, "Slice", x, emit_ints(g, &from, 1), emit_ints(g, (int64_t[]){from + count}, 1),
              emit_ints(g, &axis, 1));
}

static AttrList attrs_without_group(Expansion *c) {
  const Node *n = c->node;
  Attr *kept = ARENA_ARRAY(c->graph->arena, Attr, n->attr_count);
  int count = 0;
  for (int i = 0; kept && i < n->attr_count; i++)
    if (strcmp(n->attrs[i].name, "group") != 0) kept[count++] = n->attrs[i];
  return (AttrList){kept, count};
}

/* Takes kernels of any size: copies each of b's once for each of its exact parts, with zeros in place of the others, so
 * that (M, C, k…) becomes (M · parts, C, k…). */
static Status expand_free(Expansion *c, Value *a, Value *b) {
  Graph *g = c->graph;
  AttrList attrs = {c->node->attrs, c->node->attr_count};
  int rank = c->node->in[1]->shape.rank;
  Value *flat = emit(g, "Reshape", b, emit_ints(g, (int64_t[]){0, 1, -1}, 3));
  if (!flat) return g->error->status;
  Size kernel[RANK_MAX] = {SIZE_NUMBER(-1)}, sum[RANK_MAX] = {SIZE_NUMBER(0), SIZE_DIM(b, 0), SIZE_NUMBER(-1)};
  Value *count = expand_dim(c, flat, 2, false), *exact = emit_int(g, EXACT_PRODUCTS),
        *parts = emit(g, "Div", emit(g, "Add", count, emit_int(g, EXACT_PRODUCTS - 1)), exact),
        *column = emit(g, "Reshape", expand_range(c, parts), emit_ints(g, (int64_t[]){-1, 1}, 2)),
        *own = emit(g, "Equal", emit(g, "Div", expand_range(c, count), exact), column);
  for (int i = 1; i < rank; i++) kernel[i] = SIZE_DIM(b, i);
  b = expand_reshape(c, emit(g, "Mul", flat, expand_cast(c, own, DTYPE_FLOAT32)), kernel, rank);
  Value *y = expand_cast(c, emit_with(g, "Conv", attrs, a, b), DTYPE_INT32);
  for (int i = 2; i < rank; i++) sum[i + 1] = SIZE_DIM(y, i);
  return expand_done(c, expand_reduce(c, "ReduceSum", expand_reshape(c, y, sum, rank + 1), (int64_t[]){2}, 1, false));
}

static Status conv_integer_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Node *n = c->node;
  const Shape *w = expand_shape(c, 1);
  int64_t groups = node_int(n, "group", 1);
  TRY(node_want_rank(n, 1, 3, RANK_MAX));
  if (groups < 1 || !dim_divides(w->dim[0], groups))
    return node_invalid(n, "group %lld does not divide the %lld features", (long long)groups, (long long)w->dim[0]);
  Value *a = integer_centered(c, x, expand_in(c, 2), DTYPE_FLOAT32, 0),
        *b = integer_centered(c, n->in[1], expand_in(c, 3), DTYPE_FLOAT32, w->rank - 1), *all = NULL;
  for (int i = 0; i < w->rank; i++)
    if (!dim_is_number(w->dim[i])) return g->deferral.tries ? node_want_number(n, 1, i) : expand_free(c, a, b);
  int64_t step = EXACT_PRODUCTS / (int64_t)(shape_span(w, 2, w->rank) ? shape_span(w, 2, w->rank) : 1),
          features = w->dim[0] / groups;
  if (step < 1) return expand_free(c, a, b);
  for (int64_t k = 0; k < groups; k++) {
    Value *of_group = slice(c, b, 0, k * features, features), *y = NULL;
    for (int64_t at = 0; at == 0 || at < w->dim[1]; at += step) {
      int64_t count = w->dim[1] - at < step ? w->dim[1] - at : step;
      Value *product = emit_with(g, "Conv", attrs_without_group(c), slice(c, a, 1, k * w->dim[1] + at, count),
                                 slice(c, of_group, 1, at, count));
      product = expand_cast(c, product, DTYPE_INT32);
      y = y ? emit(g, "Add", y, product) : product;
    }
    all = all ? emit_with(g, "Concat", ATTRS(attr_of_int("axis", 1)), all, y) : y;
  }
  return expand_done(c, all);
}

OPERATOR(conv_integer) = {
    .name = "ConvInteger",
    .since = {10},
    .inputs = {2, 4},
    .flags = OP_ANY_TYPE,
    .expand = conv_integer_expand,
    .cases = CASES({"u8[1,2,4,4]:0..255 u8[3,2,2,2]:0..255 u8[]=12 u8[]=3", .no_grad = "ints"},
                   {"u8[1,4,5]:0..255 i8[2,2,3]:-128..127", "group=2 pads=[1,1]", .no_grad = "ints"},
                   {"u8[1,4,141]:0..255 i8[4,2,140]:-128..127 u8[]=250 i8[4]=-128,0,1,127", "group=2",
                    .no_grad = "ints"},
                   {"u8[1,1,17,17]:250..255 u8[2,1,17,17]:250..255", "pads=[0,1,0,0]", .no_grad = "ints"}),
};
