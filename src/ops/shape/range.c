/* Range: start, start + delta, … up to and without limit. */
#include <math.h>

#include "graph/dims.h"
#include "kernels/number.h"

/* ⌈(limit − start) / delta⌉, at least 0 */
static Dim count_ints(int64_t start, int64_t limit, int64_t delta) {
  if (delta > 0 ? start >= limit : start <= limit) return 0;
  uint64_t distance = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
  uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
  return (Dim)(((distance - 1) / step + 1) & INT64_MAX);
}

static Status ints_infer(Node *n, Shape *y) {
  const Dim *in[3];
  Dim known[64];
  bool numbers = true;
  for (int i = 0; i < 3; i++) {
    int count;
    TRY(dims_known(n, i, &in[i], &count));
    if (count != 1) return node_invalid(n, "input %d must be a scalar", i);
    numbers &= in[i] && !dim_is_symbol(*in[i]);
  }
  if (in[2] && *in[2] == 0) return node_invalid(n, "delta is 0");
  if (numbers) y->dim[0] = count_ints(*in[0], *in[1], *in[2]);
  else if (in[0] && in[1] && in[2] && *in[0] == 0 && *in[2] == 1)
    y->dim[0] = *in[1]; /* 0 … N-1: the dim is the symbol N */
  else y->dim[0] = graph_fresh_dim(n->graph);
  TRY(node_output(n, 0, n->in[0]->type, y));
  if (!numbers || y->dim[0] > 64) return STATUS_OK;
  for (int i = 0; i < y->dim[0]; i++) known[i] = *in[0] + i * *in[2];
  node_output_known(n, 0, known, (int)y->dim[0]);
  return STATUS_OK;
}

static Status floats_infer(Node *n, Shape *y) {
  double in[3];
  for (int i = 0; i < 3; i++) {
    size_t length;
    const void *data;
    Numbers number;
    TRY(node_contents(n, i, &data));
    if (!shape_count(&n->in[i]->shape, &length) || length != 1) return node_invalid(n, "input %d must be a scalar", i);
    numbers_load(&number, data, n->in[i]->type, 0, 1, 1);
    in[i] = *number.floats;
  }
  double count = ceil((in[1] - in[0]) / in[2]);
  if (!(count < INT32_MAX)) return node_invalid(n, "it has no end");
  y->dim[0] = count > 0 ? (Dim)count : 0;
  return node_output(n, 0, n->in[0]->type, y);
}

static Status range_infer(Node *n) {
  Shape y = {.rank = 1};
  DType type = n->in[0]->type;
  for (int i = 1; i < 3; i++)
    if (n->in[i]->type != type) return node_invalid(n, "start, limit and delta have different types");
  if (type == DTYPE_FLOAT32 || type == DTYPE_FLOAT64) return floats_infer(n, &y);
  TRY(node_want_index(n, 0));
  return ints_infer(n, &y);
}

#define RANGE(T)                                                                                                       \
  do {                                                                                                                 \
    T *to = n->out[0]->data, start = *(const T *)n->in[0]->data, delta = *(const T *)n->in[2]->data;                   \
    for (size_t i = 0; i < count; i++) to[i] = start + (T)i * delta;                                                   \
  } while (0)

/* Four at once; wrapping, as all ints do. */
#define RANGE_INTS(T)                                                                                                  \
  do {                                                                                                                 \
    typedef T four __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));                         \
    T *to = n->out[0]->data, start = *(const T *)n->in[0]->data, delta = *(const T *)n->in[2]->data;                   \
    four next = {start, start + delta, start + 2 * delta, start + 3 * delta};                                          \
    size_t i = 0;                                                                                                      \
    for (; i + 4 <= count; i += 4, next += 4 * delta) *(four *)(to + i) = next;                                        \
    for (int k = 0; i < count; i++) to[i] = next[k++];                                                                 \
  } while (0)

static void range_run(const Node *n) {
  size_t count = out_count(n, 0);
  switch (n->out[0]->type) {
    case DTYPE_FLOAT32: RANGE(float); break;
    case DTYPE_FLOAT64: RANGE(double); break;
    case DTYPE_INT32: RANGE_INTS(uint32_t); break;
    default: RANGE_INTS(uint64_t); break;
  }
}

OPERATOR(range) = {
    .name = "Range",
    .since = {11},
    .inputs = {3, 3},
    .flags = OP_FLOAT64,
    .infer = range_infer,
    .run = range_run,
    .cases = CASES({"i64[]=2 i64[]=9 i64[]=3"}, {"i64[]=5 i64[]=-2 i64[]=-1"}, {"i32[]=3 i32[]=3 i32[]=1"},
                   {"f32[]=0.5 f32[]=2 f32[]=0.25"}, {"i64[]=7 i64[]=-20 i64[]=-3"}, {"i32[]=-4 i32[]=9 i32[]=2"},
                   {"f64[]=1 f64[]=-1 f64[]=-0.3"}),
};
