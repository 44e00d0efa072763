/* Parts that the batch normalizations share: checks, and the channels of x. */
#pragma once
#include "kernels/channel.h"
#include "graph/op.h"
#include "threads.h"

/* Input `x` has a channel in dim 1; inputs first…last are vectors of one number a channel. Gives that vector's shape.
 */
Status batch_norm_check(const Node *n, int x, int first, int last, Shape *channels);

/* True if a BatchNormalization uses the statistics of its batch: by training_mode from opset 14 on, before that if it
 * has more outputs than Y. */
bool batch_norm_trains(const Node *n);

/* Refuses an empty batch: it has no statistics. */
Status batch_norm_check_batch(const Node *n);

static inline Channel batch_norm_channel(const Shape *x) {
  size_t pixels = shape_span(x, 2, x->rank);
  return (Channel){.batch = (size_t)x->dim[0], .stride = (size_t)x->dim[1] * pixels, .pixels = pixels};
}

/* Does all channels of input x. */
static inline void batch_norm_channels(const Node *n, int x, ThreadsRange *task, void *context) {
  const Shape *s = &n->in[x]->shape;
  threads_split((size_t)s->dim[1], threads_grain((size_t)s->dim[0] * shape_span(s, 2, s->rank)), task, context);
}

/* Training: y by the batch's own statistics; running statistics are moved towards them. NULL where not wanted.
 *   running = running · momentum + batch · (1 - momentum), the variance over n as in ONNX (PyTorch takes n - 1) */
typedef struct BatchNormOutputs {
  float *y, *running_mean, *running_var, *saved_mean, *saved_inv_std;
} BatchNormOutputs;
void batch_norm_train(const Node *n, const BatchNormOutputs *out);
