/* Expansion: shorthands for operators that are made of others; opset and type are those of the node at hand. */
#pragma once
#include "graph/op.h"

/* A scalar of the type of `like` (float32 unless that is float64). */
Value *expand_number(Expansion *c, Value *like, double x);
Value *expand_cast(Expansion *c, Value *x, DType to); /* x itself when it is of that type */
/* ReduceSum, ReduceMean … over axes, which are an attribute or an input, depending on the opset. */
Value *expand_reduce(Expansion *c, const char *op, Value *x, const int64_t *axes, int count, bool keepdims);
/* ReduceSum of x over the axes of the node itself, in whichever form it has them. */
Value *expand_sum_as(Expansion *c, Value *x);
/* A size that may not be known yet: times · (the product of `count` dims of `of`, from `axis` on) / over. Without `of`
 * it is the number `times`; an `over` of 0 divides by nothing. */
typedef struct Size {
  Value *of;
  int axis, count;
  int64_t times, over;
} Size;
#define SIZE_NUMBER(n) ((Size){.times = (n)})
#define SIZE_DIM(of, axis) ((Size){of, axis, 1, 1, 0})
/* The sizes as a vector: a constant where all are numbers, else computed from shapes. A dim that x (may be NULL) has at
 * the same place becomes 0, which Reshape copies. */
Value *expand_sizes(Expansion *c, const Value *x, const Size *sizes, int count);
Value *expand_reshape(Expansion *c, Value *x, const Size *sizes, int count);
bool expand_split(Expansion *c, Value *x, int axis, Value *sizes, int count, Value **parts); /* along the axis */
/* Dim `axis` of x as a tensor, a scalar or a vector of one. */
Value *expand_dim(Expansion *c, Value *x, int axis, bool vector);
/* (x - mean) / √(variance + epsilon) along the last dim of x. */
Value *expand_normalize(Expansion *c, Value *x, double epsilon);
/* 0, 1 … count-1 as int64, where count is a scalar. */
Value *expand_range(Expansion *c, Value *count);
/* Before a session binds the graph, contents of an input that sizes follow from may be missing. */
bool expand_is_early(const Expansion *c);
/* The node as it is, by its infer: a clone with numbers expands it once the contents are computed (node_deferred_dim).
 * */
Status expand_deferred(Expansion *c);
static inline const Shape *expand_shape(const Expansion *c, int input) { return &c->node->in[input]->shape; }
static inline Value *expand_in(const Expansion *c, int i) { return has_in(c->node, i) ? c->node->in[i] : NULL; }
static inline Status expand_done(Expansion *c, Value *y) { return c->out[0] = y, c->graph->error->status; }
