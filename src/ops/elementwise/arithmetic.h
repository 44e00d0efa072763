/* Arithmetic: elementwise operators of one or two numbers; float32 by rows of SIMD, every other type one by one in the
 * widest of its kind. */
#pragma once
#include "ops/elementwise/broadcast.h"

typedef struct Arithmetic {
  double (*floats)(double a, double b);         /* NULL: of no other float but float32 */
  int64_t (*ints)(int64_t a, int64_t b);        /* NULL: of no ints */
  uint64_t (*naturals)(uint64_t a, uint64_t b); /* of uint64 where that is another function than of int64 */
} Arithmetic;

/* Inputs of one type (input 1 may be absent); integers known on both sides give a known output. */
Status arithmetic_infer(Node *n, const Arithmetic *arithmetic);
/* `floats` is the row of float32. */
void arithmetic_run(const Node *n, BroadcastRow *floats);
/* The same for any number of inputs, y = f(… f(f(in0, in1), in2) …). */
Status arithmetic_fold_infer(Node *n, const Arithmetic *arithmetic);
void arithmetic_fold_run(const Node *n, BroadcastRow *floats);
/* The row of all types but float32. */
void arithmetic_row(const Node *n, void *y, const void *const *in, unsigned moves, size_t count);
