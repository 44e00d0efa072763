/* Activation: its name and the loop. */
#include "ops/activation.h"

#include <math.h>
#include <string.h>

#include "kernels/vector_math.h"

Status activation_read(const Node *n, float first, float second, Activation *activation) {
  const char *name = node_string(n, "activation", "");
  *activation = (Activation){0, INFINITY};
  if (strcmp(name, "Relu") == 0) return STATUS_OK;
  *activation = (Activation){first, second};
  if (strcmp(name, "Clip") == 0) return STATUS_OK;
  return node_fail(n, STATUS_UNSUPPORTED_OP, "activation is '%.40s', Relu and Clip are those we have", name);
}

void activation_run(const Activation *activation, float *y, size_t count) {
  f32x4 low = f32x4_splat(activation->low), high = f32x4_splat(activation->high);
  for (size_t i = 0; i < count; i += 4) {
    f32x4 v = f32x4_load_up_to(y + i, count - i);
    f32x4_store_up_to(y + i, f32x4_min(high, f32x4_max(low, v)), count - i);
  }
}
