/* Comparison: operators of two inputs of one type that give a bool, with NumPy broadcasting. */
#pragma once
#include "ops/elementwise/broadcast.h"

/* Comparisons of integers: a < b, and the differences from it. */
enum { COMPARES_INTS = 1, COMPARES_EQUAL = 2, COMPARES_SWAPPED = 4, COMPARES_NOT = 8 };

/* The rows of y = a ∘ b; NULL: of no such type. */
typedef struct Comparison {
  BroadcastRow *floats, *doubles;
  unsigned ints; /* 0: of none */
  BroadcastRow *bools, *strings;
} Comparison;

/* Infers by the operator's own Comparison. */
Status comparison_infer(Node *n);
void comparison_run(const Node *n);

/* The lowest bytes of 16 masks, as 0 or 1. */
static inline void comparison_store(uint8_t *y, i32x4 a, i32x4 b, i32x4 c, i32x4 d) {
  i8x16_store(y, i8x16_of_lanes(a, b, c, d) & 1);
}

/* The row of floats, sixteen at once. */
#define COMPARISON_FLOATS(EXPR)                                                                                        \
  static inline i32x4 floats_of(const float *a_, const float *b_) {                                                    \
    f32x4 a = f32x4_load(a_), b = f32x4_load(b_);                                                                      \
    return EXPR;                                                                                                       \
  }                                                                                                                    \
  static void floats_row(const Node *n, void *y_, const void *const *in, unsigned moves, size_t count) {               \
    uint8_t *y = y_;                                                                                                   \
    float same[2][16];                                                                                                 \
    const float *a_ = moves & 1 ? in[0] : broadcast_stay(same[0], in[0]);                                              \
    const float *b_ = moves & 2 ? in[1] : broadcast_stay(same[1], in[1]);                                              \
    size_t step_a = moves & 1, step_b = moves >> 1 & 1, i = 0;                                                         \
    for (; i + 16 <= count; i += 16, a_ += 16 * step_a, b_ += 16 * step_b)                                             \
      comparison_store(y + i, floats_of(a_, b_), floats_of(a_ + 4, b_ + 4), floats_of(a_ + 8, b_ + 8),                 \
                       floats_of(a_ + 12, b_ + 12));                                                                   \
    for (; i < count; i++, a_ += step_a, b_ += step_b) {                                                               \
      float a = *a_, b = *b_;                                                                                          \
      y[i] = EXPR;                                                                                                     \
    }                                                                                                                  \
  }

/* Defines the rows of numbers, EXPR of a and b, for a Comparison to name. */
#define COMPARISON_ROWS(EXPR)                                                                                          \
  COMPARISON_FLOATS(EXPR)                                                                                              \
  BROADCAST_ROW_OF(doubles_row, double, uint8_t, EXPR)
#define COMPARISON_OF_NUMBERS floats_row, doubles_row

/* Defines the row `name` of booleans, EXPR of sixteen a and b: any byte but 0 is true, and the smaller one of it and
 * `with` is 1. */
#define COMPARISON_BOOLS(name, EXPR) BROADCAST_ROW_BYTES(name, broadcast_ones, EXPR)
