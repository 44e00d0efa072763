/* The envelope of a checkpoint, so that its checksum is no wall. */
#include <string.h>

#include "checkpoint/crc32.h"
#include "fuzz.h"

/* The body's length is written in five bytes, as a varint may be. */
size_t fuzz_envelope(const uint8_t *body, size_t count, uint8_t *out) {
  static const uint8_t head[] = {0x0D, 'T', 'L', 'C', 'K', 0x10, 1, 0x1D};
  uint32_t checksum = crc32_of(body, count);
  uint8_t *at = out;
  memcpy(at, head, sizeof head);
  memcpy(at + sizeof head, &checksum, sizeof checksum);
  at += sizeof head + sizeof checksum;
  *at++ = 0x22;
  for (int i = 0; i < 5; i++) *at++ = (uint8_t)((count >> 7 * i & 0x7f) | (i < 4 ? 0x80 : 0));
  if (count) memcpy(at, body, count);
  return (size_t)(at - out) + count;
}
