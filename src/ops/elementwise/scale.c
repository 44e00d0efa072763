/* Scale (com.microsoft): y = x·scale, or x·(1 / scale) with scale_down; scale is one number, float32 or int64. */
#include "graph/op.h"
#include "threads.h"

static Status scale_infer(Node *n) {
  size_t count;
  TRY(node_want_float(n, 0));
  if (n->in[1]->type != DTYPE_INT64) TRY(node_want_float(n, 1));
  if (!shape_count(&n->in[1]->shape, &count) || count != 1) return node_invalid(n, "scale must be one number");
  int64_t *scale_down = NODE_PARAMS(n, int64_t);
  if (!scale_down) return STATUS_OUT_OF_MEMORY;
  *scale_down = node_int(n, "scale_down", 0);
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

static void run_range(void *context, size_t from, size_t to) {
  const Node *n = context;
  const void *scale = n->in[1]->data;
  const float *x = in_f32(n, 0);
  float factor = n->in[1]->type == DTYPE_INT64 ? (float)*(const int64_t *)scale : *(const float *)scale;
  if (*(const int64_t *)n->params) factor = 1 / factor;
  float *y = out_f32(n, 0);
  for (size_t i = from; i < to; i++) y[i] = x[i] * factor;
}

static void scale_run(const Node *n) { threads_split(out_count(n, 0), threads_grain(1), run_range, (void *)n); }

OPERATOR(scale) = {
    .name = "Scale",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .in_place = 1,
    .infer = scale_infer,
    .run = scale_run,
    .cases = CASES({"f32[2,3] f32[]=2"}, {"f32[2,3] f32[1]=3", "scale_down=1"}, {"f32[5] v:i64[]=4", "scale_down=1"}),
};
