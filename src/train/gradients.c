/* Gradients: backward from the loss, and accumulators. */
#include "train/gradients.h"

#include <string.h>

#include "graph/backward.h"
#include "ops/ops.h"

Status gradients_append(Graph *g, Value *loss, Value *const *wrt, int count, Value **grads) {
  float *one = ARENA_NEW(g->arena, float);
  if (!one) return error_memory(g->error, "for the gradient");
  *one = 1;
  const char *name = graph_fresh_name(g, arena_print(g->arena, "%s_grad", loss->name));
  Value *seed = name ? graph_constant(g, name, DTYPE_FLOAT32, &loss->shape, one) : NULL;
  return backward(g, loss, seed, wrt, count, grads);
}

const char *gradients_owner(const char *name, const char *tail, Arena *arena) {
  const char *found = NULL, *at = name;
  for (; (at = strstr(at, tail)); at++) found = at;
  const char *rest = found ? found + strlen(tail) : "?";
  if (*rest == '_') rest += 1 + strspn(rest + 1, "0123456789");
  return *rest ? NULL : arena_print(arena, "%.*s", (int)(found - name), name);
}

Node *gradients_accumulate(Graph *g, Value *parameter, Value *grad, Value *reset) {
  const char *buffer_name = graph_stable_name(g, arena_print(g->arena, "%s" GRADIENT_BUFFER, parameter->name));
  const char *out_name = graph_stable_name(g, arena_print(g->arena, "%s_grad.accumulation.out", parameter->name));
  if (!buffer_name || !out_name) return NULL;
  Value *buffer = graph_value(g, buffer_name, DTYPE_FLOAT32, &parameter->shape, VALUE_STATE);
  if (!buffer) return NULL;
  return graph_node(g, &op_in_place_accumulator_v2, out_name, (Value *[]){buffer, grad, reset}, 3, &out_name, 1, NULL,
                    0);
}
