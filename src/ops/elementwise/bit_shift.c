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
/* Of bytes, apart: a block of the widest numbers takes longer than to shift them. */
static void byte_row(const Node *n, void *y_, const void *const *in, unsigned moves, size_t count) {
  const uint8_t *a = in[0], *b = in[1];
  uint8_t *y = y_;
  size_t step_a = moves & 1, step_b = moves >> 1 & 1;
  bool is_left = of(n) == &lefts;
  for (size_t i = 0; i < count; i++, a += step_a, b += step_b)
    y[i] = *b > 7 ? 0 : is_left ? (uint8_t)(*a << *b) : (uint8_t)(*a >> *b);
}

static void bit_shift_run(const Node *n) {
  broadcast_run(n, 2, n->in[0]->type == DTYPE_UINT8 ? byte_row : bit_shift_row);
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
