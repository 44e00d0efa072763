/* Window: a kernel that slides over the (height, width) plane of an image; one dimension is a plane of height 1.
 *
 *   input row of output row y and kernel row i:  y · stride + i · dilation - pad        (columns alike)
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Window {
  size_t in[2], out[2]; /* height, width */
  size_t kernel[2], stride[2], dilation[2];
  size_t pad[2]; /* before the first row and column; what is behind the last follows from `out` */
} Window;

static inline size_t window_in(const Window *w) { return w->in[0] * w->in[1]; }
static inline size_t window_out(const Window *w) { return w->out[0] * w->out[1]; }
static inline size_t window_kernel(const Window *w) { return w->kernel[0] * w->kernel[1]; }
