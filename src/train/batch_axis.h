/* Batch axis: which dim of a value is that of the examples, where the batch is the one symbol in all shapes, and which
 * operators keep examples apart. */
#pragma once
#include "graph/graph.h"

enum { NO_AXIS = -1, SEVERAL = -2 };

int batch_axis(const Value *v);      /* NO_AXIS: it is of no example; SEVERAL: there is more than one symbol */
Value *batch_carrier(const Node *n); /* the first input that has the batch; NULL */

/* True if n, given examples in v, handles each separately. Gather and GatherND by constants count only if these do. */
bool batch_keeps_apart(const Node *n, const Value *v);

bool batch_among(const Node *n, const char *names); /* true if it is one of these operators, each between two spaces */
bool batch_is_elementwise(const Node *n);           /* and broadcasts its operands */
bool batch_is_recurrent(const Node *n);
int batch_axis_of_layer(const Node *n);      /* axis of the batch in a recurrent layer */
int batch_own_axis(const Node *n, int rank); /* the attribute axis, from 0 on */
