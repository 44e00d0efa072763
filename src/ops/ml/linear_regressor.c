/* LinearRegressor: y = x · coefficientsᵀ + intercepts. The coefficients become weights, which train. */
#include "ops/ml/linear.h"
#include "ops/ml/post_transform.h"

static Status linear_regressor_expand(Expansion *c) {
  const Node *n = c->node;
  int64_t targets = node_int(n, "targets", 1);
  const Attr *intercepts = node_attr(n, "intercepts", ATTR_FLOATS);
  PostTransform how;
  TRY(post_transform_read(n, &how));
  bool single = targets == 1; /* ONNX Runtime leaves one score as it is, but for PROBIT */
  Value *scores = linear_scores(c, targets, node_attr(n, "coefficients", ATTR_FLOATS),
                                intercepts && intercepts->count == targets ? intercepts : NULL);
  return expand_done(c, single && how != POST_PROBIT ? scores : post_transform_emit(c, how, scores));
}

OPERATOR(linear_regressor) = {
    .name = "LinearRegressor",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE,
    .expand = linear_regressor_expand,
    .cases = CASES({"f32[3,2]", "coefficients=[0.5,-2.0] intercepts=[0.25]"},
                   {"f32[3,2]", "coefficients=[0.5,-2.0,1.0,3.0] targets=2 post_transform=SOFTMAX"},
                   {"f32[2,2]:0.05..0.3", "coefficients=[0.5,1.0,1.0,0.5] targets=2 post_transform=PROBIT"},
                   {"f32[2]", "coefficients=[0.5,-2.0,1.0,3.0] intercepts=[1.0,2.0] targets=2 post_transform=LOGISTIC"},
                   {"f32[3,2]", "coefficients=[0.5,-2.0,1.0,3.0] targets=2 post_transform=SOFTMAX_ZERO"},
                   {"i64[3,2]", "coefficients=[0.5,-2.0]"}),
};
