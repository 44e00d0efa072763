/* Head: finds the features, puts layers on them, and drops what nothing needs any more. */
#include "model/head.h"

#include <math.h>
#include <string.h>

#include "ops/ops.h"
#include "text_builder.h"
#include "train/class_axis.h"

static const char SCORES[] = "scores";

typedef struct Head {
  Graph *g;
  const HeadOptions *o;
  NameList *parameters;
  Arena *arena;
  uint32_t drawn; /* streams of random numbers for first weights */
} Head;

/* ---- where ---- */

static Value *data_input(const Node *n) {
  for (int i = 0; i < n->in_count; i++)
    if (n->in[i] && !value_is_weight(n->in[i])) return n->in[i];
  return NULL;
}

static bool reads_weight(const Node *n) {
  for (int i = 0; i < n->in_count; i++)
    if ((n->op->weights >> (i < 31 ? i : 31) & 1) && n->in[i] && value_is_weight(n->in[i])) return true;
  return false;
}

/* The last layer with a weight on the way to v; NULL where none leads there. */
static const Node *layer_of(const Value *v) {
  while (v && v->producer && !reads_weight(v->producer)) v = data_input(v->producer);
  return v ? v->producer : NULL;
}

static Value *find_features(Head *h) {
  Graph *g = h->g;
  Value *v = h->o->at ? graph_find(g, h->o->at) : NULL;
  if (h->o->at && (!v || v->kind != VALUE_NODE)) {
    error_set(g->error, STATUS_INVALID_ARGUMENT, NULL, "head.at: the model computes no value '%.200s'", h->o->at);
    return NULL;
  }
  const Node *last = v ? NULL : g->output_count ? layer_of(g->outputs[0]) : NULL;
  if (last) v = data_input(last);
  if (!v)
    error_set(
        g->error, STATUS_INVALID_ARGUMENT, NULL,
        "head: no layer with a weight leads to the model's first output: say by head.at which value its features are");
  return v;
}

/* (N, C, …) from a convolution is pooled to (N, C); anything else is taken as it is, the features last. */
static Value *pooled(Head *h, Value *v) {
  const Node *layer = layer_of(v);
  bool channels_first = v->shape.rank > 2 && layer && (layer->op == &op_conv || layer->op == &op_conv_transpose);
  if (!channels_first) return v;
  return emit_with(h->g, "Flatten", ATTRS(attr_of_int("axis", 1)), emit(h->g, "GlobalAveragePool", v));
}

/* ---- layers ---- */

/* Initializes like torch.nn.Linear: uniform between ± 1 / √inputs; `bound` 0: zeros. */
static Value *parameter(Head *h, const char *name, Shape shape, float bound) {
  static const Rng rng = {0};
  size_t count = shape_elements(&shape);
  float *data = ARENA_ARRAY(h->g->arena, float, count);
  if (!data) return NULL;
  h->drawn++;
  for (size_t i = 0; bound > 0 && i < count; i++) {
    uint32_t bits[4];
    rng_block(&rng, h->drawn, (uint32_t)(i / 4), bits);
    data[i] = bound * (2 * rng_unit(bits[i % 4]) - 1);
  }
  Value *v = graph_constant(h->g, graph_fresh_name(h->g, name), DTYPE_FLOAT32, &shape, data);
  if (!v || !names_add(h->parameters, v->name, h->arena)) return NULL;
  v->initializer = true;
  v->note = NOTE_PARAMETER;
  return v;
}

typedef struct Layer {
  Value *x, *weight, *bias;
} Layer;

/* W (units, inputs) of matrices x, as torch.nn.Linear has it; (inputs, units) where x has more dims. */
static Layer layer_on(Head *h, Value *x, int units, const char *weight, const char *bias, bool zeros) {
  bool matrix = x->shape.rank == 2;
  Dim inputs = x->shape.dim[x->shape.rank - 1];
  float bound = zeros ? 0 : 1 / sqrtf((float)inputs);
  Shape shape = matrix ? SHAPE(units, inputs) : SHAPE(inputs, units);
  return (Layer){x, parameter(h, weight, shape, bound), parameter(h, bias, SHAPE(units), bound)};
}

/* x Wᵀ + b of matrices, else x W + b. */
static Value *put_layer(Head *h, Layer l) {
  if (l.x->shape.rank == 2) return emit_with(h->g, "Gemm", ATTRS(attr_of_int("transB", 1)), l.x, l.weight, l.bias);
  return emit(h->g, "Add", emit(h->g, "MatMul", l.x, l.weight), l.bias);
}

static Status set_texts(Head *h, const char *key, const char *const *texts, int count) {
  TextBuilder p = text_new(h->g->arena);
  for (int i = 0; i < count; i++) text_put(&p, i ? "," : "["), text_string(&p, texts[i]);
  text_put(&p, "]");
  return p.text ? graph_set_metadata(h->g, key, p.text) : STATUS_OUT_OF_MEMORY;
}

static Status check_features(Head *h, const Value *v) {
  char dims[SHAPE_TEXT], title[TITLE_TEXT];
  Dim last = v->shape.rank > 1 ? v->shape.dim[v->shape.rank - 1] : -1;
  if (v->type == DTYPE_FLOAT32 && last > 0 && dim_is_number(last)) return STATUS_OK;
  return error_set(h->g->error, STATUS_INVALID_ARGUMENT, NULL,
                   "head: features are float32 of (examples, …, a number of features), %s is %s %s",
                   value_title(v, title), dtype_name(v->type), shape_print(&v->shape, dims));
}

static Value *put_layers(Head *h, Value *x) {
  const HeadOptions *o = h->o;
  if (!(x = pooled(h, x)) || check_features(h, x) != STATUS_OK) return NULL;
  if (o->hidden) {
    Layer hidden = layer_on(h, x, o->hidden, "head.hidden.weight", "head.hidden.bias", false);
    if (!(x = emit(h->g, "Relu", put_layer(h, hidden)))) return NULL;
  }
  Layer last = layer_on(h, x, o->classes.count, "head.weight", "head.bias", true);
  Value *scores = put_layer(h, last);
  if (!scores || graph_rename(h->g, scores, SCORES) != STATUS_OK) return NULL;
  const char *const names[] = {x->name, last.weight->name, last.bias->name};
  if (graph_metadata(h->g, CALIBRATION_KEY))
    graph_set_metadata(h->g, CALIBRATION_KEY, ""); /* the old scores' calibration does not hold */
  bool done = set_texts(h, CLASSES_KEY, o->classes.names, o->classes.count) == STATUS_OK &&
              set_texts(h, HEAD_KEY, names, 3) == STATUS_OK;
  return done ? scores : NULL;
}

/* ---- what is left ---- */

static void want(bool *wanted, const Value *v) {
  wanted[v->index] = true;
  for (int i = 0; i < v->item_count; i++) wanted[v->items[i]->index] = true;
}

static bool is_wanted(const bool *wanted, const Node *n) {
  for (int i = 0; i < n->out_count; i++)
    if (n->out[i] && wanted[n->out[i]->index]) return true;
  return false;
}

/* A name that the head wants, of a value that is gone, as of a head before this one. */
static Status free_name(Graph *g, Value *v) {
  bool ours = strncmp(v->name, "head.", 5) == 0 || strcmp(v->name, SCORES) == 0;
  return ours ? graph_rename(g, v, "dropped") : STATUS_OK;
}

/* Keeps only the nodes, inputs and initializers that v needs. A dropped initializer becomes nobody's value. */
static Status keep_what_gives(Graph *g, const Value *v) {
  bool *wanted = ARENA_ARRAY(g->arena, bool, g->value_count);
  int nodes = 0, inputs = 0;
  if (!wanted) return STATUS_OUT_OF_MEMORY;
  want(wanted, v);
  for (int i = g->node_count - 1; i >= 0; i--)
    for (int k = 0; is_wanted(wanted, g->nodes[i]) && k < g->nodes[i]->in_count; k++)
      if (g->nodes[i]->in[k]) want(wanted, g->nodes[i]->in[k]);
  for (int i = 0; i < g->node_count; i++)
    if (is_wanted(wanted, g->nodes[i])) g->nodes[nodes++] = g->nodes[i];
  for (int i = 0; i < g->input_count; i++)
    if (wanted[g->inputs[i]->index]) g->inputs[inputs++] = g->inputs[i];
  g->node_count = nodes;
  g->input_count = inputs;
  g->output_count = 0;
  for (int i = 0; i < g->value_count; i++) {
    if (wanted[i]) continue;
    if (g->values[i]->kind == VALUE_CONSTANT) g->values[i]->kind = VALUE_NODE;
    TRY(free_name(g, g->values[i]));
  }
  return STATUS_OK;
}

Status head_put(Graph *g, const HeadOptions *o, NameList *parameters, Arena *arena) {
  Head h = {.g = g, .o = o, .parameters = parameters, .arena = arena};
  Value *features = find_features(&h), *scores = NULL;
  if (features && keep_what_gives(g, features) == STATUS_OK) scores = put_layers(&h, features);
  if (scores && graph_add_output(g, scores) == STATUS_OK) return STATUS_OK;
  return error_memory(g->error, "for the head"); /* the first error wins */
}
