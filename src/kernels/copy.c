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
  for (; i + 16 <= bytes; i += 16) *(sixteen *)(to + i) = *(const sixteen *)(from + i);
  for (; i < bytes; i++) to[i] = from[i];
}
