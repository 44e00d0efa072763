/* Free batch. While shapes are inferred anew the batch is the one symbol in them, so a value's batch is where its
 * symbol is. A node must keep it there and may not look along it:
 *
 *   x (batch, 8, 4) ─▶ Transpose ─▶ (8, batch, 4) ─▶ Softmax, axis 1: kept
 *   x (batch, 8, 4) ─▶ Reshape to (8, 4) becomes one to (-1, 4): 8 rows of each example
 */
#include "model/free_batch.h"

#include <string.h>

#include "graph/known.h"
#include "graph/op.h"
#include "train/batch_axis.h"

/* ---- what was written as a number ---- */

/* A dim that is an outer one times the batch times what is left: 8 · batch · 4. */
typedef struct Merged {
  Dim dim;
  int64_t outer;
} Merged;

typedef struct Free {
  Graph *g;
  Dim batch;        /* the symbol */
  int64_t size;     /* the batch's size before */
  int original;     /* values of the model itself */
  bool *fed;        /* values that depend on a feed, by index, */
  bool *learned;    /* on what may train, whose contents must not be looked at (Value.shape_constant) */
  size_t *elements; /* number of elements before, by a value's index */
  Value *count;     /* int64 (1): the batch; NULL until it is needed */
  Merged *merged;   /* with an outer part above 1 */
  int merged_count, merged_capacity;
} Free;

static bool is_number(const Value *v) {
  for (size_t i = 0; v->known && i < shape_elements(&v->shape); i++)
    if (dim_is_symbol(v->known[i])) return false;
  return v->known != NULL;
}

/* The number of pieces of every example that lie before the next example: the dims before the batch dim times the outer
 * part of the batch dim. */
static int64_t pieces_of(const Free *f, const Value *v) {
  int axis = batch_axis(v);
  int64_t pieces = (int64_t)shape_span(&v->shape, 0, axis);
  for (int i = 0; i < f->merged_count; i++)
    if (f->merged[i].dim == v->shape.dim[axis]) pieces *= f->merged[i].outer;
  return pieces;
}

/* True if the dims of `to` after `from` are the dims of v after its batch dim. */
static bool has_rest(const Value *v, const Shape *to, int from) {
  int rank = v->shape.rank - batch_axis(v), rest = to->rank - from;
  return rank == rest &&
         memcmp(&v->shape.dim[batch_axis(v) + 1], &to->dim[from + 1], (size_t)(rest - 1) * sizeof(Dim)) == 0;
}

/* Chooses the batch dim of the new shape of v. Several dims may fit if the dims before them have `pieces` elements in
 * all, and each is right for operators that keep examples apart. A dim of the batch alone is best, then one followed by
 * the same dims as before, or the rows of a matrix, then one where the batch comes first. -1: none. */
static int batch_in(const Free *f, const Value *v, const Shape *to, int64_t *outer) {
  int64_t pieces = pieces_of(f, v), before = 1;
  int axis = -1, best = 0;
  for (int i = 0; i < to->rank && before && before <= pieces; before *= to->dim[i++]) {
    int64_t part = pieces / before;
    if (pieces % before || to->dim[i] == 0 || to->dim[i] % (part * f->size)) continue;
    bool rows = to->rank == 2 && i == 0;
    int rank = part == 1 && to->dim[i] == f->size ? 4 : has_rest(v, to, i) || rows ? 3 : part == 1 ? 2 : 1;
    if (rank > best) best = rank, axis = i, *outer = part;
  }
  return axis;
}

static bool note_merged(Free *f, Dim dim, int64_t outer) {
  Merged *grown = arena_list_grow(f->g->arena, f->merged, f->merged_count, &f->merged_capacity, sizeof *f->merged);
  if (!grown) return false;
  f->merged = grown;
  grown[f->merged_count++] = (Merged){dim, outer};
  return true;
}

/* The shape that an exporter has written. */
static bool reshape(Free *f, Node *n, const Shape *to) {
  int64_t dims[RANK_MAX], outer;
  int axis = batch_in(f, n->in[0], to, &outer);
  if (!known_of(n->in[1]) || !is_number(n->in[1])) return true;
  if (axis < 0) return false;
  for (int i = 0; i < to->rank; i++) dims[i] = i == axis ? -1 : to->dim[i];
  return (n->in[1] = emit_ints(f->g, dims, to->rank)) != NULL;
}

static Value *batch_count(Free *f) {
  Graph *g = f->g;
  for (int i = 0; i < g->input_count && !f->count; i++)
    if (batch_axis(g->inputs[i]) == 0)
      f->count = emit(g, "Slice", emit_shape(g, g->inputs[i]), emit_ints(g, (int64_t[]){0}, 1),
                      emit_ints(g, (int64_t[]){1}, 1));
  return f->count;
}

static bool is_uniform(const Free *f, const Value *v, int axis);

/* Rows of a table by indices, which are the same. */
static bool is_gathered(const Free *f, const Node *n, int axis) {
  const Value *at = n->in[1];
  int own = batch_among(n, " Gather ") ? batch_own_axis(n, n->in[0]->shape.rank) : (int)node_int(n, "batch_dims", 0);
  return batch_among(n, " Gather GatherND ") && own == 0 && axis < at->shape.rank - batch_among(n, " GatherND ") &&
         !f->learned[at->index] && is_uniform(f, at, axis);
}

/* An Expand has repeated its input along the axis. */
static bool is_expanded(const Node *n, const Value *v, int axis) {
  if (!batch_among(n, " Expand ")) return false;
  int at = axis - (v->shape.rank - n->in[0]->shape.rank);
  return at < 0 || n->in[0]->shape.dim[at] == 1;
}

static int axis_before(const Node *transpose, int axis) {
  const Attr *perm = node_attr(transpose, "perm", ATTR_INTS);
  return perm ? (int)perm->ints[axis] : transpose->in[0]->shape.rank - 1 - axis;
}

/* True if a constant's parts along an axis are all the same. */
static bool is_uniform(const Free *f, const Value *v, int axis) {
  if (v->producer && (is_expanded(v->producer, v, axis) || is_gathered(f, v->producer, axis))) return true;
  if (v->producer && batch_among(v->producer, " Transpose "))
    return is_uniform(f, v->producer->in[0], axis_before(v->producer, axis));
  if (v->producer && f->learned[v->index]) return false;
  const char *bytes = v->kind == VALUE_CONSTANT ? v->data : known_data((Value *)(uintptr_t)v);
  size_t outer = shape_span(&v->shape, 0, axis),
         part = shape_span(&v->shape, axis + 1, v->shape.rank) * dtype_bytes(v->type),
         count = (size_t)v->shape.dim[axis];
  for (size_t i = 0; bytes && i < outer * count; i++)
    if (memcmp(bytes + i * part, bytes + i / count * count * part, part) != 0) return false;
  return bytes != NULL;
}

/* Once instead of once for each example of the batch; NULL where that is not the same. */
static Value *first_of(Free *f, Value *v, int axis) {
  Graph *g = f->g;
  if (v->index >= f->original || f->fed[v->index] || v->shape.dim[axis] != f->size || !is_uniform(f, v, axis))
    return NULL;
  return emit(g, "Slice", v, emit_ints(g, (int64_t[]){0}, 1), emit_ints(g, (int64_t[]){1}, 1),
              emit_ints(g, (int64_t[]){axis}, 1));
}

/* These dims, with the batch at `axis`. */
static Value *with_batch(Free *f, const int64_t *dims, int rank, int axis) {
  Value *parts[3];
  int count = 0;
  if (axis > 0) parts[count++] = emit_ints(f->g, dims, axis);
  parts[count++] = batch_count(f);
  if (axis < rank - 1) parts[count++] = emit_ints(f->g, dims + axis + 1, rank - 1 - axis);
  return emit_first(f->g, "Concat", ATTRS(attr_of_int("axis", 0)), parts, count);
}

static Value *repeated(Free *f, Value *once, int axis) {
  const int64_t ones[RANK_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};
  return emit(f->g, "Expand", once, with_batch(f, ones, once->shape.rank, axis));
}

/* Repeats along the batch axis a value that is the same for every example, stored once or once for each example. */
static bool repeat(Free *f, Value **v, int axis) {
  Value *old = *v;
  if (old->index >= f->original || f->fed[old->index] || axis >= old->shape.rank) return false;
  if (old->shape.dim[axis] != 1 && !(old = first_of(f, old, axis))) return false;
  return (*v = repeated(f, old, axis)) != NULL;
}

static bool repeat_others(Free *f, Node *n, int from, int axis) {
  for (int i = from; i < n->in_count; i++)
    if (n->in[i] && batch_axis(n->in[i]) == NO_AXIS && !repeat(f, &n->in[i], axis)) return false;
  return true;
}

/* First states have the batch where the layer has it, or none: those that are fed may be of layers in their first dim.
 */
static bool repeat_states(Free *f, Node *n) {
  int axis = batch_axis_of_layer(n);
  for (int i = 5; i < n->in_count; i++)
    if (n->in[i] && batch_axis(n->in[i]) != NO_AXIS && batch_axis(n->in[i]) != axis) return false;
  return repeat_others(f, n, 5, axis);
}

/* Operands that are the same for every example, as masks are, are broadcast. */
static bool broadcast(Free *f, Node *n, const Value *v) {
  int from_last = v->shape.rank - batch_axis(v);
  for (int i = 0; i < n->in_count; i++) {
    Value *other = n->in[i];
    int axis = other && batch_axis(other) == NO_AXIS ? other->shape.rank - from_last : -1;
    if (axis >= 0 && other->shape.dim[axis] != 1 && !(n->in[i] = first_of(f, other, axis))) return false;
  }
  return true;
}

/* The shape to which an exporter wrote that examples are expanded: 1 leaves a dim as it is. */
static bool expand(Free *f, Node *n, const Value *v) {
  const Dim *to = v == n->in[0] && is_number(n->in[1]) ? known_of(n->in[1]) : NULL;
  int64_t dims[RANK_MAX];
  int rank = n->out[0]->shape.rank, axis = rank - (v->shape.rank - batch_axis(v));
  if (!to || n->in[1]->shape.rank != 1 || n->in[1]->shape.dim[0] != rank) return true;
  for (int i = 0; i < rank; i++) dims[i] = i == axis ? 1 : to[i];
  return (n->in[1] = emit_ints(f->g, dims, rank)) != NULL;
}

/* The sizes that an exporter wrote: the first is the batch's. */
static bool resize(Free *f, Node *n) {
  const Dim *sizes = has_in(n, 3) ? known_of(n->in[3]) : NULL;
  int rank = n->in[0]->shape.rank;
  if (!sizes || n->in[3]->shape.dim[0] != rank || sizes[0] != f->size || node_attr(n, "axes", ATTR_INTS)) return true;
  return (n->in[3] = with_batch(f, sizes, rank, 0)) != NULL;
}

/* Node n is to be as `made`, the last one of the graph, which goes. */
static bool become(Free *f, Node *n, Value *made) {
  if (!made) return false;
  const Node *m = made->producer;
  n->op = m->op, n->version = m->version;
  n->in = m->in, n->in_count = m->in_count;
  n->attrs = m->attrs, n->attr_count = m->attr_count;
  n->params = NULL;
  f->g->node_count--;
  return true;
}

static bool counts_up(Value *v, size_t count) {
  const int64_t *numbers = v->type == DTYPE_INT64 && shape_elements(&v->shape) == count ? known_data(v) : NULL;
  for (size_t i = 0; numbers && i < count; i++)
    if (numbers[i] != (int64_t)i) return false;
  return numbers != NULL;
}

/* All rows in their order, as an exporter writes a pool to 1 × 1: a Reshape. */
static bool gather(Free *f, Node *n, Value *v) {
  int rank = v->shape.rank, count = n->in[1]->shape.rank;
  if (v != n->in[0] || batch_axis(v) != batch_own_axis(n, rank)) return true;
  size_t rows = f->elements[v->index] / shape_span(&v->shape, 1, rank);
  if (v->shape.dim[0] == f->batch || !counts_up(n->in[1], rows) || count + rank - 1 > RANK_MAX) return false;
  int64_t dims[RANK_MAX];
  for (int i = 0; i < count; i++) dims[i] = n->in[1]->shape.dim[i];
  for (int i = 1; i < rank; i++) dims[count + i - 1] = v->shape.dim[i];
  Shape to = {.rank = count + rank - 1};
  memcpy(to.dim, dims, sizeof dims);
  return become(f, n, emit(f->g, "Reshape", v, emit_ints(f->g, dims, to.rank))) && reshape(f, n, &to);
}

/* The indices of the first example but its own; NULL where it is not so that each example looks into itself alone, and
 * all look alike:
 *
 *   (batch, …, k) with i at [i, …, 0] ─▶ (1, …, k - 1) */
static Value *own_indices(Free *f, Value *indices) {
  const int64_t *at = known_data(indices);
  Shape once = indices->shape;
  int depth = (int)once.dim[once.rank - 1];
  size_t rows = shape_span(&once, 1, once.rank - 1), count = 0;
  if (!at || indices->type != DTYPE_INT64 || once.rank < 2 || once.dim[0] != f->size || depth < 2) return NULL;
  int64_t *kept = ARENA_ARRAY(f->g->arena, int64_t, rows *(size_t)depth);
  for (size_t i = 0; kept && i < rows * (size_t)f->size; i++)
    for (int k = 0; k < depth; k++) {
      int64_t wanted = k == 0 ? (int64_t)(i / rows) : at[i % rows * (size_t)depth + (size_t)k];
      if (at[i * (size_t)depth + (size_t)k] != wanted) return NULL;
      if (k > 0 && i < rows) kept[count++] = wanted;
    }
  once.dim[0] = 1, once.dim[once.rank - 1] = depth - 1;
  return kept ? graph_constant(f->g, graph_fresh_name(f->g, "indices"), DTYPE_INT64, &once, kept) : NULL;
}

static bool gather_nd(Free *f, Node *n, Value *v) {
  int64_t batch_dims = node_int(n, "batch_dims", 0), depth = n->in[1]->shape.dim[n->in[1]->shape.rank - 1];
  if (batch_axis(v) >= batch_dims + depth) return true;
  Value *own = batch_axis(v) == 0 && batch_dims == 0 ? own_indices(f, n->in[1]) : NULL;
  return own && become(f, n, emit_with(f->g, "GatherND", ATTRS(attr_of_int("batch_dims", 1)), v, repeated(f, own, 0)));
}

/* A constant that an exporter wrote once for each example, expanded to as many as there are. */
static bool expand_constant(Free *f, Node *n) {
  const Dim *to = known_of(n->in[1]);
  Value *once = n->in[0];
  int first = to ? (int)n->in[1]->shape.dim[0] - once->shape.rank : 0;
  for (int i = 0; to && i < once->shape.rank; i++)
    if (first + i >= 0 && dim_is_symbol(to[first + i]) && once->shape.dim[i] != 1)
      return (n->in[0] = first_of(f, once, i)) != NULL;
  return true;
}

static bool adapt(Free *f, Node *n, Value *v) {
  if (batch_is_elementwise(n)) return broadcast(f, n, v);
  if (batch_among(n, " Expand ")) return expand(f, n, v);
  if (batch_among(n, " Reshape ") && v != n->in[0]) return true;
  if (batch_among(n, " Reshape ")) return reshape(f, n, &n->out[0]->shape);
  if (batch_among(n, " Resize ")) return resize(f, n);
  if (batch_among(n, " Gather ")) return gather(f, n, v);
  if (batch_among(n, " GatherND ") && v == n->in[0]) return gather_nd(f, n, v);
  if (batch_among(n, " Concat GatherElements ScatterElements ")) return repeat_others(f, n, 0, batch_axis(v));
  if (batch_is_recurrent(n)) return repeat_states(f, n);
  return true;
}

/* ---- the walk ---- */

static bool has_symbol_of(const Node *n, Dim d) {
  for (int i = 0; i < n->in_count; i++)
    for (int k = 0; n->in[i] && k < n->in[i]->shape.rank; k++)
      if (n->in[i]->shape.dim[k] == d) return true;
  return false;
}

/* The batch is where one of the inputs has it; a Reshape knows it by another name. */
static bool kept_batch(Free *f, Node *n, const Shape *was) {
  int i = 0;
  while (!n->out[i] && i < n->out_count - 1) i++;
  Value *v = n->out[i];
  int axis = v ? batch_axis(v) : NO_AXIS;
  if (batch_among(n, " Shape Size ")) return true;
  if (axis < 0) return false;
  if (!batch_among(n, " Reshape Flatten ")) return has_symbol_of(n, v->shape.dim[axis]);
  int64_t before = (int64_t)shape_span(&v->shape, 0, axis), outer = before ? pieces_of(f, n->in[0]) / before : 0;
  if (was->dim[axis] == f->size) v->shape.dim[axis] = f->batch;
  return outer <= 1 || note_merged(f, v->shape.dim[axis], outer);
}

static bool is_fed(const Free *f, const Node *n) {
  for (int i = 0; i < n->out_count; i++)
    if (n->out[i] && f->fed[n->out[i]->index]) return true;
  return false;
}

static bool free_node(Free *f, Node *n) {
  Value *v = batch_carrier(n);
  Shape was = {0};
  for (int i = 0; i < n->in_count; i++)
    for (int k = 0; n->in[i] && n->in[i]->index < f->original && k < n->out_count; k++)
      if (n->out[k]) {
        f->fed[n->out[k]->index] |= f->fed[n->in[i]->index];
        f->learned[n->out[k]->index] |= f->learned[n->in[i]->index];
      }
  if (!is_fed(f, n)) return true;
  if (v && n->out[0]) was = n->out[0]->shape;
  if (v && !(batch_keeps_apart(n, v) && adapt(f, n, v))) return false;
  if (!v && batch_among(n, " Expand ") && !expand_constant(f, n)) return false;
  for (int i = 0; i < n->out_count; i++)
    if (n->out[i]) n->out[i]->ahead = false, n->out[i]->data = NULL, n->out[i]->known = NULL;
  n->scratch_bytes = 0;
  return n->op->infer(n) == STATUS_OK && (!v || kept_batch(f, n, &was));
}

static bool put(Graph *g, Node *n) {
  g->nodes = arena_list_grow(g->frame, g->nodes, g->node_count, &g->node_capacity, sizeof *g->nodes);
  if (!g->nodes) return g->node_count = g->node_capacity = 0, false;
  g->nodes[g->node_count++] = n;
  return true;
}

static const Node *walk(Free *f) {
  Graph *g = f->g;
  Node **nodes = g->nodes;
  int count = g->node_count;
  g->nodes = NULL;
  g->node_count = g->node_capacity = 0;
  for (int i = 0; i < count; i++)
    if (!free_node(f, nodes[i]) || !put(g, nodes[i])) return nodes[i];
  return NULL;
}

/* Changes the graph, whole or up to the node that is returned. */
static const Node *free_all(Graph *g, int64_t size) {
  Free f = {.g = g, .size = size, .original = g->value_count, .batch = graph_symbol(g, "batch")};
  f.fed = ARENA_ARRAY(g->arena, bool, g->value_count);
  f.learned = ARENA_ARRAY(g->arena, bool, g->value_count);
  f.elements = ARENA_ARRAY(g->arena, size_t, g->value_count);
  if (!f.fed || !f.learned || !f.elements) return g->nodes[0];
  for (int i = 0; i < g->value_count; i++) {
    const Value *v = g->values[i];
    f.elements[i] = shape_elements(&v->shape);
    f.learned[i] = v->kind == VALUE_CONSTANT && v->initializer && dtype_is_float(v->type);
  }
  for (int i = 0; i < g->input_count; i++) {
    Value *v = g->inputs[i];
    f.fed[v->index] = true;
    if (v->shape.rank && v->shape.dim[0] == size) v->shape.dim[0] = f.batch;
  }
  return walk(&f);
}

/* ---- whether it is wanted ---- */

/* The first dim of the first input that has several, and of all outputs; 0 where there is none, or not all shapes are
 * fixed. */
static int64_t fixed_batch(const Graph *g) {
  int64_t size = 0;
  for (int i = 0; i < g->value_count; i++)
    if (!shape_is_concrete(&g->values[i]->shape) || g->values[i]->kind == VALUE_SEQUENCE || g->values[i]->declared)
      return 0;
  for (int i = 0; i < g->input_count && !size; i++)
    if (g->inputs[i]->shape.rank > 1) size = g->inputs[i]->shape.dim[0];
  for (int i = 0; i < g->output_count; i++)
    if (!g->outputs[i]->shape.rank || g->outputs[i]->shape.dim[0] != size) return 0;
  return g->node_count && !g->deferral.pending ? size : 0;
}

static Value **computed(const Graph *g, Arena *arena, int *count) {
  Value **values = ARENA_ARRAY(arena, Value *, g->value_count);
  *count = 0;
  for (int i = 0; values && i < g->node_count; i++)
    for (int k = 0; k < g->nodes[i]->out_count; k++)
      if (g->nodes[i]->out[k]) values[(*count)++] = g->nodes[i]->out[k];
  return values;
}

/* On a copy first: what fails there leaves the model as it is. */
BatchFreed batch_free(Graph *g, const Node **why) {
  int64_t size = fixed_batch(g);
  if (!size) return BATCH_AS_IT_WAS;
  Arena arena = {0};
  Error missed = {0};
  int count;
  Value **values = computed(g, &arena, &count);
  *why = g->nodes[0];
  Graph *trial = values ? graph_clone(g, &arena, &missed, NULL, values, count) : NULL;
  const Node *at = trial ? free_all(trial, size) : NULL;
  bool constant = false;
  for (int i = 0; i < g->output_count && trial && !at; i++) {
    const Value *y = g->outputs[i];
    if (y->producer && batch_axis(y->copy) != 0) at = y->copy->producer;
    constant |= !y->producer && y->kind != VALUE_INPUT; /* an input is freed with the others, and may have no copy */
  }
  bool good = trial && !at && !constant;
  for (int i = 0; i < g->node_count && at; i++)
    for (int k = 0; k < g->nodes[i]->out_count; k++)
      if (g->nodes[i]->out[k] && g->nodes[i]->out[k]->copy && g->nodes[i]->out[k]->copy->producer == at)
        *why = g->nodes[i];
  bool out = arena.failed || missed.status == STATUS_OUT_OF_MEMORY;
  arena_free(&arena);
  if (!good) return out ? BATCH_BROKEN : BATCH_KEPT;
  return free_all(g, size) ? BATCH_BROKEN : BATCH_FREED;
}
