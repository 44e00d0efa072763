/* MelWeightMatrix: the overlapping triangles by which a spectrogram is multiplied to bring its bins to the mel scale.
 * Computed ahead. */
#include "graph/expansion.h"
#include "kernels/double_math.h"
#include "kernels/number.h"

static Status number_at(const Node *n, int input, double *out) {
  const void *data;
  Numbers x;
  DType type = n->in[input]->type;
  TRY(node_contents(n, input, &data));
  if (shape_elements(&n->in[input]->shape) != 1 || !dtype_is_number(type))
    return node_invalid(n, "input %d must be one number", input);
  numbers_load(&x, data, type, 0, 1, 1);
  return *out = dtype_is_float(type) ? x.floats[0] : (double)x.ints[0], STATUS_OK;
}

/* mel = 2595 · log₁₀(1 + f / 700) */
static double mel_of(double f) { return 2595 / 2.302585092994046 * double_log(1 + f / 700); }
static double frequency_of(double mel) { return 700 * (double_exp(mel * 2.302585092994046 / 2595) - 1); }

/* Column i rises from bin low to center and falls to high. */
static void fill_triangle(float *y, int64_t bins, int64_t columns, int64_t i, int64_t low, int64_t center,
                          int64_t high) {
  for (int64_t j = low; j <= center && j < bins; j++)
    y[j * columns + i] = center == low ? 1 : (float)(j - low) / (float)(center - low);
  for (int64_t j = center; j < high && j < bins; j++) y[j * columns + i] = (float)(high - j) / (float)(high - center);
}

static Status mel_weight_matrix_expand(Expansion *c) {
  Node *n = c->node;
  double given[5]; /* bins, the transform's length, the sample rate, lowest and highest frequency */
  for (int i = 0; i < 5; i++) TRY(number_at(n, i, &given[i]));
  bool sensible = given[0] >= 1 && given[0] <= 1 << 20 && given[1] >= 1 && given[1] <= 1 << 24 && given[2] >= 1;
  if (!sensible || given[0] * given[1] > 1 << 27 || !(given[3] >= 0) || !(given[4] > given[3]) || !(given[4] < 1e9))
    return node_invalid(n, "%g bins of %g numbers at %g Hz from %g to %g Hz are none", given[0], given[1], given[2],
                        given[3], given[4]);
  int64_t columns = (int64_t)given[0], bins = (int64_t)given[1] / 2 + 1;
  float *y = arena_alloc_array(c->graph->arena, (size_t)columns, (size_t)bins * sizeof *y);
  int64_t *edge = ARENA_ARRAY(c->graph->arena, int64_t, columns + 2);
  const char *name = graph_fresh_name(c->graph, "const");
  if (!y || !edge || !name) return STATUS_OUT_OF_MEMORY;
  double low = mel_of(given[3]), step = (mel_of(given[4]) - low) / (double)(columns + 2);
  for (int64_t i = 0; i < columns + 2; i++)
    edge[i] = (int64_t)floor((given[1] + 1) * frequency_of(low + step * (double)i) / given[2]);
  for (int64_t i = 0; i < columns * bins; i++) y[i] = 0;
  for (int64_t i = 0; i < columns; i++) fill_triangle(y, bins, columns, i, edge[i], edge[i + 1], edge[i + 2]);
  Shape shape = SHAPE(bins, columns);
  Value *matrix = graph_constant(c->graph, name, DTYPE_FLOAT32, &shape, y);
  return expand_done(c, expand_cast(c, matrix, (DType)node_int(n, "output_datatype", DTYPE_FLOAT32)));
}

OPERATOR(mel_weight_matrix) = {
    .name = "MelWeightMatrix",
    .since = {17},
    .inputs = {5, 5},
    .flags = OP_ANY_TYPE,
    .expand = mel_weight_matrix_expand,
    .cases = CASES({"i32[]=8 i32[]=16 i32[]=8192 f32[]=0 f32[]=4096", "", .no_grad = "constant"},
                   {"i64[]=5 i64[]=33 i64[]=16000 f32[]=20 f32[]=7600.5", "output_datatype=11", .no_grad = "constant"}),
};
