/* Attention (com.trainlet; passes put it in place of MatMul, Softmax and MatMul):  Y = softmax(scale · Q Kᵀ + mask) V.
 *   inputs   Q, K, V; mask (optional): added to the scores, broadcasts to (N, H, queries, keys), gets no gradient
 *   outputs  Y; norm (N, H, queries): log Σ e^score of each query, for the gradient
 *   scale    a float, 1
 *   causal   1: query i sees key j only where j - i ≤ keys - queries; the mask may be left out then
 *   layout   ints, of Q, K, V and Y: 0 is (N, H, T, D), 1 is (N, T, H, D); for K also 2, (N, H, D, T). All 0 */
#include "ops/attention/attention_node.h"
#include "graph/second_output.h"

static Status op_attention_infer(Node *n) {
  Shape y, norm;
  TRY(attention_infer(n, 0, 3, &y, &norm));
  if (node_is_concrete(n) && !attention_bytes(n->params, &n->scratch_bytes)) return STATUS_OUT_OF_MEMORY;
  TRY(node_output(n, 0, DTYPE_FLOAT32, &y));
  return node_output(n, 1, DTYPE_FLOAT32, &norm);
}

static void op_attention_run(const Node *n) {
  attention_run(n->params, in_f32(n, 0), in_f32(n, 1), in_f32(n, 2), has_in(n, 3) ? in_f32(n, 3) : NULL, out_f32(n, 0),
                has_out(n, 1) ? out_f32(n, 1) : NULL, n->scratch);
}

static Status attention_gradient(Grad *g) {
  Node *n = g->node;
  int count;
  const int64_t *layout = node_ints(n, "layout", &count);
  if (has_in(n, 3) && g->want[3]) return node_fail(n, STATUS_UNSUPPORTED_OP, "its mask gets no gradient");
  if (n->out_count > 1 && g->dy[1]) return node_fail(n, STATUS_UNSUPPORTED_OP, "no gradient flows through its norm");
  TRY(output_want(n, 1, "norm"));
  Value *in[] = {g->dy[0], n->in[0], n->in[1], n->in[2], n->out[0], n->out[1], has_in(n, 3) ? n->in[3] : NULL};
  AttrList attrs = ATTRS(attr_of_float("scale", node_float(n, "scale", 1)),
                         attr_of_int("causal", node_int(n, "causal", 0)),
                         attr_of_ints("layout", layout ? layout : (int64_t[4]){0}, 4));
  Node *grad = emit_node(g->graph, "AttentionGrad", attrs, in, has_in(n, 3) ? 7 : 6, 3, NULL);
  for (int i = 0; grad && i < 3; i++)
    if (g->want[i]) g->dx[i] = grad->out[i];
  return STATUS_OK;
}

OPERATOR(attention) = {
    .name = "Attention",
    .domain = "com.trainlet",
    .since = {1},
    .inputs = {3, 4},
    .outputs = {1, 2},
    .flags = OP_OURS | OP_COSTLY,
    .infer = op_attention_infer,
    .run = op_attention_run,
    .grad = GRADIENT(attention_gradient),
    .work = attention_work,
    .cases =
        CASES({"f32[2,3,5,4] f32[2,3,5,4] f32[2,3,5,4]", "scale=0.5"},
              {"f32[1,2,40,8] f32[1,2,40,8] f32[1,2,40,6]", "scale=0.35 causal=1"},
              {"f32[1,1,70,2] f32[1,1,5,2] f32[1,1,5,3]", "", 0, 2},
              {"f32[1,2,35,3] f32[1,2,37,3] f32[1,2,37,2]", "causal=1"},
              {"f32[2,4,3,5] f32[2,6,3,5] f32[2,6,3,7]", "layout=[1,1,1,1] scale=0.4"},
              {"f32[2,3,4,5] f32[2,3,5,6] f32[2,3,6,3] f32[4,6]=0,0,0,0,0,-9,0,1,0,0,-9,0,0,0,-9,0,0,0,2,0,0,0,0,0",
               "layout=[0,2,0,1]"},
              {"f32[2,3,1,5] f32[2,3,9,5] f32[2,3,9,5] v:f32[2,1,1,9]=0,0,0,-9,0,0,0,0,0,0,0,1,0,0,0,-9,-9,-9",
               "scale=0.3", 0, 1, "its mask gets no gradient"},
              {"f32[1,2,9,12] f32[1,2,11,12] f32[1,2,11,9]", "scale=0.3"}, {"f32[0,2,3,4] f32[0,2,3,4] f32[0,2,3,4]"},
              {"f32[1,1,70,2] f32[1,1,1,2] f32[1,1,1,2]", ""}, {"f32[1,1,3,3] f32[1,1,7,3] f32[1,1,7,2]", ""}),
};
