/* Work: about how many multiply-adds a node takes, known from its shapes, so that nothing of hours is begun. */
#pragma once
#include "ops/op.h"

#define WORK_DEFAULT 1e13 /* of a run: a dozen steps of a language model of 135 million parameters on 2,048 tokens */
enum { WORK_AHEAD_MAX = 1 << 28 }; /* of all that is computed while a graph is built or planned, together */

/* Of a node whose shapes are all numbers: rather too much than too little. */
double work_of(const Node *n);
/* Whether n may be computed ahead of a run; counts it if so. */
bool work_may_go_ahead(Node *n);
/* Counts what a composite is about to compute, or refuses it. */
Status work_compose(const Node *n, double work);
