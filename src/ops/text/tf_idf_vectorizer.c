/* TfIdfVectorizer: how often each n-gram of a pool occurs in a row, items up to `max_skip_count` apart: TF counts, IDF
 * weighs 1, TFIDF both.
 *
 *   pool   unigrams │ bigrams │ …     ngram_counts says where each length begins, ngram_indexes which column of y each
 * n-gram counts in
 */
#include "kernels/number.h"
#include "graph/strings.h"
#include "graph/work.h"

enum { MODE_TF, MODE_IDF, MODE_TFIDF };

typedef struct TfIdf {
  const int64_t *counts, *columns, *ints; /* ints or strings: the pool */
  const char *const *strings;
  const float *weights; /* of columns, as ONNX Runtime reads them; NULL: 1 */
  int count_count, pool_count, mode;
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

static Status read_pool(const Node *n, TfIdf *p) {
  bool strings = n->in[0]->type == DTYPE_STRING;
  const Attr *pool = node_attr(n, strings ? "pool_strings" : "pool_int64s", strings ? ATTR_STRINGS : ATTR_INTS);
  if (!pool)
    return node_invalid(n, "it has no %s for an input of %s", strings ? "pool_strings" : "pool_int64s",
                        dtype_name(n->in[0]->type));
  p->pool_count = pool->count;
  if (strings) p->strings = pool->strings;
  else p->ints = pool->ints;
  return STATUS_OK;
}

/* The pool of each length is whole n-grams, each has a column, which perhaps has a weight. */
static Status check_pool(const Node *n, TfIdf *p, int column_count, int weight_count) {
  int64_t grams = 0;
  for (int k = 0; k < p->count_count; k++) {
    int64_t from = p->counts[k], to = k + 1 < p->count_count ? p->counts[k + 1] : p->pool_count;
    if (from < 0 || to < from || to > p->pool_count || (to - from) % (k + 1))
      return node_invalid(n, "ngram_counts do not cut the pool of %d into n-grams", p->pool_count);
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
  Shape y = n->in[0]->shape;
  y.dim[y.rank - 1] = (Dim)p->width;
  return node_output(n, 0, DTYPE_FLOAT32, &y);
}

/* Whether the items of x at `at`, each `step` after the one before, are the n-gram that begins at `pool`. */
static bool matches(const Node *n, size_t at, size_t step, int64_t pool, int64_t length) {
  const TfIdf *p = n->params;
  const void *x = n->in[0]->data;
  for (int64_t k = 0; k < length; k++, at += step, pool++) {
    if (p->strings
            ? !strings_equal(((const char *const *)x)[at], p->strings[pool])
            : (n->in[0]->type == DTYPE_INT64 ? ((const int64_t *)x)[at] : ((const int32_t *)x)[at]) != p->ints[pool])
      return false;
  }
  return true;
}

/* Adds to y at the column of n-gram number `gram`, once for each place of the row where it occurs. */
static void count_gram(const Node *n, size_t row, size_t columns, int64_t pool, int64_t length, size_t gram, float *y) {
  const TfIdf *p = n->params;
  float *count = &y[p->columns[gram]], weight = p->weights ? p->weights[p->columns[gram]] : 1;
  size_t found = 0;
  int64_t steps = length == 1                 ? 1
                : p->skips < (int64_t)columns ? p->skips + 1
                                              : (int64_t)columns; /* one item skips nothing */
  for (int64_t step = 1; step <= steps && (uint64_t)(step * (length - 1)) < columns; step++)
    for (size_t at = 0; at + (size_t)(step * (length - 1)) < columns; at++)
      found += matches(n, row * columns + at, (size_t)step, pool, length);
  if (found) *count += p->mode == MODE_TF ? (float)found : p->mode == MODE_IDF ? weight : weight * (float)found;
}

static void tf_idf_run(const Node *n) {
  const TfIdf *p = n->params;
  const Shape *x = &n->in[0]->shape;
  size_t columns = (size_t)x->dim[x->rank - 1], rows = x->rank == 2 ? (size_t)x->dim[0] : 1;
  memset(n->out[0]->data, 0, rows * p->width * sizeof(float));
  for (size_t r = 0; r < rows; r++) {
    size_t gram = 0;
    for (int64_t length = 1; length <= p->count_count; length++) {
      int64_t end = length < p->count_count ? p->counts[length] : p->pool_count;
      for (int64_t at = p->counts[length - 1]; at < end; at += length, gram++)
        if (length >= p->shortest && length <= p->longest)
          count_gram(n, r, columns, at, length, gram, out_f32(n, 0) + r * p->width);
    }
  }
}

/* Every n-gram of the pool at every place, with every number of items skipped. */
static double tf_idf_work(const Node *n) {
  int ints;
  const Attr *strings = node_attr(n, "pool_strings", ATTR_STRINGS);
  node_ints(n, "pool_int64s", &ints);
  double columns = (double)n->in[0]->shape.dim[n->in[0]->shape.rank - 1],
         skips = (double)node_int(n, "max_skip_count", 0) + 1;
  return work_elements(n->in[0]) * (strings ? strings->count : ints) * (skips < columns ? skips : columns) * 2;
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
        {"v:i32[2,3]=5,6,5,7,5,6",
         "mode=IDF min_gram_length=2 max_gram_length=2 ngram_counts=[0,1] ngram_indexes=[2,0] pool_int64s=[5,5,6]"}),
};
