/* Identity: y = x.  dx = dy. */
#include "graph/sequence.h"
#include "ops/shape/view.h"

static Status identity_infer(Node *n) { return view_output(n, &n->in[0]->shape); }

static Status identity_grad(Grad *g) {
  g->dx[0] = g->dy[0];
  return STATUS_OK;
}

/* A sequence or an optional is the same one under another name. */
static bool identity_expands(const Added *a) { return a->in_count == 1 && value_is_sequence(a->in[0]); }
static Status identity_expand(Expansion *c) { return c->out[0] = c->node->in[0], STATUS_OK; }

OPERATOR(identity) = {
    .name = "Identity",
    .since = {1, 13, 14, 16, 19, 21},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE | OP_VIEW | OP_SEQUENCES | OP_STRINGS,
    .infer = identity_infer,
    .expand = identity_expand,
    .expands = identity_expands,
    .run = view_run,
    .grad = GRADIENT(identity_grad),
    .cases = CASES({"f32[2,3]"}, {"i64[3]"}, {"f32[]"}),
};
