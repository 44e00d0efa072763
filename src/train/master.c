#include "train/master.h"

#include <string.h>

#include "kernels/number.h"
#include "ops/ops.h"
#include "train/computed.h"

static bool is_half(DType type) { return type == DTYPE_FLOAT16 || type == DTYPE_BFLOAT16; }

bool master_wanted(const Value *v) {
  return v->kind == VALUE_CONSTANT && v->initializer && !v->shape_constant && is_half(v->type) && v->data &&
         shape_elements(&v->shape) > 0;
}

static Status convert(Graph *g, Value *v, DType to) {
  size_t count = shape_elements(&v->shape);
  char *data = arena_alloc_array(g->arena, count, dtype_bytes(to));
  Numbers block;
  if (!data) return error_memory(g->error, "for weights of another type");
  for (size_t at = 0; at < count; at += NUMBERS) {
    size_t part = count - at < NUMBERS ? count - at : NUMBERS;
    numbers_load(&block, v->data, v->type, at, 1, part);
    numbers_store_floats(&block, data, to, at, part);
  }
  v->data = data;
  v->type = to;
  return STATUS_OK;
}

/* A BatchNormalization's statistics are what its steps write, so it reads them past the casts. */
static void read_statistics(Graph *m, const Value *half, Value *master) {
  for (int i = 0; i < m->node_count; i++) {
    Node *n = m->nodes[i];
    Value *wide = n->op == &op_cast && n->in[0] == half ? n->out[0] : NULL;
    for (int k = i + 1; wide && wide->statistic && k < m->node_count; k++)
      for (int j = 0; j < m->nodes[k]->in_count; j++)
        if (m->nodes[k]->in[j] == wide) m->nodes[k]->in[j] = master;
  }
}

Status master_make(Graph *m, Value *v) {
  DType type = v->type;
  TRY(convert(m, v, DTYPE_FLOAT32));
  Value *half = emit_with(m, "Cast", ATTRS(attr_of_int("to", type)), v);
  const char *name = half ? arena_print(m->arena, "%s.%s", v->name, dtype_name(type)) : NULL;
  if (!name) return error_memory(m->error, "for weights of another type");
  TRY(graph_rename(m, half, name));
  computed_read_instead(m, v, half);
  return read_statistics(m, half, v), STATUS_OK;
}

static bool is_of_master(const Node *n) {
  const Value *v = n->op == &op_cast ? n->in[0] : NULL;
  if (!v || v->kind != VALUE_CONSTANT || !v->initializer || v->type != DTYPE_FLOAT32) return false;
  size_t length = strlen(v->name);
  const char *name = n->out[0]->name;
  return is_half(n->out[0]->type) && strncmp(name, v->name, length) == 0 && name[length] == '.' &&
         strcmp(name + length + 1, dtype_name(n->out[0]->type)) == 0;
}

Status master_undo(Graph *g) {
  int kept = 0;
  for (int i = 0; i < g->node_count; i++) {
    Node *n = g->nodes[i];
    if (!is_of_master(n)) {
      g->nodes[kept++] = n;
      continue;
    }
    TRY(convert(g, n->in[0], n->out[0]->type));
    for (int k = i + 1; k < g->node_count; k++)
      for (int j = 0; j < g->nodes[k]->in_count; j++)
        if (g->nodes[k]->in[j] == n->out[0]) g->nodes[k]->in[j] = n->in[0];
  }
  g->node_count = kept;
  return STATUS_OK;
}
