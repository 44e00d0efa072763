/* Adagrad (ai.onnx.preview.training): g += norm_coefficient·x;  h += g²;  x −= R/(1 + T·decay_factor) · g / (√h + ε).
 */
#include <math.h>

#include "ops/optimizer/training_step.h"

typedef struct AdagradParams {
  float decay, epsilon, norm;
} AdagradParams;

static Status adagrad_infer(Node *n) {
  AdagradParams *p = NODE_PARAMS(n, AdagradParams);
  if (!p) return STATUS_OUT_OF_MEMORY;
  *p = (AdagradParams){node_float(n, "decay_factor", 0), node_float(n, "epsilon", 1e-6f),
                       node_float(n, "norm_coefficient", 0)};
  return training_step_infer(n, 1);
}

static void adagrad_step(const AdagradParams *p, float rate, TrainingStep s) {
  for (size_t i = 0; i < s.count; i++) {
    float g = s.g[i] + p->norm * s.x[i], h = s.state[0][i] + g * g;
    training_step_store(s.new_x, i, s.x[i] - rate * g / (sqrtf(h) + p->epsilon));
    training_step_store(s.new_state[0], i, h);
  }
}

static void adagrad_run(const Node *n) {
  const AdagradParams *p = n->params;
  double rate = training_step_rate(n) / (1 + (double)training_step_count(n) * p->decay);
  for (int i = 0; i < training_step_tensors(n, 1); i++) adagrad_step(p, (float)rate, training_step_at(n, 1, i));
}

OPERATOR(adagrad) = {
    .name = "Adagrad",
    .domain = TRAINING_DOMAIN,
    .since = {1},
    .inputs = {3, -1},
    .outputs = {1, -1},
    .infer = adagrad_infer,
    .run = adagrad_run,
    .cases = CASES({"f32[] v:i64[]=3 f32[2,3] f32[2,3] f32[2,3]:0.1..2",
                    "decay_factor=0.1 norm_coefficient=0.01 epsilon=0.001", 0, 2},
                   {"f32[1] v:i64[1]=0 f32[2] f32[3] f32[2] f32[3] f32[2]:0.1..2 f32[3]:0.1..2", NULL, 0, 4}),
};
