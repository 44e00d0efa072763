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

/* How many elements of output 0 follow from what is known of all inputs: 0 … BROADCAST_KNOWN, or -1 for none. */
enum { BROADCAST_KNOWN = 64 };
int broadcast_known_count(const Node *n);
/* Element i of what is known of an input; a single one broadcasts. */
static inline Dim broadcast_known_at(const Node *n, int input, int i) {
  return n->in[input]->known[in_count(n, input) == 1 ? 0 : i];
}

/* Defines the row `name`: y = EXPR of the four floats x. */
#define BROADCAST_ROW_1(name, EXPR)                                                                                    \
  static void name(const Node *n, void *y_, const void *const *in, unsigned moves, size_t count) {                     \
    const float *x_ = in[0];                                                                                           \
    float *y = y_;                                                                                                     \
    for (size_t i = 0; i < count; i += 4) {                                                                            \
      f32x4 x = f32x4_load_up_to(x_ + i, count - i);                                                                   \
      f32x4_store_up_to(y + i, EXPR, count - i);                                                                       \
    }                                                                                                                  \
  }

/* Defines the row `name`: y = EXPR of the four floats a and the four floats b. */
#define BROADCAST_ROW_2(name, EXPR)                                                                                    \
  static void name(const Node *n, void *y_, const void *const *in, unsigned moves, size_t count) {                     \
    const float *a_ = in[0], *b_ = in[1];                                                                              \
    float *y = y_;                                                                                                     \
    f32x4 a = f32x4_splat(*a_), b = f32x4_splat(*b_);                                                                  \
    for (size_t i = 0; i < count; i += 4) {                                                                            \
      if (moves & 1) a = f32x4_load_up_to(a_ + i, count - i);                                                          \
      if (moves & 2) b = f32x4_load_up_to(b_ + i, count - i);                                                          \
      f32x4_store_up_to(y + i, EXPR, count - i);                                                                       \
    }                                                                                                                  \
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
