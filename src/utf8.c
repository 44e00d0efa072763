/* Text: valid UTF-8, without overlong characters, lone surrogates, or anything beyond U+10FFFF. */
#include "utf8.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes of the character at `s`, 0 where there is none. */
static size_t character_bytes(const uint8_t *s, size_t left) {
  if (s[0] < 0x80) return 1;
  size_t bytes = s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;
  if (bytes > left) return 0;
  for (size_t i = 1; i < bytes; i++)
    if ((s[i] & 0xC0) != 0x80) return 0;
  bool ill_formed = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) || (s[0] == 0xF0 && s[1] < 0x90) ||
                    (s[0] == 0xF4 && s[1] > 0x8F);
  return ill_formed ? 0 : bytes;
}

size_t utf8_whole(const void *text, size_t count) {
  size_t at = 0;
  for (size_t bytes; at < count && (bytes = character_bytes((const uint8_t *)text + at, count - at)); at += bytes)
    continue;
  return at;
}
