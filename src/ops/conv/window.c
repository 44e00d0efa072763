/* Reading the attributes of sliding windows and working out their sizes. */
#include "ops/conv/window.h"
#include <string.h>

enum { LARGEST = 1 << 24 }; /* limit of a kernel, stride, dilation or pad: keeps every sum far from overflow */

Status window_list(const Node *n, const char *name, int count, int64_t least, int64_t otherwise, int64_t *out) {
  int given;
  const int64_t *list = node_ints(n, name, &given);
  if (list && given != count)
    return node_invalid(n, "%s must have %d numbers for this input, it has %d", name, count, given);
  for (int i = 0; i < count; i++) {
    out[i] = list ? list[i] : otherwise;
    if (out[i] < least || out[i] > LARGEST)
      return node_invalid(n, "%s must be numbers from %lld to %d, one is %lld", name, (long long)least, LARGEST,
                          (long long)out[i]);
  }
  return STATUS_OK;
}

static Status read_kernel(const Node *n, const Dim *kernel, WindowAttrs *out) {
  int given;
  if (!kernel && !node_ints(n, "kernel_shape", &given)) return node_invalid(n, "the attribute kernel_shape is missing");
  TRY(window_list(n, "kernel_shape", out->rank, 1, 1, out->kernel));
  if (!kernel) return STATUS_OK;
  bool stated = node_ints(n, "kernel_shape", &given) != NULL;
  for (int a = 0; a < out->rank; a++) {
    if (!dim_is_number(kernel[a])) { /* 0 where nothing says it */
      if (!stated) out->kernel[a] = 0;
      continue;
    }
    if (stated && kernel[a] != out->kernel[a])
      return node_invalid(n, "kernel_shape says %lld, W has %lld", (long long)out->kernel[a], (long long)kernel[a]);
    if (kernel[a] < 1 || kernel[a] > LARGEST)
      return node_invalid(n, "a kernel of size %lld slides over nothing", (long long)kernel[a]);
    out->kernel[a] = kernel[a];
  }
  return STATUS_OK;
}

static Status read_padding(const Node *n, WindowAttrs *out) {
  static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  const char *given = node_string(n, "auto_pad", names[0]);
  int i = 0;
  while (i < 4 && strcmp(given, names[i]) != 0) i++;
  if (i == 4) return node_invalid(n, "auto_pad must be NOTSET, SAME_UPPER, SAME_LOWER or VALID, it is '%.32s'", given);
  out->padding = i;
  int64_t pads[6];
  TRY(window_list(n, "pads", 2 * out->rank, 0, 0, pads));
  for (int a = 0; a < out->rank && i == PAD_EXPLICIT; a++) {
    out->pad_begin[a] = pads[a];
    out->pad_end[a] = pads[a + out->rank];
  }
  return STATUS_OK;
}

Status window_attrs(const Node *n, int rank, const Dim *kernel, WindowAttrs *out) {
  *out = (WindowAttrs){.rank = rank};
  if (rank < 1 || rank > 3)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "it slides over %d dimensions, we can do 1 to 3", rank);
  TRY(read_kernel(n, kernel, out));
  TRY(window_list(n, "strides", rank, 1, 1, out->stride));
  TRY(window_list(n, "dilations", rank, 1, 1, out->dilation));
  TRY(read_padding(n, out));
  out->ceil_mode = node_int(n, "ceil_mode", 0) != 0;
  return STATUS_OK;
}

static bool keeps_size(const WindowAttrs *w, int a) {
  if (w->stride[a] != 1) return false;
  if (w->padding == PAD_SAME_UPPER || w->padding == PAD_SAME_LOWER) return true;
  return w->pad_begin[a] + w->pad_end[a] == window_reach(w, a) - 1;
}

Status window_out_dim(const Node *n, const WindowAttrs *w, int a, Dim in, Dim *out) {
  if (!dim_is_number(in) || !w->kernel[a]) {
    *out = keeps_size(w, a) ? in : graph_fresh_dim(n->graph);
    return STATUS_OK;
  }
  if (in == 0) return node_invalid(n, "the input has size 0 along spatial dimension %d", a);
  if (in > (Dim)1 << 40) return node_fail(n, STATUS_OUT_OF_MEMORY, "an image of size %lld does not fit", (long long)in);
  if (w->padding == PAD_SAME_UPPER || w->padding == PAD_SAME_LOWER) {
    *out = (in + w->stride[a] - 1) / w->stride[a];
    return STATUS_OK;
  }
  int64_t padded = in + w->pad_begin[a] + w->pad_end[a], room = padded - window_reach(w, a);
  if (room < 0)
    return node_invalid(n, "the kernel spans %lld along spatial dimension %d, the padded input only %lld",
                        (long long)window_reach(w, a), a, (long long)padded);
  *out = room / w->stride[a] + 1;
  /* ceil_mode adds a last window that extends beyond the end, but not one that would start beyond the input. */
  if (w->ceil_mode && room % w->stride[a] && *out * w->stride[a] < in + w->pad_begin[a]) ++*out;
  return STATUS_OK;
}

static size_t pad_before(const WindowAttrs *w, int a, Dim in, Dim out) {
  if (w->padding != PAD_SAME_UPPER && w->padding != PAD_SAME_LOWER) return (size_t)w->pad_begin[a];
  int64_t total = (out - 1) * w->stride[a] + window_reach(w, a) - in;
  if (total < 0) total = 0;
  return (size_t)(w->padding == PAD_SAME_UPPER ? total / 2 : total - total / 2);
}

static void set_axis(Window *w, int to, const WindowAttrs *attrs, int a, const Shape *x, const Shape *y) {
  Dim in = x->dim[2 + a], out = y->dim[2 + a];
  w->in[to] = (size_t)in;
  w->out[to] = (size_t)out;
  w->kernel[to] = (size_t)attrs->kernel[a];
  w->stride[to] = (size_t)attrs->stride[a];
  w->dilation[to] = (size_t)attrs->dilation[a];
  w->pad[to] = pad_before(attrs, a, in, out);
}

static const Window window_none = {.in = {1, 1}, .out = {1, 1}, .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};

Window window_of(const WindowAttrs *attrs, const Shape *x, const Shape *y) {
  Window w = window_none;
  for (int a = attrs->rank == 3; a < attrs->rank; a++)
    set_axis(&w, a + 2 - attrs->rank, attrs, a, x, y); /* one dimension goes to the columns */
  return w;
}

Window window_depth_of(const WindowAttrs *attrs, const Shape *x, const Shape *y) {
  Window w = window_none;
  if (attrs->rank == 3) set_axis(&w, 0, attrs, 0, x, y);
  return w;
}
