/* ONNX Runtime's checkpoint: FlatBuffers, identifier "ODTC", versions 1 and 2. Field numbers: its checkpoint.fbs and
 * ort.fbs. */
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/crc32.h"
#include "flatbuffer.h"

enum { CHECKPOINT_VERSION, CHECKPOINT_MODULE, CHECKPOINT_OPTIMIZERS, CHECKPOINT_PROPERTIES };
enum { MODULE_TRAINABLE, MODULE_FROZEN, MODULE_NOMINAL, MODULE_EXTERNAL };
enum { ONLY_PLANS = 2 }; /* ONNX Runtime has 1 here */
enum { GROUP_NAME, GROUP_STEP, GROUP_LR, GROUP_STATES };
enum { STATES_PARAMETER, STATES_MOMENTS };
enum { BAG_INTS, BAG_FLOATS, BAG_STRINGS };
enum { PROPERTY_NAME, PROPERTY_VALUE };
enum { TENSOR_NAME, TENSOR_DOC, TENSOR_DIMS, TENSOR_TYPE, TENSOR_RAW, TENSOR_STRINGS, TENSOR_EXTERNAL };

bool ort_checkpoint_is(const uint8_t *bytes, size_t count) { return count >= 8 && memcmp(bytes + 4, "ODTC", 4) == 0; }

/* ---- the checksum: our files have one between head and root, where no offset leads. ONNX Runtime writes such files
 * anew, without it ----
 *
 *   │ root │ O D T C │ mark, 8 bytes │ CRC-32 of all that follows, xor that of all before it │ …
 */
enum { MARK_AT = 8, SUM_AT = MARK_AT + 8, HEAD_BYTES = SUM_AT + 4, MARK_BITS_WRONG = 8 };
static const char mark[] = "TLCKsum1";

/* A mark with some wrong bits is still a mark, but a damaged one. */
static bool has_mark(const uint8_t *bytes, size_t count) {
  uint64_t came, wanted;
  if (count < HEAD_BYTES) return false;
  memcpy(&came, bytes + MARK_AT, sizeof came);
  memcpy(&wanted, mark, sizeof wanted);
  return __builtin_popcountll(came ^ wanted) <= MARK_BITS_WRONG;
}

static uint32_t checksum_of(const uint8_t *bytes, size_t count) {
  return crc32_of(bytes + HEAD_BYTES, count - HEAD_BYTES) ^ crc32_of(bytes, SUM_AT);
}

static bool checksum_fits(const uint8_t *bytes, size_t count) {
  uint32_t sum;
  if (!has_mark(bytes, count)) return true;
  memcpy(&sum, bytes + SUM_AT, sizeof sum);
  return sum == checksum_of(bytes, count);
}

typedef struct Reader {
  FlatBytes bytes;
  const External *external;
  const ExternalFile *outside; /* NULL: every tensor is in the checkpoint itself */
  bool stays;                  /* the checkpoint is a file of `external`, too: its tensors are used where they are */
  Arena *arena;
  Error *error;
} Reader;

static Status corrupt(Reader *r, const char *what) {
  return error_set(r->error, STATUS_CHECKPOINT_CORRUPT, NULL, "the ONNX Runtime checkpoint is damaged: %s", what);
}
static Status out_of_memory(Reader *r) { return error_memory(r->error, "for the checkpoint"); }

/* Sets name, type and shape; of a nominal one, which ends there, the shape is empty. */
static Status read_head(Reader *r, FlatTable t, CheckpointTensor *out) {
  FlatVector dims = flat_vector(t, TENSOR_DIMS, 8);
  if (!t.from || dims.count > RANK_MAX) return corrupt(r, "a tensor is missing or has too many dimensions");
  *out = (CheckpointTensor){.name = flat_string(t, TENSOR_NAME, r->arena),
                            .type = (DType)flat_int32(t, TENSOR_TYPE, 0)};
  if (!out->name) return out_of_memory(r);
  out->shape.rank = (int)dims.count;
  for (size_t i = 0; i < dims.count; i++)
    if ((out->shape.dim[i] = flat_int64_element(dims, i)) < 0) return corrupt(r, "a dimension is negative");
  if (dtype_raw_bytes(out->type)) return STATUS_OK;
  return error_set(r->error, STATUS_CHECKPOINT_CORRUPT, NULL,
                   "the ONNX Runtime checkpoint is damaged: tensor '%.200s' has elements of the unknown type %d",
                   out->name, (int)out->type);
}

/* `bytes` is what shape and type want. */
static Status read_outside(Reader *r, uint64_t offset, size_t bytes, CheckpointTensor *out) {
  if (!r->outside) return corrupt(r, "a tensor has its data in a second file, and the checkpoint has none");
  if (offset > r->outside->bytes || bytes > r->outside->bytes - (size_t)offset)
    return error_set(r->error, STATUS_CHECKPOINT_CORRUPT, NULL,
                     "the checkpoint's tensor '%.200s' wants %zu bytes at offset %llu of '" ORT_CHECKPOINT_DATA
                     "', which has %zu bytes",
                     out->name, bytes, (unsigned long long)offset, r->outside->bytes);
  out->data = (const uint8_t *)r->outside->block.data + offset;
  out->bytes = bytes;
  return STATUS_OK;
}

static Status read_tensor(Reader *r, FlatTable t, CheckpointTensor *out) {
  TRY(read_head(r, t, out));
  FlatVector raw = flat_vector(t, TENSOR_RAW, 1);
  int64_t offset = flat_int64(t, TENSOR_EXTERNAL, -1);
  size_t count, wanted = 0;
  bool fits = shape_count(&out->shape, &count) && size_multiply(count, dtype_raw_bytes(out->type), &wanted);
  if (fits && offset >= 0) return read_outside(r, (uint64_t)offset, wanted, out);
  if (!fits || wanted != raw.count)
    return error_set(
        r->error, STATUS_CHECKPOINT_CORRUPT, NULL,
        "the ONNX Runtime checkpoint is damaged: tensor '%.200s' has %zu bytes, not what its shape and type want",
        out->name, raw.count);
  out->bytes = raw.count;
  if (r->stays && raw.count) return out->data = flat_data(raw), STATUS_OK;
  void *data = arena_alloc(r->arena, raw.count);
  if (!data) return out_of_memory(r);
  if (raw.count) memcpy(data, flat_data(raw), raw.count);
  out->data = data;
  return STATUS_OK;
}

static Status read_tensors(Reader *r, FlatVector v, bool nominal, CheckpointTensor **list, int *count) {
  *list = ARENA_ARRAY(r->arena, CheckpointTensor, v.count);
  if (!*list || v.count > INT32_MAX) return out_of_memory(r);
  for (size_t i = 0; i < v.count; i++) TRY((nominal ? read_head : read_tensor)(r, flat_element(v, i), &(*list)[i]));
  *count = (int)v.count;
  return STATUS_OK;
}

static Status find_outside(Reader *r, FlatTable module) {
  if (!flat_byte(module, MODULE_EXTERNAL) || (r->outside = external_find(r->external, ORT_CHECKPOINT_DATA)))
    return STATUS_OK;
  Arena scratch = {0};
  error_set(r->error, STATUS_CHECKPOINT_MISMATCH, NULL,
            "the checkpoint keeps its parameters in a second file, which must be '" ORT_CHECKPOINT_DATA
            "' in externalData, %.200s",
            external_contents(r->external, &scratch));
  arena_free(&scratch);
  return r->error->status;
}

static Status read_module(Reader *r, FlatTable root, Checkpoint *out) {
  FlatTable module = flat_table(root, CHECKPOINT_MODULE);
  if (!module.from) return corrupt(r, "it has no parameters");
  TRY(find_outside(r, module));
  out->nominal = flat_byte(module, MODULE_NOMINAL) != 0;
  out->only_plans = flat_byte(module, MODULE_NOMINAL) == ONLY_PLANS;
  TRY(read_tensors(r, flat_vector(module, MODULE_TRAINABLE, 4), out->nominal, &out->trainable, &out->trainable_count));
  return read_tensors(r, flat_vector(module, MODULE_FROZEN, 4), out->nominal, &out->frozen, &out->frozen_count);
}

static Status read_moments(Reader *r, FlatTable t, CheckpointMoments *out) {
  FlatVector list = flat_vector(t, STATES_MOMENTS, 4);
  out->parameter = flat_string(t, STATES_PARAMETER, r->arena);
  if (!out->parameter) return out_of_memory(r);
  if (!t.from || list.count > 2) return corrupt(r, "an optimizer state is missing or has more than two moments");
  for (size_t i = 0; i < list.count; i++) {
    CheckpointTensor tensor;
    TRY(read_tensor(r, flat_element(list, i), &tensor));
    int which = strcmp(tensor.name, "momentum1") == 0;
    if (!which && strcmp(tensor.name, "momentum0") != 0)
      return corrupt(r, "a moment is neither momentum0 nor momentum1");
    if (out->moment[which].name) return corrupt(r, "two moments have one name");
    out->moment[which] = tensor;
    out->count++;
  }
  if (out->count && !out->moment[0].name) return corrupt(r, "momentum1 is there without momentum0");
  return STATUS_OK;
}

/* The runtime has one group, "group0". A group of which no step was done may have no moments. */
static Status read_optimizer(Reader *r, FlatTable root, Checkpoint *out) {
  FlatVector groups = flat_vector(root, CHECKPOINT_OPTIMIZERS, 4);
  if (!groups.count) return STATUS_OK;
  if (groups.count > 1)
    return error_set(r->error, STATUS_CHECKPOINT_MISMATCH, NULL, "the checkpoint has %zu optimizer groups, we read one",
                     groups.count);
  FlatTable group = flat_element(groups, 0);
  FlatVector states = flat_vector(group, GROUP_STATES, 4);
  out->has_optimizer = true;
  out->step = flat_int64(group, GROUP_STEP, 0);
  out->initial_learning_rate = out->learning_rate = flat_float(group, GROUP_LR, 0);
  if (!checkpoint_rate_is_good(out->learning_rate) || out->step < 0)
    return corrupt(r, "its step is negative, or its learning rate is negative or not finite");
  out->moments = ARENA_ARRAY(r->arena, CheckpointMoments, states.count);
  if (!out->moments || states.count > INT32_MAX) return out_of_memory(r);
  for (size_t i = 0; i < states.count; i++) {
    CheckpointMoments *m = &out->moments[out->moment_count];
    TRY(read_moments(r, flat_element(states, i), m));
    m->steps = out->step;
    out->moment_count += m->count > 0;
  }
  return STATUS_OK;
}

static Status read_properties(Reader *r, FlatTable root, Checkpoint *out) {
  FlatTable bag = flat_table(root, CHECKPOINT_PROPERTIES);
  FlatVector lists[3];
  size_t total = 0;
  for (int kind = 0; kind < 3; kind++) {
    lists[kind] = flat_vector(bag, kind, 4);
    total += lists[kind].count;
  }
  out->properties = ARENA_ARRAY(r->arena, Property, total);
  if (!out->properties || total > INT32_MAX) return out_of_memory(r);
  for (int kind = 0; kind < 3; kind++) {
    for (size_t i = 0; i < lists[kind].count; i++) {
      FlatTable t = flat_element(lists[kind], i);
      Property *p = &out->properties[out->property_count++];
      *p = (Property){.name = flat_string(t, PROPERTY_NAME, r->arena), .kind = (PropertyKind)kind, .s = ""};
      if (kind == PROPERTY_INT) p->i = flat_int64(t, PROPERTY_VALUE, 0);
      else if (kind == PROPERTY_FLOAT) p->f = flat_float(t, PROPERTY_VALUE, 0);
      else p->s = flat_string(t, PROPERTY_VALUE, r->arena);
      if (!p->name || !p->s) return out_of_memory(r);
    }
  }
  return STATUS_OK;
}

Status ort_checkpoint_read(const uint8_t *bytes, size_t count, const External *external, Arena *arena, Error *error,
                           Checkpoint *out) {
  Reader r = {.bytes = flat_bytes(bytes, count),
              .external = external,
              .stays = external_at(external, bytes) != NULL,
              .arena = arena,
              .error = error};
  *out = (Checkpoint){0};
  if (!checksum_fits(bytes, count)) return corrupt(&r, "its checksum does not match its contents");
  FlatTable root = flat_root(&r.bytes);
  int version = flat_int32(root, CHECKPOINT_VERSION, 0);
  if (root.from && version != 1 && version != 2)
    return error_set(error, STATUS_UNSUPPORTED_VERSION, NULL,
                     "the ONNX Runtime checkpoint is of version %d of the format, we read versions 1 and 2", version);
  TRY(read_module(&r, root, out));
  TRY(read_optimizer(&r, root, out));
  TRY(read_properties(&r, root, out));
  if (r.bytes.damaged) return corrupt(&r, "an offset leads outside of the file, or a text is not UTF-8");
  return checkpoint_check_names(out, arena, error);
}

/* ---- writing ---- */

static size_t put_tensor(FlatWriter *w, const CheckpointTensor *t) {
  size_t at[7], table = flat_put_table(w, 7, (uint8_t[]){4, 0, 4, 4, 4, 0, 8}, at);
  int32_t type = (int32_t)t->type;
  int64_t no_external_data = -1;
  flat_set(w, at[TENSOR_TYPE], &type, 4);
  flat_set(w, at[TENSOR_EXTERNAL], &no_external_data, 8);
  flat_point(w, at[TENSOR_NAME], flat_put_string(w, t->name));
  size_t dims = flat_put_vector(w, (size_t)t->shape.rank, 8);
  flat_set(w, dims + 4, t->shape.dim, 8 * (size_t)t->shape.rank);
  flat_point(w, at[TENSOR_DIMS], dims);
  size_t raw = flat_put_vector(w, t->bytes, 1);
  flat_set(w, raw + 4, t->data, t->bytes);
  flat_point(w, at[TENSOR_RAW], raw);
  return table;
}

static void put_tensors(FlatWriter *w, size_t place, const CheckpointTensor *list, int count) {
  size_t vector = flat_put_vector(w, (size_t)count, 4);
  flat_point(w, place, vector);
  for (int i = 0; i < count; i++) flat_point(w, vector + 4 + 4 * (size_t)i, put_tensor(w, &list[i]));
}

static size_t put_group(FlatWriter *w, const Checkpoint *c) {
  size_t at[4], table = flat_put_table(w, 4, (uint8_t[]){4, 8, 4, 4}, at);
  flat_set(w, at[GROUP_STEP], &c->step, 8);
  flat_set(w, at[GROUP_LR], &c->learning_rate, 4); /* the only place for a learning rate, so the current one */
  flat_point(w, at[GROUP_NAME], flat_put_string(w, "group0"));
  size_t states = flat_put_vector(w, (size_t)c->moment_count, 4);
  flat_point(w, at[GROUP_STATES], states);
  for (int i = 0; i < c->moment_count; i++) {
    size_t of[2], state = flat_put_table(w, 2, (uint8_t[]){4, 4}, of);
    flat_point(w, states + 4 + 4 * (size_t)i, state);
    flat_point(w, of[STATES_PARAMETER], flat_put_string(w, c->moments[i].parameter));
    put_tensors(w, of[STATES_MOMENTS], c->moments[i].moment, c->moments[i].count);
  }
  return table;
}

static size_t put_property(FlatWriter *w, const Property *p) {
  static const uint8_t bytes[3] = {8, 4, 4};
  size_t at[2], table = flat_put_table(w, 2, (uint8_t[]){4, bytes[p->kind]}, at);
  if (p->kind == PROPERTY_INT) flat_set(w, at[PROPERTY_VALUE], &p->i, 8);
  else if (p->kind == PROPERTY_FLOAT) flat_set(w, at[PROPERTY_VALUE], &p->f, 4);
  flat_point(w, at[PROPERTY_NAME], flat_put_string(w, p->name));
  if (p->kind == PROPERTY_STRING) flat_point(w, at[PROPERTY_VALUE], flat_put_string(w, p->s));
  return table;
}

static void put_properties(FlatWriter *w, size_t place, const Checkpoint *c) {
  size_t at[3];
  flat_point(w, place, flat_put_table(w, 3, (uint8_t[]){4, 4, 4}, at));
  for (int kind = 0; kind < 3; kind++) {
    size_t count = 0;
    for (int i = 0; i < c->property_count; i++) count += (int)c->properties[i].kind == kind;
    size_t vector = flat_put_vector(w, count, 4), slot = vector + 4;
    flat_point(w, at[kind], vector);
    for (int i = 0; i < c->property_count; i++)
      if ((int)c->properties[i].kind == kind) flat_point(w, slot, put_property(w, &c->properties[i])), slot += 4;
  }
}

/* About as many bytes as the file will have, so that it need not grow and exist twice. */
static bool reserve(FlatWriter *w, const Checkpoint *c) {
  size_t bytes = 4096;
  bool fits = true;
  for (int i = 0; i < c->trainable_count; i++) fits = fits && size_add(bytes, c->trainable[i].bytes + 512, &bytes);
  for (int i = 0; i < c->frozen_count; i++) fits = fits && size_add(bytes, c->frozen[i].bytes + 512, &bytes);
  for (int i = 0; i < c->moment_count; i++)
    for (int k = 0; k < c->moments[i].count; k++)
      fits = fits && size_add(bytes, c->moments[i].moment[k].bytes + 512, &bytes);
  return fits && block_reserve(&w->block, bytes);
}

static void put_checksum(FlatWriter *w) {
  if (w->failed) return;
  uint32_t sum = checksum_of(w->block.data, w->count);
  flat_set(w, SUM_AT, &sum, sizeof sum);
}

Status ort_checkpoint_write(const Checkpoint *c, int version, Error *error, Block *out, size_t *out_bytes) {
  Arena arena = {0};
  Status status = checkpoint_check_names(c, &arena, error);
  arena_free(&arena);
  if (status != STATUS_OK) return status;
  FlatWriter w = {0};
  w.failed = !reserve(&w, c);
  size_t head = flat_put_vector(&w, HEAD_BYTES - 4,
                                1); /* a vector of bytes; the root offset stands in place of its length */
  size_t at[4], root = flat_put_table(&w, 4, (uint8_t[]){4, 4, c->has_optimizer ? 4 : 0, 4}, at), of[4];
  flat_set(&w, head + 4, "ODTC", 4);
  flat_set(&w, head + MARK_AT, mark, 8);
  flat_point(&w, head, root);
  int32_t number = version;
  flat_set(&w, at[CHECKPOINT_VERSION], &number, 4);
  flat_point(&w, at[CHECKPOINT_MODULE], flat_put_table(&w, 3, (uint8_t[]){4, 4, c->nominal ? 1 : 0}, of));
  if (c->nominal) flat_set(&w, of[MODULE_NOMINAL], &(uint8_t){c->only_plans ? ONLY_PLANS : 1}, 1);
  put_tensors(&w, of[MODULE_TRAINABLE], c->trainable, c->trainable_count);
  put_tensors(&w, of[MODULE_FROZEN], c->frozen, c->frozen_count);
  if (c->has_optimizer) {
    size_t groups = flat_put_vector(&w, 1, 4);
    flat_point(&w, at[CHECKPOINT_OPTIMIZERS], groups);
    flat_point(&w, groups + 4, put_group(&w, c));
  }
  put_properties(&w, at[CHECKPOINT_PROPERTIES], c);
  put_checksum(&w);
  if (w.failed) {
    block_free(&w.block);
    return error_memory(error, "for the checkpoint, or it passes the 2 GB of its format");
  }
  block_free(out);
  *out = w.block;
  *out_bytes = w.count;
  return STATUS_OK;
}
