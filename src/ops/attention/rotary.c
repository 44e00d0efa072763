/* Rotary:  a' = a · cos - b · sin,  b' = a · sin + b · cos  for each pair (a, b). */
#include "ops/attention/rotary.h"

static Value *joined(Compose *c, Value *a, Value *b, int axis) {
  return emit_with(c->graph, "Concat", ATTRS(attr_of_int("axis", axis)), a, b);
}

/* All of x, with its pairs along an axis of their own if they are interleaved: (…, width/2, 2). */
static Value *turned(Compose *c, Value *x, Value *cos, Value *sin, const Rotary *r) {
  Graph *g = c->graph;
  Value *p[2];
  int axis = r->interleaved ? 4 : 3;
  int64_t part = r->interleaved ? 1 : r->width / 2;
  if (r->interleaved) x = emit(g, "Reshape", x, emit_ints(g, (int64_t[]){0, 0, 0, r->width / 2, 2}, 5));
  if (!compose_split(c, x, axis, (int64_t[]){part, part}, 2, p)) return NULL;
  Value *a = emit(g, "Sub", emit(g, "Mul", p[0], cos), emit(g, "Mul", p[1], sin));
  Value *b = emit(g, "Add", emit(g, "Mul", p[0], sin), emit(g, "Mul", p[1], cos)), *y = joined(c, a, b, axis);
  return r->interleaved ? emit(g, "Reshape", y, emit_ints(g, (int64_t[]){0, 0, 0, r->width}, 4)) : y;
}

Value *rotary_compose(Compose *c, Value *x, int tokens, Value *cos, Value *sin, Rotary r) {
  Graph *g = c->graph;
  if (!x || !cos || !sin) return NULL;
  Dim d = x->shape.dim[3];
  if (!r.width) r.width = d;
  if (!dim_is_number(d) || r.width < 2 || r.width % 2 || r.width > d)
    return node_invalid(c->node, "%lld of the %lld numbers of a head are to be turned", (long long)r.width,
                        (long long)d),
           NULL;
  int64_t half = r.width / 2;
  Value *angles = emit_ints(g, tokens == 1 ? (int64_t[]){0, -1, 1, half, 1} : (int64_t[]){0, 1, -1, half, 1},
                            r.interleaved ? 5 : 4);
  cos = emit(g, "Reshape", cos, angles);
  sin = emit(g, "Reshape", sin, angles);
  Value *p[2];
  if (r.width == d) return turned(c, x, cos, sin, &r);
  return compose_split(c, x, 3, (int64_t[]){r.width, d - r.width}, 2, p)
           ? joined(c, turned(c, p[0], cos, sin, &r), p[1], 3)
           : NULL;
}
