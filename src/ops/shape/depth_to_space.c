/* DepthToSpace: blocks of channels become blocks of pixels; depth-column-row order, or column-row-depth. */
#include <string.h>

#include "graph/expansion.h"

static Status depth_to_space_expand(Expansion *c) {
  const Shape *x = expand_shape(c, 0);
  int64_t b = node_int(c->node, "blocksize", 0);
  bool columns = strcmp(node_string(c->node, "mode", "DCR"), "CRD") == 0;
  TRY(node_want_rank(c->node, 0, 4, 4));
  if (b < 1 || b > 1 << 15 || !dim_divides(x->dim[1], b * b))
    return node_invalid(c->node, "channels must be a multiple of blocksize²");
  Value *in = c->node->in[0];
  Size n = SIZE_DIM(in, 0), depth = {in, 1, 1, 1, b * b}, block = SIZE_NUMBER(b), h = SIZE_DIM(in, 2),
       w = SIZE_DIM(in, 3);
  Size apart[] = {n, columns ? depth : block, block, columns ? block : depth, h, w};
  static const int64_t dcr[] = {0, 3, 4, 1, 5, 2}, crd[] = {0, 1, 4, 2, 5, 3};
  Value *y = emit_with(c->graph, "Transpose", ATTRS(attr_of_ints("perm", columns ? crd : dcr, 6)),
                       expand_reshape(c, in, apart, 6));
  return expand_done(c, expand_reshape(c, y, (Size[]){n, depth, {in, 2, 1, b, 0}, {in, 3, 1, b, 0}}, 4));
}

OPERATOR(depth_to_space) = {
    .name = "DepthToSpace",
    .since = {1, 11, 13},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE,
    .expand = depth_to_space_expand,
    .cases = CASES({"f32[2,8,2,3]", "blocksize=2"}, {"f32[1,12,2,3]", "blocksize=2 mode=CRD"}),
};
