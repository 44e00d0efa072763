/* OnnxValue: what a file of ONNX's cases holds for one input or output; it is fed to a session, or compared with what a
 * session gives. */
#pragma once
#include "onnx/parts.h"
#include "trainlet.h"

typedef struct OnnxValue {
  const char *name; /* the input's or output's */
  bool sequence;
  Value *tensors;
  int count; /* items of a sequence; else 1, and 0 for an empty optional */
} OnnxValue;

/* From a file's bytes; `info` says which of the three it is. */
Status onnx_value_read(const Onnx__ValueInfoProto *info, const void *bytes, size_t count, Arena *arena, Error *error,
                       OnnxValue *out);
Status onnx_value_feed(const OnnxValue *v, TrainletSession *s); /* the sentence is the session's */
typedef struct Tolerance {
  double relative, absolute;
} Tolerance;

/* Compares the session's output of that name as ONNX's own runner does: floats by |got - wanted| ≤ absolute +
 * relative·|wanted|, bfloat16 by at least two units of its last place, all else exactly. */
Status onnx_value_compare(const OnnxValue *wanted, const TrainletSession *s, Tolerance t, Error *error);
