/* BatchNormInternal (com.microsoft): BatchNormalization by the batch's own statistics. Outputs: y; the running mean and
 * variance, moved in place; the batch's mean and 1 / √(variance + ε), which the gradient needs. */
#include "ops/norm/batch_norm.h"
#include "ops/ops.h"

/* PyTorch refuses it too: the output is the bias whatever comes in, and the running variance moves to 0. */
static Status check_variance(const Node *n, const Shape *x) {
  size_t count;
  char text[SHAPE_TEXT];
  if (!shape_count(x, &count) || (Dim)count != x->dim[1]) return STATUS_OK;
  return node_fail(n, STATUS_INVALID_FEED,
                   "X is %s, a single value for each channel, which has no variance: training needs more examples in "
                   "a batch",
                   shape_print(x, text));
}

static Status batch_norm_internal_infer(Node *n) {
  Shape channels;
  TRY(batch_norm_check(n, 0, 1, 4, &channels));
  TRY(batch_norm_check_batch(n));
  TRY(check_variance(n, &n->in[0]->shape));
  TRY(node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape));
  for (int i = 1; i < 5; i++) TRY(node_output(n, i, DTYPE_FLOAT32, &channels));
  return STATUS_OK;
}

static void batch_norm_internal_run(const Node *n) {
  batch_norm_train(
      n, &(BatchNormOutputs){out_f32(n, 0), out_f32_if(n, 1), out_f32_if(n, 2), out_f32_if(n, 3), out_f32_if(n, 4)});
}

static Status batch_norm_internal_grad(Grad *g) {
  Node *n = g->node;
  if (!g->dy[0]) return STATUS_OK;
  if (!has_out(n, 3) || !has_out(n, 4))
    return node_fail(n, STATUS_UNSUPPORTED_OP,
                     "its gradient needs outputs 3 and 4, the batch's mean and inverse deviation");
  Value *in[] = {g->dy[0], n->in[0], n->in[1], n->out[3], n->out[4]};
  Node *grad = emit_node(g->graph, "BatchNormalizationGrad",
                         ATTRS(attr_of_float("epsilon", node_float(n, "epsilon", 1e-5f))), in, 5, 3, NULL);
  for (int i = 0; grad && i < 3; i++)
    if (g->want[i]) g->dx[i] = grad->out[i];
  return STATUS_OK;
}

static const Recompute recompute = {&op_batch_norm_again, 1 << 3 | 1 << 4};

OPERATOR(batch_norm_internal) = {
    .name = "BatchNormInternal",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {5, 5},
    .outputs = {1, 5},
    .scales = 2,
    .biases = 4,
    .flags = OP_UPDATES | OP_FIRST_ALONE | OP_ATTRIBUTES,
    .updates = {0, 3, 4},
    .infer = batch_norm_internal_infer,
    .run = batch_norm_internal_run,
    .grad = GRADIENT(batch_norm_internal_grad),
    .recompute = &recompute,
    .cases = CASES({"f32[3,2,3,4] f32[2] f32[2] f32[2] f32[2]:0.5..2", "momentum=0.75 epsilon=0.01", 0, 5},
                   {"f32[5,3] f32[3] f32[3] f32[3] f32[3]:0.5..2", "", 0, 5}),
};
