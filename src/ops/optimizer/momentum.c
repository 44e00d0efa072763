/* Momentum (ai.onnx.preview.training): g += norm_coefficient·x;  v = α·v + β·g (β is 1 while T = 0);
 *   standard: x −= R·v;  nesterov: x −= R·(g + α·v). */
#include <string.h>

#include "ops/optimizer/training_step.h"

typedef struct MomentumParams {
  float alpha, beta, norm;
  bool nesterov;
} MomentumParams;

static Status momentum_infer(Node *n) {
  MomentumParams *p = NODE_PARAMS(n, MomentumParams);
  const char *mode = node_string(n, "mode", "");
  if (!p) return STATUS_OUT_OF_MEMORY;
  if (strcmp(mode, "standard") != 0 && strcmp(mode, "nesterov") != 0)
    return node_invalid(n, "mode must be 'standard' or 'nesterov', not '%.32s'", mode);
  if (!node_attr(n, "alpha", ATTR_FLOAT) || !node_attr(n, "beta", ATTR_FLOAT))
    return node_invalid(n, "alpha and beta must be given");
  *p = (MomentumParams){node_float(n, "alpha", 0), node_float(n, "beta", 1), node_float(n, "norm_coefficient", 0),
                        strcmp(mode, "nesterov") == 0};
  return training_step_infer(n, 1);
}

static void momentum_step(const MomentumParams *p, float rate, float beta, TrainingStep s) {
  for (size_t i = 0; i < s.count; i++) {
    float g = s.g[i] + p->norm * s.x[i], v = p->alpha * s.state[0][i] + beta * g;
    training_step_store(s.new_x, i, s.x[i] - rate * (p->nesterov ? g + p->alpha * v : v));
    training_step_store(s.new_state[0], i, v);
  }
}

static void momentum_run(const Node *n) {
  const MomentumParams *p = n->params;
  float beta = training_step_count(n) > 0 ? p->beta : 1;
  for (int i = 0; i < training_step_tensors(n, 1); i++)
    momentum_step(p, training_step_rate(n), beta, training_step_at(n, 1, i));
}

OPERATOR(momentum) = {
    .name = "Momentum",
    .domain = TRAINING_DOMAIN,
    .since = {1},
    .inputs = {3, -1},
    .outputs = {1, -1},
    .infer = momentum_infer,
    .run = momentum_run,
    .cases = CASES(
        {"f32[] v:i64[]=0 f32[2,3] f32[2,3] f32[2,3]", "alpha=0.9 beta=0.5 norm_coefficient=0.01 mode=standard", 0, 2},
        {"f32[1] v:i64[1]=2 f32[2] f32[3] f32[2] f32[3] f32[2] f32[3]", "alpha=0.9 beta=0.5 mode=nesterov", 0, 4}),
};
