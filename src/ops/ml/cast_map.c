/* CastMap: the values of a map as a row in another type: all of them by rising keys (DENSE), or each at the place that
 * is its key, of max_map places (SPARSE). */
#include <string.h>

#include "kernels/select.h"
#include "ops/ml/map_halves.h"

static Status cast_map_expand(Expansion *c) {
  static const char *const types[] = {"TO_FLOAT", "TO_STRING", "TO_INT64"};
  static const DType to[] = {DTYPE_FLOAT32, DTYPE_STRING, DTYPE_INT64};
  Value *in[2];
  int type;
  TRY(map_halves(c, &in[0], &in[1]));
  TRY(node_choice(c->node, "cast_to", types[0], types, 3, &type));
  if (!(in[1] = expand_cast(c, in[1], to[type]))) return c->graph->error->status;
  return expand_done(
      c, emit_first(c->graph, "ai.onnx.ml.CastMap", (AttrList){c->node->attrs, c->node->attr_count}, in, 2));
}

static Status cast_map_infer(Node *n) {
  static const char *const forms[] = {"DENSE", "SPARSE"};
  int *sparse = NODE_PARAMS(n, int);
  int64_t most = node_int(n, "max_map", 1);
  if (!sparse) return STATUS_OUT_OF_MEMORY;
  TRY(node_choice(n, "map_form", forms[0], forms, 2, sparse));
  if (n->in[0]->type != DTYPE_INT64)
    return node_invalid(n, "the keys of '%.64s' are %s, they must be int64", n->in[0]->name,
                        dtype_name(n->in[0]->type));
  if (*sparse && most < 0) return node_invalid(n, "max_map is %lld", (long long)most);
  Shape y = SHAPE(1, *sparse ? most : n->in[0]->shape.dim[0]);
  if (node_is_concrete(n)) n->scratch_bytes = in_count(n, 0) * sizeof(size_t);
  return node_output(n, 0, n->in[1]->type, &y);
}

static bool before(const void *context, size_t a, size_t b) {
  const int64_t *keys = context;
  return keys[a] != keys[b] ? keys[a] < keys[b] : a < b;
}

/* Places without a key hold 0, or ONNX Runtime's word for it. */
static void fill(const Node *n) {
  memset(n->out[0]->data, 0, value_bytes(n->out[0]));
  for (size_t i = 0; i < out_count(n, 0) && n->out[0]->type == DTYPE_STRING; i++)
    ((const char **)n->out[0]->data)[i] = "0.f";
}

static void cast_map_run(const Node *n) {
  const int64_t *keys = n->in[0]->data;
  bool sparse = *(const int *)n->params != 0;
  size_t bytes = dtype_bytes(n->in[1]->type), *order = n->scratch;
  if (sparse) fill(n);
  else select_best(order, in_count(n, 0), in_count(n, 0), before, keys);
  for (size_t i = 0; i < in_count(n, 0); i++) {
    if ((sparse ? i : order[i]) >= in_count(n, 1)) continue; /* made by hand, keys and values may differ in number */
    size_t from = sparse ? i : order[i], to = sparse ? (size_t)keys[i] : i;
    if (to < out_count(n, 0))
      memcpy((char *)n->out[0]->data + to * bytes, (const char *)n->in[1]->data + from * bytes, bytes);
  }
}

OPERATOR(cast_map) = {
    .name = "CastMap",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {1, 2},
    .flags = OP_ANY_TYPE | OP_STRINGS | OP_SEQUENCES,
    .infer = cast_map_infer,
    .run = cast_map_run,
    .expand = cast_map_expand,
    .expands = map_is_whole,
    .cases = CASES({"v:i64[3]=5,1,3 v:i64[3]=1,2,3"}, {"v:i64[3]=5,1,-3 v:i64[3]=1,2,3", "map_form=SPARSE max_map=4"}),
};
