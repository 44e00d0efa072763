/* The bytes of compact files, version 1, as docs/guides/compact.md describes them: a file is written as these bytes,
 * and these bytes are read as what was written. With another piece the file is refused or read as the page says. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "checkpoint/crc32.h"
#include "compact/compact.h"
#include "graph/op.h"
#include "ops/ops.h"

typedef struct Bytes {
  const char *at;
  size_t count;
} Bytes;
#define BYTES(text) {text, sizeof(text) - 1}

/* ---- the file, piece by piece ---- */

typedef struct Piece {
  const char *name;
  Bytes is;
} Piece;

#define NULLS "\0\0\0\0"
#define QUARTER "\0\0\x80\x3e"
#define HALF "\0\0\0\x3f"
#define ONE "\0\0\x80\x3f"
#define TWO "\0\0\0\x40"
#define NOT_A_NUMBER "\0\0\xc0\x7f"
#define SQUARE "\1\2\4\4\1" ONE TWO "\0\0\x40\x40\0\0\x80\xc0" /* float32 (2, 2): 1, 2, 3, -4 */
#define PAIR "\1\1\4\1" QUARTER "\0\0\0\x41"                   /* float32 (2): 0.25, 8 */
#define LEAST "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"         /* a long: -2⁶³ */

static const Piece pieces[] = {
    {"text count", BYTES("\x1c")},
    {"text 1", BYTES("\0\0")},
    {"texts 2 to 7", BYTES("\0\7Dropout\0\1M\1\5atMul\0\1N\0\4Relu\0\6author")},
    {"texts 8 to 15", BYTES("\0\1b\0\015com.microsoft\0\4drop\0\1f\1\1s\0\1h\0\1i\1\1s")},
    {"texts 16 to 19", BYTES("\0\2me\1\x8omentum0\x8\0011\2\2st")},
    {"texts 20 to 28", BYTES("\0\7product\0\4relu\0\1s\1\1s\0\1t\0\1w\1\4ords\0\1x\0\1y")},
    {"settings", BYTES("\xf" QUARTER "\x66\x66\x66\x3f\x77\xbe\x7f\x3f\x77\xcc\x2b\x32")},
    {"weight decay", BYTES("\x0a\xd7\x23\x3c")},
    {"momentum", BYTES(NULLS NULLS NULLS NULLS NULLS NULLS)},
    {"flags", BYTES(ONE ONE NULLS)},
    {"clip_value", BYTES(NULLS)},
    {"graphs", BYTES("\2")},
    {"IR version, opset, made", BYTES("\x8\xb\3")},
    {"imports", BYTES("\2\1\x11\x9\1")},
    {"metadata", BYTES("\2\7\x10")},
    {"symbols", BYTES("\2\5\3")},
    {"values", BYTES("\4")},
    {"x", BYTES("\x1b\1\3\3\1\4\0\0")}, /* float32 (M, N, 2), coding 0; no initializer */
    {"w", BYTES("\x19" SQUARE "\1")},
    {"most", BYTES("\x13\1\0\1\0\0\xc0\x40\0")},
    {"words", BYTES("\x1a\x8\1\4\1\x10\1\0")},
    {"nodes", BYTES("\2")},
    {"MatMul", BYTES("\1\4\x14\0\2\1\2\1\xd\0")},
    {"Dropout", BYTES("\1\2\xa\x8\3\5\0\0\2\x1c\0")},
    {"f, i and s", BYTES("\7\xb\1" TWO "\xe\2\x9\x16\3\5")},
    {"t", BYTES("\x18\4\1\7\1\4\1\1\0\0\0\0\0\0\0\xd4\xfe\xff\xff\xff\xff\xff\xff")},
    {"fs, is and ss", BYTES("\xc\5\2" HALF "\0\0\x80\xbf\xf\6\2\2\xd7\4\x17\7\2\x10\x1b")},
    {"outputs", BYTES("\1\6")},
    {"what evaluates", BYTES("\0\x11\0\1\1\x11\0\0\1\x1b\1\1\4\0\0\1\1\6\x15\0\1\1\1\x1c\0\1\2")},
    {"parameters", BYTES("\0\1\x19" SQUARE "\1\x8\6\1\4\1" QUARTER "\0\0\0\x41")},
    {"steps", BYTES("\1\x12" HALF QUARTER "\1\x19\xe\2\x11" PAIR "\x12" PAIR)},
    {"properties", BYTES("\3\xe\0\5\0\0\0\0\0\xb\1\0" HALF "\0\x16\2\0\0\0\0\0\x10")},
    {"random", BYTES(LEAST "\x80\1")},
    {"position", BYTES("\2\4\5\x8\xa")},
    {"fit", BYTES("\x10")},
    {"best", BYTES("\1\x19" SQUARE)},
    {"bounds", BYTES("\1\x19\0\0\x80\xbf" ONE)},
    {"groups", BYTES("\1\x19" HALF NULLS TWO)},
    {"averages", BYTES("\1\x19" SQUARE)},
    {"bases", BYTES("\1\x19" SQUARE)},
};
enum { PIECES = sizeof pieces / sizeof *pieces };

/* Other bytes for some of the pieces. */
enum { CHANGED = 3 };
typedef struct Change {
  const char *what;
  Piece instead[CHANGED];
  const char *sentence; /* in the refusal; NULL: that its place in the file cannot be */
} Change;
static const Change none = {"nothing is changed"};

static Bytes bytes_of(const Piece *piece, const Change *change) {
  for (int k = 0; k < CHANGED; k++)
    if (change->instead[k].name && strcmp(change->instead[k].name, piece->name) == 0) return change->instead[k].is;
  return piece->is;
}

static void put_checksum(uint8_t *file, size_t count) {
  uint32_t checksum = crc32_of(file + COMPACT_CHECKED, count - COMPACT_CHECKED);
  memcpy(file + offsetof(CompactHead, checksum), &checksum, sizeof checksum);
}

/* The file with a piece changed, in a block of exactly its size. */
static uint8_t *file_with(const Change *change, size_t *count) {
  static const CompactHead head = {{0x0D, 'T', 'L', 'C', 'P'}, 1, .optimizer = "adamw"};
  Bytes parts[PIECES];
  *count = sizeof head;
  for (int i = 0; i < PIECES; i++) {
    parts[i] = bytes_of(&pieces[i], change);
    *count += parts[i].count;
  }
  uint8_t *file = malloc(*count), *at = file + sizeof head;
  memcpy(file, &head, sizeof head);
  for (int i = 0; i < PIECES; at += parts[i++].count) memcpy(at, parts[i].at, parts[i].count);
  put_checksum(file, *count);
  return file;
}

/* ---- what it holds ---- */

static float square[] = {1, 2, 3, -4}, pair[] = {0.25f, 8}, six[] = {6}, floats[] = {0.5f, -1};
static int64_t ints[] = {1, -300};
static const char *const strings[] = {"me", "x"}, *words[] = {"me", NULL};

static Graph *graph_that_trains(Arena *arena, Error *error) {
  Graph *g = graph_new(arena, error);
  graph_import(g, "", 17), graph_import(g, "com.microsoft", 1);
  graph_set_metadata(g, "author", "me");
  g->ir_version = 8, g->file_opset = 11, g->made = 3;
  Dim n = graph_symbol(g, "N"), m = graph_symbol(g, "M");
  graph_fresh_dim(g); /* no input and no file has it */
  const Shape batch = SHAPE(m, n, 2), two_two = SHAPE(2, 2), two = SHAPE(2), scalar = {0};
  Value *x = graph_value(g, "x", DTYPE_FLOAT32, &batch, VALUE_INPUT);
  Value *w = graph_constant(g, "w", DTYPE_FLOAT32, &two_two, square);
  graph_add_input(g, x);
  w->initializer = true;
  graph_constant(g, "most", DTYPE_FLOAT32, &scalar, six);
  graph_constant(g, "words", DTYPE_STRING, &two, words);
  Node *product = graph_node(g, &op_mat_mul, "product", (Value *[]){x, w}, 2, (const char *[]){"h"}, 1, NULL, 0);
  Value t = {.name = "", .kind = VALUE_CONSTANT, .type = DTYPE_INT64, .shape = two, .data = ints};
  Value *tensor = memcpy(arena_alloc(arena, sizeof t), &t, sizeof t);
  const Attr attrs[] = {attr_of_float("f", 2),
                        attr_of_int("i", -5),
                        attr_of_string("s", "N"),
                        {"t", ATTR_TENSOR, .tensor = tensor},
                        {"fs", ATTR_FLOATS, 2, .floats = floats},
                        attr_of_ints("is", ints, 2),
                        {"ss", ATTR_STRINGS, 2, .strings = strings}};
  Node *drop = graph_node(g, &op_dropout, "drop", (Value *[]){product->out[0], NULL, NULL}, 3,
                          (const char *[]){"y", ""}, 2, attrs, 7);
  drop->stream = 5;
  graph_add_output(g, drop->out[0]);
  return g;
}

static Graph *graph_that_evaluates(Arena *arena, Error *error) {
  Graph *g = graph_new(arena, error);
  const Shape two = SHAPE(2);
  graph_import(g, "", 17);
  g->file_opset = 17;
  Value *x = graph_value(g, "x", DTYPE_FLOAT32, &two, VALUE_INPUT);
  graph_add_input(g, x);
  graph_add_output(g, graph_node(g, &op_relu, "relu", &x, 1, (const char *[]){"y"}, 1, NULL, 0)->out[0]);
  return g;
}

static CheckpointTensor w = {"w", DTYPE_FLOAT32, {2, {2, 2}}, square, sizeof square},
                        b = {"b", DTYPE_INT32, {1, {2}}, pair, sizeof pair};
static CheckpointMoments moments = {
    "w", {{"momentum0", DTYPE_FLOAT32, {1, {2}}, pair}, {"momentum1", DTYPE_FLOAT32, {1, {2}}, pair}}, 2, 7};
static Property properties[] = {
    {"i", PROPERTY_INT, -3}, {"f", PROPERTY_FLOAT, .f = 0.5f}, {"s", PROPERTY_STRING, .s = "me"}};
static CheckpointBounds bounds = {"w", -1, 1};
static CheckpointGroup group = {"w", 0.5f, 0, 2};

static Compact what_is_written(Arena *arena, Error *error) {
  Optimizer adamw = optimizer_default(OPTIMIZER_ADAMW);
  adamw.lr = 0.25f;
  return (Compact){graph_that_trains(arena, error),
                   graph_that_evaluates(arena, error),
                   adamw,
                   {.trainable = &w,
                    .trainable_count = 1,
                    .frozen = &b,
                    .frozen_count = 1,
                    .has_optimizer = true,
                    .step = 9,
                    .initial_learning_rate = 0.5f,
                    .learning_rate = 0.25f,
                    .moments = &moments,
                    .moment_count = 1,
                    .properties = properties,
                    .property_count = 3,
                    .rng_seed = 1ull << 63,
                    .rng_step = 64,
                    .position = {1, 2, -3, 4, 5},
                    .fit = "me",
                    .best = &w,
                    .best_count = 1,
                    .bounds = &bounds,
                    .bound_count = 1,
                    .groups = &group,
                    .group_count = 1,
                    .averages = &w,
                    .average_count = 1,
                    .bases = &w,
                    .base_count = 1}};
}

static void check_bytes(const uint8_t *is, size_t count, const uint8_t *wanted, size_t wanted_count, const char *what) {
  size_t i = 0;
  while (i < count && i < wanted_count && is[i] == wanted[i]) i++;
  check(count == wanted_count && i == count, "%s: %zu bytes, not %zu; they differ from byte %zu on", what, count,
        wanted_count, i);
}

static void check_written(const Compact *c, const Change *change, Error *error) {
  Block block = {0};
  size_t bytes, wanted_bytes;
  uint8_t *wanted = file_with(change, &wanted_bytes);
  if (check(compact_write(c, TRAINLET_WEIGHTS_EXACT, error, &block, &bytes) == STATUS_OK, "%s", error->text))
    check_bytes(block.data, bytes, wanted, wanted_bytes, change->what);
  block_free(&block);
  free(wanted);
}

static void is_written_as_described(const void *argument) {
  (void)argument;
  Arena arena = {0};
  Error error = {0};
  Compact c = what_is_written(&arena, &error);
  check_written(&c, &none, &error);
  arena_free(&arena);
}

/* ---- read ---- */

/* The checkpoint's numbers lie in the file's bytes if these stay, else nothing does. */
static void check_read(const Change *change, bool stay) {
  Arena arena = {0};
  Error error = {0};
  Compact c;
  size_t bytes;
  uint8_t *file = file_with(change, &bytes);
  bool ok = compact_read(file, bytes, stay, &arena, &error, &c) == STATUS_OK;
  check(ok, "%s: %s", change->what, error.text);
  for (int i = 0; ok && i < c.checkpoint.trainable_count; i++) {
    const uint8_t *at = c.checkpoint.trainable[i].data;
    bool in_file = at > file && at < file + bytes;
    check(in_file == (stay && c.checkpoint.trainable[i].bytes), "%s: its numbers lie elsewhere", change->what);
  }
  if (ok) check(c.train->input_count == (graph_find(c.train, "x") != NULL), "%d inputs", c.train->input_count);
  if (!stay) free(file);
  if (ok) check_written(&c, change, &error);
  if (stay) free(file);
  arena_free(&arena);
}

static void is_read_as_it_was_written(const void *change) { check_read(change, true), check_read(change, false); }

#define CHANGE(name, bytes)                                                                                            \
  {                                                                                                                    \
    {                                                                                                                  \
      name, BYTES(bytes)                                                                                               \
    }                                                                                                                  \
  }
#define CHANGES(a, of_a, b, of_b)                                                                                      \
  {                                                                                                                    \
    {a, BYTES(of_a)}, { b, BYTES(of_b) }                                                                               \
  }
/* Texts that are read nowhere else are metadata, domains or properties: none is written that is not read. */

static const Change read_changes[] = {
    {"no graph evaluates",
     {{"graphs", BYTES("\1")}, {"metadata", BYTES("\4\7\x10\6\x15")}, {"what evaluates", BYTES("")}}},
    {"the largest int", CHANGE("IR version, opset, made", "\x8\xb\xff\xff\xff\xff\7")},
    {"no metadata", CHANGES("imports", "\3\1\x11\x9\1\7\1", "metadata", "\0")},
    {"a name that shares all of the one before",
     CHANGES("texts 20 to 28", "\0\7product\0\4relu\0\1s\1\1s\0\1t\0\1w\1\4ords\0\1x\1\1y", "outputs", "\1\6")},
    {"numbers of 2 bits", CHANGE("parameters", "\0\1\x19" SQUARE "\1\x8\x1a\1\4\1\2\3")},
    {"eight dims",
     CHANGE("parameters", "\0\1\x19\1\x8\2\2\2\2\2\2\2\4\1" ONE TWO "\1\x8\6\1\4\1" QUARTER "\0\0\0\x41")},
    {"no elements", CHANGE("parameters", "\0\1\x19\1\2\0\4\1\1\x8\6\1\4\1" QUARTER "\0\0\0\x41")},
    {"a nominal checkpoint", CHANGE("parameters", "\1\1\x19\1\0\0\1\x8\6\0\0")},
    {"no optimizer",
     CHANGES("steps", "\0\0" HALF QUARTER "\0", "properties", "\2\x11\0\5\0\0\0\0\0\x12\1\0" HALF "\0")},
    {"steps of all", CHANGE("steps", "\1\xe" HALF QUARTER "\1\x19\xe\2\x11" PAIR "\x12" PAIR)},
    {"no steps", CHANGE("steps", "\1\0" HALF QUARTER "\1\x19\0\2\x11" PAIR "\x12" PAIR)},
    {"no fit", CHANGE("fit", "\0")},
    {"a value of an empty text", CHANGE("properties", "\1\x16\2\0\0\0\0\0\1")},
    {"bounds that meet", CHANGE("bounds", "\1\x19" ONE ONE)},
    {"the first stream", CHANGE("Dropout", "\1\2\xa\1\3\5\0\0\2\x1c\0")},
    {"the last stream", CHANGE("Dropout", "\1\2\xa\xfc\xff\xff\xff\xf\3\5\0\0\2\x1c\0")},
    {"no output", CHANGE("outputs", "\0")},
    {"a first output that is absent", CHANGE("Dropout", "\1\2\xa\x8\3\5\0\0\2\0\x1c")},
};

/* ---- refused ---- */

typedef enum Reader { COPIES, STAYS, TRAINER, READERS } Reader;

static Status read_by(Reader reader, const uint8_t *file, size_t bytes, Arena *arena, Error *error) {
  struct FixedDim dims[] = {{"N", 3}, {"M", 4}};
  const CompactFixed fixed = {dims, 2, arena};
  Compact c;
  if (reader == TRAINER) return compact_read_fixed(file, bytes, &fixed, arena, error, &c);
  return compact_read(file, bytes, reader == STAYS, arena, error, &c);
}

static void is_refused(const void *argument) {
  const Change *change = argument;
  const char *sentence = change->sentence ? change->sentence : "the compact file is damaged: what it says at byte ";
  size_t bytes;
  uint8_t *file = file_with(change, &bytes);
  for (Reader reader = COPIES; reader < READERS; reader++) {
    Arena arena = {0};
    Error error = {0};
    Status status = read_by(reader, file, bytes, &arena, &error);
    check(status != STATUS_OK && status == error.status && strstr(error.text, sentence), "reader %d, status %d: '%s'",
          reader, status, error.text);
    arena_free(&arena);
  }
  free(file);
}

static const Change refused[] = {
    {"a count past 64 bits", CHANGE("position", "\2\4\5\x8\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\0")},
    {"an int past 31 bits", CHANGE("IR version, opset, made", "\x8\xb\x80\x80\x80\x80\x8")},
    {"more texts than bytes", CHANGE("text count", "\xff\xff\1")},
    {"a text of more bytes than there are", CHANGE("texts 2 to 7", "\0\xff\xff\1")},
    {"a text with a zero byte", CHANGE("texts 16 to 19", "\0\2m\0\1\x8omentum0\x8\0011\2\2st")},
    {"a text that is not UTF-8", CHANGE("texts 16 to 19", "\0\2\xc3\x28\0\x9momentum0\x8\0011\0\2st")},
    {"a first text that shares a byte", CHANGE("text 1", "\1\0")},
    {"a text that shares more than there is",
     CHANGE("texts 8 to 15", "\0\1b\0\015com.microsoft\0\4drop\0\1f\2\1s\0\1h\0\1i\1\1s")},
    {"a text that shares far more",
     CHANGE("texts 8 to 15", "\0\1b\0\015com.microsoft\0\4drop\0\1f\xff\1s\0\1h\0\1i\1\1s")},
    {"a text that is none", CHANGE("fit", "\x1d")},
    {"a name that is missing", CHANGE("metadata", "\2\7\0")},
    {"a setting more than there are", CHANGE("clip_value", NULLS NULLS)},
    {"16 settings",
     CHANGES("settings", "\x10" QUARTER "\x66\x66\x66\x3f\x77\xbe\x7f\x3f\x77\xcc\x2b\x32", "clip_value", NULLS NULLS)},
    {"half a flag", CHANGE("flags", HALF ONE NULLS)},
    {"a weight decay that is no number", CHANGE("weight decay", NOT_A_NUMBER)},
    {"no graph", CHANGE("graphs", "\0")},
    {"three graphs", CHANGES("graphs", "\3", "what evaluates", "\0\x11\0\0\0\0\0\0\0\0\x11\0\0\0\0\0\0\0")},
    {"opset 0", CHANGE("imports", "\2\1\x11\x9\0")},
    {"a key of metadata without a text", CHANGE("metadata", "\1\7")},
    {"a dim of no symbol", CHANGE("x", "\x1b\1\3\5\1\4\0\0")},
    {"a dim of a far symbol", CHANGE("x", "\x1b\1\3\xff\xff\xff\xff\7\1\4\0\0")},
    {"a dim of the least long", CHANGE("x", "\x1b\1\3" LEAST "\1\4\0\0")},
    {"nine dims", CHANGE("x", "\x1b\1\x9\2\2\2\2\2\2\2\2\4\0\0")},
    {"a flag of two", CHANGE("x", "\x1b\1\3\3\1\4\0\2")},
    {"a value without a name", CHANGE("x", "\1\1\3\3\1\4\0\0")},
    {"a value twice", CHANGE("x", "\x19\1\3\3\1\4\0\0"), "'w'"},
    {"strings that are fed", CHANGE("x", "\x1b\x8\3\3\1\4\0\0")},
    {"elements of a dim without a number", CHANGE("w", "\x19\1\2\1\4\1" ONE TWO ONE TWO "\1")},
    {"a type that is none", CHANGE("w", "\x19\xe\2\4\4\1" ONE TWO ONE TWO "\1")},
    {"a type past the last", CHANGE("w", "\x19\x1b\2\4\4\1" ONE TWO ONE TWO "\1")},
    {"a coding that is none", CHANGE("w", "\x19\1\2\4\4\4" ONE TWO "\1\2\3\4\1")},
    {"more elements than memory", CHANGE("w", "\x19\1\2\x80\x80\x80\x80\x80\x40\x80\x80\x80\x80\x80\x40\1\1")},
    {"more elements than bytes", CHANGE("w", "\x19\1\2\x80\x80\x80\x80\x80\x40\4\1\1")},
    {"more strings than bytes", CHANGE("words", "\x1a\x8\1\x80\x80\x80\x80\x80\x40\1\0")},
    {"ints as halves", CHANGE("parameters", "\0\1\x19" SQUARE "\1\x8\6\1\4\2" QUARTER)},
    {"an operator that is none", CHANGE("MatMul", "\1\x8\x14\0\2\1\2\1\xd\0"), "an operator we lack: b"},
    {"an operator of another domain", CHANGE("MatMul", "\x9\4\x14\0\2\1\2\1\xd\0"),
     "an operator we lack: com.microsoft.MatMul"},
    {"an operator made of others",
     CHANGES("texts 2 to 7", "\0\7Dropout\0\1M\1\5atMul\0\1N\0\4Relu\0\025DynamicQuantizeLinear", "MatMul",
             "\1\7\x14\0\1\1\1\xd\0")},
    {"a product of halves", CHANGE("w", "\x19\xa\2\4\4\1" ONE TWO "\1")},
    {"an input that comes later", CHANGE("MatMul", "\1\4\x14\0\2\1\5\1\xd\0")},
    {"an input of another shape", CHANGE("MatMul", "\1\4\x14\0\2\1\3\1\xd\0"), "MatMul 'product'"},
    {"a stream before the first", CHANGE("Dropout", "\1\2\xa\3\3\5\0\0\2\x1c\0")},
    {"a stream past the last", CHANGE("Dropout", "\1\2\xa\xfe\xff\xff\xff\xf\3\5\0\0\2\x1c\0")},
    {"an attribute of a graph", CHANGE("f, i and s", "\7\xb\1" TWO "\xe\2\x9\x16\x8\5")},
    {"an attribute's tensor without elements", CHANGE("t", "\x18\4\1\7\1\4\0")},
    {"an output that is none", CHANGE("outputs", "\1\0")},
    {"an output past the last", CHANGE("outputs", "\1\7")},
    {"an output of strings", CHANGE("outputs", "\1\4")},
    {"a parameter of strings", CHANGE("parameters", "\0\1\x19" SQUARE "\1\x8\x8\1\4\1\x10\1")},
    {"a parameter of no type", CHANGE("parameters", "\0\1\x19" SQUARE "\1\x8\xe\1\4\1")},
    {"a parameter without numbers", CHANGE("parameters", "\0\1\x19\1\2\4\4\0\0")},
    {"a frozen one without numbers", CHANGE("parameters", "\0\1\x19" SQUARE "\1\x8\6\1\4\0")},
    {"a nominal one with numbers", CHANGE("parameters", "\1\1\x19\1\0\1" ONE "\0")},
    {"a nominal one with dims", CHANGE("parameters", "\1\0\1\x8\6\1\4\0")},
    {"a parameter twice", CHANGE("parameters", "\0\1\x19" SQUARE "\1\x19" SQUARE), "'w'"},
    {"a step below 0", CHANGE("steps", "\1\1" HALF QUARTER "\0")},
    {"steps of a parameter below 0", CHANGE("steps", "\1\x12" HALF QUARTER "\1\x19\1\1\x11" PAIR)},
    {"more steps of a parameter than of all", CHANGE("steps", "\1\x12" HALF QUARTER "\1\x19\x14\1\x11" PAIR)},
    {"three moments", CHANGE("steps", "\1\x12" HALF QUARTER "\1\x19\xe\3\x11" PAIR "\x12" PAIR "\x12" PAIR)},
    {"a moment without numbers", CHANGE("steps", "\1\x12" HALF QUARTER "\1\x19\xe\1\x11\1\1\4\0")},
    {"a rate that is no number", CHANGE("steps", "\1\x12" HALF NOT_A_NUMBER "\0")},
    {"steps of no optimizer", CHANGE("steps", "\0\x12" HALF QUARTER "\0")},
    {"moments of no optimizer", CHANGE("steps", "\0\0" HALF QUARTER "\1\x19\0\1\x11" PAIR)},
    {"a property of no kind", CHANGE("properties", "\1\xe\3\5\0\0\0\0\x10")},
    {"a property without its text", CHANGE("properties", "\1\x16\2\0\0\0\0\0\0")},
    {"a best one without numbers", CHANGE("best", "\1\x19\1\2\4\4\0")},
    {"bounds that are turned", CHANGE("bounds", "\1\x19" ONE "\0\0\x80\xbf")},
    {"a bound that is no number", CHANGE("bounds", "\1\x19" NOT_A_NUMBER ONE)},
    {"a group's rate that is no number", CHANGE("groups", "\1\x19" NOT_A_NUMBER NULLS TWO)},
    {"an average without numbers", CHANGE("averages", "\1\x19\1\2\4\4\0")},
    {"a base without numbers", CHANGE("bases", "\1\x19\1\2\4\4\0")},
    {"fewer small numbers than there are", CHANGE("bases", "\1\x19\1\2\4\4\3" ONE TWO "\1\2\3")},
    {"a byte more", CHANGE("bases", "\1\x19" SQUARE "\0")},
};

/* ---- the head and the end ---- */

static void check_refused(const uint8_t *file, size_t bytes, Status wanted, const char *sentence) {
  Arena arena = {0};
  Error error = {0};
  Compact c;
  Status status = compact_read(file, bytes, false, &arena, &error, &c);
  check(status == wanted && strstr(error.text, sentence), "not '%s' but '%s'", sentence, error.text);
  arena_free(&arena);
}

static void a_beginning_is_no_file(const void *argument) {
  (void)argument;
  size_t bytes;
  uint8_t *file = file_with(&none, &bytes);
  for (size_t count = 0; count < bytes; count++) {
    uint8_t *part = malloc(count + !count);
    memcpy(part, file, count);
    bool whole_head = count >= sizeof(CompactHead);
    if (whole_head) put_checksum(part, count);
    check_refused(part, count, STATUS_INVALID_MODEL, whole_head ? "cannot be" : "bytes are no compact file");
    free(part);
  }
  free(file);
}

static void the_head_is_checked(const void *argument) {
  (void)argument;
  size_t bytes;
  uint8_t *file = file_with(&none, &bytes);
  for (int i = 0; i < 5; i++) {
    file[i] ^= 1;
    check_refused(file, bytes, STATUS_INVALID_MODEL, "bytes are no compact file");
    file[i] ^= 1;
  }
  file[5] = 0,
  check_refused(file, bytes, STATUS_UNSUPPORTED_VERSION, "is of version 0 of the format, we read version 1");
  file[5] = 2,
  check_refused(file, bytes, STATUS_UNSUPPORTED_VERSION, "is of version 2 of the format, we read version 1");
  file[5] = 1;
  for (size_t i = offsetof(CompactHead, checksum); i < bytes; i++) {
    file[i] ^= 4;
    check_refused(file, bytes, STATUS_INVALID_MODEL, "its checksum does not match");
    file[i] ^= 4;
  }
  memcpy(file + offsetof(CompactHead, optimizer), "adamwxyzadam", COMPACT_NAME_BYTES);
  put_checksum(file, bytes);
  check_refused(file, bytes, STATUS_UNSUPPORTED_OP, "optimizer 'adamwxyzadam' is one we lack");
  free(file);
}

int main(void) {
  TEST(is_written_as_described);
  test_run(none.what, is_read_as_it_was_written, &none);
  for (size_t i = 0; i < sizeof read_changes / sizeof *read_changes; i++)
    test_run(read_changes[i].what, is_read_as_it_was_written, &read_changes[i]);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) test_run(refused[i].what, is_refused, &refused[i]);
  TEST(a_beginning_is_no_file);
  TEST(the_head_is_checked);
  return test_finish();
}
