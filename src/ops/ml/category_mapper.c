/* CategoryMapper: words to numbers or numbers to words, by two lists of the same length. */
#include "ops/ml/mapping.h"

static Status category_mapper_infer(Node *n) {
  const Attr *numbers = node_attr(n, "cats_int64s", ATTR_INTS), *words = node_attr(n, "cats_strings", ATTR_STRINGS);
  if (!numbers || !words || numbers->count != words->count)
    return node_invalid(n, "it has %d cats_int64s and %d cats_strings", numbers ? numbers->count : 0,
                        words ? words->count : 0);
  bool reads = n->in[0]->type == DTYPE_STRING;
  union {
    const char *s;
    int64_t i;
  } *otherwise = arena_alloc(n->graph->arena, sizeof *otherwise);
  if (!otherwise) return STATUS_OUT_OF_MEMORY;
  if (reads) otherwise->i = node_int(n, "default_int64", -1);
  else otherwise->s = node_string(n, "default_string", "_Unused");
  Mapping to_numbers = {{.type = DTYPE_STRING, .keys = words->strings}, DTYPE_INT64, numbers->ints, otherwise};
  Mapping to_words = {{.type = DTYPE_INT64, .keys = numbers->ints}, DTYPE_STRING, words->strings, otherwise};
  return mapping_infer(n, reads ? &to_numbers : &to_words, (size_t)words->count);
}

OPERATOR(category_mapper) = {
    .name = "CategoryMapper",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .infer = category_mapper_infer,
    .run = mapping_run,
    .work = mapping_work,
};
