#include "kernels/scratch.h"

void *scratch_take(Scratch *s, size_t count, size_t each, size_t item_bytes) {
  size_t bytes, at = s->used;
  if (!size_multiply(count, each, &bytes) || !size_multiply(bytes, item_bytes, &bytes) || bytes > SIZE_MAX - 63 ||
      !size_add(at, (bytes + 63) & ~(size_t)63, &s->used))
    s->overflow = true;
  return s->base ? s->base + at : NULL;
}
