/* Gemm: blocks of panels that fit the caches, and the tile that does the work. */
#include "kernels/gemm.h"
#include "kernels/gemm_pack.h"
#include "kernels/gemm_vector.h"
#include "part.h"
#include "simd.h"
#include "size.h"
#include "threads.h"

enum {
  ROWS = TILE_ROWS,
  COLUMNS = 8,
  PAIR_COLUMNS =
      16, /* columns of two panels packed ahead: a cache line, so that a single row reads one stream into four sums */
  PAIRED_ROWS = 4, /* at most: with more, the tile is faster */
  ROW_BLOCK = 24,  /* panels of A in a block: 184 KB, the second cache */
  COLUMN_BLOCK = 768,
  DIRECT_PANELS =
      16, /* panels of A: with fewer rows, a panel of B is read so seldom that packing it costs more than reading
                          rows that are far apart */
  PAGE_FLOATS = 1024,  /* rows of B so far apart share one set of the first cache … */
  CACHE_WAYS = 8,      /* … which holds so many of them: with more, each tile reads them from the second */
  PART_WORK = 1 << 18, /* multiplications that are worth waking a thread */
};

/* ---- rows in panels of nearly equal height: 32 rows are 5 5 5 5 4 4 4, so that no row is computed needlessly ---- */

static size_t tile_rows = ROWS;

void gemm_set_rows(size_t rows) { tile_rows = rows < 1 ? 1 : size_min(rows, ROWS); }

static size_t panel_count(size_t rows) { return ceil_div(rows, tile_rows); }

/* The first row of a panel; of panel panel_count(rows), `rows`. */
static size_t panel_row(size_t rows, size_t panels, size_t panel) {
  return panel * (rows / panels) + size_min(panel, rows % panels);
}

/* ---- the tile ---- */

/* LLVM lifts all splats of A to the top of the loop and V8 does not put them back: without barriers registers spill. */
#define BARRIER() __asm__ volatile("" ::: "memory")

typedef struct Tile {
  size_t depth;
  const float *a, *b; /* panels */
  size_t b_stride;    /* from k to k */
  float alpha, beta;
  float *c;
  const float *d;
  size_t c_stride, d_stride; /* from row to row */
  size_t d_column_stride;
  bool clamp;
  float low, high;
} Tile;

/* Written out: a loop over rows would keep the sums in memory. The order matters to V8's older compiler: it places code
 * from the back, and the rows of the loop must come in the order opposite to the stores after it, or it loads all of A
 * first and spills. */
#if TILE_ROWS == 6
#define ROW_5(DO)                                                                                                      \
  if (rows > 5) DO(5)
#else
#define ROW_5(DO)
#endif
#define EACH_ROW(DO)                                                                                                   \
  DO(0)                                                                                                                \
  if (rows > 1) DO(1)                                                                                                  \
  if (rows > 2) DO(2)                                                                                                  \
  if (rows > 3) DO(3)                                                                                                  \
  if (rows > 4) DO(4)                                                                                                  \
  ROW_5(DO)
#define EACH_ROW_BACKWARD(DO)                                                                                          \
  ROW_5(DO)                                                                                                            \
  if (rows > 4) DO(4)                                                                                                  \
  if (rows > 3) DO(3)                                                                                                  \
  if (rows > 2) DO(2)                                                                                                  \
  if (rows > 1) DO(1)                                                                                                  \
  DO(0)

static const float zero = 0;

/* c = alpha · Σk a[k] bᵀ[k] + beta · d, for a constant number of rows */
static inline __attribute__((always_inline)) void tile_of(const int rows, const Tile *t) {
  f32x4 low[ROWS], high[ROWS];
#define CLEAR(i) low[i] = high[i] = f32x4_splat(0);
  EACH_ROW(CLEAR)
  const float *a = t->a, *b = t->b;
  const volatile size_t *b_stride =
      &t->b_stride; /* read again for each k: in a register of its own V8 spills the sums, at half the speed */
  for (size_t k = t->depth; k > 0; k--) {
    f32x4 b0 = f32x4_load(b), b1 = f32x4_load(b + 4);
    BARRIER();
#define MULTIPLY_ADD(i)                                                                                                \
  {                                                                                                                    \
    f32x4 ai = f32x4_splat(a[i]);                                                                                      \
    low[i] = f32x4_madd(ai, b0, low[i]);                                                                               \
    high[i] = f32x4_madd(ai, b1, high[i]);                                                                             \
    BARRIER();                                                                                                         \
  }
    EACH_ROW_BACKWARD(MULTIPLY_ADD)
    a += rows;
    b += *b_stride;
  }
  f32x4 alpha = f32x4_splat(t->alpha), beta = f32x4_splat(t->beta);
  float *c = t->c;
  size_t c_stride = t->c_stride, d_stride = t->d_stride;
  bool d_row = t->d_column_stride;
#define STORE_PLAIN(i)                                                                                                 \
  {                                                                                                                    \
    f32x4_store(c, alpha *low[i]);                                                                                     \
    f32x4_store(c + 4, alpha * high[i]);                                                                               \
    c += c_stride;                                                                                                     \
  }
  if (!t->d && !t->clamp) {
    EACH_ROW(STORE_PLAIN)
    return;
  }
  const float *d = t->d ? t->d : &zero;
#define STORE_AS(DO, i)                                                                                                \
  {                                                                                                                    \
    f32x4 d0 = d_row ? f32x4_load(d) : f32x4_splat(*d);                                                                \
    f32x4 d1 = d_row ? f32x4_load(d + 4) : d0;                                                                         \
    f32x4_store(c, DO(alpha *low[i] + beta * d0));                                                                     \
    f32x4_store(c + 4, DO(alpha * high[i] + beta * d1));                                                               \
    c += c_stride;                                                                                                     \
    d += d_stride;                                                                                                     \
  }
#define STORE(i) STORE_AS(, i)
#define CLAMP(v) f32x4_min(most, f32x4_max(least, v)) /* NaN stays NaN */
#define STORE_CLAMPED(i) STORE_AS(CLAMP, i)
  if (t->clamp) {
    f32x4 least = f32x4_splat(t->low), most = f32x4_splat(t->high);
    EACH_ROW(STORE_CLAMPED)
  } else {
    EACH_ROW(STORE)
  }
}

static void tile_run(size_t rows, const Tile *t) {
  switch (rows) {
    case 1: tile_of(1, t); break;
    case 2: tile_of(2, t); break;
    case 3: tile_of(3, t); break;
    case 4: tile_of(4, t); break;
    case 5: tile_of(5, t); break;
#if TILE_ROWS == 6
    case 6: tile_of(6, t); break;
#endif
  }
}

/* A tile across the edge of C, or from one group of columns to the next: it is computed separately, on a D gathered
 * beforehand, and its elements are then stored one by one. */
static void tile_run_edge(const Gemm *g, size_t rows, const Tile *t, size_t column, size_t columns) {
  float apart[ROWS * COLUMNS], gathered[ROWS * COLUMNS] = {0};
  size_t place[COLUMNS], in_group = column % g->group, at = column / g->group * g->group_stride + in_group;
  for (size_t j = 0; j < columns; j++) {
    place[j] = at++;
    if (++in_group == g->group) in_group = 0, at += g->group_stride - g->group;
  }
  Tile whole = *t;
  whole.c = apart;
  whole.c_stride = COLUMNS;
  if (t->d && t->d_column_stride) {
    for (size_t j = 0; j < columns; j++)
      for (size_t i = 0; i < rows; i++) gathered[i * COLUMNS + j] = t->d[i * t->d_stride + place[j]];
    whole.d = gathered;
    whole.d_stride = COLUMNS;
  }
  tile_run(rows, &whole);
  for (size_t j = 0; j < columns; j++)
    for (size_t i = 0; i < rows; i++) t->c[i * t->c_stride + place[j]] = apart[i * COLUMNS + j];
}

/* ---- blocks ---- */

typedef struct Block {
  size_t row, rows, panels; /* rows of the product, in how many panels; */
  size_t from, to;          /* the panels of this block */
  size_t column, columns, k, depth;
  const float *a;
  float *b;    /* room for panels of B */
  bool direct; /* B is read in place; only a panel across its end is packed */
  bool late;   /* a panel is packed when its tiles are next, over the one before: it stays in the first cache */
} Block;

size_t gemm_packed_b_floats(size_t columns, size_t depth) {
  return ceil_div(columns, PAIR_COLUMNS) * PAIR_COLUMNS * depth;
}

/* ---- B as gemm_pack_b made it ---- */

/* One to three rows, of `width` in their panel, times two panels side by side: the sums of one would wait for each
 * other. */
static inline __attribute__((always_inline)) void rows_of_pair(const size_t rows, const Tile *t, size_t width) {
  f32x4 sum[3][4] = {0};
  const float *a = t->a, *b = t->b;
  for (size_t k = 0; k < t->depth; k++, a += width, b += PAIR_COLUMNS)
    for (size_t i = 0; i < rows; i++)
      for (size_t j = 0; j < 4; j++) sum[i][j] = f32x4_madd(f32x4_splat(a[i]), f32x4_load(b + 4 * j), sum[i][j]);
  f32x4 least = f32x4_splat(t->clamp ? t->low : -INFINITY), most = f32x4_splat(t->clamp ? t->high : INFINITY);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < 4; j++) {
      f32x4 v = t->alpha * sum[i][j];
      const float *d = t->d ? t->d + i * t->d_stride : NULL;
      if (d) v += t->beta * (t->d_column_stride ? f32x4_load(d + 4 * j) : f32x4_splat(*d));
      f32x4_store(t->c + i * t->c_stride + 4 * j, f32x4_min(most, f32x4_max(least, v)));
    }
}

/* Four rows are two and two: the block of B is in the first cache then. */
static void pair_run(size_t rows, Tile t) {
  if (rows == 1) {
    rows_of_pair(1, &t, rows);
  } else if (rows == 3) {
    rows_of_pair(3, &t, rows);
  } else {
    rows_of_pair(2, &t, rows);
    t.a += 2;
    t.c += 2 * t.c_stride;
    if (t.d) t.d += 2 * t.d_stride;
    if (rows == 4) rows_of_pair(2, &t, rows);
  }
}

/* Finds the packed panel of a column. With few rows of C it also computes this panel and the next at once, and then
 * returns true. */
static bool packed_b_run(const Gemm *g, const Block *block, size_t column, const float *d, Tile *t) {
  size_t pair = column / PAIR_COLUMNS * PAIR_COLUMNS;
  t->b = g->packed_b + gemm_packed_b_floats(g->columns, block->k) + pair * block->depth + (column - pair);
  t->b_stride = PAIR_COLUMNS;
  bool whole = column == pair && column + PAIR_COLUMNS <= block->column + block->columns;
  if (!whole || block->panels > 1 || g->rows > PAIRED_ROWS) return false;
  t->c = g->c + column;
  t->d = d ? d + column * t->d_column_stride : NULL;
  pair_run(g->rows, *t);
  return true;
}

OPTIONAL(packed_b, packed_b_run);

static void pack_panel(const Gemm *g, const Block *block, size_t j, float *to) {
  size_t column = block->column + j, count = size_min(COLUMNS, block->columns - j);
  if (g->fill_b) g->fill_b(g->filled_b, column, count, block->k, block->depth, to);
  else gemm_pack_panel(&g->b, column, count, COLUMNS, block->k, block->depth, to);
}

static void block_run(const Gemm *g, const Block *block) {
  Tile t = {.depth = block->depth, .alpha = g->alpha, .beta = g->beta, .c_stride = g->c_row_stride};
  const float *d = g->d;
  t.d_stride = g->d ? g->d_row_stride : 0;
  t.d_column_stride = g->d ? g->d_column_stride : 0;
  t.clamp = g->clamp && block->k + block->depth == g->depth;
  t.low = g->low;
  t.high = g->high;
  if (block->k > 0) { /* the blocks of depth before this one are in C already */
    d = g->c;
    t.beta = 1;
    t.d_stride = g->c_row_stride;
    t.d_column_stride = 1;
  }
  for (size_t j = 0; j < block->columns; j += COLUMNS) {
    size_t column = block->column + j, columns = size_min(COLUMNS, block->columns - j);
    size_t in_group = column % g->group, at = column / g->group * g->group_stride + in_group;
    bool whole = columns == COLUMNS && in_group + COLUMNS <= g->group;
    bool packed = !block->direct || columns < COLUMNS;
    t.b = !packed ? g->b.data + column + block->k * g->b.k_stride : block->b + (block->late ? 0 : j * block->depth);
    t.b_stride = packed ? COLUMNS : g->b.k_stride;
    t.a = block->a;
    if (g->packed_b && part_packed_b(g, block, column, d, &t)) {
      j += COLUMNS;
      continue;
    }
    if (packed && block->late) pack_panel(g, block, j, block->b);
    for (size_t p = block->from; p < block->to; p++) {
      size_t row = panel_row(g->rows, block->panels, p), rows = panel_row(g->rows, block->panels, p + 1) - row;
      t.c = g->c + row * g->c_row_stride;
      t.d = d ? d + row * t.d_stride : NULL;
      if (whole) {
        t.c += at;
        if (d) t.d += at * t.d_column_stride;
        tile_run(rows, &t);
      } else {
        tile_run_edge(g, rows, &t, column, columns);
      }
      t.a += rows * block->depth;
    }
  }
}

static void pack_rows(const GemmSource *a, size_t rows, size_t panels, size_t from, size_t to, size_t k, size_t depth,
                      float *packed) {
  for (size_t p = from; p < to; p++) {
    size_t row = panel_row(rows, panels, p), count = panel_row(rows, panels, p + 1) - row;
    gemm_pack_panel(a, row, count, count, k, depth, packed);
    packed += count * depth;
  }
}

void gemm_pack_a(const GemmSource *a, size_t rows, size_t depth, float *packed) {
  size_t panels = panel_count(rows), block = gemm_block_depth(depth);
  for (size_t k = 0; k < depth; k += block)
    pack_rows(a, rows, panels, 0, panels, k, size_min(block, depth - k), packed + k * rows);
}

/* Blocks of depth, in each the panels of all columns, two side by side. */
void gemm_pack_b(const GemmSource *b, size_t columns, size_t depth, float *packed) {
  float panel[COLUMNS * GEMM_DEPTH_BLOCK];
  size_t step = gemm_block_depth(depth);
  for (size_t from = 0; from < depth; from += step) {
    size_t block = size_min(step, depth - from);
    for (size_t j = 0; j < columns; j += COLUMNS) {
      float *to = packed + j / PAIR_COLUMNS * PAIR_COLUMNS * block + j % PAIR_COLUMNS;
      gemm_pack_panel(b, j, size_min(COLUMNS, columns - j), COLUMNS, from, block, panel);
      for (size_t k = 0; k < block; k++) memcpy(to + k * PAIR_COLUMNS, panel + k * COLUMNS, COLUMNS * sizeof(float));
    }
    packed += gemm_packed_b_floats(columns, block);
  }
}

/* Few rows, for which B comes from memory: packed it is read as one stream. */
bool gemm_packing_pays(const Gemm *g) {
  bool few = g->rows <= DIRECT_PANELS * TILE_ROWS && gemm_is_large(g);
  return few && !g->group && (!gemm_is_vector(g) || gemm_vector_is_as_tile(g));
}

OPTIONAL(few_rows, gemm_vector_run);

static bool is_vector(const Gemm *g) { return part_few_rows && gemm_is_vector(g); }

/* ---- a part of C: some panels of rows times some columns, by one thread ---- */

typedef struct Part {
  size_t from, to; /* panels */
  size_t column, columns;
} Part;

/* One block of depth of one block of columns, for all rows of the part. */
static void blocks_run(const Gemm *g, const Part *part, Block block, float *packed_b, float *packed_a) {
  bool is_panel = g->b.k_stride == COLUMNS, collides = g->b.k_stride % PAGE_FLOATS == 0 && block.depth > CACHE_WAYS;
  bool seldom_read = part->to - part->from <= (collides ? 1 : DIRECT_PANELS);
  block.direct = (is_panel || seldom_read) && g->b.line_stride == 1 && !g->b.line_table && !g->b.k_table &&
                 !g->packed_b && !g->fill_b;
  block.late = !g->packed_b && (block.direct || part->to - part->from <= ROW_BLOCK);
  block.b = packed_b;
  block.panels = panel_count(g->rows);
  for (size_t j = 0; j < block.columns && !g->packed_b && !block.late; j += COLUMNS)
    pack_panel(g, &block, j, packed_b + j * block.depth);
  for (block.from = part->from; block.from < part->to; block.from = block.to) {
    if (block.from > part->from && threads_stopped()) return;
    block.to = size_min(part->to, block.from + ROW_BLOCK);
    if (g->packed_a) {
      block.a = g->packed_a + block.k * g->rows + panel_row(g->rows, block.panels, block.from) * block.depth;
    } else {
      pack_rows(&g->a, g->rows, block.panels, block.from, block.to, block.k, block.depth, packed_a);
      block.a = packed_a;
    }
    block_run(g, &block);
  }
}

static size_t packed_b_floats(size_t columns, size_t depth) {
  return size_min(ceil_div(columns, COLUMNS) * COLUMNS, COLUMN_BLOCK) * depth;
}

static void part_run(const Gemm *g, const Part *part, float *scratch) {
  float *packed_a = scratch + (g->packed_b ? 0 : packed_b_floats(part->columns, gemm_block_depth(g->depth)));
  size_t end = part->column + part->columns;
  for (size_t column = part->column; column < end; column += COLUMN_BLOCK) {
    if (column > part->column && threads_stopped()) return;
    Block block = {.column = column, .columns = size_min(COLUMN_BLOCK, end - column)};
    do { /* once even for a depth of 0: then C = beta · D */
      block.depth = size_min(gemm_block_depth(g->depth), g->depth - block.k);
      blocks_run(g, part, block, scratch, packed_a);
      block.k += block.depth;
    } while (block.k < g->depth && !threads_stopped());
  }
}

size_t gemm_alone_bytes(size_t rows, size_t columns, size_t depth) {
  size_t most = size_min(
      depth, GEMM_DEPTH_BLOCK); /* not gemm_block_depth, which is less for a depth of 400 than for one of 300 */
  size_t packed_a = size_min(rows, ROWS * ROW_BLOCK) * most;
  return (sizeof(float) * (packed_b_floats(columns, most) + packed_a) + 63) & ~(size_t)63;
}

/* The product with a group, and the whole of it as one part. */
static Part whole_of(Gemm *g) {
  if (g->group == 0) g->group = g->columns;
  return (Part){.to = panel_count(g->rows), .columns = g->columns};
}

void gemm_run_alone(const Gemm *gemm, void *scratch) {
  Gemm g = *gemm;
  if (g.rows == 0 || g.columns == 0) return;
  if (is_vector(&g)) {
    part_few_rows(&g);
    return;
  }
  Part whole = whole_of(&g);
  part_run(&g, &whole, scratch);
}

/* ---- C divided along its longer side, one part for each thread ---- */

typedef struct Parts {
  const Gemm *gemm;
  size_t count, thread_bytes;
  bool by_rows;
  char *scratch;
} Parts;

size_t gemm_scratch_bytes(size_t rows, size_t columns, size_t depth) {
  return gemm_alone_bytes(rows, columns, depth) * (size_t)threads_count();
}

/* The scratch that few rows need if B is packed ahead. */
static size_t few_rows_bytes(const Gemm *g) {
  return gemm_packing_pays(g) ? gemm_scratch_bytes(g->rows, 0, g->depth) : 0;
}

size_t gemm_bytes(const Gemm *g) {
  return is_vector(g) ? few_rows_bytes(g) : gemm_scratch_bytes(g->rows, g->columns, g->depth);
}

/* For each part a thread packs the other operand again, so there are no more parts than threads. This does not affect
 * the result: an element is added up in the same order wherever it is. */
static Parts parts_of(const Gemm *g, void *scratch) {
  Parts p = {.gemm = g, .count = (size_t)threads_count(), .by_rows = g->rows >= g->columns, .scratch = scratch};
  uint64_t worth = (uint64_t)g->rows * g->columns * g->depth / PART_WORK;
  size_t units = p.by_rows ? panel_count(g->rows) : ceil_div(g->columns, COLUMNS);
  if (p.count > worth) p.count = worth ? (size_t)worth : 1;
  p.count = size_min(p.count, units);
  p.thread_bytes = gemm_alone_bytes(g->packed_a ? 0 : g->rows, g->packed_b ? 0 : g->columns, g->depth);
  return p;
}

static void run_part(void *context, size_t chunk, int thread) {
  const Parts *p = context;
  const Gemm *g = p->gemm;
  Part part = {.to = panel_count(g->rows), .columns = g->columns};
  if (p->by_rows) {
    size_t panels = part.to;
    part.from = panels * chunk / p->count;
    part.to = panels * (chunk + 1) / p->count;
  } else {
    size_t units = ceil_div(g->columns, COLUMNS);
    part.column = units * chunk / p->count * COLUMNS;
    part.columns = size_min(g->columns, units * (chunk + 1) / p->count * COLUMNS) - part.column;
  }
  part_run(g, &part, (float *)(p->scratch + (size_t)thread * p->thread_bytes));
}

void gemm_run(const Gemm *gemm, void *scratch) {
  Gemm g = *gemm;
  if (g.rows == 0 || g.columns == 0) return;
  if (is_vector(&g)) {
    part_few_rows(&g);
    return;
  }
  whole_of(&g);
  Parts p = parts_of(&g, scratch);
  threads_run(p.count, run_part, &p);
}
