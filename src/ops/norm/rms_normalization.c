/* RMSNormalization: rows of x, all dims from the axis on, to a mean square of 1, times scale; ops/norm/layer_norm.h has
 * the formulas. Its gradient takes the statistics from SimplifiedLayerNormalization, which is the same. */
#include "ops/norm/layer_norm.h"

static Status rms_normalization_infer(Node *n) {
  Shape statistics;
  if (node_int(n, "stash_type", 1) != 1)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "stash_type is %lld, we compute in float32 (1)",
                     (long long)node_int(n, "stash_type", 1));
  TRY(layer_norm_infer(n, 0, 1, -1, &statistics));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

static void rms_normalization_run(const Node *n) { layer_norm_run(n, true, out_f32(n, 0), NULL, NULL); }

static Status rms_normalization_grad(Grad *g) {
  Node *n = g->node;
  const LayerNorm *p = n->params;
  AttrList attrs = ATTRS(attr_of_int("axis", p->axis), attr_of_float("epsilon", p->epsilon));
  Node *statistics = emit_node(g->graph, "SimplifiedLayerNormalization", attrs, n->in, 2, 2, (bool[]){false, true});
  Value *in[] = {g->dy[0], n->in[0], n->in[1], statistics ? statistics->out[1] : NULL};
  Node *grad = emit_node(g->graph, "SimplifiedLayerNormalizationGrad", ATTRS(attrs.items[0]), in, 4, 2, NULL);
  for (int i = 0; grad && i < 2; i++)
    if (g->want[i]) g->dx[i] = grad->out[i];
  return STATUS_OK;
}

OPERATOR(rms_normalization) = {
    .name = "RMSNormalization",
    .since = {23},
    .inputs = {2, 2},
    .scales = 2,
    .in_place = 1,
    .infer = rms_normalization_infer,
    .run = rms_normalization_run,
    .grad = GRADIENT(rms_normalization_grad),
    .cases = CASES({"f32[3,6] f32[6]", "epsilon=0.25", 23}, {"f32[2,3,5] f32[3,5]", "axis=1", 23},
                   {"f32[70,5] f32[5]", NULL, 23}),
};
