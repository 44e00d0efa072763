/* Mapping: a lookup for each element. */
#include "ops/ml/mapping.h"

#include "graph/work.h"
#include "kernels/copy.h"
#include "kernels/select.h"

static bool has_type(DType type) {
  return type == DTYPE_STRING || type == DTYPE_FLOAT32 || type == DTYPE_FLOAT64 || type == DTYPE_INT64 ||
         type == DTYPE_INT32 || type == DTYPE_INT16;
}

Status mapping_infer(Node *n, const Mapping *m, size_t key_count) {
  Mapping *p = NODE_PARAMS(n, Mapping);
  if (!p) return STATUS_OUT_OF_MEMORY;
  *p = *m;
  DType from = n->in[0]->type;
  if (!has_type(m->keys.type) || !has_type(m->type))
    return node_fail(n, STATUS_UNSUPPORTED_OP, "%s to %s is a mapping we lack", dtype_name(m->keys.type),
                     dtype_name(m->type));
  if (from != m->keys.type)
    return node_invalid(n, "input 0 ('%.64s') is %s, the keys are %s", n->in[0]->name, dtype_name(from),
                        dtype_name(m->keys.type));
  TRY(lookup_make(n, m->keys.type, m->keys.keys, key_count, &p->keys));
  return node_output(n, 0, m->type, &n->in[0]->shape);
}

void mapping_run(const Node *n) {
  const Mapping m = *(const Mapping *)n->params; /* that it does not change, the compiler sees of a copy alone */
  size_t bytes = dtype_bytes(m.type), count = in_count(n, 0);
  const void *x = n->in[0]->data;
  DType type = n->in[0]->type;
  char *y = n->out[0]->data;
  for (size_t i = 0; i < count; i++, y += bytes) {
    int64_t at = lookup_find(&m.keys, x, type, i);
    copy_element(y, at < 0 ? m.otherwise : (const char *)m.values + (size_t)at * bytes, bytes);
  }
}

double mapping_work(const Node *n) {
  return work_elements(n->in[0]) * 16 * select_levels((double)((const Mapping *)n->params)->keys.count);
}
