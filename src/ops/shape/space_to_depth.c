/* SpaceToDepth: blocks of pixels become blocks of channels; depth-column-row order, or column-row-depth. */
#include "graph/expansion.h"

static Status space_to_depth_expand(Expansion *c) {
  const Shape *x = expand_shape(c, 0);
  int64_t b = node_int(c->node, "blocksize", 0);
  TRY(node_want_rank(c->node, 0, 4, 4));
  if (b < 1 || b > 1 << 15) return node_invalid(c->node, "blocksize is %lld", (long long)b);
  if (!dim_divides(x->dim[2], b) || !dim_divides(x->dim[3], b))
    return node_invalid(c->node, "height and width must be multiples of blocksize %lld", (long long)b);
  Value *in = c->node->in[0];
  Size n = SIZE_DIM(in, 0), depth = SIZE_DIM(in, 1), block = SIZE_NUMBER(b), h = {in, 2, 1, 1, b}, w = {in, 3, 1, 1, b};
  Value *apart = expand_reshape(c, in, (Size[]){n, depth, h, block, w, block}, 6);
  static const int64_t dcr[] = {0, 3, 5, 1, 2, 4}, crd[] = {0, 1, 3, 5, 2, 4};
  static const char *const modes[] = {"DCR", "CRD"};
  int mode;
  TRY(node_choice(c->node, "mode", "DCR", modes, 2, &mode));
  Value *y = emit_with(c->graph, "Transpose", ATTRS(attr_of_ints("perm", mode ? crd : dcr, 6)), apart);
  return expand_done(c, expand_reshape(c, y, (Size[]){n, {in, 1, 1, b * b, 0}, h, w}, 4));
}

OPERATOR(space_to_depth) = {
    .name = "SpaceToDepth",
    .since = {1, 13, 28},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE,
    .expand = space_to_depth_expand,
    .cases = CASES({"f32[2,3,4,6]", "blocksize=2"}, {"f32[2,3,4,6]", "blocksize=2 mode=CRD", 28}),
};
