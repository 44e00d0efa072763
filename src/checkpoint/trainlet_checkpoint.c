/* Trainlet's own checkpoint format: an envelope with a checksum around a protobuf State (schema/checkpoint.proto). */
#include <stdlib.h>
#include <string.h>

#include "checkpoint.pb-c.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/crc32.h"
#include "protobuf_wire.h"

static const char group_name[] = "group0";
static const char *const moment_names[] = {"momentum0", "momentum1"};

#define corrupt(error, ...) error_set(error, STATUS_CHECKPOINT_CORRUPT, NULL, __VA_ARGS__)

static Status out_of_memory(Error *error) { return error_memory(error, "for the checkpoint"); }

/* ---- the envelope: its four tags are those of message Checkpoint, handled here so that the body is never copied ----
 *
 *   ┌ 0D │ T L C K ┬ 10 │ version ┬ 1D │ CRC-32, 4 bytes ┬ 22 │ length │ body … ┐
 */

enum { VERSION = 8, HEAD_MAX = 5 + 1 + 10 + 5 + 1 + 10 };
static const uint8_t magic[] = {0x0D, 'T', 'L', 'C', 'K'};
enum { TAG_VERSION = 0x10, TAG_CHECKSUM = 0x1D, TAG_BODY = 0x22 };

typedef struct Span {
  const uint8_t *at, *end;
} Span;

/* No checksum covers it: none that is read is one bit away from another. */
static bool is_version(uint64_t version) { return version == 1 || version == 2 || version == 4 || version == VERSION; }

static bool take_tag(Span *s, uint8_t tag) { return s->at < s->end && *s->at++ == tag; }

static bool take_varint(Span *s, uint64_t *out) {
  *out = 0;
  for (int shift = 0; shift < 64 && s->at < s->end; shift += 7) {
    uint8_t byte = *s->at++;
    *out |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return true;
  }
  return false;
}

static bool take_u32(Span *s, uint32_t *out) {
  if (s->end - s->at < 4) return false;
  memcpy(out, s->at, 4);
  s->at += 4;
  return true;
}

static uint8_t *put_varint(uint8_t *at, uint64_t x) {
  for (; x >= 0x80; x >>= 7) *at++ = (uint8_t)(x | 0x80);
  *at++ = (uint8_t)x;
  return at;
}

bool trainlet_checkpoint_is(const uint8_t *bytes, size_t count) {
  return count >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

/* Narrows `s` to the body, checked against its checksum. */
static Status open_envelope(Span *s, Error *error) {
  size_t count = (size_t)(s->end - s->at);
  uint64_t version = 0, length = 0;
  uint32_t checksum = 0;
  if (!count) return corrupt(error, "the checkpoint is empty: 0 bytes");
  if (memcmp(s->at, magic, count < sizeof magic ? count : sizeof magic) != 0)
    return corrupt(error, "the bytes are no checkpoint, neither Trainlet's nor ONNX Runtime's");
  s->at += count < sizeof magic ? count : sizeof magic;
  if (take_tag(s, TAG_VERSION) && take_varint(s, &version) && !is_version(version))
    return error_set(error, STATUS_UNSUPPORTED_VERSION, NULL,
                     "the checkpoint is of version %llu of the format, we read versions 1, 2, 4 and %d",
                     (unsigned long long)version, VERSION);
  if (!version || !take_tag(s, TAG_CHECKSUM) || !take_u32(s, &checksum) || !take_tag(s, TAG_BODY) ||
      !take_varint(s, &length))
    return corrupt(error, "the checkpoint is cut off or damaged in its first bytes; %zu bytes came", count);
  if (length != (uint64_t)(s->end - s->at))
    return corrupt(error, "the checkpoint is %s: its contents are %llu bytes, %zu came",
                   length > (uint64_t)(s->end - s->at) ? "cut off" : "followed by foreign bytes",
                   (unsigned long long)length, (size_t)(s->end - s->at));
  if (crc32_of(s->at, (size_t)length) != checksum)
    return corrupt(error, "the checkpoint is damaged: its checksum does not match its contents");
  return STATUS_OK;
}

/* ---- reading the state ---- */

static bool has_name(const char *name) { return name && *name; }

static Status read_tensor(const Trainlet__Tensor *t, Arena *arena, Error *error, CheckpointTensor *out) {
  if (!has_name(t->name)) return corrupt(error, "the checkpoint has a tensor without a name");
  size_t item = dtype_raw_bytes((DType)t->data_type), count, bytes;
  if (!item)
    return corrupt(error, "the checkpoint's tensor '%.128s' has elements of the unknown type %d", t->name,
                   (int)t->data_type);
  if (t->n_dims > RANK_MAX)
    return corrupt(error, "the checkpoint's tensor '%.128s' has %zu dimensions, at most %d are possible", t->name,
                   t->n_dims, RANK_MAX);
  Shape shape = {.rank = (int)t->n_dims};
  for (int i = 0; i < shape.rank; i++) {
    if ((shape.dim[i] = t->dims[i]) < 0)
      return corrupt(error, "the checkpoint's tensor '%.128s' has a negative dimension", t->name);
  }
  char text[SHAPE_TEXT];
  if (!shape_count(&shape, &count) || !size_multiply(count, item, &bytes) || bytes != t->raw_data.len)
    return corrupt(error,
                   "the checkpoint's tensor '%.128s' of shape %s and type %s has %zu bytes, which is not its size",
                   t->name, shape_print(&shape, text), dtype_name((DType)t->data_type), t->raw_data.len);
  const void *data = bytes ? t->raw_data.data : arena_alloc(arena, 0);
  if (!data) return out_of_memory(error);
  *out = (CheckpointTensor){.name = t->name, .type = (DType)t->data_type, .shape = shape, .data = data, .bytes = bytes};
  return STATUS_OK;
}

static Status read_tensors(Trainlet__Tensor *const *from, size_t count, Arena *arena, Error *error,
                           CheckpointTensor **out, int *out_count) {
  if (count > INT32_MAX || !(*out = ARENA_ARRAY(arena, CheckpointTensor, count))) return out_of_memory(error);
  for (size_t i = 0; i < count; i++) TRY(read_tensor(from[i], arena, error, &(*out)[i]));
  *out_count = (int)count;
  return STATUS_OK;
}

static Status read_moments(const Trainlet__ParameterState *from, int64_t step, Arena *arena, Error *error,
                           CheckpointMoments *out) {
  if (!has_name(from->param_name))
    return corrupt(error, "the checkpoint has optimizer state of a parameter without a name");
  *out = (CheckpointMoments){
      .parameter = from->param_name, .count = (int)from->n_momentums, .steps = from->has_step ? from->step : step};
  if (out->steps < 0 || out->steps > step)
    return corrupt(error, "the checkpoint has done %lld steps with '%.128s', of %lld in all", (long long)out->steps,
                   from->param_name, (long long)step);
  if (from->n_momentums > 2)
    return corrupt(error, "the checkpoint has %zu moments for '%.128s', at most 2 are possible", from->n_momentums,
                   from->param_name);
  for (int i = 0; i < out->count; i++) {
    TRY(read_tensor(from->momentums[i], arena, error, &out->moment[i]));
    if (strcmp(out->moment[i].name, moment_names[i]) != 0)
      return corrupt(error, "the checkpoint calls a moment of '%.128s' '%.64s', it must be '%s'", from->param_name,
                     out->moment[i].name, moment_names[i]);
  }
  return STATUS_OK;
}

static Status read_optimizer(const Trainlet__State *state, Arena *arena, Error *error, Checkpoint *out) {
  if (!state->n_optimizer_groups) return STATUS_OK;
  const Trainlet__OptimizerGroup *group = state->optimizer_groups[0];
  if (state->n_optimizer_groups > 1)
    return corrupt(error, "the checkpoint has %zu optimizer groups, 1 is what we read", state->n_optimizer_groups);
  if (group->step < 0)
    return corrupt(error, "the checkpoint has done %lld steps, which cannot be", (long long)group->step);
  if (group->n_parameters > INT32_MAX || !(out->moments = ARENA_ARRAY(arena, CheckpointMoments, group->n_parameters)))
    return out_of_memory(error);
  for (size_t i = 0; i < group->n_parameters; i++)
    TRY(read_moments(group->parameters[i], group->step, arena, error, &out->moments[i]));
  out->moment_count = (int)group->n_parameters;
  out->has_optimizer = true;
  out->optimizer = group->type;
  out->step = group->step;
  out->initial_learning_rate = (float)group->initial_learning_rate;
  out->learning_rate = (float)group->learning_rate;
  if (!checkpoint_rate_is_good(out->learning_rate))
    return corrupt(error, "the checkpoint has the learning rate %g, which cannot be", group->learning_rate);
  return STATUS_OK;
}

static Status read_properties(const Trainlet__PropertyBag *bag, Arena *arena, Error *error, Checkpoint *out) {
  if (!bag) return STATUS_OK;
  size_t count = bag->n_ints + bag->n_floats + bag->n_strings;
  if (count > INT32_MAX || !(out->properties = ARENA_ARRAY(arena, Property, count))) return out_of_memory(error);
  Property *p = out->properties;
  for (size_t i = 0; i < bag->n_ints; i++)
    *p++ = (Property){.name = bag->ints[i]->name, .kind = PROPERTY_INT, .i = bag->ints[i]->value};
  for (size_t i = 0; i < bag->n_floats; i++)
    *p++ = (Property){.name = bag->floats[i]->name, .kind = PROPERTY_FLOAT, .f = bag->floats[i]->value};
  for (size_t i = 0; i < bag->n_strings; i++) {
    const char *s = bag->strings[i]->value;
    *p++ = (Property){.name = bag->strings[i]->name, .kind = PROPERTY_STRING, .s = s ? s : ""};
  }
  out->property_count = (int)count;
  for (size_t i = 0; i < count; i++)
    if (!out->properties[i].name) out->properties[i].name = "";
  return STATUS_OK;
}

static Status read_bounds(const Trainlet__State *state, Arena *arena, Error *error, Checkpoint *out) {
  if (state->n_bounds > INT32_MAX || !(out->bounds = ARENA_ARRAY(arena, CheckpointBounds, state->n_bounds)))
    return out_of_memory(error);
  for (size_t i = 0; i < state->n_bounds; i++) {
    const Trainlet__Bounds *b = state->bounds[i];
    if (!has_name(b->param_name) || !(b->least <= b->most))
      return corrupt(error, "the checkpoint has bounds without a name, or that are no range");
    out->bounds[out->bound_count++] = (CheckpointBounds){b->param_name, b->least, b->most};
  }
  return STATUS_OK;
}

static Status read_groups(const Trainlet__State *state, Arena *arena, Error *error, Checkpoint *out) {
  if (state->n_groups > INT32_MAX || !(out->groups = ARENA_ARRAY(arena, CheckpointGroup, state->n_groups)))
    return out_of_memory(error);
  for (size_t i = 0; i < state->n_groups; i++) {
    const Trainlet__Group *g = state->groups[i];
    CheckpointGroup group = {g->param_name, g->lr_scale, g->weight_decay, g->anchor};
    if (!has_name(g->param_name) || !checkpoint_group_is_good(&group))
      return corrupt(error, "the checkpoint has a group without a name, or with numbers that none can have");
    out->groups[out->group_count++] = group;
  }
  return STATUS_OK;
}

static Status read_adapter(const Trainlet__Adapter *from, int64_t step, Arena *arena, Error *error,
                           CheckpointAdapter *out) {
  if (!has_name(from->name)) return corrupt(error, "the checkpoint has an adapter without a name");
  out->name = from->name;
  TRY(read_tensors(from->tensors, from->n_tensors, arena, error, &out->tensors, &out->count));
  size_t moments = from->n_parameters;
  if (moments > INT32_MAX || !(out->moments = ARENA_ARRAY(arena, CheckpointMoments, moments)))
    return out_of_memory(error);
  for (size_t i = 0; i < moments; i++) TRY(read_moments(from->parameters[i], step, arena, error, &out->moments[i]));
  out->moment_count = (int)moments;
  return STATUS_OK;
}

static Status read_adapters(const Trainlet__State *state, Arena *arena, Error *error, Checkpoint *out) {
  size_t count = state->n_adapters;
  if (count > INT32_MAX || !(out->adapters = ARENA_ARRAY(arena, CheckpointAdapter, count))) return out_of_memory(error);
  for (size_t i = 0; i < count; i++) TRY(read_adapter(state->adapters[i], out->step, arena, error, &out->adapters[i]));
  out->adapter_count = (int)count;
  out->adapter = state->adapter;
  out->alone = state->has_base_hash;
  out->base = state->base_hash;
  return read_tensors(state->start, state->n_start, arena, error, &out->start, &out->start_count);
}

static void read_run(const Trainlet__State *state, Checkpoint *out) {
  out->fit = state->fit;
  if (state->rng) {
    out->rng_seed = state->rng->seed;
    out->rng_step = state->rng->counter;
  }
  const Trainlet__DataPosition *p = state->position;
  if (!p) return;
  const int64_t position[POSITION_COUNT] = {p->epoch, p->batch, p->shuffle_seed, p->examples, p->batch_size};
  memcpy(out->position, position, sizeof position);
}

Status trainlet_checkpoint_read(const uint8_t *bytes, size_t count, Arena *arena, Error *error, Checkpoint *out) {
  *out = (Checkpoint){0};
  Span body = {bytes, bytes + count};
  TRY(open_envelope(&body, error));
  const Trainlet__State *state = wire_unpack(&trainlet__state__descriptor, body.at, (size_t)(body.end - body.at),
                                             "checkpoint", STATUS_CHECKPOINT_CORRUPT, arena, error);
  if (!state) return error->status;
  const Trainlet__ModuleState *m = state->module;
  if (!m) return corrupt(error, "the checkpoint holds no parameters");
  if (m->nominal) return corrupt(error, "the checkpoint is nominal: it holds names of parameters without their values");
  TRY(read_tensors(m->trainable, m->n_trainable, arena, error, &out->trainable, &out->trainable_count));
  TRY(read_tensors(m->frozen, m->n_frozen, arena, error, &out->frozen, &out->frozen_count));
  TRY(read_tensors(state->best, state->n_best, arena, error, &out->best, &out->best_count));
  TRY(read_optimizer(state, arena, error, out));
  TRY(read_properties(state->properties, arena, error, out));
  TRY(read_bounds(state, arena, error, out));
  TRY(read_groups(state, arena, error, out));
  TRY(read_tensors(state->averages, state->n_averages, arena, error, &out->averages, &out->average_count));
  TRY(read_tensors(state->bases, state->n_bases, arena, error, &out->bases, &out->base_count));
  TRY(read_adapters(state, arena, error, out));
  read_run(state, out);
  return checkpoint_check_names(out, arena, error);
}

/* ---- writing ---- */

static char *text(const char *s) {
  return (char *)(uintptr_t)s;
} /* protobuf-c's strings are not const, but only read */

/* An array of pointers to `count` fresh messages of one type. */
#define MESSAGES(arena, Type, init, count, n, list)                                                                    \
  do {                                                                                                                 \
    (n) = (size_t)(count);                                                                                             \
    Type *all_ = ARENA_ARRAY(arena, Type, count);                                                                      \
    (list) = ARENA_ARRAY(arena, Type *, count);                                                                        \
    if (!all_ || !(list)) return false;                                                                                \
    for (size_t i_ = 0; i_ < (n); i_++) init((list)[i_] = &all_[i_]);                                                  \
  } while (0)

static void write_tensor(const CheckpointTensor *from, Trainlet__Tensor *to) {
  to->name = text(from->name);
  to->has_data_type = to->has_raw_data = true;
  to->data_type = (int32_t)from->type;
  to->n_dims = (size_t)from->shape.rank;
  to->dims = (int64_t *)(uintptr_t)from->shape.dim;
  to->raw_data = (ProtobufCBinaryData){from->bytes, (uint8_t *)(uintptr_t)from->data};
}

static bool write_tensors(const CheckpointTensor *from, int count, Arena *arena, size_t *n, Trainlet__Tensor ***out) {
  MESSAGES(arena, Trainlet__Tensor, trainlet__tensor__init, count, *n, *out);
  for (int i = 0; i < count; i++) write_tensor(&from[i], (*out)[i]);
  return true;
}

static bool write_moments(const CheckpointMoments *moments, int count, int64_t step, Arena *arena, size_t *n,
                          Trainlet__ParameterState ***out) {
  MESSAGES(arena, Trainlet__ParameterState, trainlet__parameter_state__init, count, *n, *out);
  for (int i = 0; i < count; i++) {
    const CheckpointMoments *from = &moments[i];
    Trainlet__ParameterState *to = (*out)[i];
    to->param_name = text(from->parameter);
    to->has_step = from->steps != step;
    to->step = from->steps;
    if (!write_tensors(from->moment, from->count, arena, &to->n_momentums, &to->momentums)) return false;
    for (int k = 0; k < from->count; k++) to->momentums[k]->name = text(moment_names[k]);
  }
  return true;
}

static bool write_optimizer(const Checkpoint *c, Arena *arena, Trainlet__State *state) {
  if (!c->has_optimizer) return true;
  MESSAGES(arena, Trainlet__OptimizerGroup, trainlet__optimizer_group__init, 1, state->n_optimizer_groups,
           state->optimizer_groups);
  Trainlet__OptimizerGroup *group = state->optimizer_groups[0];
  group->name = text(group_name);
  group->type = text(c->optimizer);
  group->has_step = group->has_initial_learning_rate = group->has_learning_rate = true;
  group->step = c->step;
  group->initial_learning_rate = c->initial_learning_rate;
  group->learning_rate = c->learning_rate;
  return write_moments(c->moments, c->moment_count, c->step, arena, &group->n_parameters, &group->parameters);
}

static bool write_adapters(const Checkpoint *c, Arena *arena, Trainlet__State *state) {
  MESSAGES(arena, Trainlet__Adapter, trainlet__adapter__init, c->adapter_count, state->n_adapters, state->adapters);
  for (int i = 0; i < c->adapter_count; i++) {
    const CheckpointAdapter *from = &c->adapters[i];
    Trainlet__Adapter *to = state->adapters[i];
    to->name = text(from->name);
    if (!write_tensors(from->tensors, from->count, arena, &to->n_tensors, &to->tensors) ||
        !write_moments(from->moments, from->moment_count, c->step, arena, &to->n_parameters, &to->parameters))
      return false;
  }
  state->adapter = text(c->adapter);
  state->has_base_hash = c->alone;
  state->base_hash = c->base;
  return write_tensors(c->start, c->start_count, arena, &state->n_start, &state->start);
}

static int count_kind(const Checkpoint *c, PropertyKind kind) {
  int count = 0;
  for (int i = 0; i < c->property_count; i++) count += c->properties[i].kind == kind;
  return count;
}

static bool write_properties(const Checkpoint *c, Arena *arena, Trainlet__PropertyBag *bag) {
  MESSAGES(arena, Trainlet__PropertyBag__Int, trainlet__property_bag__int__init, count_kind(c, PROPERTY_INT),
           bag->n_ints, bag->ints);
  MESSAGES(arena, Trainlet__PropertyBag__Float, trainlet__property_bag__float__init, count_kind(c, PROPERTY_FLOAT),
           bag->n_floats, bag->floats);
  MESSAGES(arena, Trainlet__PropertyBag__String, trainlet__property_bag__string__init, count_kind(c, PROPERTY_STRING),
           bag->n_strings, bag->strings);
  int ints = 0, floats = 0, strings = 0;
  for (int i = 0; i < c->property_count; i++) {
    const Property *p = &c->properties[i];
    if (p->kind == PROPERTY_INT) {
      Trainlet__PropertyBag__Int *to = bag->ints[ints++];
      to->name = text(p->name), to->has_value = true, to->value = p->i;
    } else if (p->kind == PROPERTY_FLOAT) {
      Trainlet__PropertyBag__Float *to = bag->floats[floats++];
      to->name = text(p->name), to->has_value = true, to->value = p->f;
    } else {
      Trainlet__PropertyBag__String *to = bag->strings[strings++];
      to->name = text(p->name), to->value = text(p->s);
    }
  }
  return true;
}

static bool write_bounds(const Checkpoint *c, Arena *arena, Trainlet__State *state) {
  MESSAGES(arena, Trainlet__Bounds, trainlet__bounds__init, c->bound_count, state->n_bounds, state->bounds);
  for (int i = 0; i < c->bound_count; i++) {
    Trainlet__Bounds *to = state->bounds[i];
    to->param_name = text(c->bounds[i].parameter);
    to->has_least = to->has_most = true;
    to->least = c->bounds[i].least;
    to->most = c->bounds[i].most;
  }
  return true;
}

static bool write_groups(const Checkpoint *c, Arena *arena, Trainlet__State *state) {
  MESSAGES(arena, Trainlet__Group, trainlet__group__init, c->group_count, state->n_groups, state->groups);
  for (int i = 0; i < c->group_count; i++) {
    Trainlet__Group *to = state->groups[i];
    to->param_name = text(c->groups[i].parameter);
    to->has_lr_scale = to->has_weight_decay = true;
    to->lr_scale = c->groups[i].lr_scale;
    to->weight_decay = c->groups[i].weight_decay;
    to->has_anchor = c->groups[i].anchor > 0;
    to->anchor = c->groups[i].anchor;
  }
  return true;
}

static void write_run(const Checkpoint *c, Trainlet__Rng *rng, Trainlet__DataPosition *p) {
  trainlet__rng__init(rng);
  trainlet__data_position__init(p);
  rng->has_seed = rng->has_counter = true;
  rng->seed = c->rng_seed;
  rng->counter = c->rng_step;
  p->has_epoch = p->has_batch = p->has_shuffle_seed = p->has_examples = p->has_batch_size = true;
  p->epoch = c->position[0];
  p->batch = c->position[1];
  p->shuffle_seed = c->position[2];
  p->examples = c->position[3];
  p->batch_size = c->position[4];
}

/* 1 where a reader of that version reads it right: bounds and steps of a parameter's own are of version 2, groups and
 * averages of version 4, adapters of version 8. */
static uint64_t version_of(const Checkpoint *c) {
  bool own = c->bound_count > 0;
  for (int i = 0; c->has_optimizer && i < c->moment_count; i++) own |= c->moments[i].steps != c->step;
  if (c->adapter || c->alone) return VERSION;
  return c->group_count || c->average_count ? 4 : own ? 2 : 1;
}

static Status write_envelope(const Trainlet__State *state, uint64_t version, Error *error, Block *out,
                             size_t *out_bytes) {
  size_t length = trainlet__state__get_packed_size(state), total;
  if (!size_add(length, HEAD_MAX, &total) || !block_reserve(out, total)) return out_of_memory(error);
  uint8_t *at = out->data;
  memcpy(at, magic, sizeof magic);
  at += sizeof magic;
  *at++ = TAG_VERSION;
  at = put_varint(at, version);
  *at++ = TAG_CHECKSUM;
  uint8_t *checksum_at = at;
  at += sizeof(uint32_t);
  *at++ = TAG_BODY;
  at = put_varint(at, length);
  trainlet__state__pack(state, at);
  uint32_t checksum = crc32_of(at, length);
  memcpy(checksum_at, &checksum, sizeof checksum);
  *out_bytes = (size_t)(at - (uint8_t *)out->data) + length;
  return STATUS_OK;
}

static bool write_state(const Checkpoint *c, Arena *arena, Trainlet__State *state) {
  return write_tensors(c->trainable, c->trainable_count, arena, &state->module->n_trainable,
                       &state->module->trainable) &&
         write_tensors(c->frozen, c->frozen_count, arena, &state->module->n_frozen, &state->module->frozen) &&
         write_tensors(c->best, c->best_count, arena, &state->n_best, &state->best) && write_bounds(c, arena, state) &&
         write_groups(c, arena, state) &&
         write_tensors(c->averages, c->average_count, arena, &state->n_averages, &state->averages) &&
         write_tensors(c->bases, c->base_count, arena, &state->n_bases, &state->bases) &&
         write_adapters(c, arena, state) && write_optimizer(c, arena, state) &&
         write_properties(c, arena, state->properties);
}

Status trainlet_checkpoint_write(const Checkpoint *checkpoint, Error *error, Block *out, size_t *out_bytes) {
  Trainlet__ModuleState module = TRAINLET__MODULE_STATE__INIT;
  Trainlet__PropertyBag bag = TRAINLET__PROPERTY_BAG__INIT;
  Trainlet__Rng rng;
  Trainlet__DataPosition position;
  Trainlet__State state = TRAINLET__STATE__INIT;
  state.module = &module;
  state.properties = &bag;
  state.rng = &rng;
  state.position = &position;
  if (checkpoint->fit) state.fit = text(checkpoint->fit);
  write_run(checkpoint, &rng, &position);
  Arena arena = {0};
  Status status = checkpoint_check_names(checkpoint, &arena, error);
  if (status == STATUS_OK)
    status = write_state(checkpoint, &arena, &state)
               ? write_envelope(&state, version_of(checkpoint), error, out, out_bytes)
               : out_of_memory(error);
  arena_free(&arena);
  return status;
}
