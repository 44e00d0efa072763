/* AttentionGrad (com.trainlet): dQ, dK and dV of Attention, each only if wanted, in the layouts of Q, K and V.
 *   inputs   dY, Q, K, V, Y, norm; mask (optional)      attributes as Attention has them */
#include "ops/attention/attention_node.h"

static Status attention_grad_infer(Node *n) {
  Shape y, norm;
  TRY(attention_infer(n, 1, 6, &y, &norm));
  for (int i = 0; i < 6; i += i ? 1 : 4) { /* dY, Y and norm */
    const Shape *wanted = i == 5 ? &norm : &y;
    char text[SHAPE_TEXT], came[SHAPE_TEXT];
    TRY(node_want_float(n, i));
    if (node_is_concrete(n) && !shape_equal(&n->in[i]->shape, wanted))
      return node_invalid(n, "input %d is %s, it must be %s", i, shape_print(&n->in[i]->shape, came),
                          shape_print(wanted, text));
  }
  if (node_is_concrete(n) && !attention_gradient_bytes(n->params, &n->scratch_bytes)) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < 3; i++) TRY(node_output(n, i, DTYPE_FLOAT32, &n->in[1 + i]->shape));
  return STATUS_OK;
}

static void attention_grad_run(const Node *n) {
  attention_gradient_run(n->params, in_f32(n, 0), in_f32(n, 1), in_f32(n, 2), in_f32(n, 3), in_f32(n, 4), in_f32(n, 5),
                         has_in(n, 6) ? in_f32(n, 6) : NULL, out_f32_if(n, 0), out_f32_if(n, 1), out_f32_if(n, 2),
                         n->scratch);
}

OPERATOR(attention_grad) = {
    .name = "AttentionGrad",
    .domain = "com.trainlet",
    .since = {1},
    .inputs = {6, 7},
    .outputs = {1, 3},
    .flags = OP_OURS | OP_COSTLY,
    .infer = attention_grad_infer,
    .run = attention_grad_run,
    .work = attention_gradient_work,
    .cases = CASES({"f32[2,1,3,4] f32[2,1,3,4] f32[2,1,5,4] f32[2,1,5,4] f32[2,1,3,4] f32[2,1,3]", "scale=0.5", 0, 3}),
};
