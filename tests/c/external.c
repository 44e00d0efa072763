/* External data: files by name, models and checkpoints that keep their data in them, and hostile ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "checkpoint/checkpoint.h"
#include "flatbuffer.h"
#include "onnx/onnx.h"
#include "hostile.h"
#include "json.h"
#include "session/session.h"
#include "artifacts/artifacts.h"

#define FOLDER "tests/golden/data/external/"

/* Every byte of data is read, so that the sanitizer sees where it lies. */
static unsigned sum_bytes(const void *data, size_t bytes) {
  unsigned sum = 0;
  for (size_t i = 0; i < bytes; i++) sum += ((const uint8_t *)data)[i];
  return sum;
}

static unsigned sum_constants(const Graph *g) {
  unsigned sum = 0;
  for (int i = 0; i < g->value_count; i++)
    if (g->values[i]->kind == VALUE_CONSTANT)
      sum += sum_bytes(g->values[i]->data, shape_elements(&g->values[i]->shape) * dtype_bytes(g->values[i]->type));
  return sum;
}

static void files_are_found_by_name(const void *argument) {
  Arena arena = {0};
  External x = {0};
  check(!external_find(&x, "a") && !external_find(NULL, "a") &&
            strcmp(external_contents(NULL, &arena), "which has nothing") == 0,
        "there is something in nothing");
  for (int i = 0; i < 40; i++)
    check(external_add(&x, arena_print(&arena, "%s%d", i % 2 ? "./" : "", i), (size_t)i, &arena) != NULL,
          "no room for file %d", i);
  for (int i = 0; i < 40; i++) {
    const ExternalFile *plain = external_find(&x, arena_print(&arena, "%d", i)),
                       *dotted = external_find(&x, arena_print(&arena, "./%d", i));
    check(plain && plain == dotted && plain->bytes == (size_t)i, "file %d is not found", i);
  }
  check(!external_find(&x, "/1") && !external_find(&x, "../1") && !external_find(&x, "././1") &&
            !external_find(&x, "40"),
        "a path is understood");
  check(!external_add(&x, "vast", SIZE_MAX - 8, &arena) && x.count == 40, "there is room for all memory");
  external_free(&x);
  arena_free(&arena);
}

/* ---- models ---- */

static External given; /* a HostileReader has no room for it */

static bool give(const char *location, const char *path, Arena *arena) {
  size_t count;
  const void *bytes = file_read(arena, path, &count);
  void *to = bytes ? external_add(&given, location, count, arena) : NULL;
  if (to) memcpy(to, bytes, count);
  return check(to != NULL, "%s cannot be read", path);
}

static bool model_refused(const uint8_t *bytes, size_t count) {
  Arena arena = {0};
  Error error = {0};
  Graph *g = onnx_read(bytes, count, &given, &arena, &error);
  check((g == NULL) == (error.status != STATUS_OK) && (g || (error.text[0] && error.status != STATUS_INTERNAL)),
        "a refusal has no sentence");
  if (g) sum_constants(g);
  arena_free(&arena);
  return !g;
}

static void a_model_reads_its_file_in_place(const void *argument) {
  Arena arena = {0};
  Error error = {0};
  size_t count, whole_count;
  const uint8_t *bytes = (const uint8_t *)file_read(&arena, FOLDER "one_file.onnx", &count);
  const uint8_t *whole = (const uint8_t *)file_read(&arena, "tests/golden/data/mlp_small.onnx", &whole_count);
  if (check(bytes && whole, "the models cannot be read") &&
      give("one_file.onnx.data", FOLDER "one_file.onnx.data", &arena)) {
    Graph *a = onnx_read(bytes, count, &given, &arena, &error),
          *b = onnx_read(whole, whole_count, NULL, &arena, &error);
    if (check(a && b, "%s", error.text)) check(sum_constants(a) == sum_constants(b), "its constants are others");
    const ExternalFile *file = given.files;
    const Value *w = a ? graph_find(a, "fc1.bias") : NULL;
    check(w && w->data == (uint8_t *)file->block.data + 2640 && file->in_place, "the data was copied");
    hostile_try(bytes, count, model_refused);
  }
  external_free(&given);
  given = (External){0};
  arena_free(&arena);
}

/* ---- models in a file of ours ---- */

/* Reads a copy of the bytes in place; the graph's constants lie in it and in the arena. */
static Graph *read_in_place(const uint8_t *bytes, size_t count, External *x, Arena *arena, Error *error) {
  void *to = external_add_file(x, count, arena);
  return to ? onnx_read(memcpy(to, bytes, count), count, x, arena, error) : NULL;
}

static void check_large_are_in_file(const Graph *g, const ExternalFile *file) {
  const uint8_t *start = file->block.data;
  for (int i = 0; i < g->value_count; i++) {
    const Value *v = g->values[i];
    size_t bytes = v->kind == VALUE_CONSTANT ? shape_elements(&v->shape) * dtype_bytes(v->type) : 0;
    const uint8_t *data = v->data;
    if (bytes < 1 << 16) continue;
    check(data >= start && data + bytes <= start + file->bytes && (uintptr_t)data % 8 == 0,
          "'%s' is not in the file, or not aligned", v->name);
  }
}

static void a_model_is_read_in_place(const void *argument) {
  Arena arena = {0}, other = {0};
  External x = {0};
  Error error = {0};
  size_t count;
  const uint8_t *bytes = (const uint8_t *)file_read(&arena, argument, &count);
  if (!check(bytes != NULL, "the model cannot be read")) return;
  size_t before = arena.used_bytes;
  Graph *a = read_in_place(bytes, count, &x, &arena, &error), *b = onnx_read(bytes, count, NULL, &other, &error);
  if (check(a && b, "%s", error.text)) {
    check(sum_constants(a) == sum_constants(b) && a->value_count == b->value_count && a->node_count == b->node_count,
          "it is another graph");
    check_large_are_in_file(a, &x.files[0]);
    check(x.files[0].in_place && arena.used_bytes - before < count / 10, "of %zu bytes %zu were copied", count,
          arena.used_bytes - before);
  }
  arena_free(&other);
  for (unsigned i = 0; i < 400;
       i++) { /* damaged where its fields are described: at both ends of it and of its first tensor, or cut short */
    Arena scraps = {0};
    External damaged = {0};
    Error why = {0};
    uint8_t *copy = arena_alloc(&scraps, count);
    memcpy(copy, bytes, count);
    size_t at = i * 2654435761u >> 8, length = i % 8 ? count : at % count;
    copy[i % 2 ? at % 400 : count - 1 - at % 3000] ^= (uint8_t)(1u << i % 7);
    Graph *g = read_in_place(copy, length, &damaged, &scraps, &why);
    check((g == NULL) == (why.status != STATUS_OK), "a refusal has no sentence");
    if (g) sum_constants(g);
    external_free(&damaged);
    arena_free(&scraps);
  }
  external_free(&x);
  arena_free(&arena);
}

static void a_file_of_ours_has_no_name(const void *argument) {
  Arena arena = {0};
  External x = {0};
  check(external_add_file(&x, 10, &arena) && strcmp(external_contents(&x, &arena), "which has nothing") == 0,
        "it is told of");
  check(external_add(&x, "a", 1, &arena) && external_add_file(&x, 10, &arena) &&
            strcmp(external_contents(&x, &arena), "which has 'a'") == 0,
        "it is told of");
  check(external_at(&x, x.files[2].block.data) == &x.files[2] && !external_at(&x, &x) && !external_at(NULL, NULL),
        "it is not found by its bytes");
  external_free(&x);
  arena_free(&arena);
}

/* ---- checkpoints: w (2, 3) trainable and b () frozen, without raw data ---- */

static const float data[] = {0, 1, 2, 3, 4, 5, 6, 7};

static size_t put_outside(FlatWriter *w, const char *name, int rank, const int64_t *dims, int64_t offset) {
  size_t at[7], table = flat_put_table(w, 7, (uint8_t[]){4, 0, 4, 4, 0, 0, 8}, at);
  flat_set(w, at[3], &(int32_t){DTYPE_FLOAT32}, 4);
  flat_set(w, at[6], &offset, 8);
  flat_point(w, at[0], flat_put_string(w, name));
  size_t shape = flat_put_vector(w, (size_t)rank, 8);
  flat_set(w, shape + 4, dims, 8 * (size_t)rank);
  flat_point(w, at[2], shape);
  return table;
}

static FlatWriter two_files(int64_t offset) {
  FlatWriter w = {0};
  size_t head = flat_put_vector(&w, 4, 1), at[4], of[4];
  flat_set(&w, head + 4, "ODTC", 4);
  flat_point(&w, head, flat_put_table(&w, 2, (uint8_t[]){4, 4}, at));
  flat_set(&w, at[0], &(int32_t){ORT_CHECKPOINT_NEWEST}, 4);
  flat_point(&w, at[1], flat_put_table(&w, 4, (uint8_t[]){4, 4, 0, 1}, of));
  flat_set(&w, of[3], &(uint8_t){1}, 1);
  for (int frozen = 0; frozen < 2; frozen++) {
    size_t list = flat_put_vector(&w, 1, 4);
    flat_point(&w, of[frozen], list);
    flat_point(&w, list + 4,
               frozen ? put_outside(&w, "b", 0, NULL, 28) : put_outside(&w, "w", 2, (int64_t[]){2, 3}, offset));
  }
  return w;
}

static bool checkpoint_refused(const uint8_t *bytes, size_t count) {
  Arena arena = {0};
  Error error = {0};
  Checkpoint c;
  Status status = ort_checkpoint_read(bytes, count, &given, &arena, &error, &c);
  check(status == error.status && (status == STATUS_OK || error.text[0]), "a refusal has no sentence");
  for (int i = 0; status == STATUS_OK && !c.nominal && i < c.trainable_count; i++)
    sum_bytes(c.trainable[i].data, c.trainable[i].bytes);
  for (int i = 0; status == STATUS_OK && !c.nominal && i < c.frozen_count; i++)
    sum_bytes(c.frozen[i].data, c.frozen[i].bytes);
  arena_free(&arena);
  return status != STATUS_OK;
}

static void a_checkpoint_reads_its_second_file(const void *argument) {
  static const int64_t wrong[] = {12, 32, 33, INT64_MAX, INT64_MAX - 23, INT64_C(1) << 32};
  Arena arena = {0};
  Error error = {0};
  Checkpoint c;
  FlatWriter w = two_files(4);
  memcpy(external_add(&given, ORT_CHECKPOINT_DATA, sizeof data, &arena), data, sizeof data);
  if (check(ort_checkpoint_read(w.block.data, w.count, &given, &arena, &error, &c) == STATUS_OK, "%s", error.text))
    check(c.trainable[0].bytes == 24 && memcmp(c.trainable[0].data, data + 1, 24) == 0 && c.frozen[0].bytes == 4 &&
              memcmp(c.frozen[0].data, data + 7, 4) == 0,
          "its values are others");
  check(!given.files->in_place, "a checkpoint's file cannot be freed when its values are in the state");
  hostile_try(w.block.data, w.count, checkpoint_refused);
  block_free(&w.block);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    error_clear(&error);
    w = two_files(wrong[i]);
    check(ort_checkpoint_read(w.block.data, w.count, &given, &arena, &error, &c) == STATUS_CHECKPOINT_CORRUPT,
          "offset %lld is taken", (long long)wrong[i]);
    block_free(&w.block);
  }
  external_free(&given);
  given = (External){0};
  arena_free(&arena);
}

/* ---- artifacts of a file in pieces ---- */

enum { DATA_BYTES = 1 << 16 };

static const char *pieces_of(TrainletArtifacts *a, const void *model, size_t bytes) {
  char option[64];
  snprintf(option, sizeof option, "%d one_file.onnx.data", DATA_BYTES);
  trainlet_artifacts_set(a, "loss.type", "cross-entropy");
  return trainlet_artifacts_set(a, "inPieces", option) == STATUS_OK ? trainlet_artifacts_pieces(a, model, bytes) : NULL;
}

static int count_of(const char *text, const char *part) {
  int count = 0;
  for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) count++;
  return count;
}

/* Writes each piece whole, wherever the model says that it lies. */
static bool pieces_refused(const uint8_t *bytes, size_t count) {
  TrainletArtifacts *a = trainlet_artifacts_new();
  const char *text = pieces_of(a, bytes, count);
  int pieces = text ? count_of(text, "\"offset\"") : 0;
  for (int i = 0; i < pieces && i < 64; i++) {
    uint8_t *to = trainlet_artifacts_piece(a, i);
    if (!to) break;
    memset(to, i, a->external.pieces[i].bytes);
  }
  bool done = text && trainlet_artifacts_load(a, bytes, count) == STATUS_OK && trainlet_artifacts_build(a) == STATUS_OK;
  check(done || trainlet_artifacts_error(a)->text[0], "a refusal has no sentence");
  trainlet_artifacts_free(a);
  return !done;
}

static void a_file_comes_in_pieces(const void *argument) {
  Arena arena = {0};
  size_t count;
  const uint8_t *bytes = (const uint8_t *)file_read(&arena, FOLDER "one_file.onnx", &count);
  TrainletArtifacts *a = trainlet_artifacts_new();
  if (check(bytes && a, "the model cannot be read")) {
    check(!trainlet_artifacts_piece(a, 0), "there is a piece of nothing");
    check(trainlet_artifacts_set(a, "inPieces", "12") != STATUS_OK, "a file has no name");
    const char *text = pieces_of(a, bytes, count);
    check(text && count_of(text, "\"late\":false") == a->external.piece_count && a->external.piece_count > 1,
          "the pieces are %s", text ? text : "none");
    check(trainlet_artifacts_load(a, bytes, count) == STATUS_INVALID_ARGUMENT, "it is loaded without them");
    check(!trainlet_artifacts_piece(a, -1) && !trainlet_artifacts_piece(a, a->external.piece_count), "there are more");
    check(!pieces_refused(bytes, count), "it cannot be built of its pieces");
    hostile_try(bytes, count, pieces_refused);
  }
  trainlet_artifacts_free(a);
  arena_free(&arena);
}

/* All that the model has, from elsewhere: its file is not there. */
static bool others_refused(const uint8_t *bytes, size_t count) {
  TrainletArtifacts *a = trainlet_artifacts_new();
  trainlet_artifacts_set(a, "loss.type", "cross-entropy");
  trainlet_artifacts_set(a, "otherWeights", "1");
  bool done = trainlet_artifacts_pieces(a, bytes, count) && trainlet_artifacts_load(a, bytes, count) == STATUS_OK;
  for (int i = 0; done && i < a->model->value_count; i++) {
    const Value *v = a->model->values[i];
    if (!v->initializer || v->type != DTYPE_FLOAT32 || v->shape_constant) continue;
    size_t needed = value_bytes(v);
    check(!trainlet_artifacts_weight(a, v->name, needed + 4), "'%s' has another size", v->name);
    void *to = trainlet_artifacts_weight(a, v->name, needed);
    if (!to) break;
    memset(to, 0, needed);
  }
  done = done && trainlet_artifacts_load(a, bytes, count) == STATUS_OK && trainlet_artifacts_build(a) == STATUS_OK;
  check(done || trainlet_artifacts_error(a)->text[0], "a refusal has no sentence");
  trainlet_artifacts_free(a);
  return !done;
}

static void values_come_from_elsewhere(const void *argument) {
  Arena arena = {0};
  size_t count;
  const uint8_t *bytes = (const uint8_t *)file_read(&arena, FOLDER "one_file.onnx", &count);
  TrainletArtifacts *a = trainlet_artifacts_new();
  if (check(bytes && a, "the model cannot be read")) {
    check(!trainlet_artifacts_weight(a, "fc1.weight", 4), "there is a parameter of nothing");
    check(!others_refused(bytes, count), "it cannot be built without its file");
    hostile_try(bytes, count, others_refused);
  }
  trainlet_artifacts_free(a);
  arena_free(&arena);
}

int main(void) {
  TEST(files_are_found_by_name);
  TEST(a_model_reads_its_file_in_place);
  TEST(a_file_of_ours_has_no_name);
  test_run("a_model_is_read_in_place: w1", a_model_is_read_in_place, "tests/golden/data/w1.onnx");
  test_run("a_model_is_read_in_place: w2", a_model_is_read_in_place, "tests/golden/data/w2.onnx");
  TEST(a_checkpoint_reads_its_second_file);
  TEST(a_file_comes_in_pieces);
  TEST(values_come_from_elsewhere);
  return test_finish();
}
