/* Select: a heap of k places, the worst of them on top, gives way to each better one, and is then emptied from the
 * back. */
#include "kernels/select.h"

#include <math.h>

static void sift_down(size_t *order, size_t at, size_t count, SelectBefore *before, const void *context) {
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && before(context, order[child], order[child + 1])) child++;
    if (!before(context, order[at], order[child])) return;
    size_t swap = order[at];
    order[at] = order[child];
    order[child] = swap;
  }
}

void select_heap(size_t *order, size_t count, SelectBefore *before, const void *context) {
  for (size_t i = 0; i < count; i++) order[i] = i;
  for (size_t i = count / 2; i-- > 0;) sift_down(order, i, count, before, context);
}

size_t select_take(size_t *order, size_t count, SelectBefore *before, const void *context) {
  size_t top = order[0];
  order[0] = order[count - 1];
  order[count - 1] = top;
  sift_down(order, 0, count - 1, before, context);
  return top;
}

void select_best(size_t *order, size_t k, size_t count, SelectBefore *before, const void *context) {
  select_heap(order, k, before, context);
  for (size_t i = k; i < count && k; i++) {
    if (!before(context, i, order[0])) continue;
    order[0] = i;
    sift_down(order, 0, k, before, context);
  }
  for (size_t rest = k; rest > 1; rest--) select_take(order, rest, before, context);
}

int select_levels(double count) {
  int levels;
  frexp(count + 2, &levels);
  return levels;
}
