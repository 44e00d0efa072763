/* Col2Im: adds up blocks, one in each column, at their places in a picture, like torch.nn.Fold.  dx = dy at those
 * places. */
#include <string.h>

#include "graph/dims.h"
#include "ops/conv/window.h"
#include "threads.h"

typedef struct Blocks {
  WindowAttrs w;
  int64_t image[3], padded[3], out[3]; /* out: how many blocks lie along a dim */
  int64_t cells, blocks, pixels;       /* cells of a block; pixels of the picture */
  int64_t points;                      /* pixels of the padded picture */
  int64_t x_step[3], y_step[3];        /* from one block, or pixel, to the next along a dim */
} Blocks;

static Status read_list(const Node *n, int input, int *rank, int64_t *list) {
  const Dim *dims;
  int count;
  TRY(node_known(n, input, &dims, &count));
  if (!*rank) *rank = count;
  if (count != *rank || count < 1 || count > 3)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "a picture of %d dimensions, we can do 1 to 3", count);
  for (int a = 0; a < count; a++)
    if ((list[a] = dims[a]) < 1 || list[a] > 1 << 24)
      return node_invalid(n, "input %d must be numbers from 1 to 2^24", input);
  return STATUS_OK;
}

static Status read_blocks(const Node *n, Blocks *b) {
  int64_t pads[6];
  b->cells = b->blocks = b->pixels = b->points = 1;
  TRY(read_list(n, 1, &b->w.rank, b->image));
  TRY(read_list(n, 2, &b->w.rank, b->w.kernel));
  TRY(window_list(n, "strides", b->w.rank, 1, 1, b->w.stride));
  TRY(window_list(n, "dilations", b->w.rank, 1, 1, b->w.dilation));
  TRY(window_list(n, "pads", 2 * b->w.rank, 0, 0, pads));
  for (int a = b->w.rank - 1; a >= 0; a--) {
    b->w.pad_begin[a] = pads[a], b->w.pad_end[a] = pads[a + b->w.rank];
    TRY(window_out_dim(n, &b->w, a, b->image[a], &b->out[a]));
    b->padded[a] = b->image[a] + pads[a] + pads[a + b->w.rank];
    b->x_step[a] = b->blocks, b->y_step[a] = b->pixels, b->pixels *= b->image[a];
    b->cells *= b->w.kernel[a], b->blocks *= b->out[a], b->points *= b->padded[a];
    if (b->cells > INT32_MAX || b->blocks > INT32_MAX || b->points > INT32_MAX)
      return node_fail(n, STATUS_OUT_OF_MEMORY, "its picture is too large");
  }
  return b->cells * b->blocks <= 1 << 26 ? STATUS_OK : node_fail(n, STATUS_OUT_OF_MEMORY, "its blocks are too many");
}

/* The places in the padded picture of cell k of block l, k outermost. */
static Value *emit_places(Graph *g, const Blocks *b) {
  int64_t *places = arena_alloc_array(g->arena, (size_t)(b->cells * b->blocks), sizeof *places);
  for (int64_t i = 0; places && i < b->cells * b->blocks; i++) {
    int64_t cell = i / b->blocks, block = i % b->blocks, step = 1, at = 0;
    for (int a = b->w.rank - 1; a >= 0; a--) {
      at += step * (block % b->out[a] * b->w.stride[a] + cell % b->w.kernel[a] * b->w.dilation[a]);
      cell /= b->w.kernel[a], block /= b->out[a], step *= b->padded[a];
    }
    places[i] = at;
  }
  return places ? emit_ints(g, places, (int)(b->cells * b->blocks)) : NULL;
}

static Status col2_im_infer(Node *n) {
  const Shape *x = &n->in[0]->shape;
  Blocks *b = NODE_PARAMS(n, Blocks);
  char text[SHAPE_TEXT];
  if (!b) return STATUS_OUT_OF_MEMORY;
  TRY(node_want_float(n, 0));
  TRY(node_want_rank(n, 0, 3, 3));
  TRY(read_blocks(n, b));
  Dim channels = 0;
  if (!dims_divide(n->graph, &x->dim[1], 1, &b->cells, 1, &channels) || !dims_meet(x->dim[2], b->blocks))
    return node_invalid(n, "its input is %s, %lld blocks of %lld cells each are wanted", shape_print(x, text),
                        (long long)b->blocks, (long long)b->cells);
  Shape y = SHAPE(x->dim[0], channels);
  for (int a = 0; a < b->w.rank; a++) y.dim[y.rank++] = b->image[a];
  return node_output(n, 0, DTYPE_FLOAT32, &y);
}

/* Along dim `a` and those after it, one cell of each block, which is number cell[a] …: only where it is within the
 * picture. */
static void add_cell(const Blocks *b, int a, const int64_t *cell, const float *x, float *y) {
  int64_t stride = b->w.stride[a], at = cell[a] * b->w.dilation[a] - b->w.pad_begin[a], left = b->image[a] - at,
          from = at < 0 ? (stride - 1 - at) / stride : 0, end = left > 0 ? (left - 1) / stride + 1 : 0;
  if (end > b->out[a]) end = b->out[a];
  if (a < b->w.rank - 1)
    for (int64_t i = from; i < end; i++)
      add_cell(b, a + 1, cell, x + i * b->x_step[a], y + (at + i * stride) * b->y_step[a]);
  else if (stride == 1)
    for (int64_t i = from; i < end; i++) y[at + i] += x[i];
  else
    for (int64_t i = from; i < end; i++) y[at + i * stride] += x[i];
}

static void add_planes(void *context, size_t from, size_t to) {
  const Node *n = context;
  const Blocks *b = n->params;
  size_t plane = (size_t)b->pixels, cells = (size_t)b->cells;
  memset(out_f32(n, 0) + from * plane, 0, (to - from) * plane * sizeof(float));
  for (size_t k = from * cells; k < to * cells; k++) {
    int64_t cell[3], rest = (int64_t)(k % cells);
    for (int a = b->w.rank - 1; a >= 0; a--) cell[a] = rest % b->w.kernel[a], rest /= b->w.kernel[a];
    add_cell(b, 0, cell, in_f32(n, 0) + k * (size_t)b->blocks, out_f32(n, 0) + k / cells * plane);
  }
}

static void col2_im_run(const Node *n) {
  const Blocks *b = n->params;
  const Shape *x = &n->in[0]->shape;
  threads_split((size_t)(x->dim[0] * (x->dim[1] / b->cells)), threads_grain((size_t)(b->cells * b->blocks)), add_planes,
                (void *)(uintptr_t)n);
}

/* dx: dy with its padding, in which the places are looked up. */
static Status col2_im_grad(Grad *grad) {
  Graph *g = grad->graph;
  const Node *n = grad->node;
  const Blocks *b = n->params;
  int rank = b->w.rank;
  int64_t pads[10] = {0}, channels = n->out[0]->shape.dim[1], rows = -1;
  if (dim_is_number(channels)) rows = channels * b->cells;
  else channels = 0; /* copied from dy, and what remains */
  for (int a = 0; a < rank; a++) pads[2 + a] = b->w.pad_begin[a], pads[rank + 4 + a] = b->w.pad_end[a];
  Value *dy = emit(g, "Pad", grad->dy[0], emit_ints(g, pads, 2 * (rank + 2)));
  dy = emit(g, "Reshape", dy, emit_ints(g, (int64_t[]){0, channels, b->points}, 3));
  dy = emit_with(g, "Gather", ATTRS(attr_of_int("axis", 2)), dy, emit_places(g, b));
  grad->dx[0] = emit(g, "Reshape", dy, emit_ints(g, (int64_t[]){0, rows, b->blocks}, 3));
  return STATUS_OK;
}

OPERATOR(col2_im) = {
    .name = "Col2Im",
    .since = {18},
    .inputs = {3, 3},
    .infer = col2_im_infer,
    .run = col2_im_run,
    .grad = GRADIENT(col2_im_grad),
    .cases = CASES({"f32[2,12,6] i64[2]=3,4 i64[2]=2,2", "", 18},
                   {"f32[1,18,25] i64[2]=5,6 i64[2]=3,3", "pads=[1,0,1,1] strides=[1,1] dilations=[1,1]", 18},
                   {"f32[1,6,12] i64[2]=6,6 i64[2]=2,3", "strides=[2,1] dilations=[1,2] pads=[0,1,0,1]", 18},
                   {"f32[2,6,4] i64[1]=6 i64[1]=3", "", 18}, {"f32[1,8,4] i64[3]=2,3,3 i64[3]=2,2,2", "", 18}),
};
