/* LinearClassifier: scores x · coefficientsᵀ + intercepts, and the label of the largest one. Of a single row of
 * coefficients the label is the second one where the score is above 0. scikit-learn's exporter writes the row of a
 * logistic regression of two classes twice, once negated: it is one again, so that it trains as one. */
#include "ops/ml/class_labels.h"
#include "ops/ml/linear.h"
#include "ops/ml/post_transform.h"

/* (N) from 0: which class. */
static Value *best_class(Expansion *c, Value *scores, bool single) {
  Graph *g = c->graph;
  static const int64_t columns = 1, flat = -1;
  if (!single) return emit_with(g, "ArgMax", ATTRS(attr_of_int("axis", columns), attr_of_int("keepdims", 0)), scores);
  Value *above = emit(g, "Greater", emit(g, "Reshape", scores, emit_ints(g, &flat, 1)), emit_float(g, 0));
  return emit_with(g, "Cast", ATTRS(attr_of_int("to", DTYPE_INT64)), above);
}

/* 1 - score beside the score, as ONNX Runtime has it whatever the post transform. */
static Value *both_classes(Expansion *c, Value *score) {
  return emit_with(c->graph, "Concat", ATTRS(attr_of_int("axis", 1)),
                   emit(c->graph, "Sub", emit_float(c->graph, 1), score), score);
}

/* True if the numbers of the first class are those of the second, negated. */
static bool is_mirrored(const Attr *floats) {
  for (int i = 0; i < floats->count / 2; i++)
    if (floats->floats[i] != -floats->floats[floats->count / 2 + i]) return false;
  return floats->count % 2 == 0;
}

static Attr second_half(const Attr *floats) {
  Attr half = *floats;
  half.count /= 2;
  half.floats += half.count;
  return half;
}

static Status linear_classifier_expand(Expansion *c) {
  const Node *n = c->node;
  const Attr *w = node_attr(n, "coefficients", ATTR_FLOATS), *b = node_attr(n, "intercepts", ATTR_FLOATS);
  Attr halves[2];
  ClassLabels labels;
  PostTransform how;
  TRY(post_transform_read(n, &how));
  TRY(class_labels_read(n, "classlabels_ints", "classlabels_strings", &labels));
  if (b && !b->count) b = NULL;
  int64_t rows = b ? b->count : (int64_t)labels.count;
  bool single = rows == 1 && labels.count == 2;
  if (!single && (size_t)rows != labels.count)
    return node_invalid(n, "it has %zu class labels and %lld intercepts", labels.count, (long long)rows);
  bool mirrored = rows == 2 && how == POST_LOGISTIC && w && is_mirrored(w) && (!b || is_mirrored(b));
  if (mirrored) halves[0] = second_half(w), w = halves, single = true, rows = 1;
  if (mirrored && b) halves[1] = second_half(b), b = halves + 1;
  Value *scores = linear_scores(c, rows, w, b);
  Value *names = class_labels_constant(c, &labels);
  Value *best = scores ? best_class(c, scores, single) : NULL;
  c->out[0] = emit(c->graph, "Gather", names, best);
  if (!single || mirrored) scores = post_transform_emit(c, how, scores);
  if (n->out_count > 1) c->out[1] = single ? both_classes(c, scores) : scores;
  return c->graph->error->status;
}

OPERATOR(linear_classifier) = {
    .name = "LinearClassifier",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {1, 1},
    .outputs = {1, 2},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .expand = linear_classifier_expand,
    .cases = CASES({"f32[4,2]",
                    "coefficients=[0.5,-2.0,1.0,3.0,-1.0,1.0] intercepts=[0.25,0.5,0.75] classlabels_ints=[3,5,7] "
                    "post_transform=SOFTMAX",
                    .outputs = 2},
                   {"f32[4,2]", "coefficients=[0.5,-2.0] intercepts=[0.25] classlabels_ints=[0,1]", .outputs = 2},
                   {"i32[4,2]", "coefficients=[0.5,-2.0,1.0,3.0] classlabels_ints=[0,1] post_transform=LOGISTIC",
                    .outputs = 2},
                   {"f32[4,2]",
                    "coefficients=[0.5,-2.0,-0.5,2.0] intercepts=[0.25,-0.25] classlabels_ints=[0,1] "
                    "post_transform=LOGISTIC",
                    .outputs = 2}),
};
