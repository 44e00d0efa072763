/* Frozen: small models y = f(x, ids) · last with a weight w that is frozen, whose dims are numbers, so that they run as
 * they are; and which weights quantizeFrozen chooses of them. */
#pragma once
#include "model/quantize.h"

enum { ROWS = 4, WIDE = 3, HIGH = 5 };

typedef struct Frozen {
  Arena arena;
  Error error;
  Graph *g;
  Value *first;    /* a parameter (WIDE, HIGH), the first value of all */
  Value *x, *ids;  /* (ROWS, WIDE) and (ROWS) */
  Value *w, *last; /* `last` trains */
} Frozen;

/* `make` gives f(x, ids) with `last_rows` columns (0: this is y), and sets w. The caller always frees the arena. */
bool frozen_open(Frozen *m, Value *(*make)(Frozen *m), int last_rows);
Value *frozen_input(Frozen *m, const char *name, DType type, Shape shape);
Value *frozen_parameter(Frozen *m, const char *name, Shape shape);
/* The weight, (rows, columns). */
Value *frozen_w(Frozen *m, int rows, int columns);
/* Numbers between -1 and 1. */
void frozen_fill(float *x, size_t count, int from);

Value *frozen_product(Frozen *m, Value *a, Value *b);
/* Gemm with one attribute; c: NULL for none. */
Value *frozen_gemm(Frozen *m, Attr attr, Value *a, Value *b, Value *c);

/* The quantizer of all but `last`; NULL: it is refused. */
Quantizer *frozen_choose(Frozen *m, QuantizeKind kind, bool nominal);
/* The same, of which it is checked that there is one, and what it changes. */
Quantizer *frozen_put(Frozen *m, QuantizeKind kind, bool nominal);
/* The names of its operators, as "Cast MatMul". */
char *frozen_operators(Frozen *m);
