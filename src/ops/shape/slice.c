/* Slice: x[starts:ends:steps] along axes.  dx is dy put back where it came from, 0 elsewhere. */
#include "ops/shape/slice_part.h"
#include "graph/upgrade.h"

static Status slice_infer(Node *n) {
  const Value *x = n->in[0];
  Slice *s = NODE_PARAMS(n, Slice);
  if (!s) return STATUS_OUT_OF_MEMORY;
  TRY(slice_read(n, 1, &x->shape, s));
  TRY(node_output(n, 0, x->type, &s->shape));
  Dim part[64];
  size_t count;
  ptrdiff_t at;
  if (!x->known || !shape_count(&s->shape, &count) || count > 64) return STATUS_OK;
  Strided layout = slice_layout(s, &x->shape, &at);
  strided_copy(part, x->known + at, layout, sizeof *part);
  node_output_known(n, 0, part, (int)count);
  return STATUS_OK;
}

static void slice_run(const Node *n) {
  const Value *x = n->in[0];
  size_t item = dtype_bytes(x->type);
  ptrdiff_t at;
  Strided layout = slice_layout(n->params, &x->shape, &at);
  strided_copy(n->out[0]->data, (const char *)x->data + at * (ptrdiff_t)item, layout, item);
}

static Status slice_grad(Grad *g) {
  Node *n = g->node;
  Value *in[6] = {g->dy[0], emit_shape(g->graph, n->in[0]), NULL, NULL, EMIT_ABSENT, EMIT_ABSENT};
  for (int i = 0; i < 4; i++)
    if (has_in(n, 1 + i)) in[2 + i] = n->in[1 + i];
  g->dx[0] = emit_first(g->graph, "SliceGrad", NO_ATTRS, in, in[5] != EMIT_ABSENT ? 6 : in[4] != EMIT_ABSENT ? 5 : 4);
  return STATUS_OK;
}

static Status slice_upgrade(Upgrade *u) {
  upgrade_move(u, "starts", 1, 10);
  upgrade_move(u, "ends", 2, 10);
  upgrade_move(u, "axes", 3, 10);
  return STATUS_OK;
}

OPERATOR(slice) = {
    .name = "Slice",
    .since = {1, 10, 11, 13},
    .inputs = {1, 5},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .infer = slice_infer,
    .run = slice_run,
    .grad = GRADIENT(slice_grad),
    .upgrade = slice_upgrade,
    .cases = CASES({"f32[4,5] i64[2]=1,0 i64[2]=3,4"}, {"f32[4,5] i64[1]=-3 i64[1]=2147483647 i64[1]=1"},
                   {"f32[4,5] i64[1]=-1 i64[1]=-9223372036854775807 i64[1]=1 i64[1]=-2"},
                   {"f32[4,5] i64[1]=0 i64[1]=99 i64[1]=0 i64[1]=3"}, {"f32[4,5] i64[1]=3 i64[1]=1"}, /* nothing left */
                   {"f32[4,5] i32[1]=1 i32[1]=-1 - i32[1]=1"},
                   {"f32[3,4,5] i64[2]=2,1 i64[2]=-4,3 i64[2]=0,2 i64[2]=-1,1"},
                   {"f32[4,5]", "starts=[1,1] ends=[3,1000] axes=[0,1]", 1}, {"f32[4,5]", "starts=[1] ends=[-1]", 1},
                   {"i64[5]=1,2,3,4,5 i64[1]=1 i64[1]=4"}),
};
