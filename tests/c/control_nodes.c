/* Operators on sequences and with subgraphs, a node each, in graphs that no Case can express: what comes out, as their
 * specifications say, and what is refused says why. */
#include "check.h"
#include "graph/sequence.h"
#include "graph/subgraph.h"
#include "one_node.h"

/* ---- sequences ---- */

static Value *sequence_of(Room *r, int count) {
  Value *items[] = {emit_ints(r->g, (int64_t[]){1, 2}, 2), emit_ints(r->g, (int64_t[]){3}, 1), emit_int(r->g, 4)};
  return count ? emit_first(r->g, "SequenceConstruct", NO_ATTRS, items, count)
               : emit_first(r->g, "SequenceEmpty", ATTRS(attr_of_int("dtype", DTYPE_INT64)), NULL, 0);
}

static Value *ints(Room *r, int64_t from, int count) {
  int64_t *all = ARENA_ARRAY(&r->arena, int64_t, count + 1);
  for (int i = 0; i < count; i++) all[i] = from + i;
  return emit_ints(r->g, all, count);
}

typedef enum Kind { NOTHING, SEQUENCE, LIST_OF_INTS, INT, FLOAT, OPTIONAL } Kind;
typedef struct Input {
  Kind kind;
  int number; /* count of items or ints, or the number itself */
} Input;

static Value *input_of(Room *r, Input in) {
  switch (in.kind) {
    case SEQUENCE: return sequence_of(r, in.number);
    case LIST_OF_INTS: return ints(r, 1, in.number);
    case INT: return emit_int(r->g, in.number);
    case FLOAT: return emit_float(r->g, (float)in.number);
    case OPTIONAL: return emit_first(r->g, "Optional", NO_ATTRS, NULL, 0);
    default: return NULL;
  }
}

/* A refusal; or a sequence's lengths of items, or a tensor. */
typedef struct SequenceRow {
  const char *op;
  AttrList attrs;
  int count;
  Input in[3];
  const char *words;
  int items, lengths[4];
  Data y;
} SequenceRow;

static const SequenceRow sequence_rows[] = {
    {"SequenceConstruct", NO_LIST, 2, {{INT, 1}, {INT, 2}}, .items = 2, .lengths = {1, 1}},
    {"SequenceConstruct", NO_LIST, 2, {{INT, 1}, {FLOAT, 2}}, "inputs 0 and 1 are of different types"},
    {"SequenceConstruct", NO_LIST, 2, {{INT, 1}, {NOTHING}}, "input 1 must be there"},
    {"SequenceConstruct", NO_LIST, 2, {{NOTHING}, {INT, 1}}, "input 0 must be there"},
    {"SequenceConstruct", NO_LIST, 1, {{SEQUENCE, 1}}, "is a sequence itself"},
    {"SequenceEmpty", LIST(A_INT("dtype", 14)), 0, {{NOTHING}}, "is one we lack"},
    {"SequenceInsert", NO_LIST, 2, {{SEQUENCE, 2}, {LIST_OF_INTS, 3}}, .items = 3, .lengths = {2, 1, 3}},
    {"SequenceInsert", NO_LIST, 3, {{SEQUENCE, 2}, {LIST_OF_INTS, 3}, {INT, -2}}, .items = 3, .lengths = {3, 2, 1}},
    {"SequenceInsert", NO_LIST, 3, {{SEQUENCE, 2}, {LIST_OF_INTS, 3}, {INT, 1}}, .items = 3, .lengths = {2, 3, 1}},
    {"SequenceInsert", NO_LIST, 3, {{SEQUENCE, 2}, {INT, 3}, {INT, 3}}, "position 3 is outside of a sequence of 2"},
    {"SequenceInsert", NO_LIST, 3, {{SEQUENCE, 2}, {INT, 3}, {INT, -3}}, "position -3 is outside of a sequence of 2"},
    {"SequenceInsert",
     NO_LIST,
     2,
     {{SEQUENCE, 2}, {FLOAT, 3}},
     "a tensor of float32 does not go into a sequence of int64"},
    {"SequenceInsert", NO_LIST, 2, {{SEQUENCE, 2}, {SEQUENCE, 1}}, "is a sequence itself"},
    {"SequenceInsert", NO_LIST, 2, {{INT, 2}, {INT, 1}}, "is a tensor, it must be a sequence"},
    {"SequenceErase", NO_LIST, 1, {{SEQUENCE, 3}}, .items = 2, .lengths = {2, 1}},
    {"SequenceErase", NO_LIST, 2, {{SEQUENCE, 3}, {INT, 0}}, .items = 2, .lengths = {1, 1}},
    {"SequenceErase", NO_LIST, 1, {{SEQUENCE, 0}}, "the sequence is empty"},
    {"SequenceErase", NO_LIST, 2, {{SEQUENCE, 3}, {LIST_OF_INTS, 2}}, "must be one element, it has 2"},
    {"SequenceAt", NO_LIST, 2, {{SEQUENCE, 3}, {INT, -3}}, .y = INT64S(1, 2)},
    {"SequenceAt", NO_LIST, 2, {{SEQUENCE, 3}, {INT, 2}}, .y = INT64S(4)},
    {"SequenceAt", NO_LIST, 2, {{SEQUENCE, 0}, {INT, 0}}, "position 0 is outside of a sequence of 0"},
    {"SequenceLength", NO_LIST, 1, {{SEQUENCE, 3}}, .y = INT64S(3)},
    {"SequenceLength", NO_LIST, 1, {{SEQUENCE, 0}}, .y = INT64S(0)},
    {"SequenceLength", NO_LIST, 1, {{OPTIONAL}}, "an optional without an element"},
    {"ConcatFromSequence", LIST(A_INT("axis", 0)), 1, {{SEQUENCE, 2}}, .y = INT64S(1, 2, 3)},
    {"ConcatFromSequence", LIST(A_INT("axis", 0)), 1, {{SEQUENCE, 0}}, "the sequence is empty"},
    {"ConcatFromSequence", NO_LIST, 1, {{SEQUENCE, 2}}, "'axis' must be there"},
    {"SplitToSequence", NO_LIST, 1, {{LIST_OF_INTS, 3}}, .items = 3, .lengths = {1, 1, 1}},
    {"SplitToSequence", NO_LIST, 1, {{LIST_OF_INTS, 0}}, .items = 0},
    {"SplitToSequence", NO_LIST, 2, {{LIST_OF_INTS, 5}, {INT, 2}}, .items = 3, .lengths = {2, 2, 1}},
    {"SplitToSequence", NO_LIST, 2, {{LIST_OF_INTS, 3}, {LIST_OF_INTS, 2}}, .items = 2, .lengths = {1, 2}},
    {"SplitToSequence", NO_LIST, 2, {{LIST_OF_INTS, 5}, {INT, 0}}, "5 elements cannot be cut into parts of 0"},
    {"SplitToSequence", NO_LIST, 1, {{LIST_OF_INTS, 5000}}, "5000 elements cannot be cut into parts of 1"},
    {"SplitToSequence", NO_LIST, 2, {{LIST_OF_INTS, 5}, {LIST_OF_INTS, 2}}, "the sizes add up to 3, the axis has 5"},
    {"SplitToSequence", NO_LIST, 2, {{LIST_OF_INTS, 5}, {LIST_OF_INTS, 0}}, "the parts have 0 elements, not 5"},
    {"SplitToSequence", LIST(A_INT("axis", 1)), 1, {{LIST_OF_INTS, 5}}, "axis 1 is outside of 1 dimensions"},
    {"SplitToSequence", NO_LIST, 1, {{SEQUENCE, 2}}, "it must be a tensor"},
    {"OptionalGetElement", NO_LIST, 1, {{OPTIONAL}}, "has no element"},
    {"OptionalGetElement", NO_LIST, 1, {{INT, 3}}, .y = INT64S(3)},
    {"OptionalHasElement", NO_LIST, 1, {{OPTIONAL}}, .y = {DTYPE_BOOL, 1, 0, (const uint8_t[]){0}}},
    {"OptionalHasElement", NO_LIST, 0, {{NOTHING}}, .y = {DTYPE_BOOL, 1, 0, (const uint8_t[]){0}}},
    {"OptionalHasElement", NO_LIST, 1, {{SEQUENCE, 2}}, .y = {DTYPE_BOOL, 1, 0, (const uint8_t[]){1}}},
};

static void check_sequence(const SequenceRow *row) {
  Room r;
  room_open(&r, 1);
  Value *in[3], *made = NULL;
  for (int i = 0; i < row->count; i++) in[i] = input_of(&r, row->in[i]);
  if (check(r.error.status == STATUS_OK, "%s: its inputs: %s", row->op, r.error.text)) {
    const Op *op = op_find(row->op);
    r.status = graph_expand(
        r.g, &(Added){op, "tested", in, row->count, (const char *[]){NULL}, 1, row->attrs.items, row->attrs.count},
        &made);
  }
  if (row->words) room_expect_refused(&r, row->op, row->words);
  else if (!check(r.status == STATUS_OK && made, "%s: %s", row->op, r.error.text)) made = NULL;
  else if (row->y.count) room_run(&r, row->op, made->name, &row->y);
  else if (check(value_is_sequence(made) && made->item_count == row->items, "%s makes another number of items",
                 row->op))
    for (int i = 0; i < row->items; i++)
      check((int)shape_elements(&made->items[i]->shape) == row->lengths[i], "%s: item %d has another length", row->op,
            i);
  arena_free(&r.arena);
}

static void sequences_are_handled(const void *argument) {
  size_t count = sizeof sequence_rows / sizeof *sequence_rows;
  for (size_t i = 0; i < count; i++) check_sequence(&sequence_rows[i]);
  test_note("%zu nodes", count);
}

/* ---- subgraphs ---- */

/* Bodies whose outputs are their inputs, by number. */
static const char *slot_names[] = {"a", "b", "c", "d"};
static Value declared[4] = {{.name = "p", .type = DTYPE_INT64},
                            {.name = "q", .type = DTYPE_INT64},
                            {.name = "r", .type = DTYPE_INT64},
                            {.name = "s", .type = DTYPE_INT64}};
#define BODY(inputs, count, ...)                                                                                       \
  ((Subgraph){.names = slot_names,                                                                                     \
              .slot_count = inputs,                                                                                    \
              .input_count = inputs,                                                                                   \
              .outputs = (int[]){__VA_ARGS__},                                                                         \
              .declared = declared,                                                                                    \
              .output_count = count,                                                                                   \
              .size = 1})
#define A_BODY(title, body) {.name = title, .kind = ATTR_GRAPH, .subgraph = body}

/* Has no inputs, and a constant as its output. */
static Subgraph just(int64_t *number) {
  static Value constants[2];
  static int next, place[1];
  Value *c = &constants[next++ & 1];
  *c = (Value){.name = "k", .kind = VALUE_CONSTANT, .type = DTYPE_INT64, .data = number};
  return (Subgraph){.names = slot_names,
                    .slot_count = 1,
                    .constants = c,
                    .constant_slots = place,
                    .constant_count = 1,
                    .outputs = place,
                    .declared = declared,
                    .output_count = 1};
}

static void try_if(int elements, bool truth, const Subgraph *yes, const Subgraph *no, int outputs, const char *words,
                   int64_t want) {
  Room r;
  room_open(&r, 1);
  uint8_t bits[] = {truth, truth};
  Value *condition = room_constant(&r, &(Data){DTYPE_BOOL, elements, 0, bits});
  const Attr attrs[] = {A_BODY("then_branch", yes), A_BODY("else_branch", no)};
  room_add(&r, "If", (AttrList){attrs, no ? 2 : 1}, &condition, 1, outputs);
  if (words) room_expect_refused(&r, "If", words);
  else if (check(r.status == STATUS_OK, "If: %s", r.error.text))
    room_run(&r, "If", "y", &(Data){DTYPE_INT64, 1, 0, &want});
  arena_free(&r.arena);
}

static void ifs_choose(const void *argument) {
  int64_t seven = 7, eight = 8;
  Subgraph yes = just(&seven), no = just(&eight), takes_one = BODY(1, 1, 0);
  try_if(1, true, &yes, &no, 1, NULL, 7);
  try_if(1, false, &yes, &no, 1, NULL, 8);
  try_if(1, true, &yes, NULL, 1, NULL, 7);
  try_if(1, false, &yes, NULL, 1, "lacks the subgraph 'else_branch'", 0);
  try_if(2, true, &yes, &no, 1, "the condition must be one element, it has 2", 0);
  try_if(0, true, &yes, &no, 1, "the condition must be one element, it has 0", 0);
  try_if(1, true, &takes_one, &no, 1, "its then_branch takes 1 inputs, it must have none", 0);
  try_if(1, false, &yes, &takes_one, 1, "its else_branch takes 1 inputs, it must have none", 0);
  try_if(1, true, &yes, &no, 2, "its then_branch has 1 outputs, 2 are wanted", 0);
}

/* A node with a body; y and z are its outputs. */
typedef struct Try {
  const char *op;
  Subgraph body;
  int scanned; /* num_scan_inputs */
  Value *in[4];
  int in_count, out_count;
  const char *words;
  Data y, z;
} Try;

static void check_try(Room *r, const Try *t) {
  const Attr attrs[] = {A_BODY("body", &t->body), A_INT("num_scan_inputs", t->scanned)};
  room_add(r, t->op, (AttrList){attrs, t->body.slot_count ? 2 : 0}, t->in, t->in_count, t->out_count);
  if (t->words) room_expect_refused(r, t->op, t->words);
  else if (check(r->status == STATUS_OK, "%s: %s", t->op, r->error.text)) {
    if (t->y.count) room_run(r, t->op, "y", &t->y);
    if (t->z.type) room_run(r, t->op, "z", &t->z);
  }
  arena_free(&r->arena);
}

/* Opens a room, in which the inputs are made. */
#define TRY_NODE(...)                                                                                                  \
  do {                                                                                                                 \
    Room r;                                                                                                            \
    room_open(&r, 1);                                                                                                  \
    check_try(&r, &(Try){__VA_ARGS__});                                                                                \
  } while (0)
#define NUMBER(x) emit_int(r.g, x)

static Value *symbolic(Room *r) {
  Shape shape = SHAPE(graph_symbol(r->g, "N"));
  Value *x = graph_value(r->g, "fed", DTYPE_INT64, &shape, VALUE_INPUT);
  return graph_add_input(r->g, x), x;
}

/* A body (i, condition, v) ─▶ (condition, v, i): v stays, 0 … M - 1 are scanned. */
static void loops_go_round(const void *argument) {
  const Subgraph counts = BODY(3, 3, 1, 2, 0), one_in = BODY(1, 1, 0), one_out = BODY(3, 1, 1);
  TRY_NODE("Loop", counts, 0, {NUMBER(3), NULL, NUMBER(9)}, 3, 2, .y = INT64S(9), .z = INT64S(0, 1, 2));
  TRY_NODE("Loop", counts, 0, {NUMBER(2), emit_truth(r.g, true), NUMBER(9)}, 3, 2, .y = INT64S(9), .z = INT64S(0, 1));
  TRY_NODE("Loop", counts, 0, {NUMBER(2), emit_truth(r.g, false), NUMBER(9)}, 3, 2, .y = INT64S(9),
           .z = {DTYPE_INT64, 0, 0, ""});
  TRY_NODE("Loop", counts, 0, {NUMBER(0), NULL, NUMBER(9)}, 3, 1, .y = INT64S(9));
  TRY_NODE("Loop", counts, 0, {NUMBER(-1), NULL, NUMBER(9)}, 3, 1, .y = INT64S(9));
  TRY_NODE("Loop", counts, 0, {NULL, emit_truth(r.g, false), NUMBER(9)}, 3, 1, .y = INT64S(9));
  TRY_NODE("Loop", one_in, 0, {NUMBER(3), NULL}, 2, 1, "2 inputs do not fit a body of 1 inputs and 1 outputs");
  TRY_NODE("Loop", one_out, 0, {NUMBER(3), NULL, NUMBER(1)}, 3, 1, "do not fit a body of 3 inputs and 1 outputs");
  TRY_NODE("Loop", counts, 0, {NUMBER(3), NULL}, 2, 1, "2 inputs do not fit a body of 3 inputs and 3 outputs");
  TRY_NODE("Loop", counts, 0, {NUMBER(3), NULL, NUMBER(1), NUMBER(2)}, 4, 1, "4 inputs do not fit");
  TRY_NODE("Loop", counts, 0, {NUMBER(3), NULL, NUMBER(9)}, 3, 3, "3 outputs are wanted, its body makes 2");
  TRY_NODE("Loop", counts, 0, {NUMBER(3), NULL, NULL}, 3, 1, "input 2 must be there");
  TRY_NODE("Loop", counts, 0, {NULL, NULL, NUMBER(9)}, 3, 1, "neither a number of iterations nor a condition");
  TRY_NODE("Loop", counts, 0, {NUMBER(1 << 24), NULL, NUMBER(9)}, 3, 1, "it has 16777216 iterations, we do up to");
  TRY_NODE("Loop", counts, 0, {ints(&r, 2, 2), NULL, NUMBER(9)}, 3, 1, "input 0 must be one element, it has 2");
  TRY_NODE("Loop", counts, 0, {NUMBER(1), ints(&r, 1, 2), NUMBER(9)}, 3, 1, "input 1 must be one element, it has 2");
  TRY_NODE("Loop", counts, 0, {emit_shape(r.g, symbolic(&r)), NULL, NUMBER(9)}, 3, 1, "it is a dimension 'N'");
}

/* A body (state, element) ─▶ (state, element). */
static void scans_go_along(const void *argument) {
  const Subgraph same = BODY(2, 2, 0, 1), one_out = BODY(2, 1, 0), two = BODY(2, 2, 0, 1), none_out = BODY(2, 0, 0);
  TRY_NODE("Scan", same, 1, {NUMBER(9), ints(&r, 1, 3)}, 2, 2, .y = INT64S(9), .z = INT64S(1, 2, 3));
  TRY_NODE("Scan", two, 2, {ints(&r, 1, 3), ints(&r, 4, 3)}, 2, 2, .y = INT64S(1, 2, 3), .z = INT64S(4, 5, 6));
  TRY_NODE("Scan", same, 1, {NUMBER(9), ints(&r, 1, 0)}, 2, 2, .y = INT64S(9), .z = {DTYPE_INT64, 0, 0, ""});
  TRY_NODE("Scan", one_out, 1, {NUMBER(9), ints(&r, 1, 3)}, 2, 1, .y = INT64S(9));
  TRY_NODE("Scan", same, 0, {NUMBER(9), ints(&r, 1, 3)}, 2, 2, "2 inputs of which 0 are scanned do not fit");
  TRY_NODE("Scan", same, 3, {NUMBER(9), ints(&r, 1, 3)}, 2, 2, "2 inputs of which 3 are scanned do not fit");
  TRY_NODE("Scan", same, 1, {ints(&r, 1, 3)}, 1, 2, "1 inputs of which 1 are scanned do not fit a body of 2 inputs");
  TRY_NODE("Scan", none_out, 1, {NUMBER(9), ints(&r, 1, 3)}, 2, 1, "do not fit a body of 2 inputs and 0 outputs");
  TRY_NODE("Scan", same, 1, {NUMBER(9), ints(&r, 1, 3)}, 2, 3, "3 outputs are wanted, its body makes 2");
  TRY_NODE("Scan", same, 1, {NUMBER(9), NULL}, 2, 2, "input 1 must be there");
  TRY_NODE("Scan", two, 2, {ints(&r, 1, 3), ints(&r, 1, 4)}, 2, 2, "has 4 elements, of another input 3");
  TRY_NODE("Scan", two, 2, {ints(&r, 1, 0), ints(&r, 1, 3)}, 2, 2, "has 3 elements, of another input 0");
  TRY_NODE("Scan", same, 1, {NUMBER(9), NUMBER(1)}, 2, 2, "axis 0 is outside of 0 dimensions");
  TRY_NODE("Scan", same, 1, {NUMBER(9), symbolic(&r)}, 2, 2, "dimension 0 of input 1 ('N') must be a number");
  TRY_NODE("Scan", same, 1, {NUMBER(9), ints(&r, 1, 65537)}, 2, 2, "it has 65537 iterations, we do up to 65536");
}

/* A sequence of as many items, whose lengths are these. */
static void expect_lengths(Room *r, const char *name, const int *lengths, int count) {
  const Value *s = graph_find(r->g, name);
  if (!check(s && value_is_sequence(s) && s->item_count == count, "'%s' is no sequence of %d", name, count)) return;
  for (int i = 0; i < count; i++)
    check((int)shape_elements(&s->items[i]->shape) == lengths[i], "item %d of '%s' has another length", i, name);
}

static void try_map(Room *r, Value *second, const int *want) {
  const Subgraph swaps = BODY(2, 2, 1, 0);
  const Attr attrs[] = {A_BODY("body", &swaps)};
  Value *in[] = {sequence_of(r, 2), second};
  room_add(r, "SequenceMap", (AttrList){attrs, 1}, in, 2, 2);
  if (check(r->status == STATUS_OK, "%s", r->error.text))
    expect_lengths(r, "y", want, 2), expect_lengths(r, "z", (int[]){2, 1}, 2);
  arena_free(&r->arena);
}

/* The bodies swap their inputs; what is no sequence is the same each time. */
static void sequences_are_mapped(const void *argument) {
  const Subgraph one = BODY(1, 1, 0), two = BODY(2, 2, 1, 0);
  Room r;
  room_open(&r, 1), try_map(&r, sequence_of(&r, 3), (int[]){2, 1});
  room_open(&r, 1), try_map(&r, ints(&r, 1, 5), (int[]){5, 5});
  TRY_NODE("SequenceMap", one, 0, {NUMBER(1)}, 1, 1, "is a tensor, it must be a sequence");
  TRY_NODE("SequenceMap", one, 0, {sequence_of(&r, 2), NUMBER(1)}, 2, 1,
           "its body has 1 inputs and 1 outputs, it 2 and 1");
  TRY_NODE("SequenceMap", one, 0, {sequence_of(&r, 2)}, 1, 2, "its body has 1 inputs and 1 outputs, it 1 and 2");
  TRY_NODE("SequenceMap", two, 0, {sequence_of(&r, 2), NULL}, 2, 1, "input 1 must be there");
  TRY_NODE("SequenceMap", two, 0, {sequence_of(&r, 3), sequence_of(&r, 2)}, 2, 1,
           "sequence 1 is shorter than the first one");
}

static const Row yield_rows[] = {
    {"YieldOp", 1, NO_LIST, TEXTS("a"), "input 0 ('x') is string, it takes numbers"},
    {"YieldOp", 1, LIST(A_INTS("non_differentiable_outputs", 0)), FLOATS(1),
     "1 outputs, 0 of its inputs want a gradient"},
};

static void yields_have_gradients(const void *argument) {
  CHECK_ROWS(yield_rows);
  TRY_NODE("YieldOp", {0}, 0, {emit_float(r.g, 1), NULL}, 2, 2, "input 1 must be there");
  TRY_NODE("YieldOp", {0}, 0, {emit_float(r.g, 1), emit_float(r.g, 2)}, 2, 1, "more of its inputs want a gradient");
}

int main(void) {
  TEST(sequences_are_handled);
  TEST(ifs_choose);
  TEST(loops_go_round);
  TEST(scans_go_along);
  TEST(sequences_are_mapped);
  TEST(yields_have_gradients);
  return test_finish();
}
