/* Accumulator: where a gradient meets the session's state, which the planner, the session and its state must know. */
#pragma once
#include "graph/op.h"

extern const Op op_in_place_accumulator_v2;

static inline bool op_is_accumulator(const Node *n) { return n->op == &op_in_place_accumulator_v2; }
