/* Compose: shorthands for operators that are made of others; opset and type are those of the node at hand. */
#pragma once
#include "graph/op.h"

/* A scalar of the type of `like` (float32 unless that is float64). */
Value *compose_number(Compose *c, Value *like, double x);
Value *compose_cast(Compose *c, Value *x, DType to); /* x itself when it is of that type */
/* ReduceSum, ReduceMean … over axes, which are an attribute or an input, depending on the opset. */
Value *compose_reduce(Compose *c, const char *op, Value *x, const int64_t *axes, int count, bool keepdims);
/* ReduceSum of x over the axes of the node itself, in whichever form it has them. */
Value *compose_sum_as(Compose *c, Value *x);
/* x in the shape `to`: symbols that `like` (may be NULL) has at the same place are copied from x, and one more may be
 * left for Reshape to work out. */
Value *compose_reshape(Compose *c, Value *x, Shape to, const Value *like);
bool compose_split(Compose *c, Value *x, int axis, const int64_t *sizes, int count, Value **parts); /* along the axis */
/* Dim `axis` of x as a tensor, a scalar or a vector of one. */
Value *compose_dim(Compose *c, Value *x, int axis, bool vector);
/* Fails while that dim is a symbol: a composition that needs its number is put off until it has one. */
Status compose_want_number(const Compose *c, int input, int axis);
/* (x - mean) / √(variance + epsilon) along the last dim of x. */
Value *compose_normalize(Compose *c, Value *x, double epsilon);
/* 0, 1 … count-1 as int64, where count is a scalar. */
Value *compose_range(Compose *c, Value *count);
static inline const Shape *compose_shape(const Compose *c, int input) { return &c->node->in[input]->shape; }
static inline Value *compose_in(const Compose *c, int i) { return has_in(c->node, i) ? c->node->in[i] : NULL; }
static inline Status compose_done(Compose *c, Value *y) { return c->out[0] = y, c->graph->error->status; }
