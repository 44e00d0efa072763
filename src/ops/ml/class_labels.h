/* Class labels: two attributes, of which one is there: the labels are int64s or strings. */
#pragma once
#include "graph/strings.h"

typedef struct ClassLabels {
  DType type;
  size_t count;
  const void *data;
} ClassLabels;

/* Refuses a node that has neither, or both, or no label. */
Status class_labels_read(const Node *n, const char *ints, const char *strings, ClassLabels *out);
/* All of them as a constant. */
Value *class_labels_constant(Expansion *c, const ClassLabels *labels);
/* Label `which` as element `at` of y. */
void class_labels_put(const ClassLabels *labels, void *y, size_t at, size_t which);
