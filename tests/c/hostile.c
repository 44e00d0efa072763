/* The ways in which hostile bytes are made. */
#include "hostile.h"

#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "check.h"

/* Exact size: the sanitizer sees a read past the end. */
static bool try_copy(const uint8_t *bytes, size_t count, HostileReader *reader) {
  uint8_t *exact = malloc(count + !count);
  if (count) memcpy(exact, bytes, count);
  bool refused = reader(exact, count);
  free(exact);
  return refused;
}

static int try_changes(uint8_t *bytes, size_t count, size_t at, HostileReader *reader) {
  static const uint8_t others[] = {0, 1, 4, 0x7F, 0x80, 0xFF};
  uint8_t was = bytes[at];
  int refused = 0;
  for (int bit = 0; bit < 8; bit++) bytes[at] = was ^ (uint8_t)(1 << bit), refused += try_copy(bytes, count, reader);
  for (size_t k = 0; k < sizeof others; k++) bytes[at] = others[k], refused += try_copy(bytes, count, reader);
  bytes[at] = (uint8_t)~was, refused += try_copy(bytes, count, reader);
  bytes[at] = was;
  return refused;
}

/* One to four changes: a byte, a word of a telling value, or a piece copied elsewhere; one in eight is cut, too. */
static size_t mutate(uint8_t *bytes, size_t count, uint32_t seed) {
  static const uint32_t words[] = {0, 1, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFC, 0x01000000};
  for (uint32_t k = 0, changes = 1 + batch_bits(seed, 0) % 4; k < changes; k++) {
    size_t at = batch_bits(seed, 3 * k + 1) % (count - 8), from = batch_bits(seed, 3 * k + 2) % (count - 8);
    uint32_t how = batch_bits(seed, 3 * k + 3);
    if (how % 3 == 0) bytes[at] = (uint8_t)(how >> 8);
    else if (how % 3 == 1) memcpy(bytes + at, &words[how / 3 % 8], 4);
    else memmove(bytes + at, bytes + from, 8);
  }
  return batch_bits(seed, 99) % 8 == 0 ? batch_bits(seed, 98) % count : count;
}

void hostile_try(const uint8_t *original, size_t count, HostileReader *reader) {
  int flips = 0, mutations = 0;
  uint8_t *bytes = malloc(count);
  memcpy(bytes, original, count);
  check(!try_copy(bytes, count, reader), "it is refused unchanged");
  for (size_t length = 0; length < count && length < 2000; length++) try_copy(bytes, length, reader);
  for (size_t at = 0; at < count && at < 256; at++) flips += try_changes(bytes, count, at, reader);
  for (uint32_t seed = 0; seed < 1000; seed++) {
    memcpy(bytes, original, count);
    mutations += try_copy(bytes, mutate(bytes, count, seed), reader);
  }
  test_note("%d changed bytes and %d of 1000 mutations refused, the others read", flips, mutations);
  free(bytes);
}
