/* Mapping: elements replaced by the values of their keys, others by a default: LabelEncoder and CategoryMapper. */
#pragma once
#include "ops/ml/lookup.h"

typedef struct Mapping {
  Lookup keys;
  DType type; /* type of the values */
  const void *values, *otherwise;
} Mapping;

/* Takes the types strings, float32, float64, int64, int32 and int16. Sets the params and the output. */
Status mapping_infer(Node *n, const Mapping *m, size_t key_count);
void mapping_run(const Node *n);
double mapping_work(const Node *n);
