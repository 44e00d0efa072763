/* Channel: sums in four lanes along a run, in double from run to run. */
#include "kernels/channel.h"
#include "simd.h"

static float run_sum(const float *x, size_t count) {
  f32x4 fours = f32x4_splat(0);
  float rest = 0;
  size_t i = 0;
  for (; i + 4 <= count; i += 4) fours += f32x4_load(x + i);
  for (; i < count; i++) rest += x[i];
  return f32x4_sum(fours) + rest;
}

/* Σ (a - a_mean) · (b - mean) */
static float run_product(const float *a, float a_mean, const float *b, float mean, size_t count) {
  f32x4 fours = f32x4_splat(0), a_means = f32x4_splat(a_mean), means = f32x4_splat(mean);
  float rest = 0;
  size_t i = 0;
  for (; i + 4 <= count; i += 4) fours += (f32x4_load(a + i) - a_means) * (f32x4_load(b + i) - means);
  for (; i < count; i++) rest += (a[i] - a_mean) * (b[i] - mean);
  return f32x4_sum(fours) + rest;
}

void channel_statistics(const Channel *c, const float *x, float *mean, float *variance) {
  double sum = 0, squares = 0, count = (double)c->batch * (double)c->pixels;
  for (size_t n = 0; n < c->batch; n++) sum += run_sum(x + n * c->stride, c->pixels);
  *mean = (float)(sum / count);
  for (size_t n = 0; n < c->batch; n++)
    squares += run_product(x + n * c->stride, *mean, x + n * c->stride, *mean, c->pixels);
  *variance = (float)(squares / count);
}

void channel_scale(const Channel *c, const float *x, float mean, float scale, float shift, float *y) {
  f32x4 means = f32x4_splat(mean), scales = f32x4_splat(scale), shifts = f32x4_splat(shift);
  for (size_t n = 0; n < c->batch; n++, x += c->stride, y += c->stride) {
    size_t i = 0;
    for (; i + 16 <= c->pixels; i += 16)
      for (size_t k = i; k < i + 16; k += 4) f32x4_store(y + k, (f32x4_load(x + k) - means) * scales + shifts);
    for (; i + 4 <= c->pixels; i += 4) f32x4_store(y + i, (f32x4_load(x + i) - means) * scales + shifts);
    for (; i < c->pixels; i++) y[i] = (x[i] - mean) * scale + shift;
  }
}

void channel_sums(const Channel *c, const float *dy, const float *x, float mean, double *sum, double *product) {
  *sum = *product = 0;
  for (size_t n = 0; n < c->batch; n++, dy += c->stride, x += c->stride) {
    *sum += run_sum(dy, c->pixels);
    *product += run_product(dy, 0, x, mean, c->pixels);
  }
}

void channel_gradient(const Channel *c, const float *dy, const float *x, float mean, float shift, float slope,
                      float scale, float *dx) {
  f32x4 means = f32x4_splat(mean), shifts = f32x4_splat(shift), slopes = f32x4_splat(slope),
        scales = f32x4_splat(scale);
  for (size_t n = 0; n < c->batch; n++, dy += c->stride, x += c->stride, dx += c->stride) {
    size_t i = 0;
    for (; i + 4 <= c->pixels; i += 4)
      f32x4_store(dx + i, (f32x4_load(dy + i) - shifts - (f32x4_load(x + i) - means) * slopes) * scales);
    for (; i < c->pixels; i++) dx[i] = (dy[i] - shift - (x[i] - mean) * slope) * scale;
  }
}
