/* Upgrade: attributes that became inputs, Softmax and its kin over all dims from the axis on, the Resize of opset 10, the Scan of
 * opset 8, attributes that went, and what a few operators were in opset 1. */
#include "graph/upgrade.h"

#include <string.h>

#include "kernels/number.h"
#include "ops/scan.h"

/* An attribute that is an input from opset `since` on. */
static const struct {
  const char *op, *attr;
  int input, since;
} moved[] = {
    {"Reshape", "shape", 1, 5}, {"Slice", "starts", 1, 10}, {"Slice", "ends", 2, 10}, {"Slice", "axes", 3, 10},   {"TopK", "k", 1, 10},
    {"Clip", "min", 1, 11},     {"Clip", "max", 2, 11},     {"Pad", "paddings", 1, 2},
    {"Pad", "pads", 1, 11},     {"Pad", "value", 2, 11},    {"Dropout", "ratio", 1, 12},
    {"Split", "split", 1, 13},  {"Squeeze", "axes", 1, 13}, {"Unsqueeze", "axes", 1, 13}, {"ReduceSum", "axes", 1, 13},
};
enum { MOVED = sizeof moved / sizeof *moved, INPUTS_MAX = 4, ATTRS_MORE = 2 };

static bool is_op(const Added *a, const char *name) { return !a->op->domain && strcmp(a->op->name, name) == 0; }

/* A number of the type of `like`. */
static Value *number_like(Graph *g, float x, const Value *like) {
  Value *v = emit_float(g, x);
  return like && like->type == DTYPE_FLOAT64 ? emit_with(g, "Cast", ATTRS(attr_of_int("to", DTYPE_FLOAT64)), v) : v;
}

static Value *input_of(Graph *g, const Attr *a, const Value *like) {
  return a->kind == ATTR_INTS    ? emit_ints(g, a->ints, a->count)
         : a->kind == ATTR_INT   ? emit_ints(g, &a->i, 1)
         : a->kind == ATTR_FLOAT ? number_like(g, a->f, like)
                                 : NULL;
}

static void drop_attr(Added *a, Attr *attrs, const char *name) {
  int kept = 0;
  for (int i = 0; i < a->attr_count; i++)
    if (strcmp(attrs[i].name, name) != 0) attrs[kept++] = attrs[i];
  a->attr_count = kept;
}

static const Attr *attr_of(const Added *a, const char *name) {
  for (int i = 0; i < a->attr_count; i++)
    if (strcmp(a->attrs[i].name, name) == 0) return &a->attrs[i];
  return NULL;
}

static void move_attrs(Graph *g, Added *a, Value **in, Attr *attrs) {
  for (int i = 0; i < MOVED; i++) {
    const Attr *attr = is_op(a, moved[i].op) && g->file_opset < moved[i].since ? attr_of(a, moved[i].attr) : NULL;
    if (!attr || a->in_count > moved[i].input) continue;
    in[moved[i].input] = input_of(g, attr, a->in[0]);
    drop_attr(a, attrs, moved[i].attr);
  }
  for (int i = INPUTS_MAX - 1; i >= a->in_count; i--)
    if (in[i]) a->in_count = i + 1;
}

/* Before opset 7 the operand's place was said by `broadcast` and `axis`, which the graph has heeded; `spatial` is refused where it is 0. */
static void drop_old(const Graph *g, Added *a, Attr *attrs) {
  const Attr *spatial = attr_of(a, "spatial");
  if (spatial && spatial->i == 1) drop_attr(a, attrs, "spatial");
  if (g->file_opset >= 7) return;
  if (attr_of(a, "broadcast")) drop_attr(a, attrs, "axis");
  drop_attr(a, attrs, "broadcast");
  drop_attr(a, attrs, "consumed_inputs");
  drop_attr(a, attrs, "is_test");
}

/* Resize 10 has no regions of interest among its inputs, and one way to find a place. */
static void upgrade_resize(Added *a, Value **in, Attr *attrs) {
  in[2] = in[1], in[1] = NULL, a->in_count = 3;
  attrs[a->attr_count++] = attr_of_string("coordinate_transformation_mode", "asymmetric");
  attrs[a->attr_count++] = attr_of_string("nearest_mode", "floor");
}

/* ---- opset 1 ---- */

/* Cast named the type. */
static void number_type(Attr *to) {
  static const char *const names[] = {"", "FLOAT", "UINT8", "INT8", "UINT16", "INT16", "INT32", "INT64", "STRING", "BOOL", "FLOAT16", "DOUBLE", "UINT32", "UINT64"};
  for (int i = 0; i < (int)(sizeof names / sizeof *names) && to->kind == ATTR_STRING; i++)
    if (strcmp(to->s, names[i]) == 0) *to = attr_of_int("to", i);
}

/* Upsample had a scale each for height and width. */
static void list_scales(Graph *g, Added *a, Attr *attrs) {
  const Attr *height = attr_of(a, "height_scale"), *width = attr_of(a, "width_scale");
  float *scales = ARENA_ARRAY(g->arena, float, 4);
  if (!height || !width || !scales) return;
  scales[0] = scales[1] = 1, scales[2] = height->f, scales[3] = width->f;
  attrs[a->attr_count++] = (Attr){.name = "scales", .kind = ATTR_FLOATS, .count = 4, .floats = scales};
}

static bool number_of(const Value *v, double *out) {
  Numbers x;
  if (!v || v->kind != VALUE_CONSTANT || shape_elements(&v->shape) != 1 || !dtype_is_number(v->type)) return false;
  numbers_load(&x, v->data, v->type, 0, 1, 1);
  return *out = dtype_is_float(v->type) ? x.floats[0] : (double)x.ints[0], true;
}

/* Tile repeated x along one axis; both were inputs, in x's type. */
static Status list_repeats(Graph *g, Added *a, Value **in) {
  double tiles, axis;
  int64_t repeats[RANK_MAX];
  int rank = a->in[0] ? a->in[0]->shape.rank : 0;
  if (!number_of(in[1], &tiles) || !number_of(in[2], &axis) || !(axis >= 0 && axis < rank) || !(tiles >= 0 && tiles <= INT32_MAX))
    return error_set(g->error, STATUS_UNSUPPORTED_OP, a->name, "Tile '%.128s': tiles and axis must be constants that fit x", a->name ? a->name : "");
  for (int i = 0; i < rank; i++) repeats[i] = i == (int)axis ? (int64_t)tiles : 1;
  in[1] = emit_ints(g, repeats, rank), in[2] = NULL, a->in_count = 2;
  return STATUS_OK;
}

static Status upgrade_first(Graph *g, Added *a, Value **in, Attr *attrs) {
  for (int i = 0; i < a->attr_count; i++) {
    if (is_op(a, "Cast") && strcmp(attrs[i].name, "to") == 0) number_type(&attrs[i]);
    if (is_op(a, "GlobalLpPool") && attrs[i].kind == ATTR_FLOAT) attrs[i] = attr_of_int(attrs[i].name, (int64_t)attrs[i].f);
  }
  if (is_op(a, "Upsample")) list_scales(g, a, attrs);
  return is_op(a, "Tile") && a->in_count == 3 ? list_repeats(g, a, in) : STATUS_OK;
}

/* ---- Softmax, LogSoftmax, Hardmax: all dims from the axis on are one ---- */

static Status flat_compose(Compose *c, const Op *op) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  int axis;
  TRY(node_want_rank(c->node, 0, 1, RANK_MAX));
  TRY(node_axis(c->node, node_int(c->node, "axis", 1), x->shape.rank, &axis));
  AttrList last = ATTRS(attr_of_int("axis", -1));
  if (axis == x->shape.rank - 1) return c->out[0] = emit_with(g, op->name, last, x), g->error->status;
  int64_t to[RANK_MAX] = {0};
  to[axis] = -1;
  Value *flat = emit_with(g, op->name, last, emit(g, "Reshape", x, emit_ints(g, to, axis + 1)));
  return c->out[0] = emit(g, "Reshape", flat, emit_shape(g, x)), g->error->status;
}

#define FLAT(now, Name) \
  static Status flat_##now(Compose *c) { return flat_compose(c, &op_##now); } \
  static const Op op_flat_##now = {.name = Name, .since = {1}, .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1, .compose = flat_##now};
FLAT(softmax, "Softmax")
FLAT(log_softmax, "LogSoftmax")
FLAT(hardmax, "Hardmax")

static const Op *flat_of(const Op *op) {
  return op == &op_softmax ? &op_flat_softmax : op == &op_log_softmax ? &op_flat_log_softmax : op == &op_hardmax ? &op_flat_hardmax : op;
}

Status upgrade(Graph *g, Added *a) {
  if (g->file_opset >= OPSET_MIN || a->op->domain) return STATUS_OK;
  Value **in = ARENA_ARRAY(g->arena, Value *, a->in_count + INPUTS_MAX);
  Attr *attrs = ARENA_ARRAY(g->arena, Attr, a->attr_count + ATTRS_MORE);
  if (!in || !attrs) return error_set(g->error, STATUS_OUT_OF_MEMORY, a->name, "out of memory for %s", a->op->name);
  for (int i = 0; i < a->in_count; i++) in[i] = a->in[i];
  for (int i = 0; i < a->attr_count; i++) attrs[i] = a->attrs[i];
  a->in = in;
  a->attrs = attrs;
  a->op = flat_of(a->op);
  drop_old(g, a, attrs);
  if (g->file_opset < 7) TRY(upgrade_first(g, a, in, attrs));
  move_attrs(g, a, in, attrs);
  if (is_op(a, "Resize") && a->in_count == 2) upgrade_resize(a, in, attrs);
  if (is_op(a, "Scan") && g->file_opset < 9) a->op = &op_scan_8;
  if (is_op(a, "Concat") && g->file_opset < 4 && !attr_of(a, "axis")) attrs[a->attr_count++] = attr_of_int("axis", 1);
  return g->error->status;
}
