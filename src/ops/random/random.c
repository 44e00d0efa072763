/* Random: fills tensors with uniform or normal draws. */
#include "ops/random/random.h"

#include <string.h>

#include "kernels/number.h"
#include "kernels/trig.h"
#include "kernels/vector_math.h"
#include "size.h"

Status random_infer(Node *n, const Shape *shape, DType type, float a, float b) {
  RandomParams *p = NODE_PARAMS(n, RandomParams);
  if (!p) return STATUS_OUT_OF_MEMORY;
  int64_t dtype = node_int(n, "dtype", type);
  type = dtype > 0 && dtype < 100 ? (DType)dtype : DTYPE_NONE;
  if (!dtype_is_float(type))
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its dtype is %s, only floats are drawn", dtype_name(type));
  const Attr *seed = node_attr(n, "seed", ATTR_FLOAT);
  *p = (RandomParams){.seeded = seed != NULL, .a = a, .b = b};
  if (seed) memcpy(&p->seed, &seed->f, sizeof seed->f);
  return node_output(n, 0, type, shape);
}

Status random_infer_shaped(Node *n, float a, float b) {
  int rank;
  const int64_t *dims = node_ints(n, "shape", &rank);
  if (!node_attr(n, "shape", ATTR_INTS)) return node_invalid(n, "its shape must be given");
  if (rank > RANK_MAX)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "the shape has %d dimensions, we have up to %d", rank, RANK_MAX);
  for (int i = 0; i < rank; i++)
    if (dims[i] < 0) return node_invalid(n, "dim %d of the shape is negative", i);
  Shape shape = shape_of(rank, dims);
  return random_infer(n, &shape, DTYPE_FLOAT32, a, b);
}

Status random_like_gradient(Grad *g) { return STATUS_OK; }

static f32x4 uniform_of(f32x4 u) { return u; }

/* Box & Muller: √(−2·ln u)·cos 2πw and √(−2·ln u)·sin 2πw are normal and independent; (u, w) are lanes (0, 1) and (2,
 * 3). */
f32x4 random_normal_of(f32x4 u) {
  f32x4 radius = f32x4_sqrt(f32x4_log((f32x4){1 - u[0], 1 - u[0], 1 - u[2], 1 - u[2]}) * -2.0f);
  f32x4 angle = (f32x4){u[1], u[1], u[3], u[3]} * 6.28318531f;
  f32x4 cosine = f32x4_cos(angle), sine = f32x4_sin(angle);
  return radius * (f32x4){cosine[0], sine[1], cosine[2], sine[3]};
}

enum { DRAWS = 16 };

/* Numbers `at` … of the tensor. */
static inline void draw(const Node *n, const Rng *rng, size_t at, f32x4 (*of)(f32x4), float draws[DRAWS]) {
  const RandomParams *p = n->params;
  uint32_t bits[DRAWS];
  rng_four_blocks(rng, p->seeded ? 0 : (uint32_t)n->stream, (uint32_t)(at / 4), bits);
  for (size_t k = 0; k < DRAWS; k += 4) {
    i32x4 drawn = i32x4_load((const int32_t *)bits + k) >> 8 & 0xffffff; /* rng_unit's bits */
    f32x4_store(draws + k, of(i32x4_to_f32(drawn) * 0x1p-24f) * p->b + p->a);
  }
}

static inline void fill(const Node *n, f32x4 (*of)(f32x4)) {
  const RandomParams *p = n->params;
  bool direct = n->out[0]->type == DTYPE_FLOAT32;
  Rng rng = *n->graph->rng;
  if (p->seeded) rng.seed = p->seed;
  float draws[DRAWS];
  Numbers block;
  for (size_t at = 0, total = out_count(n, 0); at < total; at += DRAWS) {
    size_t count = size_min(DRAWS, total - at);
    bool whole = direct && count == DRAWS;
    draw(n, &rng, at, of, whole ? out_f32(n, 0) + at : draws);
    if (whole) continue;
    for (size_t k = 0; k < count; k++) block.floats[k] = draws[k];
    numbers_store_floats(&block, n->out[0]->data, n->out[0]->type, at, count);
  }
}
void random_uniform(const Node *n) { fill(n, uniform_of); }
void random_normal(const Node *n) { fill(n, random_normal_of); }
