/* Random networks: decoded so that every one is valid, and written as ONNX. */
#include "net.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "builder.h"

static const char *const binary_names[NET_BINARIES] = {"Add", "Sub", "Mul", "Div", "Max", "Min"};
static const char *const reduce_names[NET_REDUCES] = {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceSumSquare"};
static const char *const view_names[NET_VIEWS] = {"Identity", "Reshape", "Flatten", "Unsqueeze", "Squeeze"};

size_t net_count(const NetValue *v, int batch) {
  size_t count = 1;
  for (int i = 0; i < v->rank; i++) count *= (size_t)(v->dim[i] < 0 ? batch : v->dim[i]);
  return count;
}

/* ---- decoding ---- */

static int add_value(Net *net, int rank, const int *dims) {
  NetValue *v = &net->values[net->value_count];
  snprintf(v->name, sizeof v->name, "v%d", net->value_count);
  v->rank = rank;
  for (int i = 0; i < rank; i++) v->dim[i] = dims[i];
  return net->value_count++;
}

/* Small numbers of both signs around `middle`. */
static int add_parameter(Net *net, int rank, const int *dims, float middle, float width) {
  int at = add_value(net, rank, dims);
  NetValue *v = &net->values[at];
  size_t count = net_count(v, 0);
  v->data = ARENA_ARRAY(&net->arena, float, count + 1);
  for (size_t i = 0; i < count; i++)
    v->data[i] = middle + width * (float)((int)((i * 7919 + (size_t)at * 104729) % 2003) - 1001) / 1001;
  return at;
}

static int vector(Net *net, int count, float middle, float width) {
  return add_parameter(net, 1, &count, middle, width);
}

/* Takes the step; its output has the dims given. False where that is too large. */
static bool add_step(Net *net, NetStep s, int rank, const int *dims) {
  size_t count = 1;
  for (int i = 1; i < rank; i++) count *= (size_t)dims[i];
  if (count == 0 || count > NET_ELEMENTS) return false;
  s.out = add_value(net, rank, dims);
  net->steps[net->step_count++] = s;
  return true;
}

static int any_activation(const Net *net, Input *in) {
  int list[NET_VALUES], count = 0;
  for (int i = 0; i < net->value_count; i++)
    if (!net->values[i].data) list[count++] = i;
  int back = input_byte(in);
  return back < 160 ? list[count - 1] : list[back % count];
}

/* Another activation of the same shape, or a parameter that is broadcast. */
static int partner_of(Net *net, const NetValue *x, Input *in, bool far_from_zero) {
  int choice = input_byte(in), one[NET_RANK], rank = choice / 4 % x->rank;
  for (int i = net->value_count - 1; i >= 0 && choice % 2 && !far_from_zero; i--) {
    const NetValue *v = &net->values[i];
    if (!v->data && v != x && v->rank == x->rank && memcmp(v->dim, x->dim, sizeof(int) * (size_t)x->rank) == 0)
      return i;
  }
  for (int i = 0; i < rank; i++) one[i] = choice >> (5 + i % 3) & 1 ? 1 : x->dim[x->rank - rank + i];
  return add_parameter(net, rank, one, far_from_zero ? 1.5f : 0, 0.7f);
}

static bool decode_product(Net *net, NetStep s, const NetValue *x, Input *in) {
  int k = x->dim[x->rank - 1], m = 1 + input_below(in, 9), dims[NET_RANK];
  if (x->rank < 2) return false;
  memcpy(dims, x->dim, sizeof dims);
  dims[x->rank - 1] = m;
  s.p[0] = s.op == NET_GEMM && input_below(in, 2); /* transB */
  if (s.op == NET_GEMM && x->rank != 2) s.op = NET_MATMUL, s.p[0] = 0;
  s.in[1] = add_parameter(net, 2, s.p[0] ? (int[]){m, k} : (int[]){k, m}, 0, 0.6f), s.in_count = 2;
  s.f = s.op == NET_GEMM && input_below(in, 2) ? 0.5f : 1;
  if (s.op == NET_GEMM && input_below(in, 3))
    s.in[2] = vector(net, input_below(in, 3) ? m : 1, 0, 0.5f), s.in_count = 3;
  return add_step(net, s, x->rank, dims);
}

static int size_out(int size, int kernel, int stride, int pad, int dilation) {
  int span = dilation * (kernel - 1) + 1;
  return size + 2 * pad < span ? 0 : (size + 2 * pad - span) / stride + 1;
}

/* p: kernel, stride, pad, dilation, group; of a pool, whether zeros of the pad count. */
static bool decode_window(Net *net, NetStep s, const NetValue *x, Input *in) {
  if (x->rank != 4) return false;
  int kernel = 1 + input_below(in, 3), stride = 1 + input_below(in, 2), pad = input_below(in, kernel),
      dilation = 1 + (s.op == NET_CONV && input_below(in, 3) == 0), c = x->dim[1];
  int group = s.op == NET_CONV && input_below(in, 3) == 0 ? c : 1,
      out = s.op == NET_CONV ? group * (1 + input_below(in, group > 1 ? 2 : 5)) : c;
  int dims[] = {-1, out, size_out(x->dim[2], kernel, stride, pad, dilation),
                size_out(x->dim[3], kernel, stride, pad, dilation)};
  s.kind = input_below(in, 2);
  s.p[0] = kernel, s.p[1] = stride, s.p[2] = pad, s.p[3] = dilation, s.p[4] = group, s.p[5] = input_below(in, 2);
  if (dims[2] == 0 || dims[3] == 0) return false;
  if (s.op == NET_CONV) {
    s.in[1] = add_parameter(net, 4, (int[]){out, c / group, kernel, kernel}, 0, 0.5f), s.in_count = 2;
    if (input_below(in, 2)) s.in[2] = vector(net, out, 0, 0.5f), s.in_count = 3;
  }
  return add_step(net, s, 4, dims);
}

static bool decode_norm(Net *net, NetStep s, const NetValue *x, Input *in) {
  int channels = s.op == NET_BATCH_NORM ? x->dim[1] : x->dim[x->rank - 1];
  if (x->rank < 2) return false;
  s.f = 0.05f; /* so large that a batch without variance does not blow up rounding */
  s.in[1] = vector(net, channels, 1, 0.4f), s.in[2] = vector(net, channels, 0, 0.4f), s.in_count = 3;
  if (s.op == NET_BATCH_NORM)
    s.in[3] = vector(net, channels, 0, 0.3f), s.in[4] = vector(net, channels, 1, 0.5f), s.in_count = 5;
  return add_step(net, s, x->rank, x->dim);
}

static bool decode_view(Net *net, NetStep s, const NetValue *x, Input *in) {
  int dims[NET_RANK + 1] = {-1}, all = (int)net_count(x, 1), rank = 2, axis = 1 + input_below(in, x->rank);
  s.kind = input_below(in, NET_VIEWS);
  s.p[0] = axis;
  if (s.kind == NET_IDENTITY) return add_step(net, s, x->rank, x->dim);
  if (s.kind == NET_FLATTEN) return dims[1] = all, add_step(net, s, 2, dims);
  if (s.kind == NET_RESHAPE) {
    int first = 2 + input_below(in, 3);
    dims[1] = all;
    if (all % first == 0) dims[1] = first, dims[2] = all / first, rank = 3;
    if (rank == 3 && dims[2] % 2 == 0 && input_below(in, 2)) dims[3] = 2, dims[2] /= 2, rank = 4;
    return add_step(net, s, rank, dims);
  }
  rank = s.kind == NET_UNSQUEEZE ? x->rank + 1 : x->rank - 1;
  if (rank > NET_RANK || (s.kind == NET_SQUEEZE && (axis >= x->rank || x->dim[axis] != 1))) return false;
  for (int i = 1, from = 1; i < rank; i++) {
    if (s.kind == NET_SQUEEZE && from == axis) from++;
    dims[i] = s.kind == NET_UNSQUEEZE && i == axis ? 1 : x->dim[from++];
  }
  return add_step(net, s, rank, dims);
}

static bool decode_transpose(Net *net, NetStep s, const NetValue *x, Input *in) {
  int dims[NET_RANK] = {-1};
  for (int i = 0; i < x->rank; i++) s.p[i] = i;
  for (int i = x->rank - 1; i > 1; i--) {
    int k = 1 + input_below(in, i), was = s.p[i];
    s.p[i] = s.p[k], s.p[k] = was;
  }
  for (int i = 1; i < x->rank; i++) dims[i] = x->dim[s.p[i]];
  return add_step(net, s, x->rank, dims);
}

/* p[0] is the axis of what follows. */
static bool decode_along(Net *net, NetStep s, const NetValue *x, Input *in) {
  int dims[NET_RANK], rank = x->rank, axis = s.p[0] = 1 + input_below(in, x->rank > 1 ? x->rank - 1 : 1), size;
  if (x->rank < 2) return false;
  memcpy(dims, x->dim, sizeof dims);
  size = dims[axis];
  if (s.op == NET_SOFTMAX) s.kind = input_below(in, 2);
  else if (s.op == NET_SLICE) {
    s.p[3] = 1 + input_below(in, 2), s.p[1] = input_below(in, size),
    s.p[2] = s.p[1] + 1 + input_below(in, size - s.p[1]);
    dims[axis] = (s.p[2] - s.p[1] + s.p[3] - 1) / s.p[3];
  } else if (s.op == NET_PAD)
    s.p[1] = input_below(in, 3), s.p[2] = input_below(in, 3), s.f = 0.25f, dims[axis] = size + s.p[1] + s.p[2];
  else if (s.op == NET_GATHER) {
    for (int i = 1; i <= 3; i++) s.p[i] = input_below(in, size);
    dims[axis] = 3;
  } else if (s.op == NET_REDUCE) {
    s.kind = input_below(in, NET_REDUCES), s.p[1] = input_below(in, 2);
    if (s.p[1]) dims[axis] = 1;
    else memmove(dims + axis, dims + axis + 1, sizeof(int) * (size_t)(--rank - axis));
  }
  return add_step(net, s, rank, dims);
}

static bool decode_concat(Net *net, NetStep s, const NetValue *x, Input *in) {
  int axis = s.p[0] = 1 + input_below(in, x->rank > 1 ? x->rank - 1 : 1), dims[NET_RANK];
  if (x->rank < 2) return false;
  memcpy(dims, x->dim, sizeof dims);
  s.in[1] = s.in[0], s.in_count = 2;
  for (int i = net->value_count - 1; i >= 0; i--) {
    const NetValue *v = &net->values[i];
    bool fits = !v->data && i != s.in[0] && v->rank == x->rank;
    for (int k = 0; k < x->rank && fits; k++) fits = k == axis || v->dim[k] == x->dim[k];
    if (fits) {
      s.in[1] = i;
      break;
    }
  }
  dims[axis] += net->values[s.in[1]].dim[axis];
  return add_step(net, s, x->rank, dims);
}

static bool decode_step(Net *net, Input *in) {
  NetStep s = {.op = (NetOp)input_below(in, NET_OPS), .in_count = 1};
  s.in[0] = any_activation(net, in);
  NetValue x = net->values[s.in[0]];
  switch (s.op) {
    case NET_UNARY: return s.kind = input_below(in, net_unary_count), add_step(net, s, x.rank, x.dim);
    case NET_BINARY:
      s.kind = input_below(in, NET_BINARIES);
      s.in[1] = partner_of(net, &x, in, s.kind == NET_DIV), s.in_count = 2;
      return add_step(net, s, x.rank, x.dim);
    case NET_MATMUL:
    case NET_GEMM: return decode_product(net, s, &x, in);
    case NET_CONV:
    case NET_POOL: return decode_window(net, s, &x, in);
    case NET_GLOBAL_POOL: return x.rank == 4 && add_step(net, s, 4, (int[]){-1, x.dim[1], 1, 1});
    case NET_BATCH_NORM:
    case NET_LAYER_NORM: return decode_norm(net, s, &x, in);
    case NET_DROPOUT: return net->random = true, s.f = 0.3f, add_step(net, s, x.rank, x.dim);
    case NET_VIEW: return decode_view(net, s, &x, in);
    case NET_TRANSPOSE: return decode_transpose(net, s, &x, in);
    case NET_CONCAT: return decode_concat(net, s, &x, in);
    default: return decode_along(net, s, &x, in);
  }
}

void net_decode(Net *net, Input *in) {
  static const int shapes[][NET_RANK] = {{2, -1, 6}, {3, -1, 4, 3},    {4, -1, 3, 6, 5},
                                         {2, -1, 1}, {4, -1, 4, 7, 7}, {3, -1, 1, 8}};
  memset(net, 0, sizeof *net);
  const int *shape = shapes[input_below(in, 6)];
  net->input_count = 1 + input_below(in, 2);
  for (int i = 0; i < net->input_count; i++) add_value(net, shape[0], shape + 1);
  while (in->at < in->end && net->step_count < NET_STEPS - 2 && net->value_count < NET_VALUES - 16)
    decode_step(net, in);
  NetStep last = {.op = NET_VIEW, .kind = NET_FLATTEN, .in_count = 1, .p = {1}};
  last.in[0] = net->step_count ? net->steps[net->step_count - 1].out : 0;
  int all = (int)net_count(&net->values[last.in[0]], 1);
  add_step(net, last, 2, (int[]){-1, all});
  NetStep scores = {.op = NET_GEMM, .in_count = 3, .f = 1};
  scores.in[0] = net->value_count - 1;
  scores.in[1] = add_parameter(net, 2, (int[]){all, NET_CLASSES}, 0, 0.5f),
  scores.in[2] = vector(net, NET_CLASSES, 0, 0.2f);
  add_step(net, scores, 2, (int[]){-1, NET_CLASSES});
}

/* ---- writing ---- */

static void write_dims(const NetValue *v, int64_t *dims) {
  for (int i = 0; i < v->rank; i++) dims[i] = v->dim[i];
}

static void write_window(Builder *b, Onnx__NodeProto *n, const NetStep *s) {
  builder_int_list(b, n, "kernel_shape", (int64_t[]){s->p[0], s->p[0]}, 2);
  builder_int_list(b, n, "strides", (int64_t[]){s->p[1], s->p[1]}, 2);
  builder_int_list(b, n, "pads", (int64_t[]){s->p[2], s->p[2], s->p[2], s->p[2]}, 4);
  if (s->op == NET_CONV)
    builder_int_list(b, n, "dilations", (int64_t[]){s->p[3], s->p[3]}, 2), builder_int(b, n, "group", s->p[4]);
  else if (s->kind) builder_int(b, n, "count_include_pad", s->p[5]);
}

static const char *op_name(const NetStep *s) {
  static const char *const names[NET_OPS] = {[NET_MATMUL] = "MatMul",
                                             [NET_GEMM] = "Gemm",
                                             [NET_CONV] = "Conv",
                                             [NET_GLOBAL_POOL] = "GlobalAveragePool",
                                             [NET_BATCH_NORM] = "BatchNormalization",
                                             [NET_LAYER_NORM] = "LayerNormalization",
                                             [NET_DROPOUT] = "Dropout",
                                             [NET_TRANSPOSE] = "Transpose",
                                             [NET_CONCAT] = "Concat",
                                             [NET_SLICE] = "Slice",
                                             [NET_PAD] = "Pad",
                                             [NET_GATHER] = "Gather"};
  switch (s->op) {
    case NET_UNARY: return net_unary[s->kind].name;
    case NET_BINARY: return binary_names[s->kind];
    case NET_REDUCE: return reduce_names[s->kind];
    case NET_VIEW: return view_names[s->kind];
    case NET_POOL: return s->kind ? "AveragePool" : "MaxPool";
    case NET_SOFTMAX: return s->kind ? "LogSoftmax" : "Softmax";
    default: return names[s->op];
  }
}

/* An input that is numbers and no value of ours: a Constant of the step's own. */
static const char *constant(Builder *b, const NetStep *s, const char *what, const int64_t *ints, int count) {
  const char *name = arena_print(&b->arena, "c%d_%s", s->out, what);
  builder_ints(b, name, ints, count);
  return name;
}

static int write_constants(Builder *b, const Net *net, const NetStep *s, const char **in, int n) {
  const NetValue *x = &net->values[s->in[0]], *y = &net->values[s->out];
  int64_t axis = s->p[0], dims[2 * NET_RANK] = {0};
  if (s->op == NET_VIEW && s->kind == NET_RESHAPE) {
    for (int i = 0; i < y->rank; i++) dims[i] = i ? y->dim[i] : s->p[0] % 2 ? 0 : -1; /* 0: as it is */
    in[n++] = constant(b, s, "shape", dims, y->rank);
  }
  if ((s->op == NET_VIEW && (s->kind == NET_UNSQUEEZE || s->kind == NET_SQUEEZE)) ||
      (s->op == NET_REDUCE && s->kind == NET_SUM))
    in[n++] = constant(b, s, "axes", &axis, 1);
  if (s->op == NET_SLICE) {
    in[n++] = constant(b, s, "starts", (int64_t[]){s->p[1]}, 1),
    in[n++] = constant(b, s, "ends", (int64_t[]){s->p[2]}, 1);
    in[n++] = constant(b, s, "axes", &axis, 1), in[n++] = constant(b, s, "steps", (int64_t[]){s->p[3]}, 1);
  }
  if (s->op == NET_PAD) {
    static const int64_t none[1] = {0};
    const char *value = arena_print(&b->arena, "c%d_value", s->out);
    dims[axis] = s->p[1], dims[axis + x->rank] = s->p[2];
    in[n++] = constant(b, s, "pads", dims, 2 * x->rank);
    builder_float(b, builder_node(b, "Constant", "", NULL, (int)none[0], value), "value_float", s->f);
    in[n++] = value;
  }
  if (s->op == NET_GATHER) in[n++] = constant(b, s, "indices", (int64_t[]){s->p[1], s->p[2], s->p[3]}, 3);
  if (s->op == NET_DROPOUT) {
    const char *ratio = arena_print(&b->arena, "c%d_ratio", s->out);
    builder_float(b, builder_node(b, "Constant", "", NULL, 0, ratio), "value_float", s->f);
    in[n++] = ratio;
  }
  return n;
}

static void write_attributes(Builder *b, Onnx__NodeProto *n, const Net *net, const NetStep *s) {
  int64_t perm[NET_RANK];
  switch (s->op) {
    case NET_GEMM: builder_int(b, n, "transB", s->p[0]), builder_float(b, n, "alpha", s->f); return;
    case NET_CONV:
    case NET_POOL: write_window(b, n, s); return;
    case NET_BATCH_NORM:
    case NET_LAYER_NORM: builder_float(b, n, "epsilon", s->f); return;
    case NET_SOFTMAX:
    case NET_CONCAT:
    case NET_GATHER: builder_int(b, n, "axis", s->p[0]); return;
    case NET_REDUCE:
      builder_int(b, n, "keepdims", s->p[1]);
      if (s->kind != NET_SUM) builder_int_list(b, n, "axes", (int64_t[]){s->p[0]}, 1);
      return;
    case NET_TRANSPOSE:
      for (int i = 0; i < net->values[s->out].rank; i++) perm[i] = s->p[i];
      builder_int_list(b, n, "perm", perm, net->values[s->out].rank);
      return;
    case NET_VIEW:
      if (s->kind == NET_FLATTEN) builder_int(b, n, "axis", 1);
      return;
    default: return;
  }
}

static void write_step(Builder *b, const Net *net, const NetStep *s) {
  const char *in[8];
  int n = 0;
  for (; n < s->in_count; n++) in[n] = net->values[s->in[n]].name;
  n = write_constants(b, net, s, in, n);
  write_attributes(b, builder_node(b, op_name(s), "", in, n, net->values[s->out].name), net, s);
}

uint8_t *net_write(const Net *net, size_t *bytes) {
  static Builder b;
  int64_t dims[NET_RANK];
  builder_begin(&b, 17);
  for (int i = 0; i < net->value_count; i++) {
    const NetValue *v = &net->values[i];
    write_dims(v, dims);
    if (i < net->input_count) builder_input(&b, v->name, "N", v->rank, dims);
    else if (v->data) builder_floats(&b, v->name, v->rank, dims, v->data);
  }
  for (int i = 0; i < net->step_count; i++) write_step(&b, net, &net->steps[i]);
  const NetValue *last = &net->values[net->steps[net->step_count - 1].out];
  write_dims(last, dims);
  builder_output(&b, last->name, "N", last->rank, dims);
  return builder_end(&b, bytes);
}
