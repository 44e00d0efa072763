/* Scatter: ScatterElements as opset 9 and 10 had it. */
#include "graph/expansion.h"
#include "ops/ops.h"

static Status scatter_expand(Expansion *c) {
  if (c->graph->file_opset > 10)
    return node_fail(c->node, STATUS_UNSUPPORTED_OP, "opset 11 has ScatterElements in its place");
  static const Op *const same = &op_scatter_elements;
  Added added = {same, c->node->name,  c->node->in,        3, (const char *const[]){NULL},
                 1,    c->node->attrs, c->node->attr_count};
  return graph_expand(c->graph, &added, c->out);
}

OPERATOR(scatter) = {
    .name = "Scatter",
    .since = {9},
    .inputs = {3, 3},
    .flags = OP_ANY_TYPE,
    .expand = scatter_expand,
    .cases = CASES({"f32[3,3] v:i64[2,3]=1,0,2,0,2,1 f32[2,3]", "axis=0", 10}),
};
