/* NegativeLogLikelihoodLoss: the loss -x[label]·weight[label] of log-probabilities x (N, C, d…), its sum, or its mean
 * weighted by weight[label]. Types that cross-entropy's kernel lacks are expanded to other operators.
 * The weights get no gradient, as in PyTorch. */
#include <string.h>

#include "graph/expansion.h"
#include "ops/loss/cross_entropy.h"

/* Shape(label) with a 1 for the classes: (N, 1, d…). */
static Value *shape_with_one(Expansion *c, Value *label) {
  Graph *g = c->graph;
  Value *shape = emit_shape(g, label), *one = emit_ints(g, (int64_t[]){1}, 1);
  Value *n = emit(g, "Slice", shape, emit_ints(g, (int64_t[]){0}, 1), one);
  Value *rest = emit(g, "Slice", shape, one, emit_ints(g, (int64_t[]){INT32_MAX}, 1));
  return emit_with(g, "Concat", ATTRS(attr_of_int("axis", 0)), n, one, rest);
}

static Status negative_log_likelihood_loss_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Node *n = c->node;
  const char *reduction = node_string(n, "reduction", "mean");
  bool ignores = node_attr(n, "ignore_index", ATTR_INT) != NULL, mean = strcmp(reduction, "mean") == 0;
  TRY(node_want_rank(n, 0, 2, RANK_MAX));
  TRY(node_want_index(n, 1));
  Value *label = expand_cast(c, n->in[1], DTYPE_INT64), *zero = expand_number(c, x, 0), *weight = NULL, *ignored = NULL;
  if (ignores) {
    Value *index = emit_ints(g, (int64_t[]){node_int(n, "ignore_index", 0)}, 1);
    ignored = emit(g, "Equal", label, emit(g, "Reshape", index, emit_ints(g, NULL, 0)));
    label = emit(g, "Where", ignored, emit(g, "Sub", label, label), label);
  }
  Value *picked = emit_with(g, "GatherElements", ATTRS(attr_of_int("axis", 1)), x,
                            emit(g, "Reshape", label, shape_with_one(c, n->in[1])));
  Value *loss = emit(g, "Neg", emit(g, "Reshape", picked, emit_shape(g, n->in[1])));
  if (has_in(n, 2)) weight = emit(g, "Gather", n->in[2], label);
  else if (ignores && mean) weight = emit(g, "Expand", expand_number(c, x, 1), emit_shape(g, label));
  if (weight && ignores) weight = emit(g, "Where", ignored, zero, weight);
  if (weight) loss = emit(g, "Mul", loss, weight);
  else if (ignores) loss = emit(g, "Where", ignored, zero, loss);
  if (strcmp(reduction, "none") == 0) return expand_done(c, loss);
  AttrList whole = ATTRS(attr_of_int("keepdims", 0));
  if (mean && !weight) return expand_done(c, emit_with(g, "ReduceMean", whole, loss));
  Value *sum = emit_with(g, "ReduceSum", whole, loss);
  return expand_done(c, mean ? emit(g, "Div", sum, emit_with(g, "ReduceSum", whole, weight)) : sum);
}

static bool negative_log_likelihood_loss_expands(const Added *a) {
  if (a->in_count < 2 || !a->in[0] || !a->in[1]) return false;
  DType labels = a->in[1]->type;
  return a->in[0]->type != DTYPE_FLOAT32 || (labels != DTYPE_INT64 && labels != DTYPE_INT32);
}

static Status negative_log_likelihood_loss_grad(Grad *g) {
  return cross_entropy_grad(g, "SoftmaxCrossEntropyLossGrad");
}

OPERATOR(negative_log_likelihood_loss) = {
    .name = "NegativeLogLikelihoodLoss",
    .since = {12, 13, 22},
    .inputs = {2, 3},
    .flags = OP_FLOAT64,
    .own = &cross_entropy_of_log_probabilities,
    .infer = cross_entropy_infer,
    .run = cross_entropy_run,
    .counted = cross_entropy_counted,
    .grad = GRADIENT(negative_log_likelihood_loss_grad),
    .expand = negative_log_likelihood_loss_expand,
    .expands = negative_log_likelihood_loss_expands,
    .cases = CASES({"f32[3,4] v:i64[3]=0,3,1"}, {"f32[3,4] v:i64[3]=0,3,1 f32[4]=1,2,0.5,3"},
                   {"f32[3,4] v:i64[3]=0,3,1", "reduction=sum ignore_index=3"},
                   {"f32[2,3,2] v:i64[2,2]=0,2,1,1 f32[3]=1,2,0.5", "reduction=none"},
                   {"f32[3,4] v:i64[3]=0,-100,1 f32[4]=1,2,0.5,3", "ignore_index=-100"},
                   {"f32[2,3,2] v:i32[2,2]=0,2,1,1"},
                   {"f32[2,3,2] v:i64[2,2]=0,-1,1,1 f32[3]=1,2,0.5", "ignore_index=-1"}),
};
