/* Broadcast: dims of 1 dropped, neighbours merged, and a row function called along the last. */
#include "kernels/broadcast.h"

/* What one row after another does: dims where the same operands move are one dim. */
typedef struct Walk {
  int rank;
  size_t dim[RANK_MAX];
  unsigned moves[RANK_MAX];                       /* bit k: operand k moves along this dim */
  size_t stride[RANK_MAX][BROADCAST_OPERANDS];    /* in bytes */
} Walk;

static Dim dim_from_end(const Shape *s, int i) { return i < s->rank ? s->dim[s->rank - 1 - i] : 1; }

/* Dim 0 of a Walk is the innermost. */
static Walk walk_of(const Shape *y, const Shape *const *in, const size_t *bytes, int operands) {
  Walk w = {.rank = 0};
  size_t step[BROADCAST_OPERANDS];
  for (int k = 0; k < operands; k++) step[k] = bytes[k];
  for (int i = 0; i < y->rank; i++) {
    size_t size = (size_t)dim_from_end(y, i);
    if (size == 1) continue;
    unsigned moves = 0;
    for (int k = 0; k < operands; k++) moves |= (dim_from_end(in[k], i) != 1) << k;
    if (w.rank && moves == w.moves[w.rank - 1]) w.dim[w.rank - 1] *= size;
    else {
      for (int k = 0; k < operands; k++) w.stride[w.rank][k] = moves >> k & 1 ? step[k] : 0;
      w.moves[w.rank] = moves;
      w.dim[w.rank++] = size;
    }
    for (int k = 0; k < operands; k++)
      if (moves >> k & 1) step[k] *= size;
  }
  if (!w.rank) w.dim[w.rank++] = 1;
  return w;
}

/* The next row: counts up the dims above the innermost and moves the operands along; false after the last. */
static bool walk_next(const Walk *w, size_t index[RANK_MAX], const void *in[BROADCAST_OPERANDS], int operands) {
  for (int d = 1; d < w->rank; d++) {
    bool wraps = ++index[d] == w->dim[d];
    for (int k = 0; k < operands; k++)
      in[k] = (const char *)in[k] + (wraps ? -(ptrdiff_t)(w->stride[d][k] * (w->dim[d] - 1)) : (ptrdiff_t)w->stride[d][k]);
    if (!wraps) return true;
    index[d] = 0;
  }
  return false;
}

static void broadcast_rows(const Node *n, BroadcastRow *row, void *y, size_t y_bytes, const Shape *y_shape, const void **in,
                           const Shape *const *shape, const size_t *bytes, int operands) {
  if (shape_elements(y_shape) == 0) return;
  Walk w = walk_of(y_shape, shape, bytes, operands);
  size_t index[RANK_MAX] = {0};
  do {
    row(n, y, in, w.moves[0], w.dim[0]);
    y = (char *)y + w.dim[0] * y_bytes;
  } while (walk_next(&w, index, in, operands));
}

void broadcast_run(const Node *n, int operands, BroadcastRow *row) {
  const void *in[BROADCAST_OPERANDS];
  const Shape *shape[BROADCAST_OPERANDS];
  size_t bytes[BROADCAST_OPERANDS];
  for (int k = 0; k < operands; k++) {
    in[k] = n->in[k]->data;
    shape[k] = &n->in[k]->shape;
    bytes[k] = dtype_bytes(n->in[k]->type);
  }
  broadcast_rows(n, row, n->out[0]->data, dtype_bytes(n->out[0]->type), &n->out[0]->shape, in, shape, bytes, operands);
}

/* ---- any number of inputs ---- */

static bool same_shapes(const Node *n) {
  for (int i = 1; i < n->in_count; i++)
    if (!shape_equal(&n->in[i]->shape, &n->in[0]->shape)) return false;
  return true;
}

enum { FOLD_BLOCK = 512 }; /* elements, so that the running result stays in the nearest cache */

/* y may be the bytes of any input, even of one that comes twice: it is written when all inputs of the block were read. */
static void fold_same_shapes(const Node *n, BroadcastRow *row) {
  double sum[FOLD_BLOCK];
  size_t total = out_count(n, 0), item = dtype_bytes(n->out[0]->type);
  for (size_t at = 0; at < total; at += FOLD_BLOCK) {
    size_t block = total - at < FOLD_BLOCK ? total - at : FOLD_BLOCK;
    const void *left = (const char *)n->in[0]->data + at * item;
    for (int i = 1; i < n->in_count; i++) {
      void *to = i == n->in_count - 1 ? (void *)((char *)n->out[0]->data + at * item) : sum;
      row(n, to, (const void *[]){left, (const char *)n->in[i]->data + at * item}, 3, block);
      left = to;
    }
  }
}

/* The running result lives in scratch, for the same reason. */
static void fold_broadcast(const Node *n, BroadcastRow *row) {
  const Shape *y_shape = &n->out[0]->shape, *left_shape = &n->in[0]->shape;
  const void *left = n->in[0]->data;
  size_t item = dtype_bytes(n->out[0]->type);
  for (int i = 1; i < n->in_count; i++) {
    void *to = i == n->in_count - 1 ? n->out[0]->data : n->scratch;
    broadcast_rows(n, row, to, item, y_shape, (const void *[]){left, n->in[i]->data},
                   (const Shape *[]){left_shape, &n->in[i]->shape}, (size_t[]){item, item}, 2);
    left = to;
    left_shape = y_shape;
  }
}

void broadcast_fold_run(const Node *n, BroadcastRow *row) {
  size_t bytes = out_count(n, 0) * dtype_bytes(n->out[0]->type);
  if (n->in_count == 1 && bytes) memmove(n->out[0]->data, n->in[0]->data, bytes);
  else if (n->in_count == 1) return;
  else if (same_shapes(n)) fold_same_shapes(n, row);
  else fold_broadcast(n, row);
}

/* ---- infer ---- */

Status broadcast_infer(Node *n, DType type) {
  Shape y = n->in[0]->shape;
  for (int i = 1; i < n->in_count; i++) {
    Shape with = y;
    TRY(node_broadcast(n, &with, &n->in[i]->shape, &y));
  }
  return node_output(n, 0, type, &y);
}

Status broadcast_fold_infer(Node *n) {
  TRY(broadcast_infer(n, n->in[0]->type));
  if (has_out(n, 0) && node_is_concrete(n) && n->in_count > 2 && !same_shapes(n))
    n->scratch_bytes = out_count(n, 0) * dtype_bytes(n->out[0]->type);
  return STATUS_OK;
}

Status broadcast_want_types(const Node *n, const DType *types) {
  DType type = n->in[0]->type;
  if (n->in[1]->type != type)
    return node_invalid(n, "its inputs must be of one type, they are %s and %s", dtype_name(type), dtype_name(n->in[1]->type));
  for (; *types; types++)
    if (*types == type) return STATUS_OK;
  return node_fail(n, STATUS_UNSUPPORTED_OP, "its inputs are %s, which it does not compute", dtype_name(type));
}

int broadcast_known_count(const Node *n) {
  if (!has_out(n, 0) || !shape_is_concrete(&n->out[0]->shape)) return -1;
  size_t count = out_count(n, 0);
  for (int i = 0; i < n->in_count; i++)
    if (!node_is_known(n, i) || (in_count(n, i) != 1 && in_count(n, i) != count)) return -1;
  return count <= BROADCAST_KNOWN ? (int)count : -1;
}
