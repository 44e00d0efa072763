/* Constant folding: a node whose inputs are all constants runs once, while planning, and its outputs become constants.
 */
#include <string.h>

#include "graph/bad_index.h"
#include "graph/known.h"
#include "graph/work.h"
#include "passes/passes.h"

/* A constant may not grow the program much: Expand or ConstantOfShape of a large shape stays a node. Weights in float16
 * become float32 until there are this many of them. */
enum { FOLD_BYTES_MAX = 1 << 16, WIDENED_BYTES_MAX = 1 << 22 };

static bool foldable(const Node *n, size_t *widened) {
  if (n->op->flags & (OP_RANDOM | OP_UPDATES)) return false;
  size_t in_bytes = 0, out_bytes = 0;
  for (int i = 0; i < n->in_count; i++) {
    if (n->in[i] && n->in[i]->kind != VALUE_CONSTANT) return false;
    if (n->in[i]) in_bytes += value_bytes(n->in[i]);
  }
  for (int i = 0; i < n->out_count; i++)
    if (n->out[i]) out_bytes += value_bytes(n->out[i]);
  if (out_bytes <= FOLD_BYTES_MAX || out_bytes <= in_bytes) return true;
  if (out_bytes / 2 > in_bytes || out_bytes > WIDENED_BYTES_MAX - *widened) return false;
  *widened += out_bytes;
  return true;
}

/* True if the contents of every output are known as numbers, whatever the inputs (as with the Shape of a fed tensor).
 */
static bool all_known(const Node *n) {
  bool any = false;
  for (int i = 0; i < n->out_count; i++) {
    const Value *v = n->out[i];
    if (!v) continue;
    for (size_t k = 0; v->known && k < shape_elements(&v->shape); k++)
      if (dim_is_symbol(v->known[k])) return false;
    if (!v->known) return false;
    any = true;
  }
  return any;
}

static bool allocate(Node *n) {
  Arena *arena = n->graph->arena;
  for (int i = 0; i < n->out_count; i++)
    if (n->out[i] && !(n->out[i]->data = arena_alloc(arena, value_bytes(n->out[i])))) return false;
  return (n->scratch = arena_alloc(arena, n->scratch_bytes + 64)) != NULL;
}

/* Sets `folded` unless the node meets a bad index: such a node is left to the run, which refuses it. */
static Status fold_node(Node *n, bool known, bool *folded) {
  if (!allocate(n)) return node_fail(n, STATUS_OUT_OF_MEMORY, "out of memory while folding constants");
  if (!known) n->op->run(n);
  if (!(*folded = bad_index_none())) return STATUS_OK;
  for (int i = 0; i < n->out_count; i++) {
    if (!n->out[i]) continue;
    if (known) known_write(n->out[i]);
    n->out[i]->kind = VALUE_CONSTANT;
    n->out[i]->producer = NULL;
  }
  return STATUS_OK;
}

/* Computing something from a large constant costs about as much as reading that did. */
enum { WORK_OF_ELEMENT = 64 };

Status pass_fold(Graph *g) {
  for (int i = 0; i < g->value_count; i++)
    if (g->values[i]->kind == VALUE_CONSTANT)
      g->work_ahead -= WORK_OF_ELEMENT * (double)shape_elements(&g->values[i]->shape);
  int kept = 0;
  size_t widened = 0;
  for (int i = 0; i < g->node_count; i++) {
    Node *n = g->nodes[i];
    bool known = !(n->op->flags & (OP_RANDOM | OP_UPDATES)) && all_known(n);
    bool folded = false;
    if (known || (foldable(n, &widened) && work_may_go_ahead(n))) TRY(fold_node(n, known, &folded));
    if (!folded) g->nodes[kept++] = n;
  }
  g->node_count = kept;
  return STATUS_OK;
}
