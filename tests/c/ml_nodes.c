/* Operators of text and of ai.onnx.ml, a node each, whose attributes no Case can express. What comes out is what their
 * specifications say, worked out by hand; comparisons of trees are C's own, capitals those of Python's str.upper and
 * str.lower. And what is refused says why. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "one_node.h"

/* ---- text ---- */

#define CAPITALS                                                                                                       \
  "ABCDEFGHIJKLMNOPQRSTUVWXYZÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮĲĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲ"   \
  "ŴŶŹŻŽΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩЀЁЂЃЄЅІЇЈЉЊЋЌЍЎЏАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ"
#define SMALLS                                                                                                         \
  "abcdefghijklmnopqrstuvwxyzàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįĳĵķĺļľŀłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűų"   \
  "ŵŷźżžαβγδεζηθικλμνξοπρστυφχψωѐёђѓєѕіїјљњћќѝўџабвгдежзийклмнопрстуфхцчшщъыьэюя"
#define NO_LETTERS "0@[`{/:×÷ĸ€😀 \t"

static const Row text_rows[] = {
    {"StringNormalizer", 1, LIST(A_WORD("case_change_action", "LOWER")), TEXTS(CAPITALS, SMALLS, NO_LETTERS),
     .y = TEXTS(SMALLS, SMALLS, NO_LETTERS)},
    {"StringNormalizer", 1, LIST(A_WORD("case_change_action", "UPPER")), TEXTS(CAPITALS, SMALLS, NO_LETTERS),
     .y = TEXTS(CAPITALS, CAPITALS, NO_LETTERS)},
    {"StringNormalizer", 1, LIST(A_WORD("case_change_action", "NONE")), TEXTS("aB", ""), .y = TEXTS("aB", "")},
    {"StringNormalizer", 1, NO_LIST, TEXTS("Éa"), .y = TEXTS("Éa")},
    /* ends before its second byte */
    {"StringNormalizer", 1, LIST(A_WORD("case_change_action", "UPPER")), TEXTS("a\xC3", "\xC3z"),
     .y = TEXTS("A\xC3", "\xC3Z")},
    {"StringNormalizer", 1, LIST(A_WORDS("stopwords", "Das", "ÉTÉ")), TEXTS("das", "Été", "dass", "DAS"),
     .y = TEXTS("dass")},
    {"StringNormalizer", 1, LIST(A_WORDS("stopwords", "Das", "ÉTÉ"), A_INT("is_case_sensitive", 1)),
     TEXTS("das", "Été", "Das", "ÉTÉ"), .y = TEXTS("das", "Été")},
    {"StringNormalizer", 1, LIST(A_WORDS("stopwords", "a"), A_WORD("case_change_action", "UPPER")), TEXTS("A", "b"),
     .y = TEXTS("B")},
    {"StringNormalizer", 1, LIST(A_WORDS("stopwords", "a", "b")), TEXTS("a", "b", "a"), .y = TEXTS("")},
    {"StringNormalizer",
     1,
     LIST(A_WORDS("stopwords", "x")),
     {DTYPE_STRING, 2, 1, (const char *[]){"x", "y"}},
     .y = TEXTS("y")},
    {"StringNormalizer", 1, NO_LIST, {DTYPE_STRING, 2, 2, (const char *[]){"x", "y"}}, "of shape (C) or (1, C)"},
    {"StringNormalizer", 1, LIST(A_WORD("case_change_action", "TITLE")), TEXTS("x"), "must be LOWER, UPPER or NONE"},
    {"StringNormalizer", 1, NO_LIST, INT64S(1), "it must be string"},
    {"RegexFullMatch", 1, LIST(A_WORD("pattern", "(?:ab)+c?")), TEXTS("abab", "abc", "c", ""),
     .y = {DTYPE_BOOL, 4, 0, (const uint8_t[]){1, 1, 0, 0}}},
    {"RegexFullMatch", 1, LIST(A_WORD("pattern", "(a")), TEXTS("a"), "cannot be used: it has a '(' without a ')'"},
    {"RegexFullMatch", 1, NO_LIST, FLOATS(1), "it must be string"},
};

static void strings_are_normalized(const void *argument) { CHECK_ROWS(text_rows); }

/* ---- labels and categories ---- */

static const Row label_rows[] = {
    {"LabelEncoder", 1, LIST(A_WORDS("classes_strings", "a", "b", "c")), TEXTS("c", "x", "a"), .y = INT64S(2, -1, 0)},
    {"LabelEncoder", 1, LIST(A_WORDS("classes_strings", "a", "b"), A_INT("default_int64", 9)), TEXTS("x", "b"),
     .y = INT64S(9, 1)},
    {"LabelEncoder", 1, LIST(A_WORDS("classes_strings", "a", "b")), INT64S(1, 2, -1),
     .y = TEXTS("b", "_Unused", "_Unused")},
    {"LabelEncoder", 1, LIST(A_WORDS("classes_strings", "a"), A_WORD("default_string", "none")), INT64S(0, 1),
     .y = TEXTS("a", "none")},
    {"LabelEncoder", 1, NO_LIST, INT64S(0), "'classes_strings' must be there"},
    {"LabelEncoder", 1, LIST(A_WORDS("classes_strings", "a")), FLOATS(0), "the keys are int64"},
    {"LabelEncoder", 2, LIST(A_WORDS("keys_strings", "b", "a", "b"), A_FLOATS("values_floats", 1, 2, 3)),
     TEXTS("a", "b", "ab", ""), .y = FLOATS(2, 1, 0, 0)},
    {"LabelEncoder", 2, LIST(A_WORDS("keys_strings", "b", "a"), A_WORDS("values_strings", "B", "A")),
     TEXTS("a", "c", "b"), .y = TEXTS("A", "_Unused", "B")},
    {"LabelEncoder", 2, LIST(A_FLOATS("keys_floats", 1.5f, -2), A_INTS("values_int64s", 7, 8)), FLOATS(-2, 2, 1.5f),
     .y = INT64S(8, -1, 7)},
    {"LabelEncoder", 2, LIST(A_INTS("keys_int64s", 4, 5), A_FLOATS("values_floats", 1, 2), A_FLOAT("default_float", 9)),
     INT64S(5, 6), .y = FLOATS(2, 9)},
    {"LabelEncoder", 4,
     LIST(A_TENSOR("keys_tensor", DTYPE_FLOAT64, double, 0.5, 1.5),
          A_TENSOR("values_tensor", DTYPE_INT16, int16_t, 7, 8)),
     DOUBLES(1.5, 2.5), .y = INT16S(8, -1)},
    {"LabelEncoder", 4,
     LIST(A_TENSOR("keys_tensor", DTYPE_INT32, int32_t, 3, 4),
          A_TENSOR("values_tensor", DTYPE_FLOAT64, double, 0.25, 8)),
     INT32S(4, 3), .y = DOUBLES(8, 0.25)},
    {"LabelEncoder", 4,
     LIST(A_TENSOR("keys_tensor", DTYPE_INT16, int16_t, 3, 4),
          A_TENSOR("values_tensor", DTYPE_INT32, int32_t, 70000, 8)),
     INT16S(3, 0), .y = INT32S(70000, -1)},
    {"LabelEncoder", 4,
     LIST(A_INTS("keys_int64s", 1), A_INTS("values_int64s", 2), A_TENSOR("default_tensor", DTYPE_INT64, int64_t, 42)),
     INT64S(1, 0), .y = INT64S(2, 42)},
    {"LabelEncoder", 4,
     LIST(A_INTS("keys_int64s", 1), A_INTS("values_int64s", 2), A_TENSOR("default_tensor", DTYPE_FLOAT32, float, 42)),
     INT64S(1), "default_tensor is no int64"},
    {"LabelEncoder", 4,
     LIST(A_INTS("keys_int64s", 1), A_INTS("values_int64s", 2),
          {.name = "default_tensor",
           .kind = ATTR_TENSOR,
           .tensor = &(const Value){.name = "", .type = DTYPE_INT64, .shape = {1, {0}}, .data = (int64_t[]){0}}}),
     INT64S(1), "default_tensor is no int64"},
    {"LabelEncoder", 4, LIST(A_TENSOR("keys_tensor", DTYPE_UINT8, uint8_t, 1), A_INTS("values_int64s", 2)), BYTES(1),
     "a mapping we lack"},
    {"LabelEncoder", 4, LIST(A_INTS("keys_int64s", 2), A_TENSOR("values_tensor", DTYPE_UINT8, uint8_t, 1)), INT64S(1),
     "a mapping we lack"},
    {"LabelEncoder", 2, LIST(A_INTS("keys_int64s", 1)), INT64S(1), "must have keys and values"},
    {"LabelEncoder", 2, LIST(A_INTS("values_int64s", 1)), INT64S(1), "must have keys and values"},
    {"LabelEncoder", 2, LIST(A_INTS("keys_int64s", 1, 2), A_INTS("values_int64s", 1)), INT64S(1),
     "2 keys and 1 values"},
    {"LabelEncoder", 2, LIST(A_INTS("keys_int64s", 1), A_INTS("values_int64s", 1)), TEXTS("1"),
     "is string, the keys are int64"},
    {"CategoryMapper", 1, LIST(A_INTS("cats_int64s", 5, 6), A_WORDS("cats_strings", "a", "b")), TEXTS("b", "c", "a"),
     .y = INT64S(6, -1, 5)},
    {"CategoryMapper", 1, LIST(A_INTS("cats_int64s", 5, 6), A_WORDS("cats_strings", "a", "b")), INT64S(6, 7, 5),
     .y = TEXTS("b", "_Unused", "a")},
    {"CategoryMapper", 1, LIST(A_INTS("cats_int64s", 5), A_WORDS("cats_strings", "a"), A_INT("default_int64", 3)),
     TEXTS("b"), .y = INT64S(3)},
    {"CategoryMapper", 1,
     LIST(A_INTS("cats_int64s", 5), A_WORDS("cats_strings", "a"), A_WORD("default_string", "none")), INT64S(3),
     .y = TEXTS("none")},
    {"CategoryMapper", 1, LIST(A_INTS("cats_int64s", 5)), INT64S(3), "1 cats_int64s and 0 cats_strings"},
    {"CategoryMapper", 1, LIST(A_WORDS("cats_strings", "a")), INT64S(3), "0 cats_int64s and 1 cats_strings"},
    {"CategoryMapper", 1, LIST(A_INTS("cats_int64s", 5), A_WORDS("cats_strings", "a", "b")), INT64S(3),
     "1 cats_int64s and 2 cats_strings"},
    {"CategoryMapper", 1, LIST(A_INTS("cats_int64s", 5), A_WORDS("cats_strings", "a")), FLOATS(3),
     "the keys are int64"},
};

static void labels_are_encoded(const void *argument) { CHECK_ROWS(label_rows); }

/* ---- maps ---- */

typedef struct MapRow {
  const char *op;
  AttrList attrs;
  Data keys, values;
  int items; /* items of the map's sequence, 2 when it is one; 0: the keys are fed alone */
  const char *words;
  Data y;
} MapRow;

static Value *map_of(Room *r, const MapRow *row) {
  Value *items[] = {room_constant(r, &row->keys), room_constant(r, &row->values), room_constant(r, &row->values)};
  if (!row->items) return items[0];
  Value *map = graph_value(r->g, "map", row->values.type, NULL, VALUE_SEQUENCE);
  map->items = ARENA_ARRAY(&r->arena, Value *, 3);
  memcpy(map->items, items, sizeof items);
  map->item_count = row->items;
  return map;
}

static const MapRow map_rows[] = {
    {"CastMap", NO_LIST, INT64S(5, 1, 3), INT64S(10, 20, 30), 2, .y = FLOATS(20, 30, 10)},
    {"CastMap", LIST(A_WORD("cast_to", "TO_INT64")), INT64S(2, 2, 1), FLOATS(1.75f, 3, -2), 2, .y = INT64S(-2, 1, 3)},
    {"CastMap", LIST(A_WORD("cast_to", "TO_STRING")), INT64S(2, 1), INT64S(7, 8), 2, .y = TEXTS("8", "7")},
    {"CastMap", LIST(A_WORD("map_form", "SPARSE"), A_INT("max_map", 4)), INT64S(3, 1, 4, -1), FLOATS(1, 2, 3, 4), 2,
     .y = FLOATS(0, 2, 0, 1)},
    /* ONNX Runtime's word for a place without a key */
    {"CastMap", LIST(A_WORD("map_form", "SPARSE"), A_INT("max_map", 3), A_WORD("cast_to", "TO_STRING")), INT64S(1),
     INT64S(7), 2, .y = TEXTS("0.f", "7", "0.f")},
    {"CastMap", LIST(A_WORD("cast_to", "TO_MOON")), INT64S(1), INT64S(1), 2, "cast_to is 'TO_MOON'"},
    {"CastMap", LIST(A_WORD("map_form", "LOOSE")), INT64S(1), INT64S(1), 2, "map_form is 'LOOSE'"},
    {"CastMap", LIST(A_WORD("map_form", "SPARSE"), A_INT("max_map", -1)), INT64S(1), INT64S(1), 2, "max_map is -1"},
    {"CastMap", NO_LIST, TEXTS("a"), INT64S(1), 2, "they must be int64"},
    {"CastMap", NO_LIST, INT64S(1), INT64S(1), 0, "must be a sequence"},
    {"CastMap", NO_LIST, INT64S(1), INT64S(1), 1, "must be a map"},
    {"CastMap", NO_LIST, INT64S(1), INT64S(1), 3, "must be a map"},
    {"CastMap", NO_LIST, INT64S(1, 2), INT64S(1), 2, "must be a map"},
    {"CastMap", NO_LIST, {DTYPE_INT64, 1, 1, (int64_t[]){1}}, INT64S(1), 2, "must be a map"},
    {"CastMap", NO_LIST, INT64S(1), ROWS(1, 1), 2, "must be a map"},
    {"DictVectorizer", LIST(A_WORDS("string_vocabulary", "a", "b", "c")), TEXTS("c", "x", "a"), FLOATS(1, 2, 3), 2,
     .y = FLOATS(3, 0, 1)},
    {"DictVectorizer", LIST(A_INTS("int64_vocabulary", 4, 9)), INT64S(9, 4), TEXTS("x", "y"), 2, .y = TEXTS("y", "x")},
    {"DictVectorizer", LIST(A_INTS("int64_vocabulary", 4, 9)), INT64S(9), TEXTS("x"), 2, .y = TEXTS("", "x")},
    {"DictVectorizer", LIST(A_INTS("int64_vocabulary", 4)), TEXTS("4"), FLOATS(1), 2, "the vocabulary is int64"},
    {"DictVectorizer", LIST(A_INTS("int64_vocabulary", 4), A_WORDS("string_vocabulary", "a")), TEXTS("4"), FLOATS(1), 2,
     "it has both"},
    {"DictVectorizer", NO_LIST, TEXTS("4"), FLOATS(1), 2, "it has neither"},
};

static void maps_become_rows(const void *argument) {
  for (const MapRow *row = map_rows; row < map_rows + sizeof map_rows / sizeof *map_rows; row++) {
    Room r;
    room_open(&r, 1);
    Value *map = map_of(&r, row);
    room_add(&r, row->op, row->attrs, &map, 1, 1);
    if (row->words) room_expect_refused(&r, row->op, row->words);
    else if (check(r.status == STATUS_OK, "%s: %s", row->op, r.error.text)) room_run(&r, row->op, "y", &row->y);
    arena_free(&r.arena);
  }
  test_note("%zu maps", sizeof map_rows / sizeof *map_rows);
}

/* ---- trees ---- */

#define NODES A_INTS("nodes_treeids", 0, 0, 0), A_INTS("nodes_nodeids", 0, 1, 2)
#define FEATURES A_INTS("nodes_featureids", 0, 0, 0)
#define MODES A_WORDS("nodes_modes", "BRANCH_LEQ", "LEAF", "LEAF")
#define SPLITS A_FLOATS("nodes_values", 2, 0, 0)
#define CHILDREN A_INTS("nodes_truenodeids", 1, 0, 0), A_INTS("nodes_falsenodeids", 2, 0, 0)
#define STUMP NODES, FEATURES, MODES, SPLITS, CHILDREN /* x <= 2: node 1, else node 2 */
#define TO(...) A_INTS("class_ids", __VA_ARGS__)
#define GIVES(...) A_INTS("class_treeids", 0, 0), A_INTS("class_nodeids", 1, 2), A_FLOATS("class_weights", __VA_ARGS__)
#define TWO A_INTS("classlabels_int64s", 5, 6)
#define THREE A_INTS("classlabels_int64s", 5, 6, 7)
#define TREES "TreeEnsembleClassifier"
#define X ROWS(2, 1, 3)

/* Two classes by ONNX Runtime's rules: one column of weights that are all positive is the probability of the second,
 * else a score that is above 0 for it. */
static const Row tree_rows[] = {
    {TREES, 3, LIST(STUMP, TO(0, 0), GIVES(0.25f, 0.75f), TWO), X, .y = INT64S(5, 6),
     .z = FLOATS(0.75f, 0.25f, 0.25f, 0.75f)},
    {TREES, 3, LIST(STUMP, TO(0, 0), GIVES(-2, 1), TWO), X, .y = INT64S(5, 6), .z = FLOATS(2, -2, -1, 1)},
    {TREES, 3,
     LIST(STUMP, TO(0, 0), GIVES(-2, 1), A_WORDS("classlabels_strings", "no", "yes"),
          A_WORD("post_transform", "LOGISTIC")),
     X, .y = TEXTS("no", "yes"), .z = FLOATS(0.880797f, 0.119203f, 0.268941f, 0.731059f)},
    {TREES, 3, LIST(STUMP, TO(0, 0), GIVES(0.25f, 0.75f), TWO, A_WORD("post_transform", "LOGISTIC")), X,
     .y = INT64S(5, 6), .z = FLOATS(0.437823f, 0.562177f, 0.320821f, 0.679179f)},
    {TREES, 3, LIST(STUMP, TO(0, 0), GIVES(-2, 1), TWO, A_FLOATS("base_values", 0.5f)), X, .y = INT64S(5, 6),
     .z = FLOATS(1.5f, -1.5f, -1.5f, 1.5f)},
    {TREES, 3, LIST(STUMP, TO(0, 0), GIVES(-2, 1), TWO), X, .y = INT64S(5, 6)},
    {TREES, 3, LIST(STUMP, TO(0, 2), GIVES(1, 2), THREE), X, .y = INT64S(5, 7), .z = FLOATS(1, 0, 0, 0, 0, 2)},
    {TREES, 3, LIST(STUMP, TO(0, 2), GIVES(1, 2), THREE), X, .y = INT64S(5, 7)},
    {TREES, 3, LIST(STUMP, TO(0, 1), GIVES(5, 9), THREE, A_FLOATS("base_values", 1, 2, 3)), X, .y = INT64S(5, 6),
     .z = FLOATS(6, 2, 3, 1, 11, 3)},
    {TREES, 3,
     LIST(STUMP, TO(0, 1), GIVES(5, 9), THREE, A_TENSOR("base_values_as_tensor", DTYPE_FLOAT64, double, 1, 2, 30)), X,
     .y = INT64S(7, 7)},
    {TREES, 3, LIST(STUMP, TO(0, 1), GIVES(1, 2), THREE), DOUBLES(2), .y = INT64S(5)},
    {TREES, 3, LIST(STUMP, TO(0, 1), GIVES(1, 2), THREE), DOUBLES(2.0000000001), .y = INT64S(6)},
    {TREES, 3, LIST(STUMP, TO(0, 1), GIVES(1, 2), THREE, A_FLOATS("base_values", 1, 2, 3, 4)), X,
     "4 base_values for 3 classes"},
    {TREES, 3, LIST(STUMP, TO(0, 1), GIVES(1, 2), THREE, A_TENSOR("base_values_as_tensor", DTYPE_STRING, char *, "1")),
     X, "base_values has strings"},
    {TREES, 3, LIST(STUMP, TO(0, 1), GIVES(1, 2)), X, "it has neither"},
    {TREES, 3, LIST(STUMP, TO(0, 1), GIVES(1, 2), TWO, A_WORDS("classlabels_strings", "a", "b")), X, "it has both"},
    {TREES, 3, LIST(STUMP, TO(0, 1), GIVES(1, 2), TWO, A_WORD("post_transform", "CUBE")), X,
     "post_transform is 'CUBE'"},
    {TREES, 3, LIST(STUMP, TO(0, 3), GIVES(1, 2), THREE), X, "adds to target 3 of 3"},
    {TREES, 3, LIST(STUMP, TO(-1, 1), GIVES(1, 2), THREE), X, "adds to target -1 of 3"},
    {TREES, 3, LIST(STUMP, TO(0), GIVES(1, 2), THREE), X, "class_ids has 1 numbers, it must have 2"},
    {TREES, 3, LIST(STUMP, TO(0, 1), GIVES(1, 2, 3), THREE), X, "class_ids has 2 numbers, it must have 3"},
    {TREES, 3,
     LIST(NODES, FEATURES, A_WORDS("nodes_modes", "BRANCH_XOR", "LEAF", "LEAF"), SPLITS, CHILDREN, TO(0, 1),
          GIVES(1, 2), TWO),
     X, "'BRANCH_XOR'"},
    {TREES, 3,
     LIST(NODES, FEATURES, A_WORDS("nodes_modes", "BRANCH_MEMBER", "LEAF", "LEAF"), SPLITS, CHILDREN, TO(0, 1),
          GIVES(1, 2), TWO),
     X, "'BRANCH_MEMBER'"},
    {TREES, 3, LIST(NODES, FEATURES, A_WORDS("nodes_modes", "LEAF"), SPLITS, CHILDREN, TO(0, 1), GIVES(1, 2), TWO), X,
     "nodes_modes has 1 words, it must have 3"},
    {TREES, 3, LIST(NODES, FEATURES, SPLITS, CHILDREN, TO(0, 1), GIVES(1, 2), TWO), X, "nodes_modes has 0 words"},
    {TREES, 3, LIST(NODES, FEATURES, MODES, CHILDREN, TO(0, 1), GIVES(1, 2), TWO), X,
     "nodes_values has 0 numbers, it must have 3"},
    {TREES, 3, LIST(NODES, MODES, SPLITS, CHILDREN, TO(0, 1), GIVES(1, 2), TWO), X, "nodes_featureids has 0 numbers"},
    {TREES, 3, LIST(STUMP, A_INTS("nodes_missing_value_tracks_true", 1), TO(0, 1), GIVES(1, 2), TWO), X,
     "tracks_true has 1 numbers, it must have 3"},
    {TREES, 3, LIST(NODES, A_INTS("nodes_featureids", 1, 0, 0), MODES, SPLITS, CHILDREN, TO(0, 1), GIVES(1, 2), TWO), X,
     "reads feature 1 of 1"},
    {TREES, 3, LIST(NODES, A_INTS("nodes_featureids", -1, 0, 0), MODES, SPLITS, CHILDREN, TO(0, 1), GIVES(1, 2), TWO),
     X, "reads feature -1 of 1"},
    {TREES, 3,
     LIST(A_INTS("nodes_treeids", 0, 0, 0), A_INTS("nodes_nodeids", 0, 1, 1), FEATURES, MODES, SPLITS, CHILDREN,
          TO(0, 1), GIVES(1, 2), TWO),
     X, "two nodes 1"},
    {TREES, 3,
     LIST(A_INTS("nodes_treeids", 0, 0, 1), A_INTS("nodes_nodeids", 0, 1, 2), FEATURES, MODES, SPLITS, CHILDREN,
          TO(0, 1), GIVES(1, 2), TWO),
     X, "tree 0 has no node 2"},
    {TREES, 3,
     LIST(NODES, FEATURES, MODES, SPLITS, A_INTS("nodes_truenodeids", 0, 0, 0), A_INTS("nodes_falsenodeids", 2, 0, 0),
          TO(0, 1), GIVES(1, 2), TWO),
     X, "reached twice"},
    {TREES, 3,
     LIST(NODES, FEATURES, MODES, SPLITS, A_INTS("nodes_truenodeids", 1, 0, 0), A_INTS("nodes_falsenodeids", 1, 0, 0),
          A_INTS("class_ids", 0, 1, 2, 0, 1, 2), A_INTS("class_treeids", 0, 0, 0, 0, 0, 0),
          A_INTS("class_nodeids", 1, 1, 1, 1, 1, 1), A_FLOATS("class_weights", 1, 2, 3, 4, 5, 6), THREE),
     X, "leaf 1 is reached too often"},
};

static void trees_classify(const void *argument) { CHECK_ROWS(tree_rows); }

#define SET A_INTS("nodes_featureids", 0), A_TENSOR("nodes_splits", DTYPE_FLOAT32, float, 0)
#define ASKS(mode) A_TENSOR("nodes_modes", DTYPE_UINT8, uint8_t, mode)
#define PLACES(yes, is_yes_leaf, no, is_no_leaf)                                                                       \
  A_INTS("nodes_truenodeids", yes), A_INTS("nodes_trueleafs", is_yes_leaf), A_INTS("nodes_falsenodeids", no),          \
      A_INTS("nodes_falseleafs", is_no_leaf), A_INTS("tree_roots", 0)
#define LEAVES A_INTS("leaf_targetids", 0, 0), A_TENSOR("leaf_weights", DTYPE_FLOAT32, float, 10, 20)
#define MEMBERS(...) A_TENSOR("membership_values", DTYPE_FLOAT32, float, __VA_ARGS__)
#define SOME ROWS(5, 1, 2, 3, 4, NAN)

static const Row set_rows[] = {
    {"TreeEnsemble", 5, LIST(SET, ASKS(6), PLACES(0, 1, 1, 1), LEAVES, MEMBERS(3, 1, NAN)), SOME,
     .y = FLOATS(10, 20, 10, 20, 20)},
    {"TreeEnsemble", 5, LIST(SET, ASKS(6), PLACES(0, 1, 1, 1), LEAVES, MEMBERS(3, 1)), SOME,
     .y = FLOATS(10, 20, 10, 20, 20)},
    {"TreeEnsemble", 5,
     LIST(SET, ASKS(6), PLACES(0, 1, 1, 1), LEAVES, MEMBERS(3, 1), A_INTS("nodes_missing_value_tracks_true", 1)), SOME,
     .y = FLOATS(10, 20, 10, 20, 10)},
    {"TreeEnsemble", 5, LIST(SET, ASKS(6), PLACES(0, 1, 1, 1), LEAVES, MEMBERS(NAN)), SOME,
     .y = FLOATS(20, 20, 20, 20, 20)},
    {"TreeEnsemble", 5, LIST(SET, ASKS(7), PLACES(0, 1, 1, 1), LEAVES), SOME, "a mode that we do not know"},
    {"TreeEnsemble", 5, LIST(SET, ASKS(0), PLACES(2, 1, 1, 1), LEAVES), SOME, "leads to entry 2 of 2"},
    {"TreeEnsemble", 5, LIST(SET, ASKS(0), PLACES(0, 1, 1, 0), LEAVES), SOME, "leads to entry 1 of 1"},
    {"TreeEnsemble", 5, LIST(SET, ASKS(0), PLACES(0, 1, 0, 0), LEAVES), SOME, "reached twice"},
    {"TreeEnsemble", 5, LIST(SET, ASKS(0), PLACES(-1, 1, 1, 1), LEAVES), SOME, "nodes_truenodeids has -1"},
    {"TreeEnsemble", 5, LIST(SET, ASKS(0), PLACES(0, 1, 1, 1)), SOME, "leads to entry 1 of 0"},
    {"TreeEnsemble", 5, LIST(SET, ASKS(0), PLACES(0, 1, 1, 1), LEAVES, A_INT("n_targets", 0)), SOME, "n_targets is 0"},
    {"TreeEnsemble", 5, LIST(SET, ASKS(0), PLACES(0, 1, 1, 1), LEAVES, A_INT("post_transform", 5)), SOME,
     "post_transform is 5"},
    {"TreeEnsemble", 5, LIST(SET, ASKS(0), PLACES(0, 1, 1, 1), LEAVES, A_INT("aggregate_function", -1)), SOME,
     "aggregate_function is -1"},
    {"TreeEnsemble", 5, LIST(SET, A_TENSOR("nodes_modes", DTYPE_INT64, int64_t, 0), PLACES(0, 1, 1, 1), LEAVES), SOME,
     "must be a tensor of 1 uint8"},
    {"TreeEnsemble", 5,
     LIST(A_INTS("nodes_featureids", 0, 0), A_TENSOR("nodes_splits", DTYPE_FLOAT32, float, 0, 0),
          A_TENSOR("nodes_modes", DTYPE_UINT8, uint8_t, 6, 6), A_INTS("nodes_truenodeids", 0, 0),
          A_INTS("nodes_trueleafs", 1, 1), A_INTS("nodes_falsenodeids", 1, 1), A_INTS("nodes_falseleafs", 0, 1),
          A_INTS("tree_roots", 0), LEAVES, MEMBERS(1, 2)),
     SOME, "too few sets"},
};

static void sets_have_members(const void *argument) { CHECK_ROWS(set_rows); }

static bool is_answered(int question, double x, double split) {
  switch (question) {
    case 0: return x <= split;
    case 1: return x < split;
    case 2: return x >= split;
    case 3: return x > split;
    case 4: return x == split;
    default: return x != split;
  }
}

/* Each question of a node, with numbers at and next to the split; a NaN may count as a yes. */
static void check_question(int question, int tracks, bool wide) {
  static const char *const modes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};
  const char *const words[] = {modes[question], "LEAF", "LEAF"};
  const Attr attrs[] = {NODES,
                        FEATURES,
                        SPLITS,
                        CHILDREN,
                        {.name = "nodes_modes", .kind = ATTR_STRINGS, .count = 3, .strings = words},
                        A_INTS("nodes_missing_value_tracks_true", tracks, 0, 0),
                        A_INTS("target_ids", 0, 0),
                        A_INTS("target_treeids", 0, 0),
                        A_INTS("target_nodeids", 1, 2),
                        A_FLOATS("target_weights", 10, 20)};
  double doubles[] = {1, nextafter(2, 1), 2, nextafter(2, 3), 3, NAN, -INFINITY, INFINITY};
  float floats[] = {1, nextafterf(2, 1), 2, nextafterf(2, 3), 3, NAN, -INFINITY, INFINITY}, want[8];
  for (int i = 0; i < 8; i++) {
    double x = wide ? doubles[i] : (double)floats[i];
    want[i] = is_answered(question, x, 2) || (isnan(x) && tracks) ? 10 : 20;
  }
  Room r;
  room_open(&r, 3);
  Value *x = room_constant(&r, &(Data){wide ? DTYPE_FLOAT64 : DTYPE_FLOAT32, 8, 8, wide ? (void *)doubles : floats});
  room_add(&r, "TreeEnsembleRegressor", (AttrList){attrs, sizeof attrs / sizeof *attrs}, &x, 1, 1);
  if (check(r.status == STATUS_OK, "%s: %s", modes[question], r.error.text))
    room_run(&r, modes[question], "y", &(Data){DTYPE_FLOAT32, 8, 0, want});
  arena_free(&r.arena);
}

static void questions_are_answered(const void *argument) {
  for (int i = 0; i < 24; i++) check_question(i / 4, i & 1, i & 2);
}

/* ---- support vectors ---- */

#define SVM "SVMClassifier"
#define PAIR                                                                                                           \
  A_INTS("classlabels_ints", 3, 4), A_INTS("vectors_per_class", 1, 1), A_FLOATS("support_vectors", 1, 0, 0, 1)
#define CLASSES A_WORDS("classlabels_strings", "a", "b", "c")
#define TRIPLE CLASSES, A_INTS("vectors_per_class", 1, 1, 1), A_FLOATS("support_vectors", 1, 2, 3)
#define BOTH A_FLOATS("coefficients", 2, -1), A_FLOATS("rho", 0.5f)
#define SIX A_FLOATS("coefficients", 1, -1, 2, 0.5f, 1, -1), A_FLOATS("rho", 1, -13.5f, 3)
#define LINES A_FLOATS("coefficients", 1, 0, 0, 1, 1, 1)

/* Decisions as LIBSVM has them: of a pair above 0 for the first of its classes. */
static const Row vector_rows[] = {
    {SVM, 1, LIST(PAIR, BOTH), ROWS(2, 1, 2, -3, 0), .y = INT64S(3, 4)},
    {SVM, 1, LIST(PAIR, BOTH), INT64S(1, 2), .y = INT64S(3)},
    {SVM, 1, LIST(PAIR, BOTH), DOUBLES(-3, 0), .y = INT64S(4)},
    {SVM, 1, LIST(TRIPLE, SIX), ROWS(1, 2), .y = TEXTS("b"), .z = FLOATS(-1, -0.5f, 1)},
    {SVM, 1, LIST(TRIPLE, SIX), FLOATS(2), .y = TEXTS("b")},
    {SVM, 1, LIST(TRIPLE, SIX, A_WORD("post_transform", "LOGISTIC")), ROWS(1, 2), .y = TEXTS("b"),
     .z = FLOATS(0.268941f, 0.377541f, 0.731059f)},
    {SVM, 1, LIST(CLASSES, LINES, A_FLOATS("rho", 0.5f)), FLOATS(1, 2), .y = TEXTS("c"), .z = FLOATS(1.5f, 2.5f, 3.5f)},
    {SVM, 1, LIST(CLASSES, LINES, A_FLOATS("rho", 0.5f), A_INTS("vectors_per_class", 0, 0, 0)), ROWS(2, 1, -2, -2, 1),
     .y = TEXTS("a", "b")},
    {SVM, 1, LIST(CLASSES, LINES), FLOATS(1, 2), "'rho' must be there"},
    {SVM, 1, LIST(CLASSES, LINES, A_FLOATS("rho", 0.5f)), FLOATS(1, 2, 3), "have 2 features, 'x' has 3"},
    {SVM, 1, LIST(CLASSES, A_FLOATS("coefficients", 1, 2, 3, 4), A_FLOATS("rho", 0.5f)), FLOATS(1, 2),
     "4 numbers are no 3 vectors"},
    {SVM, 1, LIST(CLASSES, A_FLOATS("rho", 0.5f)), FLOATS(1, 2), "0 numbers are no 3 vectors"},
    {SVM, 1, LIST(A_INTS("classlabels_ints", 3), BOTH), FLOATS(1, 2), "1 class labels"},
    {SVM, 1, LIST(PAIR, BOTH, CLASSES), FLOATS(1, 2), "it has both"},
    {SVM, 1, LIST(BOTH), FLOATS(1, 2), "it has neither"},
    {SVM, 1, LIST(TRIPLE, SIX, A_WORD("kernel_type", "CUBE")), FLOATS(1), "kernel_type is 'CUBE'"},
    {SVM, 1, LIST(TRIPLE, SIX, A_FLOATS("kernel_params", 1, 2)), FLOATS(1), "kernel_params has 2 numbers, not 3"},
    {SVM, 1, LIST(CLASSES, A_INTS("vectors_per_class", 1, 2), SIX), FLOATS(1), "2 numbers for 3 classes"},
    {SVM, 1, LIST(CLASSES, A_INTS("vectors_per_class", 1, -1, 1), SIX), FLOATS(1), "vectors_per_class has -1"},
    {SVM, 1, LIST(CLASSES, A_INTS("vectors_per_class", 1, 1, 1LL << 31), SIX), FLOATS(1),
     "vectors_per_class has 2147483648"},
    {SVM, 1, LIST(TRIPLE, A_FLOATS("coefficients", 1, 2, 3, 4, 5), A_FLOATS("rho", 1, 2, 3)), FLOATS(1),
     "5 coefficients and 3 rho are too few"},
    {SVM, 1, LIST(TRIPLE, A_FLOATS("coefficients", 1, 2, 3, 4, 5, 6), A_FLOATS("rho", 1, 2)), FLOATS(1),
     "6 coefficients and 2 rho are too few"},
    {SVM, 1, LIST(TRIPLE, SIX, A_FLOATS("prob_a", 1, 2, 3)), FLOATS(1), "3 prob_a and 0 prob_b"},
    {SVM, 1, LIST(TRIPLE, SIX, A_FLOATS("prob_a", 1, 2), A_FLOATS("prob_b", 1, 2)), FLOATS(1),
     "2 prob_a and 2 prob_b for 3 pairs"},
};

static void vectors_classify(const void *argument) { CHECK_ROWS(vector_rows); }

int main(void) {
  TEST(strings_are_normalized);
  TEST(labels_are_encoded);
  TEST(maps_become_rows);
  TEST(trees_classify);
  TEST(sets_have_members);
  TEST(questions_are_answered);
  TEST(vectors_classify);
  return test_finish();
}
