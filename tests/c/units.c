/* Units: arena, blocks, checked sizes, shapes, random numbers, error sentences. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "check.h"
#include "graph/graph.h"
#include "graph/op.h"
#include "text_builder.h"
#include "rng.h"
#include "shape.h"
#include "status.h"

/* ---- printer ---- */

static void a_printer_grows_and_escapes(const void *argument) {
  Arena arena = {0};
  TextBuilder p = text_new(&arena);
  text_put(&p, "{"), text_field(&p, "a\"\\", -3), text_field(&p, "b", 4);
  text_put(&p, ","), text_key(&p, "c"), text_string(&p, "line\n\x1b\xc3\xa9");
  text_put(&p, ","), text_key(&p, "d"), text_float(&p, NAN);
  text_put(&p, ","), text_key(&p, "e"), text_float(&p, -INFINITY);
  const char *wanted = "{\"a\\\"\\\\\":-3,\"b\":4,\"c\":\"line\\u000a\\u001b\xc3\xa9\",\"d\":null,\"e\":-1e999";
  check(p.text && strcmp(p.text, wanted) == 0, "it is %s", p.text);
  size_t before = p.length;
  for (int i = 0; i < 5000; i++) text_int(&p, i % 10);
  check(p.text && strlen(p.text) == before + 5000 && p.length == before + 5000, "it has %zu characters", p.length);
  check(p.text && p.text[before + 4321] == '1', "it was not kept as it grew");
  arena_free(&arena);
}

/* ---- arena ---- */

static void arena_gives_aligned_zeroed_memory(const void *argument) {
  Arena arena = {0};
  static const size_t sizes[] = {0, 1, 15, 16, 17, 1000, 4095, 4096, 4097, 100000, 3};
  unsigned char *before = NULL;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    unsigned char *p = arena_alloc(&arena, sizes[i]);
    if (!check(p != NULL, "%zu bytes: NULL", sizes[i])) break;
    check(((uintptr_t)p & 15) == 0, "%zu bytes: not aligned to 16", sizes[i]);
    check(p != before, "%zu bytes: the same block again", sizes[i]);
    for (size_t k = 0; k < sizes[i]; k++)
      if (!check(p[k] == 0, "%zu bytes: byte %zu is not zero", sizes[i], k)) break;
    memset(p, 0xAB, sizes[i]);
    if (sizes[i]) before = p;
  }
  check(arena.used_bytes == 113408, "used_bytes is %zu", arena.used_bytes); /* each rounded up to 16 */
  arena_free(&arena);
  check(arena.used_bytes == 0 && !arena.chunk, "arena_free left something");
}

static void arena_keeps_blocks_apart(const void *argument) {
  Arena arena = {0};
  enum { BLOCKS = 300 };
  unsigned char *block[BLOCKS];
  for (int i = 0; i < BLOCKS; i++)
    block[i] = memset(arena_alloc(&arena, (size_t)(i * 37 % 6000)), i, (size_t)(i * 37 % 6000));
  for (int i = 0; i < BLOCKS; i++)
    for (int k = 0; k < i * 37 % 6000; k++)
      if (!check(block[i][k] == (i & 255), "block %d was written over", i)) return arena_free(&arena);
  arena_free(&arena);
}

static void arena_refuses_what_overflows(const void *argument) {
  Arena arena = {0};
  check(!arena_alloc(&arena, SIZE_MAX), "SIZE_MAX bytes were given");
  check(arena.failed, "the failure is not kept");
  arena_free(&arena);
  check(!arena.failed, "arena_free keeps the failure");
  check(!arena_alloc_array(&arena, SIZE_MAX / 8 + 1, 16), "a product that wraps was given");
  check(arena.failed, "the failure is not kept");
  arena_free(&arena);
}

static void arena_prints_and_grows_lists(const void *argument) {
  Arena arena = {0};
  char *text = arena_print(&arena, "%s-%d", "node", 42);
  check(text && strcmp(text, "node-42") == 0, "arena_print gives '%s'", text ? text : "NULL");
  char *copy = arena_copy_text(&arena, text);
  check(copy != text && strcmp(copy, text) == 0, "arena_copy_text gives '%s'", copy);
  int *items = NULL, capacity = 0;
  for (int i = 0; i < 1000; i++) {
    items = arena_list_grow(&arena, items, i, &capacity, sizeof *items);
    items[i] = i;
  }
  for (int i = 0; i < 1000; i++) check(items[i] == i, "item %d of the grown list is %d", i, items[i]);
  arena_free(&arena);
}

static void blocks_are_reused_and_aligned(const void *argument) {
  Block block = {0};
  check(block_reserve(&block, 100) && ((uintptr_t)block.data & 63) == 0, "a block of 100 bytes is not aligned to 64");
  void *before = block.data;
  check(block_reserve(&block, 60) && block.data == before, "a smaller wish moves the block");
  check(block_reserve(&block, 100000), "the block does not grow");
  memset(block.data, 1, 100000);
  memset(block.data, 1, 100000);
  check(block_reserve_zeroed(&block, 90000), "no zeroed block");
  for (int i = 0; i < 90000; i++) check(((char *)block.data)[i] == 0, "byte %d of a zeroed block is not 0", i);
  check(!block_reserve(&block, SIZE_MAX - 8), "an overflowing size was given");
  block_free(&block);
  check(!block.data && !block.capacity, "block_free left something");
}

static void sizes_are_checked(const void *argument) {
  size_t out = 0;
  check(size_multiply(3, 5, &out) && out == 15, "3 × 5 is %zu", out);
  check(size_multiply(SIZE_MAX, 1, &out) && out == SIZE_MAX, "SIZE_MAX × 1 is refused");
  check(!size_multiply(SIZE_MAX / 2 + 1, 2, &out), "2^63 × 2 is accepted");
  check(size_add(SIZE_MAX - 1, 1, &out) && out == SIZE_MAX, "a sum that just fits is refused");
  check(!size_add(SIZE_MAX, 1, &out), "SIZE_MAX + 1 is accepted");
}

/* ---- shapes ---- */

static void shapes_count(const void *argument) {
  size_t count = 99;
  Shape scalar = {0}, matrix = SHAPE(2, 3), empty = SHAPE(4, 0, INT64_MAX), huge = SHAPE(INT64_MAX, 4);
  Shape symbolic = SHAPE(SYMBOL_0, 3), wide = SHAPE((int64_t)1 << 40, (int64_t)1 << 40);
  check(shape_count(&scalar, &count) && count == 1, "a scalar has %zu elements", count);
  check(shape_count(&matrix, &count) && count == 6, "(2, 3) has %zu elements", count);
  check(shape_count(&empty, &count) && count == 0, "a dim of 0 gives %zu elements", count);
  check(!shape_count(&huge, &count) && !shape_count(&wide, &count), "a product that overflows is accepted");
  check(!shape_count(&symbolic, &count), "a symbol is counted");
  check(shape_is_concrete(&matrix) && !shape_is_concrete(&symbolic), "concrete and symbolic are confused");
  check(shape_elements(&matrix) == 6 && shape_span(&matrix, 1, 2) == 3 && shape_span(&matrix, 1, 1) == 1,
        "elements or span are wrong");
}

static void shapes_compare_print_and_stride(const void *argument) {
  Shape a = SHAPE(2, 3, 4), b = SHAPE(2, 3), c = SHAPE(2, SYMBOL_0, 4);
  char text[SHAPE_TEXT];
  size_t stride[RANK_MAX];
  check(shape_equal(&a, &a) && !shape_equal(&a, &b) && !shape_equal(&a, &c) && shape_equal(&c, &c),
        "shape_equal is wrong");
  check(strcmp(shape_print(&c, text), "(2, ?, 4)") == 0, "printed as %s", text);
  check(strcmp(shape_print(&(Shape){0}, text), "()") == 0, "a scalar is printed as %s", text);
  shape_strides(&a, stride);
  check(stride[0] == 12 && stride[1] == 4 && stride[2] == 1, "strides are %zu, %zu, %zu", stride[0], stride[1],
        stride[2]);
  Shape longest = SHAPE(INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX);
  check(strlen(shape_print(&longest, text)) < SHAPE_TEXT, "a long shape overruns its text");
}

static void symbols_and_numbers_are_told_apart(const void *argument) {
  check(dim_is_number(0) && dim_is_number(INT64_MAX) && !dim_is_number(SYMBOL_0), "numbers are confused");
  check(dim_is_symbol(SYMBOL_0) && dim_is_symbol(SYMBOL_0 - 5) && !dim_is_symbol(-1) && !dim_is_symbol(INT64_MIN),
        "symbols are confused");
  check(dim_symbol(SYMBOL_0 - 5) == 5, "symbol 5 is %d", dim_symbol(SYMBOL_0 - 5));
}

static void types_have_names_and_sizes(const void *argument) {
  check(strcmp(dtype_name(DTYPE_FLOAT32), "float32") == 0 && dtype_bytes(DTYPE_FLOAT32) == 4, "float32 is wrong");
  check(dtype_bytes(DTYPE_INT64) == 8 && dtype_bytes(DTYPE_BOOL) == 1 && dtype_bytes(DTYPE_FLOAT16) == 2,
        "a size is wrong");
  check(dtype_bytes(DTYPE_STRING) == sizeof(char *) && dtype_raw_bytes(DTYPE_STRING) == 0 &&
            dtype_raw_bytes(DTYPE_INT32) == 4,
        "a string is no pointer, or one in files");
  for (int type = -3; type < 40; type += 42)
    check(strcmp(dtype_name((DType)type), "unknown") == 0 && !dtype_bytes((DType)type), "type %d is known", type);
}

/* ---- random numbers ---- */

/* Known answers of philox4x32 with 10 rounds from the authors' Random123 (kat_vectors). */
static void philox_gives_the_known_answers(const void *argument) {
  static const struct {
    uint32_t counter[4], key[2], want[4];
  } known[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (int i = 0; i < 3; i++) {
    Rng rng = {.seed = (uint64_t)known[i].key[1] << 32 | known[i].key[0],
               .step = (uint64_t)known[i].counter[3] << 32 | known[i].counter[2]};
    uint32_t out[4];
    rng_block(&rng, known[i].counter[1], known[i].counter[0], out);
    check(memcmp(out, known[i].want, sizeof out) == 0, "vector %d gives %08x %08x %08x %08x", i, out[0], out[1], out[2],
          out[3]);
    uint32_t four[16];
    rng_four_blocks(&rng, known[i].counter[1], known[i].counter[0], four);
    for (uint32_t k = 0; k < 4; k++) {
      rng_block(&rng, known[i].counter[1], known[i].counter[0] + k, out);
      check(memcmp(out, four + 4 * k, sizeof out) == 0, "block %u of four from vector %d differs", k, i);
    }
  }
}

static void units_are_uniform(const void *argument) {
  Rng rng = {.seed = 5};
  double sum = 0;
  enum { BLOCKS = 4096 };
  for (uint32_t block = 0; block < BLOCKS; block++) {
    uint32_t out[4];
    rng_block(&rng, 1, block, out);
    for (int i = 0; i < 4; i++) {
      float u = rng_unit(out[i]);
      check(u >= 0 && u < 1, "a unit is %g", (double)u);
      sum += (double)u;
    }
  }
  double mean = sum / (4 * BLOCKS); /* standard error 0.0023 */
  check(mean > 0.49 && mean < 0.51, "the mean of %d units is %g", 4 * BLOCKS, mean);
  check(rng_unit(0) == 0 && rng_unit(~0u) < 1, "the ends of [0, 1) are wrong");
}

/* ---- errors ---- */

static void the_first_error_wins(const void *argument) {
  Error error = {0};
  check(error_set(&error, STATUS_INVALID_FEED, "fc1", "wanted %d", 3) == STATUS_INVALID_FEED,
        "error_set gives another status");
  check(error_set(&error, STATUS_INTERNAL, "fc2", "later") == STATUS_INVALID_FEED,
        "the second error's status came back");
  check(strcmp(error.text, "wanted 3") == 0 && strcmp(error.node, "fc1") == 0, "kept '%s' of '%s'", error.text,
        error.node);
  error_clear(&error);
  check(error.status == STATUS_OK && !*error.text && !*error.node, "error_clear left something");
}

/* True when the text ends with a whole character. */
static bool ends_whole(const char *text) {
  size_t n = strlen(text), tail = 0;
  while (tail < n && ((unsigned char)text[n - 1 - tail] & 0xC0) == 0x80) tail++;
  if (tail == n) return n == 0;
  unsigned char lead = (unsigned char)text[n - 1 - tail];
  return tail + 1 == (lead >= 0xF0 ? 4u : lead >= 0xE0 ? 3u : lead >= 0xC0 ? 2u : 1u);
}

static void long_sentences_are_cut_between_characters(const void *argument) {
  static const char *const letters[] = {"a", "é", "→", "𝄞"};
  for (int letter = 0; letter < 4; letter++)
    for (int shift = 0; shift < 4; shift++) {
      char text[2000] = "";
      for (int i = 0; i < shift; i++) strcat(text, "x");
      while (strlen(text) < 1200) strcat(text, letters[letter]);
      Error error = {0};
      error_set(&error, STATUS_INTERNAL, text, "%s", text);
      check(ends_whole(error.text) && ends_whole(error.node), "'%s' shifted by %d is cut inside a character",
            letters[letter], shift);
      check(strlen(error.text) > sizeof error.text - 6 && strlen(error.node) > sizeof error.node - 6,
            "too much of '%s' is cut", letters[letter]);
    }
}

static void whole_sentences_stay_whole(const void *argument) {
  Error error = {0};
  error_set(&error, STATUS_INTERNAL, "größe→", "%s", "α → é");
  check(strcmp(error.text, "α → é") == 0 && strcmp(error.node, "größe→") == 0, "kept '%s' of '%s'", error.text,
        error.node);
}

static void codes_are_stable(const void *argument) {
  check(strcmp(status_code(STATUS_OK), "ok") == 0 && strcmp(status_code(STATUS_INVALID_MODEL), "invalid-model") == 0,
        "a code changed");
  check(strcmp(status_code(STATUS_NON_FINITE_LOSS), "non-finite-loss") == 0 &&
            strcmp(status_code((Status)999), "internal") == 0,
        "a code changed");
}

/* ---- graphs ---- */

static void graphs_refuse_a_name_twice(const void *argument) {
  Arena arena = {0};
  Error error = {0};
  Graph *g = graph_new(&arena, &error);
  Shape shape = SHAPE(2);
  Value *x = graph_value(g, "x", DTYPE_FLOAT32, &shape, VALUE_INPUT);
  check(x && graph_find(g, "x") == x && !graph_find(g, "y"), "a value is not found by its name");
  for (int i = 0; i < 500; i++) graph_value(g, NULL, DTYPE_FLOAT32, &shape, VALUE_INPUT);
  check(graph_find(g, "x") == x, "a value is lost when the table grows");
  check(!graph_value(g, "x", DTYPE_FLOAT32, &shape, VALUE_INPUT) && error.status == STATUS_INVALID_MODEL,
        "the name x is given twice");
  check(strstr(error.text, "'x'") != NULL, "the sentence does not name x: %s", error.text);
  arena_free(&arena);
}

static void graphs_count_a_node_s_ports(const void *argument) {
  Arena arena = {0};
  Error error = {0};
  Graph *g = graph_new(&arena, &error);
  check(graph_import(g, "", 17) == STATUS_OK, "opset 17 is refused");
  Added nothing_made = {.op = op_find("SequenceEmpty"), .name = "empty"};
  check(graph_add(g, &nothing_made) == STATUS_INVALID_MODEL, "a node without its output is taken");
  check(strstr(error.text, "SequenceEmpty 'empty': has at least 1 outputs, 0 are asked for") != NULL,
        "the sentence is: %s", error.text);
  arena_free(&arena);
}

static void graphs_name_symbols(const void *argument) {
  Arena arena = {0};
  Error error = {0};
  Graph *g = graph_new(&arena, &error);
  Dim n = graph_symbol(g, "N"), fresh = graph_fresh_dim(g), other = graph_fresh_dim(g);
  check(graph_symbol(g, "N") == n && graph_symbol(g, "M") != n && fresh != n && fresh != other, "symbols are confused");
  check(strcmp(graph_symbol_name(g, n), "N") == 0 && !*graph_symbol_name(g, fresh), "names of symbols are wrong");
  arena_free(&arena);
}

/* Reshape to a shape that is fed: refused, or put off without a word. */
/* A session computes what a shape depends on; before, the shape has symbols. */
static void nodes_wait_only_where_they_may(const void *argument) {
  for (int may = 0; may < 2; may++) {
    Arena arena = {0};
    Error error = {0};
    Graph *g = graph_new(&arena, &error);
    graph_import(g, "", 17);
    g->deferral.allowed = may;
    Shape two = SHAPE(2);
    Value *x = graph_value(g, "x", DTYPE_FLOAT32, &two, VALUE_INPUT),
          *to = graph_value(g, "to", DTYPE_INT64, &two, VALUE_INPUT);
    graph_add_input(g, x);
    graph_add_input(g, to);
    Value *y = emit(g, "Reshape", x, to);
    if (!check(y && error.status == STATUS_OK, "refused: '%s'", error.text)) return;
    check(g->deferral.pending == may && !g->deferral.tries, "the node %s", may ? "does not wait" : "waits");
    check(y->producer->deferred.input == (may ? to : NULL), "it waits for something else than its shape");
    check(may || (y->type == DTYPE_FLOAT32 && y->shape.rank == 2 && !shape_is_concrete(&y->shape)),
          "the shape has no symbols");
    arena_free(&arena);
  }
}

int main(void) {
  TEST(a_printer_grows_and_escapes);
  TEST(arena_gives_aligned_zeroed_memory);
  TEST(arena_keeps_blocks_apart);
  TEST(arena_refuses_what_overflows);
  TEST(arena_prints_and_grows_lists);
  TEST(blocks_are_reused_and_aligned);
  TEST(sizes_are_checked);
  TEST(shapes_count);
  TEST(shapes_compare_print_and_stride);
  TEST(symbols_and_numbers_are_told_apart);
  TEST(types_have_names_and_sizes);
  TEST(philox_gives_the_known_answers);
  TEST(units_are_uniform);
  TEST(the_first_error_wins);
  TEST(long_sentences_are_cut_between_characters);
  TEST(whole_sentences_stay_whole);
  TEST(codes_are_stable);
  TEST(graphs_refuse_a_name_twice);
  TEST(graphs_count_a_node_s_ports);
  TEST(graphs_name_symbols);
  TEST(nodes_wait_only_where_they_may);
  return test_finish();
}
