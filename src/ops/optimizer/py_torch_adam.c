/* PyTorchAdam (com.trainlet): one step of PyTorch's Adam and AdamW. Their ε is added to the corrected root, for which
 * ONNX's Adam has no attribute.
 *   x *= 1 − R·weight_decay;  g += norm_coefficient·x;  v = α·v + (1−α)·g;  h = β·h + (1−β)·g²
 *   x −= R/(1−αᵀ) · v / (√h/√(1−βᵀ) + ε)
 * Exported models define it for other runtimes as a function of ONNX operators (onnx/functions.c). */
#include <math.h>

#include "kernels/power.h"
#include "ops/optimizer/training_step.h"

typedef struct PyTorchAdamParams {
  float alpha, beta, epsilon, coupled, decoupled;
} PyTorchAdamParams;

static Status py_torch_adam_infer(Node *n) {
  PyTorchAdamParams *p = NODE_PARAMS(n, PyTorchAdamParams);
  if (!p) return STATUS_OUT_OF_MEMORY;
  *p = (PyTorchAdamParams){node_float(n, "alpha", 0.9f), node_float(n, "beta", 0.999f), node_float(n, "epsilon", 1e-8f),
                           node_float(n, "norm_coefficient", 0), node_float(n, "weight_decay", 0)};
  return training_step_infer(n, 2);
}

static void py_torch_adam_run(const Node *n) {
  const PyTorchAdamParams *p = n->params;
  TrainingStep s = training_step_at(n, 2, 0);
  int64_t t = training_step_count(n);
  float rate = (float)(training_step_rate(n) / (1 - power_of(p->alpha, t))),
        spread = (float)(1 / sqrt(1 - power_of(p->beta, t)));
  for (size_t i = 0; i < s.count; i++) {
    float x = s.x[i] - training_step_rate(n) * p->decoupled * s.x[i], g = s.g[i] + p->coupled * x;
    float v = p->alpha * s.state[0][i] + (1 - p->alpha) * g;
    float h = p->beta * s.state[1][i] + (1 - p->beta) * g * g;
    training_step_store(s.new_x, i, x - rate * v / (sqrtf(h) * spread + p->epsilon));
    training_step_store(s.new_state[0], i, v);
    training_step_store(s.new_state[1], i, h);
  }
}

OPERATOR(py_torch_adam) = {
    .name = "PyTorchAdam",
    .domain = "com.trainlet",
    .since = {1},
    .inputs = {6, 6},
    .outputs = {1, 3},
    .flags = OP_OURS,
    .infer = py_torch_adam_infer,
    .run = py_torch_adam_run,
    .cases = CASES({"f32[] v:i64[]=3 f32[5] f32[5] f32[5] f32[5]:0.1..2",
                    "norm_coefficient=0.01 weight_decay=0.1 epsilon=0.001", 0, 3}),
};
