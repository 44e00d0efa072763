/* GatherND: the slices of x that an index tensor names. ops/index/nd_index.h has the shapes.  dx: dy's slices added up
 * where they came from. */
#include "kernels/copy.h"
#include "ops/index/nd_index.h"

static Status gather_nd_infer(Node *n) {
  Shape y;
  if (dtype_bytes(n->in[0]->type) == 0)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "it does not pick %s", dtype_name(n->in[0]->type));
  TRY(nd_index_infer(n, &n->in[0]->shape, node_int(n, "batch_dims", 0), 0, &y));
  return node_output(n, 0, n->in[0]->type, &y);
}

static void gather_nd_run(const Node *n) {
  const Value *x = n->in[0];
  size_t rows = nd_index_rows(n), slice = nd_index_slice(n, &x->shape), item = dtype_bytes(x->type);
  NdIndexRun run = nd_index_run(n, &x->shape);
  char *y = n->out[0]->data;
  for (size_t r = 0; r < rows && slice; r++, y += slice * item) {
    ptrdiff_t at = nd_index_at(&run, r);
    if (at < 0) return nd_index_note(n, r);
    copy_element(y, (const char *)x->data + (size_t)at * item, slice * item);
  }
}

/* ONNX Runtime has no GatherNDGrad without a GPU: where ScatterND can add, it does the same. */
static Status gather_nd_grad(Grad *g) {
  Node *n = g->node;
  if (((const NdIndex *)n->params)->batch_dims == 0 && graph_opset(g->graph, "") >= 16) {
    Value *zeros = emit(g->graph, "ConstantOfShape", emit_shape(g->graph, n->in[0]));
    g->dx[0] = emit_with(g->graph, "ScatterND", ATTRS(attr_of_string("reduction", "add")), zeros, n->in[1], g->dy[0]);
    return STATUS_OK;
  }
  AttrList batch_dims = ATTRS(attr_of_int("batch_dims", ((const NdIndex *)n->params)->batch_dims));
  g->dx[0] = emit_with(g->graph, "GatherNDGrad", batch_dims, emit_shape(g->graph, n->in[0]), n->in[1], g->dy[0]);
  return STATUS_OK;
}

OPERATOR(gather_nd) = {
    .name = "GatherND",
    .since = {11, 12, 13},
    .inputs = {2, 2},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .infer = gather_nd_infer,
    .run = gather_nd_run,
    .grad = GRADIENT(gather_nd_grad),
    .cases = CASES({"f32[3,4] v:i64[2,2]=0,3,2,-1"}, {"f32[3,4,2] v:i64[2,3,1]=0,2,1,1,-3,0"},
                   {"f32[2,3,4] v:i64[2,2]=1,0,1,2"}, {"f32[2,3,4] v:i64[2,1]=1,-1", "batch_dims=1"},
                   {"f32[2,3,4] v:i64[2,3,1,1]=0,1,2,3,0,1", "batch_dims=2"},
                   {"f32[3,4] v:i64[3,2]=0,3,2,-1,0,3", NULL, 15}, {"i64[3,2] v:i32[2,1]=2,0", NULL, 11}),
};
