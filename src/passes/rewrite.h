/* Rewrite: what the passes share. A rewrite offers every node in order; a node that is taken is left out, and what was
 * emitted for it takes its place:
 *
 *   nodes  MatMul ─▶ t ─▶ Add ─▶ y      offered: MatMul (kept), Add (taken: emits Gemm, which makes y)
 *   then   MatMul ─▶ t    Gemm ─▶ y     and MatMul, which nobody reads, is dropped
 */
#pragma once
#include "graph/op.h"
#include "passes/passes.h"

/* True if n was rewritten. Readers of values (nodes and the graph's outputs) are counted as before the rewrite. */
typedef bool RewriteNode(Graph *g, Node *n);
Status rewrite_each(Graph *g, RewriteNode *rewrite);
typedef bool RewriteNodeWith(Graph *g, Node *n, void *context);
Status rewrite_each_with(Graph *g, RewriteNodeWith *rewrite, void *context);

/* `made`, which was just emitted, replaces n's output 0: its node now writes n->out[0]. Returns true (n is taken), or
 * false when `made` is NULL. */
bool rewrite_as(Node *n, Value *made);
/* Readers of v read `by` from here on. Returns true; or false, without any change, when v is an output of the graph. */
bool rewrite_value(Value *v, Value *by);

/* Drops nodes of which nobody reads an output, and second outputs that nobody reads. */
void rewrite_drop_dead(Graph *g);

/* The node that makes v; NULL when it is of another operator. */
static inline Node *made_by(const Value *v, const Op *op) {
  return v && v->kind == VALUE_NODE && v->producer && v->producer->op == op ? v->producer : NULL;
}
/* The same; NULL also when somebody else reads v, too. */
static inline Node *rewrite_only(const Value *v, const Op *op) { return v && v->readers == 1 ? made_by(v, op) : NULL; }
/* v in that shape, which has as many elements; v itself if it has that shape already. NULL on failure, like emit. */
Value *rewrite_reshape(Graph *g, Value *v, const Shape *shape);
/* The number in a constant of one float; false when v is something else. */
bool rewrite_number(const Value *v, float *number);
