/* CDist: the distance of each row of a from each row of b, euclidean or its square: the neighbours of scikit-learn. */
#include <math.h>

#include "graph/work.h"
#include "kernels/rows.h"
#include "threads.h"

typedef struct CDist {
  int root;
  size_t rows, columns, features;
} CDist;

static Status c_dist_infer(Node *n) {
  CDist *p = NODE_PARAMS(n, CDist);
  static const char *const metrics[] = {"sqeuclidean", "euclidean"};
  if (!p) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < 2; i++) {
    TRY(node_want_float(n, i));
    TRY(node_want_rank(n, i, 2, 2));
  }
  TRY(node_choice(n, "metric", "sqeuclidean", metrics, 2, &p->root));
  const Shape *a = &n->in[0]->shape, *b = &n->in[1]->shape;
  if (dim_is_number(a->dim[1]) && dim_is_number(b->dim[1]) && a->dim[1] != b->dim[1])
    return node_invalid(n, "A has %lld features, B has %lld", (long long)a->dim[1], (long long)b->dim[1]);
  if (node_is_concrete(n)) p->rows = (size_t)a->dim[0], p->columns = (size_t)b->dim[0], p->features = (size_t)a->dim[1];
  Shape y = SHAPE(a->dim[0], b->dim[0]);
  return node_output(n, 0, DTYPE_FLOAT32, &y);
}

static void run_rows(void *context, size_t from, size_t to) {
  const Node *n = context;
  const CDist *p = n->params;
  for (size_t r = from; r < to; r++) {
    const float *a = in_f32(n, 0) + r * p->features, *b = in_f32(n, 1);
    float *d = out_f32(n, 0) + r * p->columns;
    size_t c = 0;
    for (; c + 4 <= p->columns; c += 4) row_distances(a, b + c * p->features, p->features, d + c);
    for (; c < p->columns; c++) d[c] = row_distance(a, b + c * p->features, p->features);
    for (c = 0; c < p->columns && p->root; c++) d[c] = sqrtf(d[c]);
  }
}

static void c_dist_run(const Node *n) {
  const CDist *p = n->params;
  threads_split(p->rows, threads_grain(p->columns * p->features), run_rows, (void *)(uintptr_t)n);
}

static double c_dist_work(const Node *n) { return work_elements(n->out[0]) * (double)n->in[0]->shape.dim[1]; }

OPERATOR(c_dist) = {
    .name = "CDist",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .infer = c_dist_infer,
    .run = c_dist_run,
    .work = c_dist_work,
    .cases = CASES({"f32[3,5] f32[4,5]"}, {"f32[2,9] f32[9,9]"}, {"f32[2,3] f32[1,3]", "metric=euclidean"}),
};
