/* Decode: a run of a language model for its next token. Of the first output one row comes out; the others, what the
 * model has computed of the tokens so far, stay in the buffers of the inputs that they are for in the next run.
 *
 *   ids, mask, positions ─▶ model ─▶ logits (1, T, V) ─▶ the row that is wanted (V)
 *   past, kept ────────────▶      ─▶ present ─▶ its last `length` along the axis ─▶ past, kept
 */
#include <string.h>

#include "graph/op.h"
#include "session/session.h"

/* ---- the past ---- */

static int count_lines(const char *names) {
  int count = *names != 0;
  for (const char *at = names; *at; at++) count += *at == '\n';
  return count;
}

/* The feeds of the inputs named in `names`, one a line. */
static Status find_past(TrainletSession *s, Model *m, const char *names, Arena *scratch, Feed **past) {
  char *at = arena_copy_text(scratch, names);
  if (!at) return session_out_of_memory(s);
  for (int i = 0; *at; i++) {
    char *end = at + strcspn(at, "\n");
    bool last = !*end;
    *end = 0;
    if (!(past[i] = session_find_feed(s, m, at))) return s->error.status;
    at = end + !last;
  }
  return STATUS_OK;
}

/* Feeds the kept values again. */
static Status feed_kept(TrainletSession *s, Feed *const *past, int count) {
  for (int i = 0; i < count; i++)
    if (!past[i]->kept)
      return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "decode: nothing is kept for input '%.100s'",
                       past[i]->input->name);
  for (int i = 0; i < count; i++) past[i]->fed = true;
  return STATUS_OK;
}

/* True if an output lies in a feed that is overwritten now. */
static bool was_fed(const Model *m, const TrainletTensor *y) {
  for (int i = 0; i < feed_count(m); i++) {
    const Block *b = &m->feeds[i].block;
    uintptr_t at = (uintptr_t)y->data, from = (uintptr_t)b->data;
    if (b->data && at >= from && at - from < b->capacity) return true;
  }
  return false;
}

static Status keep_one(TrainletSession *s, const Model *m, Feed *f, const TrainletTensor *y, int axis, int length) {
  if (y->rank <= axis || y->type == DTYPE_STRING || f->input->declared || was_fed(m, y))
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "decode: output '%.100s' is nothing that input '%.100s' could be fed with", y->name,
                     f->input->name);
  Shape shape = shape_of(y->rank, y->dims);
  size_t have = (size_t)shape.dim[axis], wanted = (size_t)length;
  shape.dim[axis] = length;
  char *to = feed_tensor(f, (DType)y->type, &shape, 0, &s->error);
  if (!to) return s->error.status;
  size_t step = shape_span(&shape, axis + 1, shape.rank) * dtype_bytes((DType)y->type),
         kept = (have < wanted ? have : wanted) * step, zeros = wanted * step - kept;
  const char *from = (const char *)y->data + have * step - kept;
  for (size_t rows = shape_span(&shape, 0, axis); rows; rows--, to += wanted * step, from += have * step) {
    memset(to, 0, zeros);
    if (kept) memcpy(to + zeros, from, kept);
  }
  f->kept = true;
  return STATUS_OK;
}

static Status keep(TrainletSession *s, Model *m, Feed *const *past, int count, int axis, int length) {
  const TrainletTensor *y = s->fetched.data;
  Status status = STATUS_OK;
  for (int i = 0; i < count && status == STATUS_OK; i++) status = keep_one(s, m, past[i], &y[1 + i], axis, length);
  session_forget_feeds(m);
  return status;
}

/* ---- the row ---- */

static Status take_row(TrainletSession *s, int from_end) {
  TrainletTensor *y = s->fetched.data;
  size_t width = y->rank > 0 ? (size_t)y->dims[y->rank - 1] : 0, rows = width ? y->count / width : 0;
  if (from_end < 0 || (size_t)from_end >= rows || y->type == DTYPE_STRING)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "decode: output '%.100s' has %zu rows, the one %d before the last was wanted", y->name, rows,
                     from_end);
  y->data = (const char *)y->data + (rows - 1 - (size_t)from_end) * width * dtype_bytes((DType)y->type);
  y->dims += y->rank - 1;
  y->rank = 1;
  y->count = width;
  y->bytes = width * dtype_bytes((DType)y->type);
  return STATUS_OK;
}

static Status decode_with(TrainletSession *s, Model *m, TrainletPart part, const TrainletDecode *d, Feed **past) {
  int count = count_lines(d->past);
  if (d->goes_on) TRY(feed_kept(s, past, count));
  TRY(session_run(s, part, d->fetches));
  if (s->fetched_count != 1 + count)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "decode: %d outputs came for %d inputs of the past",
                     s->fetched_count - 1, count);
  TRY(keep(s, m, past, count, d->axis, d->length));
  return take_row(s, d->from_end);
}

static Status decode(TrainletSession *s, TrainletPart part, const TrainletDecode *d) {
  Model *m = session_model(s, part);
  if (!m) return s->error.status;
  if (d->axis < 0 || d->length < 0)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "decode: a past of %d along axis %d was wanted",
                     d->length, d->axis);
  Arena scratch = {0};
  Feed **past = ARENA_ARRAY(&scratch, Feed *, count_lines(d->past) + 1);
  Status status = past ? find_past(s, m, d->past, &scratch, past) : session_out_of_memory(s);
  if (status == STATUS_OK) status = decode_with(s, m, part, d, past);
  if (status != STATUS_OK) session_forget_feeds(m);
  s->fetched_count = status == STATUS_OK;
  arena_free(&scratch);
  return status;
}

Status trainlet_session_decode(TrainletSession *s, TrainletPart part, const TrainletDecode *d) {
  session_enter(s);
  return session_leave(s, decode(s, part, d) == STATUS_OK);
}
