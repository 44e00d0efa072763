/* Parts that the infer functions of operators share: attributes, checks, outputs. */
#include "graph/op.h"

#include "graph/known.h"
#include "part.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static Status deferred(Graph *g) {
  if (g->error->status == STATUS_OK) g->error->status = STATUS_DEFERRED;
  return g->error->status;
}

const char *node_title(const Node *n, char text[TITLE_TEXT]) {
  int at = snprintf(text, TITLE_TEXT, "%.40s '%.128s'", n->op->name, n->name);
  if (n->expanded_from)
    at += snprintf(text + at, TITLE_TEXT - at, " of %.40s '%.96s'", n->expanded_from->op->name, n->expanded_from->name);
  if (n->module) snprintf(text + at, TITLE_TEXT - at, " in '%.64s'", n->module);
  return text;
}

const char *value_title(const Value *v, char text[TITLE_TEXT]) {
  char node[TITLE_TEXT];
  if (v->producer) snprintf(text, TITLE_TEXT, "'%.96s' (of %s)", v->name, node_title(v->producer, node));
  else snprintf(text, TITLE_TEXT, "'%.200s'", v->name);
  return text;
}

static void write_sentence(const Node *n, Status status, const char *format, va_list args) {
  char text[320], title[TITLE_TEXT];
  vsnprintf(text, sizeof text, format, args);
  error_set(n->graph->error, status, n->name, "%s: %s", node_title(n, title), text);
}

OPTIONAL(node_sentences, write_sentence);

static Status fail(const Node *n, Status status, const char *format, va_list args) {
  if (part_node_sentences) part_node_sentences(n, status, format, args);
  return error_set(n->graph->error, status, n->name, "its operator refuses it");
}

/* An expansion that goes on with values which have no shape yet may find fault with anything, so it is deferred. */
Status node_fail(const Node *n, Status status, const char *format, ...) {
  if (n->graph->deferral.tries && n->graph->deferral.needed && status != STATUS_OUT_OF_MEMORY)
    return deferred(n->graph);
  va_list args;
  va_start(args, format);
  status = fail(n, status, format, args);
  va_end(args);
  return status;
}

Status node_defer(const Node *n, int input, const char *format, ...) {
  Deferral *w = &n->graph->deferral;
  if (w->tries && n->in[input]->kind != VALUE_CONSTANT) return w->needed = n->in[input], deferred(n->graph);
  va_list args;
  va_start(args, format);
  Status status = fail(n, STATUS_UNSUPPORTED_OP, format, args);
  va_end(args);
  return status;
}

/* ---- attributes ---- */

const Attr *node_attr(const Node *n, const char *name, AttrKind kind) {
  for (int i = 0; i < n->attr_count; i++)
    if (n->attrs[i].kind == kind && strcmp(n->attrs[i].name, name) == 0) return &n->attrs[i];
  return NULL;
}
int64_t node_int(const Node *n, const char *name, int64_t otherwise) {
  const Attr *a = node_attr(n, name, ATTR_INT);
  return a ? a->i : otherwise;
}
float node_float(const Node *n, const char *name, float otherwise) {
  const Attr *a = node_attr(n, name, ATTR_FLOAT);
  return a ? a->f : otherwise;
}
const char *node_string(const Node *n, const char *name, const char *otherwise) {
  const Attr *a = node_attr(n, name, ATTR_STRING);
  return a ? a->s : otherwise;
}
const int64_t *node_ints(const Node *n, const char *name, int *count) {
  const Attr *a = node_attr(n, name, ATTR_INTS);
  *count = a ? a->count : 0;
  return a ? a->ints : NULL;
}
Status node_choice(const Node *n, const char *name, const char *otherwise, const char *const *choices, int count,
                   int *out) {
  const char *given = node_string(n, name, otherwise);
  for (*out = 0; *out < count; ++*out)
    if (strcmp(given, choices[*out]) == 0) return STATUS_OK;
  return node_fail(n, STATUS_UNSUPPORTED_OP, "%s is '%.40s', which we do not know", name, given);
}

/* ---- checks ---- */

Status node_want_type(const Node *n, int input, DType type) {
  if (!has_in(n, input) || n->in[input]->type == type) return STATUS_OK;
  return node_fail(n, STATUS_UNSUPPORTED_OP, "input %d ('%.64s') is %s, we compute it in %s", input, n->in[input]->name,
                   dtype_name(n->in[input]->type), dtype_name(type));
}

Status node_want_index(const Node *n, int input) {
  if (!has_in(n, input) || n->in[input]->type == DTYPE_INT64 || n->in[input]->type == DTYPE_INT32) return STATUS_OK;
  return node_fail(n, STATUS_UNSUPPORTED_OP, "input %d ('%.64s') is %s, it must be int64 or int32", input,
                   n->in[input]->name, dtype_name(n->in[input]->type));
}

Status node_want_rank(const Node *n, int input, int min, int max) {
  if (!has_in(n, input)) return STATUS_OK;
  int rank = n->in[input]->shape.rank;
  if (rank >= min && rank <= max) return STATUS_OK;
  char text[SHAPE_TEXT];
  if (min == max)
    return node_invalid(n, "input %d must have %d dimensions, it is %s", input, min,
                        shape_print(&n->in[input]->shape, text));
  return node_invalid(n, "input %d must have %d to %d dimensions, it is %s", input, min, max,
                      shape_print(&n->in[input]->shape, text));
}

Status node_want_number(const Node *n, int input, int axis) {
  const Value *v = n->in[input];
  if (dim_is_number(v->shape.dim[axis])) return STATUS_OK;
  return node_defer(n, input,
                    "dimension %d of input %d ('%.60s') must be a number: freeDimensionOverrides can give one", axis,
                    input, graph_symbol_name(n->graph, v->shape.dim[axis]));
}

Status node_axis(const Node *n, int64_t axis, int rank, int *out) {
  if (axis < -rank || axis >= rank)
    return node_invalid(n, "axis %lld is outside of %d dimensions", (long long)axis, rank);
  *out = (int)(axis < 0 ? axis + rank : axis);
  return STATUS_OK;
}

static bool is_small_integer(const Value *v) {
  size_t count;
  return (v->type == DTYPE_INT64 || v->type == DTYPE_INT32 || v->type == DTYPE_BOOL) && v->shape.rank <= 1 &&
         shape_is_concrete(&v->shape) && shape_count(&v->shape, &count) && count <= KNOWN_MAX;
}

bool node_is_known(const Node *n, int input) {
  if (!has_in(n, input)) return false;
  Value *v = n->in[input];
  return v->known || (is_small_integer(v) && known_at_hand(v));
}

#define UNKNOWN "input %d ('%.64s') must be known before the run, it is computed from fed values"

Status node_contents(const Node *n, int input, const void **data) {
  if (!has_in(n, input)) return node_invalid(n, "input %d must be there", input);
  if ((*data = known_data(n->in[input]))) return STATUS_OK;
  return node_defer(n, input, UNKNOWN, input, n->in[input]->name);
}

Status node_deferred_dim(const Node *n, Dim *size) {
  int i = 0;
  if (!n->graph->deferral.allowed) return *size = graph_fresh_dim(n->graph), STATUS_OK;
  while (i + 1 < n->in_count && (!has_in(n, i) || n->in[i]->kind == VALUE_CONSTANT)) i++;
  return node_defer(n, i, UNKNOWN, i, n->in[i]->name);
}

Status node_known(const Node *n, int input, const Dim **dims, int *count) {
  if (!has_in(n, input)) return node_invalid(n, "input %d must be there", input);
  if (!known_of(n->in[input])) return node_defer(n, input, UNKNOWN, input, n->in[input]->name);
  *dims = n->in[input]->known;
  *count = (int)shape_elements(&n->in[input]->shape);
  return STATUS_OK;
}

bool node_is_concrete(const Node *n) {
  for (int i = 0; i < n->in_count; i++)
    if (n->in[i] && !shape_is_concrete(&n->in[i]->shape)) return false;
  return true;
}

void *node_params(Node *n, size_t bytes) { return n->params = arena_alloc(n->graph->arena, bytes); }

/* ---- outputs ---- */

Status node_output(Node *n, int i, DType type, const Shape *shape) {
  if (!has_out(n, i)) return STATUS_OK;
  size_t count, bytes;
  char text[SHAPE_TEXT];
  if (shape_is_concrete(shape) &&
      (!shape_count(shape, &count) || !size_multiply(count, dtype_bytes(type), &bytes) || bytes > PTRDIFF_MAX))
    return node_fail(n, STATUS_OUT_OF_MEMORY, "its output %s of %s does not fit this machine's memory",
                     shape_print(shape, text), dtype_name(type));
  n->out[i]->type = type;
  n->out[i]->shape = *shape;
  n->out[i]->known = NULL;
  return STATUS_OK;
}

void node_output_known(Node *n, int i, const Dim *dims, int count) {
  if (!has_out(n, i) || count > KNOWN_MAX) return;
  for (int k = 0; k < count; k++) /* arithmetic may result in a symbol that the graph does not have */
    if (dim_is_symbol(dims[k]) && dim_symbol(dims[k]) >= n->graph->symbol_count) return;
  Dim *copy = ARENA_ARRAY(n->graph->arena, Dim, count);
  if (copy && count) memcpy(copy, dims, (size_t)count * sizeof *dims);
  n->out[i]->known = copy;
}

/* One pair of dims: 1 is stretched, and a number replaces a symbol. */
static bool broadcast_dim(Dim a, Dim b, Dim *out) {
  if (a == b || b == 1) return *out = a, true;
  if (a == 1) return *out = b, true;
  if (dim_is_number(a) && dim_is_number(b)) return false;
  return *out = dim_is_number(b) ? b : a, true;
}

Status node_broadcast(Node *n, const Shape *a, const Shape *b, Shape *out) {
  out->rank = a->rank > b->rank ? a->rank : b->rank;
  for (int i = 1; i <= out->rank; i++) {
    Dim da = i <= a->rank ? a->dim[a->rank - i] : 1, db = i <= b->rank ? b->dim[b->rank - i] : 1;
    n->stretches |= da != db && !dim_is_number(da) && !dim_is_number(db);
    if (broadcast_dim(da, db, &out->dim[out->rank - i])) continue;
    char ta[SHAPE_TEXT], tb[SHAPE_TEXT];
    return node_invalid(n, "shapes %s and %s do not broadcast", shape_print(a, ta), shape_print(b, tb));
  }
  return STATUS_OK;
}
