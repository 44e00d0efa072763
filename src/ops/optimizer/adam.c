/* Adam (ai.onnx.preview.training): one step of Adam with ε beside the raw root, as ONNX defines it.
 *   g += norm_coefficient·x;  v = α·v + (1−α)·g;  h = β·h + (1−β)·g²
 *   x −= R·√(1−βᵀ)/(1−αᵀ) · v / (√h + ε);  x *= 1 − norm_coefficient_post         (T = 0: R itself) */
#include <math.h>

#include "kernels/power.h"
#include "ops/optimizer/training_step.h"

typedef struct AdamParams {
  float alpha, beta, epsilon, before, after;
} AdamParams;

static Status adam_infer(Node *n) {
  AdamParams *p = NODE_PARAMS(n, AdamParams);
  if (!p) return STATUS_OUT_OF_MEMORY;
  *p = (AdamParams){node_float(n, "alpha", 0.9f), node_float(n, "beta", 0.999f), node_float(n, "epsilon", 1e-6f),
                    node_float(n, "norm_coefficient", 0), node_float(n, "norm_coefficient_post", 0)};
  return training_step_infer(n, 2);
}

static void adam_step(const AdamParams *p, float rate, TrainingStep s) {
  for (size_t i = 0; i < s.count; i++) {
    float g = s.g[i] + p->before * s.x[i];
    float v = p->alpha * s.state[0][i] + (1 - p->alpha) * g;
    float h = p->beta * s.state[1][i] + (1 - p->beta) * g * g;
    float x = s.x[i] - rate * v / (sqrtf(h) + p->epsilon);
    training_step_store(s.new_x, i, (1 - p->after) * x);
    training_step_store(s.new_state[0], i, v);
    training_step_store(s.new_state[1], i, h);
  }
}

static void adam_run(const Node *n) {
  const AdamParams *p = n->params;
  int64_t t = training_step_count(n);
  double correction = t > 0 ? sqrt(1 - power_of(p->beta, t)) / (1 - power_of(p->alpha, t)) : 1;
  for (int i = 0; i < training_step_tensors(n, 2); i++)
    adam_step(p, (float)(training_step_rate(n) * correction), training_step_at(n, 2, i));
}

OPERATOR(adam) = {
    .name = "Adam",
    .domain = TRAINING_DOMAIN,
    .since = {1},
    .inputs = {3, -1},
    .outputs = {1, -1},
    .infer = adam_infer,
    .run = adam_run,
    .cases = CASES({"f32[] v:i64[]=3 f32[5] f32[5] f32[5] f32[5]:0.1..2",
                    "norm_coefficient=0.01 norm_coefficient_post=0.1", 0, 3},
                   {"f32[1] v:i64[]=0 f32[2,3] f32[4] f32[2,3] f32[4] f32[2,3] f32[4] f32[2,3]:0.1..2 f32[4]:0.1..2",
                    "alpha=0.8 beta=0.9 epsilon=0.01", 0, 6}),
};
