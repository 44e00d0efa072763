/* Dims: quotients of dims that may be symbols, and contents that will be known once numbers stand for the symbols. */
#include "graph/dims.h"

#include <string.h>

#include "graph/known.h"

/* Takes one `d` out of the list; false when it is not there. */
static bool cancel(Dim *symbols, int *count, Dim d) {
  for (int i = 0; i < *count; i++) {
    if (symbols[i] != d) continue;
    symbols[i] = symbols[--*count];
    return true;
  }
  return false;
}

bool dims_divide(Graph *g, const Dim *a, int a_count, const Dim *b, int b_count, Dim *out) {
  Dim symbols[RANK_MAX], over = 1, under = 1;
  int symbol_count = 0;
  bool unsure = false;
  for (int i = 0; i < a_count; i++) {
    if (!dim_is_number(a[i])) symbols[symbol_count++] = a[i];
    else if (__builtin_mul_overflow(over, a[i], &over)) return false;
  }
  for (int i = 0; i < b_count; i++) {
    if (!dim_is_number(b[i])) unsure |= !cancel(symbols, &symbol_count, b[i]);
    else if (__builtin_mul_overflow(under, b[i], &under)) return false;
  }
  if (under == 0) return false;
  bool divides = over % under == 0;
  if (!divides && !unsure && !symbol_count) return false;
  if (divides && !unsure && (!symbol_count || over == 0)) *out = over / under;
  else if (divides && !unsure && symbol_count == 1 && over == under) *out = symbols[0];
  else *out = graph_fresh_dim(g);
  return true;
}

bool dims_alike(const Shape *a, const Shape *b) {
  bool alike = a->rank == b->rank;
  for (int i = 0; alike && i < a->rank; i++) alike = dims_meet(a->dim[i], b->dim[i]);
  return alike;
}

Dim dims_times(Graph *g, Dim d, int64_t times) {
  return dim_is_number(d) ? d * times : times == 1 ? d : graph_fresh_dim(g);
}

static bool has_symbols(const Graph *g) {
  for (int i = 0; i < g->input_count; i++)
    if (!shape_is_concrete(&g->inputs[i]->shape)) return true;
  return false;
}

Status dims_known(const Node *n, int input, const Dim **dims, int *count) {
  size_t length;
  *dims = NULL;
  *count = 0;
  Value *v = has_in(n, input) ? n->in[input] : NULL;
  bool early = v && (!n->graph->deferral.allowed || has_symbols(n->graph));
  bool later = early && v->kind != VALUE_CONSTANT && !dtype_is_float(v->type) && !known_of(v);
  if (!later) return node_known(n, input, dims, count);
  if (!shape_count(&v->shape, &length) || length > KNOWN_MAX)
    return node_defer(n, input, "input %d ('%.64s') has a length that depends on fed values", input, v->name);
  *count = (int)length;
  return STATUS_OK;
}

Status dims_axes(const Node *n, const int64_t *axes, int count, int rank, unsigned *mask) {
  *mask = 0;
  for (int i = 0; i < count; i++) {
    int axis;
    TRY(node_axis(n, axes[i], rank, &axis));
    if (*mask >> axis & 1) return node_invalid(n, "axis %d is given twice", axis);
    *mask |= 1u << axis;
  }
  return STATUS_OK;
}
