/* Where: y = condition ? a : b, with NumPy broadcasting.  da = dy where the condition holds, else 0; db the other way
 * round. */
#include <string.h>

#include "kernels/strided.h"
#include "ops/elementwise/broadcast.h"

static void where_known(Node *n) {
  int count = n->out[0] && !dtype_is_float(n->out[0]->type) ? broadcast_known_count(n) : -1;
  Dim y[BROADCAST_KNOWN];
  if (count < 0) return;
  for (int i = 0; i < count; i++) y[i] = broadcast_known_at(n, broadcast_known_at(n, 0, i) ? 1 : 2, i);
  node_output_known(n, 0, y, count);
}

static Status where_infer(Node *n) {
  DType a = n->in[1]->type, b = n->in[2]->type;
  TRY(node_want_type(n, 0, DTYPE_BOOL));
  if (a != b)
    return node_invalid(n, "its inputs must be of one type, they are %s and %s", dtype_name(a), dtype_name(b));
  if (dtype_bytes(a) == 0)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its inputs are %s, which it does not choose from", dtype_name(a));
  TRY(broadcast_infer(n, a));
  where_known(n);
  return STATUS_OK;
}

/* A row all of which comes from a, or from b. */
static bool one_side(const Node *n, void *y, const void *const *in, unsigned moves, size_t count) {
  if (moves & 1) return false;
  size_t item = dtype_bytes(n->out[0]->type);
  int side = *(const uint8_t *)in[0] ? 1 : 2;
  if (moves >> side & 1) memcpy(y, in[side], count * item);
  else strided_fill(y, in[side], count, item);
  return true;
}

#define WHERE_ROW(name, T)                                                                                             \
  static void name(const Node *n, void *y, const void *const *in, unsigned moves, size_t count) {                      \
    const uint8_t *condition = in[0];                                                                                  \
    const T *a = in[1], *b = in[2];                                                                                    \
    size_t step_a = moves >> 1 & 1, step_b = moves >> 2 & 1;                                                           \
    if (one_side(n, y, in, moves, count)) return;                                                                      \
    for (size_t i = 0; i < count; i++) ((T *)y)[i] = condition[i] ? a[i * step_a] : b[i * step_b];                     \
  }
WHERE_ROW(row_1, uint8_t)
WHERE_ROW(row_2, uint16_t)
WHERE_ROW(row_8, uint64_t)

typedef uint8_t u8x4 __attribute__((vector_size(4), aligned(1), may_alias));

/* Four of 32 bits at once. */
static void row_4(const Node *n, void *y_, const void *const *in, unsigned moves, size_t count) {
  const uint8_t *condition = in[0];
  float *y = y_, same[2][16];
  const float *a = moves & 2 ? in[1] : broadcast_stay(same[0], in[1]);
  const float *b = moves & 4 ? in[2] : broadcast_stay(same[1], in[2]);
  size_t step_a = moves >> 1 & 1, step_b = moves >> 2 & 1, i = 0;
  if (one_side(n, y, in, moves, count)) return;
  for (; i + 4 <= count; i += 4) {
    i32x4 none = __builtin_convertvector(*(const u8x4 *)(condition + i), i32x4) == 0;
    f32x4_store(y + i, f32x4_select(none, f32x4_load(b + i * step_b), f32x4_load(a + i * step_a)));
  }
  for (; i < count; i++) memcpy(y + i, condition[i] ? a + i * step_a : b + i * step_b, sizeof *y);
}

static void where_run(const Node *n) {
  size_t bytes = dtype_bytes(n->out[0]->type);
  broadcast_run(n, 3, bytes == 1 ? row_1 : bytes == 2 ? row_2 : bytes == 4 ? row_4 : row_8);
}

static Status where_grad(Grad *g) {
  Value *condition = g->node->in[0], *dy = g->dy[0], *zero = emit_float(g->graph, 0);
  if (g->want[1]) g->dx[1] = emit(g->graph, "Where", condition, dy, zero);
  if (g->want[2]) g->dx[2] = emit(g->graph, "Where", condition, zero, dy);
  return STATUS_OK;
}

OPERATOR(where) = {
    .name = "Where",
    .since = {9, 16},
    .inputs = {3, 3},
    .in_place = 2 | 4,
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .infer = where_infer,
    .run = where_run,
    .grad = GRADIENT(where_grad),
    .cases = CASES({"v:bool[2,3]=1,0,0,1,1,0 f32[2,3] f32[2,3]"}, {"v:bool[2,1]=1,0 f32[3] f32[]"},
                   {"v:bool[5,1]=1,0,1,1,0 f32[2] f32[5,2]"}, {"v:bool[3]=1,0,1 v:i64[3]=1,2,3 v:i64[]=-1"},
                   {"bool[3]=1,0,1 i64[3]=1,2,3 i64[1]=-1"}, {"v:bool[3]=1,0,1 v:bool[3]=1,1,1 v:bool[]=0"}),
};
