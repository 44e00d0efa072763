/* Work: about how many multiply-adds a node takes, known from its shapes, so that nothing is begun that would take
 * hours. */
#pragma once
#include "graph/op.h"

#define WORK_DEFAULT                                                                                                   \
  1e13 /* limit of a run: a dozen steps of a language model of 135 million parameters on 2,048 tokens */
enum { WORK_AHEAD_MAX = 1 << 28 }; /* limit of everything computed while a graph is built or planned, together */
enum { WORK_ELEMENT = 8, WORK_PLACE = 16 }; /* an element moved or computed with, a place between pixels found */

/* The work of a node whose shapes are all numbers: rather too much than too little. */
double work_of(const Node *n);
/* True if n may be computed ahead of a run; counts it if so. */
bool work_may_go_ahead(Node *n);
/* Counts what an expanded operator is about to compute, or refuses it. */
Status work_expand(const Node *n, double work);
double work_most(const Graph *g); /* that expanded operators may take */

/* ---- for Op.work ---- */
double work_elements(const Value *v); /* 0 where v is NULL */
double work_moved(const Node *n);     /* bytes read and written */
double
work_inner_dim(const Node *n);      /* the dim that a product sums over: the last of A, or with transA the one before */
double work_product(const Node *n); /* each element of output 0 is a sum over it */
