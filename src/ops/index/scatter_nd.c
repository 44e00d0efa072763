/* ScatterND: puts updates into data (or adds them, multiplies by them, …) at the slices that an index tensor names.
 * ops/index/nd_index.h has the shapes.  dData = dy, 0 where it was replaced; dUpdates = dy there; of max and min, the
 * elements that are y share dy; of mul, dy times the other factors. */
#include <string.h>

#include "ops/index/nd_index.h"
#include "ops/index/scatter_reduction.h"
#include "size.h"

static Status scatter_nd_infer(Node *n) {
  Shape slices;
  ScatterKind kind;
  TRY(scatter_infer(n, &kind));
  TRY(nd_index_infer(n, &n->in[0]->shape, 0, 2, &slices));
  return node_output(n, 0, n->in[0]->type, &n->in[0]->shape);
}

/* Numbers that are added: the places of some first, so that those of memory are waited for together. */
static void add_numbers(const Node *n, const NdIndexRun *run, size_t rows, const float *from, float *y) {
  enum { TOGETHER = 64 };
  ptrdiff_t at[TOGETHER];
  for (size_t r = 0; r < rows; r += TOGETHER, from += TOGETHER) {
    size_t count = size_min(TOGETHER, rows - r);
    for (size_t k = 0; k < count; k++) at[k] = nd_index_at(run, r + k);
    for (size_t k = 0; k < count; k++) {
      if (at[k] < 0) return nd_index_note(n, r + k);
      y[at[k]] += from[k];
    }
  }
}

static void scatter_nd_run(const Node *n) {
  const Value *data = n->in[0];
  size_t item = dtype_bytes(data->type), rows = nd_index_rows(n), slice = nd_index_slice(n, &data->shape);
  const char *from = n->in[2]->data;
  char *y = n->out[0]->data;
  ScatterKind kind = scatter_kind(n);
  NdIndexRun run = nd_index_run(n, &data->shape);
  if (out_count(n, 0) && y != data->data) memmove(y, data->data, out_count(n, 0) * item);
  if (kind == SCATTER_ADD && slice == 1 && data->type == DTYPE_FLOAT32) {
    add_numbers(n, &run, rows, (const float *)from, (float *)y);
    return;
  }
  for (size_t r = 0; r < rows && slice; r++, from += slice * item) {
    ptrdiff_t at = nd_index_at(&run, r);
    if (at < 0) return nd_index_note(n, r);
    scatter_row(kind, data->type, y + (size_t)at * item, from, slice);
  }
}

/* GatherND wants the last dim of the indices as a number. */
static Status scatter_nd_grad(Grad *g) {
  Value *at = g->node->in[1];
  int64_t dims[RANK_MAX] = {0};
  int last = at->shape.rank - 1;
  dims[last] = ((const NdIndex *)g->node->params)->depth;
  if (!dim_is_number(at->shape.dim[last])) at = emit(g->graph, "Reshape", at, emit_ints(g->graph, dims, last + 1));
  return scatter_grad(g, "GatherND", at, NO_ATTRS);
}

OPERATOR(scatter_nd) = {
    .name = "ScatterND",
    .since = {11, 13, 16, 18},
    .inputs = {3, 3},
    .in_place = 1,
    .flags = OP_ANY_TYPE | OP_ATTRIBUTES | OP_ALONE,
    .expand = scatter_in_float,
    .expands = scatter_expands,
    .infer = scatter_nd_infer,
    .run = scatter_nd_run,
    .grad = GRADIENT(scatter_nd_grad),
    .cases = CASES({"f32[4,3] v:i64[2,1]=3,1 f32[2,3]"}, {"f32[4,3] v:i64[2,2]=3,1,0,-1 f32[2]"},
                   {"f32[4,3] v:i64[3,1]=3,1,3 f32[3,3]", "reduction=add", 16},
                   {"f32[4] v:i64[3,1]=3,1,3 f32[3]", "reduction=mul", 16},
                   {"f32[4] v:i64[3,1]=3,1,3 f32[3]", "reduction=max", 18},
                   {"f32[4,2] v:i64[3,1]=3,1,3 f32[3,2]", "reduction=min", 18},
                   {"v:i64[4]=1,2,3,4 v:i64[3,1]=3,0,3 v:i64[3]=9,8,7", "reduction=add", 16},
                   {"v:f16[1]=1 v:i64[5,1]=0,0,0,0,0 v:f16[5]=0.0004*", "reduction=add", 16, .no_grad = "float16"},
                   {"v:i64[4]=1,2,3,4 v:i64[2,1]=0,2 v:i64[2]=9,8", NULL, 11}),
};
