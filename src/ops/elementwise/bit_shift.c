/* BitShift: y = x << n or x >> n of ints, with NumPy broadcasting; bits shifted out are lost, and the sign stays. By a
 * number below 0, or of all bits and more, nothing is left but the sign. */
#include <string.h>

#include "ops/elementwise/arithmetic.h"

static int64_t left(int64_t a, int64_t b) { return (uint64_t)b < 64 ? (int64_t)((uint64_t)a << b) : 0; }
static int64_t right(int64_t a, int64_t b) { return a >> ((uint64_t)b < 64 ? b : 63); }
static uint64_t right_natural(uint64_t a, uint64_t b) { return b < 64 ? a >> b : 0; }
static const Arithmetic lefts = {.ints = left}, rights = {.ints = right, .naturals = right_natural};
static const Arithmetic *of(const Node *n) {
  return strcmp(node_string(n, "direction", ""), "LEFT") == 0 ? &lefts : &rights;
}

static Status bit_shift_infer(Node *n) {
  const char *direction = node_string(n, "direction", "");
  if (of(n) == &rights && strcmp(direction, "RIGHT") != 0)
    return node_invalid(n, "direction is '%.40s', not LEFT or RIGHT", direction);
  return arithmetic_infer_as(n, of(n));
}

static void bit_shift_row(const Node *n, void *y, const void *const *in, unsigned moves, size_t count) {
  arithmetic_row(of(n), n, y, in, moves, count);
}
/* Bytes are shifted by multiplication. The tables have a power of 2 for each of 0 … 7 and 0 for the rest: a << b is
 * bits 0 … 7 of a 16-bit product, a >> b is bits 7 … 14. */
static const uint8_t left_powers[16] = {1, 2, 4, 8, 16, 32, 64, 128}, right_powers[16] = {128, 64, 32, 16, 8, 4, 2, 1};

static inline i8x16 shifted(i8x16 a, i8x16 b, i8x16 powers, int down) {
  i8x16 zero = {0}, power = i8x16_at(powers, b);
  i16x8 low = (i16x8)i8x16_zip_low(a, zero) * (i16x8)i8x16_zip_low(power, zero);
  i16x8 high = (i16x8)i8x16_zip_high(a, zero) * (i16x8)i8x16_zip_high(power, zero);
  return i16x8_low_bytes(u16x8_right(low, down), u16x8_right(high, down));
}
BROADCAST_ROW_BYTES(left_bytes, left_powers, shifted(a, b, with, 0))
BROADCAST_ROW_BYTES(right_bytes, right_powers, shifted(a, b, with, 7))

static void bit_shift_run(const Node *n) {
  BroadcastRow *bytes = of(n) == &lefts ? left_bytes : right_bytes;
  broadcast_run(n, 2, n->in[0]->type == DTYPE_UINT8 ? bytes : bit_shift_row);
}

OPERATOR(bit_shift) = {
    .name = "BitShift",
    .since = {11, 28},
    .inputs = {2, 2},
    .flags = OP_ANY_TYPE | OP_ATTRIBUTES,
    .infer = bit_shift_infer,
    .run = bit_shift_run,
    .cases = CASES({"u8[4]:0..255 u8[]=3", "direction=LEFT"}, {"u8[4]:0..255 u8[4]=0,1,7,8", "direction=RIGHT"},
                   {"u8[4]:0..255 u8[4]=0,1,7,8", "direction=LEFT"},
                   {"v:u64[3]=16,4,1 v:u64[3]=1,2,3", "direction=RIGHT"},
                   {"v:i32[4]=-16,16,-1,5 v:i32[4]=2,33,-1,1", "direction=RIGHT", 28}),
};
