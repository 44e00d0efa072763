/* Quantize: finds out who reads the weights, then goes through the nodes, and writes each reader anew. */
#include "model/quantize.h"

#include <math.h>
#include <string.h>

#include "kernels/number.h"
#include "kernels/quantized.h"
#include "ops/ops.h"
#include "passes/product.h"
#include "train/mode.h"

QuantizeKind quantize_named(const char *name) {
  static const char *const names[] = {
      [QUANTIZE_INT8] = "int8", [QUANTIZE_INT4] = "int4", [QUANTIZE_FLOAT16] = "float16"};
  for (int i = QUANTIZE_INT8; i <= QUANTIZE_FLOAT16; i++)
    if (strcmp(name, names[i]) == 0) return (QuantizeKind)i;
  return QUANTIZE_NONE;
}

/* Readers of a value, and the values that replace it. */
typedef struct Use {
  bool unfit;      /* somebody reads it otherwise than as below */
  bool multiplied; /* B of a product, or of a Transpose that is */
  bool looked_up;  /* the table of a Gather */
  int axis;        /* axis of the products' outputs */
  bool chosen;
  Value *q, *scale, *point; /* the values in its place */
  Value *wide;              /* the same as float32 */
} Use;

struct Quantizer {
  Graph *g;
  QuantizeKind kind;
  bool nominal;
  Use *uses; /* indexed by value of the model before quantizing */
  int count;
};

static Status out_of_memory(const Quantizer *q) { return error_memory(q->g->error, "for quantized weights"); }

/* ---- who reads what ---- */

static bool is_matrix(const Value *v) {
  return v->shape.rank == 2 && dim_is_number(v->shape.dim[0]) && dim_is_number(v->shape.dim[1]);
}

static bool is_look_up(const Node *n) {
  return n->op == &op_gather && is_matrix(n->in[0]) && node_int(n, "axis", 0) == 0;
}

static bool is_product(const Node *n, Product *p) {
  return product_of(n, p) && p->alpha == 1 && !p->trans_a && is_matrix(p->b) && (!p->c || p->beta == 1);
}

static bool is_transpose(const Node *n) {
  return n->op == &op_transpose && is_matrix(n->in[0]) && *(const int *)n->params == 1;
}

/* The axis of the outputs where n reads its input i as the B of a product; -1 where it does not. */
static int product_axis(const Quantizer *q, const Node *n, int i) {
  Product p;
  if (i == 1 && is_product(n, &p)) return !p.trans_b;
  const Use *out = i == 0 && is_transpose(n) ? &q->uses[n->out[0]->index] : NULL;
  return out && out->multiplied && !out->unfit && !out->looked_up ? !out->axis : -1;
}

static void note(const Quantizer *q, const Node *n, int i) {
  Use *use = &q->uses[n->in[i]->index];
  int axis = product_axis(q, n, i);
  if (i == 0 && is_look_up(n)) {
    use->looked_up = true;
  } else if (axis < 0 || (use->multiplied && use->axis != axis)) {
    use->unfit = true;
  } else {
    use->multiplied = true;
    use->axis = axis;
  }
}

/* Backward: who reads a Transpose comes before it. */
static void note_all(const Quantizer *q) {
  for (int i = 0; i < q->g->output_count; i++) q->uses[q->g->outputs[i]->index].unfit = true;
  for (int i = q->g->node_count - 1; i >= 0; i--)
    for (int k = 0; k < q->g->nodes[i]->in_count; k++)
      if (q->g->nodes[i]->in[k]) note(q, q->g->nodes[i], k);
}

enum { HALF_END = 65520 }; /* rounds to infinity */

static bool fits_halves(const Value *v) {
  const float *x = v->data;
  for (size_t i = 0; i < shape_elements(&v->shape); i++)
    if (fabsf(x[i]) >= HALF_END) return false;
  return true;
}

static bool is_weight(const Weights *weights, const Value *v) {
  bool learned = v->note == NOTE_PARAMETER || (v->note != NOTE_NO_PARAMETER && weights_learned(weights, v));
  return learned && mode_is_parameter(v) && !v->statistic && !weights->infinite[v->index];
}

static bool choose(const Quantizer *q, const bool *trained, const Weights *weights) {
  bool any = false;
  for (int i = 0; i < q->count; i++) {
    const Value *v = q->g->values[i];
    Use *use = &q->uses[i];
    use->chosen = (use->multiplied || use->looked_up) && !use->unfit && !trained[i] && is_weight(weights, v) &&
                  (q->kind != QUANTIZE_FLOAT16 || fits_halves(v));
    any |= use->chosen;
  }
  return any;
}

/* ---- what takes their place ---- */

static Value *parameter(const Quantizer *q, const Value *w, const char *end, DType type, Shape shape, void **data) {
  Graph *g = q->g;
  const char *name = graph_fresh_name(g, arena_print(g->arena, "%s%s", w->name, end));
  *data = q->nominal ? w->data : arena_alloc(g->arena, shape_elements(&shape) * dtype_bytes(type));
  Value *v = name && *data ? graph_constant(g, name, type, &shape, *data) : NULL;
  if (v) v->initializer = v->quantized = true;
  return v;
}

static Status make_int8(const Quantizer *q, const Value *w, Use *use) {
  void *numbers, *scales;
  Shape shape = w->shape;
  if (use->looked_up) use->axis = 0;
  use->q = parameter(q, w, "_quantized", DTYPE_INT8, shape, &numbers);
  use->scale = parameter(q, w, "_scale", DTYPE_FLOAT32, SHAPE(shape.dim[use->axis]), &scales);
  if (!use->q || !use->scale) return out_of_memory(q);
  if (!q->nominal) quantized_int8(w->data, (size_t)shape.dim[0], (size_t)shape.dim[1], use->axis, numbers, scales);
  return STATUS_OK;
}

static Status make_int4(const Quantizer *q, const Value *w, Use *use) {
  void *numbers, *scales, *points;
  Dim rows = w->shape.dim[use->axis], depth = w->shape.dim[!use->axis];
  size_t row_length = (size_t)w->shape.dim[1];
  Dim blocks = (Dim)quantized_blocks((size_t)depth);
  use->q = parameter(q, w, "_Q4", DTYPE_UINT8, SHAPE(rows, blocks, QUANTIZED_BLOCK / 2), &numbers);
  use->scale = parameter(q, w, "_scales", DTYPE_FLOAT32, SHAPE(rows, blocks), &scales);
  use->point = parameter(q, w, "_zero_points", DTYPE_UINT8, SHAPE(rows, (blocks + 1) / 2), &points);
  if (!use->q || !use->scale || !use->point) return out_of_memory(q);
  if (!q->nominal)
    quantized_int4(w->data, (size_t)rows, (size_t)depth, use->axis ? 1 : row_length, use->axis ? row_length : 1,
                   numbers, scales, points);
  return STATUS_OK;
}

static Status make_halves(const Quantizer *q, const Value *w, Use *use) {
  void *data;
  const float *x = w->data;
  if (!(use->q = parameter(q, w, "_float16", DTYPE_FLOAT16, w->shape, &data))) return out_of_memory(q);
  for (size_t i = 0; !q->nominal && i < shape_elements(&w->shape); i++)
    ((uint16_t *)data)[i] = half_of_double((double)x[i]);
  return STATUS_OK;
}

/* A table is of int8, which rows of it are looked up in; of a weight that is one too there is no other copy. */
static bool is_int4(const Quantizer *q, const Use *use) { return q->kind == QUANTIZE_INT4 && !use->looked_up; }

static Status make(const Quantizer *q, const Value *w, Use *use) {
  if (q->kind == QUANTIZE_FLOAT16) return make_halves(q, w, use);
  return is_int4(q, use) ? make_int4(q, w, use) : make_int8(q, w, use);
}

/* ---- their readers ---- */

static Value *widened(Graph *g, Value *v) { return emit_with(g, "Cast", ATTRS(attr_of_int("to", DTYPE_FLOAT32)), v); }

/* The weight as float32; or turned, before it is widened: after that, onnxruntime-web refuses to. */
static Value *wide_of(const Quantizer *q, const Use *use, bool turned) {
  int64_t perm[] = {1, 0};
  Value *w = turned ? emit_with(q->g, "Transpose", ATTRS(attr_of_ints("perm", perm, 2)), use->q) : use->q;
  if (q->kind == QUANTIZE_FLOAT16) return widened(q->g, w);
  return emit_with(q->g, "DequantizeLinear", ATTRS(attr_of_int("axis", use->axis != turned)), w, use->scale);
}

static Value *look_up(const Quantizer *q, const Node *n, const Use *use) {
  Graph *g = q->g;
  Value *rows = widened(g, emit(g, "Gather", use->q, n->in[1]));
  if (q->kind == QUANTIZE_FLOAT16) return rows;
  Value *scales = emit(g, "Unsqueeze", emit(g, "Gather", use->scale, n->in[1]), emit_ints(g, (int64_t[]){-1}, 1));
  return emit(g, "Mul", rows, scales);
}

static Value *multiply(const Quantizer *q, const Product *p, const Use *use) {
  Graph *g = q->g;
  Dim columns = p->b->shape.dim[!p->trans_b];
  Attr attrs[] = {attr_of_int("K", p->b->shape.dim[p->trans_b]), attr_of_int("N", columns), attr_of_int("bits", 4),
                  attr_of_int("block_size", QUANTIZED_BLOCK)};
  bool row = p->c && p->c->shape.rank == 1 && p->c->shape.dim[0] == columns;
  Value *in[] = {p->a, use->q, use->scale, use->point, EMIT_ABSENT, p->c};
  Value *y = emit_first(g, "MatMulNBits", (AttrList){attrs, 4}, in, row ? 6 : 4);
  return row || !p->c ? y : emit(g, "Add", y, p->c);
}

/* The use of a chosen weight; NULL for other values. */
static Use *use_of(const Quantizer *q, const Value *v) {
  Use *use = v && v->index < q->count ? &q->uses[v->index] : NULL;
  return use && use->chosen ? use : NULL;
}

/* True if other nodes have replaced n. */
static bool rewrite(const Quantizer *q, Node *n) {
  Product p;
  Use *use;
  if (is_look_up(n) && (use = use_of(q, n->in[0]))) return rewrite_as(n, look_up(q, n, use));
  if (is_product(n, &p)) {
    const Node *transpose = made_by(p.b, &op_transpose);
    use = use_of(q, transpose ? transpose->in[0] : p.b);
    if (use && is_int4(q, use)) return rewrite_as(n, multiply(q, &p, use));
  }
  for (int i = 0; i < n->in_count; i++) {
    if (!(use = use_of(q, n->in[i]))) continue;
    if (is_int4(q, use)) return true; /* a Transpose that nobody reads any more */
    if (is_transpose(n)) return rewrite_as(n, wide_of(q, use, true));
    if (!use->wide) use->wide = wide_of(q, use, false);
    n->in[i] = use->wide;
  }
  return false;
}

static Status rewrite_all(const Quantizer *q) {
  Graph *g = q->g;
  Node **nodes = g->nodes;
  int count = g->node_count;
  g->nodes = NULL;
  g->node_count = g->node_capacity = 0;
  for (int i = 0; i < count; i++) {
    if (rewrite(q, nodes[i])) continue;
    TRY(g->error->status);
    if (!(g->nodes = arena_list_grow(g->frame, g->nodes, g->node_count, &g->node_capacity, sizeof *g->nodes)))
      return g->node_count = 0, out_of_memory(q);
    g->nodes[g->node_count++] = nodes[i];
  }
  return g->error->status;
}

Quantizer *quantize_choose(Graph *g, QuantizeKind kind, const bool *trained, const Weights *weights, bool nominal,
                           Arena *arena) {
  Quantizer *q = ARENA_NEW(arena, Quantizer);
  Use *uses = ARENA_ARRAY(arena, Use, g->value_count);
  if (!q || !uses) return error_memory(g->error, "for quantized weights"), NULL;
  *q = (Quantizer){g, kind, nominal, uses, g->value_count};
  note_all(q);
  if (choose(q, trained, weights)) return q;
  error_set(g->error, STATUS_INVALID_ARGUMENT, NULL,
            "quantizeFrozen: no frozen float32 weight is read by products (MatMul, Gemm) and look-ups (Gather) alone");
  return NULL;
}

/* Checks that need the values of the weight. */
static bool stays_wide(const Quantizer *q, const Value *v) {
  return weights_infinite(v) || (q->kind == QUANTIZE_FLOAT16 && !fits_halves(v));
}

bool quantize_make(Quantizer *q, const Value *v) {
  Use *use = v->index < q->count && q->uses[v->index].chosen ? &q->uses[v->index] : NULL;
  if (!use || (use->chosen = !stays_wide(q, v)) == false) return false;
  return make(q, v, use) == STATUS_OK;
}

Status quantize_put(Quantizer *q) {
  Graph *g = q->g;
  for (int i = 0; i < q->count; i++)
    if (q->uses[i].chosen && !q->uses[i].q) TRY(make(q, g->values[i], &q->uses[i]));
  TRY(rewrite_all(q));
  for (int i = 0; i < q->count; i++)
    if (q->uses[i].chosen) g->values[i]->kind = VALUE_NODE; /* nobody makes or reads it: it is not written */
  return STATUS_OK;
}
