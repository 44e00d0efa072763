/* Lengths: numbers for free lengths of fed vectors (a shape, axes, indices) that only one number fits. */
#include "graph/lengths.h"

#include <string.h>

#include "graph/op.h"

typedef enum Length { ONE, OUTPUTS, DIMS_OF_X, DECLARED, REDUCED, DEPTH } Length;

static const struct {
  char op[16];
  signed char input, length;
} rows[] = {
    {"TopK", 1, ONE},         {"Split", 1, OUTPUTS},   {"MaxUnpool", 2, DIMS_OF_X},
    {"Reshape", 1, DECLARED}, {"Expand", 1, DECLARED}, {"ConstantOfShape", 0, DECLARED},
    {"Reduce", 1, REDUCED},   {"GatherND", 1, DEPTH},
};

static int row_of(const Op *op) {
  for (int i = 0; op && i < (int)(sizeof rows / sizeof *rows); i++)
    if (rows[i].length == REDUCED ? strncmp(op->name, rows[i].op, 6) == 0 : strcmp(op->name, rows[i].op) == 0) return i;
  return -1;
}

int lengths_open(const Graph *g, const Added *a) {
  int row = g->deferral.allowed ? -1 : row_of(a->op), input = row < 0 ? 0 : rows[row].input;
  const Value *v = row >= 0 && input < a->in_count && a->in[0] ? a->in[input] : NULL;
  return v && v->shape.rank && !dim_is_number(v->shape.dim[v->shape.rank - 1]) ? input : -1;
}

/* GatherND: x is (B…, d0, …, slice…), the indices are (B…, rows…, depth), the output is (B…, rows…, slice…). */
static int depth_of(const Added *a, int rank) {
  int deepest = a->in[0]->shape.rank;
  for (int i = 0; i < a->attr_count; i++)
    if (a->attrs[i].kind == ATTR_INT && strcmp(a->attrs[i].name, "batch_dims") == 0 &&
        (uint64_t)a->attrs[i].i < RANK_MAX)
      deepest -= (int)a->attrs[i].i;
  int depth = deepest == 1 ? 1 : rank < 0 ? 0 : a->in[1]->shape.rank - 1 + deepest - rank;
  return depth <= deepest ? depth : 0;
}

static int length_of(const Added *a, int rank) {
  int dims = a->in[0]->shape.rank;
  switch ((Length)rows[row_of(a->op)].length) {
    case ONE: return 1;
    case OUTPUTS: return a->out_count;
    case DIMS_OF_X: return dims;
    case DECLARED: return rank;
    case REDUCED: return rank < 0 ? 0 : dims - rank;
    default: return depth_of(a, rank);
  }
}

Status lengths_settle(Graph *g, const Added *a, Value **in, int rank) {
  int input = lengths_open(g, a);
  int64_t dims[RANK_MAX] = {0};
  if (input < 0) return STATUS_OK;
  int last = in[input]->shape.rank - 1;
  if ((dims[last] = length_of(a, rank)) < 1) return STATUS_OK;
  in[input] = emit(g, "Reshape", in[input], emit_ints(g, dims, last + 1));
  return g->error->status;
}
