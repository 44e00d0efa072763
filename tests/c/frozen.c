/* Small models with a weight that is frozen. */
#include "frozen.h"

#include "check.h"
#include "graph/op.h"

void frozen_fill(float *x, size_t count, int from) {
  for (int i = 0; i < (int)count; i++) x[i] = (float)((i * i * 7 + 3 * i + from) % 41) / 20 - 1;
}

Value *frozen_input(Frozen *m, const char *name, DType type, Shape shape) {
  Value *v = graph_value(m->g, name, type, &shape, VALUE_INPUT);
  graph_add_input(m->g, v);
  return v;
}

Value *frozen_parameter(Frozen *m, const char *name, Shape shape) {
  size_t count = shape_elements(&shape);
  float *x = arena_alloc(&m->arena, count * sizeof *x);
  frozen_fill(x, count, *name);
  Value *v = graph_constant(m->g, name, DTYPE_FLOAT32, &shape, x);
  if (v) v->initializer = true;
  return v;
}

Value *frozen_w(Frozen *m, int rows, int columns) { return m->w = frozen_parameter(m, "w", SHAPE(rows, columns)); }

Value *frozen_product(Frozen *m, Value *a, Value *b) { return emit(m->g, "MatMul", a, b); }

Value *frozen_gemm(Frozen *m, Attr attr, Value *a, Value *b, Value *c) {
  return emit_first(m->g, "Gemm", ATTRS(attr), (Value *[]){a, b, c}, c ? 3 : 2);
}

bool frozen_open(Frozen *m, Value *(*make)(Frozen *m), int last_rows) {
  *m = (Frozen){0};
  m->g = graph_new(&m->arena, &m->error);
  graph_import(m->g, "", 17);
  m->first = frozen_parameter(m, "first", SHAPE(WIDE, HIGH));
  m->x = frozen_input(m, "x", DTYPE_FLOAT32, SHAPE(ROWS, WIDE));
  m->ids = frozen_input(m, "ids", DTYPE_INT64, SHAPE(ROWS));
  Value *y = make(m);
  m->last = last_rows ? frozen_parameter(m, "last", SHAPE(last_rows, 2)) : m->first;
  if (last_rows) y = frozen_product(m, y, m->last);
  return check(y && graph_add_output(m->g, y) == STATUS_OK, "%s", m->error.text);
}

Quantizer *frozen_choose(Frozen *m, QuantizeKind kind, bool nominal) {
  bool *trained = ARENA_ARRAY(&m->arena, bool, m->g->value_count);
  Weights weights;
  trained[m->last->index] = true;
  if (!check(weights_read(m->g, &m->arena, &weights) == STATUS_OK, "%s", m->error.text)) return NULL;
  return quantize_choose(m->g, kind, trained, &weights, nominal, &m->arena);
}

Quantizer *frozen_put(Frozen *m, QuantizeKind kind, bool nominal) {
  Quantizer *q = frozen_choose(m, kind, nominal);
  return check(q && quantize_put(q) == STATUS_OK, "%s", m->error.text) ? q : NULL;
}

char *frozen_operators(Frozen *m) {
  char *text = arena_print(&m->arena, "%s", "");
  for (int i = 0; i < m->g->node_count; i++)
    text = arena_print(&m->arena, "%s%s%s", text, i ? " " : "", m->g->nodes[i]->op->name);
  return text;
}
