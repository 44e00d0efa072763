/* ATen (org.pytorch.aten): what ORTModule has PyTorch compute. We know its embedding and the gradient of that:
 *
 *   embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse)                           y = weight[indices]
 *   embedding_dense_backward(dY, indices, rows, padding_idx, scale_grad_by_freq)             dweight, but not its row
 *   embedding_backward(dY, indices, rows, padding_idx, scale_grad_by_freq, sparse)              padding_idx
 *
 * The embedding itself is Gather, whose own gradient reaches the row padding_idx, as where PyTorch's exporter writes
 * Gather. */
#include <string.h>

#include "ops/index/index.h"

/* Refuses a flag among the inputs that is on; it must be known, or absent. */
static Status want_off(const Node *n, int input, const char *name) {
  const void *flag;
  if (!has_in(n, input)) return STATUS_OK;
  TRY(node_contents(n, input, &flag));
  return *(const uint8_t *)flag ? node_fail(n, STATUS_UNSUPPORTED_OP, "%s is not supported", name) : STATUS_OK;
}

static Status embedding_gradient(Expansion *c) {
  Node *n = c->node;
  Graph *g = c->graph;
  int64_t one = 1, last = -1;
  const void *padding;
  if (n->in_count < 5 || !n->in[1] || !n->in[2]) return node_invalid(n, "has %d inputs, 5 are wanted", n->in_count);
  TRY(node_want_float(n, 0));
  TRY(node_want_type(n, 1, DTYPE_INT64));
  TRY(node_want_type(n, 3, DTYPE_INT64));
  TRY(node_contents(n, 3, &padding));
  TRY(want_off(n, 4, "scale_grad_by_freq"));
  int64_t row = *(const int64_t *)padding;
  Value *dy = row < 0 ? n->in[0] : index_without_padding(g, n->in[0], n->in[1], row);
  Value *width = emit_with(g, "Gather", ATTRS(attr_of_int("axis", 0)), emit_shape(g, n->in[0]), emit_ints(g, &last, 1));
  Value *rows = emit(g, "Reshape", n->in[2], emit_ints(g, &one, 1));
  Value *shape = emit_with(g, "Concat", ATTRS(attr_of_int("axis", 0)), rows, width);
  c->out[0] = emit_with(g, "GatherGrad", ATTRS(attr_of_int("axis", 0)), shape, n->in[1], dy);
  return STATUS_OK;
}

static Status a_ten_expand(Expansion *c) {
  Node *n = c->node;
  const char *called = node_string(n, "operator", "");
  if (strncmp(called, "aten::", 6) == 0) called += 6;
  if (strcmp(called, "embedding") == 0)
    return c->out[0] = emit_with(c->graph, "Gather", ATTRS(attr_of_int("axis", 0)), n->in[0], n->in[1]), STATUS_OK;
  if (strcmp(called, "embedding_dense_backward") == 0 || strcmp(called, "embedding_backward") == 0)
    return embedding_gradient(c);
  return node_fail(n, STATUS_UNSUPPORTED_OP, "its operator '%.64s' is none that we know: embedding, and its backward",
                   called);
}

OPERATOR(a_ten) = {
    .name = "ATen",
    .domain = "org.pytorch.aten",
    .since = {1},
    .inputs = {2, 6},
    .outputs = {1, 1},
    .expand = a_ten_expand,
    .cases = CASES({"f32[5,3] v:i64[2,2]=0,4,4,1 i64[]=-1 bool[]=0 bool[]=0", "operator=aten::embedding"},
                   {"f32[5,3] v:i64[3]=2,0,2", "operator=embedding"},
                   {"f32[2,2,3] v:i64[2,2]=0,4,4,1 i64[]=5 i64[]=-1 bool[]=0", "operator=embedding_dense_backward"},
                   {"f32[2,2,3] v:i64[2,2]=0,4,4,1 i64[]=5 i64[]=4 bool[]=0 bool[]=0",
                    "operator=aten::embedding_backward"}),
};
