/* DepthToSpace: blocks of channels become blocks of pixels; depth-column-row order, or column-row-depth. */
#include <string.h>

#include "graph/compose.h"

static Status depth_to_space_compose(Compose *c) {
  const Shape *x = compose_shape(c, 0);
  int64_t b = node_int(c->node, "blocksize", 0);
  bool columns = strcmp(node_string(c->node, "mode", "DCR"), "CRD") == 0;
  TRY(node_want_rank(c->node, 0, 4, 4));
  for (int i = 1; i < 4; i++) TRY(compose_want_number(c, 0, i));
  if (b < 1 || b > 1 << 15 || x->dim[1] % (b * b))
    return node_invalid(c->node, "channels must be a multiple of blocksize²");
  Dim depth = x->dim[1] / (b * b), h = x->dim[2], w = x->dim[3];
  Shape apart = columns ? SHAPE(x->dim[0], depth, b, b, h, w) : SHAPE(x->dim[0], b, b, depth, h, w);
  static const int64_t dcr[] = {0, 3, 4, 1, 5, 2}, crd[] = {0, 1, 4, 2, 5, 3};
  Value *y = emit_with(c->graph, "Transpose", ATTRS(attr_of_ints("perm", columns ? crd : dcr, 6)),
                       compose_reshape(c, c->node->in[0], apart, c->node->in[0]));
  return compose_done(c, compose_reshape(c, y, SHAPE(x->dim[0], depth, h * b, w * b), y));
}

OPERATOR(depth_to_space) = {
    .name = "DepthToSpace",
    .since = {1, 11, 13},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE,
    .compose = depth_to_space_compose,
    .cases = CASES({"f32[2,8,2,3]", "blocksize=2"}, {"f32[1,12,2,3]", "blocksize=2 mode=CRD"}),
};
