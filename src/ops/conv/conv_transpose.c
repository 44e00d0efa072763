/* ConvTranspose: the gradient of a convolution's input, as an operator:
 *   y[n, f, i · stride + k · dilation - pad] += x[n, c, i] w[c, f, k],  and + b[f]
 * So dx is a convolution of dy with w, and dw is that of a convolution in which x and dy have changed places. */
#include "graph/dims.h"
#include "ops/conv/conv.h"
#include "threads.h"
#include <string.h>

/* Sizes along one spatial dim: y = stride · (x - 1) + reach + more - pads, or y is given and the pads follow. */
static Status sizes_of(const Node *n, WindowAttrs *w, int a, Dim x, int64_t more, const int64_t *given, Dim *y) {
  bool same = w->padding == PAD_SAME_UPPER || w->padding == PAD_SAME_LOWER;
  int64_t over = window_reach(w, a) - w->stride[a] + more; /* elements of y beyond stride · x */
  if (!same && !given) {
    over -= w->pad_begin[a] + w->pad_end[a];
    if (!w->kernel[a]) return *y = graph_fresh_dim(n->graph), STATUS_OK;
  } else if (!w->kernel[a] || (given && !dim_is_number(x))) { /* then the pads are not known */
    w->pad_begin[a] = -1;
    return *y = given ? given[a] : dims_times(n->graph, x, w->stride[a]), STATUS_OK;
  } else {
    int64_t wanted = given ? given[a] - w->stride[a] * x : 0, total = over > wanted ? over - wanted : 0;
    w->pad_begin[a] = w->padding == PAD_SAME_UPPER ? total / 2 : total - total / 2;
    w->pad_end[a] = over - wanted - w->pad_begin[a]; /* below 0: zeros are added */
    over = wanted;
  }
  if (!dim_is_number(x)) return *y = w->stride[a] == 1 && over == 0 ? x : graph_fresh_dim(n->graph), STATUS_OK;
  *y = w->stride[a] * x + over;
  if (x < 1 || *y < 1)
    return node_invalid(n, "X of size %lld along spatial dimension %d gives an output of size %lld", (long long)x, a,
                        (long long)*y);
  return STATUS_OK;
}

/* Gives the pads as numbers, in whichever way they were given, or -1; `more` is output_padding. */
static Status read_sizes(const Node *n, WindowAttrs *w, int64_t more[3], Shape *y) {
  const Shape *x = &n->in[0]->shape;
  int given_count;
  int64_t given[3];
  bool stated = node_ints(n, "output_shape", &given_count) != NULL;
  TRY(window_attrs(n, x->rank - 2, n->in[1]->shape.dim + 2, w));
  TRY(window_list(n, "output_padding", w->rank, 0, 0, more));
  if (stated) TRY(window_list(n, "output_shape", w->rank, 1, 1, given));
  for (int a = 0; a < w->rank; a++) {
    if (dim_is_number(x->dim[2 + a]) && x->dim[2 + a] > (Dim)1 << 32)
      return node_fail(n, STATUS_OUT_OF_MEMORY, "an image of size %lld does not fit", (long long)x->dim[2 + a]);
    TRY(sizes_of(n, w, a, x->dim[2 + a], more[a], stated ? given : NULL, &y->dim[2 + a]));
  }
  return STATUS_OK;
}

static Status shapes_of(const Node *n, WindowAttrs *w, int64_t more[3], Shape *y) {
  for (int i = 0; i < 3; i++) TRY(node_want_float(n, i));
  TRY(node_want_rank(n, 0, 3, 5));
  const Shape *x = &n->in[0]->shape, *ws = &n->in[1]->shape;
  TRY(node_want_rank(n, 1, x->rank, x->rank));
  TRY(node_want_rank(n, 2, 1, 1));
  int64_t groups = node_int(n, "group", 1);
  Dim channels = x->dim[1], each = ws->dim[1];
  if (channels == 0 || !dims_meet(channels, ws->dim[0]))
    return node_invalid(n, "X has %lld channels, W is for %lld", (long long)channels, (long long)ws->dim[0]);
  if (groups < 1 || !dim_divides(channels, groups) || each == 0 || each > INT64_MAX / groups)
    return node_invalid(n, "group is %lld, it must divide the %lld channels of X", (long long)groups,
                        (long long)channels);
  *y = *x;
  y->dim[1] = dims_times(n->graph, each, groups);
  if (has_in(n, 2) && !dims_meet(n->in[2]->shape.dim[0], y->dim[1]))
    return node_invalid(n, "the bias has %lld numbers, W has %lld output channels", (long long)n->in[2]->shape.dim[0],
                        (long long)y->dim[1]);
  return read_sizes(n, w, more, y);
}

static Status conv_transpose_infer(Node *n) {
  WindowAttrs attrs;
  Shape y;
  int64_t more[3];
  TRY(shapes_of(n, &attrs, more, &y));
  TRY(node_output(n, 0, DTYPE_FLOAT32, &y));
  if (!node_is_concrete(n)) return STATUS_OK;
  Conv3d *conv = NODE_PARAMS(n, Conv3d);
  if (!conv) return STATUS_OUT_OF_MEMORY;
  attrs.padding = PAD_EXPLICIT;
  *conv = conv_of(n, &y, &n->in[1]->shape, &n->in[0]->shape, &attrs);
  TRY(conv_check_variant(n, conv, CONV_INPUT));
  if (!conv3d_input_gradient_bytes(conv, &n->scratch_bytes))
    return node_fail(n, STATUS_OUT_OF_MEMORY, "its images are too large");
  return STATUS_OK;
}

static void add_bias(void *context, size_t from, size_t to) {
  const Node *n = context;
  const Shape *s = &n->out[0]->shape;
  size_t pixels = shape_span(s, 2, s->rank);
  float *y = out_f32(n, 0) + from * pixels;
  for (size_t plane = from; plane < to; plane++, y += pixels) {
    float bias = in_f32(n, 2)[plane % (size_t)s->dim[1]];
    for (size_t i = 0; i < pixels; i++) y[i] += bias;
  }
}

static void conv_transpose_run(const Node *n) {
  const Shape *y = &n->out[0]->shape;
  conv3d_input_gradient(n->params, in_f32(n, 0), in_f32(n, 1), out_f32(n, 0), n->scratch);
  if (has_in(n, 2)) threads_split(shape_span(y, 0, 2), threads_grain(shape_span(y, 2, y->rank)), add_bias, (void *)n);
}

static Value *emit_sizes(Graph *g, Value *v) {
  return emit(g, "Slice", emit_shape(g, v), emit_ints(g, (int64_t[]){2}, 1), emit_ints(g, (int64_t[]){INT64_MAX}, 1));
}

static Value *emit_scaled(Graph *g, Value *v, const int64_t *times, int rank) {
  return emit(g, "Mul", emit_sizes(g, v), emit_ints(g, times, rank));
}

/* dy in the frame from which a convolution without pads gives x: begin + y + end = stride · (x - 1) + reach. `begin` is
 * given, or half of what y with output_padding has too little. */
static Value *emit_framed(Grad *grad, const WindowAttrs *w, const int64_t *more, Value *begin) {
  Graph *g = grad->graph;
  int64_t fixed[3];
  for (int a = 0; a < w->rank; a++) fixed[a] = 1 - w->stride[a] - w->dilation[a];
  Value *dy = grad->dy[0], *none = emit_ints(g, (int64_t[]){0, 0}, 2);
  Value *lack = emit(g, "Add", emit_scaled(g, grad->node->in[0], w->stride, w->rank),
                     emit_scaled(g, grad->node->in[1], w->dilation, w->rank));
  lack = emit(g, "Sub", emit(g, "Add", lack, emit_ints(g, fixed, w->rank)), emit_sizes(g, dy));
  if (!begin) {
    Value *total = emit(g, "Max", emit(g, "Add", lack, emit_ints(g, more, w->rank)), emit_int(g, 0));
    begin = emit(g, "Div", total, emit_int(g, 2));
    if (w->padding != PAD_SAME_UPPER) begin = emit(g, "Sub", total, begin);
  }
  Value *pads = emit_with(g, "Concat", ATTRS(attr_of_int("axis", 0)), none, begin, none, emit(g, "Sub", lack, begin));
  return emit(g, "Pad", dy, pads);
}

/* dy for the convolution from y to x, and its pads as numbers. y may extend beyond the last window (output_padding) by
 * a stride or more, which no Conv can do: that part of dy, to which no x contributes, is cut off. */
static Value *emit_turned(Grad *grad, const WindowAttrs *w, const int64_t *more, int64_t pads[6]) {
  bool known = true, cut = false;
  for (int a = 0; a < w->rank; a++) {
    int64_t left = w->pad_end[a] - more[a];
    known &= w->pad_begin[a] >= 0, cut |= left <= -w->stride[a];
    pads[a] = w->pad_begin[a];
    pads[w->rank + a] = left > 0 ? left : 0;
  }
  if (known && !cut) return grad->dy[0];
  Value *begin = known ? emit_ints(grad->graph, pads, w->rank) : NULL;
  memset(pads, 0, 6 * sizeof *pads);
  return emit_framed(grad, w, more, begin);
}

static Status conv_transpose_grad(Grad *grad) {
  Graph *g = grad->graph;
  Node *n = grad->node;
  WindowAttrs *w = ARENA_NEW(g->arena, WindowAttrs);
  if (!w) return STATUS_OUT_OF_MEMORY;
  Shape y;
  int64_t more[3], pads[6], axes[] = {0, 2, 3, 4};
  TRY(shapes_of(n, w, more, &y));
  bool sized = true;
  for (int a = 0; a < w->rank; a++) sized &= w->kernel[a] > 0;
  Value *dy = emit_turned(grad, w, more, pads);
  AttrList attrs = ATTRS(attr_of_ints("pads", pads, 2 * w->rank), attr_of_ints("strides", w->stride, w->rank),
                         attr_of_ints("dilations", w->dilation, w->rank), attr_of_int("group", node_int(n, "group", 1)),
                         attr_of_ints("kernel_shape", w->kernel, w->rank));
  if (!sized) attrs.count--;
  if (grad->want[0]) grad->dx[0] = emit_with(g, "Conv", attrs, dy, n->in[1]);
  if (grad->want[1]) {
    Node *conv = emit_node(g, "ConvGrad", attrs, (Value *[]){n->in[0], dy, n->in[1]}, 3, 2, (bool[]){false, true});
    if (conv) grad->dx[1] = conv->out[1];
  }
  if (n->in_count > 2 && grad->want[2])
    grad->dx[2] = emit_with(g, "ReduceSumTraining", ATTRS(attr_of_int("keepdims", 0)), grad->dy[0],
                            emit_ints(g, axes, w->rank + 1));
  return STATUS_OK;
}

static double conv_transpose_work(const Node *n) { return conv_work_of(n->in[0], n->in[1]); }

OPERATOR(conv_transpose) = {
    .name = "ConvTranspose",
    .since = {1, 11, 22},
    .inputs = {2, 3},
    .weights = 2,
    .biases = 4,
    .infer = conv_transpose_infer,
    .run = conv_transpose_run,
    .grad = GRADIENT(conv_transpose_grad),
    .work = conv_transpose_work,
    .cases = CASES({"f32[2,3,4,5] f32[3,2,3,3] f32[2]", ""},
                   {"f32[1,4,3,5] f32[4,3,3,2] f32[6]", "group=2 strides=[3,2] output_padding=[2,1] pads=[1,0,2,1]"},
                   {"f32[2,3,5,6] f32[3,1,4,4]", "group=3 strides=[2,2] pads=[1,1,1,1]"},
                   {"f32[2,1,4,4] f32[1,3,2,2]", "strides=[2,2]"},
                   {"f32[1,2,4,5] f32[2,3,2,3]", "dilations=[3,2] strides=[2,1] output_padding=[2,1]"},
                   {"f32[1,2,4,5] f32[2,2,3,2]", "auto_pad=SAME_UPPER strides=[2,3]"},
                   {"f32[1,2,4,5] f32[2,2,4,2]", "auto_pad=SAME_LOWER strides=[1,1]"},
                   {"f32[1,2,3,3] f32[2,2,3,3]", "strides=[3,2] output_shape=[8,9]"},
                   {"f32[2,3,7] f32[3,2,4] f32[2]", "strides=[3] pads=[2,1]", 1},
                   {"f32[1,2,3,2,4] f32[2,3,2,3,2] f32[3]",
                    "strides=[2,1,2] pads=[0,1,1,1,0,0] output_padding=[1,0,1]"},
                   {"f32[2,4,2,3,3] f32[4,1,2,2,3]", "group=2 dilations=[2,1,1]"},
                   {"f32[1,2,2,3,2] f32[2,1,2,2,2]", "dilations=[2,2,1] output_padding=[1,1,0]"},
                   {"f32[2,2,3,2,3] f32[2,1,2,3,2] f32[2]", "group=2 strides=[2,2,1]"},
                   {"f32[1,3,3,2,3] f32[3,2,2,1,1]", "strides=[2,1,1]"},
                   {"f32[1,2,2,3,3] f32[2,1,1,1,1]", "dilations=[1,2,2] output_padding=[0,1,1] pads=[0,1,1,0,0,0]"}),
};
