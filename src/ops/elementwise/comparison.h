/* Comparison: operators of two inputs of one type that give a bool, with NumPy broadcasting. */
#pragma once
#include "ops/elementwise/broadcast.h"

/* The rows of y = a ∘ b; NULL: of no such type. */
typedef struct Comparison {
  BroadcastRow *floats, *doubles, *uint64, *int64, *int32, *bools, *strings;
} Comparison;

/* By the operator's own Comparison. */
Status comparison_infer(Node *n);
void comparison_run(const Node *n);

/* Defines the rows of numbers, EXPR of a and b, for a Comparison to name. */
#define COMPARISON_ROWS(EXPR)                                                                                          \
  BROADCAST_ROW_OF(floats_row, float, uint8_t, EXPR)                                                                   \
  BROADCAST_ROW_OF(doubles_row, double, uint8_t, EXPR)                                                                 \
  BROADCAST_ROW_OF(uint64_row, uint64_t, uint8_t, EXPR)                                                                \
  BROADCAST_ROW_OF(int64_row, int64_t, uint8_t, EXPR)                                                                  \
  BROADCAST_ROW_OF(int32_row, int32_t, uint8_t, EXPR)
#define COMPARISON_OF_NUMBERS floats_row, doubles_row, uint64_row, int64_row, int32_row
