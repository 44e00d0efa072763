/* Reads compact files: nothing in them is trusted. What leads outside of the bytes ends the reading, and each node
 * passes its operator's infer as it is added. */
#include <stdlib.h>
#include <string.h>

#include "checkpoint/crc32.h"
#include "compact/stored.h"
#include "graph/op.h"
#include "kernels/number.h"
#include "part.h"
#include "size.h"
#include "utf8.h"

typedef struct Reader {
  const uint8_t *start, *at, *end;
  bool failed; /* everything taken from then on is 0 or NULL */
  bool stays;  /* the bytes do: elements of the checkpoint may point into them */
  const char **texts;
  int text_count;
  Arena *arena, *frame;      /* arena: what runs read; frame: the rest */
  const CompactFixed *fixed; /* NULL: for a session */
  Status (*fix_dims)(struct Reader *r, const Graph *g, CheckpointTensor *input); /* NULL, too */
  Error *error;
} Reader;

static Status damage(Reader *r) {
  r->failed = true;
  return error_set(r->error, STATUS_INVALID_MODEL, NULL,
                   "the compact file is damaged: what it says at byte %zu cannot be", (size_t)(r->at - r->start));
}

/* Room that is zeroed. */
static void *room_in(Reader *r, Arena *arena, size_t count, size_t bytes) {
  void *to = r->failed ? NULL : arena_alloc_array(arena, count, bytes);
  if (to || r->failed) return to;
  r->failed = true;
  error_memory(r->error, "for the compact file");
  return NULL;
}
static void *room(Reader *r, size_t count, size_t bytes) { return room_in(r, r->frame, count, bytes); }

/* ---- bytes, numbers, texts ---- */

/* NULL where there are not so many. */
static const uint8_t *take(Reader *r, size_t count) {
  if (!r->failed && count > (size_t)(r->end - r->at)) damage(r);
  if (r->failed) return NULL;
  r->at += count;
  return r->at - count;
}

static void take_bytes(Reader *r, void *to, size_t count) {
  const uint8_t *from = take(r, count);
  if (from) memcpy(to, from, count);
}

static uint8_t take_byte(Reader *r) {
  uint8_t byte = 0;
  take_bytes(r, &byte, 1);
  return byte;
}

static uint64_t take_count(Reader *r) {
  uint64_t x = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    uint8_t byte = take_byte(r);
    x |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return x;
  }
  return damage(r), 0;
}

/* At most `most`. */
static int take_below(Reader *r, size_t most) {
  uint64_t x = take_count(r);
  if (x > most) damage(r);
  return r->failed ? 0 : (int)x;
}

/* The number of items that follow; each takes at least a byte. */
static int take_length(Reader *r) { return take_below(r, size_min((size_t)(r->end - r->at), INT32_MAX)); }

static int64_t take_int(Reader *r) {
  uint64_t x = take_count(r);
  return (int64_t)(x >> 1 ^ (0 - (x & 1)));
}

static const char *take_option(Reader *r) {
  int i = take_below(r, (size_t)r->text_count);
  return i ? r->texts[i - 1] : NULL;
}

static const char *take_text(Reader *r) {
  const char *text = take_option(r);
  if (!text) damage(r);
  return text;
}

enum { TEXTS_TIMES = 16, TEXTS_SMALL = 1 << 16 }; /* texts may share their beginnings so many times, not for ever */

static void read_texts(Reader *r) {
  size_t budget = (size_t)(r->end - r->start), before_bytes = 0;
  if (!size_multiply(budget, TEXTS_TIMES, &budget) || !size_add(budget, TEXTS_SMALL, &budget)) budget = SIZE_MAX;
  int count = take_length(r);
  r->texts = room(r, (size_t)count, sizeof *r->texts);
  for (const char *before = ""; !r->failed && r->text_count < count; before = r->texts[r->text_count++]) {
    size_t same = take_byte(r), more = (size_t)take_length(r);
    const uint8_t *bytes = take(r, more);
    if (same > before_bytes || same + more >= budget) damage(r);
    char *text = room(r, same + more + 1, 1);
    if (!text) return;
    memcpy(text, before, same);
    memcpy(text + same, bytes, more);
    if (strlen(text) != same + more || utf8_whole(text, same + more) != same + more) return (void)damage(r);
    budget -= before_bytes = same + more;
    r->texts[r->text_count] = text;
  }
}

/* ---- tensors ---- */

static void take_dims(Reader *r, Shape *s) {
  s->rank = take_below(r, RANK_MAX);
  for (int i = 0; i < s->rank; i++) {
    s->dim[i] = take_int(r);
    if (s->dim[i] >= 0) continue;
    int64_t symbol = -1 - s->dim[i];
    if (symbol > INT32_MAX / 2) damage(r);
    else s->dim[i] = SYMBOL_0 - symbol;
  }
  if (r->failed) s->rank = 0;
}

/* Reads float16, or int8 with a scale for each channel of the first dim. */
static void take_coded(Reader *r, float *x, const CheckpointTensor *t, size_t count, bool halves) {
  size_t channels = halves || !count || !t->shape.rank ? 0 : (size_t)t->shape.dim[0];
  size_t item = halves ? sizeof(uint16_t) : sizeof(int8_t), channel_bytes = channels * sizeof(float);
  const uint8_t *scales = take(r, channel_bytes), *from = take(r, count * item);
  for (size_t i = 0; from && i < count; i++) {
    uint16_t half = 0;
    float scale = 1;
    memcpy(&half, from + i * item, item);
    if (channels) memcpy(&scale, scales + i / (count / channels) * sizeof scale, sizeof scale);
    x[i] = halves ? half_to_float(half) : scale * (int8_t)half;
  }
}

/* NULL: it failed. */
static const void *take_elements(Reader *r, Arena *arena, const CheckpointTensor *t, size_t count, CompactCoding coding,
                                 bool stays) {
  if (coding == CODING_EXACT && stays && t->bytes && t->type != DTYPE_STRING) return take(r, t->bytes);
  bool floats = t->type == DTYPE_FLOAT32;
  /* each takes a byte at least: no room is made for what is not there */
  void *to = count > (size_t)(r->end - r->at) ? (damage(r), NULL) : room_in(r, arena, count, dtype_bytes(t->type));
  if (!to) return NULL;
  if (coding != CODING_EXACT && floats && coding <= CODING_INT8) take_coded(r, to, t, count, coding == CODING_HALF);
  else if (coding != CODING_EXACT) damage(r);
  else if (t->type != DTYPE_STRING) take_bytes(r, to, t->bytes);
  else
    for (size_t i = 0; i < count; i++) ((const char **)to)[i] = take_text(r);
  return to;
}

static void take_tensor(Reader *r, Arena *arena, CheckpointTensor *t, bool stays) {
  size_t count = 0;
  t->type = (DType)take_below(r, DTYPE_LAST);
  take_dims(r, &t->shape);
  CompactCoding coding = (CompactCoding)take_byte(r);
  if (!dtype_bytes(t->type)) damage(r);
  if (r->failed || coding == CODING_NONE) return;
  if (!shape_count(&t->shape, &count) || !size_multiply(count, dtype_bytes(t->type), &t->bytes)) damage(r);
  else t->data = take_elements(r, arena, t, count, coding, stays);
}

/* ---- fields ---- */

static void take_record(Reader *r, const Record *of, void *record);

static void *take_items(Reader *r, const Record *of, char *items, int count) {
  for (int i = 0; items && i < count && !r->failed; i++) take_record(r, of, items + (size_t)i * of->bytes);
  return items;
}

static void take_field(Reader *r, Arena *arena, const Field *f, char *base);

/* A tensor is a VALUE_CONSTANT that belongs to no graph. */
static void take_constant(Reader *r, const Value **out) {
  CheckpointTensor t = {.name = take_option(r)};
  Value *v = room_in(r, r->arena, 1, sizeof *v);
  take_tensor(r, r->arena, &t, false);
  if (!t.data) damage(r);
  if (v)
    *v = (Value){
        .name = t.name, .kind = VALUE_CONSTANT, .type = t.type, .shape = t.shape, .data = (void *)(uintptr_t)t.data};
  *out = v;
}

static void take_attr(Reader *r, Attr *a) {
  a->name = take_text(r);
  a->kind = (AttrKind)take_below(r, ATTR_KINDS - 1);
  if (a->kind == ATTR_TENSOR) take_constant(r, &a->tensor);
  else take_field(r, r->arena, &stored_attr_values[a->kind], (char *)a);
}

/* A list lies in the arena. */
static void take_field(Reader *r, Arena *arena, const Field *f, char *base) {
  void *at = base + f->at;
  int *count = (int *)(void *)(base + f->count_at);
  switch (f->kind) {
    case FIELD_FLAG: *(bool *)at = take_below(r, 1); return;
    case FIELD_INT: *(int *)at = take_below(r, INT32_MAX); return;
    case FIELD_LONG: *(int64_t *)at = take_int(r); return;
    case FIELD_FLOAT: take_bytes(r, at, sizeof(float)); return;
    case FIELD_TEXT: *(const char **)at = take_text(r); return;
    case FIELD_OPTION: *(const char **)at = take_option(r); return;
    case FIELD_CONSTANT: take_tensor(r, r->arena, at, false); return;
    case FIELD_TENSOR:
    case FIELD_WEIGHT: take_tensor(r, r->frame, at, r->stays); return;
    case FIELD_ATTR: take_attr(r, at); return;
    case FIELD_LIST:
      *count = take_length(r);
      *(void **)at = take_items(r, f->of, room_in(r, arena, (size_t)*count, f->of->bytes), *count);
      return;
    case FIELD_FEW: take_items(r, f->of, at, *count = take_below(r, FEW)); return;
    default: return;
  }
}

static void take_record(Reader *r, const Record *of, void *record) {
  for (const Field *f = of->fields; f->kind && !r->failed; f++) take_field(r, r->frame, f, record);
}

/* ---- graphs ---- */

static Status make_frame(Reader *r, const StoredGraph *from, Graph *g) {
  if (from->metadata_count % 2) return damage(r);
  g->ir_version = from->ir_version;
  g->made = from->made;
  for (int i = 0; i < from->opset_count; i++) {
    if (from->opsets[i].version < 1) return damage(r);
    TRY(graph_import(g, from->opsets[i].domain, from->opsets[i].version));
  }
  for (int i = 0; i < from->metadata_count; i += 2)
    TRY(graph_set_metadata(g, from->metadata[i], from->metadata[i + 1]));
  for (int i = 0; i < from->symbol_count; i++) graph_symbol(g, from->symbols[i]);
  g->file_opset = from->file_opset;
  return g->error->status;
}

static Value *make_value(Reader *r, StoredValue *from, Graph *g) {
  CheckpointTensor *t = &from->tensor;
  for (int i = 0; i < t->shape.rank; i++)
    if (!dim_is_number(t->shape.dim[i]) && (t->data || dim_symbol(t->shape.dim[i]) >= g->symbol_count)) damage(r);
  if (!*t->name || (!t->data && t->type == DTYPE_STRING)) damage(r);
  if (r->failed) return NULL;
  if (r->fix_dims && r->fix_dims(r, g, t) != STATUS_OK) return NULL;
  Value *v = t->data ? graph_constant(g, t->name, t->type, &t->shape, t->data)
                     : graph_value(g, t->name, t->type, &t->shape, VALUE_INPUT);
  if (v && !t->data && graph_add_input(g, v) != STATUS_OK) return NULL;
  if (v) v->initializer = from->initializer;
  return v;
}

/* Values by their numbers, from 1. */
typedef struct Values {
  Value **list;
  int count;
} Values;

static Status lacks(Reader *r, const StoredNode *n) {
  if (is_shrunk()) return part_missing_operators(r->error, n->name, n->op);
  return error_set(r->error, STATUS_UNSUPPORTED_OP, n->name, "the compact file uses an operator we lack: %.64s%s%.64s",
                   n->domain, *n->domain ? "." : "", n->op);
}

static Status make_node(Reader *r, const StoredNode *from, Graph *g, Values *values) {
  const Op *op = op_find_in(from->domain, from->op);
  if (!op) return lacks(r, from);
  Value **in = room(r, (size_t)from->in_count, sizeof *in);
  if (!in) return r->error->status;
  for (int i = 0; i < from->in_count; i++) {
    if (from->in[i] > values->count) return damage(r);
    in[i] = from->in[i] ? values->list[from->in[i] - 1] : NULL;
  }
  for (int i = 0; i < from->out_count; i++)
    if (!from->out[i]) from->out[i] = "";
  int64_t stream = g->node_count + (int64_t)(int32_t)from->stream;
  Added a = {op, from->name, in, from->in_count, from->out, from->out_count, from->attrs, from->attr_count};
  if (!graph_is_plain(&a) || stream < 0 || stream > INT32_MAX) return damage(r);
  Node *n = graph_node(g, op, a.name, in, a.in_count, a.out_names, a.out_count, a.attrs, a.attr_count);
  if (!n) return g->error->status;
  n->stream = (int)stream;
  for (int i = 0; i < n->out_count; i++)
    if (n->out[i]) values->list[values->count++] = n->out[i];
  return STATUS_OK;
}

static Status make_graph(Reader *r, const StoredGraph *from, Graph **out) {
  Graph *g = graph_new(r->frame, r->error);
  if (!g) return r->error->status;
  g->arena = r->arena;
  TRY(make_frame(r, from, g));
  size_t most = (size_t)from->value_count;
  for (int i = 0; i < from->node_count; i++) most += (size_t)from->nodes[i].out_count;
  Values values = {room(r, most, sizeof *values.list), 0};
  for (int i = 0; i < from->value_count && values.list; i++)
    if (!(values.list[values.count++] = make_value(r, &from->values[i], g))) return r->error->status;
  for (int i = 0; i < from->node_count && values.list; i++) TRY(make_node(r, &from->nodes[i], g, &values));
  for (int i = 0; i < from->output_count && values.list; i++) {
    int output = from->outputs[i];
    if (!output || output > values.count || values.list[output - 1]->type == DTYPE_STRING) return damage(r);
    TRY(graph_add_output(g, values.list[output - 1]));
  }
  *out = g;
  return r->error->status;
}

/* ---- optimizer and checkpoint ---- */

/* New settings come last: a file may have fewer than there are. */
static Status make_optimizer(Reader *r, const Stored *from, const char name[COMPACT_NAME_BYTES], Optimizer *out) {
  OptimizerKind kind = OPTIMIZER_COUNT;
  *out = (Optimizer){0};
  if (!*name) return STATUS_OK;
  while (--kind && strncmp(optimizer_name(kind), name, COMPACT_NAME_BYTES) != 0) {
  }
  if (!kind)
    return error_set(r->error, STATUS_UNSUPPORTED_OP, NULL, "the compact file's optimizer '%.*s' is one we lack",
                     (int)COMPACT_NAME_BYTES, name);
  *out = optimizer_default(kind);
  if (from->setting_count >= SETTING_COUNT) return damage(r);
  for (int i = 0; i < from->setting_count; i++) {
    const Setting *s = optimizer_setting((SettingId)(i + 1));
    float x = from->settings[i];
    if (s->is_flag && x != 0 && x != 1) return damage(r);
    if (s->is_flag) *setting_flag(s, out) = x == 1;
    else *setting_number(s, out) = x;
  }
  return optimizer_in_range(out) ? STATUS_OK : damage(r);
}

static void check_tensors(Reader *r, const CheckpointTensor *t, int count, bool nominal) {
  for (int i = 0; i < count; i++) {
    if (t[i].type == DTYPE_STRING || (nominal ? t[i].data || t[i].shape.rank : !t[i].data)) damage(r);
    for (int k = 0; k < t[i].shape.rank; k++)
      if (!dim_is_number(t[i].shape.dim[k])) damage(r);
  }
}

/* Refuses what the other checkpoint readers refuse too. */
static Status check_checkpoint(Reader *r, const Checkpoint *c) {
  check_tensors(r, c->trainable, c->trainable_count, c->nominal);
  check_tensors(r, c->frozen, c->frozen_count, c->nominal);
  check_tensors(r, c->best, c->best_count, false);
  for (int i = 0; i < c->moment_count; i++) {
    const CheckpointMoments *m = &c->moments[i];
    check_tensors(r, m->moment, m->count, false);
    if (m->steps < 0 || m->steps > c->step) damage(r);
  }
  for (int i = 0; i < c->property_count; i++) {
    const Property *p = &c->properties[i];
    if (p->kind > PROPERTY_STRING || (p->kind == PROPERTY_STRING && !p->s)) damage(r);
  }
  for (int i = 0; i < c->bound_count; i++)
    if (!(c->bounds[i].least <= c->bounds[i].most)) damage(r);
  check_tensors(r, c->averages, c->average_count, false);
  check_tensors(r, c->bases, c->base_count, false);
  for (int i = 0; i < c->group_count; i++)
    if (!checkpoint_group_is_good(&c->groups[i])) damage(r);
  if (c->has_optimizer && !checkpoint_rate_is_good(c->learning_rate)) damage(r);
  if (c->step < 0 || (!c->has_optimizer && (c->step || c->moment_count))) damage(r);
  return r->failed ? r->error->status : checkpoint_check_names(c, r->frame, r->error);
}

/* ---- the file ---- */

#define refuse(r, ...) error_set((r)->error, STATUS_INVALID_MODEL, NULL, __VA_ARGS__)

static Status read_head(Reader *r, CompactHead *head) {
  size_t count = (size_t)(r->end - r->start);
  if (count < sizeof *head || memcmp(r->start, compact_magic, sizeof compact_magic) != 0)
    return refuse(r, "the %zu bytes are no compact file", count);
  memcpy(head, r->start, sizeof *head);
  if (head->version != COMPACT_VERSION)
    return error_set(r->error, STATUS_UNSUPPORTED_VERSION, NULL,
                     "the compact file is of version %d of the format, we read version %d", head->version,
                     COMPACT_VERSION);
  if (crc32_of(r->start + COMPACT_CHECKED, count - COMPACT_CHECKED) != head->checksum)
    return refuse(r, "the compact file is damaged or cut off: its checksum does not match its %zu bytes", count);
  r->at += sizeof *head;
  return STATUS_OK;
}

static Status read_file(Reader *r, Compact *out) {
  CompactHead head;
  Stored *stored = room(r, 1, sizeof *stored);
  if (!stored) return r->error->status;
  TRY(read_head(r, &head));
  read_texts(r);
  take_record(r, &stored_record, stored);
  if (!r->failed && (r->at != r->end || stored->graph_count < 1 || stored->graph_count > 2)) damage(r);
  if (r->failed) return r->error->status;
  out->eval = NULL;
  TRY(make_optimizer(r, stored, head.optimizer, &out->optimizer));
  TRY(make_graph(r, &stored->graphs[0], &out->train));
  if (stored->graph_count > 1 && !r->fixed) TRY(make_graph(r, &stored->graphs[1], &out->eval));
  out->checkpoint = stored->checkpoint;
  return check_checkpoint(r, &out->checkpoint);
}

Status compact_read(const uint8_t *bytes, size_t count, bool stays, Arena *arena, Error *error, Compact *out) {
  Reader r = {.start = bytes,
              .at = bytes,
              .end = bytes + count,
              .stays = stays,
              .arena = arena,
              .frame = arena,
              .error = error};
  return read_file(&r, out);
}

static Status fix_dim(Reader *r, const Graph *g, const char *input, Dim *d) {
  const char *name = graph_symbol_name(g, *d);
  for (int i = 0; i < r->fixed->dim_count; i++) {
    struct FixedDim *fixed = &r->fixed->dims[i];
    if (strcmp(fixed->name, name) == 0) return *d = fixed->size, fixed->used = true, STATUS_OK;
  }
  return error_set(r->error, STATUS_INVALID_ARGUMENT, NULL,
                   "input '%.100s' takes any size along '%.100s', and the trainer was told none", input, name);
}

static Status fix_dims(Reader *r, const Graph *g, CheckpointTensor *input) {
  for (int i = 0; i < input->shape.rank; i++)
    if (dim_is_symbol(input->shape.dim[i])) TRY(fix_dim(r, g, input->name, &input->shape.dim[i]));
  return STATUS_OK;
}

Status compact_read_fixed(const uint8_t *bytes, size_t count, const CompactFixed *fixed, Arena *arena, Error *error,
                          Compact *out) {
  Reader r = {.start = bytes,
              .at = bytes,
              .end = bytes + count,
              .stays = true,
              .arena = arena,
              .frame = fixed->frame,
              .fixed = fixed,
              .fix_dims = fix_dims,
              .error = error};
  return read_file(&r, out);
}
