/* Convolutions: forward and both gradients by every algorithm against plain loops in double, in scratch of exactly the
 * size asked for. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernels/conv.h"
#include "trainlet.h"

typedef struct Shape {
  size_t batch, groups, channels, features, in[2], kernel[2], stride[2], dilation[2], pad[2], pad_end[2];
  bool clamp;
} Shape;

static Conv conv_of_shape(const Shape *s) {
  Conv conv = {.batch = s->batch,
               .groups = s->groups,
               .channels = s->channels,
               .features = s->features,
               .clamp = s->clamp,
               .low = -0.5f,
               .high = 1};
  Window *w = &conv.window;
  for (int a = 0; a < 2; a++) {
    w->in[a] = s->in[a], w->kernel[a] = s->kernel[a], w->pad[a] = s->pad[a];
    w->stride[a] = s->stride[a] ? s->stride[a] : 1;
    w->dilation[a] = s->dilation[a] ? s->dilation[a] : 1;
    w->out[a] = (s->in[a] + s->pad[a] + s->pad_end[a] - (s->kernel[a] - 1) * w->dilation[a] - 1) / w->stride[a] + 1;
  }
  return conv;
}

static float *floats(size_t count, unsigned salt) {
  float *p = malloc((count ? count : 1) * sizeof *p);
  for (size_t i = 0; i < count; i++) p[i] = (float)((i * 2654435761u + salt * 40503u) >> 7 & 1023) / 512 - 1;
  return p;
}

/* Everything three functions read and write; `size` adds up the terms' absolute values. */
typedef struct Sums {
  double *value, *size;
  size_t count;
} Sums;

static Sums sums_of(size_t count) {
  return (Sums){calloc(count ? count : 1, sizeof(double)), calloc(count ? count : 1, sizeof(double)), count};
}

static void sums_free(Sums *s) { free(s->value), free(s->size); }

static void add(Sums *s, size_t at, double term) {
  s->value[at] += term;
  s->size[at] += fabs(term);
}

typedef struct Plain {
  const Conv *conv;
  const float *x, *w, *bias, *dy;
  Sums y, dx, dw;
} Plain;

/* All cells of one output pixel. */
static void plain_pixel(Plain *p, size_t n, size_t f, size_t oy, size_t ox) {
  const Conv *conv = p->conv;
  const Window *w = &conv->window;
  size_t channels = conv->channels / conv->groups, group = f / (conv->features / conv->groups);
  size_t y_at = ((n * conv->features + f) * w->out[0] + oy) * w->out[1] + ox;
  for (size_t c = 0; c < channels; c++)
    for (size_t i = 0; i < w->kernel[0]; i++)
      for (size_t j = 0; j < w->kernel[1]; j++) {
        size_t row = oy * w->stride[0] + i * w->dilation[0] - w->pad[0],
               column = ox * w->stride[1] + j * w->dilation[1] - w->pad[1];
        if (row >= w->in[0] || column >= w->in[1]) continue; /* negative is large */
        size_t x_at = ((n * conv->channels + group * channels + c) * w->in[0] + row) * w->in[1] + column;
        size_t w_at = ((f * channels + c) * w->kernel[0] + i) * w->kernel[1] + j;
        add(&p->y, y_at, (double)p->x[x_at] * p->w[w_at]);
        add(&p->dx, x_at, (double)p->dy[y_at] * p->w[w_at]);
        add(&p->dw, w_at, (double)p->dy[y_at] * p->x[x_at]);
      }
  if (p->bias) add(&p->y, y_at, p->bias[f]);
  if (conv->clamp)
    p->y.value[y_at] = p->y.value[y_at] < conv->low  ? conv->low
                     : p->y.value[y_at] > conv->high ? conv->high
                                                     : p->y.value[y_at];
}

static void plain_run(Plain *p) {
  for (size_t n = 0; n < p->conv->batch; n++)
    for (size_t f = 0; f < p->conv->features; f++)
      for (size_t oy = 0; oy < p->conv->window.out[0]; oy++)
        for (size_t ox = 0; ox < p->conv->window.out[1]; ox++) plain_pixel(p, n, f, oy, ox);
}

static void compare(const Sums *wanted, const float *came, const char *what) {
  for (size_t i = 0; i < wanted->count; i++)
    if (!check(fabs(came[i] - wanted->value[i]) <= 4e-6 * (1 + wanted->size[i]), "%s[%zu] is %.7g, wanted %.7g", what,
               i, came[i], wanted->value[i]))
      return;
}

/* Weights packed before give the same bits. */
static void packed_is_the_same(Conv *conv, const float *x, const float *w, const float *bias, const float *y) {
  size_t count = conv_packed_floats(conv), bytes, y_count = conv->batch * conv->features * window_out(&conv->window);
  if (count == 0 || !check(conv_forward_bytes(conv, &bytes), "the size overflows")) return;
  float *packed = floats(count, 8), *again = floats(y_count, 9);
  void *scratch = malloc(bytes + 1);
  conv_pack_weights(conv, w, packed, scratch);
  memset(scratch, 0xff, bytes + 1);
  conv->packed = packed;
  conv_forward(conv, x, NULL, bias, again, scratch);
  conv->packed = NULL;
  check(memcmp(y, again, y_count * sizeof *y) == 0, "packed weights give another y");
  free(packed), free(again), free(scratch);
}

static void shape_is_right(const Shape *shape, bool bias) {
  Conv conv = conv_of_shape(shape);
  size_t x_count = conv.batch * conv.channels * window_in(&conv.window),
         y_count = conv.batch * conv.features * window_out(&conv.window);
  size_t w_count = conv.features * conv.channels / conv.groups * window_kernel(&conv.window), bytes[3] = {0};
  float *x = floats(x_count, 1), *w = floats(w_count, 2), *b = floats(conv.features, 3), *dy = floats(y_count, 4);
  float *y = floats(y_count, 5), *dx = floats(x_count, 6), *dw = floats(w_count, 7);
  Plain plain = {&conv, x, w, bias ? b : NULL, dy, sums_of(y_count), sums_of(x_count), sums_of(w_count)};
  plain_run(&plain);
  bool fits = conv_forward_bytes(&conv, bytes) && conv_input_gradient_bytes(&conv, bytes + 1) &&
              conv_weight_gradient_bytes(&conv, bytes + 2);
  if (check(fits, "the sizes overflow")) {
    void *scratch[3];
    for (int i = 0; i < 3; i++) scratch[i] = memset(malloc(bytes[i] + 1), 0xff, bytes[i] + 1); /* full of NaN */
    conv_forward(&conv, x, w, plain.bias, y, scratch[0]);
    conv_input_gradient(&conv, dy, w, dx, scratch[1]);
    conv_weight_gradient(&conv, x, dy, dw, scratch[2]);
    for (int i = 0; i < 3; i++) free(scratch[i]);
    compare(&plain.y, y, "y");
    packed_is_the_same(&conv, x, w, plain.bias, y);
    compare(&plain.dx, dx, "dx");
    compare(&plain.dw, dw, "dw");
  }
  sums_free(&plain.y), sums_free(&plain.dx), sums_free(&plain.dw);
  free(x), free(w), free(b), free(dy), free(y), free(dx), free(dw);
}

static void is_right(const void *argument) {
  const Shape *s = argument;
  for (unsigned off = 0; off < 2; off++) {
    conv_algorithms = off ? 0 : ~0u;
    shape_is_right(s, off);
  }
  conv_algorithms = ~0u;
  test_note("batch %zu, %zu to %zu channels in %zu groups, %zux%zu, kernel %zux%zu, stride %zu, dilation %zu%s",
            s->batch, s->channels, s->features, s->groups, s->in[0], s->in[1], s->kernel[0], s->kernel[1],
            s->stride[1] ? s->stride[1] : 1, s->dilation[1] ? s->dilation[1] : 1, s->clamp ? ", clamped" : "");
}

#define SAME(k) .kernel = {k, k}, .pad = {k / 2, k / 2}, .pad_end = {k / 2, k / 2}
#define ROW(k) .kernel = {1, k}, .pad = {0, k / 2}, .pad_end = {0, k / 2}

static const Shape shapes[] = {
    /* Winograd: tiles that fit and that hang over, images together and in bands, channels and features not in fours */
    {3, 1, 12, 13, {8, 8}, SAME(3)},
    {5, 1, 15, 12, {14, 14}, SAME(3), .clamp = true},
    {1, 1, 13, 14, {45, 50}, SAME(3)},
    {3, 1, 12, 18, {7, 9}, .kernel = {3, 3}},
    {4, 1, 12, 12, {6, 5}, .kernel = {3, 3}, .pad = {2, 0}, .pad_end = {0, 2}},
    {70, 1, 12, 12, {3, 3}, SAME(3)},
    {0, 1, 12, 12, {4, 4}, SAME(3)},
    {8, 1, 16, 24, {16, 16}, SAME(3)},
    {2, 1, 16, 17, {60, 60}, SAME(3)},
    {33, 1, 12, 13, {14, 14}, SAME(3)},
    /* the product: strides, dilations, groups, one cell, few channels, one dimension */
    {2, 1, 3, 8, {12, 13}, SAME(3), .stride = {2, 2}},
    {2, 1, 1, 9, {10, 11}, SAME(3), .clamp = true},
    {2, 1, 4, 5, {9, 9}, SAME(3), .dilation = {2, 2}},
    {3, 2, 6, 8, {6, 7}, SAME(3)},
    {5, 1, 11, 13, {3, 3}, .kernel = {1, 1}, .clamp = true},
    {3, 1, 7, 9, {17, 17}, .kernel = {1, 1}},
    {1, 1, 40, 20, {20, 20}, .kernel = {1, 1}},
    {2, 1, 6, 7, {8, 8}, .kernel = {1, 1}, .stride = {2, 2}},
    {5, 1, 20, 24, {30, 30}, .kernel = {1, 1}},
    {2, 2, 14, 180, {29, 31}, .kernel = {1, 1}, .clamp = true},
    {4, 1, 8, 16, {32, 32}, SAME(3), .stride = {2, 2}},
    {3, 1, 8, 12, {1, 50}, ROW(5)},
    {3, 1, 8, 12, {1, 50}, ROW(3), .stride = {1, 2}},
    /* depthwise */
    {2, 5, 5, 5, {9, 12}, SAME(3), .clamp = true},
    {2, 6, 6, 6, {6, 6}, SAME(3)},
    {3, 7, 7, 7, {3, 3}, SAME(3)},
    {2, 5, 5, 5, {1, 1}, SAME(3)},
    {2, 5, 5, 5, {5, 2}, SAME(3), .clamp = true},
    {2, 5, 5, 5, {4, 4}, SAME(3)},
    {2, 5, 5, 5, {4, 2}, SAME(3), .stride = {2, 2}},
    {2, 5, 5, 5, {7, 4}, SAME(3), .stride = {2, 2}},
    {2, 5, 5, 5, {8, 8}, SAME(3), .stride = {2, 2}},
    {2, 3, 3, 6, {6, 18}, SAME(3), .stride = {2, 2}},
    {2, 3, 3, 3, {2, 5}, SAME(3)},
    {2, 5, 5, 5, {12, 12}, SAME(3), .stride = {2, 2}, .clamp = true},
    {2, 5, 5, 5, {11, 7}, SAME(3), .stride = {2, 2}},
    {2, 5, 5, 5, {6, 6}, SAME(3), .stride = {2, 2}},
    {1, 3, 3, 3, {7, 8}, .kernel = {3, 3}, .stride = {2, 2}, .pad_end = {1, 1}},
    {2, 3, 3, 3, {10, 9}, SAME(5)},
    {2, 3, 3, 3, {10, 9}, SAME(5), .stride = {2, 2}},
    {1, 3, 3, 6, {9, 9}, SAME(3)},
    {1, 2, 2, 6, {9, 9}, SAME(3), .stride = {2, 2}},
    {1, 2, 2, 12, {9, 9}, SAME(3)},
    {2, 4, 4, 4, {8, 9}, SAME(3), .dilation = {2, 2}, .clamp = true},
    {2, 3, 3, 3, {9, 9}, .kernel = {3, 3}, .stride = {3, 1}},
    {2, 3, 3, 3, {9, 9}, .kernel = {2, 4}, .stride = {1, 2}, .pad = {1, 3}},
    {2, 4, 4, 4, {1, 37}, ROW(3)},
    {2, 4, 4, 4, {1, 37}, ROW(7)},
    {2, 4, 4, 4, {1, 37}, ROW(5), .stride = {1, 2}},
    {2, 3, 3, 3, {6, 6}, .kernel = {1, 1}},
    {0, 3, 3, 3, {6, 6}, SAME(3)},
    {1, 5, 5, 5, {12, 6}, .kernel = {2, 2}},
    {1, 3, 3, 3, {18, 17}, .kernel = {4, 3}, .stride = {4, 5}, .pad_end = {6, 6}},
    {1, 3, 3, 3, {30, 9}, .kernel = {2, 2}, .stride = {4, 4}},
    {1, 15, 15, 15, {5, 6}, .kernel = {2, 2}},
    {1, 17, 17, 17, {5, 6}, .kernel = {2, 2}},
    {12, 96, 96, 96, {30, 9}, .kernel = {2, 2}},
};

int main(void) {
  trainlet_threads_start(3); /* whatever the tasks share, they share here */
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) test_run("convolution_is_right", is_right, &shapes[i]);
  return test_finish();
}
