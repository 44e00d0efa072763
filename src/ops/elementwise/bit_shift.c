/* BitShift: y = x << n or x >> n of unsigned ints, with NumPy broadcasting; bits shifted out are lost. */
#include <string.h>

#include "ops/elementwise/arithmetic.h"

static int64_t left(int64_t a, int64_t b) { return (uint64_t)b < 64 ? (int64_t)((uint64_t)a << b) : 0; }
static int64_t right(int64_t a, int64_t b) { return (uint64_t)b < 64 ? (int64_t)((uint64_t)a >> b) : 0; }
static const Arithmetic lefts = {NULL, left, NULL}, rights = {NULL, right, NULL};

static Status bit_shift_infer(Node *n) {
  const char *direction = node_string(n, "direction", "");
  bool to_left = strcmp(direction, "LEFT") == 0;
  if (!to_left && strcmp(direction, "RIGHT") != 0)
    return node_invalid(n, "direction is '%.40s', not LEFT or RIGHT", direction);
  if (n->in[0]->type == DTYPE_FLOAT32)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its inputs are float32, which it does not shift");
  return arithmetic_infer(n, to_left ? &lefts : &rights);
}

static void bit_shift_run(const Node *n) { arithmetic_run(n, arithmetic_row); }

OPERATOR(bit_shift) = {
    .name = "BitShift",
    .since = {11},
    .inputs = {2, 2},
    .infer = bit_shift_infer,
    .run = bit_shift_run,
    .cases = CASES({"u8[4]:0..255 u8[]=3", "direction=LEFT"}, {"v:u64[3]=16,4,1 v:u64[3]=1,2,3", "direction=RIGHT"}),
};
