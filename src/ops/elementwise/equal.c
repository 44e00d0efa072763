/* Equal: y = (a = b) as bool, with NumPy broadcasting. */
#include "ops/elementwise/comparison.h"
#include "graph/strings.h"

COMPARISON_ROWS(a == b)
BROADCAST_ROW_OF(bool_row, uint8_t, uint8_t, !a == !b)

/* Their letters are counted many at a time. */
static void strings_row(const Node *n, void *y_, const void *const *in, unsigned moves, size_t count) {
  enum { LETTERS = 1 << 16 };
  const char *const *a = in[0], *const *b = in[1];
  uint8_t *y = y_;
  size_t letters = 0;
  for (size_t i = 0; i < count && strings_may_read(); i++) {
    y[i] = strings_compare(strings_text(a[i * (moves & 1)]), strings_text(b[i * (moves >> 1 & 1)]), &letters) == 0;
    if (letters < LETTERS && i + 1 < count) continue;
    strings_count(n, letters);
    letters = 0;
  }
}

/* Shape arithmetic asks whether a dim is -1: a symbol is not. Two symbols, or a symbol and a possible size, may turn
 * out either way. */
static void equal_known(Node *n) {
  int count = broadcast_known_count(n);
  Dim y[BROADCAST_KNOWN];
  if (count < 0) return;
  for (int i = 0; i < count; i++) {
    Dim a = broadcast_known_at(n, 0, i), b = broadcast_known_at(n, 1, i);
    if (a != b &&
        ((dim_is_symbol(a) && (dim_is_number(b) || dim_is_symbol(b))) || (dim_is_symbol(b) && dim_is_number(a))))
      return;
    y[i] = a == b;
  }
  node_output_known(n, 0, y, count);
}

static Status equal_infer(Node *n) {
  TRY(comparison_infer(n));
  equal_known(n);
  return STATUS_OK;
}

OPERATOR(equal) = {
    .name = "Equal",
    .since = {1, 7, 11, 13, 19},
    .inputs = {2, 2},
    .flags = OP_FLOAT64 | OP_STRINGS,
    .infer = equal_infer,
    .run = comparison_run,
    .own = &(const Comparison){COMPARISON_OF_NUMBERS, COMPARES_INTS | COMPARES_EQUAL, bool_row, strings_row},
    .cases = CASES({"f32[2,3] f32[3]"},
                   {"v:f32[19]=0,1,2,nan,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18 "
                    "v:f32[19]=0,1,3,nan,4,6,6,-7,8,9,0,11,13,13,14,15,15,17,18"},
                   {"i64[3]=1,-1,3 i64[1]=-1"}, {"v:i64[3]=1,2,3 v:i64[]=2"}, {"v:i32[3]=1,2,3 v:i32[]=2"},
                   {"v:bool[3]=1,0,1 v:bool[]=1"}),
};
