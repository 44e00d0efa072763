/* Recurrent: the checks of LSTM, GRU and RNN and of their gradients, and the gradient's node. */
#include <string.h>

#include "ops/recurrent/recurrent.h"
#include "graph/second_output.h"
#include "graph/work.h"

/* Input i must have this shape; a symbol may turn out to be any number. */
static Status want_shape(const Node *n, int i, Shape want) {
  if (!has_in(n, i)) return STATUS_OK;
  if (i != RECURRENT_LENGTHS) TRY(node_want_float(n, i));
  const Shape *came = &n->in[i]->shape;
  bool same = came->rank == want.rank;
  for (int k = 0; same && k < want.rank; k++)
    same = came->dim[k] == want.dim[k] || !dim_is_number(came->dim[k]) || !dim_is_number(want.dim[k]);
  if (same) return STATUS_OK;
  char a[SHAPE_TEXT], b[SHAPE_TEXT];
  return node_invalid(n, "input %d is %s, it must be %s", i, shape_print(came, a), shape_print(&want, b));
}

static Dim times(Dim d, int factor) { return dim_is_number(d) ? d * factor : d; }

typedef struct RecurrentShapes {
  Shape y, state, kept;
  Dim hidden, inputs, directions;
} RecurrentShapes;

static Status read_direction(Node *n, Recurrent *p) {
  const char *direction = node_string(n, "direction", "forward");
  p->reverse = strcmp(direction, "reverse") == 0;
  p->directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
  if (!p->reverse && p->directions == 1 && strcmp(direction, "forward") != 0)
    return node_invalid(n, "direction '%.32s' is not forward, reverse or bidirectional", direction);
  return STATUS_OK;
}

static Status check_weights(Node *n, const Recurrent *p, RecurrentShapes *s) {
  for (int i = RECURRENT_X; i <= RECURRENT_R; i++) {
    TRY(node_want_float(n, i));
    TRY(node_want_rank(n, i, 3, 3));
  }
  const Shape *x = &n->in[RECURRENT_X]->shape, *w = &n->in[RECURRENT_W]->shape, *r = &n->in[RECURRENT_R]->shape;
  int gates = p->cell->gates;
  s->directions = (Dim)p->directions;
  s->hidden = r->dim[2];
  s->inputs = dim_is_number(w->dim[2]) ? w->dim[2] : x->dim[2];
  if (dim_is_number(s->hidden) && s->hidden > INT32_MAX / 16)
    return node_invalid(n, "a hidden size of %lld is too large", (long long)s->hidden);
  int64_t wanted = node_int(n, "hidden_size", s->hidden);
  if (dim_is_number(s->hidden) && wanted != s->hidden)
    return node_invalid(n, "hidden_size is %lld, R is for %lld", (long long)wanted, (long long)s->hidden);
  TRY(want_shape(n, RECURRENT_X, SHAPE(x->dim[0], x->dim[1], s->inputs)));
  TRY(want_shape(n, RECURRENT_W, SHAPE(s->directions, times(s->hidden, gates), s->inputs)));
  TRY(want_shape(n, RECURRENT_R, SHAPE(s->directions, times(s->hidden, gates), s->hidden)));
  TRY(want_shape(n, RECURRENT_B, SHAPE(s->directions, times(s->hidden, 2 * gates))));
  return want_shape(n, RECURRENT_P, SHAPE(s->directions, times(s->hidden, 3)));
}

static Status check_states(Node *n, const Recurrent *p, RecurrentShapes *s) {
  const Shape *x = &n->in[RECURRENT_X]->shape;
  Dim batch = x->dim[p->batch_first ? 0 : 1];
  s->kept = SHAPE(s->directions, x->dim[0], x->dim[1], times(s->hidden, p->cell->slots));
  s->y = p->batch_first ? SHAPE(x->dim[0], x->dim[1], s->directions, s->hidden)
                        : SHAPE(x->dim[0], s->directions, x->dim[1], s->hidden);
  s->state = p->batch_first ? SHAPE(batch, s->directions, s->hidden) : SHAPE(s->directions, batch, s->hidden);
  if (has_in(n, RECURRENT_LENGTHS)) TRY(node_want_type(n, RECURRENT_LENGTHS, DTYPE_INT32));
  TRY(want_shape(n, RECURRENT_LENGTHS, SHAPE(batch)));
  TRY(want_shape(n, RECURRENT_H, s->state));
  return want_shape(n, RECURRENT_C, s->state);
}

static void bind_sizes(const Node *n, Recurrent *p, const RecurrentShapes *s) {
  const Dim *x = n->in[RECURRENT_X]->shape.dim;
  p->steps = (size_t)x[p->batch_first ? 1 : 0];
  p->batch = (size_t)x[p->batch_first ? 0 : 1];
  p->inputs = (size_t)s->inputs;
  p->hidden = (size_t)s->hidden;
  p->rows = p->steps * p->batch;
  p->row_of_step = p->batch_first ? 1 : p->batch;
  p->row_of_example = p->batch_first ? p->steps : 1;
}

static Status recurrent_check(Node *n, const RecurrentCell *cell, RecurrentShapes *s) {
  Recurrent *p = NODE_PARAMS(n, Recurrent);
  if (!p) return STATUS_OUT_OF_MEMORY;
  p->cell = cell;
  p->batch_first = n->version != 1 && n->version < 14 ? false : node_int(n, "layout", 0) != 0;
  p->input_forget = node_int(n, "input_forget", 0) != 0;
  TRY(read_direction(n, p));
  TRY(activations_read(n, (int)p->directions, cell->activations, cell->defaults, p->activations));
  TRY(check_weights(n, p, s));
  TRY(check_states(n, p, s));
  if (node_is_concrete(n)) bind_sizes(n, p, s);
  return STATUS_OK;
}

Status recurrent_infer(Node *n, const RecurrentCell *cell) {
  RecurrentShapes s;
  TRY(recurrent_check(n, cell, &s));
  TRY(node_output(n, 0, DTYPE_FLOAT32, &s.y));
  for (int i = 0; i < cell->states; i++) TRY(node_output(n, 1 + i, DTYPE_FLOAT32, &s.state));
  TRY(node_output(n, 1 + cell->states, DTYPE_FLOAT32, &s.kept));
  size_t kept, bytes;
  if (!node_is_concrete(n)) return STATUS_OK;
  if (!shape_count(&s.kept, &kept) || !size_multiply(kept, sizeof(float), &bytes) ||
      !recurrent_forward_bytes(n, &n->scratch_bytes))
    return node_fail(n, STATUS_OUT_OF_MEMORY, "its steps do not fit this machine's memory");
  return STATUS_OK;
}

Status recurrent_grad(Grad *g, const char *name, int states) {
  Node *n = g->node;
  Value *in[RECURRENT_DY + 3], *dy[4] = {0};
  for (int i = 0; i < n->out_count && i < 4; i++) dy[i] = g->dy[i];
  if (dy[1 + states])
    return node_fail(n, STATUS_UNSUPPORTED_OP, "no gradient flows through output %d, which it keeps for its own",
                     1 + states);
  TRY(output_want(n, 1 + states, "kept"));
  for (int i = 0; i < RECURRENT_DY + 3; i++) in[i] = EMIT_ABSENT;
  for (int i = 0; i < n->in_count; i++)
    if (n->in[i] && i != RECURRENT_B && i != RECURRENT_H && i != RECURRENT_C) in[i] = n->in[i];
  in[RECURRENT_KEPT] = n->out[1 + states];
  for (int i = 0; i <= states; i++)
    if (dy[i]) in[RECURRENT_DY + i] = dy[i];
  static const int of_output[] = {RECURRENT_X, RECURRENT_W, RECURRENT_R, RECURRENT_B,
                                  RECURRENT_H, RECURRENT_C, RECURRENT_P};
  bool want[7];
  for (int i = 0; i < 7; i++) want[i] = of_output[i] < n->in_count && g->want[of_output[i]];
  Node *grad = emit_node(g->graph, name, (AttrList){n->attrs, n->attr_count}, in, RECURRENT_DY + 1 + states,
                         states == 2 ? 7 : 5, want);
  for (int i = 0; grad && i < 7; i++)
    if (want[i]) g->dx[of_output[i]] = grad->out[i];
  return STATUS_OK;
}

Status recurrent_gradient_infer(Node *n, const RecurrentCell *cell) {
  RecurrentShapes s;
  TRY(recurrent_check(n, cell, &s));
  if (!has_in(n, RECURRENT_KEPT)) return node_invalid(n, "input %d must be there", RECURRENT_KEPT);
  TRY(want_shape(n, RECURRENT_KEPT, s.kept));
  TRY(want_shape(n, RECURRENT_DY, s.y));
  for (int i = 1; i < 3; i++) TRY(want_shape(n, RECURRENT_DY + i, s.state));
  Shape bias = SHAPE(s.directions, times(s.hidden, 2 * cell->gates)),
        peepholes = SHAPE(s.directions, times(s.hidden, 3));
  for (int i = 0; i < 3; i++) TRY(node_output(n, i, DTYPE_FLOAT32, &n->in[i]->shape));
  TRY(node_output(n, 3, DTYPE_FLOAT32, &bias));
  TRY(node_output(n, 4, DTYPE_FLOAT32, &s.state));
  TRY(node_output(n, 5, DTYPE_FLOAT32, &s.state));
  TRY(node_output(n, 6, DTYPE_FLOAT32, &peepholes));
  if (node_is_concrete(n) && !recurrent_gradient_bytes(n, &n->scratch_bytes))
    return node_fail(n, STATUS_OUT_OF_MEMORY, "its steps do not fit this machine's memory");
  return STATUS_OK;
}

double recurrent_work(const Node *n) {
  const Recurrent *r = n->params;
  double gates = (double)r->rows * (double)r->directions * (double)r->cell->gates * (double)r->hidden;
  return gates * ((double)r->inputs + (double)r->hidden + WORK_ELEMENT);
}
double recurrent_gradient_work(const Node *n) { return 3 * recurrent_work(n); }
