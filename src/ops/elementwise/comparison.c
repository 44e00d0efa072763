/* Comparison: which row compares which type. */
#include "ops/elementwise/comparison.h"

/* ---- integers: sixteen at once, of any operator by one row for each type ---- */

typedef int64_t TwoAnywhere __attribute__((vector_size(16), aligned(8), may_alias));
typedef int32_t FourAnywhere __attribute__((vector_size(16), aligned(4), may_alias));

static inline i32x4 int64_four(const int64_t *a_, const int64_t *b_, int64_t flip, bool equal) {
  const TwoAnywhere *a = (const TwoAnywhere *)a_, *b = (const TwoAnywhere *)b_;
  TwoAnywhere a0 = a[0] ^ flip, a1 = a[1] ^ flip, b0 = b[0] ^ flip, b1 = b[1] ^ flip;
  i32x4 low = (i32x4)(equal ? a0 == b0 : a0 < b0), high = (i32x4)(equal ? a1 == b1 : a1 < b1);
  return __builtin_shufflevector(low, high, 0, 2, 4, 6);
}
static inline i32x4 int32_four(const int32_t *a_, const int32_t *b_, int32_t flip, bool equal) {
  FourAnywhere a = *(const FourAnywhere *)a_, b = *(const FourAnywhere *)b_;
  return (i32x4)(equal ? a == b : a < b);
}

/* FLIP turns unsigned integers into signed ones of the same order. */
#define INTEGER_ROW(name, T, FOUR, FLIP)                                                                               \
  static void name(const Node *n, void *y_, const void *const *in, unsigned moves, size_t count) {                     \
    unsigned kind = ((const Comparison *)n->op->own)->ints, swaps = (kind & COMPARES_SWAPPED) != 0;                    \
    bool equal = kind & COMPARES_EQUAL, is_not = kind & COMPARES_NOT;                                                  \
    T flip = FLIP, same[2][4];                                                                                         \
    const T *of[2] = {in[swaps], in[!swaps]};                                                                          \
    size_t step[2] = {moves >> swaps & 1, moves >> !swaps & 1}, i = 0;                                                 \
    for (int k = 0; k < 2; k++)                                                                                        \
      for (int j = 0; j < 4 && !step[k]; j++) same[k][j] = *of[k];                                                     \
    const T *a = step[0] ? of[0] : same[0], *b = step[1] ? of[1] : same[1];                                            \
    uint8_t *y = y_;                                                                                                   \
    size_t u = 4 * step[0], v = 4 * step[1];                                                                           \
    for (; i + 16 <= count; i += 16, a += 4 * u, b += 4 * v) {                                                         \
      i32x4 no = i32x4_splat(is_not ? -1 : 0);                                                                         \
      comparison_store(y + i, FOUR(a, b, flip, equal) ^ no, FOUR(a + u, b + v, flip, equal) ^ no,                      \
                       FOUR(a + 2 * u, b + 2 * v, flip, equal) ^ no, FOUR(a + 3 * u, b + 3 * v, flip, equal) ^ no);    \
    }                                                                                                                  \
    for (; i < count; i++, a += step[0], b += step[1]) y[i] = (equal ? *a == *b : (*a ^ flip) < (*b ^ flip)) ^ is_not; \
  }

INTEGER_ROW(int64_row, int64_t, int64_four, n->in[0]->type == DTYPE_UINT64 ? INT64_MIN : 0)
INTEGER_ROW(int32_row, int32_t, int32_four, 0)

static BroadcastRow *row_of(const Node *n) {
  const Comparison *own = n->op->own;
  switch (n->in[0]->type) {
    case DTYPE_FLOAT32: return own->floats;
    case DTYPE_FLOAT64: return own->doubles;
    case DTYPE_UINT64:
    case DTYPE_INT64: return own->ints ? int64_row : NULL;
    case DTYPE_INT32: return own->ints ? int32_row : NULL;
    case DTYPE_BOOL: return own->bools;
    case DTYPE_STRING: return own->strings;
    default: return NULL;
  }
}

Status comparison_infer(Node *n) {
  DType type = n->in[0]->type;
  if (n->in[1]->type != type)
    return node_invalid(n, "its inputs must be of one type, they are %s and %s", dtype_name(type),
                        dtype_name(n->in[1]->type));
  if (!row_of(n))
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its inputs are %s, which it does not compute", dtype_name(type));
  return broadcast_infer(n, DTYPE_BOOL);
}

void comparison_run(const Node *n) { broadcast_run(n, 2, row_of(n)); }
