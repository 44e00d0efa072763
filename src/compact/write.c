/* Writes compact files: the same walk over everything three times, which collects the texts, counts the bytes, and
 * writes them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/crc32.h"
#include "compact/stored.h"
#include "graph/strings.h"
#include "kernels/number.h"
#include "kernels/quantized.h"

const uint8_t compact_magic[5] = {0x0D, 'T', 'L', 'C', 'P'};

typedef struct Writer {
  uint8_t *at; /* the next byte's place; NULL while bytes are only counted */
  size_t count;
  bool collects, failed;
  const char **texts; /* sorted, each once, when they have been collected */
  int text_count, text_capacity;
  TrainletWeights weights;
  Arena *arena;
  Error *error;
} Writer;

static Status out_of_memory(Writer *w) { return error_memory(w->error, "for the compact file"); }

/* ---- bytes, numbers, texts ---- */

static void put(Writer *w, const void *bytes, size_t count) {
  if (w->at && count) memcpy(w->at, bytes, count), w->at += count;
  w->failed |= !size_add(w->count, count, &w->count);
}

static void put_byte(Writer *w, uint8_t byte) { put(w, &byte, 1); }

static void put_count(Writer *w, uint64_t x) {
  for (; x >= 0x80; x >>= 7) put_byte(w, (uint8_t)(x | 0x80));
  put_byte(w, (uint8_t)x);
}

/* 0, -1, 1, -2 … as 0, 1, 2, 3 … */
static void put_int(Writer *w, int64_t x) { put_count(w, (uint64_t)x << 1 ^ (uint64_t)(x >> 63)); }

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void collect(Writer *w, const char *text) {
  const char **grown = arena_list_grow(w->arena, w->texts, w->text_count, &w->text_capacity, sizeof *grown);
  if (!grown) return (void)(w->failed = true);
  w->texts = grown;
  w->texts[w->text_count++] = text;
}

/* Its number in the list of texts, from 1; 0 for NULL. */
static void put_text(Writer *w, const char *text) {
  if (w->collects && text) return collect(w, text);
  const char **found = text ? bsearch(&text, w->texts, (size_t)w->text_count, sizeof text, compare_texts) : NULL;
  put_count(w, found ? (uint64_t)(found - w->texts) + 1 : 0);
}

static void sort_texts(Writer *w) {
  int kept = 0;
  qsort(w->texts, (size_t)w->text_count, sizeof *w->texts, compare_texts);
  for (int i = 0; i < w->text_count; i++)
    if (!kept || strcmp(w->texts[kept - 1], w->texts[i]) != 0) w->texts[kept++] = w->texts[i];
  w->text_count = kept;
}

/* Writes, for each text, the length of the prefix that it shares with the previous text, and the rest. */
static void put_texts(Writer *w) {
  const char *before = "";
  put_count(w, (uint64_t)w->text_count);
  for (int i = 0; i < w->text_count; before = w->texts[i++]) {
    const char *text = w->texts[i];
    uint8_t same = 0;
    while (same < UINT8_MAX && text[same] && text[same] == before[same]) same++;
    put_byte(w, same);
    put_count(w, strlen(text + same));
    put(w, text + same, strlen(text + same));
  }
}

/* ---- tensors ---- */

static void put_dims(Writer *w, const Shape *s) {
  put_count(w, (uint64_t)s->rank);
  for (int i = 0; i < s->rank; i++) {
    bool number = dim_is_number(s->dim[i]);
    put_int(w, number ? s->dim[i] : -1 - dim_symbol(s->dim[i]));
  }
}

/* A scale next to 0 is rounded so much that x may be past the end. */
static int8_t int8_of(float x, float scale) { return scale > 0 ? quantized_clamp(rintf(x / scale)) : 0; }

/* Writes float16, or int8 with a scale for each channel of the first dim, so that the channel's largest element becomes
 * 127. */
static void put_coded(Writer *w, const float *x, const Shape *s, size_t count, bool halves) {
  size_t channels = halves ? 0 : (size_t)s->dim[0];
  float *scales = ARENA_ARRAY(w->arena, float, channels);
  if (!scales) return (void)(w->failed = true);
  for (size_t i = 0; channels && i < count; i++) {
    float *scale = &scales[i / (count / channels)], most = fabsf(x[i]) / INT8_MAX;
    if (most > *scale) *scale = most;
  }
  put(w, scales, channels * sizeof *scales);
  for (size_t i = 0; i < count; i++) {
    float scale = channels ? scales[i / (count / channels)] : 1;
    uint16_t half = halves ? half_of_double(x[i]) : (uint16_t)int8_of(x[i], scale);
    put(w, &half, halves ? sizeof half : 1);
  }
}

enum { HALF_END = 65520 }; /* rounds to infinity */

static CompactCoding coding_of(TrainletWeights weights, const CheckpointTensor *t, size_t count) {
  if (weights == TRAINLET_WEIGHTS_EXACT || t->type != DTYPE_FLOAT32 || t->shape.rank < 2 || !count) return CODING_EXACT;
  const float *x = t->data;
  bool halves = weights == TRAINLET_WEIGHTS_FLOAT16;
  for (size_t i = 0; i < count; i++)
    if (!isfinite(x[i]) || (halves && fabsf(x[i]) >= HALF_END)) return CODING_EXACT;
  return halves ? CODING_HALF : CODING_INT8;
}

static void put_tensor(Writer *w, const CheckpointTensor *t, TrainletWeights weights) {
  size_t count = t->data ? shape_elements(&t->shape) : 0;
  CompactCoding coding = t->data ? coding_of(weights, t, count) : CODING_NONE;
  put_count(w, t->type);
  put_dims(w, &t->shape);
  put_byte(w, (uint8_t)coding);
  if (coding > CODING_EXACT) put_coded(w, t->data, &t->shape, count, coding == CODING_HALF);
  else if (t->type != DTYPE_STRING) put(w, t->data, count * dtype_raw_bytes(t->type));
  else
    for (size_t i = 0; i < count; i++) put_text(w, strings_text(((const char *const *)t->data)[i]));
}

static CheckpointTensor tensor_of(const Value *v) {
  return (CheckpointTensor){.name = v->name, .type = v->type, .shape = v->shape, .data = v->data};
}

/* ---- fields ---- */

static void put_field(Writer *w, const Field *f, const char *base);

static void put_attr(Writer *w, const Attr *a) {
  put_text(w, a->name);
  put_count(w, a->kind);
  if (a->kind != ATTR_TENSOR) return put_field(w, &stored_attr_values[a->kind], (const char *)a);
  CheckpointTensor t = tensor_of(a->tensor);
  put_text(w, t.name);
  put_tensor(w, &t, TRAINLET_WEIGHTS_EXACT);
}

static void put_record(Writer *w, const Record *of, const void *record) {
  for (const Field *f = of->fields; f->kind; f++) put_field(w, f, record);
}

static void put_list(Writer *w, const Record *of, const char *items, int count) {
  put_count(w, (uint64_t)count);
  for (int i = 0; i < count; i++) put_record(w, of, items + (size_t)i * of->bytes);
}

static void put_field(Writer *w, const Field *f, const char *base) {
  const void *at = base + f->at;
  switch (f->kind) {
    case FIELD_FLAG: return put(w, at, 1);
    case FIELD_INT: return put_count(w, (uint64_t)*(const int *)at);
    case FIELD_LONG: return put_int(w, *(const int64_t *)at);
    case FIELD_FLOAT: return put(w, at, sizeof(float));
    case FIELD_TEXT:
    case FIELD_OPTION: return put_text(w, *(const char *const *)at);
    case FIELD_CONSTANT:
    case FIELD_TENSOR: return put_tensor(w, at, TRAINLET_WEIGHTS_EXACT);
    case FIELD_WEIGHT: return put_tensor(w, at, w->weights);
    case FIELD_ATTR: return put_attr(w, at);
    case FIELD_LIST: return put_list(w, f->of, *(const char *const *)at, *(const int *)(base + f->count_at));
    case FIELD_FEW: return put_list(w, f->of, at, *(const int *)(base + f->count_at));
    default: return;
  }
}

/* ---- graphs ---- */

/* True if the reader can add the node to a graph again. */
static bool is_plain(const Node *n) {
  bool plain = !n->deferred.pending;
  for (int i = 0; i < n->in_count; i++) plain &= !n->in[i] || n->in[i]->kind != VALUE_SEQUENCE;
  for (int i = 0; i < n->attr_count; i++) plain &= n->attrs[i].kind < ATTR_KINDS;
  return plain &&
         graph_is_plain(&(Added){n->op, n->name, n->in, n->in_count, NULL, n->out_count, n->attrs, n->attr_count});
}

/* `numbers`: by the index of a value; the node's outputs get theirs here. */
static Status store_node(Writer *w, const Node *n, int place, int *numbers, int *count, StoredNode *to) {
  if (!is_plain(n))
    return error_set(w->error, STATUS_INVALID_ARGUMENT, n->name,
                     "%s '%.128s' decides only in a run what it is made of: no compact file can hold it", n->op->name,
                     n->name);
  *to = (StoredNode){n->op->domain ? n->op->domain : "",
                     n->op->name,
                     n->name,
                     n->stream - place,
                     ARENA_ARRAY(w->arena, int, n->in_count),
                     ARENA_ARRAY(w->arena, const char *, n->out_count),
                     n->attrs,
                     n->in_count,
                     n->out_count,
                     n->attr_count};
  if (!to->in || !to->out) return out_of_memory(w);
  for (int i = 0; i < n->in_count; i++) to->in[i] = n->in[i] ? numbers[n->in[i]->index] : 0;
  for (int i = 0; i < n->out_count; i++) {
    if (!n->out[i]) continue;
    to->out[i] = n->out[i]->name;
    numbers[n->out[i]->index] = ++*count;
  }
  return STATUS_OK;
}

/* Symbols up to the last one of an input's dims: infer functions make those after them again. */
static int count_symbols(const Graph *g) {
  int count = 0;
  for (int i = 0; i < g->input_count; i++)
    for (int k = 0; k < g->inputs[i]->shape.rank; k++) {
      Dim d = g->inputs[i]->shape.dim[k];
      if (dim_is_symbol(d) && dim_symbol(d) >= count) count = dim_symbol(d) + 1;
    }
  return count;
}

static Status store_graph(Writer *w, const Graph *g, StoredGraph *to) {
  int *numbers = ARENA_ARRAY(w->arena, int, g->value_count), count = 0;
  *to = (StoredGraph){.ir_version = g->ir_version,
                      .file_opset = g->file_opset,
                      .made = g->made,
                      .opsets = g->opsets,
                      .opset_count = g->opset_count,
                      .metadata = ARENA_ARRAY(w->arena, const char *, 2 * g->metadata.count),
                      .metadata_count = 2 * g->metadata.count,
                      .symbols = g->symbols,
                      .symbol_count = count_symbols(g),
                      .values = ARENA_ARRAY(w->arena, StoredValue, g->value_count),
                      .nodes = ARENA_ARRAY(w->arena, StoredNode, g->node_count),
                      .node_count = g->node_count,
                      .outputs = ARENA_ARRAY(w->arena, int, g->output_count),
                      .output_count = g->output_count};
  if (w->arena->failed) return out_of_memory(w);
  for (int i = 0; i < g->metadata.count; i++)
    to->metadata[2 * i] = g->metadata.keys[i], to->metadata[2 * i + 1] = g->metadata.texts[i];
  for (int i = 0; i < g->value_count; i++) {
    const Value *v = g->values[i];
    if (v->kind != VALUE_CONSTANT && v->kind != VALUE_INPUT) continue;
    to->values[count] = (StoredValue){tensor_of(v), v->initializer};
    numbers[i] = ++count;
  }
  to->value_count = count;
  for (int i = 0; i < g->node_count; i++) TRY(store_node(w, g->nodes[i], i, numbers, &count, &to->nodes[i]));
  for (int i = 0; i < g->output_count; i++) to->outputs[i] = numbers[g->outputs[i]->index];
  return STATUS_OK;
}

/* ---- the optimizer ---- */

static void store_settings(Optimizer o, float settings[SETTING_COUNT]) {
  for (SettingId id = SETTING_END + 1; id < SETTING_COUNT; id++) {
    const Setting *s = optimizer_setting(id);
    settings[id - 1] = s->is_flag ? (float)*setting_flag(s, &o) : *setting_number(s, &o);
  }
}

/* ---- the file ---- */

static Status put_all(Writer *w, const Stored *stored) {
  w->count = sizeof(CompactHead);
  put_texts(w);
  put_record(w, &stored_record, stored);
  return w->failed ? out_of_memory(w) : STATUS_OK;
}

static void put_head(const Compact *c, uint8_t *file, size_t count) {
  CompactHead head = {.version = COMPACT_VERSION};
  memcpy(head.magic, compact_magic, sizeof head.magic);
  if (c->optimizer.kind != OPTIMIZER_NONE)
    strncpy(head.optimizer, optimizer_name(c->optimizer.kind), sizeof head.optimizer);
  memcpy(file, &head, sizeof head);
  head.checksum = crc32_of(file + COMPACT_CHECKED, count - COMPACT_CHECKED);
  memcpy(file + offsetof(CompactHead, checksum), &head.checksum, sizeof head.checksum);
}

static Status put_file(Writer *w, const Compact *c, const Stored *stored, Block *out, size_t *out_bytes) {
  w->collects = true;
  TRY(put_all(w, stored));
  sort_texts(w);
  w->collects = false;
  TRY(put_all(w, stored));
  *out_bytes = w->count;
  if (!block_reserve(out, *out_bytes)) return out_of_memory(w);
  w->at = (uint8_t *)out->data + sizeof(CompactHead);
  TRY(put_all(w, stored));
  put_head(c, out->data, *out_bytes);
  return STATUS_OK;
}

static Status write_with(Writer *w, const Compact *c, Block *out, size_t *out_bytes) {
  float settings[SETTING_COUNT];
  Stored stored;
  stored.settings = settings;
  stored.setting_count = 0;
  stored.graphs = ARENA_ARRAY(w->arena, StoredGraph, 2);
  stored.graph_count = c->eval ? 2 : 1;
  stored.checkpoint = c->checkpoint;
  if (!stored.graphs) return out_of_memory(w);
  if (c->optimizer.kind != OPTIMIZER_NONE)
    stored.setting_count = SETTING_COUNT - 1, store_settings(c->optimizer, settings);
  TRY(store_graph(w, c->train, &stored.graphs[0]));
  if (c->eval) TRY(store_graph(w, c->eval, &stored.graphs[1]));
  return put_file(w, c, &stored, out, out_bytes);
}

Status compact_write(const Compact *from, TrainletWeights weights, Error *error, Block *out, size_t *out_bytes) {
  Arena arena = {0};
  Writer w = {.weights = weights, .arena = &arena, .error = error};
  Status status = write_with(&w, from, out, out_bytes);
  arena_free(&arena);
  return status;
}
