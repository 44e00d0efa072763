/* External data of ONNX models: tensors whose data lies in files of their own become tensors like any other, before
 * anything reads them.
 *
 *   data_location EXTERNAL, external_data {location, offset = 0, length = what the dims need}
 *   ─▶ raw_data, in place where it is aligned */
#include <stdio.h>
#include <string.h>

#include "onnx/parts.h"
#include "shape.h"
#include "protobuf_wire.h"

typedef struct Resolver {
  const External *external;
  External *lists;               /* takes notes of pieces, and nothing else is done; NULL: tensors are read */
  const Onnx__GraphProto *graph; /* the model's own */
  int next;                      /* piece, which lie in the order of the tensors */
  Arena *arena;
  Error *error;
} Resolver;

/* The tensor as errors name it. */
typedef struct Title {
  const char *what, *name, *node;
} Title;

static const char *entry(const Onnx__TensorProto *t, const char *key) {
  for (size_t i = 0; i < t->n_external_data; i++) {
    const Onnx__StringStringEntryProto *e = t->external_data[i];
    if (e->key && e->value && strcmp(e->key, key) == 0) return e->value;
  }
  return NULL;
}

static bool parse_bytes(const char *digits, size_t *out) {
  const char *at = digits;
  *out = 0;
  for (; *at >= '0' && *at <= '9'; at++)
    if (!size_multiply(*out, 10, out) || !size_add(*out, (size_t)(*at - '0'), out)) return false;
  return at > digits && !*at;
}

/* 0 where the dims make no sense, which the reader of tensors reports. */
static size_t bytes_of_dims(const Onnx__TensorProto *t) {
  size_t bytes = dtype_raw_bytes((DType)t->data_type);
  for (size_t i = 0; i < t->n_dims; i++)
    if (t->dims[i] < 0 || (uint64_t)t->dims[i] > SIZE_MAX || !size_multiply(bytes, (size_t)t->dims[i], &bytes))
      return 0;
  return bytes;
}

static Status absent(Resolver *r, Title title, const char *location) {
  Arena scratch = {0};
  error_set(r->error, STATUS_INVALID_MODEL, title.node,
            "%s '%.100s' keeps its data in '%.100s': give the bytes of that file in externalData, %.200s; if it lies "
            "there: externalData: { '%.100s': '%.100s' }",
            title.what, title.name, location, external_contents(r->external, &scratch), location, location);
  arena_free(&scratch);
  return r->error->status;
}

static Status out_of_memory(Resolver *r, Title title) {
  return error_set(r->error, STATUS_OUT_OF_MEMORY, title.node, "out of memory for %s '%.128s'", title.what, title.name);
}

enum { LATE_LEAST = 1 << 16 };

/* Shapes follow from small tensors and from whole numbers, so these come first. */
static bool may_be_late(const Resolver *r, const Onnx__TensorProto *t, bool weight, size_t bytes) {
  bool floats = weight && t->data_type == DTYPE_FLOAT32 && bytes == bytes_of_dims(t);
  return floats && (r->external->without_weights || (t->n_dims == 2 && bytes >= LATE_LEAST));
}

/* A file of which nothing is known but what the model says. */
static ExternalFile *unseen(Resolver *r, const char *location) {
  bool noted = r->lists && r->lists->without_weights && external_add_in_pieces(r->lists, location, SIZE_MAX, r->arena);
  return noted ? external_find(r->lists, location) : NULL;
}

static Status note_piece(Resolver *r, Title title, ExternalPiece piece) {
  piece.name = arena_copy_text(r->arena, piece.name);
  return piece.name && external_note_piece(r->lists, piece, r->arena) ? STATUS_OK : out_of_memory(r, title);
}

static Status use_piece(Resolver *r, Title title, ExternalPiece wanted, Onnx__TensorProto *t) {
  const ExternalPiece *p = r->next < r->external->piece_count ? &r->external->pieces[r->next++] : NULL;
  bool same = p && p->file == wanted.file && p->offset == wanted.offset && p->bytes == wanted.bytes;
  if (!same || !(p->late || p->here))
    return error_set(r->error, STATUS_INVALID_ARGUMENT, title.node,
                     "%s '%.100s' needs %zu bytes at offset %zu of '%.100s', a piece that was not given", title.what,
                     title.name, wanted.bytes, wanted.offset, r->external->files[wanted.file].location);
  t->has_raw_data = true;
  t->raw_data = (ProtobufCBinaryData){p->bytes, external_piece_at(r->external, p)};
  return STATUS_OK;
}

/* A number is only used where its type is aligned. */
static Status use(Resolver *r, Title title, ExternalFile *file, size_t offset, size_t bytes, Onnx__TensorProto *t) {
  uint8_t *at = (uint8_t *)file->block.data + offset;
  size_t item = dtype_raw_bytes((DType)t->data_type);
  t->has_raw_data = true;
  t->raw_data = (ProtobufCBinaryData){bytes, at};
  if (!item || offset % item == 0) return file->in_place = true, STATUS_OK;
  if (!(t->raw_data.data = arena_alloc(r->arena, bytes))) return out_of_memory(r, title);
  memcpy(t->raw_data.data, at, bytes);
  return STATUS_OK;
}

/* `weight`: an initializer of the model's own graph. */
static Status resolve_tensor(Resolver *r, Title title, Onnx__TensorProto *t, bool weight) {
  if (t->data_location != ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) return STATUS_OK;
  const char *location = entry(t, "location"), *offset = entry(t, "offset"), *length = entry(t, "length");
  if (!location)
    return error_set(
        r->error, STATUS_INVALID_MODEL, title.node,
        "%s '%.128s' keeps its data outside of the model and does not say where (external_data has no location)",
        title.what, title.name);
  if (t->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__STRING)
    return error_set(r->error, STATUS_INVALID_MODEL, title.node,
                     "%s '%.100s' keeps strings in '%.100s': only numbers may lie outside of the model", title.what,
                     title.name, location);
  ExternalFile *file = external_find(r->external, location);
  if (!file && !(file = unseen(r, location))) return absent(r, title, location);
  char needed[24];
  size_t start, bytes;
  snprintf(needed, sizeof needed, "%zu", bytes_of_dims(t));
  if (!offset) offset = "0";
  if (!length) length = needed;
  if (!parse_bytes(offset, &start) || !parse_bytes(length, &bytes) || start > file->bytes ||
      bytes > file->bytes - start)
    return error_set(r->error, STATUS_INVALID_MODEL, title.node,
                     "%s '%.100s' wants %.24s bytes at offset %.24s of '%.100s', which has %zu bytes", title.what,
                     title.name, length, offset, location, file->bytes);
  if (!file->in_pieces) return r->lists ? STATUS_OK : use(r, title, file, start, bytes, t);
  ExternalPiece piece = {.file = (int)(file - r->external->files), .name = title.name, .offset = start, .bytes = bytes};
  piece.late = may_be_late(r, t, weight, bytes);
  return r->lists ? note_piece(r, title, piece) : use_piece(r, title, piece, t);
}

static Status resolve_graph(Resolver *r, const Onnx__GraphProto *g);

static Status resolve_nodes(Resolver *r, Onnx__NodeProto *const *nodes, size_t count) {
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < nodes[i]->n_attribute; k++) {
      const Onnx__AttributeProto *a = nodes[i]->attribute[k];
      if (a->t)
        TRY(resolve_tensor(r, (Title){"attribute", a->name ? a->name : "", onnx_node_title(nodes[i])}, a->t, false));
      if (a->g) TRY(resolve_graph(r, a->g));
    }
  return STATUS_OK;
}

static Status resolve_graph(Resolver *r, const Onnx__GraphProto *g) {
  for (size_t i = 0; g && i < g->n_initializer; i++) {
    const char *name = g->initializer[i]->name;
    TRY(resolve_tensor(r, (Title){"initializer", name ? name : "", NULL}, g->initializer[i], g == r->graph));
  }
  return g ? resolve_nodes(r, g->node, g->n_node) : STATUS_OK;
}

static Status resolve_model(Resolver *r, const Onnx__ModelProto *model) {
  TRY(resolve_graph(r, model->graph));
  for (size_t i = 0; i < model->n_functions; i++)
    TRY(resolve_nodes(r, model->functions[i]->node, model->functions[i]->n_node));
  for (size_t i = 0; i < model->n_training_info; i++) {
    TRY(resolve_graph(r, model->training_info[i]->initialization));
    TRY(resolve_graph(r, model->training_info[i]->algorithm));
  }
  return STATUS_OK;
}

Status onnx_external_resolve(const Onnx__ModelProto *model, const External *external, Arena *arena, Error *error) {
  Resolver r = {.external = external, .graph = model->graph, .arena = arena, .error = error};
  return resolve_model(&r, model);
}

Status onnx_external_pieces(const uint8_t *bytes, size_t count, External *external, Arena *arena, Error *error) {
  Arena parsed = {0};
  const Onnx__ModelProto *model = wire_unpack(&onnx__model_proto__descriptor, bytes, count, "ONNX model",
                                              STATUS_INVALID_MODEL, &parsed, error);
  Resolver r = {.external = external, .lists = external, .arena = arena, .error = error};
  if (model) r.graph = model->graph;
  Status status = model ? resolve_model(&r, model) : error->status;
  arena_free(&parsed);
  TRY(status);
  return external_reserve_pieces(external) ? STATUS_OK : error_memory(error, "for the pieces of external data");
}
