/* DropoutGrad (com.microsoft): dx = dy / (1 - ratio) where the mask is set, else 0; dx = dy when training_mode is
 * false. */
#include <string.h>

#include "graph/same_shape.h"
#include "simd.h"
#include "threads.h"

static Status dropout_grad_infer(Node *n) {
  TRY(node_want_float(n, 0));
  TRY(node_want_type(n, 1, DTYPE_BOOL));
  TRY(same_shape_want(n, 0, 1));
  TRY(node_want_float(n, 2));
  TRY(node_want_type(n, 3, DTYPE_BOOL));
  for (int i = 2; i < n->in_count; i++) {
    size_t count;
    if (has_in(n, i) && (!shape_count(&n->in[i]->shape, &count) || count != 1))
      return node_invalid(n, "input %d must be a scalar", i);
  }
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

typedef uint8_t u8x4 __attribute__((vector_size(4), aligned(1), may_alias));

static void run_range(void *context, size_t from, size_t to) {
  const Node *n = context;
  const float *dy = in_f32(n, 0);
  const uint8_t *mask = n->in[1]->data;
  float *dx = out_f32(n, 0);
  float ratio = has_in(n, 2) ? *in_f32(n, 2) : 0.5f, scale = 1 / (1 - ratio);
  size_t i = from;
  for (; i + 4 <= to; i += 4) {
    i32x4 dropped = __builtin_convertvector(*(const u8x4 *)(mask + i), i32x4) == 0;
    f32x4_store(dx + i, f32x4_select(dropped, f32x4_splat(0), f32x4_load(dy + i) * scale));
  }
  for (; i < to; i++) dx[i] = mask[i] ? dy[i] * scale : 0;
}

static void dropout_grad_run(const Node *n) {
  if (has_in(n, 3) && !*(const uint8_t *)n->in[3]->data)
    memmove(n->out[0]->data, n->in[0]->data, out_count(n, 0) * sizeof(float));
  else threads_split(out_count(n, 0), threads_grain(1), run_range, (void *)n);
}

OPERATOR(dropout_grad) = {
    .name = "DropoutGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 4},
    .in_place = 1,
    .infer = dropout_grad_infer,
    .run = dropout_grad_run,
    .cases = CASES({"f32[2,3] v:bool[2,3]=1,0,0,1,1,0 f32[]=0.4 bool[]=1"},
                   {"f32[2,3] v:bool[2,3]=1,0,0,1,1,0 - v:bool[]=0"}, {"f32[5] v:bool[5]=1,0,0,1,1"},
                   {"f32[2,3] v:bool[2,3]=1,0,0,1,1,0 f32[]=0.4"}),
};
