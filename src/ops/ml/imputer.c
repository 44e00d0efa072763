/* Imputer: numbers equal to replaced_value (NaN: those that are NaN) are replaced, by one number or by one for each
 * feature. */
#include <math.h>

#include "graph/strings.h"
#include "graph/expansion.h"

/* The numbers that take the places, as x has its features. */
static Value *imputed(Expansion *c, bool floats, const Attr *values) {
  const Node *n = c->node;
  const Shape *x = &n->in[0]->shape;
  Dim features = x->dim[x->rank - 1];
  if (values->count != 1 && dim_is_number(features) && values->count != features)
    return node_invalid(n, "%s has %d numbers, '%.64s' has %lld features", values->name, values->count, n->in[0]->name,
                        (long long)features),
           NULL;
  Shape shape = values->count == 1 ? (Shape){0} : SHAPE(values->count);
  Value *v = strings_constant(c, floats ? DTYPE_FLOAT32 : DTYPE_INT64, &shape,
                              floats ? (const void *)values->floats : values->ints);
  return v ? expand_cast(c, v, n->in[0]->type) : NULL;
}

static Value *is_replaced(Expansion *c, bool floats) {
  Value *x = c->node->in[0];
  float replaced = node_float(c->node, "replaced_value_float", 0);
  if (floats && isnan(replaced)) return emit(c->graph, "IsNaN", x);
  Value *v = floats ? emit_float(c->graph, replaced) : emit_int(c->graph, node_int(c->node, "replaced_value_int64", 0));
  return emit(c->graph, "Equal", x, v ? expand_cast(c, v, x->type) : NULL);
}

static Status imputer_expand(Expansion *c) {
  const Node *n = c->node;
  TRY(node_want_rank(n, 0, 1, RANK_MAX));
  bool floats = dtype_is_float(n->in[0]->type);
  const Attr *values = floats ? node_attr(n, "imputed_value_floats", ATTR_FLOATS)
                              : node_attr(n, "imputed_value_int64s", ATTR_INTS);
  if (!values || !values->count)
    return node_invalid(n, "it has no %s for an input of %s", floats ? "imputed_value_floats" : "imputed_value_int64s",
                        dtype_name(n->in[0]->type));
  Value *by = imputed(c, floats, values);
  return by ? expand_done(c, emit(c->graph, "Where", is_replaced(c, floats), by, n->in[0])) : c->graph->error->status;
}

OPERATOR(imputer) = {
    .name = "Imputer",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE,
    .expand = imputer_expand,
    .cases = CASES({"v:f32[2,3]=1,7,3,7,5,6", "imputed_value_floats=[10.0,20.0,30.0] replaced_value_float=7.0",
                    .no_grad = "a difference makes a replaced number another one"},
                   {"f32[2,3]", "imputed_value_floats=[10.0] replaced_value_float=7.0"},
                   {"v:i64[2,2]=1,7,3,7", "imputed_value_int64s=[10] replaced_value_int64=7"},
                   {"v:i32[2,2]=1,7,3,7", "imputed_value_int64s=[10,-3] replaced_value_int64=7"}),
};
