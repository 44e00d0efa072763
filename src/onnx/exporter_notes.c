/* Exporter notes: metadata about initializers (in their value_info) and nodes.
 *
 * PyTorch's dynamo exporter says of an initializer that it took over unchanged whether it is a parameter or a buffer,
 * and of one that it computed, from which names. The graph's own metadata says which of these names were parameters:
 *
 *   graph   p_wpe_weight: PARAMETER target='wpe.weight'
 *           b_mask: BUFFER target='mask' persistent=True
 *   value   'embedding_1' is folded_from "['arange', 'val_4', 'wpe.weight']"
 *
 * It says of a node in which module it was, which row of an embedding belongs to no example, and what is detached.
 *
 * Any exporter declares how many dims a value has.
 *
 * PyTorch's TorchScript exporter notes nothing, but an initializer that it did not compute keeps its path in the
 * module, such as 'encoder.pos_embed'. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "graph/notes.h"
#include "onnx/parts.h"

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

/* A line each: p_wpe_weight: PARAMETER target='wpe.weight'. */
static bool read_placeholder(const char *line, Placeholder *p) {
  static const char kind[] = ": PARAMETER "; /* one with more words would look like a sentence, which shrink drops */
  size_t length = strcspn(line, ":\n"), all = strcspn(line, "\n");
  const char *target = strstr(line, " target='");
  if (!target || target >= line + all || !quoted(target, &p->target)) return false;
  p->name = (Span){line, length};
  p->parameter = strncmp(line + length, kind, sizeof kind - 1) == 0;
  return true;
}

static Status read_placeholders(OnnxReader *r) {
  const char *text = note_of(r->from->metadata_props, r->from->n_metadata_props,
                             "pkg.torch.export.ExportedProgram.graph_signature");
  size_t capacity = 0;
  for (const char *at = text; at && (at = strstr(at, " target='")); at++) capacity++;
  if (!capacity) return STATUS_OK;
  if (!(r->placeholders = ARENA_ARRAY(r->arena, Placeholder, capacity)))
    return error_memory(r->error, "for the names of parameters");
  for (const char *at = text; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
    r->placeholder_count += read_placeholder(at, &r->placeholders[r->placeholder_count]);
  return STATUS_OK;
}

static const Placeholder *of_target(const OnnxReader *r, Span target) {
  for (size_t i = 0; i < r->placeholder_count; i++) {
    const Placeholder *p = &r->placeholders[i];
    if (p->target.length == target.length && memcmp(p->target.at, target.at, target.length) == 0) return p;
  }
  return NULL;
}

const Placeholder *onnx_exporter_target(const OnnxReader *r, const char *target) {
  return of_target(r, (Span){target, strlen(target)});
}

const Placeholder *onnx_exporter_placeholder(const OnnxReader *r, const Value *v) {
  return onnx_exporter_target(r, v->computed_from ? v->computed_from : v->name);
}

static bool begins(const Span *name, const char *word) {
  size_t length = strlen(word);
  return name->length >= length && memcmp(name->at, word, length) == 0 &&
         (name->length == length || name->at[length] == '_');
}

static bool is_sum(const Span *name) { return begins(name, "add") || begins(name, "sub"); }
static bool is_transposed(const Span *name) {
  return begins(name, "t") || begins(name, "transpose") || begins(name, "permute");
}

bool onnx_exporter_changes(const Span *name) {
  static const char *const moves[] = {"val",   "scalar", "arange",  "view",   "reshape",   "unsqueeze", "squeeze",
                                      "slice", "split",  "getitem", "select", "expand",    "repeat",    "cat",
                                      "stack", "flip",   "clone",   "neg",    "embedding", "zeros"};
  bool moved = is_sum(name) || is_transposed(name);
  for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) moved |= begins(name, moves[i]);
  return !moved;
}

/* Tells whether only a run gives it: then its shape alone is in what was computed. */
static bool is_of_run(const OnnxReader *r, Span name) {
  const char *text = arena_print(r->arena, "%.*s", (int)name.length, name.at);
  const Value *v = text ? graph_find(r->graph, text) : NULL;
  return v ? v->kind == VALUE_INPUT : text && graph_stable_name(r->graph, text) != text;
}

/* Chooses the origin of a constant from the names that it was computed from: the first parameter, or the first name if
 * the file `names` no parameters, as for Keras' variables. */
static Status read_origin(const OnnxReader *r, bool names, const char *list, Value *v) {
  Span first = {0}, name = {v->name, strlen(v->name)};
  int parameters = 0, placeholders = 0;
  bool holes = begins(&name, "tril") || begins(&name, "triu"), sum = is_sum(&name), transposed = false;
  v->computed_changed = onnx_exporter_changes(&name);
  while ((list = quoted(list, &name))) {
    const Placeholder *p = of_target(r, name);
    if (!p && !begins(&name, "val") && is_of_run(r, name)) continue;
    v->computed_changed |= !p && onnx_exporter_changes(&name);
    sum |= !p && is_sum(&name), transposed |= !p && is_transposed(&name);
    holes |= p && !p->parameter;
    placeholders += p != NULL;
    if (p && p->parameter && !parameters++) first = name;
    if (p && !names && !first.length) first = name;
  }
  v->computed_changed |= sum && (transposed || parameters > 1);
  v->note = parameters ? NOTE_PARAMETER : names || !placeholders ? NOTE_NO_PARAMETER : NOTE_NONE;
  v->computed_masked = holes && parameters == 1;
  if (!first.length) return STATUS_OK;
  v->computed_from = arena_copy_part(r->arena, first.at, first.length);
  return v->computed_from ? STATUS_OK : error_memory(r->error, "for the names of parameters");
}

static const char *kind_of(const Onnx__ValueInfoProto *from) {
  return note_of(from->metadata_props, from->n_metadata_props, "pkg.torch.export.graph_signature.InputSpec.kind");
}

const char *onnx_exporter_origins(const Onnx__ValueInfoProto *from) {
  return note_of(from->metadata_props, from->n_metadata_props, "pkg.onnxscript.optimizer.folded_from");
}

static Status read_value(const OnnxReader *r, bool names, const Onnx__ValueInfoProto *from) {
  const char *kind = kind_of(from), *list = onnx_exporter_origins(from);
  Value *v = (kind || list) && from->name && *from->name ? graph_find(r->graph, from->name) : NULL;
  if (!v || !v->initializer) return STATUS_OK;
  if (kind) v->note = strcmp(kind, "PARAMETER") == 0 ? NOTE_PARAMETER : NOTE_NO_PARAMETER;
  return kind || !r->placeholder_count ? STATUS_OK : read_origin(r, names, list, v);
}

/* Keras on PyTorch hands its variables over as constants: where none is told a parameter, a constant may be one. */
static void doubt_constants(const OnnxReader *r) {
  for (int i = 0; i < r->graph->value_count; i++)
    if (r->graph->values[i]->note == NOTE_PARAMETER) return;
  for (size_t i = 0; i < r->from->n_value_info; i++) {
    const char *kind = kind_of(r->from->value_info[i]), *name = r->from->value_info[i]->name;
    Value *v = name && kind && strcmp(kind, "BUFFER") != 0 ? graph_find(r->graph, name) : NULL;
    if (v) v->note = NOTE_NONE;
  }
}

const char *onnx_exporter_note(const Onnx__NodeProto *n, const char *key) {
  return note_of(n->metadata_props, n->n_metadata_props, key);
}

/* ['', 'model', 'model.fc', 'linear']: the last is the node's own, before it stands its module. */
Status onnx_exporter_read_module(OnnxReader *r, const Onnx__NodeProto *next) {
  const char *list = onnx_exporter_note(next, "pkg.torch.onnx.name_scopes");
  Span last = {0}, module = {0}, name;
  r->graph->module = NULL;
  while (list && (list = quoted(list, &name))) module = last, last = name;
  if (!module.length) return STATUS_OK;
  r->graph->module = arena_copy_part(r->arena, module.at, module.length);
  return r->graph->module ? STATUS_OK : error_memory(r->error, "for the names of modules");
}

/* The third argument of aten.embedding, where there is one: (%p_wte_weight, %input, 0). */
static const char *padding_in(const OnnxReader *r, const char *call) {
  static const char embedding[] = "aten.embedding.default](args = (";
  const char *at = strstr(call, embedding);
  size_t length;
  for (int i = 0; at && i < 2; i++) at = at[strcspn(at, ",)")] == ',' ? strchr(at, ',') + 2 : NULL;
  return at && (length = strspn(at, "0123456789")) ? arena_copy_part(r->arena, at, length) : NULL;
}

/* jax2onnx notes nothing, but it calls so what lax.stop_gradient gives. */
static bool is_detached(const Onnx__NodeProto *from, const char *call) {
  static const char made[] = "stop_out_";
  return strcmp(from->op_type, "Identity") == 0 &&
         (strstr(call, "aten.detach") || strncmp(from->output[0], made, sizeof made - 1) == 0);
}

Status onnx_exporter_read_node(OnnxReader *r, const Onnx__NodeProto *from) {
  const char *call = onnx_exporter_note(from, "pkg.torch.onnx.fx_node");
  Value *v = from->n_output ? graph_find(r->graph, from->output[0]) : NULL;
  if (!v || !v->producer) return STATUS_OK;
  v->producer->in_training = call && strstr(call, "batch_norm_legit_functional"); /* else …_no_training */
  if (is_detached(from, call ? call : "")) return notes_add(r->graph, DETACHED_KEY, v->name, "");
  const char *padding = call && strcmp(from->op_type, "Gather") == 0 ? padding_in(r, call) : NULL;
  return padding ? notes_add(r->graph, PADDING_KEY, v->name, padding) : STATUS_OK;
}

static const Onnx__ValueInfoProto *named(Onnx__ValueInfoProto *const *list, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (list[i]->name && strcmp(list[i]->name, name) == 0) return list[i];
  return NULL;
}

int onnx_exporter_rank(const Onnx__GraphProto *from, const char *name) {
  const Onnx__ValueInfoProto *value = named(from->output, from->n_output, name);
  if (!value) value = named(from->value_info, from->n_value_info, name);
  const Onnx__TypeProto *type = value ? value->type : NULL;
  if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !type->tensor_type->shape) return -1;
  return type->tensor_type->shape->n_dim > RANK_MAX ? -1 : (int)type->tensor_type->shape->n_dim;
}

/* A tool may have written a file of the exporter by dynamo without its notes: 'val_12' is a constant that it made up,
 * 'embedding_1' or 'expand' may be rows that it repeated. */
static void find_attributes(const OnnxReader *r) {
  for (int i = 0; i < r->graph->value_count; i++) {
    Value *v = r->graph->values[i];
    bool made = isdigit((unsigned char)*v->name) || strpbrk(v->name, ":/") || strncmp(v->name, "val_", 4) == 0;
    if (!v->initializer || made) continue;
    Span name = {v->name, strlen(v->name)};
    v->note = NOTE_ATTRIBUTE;
    if (begins(&name, "embedding") || begins(&name, "expand")) v->computed_from = v->name;
  }
}

/* The notes that an export of ours carries on. */
static void read_kept(const OnnxReader *r) {
  for (int i = 0; i < r->graph->value_count; i++) {
    Value *v = r->graph->values[i];
    const char *kept = v->initializer ? notes_find(r->graph, NOTES_KEY, v->name) : NULL;
    if (kept && *kept) v->note = (ExporterNote)(kept[1] & 3);
  }
}

/* Returns the start of argument `i` of a call; NULL if there are fewer arguments. */
static const char *argument(const char *list, int i) {
  const char *end = list ? strchr(list, ')') : NULL;
  for (; i && list; i--) list = (list = strchr(list, ',')) && list < end ? list + 1 : NULL;
  return end ? list : NULL;
}

/* aten.embedding_bag.padding_idx](args = (%p_e_weight, %x, %offsets, False, 1, False, None, False, 2), kwargs = {}):
 * the arguments from 4 and from 8 on are the mode and the padding, if any. */
Status onnx_exporter_read_loop(OnnxReader *r, const Onnx__NodeProto *from, Attr **attrs, int *count) {
  const char *call = onnx_exporter_note(from, "pkg.torch.onnx.fx_node");
  if (!call || strcmp(from->op_type, "Loop") != 0 || !strstr(call, "kwargs = {}")) return STATUS_OK;
  bool is_bag = strstr(call, "aten.embedding_bag") || strstr(call, "aten._embedding_bag");
  const char *list = is_bag ? strstr(call, "(args = (") : NULL;
  if (!list) return STATUS_OK;
  const char *mode = argument(list, 4), *padding = argument(list, 8);
  int64_t *ints = ARENA_ARRAY(r->arena, int64_t, 2);
  Attr *more = ARENA_ARRAY(r->arena, Attr, *count + 1);
  if (!ints || !more) return error_memory(r->error, "for a node's attributes");
  bool pads = padding && !strchr(" N", padding[1]);
  ints[0] = mode ? strtoll(mode, NULL, 10) : 0;
  ints[1] = pads ? strtoll(padding, NULL, 10) : 0;
  if (*count) memcpy(more, *attrs, (size_t)*count * sizeof *more);
  more[*count] = attr_of_ints("embedding_bag", ints, 1 + pads);
  *attrs = more;
  ++*count;
  return STATUS_OK;
}

Status onnx_exporter_read(OnnxReader *r) {
  TRY(read_placeholders(r));
  if (r->by_pytorch && !r->placeholder_count) find_attributes(r);
  bool names = false;
  for (size_t i = 0; i < r->from->n_value_info; i++) {
    const char *kind = kind_of(r->from->value_info[i]);
    names |= kind && strcmp(kind, "PARAMETER") == 0;
  }
  for (size_t i = 0; i < r->from->n_value_info; i++) TRY(read_value(r, names, r->from->value_info[i]));
  doubt_constants(r);
  if (graph_metadata(r->graph, NOTES_KEY)) read_kept(r);
  return STATUS_OK;
}
