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
  if (dim_is_number(size)) n->scratch_bytes = (size_t)size * 3 * sizeof(int64_t);
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

static inline i32x4 keys_of(f32x4 v) {
  i32x4 bits = (i32x4)v ^ ((i32x4)v >> 31 & INT32_MAX), none = v != v;
  return (bits & ~none) | (i32x4_splat(INT32_MAX) & none);
}

static void load_float_keys(const float *x, int32_t *key, size_t step, size_t count, int32_t turn) {
  for (size_t i = 0; i < count; i += 4) {
    f32x4 v;
    if (step == 1) v = f32x4_load_up_to(x + i, count - i) + 0.0f;
    else
      for (size_t k = 0; k < 4; k++) v[k] = x[(i + (k < count - i ? k : 0)) * step] + 0.0f;
    f32x4_store((float *)key + i, (f32x4)(keys_of(v) ^ turn)); /* there is room for as many of 64 bits */
  }
}

/* Loads four neighbouring lines. Each line's keys begin `count` behind those of the line before. */
static void load_four_lines(const float *x, int32_t *key, size_t step, size_t count, int32_t turn) {
  for (size_t i = 0; i < count; i += 4) {
    i32x4 rows[4];
    for (size_t k = 0; k < 4; k++) {
      f32x4 v = f32x4_load(x + (i + k < count ? i + k : i) * step) + 0.0f;
      rows[k] = keys_of(v) ^ turn;
    }
    i32x4 ab = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5),
          cd = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
    i32x4 ef = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7),
          gh = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
    f32x4 lines[4] = {
        (f32x4)__builtin_shufflevector(ab, cd, 0, 1, 4, 5), (f32x4)__builtin_shufflevector(ab, cd, 2, 3, 6, 7),
        (f32x4)__builtin_shufflevector(ef, gh, 0, 1, 4, 5), (f32x4)__builtin_shufflevector(ef, gh, 2, 3, 6, 7)};
    for (size_t c = 0; c < 4; c++) f32x4_store_up_to((float *)key + c * count + i, lines[c], count - i);
  }
}

static bool before(const void *keys, size_t a, size_t b) {
  const int64_t *key = keys;
  return key[a] > key[b] || (key[a] == key[b] && a < b);
}

/* For float32 the k best are kept in a heap with the worst on top. An entry is a key above the place, counted
 * backwards. */

static int64_t entry_of(const int32_t *key, size_t i) { return (int64_t)key[i] * (1LL << 32) + (uint32_t)~i; }

static void sink(int64_t *heap, size_t at, size_t count) {
  int64_t entry = heap[at];
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && heap[child + 1] < heap[child]) child++;
    if (heap[child] >= entry) break;
    heap[at] = heap[child];
  }
  heap[at] = entry;
}

/* The next key from i on that is better than the worst; nearly none is. */
static size_t next_better(const int32_t *key, size_t i, size_t count, int32_t worst) {
  while (i + 4 <= count && !i32x4_any((i32x4)f32x4_load((const float *)key + i) > worst)) i += 4;
  while (i < count && key[i] <= worst) i++;
  return i;
}

static void order_floats(int64_t *heap, size_t k, const int32_t *key, size_t count) {
  for (size_t i = 0; i < k; i++) heap[i] = entry_of(key, i);
  for (size_t i = k / 2; i-- > 0;) sink(heap, i, k);
  for (size_t i = k; (i = next_better(key, i, count, (int32_t)(heap[0] >> 32))) < count; i++) {
    heap[0] = entry_of(key, i);
    sink(heap, 0, k);
  }
  for (size_t rest = k; rest-- > 1;) { /* the worst to the end */
    int64_t worst = heap[0];
    heap[0] = heap[rest];
    heap[rest] = worst;
    sink(heap, 0, rest);
  }
}

static void top_k_run(const Node *n) {
  const TopK *p = n->params;
  const Shape *x = &n->in[0]->shape, *y = &n->out[has_out(n, 0) ? 0 : 1]->shape;
  size_t inner = shape_span(x, p->axis + 1, x->rank), count = (size_t)x->dim[p->axis], k = (size_t)y->dim[p->axis],
         item = dtype_bytes(n->in[0]->type);
  size_t lines = shape_span(x, 0, p->axis) * inner;
  int64_t *key = n->scratch, *heap = key + 2 * count; /* the keys of four lines of floats, or of one of 64 bits */
  size_t *order = (size_t *)heap;
  for (size_t i = 0; i < lines && k; i++) {
    size_t from = i / inner * count * inner + i % inner, to = i / inner * k * inner + i % inner;
    if (n->in[0]->type == DTYPE_FLOAT32) {
      int32_t *keys = (int32_t *)key, turn = p->largest ? 0 : -1;
      if (inner % 4) load_float_keys(in_f32(n, 0) + from, keys, inner, count, turn);
      else if (i % 4 == 0) load_four_lines(in_f32(n, 0) + from, keys, inner, count, turn);
      order_floats(heap, k, inner % 4 ? keys : keys + i % 4 * count, count);
    } else {
      load_keys(n, key, from, inner, count, p->largest ? 0 : -1);
      select_best(order, k, count, before, key);
    }
    for (size_t j = 0; j < k; j++) {
      size_t place = n->in[0]->type == DTYPE_FLOAT32 ? (uint32_t)~heap[j] : order[j];
      const char *best = (const char *)n->in[0]->data + (from + place * inner) * item;
      if (has_out(n, 0)) copy_element((char *)n->out[0]->data + (to + j * inner) * item, best, item);
      if (has_out(n, 1)) ((int64_t *)n->out[1]->data)[to + j * inner] = (int64_t)place;
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
                   {"f32[2,7,4] i64[1]=3", "axis=1", 0, 2}, {"v:f32[5]=1,3,3,0,3 i64[1]=2", NULL, 0, 2, "ties"},
                   {"v:i64[5]=1,3,-3,0,9 i64[1]=5", "largest=0", 0, 2}, {"v:u64[3]=1,9e18,3 i64[1]=1", NULL, 0, 2}),
};
