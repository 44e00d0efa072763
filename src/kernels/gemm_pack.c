/* Packing one panel, as fast as the layout of its elements in memory allows. Hot loops keep everything in local
 * variables, because a vector store may alias any field. */
#include "kernels/gemm_pack.h"
#include "simd.h"

typedef struct Panel {
  const float *line[8]; /* first elements, k left out */
  size_t count, width, depth;
  const int32_t *table; /* offsets of the k, or NULL: */
  size_t stride;        /* from k to k; the first is at line[i] then */
} Panel;

/* All 8 lines, or 4 and 4, lie side by side: two loads for each k. */
static void pack_fours(const Panel *p, float *packed) {
  const float *low = p->line[0], *high = p->line[4];
  const int32_t *table = p->table;
  size_t depth = p->depth, stride = p->stride, at = 0;
  for (size_t k = 0; k < depth; k++, at += stride, packed += 8) {
    size_t offset = table ? (size_t)table[k] : at;
    f32x4 a = f32x4_load(low + offset), b = f32x4_load(high + offset);
    f32x4_store(packed, a);
    f32x4_store(packed + 4, b);
  }
}

/* Lines side by side two by two. */
static void pack_pairs(const Panel *p, float *packed) {
  const float *a = p->line[0], *b = p->line[2], *c = p->line[4], *d = p->line[6];
  const int32_t *table = p->table;
  size_t depth = p->depth, stride = p->stride, at = 0;
  for (size_t k = 0; k < depth; k++, at += stride, packed += 8) {
    size_t offset = table ? (size_t)table[k] : at;
    memcpy(packed, a + offset, 8);
    memcpy(packed + 2, b + offset, 8);
    memcpy(packed + 4, c + offset, 8);
    memcpy(packed + 6, d + offset, 8);
  }
}

/* 4 lines side by side, or as many as a tile has at most: the rows of a transposed A. */
static void pack_rows(const Panel *p, float *packed) {
  const float *line = p->line[0];
  const int32_t *table = p->table;
  size_t depth = p->depth, stride = p->stride, width = p->width, at = 0;
  for (size_t k = 0; k < depth; k++, at += stride, packed += width) {
    size_t offset = table ? (size_t)table[k] : at;
    f32x4_store(packed, f32x4_load(line + offset));
    if (width > 4) packed[4] = line[offset + 4];
    if (TILE_ROWS > 5 && width > 5) packed[5] = line[offset + 5];
  }
}

/* Four lines times four k, turned: packed[k · width + i]. */
static inline void turn(f32x4 r0, f32x4 r1, f32x4 r2, f32x4 r3, size_t width, float *packed) {
  f32x4 a = __builtin_shufflevector(r0, r1, 0, 4, 1, 5), b = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
  f32x4 c = __builtin_shufflevector(r0, r1, 2, 6, 3, 7), d = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  f32x4_store(packed, __builtin_shufflevector(a, b, 0, 1, 4, 5));
  f32x4_store(packed + width, __builtin_shufflevector(a, b, 2, 3, 6, 7));
  f32x4_store(packed + 2 * width, __builtin_shufflevector(c, d, 0, 1, 4, 5));
  f32x4_store(packed + 3 * width, __builtin_shufflevector(c, d, 2, 3, 6, 7));
}

/* Lines first … first + 3, wherever they are; four k at once where those lie side by side. */
static void pack_four_lines(const Panel *p, size_t first, float *packed) {
  const float *a = p->line[first], *b = p->line[first + 1], *c = p->line[first + 2], *d = p->line[first + 3];
  const int32_t *table = p->table;
  size_t depth = p->depth, stride = p->stride, width = p->width;
  for (size_t k = 0; k < depth;) {
    size_t at = table ? (size_t)table[k] : k * stride;
    bool side_by_side = table ? k + 4 <= depth && table[k + 1] == table[k] + 1 && table[k + 2] == table[k] + 2 &&
                                    table[k + 3] == table[k] + 3
                              : k + 4 <= depth && stride == 1;
    float *to = packed + k * width + first;
    if (side_by_side) {
      turn(f32x4_load(a + at), f32x4_load(b + at), f32x4_load(c + at), f32x4_load(d + at), width, to);
      k += 4;
    } else {
      to[0] = a[at], to[1] = b[at], to[2] = c[at], to[3] = d[at];
      k++;
    }
  }
}

/* All rows of a panel of A, 4 and `more`, in one go: four k at once, which lie side by side. */
static inline __attribute__((always_inline)) void pack_long_rows(const Panel *p, const size_t more, float *to) {
  const float *a = p->line[0], *b = p->line[1], *c = p->line[2], *d = p->line[3];
  const float *e = more > 0 ? p->line[4] : a, *f = more > 1 ? p->line[5] : a;
  const size_t width = 4 + more;
  size_t depth = p->depth, k = 0;
  for (; k + 4 <= depth; k += 4, to += 4 * width) {
    turn(f32x4_load(a + k), f32x4_load(b + k), f32x4_load(c + k), f32x4_load(d + k), width, to);
    for (size_t i = 0; i < 4; i++) {
      if (more > 0) to[i * width + 4] = e[k + i];
      if (more > 1) to[i * width + 5] = f[k + i];
    }
  }
  for (; k < depth; k++, to += width) {
    to[0] = a[k], to[1] = b[k], to[2] = c[k], to[3] = d[k];
    if (more > 0) to[4] = e[k];
    if (more > 1) to[5] = f[k];
  }
}

/* All columns of a panel of B whose k lie side by side: the rows of a transposed B. */
static void pack_long_columns(const Panel *p, float *to) {
  const float *a = p->line[0], *b = p->line[1], *c = p->line[2], *d = p->line[3];
  const float *e = p->line[4], *f = p->line[5], *g = p->line[6], *h = p->line[7];
  size_t depth = p->depth, k = 0;
  for (; k + 4 <= depth; k += 4, to += 32) {
    turn(f32x4_load(a + k), f32x4_load(b + k), f32x4_load(c + k), f32x4_load(d + k), 8, to);
    turn(f32x4_load(e + k), f32x4_load(f + k), f32x4_load(g + k), f32x4_load(h + k), 8, to + 4);
  }
  for (; k < depth; k++, to += 8)
    to[0] = a[k], to[1] = b[k], to[2] = c[k], to[3] = d[k], to[4] = e[k], to[5] = f[k], to[6] = g[k], to[7] = h[k];
}

static void pack_line(const Panel *p, size_t i, float *packed) {
  for (size_t k = 0; k < p->depth; k++)
    packed[k * p->width + i] = i < p->count ? p->line[i][p->table ? (size_t)p->table[k] : k * p->stride] : 0;
}

/* True if the lines lie side by side in groups of `step`. */
static bool lines_adjoin(const Panel *p, size_t step) {
  for (size_t i = 0; i < p->count; i++)
    if (p->line[i] != p->line[i - i % step] + i % step) return false;
  return true;
}

void gemm_pack_panel(const GemmSource *s, size_t line, size_t count, size_t width, size_t from, size_t depth,
                     float *packed) {
  Panel p = {.count = count,
             .width = width,
             .depth = depth,
             .table = s->k_table ? s->k_table + from : NULL,
             .stride = s->k_stride};
  const float *start = s->data + (s->k_table ? 0 : from * s->k_stride);
  for (size_t i = 0; i < count; i++)
    p.line[i] = start + (s->line_table ? (size_t)s->line_table[line + i] : (line + i) * s->line_stride);
  if (count == 8 && lines_adjoin(&p, 4)) {
    pack_fours(&p, packed);
  } else if (count == 8 && lines_adjoin(&p, 2)) {
    pack_pairs(&p, packed);
  } else if (count == width && count >= 4 && count <= TILE_ROWS && lines_adjoin(&p, 6)) {
    pack_rows(&p, packed);
  } else if (!p.table && p.stride == 1 && count == 8) {
    pack_long_columns(&p, packed);
  } else if (!p.table && p.stride == 1 && count == width && count >= 4 && count <= TILE_ROWS) {
    if (count == 4) pack_long_rows(&p, 0, packed);
    else if (TILE_ROWS == 5 || count == 5) pack_long_rows(&p, 1, packed);
    else pack_long_rows(&p, 2, packed);
  } else {
    size_t i = 0;
    for (; i + 4 <= count; i += 4) pack_four_lines(&p, i, packed);
    for (; i < width; i++) pack_line(&p, i, packed);
  }
}
