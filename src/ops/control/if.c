/* If: the nodes of one of two subgraphs, by a condition that must be known before the run. */
#include "graph/subgraph.h"
#include "graph/op.h"

/* It may have any number of dims. */
static Status read_condition(const Node *n, bool *out) {
  const void *condition;
  TRY(node_want_type(n, 0, DTYPE_BOOL));
  TRY(node_contents(n, 0, &condition));
  if (in_count(n, 0) != 1) return node_invalid(n, "the condition must be one element, it has %zu", in_count(n, 0));
  *out = *(const uint8_t *)condition != 0;
  return STATUS_OK;
}

static Status if_expand(Expansion *c) {
  const Node *n = c->node;
  bool condition;
  TRY(read_condition(n, &condition));
  const char *branch = condition ? "then_branch" : "else_branch";
  Value **slots;
  const Subgraph *s = subgraph_open(n, branch, &slots);
  if (!s) return c->graph->error->status;
  if (s->input_count) return node_invalid(n, "its %s takes %d inputs, it must have none", branch, s->input_count);
  if (s->output_count < n->out_count)
    return node_invalid(n, "its %s has %d outputs, %d are wanted", branch, s->output_count, n->out_count);
  TRY(subgraph_inline(n, s, slots));
  for (int i = 0; i < n->out_count; i++) c->out[i] = slots[s->outputs[i]];
  return STATUS_OK;
}

OPERATOR(if) = {
    .name = "If",
    .since = {1, 11, 13, 16, 19, 21},
    .inputs = {1, -1},
    .outputs = {1, -1},
    .flags = OP_ANY_TYPE | OP_SUBGRAPHS,
    .expand = if_expand,
};
