/* Peak: the most multiply-adds per millisecond of all threads together. */
#include "kernels/peak.h"

#include "simd.h"
#include "threads.h"

enum { SUMS = 12, ROUNDS = 1 << 15, SPANS = 5, TRIES_MAX = 64 };
static const double CHUNK = 4.0 * SUMS * ROUNDS; /* multiply-adds */
static const double SPAN_MS = 4;

typedef struct Sink {
  float sums[THREADS_MAX]; /* so that the compiler removes nothing as unused */
} Sink;

static void add_up(void *context, size_t chunk, int thread) {
  Sink *to = context;
  f32x4 factor = f32x4_splat(0.999f), term = f32x4_splat(to->sums[chunk] + 1e-3f), sums[SUMS];
  for (int k = 0; k < SUMS; k++) sums[k] = f32x4_splat((float)k);
  for (int i = 0; i < ROUNDS; i++)
    for (int k = 0; k < SUMS; k++) sums[k] = f32x4_madd(sums[k], factor, term);
  for (int k = 1; k < SUMS; k++) sums[0] += sums[k];
  to->sums[chunk] = f32x4_sum(sums[0]) * 1e-9f;
}

double peak_measure(double (*now)(void *context), void *context) {
  Sink sink = {{0}};
  double best = 0;
  for (int span = 0; span < SPANS; span++) {
    double since = now(context), ms = 0;
    int tries = 0;
    for (; tries < TRIES_MAX && ms < SPAN_MS; tries++) {
      threads_run((size_t)threads_count(), add_up, &sink);
      ms = now(context) - since;
    }
    double rate = ms > 0 ? CHUNK * tries * threads_count() / ms : 0;
    if (rate > best) best = rate;
  }
  return best;
}
