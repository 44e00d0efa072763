/* Conv: y[n, f, o] = Σ x[n, c, o · stride + k · dilation - pad] w[f, c, k] + b[f], c over the channels of f's group. */
#include "ops/conv/conv.h"

#include "graph/dims.h"
#include "part.h"

static Status check_groups(const Node *n, const Shape *x, const Shape *w) {
  int64_t groups = node_int(n, "group", 1);
  Dim channels = x->dim[1], features = w->dim[0], each = w->dim[1];
  if (groups < 1 || features == 0 || each == 0 || !dim_divides(features, groups))
    return node_invalid(n, "group is %lld, it must divide the %lld output channels of W", (long long)groups,
                        (long long)features);
  if (!dim_is_number(channels) || !dim_is_number(each)) return STATUS_OK;
  if (each > channels || channels % each || channels / each != groups)
    return node_invalid(n, "X has %lld channels, W wants %lld in each of %lld groups", (long long)channels,
                        (long long)each, (long long)groups);
  return STATUS_OK;
}

Status conv_shapes(const Node *n, int x, int w, Shape *y, WindowAttrs *attrs) {
  TRY(node_want_float(n, x));
  TRY(node_want_float(n, w));
  TRY(node_want_rank(n, x, 3, RANK_MAX));
  const Shape *xs = &n->in[x]->shape, *ws = &n->in[w]->shape;
  TRY(node_want_rank(n, w, xs->rank, xs->rank));
  TRY(check_groups(n, xs, ws));
  TRY(window_attrs(n, xs->rank - 2, ws->dim + 2, attrs));
  *y = *xs;
  y->dim[1] = ws->dim[0];
  for (int a = 0; a < attrs->rank; a++) TRY(window_out_dim(n, attrs, a, xs->dim[2 + a], &y->dim[2 + a]));
  return STATUS_OK;
}

/* A kernel of one pixel along the last two of three dims: each plane may as well be a row. */
static bool planes_are_rows(const WindowAttrs *w, const Shape *x, const Shape *y) {
  for (int a = 1; a < w->rank; a++)
    if (w->kernel[a] != 1 || w->stride[a] != 1 || w->pad_begin[a] || x->dim[2 + a] != y->dim[2 + a]) return false;
  return w->rank == 3;
}

static Conv3d conv_of_shapes(const Node *n, const Shape *x, const Shape *w, const Shape *y, const WindowAttrs *attrs) {
  Conv conv = {.batch = (size_t)x->dim[0],
               .groups = (size_t)node_int(n, "group", 1),
               .channels = (size_t)x->dim[1],
               .features = (size_t)w->dim[0],
               .window = window_of(attrs, x, y)};
  return conv3d_of(conv, window_depth_of(attrs, x, y), attrs->rank == 3);
}

Conv3d conv_of(const Node *n, const Shape *x, const Shape *w, const Shape *y, const WindowAttrs *attrs) {
  if (!planes_are_rows(attrs, x, y)) return conv_of_shapes(n, x, w, y, attrs);
  WindowAttrs flat = *attrs;
  Shape from = *x, to = *y;
  flat.rank = 2;
  from.dim[3] *= from.dim[4];
  to.dim[3] *= to.dim[4];
  return conv_of_shapes(n, &from, w, &to, &flat);
}

Status conv_check_variant(const Node *n, const Conv3d *conv, ConvDirection direction) {
  const char *missing = conv3d_missing(conv, direction);
  return missing ? part_missing(n->graph->error, missing) : STATUS_OK;
}

Status conv_op_infer(Node *n) {
  WindowAttrs attrs;
  Shape y;
  TRY(conv_shapes(n, 0, 1, &y, &attrs));
  TRY(node_want_float(n, 2));
  TRY(node_want_rank(n, 2, 1, 1));
  if (has_in(n, 2) && !dims_meet(n->in[2]->shape.dim[0], y.dim[1]))
    return node_invalid(n, "the bias has %lld numbers, W has %lld output channels", (long long)n->in[2]->shape.dim[0],
                        (long long)y.dim[1]);
  TRY(node_output(n, 0, DTYPE_FLOAT32, &y));
  if (!node_is_concrete(n)) return STATUS_OK;
  Conv3d *conv = NODE_PARAMS(n, Conv3d);
  if (!conv) return STATUS_OUT_OF_MEMORY;
  *conv = conv_of(n, &n->in[0]->shape, &n->in[1]->shape, &y, &attrs);
  TRY(conv_check_variant(n, conv, CONV_FORWARD));
  if (!conv3d_forward_bytes(conv, &n->scratch_bytes))
    return node_fail(n, STATUS_OUT_OF_MEMORY, "its images are too large");
  return STATUS_OK;
}

void conv_op_run(const Node *n) {
  conv3d_forward(n->params, in_f32(n, 0), in_f32(n, 1), has_in(n, 2) ? in_f32(n, 2) : NULL, out_f32(n, 0), n->scratch);
}

static Status conv_grad(Grad *g) {
  Node *n = g->node;
  bool want[3] = {g->want[0], g->want[1], n->in_count > 2 && g->want[2]};
  Node *grad = emit_node(g->graph, "ConvGrad", node_attrs(n), (Value *[]){g->dy[0], n->in[0], n->in[1]}, 3,
                         want[2] ? 3 : 2, want);
  for (int i = 0; grad && i < 3; i++)
    if (want[i]) g->dx[i] = grad->out[i];
  return STATUS_OK;
}

OPERATOR(conv) = {
    .name = "Conv",
    .since = {1, 11},
    .inputs = {2, 3},
    .weights = 2,
    .biases = 4,
    .flags = OP_COSTLY,
    .infer = conv_op_infer,
    .run = conv_op_run,
    .grad = GRADIENT(conv_grad),
    .work = conv_work,
    .cases = CASES(
        {"f32[2,3,5,7] f32[4,3,3,3] f32[4]", "pads=[1,1,1,1]"}, {"f32[2,3,5,7] f32[4,3,3,2]", ""},
        {"f32[5,2,18,17] f32[3,2,2,3]", "pads=[0,1,1,1]"}, {"f32[2,20,5,6] f32[20,1,2,3]", "group=20 pads=[1,1,0,1]"},
        {"f32[1,2,11,11] f32[2,1,3,3]", "group=2 strides=[5,5] dilations=[2,2] pads=[6,2,0,2]"},
        {"f32[1,20,6,7] f32[20,1,3,3] f32[20]", "group=20 pads=[1,1,1,1]"},
        {"f32[1,2,6,9] f32[3,2,3,3] f32[3]", "pads=[0,2,1,0] strides=[2,3]"},
        {"f32[1,2,9,8] f32[3,2,2,3]", "dilations=[3,2] pads=[1,2,0,3]"},
        {"f32[1,2,9,8] f32[3,2,3,3]", "dilations=[2,3] strides=[3,2] pads=[2,3,2,3]"},
        {"f32[2,3,4,5] f32[6,3,1,1] f32[6]", ""}, {"f32[2,3,5,5] f32[2,3,1,1]", "strides=[2,2]"},
        {"f32[1,1,3,3] f32[2,1,1,1]", "pads=[2,2,2,2]"}, {"f32[2,4,5,6] f32[6,2,3,3] f32[6]", "group=2 pads=[1,1,1,1]"},
        {"f32[2,4,5,6] f32[4,2,2,2]", "group=2 strides=[2,2]"},
        {"f32[2,5,6,7] f32[5,1,3,3] f32[5]", "group=5 pads=[1,1,1,1]"},
        {"f32[1,3,7,9] f32[6,1,3,3]", "group=3 strides=[2,2] pads=[1,1,1,1]"},
        {"f32[1,2,9,8] f32[2,1,3,2]", "group=2 dilations=[2,3] pads=[2,0,1,3]"},
        {"f32[2,3,9,9] f32[6,1,3,3]", "group=3 strides=[4,4] dilations=[2,3] pads=[1,2,1,2]"},
        {"f32[2,1,6,10] f32[5,1,3,3]", "pads=[1,1,1,1]"},
        {"f32[1,2,6,7] f32[2,2,3,4]", "auto_pad=SAME_UPPER strides=[2,1]"},
        {"f32[1,2,6,7] f32[2,2,4,2]", "auto_pad=SAME_LOWER strides=[1,2]"},
        {"f32[1,2,6,7] f32[2,2,3,2]", "auto_pad=VALID kernel_shape=[3,2]"},
        {"f32[2,3,9] f32[4,3,3] f32[4]", "pads=[2,1] strides=[2]", 10}, {"f32[2,4,9] f32[4,1,4]", "group=4 pads=[1,2]"},
        {"f32[2,2,4,5,6] f32[3,2,3,2,3] f32[3]", "pads=[1,0,1,2,1,0] strides=[2,1,2]"},
        {"f32[1,4,5,4,4] f32[4,2,2,3,2]", "group=2 dilations=[2,1,2] pads=[1,1,1,1,1,1]"},
        {"f32[2,3,3,4,4] f32[6,1,2,3,3] f32[6]", "group=3 auto_pad=SAME_UPPER"},
        {"f32[2,3,4,4,5] f32[3,1,3,3,3] f32[3]", "group=3 pads=[1,1,1,1,1,1]"},
        {"f32[2,2,3,5,4] f32[2,1,2,3,2]", "group=2 strides=[1,2,2] dilations=[2,1,1]"},
        {"f32[2,3,5,3,4] f32[2,3,3,1,1] f32[2]", "pads=[1,0,0,1,0,0] strides=[2,1,1]"},
        {"f32[1,4,2,3,3] f32[6,2,1,1,1]", "group=2"}),
};
