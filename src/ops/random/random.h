/* Random: float tensors of independent draws; element i takes number i of the node's stream, so any order of computing
 * draws the same.
 *
 * With the attribute `seed` the numbers are of that seed, whatever the session's; every run draws anew either way. */
#pragma once
#include "graph/op.h"
#include "simd.h"

/* a + b·u: (low, high − low) of a uniform u in [0, 1), (mean, scale) of a standard normal one. */
typedef struct RandomParams {
  bool seeded;
  uint64_t seed;
  float a, b;
} RandomParams;

/* Sets params and an output of that shape, of the type that the attribute dtype gives, or else of `type`. */
Status random_infer(Node *n, const Shape *shape, DType type, float a, float b);
/* The same with the shape in the attribute `shape`. */
Status random_infer_shaped(Node *n, float a, float b);
/* The gradient of operators that use only the shape of their input: nothing flows to it. */
Status random_like_gradient(Grad *g);
void random_uniform(const Node *n);
void random_normal(const Node *n);
f32x4 random_normal_of(f32x4 u); /* four standard normal draws of four uniform ones */
