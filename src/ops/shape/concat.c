/* Concat: inputs side by side along one axis.  dxᵢ = the slice of dy that is xᵢ. */
#include "ops/shape/concat_axis.h"
#include "graph/upgrade.h"

static Status infer(Node *n) {
  if (!node_attr(n, "axis", ATTR_INT)) return node_invalid(n, "the attribute axis must be there");
  return concat_infer(n, 1);
}

/* Before opset 4, the default axis was 1. */
static Status concat_upgrade(Upgrade *u) {
  if (u->graph->file_opset < 4 && !upgrade_attr(u, "axis")) upgrade_add(u, attr_of_int("axis", 1));
  return STATUS_OK;
}

OPERATOR(concat) = {
    .name = "Concat",
    .since = {1, 4, 11, 13},
    .inputs = {1, -1},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .infer = infer,
    .run = concat_run,
    .grad = GRADIENT(concat_grad),
    .upgrade = concat_upgrade,
    .cases = CASES({"f32[2,3] f32[2,1] f32[2,4]", "axis=1"}, {"f32[2,3] f32[4,3]", "axis=0"},
                   {"f32[2,2,3] f32[2,1,3]", "axis=-2"}, {"f32[2,3] f32[2,2]", NULL, 1}, {"f32[2,3]", "axis=0"},
                   {"i64[2] i64[1]", "axis=0"}, {"f32[2,0] f32[2,3]", "axis=1"}, {"bool[3] bool[2]", "axis=0"}),
};
