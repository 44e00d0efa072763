/* Copying one element, or a few: wasm's memory.copy is a call out of the module, which is expensive for copying a
 * single element. */
#pragma once
#include <stddef.h>
#include <string.h>

/* Bytes that do not overlap. */
void copy_bytes(void *to, const void *from, size_t bytes);

static inline void copy_element(void *to, const void *from, size_t bytes) {
  switch (bytes) {
    case 1: memcpy(to, from, 1); break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    default: copy_bytes(to, from, bytes);
  }
}
