/* Upgrade: what files of opsets before 13 say becomes what opset 13 says, so that nothing after the reader knows two
 * forms of an operator. */
#pragma once
#include "graph/op.h"

enum { OPSET_MIN = 13 }; /* of every graph */

/* `a` as a file of g->file_opset has it; what it points to from then on is the graph's. */
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
/* An attribute that is input `input` from opset `since` on. */
void upgrade_move(Upgrade *u, const char *attr, int input, int since);
/* A second operand that began at dim `axis` of the first is padded by dims of 1, so that it ends with it. */
void upgrade_align(Upgrade *u, int64_t axis);
