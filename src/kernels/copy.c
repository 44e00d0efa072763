/* Copy: few bytes by a loop, many by memory.copy. */
#include "kernels/copy.h"

#include <stdint.h>

typedef uint64_t sixteen __attribute__((vector_size(16), aligned(1), may_alias));

enum { CALL_BYTES = 1024 };

void copy_bytes(void *to_, const void *from_, size_t bytes) {
  char *to = to_;
  const char *from = from_;
  size_t i = 0;
  if (bytes >= CALL_BYTES) {
    memcpy(to, from, bytes);
    return;
  }
  for (; i + 64 <= bytes; i += 64) { /* all read first: a store may not overtake what is being fetched */
    const sixteen *x = (const sixteen *)(from + i);
    sixteen a = x[0], b = x[1], c = x[2], d = x[3], *y = (sixteen *)(to + i);
    y[0] = a, y[1] = b, y[2] = c, y[3] = d;
  }
  for (; i + 16 <= bytes; i += 16) *(sixteen *)(to + i) = *(const sixteen *)(from + i);
  if (i < bytes && bytes >= 16) { /* the last sixteen, some of them a second time */
    *(sixteen *)(to + bytes - 16) = *(const sixteen *)(from + bytes - 16);
    return;
  }
  for (; i < bytes; i++) to[i] = from[i];
}
