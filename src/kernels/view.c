/* View: what the operators share whose output is input 0's bytes in another shape. */
#include "kernels/view.h"

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

Status view_grad(Grad *g) {
  const Shape *x = &g->node->in[0]->shape;
  bool empty = false; /* a 0 in the shape must not copy a dim of dy; there are no empty parameters before opset 14 */
  for (int i = 0; i < x->rank; i++) empty |= x->dim[i] == 0;
  AttrList attrs = empty ? ATTRS(attr_of_int("allowzero", 1)) : NO_ATTRS;
  g->dx[0] = emit_with(g->graph, "Reshape", attrs, g->dy[0], emit_shape(g->graph, g->node->in[0]));
  return STATUS_OK;
}
