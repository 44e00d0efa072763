/* Cast: x in another element type. A float becomes an integer by cutting off its fraction, and the nearest one there is when it
 * is out of range (NaN: 0); integers wrap; a bool is x ≠ 0.  Between floats dx = dy in x's type, else none. */
#include <math.h>
#include <string.h>

#include "kernels/dims.h"

static bool is_float(DType type) { return type == DTYPE_FLOAT32 || type == DTYPE_FLOAT64; }
static bool is_type(DType type) {
  return is_float(type) || type == DTYPE_INT64 || type == DTYPE_INT32 || type == DTYPE_UINT8 || type == DTYPE_BOOL;
}

/* Known integers stay known, symbols too as long as the type can hold them. */
static void cast_known(Node *n, DType to) {
  const Value *x = n->in[0];
  Dim cast[64];
  if (!x->known || in_count(n, 0) > 64 || (to != DTYPE_INT64 && to != DTYPE_INT32 && to != DTYPE_BOOL)) return;
  for (size_t i = 0; i < in_count(n, 0); i++) {
    Dim d = x->known[i];
    if (dim_is_symbol(d) && to == DTYPE_BOOL) return;
    if (!dim_is_symbol(d) && to == DTYPE_INT32) d = (int32_t)d;
    cast[i] = to == DTYPE_BOOL ? d != 0 : d;
  }
  node_output_known(n, 0, cast, (int)in_count(n, 0));
}

static Status cast_infer(Node *n) {
  DType from = n->in[0]->type, to = (DType)node_int(n, "to", 0);
  if (!is_type(from) || !is_type(to))
    return node_fail(n, STATUS_UNSUPPORTED_OP, "%s to %s is a cast we lack", dtype_name(from), dtype_name(to));
  TRY(node_output(n, 0, to, &n->in[0]->shape));
  cast_known(n, to);
  return STATUS_OK;
}

/* From any type to any by way of a small buffer in the widest of its kind: 6 loops in and 12 out instead of 36. */
enum { CHUNK = 256 };
typedef union Chunk {
  double floats[CHUNK];
  int64_t ints[CHUNK];
} Chunk;

#define EACH(statement)                                                                                                \
  do {                                                                                                                 \
    for (size_t i = 0; i < count; i++) statement;                                                                      \
  } while (0)

static void load(Chunk *c, const void *x, size_t at, size_t count, DType type) {
  switch (type) {
    case DTYPE_FLOAT32: EACH(c->floats[i] = ((const float *)x)[at + i]); break;
    case DTYPE_FLOAT64: EACH(c->floats[i] = ((const double *)x)[at + i]); break;
    case DTYPE_INT64: EACH(c->ints[i] = ((const int64_t *)x)[at + i]); break;
    case DTYPE_INT32: EACH(c->ints[i] = ((const int32_t *)x)[at + i]); break;
    default: EACH(c->ints[i] = ((const uint8_t *)x)[at + i]); break;
  }
}

static int64_t to_int(double x, double low, double high) {
  if (isnan(x)) return 0;
  if (x <= low) return (int64_t)low;
  return x >= high ? (high < 9.2e18 ? (int64_t)high : INT64_MAX) : (int64_t)x;
}

static void store_floats(const Chunk *c, void *y, size_t at, size_t count, DType type) {
  switch (type) {
    case DTYPE_FLOAT32: EACH(((float *)y)[at + i] = (float)c->floats[i]); break;
    case DTYPE_FLOAT64: EACH(((double *)y)[at + i] = c->floats[i]); break;
    case DTYPE_INT64: EACH(((int64_t *)y)[at + i] = to_int(c->floats[i], -9223372036854775808.0, 9223372036854775808.0)); break;
    case DTYPE_INT32: EACH(((int32_t *)y)[at + i] = (int32_t)to_int(c->floats[i], INT32_MIN, INT32_MAX)); break;
    case DTYPE_UINT8: EACH(((uint8_t *)y)[at + i] = (uint8_t)to_int(c->floats[i], 0, UINT8_MAX)); break;
    default: EACH(((uint8_t *)y)[at + i] = c->floats[i] != 0); break;
  }
}

static void store_ints(const Chunk *c, void *y, size_t at, size_t count, DType type) {
  switch (type) {
    case DTYPE_FLOAT32: EACH(((float *)y)[at + i] = (float)c->ints[i]); break;
    case DTYPE_FLOAT64: EACH(((double *)y)[at + i] = (double)c->ints[i]); break;
    case DTYPE_INT64: EACH(((int64_t *)y)[at + i] = c->ints[i]); break;
    case DTYPE_INT32: EACH(((int32_t *)y)[at + i] = (int32_t)(uint32_t)c->ints[i]); break;
    case DTYPE_UINT8: EACH(((uint8_t *)y)[at + i] = (uint8_t)c->ints[i]); break;
    default: EACH(((uint8_t *)y)[at + i] = c->ints[i] != 0); break;
  }
}

static void cast_run(const Node *n) {
  const Value *x = n->in[0], *y = n->out[0];
  size_t total = out_count(n, 0);
  Chunk chunk;
  if (x->type == y->type && total) memcpy(y->data, x->data, total * dtype_bytes(x->type));
  if (x->type == y->type) return;
  for (size_t at = 0; at < total; at += CHUNK) {
    size_t count = total - at < CHUNK ? total - at : CHUNK;
    load(&chunk, x->data, at, count, x->type);
    if (is_float(x->type)) store_floats(&chunk, y->data, at, count, y->type);
    else store_ints(&chunk, y->data, at, count, y->type);
  }
}

static Status cast_grad(Grad *g) {
  DType from = g->node->in[0]->type, to = g->node->out[0]->type;
  if (is_float(from) && is_float(to))
    g->dx[0] = from == to ? g->dy[0] : emit_with(g->graph, "Cast", ATTRS(attr_of_int("to", from)), g->dy[0]);
  return STATUS_OK;
}

CASES_OF(cast_cases) = {
    {"f32[2,3]", "to=1"},
    {"f32[2,150]:-300..300", "to=6"},
    {"f32[6]:-3e10..3e10", "to=7"},
    {"f32[6]:-100..400", "to=2"},
    {"v:f32[3]=0,0.5,-0.25", "to=9"},
    {"f32[4]", "to=11", 0, 0, "the gradient flows in float32 alone"},
    {"v:i64[3]=-1,0,5000000000", "to=6"},
    {"v:i64[3]=-1,0,16777217", "to=1"},
    {"v:i64[3]=-1,0,5000000000", "to=9"},
    {"i32[4]:-300..300", "to=2"},
    {"bool[4]", "to=1"},
    {"u8[4]:0..255", "to=1"},
    {"f64[3]", "to=1"},
    {"i64[2]=7,-1", "to=6"},
    {0}};

const Op op_cast = {
    .name = "Cast",
    .since = {6, 9, 13, 19, 21},
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .infer = cast_infer,
    .run = cast_run,
    .grad = cast_grad,
    .cases = CASES(cast_cases),
};
