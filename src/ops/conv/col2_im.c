/* Col2Im: adds up blocks, one in each column, at their places in a picture, like torch.nn.Fold. */
#include "graph/compose.h"
#include "ops/conv/window.h"

typedef struct Blocks {
  WindowAttrs w;
  int64_t image[3], padded[3], out[3]; /* out: how many blocks lie along a dim */
  int64_t cells, blocks, points;       /* cells of a block; points of the padded picture */
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
  *b = (Blocks){.cells = 1, .blocks = 1, .points = 1};
  TRY(read_list(n, 1, &b->w.rank, b->image));
  TRY(read_list(n, 2, &b->w.rank, b->w.kernel));
  TRY(window_list(n, "strides", b->w.rank, 1, 1, b->w.stride));
  TRY(window_list(n, "dilations", b->w.rank, 1, 1, b->w.dilation));
  TRY(window_list(n, "pads", 2 * b->w.rank, 0, 0, pads));
  for (int a = 0; a < b->w.rank; a++) {
    b->w.pad_begin[a] = pads[a], b->w.pad_end[a] = pads[a + b->w.rank];
    TRY(window_out_dim(n, &b->w, a, b->image[a], &b->out[a]));
    b->padded[a] = b->image[a] + pads[a] + pads[a + b->w.rank];
    b->cells *= b->w.kernel[a], b->blocks *= b->out[a], b->points *= b->padded[a];
    if (b->cells > INT32_MAX || b->blocks > INT32_MAX || b->points > INT32_MAX)
      return node_fail(n, STATUS_OUT_OF_MEMORY, "its picture is too large");
  }
  return b->cells * b->blocks <= 1 << 26 ? STATUS_OK : node_fail(n, STATUS_OUT_OF_MEMORY, "its blocks are too many");
}

/* Where cell k of block l is in the padded picture, k outermost. */
static Value *emit_places(Compose *c, const Blocks *b) {
  int64_t *places = arena_alloc_array(c->graph->arena, (size_t)(b->cells * b->blocks), sizeof *places);
  for (int64_t i = 0; places && i < b->cells * b->blocks; i++) {
    int64_t cell = i / b->blocks, block = i % b->blocks, step = 1, at = 0;
    for (int a = b->w.rank - 1; a >= 0; a--) {
      at += step * (block % b->out[a] * b->w.stride[a] + cell % b->w.kernel[a] * b->w.dilation[a]);
      cell /= b->w.kernel[a], block /= b->out[a], step *= b->padded[a];
    }
    places[i] = at;
  }
  return places ? emit_ints(c->graph, places, (int)(b->cells * b->blocks)) : NULL;
}

static Status col2_im_compose(Compose *c) {
  Graph *g = c->graph;
  Node *n = c->node;
  const Shape *x = compose_shape(c, 0);
  Blocks b;
  char text[SHAPE_TEXT];
  TRY(node_want_float(n, 0));
  TRY(node_want_rank(n, 0, 3, 3));
  TRY(read_blocks(n, &b));
  if (!dim_is_number(x->dim[1]) || x->dim[1] % b.cells || (dim_is_number(x->dim[2]) && x->dim[2] != b.blocks))
    return node_invalid(n, "its input is %s, %lld blocks of %lld cells each are wanted", shape_print(x, text),
                        (long long)b.blocks, (long long)b.cells);
  int64_t channels = x->dim[1] / b.cells, dims[5] = {0, channels}, zeros[3] = {0}, axes[3] = {2, 3, 4}, ends[3];
  for (int a = 0; a < b.w.rank; a++)
    dims[2 + a] = b.padded[a], zeros[a] = b.w.pad_begin[a], ends[a] = b.w.pad_begin[a] + b.image[a];
  Value *first = compose_dim(c, n->in[0], 0, true);
  Value *shape = emit_with(g, "Concat", ATTRS(attr_of_int("axis", 0)), first,
                           emit_ints(g, (int64_t[]){channels, b.points}, 2));
  Value *rows = emit(g, "Reshape", n->in[0], emit_ints(g, (int64_t[]){0, channels, b.cells * b.blocks}, 3));
  Value *sums = emit_with(g, "GatherGrad", ATTRS(attr_of_int("axis", 2)), shape, emit_places(c, &b), rows);
  Value *y = emit(g, "Reshape", sums, emit_ints(g, dims, 2 + b.w.rank));
  return compose_done(c, emit(g, "Slice", y, emit_ints(g, zeros, b.w.rank), emit_ints(g, ends, b.w.rank),
                              emit_ints(g, axes, b.w.rank)));
}

OPERATOR(col2_im) = {
    .name = "Col2Im",
    .since = {18},
    .inputs = {3, 3},
    .compose = col2_im_compose,
    .cases = CASES({"f32[2,12,6] i64[2]=3,4 i64[2]=2,2", "", 18},
                   {"f32[1,18,25] i64[2]=5,6 i64[2]=3,3", "pads=[1,0,1,1] strides=[1,1] dilations=[1,1]", 18},
                   {"f32[1,6,12] i64[2]=6,6 i64[2]=2,3", "strides=[2,1] dilations=[1,2] pads=[0,1,0,1]", 18},
                   {"f32[2,6,4] i64[1]=6 i64[1]=3", "", 18}, {"f32[1,8,4] i64[3]=2,3,3 i64[3]=2,2,2", "", 18}),
};
