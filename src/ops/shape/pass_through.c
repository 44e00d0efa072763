/* PassThrough (com.microsoft): output i is input i; it holds a place in the order of computing. */
#include <string.h>

#include "graph/op.h"

static Status pass_through_infer(Node *n) {
  if (n->out_count > n->in_count) return node_invalid(n, "has %d outputs of %d inputs", n->out_count, n->in_count);
  for (int i = 0; i < n->out_count; i++) {
    if (!has_in(n, i) || !dtype_bytes(n->in[i]->type))
      return node_invalid(n, "input %d must be a tensor of numbers", i);
    TRY(node_output(n, i, n->in[i]->type, &n->in[i]->shape));
    if (node_is_known(n, i)) node_output_known(n, i, n->in[i]->known, (int)in_count(n, i));
  }
  return STATUS_OK;
}

static void pass_through_run(const Node *n) {
  for (int i = 0; i < n->out_count; i++)
    if (has_out(n, i)) memmove(n->out[i]->data, n->in[i]->data, out_count(n, i) * dtype_bytes(n->out[i]->type));
}

static Status pass_through_grad(Grad *g) {
  for (int i = 0; i < g->node->out_count; i++) g->dx[i] = g->dy[i];
  return STATUS_OK;
}

OPERATOR(pass_through) = {
    .name = "PassThrough",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {1, -1},
    .outputs = {1, -1},
    .in_place = 1,
    .flags = OP_FLOAT64,
    .infer = pass_through_infer,
    .run = pass_through_run,
    .grad = GRADIENT(pass_through_grad),
    .cases = CASES({"f32[2,3] v:i64[2]=4,5", NULL, 0, 2}, {"f32[2] f32[3] v:bool[1]=1", NULL, 0, 2}),
};
