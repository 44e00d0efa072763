/* Arithmetic: elementwise operators of one or two numbers; float32 by rows of SIMD, every other type one by one in the
 * widest of its kind.
 *
 *   BROADCAST_ROW_1(sin_row, f32x4_sin(x))
 *   OPERATOR(sin) = {… .infer = arithmetic_infer, .run = arithmetic_run, .own = &(const Arithmetic){sin_row}, …};
 */
#pragma once
#include "ops/elementwise/broadcast.h"

typedef struct Arithmetic {
  BroadcastRow *row;                            /* float32; NULL: by `floats` */
  double (*floats)(double a, double b);         /* the other floats; NULL: refused */
  int64_t (*ints)(int64_t a, int64_t b);        /* NULL: of none */
  uint64_t (*naturals)(uint64_t a, uint64_t b); /* uint64 if `ints` does not fit it */
  float alpha;                                  /* the attribute's default */
  BroadcastRow *int64;                          /* int64, and uint64 without `naturals`; NULL: by `ints` */
  bool of_sizes;                                /* two sizes give a size */
  BroadcastRow *bits;                           /* every integer type, by bytes; NULL: by `ints` */
} Arithmetic;

/* Inputs of one type that the operator's own Arithmetic computes; integers known on both sides give a known output. */
Status arithmetic_infer(Node *n);
void arithmetic_run(const Node *n);
/* The same for any number of inputs, y = f(… f(f(in0, in1), in2) …). */
Status arithmetic_fold_infer(Node *n);
void arithmetic_fold_run(const Node *n);
/* For a row that has the attribute `alpha`. */
Status arithmetic_alpha_infer(Node *n);
static inline float arithmetic_alpha(const Node *n) { return *(const float *)n->params; }
/* The `expands` of an operator that has a row for float32 alone. */
bool arithmetic_expands(const Added *a);
/* For operators whose Arithmetic depends on an attribute. */
Status arithmetic_infer_as(Node *n, const Arithmetic *arithmetic);
void arithmetic_row(const Arithmetic *arithmetic, const Node *n, void *y, const void *const *in, unsigned moves,
                    size_t count); /* an element at a time, of any type */

/* The infer of a gradient operator (dY, X), which has the shape of both. */
Status arithmetic_gradient_infer(Node *n);
/* The gradient of a function of steps: dx = 0. */
Status arithmetic_flat_gradient(Grad *g);
