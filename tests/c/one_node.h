/* One node: a graph of it, made of tensors and attributes as tables write them; what comes out, or what it is refused
 * for. The macros of tensors and attributes are initializers. */
#pragma once
#include "graph/op.h"

#define LENGTH(Type, ...) (int)(sizeof((Type[]){__VA_ARGS__}) / sizeof(Type))
#define DATA(dtype, Type, ...)                                                                                         \
  {                                                                                                                    \
    dtype, LENGTH(Type, __VA_ARGS__), 0, (const Type[]) { __VA_ARGS__ }                                                \
  }
#define TEXTS(...) DATA(DTYPE_STRING, char *, __VA_ARGS__)
#define FLOATS(...) DATA(DTYPE_FLOAT32, float, __VA_ARGS__)
#define DOUBLES(...) DATA(DTYPE_FLOAT64, double, __VA_ARGS__)
#define INT64S(...) DATA(DTYPE_INT64, int64_t, __VA_ARGS__)
#define INT32S(...) DATA(DTYPE_INT32, int32_t, __VA_ARGS__)
#define INT16S(...) DATA(DTYPE_INT16, int16_t, __VA_ARGS__)
#define BYTES(...) DATA(DTYPE_UINT8, uint8_t, __VA_ARGS__)
#define ROWS(rows, ...)                                                                                                \
  {                                                                                                                    \
    DTYPE_FLOAT32, LENGTH(float, __VA_ARGS__), rows, (const float[]) { __VA_ARGS__ }                                   \
  }

#define A_WORDS(title, ...)                                                                                            \
  {                                                                                                                    \
    .name = title, .kind = ATTR_STRINGS, .count = LENGTH(char *, __VA_ARGS__), .strings = (const char *const[]) {      \
      __VA_ARGS__                                                                                                      \
    }                                                                                                                  \
  }
#define A_INTS(title, ...)                                                                                             \
  {                                                                                                                    \
    .name = title, .kind = ATTR_INTS, .count = LENGTH(int64_t, __VA_ARGS__), .ints = (const int64_t[]) { __VA_ARGS__ } \
  }
#define A_FLOATS(title, ...)                                                                                           \
  {                                                                                                                    \
    .name = title, .kind = ATTR_FLOATS, .count = LENGTH(float, __VA_ARGS__), .floats = (const float[]) { __VA_ARGS__ } \
  }
#define A_TENSOR(title, dtype, Type, ...)                                                                              \
  {                                                                                                                    \
    .name = title, .kind = ATTR_TENSOR, .tensor = &(const Value) {                                                     \
      .name = "", .kind = VALUE_CONSTANT, .type = dtype, .shape = {1, {LENGTH(Type, __VA_ARGS__)}}, .data = (Type[]) { \
        __VA_ARGS__                                                                                                    \
      }                                                                                                                \
    }                                                                                                                  \
  }
#define A_WORD(title, text) {.name = title, .kind = ATTR_STRING, .s = text}
#define A_INT(title, number) {.name = title, .kind = ATTR_INT, .i = number}
#define A_FLOAT(title, number) {.name = title, .kind = ATTR_FLOAT, .f = number}

/* An AttrList; in a table outside of functions it outlives the statement. */
#define LIST(...) {(const Attr[]){__VA_ARGS__}, (int)(sizeof((const Attr[]){__VA_ARGS__}) / sizeof(Attr))}
#define NO_LIST {NULL, 0}

typedef struct Data {
  DType type;
  int count, rows; /* rows 0: of one dimension */
  const void *items;
} Data;

typedef struct Room {
  Arena arena;
  Error error;
  Graph *g;
  Status status; /* the node's */
} Room;

/* Version: of ai.onnx.ml. */
void room_open(Room *r, int version);
Value *room_constant(Room *r, const Data *d);
/* Adds the node, its outputs are y, z and w; how that went is in `status` and `error`. */
void room_add(Room *r, const char *op, AttrList attrs, Value *const *in, int in_count, int out_count);
void room_expect_refused(Room *r, const char *op, const char *words);
/* Runs the graph; `out` is the name of a value that must hold `want`. */
void room_run(Room *r, const char *what, const char *out, const Data *want);

typedef struct Row {
  const char *op;
  int version; /* ai.onnx.ml's */
  AttrList attrs;
  Data x;
  const char *words; /* in its refusal; NULL: it is run */
  Data y, z;         /* z: the second output, where one is wanted */
} Row;

void check_rows(const Row *rows, size_t count);
#define CHECK_ROWS(rows) check_rows(rows, sizeof rows / sizeof *rows)
