/* Bad index: the sentence about what a run has noted. */
#include "program/bad_index.h"

#include <stdio.h>

#include "graph/bad_index.h"
#include "kernels/number.h"
#include "ops/ops.h"

/* The indices as the caller fed them: before casts and operators that only change the shape. */
static const Value *indices_fed(const Value *v) {
  while (v->producer && (v->producer->op->flags & OP_VIEW || v->producer->op == &op_cast)) v = v->producer->in[0];
  return v;
}

static long long index_value(const Value *v, size_t at) {
  Numbers x;
  numbers_load(&x, v->data, v->type, at, 1, 1);
  return dtype_is_float(v->type) ? number_cut(x.floats[0]) : x.ints[0];
}

Status bad_index_check(const Program *p) {
  const BadIndex *b = bad_index_first();
  const Node *n = b->node;
  if (bad_index_none()) return STATUS_OK;
  if (b->refuse) return b->refuse(n);
  const Value *data = n->in[0], *held = n->in[b->input], *v = p->kept ? held : indices_fed(held);
  char shape[SHAPE_TEXT], place[SHAPE_PLACE_TEXT];
  return error_set(p->graph->error, !p->kept && held->initializer ? STATUS_INVALID_MODEL : STATUS_INVALID_FEED, n->name,
                   "%s '%.128s': '%.100s' has %lld%s, but '%.100s' %s allows %lld to %lld", n->op->name, n->name,
                   v->name, index_value(held, b->at), shape_place(&v->shape, b->at, place), data->name,
                   shape_print(&data->shape, shape), (long long)b->least, (long long)b->most);
}
