/* Broadcast: elementwise operators over NumPy broadcasting, cut into rows along which each operand moves on or stays.
 *
 *   same shapes      one row, all move
 *   x, scalar        one row, x moves
 *   (N, C), (C)      N rows of C, all move
 *   (N, C, H, W), (C, 1, 1)   N·C rows of H·W, the first moves
 */
#pragma once
#include "kernels/vector_math.h"
#include "graph/op.h"

/* y[i] = f(in[0][i], …) for i < count; bit k of `moves` is clear when operand k is one element for the whole row. count
 * ≥ 1. */
typedef void BroadcastRow(const Node *n, void *y, const void *const *in, unsigned moves, size_t count);

enum { BROADCAST_OPERANDS = 3 };

/* Output 0 gets the shape of all inputs broadcast together. */
Status broadcast_infer(Node *n, DType type);
/* y = row(inputs 0 … operands-1). */
void broadcast_run(const Node *n, int operands, BroadcastRow *row);

/* Operators of any number of inputs of one type, y = row(… row(row(in0, in1), in2) …). */
Status broadcast_fold_infer(Node *n);
void broadcast_fold_run(const Node *n, BroadcastRow *row);

/* The number of elements of output 0 that follow from the known contents of all inputs: 0 … BROADCAST_KNOWN, or -1 for
 * none. */
enum { BROADCAST_KNOWN = 64 };
int broadcast_known_count(const Node *n);
/* Element i of what is known of an input; a single one broadcasts. */
static inline Dim broadcast_known_at(const Node *n, int input, int i) {
  return n->in[input]->known[in_count(n, input) == 1 ? 0 : i];
}

/* The last one to three elements of a row, the first of them again behind them: no lane computes with numbers that are
 * not in the data. */
const float *broadcast_rest(float fours[4], const float *x, size_t rest);
/* Puts the last one to three of `count` results to their places. */
void broadcast_end(float *y, const float fours[4], size_t count);
/* An operand that stays, as sixteen. */
const float *broadcast_stay(float same[16], const float *x);

/* An operand of `item` bytes that stays, as 64 bytes of it. */
const void *broadcast_same(float same[16], const void *x, size_t item);

/* Sixteen times 1, which the compiler does not know: of the smaller of a byte and 1 it would make a comparison, which
 * takes longer. */
extern const int8_t broadcast_ones[16];

/* Defines the row `name`: y = EXPR of the four floats x. What is left in the end goes through the same loop, which is
 * there once: most operators have no shorter way than to be loaded with the page. */
#define BROADCAST_ROW_1(name, EXPR) BROADCAST_ROW_1_WITH(name, , EXPR)
/* The same of x and what is declared before the loop: of an attribute that EXPR reads from n, the compiler could not
 * know that it stays. */
#define BROADCAST_ROW_1_WITH(name, DECLARATION, EXPR)                                                                  \
  static void name(const Node *n, void *y_, const void *const *in, unsigned moves, size_t count) {                     \
    const float *x_ = in[0];                                                                                           \
    float *y = y_, fours[4];                                                                                           \
    DECLARATION;                                                                                                       \
    for (size_t end = count & ~(size_t)3;; end = 4) {                                                                  \
      for (size_t i = 0; i < end; i += 4) {                                                                            \
        f32x4 x = f32x4_load(x_ + i);                                                                                  \
        f32x4_store(y + i, EXPR);                                                                                      \
      }                                                                                                                \
      if (y == fours || !(count & 3)) break;                                                                           \
      x_ = broadcast_rest(fours, x_ + end, count & 3);                                                                 \
      y = fours;                                                                                                       \
    }                                                                                                                  \
    if (count & 3) broadcast_end(y_, fours, count);                                                                    \
  }

/* Defines the row `name`: y = EXPR of the four floats a and the four floats b. Four times four are taken side by side,
 * for with two operands the counting would take longer than the computing; but not where EXPR itself is long. */
#define BROADCAST_ROW_2(name, EXPR) BROADCAST_ROW_2_BY(name, 16, 0, EXPR)
#define BROADCAST_ROW_2_LONG(name, EXPR) BROADCAST_ROW_2_BY(name, 4, 0, EXPR)
/* EXPR has `alpha`, too: what ALPHA is of n, read once. */
#define BROADCAST_ROW_2_BY(name, together, ALPHA, EXPR)                                                                \
  static inline f32x4 name##_of(const Node *n, float alpha, f32x4 a, f32x4 b) { return EXPR; }                         \
  static void name(const Node *n, void *y_, const void *const *in, unsigned moves, size_t count) {                     \
    float *y = y_, fours[3][4], same[2][16], alpha = ALPHA;                                                            \
    const float *a = moves & 1 ? in[0] : broadcast_stay(same[0], in[0]);                                               \
    const float *b = moves & 2 ? in[1] : broadcast_stay(same[1], in[1]);                                               \
    size_t step_a = moves & 1, step_b = moves >> 1 & 1, i = 0;                                                         \
    for (; together == 16 && i + 16 <= count; i += 16, a += 16 * step_a, b += 16 * step_b) {                           \
      f32x4_store(y + i, name##_of(n, alpha, f32x4_load(a), f32x4_load(b)));                                           \
      f32x4_store(y + i + 4, name##_of(n, alpha, f32x4_load(a + 4), f32x4_load(b + 4)));                               \
      f32x4_store(y + i + 8, name##_of(n, alpha, f32x4_load(a + 8), f32x4_load(b + 8)));                               \
      f32x4_store(y + i + 12, name##_of(n, alpha, f32x4_load(a + 12), f32x4_load(b + 12)));                            \
    }                                                                                                                  \
    for (size_t end = count & ~(size_t)3;; i = 0, end = 4) {                                                           \
      for (; i < end; i += 4, a += 4 * step_a, b += 4 * step_b)                                                        \
        f32x4_store(y + i, name##_of(n, alpha, f32x4_load(a), f32x4_load(b)));                                         \
      if (y == fours[2] || !(count & 3)) break;                                                                        \
      if (step_a) a = broadcast_rest(fours[0], a, count & 3);                                                          \
      if (step_b) b = broadcast_rest(fours[1], b, count & 3);                                                          \
      y = fours[2];                                                                                                    \
    }                                                                                                                  \
    if (count & 3) broadcast_end(y_, fours[2], count);                                                                 \
  }

/* Defines the row `name`, an element at a time: Out = EXPR of In a and In b. */
#define BROADCAST_ROW_OF(name, In, Out, EXPR)                                                                          \
  static void name(const Node *n, void *y_, const void *const *in, unsigned moves, size_t count) {                     \
    const In *a_ = in[0], *b_ = in[1];                                                                                 \
    Out *y = y_;                                                                                                       \
    size_t step_a = moves & 1, step_b = moves >> 1 & 1;                                                                \
    for (size_t i = 0; i < count; i++) {                                                                               \
      In a = a_[i * step_a], b = b_[i * step_b];                                                                       \
      y[i] = EXPR;                                                                                                     \
    }                                                                                                                  \
  }

/* Defines the row `name`: T = EXPR of T a and T b, vectors of them and single ones, where an element has `item` bytes:
 * those of one T, or of more where EXPR goes by bits. A b that is not there is a. */
#define BROADCAST_ROW_INTS(name, T, item, EXPR)                                                                        \
  typedef T name##_vector __attribute__((vector_size(16), aligned(1), may_alias));                                     \
  static inline void name##_put(T *y, const T *a_, const T *b_) {                                                      \
    name##_vector a = *(const name##_vector *)a_, b = *(const name##_vector *)b_;                                      \
    *(name##_vector *)y = (name##_vector)(EXPR);                                                                       \
    (void)b;                                                                                                           \
  }                                                                                                                    \
  static void name(const Node *n, void *y_, const void *const *in, unsigned moves, size_t count) {                     \
    enum { LANES = 16 / sizeof(T) };                                                                                   \
    float same[2][16];                                                                                                 \
    T *y = y_;                                                                                                         \
    size_t step_a = moves & 1, step_b = moves >> (n->in_count > 1) & 1, i = 0, end = count * (item) / sizeof(T);       \
    const T *a_ = step_a ? in[0] : broadcast_same(same[0], in[0], item), *b_ = in[n->in_count > 1];                    \
    if (!step_b) b_ = broadcast_same(same[1], b_, item);                                                               \
    for (; i + 4 * LANES <= end; i += 4 * LANES, a_ += 4 * LANES * step_a, b_ += 4 * LANES * step_b) {                 \
      name##_put(y + i, a_, b_);                                                                                       \
      name##_put(y + i + LANES, a_ + LANES, b_ + LANES);                                                               \
      name##_put(y + i + 2 * LANES, a_ + 2 * LANES, b_ + 2 * LANES);                                                   \
      name##_put(y + i + 3 * LANES, a_ + 3 * LANES, b_ + 3 * LANES);                                                   \
    }                                                                                                                  \
    for (; i + LANES <= end; i += LANES, a_ += LANES * step_a, b_ += LANES * step_b) name##_put(y + i, a_, b_);        \
    for (; i < end; i++, a_++, b_++) {                                                                                 \
      T a = *a_, b = *b_;                                                                                              \
      y[i] = (T)(EXPR);                                                                                                \
      (void)b;                                                                                                         \
    }                                                                                                                  \
  }

/* Defines the row `name` of bytes: y = EXPR of sixteen a and b, and sixteen bytes `with` from WITH. */
#define BROADCAST_ROW_BYTES(name, WITH, EXPR)                                                                          \
  static inline void name##_put(uint8_t *y, const uint8_t *a_, const uint8_t *b_, i8x16 with) {                        \
    i8x16 a = i8x16_load(a_), b = i8x16_load(b_);                                                                      \
    i8x16_store(y, EXPR);                                                                                              \
  }                                                                                                                    \
  static void name(const Node *n, void *y_, const void *const *in, unsigned moves, size_t count) {                     \
    uint8_t *y = y_, rest[3][16] = {0};                                                                                \
    float same[2][16];                                                                                                 \
    const uint8_t *a = moves & 1 ? in[0] : broadcast_same(same[0], in[0], 1);                                          \
    const uint8_t *b = moves & 2 ? in[1] : broadcast_same(same[1], in[1], 1);                                          \
    i8x16 with = i8x16_load(WITH);                                                                                     \
    size_t step_a = moves & 1, step_b = moves >> 1 & 1, i = 0;                                                         \
    for (; i + 64 <= count; i += 64, a += 64 * step_a, b += 64 * step_b) {                                             \
      name##_put(y + i, a, b, with);                                                                                   \
      name##_put(y + i + 16, a + 16, b + 16, with);                                                                    \
      name##_put(y + i + 32, a + 32, b + 32, with);                                                                    \
      name##_put(y + i + 48, a + 48, b + 48, with);                                                                    \
    }                                                                                                                  \
    for (; i + 16 <= count; i += 16, a += 16 * step_a, b += 16 * step_b) name##_put(y + i, a, b, with);                \
    memcpy(rest[0], a, count - i);                                                                                     \
    memcpy(rest[1], b, count - i);                                                                                     \
    name##_put(rest[2], rest[0], rest[1], with);                                                                       \
    memcpy(y + i, rest[2], count - i);                                                                                 \
  }
