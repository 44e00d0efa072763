/* Dropout: while training, y = x / (1 - ratio) where a random mask keeps x, else 0; otherwise y = x.  dx likewise of
 * dy. A model for inference does not train, whatever its training_mode says, as in ONNX Runtime. */
#include <string.h>

#include "graph/second_output.h"
#include "kernels/copy.h"
#include "kernels/vector_math.h"
#include "threads.h"
#include "graph/upgrade.h"

static Status want_scalar(const Node *n, int i) {
  size_t count;
  if (!has_in(n, i) || (shape_count(&n->in[i]->shape, &count) && count == 1)) return STATUS_OK;
  return node_invalid(n, "input %d must be a scalar", i);
}

static Status dropout_infer(Node *n) {
  TRY(node_want_float(n, 0));
  TRY(node_want_float(n, 1));
  TRY(node_want_type(n, 2, DTYPE_BOOL));
  TRY(want_scalar(n, 1));
  TRY(want_scalar(n, 2));
  if (has_in(n, 2) && n->graph->predicts) n->in[2] = NULL;
  TRY(node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape));
  return node_output(n, 1, DTYPE_BOOL, &n->in[0]->shape);
}

static bool trains(const Node *n) { return has_in(n, 2) && *(const uint8_t *)n->in[2]->data; }

static void copy_all(const Node *n) {
  size_t count = in_count(n, 0);
  if (has_out(n, 0)) memmove(n->out[0]->data, n->in[0]->data, count * sizeof(float));
  if (!has_out(n, 1)) return;
  for (size_t i = 0; i < count; i++) {
    ((uint8_t *)n->out[1]->data)[i] = 1;
  }
}

/* Blocks from … to - 1 of sixteen elements. Element i draws number i of the node's stream: the same mask in every order
 * of computing. */
static void drop_blocks(void *context, size_t from, size_t to) {
  const Node *n = context;
  float ratio = has_in(n, 1) ? *in_f32(n, 1) : 0.5f, scale = ratio < 1 ? 1 / (1 - ratio) : 0;
  const float *x = in_f32(n, 0);
  float *y = has_out(n, 0) ? out_f32(n, 0) : NULL;
  uint8_t *mask = has_out(n, 1) ? n->out[1]->data : NULL;
  size_t count = in_count(n, 0);
  for (size_t i = 16 * from; i < count && i < 16 * to; i += 16) {
    uint32_t bits[16];
    i32x4 keep[4];
    uint8_t kept[16];
    rng_four_blocks(n->graph->rng, (uint32_t)n->stream, (uint32_t)(i / 4), bits);
    for (size_t k = 0; k < 4; k++) {
      i32x4 drawn = i32x4_load((const int32_t *)bits + 4 * k) >> 8 & 0xffffff; /* rng_unit's bits */
      size_t at = i + 4 * k;
      keep[k] = i32x4_to_f32(drawn) * 0x1p-24f >= f32x4_splat(ratio);
      if (!y || at >= count) continue;
      f32x4 value = f32x4_load_up_to(x + at, count - at) * scale;
      f32x4_store_up_to(y + at, (f32x4)((i32x4)value & keep[k]), count - at);
    }
    if (!mask) continue;
    i8x16_store(kept, i8x16_of_lanes(keep[0], keep[1], keep[2], keep[3]) & 1);
    copy_bytes(mask + i, kept, count - i < 16 ? count - i : 16);
  }
}

static void dropout_run(const Node *n) {
  if (trains(n)) threads_split((in_count(n, 0) + 15) / 16, threads_grain(32), drop_blocks, (void *)n);
  else copy_all(n);
}

static Status dropout_grad(Grad *g) {
  Node *n = g->node;
  if (!g->dy[0]) return STATUS_OK;
  if (!has_in(n, 2)) {
    g->dx[0] = g->dy[0];
    return STATUS_OK;
  }
  TRY(second_output_want(n, "mask"));
  g->dx[0] = emit(g->graph, "DropoutGrad", g->dy[0], n->out[1], n->in[1] ? n->in[1] : EMIT_ABSENT, n->in[2]);
  return STATUS_OK;
}

static Status dropout_upgrade(Upgrade *u) { return upgrade_move(u, "ratio", 1, 12), STATUS_OK; }

OPERATOR(dropout) = {
    .name = "Dropout",
    .since = {1, 7, 10, 12, 13, 22},
    .inputs = {1, 3},
    .outputs = {1, 2},
    .flags = OP_RANDOM,
    .in_place = 1,
    .infer = dropout_infer,
    .run = dropout_run,
    .grad = GRADIENT(dropout_grad),
    .upgrade = dropout_upgrade,
    .cases = CASES({"f32[4,5] f32[]=0.4 bool[]=1", NULL, 0, 2}, {"f32[4,5] f32[]=0.4 v:bool[]=1", NULL, 12},
                   {"f32[11] - bool[]=1", NULL, 13, 2}, {"f32[3,5] f32[]=0.4 bool[]=0", NULL, 0, 2},
                   {"f32[3,5] f32[]=0.4"}, {"f32[5] f32[]=1 bool[]=1", NULL, 0, 2}, {"f32[3,5]", "ratio=0.4", 10, 2},
                   {"f32[3,5]", "ratio=0.4", 7}, {"f32[3,5]", "ratio=0.4 is_test=1", 6}),
};
