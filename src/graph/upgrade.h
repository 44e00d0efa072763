/* Upgrade: turns what files of opsets before 13 say into what opset 13 says, so that only the reader knows two forms of
 * an operator. */
#pragma once
#include "graph/op.h"

enum {
  OPSET_MIN = 13, /* every graph has at least this one */
  OPSET_MAX = 28, /* the newest that we know; what a newer one may have changed is read as it was then */
};

/* `a` as a file of g->file_opset, which is before OPSET_MIN, has it; what it points to from then on is the graph's. */
Status upgrade(Graph *g, Added *a);

/* ---- for Op.upgrade ---- */

/* A node of an older opset: `in` and `attrs` are its own to change, with room for 4 inputs and 2 attributes more. */
struct Upgrade {
  Graph *graph;
  Added *node;
  Value **in;
  Attr *attrs;
};

const Attr *upgrade_attr(const Upgrade *u, const char *name); /* NULL when absent */
void upgrade_add(Upgrade *u, Attr attr);
/* Turns an attribute into input `input`, which it is from opset `since` on. */
void upgrade_move(Upgrade *u, const char *attr, int input, int since);
/* Pads the second operand, which began at dim `axis` of the first, with dims of 1, so that both end with the same
 * dim. */
void upgrade_align(Upgrade *u, int64_t axis);
