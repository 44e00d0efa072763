/* Training info: what ONNX's training_info asks for, in our terms: the loss, what trains, the optimizer and its state.
 *
 *   model ∪ algorithm ─▶ Gradient(xs, y) ─▶ Adam | Momentum | Adagrad | Sub(x, Mul(lr, g)) ─▶ update_binding
 *   update_binding: x ← new x, v ← new v, T ← T + 1
 */
#pragma once
#include "onnx/onnx.h"
#include "train/optimizer.h"

typedef struct TrainedParameter {
  Value *value, *gradient; /* in the algorithm's graph */
  Value *moment[2];        /* initializers there; NULL where the optimizer keeps none */
} TrainedParameter;

typedef struct TrainingInfo {
  Graph *model; /* the inference model and the loss; its outputs are the model's own */
  Value *loss;  /* in model */
  TrainedParameter *parameters;
  int parameter_count;
  Optimizer optimizer;
  int64_t steps; /* updates done before */
} TrainingInfo;

/* Understands t, or says in one sentence which node it does not understand and what would be understood. `initialize`:
 * the initializers first take what the initialization computes. `own_optimizer`: the caller has an optimizer, so only
 * the loss and the parameters are looked for. */
Status training_info_read(const OnnxTraining *t, bool initialize, bool own_optimizer, Arena *arena, Error *error,
                          TrainingInfo *out);
