/* Unrolling and folding the depth of a convolution. */
#include "kernels/conv_depth.h"

#include <string.h>

#include "kernels/scratch.h"
#include "part.h"
#include "threads.h"

Conv3d conv3d_of(Conv conv, Window depth, bool deep) {
  Conv3d c = {.conv = conv, .depth = depth, .batch = conv.batch, .deep = deep};
  c.channels = conv.channels, c.features = conv.features;
  if (!deep) return c;
  c.conv.batch *= depth.out[0];
  c.conv.channels *= depth.kernel[0];
  if (conv.groups != conv.channels || conv.groups != conv.features) return c;
  c.conv.groups = c.conv.features = c.conv.channels;
  return c;
}

typedef struct Deep {
  const Conv3d *c;
  const float *from, *bias;
  float *to;
  float *x, *y; /* the images on both sides */
  void *conv;   /* the convolution's own scratch */
} Deep;

/* conv_bytes: what the convolution of the images asks for. */
static bool deep_plan(const Conv3d *c, size_t conv_bytes, Deep *d, Scratch *s) {
  const Window *w = &c->conv.window;
  size_t x, y;
  if (!size_multiply(c->conv.channels, window_in(w), &x) || !size_multiply(c->conv.features, window_out(w), &y))
    return false;
  d->c = c;
  d->x = scratch_take(s, c->conv.batch, x, sizeof(float));
  d->y = scratch_take(s, c->conv.batch, y, sizeof(float));
  d->conv = scratch_take(s, conv_bytes, 1, 1);
  return !s->overflow;
}

static bool deep_bytes(const Conv3d *c, bool (*of_images)(const Conv *, size_t *), size_t *bytes) {
  Deep d;
  Scratch s = {0};
  size_t counted;
  if (!size_multiply(c->batch, c->depth.out[0], &counted) ||
      !size_multiply(c->channels, c->depth.kernel[0], &counted) || !of_images(&c->conv, bytes))
    return false;
  bool fits = deep_plan(c, *bytes, &d, &s);
  *bytes = s.used;
  return fits;
}

OPTIONAL(conv_depth_bytes, deep_bytes);

const char *conv3d_missing(const Conv3d *c, ConvDirection direction) {
  return c->deep && !part_conv_depth_bytes ? "convolutions over three dims" : conv_missing(&c->conv, direction);
}

static bool bytes_of(const Conv3d *c, bool (*of_images)(const Conv *, size_t *), size_t *bytes) {
  return c->deep ? part_conv_depth_bytes(c, of_images, bytes) : of_images(&c->conv, bytes);
}
bool conv3d_forward_bytes(const Conv3d *c, size_t *bytes) { return bytes_of(c, conv_forward_bytes, bytes); }
bool conv3d_input_gradient_bytes(const Conv3d *c, size_t *bytes) {
  return bytes_of(c, conv_input_gradient_bytes, bytes);
}
bool conv3d_weight_gradient_bytes(const Conv3d *c, size_t *bytes) {
  return bytes_of(c, conv_weight_gradient_bytes, bytes);
}

/* The x depth that kernel depth k of output depth `at` sees; false on padding. */
static bool depth_seen(const Window *d, size_t at, size_t k, size_t *seen) {
  size_t padded = at * d->stride[0] + k * d->dilation[0];
  *seen = padded - d->pad[0];
  return padded >= d->pad[0] && *seen < d->in[0];
}

/* Images from … to - 1 of the unrolled x. */
static void unroll(void *context, size_t from, size_t to) {
  const Deep *d = context;
  const Conv3d *c = d->c;
  const Window *depth = &c->depth;
  size_t plane = window_in(&c->conv.window), at;
  float *images = d->to + from * c->conv.channels * plane;
  for (size_t image = from; image < to; image++) {
    const float *x = d->from + image / depth->out[0] * c->channels * depth->in[0] * plane;
    for (size_t ch = 0; ch < c->channels; ch++)
      for (size_t k = 0; k < depth->kernel[0]; k++, images += plane) {
        if (depth_seen(depth, image % depth->out[0], k, &at))
          memcpy(images, x + (ch * depth->in[0] + at) * plane, plane * sizeof *x);
        else memset(images, 0, plane * sizeof *x);
      }
  }
}

/* Channels from … to - 1, over all of the batch, of x as the sum of what was unrolled from it. */
static void fold(void *context, size_t from, size_t to) {
  const Deep *d = context;
  const Conv3d *c = d->c;
  const Window *depth = &c->depth;
  size_t plane = window_in(&c->conv.window), at;
  float *x = d->to + from * depth->in[0] * plane;
  memset(x, 0, (to - from) * depth->in[0] * plane * sizeof *x);
  for (size_t i = from; i < to; i++, x += depth->in[0] * plane)
    for (size_t o = 0; o < depth->out[0]; o++)
      for (size_t k = 0; k < depth->kernel[0]; k++) {
        if (!depth_seen(depth, o, k, &at)) continue;
        size_t image = i / c->channels * depth->out[0] + o;
        const float *images = d->from + (image * c->conv.channels + i % c->channels * depth->kernel[0] + k) * plane;
        for (size_t p = 0; p < plane; p++) x[at * plane + p] += images[p];
      }
}

/* (N, A, B, plane) to (N, B, A, copies of each plane) */
static void turn(const float *from, float *to, size_t batch, size_t a, size_t b, size_t copies, size_t plane) {
  for (size_t n = 0; n < batch; n++)
    for (size_t j = 0; j < b; j++)
      for (size_t i = 0; i < a * copies; i++, to += plane)
        memcpy(to, from + ((n * a + i / copies) * b + j) * plane, plane * sizeof *to);
}

/* Planes of the images that add up to one of y. */
static size_t copies_of(const Conv3d *c) { return c->conv.features / c->features; }

static float clamped(const Conv *conv, float v) { return v < conv->low ? conv->low : v > conv->high ? conv->high : v; }

/* y of features from … to - 1, over all of the batch, as the sums of their kernels' depths. */
static void sum_depths(void *context, size_t from, size_t to) {
  const Deep *d = context;
  const Conv3d *c = d->c;
  const Conv *conv = &c->conv;
  size_t plane = window_out(&conv->window), copies = copies_of(c), depths = c->depth.out[0];
  for (size_t i = from; i < to; i++)
    for (size_t o = 0; o < depths; o++) {
      const float *images = d->from + ((i / c->features * depths + o) * c->features + i % c->features) * copies * plane;
      float *y = d->to + (i * depths + o) * plane, bias = d->bias ? d->bias[i % c->features] : 0;
      for (size_t p = 0; p < plane; p++) y[p] = bias + images[p];
      for (size_t k = 1; k < copies; k++)
        for (size_t p = 0; p < plane; p++) y[p] += images[k * plane + p];
      for (size_t p = 0; p < plane && conv->clamp; p++) y[p] = clamped(conv, y[p]);
    }
}

static Deep deep_of(const Conv3d *c, bool (*of_images)(const Conv *, size_t *), void *scratch) {
  Deep d;
  size_t conv_bytes;
  of_images(&c->conv, &conv_bytes);
  deep_plan(c, conv_bytes, &d, &(Scratch){.base = scratch});
  return d;
}

static void run_unroll(Deep *d, const float *x) {
  d->from = x, d->to = d->x;
  threads_split(d->c->conv.batch, threads_grain(d->c->conv.channels * window_in(&d->c->conv.window)), unroll, d);
}

static void turn_dy(const Deep *d, const float *dy) {
  const Conv3d *c = d->c;
  turn(dy, d->y, c->batch, c->features, c->depth.out[0], copies_of(c), window_out(&c->conv.window));
}

static void forward(const Conv3d *c, const float *x, const float *w, const float *bias, float *y, void *scratch) {
  Deep d = deep_of(c, conv_forward_bytes, scratch);
  run_unroll(&d, x);
  if (copies_of(c) == 1) {
    conv_forward(&c->conv, d.x, w, bias, d.y, d.conv);
    turn(d.y, y, c->batch, c->depth.out[0], c->features, 1, window_out(&c->conv.window));
    return;
  }
  Conv images = c->conv;
  images.clamp = false;
  conv_forward(&images, d.x, w, NULL, d.y, d.conv);
  d.from = d.y, d.to = y, d.bias = bias;
  threads_split(c->batch * c->features, threads_grain(conv3d_out(c) * copies_of(c)), sum_depths, &d);
}

static void input_gradient(const Conv3d *c, const float *dy, const float *w, float *dx, void *scratch) {
  Deep d = deep_of(c, conv_input_gradient_bytes, scratch);
  turn_dy(&d, dy);
  conv_input_gradient(&c->conv, d.y, w, d.x, d.conv);
  d.from = d.x, d.to = dx;
  size_t each = c->depth.out[0] * c->depth.kernel[0] * window_in(&c->conv.window);
  threads_split(c->batch * c->channels, threads_grain(each), fold, &d);
}

static void weight_gradient(const Conv3d *c, const float *x, const float *dy, float *dw, void *scratch) {
  Deep d = deep_of(c, conv_weight_gradient_bytes, scratch);
  run_unroll(&d, x);
  turn_dy(&d, dy);
  conv_weight_gradient(&c->conv, d.x, d.y, dw, d.conv);
}

OPTIONAL(conv_depth_forward, forward);
OPTIONAL(conv_depth_input, input_gradient);
OPTIONAL(conv_depth_weights, weight_gradient);

void conv3d_forward(const Conv3d *c, const float *x, const float *w, const float *bias, float *y, void *scratch) {
  if (c->deep) part_conv_depth_forward(c, x, w, bias, y, scratch);
  else conv_forward(&c->conv, x, w, bias, y, scratch);
}

void conv3d_input_gradient(const Conv3d *c, const float *dy, const float *w, float *dx, void *scratch) {
  if (c->deep) part_conv_depth_input(c, dy, w, dx, scratch);
  else conv_input_gradient(&c->conv, dy, w, dx, scratch);
}

void conv3d_weight_gradient(const Conv3d *c, const float *x, const float *dy, float *dw, void *scratch) {
  if (c->deep) part_conv_depth_weights(c, x, dy, dw, scratch);
  else conv_weight_gradient(&c->conv, x, dy, dw, scratch);
}
