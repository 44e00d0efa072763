/* Phase: which part of the kernel meets which part of the input. */
#include "kernels/phase.h"
#include "arena.h"

enum { LARGEST = 1 << 28 }; /* positions are signed and stay far from overflow */

/* Towards minus infinity. */
static ptrdiff_t floor_divide(ptrdiff_t a, ptrdiff_t b) { return a / b - (a % b < 0); }

bool phases_of(const Window *w, Phases *p) {
  ptrdiff_t origin[2];
  size_t size[2];
  *p = (Phases){.window = w, .strided = w->stride[0] > 1 || w->stride[1] > 1};
  for (int a = 0; a < 2; a++) {
    size_t reach;
    if (!size_multiply(w->kernel[a] - 1, w->dilation[a], &reach) || reach > LARGEST || w->pad[a] > LARGEST ||
        w->in[a] > LARGEST)
      return false;
    ptrdiff_t pad = (ptrdiff_t)w->pad[a], stride = (ptrdiff_t)w->stride[a];
    p->first[a] = floor_divide(pad - (ptrdiff_t)reach, stride);
    size[a] = (size_t)(floor_divide((ptrdiff_t)w->in[a] - 1 + pad, stride) - p->first[a] + 1);
    origin[a] = -p->first[a];
  }
  return padded_of_plane(w->out, origin, size[0], size[1], 1, &p->dy);
}

static bool meets(const Phases *p, int a, size_t phase, size_t i, size_t *at) {
  const Window *w = p->window;
  ptrdiff_t along = (ptrdiff_t)(phase + w->pad[a]) - (ptrdiff_t)(i * w->dilation[a]), stride = (ptrdiff_t)w->stride[a];
  *at = (size_t)(floor_divide(along, stride) - p->first[a]);
  return along % stride == 0;
}

bool phase_cell(const Phases *p, const size_t phase[2], size_t i, size_t j, size_t *offset) {
  size_t row, column;
  if (!meets(p, 0, phase[0], i, &row) || !meets(p, 1, phase[1], j, &column)) return false;
  *offset = padded_at(&p->dy, row, column);
  return true;
}

void phase_spread(const Window *w, const size_t phase[2], const float *pixels, float *dx) {
  size_t rows = phase_size(w, 0, phase[0]), columns = phase_size(w, 1, phase[1]);
  for (size_t y = 0; y < rows; y++) {
    float *row = dx + (phase[0] + y * w->stride[0]) * w->in[1] + phase[1];
    for (size_t x = 0; x < columns; x++) row[x * w->stride[1]] = *pixels++;
  }
}
