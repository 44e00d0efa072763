/* ONNX's Gradient nodes: in a model that is run they become the ordinary nodes of a backward pass, in a training_info
 * they are only recorded. */
#include <string.h>

#include "onnx/parts.h"
#include "ops/optimizer/training_step.h"
#include "graph/backward.h"

enum {
  NODES_MAX = 1 << 16
}; /* a gradient of a gradient of a … grows with each level; no network needs that many nodes */

bool onnx_gradient_is(const Onnx__NodeProto *n) {
  return n->op_type && strcmp(n->op_type, "Gradient") == 0 && strcmp(onnx_domain(n->domain), TRAINING_DOMAIN) == 0;
}

static Status invalid(OnnxReader *r, const char *node, const char *sentence, const char *name) {
  return error_set(r->error, STATUS_INVALID_MODEL, node, sentence, node, name);
}

static const Attr *find_attr(const Attr *attrs, size_t count, const char *name, AttrKind kind) {
  for (size_t i = 0; i < count; i++)
    if (attrs[i].kind == kind && strcmp(attrs[i].name, name) == 0) return &attrs[i];
  return NULL;
}

/* Inputs are the values at which the gradient is taken: those of the run itself, under the names that xs and zs give.
 */
static Status check_inputs(OnnxReader *r, const Onnx__NodeProto *n, const char *node, const Attr *xs, const Attr *zs) {
  size_t count = (size_t)xs->count + (zs ? (size_t)zs->count : 0);
  if (n->n_input != count)
    return invalid(r, node, "Gradient '%.128s' must have one input for each of its xs and zs%s", "");
  for (size_t i = 0; i < count; i++) {
    const char *name = i < (size_t)xs->count ? xs->strings[i] : zs->strings[i - (size_t)xs->count];
    if (strcmp(n->input[i], name) != 0)
      return error_set(r->error, STATUS_UNSUPPORTED_OP, node,
                       "Gradient '%.128s' takes '%.64s' at the value of '%.64s'; we differentiate at the values of the "
                       "run, where both are one",
                       node, name, n->input[i]);
  }
  return STATUS_OK;
}

static Status find_float(OnnxReader *r, const char *node, const char *name, Value **out) {
  *out = graph_find(r->graph, name);
  if (!*out) return invalid(r, node, "Gradient '%.128s' names '%.128s', which nothing before it makes", name);
  return (*out)->type == DTYPE_FLOAT32 ? STATUS_OK
                                       : invalid(r, node, "Gradient '%.128s': '%.128s' is not float32", name);
}

static Status gradient_of(OnnxReader *r, const Onnx__NodeProto *n, OnnxGradient *out) {
  const char *node = onnx_node_title(n);
  Attr *attrs;
  TRY(onnx_attrs_read(n, r->arena, r->error, &attrs));
  const Attr *xs = find_attr(attrs, n->n_attribute, "xs", ATTR_STRINGS),
             *zs = find_attr(attrs, n->n_attribute, "zs", ATTR_STRINGS);
  const Attr *y = find_attr(attrs, n->n_attribute, "y", ATTR_STRING);
  if (!xs || !y || !xs->count) return invalid(r, node, "Gradient '%.128s' must have the attributes xs and y%s", "");
  if (n->n_output > (size_t)xs->count) return invalid(r, node, "Gradient '%.128s' has more outputs than xs%s", "");
  TRY(check_inputs(r, n, node, xs, zs));
  *out = (OnnxGradient){.node = node,
                        .xs = ARENA_ARRAY(r->arena, Value *, xs->count),
                        .outs = ARENA_ARRAY(r->arena, Value *, xs->count),
                        .count = xs->count};
  if (!out->xs || !out->outs)
    return error_set(r->error, STATUS_OUT_OF_MEMORY, node, "out of memory for Gradient '%.128s'", node);
  TRY(find_float(r, node, y->s, &out->y));
  for (int i = 0; i < xs->count; i++) TRY(find_float(r, node, xs->strings[i], &out->xs[i]));
  return STATUS_OK;
}

static const char *output_name(const Onnx__NodeProto *n, int i) { return (size_t)i < n->n_output ? n->output[i] : ""; }

static Status note(OnnxReader *r, const Onnx__NodeProto *n, OnnxGradient gradient) {
  OnnxTraining *t = r->training;
  for (int i = 0; i < gradient.count; i++) {
    const char *name = output_name(n, i);
    if (*name && !(gradient.outs[i] = graph_value(r->graph, name, DTYPE_FLOAT32, &gradient.xs[i]->shape, VALUE_INPUT)))
      return r->error->status;
  }
  t->gradients = arena_list_grow(r->arena, t->gradients, t->gradient_count, &t->gradient_capacity,
                                 sizeof *t->gradients);
  if (!t->gradients) return t->gradient_count = 0, error_memory(r->error, "for the algorithm");
  t->gradients[t->gradient_count++] = gradient;
  return STATUS_OK;
}

/* `x` everywhere in a tensor of the shape of `like`. */
static Value *emit_filled(Graph *g, float x, Value *like) {
  return like->shape.rank ? emit(g, "Expand", emit_float(g, x), emit_shape(g, like)) : emit_float(g, x);
}

static Status expand(OnnxReader *r, const Onnx__NodeProto *n, OnnxGradient gradient) {
  Graph *g = r->graph;
  if (g->node_count > NODES_MAX)
    return error_set(r->error, STATUS_UNSUPPORTED_OP, gradient.node,
                     "Gradient '%.128s' is taken of a graph of more than %d nodes", gradient.node, NODES_MAX);
  TRY(backward(g, gradient.y, emit_filled(g, 1, gradient.y), gradient.xs, gradient.count, gradient.outs));
  for (int i = 0; i < gradient.count; i++) {
    const char *name = output_name(n, i);
    Value *dx = gradient.outs[i] ? gradient.outs[i] : emit_filled(g, 0, gradient.xs[i]);
    if (!*name) continue;
    if (!dx || !graph_node(g, op_find("Identity"), NULL, &dx, 1, &name, 1, NULL, 0))
      return error_set(r->error, STATUS_OUT_OF_MEMORY, gradient.node, "out of memory for Gradient '%.128s'",
                       gradient.node);
  }
  return STATUS_OK;
}

Status onnx_gradient_read(OnnxReader *r, const Onnx__NodeProto *n) {
  OnnxGradient gradient;
  TRY(gradient_of(r, n, &gradient));
  return r->training ? note(r, n, gradient) : expand(r, n, gradient);
}
