/* Told: what PyTorch's exporter by dynamo notes about initializers, in the metadata of their value_info, and nodes.
 *
 * Of those that it took as they were, whether they are parameters or buffers. Of those that it computed, from which
 * names; the graph's own metadata says which of these were parameters:
 *
 * Of a node, in which module it was.
 *
 *   graph   p_wpe_weight: PARAMETER target='wpe.weight'
 *   value   'embedding_1' is folded_from "['arange', 'val_4', 'wpe.weight']" */
#include <stdlib.h>
#include <string.h>

#include "onnx/parts.h"

/* A part of a text. */
typedef struct Span {
  const char *at;
  size_t length;
} Span;

static int compare(const void *a, const void *b) {
  const Span *x = a, *y = b;
  int order = memcmp(x->at, y->at, x->length < y->length ? x->length : y->length);
  return order ? order : (x->length > y->length) - (x->length < y->length);
}

static const char *note_of(Onnx__StringStringEntryProto *const *notes, size_t count, const char *key) {
  for (size_t i = 0; i < count; i++)
    if (notes[i]->key && notes[i]->value && strcmp(notes[i]->key, key) == 0) return notes[i]->value;
  return NULL;
}

/* The next text in quotes; what follows it, or NULL where there is none. */
static const char *quoted(const char *at, Span *name) {
  const char *begin = strchr(at, '\''), *end = begin ? strchr(begin + 1, '\'') : NULL;
  if (end) *name = (Span){begin + 1, (size_t)(end - begin - 1)};
  return end ? end + 1 : NULL;
}

typedef struct Parameters {
  Span *names; /* in order; NULL where the file does not say */
  size_t count;
} Parameters;

static Status read_parameters(const OnnxReader *r, Parameters *p) {
  static const char kind[] = ": PARAMETER "; /* one with more words would look like a sentence, which shrink drops */
  const char *text = note_of(r->from->metadata_props, r->from->n_metadata_props,
                             "pkg.torch.export.ExportedProgram.graph_signature");
  size_t capacity = 0;
  *p = (Parameters){0};
  for (const char *at = text; at && (at = strstr(at, kind)); at += sizeof kind - 1) capacity++;
  if (!capacity) return STATUS_OK;
  if (!(p->names = ARENA_ARRAY(r->arena, Span, capacity)))
    return error_set(r->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the names of parameters");
  for (const char *at = text; at && p->count < capacity && (at = strstr(at, kind)); p->count += at != NULL)
    at = quoted(at, &p->names[p->count]);
  qsort(p->names, p->count, sizeof *p->names, compare);
  return STATUS_OK;
}

/* The first parameter of a list of names. */
static bool first_of(const Parameters *p, const char *list, Span *name) {
  while ((list = quoted(list, name)))
    if (bsearch(name, p->names, p->count, sizeof *name, compare)) return true;
  return false;
}

static const char *kind_of(const Onnx__ValueInfoProto *from) {
  return note_of(from->metadata_props, from->n_metadata_props, "pkg.torch.export.graph_signature.InputSpec.kind");
}

static Status read_value(const OnnxReader *r, const Parameters *p, const Onnx__ValueInfoProto *from) {
  const char *kind = kind_of(from);
  const char *list = note_of(from->metadata_props, from->n_metadata_props, "pkg.onnxscript.optimizer.folded_from");
  Value *v = (kind || list) && from->name && *from->name ? graph_find(r->graph, from->name) : NULL;
  Span name;
  if (!v || !v->initializer) return STATUS_OK;
  if (kind) v->told = strcmp(kind, "PARAMETER") == 0 ? TOLD_PARAMETER : TOLD_NO_PARAMETER;
  if (kind || !p->names) return STATUS_OK;
  v->told = TOLD_NO_PARAMETER;
  if (!first_of(p, list, &name)) return STATUS_OK;
  v->told = TOLD_PARAMETER;
  v->computed_from = arena_print(r->arena, "%.*s", (int)name.length, name.at);
  return v->computed_from
           ? STATUS_OK
           : error_set(r->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the names of parameters");
}

/* Keras on PyTorch hands its variables over as constants: where none is told a parameter, a constant may be one. */
static void doubt_constants(const OnnxReader *r) {
  for (int i = 0; i < r->graph->value_count; i++)
    if (r->graph->values[i]->told == TOLD_PARAMETER) return;
  for (size_t i = 0; i < r->from->n_value_info; i++) {
    const char *kind = kind_of(r->from->value_info[i]), *name = r->from->value_info[i]->name;
    Value *v = name && !(kind && strcmp(kind, "BUFFER") == 0) ? graph_find(r->graph, name) : NULL;
    if (v) v->told = TOLD_NOTHING;
  }
}

/* ['', 'model', 'model.fc', 'linear']: the last is the node's own, before it stands its module. */
Status onnx_told_read_node(OnnxReader *r, const Onnx__NodeProto *from) {
  const char *list = note_of(from->metadata_props, from->n_metadata_props, "pkg.torch.onnx.name_scopes");
  Value *v = list && from->n_output ? graph_find(r->graph, from->output[0]) : NULL;
  Span last = {0}, module = {0}, name;
  if (!v || !v->producer) return STATUS_OK;
  while ((list = quoted(list, &name))) module = last, last = name;
  if (!module.length) return STATUS_OK;
  v->producer->module = arena_print(r->arena, "%.*s", (int)module.length, module.at);
  return v->producer->module
           ? STATUS_OK
           : error_set(r->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the names of modules");
}

Status onnx_told_read(OnnxReader *r) {
  Parameters p;
  TRY(read_parameters(r, &p));
  for (size_t i = 0; i < r->from->n_value_info; i++) TRY(read_value(r, &p, r->from->value_info[i]));
  doubt_constants(r);
  return STATUS_OK;
}
