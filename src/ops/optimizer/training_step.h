/* Training step: what ai.onnx.preview.training's Adam, Adagrad and Momentum (and com.trainlet's PyTorchAdam) share, the
 * layout of their ports.
 *
 *   (R, T, X₁ … Xₙ, G₁ … Gₙ, state₁ … stateₙ, …) → (new X₁ … Xₙ, new state₁ … stateₙ, …)
 *     R: learning rate, T: update count; G: gradients of the tensors X; Adam has two sorts of state, the others one
 */
#pragma once
#include "graph/op.h"

#define TRAINING_DOMAIN "ai.onnx.preview.training"

/* Checks the ports and gives the outputs their shapes. */
Status training_step_infer(Node *n, int state_sorts);

static inline int training_step_tensors(const Node *n, int state_sorts) {
  return (n->in_count - 2) / (2 + state_sorts);
}
static inline float training_step_rate(const Node *n) { return *in_f32(n, 0); }
static inline int64_t training_step_count(const Node *n) { return *(const int64_t *)n->in[1]->data; }

/* One tensor that the node updates: what it reads and what it writes; NULL where an output is not wanted. */
typedef struct TrainingStep {
  const float *x, *g, *state[2];
  float *new_x, *new_state[2];
  size_t count;
} TrainingStep;
TrainingStep training_step_at(const Node *n, int state_sorts, int tensor);

static inline void training_step_store(float *to, size_t i, float value) {
  if (to) to[i] = value;
}
