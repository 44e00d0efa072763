/* TopK: the k largest (or smallest) of x along an axis, best first, and where they stood; of equal ones the first.  dx
 * = dy where they stood. */
#include <string.h>

#include "kernels/copy.h"
#include "graph/dims.h"
#include "kernels/number.h"
#include "graph/second_output.h"
#include "kernels/select.h"
#include "kernels/vector_math.h"
#include "graph/work.h"
#include "graph/upgrade.h"

typedef struct TopK {
  int axis;
  bool largest;
} TopK;

static Status known_k(Node *n, Dim *k) {
  const Dim *dims;
  int count;
  TRY(dims_known(n, 1, &dims, &count));
  if (count != 1) return node_invalid(n, "input 1, k, must be one number");
  *k = dims ? *dims : graph_fresh_dim(n->graph);
  return STATUS_OK;
}

static Status top_k_infer(Node *n) {
  const Shape *x = &n->in[0]->shape;
  Dim k;
  TopK *p = NODE_PARAMS(n, TopK);
  if (!p) return STATUS_OUT_OF_MEMORY;
  if (!dtype_is_number(n->in[0]->type)) TRY(node_want_float(n, 0));
  TRY(node_axis(n, node_int(n, "axis", -1), x->rank, &p->axis));
  TRY(known_k(n, &k));
  p->largest = node_int(n, "largest", 1) != 0;
  Dim size = x->dim[p->axis];
  if (dim_is_number(size) && !dim_is_symbol(k) && (k < 0 || k > size))
    return node_invalid(n, "k is %lld, axis %d has %lld elements", (long long)k, p->axis, (long long)size);
  if (dim_is_number(size)) n->scratch_bytes = (size_t)size * (sizeof(size_t) + sizeof(int64_t));
  Shape y = *x;
  y.dim[p->axis] = k;
  TRY(node_output(n, 0, n->in[0]->type, &y));
  return node_output(n, 1, DTYPE_INT64, &y);
}

/* Lines are compared by keys: whole numbers that are the larger the earlier an element comes, of 32 bits for float32,
 * of 64 for the rest. The bits of floats are in the order of their numbers once those of negative ones are turned
 * around; 0 is one number, and NaN is larger than all. */
static int64_t key_of_float(double x) {
  int64_t bits;
  x += 0.0;
  memcpy(&bits, &x, sizeof bits);
  return x != x ? INT64_MAX : bits ^ (bits >> 63 & INT64_MAX);
}

static void load_keys(const Node *n, int64_t *key, size_t at, size_t step, size_t count, int64_t turn) {
  DType type = n->in[0]->type;
  for (size_t i = 0; i < count; i++) {
    Numbers one;
    numbers_load(&one, n->in[0]->data, type, at + i * step, 1, 1);
    key[i] = turn ^ (dtype_is_float(type)   ? key_of_float(one.floats[0])
                     : type == DTYPE_UINT64 ? one.ints[0] ^ INT64_MIN
                                            : one.ints[0]);
  }
}

static void load_float_keys(const float *x, int32_t *key, size_t step, size_t count, int32_t turn) {
  for (size_t i = 0; i < count; i += 4) {
    f32x4 v;
    if (step == 1) v = f32x4_load_up_to(x + i, count - i) + 0.0f;
    else
      for (size_t k = 0; k < 4; k++) v[k] = x[(i + (k < count - i ? k : 0)) * step] + 0.0f;
    i32x4 bits = (i32x4)v ^ ((i32x4)v >> 31 & INT32_MAX), none = v != v;
    bits = (bits & ~none) | (i32x4_splat(INT32_MAX) & none);
    f32x4_store_up_to((float *)key + i, (f32x4)(bits ^ turn), count - i);
  }
}

/* order[0 … k-1] of one line. Nearly all of a line only fail to be better than the worst of the best so far. */
#define ORDER_LINE(name, Key)                                                                                          \
  static bool name##_before(const void *keys, size_t a, size_t b) {                                                    \
    const Key *key = keys;                                                                                             \
    return key[a] > key[b] || (key[a] == key[b] && a < b);                                                             \
  }                                                                                                                    \
  static void name(size_t *order, size_t k, const Key *key, size_t count) {                                            \
    select_begin(order, k, name##_before, key);                                                                        \
    Key worst = key[order[0]];                                                                                         \
    for (size_t i = k; i < count; i++) {                                                                               \
      if (key[i] <= worst) continue;                                                                                   \
      select_instead(order, k, i, name##_before, key);                                                                 \
      worst = key[order[0]];                                                                                           \
    }                                                                                                                  \
    select_end(order, k, name##_before, key);                                                                          \
  }
ORDER_LINE(order_floats, int32_t)
ORDER_LINE(order_numbers, int64_t)

static void top_k_run(const Node *n) {
  const TopK *p = n->params;
  const Shape *x = &n->in[0]->shape, *y = &n->out[has_out(n, 0) ? 0 : 1]->shape;
  size_t inner = shape_span(x, p->axis + 1, x->rank), count = (size_t)x->dim[p->axis], k = (size_t)y->dim[p->axis],
         item = dtype_bytes(n->in[0]->type);
  size_t lines = shape_span(x, 0, p->axis) * inner;
  int64_t *key = n->scratch;
  size_t *order = (size_t *)(key + count);
  for (size_t i = 0; i < lines && k; i++) {
    size_t from = i / inner * count * inner + i % inner, to = i / inner * k * inner + i % inner;
    if (n->in[0]->type == DTYPE_FLOAT32) {
      load_float_keys(in_f32(n, 0) + from, (int32_t *)key, inner, count, p->largest ? 0 : -1);
      order_floats(order, k, (const int32_t *)key, count);
    } else {
      load_keys(n, key, from, inner, count, p->largest ? 0 : -1);
      order_numbers(order, k, key, count);
    }
    for (size_t j = 0; j < k; j++) {
      const char *best = (const char *)n->in[0]->data + (from + order[j] * inner) * item;
      if (has_out(n, 0)) copy_element((char *)n->out[0]->data + (to + j * inner) * item, best, item);
      if (has_out(n, 1)) ((int64_t *)n->out[1]->data)[to + j * inner] = (int64_t)order[j];
    }
  }
}

static Status top_k_grad(Grad *g) {
  const TopK *p = g->node->params;
  TRY(second_output_want(g->node, "indices"));
  g->dx[0] = emit_with(g->graph, "GatherElementsGrad", ATTRS(attr_of_int("axis", p->axis)), g->dy[0],
                       emit_shape(g->graph, g->node->in[0]), g->node->out[1]);
  return STATUS_OK;
}

static double top_k_work(const Node *n) { return work_elements(n->in[0]) * 64; }

static Status top_k_upgrade(Upgrade *u) { return upgrade_move(u, "k", 1, 10), STATUS_OK; }

OPERATOR(top_k) = {
    .name = "TopK",
    .since = {1, 10, 11},
    .inputs = {1, 2},
    .outputs = {2, 2},
    .flags = OP_ANY_TYPE,
    .infer = top_k_infer,
    .run = top_k_run,
    .grad = GRADIENT(top_k_grad),
    .work = top_k_work,
    .upgrade = top_k_upgrade,
    .cases = CASES({"f32[3,5] i64[1]=2", NULL, 0, 2}, {"f32[2,6,3] i64[1]=4", "axis=1 largest=0", 0, 2},
                   {"v:f32[5]=1,3,3,0,3 i64[1]=2", NULL, 0, 2, "ties"},
                   {"v:i64[5]=1,3,-3,0,9 i64[1]=5", "largest=0", 0, 2}, {"v:u64[3]=1,9e18,3 i64[1]=1", NULL, 0, 2}),
};
