/* ConcatTraining (com.microsoft): Concat that also gives each input's length along the axis. */
#include "ops/shape/concat_axis.h"

static Status concat_training_infer(Node *n) {
  if (!node_attr(n, "axis", ATTR_INT)) return node_invalid(n, "the attribute axis must be there");
  TRY(concat_infer(n, 0));
  Shape lengths = SHAPE(n->in_count);
  TRY(node_output(n, 1, DTYPE_INT64, &lengths));
  Dim known[64];
  for (int i = 0; i < n->in_count && i < 64; i++) known[i] = n->in[i]->shape.dim[concat_axis(n)];
  node_output_known(n, 1, known, n->in_count);
  return STATUS_OK;
}

static void concat_training_run(const Node *n) {
  concat_run(n);
  int64_t *lengths = has_out(n, 1) ? n->out[1]->data : NULL;
  for (int i = 0; lengths && i < n->in_count; i++) lengths[i] = n->in[i]->shape.dim[concat_axis(n)];
}

OPERATOR(concat_training) = {
    .name = "ConcatTraining",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {1, -1},
    .outputs = {1, 2},
    .flags = OP_FLOAT64,
    .infer = concat_training_infer,
    .run = concat_training_run,
    .grad = GRADIENT(concat_grad),
    .cases = CASES({"f32[2,3] f32[2,1]", "axis=1", 0, 2}, {"f32[2,3] f32[4,3]", "axis=-2"}),
};
