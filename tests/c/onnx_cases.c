/* ONNX's own backend cases, natively: all of them pass, but those of the list that tests/js has too; a case that passes
 * may not be on it. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "wire.h"
#include "json.h"
#include "onnx_value.h"

#define ROOT "/usr/share/libonnx-testdata/data/" /* where Debian's package libonnx-testdata has them */
#define LEFT_OUT "tests/js/onnx-cases-left-out.json"

typedef struct OnnxCase {
  const char *folder;
  Arena arena;
  Error error; /* why it does not pass */
  const Onnx__GraphProto *graph;
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
  const void *bytes = file_read(&c->arena,
                                arena_print(&c->arena, "%s/test_data_set_0/%s_%d.pb", c->folder, kind, number), &count);
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
    if (there) TRY(onnx_value_compare(&value, c->session, &c->error));
    compared += there;
  }
  return compared ? STATUS_OK : error_set(&c->error, STATUS_INVALID_MODEL, NULL, "it wants no output");
}

static Status run_case(OnnxCase *c) {
  TRY(open_model(c));
  TRY(feed_inputs(c));
  TRY(of_session(c, trainlet_session_run(c->session, TRAINLET_MODEL, NULL)));
  return compare_outputs(c);
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
  const char *name = folder + strlen(ROOT);
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
  int count = scandir(arena_print(&arena, ROOT "%s", kind), &entries, is_case, alphasort);
  check(count > 0, ROOT "%s has no cases: install Debian's package libonnx-testdata, or run 'npm run setup -- --test'",
        kind);
  for (int i = 0; i < count; i++) {
    try_case(arena_print(&arena, ROOT "%s/%s", kind, entries[i]->d_name));
    free(entries[i]);
  }
  if (count >= 0) free(entries);
  arena_free(&arena);
}

/* Every case but those of real models' weights. */
static void the_cases_pass_as_the_list_says(const void *argument) {
  static const char *const kinds[] = {"node", "simple", "pytorch-converted", "pytorch-operator"};
  Arena arena = {0};
  size_t count;
  const char *text = file_read(&arena, LEFT_OUT, &count);
  left_out = text ? json_parse(&arena, text) : NULL;
  if (check(left_out != NULL, LEFT_OUT " cannot be read: run from the repository"))
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) try_kind(kinds[i]);
  test_note("%d of %d", passed, tried);
  arena_free(&arena);
}

int main(void) {
  TEST(the_cases_pass_as_the_list_says);
  return test_finish();
}
