/* Opcase: the text of an operator's Case (graph/op.h) as tensors and attributes, and as a graph of one node.
 *
 *   Case text ─▶ OpCase ─▶ Graph with one node ─▶ Machine runs it
 */
#pragma once
#include "graph/op.h"

enum { OPCASE_INPUTS = 16, OPCASE_ATTRS = 16 };

typedef struct CaseInput {
  bool absent, constant;
  DType type;
  Shape shape;
  size_t count, bytes;
  void *data;
} CaseInput;

typedef struct OpCase {
  const Op *op;
  const Case *text;
  char key[400]; /* "Relu | f32[2,3] | | 0": its name in tests/golden/data/ops.txt */
  CaseInput in[OPCASE_INPUTS];
  int in_count;
  Attr attrs[OPCASE_ATTRS];
  int attr_count;
  Arena arena;       /* for data and attributes */
  const int *rank;   /* output 0's, as a file declares it; NULL: it does not */
  char problem[160]; /* why the text is not understood, "" when it is */
} OpCase;

bool opcase_parse(const Op *op, const Case *text, OpCase *out);
void opcase_free(OpCase *c);

/* Dims of the fed inputs that are symbols. */
typedef enum Symbols {
  SYMBOLS_NONE,
  SYMBOLS_SHARED,   /* N: input 0's first dim and every equal first dim of another input */
  SYMBOLS_FIRST,    /* N: input 0's first dim alone: its number may be a weight's by chance */
  SYMBOLS_ALL,      /* each dim above 1 of floats, D7 for a 7 */
  SYMBOLS_APART,    /* each dim has its own, F0_1 for dim 1 of input 0 */
  SYMBOLS_DEFERRED, /* the same in a graph whose nodes may be deferred, as those of a session that only runs */
  SYMBOLS_EACH,     /* + RANK_MAX · input + dim: that dim alone, F0_1 */
} Symbols;
/* The graph of one node over fresh values; NULL with error set when infer refuses. */
Graph *opcase_build(const OpCase *c, Arena *arena, Error *error, Symbols symbols);
bool opcase_accepts(const OpCase *c, Symbols symbols);
static inline bool opcase_is_fed(const OpCase *c, int i) { return !c->in[i].absent && !c->in[i].constant; }
/* The number that a symbol's name stands for; -1 when infer made it up. */
Dim opcase_number(const OpCase *c, const char *symbol);
/* The most symbols that infer accepts; NONE when input 0 cannot have one, FIRST too when it refuses both. */
Symbols opcase_symbols(const OpCase *c);
int opcase_outputs(const OpCase *c);
/* Output i of the case in g or a clone of it, by name. */
Value *opcase_output(const Graph *g, int i);
/* Input i of the case among g's inputs, by name; NULL when absent or constant. */
Value *opcase_value(const Graph *g, int i);
