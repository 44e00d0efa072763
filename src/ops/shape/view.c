/* View: shared by operators whose output is input 0's bytes in another shape. */
#include "ops/shape/view.h"

#include <string.h>

Status view_output(Node *n, const Shape *shape) {
  const Value *x = n->in[0];
  TRY(node_output(n, 0, x->type, shape));
  if (x->known) node_output_known(n, 0, x->known, (int)shape_elements(&x->shape));
  return STATUS_OK;
}

void view_run(const Node *n) {
  size_t bytes = out_count(n, 0) * dtype_bytes(n->out[0]->type);
  if (bytes) memcpy(n->out[0]->data, n->in[0]->data, bytes);
}

Value *view_like(Graph *g, Value *v, Value *like) {
  AttrList attrs = ATTRS(attr_of_int("allowzero", 1)); /* a 0 in the shape must not copy a dim of v */
  if (graph_opset(g, "") < 14) attrs.count = 0;        /* older opsets lack it */
  return emit_with(g, "Reshape", attrs, v, emit_shape(g, like));
}

Status view_grad(Grad *g) {
  g->dx[0] = view_like(g->graph, g->dy[0], g->node->in[0]);
  return STATUS_OK;
}
