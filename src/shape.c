/* Shapes: counting, comparing and printing dims; names and sizes of element types. */
#include "shape.h"

#include <stdio.h>

#include "arena.h"

static const struct {
  const char *name;
  size_t bytes;
} dtypes[] = {
    [DTYPE_FLOAT32] = {"float32", 4},
    [DTYPE_UINT8] = {"uint8", 1},
    [DTYPE_INT8] = {"int8", 1},
    [DTYPE_UINT16] = {"uint16", 2},
    [DTYPE_INT16] = {"int16", 2},
    [DTYPE_INT32] = {"int32", 4},
    [DTYPE_INT64] = {"int64", 8},
    [DTYPE_STRING] = {"string", sizeof(char *)},
    [DTYPE_BOOL] = {"bool", 1},
    [DTYPE_FLOAT16] = {"float16", 2},
    [DTYPE_FLOAT64] = {"float64", 8},
    [DTYPE_UINT32] = {"uint32", 4},
    [DTYPE_UINT64] = {"uint64", 8},
    [DTYPE_BFLOAT16] = {"bfloat16", 2},
    [DTYPE_FLOAT8E4M3FN] = {"float8e4m3fn", 1},
    [DTYPE_FLOAT8E4M3FNUZ] = {"float8e4m3fnuz", 1},
    [DTYPE_FLOAT8E5M2] = {"float8e5m2", 1},
    [DTYPE_FLOAT8E5M2FNUZ] = {"float8e5m2fnuz", 1},
    [DTYPE_FLOAT8E8M0] = {"float8e8m0", 1},
    [DTYPE_FLOAT4E2M1] = {"float4e2m1", 1},
    [DTYPE_UINT4] = {"uint4", 1},
    [DTYPE_INT4] = {"int4", 1},
    [DTYPE_UINT2] = {"uint2", 1},
    [DTYPE_INT2] = {"int2", 1},
};

static bool dtype_exists(DType type) {
  return (size_t)type < sizeof dtypes / sizeof *dtypes && dtypes[type].name != NULL;
}
const char *dtype_name(DType type) { return dtype_exists(type) ? dtypes[type].name : "unknown"; }
size_t dtype_bytes(DType type) { return dtype_exists(type) ? dtypes[type].bytes : 0; }
int dtype_packed(DType type) {
  if (type == DTYPE_UINT2 || type == DTYPE_INT2) return 4;
  return type == DTYPE_UINT4 || type == DTYPE_INT4 || type == DTYPE_FLOAT4E2M1 ? 2 : 1;
}
size_t dtype_raw_bytes(DType type) { return type == DTYPE_STRING ? 0 : dtype_bytes(type); }

bool shape_is_concrete(const Shape *s) {
  for (int i = 0; i < s->rank; i++)
    if (!dim_is_number(s->dim[i])) return false;
  return true;
}

bool shape_equal(const Shape *a, const Shape *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dim[i] != b->dim[i]) return false;
  return true;
}

bool shape_count(const Shape *s, size_t *count) {
  *count = 1;
  if (!shape_is_concrete(s)) return false;
  for (int i = 0; i < s->rank; i++)
    if (s->dim[i] == 0) return *count = 0, true;
  for (int i = 0; i < s->rank; i++)
    if ((uint64_t)s->dim[i] > SIZE_MAX || !size_multiply(*count, (size_t)s->dim[i], count)) return false;
  return true;
}

size_t shape_span(const Shape *s, int from, int to) {
  size_t n = 1;
  for (int i = from; i < to; i++) n *= (size_t)s->dim[i];
  return n;
}
size_t shape_elements(const Shape *s) { return shape_span(s, 0, s->rank); }

const char *shape_print(const Shape *s, char text[SHAPE_TEXT]) {
  int at = snprintf(text, SHAPE_TEXT, "(");
  for (int i = 0; i < s->rank && at < SHAPE_TEXT - 24; i++) {
    const char *separator = i ? ", " : "";
    if (dim_is_number(s->dim[i]))
      at += snprintf(text + at, (size_t)(SHAPE_TEXT - at), "%s%lld", separator, (long long)s->dim[i]);
    else at += snprintf(text + at, (size_t)(SHAPE_TEXT - at), "%s?", separator);
  }
  snprintf(text + at, (size_t)(SHAPE_TEXT - at), ")");
  return text;
}

const char *shape_place(const Shape *s, size_t at, char text[SHAPE_PLACE_TEXT]) {
  size_t inner = s->rank ? shape_span(s, 1, s->rank) : 0;
  int end = inner ? snprintf(text, SHAPE_PLACE_TEXT, " in row %zu", at / inner) : 0;
  if (inner > 1) end += snprintf(text + end, (size_t)(SHAPE_PLACE_TEXT - end), ", element %zu", at % inner);
  text[end] = 0;
  return text;
}

void shape_strides(const Shape *s, size_t stride[RANK_MAX]) {
  size_t step = 1;
  for (int i = s->rank - 1; i >= 0; i--) {
    stride[i] = step;
    step *= (size_t)s->dim[i];
  }
}
