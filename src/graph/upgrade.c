/* Upgrade: attributes that no longer exist; whatever else was different about an operator is in its own file
 * (Op.upgrade). */
#include "graph/upgrade.h"

#include <string.h>

enum { INPUTS_MORE = 4, ATTRS_MORE = 2 };

static void drop_attr(Upgrade *u, const char *name) {
  int kept = 0;
  for (int i = 0; i < u->node->attr_count; i++)
    if (strcmp(u->attrs[i].name, name) != 0) u->attrs[kept++] = u->attrs[i];
  u->node->attr_count = kept;
}

const Attr *upgrade_attr(const Upgrade *u, const char *name) {
  for (int i = 0; i < u->node->attr_count; i++)
    if (strcmp(u->attrs[i].name, name) == 0) return &u->attrs[i];
  return NULL;
}

void upgrade_add(Upgrade *u, Attr attr) { u->attrs[u->node->attr_count++] = attr; }

/* A number of the type of `like`. */
static Value *number_like(Graph *g, float x, const Value *like) {
  Value *v = emit_float(g, x);
  return like && like->type == DTYPE_FLOAT64 ? emit_with(g, "Cast", ATTRS(attr_of_int("to", DTYPE_FLOAT64)), v) : v;
}

static Value *input_of(Graph *g, const Attr *a, const Value *like) {
  return a->kind == ATTR_INTS  ? emit_ints(g, a->ints, a->count)
       : a->kind == ATTR_INT   ? emit_ints(g, &a->i, 1)
       : a->kind == ATTR_FLOAT ? number_like(g, a->f, like)
                               : NULL;
}

void upgrade_move(Upgrade *u, const char *name, int input, int since) {
  const Attr *attr = u->graph->file_opset < since && u->node->in_count <= input ? upgrade_attr(u, name) : NULL;
  if (!attr) return;
  u->in[input] = input_of(u->graph, attr, u->in[0]);
  drop_attr(u, name);
}

void upgrade_align(Upgrade *u, int64_t axis) {
  if (u->node->in_count != 2 || !u->in[0] || !u->in[1]) return;
  int64_t dims[RANK_MAX] = {0};
  int rank = u->in[0]->shape.rank, own = u->in[1]->shape.rank;
  if (axis < -rank || axis >= rank) return;
  int to = (int)(axis < 0 ? -axis : rank - axis);
  if (own < 1 || to <= own) return;
  for (int i = own; i < to; i++) dims[i] = 1; /* 0 copies */
  u->in[1] = emit(u->graph, "Reshape", u->in[1], emit_ints(u->graph, dims, to));
}

/* Before opset 7 `broadcast` and `axis` placed the second operand. `spatial` is refused where it is 0. */
static void drop_old(Upgrade *u) {
  const Attr *spatial = upgrade_attr(u, "spatial");
  if (spatial && spatial->i == 1) drop_attr(u, "spatial");
  if (u->graph->file_opset >= 7) return;
  const Attr *broadcast = upgrade_attr(u, "broadcast"), *axis = upgrade_attr(u, "axis");
  if (broadcast && broadcast->i && axis) upgrade_align(u, axis->i);
  if (broadcast) drop_attr(u, "axis");
  drop_attr(u, "broadcast");
  drop_attr(u, "consumed_inputs");
  drop_attr(u, "is_test");
}

Status upgrade(Graph *g, Added *a) {
  int inputs = a->in_count + INPUTS_MORE;
  Upgrade u = {g, a, ARENA_ARRAY(g->arena, Value *, inputs), ARENA_ARRAY(g->arena, Attr, a->attr_count + ATTRS_MORE)};
  if (!u.in || !u.attrs) return error_set(g->error, STATUS_OUT_OF_MEMORY, a->name, "out of memory for %s", a->op->name);
  for (int i = 0; i < a->in_count; i++) u.in[i] = a->in[i];
  for (int i = 0; i < a->attr_count; i++) u.attrs[i] = a->attrs[i];
  a->in = u.in;
  a->attrs = u.attrs;
  drop_old(&u);
  if (a->op->upgrade) TRY(a->op->upgrade(&u));
  for (int i = inputs - 1; i >= a->in_count; i--)
    if (u.in[i]) a->in_count = i + 1;
  return g->error->status;
}
