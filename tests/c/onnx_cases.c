/* ONNX's own backend cases, natively: all of a folder pass, but those of a list that the test in wasm has too; a case
 * that passes may not be on it.   test_onnx_cases [FOLDER LIST] */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "check.h"
#include "protobuf_wire.h"
#include "json.h"
#include "onnx_value.h"

/* Debian's cases, of the package libonnx-testdata, if the command names no others. */
static const char *root = "/usr/share/libonnx-testdata/data", *list_path = "tests/onnx/left-out-debian.json";

typedef struct OnnxCase {
  const char *folder;
  Arena arena;
  Error error; /* why it does not pass */
  const Onnx__GraphProto *graph;
  Tolerance tolerance;
  int set; /* inputs and outputs; a case may have several sets */
  TrainletSession *session;
} OnnxCase;

/* A failed session's sentence becomes the case's. */
static Status of_session(OnnxCase *c, Status status) {
  if (status != STATUS_OK) error_set(&c->error, status, NULL, "%s", trainlet_session_error(c->session)->text);
  return status;
}

static Status open_model(OnnxCase *c) {
  size_t count;
  const void *bytes = file_read(&c->arena, arena_print(&c->arena, "%s/model.onnx", c->folder), &count);
  if (!bytes) return error_set(&c->error, STATUS_INVALID_MODEL, NULL, "its model cannot be read");
  const Onnx__ModelProto *model = wire_unpack(&onnx__model_proto__descriptor, (const uint8_t *)bytes, count,
                                              "ONNX model", STATUS_INVALID_MODEL, &c->arena, &c->error);
  if (!model) return c->error.status;
  c->graph = model->graph;
  TRY(of_session(c, trainlet_session_load(c->session, TRAINLET_MODEL, bytes, count)));
  return of_session(c, trainlet_session_ready(c->session));
}

/* The value of `info` in the file KIND_NUMBER.pb; `there` says whether the case has that file. */
static Status read_value(OnnxCase *c, const Onnx__ValueInfoProto *info, const char *kind, int number, bool *there,
                         OnnxValue *out) {
  size_t count;
  const void *bytes = file_read(
      &c->arena, arena_print(&c->arena, "%s/test_data_set_%d/%s_%d.pb", c->folder, c->set, kind, number), &count);
  *there = bytes != NULL;
  return bytes ? onnx_value_read(info, bytes, count, &c->arena, &c->error, out) : STATUS_OK;
}

static bool is_constant(const Onnx__GraphProto *g, const char *name) {
  for (size_t i = 0; i < g->n_initializer; i++)
    if (strcmp(g->initializer[i]->name, name) == 0) return true;
  return false;
}

static Status feed_inputs(OnnxCase *c) {
  int number = 0;
  for (size_t i = 0; i < c->graph->n_input; i++) {
    OnnxValue value;
    bool there;
    if (is_constant(c->graph, c->graph->input[i]->name)) continue;
    TRY(read_value(c, c->graph->input[i], "input", number++, &there, &value));
    if (there) TRY(of_session(c, onnx_value_feed(&value, c->session)));
  }
  return STATUS_OK;
}

static Status compare_outputs(OnnxCase *c) {
  int compared = 0;
  for (size_t i = 0; i < c->graph->n_output; i++) {
    OnnxValue value;
    bool there;
    TRY(read_value(c, c->graph->output[i], "output", (int)i, &there, &value));
    if (there) TRY(onnx_value_compare(&value, c->session, c->tolerance, &c->error));
    compared += there;
  }
  return compared ? STATUS_OK : error_set(&c->error, STATUS_INVALID_MODEL, NULL, "it wants no output");
}

/* ONNX's own tolerance, unless the case has a file that says otherwise. */
static Tolerance read_tolerance(OnnxCase *c) {
  size_t count;
  const char *text = file_read(&c->arena, arena_print(&c->arena, "%s/data.json", c->folder), &count);
  const Json *told = text ? json_parse(&c->arena, text) : NULL;
  return told ? (Tolerance){json_number(told, "rtol", 1e-3), json_number(told, "atol", 1e-7)} : (Tolerance){1e-3, 1e-7};
}

static bool has_set(OnnxCase *c) {
  struct stat about;
  return stat(arena_print(&c->arena, "%s/test_data_set_%d", c->folder, c->set), &about) == 0;
}

static Status run_case(OnnxCase *c) {
  TRY(open_model(c));
  c->tolerance = read_tolerance(c);
  do {
    TRY(feed_inputs(c));
    TRY(of_session(c, trainlet_session_run(c->session, TRAINLET_MODEL, NULL)));
    TRY(compare_outputs(c));
    c->set++;
  } while (has_set(c));
  return STATUS_OK;
}

/* ---- all of them ---- */

static const Json *left_out; /* names of cases by the reason why they do not pass */
static int passed, tried;

static bool is_left_out(const char *name) {
  for (const Json *reason = left_out->child; reason; reason = reason->next)
    for (const Json *listed = reason->child; listed; listed = listed->next)
      if (strcmp(listed->text, name) == 0) return true;
  return false;
}

static void try_case(const char *folder) {
  const char *name = folder + strlen(root) + 1;
  OnnxCase c = {.folder = folder, .session = trainlet_session_new()};
  bool passes = run_case(&c) == STATUS_OK, listed = is_left_out(name);
  check(passes || listed, "%s: %s", name, c.error.text);
  check(!passes || !listed, "%s passes: take it off the list", name);
  passed += passes;
  tried++;
  trainlet_session_free(c.session);
  arena_free(&c.arena);
}

static int is_case(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static void try_kind(const char *kind) {
  Arena arena = {0};
  struct dirent **entries;
  const char *folder = arena_print(&arena, "%s/%s", root, kind);
  int count = scandir(folder, &entries, is_case, alphasort);
  check(count > 0, "%s has no cases", folder);
  for (int i = 0; i < count; i++) {
    try_case(arena_print(&arena, "%s/%s", folder, entries[i]->d_name));
    free(entries[i]);
  }
  if (count >= 0) free(entries);
  arena_free(&arena);
}

/* Every kind but the real models, whose weights the cases do not have. */
static int is_kind(const struct dirent *entry) { return is_case(entry) && strcmp(entry->d_name, "real") != 0; }

static void try_kinds(void) {
  struct dirent **kinds;
  int count = scandir(root, &kinds, is_kind, alphasort);
  check(count > 0, "%s has no cases: install Debian's package libonnx-testdata, or run 'npm run setup -- --test'",
        root);
  for (int i = 0; i < count; i++) {
    try_kind(kinds[i]->d_name);
    free(kinds[i]);
  }
  if (count >= 0) free(kinds);
}

static void the_cases_pass_as_the_list_says(const void *argument) {
  Arena arena = {0};
  size_t count;
  const char *text = file_read(&arena, list_path, &count);
  left_out = text ? json_parse(&arena, text) : NULL;
  if (check(left_out != NULL, "%s cannot be read: run from the repository", list_path)) try_kinds();
  test_note("%d of %d", passed, tried);
  arena_free(&arena);
}

int main(int argc, char **argv) {
  if (argc == 3) root = argv[1], list_path = argv[2];
  TEST(the_cases_pass_as_the_list_says);
  return test_finish();
}
