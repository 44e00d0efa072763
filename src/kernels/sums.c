/* Sums over some dims. Neighbouring dims of the same kind are merged, so that there are four patterns:
 *
 *   (K, R)      a row a result           (R, K)        all columns at once: bias gradients
 *   (R, K, R)   rows of one channel      (…, R, K)     columns, added up over what is left of R
 */
#include "kernels/sums.h"

#include <string.h>

#include "kernels/vector_math.h"
#include "part.h"
#include "threads.h"
#include "variant.h"

/* ---- rows and columns ---- */

double reduce_sum_row(const float *x, size_t n) {
  enum { BLOCK = 512 };
  double sum = 0;
  for (size_t at = 0; at < n; at += BLOCK) {
    size_t end = n - at < BLOCK ? n : at + BLOCK, i = at;
    f32x4 lanes[4] = {{0}};
    for (; i + 16 <= end; i += 16)
      for (int k = 0; k < 4; k++) lanes[k] += f32x4_load(x + i + 4 * k);
    for (; i + 4 <= end; i += 4) lanes[0] += f32x4_load(x + i);
    float rest = f32x4_sum((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
    for (; i < end; i++) rest += x[i];
    sum += rest;
  }
  return sum;
}

enum { GRAIN = 32 * 1024 }; /* the fewest elements that are worth waking a thread */
enum {
  STRIP = 64,
  ROWS = 128
}; /* columns that a thread takes; rows added up before they join the total, to keep it
    * accurate */
enum { PANEL = 1024 }; /* columns whose sums stay in the nearest cache */

/* sum[c] += x[c] + x[step + c] + … over `rows` ≤ 4 rows, one after the other */
static void add_rows(const float *x, size_t rows, size_t step, size_t columns, float *sum) {
  size_t c = 0;
  for (; rows == 4 && c + 4 <= columns; c += 4) {
    f32x4 s = f32x4_load(sum + c) + f32x4_load(x + c);
    s = s + f32x4_load(x + step + c) + f32x4_load(x + 2 * step + c) + f32x4_load(x + 3 * step + c);
    f32x4_store(sum + c, s);
  }
  for (; rows == 1 && c + 4 <= columns; c += 4) f32x4_store(sum + c, f32x4_load(sum + c) + f32x4_load(x + c));
  for (size_t r = 0; r < rows; r++)
    for (size_t i = c; i < columns; i++) sum[i] += x[r * step + i];
}

/* y[c] += Σ over rows of x[row·step + c] for up to PANEL columns. */
static void sum_panel(const float *x, size_t rows, size_t step, size_t columns, float *y) {
  float sum[PANEL];
  for (size_t row = 0; row < rows; row += ROWS) {
    size_t end = rows - row < ROWS ? rows : row + ROWS;
    memset(sum, 0, columns * sizeof *sum);
    for (size_t r = row; r < end; r += 4) add_rows(x + r * step, end - r < 4 ? end - r : 4, step, columns, sum);
    for (size_t c = 0; c < columns; c++) y[c] += sum[c];
  }
}

typedef struct Columns {
  const float *x;
  size_t rows, columns;
  float *y;
} Columns;

/* Strips from … to of STRIP columns. */
static void sum_strips(void *context, size_t from, size_t to) {
  const Columns *s = context;
  size_t end = to * STRIP < s->columns ? to * STRIP : s->columns;
  for (size_t c = from * STRIP; c < end; c += PANEL)
    sum_panel(s->x + c, s->rows, s->columns, end - c < PANEL ? end - c : PANEL, s->y + c);
}

static void sum_columns(const float *x, size_t rows, size_t columns, float *y) {
  Columns s = {x, rows, columns, y};
  size_t strips = (columns + STRIP - 1) / STRIP, threads = (size_t)threads_count();
  size_t least = GRAIN / (rows * STRIP + 1) + 1, share = (strips + threads - 1) / threads;
  /* Ranges are as wide as possible, because memory is read page after page. A column's sum does not depend on its
   * neighbours. */
  threads_split(strips, share > least ? share : least, sum_strips, &s);
}

/* ---- merged dims ---- */

/* Some of the merged dims, to be iterated over; dim 0 is the innermost. */
typedef struct Loop {
  int rank;
  size_t dim[RANK_MAX], stride[RANK_MAX], index[RANK_MAX];
} Loop;

/* Moves x on; false after the last place, when x is back at the first. */
static bool loop_next(Loop *l, const float **x) {
  for (int d = 0; d < l->rank; d++) {
    *x += l->stride[d];
    if (++l->index[d] < l->dim[d]) return true;
    *x -= l->stride[d] * l->dim[d];
    l->index[d] = 0;
  }
  return false;
}

static void loop_push(Loop *l, size_t dim, size_t stride) {
  l->dim[l->rank] = dim;
  l->stride[l->rank++] = stride;
}

typedef struct Merged {
  int rank;
  size_t dim[RANK_MAX + 1]; /* dim 0 is the innermost; kinds alternate */
  bool reduced[RANK_MAX + 1];
} Merged;

static Merged merge(const Shape *s, unsigned axes) {
  Merged m = {0};
  for (int i = s->rank - 1; i >= 0; i--) {
    bool reduced = axes >> i & 1;
    if (s->dim[i] == 1) continue;
    if (m.rank && m.reduced[m.rank - 1] == reduced) m.dim[m.rank - 1] *= (size_t)s->dim[i];
    else {
      m.dim[m.rank] = (size_t)s->dim[i];
      m.reduced[m.rank++] = reduced;
    }
  }
  return m;
}

/* The dims from `from` on, separated by kind. */
static void split_loops(const Merged *m, int from, Loop *kept, Loop *reduced) {
  size_t stride = 1;
  for (int i = 0; i < m->rank; i++) {
    if (i >= from) loop_push(m->reduced[i] ? reduced : kept, m->dim[i], stride);
    stride *= m->dim[i];
  }
}

static void sum_of_rows(const Merged *m, const float *x, float *y) {
  variant_see(VARIANT_row_sums);
  Loop kept = {0}, reduced = {0};
  split_loops(m, 1, &kept, &reduced);
  do {
    double sum = 0;
    do sum += reduce_sum_row(x, m->dim[0]);
    while (loop_next(&reduced, &x));
    *y++ = (float)sum;
  } while (loop_next(&kept, &x));
}

static void sum_of_columns(const Merged *m, const float *x, float *y) {
  Loop kept = {0}, reduced = {0};
  size_t columns = m->dim[0], rows = m->rank > 1 ? m->dim[1] : 1;
  split_loops(m, 2, &kept, &reduced);
  do {
    do sum_columns(x, rows, columns, y);
    while (loop_next(&reduced, &x));
    y += columns;
  } while (loop_next(&kept, &x));
}

OPTIONAL(row_sums, sum_of_rows);

/* Rows as columns of one. */
static Merged turned(const Merged *m) {
  Merged t = {.rank = m->rank + 1, .dim = {1}};
  for (int i = 0; i < m->rank; i++) t.dim[i + 1] = m->dim[i], t.reduced[i + 1] = m->reduced[i];
  return t;
}

void reduce_sum(const Shape *shape, unsigned axes, const float *x, float *y) {
  size_t results = 1;
  for (int i = 0; i < shape->rank; i++)
    if (!(axes >> i & 1)) results *= (size_t)shape->dim[i];
  memset(y, 0, results * sizeof *y);
  if (shape_elements(shape) == 0) return;
  Merged m = merge(shape, axes);
  if (m.rank == 0) *y = *x;
  else if (!m.reduced[0]) sum_of_columns(&m, x, y);
  else if (part_row_sums) part_row_sums(&m, x, y);
  else m = turned(&m), sum_of_columns(&m, x, y);
}
