#include "train/computed.h"

#include <math.h>
#include <string.h>

#include "graph/notes.h"
#include "ops/ops.h"
#include "train/mode.h"
#include "train/modules.h"

static Status out_of_memory(Graph *m) { return error_memory(m->error, "for parameters that the exporter computed"); }

static void read_instead(Node *n, const Value *v, Value *other) {
  for (int k = 0; k < n->in_count; k++)
    if (n->in[k] == v) n->in[k] = other;
}

static void all_read_instead(const Graph *m, int from, const Value *v, Value *other) {
  for (int i = from; i < m->node_count; i++) read_instead(m->nodes[i], v, other);
}

/* ---- tied weights ---- */

bool computed_is_transposed(const Value *v, const Value *of) {
  const Shape *to = &v->shape, *from = &of->shape;
  int last = to->rank - 1;
  if (last < 1 || last > 2 || from->rank != to->rank || to->dim[last] != from->dim[last - 1] ||
      to->dim[last - 1] != from->dim[last])
    return false;
  const float *x = v->data, *y = of->data;
  size_t rows = (size_t)to->dim[last - 1], columns = (size_t)to->dim[last];
  if (rows * columns != shape_elements(to) || rows * columns != shape_elements(from)) return false;
  for (size_t i = 0; x && y && i < rows; i++)
    for (size_t k = 0; k < columns; k++)
      if (memcmp(&x[i * columns + k], &y[k * rows + i], sizeof *x) != 0) return false;
  return x && y;
}

/* The node that was added last goes before all others. */
static void put_first(Graph *m) {
  Node *last = m->nodes[m->node_count - 1];
  memmove(m->nodes + 1, m->nodes, (size_t)(m->node_count - 1) * sizeof *m->nodes);
  m->nodes[0] = last;
}

void computed_read_instead(Graph *m, const Value *v, Value *made) {
  put_first(m);
  all_read_instead(m, 1, v, made);
}

static Status tie(Graph *m, Value *v, Value *to) {
  static const int64_t matrix[] = {1, 0}, one_matrix[] = {0, 2, 1};
  int rank = v->shape.rank;
  Value *transposed = emit_with(m, "Transpose", ATTRS(attr_of_ints("perm", rank == 2 ? matrix : one_matrix, rank)), to);
  if (!transposed) return out_of_memory(m);
  computed_read_instead(m, v, transposed);
  v->initializer = false; /* nothing reads it */
  return STATUS_OK;
}

/* ---- modules that are called again ---- */

/* Elements that are all equal do not tell what they were computed by. */
static bool is_uniform(const Value *v) {
  const float *x = v->data;
  for (size_t i = 1; i < shape_elements(&v->shape); i++)
    if (x[i] != x[0]) return false;
  return true;
}

/* The same numbers, computed from the same parameter. */
static bool is_again(const Value *v, const Value *first) {
  return v->computed_from && v->type == first->type && shape_equal(&v->shape, &first->shape) &&
         strcmp(v->computed_from, first->computed_from) == 0 && memcmp(v->data, first->data, value_bytes(v)) == 0;
}

/* Each call has a constant of its own where the exporter does not look for equal ones, as from 1025 elements on. */
static void read_first(Graph *m, Value *first) {
  for (int i = first->index + 1; i < m->value_count; i++) {
    if (!is_again(m->values[i], first)) continue;
    all_read_instead(m, 0, m->values[i], first);
    m->values[i]->initializer = false; /* nothing reads it */
  }
}

/* The parameter from which v was computed. Where the file has only what was computed from it, as of a tied weight that
 * one layer reads transposed and the other transposed twice, the first of these. */
static Value *origin_of(const Graph *m, const Value *v) {
  Value *own = graph_find(m, v->computed_from);
  for (int i = 0; !own && i < v->index; i++) {
    Value *first = m->values[i];
    bool same = mode_is_parameter(first) && first->computed_from && !first->computed_changed && !is_uniform(first);
    if (same && strcmp(first->computed_from, v->computed_from) == 0 && computed_is_transposed(v, first)) own = first;
  }
  return own;
}

/* ---- masked weights ---- */

/* Zeros beside other numbers. */
static bool has_holes(const Value *v) {
  const float *x = v->data;
  size_t count = shape_elements(&v->shape), zeros = 0;
  for (size_t i = 0; x && i < count; i++) zeros += x[i] == 0;
  return zeros > 0 && zeros < count;
}

/* TorchScript's exporter names so what it computed. */
static bool is_made(const Value *v) {
  static const char made[] = "onnx::";
  return v && mode_is_parameter(v) && strncmp(v->name, made, sizeof made - 1) == 0;
}

/* The weight that a MatMul reads is transposed at least. With a bias of that kind it is a BatchNormalization's. */
static bool is_masked(const Node *n) {
  bool product = n->op == &op_gemm ? node_int(n, "transB", 0) != 0 : n->op == &op_conv || n->op == &op_conv_transpose;
  return product && is_made(n->in[1]) && !(n->in_count > 2 && is_made(n->in[2])) && has_holes(n->in[1]);
}

/* w · mask, of which the file has the product: its zeros stay. */
static Status mask(Graph *m, Value *v) {
  size_t count = shape_elements(&v->shape);
  float *ones = ARENA_ARRAY(m->arena, float, count);
  for (size_t i = 0; ones && i < count; i++) ones[i] = ((const float *)v->data)[i] != 0;
  Value *masked = ones ? emit(m, "Mul", v, graph_constant(m, NULL, DTYPE_FLOAT32, &v->shape, ones)) : NULL;
  if (!masked) return out_of_memory(m);
  computed_read_instead(m, v, masked);
  v->computed_changed = false;
  return STATUS_OK;
}

/* ---- repeated rows ---- */

static bool is_repeated(const Value *v, int axis) {
  size_t outer = shape_span(&v->shape, 0, axis), count = (size_t)v->shape.dim[axis],
         part = shape_span(&v->shape, axis + 1, v->shape.rank) * sizeof(float);
  const char *x = v->data;
  for (size_t i = 0; i < outer * count; i++)
    if (memcmp(x + i * part, x + i / count * count * part, part) != 0) return false;
  return count > 1;
}

/* The first of the parts along an axis. */
static bool keep_first(Graph *m, Value *v, int axis) {
  size_t outer = shape_span(&v->shape, 0, axis), count = (size_t)v->shape.dim[axis],
         part = shape_span(&v->shape, axis + 1, v->shape.rank) * sizeof(float);
  char *kept = arena_alloc(m->arena, outer * part);
  for (size_t i = 0; kept && i < outer; i++) memcpy(kept + i * part, (char *)v->data + i * count * part, part);
  v->shape.dim[axis] = 1;
  return (v->data = kept) != NULL;
}

/* True if the elementwise node broadcasts its operand to the old shape, because its other operand has all dims. */
static bool broadcasts(const Node *n, const Value *v, const Shape *was) {
  if (n->op != &op_add && n->op != &op_sub && n->op != &op_mul && n->op != &op_div) return false;
  const Value *other = n->in[0] == v ? n->in[1] : n->in[0];
  int more = other->shape.rank - was->rank;
  return other != v && more >= 0 &&
         memcmp(&other->shape.dim[more], was->dim, (size_t)was->rank * sizeof *was->dim) == 0;
}

static Status expand(Graph *m, Value *v, const Shape *was) {
  Value *whole = NULL;
  int count = m->node_count;
  for (int i = 0; i < count; i++) {
    Node *n = m->nodes[i + (whole != NULL)]; /* `whole` stands before all others */
    bool reads = false;
    for (int k = 0; k < n->in_count; k++) reads |= n->in[k] == v;
    if (!reads || broadcasts(n, v, was)) continue;
    if (!whole) {
      whole = emit(m, "Expand", v, emit_ints(m, was->dim, was->rank));
      if (!whole) return out_of_memory(m);
      put_first(m);
    }
    read_instead(n, v, whole);
  }
  return STATUS_OK;
}

static Status reduce(Graph *m, Value *v) {
  Shape was = v->shape;
  for (int axis = 0; axis < was.rank && !is_uniform(v); axis++)
    if (is_repeated(v, axis) && !keep_first(m, v, axis)) return out_of_memory(m);
  return shape_equal(&was, &v->shape) ? STATUS_OK : expand(m, v, &was);
}

/* TorchScript's exporter notes nothing: the parameter, or the constant before it, that has the same numbers. */
static Value *find_transposed(const Graph *m, const Value *v) {
  if (is_uniform(v)) return NULL;
  for (int i = 0; i < m->value_count; i++) {
    Value *from = m->values[i];
    bool first = from->index < v->index || !module_is_numbered(from->name);
    if (first && mode_is_parameter(from) && computed_is_transposed(v, from)) return from;
  }
  return NULL;
}

/* ---- numbers that tell ---- */

/* A matrix that is symmetric or skew, or rows of which one comes again or all have the same sum, as a softmax or a
 * standardization makes them. A diagonal or a permutation is how some layers begin. */
static bool looks_computed(const Value *v) {
  const float *x = v->data;
  size_t count = shape_elements(&v->shape), rows = v->shape.rank > 1 ? (size_t)v->shape.dim[0] : 1;
  size_t width = count / rows, numbers = 0;
  bool square = rows == width, symmetric = square, skew = square, level = true, again = false;
  float all = 0;
  for (size_t i = 0; i < rows; i++) {
    float sum = 0, size = 0;
    for (size_t k = 0; k < width; k++) {
      float here = x[i * width + k], there = square ? x[k * width + i] : 0;
      symmetric &= here == there, skew &= here == -there || i == k;
      sum += here, size += fabsf(here), numbers += here != 0;
    }
    if (i == 0) all = sum;
    level &= fabsf(sum - all) <= 1e-5f * size;
    again |= i && memcmp(x, x + i * width, width * sizeof *x) == 0;
  }
  return rows > 1 && numbers > rows && !is_uniform(v) && (symmetric || skew || level || again);
}

/* Zeros in what a MatMul reads may be a mask's, or what was pruned: the file says only that it was computed. */
static bool may_be_masked(const Node *n, const Value *v) { return n->op == &op_mat_mul && has_holes(v); }

/* A weight of which that is so, or the scale of a normalization of weights. */
static void note_computed(const Node *n) {
  for (int i = 0; i < n->in_count; i++) {
    bool scale = i == 1 && n->op == &op_batch_normalization && n->in[0]->kind == VALUE_CONSTANT;
    if (!is_made(n->in[i])) continue;
    bool computed = looks_computed(n->in[i]) || may_be_masked(n, n->in[i]);
    n->in[i]->computed_changed |= scale || (n->op->weights >> i & 1 && computed);
  }
}

/* ---- padding ---- */

/* The only row of zeros; -1: there is none, or more. */
static int row_of_zeros(const Value *table) {
  int found = -1, count = 0;
  size_t width = (size_t)table->shape.dim[1];
  const float *x = table->data;
  for (int i = 0; x && i < table->shape.dim[0]; i++, x += width) {
    size_t zeros = 0;
    while (zeros < width && x[zeros] == 0) zeros++;
    if (zeros == width) found = i, count++;
  }
  return count == 1 ? found : -1;
}

/* TorchScript's exporter drops padding_idx, but torch.nn.Embedding makes that row zeros. */
static Status note_padding(Graph *m, const Node *n) {
  const Value *table = n->op == &op_gather ? n->in[0] : NULL;
  bool looks_up = table && mode_is_parameter(table) && table->shape.rank == 2 && !node_int(n, "axis", 0);
  if (!looks_up || table->note != NOTE_ATTRIBUTE) return STATUS_OK;
  int row = row_of_zeros(table);
  const char *text = row < 0 ? NULL : arena_print(m->arena, "%d", row);
  return text ? notes_add(m, PADDING_KEY, n->out[0]->name, text) : STATUS_OK;
}

Status computed_undo(Graph *m) {
  int count = m->value_count; /* values added here come after them */
  for (int i = 0; i < count; i++) {
    Value *v = m->values[i];
    if (!mode_is_parameter(v) || !(v->computed_from || module_is_numbered(v->name))) continue;
    if (v->computed_from && !is_uniform(v)) read_first(m, v);
    Value *from = v->computed_from ? origin_of(m, v) : find_transposed(m, v);
    bool tied = from && from != v && mode_is_parameter(from) && computed_is_transposed(v, from);
    if (tied) TRY(tie(m, v, from));
    else if (v->computed_masked && has_holes(v)) TRY(mask(m, v));
    else if (v->computed_from) {
      TRY(reduce(m, v));
      v->computed_changed |= looks_computed(v);
    }
  }
  for (int i = 0; i < m->node_count; i++) {
    TRY(note_padding(m, m->nodes[i]));
    note_computed(m->nodes[i]);
    if (is_masked(m->nodes[i])) TRY(mask(m, m->nodes[i]->in[1]));
  }
  return STATUS_OK;
}
