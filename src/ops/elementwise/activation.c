/* Activation: the two numbers that its name stands for. */
#include "ops/elementwise/activation.h"

#include <math.h>
#include <string.h>

Status activation_read(const Node *n, float first, float second, Activation *activation) {
  const char *name = node_string(n, "activation", "");
  *activation = (Activation){0, INFINITY};
  if (strcmp(name, "Relu") == 0) return STATUS_OK;
  *activation = (Activation){first, second};
  if (strcmp(name, "Clip") == 0) return STATUS_OK;
  return node_fail(n, STATUS_UNSUPPORTED_OP, "activation is '%.40s', Relu and Clip are those we have", name);
}

Value *activation_expand(Expansion *c, Value *x, const float *numbers, int count) {
  static const char *const known[] = {"Relu", "Sigmoid",         "Tanh",       "Softplus", "Softsign", "LeakyRelu",
                                      "Elu",  "ThresholdedRelu", "HardSigmoid"};
  const char *name = node_string(c->node, "activation", "");
  const Attr attrs[] = {attr_of_float("alpha", count > 0 ? numbers[0] : 0),
                        attr_of_float("beta", count > 1 ? numbers[1] : 0)};
  bool by_input = graph_opset(c->graph, "") >= 11;
  if (strcmp(name, "Clip") == 0 && count == 2 && by_input)
    return emit(c->graph, "Clip", x, emit_float(c->graph, numbers[0]), emit_float(c->graph, numbers[1]));
  for (int i = 0; i < 9; i++) {
    int takes = i < 5 ? 0 : i < 8 ? 1 : 2;
    if (strcmp(name, known[i]) == 0)
      return emit_with(c->graph, name, ((AttrList){attrs, takes < count ? takes : count}), x);
  }
  node_fail(c->node, STATUS_UNSUPPORTED_OP, "activation is '%.40s', which we lack", name);
  return NULL;
}

AttrList activation_less(const Expansion *c) {
  AttrList list = {.items = ARENA_ARRAY(c->graph->arena, Attr, c->node->attr_count)};
  for (int i = 0; list.items && i < c->node->attr_count; i++)
    if (strncmp(c->node->attrs[i].name, "activation", 10) != 0) ((Attr *)list.items)[list.count++] = c->node->attrs[i];
  return list;
}
