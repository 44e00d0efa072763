/* InPlaceAccumulatorV2 (com.microsoft): buffer = gradient when the flag overwrites, else buffer + gradient; updated =
 * true. */
#include "graph/same_shape.h"
#include "kernels/vector_math.h"
#include "threads.h"

static Status in_place_accumulator_v2_infer(Node *n) {
  Shape one = SHAPE(1);
  TRY(node_want_float(n, 0));
  TRY(node_want_float(n, 1));
  TRY(same_shape_want(n, 0, 1));
  TRY(node_want_type(n, 2, DTYPE_BOOL));
  if (has_in(n, 2) && n->in[2]->shape.rank && !dims_meet(n->in[2]->shape.dim[0], 1))
    return node_invalid(n, "input 2 must be one flag");
  return node_output(n, 0, DTYPE_BOOL, &one);
}

static void run_range(void *context, size_t from, size_t to) {
  const Node *n = context;
  float *buffer = n->in[0]->data;
  const float *gradient = in_f32(n, 1);
  if (has_in(n, 2) && *(const uint8_t *)n->in[2]->data)
    memcpy(buffer + from, gradient + from, (to - from) * sizeof *buffer);
  else
    for (size_t i = from; i < to; i += 4) {
      f32x4 sum = f32x4_load_up_to(buffer + i, to - i) + f32x4_load_up_to(gradient + i, to - i);
      f32x4_store_up_to(buffer + i, sum, to - i);
    }
}

static void in_place_accumulator_v2_run(const Node *n) {
  threads_split(in_count(n, 0), threads_grain(1), run_range, (void *)n);
  *(uint8_t *)n->out[0]->data = 1;
}

OPERATOR(in_place_accumulator_v2) = {
    .name = "InPlaceAccumulatorV2",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 3},
    .flags = OP_UPDATES,
    .infer = in_place_accumulator_v2_infer,
    .run = in_place_accumulator_v2_run,
    .cases = CASES({"f32[2,3] f32[2,3] v:bool[1]=1"}, {"f32[2,3] f32[2,3] v:bool[1]=0"}, {"f32[7] f32[7]"}),
};
