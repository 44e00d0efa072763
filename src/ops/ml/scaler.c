/* Scaler: y = (x - offset) · scale, both one number or one for each feature. */
#include "graph/expansion.h"

static Value *numbers(Expansion *c, const Attr *a) {
  Shape shape = SHAPE(a->count);
  return a->count == 1 ? emit_float(c->graph, a->floats[0]) : emit_floats(c->graph, a->floats, &shape);
}

static Status check(const Node *n, const char *name, const Attr **out) {
  const Shape *x = &n->in[0]->shape;
  *out = node_attr(n, name, ATTR_FLOATS);
  if (!*out || !(*out)->count) return node_invalid(n, "its attribute '%s' must be there", name);
  Dim features = x->dim[x->rank - 1];
  if ((*out)->count == 1 || dim_is_symbol(features) || (*out)->count == features) return STATUS_OK;
  return node_invalid(n, "%s has %d numbers, '%.64s' has %lld features", name, (*out)->count, n->in[0]->name,
                      (long long)features);
}

static Status scaler_expand(Expansion *c) {
  const Attr *offset, *scale;
  TRY(node_want_rank(c->node, 0, 1, RANK_MAX));
  TRY(check(c->node, "offset", &offset));
  TRY(check(c->node, "scale", &scale));
  Value *x = expand_cast(c, c->node->in[0], DTYPE_FLOAT32);
  return expand_done(c, emit(c->graph, "Mul", emit(c->graph, "Sub", x, numbers(c, offset)), numbers(c, scale)));
}

OPERATOR(scaler) = {
    .name = "Scaler",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE,
    .expand = scaler_expand,
    .cases = CASES({"f32[3,2]", "offset=[0.5,-2.0] scale=[3.0,0.25]"}, {"i64[3,2]", "offset=[0.5] scale=[3.0]"}),
};
