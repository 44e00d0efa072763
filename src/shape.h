/* Shapes: a dim is a number (≥ 0) or a named symbol (far below 0), an element type has ONNX's number. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum DType { /* ONNX's TensorProto.DataType */
                     DTYPE_NONE = 0,
                     DTYPE_FLOAT32 = 1,
                     DTYPE_UINT8 = 2,
                     DTYPE_INT8 = 3,
                     DTYPE_UINT16 = 4,
                     DTYPE_INT16 = 5,
                     DTYPE_INT32 = 6,
                     DTYPE_INT64 = 7,
                     DTYPE_STRING = 8,
                     DTYPE_BOOL = 9,
                     DTYPE_FLOAT16 = 10,
                     DTYPE_FLOAT64 = 11,
                     DTYPE_UINT32 = 12,
                     DTYPE_UINT64 = 13,
                     DTYPE_BFLOAT16 = 16,
                     /* An element a byte here; in files those of 4 and 2 bits are packed. */
                     DTYPE_FLOAT8E4M3FN = 17,
                     DTYPE_FLOAT8E4M3FNUZ = 18,
                     DTYPE_FLOAT8E5M2 = 19,
                     DTYPE_FLOAT8E5M2FNUZ = 20,
                     DTYPE_UINT4 = 21,
                     DTYPE_INT4 = 22,
                     DTYPE_FLOAT4E2M1 = 23,
                     DTYPE_FLOAT8E8M0 = 24,
                     DTYPE_UINT2 = 25,
                     DTYPE_INT2 = 26,
} DType;
enum { DTYPE_LAST = DTYPE_INT2 };

const char *dtype_name(DType type); /* "float32"; "type 99" style names do not exist: unknown gives "unknown" */
size_t
dtype_bytes(DType type); /* bytes of an element; a string is a pointer (graph/strings.h). 0 for an unknown type */
size_t dtype_raw_bytes(DType type); /* 0 for strings: bytes from outside are never pointers */
int dtype_packed(DType type);       /* elements to a byte in a file: 2, 4, else 1 */

static inline bool dtype_is_float(DType type) {
  return type == DTYPE_FLOAT32 || type == DTYPE_FLOAT64 || type == DTYPE_FLOAT16 ||
         (type >= DTYPE_BFLOAT16 && type <= DTYPE_FLOAT8E5M2FNUZ) || type == DTYPE_FLOAT4E2M1 ||
         type == DTYPE_FLOAT8E8M0;
}
static inline bool dtype_is_number(DType type) {
  return dtype_is_float(type) || (dtype_raw_bytes(type) && type != DTYPE_BOOL);
}

typedef int64_t Dim; /* symbol k of a graph is SYMBOL_0 - k: far away, since known contents (an axis, a shape's -1) may
                        be negative */
#define SYMBOL_0 (INT64_MIN / 2)
enum { RANK_MAX = 8 };

typedef struct Shape {
  int rank;
  Dim dim[RANK_MAX];
} Shape;

#define SHAPE(...) shape_of((int)(sizeof((Dim[]){__VA_ARGS__}) / sizeof(Dim)), (Dim[]){__VA_ARGS__})
static inline Shape shape_of(int rank, const Dim *dims) {
  Shape s = {.rank = rank};
  for (int i = 0; i < rank; i++) s.dim[i] = dims[i];
  return s;
}

static inline bool dim_is_number(Dim d) { return d >= 0; } /* a shape's dims are never negative numbers */
static inline bool dim_is_symbol(Dim d) { return d <= SYMBOL_0 && d > SYMBOL_0 - INT32_MAX; }
static inline bool dim_divides(Dim d, int64_t by) { /* a symbol may turn out to be any number */
  return !dim_is_number(d) || (by > 0 && d % by == 0);
}
static inline int dim_symbol(Dim d) { return (int)(SYMBOL_0 - d); } /* its number in the graph */
bool shape_is_concrete(const Shape *s);                             /* every dim is a number */
bool shape_equal(const Shape *a, const Shape *b);                   /* same rank and the same numbers and symbols */
bool shape_count(const Shape *s, size_t *count);     /* product of the dims; false on a symbol or overflow */
size_t shape_elements(const Shape *s);               /* the product, for shapes whose count was checked before */
size_t shape_span(const Shape *s, int from, int to); /* product of dims [from, to), same condition */

enum { SHAPE_TEXT = 160 };
const char *shape_print(const Shape *s, char text[SHAPE_TEXT]); /* "(2, ?, 10)" */

/* The place of element `at` in words: " in row 2, element 5", with as many parts as the rank has. */
enum { SHAPE_PLACE_TEXT = 64 };
const char *shape_place(const Shape *s, size_t at, char text[SHAPE_PLACE_TEXT]);

/* Row-major strides in elements. */
void shape_strides(const Shape *s, size_t stride[RANK_MAX]);
