/* Quantization: which scale belongs to which element of x. */
#include "ops/quantize/quantization.h"

#include "graph/dims.h"

static bool is_one(const Shape *scale) { return scale->rank == 0 || (scale->rank == 1 && scale->dim[0] == 1); }

static Status check_scale(const Node *n, const Shape *scale, int axis, int64_t block) {
  const Shape *x = &n->in[0]->shape;
  char tx[SHAPE_TEXT], ts[SHAPE_TEXT];
  bool fits = block ? scale->rank == x->rank : scale->rank == 1 && dims_meet(scale->dim[0], x->dim[axis]);
  for (int i = 0; block && fits && i < x->rank; i++) {
    bool counts = i == axis && dim_is_number(x->dim[i]) && dim_is_number(scale->dim[i]);
    fits = counts ? scale->dim[i] == (x->dim[i] + block - 1) / block : i == axis || dims_meet(scale->dim[i], x->dim[i]);
  }
  if (fits) return STATUS_OK;
  return node_invalid(n, "a scale of %s does not go with x of %s along axis %d", shape_print(scale, ts),
                      shape_print(x, tx), axis);
}

Status quantization_infer(Node *n) {
  const Shape *x = &n->in[0]->shape, *scale = &n->in[1]->shape;
  int64_t block = node_int(n, "block_size", 0);
  int axis = 0;
  TRY(node_want_float(n, 1));
  if (has_in(n, 2) && !dims_alike(&n->in[2]->shape, scale) && !(is_one(&n->in[2]->shape) && is_one(scale)))
    return node_invalid(n, "the zero point must have the shape of the scale");
  if (block < 0) return node_invalid(n, "block_size is %lld", (long long)block);
  if (!is_one(scale) || block) {
    TRY(node_axis(n, node_int(n, "axis", 1), x->rank, &axis));
    TRY(check_scale(n, scale, axis, block));
  }
  if (!node_is_concrete(n)) return STATUS_OK;
  Quantization *q = NODE_PARAMS(n, Quantization);
  if (!q) return STATUS_OUT_OF_MEMORY;
  bool all = is_one(scale) && !block;
  *q = (Quantization){.outer = all ? 1 : shape_span(x, 0, axis),
                      .axis = all ? 1 : (size_t)x->dim[axis],
                      .inner = all ? shape_elements(x) : shape_span(x, axis + 1, x->rank),
                      .block = block ? (size_t)block : 1,
                      .by_element = block != 0};
  return STATUS_OK;
}

void quantization_each(const Node *n, QuantizationRow *row) {
  const Quantization *q = n->params;
  size_t blocks = (q->axis + q->block - 1) / q->block;
  if (q->inner == 0) return;
  for (size_t o = 0; o < q->outer; o++) {
    if (q->inner == 1 && !q->by_element) {
      row(n, o * q->axis, 0, 1, q->axis);
      continue;
    }
    for (size_t a = 0; a < q->axis; a += q->inner == 1 ? q->block : 1) {
      size_t scale_at = q->by_element ? (o * blocks + a / q->block) * q->inner : a, left = q->axis - a;
      if (q->inner == 1) row(n, o * q->axis + a, scale_at, 0, left < q->block ? left : q->block);
      else row(n, (o * q->axis + a) * q->inner, scale_at, q->by_element, q->inner);
    }
  }
}

Value *quantization_along(Graph *g, const Node *n, Value *v) {
  int axis, rank = n->in[0]->shape.rank;
  if (!v || is_one(&v->shape)) return v;
  if (node_int(n, "block_size", 0) || node_axis(n, node_int(n, "axis", 1), rank, &axis) != STATUS_OK) return NULL;
  int64_t dims[RANK_MAX] = {-1};
  for (int i = 1; i < rank - axis; i++) dims[i] = 1;
  return emit(g, "Reshape", v, emit_ints(g, dims, rank - axis));
}

static bool is_other_float(const Value *v) {
  return v && (v->type == DTYPE_FLOAT16 || v->type == DTYPE_BFLOAT16 || v->type == DTYPE_FLOAT64);
}

bool quantization_expands(const Added *a) {
  return a->in_count > 1 && (is_other_float(a->in[0]) || is_other_float(a->in[1]));
}

Status quantization_expand(Expansion *c) {
  const Node *n = c->node;
  bool from = is_other_float(n->in[0]); /* it quantizes; else it gives numbers of the scale's type */
  Value *in[3] = {from ? expand_cast(c, n->in[0], DTYPE_FLOAT32) : n->in[0], expand_cast(c, n->in[1], DTYPE_FLOAT32),
                  expand_in(c, 2)};
  Node *y = emit_node(c->graph, n->op->name, (AttrList){n->attrs, n->attr_count}, in, in[2] ? 3 : 2, 1, NULL);
  if (!y) return c->graph->error->status;
  return expand_done(c, y->out[0]->type == DTYPE_FLOAT32 ? expand_cast(c, y->out[0], n->in[1]->type) : y->out[0]);
}
