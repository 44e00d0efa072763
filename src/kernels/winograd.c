/* Winograd: the parts of a batch, and the products between the transforms. */
#include "kernels/winograd.h"
#include <string.h>
#include "kernels/gemm.h"
#include "kernels/padded.h"
#include "kernels/scratch.h"
#include "kernels/winograd_tile.h"
#include "size.h"
#include "threads.h"

enum {
  CELLS = 36,
  TILES_WANTED = 64, /* tiles of a part: enough columns for the product */
  SKEW = 16,         /* floats between cells' matrices: equal places of all 36 must not share a cache line */
  LEAST_CHANNELS = 12,
  LEAST_TILES = 12,     /* the transform of the weights must be worth it */
  LEAST_WORK = 1 << 20, /* multiplications that are worth waking threads */
  GROUPS_MOST = 8,
  GROUPS_FLOATS = 1 << 19, /* floats of dU over all groups */
  FOUR = 4,                /* channels padded and transformed by one task */
};

static inline size_t fours(size_t count) { return (count + 3) / 4 * 4; }

static size_t tiles_in(const Conv *conv) {
  const Window *w = &conv->window;
  return conv->batch * ((w->out[0] + 3) / 4) * ((w->out[1] + 3) / 4);
}

static bool can(const Conv *conv) {
  const Window *w = &conv->window;
  for (int a = 0; a < 2; a++)
    if (w->kernel[a] != 3 || w->stride[a] != 1 || w->dilation[a] != 1 || w->pad[a] > 2 || w->out[a] < 3) return false;
  return conv->groups == 1 && size_min(conv->channels, conv->features) >= LEAST_CHANNELS &&
         (conv_algorithms & CONV_WINOGRAD);
}

static bool suits(const Conv *conv) { return can(conv) && tiles_in(conv) >= LEAST_TILES; }

/* The convolution of dy that gives dx; its weights are those of `conv`, turned. */
static Conv turned_of(const Conv *conv) {
  Conv turned = *conv;
  turned.channels = conv->features;
  turned.features = conv->channels;
  turned.clamp = false;
  turned.packed = NULL;
  for (int a = 0; a < 2; a++) {
    turned.window.in[a] = conv->window.out[a];
    turned.window.out[a] = conv->window.in[a];
    turned.window.pad[a] = 2 - conv->window.pad[a];
  }
  return turned;
}

/* ---- parts: some images, or a band of one ---- */

typedef struct Parts {
  size_t across, down; /* tiles of an image */
  size_t images, band; /* images of a part; rows of tiles of a band */
  size_t bands;        /* bands of an image */
  size_t tiles;        /* tiles of a part */
  size_t count;
} Parts;

typedef struct Tile {
  int32_t from, to;      /* its start in the padded planes of one channel, and in y's */
  uint8_t rows, columns; /* rows and columns of y; 0: the tile only fills up */
} Tile;

typedef struct Part {
  size_t image, images, band, tiles; /* first image, how many; first row of tiles */
} Part;

static Parts parts_of(const Conv *conv) {
  Parts p = {.across = (conv->window.out[1] + 3) / 4, .down = (conv->window.out[0] + 3) / 4, .images = 1};
  size_t tiles = p.across * p.down, batch = conv->batch ? conv->batch : 1;
  if (tiles <= TILES_WANTED) p.images = ceil_div(batch, ceil_div(batch, TILES_WANTED / tiles));
  p.band = ceil_div(p.down, ceil_div(tiles, TILES_WANTED));
  p.bands = ceil_div(p.down, p.band);
  p.tiles = p.images * p.band * p.across;
  p.count = ceil_div(conv->batch, p.images) * p.bands;
  return p;
}

static Part part_at(const Conv *conv, const Parts *p, size_t index) {
  Part part = {.image = index / p->bands * p->images, .band = index % p->bands * p->band};
  part.images = size_min(p->images, conv->batch - part.image);
  part.tiles = part.images * size_min(p->band, p->down - part.band) * p->across;
  return part;
}

/* A part's planes, tiles of `size` rows from `pad` before the first row and column on: the same layout for every part.
 */
static bool planes_of(const size_t in[2], const size_t pad[2], const Parts *b, size_t band, size_t halo, Padded *p) {
  ptrdiff_t origin[2] = {(ptrdiff_t)pad[0] - (ptrdiff_t)(4 * band), (ptrdiff_t)pad[1]};
  size_t rows = 4 * b->band + halo, columns = 4 * b->across + halo;
  if (!padded_of_plane(in, origin, rows, columns, 1, p)) return false;
  p->direct = false;
  p->row_floats = columns;
  p->step_floats = p->plane_floats = rows * columns;
  return true;
}

static void tiles_of(const Conv *conv, const Parts *b, const Part *part, const Padded *p, Tile *tile) {
  const size_t *out = conv->window.out;
  for (size_t n = 0; n < part->images; n++)
    for (size_t y = part->band; y < size_min(part->band + b->band, b->down); y++)
      for (size_t x = 0; x < b->across; x++)
        *tile++ = (Tile){.from = (int32_t)(n * FOUR * p->plane_floats + 4 * (y - part->band) * p->row_floats + 4 * x),
                         .to = (int32_t)(n * conv->features * out[0] * out[1] + 4 * y * out[1] + 4 * x),
                         .rows = (uint8_t)size_min(4, out[0] - 4 * y),
                         .columns = (uint8_t)size_min(4, out[1] - 4 * x)};
}

/* Four channels of the part's images, padded: (images, FOUR, plane). */
static void copy_four(const Padded *p, const Part *part, size_t channels, size_t channel, const float *x, float *copy) {
  size_t pixels = p->in[0] * p->in[1];
  padded_clear(p, part->images * FOUR, copy);
  for (size_t n = 0; n < part->images; n++)
    padded_copy(p, x + ((part->image + n) * channels + channel) * pixels, size_min(FOUR, channels - channel),
                copy + n * FOUR * p->plane_floats);
}

/* A small convolution is not worth waking a thread. Within a task this runs in the calling thread. */
static void run(const Conv *conv, const Parts *p, size_t chunks, ThreadsTask *task, void *context) {
  if ((double)(conv->channels * conv->features) * (double)(p->tiles * p->count) * CELLS >= LEAST_WORK)
    threads_run(chunks, task, context);
  else
    for (size_t i = 0; i < chunks; i++) task(context, i, 0);
}

/* ---- forward ---- */

typedef struct Forward {
  const Conv *conv;
  const float *x, *w, *bias;
  float *y;
  bool turned;
  Parts parts;
  size_t workers; /* threads with parts of their own, so that V and M stay in their caches; 1: all share each part */
  size_t columns; /* tiles of a part, filled up to whole panels */
  size_t u_stride, v_stride, m_stride; /* from cell to cell */
  Tile *tile;                          /* one list for each worker */
  float *raw;                          /* U (C, F) in each cell, before it is packed, where V and M come later */
  float *packed;                       /* U */
  float *v, *m;                        /* one for each worker */
  float *copy;                         /* one for each thread */
  char *gemm;                          /* scratch of each thread */
  size_t copy_floats, gemm_bytes;
} Forward;

typedef struct ForwardPart {
  const Forward *all;
  Part part;
  Padded padded;
  Tile *tile;
  float *v, *m;
} ForwardPart;

static bool forward_plan(const Conv *conv, Forward *s, Scratch *scratch) {
  size_t planes, threads = (size_t)threads_count();
  Padded padded;
  s->conv = conv;
  s->parts = parts_of(conv);
  s->workers = s->parts.count >= 2 * threads ? threads : 1;
  s->columns = (s->parts.tiles + 7) / 8 * 8;
  if (!planes_of(conv->window.in, conv->window.pad, &s->parts, 0, 2, &padded) ||
      !size_multiply(s->parts.images * FOUR, padded.plane_floats, &s->copy_floats) || s->copy_floats > INT32_MAX ||
      !size_multiply(s->parts.images * conv->features, window_out(&conv->window), &planes) || planes > INT32_MAX ||
      !size_multiply(conv->channels, fours(conv->features), &s->u_stride) ||
      !size_multiply(conv->channels + conv->features, s->columns,
                     &s->v_stride)) /* V and M together: cannot overflow apart */
    return false;
  s->u_stride += SKEW;
  s->v_stride = conv->channels * s->columns + SKEW;
  s->m_stride = conv->features * s->columns + SKEW;
  s->tile = scratch_take(scratch, s->workers, s->columns, sizeof(Tile));
  s->packed = scratch_take(scratch, conv->packed ? 0 : CELLS * conv->features, conv->channels, sizeof(float));
  Scratch raw = *scratch;
  s->raw = scratch_take(&raw, CELLS, s->u_stride, sizeof(float));
  s->v = scratch_take(scratch, s->workers * CELLS, s->v_stride, sizeof(float));
  s->m = scratch_take(scratch, s->workers * CELLS, s->m_stride, sizeof(float));
  if (raw.used > scratch->used) scratch->used = raw.used;
  s->copy = scratch_take(scratch, threads, s->copy_floats, sizeof(float));
  s->gemm_bytes = gemm_alone_bytes(0, s->columns, conv->channels);
  s->gemm = scratch_take(scratch, threads, s->gemm_bytes, 1);
  return !scratch->overflow && !raw.overflow;
}

static bool forward_bytes(const Conv *conv, size_t *bytes) {
  Forward s;
  Scratch scratch = {0};
  bool fits = forward_plan(conv, &s, &scratch);
  *bytes = scratch.used;
  return fits;
}

/* U of one input channel, four features at a time; the last are repeated. */
static void weights_task(void *context, size_t channel, int thread) {
  const Forward *s = context;
  size_t channels = s->conv->channels, features = s->conv->features, width = fours(features);
  size_t from = channel * (s->turned ? features : 1) * 9, each = (s->turned ? 1 : channels) * 9;
  for (size_t f = 0; f < width; f += 4) {
    f32x4 w[9];
    const float *p[4];
    for (size_t l = 0; l < 4; l++) p[l] = s->w + from + size_min(f + l, features - 1) * each;
    for (int k = 0; k < 9; k++) {
      int at = s->turned ? 8 - k : k;
      w[k] = (f32x4){p[0][at], p[1][at], p[2][at], p[3][at]};
    }
    winograd_weight(w, s->raw + channel * width + f, s->u_stride);
  }
}

static void pack_task(void *context, size_t cell, int thread) {
  const Forward *s = context;
  GemmSource a = {s->raw + cell * s->u_stride, .line_stride = 1, .k_stride = fours(s->conv->features)};
  gemm_pack_a(&a, s->conv->features, s->conv->channels, s->packed + cell * s->conv->features * s->conv->channels);
}

/* V of four channels, four tiles at a time */
static void input_task(void *context, size_t four, int thread) {
  const ForwardPart *p = context;
  const Forward *s = p->all;
  size_t channels = s->conv->channels;
  float *copy = s->copy + (size_t)thread * s->copy_floats;
  copy_four(&p->padded, &p->part, channels, four * FOUR, s->x, copy);
  for (size_t c = four * FOUR; c < size_min(channels, (four + 1) * FOUR); c++, copy += p->padded.plane_floats)
    for (size_t t = 0; t < s->columns; t += 4) {
      const float *at[4];
      for (int l = 0; l < 4; l++) at[l] = copy + p->tile[t + (size_t)l].from;
      winograd_input(at, p->padded.row_floats, p->v + c * s->columns + t, s->v_stride);
    }
}

/* M = U V in one cell */
static void product_task(void *context, size_t cell, int thread) {
  const ForwardPart *p = context;
  const Forward *s = p->all;
  Gemm g = {.rows = s->conv->features,
            .columns = s->columns,
            .depth = s->conv->channels,
            .alpha = 1,
            .c_row_stride = s->columns};
  g.packed_a = (s->conv->packed ? s->conv->packed : s->packed) + cell * g.rows * g.depth;
  g.b = gemm_b(p->v + cell * s->v_stride, s->columns, false);
  g.c = p->m + cell * s->m_stride;
  gemm_run_alone(&g, s->gemm + (size_t)thread * s->gemm_bytes);
}

static void store_tile(const Tile *tile, const f32x4 rows[4], size_t width, float *y) {
  for (size_t i = 0; i < tile->rows; i++) {
    float *to = y + tile->to + i * width;
    if (tile->columns == 4) f32x4_store(to, rows[i]);
    else
      for (int j = 0; j < tile->columns; j++) to[j] = rows[i][j];
  }
}

/* One feature of y, four tiles at a time */
static void output_task(void *context, size_t feature, int thread) {
  const ForwardPart *p = context;
  const Forward *s = p->all;
  const Conv *conv = s->conv;
  size_t width = conv->window.out[1];
  float *y = s->y + (p->part.image * conv->features + feature) * window_out(&conv->window);
  f32x4 bias = f32x4_splat(s->bias ? s->bias[feature] : 0), low = f32x4_splat(conv->low),
        high = f32x4_splat(conv->high);
  for (size_t t = 0; t < s->columns; t += 4) {
    f32x4 out[4][4];
    winograd_output(p->m + feature * s->columns + t, s->m_stride, out);
    for (int l = 0; l < 4; l++) {
      f32x4 rows[4];
      for (int i = 0; i < 4; i++) {
        rows[i] = out[i][l] + bias;
        if (conv->clamp) rows[i] = f32x4_min(high, f32x4_max(low, rows[i]));
      }
      store_tile(&p->tile[t + (size_t)l], rows, width, y);
    }
  }
}

static void forward_part(void *context, size_t index, int thread) {
  const Forward *s = context;
  const Conv *conv = s->conv;
  size_t worker = (size_t)thread;
  ForwardPart p = {s, part_at(conv, &s->parts, index)};
  p.tile = s->tile + worker * s->columns;
  p.v = s->v + worker * CELLS * s->v_stride;
  p.m = s->m + worker * CELLS * s->m_stride;
  planes_of(conv->window.in, conv->window.pad, &s->parts, p.part.band, 2, &p.padded);
  memset(p.tile, 0, s->columns * sizeof(Tile));
  tiles_of(conv, &s->parts, &p.part, &p.padded, p.tile);
  run(conv, &s->parts, fours(conv->channels) / FOUR, input_task, &p);
  run(conv, &s->parts, CELLS, product_task, &p);
  run(conv, &s->parts, conv->features, output_task, &p);
}

static void pack(Forward *s, const float *w, bool turned) {
  s->w = w, s->turned = turned;
  run(s->conv, &s->parts, s->conv->channels, weights_task, s);
  run(s->conv, &s->parts, CELLS, pack_task, s);
}

static size_t packed_floats(const Conv *conv) { return CELLS * conv->features * conv->channels; }

static void pack_weights(const Conv *conv, const float *w, float *packed, void *scratch) {
  Forward s;
  forward_plan(conv, &s, &(Scratch){.base = scratch});
  s.packed = packed;
  pack(&s, w, false);
}

/* `turned`: w (C, F, 3, 3) is read with features and channels exchanged and both axes backwards. */
static void convolve(const Conv *conv, const float *x, const float *w, bool turned, const float *bias, float *y,
                     void *scratch) {
  Forward s;
  forward_plan(conv, &s, &(Scratch){.base = scratch});
  s.x = x, s.bias = bias, s.y = y;
  if (!conv->packed) pack(&s, w, turned);
  if (s.workers > 1) run(conv, &s.parts, s.parts.count, forward_part, &s);
  else
    for (size_t i = 0; i < s.parts.count; i++) forward_part(&s, i, 0);
}

static void forward(const Conv *conv, const float *x, const float *w, const float *bias, float *y, void *scratch) {
  convolve(conv, x, w, false, bias, y, scratch);
}

const ConvVariant conv_winograd = {VARIANT_conv_winograd, suits,       can, forward_bytes, forward,
                                   packed_floats,         pack_weights};

static bool input_bytes(const Conv *conv, size_t *bytes) {
  Conv turned = turned_of(conv);
  return forward_bytes(&turned, bytes);
}

static void input_gradient(const Conv *conv, const float *dy, const float *w, const float *bias, float *dx,
                           void *scratch) {
  Conv turned = turned_of(conv);
  convolve(&turned, dy, w, true, NULL, dx, scratch);
}

const ConvVariant conv_winograd_input = {VARIANT_conv_winograd, suits, can, input_bytes, input_gradient};

/* ---- weight gradient:  dU = (A dy Aᵀ) (Bᵀ x B)ᵀ summed over all tiles, dw = Gᵀ dU G ---- */

typedef struct Weight {
  const Conv *conv;
  const float *x, *dy;
  float *dw;
  Parts parts;
  /* groups of parts, each with a dU of its own, added up at last; workers: threads that compute groups */
  size_t groups, workers;
  size_t u_stride, v_stride, m_stride; /* from cell to cell */
  Tile *tile, *tile_dy;                /* one list for each worker */
  float *u;                            /* dU (F, C) of each group */
  float *v, *m;                        /* (tiles, C) and (tiles, F) of each worker */
  float *copy;                         /* one for each thread */
  char *gemm;                          /* scratch of each thread */
  size_t copy_floats, gemm_bytes;
} Weight;

typedef struct WeightPart {
  const Weight *all;
  Part part;
  Padded padded, padded_dy;
  Tile *tile, *tile_dy;
  float *u, *v, *m;
  bool first; /* first of its group */
} WeightPart;

/* The number of threads must not change the sums, so it does not change the groups. */
static size_t groups_of(size_t parts, size_t u_stride) {
  size_t groups = GROUPS_MOST;
  while (groups > 1 && (2 * groups > parts || u_stride > GROUPS_FLOATS / CELLS / groups)) groups /= 2;
  return groups;
}

static bool weight_plan(const Conv *conv, Weight *s, Scratch *scratch) {
  size_t threads = (size_t)threads_count();
  Padded padded, padded_dy;
  s->conv = conv;
  s->parts = parts_of(conv);
  size_t tiles = s->parts.tiles;
  if (!planes_of(conv->window.in, conv->window.pad, &s->parts, 0, 2, &padded) ||
      !planes_of(conv->window.out, (size_t[]){0, 0}, &s->parts, 0, 0, &padded_dy) ||
      !size_multiply(s->parts.images * FOUR, padded.plane_floats, &s->copy_floats) || s->copy_floats > INT32_MAX ||
      !size_multiply(conv->features, fours(conv->channels), &s->u_stride) ||
      !size_multiply(fours(conv->channels) + fours(conv->features), tiles, &s->v_stride))
    return false;
  s->u_stride += SKEW;
  s->v_stride = fours(conv->channels) * tiles + SKEW;
  s->m_stride = fours(conv->features) * tiles + SKEW;
  s->groups = groups_of(s->parts.count, s->u_stride);
  s->workers = size_min(s->groups, threads);
  s->tile = scratch_take(scratch, s->workers, tiles, sizeof(Tile));
  s->tile_dy = scratch_take(scratch, s->workers, tiles, sizeof(Tile));
  s->u = scratch_take(scratch, s->groups * CELLS, s->u_stride, sizeof(float));
  s->v = scratch_take(scratch, s->workers * CELLS, s->v_stride, sizeof(float));
  s->m = scratch_take(scratch, s->workers * CELLS, s->m_stride, sizeof(float));
  s->copy = scratch_take(scratch, threads, s->copy_floats, sizeof(float));
  s->gemm_bytes = gemm_alone_bytes(conv->features, conv->channels, tiles);
  s->gemm = scratch_take(scratch, threads, s->gemm_bytes, 1);
  return !scratch->overflow;
}

static bool weight_bytes(const Conv *conv, size_t *bytes) {
  Weight s;
  Scratch scratch = {0};
  bool fits = weight_plan(conv, &s, &scratch);
  *bytes = scratch.used;
  return fits;
}

/* Four channels of x are the lanes, and then four features of dy. */
static void sides_task(void *context, size_t four, int thread) {
  const WeightPart *p = context;
  const Weight *s = p->all;
  size_t x_fours = fours(s->conv->channels) / FOUR;
  bool is_x = four < x_fours;
  const Padded *padded = is_x ? &p->padded : &p->padded_dy;
  const Tile *tile = is_x ? p->tile : p->tile_dy;
  size_t channels = is_x ? s->conv->channels : s->conv->features, channel = (is_x ? four : four - x_fours) * FOUR;
  float *copy = s->copy + (size_t)thread * s->copy_floats;
  copy_four(padded, &p->part, channels, channel, is_x ? s->x : s->dy, copy);
  float *to = (is_x ? p->v : p->m) + channel;
  for (size_t t = 0; t < p->part.tiles; t++, to += fours(channels)) {
    const float *at[4];
    for (size_t l = 0; l < 4; l++) at[l] = copy + tile[t].from + l * padded->plane_floats;
    if (is_x) winograd_input(at, padded->row_floats, to, s->v_stride);
    else winograd_output_turned(at, padded->row_floats, to, s->m_stride);
  }
}

static void gradient_task(void *context, size_t cell, int thread) {
  const WeightPart *p = context;
  const Weight *s = p->all;
  Gemm g = {.rows = s->conv->features, .columns = s->conv->channels, .depth = p->part.tiles, .alpha = 1, .beta = 1};
  g.a = gemm_a(p->m + cell * s->m_stride, fours(g.rows), true);
  g.b = gemm_b(p->v + cell * s->v_stride, fours(g.columns), false);
  g.c = p->u + cell * s->u_stride;
  g.d = p->first ? NULL : g.c;
  g.c_row_stride = g.d_row_stride = fours(g.columns);
  g.d_column_stride = 1;
  gemm_run_alone(&g, s->gemm + (size_t)thread * s->gemm_bytes);
}

static void group_task(void *context, size_t group, int thread) {
  const Weight *s = context;
  const Conv *conv = s->conv;
  size_t worker = (size_t)thread, first = s->parts.count * group / s->groups,
         end = s->parts.count * (group + 1) / s->groups;
  WeightPart p = {.all = s, .tile = s->tile + worker * s->parts.tiles, .tile_dy = s->tile_dy + worker * s->parts.tiles};
  p.u = s->u + group * CELLS * s->u_stride;
  p.v = s->v + worker * CELLS * s->v_stride;
  p.m = s->m + worker * CELLS * s->m_stride;
  for (size_t i = first; i < end; i++) {
    p.part = part_at(conv, &s->parts, i);
    p.first = i == first;
    planes_of(conv->window.in, conv->window.pad, &s->parts, p.part.band, 2, &p.padded);
    planes_of(conv->window.out, (size_t[]){0, 0}, &s->parts, p.part.band, 0, &p.padded_dy);
    tiles_of(conv, &s->parts, &p.part, &p.padded, p.tile);
    tiles_of(conv, &s->parts, &p.part, &p.padded_dy, p.tile_dy);
    run(conv, &s->parts, (fours(conv->channels) + fours(conv->features)) / FOUR, sides_task, &p);
    run(conv, &s->parts, CELLS, gradient_task, &p);
  }
}

/* dw of one feature, four channels at a time */
static void finish_task(void *context, size_t feature, int thread) {
  const Weight *s = context;
  size_t channels = s->conv->channels;
  for (size_t c = 0; c < channels; c += 4) {
    const float *u = s->u + feature * fours(channels) + c;
    f32x4 sum[CELLS], w[9];
    for (size_t cell = 0; cell < CELLS; cell++) {
      sum[cell] = f32x4_load(u + cell * s->u_stride);
      for (size_t group = 1; group < s->groups; group++)
        sum[cell] += f32x4_load(u + (group * CELLS + cell) * s->u_stride);
    }
    winograd_weight_turned(sum, w);
    for (size_t l = 0; l < size_min(4, channels - c); l++)
      for (size_t k = 0; k < 9; k++) s->dw[(feature * channels + c + l) * 9 + k] = w[k][l];
  }
}

static void weight_gradient(const Conv *conv, const float *x, const float *dy, const float *bias, float *dw,
                            void *scratch) {
  Weight s;
  weight_plan(conv, &s, &(Scratch){.base = scratch});
  s.x = x, s.dy = dy, s.dw = dw;
  if (conv->batch == 0) memset(s.u, 0, CELLS * s.u_stride * sizeof(float));
  if (s.groups > 1) run(conv, &s.parts, s.groups, group_task, &s);
  else group_task(&s, 0, 0);
  run(conv, &s.parts, conv->features, finish_task, &s);
}

const ConvVariant conv_winograd_weights = {VARIANT_conv_winograd_weights, suits, can, weight_bytes, weight_gradient};
