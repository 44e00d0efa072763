/* Upsample: what Resize was before opset 10. */
#include "graph/expansion.h"
#include "graph/upgrade.h"

static Value *scales_of(Expansion *c) {
  const Attr *scales = node_attr(c->node, "scales", ATTR_FLOATS);
  if (has_in(c->node, 1)) return c->node->in[1];
  Shape shape = SHAPE(scales ? scales->count : 0);
  return scales ? emit_floats(c->graph, scales->floats, &shape) : NULL;
}

static Status upsample_expand(Expansion *c) {
  Value *scales = scales_of(c);
  if (!scales) return node_invalid(c->node, "neither an input nor an attribute gives the scales");
  AttrList attrs = ATTRS(attr_of_string("mode", node_string(c->node, "mode", "nearest")),
                         attr_of_string("nearest_mode", "floor"),
                         attr_of_string("coordinate_transformation_mode", "asymmetric"));
  return expand_done(c, emit_with(c->graph, "Resize", attrs, c->node->in[0], EMIT_ABSENT, scales));
}

/* In opset 1 it had separate scales for height and width. */
static Status upsample_upgrade(Upgrade *u) {
  const Attr *height = upgrade_attr(u, "height_scale"), *width = upgrade_attr(u, "width_scale");
  float *scales = ARENA_ARRAY(u->graph->arena, float, 4);
  if (u->graph->file_opset >= 7 || !height || !width || !scales) return STATUS_OK;
  scales[0] = scales[1] = 1, scales[2] = height->f, scales[3] = width->f;
  upgrade_add(u, (Attr){.name = "scales", .kind = ATTR_FLOATS, .count = 4, .floats = scales});
  return STATUS_OK;
}

OPERATOR(upsample) = {
    .name = "Upsample",
    .since = {1, 7, 9},
    .inputs = {1, 2},
    .flags = OP_SMALL_IN_FLOAT,
    .expand = upsample_expand,
    .upgrade = upsample_upgrade,
    .cases = CASES({"f32[1,2,3,4] f32[4]=1,1,2,3", "", 9},
                   {"f32[1,2,3,2]", "mode=bilinear height_scale=2.0 width_scale=3.0", 1},
                   {"f32[1,2,3,4]", "mode=linear scales=[1.0,1.0,2.0,2.0]", 7}),
};
