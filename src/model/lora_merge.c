/* LoRA in models that are written: finds branches as lora.c has put them, by the names of their nodes. */
#include "model/lora_merge.h"

#include <string.h>

#include "ops/ops.h"
#include "passes/rewrite.h"
#include "model/lora.h"

/* The branch of a module, and the layer that it is added to. */
typedef struct Branch {
  Node *sum;    /* gives what the layer and the branch give together */
  Value *base;  /* the layer's result alone */
  Value *a, *b; /* constants */
  float scale;
} Branch;

static bool ends_with(const char *s, const char *end) {
  size_t length = strlen(s), count = strlen(end);
  return length > count && strcmp(s + length - count, end) == 0;
}

static Node *made(const Value *v, const Op *op) { return v->producer && v->producer->op == op ? v->producer : NULL; }

static Node *reader_of(const Graph *g, const Value *v) {
  for (int i = 0; i < g->node_count; i++)
    for (int k = 0; k < g->nodes[i]->in_count; k++)
      if (g->nodes[i]->in[k] == v) return g->nodes[i];
  return NULL;
}

/* Past a Reshape. */
static const Value *before_reshape(const Value *v) { return made(v, &op_reshape) ? v->producer->in[0] : v; }

/* The matrix that rows come from: of a Gemm its own, of a Gather what was transposed. */
static Value *down_matrix(const Value *rows) {
  const Node *n = before_reshape(rows)->producer;
  if (n && n->op == &op_gather) n = made(n->in[0], &op_transpose);
  else if (n && n->op == &op_gemm) return n->in[1];
  return n ? n->in[0] : NULL;
}

/* base + s · rows Bᵀ as a Gemm; where these are rows of more dims, between Reshapes. */
static bool read_product(const Graph *g, Node *up, Branch *b) {
  Node *flat = made(up->in[2], &op_reshape);
  *b = (Branch){.sum = up, .base = up->in[2], .b = up->in[1], .scale = node_float(up, "alpha", 1)};
  if (flat && reader_of(g, up->out[0]) && reader_of(g, up->out[0])->op == &op_reshape && !up->out[0]->fetched) {
    b->sum = reader_of(g, up->out[0]);
    b->base = flat->in[0];
  }
  return (b->a = down_matrix(up->in[0]));
}

/* base + conv(s · conv(x, A), B) */
static bool read_conv(const Graph *g, Node *up, Branch *b) {
  Node *scaled = made(up->in[0], &op_mul), *sum = reader_of(g, up->out[0]);
  const Node *down = made(scaled ? scaled->in[0] : up->in[0], &op_conv);
  if (!down || !sum || sum->op != &op_add) return false;
  *b = (Branch){.sum = sum, .base = sum->in[sum->in[0] == up->out[0]], .a = down->in[1], .b = up->in[1], .scale = 1};
  if (scaled) b->scale = *(const float *)scaled->in[1]->data;
  return true;
}

static bool is_on_weight(const Node *up) {
  return ends_with(up->name, ".lora_B") && up->in_count > 2 && up->in[2] && up->in[2]->kind == VALUE_CONSTANT;
}

static bool read_branch(const Graph *g, Node *up, Branch *b) {
  if (!ends_with(up->name, ".lora_B")) return false;
  if (up->op == &op_gemm && up->in_count > 2 && up->in[2]) return read_product(g, up, b);
  return up->op == &op_conv && read_conv(g, up, b);
}

/* w (out, in) += s · B A, where B is (out, r) and A (r, in); turned: w is (in, out). */
static void add_product(float *w, const Branch *b, bool turned) {
  size_t outs = (size_t)b->b->shape.dim[0], r = (size_t)b->a->shape.dim[0],
         ins = shape_span(&b->a->shape, 1, b->a->shape.rank);
  const float *pa = b->a->data, *pb = b->b->data;
  for (size_t o = 0; o < outs; o++)
    for (size_t i = 0; i < ins; i++) {
      double sum = 0;
      for (size_t k = 0; k < r; k++) sum += (double)pb[o * r + k] * (double)pa[k * ins + i];
      w[turned ? i * outs + o : o * ins + i] += b->scale * (float)sum;
    }
}

static bool is_turned(const Node *layer) {
  return layer->op == &op_gather || (layer->op != &op_conv && !node_int(layer, "transB", 0));
}

static bool is_read_once(const Graph *g, const Value *v) {
  int readers = 0;
  for (int i = 0; i < g->node_count; i++)
    for (int k = 0; k < g->nodes[i]->in_count; k++) readers += g->nodes[i]->in[k] == v;
  return readers == 1;
}

/* The weight of a layer, the input that reads it, and a Transpose between them if the exporter left one. Identities are
 * skipped. */
typedef struct Layer {
  Node *node;
  int at;
  Value *read, *weight;
} Layer;

static Value *past_identity(Value *v) {
  while (made(v, &op_identity)) v = v->producer->in[0];
  return v;
}

static Layer layer_of(const Branch *b) {
  Layer l = {.node = b->base->producer, .at = b->base->producer->op != &op_gather};
  l.read = past_identity(l.node->in[l.at]);
  const Node *turn = made(l.read, &op_transpose);
  bool turned = turn && turn->in[0]->shape.rank == 2 && *(const int *)turn->params == 1;
  l.weight = turned ? past_identity(turn->in[0]) : l.read;
  return l;
}

static bool can_merge(const Layer *l) {
  return l->weight->kind == VALUE_CONSTANT && l->weight->type == DTYPE_FLOAT32 && l->node->op != &op_mat_mul_n_bits;
}

/* The weight as the layer reads it, for this layer alone. */
static Value *own_weight(Graph *g, const Layer *l) {
  const char *name = graph_fresh_name(g, l->weight->name);
  float *data = ARENA_ARRAY(g->arena, float, shape_elements(&l->weight->shape));
  if (!name || !data) return NULL;
  memcpy(data, l->weight->data, value_bytes(l->weight));
  size_t rows = l->weight != l->read ? (size_t)l->read->shape.dim[0] : 0,
         columns = rows ? shape_span(&l->read->shape, 1, 2) : 0;
  for (size_t i = 0; i < rows * columns; i++)
    data[i] = ((const float *)l->weight->data)[i % columns * rows + i / columns];
  Value *v = graph_constant(g, name, l->read->type, &l->read->shape, data);
  if (v) v->initializer = true;
  return v;
}

/* up: W + s · B A, or turned, of constants alone, becomes the weight. */
static Status merge_weight(Graph *g, Node *up) {
  bool turned = node_int(up, "transA", 0) != 0;
  Value *v = up->out[0];
  Branch b = {.a = up->in[!turned], .b = up->in[turned], .scale = node_float(up, "alpha", 1)};
  float *data = ARENA_ARRAY(g->arena, float, shape_elements(&v->shape));
  const char *name = graph_fresh_name(g, up->in[2]->name);
  Value *made = data && name ? graph_constant(g, name, v->type, &v->shape, data) : NULL;
  if (!made) return error_memory(g->error, "for the merged weights");
  made->initializer = true;
  memcpy(data, up->in[2]->data, value_bytes(v));
  add_product(data, &b, turned);
  for (int i = 0; i < g->node_count; i++)
    for (int k = 0; k < g->nodes[i]->in_count; k++)
      if (g->nodes[i]->in[k] == v) g->nodes[i]->in[k] = made;
  return STATUS_OK;
}

static Status merge(Graph *g, const Branch *b) {
  Layer l = layer_of(b);
  Node *layer = l.node;
  bool turned = is_turned(layer);
  if (!can_merge(&l))
    return node_fail(
        layer, STATUS_UNSUPPORTED_OP,
        "its weight is no float32 constant, so that the adapter cannot be merged into it: export the adapters "
        "'separate' or as 'inputs', or make artifacts without quantizeFrozen");
  if (is_read_once(g, l.weight) && is_read_once(g, l.read) && is_read_once(g, layer->in[l.at])) {
    float *data = ARENA_ARRAY(g->arena, float, shape_elements(&l.weight->shape));
    if (!data) return error_memory(g->error, "for the merged weights");
    l.weight->data = memcpy(data, l.weight->data, value_bytes(l.weight));
    turned ^= l.weight != l.read;
  } else if (!(l.weight = layer->in[l.at] = own_weight(g, &l))) {
    return error_memory(g->error, "for the merged weights");
  }
  add_product(l.weight->data, b, turned);
  Value *y = b->sum->out[0], *unread = graph_value(g, NULL, y->type, &y->shape, VALUE_NODE);
  if (!unread) return g->error->status;
  b->sum->out[0] = unread;
  unread->producer = b->sum;
  b->base->producer = NULL;
  layer->out[0] = y;
  y->producer = layer;
  return STATUS_OK;
}

/* A constant that nobody reads any more is not written. */
static void forget_unread(Graph *g) {
  for (int i = 0; i < g->value_count; i++) {
    Value *v = g->values[i];
    if (v->kind == VALUE_CONSTANT && v->initializer && !reader_of(g, v)) v->kind = VALUE_NODE;
  }
}

Status lora_merge(Graph *g) {
  for (int i = 0; i < g->node_count; i++) {
    Branch b;
    if (is_on_weight(g->nodes[i])) TRY(merge_weight(g, g->nodes[i]));
    else if (read_branch(g, g->nodes[i], &b)) TRY(merge(g, &b));
  }
  rewrite_drop_dead(g);
  forget_unread(g);
  return graph_set_metadata(g, LORA_KEY, "");
}

Status lora_to_inputs(Graph *g) {
  for (int i = 0; i < g->value_count; i++) {
    Value *v = g->values[i];
    if (v->kind != VALUE_CONSTANT || !lora_is_matrix(v->name)) continue;
    v->kind = VALUE_INPUT;
    TRY(graph_add_input(g, v));
  }
  return STATUS_OK;
}
