/* TfIdfVectorizer: how often each n-gram of a pool occurs in a row, items up to `max_skip_count` apart: TF counts, IDF
 * weighs 1, TFIDF both.
 *
 *   pool    unigrams │ bigrams │ …    ngram_counts says where each length begins,
 *                                     ngram_indexes which column of y each n-gram counts in
 *   items   an item is the number of its first place in the pool
 *   levels  of each length the n-grams, and the beginnings of longer ones: (the one it prolongs, its last item)
 */
#include "graph/work.h"
#include "kernels/select.h"
#include "ops/ml/lookup.h"

enum { MODE_TF, MODE_IDF, MODE_TFIDF, NO_COLUMN = -1 };

/* The n-grams of one length, of equal ones the first. Of length 1 there is one for each item, and nothing to find. */
typedef struct Level {
  Lookup grams; /* key: the n-gram of the level before · 2^32 + the item */
  int32_t *column;
} Level;

typedef struct TfIdf {
  const int64_t *counts, *columns;
  Lookup items;
  Level *levels;        /* [k] of length k + 1, up to `longest` */
  const float *weights; /* indexed by column, as in ONNX Runtime; NULL: 1 */
  int count_count, mode;
  int64_t shortest, longest, skips;
  size_t width;
} TfIdf;

static Status read_mode(const Node *n, TfIdf *p) {
  const char *mode = node_string(n, "mode", "");
  p->mode = strcmp(mode, "TF") == 0 ? MODE_TF : strcmp(mode, "IDF") == 0 ? MODE_IDF : MODE_TFIDF;
  return p->mode != MODE_TFIDF || strcmp(mode, "TFIDF") == 0
           ? STATUS_OK
           : node_invalid(n, "mode is '%.40s', it must be TF, IDF or TFIDF", mode);
}

static Status read_pool(Node *n, TfIdf *p) {
  bool strings = n->in[0]->type == DTYPE_STRING;
  const Attr *pool = node_attr(n, strings ? "pool_strings" : "pool_int64s", strings ? ATTR_STRINGS : ATTR_INTS);
  if (!pool)
    return node_invalid(n, "it has no %s for an input of %s", strings ? "pool_strings" : "pool_int64s",
                        dtype_name(n->in[0]->type));
  return strings ? lookup_make(n, DTYPE_STRING, pool->strings, (size_t)pool->count, &p->items)
                 : lookup_make(n, DTYPE_INT64, pool->ints, (size_t)pool->count, &p->items);
}

/* The end of the n-grams of `length` in the pool. */
static int64_t pool_end(const TfIdf *p, int64_t length) {
  return length < p->count_count ? p->counts[length] : (int64_t)p->items.count;
}

/* The pool of each length is whole n-grams, each has a column, which perhaps has a weight. */
static Status check_pool(const Node *n, TfIdf *p, int column_count, int weight_count) {
  int64_t grams = 0;
  for (int k = 0; k < p->count_count; k++) {
    int64_t from = p->counts[k], to = pool_end(p, k + 1), all = (int64_t)p->items.count;
    if (from < 0 || to < from || to > all || (to - from) % (k + 1))
      return node_invalid(n, "ngram_counts do not cut the pool of %lld into n-grams", (long long)all);
    grams += (to - from) / (k + 1);
  }
  if (column_count != grams || (weight_count && weight_count != grams))
    return node_invalid(n, "the pool has %lld n-grams, ngram_indexes %d, weights %d", (long long)grams, column_count,
                        weight_count);
  for (int i = 0; i < column_count; i++) {
    if (p->columns[i] < 0 || p->columns[i] >= (weight_count ? weight_count : 1 << 28))
      return node_invalid(n, "ngram_indexes has %lld", (long long)p->columns[i]);
    if ((size_t)p->columns[i] >= p->width) p->width = (size_t)p->columns[i] + 1;
  }
  return STATUS_OK;
}

/* ---- the levels ---- */

/* An n-gram of the pool, and which one its items are that have been entered so far. */
typedef struct Gram {
  const int64_t *items; /* numbers in the pool */
  int64_t length, column, at;
} Gram;

static int32_t *new_columns(Arena *arena, size_t count) {
  int32_t *column = ARENA_ARRAY(arena, int32_t, count);
  for (size_t i = 0; column && i < count; i++) column[i] = NO_COLUMN;
  return column;
}

/* Enters item k of the grams, which are longer than that. */
static Status level_make(Arena *arena, Gram *grams, size_t count, int64_t k, Level *l) {
  uint64_t *keys = ARENA_ARRAY(arena, uint64_t, count);
  l->column = new_columns(arena, count);
  if (!keys || !l->column) return STATUS_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; i++) keys[i] = (uint64_t)grams[i].at << 32 | (uint64_t)grams[i].items[k];
  TRY(lookup_make_numbers(arena, keys, count, &l->grams));
  for (size_t i = 0; i < count; i++) {
    grams[i].at = lookup_number(&l->grams, keys[i]);
    if (grams[i].length == k + 1) l->column[grams[i].at] = (int32_t)grams[i].column;
  }
  return STATUS_OK;
}

/* The n-grams that are asked for, each in front of all that are longer. */
static size_t read_grams(const TfIdf *p, const int64_t *items, Gram *grams) {
  size_t count = 0, gram = 0;
  for (int64_t length = 1; length <= p->count_count; length++)
    for (int64_t at = p->counts[length - 1]; at < pool_end(p, length); at += length, gram++)
      if (length >= p->shortest && length <= p->longest)
        grams[count++] = (Gram){items + at, length, p->columns[gram], items[at]};
  return count;
}

static Status make_levels(Node *n, TfIdf *p) {
  Arena *arena = n->graph->arena;
  size_t all = p->items.count;
  int64_t *items = ARENA_ARRAY(arena, int64_t, all);
  Gram *grams = ARENA_ARRAY(arena, Gram, all);
  p->levels = ARENA_ARRAY(arena, Level, p->longest);
  if (!items || !grams || !p->levels) return STATUS_OUT_OF_MEMORY;
  Lookup pool = p->items;
  pool.n = NULL;
  for (size_t i = 0; i < all; i++) items[i] = lookup_find(&pool, pool.keys, pool.type, i);
  size_t count = read_grams(p, items, grams), from = 0;
  p->levels[0].column = new_columns(arena, all);
  if (!p->levels[0].column) return STATUS_OUT_OF_MEMORY;
  for (; from < count && grams[from].length == 1; from++)
    p->levels[0].column[grams[from].at] = (int32_t)grams[from].column;
  for (int64_t k = 1; k < p->longest; k++) {
    while (from < count && grams[from].length <= k) from++;
    TRY(level_make(arena, grams + from, count - from, k, &p->levels[k]));
  }
  return STATUS_OK;
}

static Status tf_idf_infer(Node *n) {
  TfIdf *p = NODE_PARAMS(n, TfIdf);
  if (!p) return STATUS_OUT_OF_MEMORY;
  int column_count;
  const Attr *weights = node_attr(n, "weights", ATTR_FLOATS);
  p->shortest = node_int(n, "min_gram_length", 1);
  p->longest = node_int(n, "max_gram_length", 1);
  p->skips = node_int(n, "max_skip_count", 0);
  p->counts = node_ints(n, "ngram_counts", &p->count_count);
  p->columns = node_ints(n, "ngram_indexes", &column_count);
  p->weights = weights ? weights->floats : NULL;
  if (p->shortest < 1 || p->longest < p->shortest || p->longest > p->count_count || p->skips < 0)
    return node_invalid(n, "n-grams of %lld to %lld with up to %lld skips do not go with %d ngram_counts",
                        (long long)p->shortest, (long long)p->longest, (long long)p->skips, p->count_count);
  if (n->in[0]->type != DTYPE_STRING) TRY(node_want_index(n, 0));
  TRY(node_want_rank(n, 0, 1, 2));
  TRY(read_mode(n, p));
  TRY(read_pool(n, p));
  TRY(check_pool(n, p, column_count, weights ? weights->count : 0));
  TRY(make_levels(n, p));
  Shape y = n->in[0]->shape;
  if (node_is_concrete(n)) n->scratch_bytes = (size_t)y.dim[y.rank - 1] * sizeof(int32_t);
  y.dim[y.rank - 1] = (Dim)p->width;
  return node_output(n, 0, DTYPE_FLOAT32, &y);
}

/* ---- run ---- */

static void count_gram(const Level *l, int64_t at, float *y) {
  if (l->column[at] != NO_COLUMN) y[l->column[at]]++;
}

/* Counts the n-grams that begin with items[0], each item `step` after the one before; `count`: how many items are left.
 */
static void count_from(const TfIdf *p, const int32_t *items, size_t count, size_t step, float *y) {
  int64_t at = items[0];
  if (at >= 0 && step == 1) count_gram(&p->levels[0], at, y); /* one item skips nothing */
  for (size_t k = 1, next = step; at >= 0 && (int64_t)k < p->longest && next < count; k++, next += step) {
    if (items[next] < 0) return;
    at = lookup_number(&p->levels[k].grams, (uint64_t)at << 32 | (uint64_t)items[next]);
    if (at >= 0) count_gram(&p->levels[k], at, y);
  }
}

static void tf_idf_run(const Node *n) {
  const TfIdf *p = n->params;
  const Shape *x = &n->in[0]->shape;
  size_t columns = (size_t)x->dim[x->rank - 1], rows = x->rank == 2 ? (size_t)x->dim[0] : 1;
  size_t steps = p->longest == 1 ? 1 : (uint64_t)p->skips < columns ? (size_t)p->skips + 1 : columns;
  int32_t *items = n->scratch;
  float *y = out_f32(n, 0);
  memset(y, 0, rows * p->width * sizeof(float));
  for (size_t r = 0; r < rows; r++, y += p->width) {
    for (size_t i = 0; i < columns; i++)
      items[i] = (int32_t)lookup_find(&p->items, n->in[0]->data, n->in[0]->type, r * columns + i);
    for (size_t step = 1; step <= steps; step++)
      for (size_t i = 0; i < columns; i++) count_from(p, items + i, columns - i, step, y);
    for (size_t c = 0; c < p->width && p->mode != MODE_TF; c++) {
      float weight = p->weights ? p->weights[c] : 1;
      y[c] = p->mode == MODE_TFIDF ? weight * y[c] : y[c] > 0 ? weight : 0;
    }
  }
}

/* Every n-gram at every place, with every number of items skipped. */
static double tf_idf_work(const Node *n) {
  const TfIdf *p = n->params;
  double columns = (double)n->in[0]->shape.dim[n->in[0]->shape.rank - 1], skips = (double)p->skips + 1;
  return work_elements(n->in[0]) * (double)p->longest * (skips < columns ? skips : columns) *
         select_levels((double)p->items.count) * 2;
}

OPERATOR(tf_idf_vectorizer) = {
    .name = "TfIdfVectorizer",
    .since = {9},
    .inputs = {1, 1},
    .flags = OP_STRINGS,
    .infer = tf_idf_infer,
    .run = tf_idf_run,
    .work = tf_idf_work,
    .cases = CASES(
        {"v:i64[12]=1,1,3,3,3,7,8,6,7,5,6,8", "mode=TF max_gram_length=2 max_skip_count=5 ngram_counts=[0,4] "
                                              "ngram_indexes=[0,1,2,3,4,5,6] pool_int64s=[2,3,5,4,5,6,7,8,6,7]"},
        {"v:i64[2,4]=1,2,1,2,3,1,2,1", "mode=TFIDF min_gram_length=1 max_gram_length=3 max_skip_count=1 "
                                       "ngram_counts=[0,2,2] ngram_indexes=[0,1,3,2] pool_int64s=[1,3,1,2,1,2,1,2] "
                                       "weights=[0.5,2.0,3.0,4.0]"},
        {"v:i32[2,3]=5,6,5,7,5,6",
         "mode=IDF min_gram_length=2 max_gram_length=2 ngram_counts=[0,1] ngram_indexes=[2,0] pool_int64s=[5,5,6]"}),
};
