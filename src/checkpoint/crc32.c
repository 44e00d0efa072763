/* CRC-32 as in zip and PNG (polynomial 0xEDB88320, reflected), eight bytes at a time. */
#include "checkpoint/crc32.h"

#include <string.h>

/* table[k][b]: what byte b does to the remainder when k more bytes follow it. */
static void fill_tables(uint32_t table[8][256]) {
  for (uint32_t b = 0; b < 256; b++) {
    uint32_t c = b;
    for (int bit = 0; bit < 8; bit++) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
    table[0][b] = c;
  }
  for (int k = 1; k < 8; k++)
    for (int b = 0; b < 256; b++) table[k][b] = (table[k - 1][b] >> 8) ^ table[0][table[k - 1][b] & 255];
}

uint32_t crc32_of(const uint8_t *bytes, size_t count) {
  uint32_t table[8][256], c = ~0u;
  fill_tables(table);
  for (; count >= 8; bytes += 8, count -= 8) {
    uint32_t low, high;
    memcpy(&low, bytes, 4);
    memcpy(&high, bytes + 4, 4);
    low ^= c;
    c = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^ table[4][low >> 24] ^
        table[3][high & 255] ^ table[2][high >> 8 & 255] ^ table[1][high >> 16 & 255] ^ table[0][high >> 24];
  }
  for (; count; bytes++, count--) c = table[0][(c ^ *bytes) & 255] ^ (c >> 8);
  return ~c;
}
