/* Activation: the two numbers that its name stands for. */
#include "ops/activation.h"

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
