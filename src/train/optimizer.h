/* Optimizer: SGD, Adam, AdamW and Adagrad over flat blocks of parameters, and the ONNX optimizer models that describe them. */
#pragma once
#include "arena.h"
#include "external.h"
#include "status.h"

typedef enum OptimizerKind {
  OPTIMIZER_NONE,
  OPTIMIZER_SGD,
  OPTIMIZER_ADAM,
  OPTIMIZER_ADAMW,
  OPTIMIZER_ADAM_HF,  /* ε beside the raw √v, as Hugging Face and ONNX's own Adam have it */
  OPTIMIZER_ADAMW_HF, /* the same with decoupled decay after the step (ONNX Runtime's adam_mode 1) */
  OPTIMIZER_ADAGRAD,
} OptimizerKind;

typedef struct Optimizer {
  OptimizerKind kind;
  float lr;           /* initial learning rate */
  float beta1, beta2, eps, weight_decay;
  float momentum, dampening; /* SGD */
  bool nesterov;
  float lr_decay; /* Adagrad */
  bool correct_bias;
  int first_step; /* T, the update count of the formulas, in the first update: 0 or 1 */
  float clip_norm; /* global L2 norm of all gradients together; 0 = no clipping */
} Optimizer;

/* PyTorch's defaults for the kind (lr 1e-3 for all). */
Optimizer optimizer_default(OptimizerKind kind);
const char *optimizer_name(OptimizerKind kind); /* "adamw" … */
int optimizer_moment_count(const Optimizer *o); /* 0, 1 or 2 blocks */
/* Σ g² in double; not finite when any g is not finite (or the sum overflows float). */
double optimizer_norm_squared(const float *g, size_t count);
/* clip coefficient min(max_norm / (norm + 1e-6), 1); 1 without clipping. */
float optimizer_clip_scale(const Optimizer *o, double norm_squared);
/* One update of `count` elements in place; `step` is T: updates done before + first_step; the gradient is scaled by `scale` on the fly.
 * m, v: the moments (NULL where the kind has none). */
void optimizer_update(const Optimizer *o, int64_t step, float lr, float scale, float *p, const float *g, float *m, float *v, size_t count);

/* The optimizer model (ONNX): com.microsoft AdamWOptimizer (adam_mode 0 or 1) or SGDOptimizerV2, with InplaceClipGradNorm before it
 * when clipping, laid out as ONNX Runtime's; ai.trainlet's for what ONNX Runtime lacks (Adagrad, momentum,
 * Nesterov, SGD weight decay, Adam with coupled weight decay, a T that counts from 0). The initial learning rate is
 * in the model's metadata, trainlet.learning_rate; 1e-3, ONNX Runtime's, where that is absent. */
Status optimizer_model_read(const uint8_t *bytes, size_t count, const External *external, Error *error, Optimizer *out);
bool optimizer_model_is_ours(const Optimizer *o); /* ONNX Runtime has no operator for it */
Status optimizer_model_write(const Optimizer *o, Error *error, Block *out, size_t *out_bytes);
