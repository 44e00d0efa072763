/* Training step: ports of the operators that update parameters. */
#include "ops/optimizer/training_step.h"

#include "graph/dims.h"

static Status want_one(const Node *n, int i, DType type) {
  TRY(node_want_type(n, i, type));
  if (!shape_is_concrete(&n->in[i]->shape) || in_count(n, i) == 1)
    return STATUS_OK; /* symbols are numbers before the run */
  return node_invalid(n, "input %d must be one number", i);
}

static Status want_like(const Node *n, int i, const Shape *shape) {
  char wanted[SHAPE_TEXT], came[SHAPE_TEXT];
  if (!has_in(n, i)) return node_invalid(n, "input %d must be there", i);
  TRY(node_want_float(n, i));
  if (dims_alike(&n->in[i]->shape, shape)) return STATUS_OK;
  return node_invalid(n, "input %d is %s, the tensor it belongs to is %s", i, shape_print(&n->in[i]->shape, came),
                      shape_print(shape, wanted));
}

Status training_step_infer(Node *n, int state_sorts) {
  int sorts = 2 + state_sorts, tensors = training_step_tensors(n, state_sorts);
  if (tensors < 1 || n->in_count != 2 + sorts * tensors)
    return node_invalid(n, "takes R, T and %d inputs for each tensor, %d came", sorts, n->in_count);
  if (n->out_count > (1 + state_sorts) * tensors)
    return node_invalid(n, "has %d outputs, %d are asked for", (1 + state_sorts) * tensors, n->out_count);
  TRY(want_one(n, 0, DTYPE_FLOAT32));
  TRY(want_one(n, 1, DTYPE_INT64));
  for (int i = 0; i < tensors; i++) {
    if (!has_in(n, 2 + i)) return node_invalid(n, "input %d must be there", 2 + i);
    for (int k = 0; k < sorts; k++) TRY(want_like(n, 2 + k * tensors + i, &n->in[2 + i]->shape));
    for (int k = 0; k <= state_sorts; k++) TRY(node_output(n, k * tensors + i, DTYPE_FLOAT32, &n->in[2 + i]->shape));
  }
  return STATUS_OK;
}

TrainingStep training_step_at(const Node *n, int state_sorts, int tensor) {
  int tensors = training_step_tensors(n, state_sorts);
  TrainingStep s = {.x = in_f32(n, 2 + tensor), .g = in_f32(n, 2 + tensors + tensor), .count = in_count(n, 2 + tensor)};
  if (has_out(n, tensor)) s.new_x = out_f32(n, tensor);
  for (int k = 0; k < state_sorts; k++) {
    s.state[k] = in_f32(n, 2 + (2 + k) * tensors + tensor);
    if (has_out(n, (1 + k) * tensors + tensor)) s.new_state[k] = out_f32(n, (1 + k) * tensors + tensor);
  }
  return s;
}
