/* Arithmetic: what Add, Exp, Max and their kin share. */
#include "ops/elementwise/arithmetic.h"

#include "graph/same_shape.h"
#include "kernels/number.h"
#include "part.h"

static const Arithmetic *own(const Node *n) { return n->op->own; }

/* The result of a symbol and a number, or of two symbols; -1 if it may be negative: symbols stand for sizes. */
static Dim symbolic(const Node *n, const Arithmetic *f, Dim a, Dim b) {
  if (dim_is_number(b) && f->ints(2, b) == 2 && f->ints(3, b) == 3) return a;
  if (dim_is_number(a) && f->ints(a, 2) == 2 && f->ints(a, 3) == 3) return b;
  bool sizes = (dim_is_symbol(a) || a >= 0) && (dim_is_symbol(b) || b >= 0);
  return f->of_sizes && sizes ? graph_fresh_dim(n->graph) : -1;
}

static void output_known(Node *n, const Arithmetic *arithmetic) {
  int count = n->in_count == 2 && arithmetic->ints ? broadcast_known_count(n) : -1;
  Dim y[BROADCAST_KNOWN];
  if (count < 0) return;
  for (int i = 0; i < count; i++) {
    Dim a = broadcast_known_at(n, 0, i), b = broadcast_known_at(n, 1, i);
    bool open = dim_is_symbol(a) || dim_is_symbol(b);
    y[i] = open ? symbolic(n, arithmetic, a, b) : arithmetic->ints(a, b);
    if (open && !dim_is_symbol(y[i])) return;
  }
  node_output_known(n, 0, y, count);
}

static void own_row(const Node *n, void *y, const void *const *in, unsigned moves, size_t count) {
  arithmetic_row(own(n), n, y, in, moves, count);
}

OPTIONAL(other_types, own_row);

static BroadcastRow *row_of(const Node *n) {
  DType type = n->in[0]->type;
  if (own(n)->row && type == DTYPE_FLOAT32) return own(n)->row;
  if (own(n)->int64 && (type == DTYPE_INT64 || (type == DTYPE_UINT64 && !own(n)->naturals))) return own(n)->int64;
  return own(n)->bits && !dtype_is_float(type) ? own(n)->bits : part_other_types;
}

static Status check_types(const Node *n, const Arithmetic *arithmetic) {
  DType type = n->in[0]->type;
  for (int i = 1; i < n->in_count; i++)
    if (has_in(n, i) && n->in[i]->type != type)
      return node_invalid(n, "its inputs must be of one type, they are %s and %s", dtype_name(type),
                          dtype_name(n->in[i]->type));
  if (!(arithmetic->row && type == DTYPE_FLOAT32) && !part_other_types)
    return part_missing(n->graph->error, "elementwise operators of other types than float32");
  bool computed = dtype_is_float(type) ? arithmetic->floats || (arithmetic->row && type == DTYPE_FLOAT32)
                                       : arithmetic->ints && dtype_is_number(type);
  return computed
           ? STATUS_OK
           : node_fail(n, STATUS_UNSUPPORTED_OP, "its inputs are %s, which it does not compute", dtype_name(type));
}

Status arithmetic_infer_as(Node *n, const Arithmetic *arithmetic) {
  TRY(check_types(n, arithmetic));
  TRY(broadcast_infer(n, n->in[0]->type));
  output_known(n, arithmetic);
  return STATUS_OK;
}

Status arithmetic_infer(Node *n) { return arithmetic_infer_as(n, own(n)); }

Status arithmetic_alpha_infer(Node *n) {
  float *alpha = NODE_PARAMS(n, float);
  if (!alpha) return STATUS_OUT_OF_MEMORY;
  *alpha = node_float(n, "alpha", own(n)->alpha);
  return arithmetic_infer(n);
}

bool arithmetic_expands(const Added *a) { return a->in_count < 1 || !a->in[0] || a->in[0]->type != DTYPE_FLOAT32; }

static void compute(const Arithmetic *f, DType type, const Numbers *a, const Numbers *b, Numbers *y, size_t count) {
  if (dtype_is_float(type))
    for (size_t i = 0; i < count; i++) y->floats[i] = f->floats(a->floats[i], b->floats[i]);
  else if (type == DTYPE_UINT64 && f->naturals)
    for (size_t i = 0; i < count; i++) y->ints[i] = (int64_t)f->naturals((uint64_t)a->ints[i], (uint64_t)b->ints[i]);
  else
    for (size_t i = 0; i < count; i++) y->ints[i] = f->ints(a->ints[i], b->ints[i]);
}

void arithmetic_row(const Arithmetic *arithmetic, const Node *n, void *y, const void *const *in, unsigned moves,
                    size_t total) {
  DType type = n->in[0]->type;
  Numbers a, b;
  for (size_t at = 0; at < total; at += NUMBERS) {
    size_t count = total - at < NUMBERS ? total - at : NUMBERS;
    numbers_load(&a, in[0], type, moves & 1 ? at : 0, moves & 1, count);
    if (n->in_count > 1) numbers_load(&b, in[1], type, moves & 2 ? at : 0, moves >> 1 & 1, count);
    compute(arithmetic, type, &a, n->in_count > 1 ? &b : &a, &a, count);
    if (dtype_is_float(type)) numbers_store_floats(&a, y, type, at, count);
    else numbers_store_ints(&a, y, type, at, count);
  }
}

void arithmetic_run(const Node *n) { broadcast_run(n, n->in_count, row_of(n)); }

Status arithmetic_fold_infer(Node *n) {
  TRY(check_types(n, own(n)));
  return broadcast_fold_infer(n);
}

void arithmetic_fold_run(const Node *n) { broadcast_fold_run(n, row_of(n)); }

Status arithmetic_gradient_infer(Node *n) {
  TRY(check_types(n, own(n)));
  TRY(same_shape_want(n, 0, 1));
  return node_output(n, 0, n->in[1]->type, &n->in[1]->shape);
}

Status arithmetic_flat_gradient(Grad *g) {
  g->dx[0] = emit(g->graph, "Mul", g->dy[0], emit_float(g->graph, 0));
  return STATUS_OK;
}
