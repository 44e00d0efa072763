/* Broadcast: dims of 1 dropped, neighbours merged, and a row function called along the last. */
#include "ops/elementwise/broadcast.h"

#include "kernels/strided.h"

#include "kernels/copy.h"
#include "threads.h"

/* Iterates over the rows. Neighbouring dims are merged if the same operands move along them. */
typedef struct Walk {
  int rank;
  size_t dim[RANK_MAX];
  unsigned moves[RANK_MAX];                    /* bit k: operand k moves along this dim */
  size_t stride[RANK_MAX][BROADCAST_OPERANDS]; /* in bytes */
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

/* `rows` rows on, at most as many as are left of dim 1: counts up the dims above the innermost and moves the operands
 * along. */
static void walk_on(const Walk *w, size_t rows, size_t index[RANK_MAX], const void *in[BROADCAST_OPERANDS],
                    int operands) {
  for (int d = 1; d < w->rank; d++, rows = 1) {
    bool wraps = (index[d] += rows) == w->dim[d];
    for (int k = 0; k < operands; k++)
      in[k] = (const char *)in[k] + (ptrdiff_t)(w->stride[d][k] * rows) -
              (wraps ? (ptrdiff_t)(w->stride[d][k] * w->dim[d]) : 0);
    if (!wraps) return;
    index[d] = 0;
  }
}

/* Row number `row`, as walk_on would come to it. */
static void walk_to(const Walk *w, size_t row, size_t index[RANK_MAX], const void *in[BROADCAST_OPERANDS],
                    int operands) {
  for (int d = 1; d < w->rank; d++) {
    index[d] = row % w->dim[d];
    row /= w->dim[d];
    for (int k = 0; k < operands; k++) in[k] = (const char *)in[k] + index[d] * w->stride[d][k];
  }
}

typedef struct Rows {
  const Node *n;
  BroadcastRow *row;
  char *y;
  size_t y_bytes, in_bytes[BROADCAST_OPERANDS]; /* bytes of an element */
  const void *const *in;
  int operands;
  Walk walk;
} Rows;

/* Rows from … to - 1. */
static void run_rows(void *context, size_t from, size_t to) {
  const Rows *r = context;
  const Walk *w = &r->walk;
  const void *in[BROADCAST_OPERANDS];
  size_t index[RANK_MAX] = {0};
  memcpy(in, r->in, (size_t)r->operands * sizeof *in);
  walk_to(w, from, index, in, r->operands);
  for (size_t i = from; i < to; i++, walk_on(w, 1, index, in, r->operands))
    r->row(r->n, r->y + i * w->dim[0] * r->y_bytes, in, w->moves[0], w->dim[0]);
}

/* ---- short rows: as many of dim 1 as fit are taken as one, for which an operand that does not lie as y does is
 * spread ---- */

enum { SPREAD = 256, SHORT = 64 }; /* elements at once; what a row has to be shorter than */

static bool moves_along(const Walk *w, int d, int k) { return w->moves[d] >> k & 1; }

static bool is_short(const Rows *r) {
  const Walk *w = &r->walk;
  for (int k = 0; k < r->operands; k++)
    if (r->in_bytes[k] > sizeof(double)) return false;
  return w->dim[0] < SHORT && w->rank > 1 && w->dim[1] >= 4;
}

/* x over and over. */
static void spread_row(char *to, const char *x, size_t bytes, size_t rows) {
  copy_bytes(to, x, bytes);
  for (size_t done = 1, more; done < rows; done += more) {
    more = rows - done < done ? rows - done : done;
    copy_bytes(to + done * bytes, to, more * bytes);
  }
}

/* Each element of x `length` times; of floats up to three more, which the next ones overwrite. */
static void spread_column(void *to, const void *x, size_t item, size_t length, size_t rows) {
  for (size_t row = 0; row < rows && item == sizeof(float); row++)
    for (size_t i = 0; i < length; i += 4)
      f32x4_store((float *)to + row * length + i, f32x4_splat(((const float *)x)[row]));
  for (size_t i = 0; i < rows * length && item != sizeof(float); i++)
    copy_element((char *)to + i * item, (const char *)x + i / length * item, item);
}

/* Rows from … to - 1. */
static void run_short_rows(void *context, size_t from, size_t to) {
  const Rows *r = context;
  const Walk *w = &r->walk;
  const void *in[BROADCAST_OPERANDS], *of[BROADCAST_OPERANDS];
  double spread[BROADCAST_OPERANDS][SPREAD];
  size_t index[RANK_MAX] = {0}, length = w->dim[0];
  unsigned moves = w->moves[0] | w->moves[1];
  memcpy(in, r->in, (size_t)r->operands * sizeof *in);
  walk_to(w, from, index, in, r->operands);
  for (size_t i = from, rows; i < to; i += rows, walk_on(w, rows, index, in, r->operands)) {
    rows = w->dim[1] - index[1] < SPREAD / length ? w->dim[1] - index[1] : SPREAD / length;
    if (rows > to - i) rows = to - i;
    for (int k = 0; k < r->operands; k++) {
      bool across = moves_along(w, 1, k), along = moves_along(w, 0, k);
      of[k] = across != along ? spread[k] : in[k];
      if (across && !along) spread_column(spread[k], in[k], r->in_bytes[k], length, rows);
      else if (along && !across && (i == from || index[1] == 0)) /* fewer rows follow, never more */
        spread_row((char *)spread[k], in[k], length * r->in_bytes[k], rows);
    }
    r->row(r->n, r->y + i * length * r->y_bytes, of, moves, rows * length);
  }
}

/* Elements from … to - 1 of the only row. */
static void run_part_of_row(void *context, size_t from, size_t to) {
  const Rows *r = context;
  const void *in[BROADCAST_OPERANDS];
  for (int k = 0; k < r->operands; k++) in[k] = (const char *)r->in[k] + from * r->walk.stride[0][k];
  r->row(r->n, r->y + from * r->y_bytes, in, r->walk.moves[0], to - from);
}

static void broadcast_rows(const Node *n, BroadcastRow *row, void *y, size_t y_bytes, const Shape *y_shape,
                           const void **in, const Shape *const *shape, const size_t *bytes, int operands) {
  size_t count = shape_elements(y_shape);
  if (count == 0) return;
  Rows rows = {n, row, y, y_bytes, .in = in, .operands = operands, .walk = walk_of(y_shape, shape, bytes, operands)};
  memcpy(rows.in_bytes, bytes, (size_t)operands * sizeof *bytes);
  size_t length = rows.walk.dim[0];
  ThreadsRange *task = is_short(&rows) ? run_short_rows : run_rows;
  if (length == count) length = 1, task = run_part_of_row;
  bool text = n->in[0]->type == DTYPE_STRING; /* one thread counts what strings take */
  threads_split(count / length, text ? count : threads_grain(length), task, &rows);
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

typedef struct Fold {
  const Node *n;
  BroadcastRow *row;
} Fold;

/* y may be the bytes of any input, even of one that comes twice: it is written when all inputs of the block were read.
 */
static void fold_range(void *context, size_t from, size_t to) {
  const Node *n = ((const Fold *)context)->n;
  BroadcastRow *row = ((const Fold *)context)->row;
  double sum[FOLD_BLOCK];
  size_t item = dtype_bytes(n->out[0]->type);
  for (size_t at = from; at < to; at += FOLD_BLOCK) {
    size_t block = to - at < FOLD_BLOCK ? to - at : FOLD_BLOCK;
    const void *left = (const char *)n->in[0]->data + at * item;
    for (int i = 1; i < n->in_count; i++) {
      void *dest = i == n->in_count - 1 ? (void *)((char *)n->out[0]->data + at * item) : sum;
      row(n, dest, (const void *[]){left, (const char *)n->in[i]->data + at * item}, 3, block);
      left = dest;
    }
  }
}

static void fold_same_shapes(const Node *n, BroadcastRow *row) {
  threads_split(out_count(n, 0), threads_grain(1), fold_range, &(Fold){n, row});
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

/* ---- rows by fours ---- */

const float *broadcast_stay(float same[16], const float *x) {
  for (int i = 0; i < 16; i += 4) f32x4_store(same + i, f32x4_splat(*x));
  return same;
}

const void *broadcast_same(float same[16], const void *x, size_t item) {
  strided_fill(same, x, 64 / item, item);
  return same;
}

const int8_t broadcast_ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

const float *broadcast_rest(float fours[4], const float *x, size_t rest) {
  f32x4_store(fours, f32x4_load_up_to(x, rest));
  return fours;
}

void broadcast_end(float *y, const float fours[4], size_t count) {
  for (size_t i = count & ~(size_t)3; i < count; i++) y[i] = fours[i & 3];
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

int broadcast_known_count(const Node *n) {
  if (!has_out(n, 0) || !shape_is_concrete(&n->out[0]->shape)) return -1;
  size_t count = out_count(n, 0);
  for (int i = 0; i < n->in_count; i++)
    if (!node_is_known(n, i) || (in_count(n, i) != 1 && in_count(n, i) != count)) return -1;
  return count <= BROADCAST_KNOWN ? (int)count : -1;
}
