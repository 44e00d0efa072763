/* DictVectorizer: the values of a map, each at the place that its key has in the vocabulary; 0, or the empty string,
 * for keys that the map does not have. */
#include "ops/ml/class_labels.h"
#include "ops/ml/lookup.h"
#include "ops/ml/map_halves.h"

static Status dict_vectorizer_expand(Expansion *c) {
  Value *in[2];
  TRY(map_halves(c, &in[0], &in[1]));
  return expand_done(
      c, emit_first(c->graph, "ai.onnx.ml.DictVectorizer", (AttrList){c->node->attrs, c->node->attr_count}, in, 2));
}

static Status dict_vectorizer_infer(Node *n) {
  Lookup *p = NODE_PARAMS(n, Lookup);
  ClassLabels words;
  if (!p) return STATUS_OUT_OF_MEMORY;
  TRY(class_labels_read(n, "int64_vocabulary", "string_vocabulary", &words));
  if (n->in[0]->type != words.type)
    return node_invalid(n, "the keys of '%.64s' are %s, the vocabulary is %s", n->in[0]->name,
                        dtype_name(n->in[0]->type), dtype_name(words.type));
  if (n->in[0]->shape.rank != 1 || n->in[1]->shape.rank != 1)
    return node_invalid(n, "the keys and values of '%.64s' are no lists", n->in[0]->name);
  TRY(lookup_make(n, words.type, words.data, words.count, p));
  Shape y = SHAPE(1, (Dim)words.count);
  return node_output(n, 0, n->in[1]->type, &y);
}

static void dict_vectorizer_run(const Node *n) {
  const Lookup *p = n->params;
  size_t bytes = dtype_bytes(n->in[1]->type);
  memset(n->out[0]->data, 0, value_bytes(n->out[0]));
  size_t count = in_count(n, 0) < in_count(n, 1) ? in_count(n, 0) : in_count(n, 1); /* made by hand, they may differ */
  for (size_t i = 0; i < count; i++) {
    int64_t at = lookup_find(p, n->in[0]->data, n->in[0]->type, i);
    if (at >= 0) memcpy((char *)n->out[0]->data + (size_t)at * bytes, (char *)n->in[1]->data + i * bytes, bytes);
  }
}

OPERATOR(dict_vectorizer) = {
    .name = "DictVectorizer",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {1, 2},
    .flags = OP_ANY_TYPE | OP_STRINGS | OP_SEQUENCES,
    .infer = dict_vectorizer_infer,
    .run = dict_vectorizer_run,
    .expand = dict_vectorizer_expand,
    .expands = map_is_whole,
    .cases = CASES({"v:i64[3]=5,1,9 v:i64[3]=1,2,3", "int64_vocabulary=[1,2,5]"}),
};
