/* Channel: one channel of a batch of images, `batch` runs of `pixels` floats, `stride` apart; what batch normalization
 * is made of.
 *
 *   x (N, C, D…):  channel c is at x + c · pixels, N runs, C · pixels apart
 */
#pragma once
#include <stddef.h>

typedef struct Channel {
  size_t batch, stride, pixels;
} Channel;

/* mean = Σ x / n, variance = Σ (x - mean)² / n */
void channel_statistics(const Channel *c, const float *x, float *mean, float *variance);
/* y = (x - mean) · scale + shift */
void channel_scale(const Channel *c, const float *x, float mean, float scale, float shift, float *y);
/* Σ dy and Σ dy · (x - mean) */
void channel_sums(const Channel *c, const float *dy, const float *x, float mean, double *sum, double *product);
/* dx = (dy - shift - (x - mean) · slope) · scale */
void channel_gradient(const Channel *c, const float *dy, const float *x, float mean, float shift, float slope,
                      float scale, float *dx);
