/* Dims: quotients of dims that may be symbols, and contents that will be known once numbers stand for the symbols. */
#pragma once
#include "graph/op.h"

/* Π a / Π b with equal symbols cancelled: a number or a symbol, which is a new one if the quotient is no single symbol.
 * False when the numbers do not divide or overflow. */
bool dims_divide(Graph *g, const Dim *a, int a_count, const Dim *b, int b_count, Dim *out);

/* For contents (a shape, starts, …) that an infer needs: like node_known, but in a graph that no session has bound
 * yet, contents that depend on what is fed may be missing: then the result is STATUS_OK and *dims is NULL. */
Status dims_known(const Node *n, int input, const Dim **dims, int *count);

/* True if both may be the same number: a symbol may turn out to be any number. */
static inline bool dims_meet(Dim a, Dim b) { return a == b || !dim_is_number(a) || !dim_is_number(b); }

/* The same for every dim of two shapes. */
bool dims_alike(const Shape *a, const Shape *b);

/* d · times: a number, or a symbol, which is a new one unless `times` is 1. */
Dim dims_times(Graph *g, Dim d, int64_t times);

/* The set of axes as bits, negative ones counted from the end, each at most once. */
Status dims_axes(const Node *n, const int64_t *axes, int count, int rank, unsigned *mask);
