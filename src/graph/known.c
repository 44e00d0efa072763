/* Known contents: nodes whose inputs are constants, or known in turn, run once. */
#include "graph/known.h"

#include "graph/bad_index.h"
#include "graph/work.h"

enum { DEPTH_MAX = 256, BYTES_MAX = 1 << 16 };

void known_write(Value *v) {
  for (size_t i = 0; i < shape_elements(&v->shape); i++) {
    if (v->type == DTYPE_INT64) ((int64_t *)v->data)[i] = v->known[i];
    else if (v->type == DTYPE_INT32) ((int32_t *)v->data)[i] = (int32_t)v->known[i];
    else ((uint8_t *)v->data)[i] = v->known[i] != 0;
  }
}

static bool allocate(Value *v) {
  return shape_is_concrete(&v->shape) && value_bytes(v) <= BYTES_MAX &&
         (v->data = arena_alloc(v->producer->graph->arena, value_bytes(v))) != NULL;
}

static bool all_numbers(const Value *v) {
  for (size_t i = 0; v->known && i < shape_elements(&v->shape); i++)
    if (dim_is_symbol(v->known[i])) return false;
  return v->known != NULL;
}

static void settle(Value *v) {
  if (v && v->kind == VALUE_CONSTANT) v->shape_constant = true;
}

/* One number may be a factor of a size, unless an exporter calls it a parameter. */
static bool may_train(const Value *v) {
  bool named = v->note == NOTE_PARAMETER || v->note == NOTE_ATTRIBUTE;
  return v->initializer && dtype_is_float(v->type) && (named || shape_elements(&v->shape) > 1);
}

static bool compute(Value *v, int depth, bool needed);

static bool run(Node *n, int depth, bool needed) {
  if (!n->op->run || n->deferred.pending || n->op->flags & (OP_RANDOM | OP_UPDATES)) return false;
  for (int i = 0; i < n->in_count; i++)
    if (n->in[i] && !compute(n->in[i], depth - 1, needed)) return false;
  if (!work_may_go_ahead(n)) return false;
  for (int i = 0; i < n->in_count; i++) settle(n->in[i]);
  for (int i = 0; i < n->out_count; i++)
    if (n->out[i] && !allocate(n->out[i])) return false;
  if (!(n->scratch = arena_alloc(n->graph->arena, n->scratch_bytes + 64))) return false;
  n->op->run(n);
  n->scratch = NULL;
  if (!bad_index_none()) return false; /* the run itself refuses it */
  for (int i = 0; i < n->out_count; i++)
    if (n->out[i]) n->out[i]->ahead = true;
  return true;
}

/* Stops at the first value that cannot be had, and computes nothing twice: it takes the time of one path and of what is
 * kept. Unless it is needed, it is not computed from what may become a parameter. */
static bool compute(Value *v, int depth, bool needed) {
  if (v->kind == VALUE_CONSTANT) return needed || v->shape_constant || !may_train(v);
  if (v->kind != VALUE_NODE || v->type == DTYPE_NONE || !v->producer || depth == 0) return false;
  if (v->ahead) return true;
  if (!all_numbers(v)) return run(v->producer, depth, needed);
  if (!allocate(v)) return false;
  known_write(v);
  return v->ahead = true;
}

static const void *data_of(Value *v, bool needed) {
  if (!compute(v, DEPTH_MAX, needed)) return NULL;
  settle(v);
  return v->data;
}

const void *known_data(Value *v) { return data_of(v, true); }

static const Dim *dims_of(Value *v, bool needed) {
  if (!v->known && v->kind == VALUE_NODE && v->producer && data_of(v, needed)) graph_know(v->producer->graph, v);
  return v->known;
}

const Dim *known_of(Value *v) { return dims_of(v, true); }
const Dim *known_at_hand(Value *v) { return dims_of(v, false); }
