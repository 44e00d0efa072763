/* ReverseSequence: the first lens[b] steps of each sequence b in reverse order, the rest as they are.  dx is dy
 * reversed in the same way. */
#include <string.h>

#include "ops/index/index.h"

static Status reverse_sequence_infer(Node *n) {
  int64_t time = node_int(n, "time_axis", 0), batch = node_int(n, "batch_axis", 1);
  TRY(node_want_rank(n, 0, 2, RANK_MAX));
  TRY(node_want_rank(n, 1, 1, 1));
  TRY(node_want_index(n, 1));
  if (time + batch != 1 || time * batch != 0)
    return node_invalid(n, "time_axis and batch_axis are %lld and %lld, not 0 and 1", (long long)time,
                        (long long)batch);
  Dim sequences = n->in[0]->shape.dim[batch], lengths = n->in[1]->shape.dim[0];
  if (dim_is_number(sequences) && dim_is_number(lengths) && sequences != lengths)
    return node_invalid(n, "there are %lld lengths for %lld sequences", (long long)lengths, (long long)sequences);
  return node_output(n, 0, n->in[0]->type, &n->in[0]->shape);
}

static void reverse_sequence_run(const Node *n) {
  const Shape *x = &n->in[0]->shape;
  bool time_first = node_int(n, "time_axis", 0) == 0;
  int64_t steps = x->dim[time_first ? 0 : 1], sequences = x->dim[time_first ? 1 : 0];
  if (!index_all_within(n, 1, steps)) return;
  size_t item = shape_span(x, 2, x->rank) * dtype_bytes(n->in[0]->type);
  size_t step = item * (size_t)(time_first ? sequences : 1), sequence = item * (size_t)(time_first ? 1 : steps);
  for (int64_t b = 0; b < sequences && item; b++) {
    int64_t length = index_at(n->in[1], (size_t)b);
    for (int64_t t = 0; t < steps; t++) {
      int64_t from = t < length ? length - 1 - t : t;
      memcpy((char *)n->out[0]->data + (size_t)b * sequence + (size_t)t * step,
             (const char *)n->in[0]->data + (size_t)b * sequence + (size_t)from * step, item);
    }
  }
}

static Status reverse_sequence_grad(Grad *g) {
  AttrList attrs = {g->node->attrs, g->node->attr_count};
  g->dx[0] = emit_with(g->graph, "ReverseSequence", attrs, g->dy[0], g->node->in[1]);
  return STATUS_OK;
}

OPERATOR(reverse_sequence) = {
    .name = "ReverseSequence",
    .since = {10},
    .inputs = {2, 2},
    .flags = OP_ANY_TYPE | OP_ATTRIBUTES,
    .infer = reverse_sequence_infer,
    .run = reverse_sequence_run,
    .grad = GRADIENT(reverse_sequence_grad),
    .cases = CASES({"f32[4,3] v:i64[3]=4,1,3"}, {"f32[3,4,2] v:i64[3]=4,0,3", "time_axis=1 batch_axis=0"}),
};
