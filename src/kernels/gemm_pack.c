/* Packing one panel, as fast as the way its elements lie in memory allows. */
#include "kernels/gemm_pack.h"
#include "simd.h"

typedef struct Panel {
  const float *line[8]; /* first elements, k left out */
  size_t count, width, from, depth;
  const int32_t *k_table;
  size_t k_stride;
} Panel;

static inline size_t k_offset(const Panel *p, size_t k) {
  return p->k_table ? (size_t)p->k_table[p->from + k] : (p->from + k) * p->k_stride;
}

/* All 8 lines, or 4 and 4, lie side by side: two loads for each k. */
static void pack_fours(const Panel *p, float *packed) {
  for (size_t k = 0; k < p->depth; k++, packed += 8) {
    size_t at = k_offset(p, k);
    f32x4 low = f32x4_load(p->line[0] + at), high = f32x4_load(p->line[4] + at);
    f32x4_store(packed, low);
    f32x4_store(packed + 4, high);
  }
}

/* Lines side by side two by two. */
static void pack_pairs(const Panel *p, float *packed) {
  for (size_t k = 0; k < p->depth; k++, packed += 8) {
    size_t at = k_offset(p, k);
    for (int i = 0; i < 8; i += 2) memcpy(packed + i, p->line[i] + at, 2 * sizeof(float));
  }
}

/* 4 or 5 lines side by side: the rows of a transposed A. */
static void pack_rows(const Panel *p, float *packed) {
  for (size_t k = 0; k < p->depth; k++, packed += p->width) {
    const float *from = p->line[0] + k_offset(p, k);
    f32x4_store(packed, f32x4_load(from));
    if (p->width == 5) packed[4] = from[4];
  }
}

static void pack_one(const Panel *p, size_t k, float *packed) {
  size_t at = k_offset(p, k), i = 0;
  for (; i < p->count; i++) packed[i] = p->line[i][at];
  for (; i < p->width; i++) packed[i] = 0;
}

/* Four lines times four k, turned: packed[k · width + i] for i < 4. */
static inline void pack_4x4(const float *const *line, size_t at, size_t width, float *packed) {
  f32x4 r0 = f32x4_load(line[0] + at), r1 = f32x4_load(line[1] + at);
  f32x4 r2 = f32x4_load(line[2] + at), r3 = f32x4_load(line[3] + at);
  f32x4 a = __builtin_shufflevector(r0, r1, 0, 4, 1, 5), b = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
  f32x4 c = __builtin_shufflevector(r0, r1, 2, 6, 3, 7), d = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  f32x4_store(packed, __builtin_shufflevector(a, b, 0, 1, 4, 5));
  f32x4_store(packed + width, __builtin_shufflevector(a, b, 2, 3, 6, 7));
  f32x4_store(packed + 2 * width, __builtin_shufflevector(c, d, 0, 1, 4, 5));
  f32x4_store(packed + 3 * width, __builtin_shufflevector(c, d, 2, 3, 6, 7));
}

/* Four k of a panel of 4, 5 or 8 whole lines, whose elements lie side by side along k. */
static inline void pack_four_k(const Panel *p, size_t at, float *packed) {
  pack_4x4(p->line, at, p->width, packed);
  if (p->width == 8) pack_4x4(p->line + 4, at, 8, packed + 4);
  if (p->width == 5)
    for (int k = 0; k < 4; k++) packed[5 * k + 4] = p->line[4][at + k];
}

static inline bool four_k_adjoin(const Panel *p, size_t k, size_t at) {
  return k + 4 <= p->depth && k_offset(p, k + 1) == at + 1 && k_offset(p, k + 2) == at + 2 && k_offset(p, k + 3) == at + 3;
}

static void pack_along_k(const Panel *p, float *packed) {
  bool fours = p->count == p->width && (p->width == 8 || p->width == 5 || p->width == 4);
  for (size_t k = 0; k < p->depth;) {
    size_t at = k_offset(p, k);
    if (fours && four_k_adjoin(p, k, at)) {
      pack_four_k(p, at, packed + k * p->width);
      k += 4;
    } else {
      pack_one(p, k, packed + k * p->width);
      k++;
    }
  }
}

/* Whether the lines lie side by side in groups of `step`. */
static bool lines_adjoin(const Panel *p, size_t step) {
  for (size_t i = 0; i < p->count; i++)
    if (p->line[i] != p->line[i - i % step] + i % step) return false;
  return true;
}

void gemm_pack_panel(const GemmSource *s, size_t line, size_t count, size_t width, size_t from, size_t depth, float *packed) {
  Panel p = {.count = count, .width = width, .from = from, .depth = depth, .k_table = s->k_table, .k_stride = s->k_stride};
  for (size_t i = 0; i < count; i++)
    p.line[i] = s->data + (s->line_table ? (size_t)s->line_table[line + i] : (line + i) * s->line_stride);
  bool whole = count == width;
  if (whole && count == 8 && lines_adjoin(&p, 4)) pack_fours(&p, packed);
  else if (whole && count == 8 && lines_adjoin(&p, 2)) pack_pairs(&p, packed);
  else if (whole && (count == 4 || count == 5) && lines_adjoin(&p, 5)) pack_rows(&p, packed);
  else pack_along_k(&p, packed);
}
