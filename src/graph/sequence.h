/* Sequence: a list of values that exists only while graphs are built; operators on sequences become nodes on their
 * items. An optional is its element, or a sequence that is marked `absent`. */
#pragma once
#include "graph/op.h"

enum { SEQUENCE_MAX = 4096 };

static inline bool value_is_sequence(const Value *v) { return v && v->kind == VALUE_SEQUENCE; }
static inline bool value_is_absent(const Value *v) { return !v || (v->kind == VALUE_SEQUENCE && v->absent); }

/* A sequence with copies of the pointers; NULL with a sentence that names the node. */
Value *sequence_new(const Node *n, DType type, Value *const *items, int count);
/* Refuses an input that is a tensor or is absent. */
Status sequence_want(const Node *n, int input);
/* A position from a scalar input, negative ones counted from the end, in 0 … last; `last` where the input is absent. */
Status sequence_position(const Node *n, int input, int end, int last, int *out);
