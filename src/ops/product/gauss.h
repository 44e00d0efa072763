/* Gauss: elimination in a square matrix, in double: determinant, adjugate, inverse, and what nodes that do it ask for.
 */
#pragma once
#include "graph/op.h"

/* The determinant of a (n, n), which is overwritten. */
double gauss_determinant(double *a, size_t n);
/* The same, and its gradient det · a⁻ᵀ, transposed, into `adjugate` (n, n): exact where a has rank n - 1, too.
 * `swapped` holds n. */
void gauss_adjugate(double *a, size_t n, double *adjugate, size_t *swapped);
/* a⁻¹ (n, n), all NaN where a has none; a is overwritten, `swapped` holds n. */
void gauss_inverse(double *a, size_t n, double *inverse, size_t *swapped);
/* Asks for scratch of so many matrices. */
Status gauss_bytes(Node *node, Dim n, size_t matrices);

double gauss_work(const Node *n); /* work of operators whose last input is the matrices */
