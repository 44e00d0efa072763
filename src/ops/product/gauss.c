/* Gauss: elimination with the largest element of a column, or of all that is left, as its pivot. */
#include "ops/product/gauss.h"
#include "graph/work.h"

#include <math.h>

static size_t pivot_of(const double *a, size_t n, size_t k) {
  size_t best = k;
  for (size_t i = k + 1; i < n; i++)
    if (fabs(a[i * n + k]) > fabs(a[best * n + k])) best = i;
  return best;
}

static void swap_rows(double *a, size_t n, size_t i, size_t k) {
  for (size_t j = 0; j < n; j++) {
    double swap = a[i * n + j];
    a[i * n + j] = a[k * n + j];
    a[k * n + j] = swap;
  }
}

/* Subtracts row k, `times` times, from row i, from column `from` on. */
static void subtract_row(double *a, size_t n, size_t i, size_t k, double times, size_t from) {
  for (size_t j = from; j < n; j++) a[i * n + j] -= times * a[k * n + j];
}

double gauss_determinant(double *a, size_t n) {
  double det = 1;
  for (size_t k = 0; k < n; k++) {
    size_t p = pivot_of(a, n, k);
    if (p != k) swap_rows(a, n, p, k), det = -det;
    det *= a[k * n + k];
    if (a[k * n + k] == 0) return 0;
    for (size_t i = k + 1; i < n; i++) subtract_row(a, n, i, k, a[i * n + k] / a[k * n + k], k + 1);
  }
  return det;
}

static void swap_columns(double *a, size_t n, size_t i, size_t k) {
  for (size_t row = 0; row < n; row++) {
    double swap = a[row * n + i];
    a[row * n + i] = a[row * n + k];
    a[row * n + k] = swap;
  }
}

/* The column that has the largest element of the rows and columns from k on. */
static size_t pivot_column(const double *a, size_t n, size_t k) {
  size_t best = k;
  double most = 0;
  for (size_t i = k; i < n; i++)
    for (size_t j = k; j < n; j++) {
      double size = fabs(a[i * n + j]);
      if (size > most) most = size, best = j;
    }
  return best;
}

/* Computes a⁻¹ into `inverse`, and the determinant. The largest remaining element is the pivot, of `any` column or of
 * the next: it is 0 only if all are. Then a tiny number is used instead; returns how often. */
static int eliminate(double *a, size_t n, double *inverse, size_t *swapped, bool any, double *det) {
  const double tiny = 0x1p-400;
  int zeros = 0;
  *det = 1;
  for (size_t i = 0; i < n * n; i++) inverse[i] = i / n == i % n;
  for (size_t k = 0; k < n; k++) {
    size_t q = swapped[k] = any ? pivot_column(a, n, k) : k;
    if (q != k) swap_columns(a, n, q, k), *det = -*det;
    size_t p = pivot_of(a, n, k);
    if (p != k) swap_rows(a, n, p, k), swap_rows(inverse, n, p, k), *det = -*det;
    if (a[k * n + k] == 0) a[k * n + k] = tiny, zeros++;
    double pivot = a[k * n + k];
    *det *= pivot;
    for (size_t j = k + 1; j < n; j++) a[k * n + j] /= pivot; /* the columns before are done with */
    for (size_t j = 0; j < n; j++) inverse[k * n + j] /= pivot;
    for (size_t i = 0; i < n; i++) {
      double times = a[i * n + k];
      if (i != k) subtract_row(a, n, i, k, times, k + 1), subtract_row(inverse, n, i, k, times, 0);
    }
  }
  for (size_t k = n; k-- > 0;) /* columns swapped in a are rows of its inverse */
    if (swapped[k] != k) swap_rows(inverse, n, swapped[k], k);
  return zeros;
}

/* If one pivot was replaced, det · a⁻¹ cancels it again; if two were, the adjugate is 0. */
void gauss_adjugate(double *a, size_t n, double *inverse, size_t *swapped) {
  double det;
  int zeros = eliminate(a, n, inverse, swapped, true, &det);
  for (size_t i = 0; i < n * n; i++) inverse[i] = zeros > 1 ? 0 : inverse[i] * det;
}

void gauss_inverse(double *a, size_t n, double *inverse, size_t *swapped) {
  double det;
  if (!eliminate(a, n, inverse, swapped, false, &det)) return;
  for (size_t i = 0; i < n * n; i++) inverse[i] = NAN;
}

Status gauss_bytes(Node *node, Dim n, size_t matrices) {
  bool fits = n <= 1 << 20 && size_multiply((size_t)n, (size_t)n, &node->scratch_bytes) &&
              size_multiply(node->scratch_bytes, matrices * sizeof(double), &node->scratch_bytes);
  return fits ? STATUS_OK : node_fail(node, STATUS_OUT_OF_MEMORY, "its matrices are too large");
}

double gauss_work(const Node *n) { return 8 * work_elements(n->in[n->in_count - 1]) * work_inner_dim(n); }
