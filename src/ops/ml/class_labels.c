/* Class labels: read from attributes, written to outputs. */
#include "ops/ml/class_labels.h"

Status class_labels_read(const Node *n, const char *ints, const char *strings, ClassLabels *out) {
  const Attr *numbers = node_attr(n, ints, ATTR_INTS), *words = node_attr(n, strings, ATTR_STRINGS);
  bool has_numbers = numbers && numbers->count, has_words = words && words->count;
  if (has_numbers == has_words)
    return node_invalid(n, "it has %s %s and %s, it must have one of them", has_words ? "both" : "neither", strings,
                        ints);
  *out = has_words ? (ClassLabels){DTYPE_STRING, (size_t)words->count, words->strings}
                   : (ClassLabels){DTYPE_INT64, (size_t)numbers->count, numbers->ints};
  return STATUS_OK;
}

Value *class_labels_constant(Expansion *c, const ClassLabels *labels) {
  Shape shape = SHAPE((Dim)labels->count);
  return strings_constant(c, labels->type, &shape, labels->data);
}

void class_labels_put(const ClassLabels *labels, void *y, size_t at, size_t which) {
  if (labels->type == DTYPE_STRING) ((const char **)y)[at] = ((const char *const *)labels->data)[which];
  else ((int64_t *)y)[at] = ((const int64_t *)labels->data)[which];
}
