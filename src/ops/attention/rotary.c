/* Rotary:  a' = a · cos - b · sin,  b' = a · sin + b · cos  for each pair (a, b). */
#include "ops/attention/rotary.h"

static Value *joined(Expansion *c, Value *a, Value *b, int axis) {
  return emit_with(c->graph, "Concat", ATTRS(attr_of_int("axis", axis)), a, b);
}

/* All of x, with its pairs along an axis of their own if they are interleaved: (…, width/2, 2). */
static Value *turned(Expansion *c, Value *x, Value *cos, Value *sin, bool interleaved) {
  Graph *g = c->graph;
  Value *p[2];
  int axis = interleaved ? 4 : 3;
  Size zero = SIZE_NUMBER(0), width = SIZE_DIM(x, 3), half = {x, 3, 1, 1, 2}, one = SIZE_NUMBER(1),
       part = interleaved ? one : half;
  if (interleaved) x = expand_reshape(c, x, (Size[]){zero, zero, zero, half, SIZE_NUMBER(2)}, 5);
  if (!expand_split(c, x, axis, expand_sizes(c, NULL, (Size[]){part, part}, 2), 2, p)) return NULL;
  Value *a = emit(g, "Sub", emit(g, "Mul", p[0], cos), emit(g, "Mul", p[1], sin));
  Value *b = emit(g, "Add", emit(g, "Mul", p[0], sin), emit(g, "Mul", p[1], cos)), *y = joined(c, a, b, axis);
  return interleaved ? expand_reshape(c, y, (Size[]){zero, zero, zero, width}, 4) : y;
}

/* cos or sin with an axis of one for the heads, and for the two of a pair. */
static Value *angles_of(Expansion *c, Value *x, int tokens, Rotary r) {
  Size zero = SIZE_NUMBER(0), rest = SIZE_NUMBER(-1), one = SIZE_NUMBER(1), half = SIZE_DIM(x, 2);
  if (r.width > 0) half = SIZE_NUMBER(r.width / 2);
  return expand_reshape(c, x, (Size[]){zero, tokens == 1 ? rest : one, tokens == 1 ? one : rest, half, one},
                        r.interleaved ? 5 : 4);
}

Value *rotary_expand(Expansion *c, Value *x, int tokens, Value *cos, Value *sin, Rotary r) {
  Graph *g = c->graph;
  if (!x || !cos || !sin) return NULL;
  Dim d = x->shape.dim[3], width = r.width ? r.width : d;
  bool known = dim_is_number(d) && dim_is_number(width);
  if (dim_is_number(width) && (width < 2 || width % 2 || (known && width > d)))
    return node_invalid(c->node, "%lld of the %lld numbers of a head are to be turned", (long long)width, (long long)d),
           NULL;
  if (known) r.width = width;
  cos = angles_of(c, cos, tokens, r);
  sin = angles_of(c, sin, tokens, r);
  Value *p[2];
  if (width == d) return turned(c, x, cos, sin, r.interleaved);
  Value *sizes = emit_ints(g, (int64_t[]){width, d - width}, 2);
  if (!known) {
    Value *first = expand_sizes(c, NULL, &(Size){cos, 3, 1, 2, 0}, 1);
    sizes = joined(c, first, emit(g, "Sub", expand_dim(c, x, 3, true), first), 0);
  }
  return expand_split(c, x, 3, sizes, 2, p) ? joined(c, turned(c, p[0], cos, sin, r.interleaved), p[1], 3) : NULL;
}
