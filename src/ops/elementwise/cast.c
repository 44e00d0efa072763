/* Cast: x in another element type. A float becomes an integer by cutting off its fraction, and the nearest one there is
 * when it is out of range (NaN: 0); integers wrap, and what becomes one of 4 or 2 bits does; a bool is x ≠ 0.  Between
 * floats dx = dy in x's type, else none. Strings are made and read while the graph is: of a float the shortest decimal
 * that reads back as it. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/dims.h"
#include "kernels/cast_row.h"
#include "kernels/number.h"
#include "kernels/tiny_float.h"
#include "graph/strings.h"
#include "graph/upgrade.h"

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

/* Rounding of a number that a tiny float cannot hold. */
typedef struct Rounding {
  bool saturate;
  int rounding; /* a TinyRounding */
} Rounding;

static Status read_rounding(Node *n) {
  static const char *const ways[] = {[TINY_NEAREST] = "nearest", [TINY_UP] = "up", [TINY_DOWN] = "down"};
  Rounding *r = NODE_PARAMS(n, Rounding);
  if (!r) return STATUS_OUT_OF_MEMORY;
  r->saturate = node_int(n, "saturate", 1) != 0;
  return node_choice(n, "round_mode", "up", ways, 3, &r->rounding);
}

static Status cast_infer(Node *n) {
  DType from = n->in[0]->type, to = (DType)node_int(n, "to", 0);
  if (!dtype_bytes(from) || !dtype_bytes(to))
    return node_fail(n, STATUS_UNSUPPORTED_OP, "%s to %s is a cast we lack", dtype_name(from), dtype_name(to));
  TRY(node_output(n, 0, to, &n->in[0]->shape));
  if (tiny_is(to)) TRY(read_rounding(n));
  cast_known(n, to);
  return STATUS_OK;
}

/* uint64 has the bits of an int64, and those past its range become negative. */
static void uint64_to_floats(Numbers *x, size_t count) {
  for (size_t i = 0; i < count; i++) x->floats[i] = (double)(uint64_t)x->ints[i];
}

static void store_tiny(const Node *n, const Numbers *x, bool floats, size_t at, size_t count) {
  const Rounding *r = n->params;
  uint8_t *y = n->out[0]->data;
  for (size_t i = 0; i < count; i++)
    y[at + i] = tiny_of_double(floats ? x->floats[i] : (double)x->ints[i], n->out[0]->type, r->saturate,
                               (TinyRounding)r->rounding);
}

static void cast_run(const Node *n) {
  const Value *x = n->in[0], *y = n->out[0];
  size_t total = out_count(n, 0);
  Numbers block;
  bool wraps = !dtype_is_float(y->type) && dtype_packed(y->type) > 1;
  if (x->type == y->type && total) memcpy(y->data, x->data, total * dtype_bytes(x->type));
  if (x->type == y->type) return;
  CastRow *row = cast_row(x->type, y->type);
  if (row) {
    row(y->data, x->data, total);
    return;
  }
  for (size_t at = 0; at < total; at += NUMBERS) {
    size_t count = total - at < NUMBERS ? total - at : NUMBERS;
    bool widens = x->type == DTYPE_UINT64 && dtype_is_float(y->type);
    numbers_load(&block, x->data, x->type, at, 1, count);
    if (widens) uint64_to_floats(&block, count);
    if (tiny_is(y->type)) {
      store_tiny(n, &block, widens || dtype_is_float(x->type), at, count);
      continue;
    }
    bool floats = widens || dtype_is_float(x->type);
    for (size_t i = 0; i < count && floats && wraps; i++) block.ints[i] = number_cut(block.floats[i]);
    if (floats && !wraps) numbers_store_floats(&block, y->data, y->type, at, count);
    else numbers_store_ints(&block, y->data, y->type, at, count);
  }
}

/* Gradients of float16 and bfloat16 stay float32, in which small ones are not lost. */
static Status cast_grad(Grad *g) {
  DType from = g->node->in[0]->type, to = g->node->out[0]->type, type = g->dy[0]->type;
  bool half = from == DTYPE_FLOAT16 || from == DTYPE_BFLOAT16;
  if (dtype_is_float(from) && dtype_is_float(to))
    g->dx[0] = type == from || (half && type == DTYPE_FLOAT32)
                 ? g->dy[0]
                 : emit_with(g->graph, "Cast", ATTRS(attr_of_int("to", from)), g->dy[0]);
  return STATUS_OK;
}

/* ---- strings ---- */

static bool cast_expands(const Added *a) {
  const Node with = {.attrs = (Attr *)(uintptr_t)a->attrs, .attr_count = a->attr_count};
  return (a->in_count && a->in[0] && a->in[0]->type == DTYPE_STRING) || node_int(&with, "to", 0) == DTYPE_STRING;
}

enum { NUMBER_TEXT = 32, WORK_OF_TEXT = 1 << 12 }; /* bytes of a number; multiply-adds of writing or reading it */

/* In as few digits as tell it. Fewer than the type holds for sure are tried where it has lost some, near 0: any other
 * number with trailing zeros is printed without. Gives how many were tried. */
static int print_float(char text[NUMBER_TEXT], double x, bool wide) {
  if (isnan(x) || isinf(x)) {
    strcpy(text, isnan(x) ? "NaN" : x > 0 ? "INF" : "-INF");
    return 1;
  }
  int first = fabs(x) < (wide ? DBL_MIN : FLT_MIN) ? 1 : wide ? DBL_DIG : FLT_DIG, digits = first;
  do snprintf(text, NUMBER_TEXT, "%.*g", digits, x);
  while ((wide ? strtod(text, NULL) != x : strtof(text, NULL) != (float)x) && digits++ < 17);
  return digits - first + 1;
}

static Status cast_to_strings(Expansion *c, const void *data, const char **to) {
  const Value *x = c->node->in[0];
  for (size_t i = 0; i < shape_elements(&x->shape); i++) {
    char text[NUMBER_TEXT];
    Numbers number;
    int tries = 1;
    numbers_load(&number, data, x->type, i, 1, 1);
    if (dtype_is_float(x->type)) tries = print_float(text, number.floats[0], x->type == DTYPE_FLOAT64);
    else snprintf(text, sizeof text, x->type == DTYPE_UINT64 ? "%llu" : "%lld", (long long)number.ints[0]);
    TRY(strings_work(c->node, WORK_OF_TEXT * tries));
    if (!(to[i] = arena_copy_text(c->graph->arena, text))) return STATUS_OUT_OF_MEMORY;
  }
  return STATUS_OK;
}

/* Integers of any size to the unit, all else by way of a double. */
static Status cast_from_strings(Expansion *c, const char *const *strings, size_t count, DType to, void *y) {
  for (size_t i = 0; i < count; i++) {
    const char *text = strings_text(strings[i]);
    TRY(strings_work(c->node, WORK_OF_TEXT + strings_cost(text)));
    char *end, *int_end;
    Numbers number,
        integer = {.ints = {to == DTYPE_UINT64 ? (int64_t)strtoull(text, &int_end, 10) : strtoll(text, &int_end, 10)}};
    number.floats[0] = to == DTYPE_FLOAT32 ? (double)strtof(text, &end) : strtod(text, &end);
    if (end == text || *end) return node_invalid(c->node, "element %zu, '%.64s', is no number", i, text);
    if (*int_end || dtype_is_float(to)) numbers_store_floats(&number, y, to, i, 1);
    else numbers_store_ints(&integer, y, to, i, 1);
  }
  return STATUS_OK;
}

static Status cast_expand(Expansion *c) {
  const Node *n = c->node;
  DType from = n->in[0]->type, to = (DType)node_int(n, "to", 0);
  const void *x;
  if (from == to) return c->out[0] = n->in[0], STATUS_OK;
  if (!dtype_bytes(to))
    return node_fail(n, STATUS_UNSUPPORTED_OP, "%s to %s is a cast we lack", dtype_name(from), dtype_name(to));
  TRY(node_contents(n, 0, &x));
  void *y = arena_alloc_array(c->graph->arena, in_count(n, 0), dtype_bytes(to));
  if (!y) return STATUS_OUT_OF_MEMORY;
  TRY(to == DTYPE_STRING ? cast_to_strings(c, x, y) : cast_from_strings(c, x, in_count(n, 0), to, y));
  return c->out[0] = strings_constant(c, to, &n->in[0]->shape, y), c->graph->error->status;
}

/* In opset 1 the type was named. */
static Status cast_upgrade(Upgrade *u) {
  static const char *const names[] = {"",      "FLOAT",  "UINT8", "INT8",    "UINT16", "INT16",  "INT32",
                                      "INT64", "STRING", "BOOL",  "FLOAT16", "DOUBLE", "UINT32", "UINT64"};
  for (int k = 0; k < u->node->attr_count; k++) {
    Attr *to = &u->attrs[k];
    if (strcmp(to->name, "to") != 0) continue;
    for (int i = 0; i < (int)(sizeof names / sizeof *names) && to->kind == ATTR_STRING; i++)
      if (strcmp(to->s, names[i]) == 0) *to = attr_of_int("to", i);
  }
  return STATUS_OK;
}

OPERATOR(cast) = {
    .name = "Cast",
    .since = {1, 6, 9, 13, 19, 21},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .infer = cast_infer,
    .run = cast_run,
    .grad = GRADIENT(cast_grad),
    .expand = cast_expand,
    .expands = cast_expands,
    .upgrade = cast_upgrade,
    .cases = CASES({"f32[2,3]", "to=1"}, {"f32[4]:-3..3", "to=INT64", 1}, {"f32[2,150]:-300..300", "to=6"},
                   {"f32[6]:-3e10..3e10", "to=7"}, {"f32[6]:-100..400", "to=2"}, {"v:f32[3]=0,0.5,-0.25", "to=9"},
                   {"f32[4]", "to=11"}, {"v:i64[3]=-1,0,5000000000", "to=6"}, {"v:i64[3]=-1,0,16777217", "to=1"},
                   {"v:i64[3]=-1,0,5000000000", "to=9"}, {"i32[4]:-300..300", "to=2"}, {"bool[4]", "to=1"},
                   {"u8[4]:0..255", "to=1"}, {"f64[3]", "to=1"}, {"i64[2]=7,-1", "to=6"},
                   {"v:f32[9]=0,-1,1.0009765,65504,65520,0.00006,0.0000001,-0.00003,3", "to=10"},
                   {"f16[40]:0..31000", "to=1"}, {"v:f32[4]=1,-3.02,1.00390625,1e38", "to=16"},
                   {"u64[3]:0..9e18", "to=11"}, {"i64[5]:-99999..99999", "to=5"}, {"f32[5]:-99999..99999", "to=3"},
                   {"i8[4]:-100..100", "to=13"}, {"v:f32[6]=0,-1.7,0.003,448,500,-inf", "to=17", 19},
                   {"v:f32[4]=1.5,3,0.1,1e30", "to=24 round_mode=nearest saturate=0", 24},
                   {"f32[5]:-20..20", "to=22", 21}, {"v:i64[3]=9,-3,1", "to=26", 25}),
};
