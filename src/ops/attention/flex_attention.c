/* FlexAttention (ai.onnx.preview): Y = prob_mod(softmax(score_mod(scale · Q Kᵀ))) V of (N, H, T, D), where subgraphs
 * say what score_mod and prob_mod are; fewer heads of K and V serve several of Q. */
#include "graph/subgraph.h"
#include "ops/attention/attention_pieces.h"

/* x, or what the subgraph makes of it. */
static Status modify(Expansion *c, const char *name, Value **x) {
  const Node *n = c->node;
  if (!*x || !node_attr(n, name, ATTR_GRAPH)) return c->graph->error->status;
  Value **slots;
  const Subgraph *s = subgraph_open(n, name, &slots);
  if (!s) return c->graph->error->status;
  if (s->input_count != 1 || s->output_count != 1)
    return node_invalid(n, "its %s has %d inputs and %d outputs, it must have one of each", name, s->input_count,
                        s->output_count);
  slots[0] = *x;
  TRY(subgraph_inline(n, s, slots));
  *x = slots[s->outputs[0]];
  return STATUS_OK;
}

static Status flex_attention_expand(Expansion *c) {
  const Node *n = c->node;
  Value **in = n->in;
  AttentionPieces p = {in[0], in[1], in[2], .scale = node_float(n, "scale", 0)};
  for (int i = 0; i < 3; i++) TRY(node_want_rank(n, i, 4, 4));
  Value *x = attention_scores(c, &p);
  TRY(modify(c, "score_mod", &x));
  x = emit_with(c->graph, "Softmax", ATTRS(attr_of_int("axis", -1)), x);
  TRY(modify(c, "prob_mod", &x));
  return expand_done(c, attention_product(c, &p, x ? expand_cast(c, x, in[0]->type) : NULL));
}

OPERATOR(flex_attention) = {
    .name = "FlexAttention",
    .domain = "ai.onnx.preview",
    .since = {1},
    .inputs = {3, -1},
    .flags = OP_SUBGRAPHS,
    .expand = flex_attention_expand,
    .cases = CASES({"f32[2,3,4,8] f32[2,3,6,8] f32[2,3,6,10]"},
                   {"f32[1,4,3,4] f32[1,2,5,4] f32[1,2,5,6]", "scale=0.3"}),
};
