/* BatchNormalization: y = (x - mean) / √(var + ε) · scale + B for each channel, with given mean and var, or in training
 * with those of the batch; then it outputs the updated running statistics, and before opset 14 also the batch's mean
 * and 1 / √(var + ε), as in ONNX Runtime. The gradient is for given statistics:
 *
 *   dx = dy · a,  a = scale / √(var + ε);   dB = Σ dy;   dscale = Σ dy (x - mean) / √(var + ε);
 *   dmean = - Σ dx;   dvar = - dscale · scale / (2 (var + ε)) */
#include <math.h>
#include <string.h>

#include "ops/norm/batch_norm.h"

Status batch_norm_check(const Node *n, int x, int first, int last, Shape *channels) {
  TRY(node_want_float(n, x));
  TRY(node_want_rank(n, x, 2, RANK_MAX));
  Dim count = n->in[x]->shape.dim[1];
  *channels = SHAPE(count);
  for (int i = first; i <= last; i++) {
    TRY(node_want_float(n, i));
    TRY(node_want_rank(n, i, 1, 1));
    Dim came = n->in[i]->shape.dim[0];
    if (dim_is_number(count) && dim_is_number(came) && came != count)
      return node_invalid(n, "input %d has %lld numbers, X has %lld channels", i, (long long)came, (long long)count);
    if (dim_is_number(came)) channels->dim[0] = came;
  }
  return STATUS_OK;
}

Status batch_norm_check_batch(const Node *n) {
  size_t count;
  char text[SHAPE_TEXT];
  if (!shape_count(&n->in[0]->shape, &count) || count > 0) return STATUS_OK;
  return node_invalid(n, "X is %s: nothing to take the statistics of", shape_print(&n->in[0]->shape, text));
}

bool batch_norm_trains(const Node *n) {
  return n->version >= 14 ? node_int(n, "training_mode", 0) != 0 : n->out_count > 1;
}

typedef struct Train {
  const Node *n;
  const BatchNormOutputs *out;
} Train;

static void train_channels(void *context, size_t from, size_t to) {
  const Node *n = ((const Train *)context)->n;
  const BatchNormOutputs *out = ((const Train *)context)->out;
  const float *x = in_f32(n, 0), *scale = in_f32(n, 1), *shift = in_f32(n, 2), *means = in_f32(n, 3),
              *vars = in_f32(n, 4);
  float epsilon = node_float(n, "epsilon", 1e-5f), momentum = node_float(n, "momentum", 0.9f);
  Channel channel = batch_norm_channel(&n->in[0]->shape);
  for (size_t c = from; c < to; c++) {
    float mean, var;
    channel_statistics(&channel, x + c * channel.pixels, &mean, &var);
    float inv_std = 1 / sqrtf(var + epsilon);
    channel_scale(&channel, x + c * channel.pixels, mean, scale[c] * inv_std, shift[c], out->y + c * channel.pixels);
    if (out->running_mean) out->running_mean[c] = means[c] * momentum + mean * (1 - momentum);
    if (out->running_var) out->running_var[c] = vars[c] * momentum + var * (1 - momentum);
    if (out->saved_mean) out->saved_mean[c] = mean;
    if (out->saved_inv_std) out->saved_inv_std[c] = inv_std;
  }
}

void batch_norm_train(const Node *n, const BatchNormOutputs *out) {
  batch_norm_channels(n, 0, train_channels, &(Train){n, out});
}

static Status batch_normalization_infer(Node *n) {
  Shape channels;
  TRY(batch_norm_check(n, 0, 1, 4, &channels));
  if (node_int(n, "spatial", 1) == 0)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "spatial = 0 (statistics of every pixel) is not supported");
  if (n->version >= 14 && n->out_count > 3)
    return node_invalid(n, "has at most 3 outputs from opset 14 on, %d are asked for", n->out_count);
  if (batch_norm_trains(n)) TRY(batch_norm_check_batch(n));
  for (int i = 1; i < n->out_count; i++) TRY(node_output(n, i, DTYPE_FLOAT32, &channels));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

/* Plane by plane, as they lie in memory. */
static void given_statistics(void *context, size_t from, size_t to) {
  const Node *n = context;
  const float *x = in_f32(n, 0), *scale = in_f32(n, 1), *shift = in_f32(n, 2), *mean = in_f32(n, 3),
              *var = in_f32(n, 4);
  float *y = out_f32(n, 0), epsilon = node_float(n, "epsilon", 1e-5f);
  size_t channels = (size_t)n->in[0]->shape.dim[1];
  Channel plane = {.batch = 1, .pixels = batch_norm_channel(&n->in[0]->shape).pixels};
  for (size_t p = from; p < to; p++) {
    size_t c = p % channels;
    channel_scale(&plane, x + p * plane.pixels, mean[c], scale[c] / sqrtf(var[c] + epsilon), shift[c],
                  y + p * plane.pixels);
  }
}

/* The eval models of ONNX Runtime want the running statistics too: they are those given. */
static void batch_normalization_run(const Node *n) {
  if (batch_norm_trains(n)) {
    batch_norm_train(
        n, &(BatchNormOutputs){out_f32(n, 0), out_f32_if(n, 1), out_f32_if(n, 2), out_f32_if(n, 3), out_f32_if(n, 4)});
    return;
  }
  Channel channel = batch_norm_channel(&n->in[0]->shape);
  threads_split(channel.batch * (size_t)n->in[0]->shape.dim[1], threads_grain(channel.pixels), given_statistics,
                (void *)n);
  for (int i = 1; i < 3; i++)
    if (has_out(n, i)) memcpy(n->out[i]->data, n->in[2 + i]->data, value_bytes(n->out[i]));
}

static Value *sum_of_channels(Graph *g, Value *v) {
  int64_t axes[RANK_MAX] = {0};
  int count = 1;
  for (int i = 2; v && i < v->shape.rank; i++) axes[count++] = i;
  return emit_with(g, "ReduceSumTraining", ATTRS(attr_of_int("keepdims", 0)), v, emit_ints(g, axes, count));
}

static Status batch_normalization_grad(Grad *grad) {
  Graph *g = grad->graph;
  Node *n = grad->node;
  Value *x = n->in[0], *scale = n->in[1], *mean = n->in[3], *var = n->in[4], *dy = grad->dy[0];
  if (batch_norm_trains(n))
    return node_fail(n, STATUS_UNSUPPORTED_OP, "training_mode has a gradient as BatchNormInternal only");
  if (!dy) return STATUS_OK;
  int64_t aligned[RANK_MAX] = {-1, 1, 1, 1, 1, 1, 1, 1}; /* (C) to (C, 1, …): in line with x's dim 1 */
  Value *column = emit_ints(g, aligned, x->shape.rank - 1);
  Value *spread = emit(g, "Add", var, emit_float(g, node_float(n, "epsilon", 1e-5f)));
  Value *std = emit(g, "Sqrt", spread);
  const bool *want = grad->want;
  if (want[0] || want[3]) grad->dx[0] = emit(g, "Mul", dy, emit(g, "Reshape", emit(g, "Div", scale, std), column));
  if (want[1] || want[4]) {
    Value *centered = emit(g, "Sub", x, emit(g, "Reshape", mean, column));
    grad->dx[1] = emit(g, "Div", sum_of_channels(g, emit(g, "Mul", dy, centered)), std);
  }
  if (want[2]) grad->dx[2] = sum_of_channels(g, dy);
  if (want[3]) grad->dx[3] = emit(g, "Neg", sum_of_channels(g, grad->dx[0]));
  if (want[4])
    grad->dx[4] = emit(g, "Mul", emit(g, "Div", emit(g, "Mul", grad->dx[1], scale), spread), emit_float(g, -0.5f));
  return STATUS_OK;
}

OPERATOR(batch_normalization) = {
    .name = "BatchNormalization",
    .since = {1, 6, 7, 9, 14, 15},
    .inputs = {5, 5},
    .outputs = {1, 5},
    .scales = 2,
    .biases = 4,
    .flags = OP_FIRST_ALONE | OP_ATTRIBUTES,
    .infer = batch_normalization_infer,
    .run = batch_normalization_run,
    .grad = GRADIENT(batch_normalization_grad),
    .cases = CASES({"f32[2,3,4,5] f32[3] f32[3] f32[3] f32[3]:0.5..2", ""},
                   {"f32[2,3,4] f32[3] f32[3] f32[3] f32[3]:0.5..2", "epsilon=0.5", 9},
                   {"f32[4,3] f32[3] f32[3] f32[3] f32[3]:0.5..2", "spatial=1", 7},
                   {"f32[3,2,3,4] f32[2] f32[2] f32[2] f32[2]:0.5..2", "training_mode=1 momentum=0.75 epsilon=0.01", 14,
                    3, "training goes through BatchNormInternal"},
                   {"f32[3,2,5] f32[2] f32[2] f32[2] f32[2]:0.5..2", "training_mode=1", 15, 1,
                    "training goes through BatchNormInternal"},
                   {"f32[3,2,3,4] f32[2] f32[2] f32[2] f32[2]:0.5..2", "momentum=0.75", 9, 5,
                    "training goes through BatchNormInternal"},
                   {"f32[3,2,3,4] f32[2] f32[2] f32[2] f32[2]:0.5..2", "", 15, 3},
                   {"f32[2,3,1,2,1,1,2,1] f32[3] f32[3] f32[3] f32[3]:0.5..2"}),
};
