/* Parts of compact files: weights in fewer bits, to the bit; texts that share beginnings; graphs that no file can hold;
 * and what a trainer reads, whose dims are numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "checkpoint/crc32.h"
#include "compact/compact.h"
#include "graph/op.h"
#include "ops/ops.h"

static Arena arena;
static Error error;

static uint8_t *written(const Compact *c, TrainletWeights weights, Block *block, size_t *bytes) {
  check(compact_write(c, weights, &error, block, bytes) == STATUS_OK, "%s", error.text);
  return block->data;
}

static bool reads(const void *file, size_t bytes, Compact *out) {
  error = (Error){0};
  return compact_read(file, bytes, true, &arena, &error, out) == STATUS_OK;
}

/* ---- weights in fewer bits ---- */

#define LEAST 0x1p-149f /* above 0 */

static float three_two[] = {127, -63.5f, 0, 0, 190 * LEAST, -190 * LEAST};
static float whole[] = {0.1f, NAN}, large[] = {65520, 1}, minus[] = {1, -65520}, below[] = {-65519, 1},
             great[] = {127 * 1024, 127};
static int32_t ints[] = {1 << 30, 3};

/* The coding that each is written with, and its bytes where it is another than CODING_EXACT. */
typedef struct Coded {
  const char *what;
  TrainletWeights weights;
  CheckpointTensor tensor;
  CompactCoding coding;
  const char *bytes;
  float read[6]; /* the numbers read, but for CODING_EXACT */
} Coded;

#define MATRIX(rows, columns, data) {"w", DTYPE_FLOAT32, {2, {rows, columns}}, data, sizeof data}

static const Coded coded[] = {
    {"a channel's scale is its largest / 127, that of zeros is 0",
     TRAINLET_WEIGHTS_INT8,
     MATRIX(3, 2, three_two),
     CODING_INT8,
     "\0\0\x80\x3f\0\0\0\0\1\0\0\0\x7f\xc0\0\0\x7f\x81",
     {127, -64, 0, 0, 127 * LEAST, -127 * LEAST}},
    {"bytes of a number that is too large for a half",
     TRAINLET_WEIGHTS_INT8,
     MATRIX(2, 1, great),
     CODING_INT8,
     "\0\0\x80\x44\0\0\x80\x3f\x7f\x7f",
     {127 * 1024, 127}},
    {"halves",
     TRAINLET_WEIGHTS_FLOAT16,
     MATRIX(3, 2, three_two),
     CODING_HALF,
     "\xf0\x57\xf0\xd3\0\0\0\0\0\0\0\x80",
     {127, -63.5f}},
    {"the largest half", TRAINLET_WEIGHTS_FLOAT16, MATRIX(2, 1, below), CODING_HALF, "\xff\xfb\0\x3c", {-65504, 1}},
    {"halves where a number is too large", TRAINLET_WEIGHTS_FLOAT16, MATRIX(2, 1, large), CODING_EXACT},
    {"halves where a number is too small", TRAINLET_WEIGHTS_FLOAT16, MATRIX(2, 1, minus), CODING_EXACT},
    {"bytes where a number is not finite", TRAINLET_WEIGHTS_INT8, MATRIX(2, 1, whole), CODING_EXACT},
    {"bytes of a vector", TRAINLET_WEIGHTS_INT8, {"w", DTYPE_FLOAT32, {1, {2}}, large, 8}, CODING_EXACT},
    {"halves of a vector", TRAINLET_WEIGHTS_FLOAT16, {"w", DTYPE_FLOAT32, {1, {2}}, below, 8}, CODING_EXACT},
    {"bytes of ints", TRAINLET_WEIGHTS_INT8, {"w", DTYPE_INT32, {2, {1, 2}}, ints, 8}, CODING_EXACT},
    {"bytes of nothing", TRAINLET_WEIGHTS_INT8, {"w", DTYPE_FLOAT32, {2, {2, 0}}, large, 0}, CODING_EXACT},
};

static const uint8_t *found(const uint8_t *file, size_t bytes, const void *piece, size_t count) {
  for (size_t i = 0; i + count <= bytes; i++)
    if (memcmp(file + i, piece, count) == 0) return file + i;
  return NULL;
}

static void is_coded(const void *argument) {
  const Coded *row = argument;
  CheckpointTensor t = row->tensor;
  Compact read, c = {.train = graph_new(&arena, &error), .checkpoint = {.trainable = &t, .trainable_count = 1}};
  Block block = {0};
  size_t bytes, count = shape_elements(&t.shape);
  const uint8_t *file = written(&c, row->weights, &block, &bytes);
  if (row->bytes) {
    uint8_t piece[64] = {1, 2, (uint8_t)(2 * t.shape.dim[0]), (uint8_t)(2 * t.shape.dim[1]), (uint8_t)row->coding};
    size_t scales = row->coding == CODING_INT8 ? (size_t)t.shape.dim[0] * 4 : 0;
    size_t all = 5 + scales + count * (scales ? 1 : 2);
    memcpy(piece + 5, row->bytes, all - 5);
    check(found(file, bytes, piece, all) != NULL, "other bytes");
  }
  if (check(reads(file, bytes, &read), "%s", error.text)) {
    const CheckpointTensor *is = &read.checkpoint.trainable[0];
    check(is->type == t.type && is->bytes == t.bytes, "%zu bytes", is->bytes);
    if (row->coding == CODING_EXACT) check(memcmp(is->data, t.data, t.bytes) == 0, "other numbers");
    for (size_t i = 0; row->coding != CODING_EXACT && i < count; i++) {
      float x;
      memcpy(&x, (const char *)is->data + i * sizeof x, sizeof x);
      check(x == row->read[i], "element %zu is %g, not %g", i, (double)x, (double)row->read[i]);
    }
  }
  block_free(&block);
}

/* ---- files without a graph's nodes ---- */

enum { LETTERS = 255 };
typedef struct Empty {
  size_t texts; /* 255 equal letters each: two bytes of the file and 255 of memory */
  size_t graphs;
  const char *trainable; /* the list of what trains, of so many bytes; NULL: nothing */
  size_t trainable_bytes;
} Empty;

static bool reads_empty(const Empty *e, float *out, size_t count) {
  enum { REST = 26 }; /* bytes of a checkpoint in which nothing is but what trains */
  uint8_t *file = calloc(1, 200 + LETTERS + 2 * e->texts + 9 * e->graphs), *at = file + sizeof(CompactHead);
  memcpy(file, "\x0DTLCP\1", 6);
  *at++ = (uint8_t)(e->texts | 0x80), *at++ = (uint8_t)(e->texts >> 7);
  *at++ = 0, *at++ = LETTERS | 0x80, *at++ = LETTERS >> 7;
  memset(at, 'a', LETTERS), at += LETTERS;
  for (size_t i = 1; i < e->texts; i++) *at++ = LETTERS, *at++ = 0;
  *at++ = 0; /* no settings */
  *at++ = (uint8_t)e->graphs, at += 9 * e->graphs;
  *at++ = 0; /* it is not nominal */
  if (e->trainable) memcpy(at, e->trainable, e->trainable_bytes);
  at += (e->trainable ? e->trainable_bytes : 1) + REST;
  size_t bytes = (size_t)(at - file);
  uint32_t checksum = crc32_of(file + COMPACT_CHECKED, bytes - COMPACT_CHECKED);
  memcpy(file + offsetof(CompactHead, checksum), &checksum, sizeof checksum);
  Compact c;
  bool ok = reads(file, bytes, &c);
  if (ok && out) memcpy(out, c.checkpoint.trainable[0].data, count * sizeof *out);
  free(file);
  return ok;
}

/* They may be 16 times the file, and 64 KB. */
static void texts_take_no_more_than_the_file_is_worth(const void *argument) {
  (void)argument;
  const Empty one = {1, 1}, many = {314, 1}, more = {318, 1};
  check(reads_empty(&one, NULL, 0), "one text: %s", error.text);
  check(reads_empty(&many, NULL, 0), "314 texts: %s", error.text);
  check(!reads_empty(&more, NULL, 0) && strstr(error.text, "cannot be"), "318 texts: '%s'", error.text);
}

static void there_are_one_or_two_graphs(const void *argument) {
  (void)argument;
  for (size_t graphs = 0; graphs < 4; graphs++) {
    const Empty e = {1, graphs};
    check(reads_empty(&e, NULL, 0) == (graphs == 1 || graphs == 2), "%zu graphs: '%s'", graphs, error.text);
  }
}

/* Codings that no writer has for such tensors: a number has no channels, nothing has no scales. */
static void small_numbers_of_any_shape_are_read(const void *argument) {
  (void)argument;
  float x = 0;
  const Empty number = {1, 1, "\1\1\1\0\3\xfb", 6}, nothing = {1, 1, "\1\1\1\2\4\0\3", 7};
  check(reads_empty(&number, &x, 1) && x == -5, "%g: '%s'", (double)x, error.text);
  check(reads_empty(&nothing, NULL, 0), "'%s'", error.text);
}

/* ---- graphs ---- */

typedef struct Small {
  Graph *g;
  Value *x;
  Node *relu;
} Small;

/* relu(x) of the dims N and M. */
static Small small_graph(void) {
  error = (Error){0};
  Graph *g = graph_new(&arena, &error);
  graph_import(g, "", 17);
  const Shape shape = SHAPE(graph_symbol(g, "N"), graph_symbol(g, "M"), 2);
  Value *x = graph_value(g, "x", DTYPE_FLOAT32, &shape, VALUE_INPUT);
  graph_add_input(g, x);
  const Attr attr = attr_of_int("a", 1);
  Node *relu = graph_node(g, &op_relu, "relu", &x, 1, (const char *[]){"y"}, 1, &attr, 1);
  graph_add_output(g, relu->out[0]);
  return (Small){g, x, relu};
}

/* More letters than a byte can count; of its inputs' dims one is a symbol. */
static void long_texts_share_letters(const void *argument) {
  (void)argument;
  enum { SAME = 300 };
  char texts[2][SAME + 2] = {""};
  for (int i = 0; i < 2; i++) memset(texts[i], 'a', SAME), texts[i][SAME] = (char)('b' + i);
  error = (Error){0};
  Graph *g = graph_new(&arena, &error);
  const Shape shape = SHAPE(graph_symbol(g, "N"), 2);
  graph_add_input(g, graph_value(g, "x", DTYPE_FLOAT32, &shape, VALUE_INPUT));
  graph_set_metadata(g, texts[0], texts[1]);
  Compact read, c = {.train = g};
  Block block = {0};
  size_t bytes;
  const void *file = written(&c, TRAINLET_WEIGHTS_EXACT, &block, &bytes);
  if (check(reads(file, bytes, &read), "%s", error.text)) {
    const char *text = graph_metadata(read.train, texts[0]);
    check(text && strcmp(text, texts[1]) == 0, "'%s'", text ? text : "nothing");
    check(strcmp(graph_symbol_name(read.train, read.train->inputs[0]->shape.dim[0]), "N") == 0, "another symbol");
    check(bytes < 2 * SAME, "%zu bytes: nothing is shared", bytes);
  }
  block_free(&block);
}

static void waits(Small *s) { s->relu->deferred.pending = true; }
static void reads_a_sequence(Small *s) { s->x->kind = VALUE_SEQUENCE; }
static void has_a_subgraph(Small *s) { s->relu->attrs[0].kind = ATTR_GRAPH; }
static void is_made_of_others(Small *s) { s->relu->op = &op_dynamic_quantize_linear; }
static void reads_halves(Small *s) { s->x->type = DTYPE_FLOAT16; }

static void no_file_can_hold_it(const void *argument) {
  (void)argument;
  void (*const changes[])(Small *) = {waits, reads_a_sequence, has_a_subgraph, is_made_of_others, reads_halves};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
    for (int eval = 0; eval < 2; eval++) {
      Small good = small_graph(), bad = small_graph();
      Compact c = {.train = eval ? good.g : bad.g, .eval = eval ? bad.g : NULL};
      Block block = {0};
      size_t bytes;
      changes[i](&bad);
      error = (Error){0};
      check(compact_write(&c, TRAINLET_WEIGHTS_EXACT, &error, &block, &bytes) == STATUS_INVALID_ARGUMENT &&
                strstr(error.text, "'relu' decides only in a run what it is made of"),
            "change %zu: '%s'", i, error.text);
      block_free(&block);
    }
}

/* ---- for a trainer ---- */

static Status read_fixed(const void *file, size_t bytes, const CompactFixed *fixed, Compact *out) {
  error = (Error){0};
  return compact_read_fixed(file, bytes, fixed, &arena, &error, out);
}

/* All but what runs read lies in an arena of its own. */
static void dims_become_numbers(const void *argument) {
  (void)argument;
  Arena frame = {0};
  struct FixedDim dims[] = {{"N", 3}, {"K", 9}, {"M", 5}, {"M", 7}};
  CompactFixed fixed = {dims, 4, &frame};
  Small train = small_graph(), eval = small_graph();
  Compact read, c = {.train = train.g, .eval = eval.g};
  Block block = {0};
  size_t bytes;
  const void *file = written(&c, TRAINLET_WEIGHTS_EXACT, &block, &bytes);
  if (check(read_fixed(file, bytes, &fixed, &read) == STATUS_OK, "%s", error.text)) {
    const Shape wanted = SHAPE(3, 5, 2);
    check(shape_equal(&read.train->inputs[0]->shape, &wanted), "other dims");
    check(shape_equal(&read.train->outputs[0]->shape, &wanted), "the output has other dims");
    check(read.train->arena == &arena && read.train->frame == &frame, "the graph lies elsewhere");
    check(!read.eval && read.optimizer.kind == OPTIMIZER_NONE, "a trainer has no eval graph, this file no optimizer");
    check(dims[0].used && !dims[1].used && dims[2].used && !dims[3].used, "which are used");
  }
  fixed.dim_count = 2;
  check(read_fixed(file, bytes, &fixed, &read) == STATUS_INVALID_ARGUMENT &&
            strstr(error.text, "input 'x' takes any size along 'M', and the trainer was told none"),
        "'%s'", error.text);
  arena_free(&frame);
  block_free(&block);
}

int main(void) {
  for (size_t i = 0; i < sizeof coded / sizeof *coded; i++) test_run(coded[i].what, is_coded, &coded[i]);
  TEST(there_are_one_or_two_graphs);
  TEST(small_numbers_of_any_shape_are_read);
  TEST(texts_take_no_more_than_the_file_is_worth);
  TEST(long_texts_share_letters);
  TEST(no_file_can_hold_it);
  TEST(dims_become_numbers);
  arena_free(&arena);
  return test_finish();
}
