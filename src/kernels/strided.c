/* Strided: copying n-dimensional blocks between layouts; the one loop behind Transpose, Slice, Expand and the like.
 *
 *   dims of 1 dropped, neighbours merged ─▶ outer loops over  a line: memcpy, fill, or a plain loop
 *                                                         or  a plane that turns rows into columns: 4×4 tiles
 */
#include "kernels/strided.h"

#include <string.h>

#include "kernels/copy.h"
#include "simd.h"
#include "threads.h"

typedef uint8_t u8_any __attribute__((may_alias));
typedef uint16_t u16_any __attribute__((may_alias));
typedef uint32_t u32_any __attribute__((may_alias));
typedef uint64_t u64_any __attribute__((may_alias));

#define COPY_LINE(Type)                                                                                                \
  do {                                                                                                                 \
    Type *to_ = to;                                                                                                    \
    const Type *from_ = from;                                                                                          \
    for (size_t i = 0; i < d.count; i++) to_[(ptrdiff_t)i * d.to] = from_[(ptrdiff_t)i * d.from];                      \
  } while (0)

void strided_fill(void *to_, const void *from, size_t count, size_t item) {
  uint8_t same[16], *to = to_;
  size_t bytes = count * item, i = 0;
  for (size_t k = 0; k < sizeof same; k += item) copy_element(same + k, from, item);
  f32x4 all = f32x4_load((const float *)(const void *)same);
  for (; i + 4 * sizeof same <= bytes; i += 4 * sizeof same) {
    float *four = (float *)(void *)(to + i);
    f32x4_store(four, all), f32x4_store(four + 4, all), f32x4_store(four + 8, all), f32x4_store(four + 12, all);
  }
  for (; i + sizeof same <= bytes; i += sizeof same) f32x4_store((float *)(void *)(to + i), all);
  if (i && i < bytes) f32x4_store((float *)(void *)(to + bytes - sizeof same), all); /* some of them a second time */
  if (!i) copy_bytes(to, same, bytes);
}

static void copy_line(void *to, const void *from, StridedDim d, size_t item) {
  if (d.to == 1 && d.from == 1) {
    copy_bytes(to, from, d.count * item);
    return;
  }
  if (d.to == 1 && d.from == 0) {
    strided_fill(to, from, d.count, item);
    return;
  }
  switch (item) {
    case 1: COPY_LINE(u8_any); break;
    case 2: COPY_LINE(u16_any); break;
    case 4: COPY_LINE(u32_any); break;
    default: COPY_LINE(u64_any); break;
  }
}

/* A line of `bytes` again and again, one after the other: what is there already is copied behind itself, while the
 * first cache holds it. */
static void repeat_line(char *to, const void *from, size_t bytes, size_t count) {
  enum { MOST = 8192 };
  size_t all = bytes * count, step = bytes;
  copy_bytes(to, from, bytes);
  for (size_t done = bytes; done < all; done += step) {
    if (done <= MOST) step = done;
    copy_bytes(to + done, to, done + step < all ? step : all - done);
  }
}

/* ---- planes: to[r·R + c] = from[c·C + r] ---- */

static inline void tile(float *to, const float *from, ptrdiff_t to_row, ptrdiff_t from_column) {
  f32x4 a = f32x4_load(from), b = f32x4_load(from + from_column);
  f32x4 c = f32x4_load(from + 2 * from_column), d = f32x4_load(from + 3 * from_column);
  f32x4 ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  f32x4 cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  f32x4_store(to, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
  f32x4_store(to + to_row, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
  f32x4_store(to + 2 * to_row, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
  f32x4_store(to + 3 * to_row, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

enum { BAND = 16 }; /* rows and columns done together: the 64 bytes of a cache line of `from`, and of `to` */

enum { CHUNK = 512 }; /* rows whose columns are written one after the other while the nearest cache holds them */

static void copy_plane(float *to, const float *from, StridedDim row, StridedDim column) {
  size_t rows = row.count & ~(size_t)3, columns = column.count & ~(size_t)3;
  for (size_t band = 0; band < rows; band += BAND) {
    size_t end = band + BAND < rows ? band + BAND : rows;
    for (size_t block = 0; block < columns; block += BAND) {
      size_t last = block + BAND < columns ? block + BAND : columns;
      for (size_t r = band; r < end;
           r += 4) /* a line of `to` is written once, even where all of them meet in a cache */
        for (size_t c = block; c < last; c += 4)
          tile(to + (ptrdiff_t)r * row.to + (ptrdiff_t)c, from + (ptrdiff_t)c * column.from + (ptrdiff_t)r, row.to,
               column.from);
    }
  }
  for (size_t r = 0, end; r < rows; r = end) { /* up to three columns that are left, or all there are: colours */
    end = rows - r < CHUNK ? rows : r + CHUNK;
    for (size_t c = columns; c < column.count; c++)
      copy_line(to + (ptrdiff_t)r * row.to + (ptrdiff_t)c, from + (ptrdiff_t)c * column.from + (ptrdiff_t)r,
                (StridedDim){end - r, row.to, 1}, sizeof *to);
  }
  for (size_t r = rows; r < row.count; r++)
    copy_line(to + (ptrdiff_t)r * row.to, from + (ptrdiff_t)r, column, sizeof *to);
}

/* ---- outer loops ---- */

/* Drops dims of 1 and merges neighbouring dims where possible, so that lines are long. */
static void simplify(Strided *s) {
  int rank = 0;
  for (int i = 0; i < s->rank; i++) {
    StridedDim d = s->dim[i], *last = rank ? &s->dim[rank - 1] : NULL;
    if (d.count == 1) continue;
    if (last && last->to == d.to * (ptrdiff_t)d.count && last->from == d.from * (ptrdiff_t)d.count)
      *last = (StridedDim){last->count * d.count, d.to, d.from};
    else s->dim[rank++] = d;
  }
  if (!rank) s->dim[rank++] = (StridedDim){1, 1, 1};
  s->rank = rank;
}

/* The dim that makes a plane with the last one: it steps by 1 in `from` while the last steps by 1 in `to`; -1 for none.
 */
static int plane_row(const Strided *s, size_t item) {
  const StridedDim *last = &s->dim[s->rank - 1];
  if (item != sizeof(float) || last->to != 1 || last->from == 0 || last->count < 2) return -1;
  for (int i = 0; i < s->rank - 1; i++)
    if (s->dim[i].from == 1 && s->dim[i].count >= 4) return i;
  return -1;
}

/* True if the dim before the last one repeats its lines side by side. */
static bool repeats_lines(const Strided *s) {
  const StridedDim *line = &s->dim[s->rank - 1], *before = line - 1;
  return s->rank > 1 && line->to == 1 && line->from == 1 && before->from == 0 && before->to == (ptrdiff_t)line->count;
}

/* s is simplified. */
static void copy_block(void *to, const void *from, Strided s, size_t item) {
  StridedDim line = s.dim[s.rank - 1], row = {0};
  int row_at = plane_row(&s, item), outer = s.rank - 1;
  if (row_at >= 0) {
    row = s.dim[row_at];
    memmove(&s.dim[row_at], &s.dim[row_at + 1], (size_t)(outer - row_at) * sizeof *s.dim);
    outer--;
  }
  bool repeats = repeats_lines(&s);
  size_t times = repeats ? s.dim[--outer].count : 1;
  size_t index[RANK_MAX] = {0};
  char *to_at = to;
  const char *from_at = from;
  for (;;) {
    if (row.count) copy_plane((float *)to_at, (const float *)from_at, row, line);
    else if (repeats) repeat_line(to_at, from_at, line.count * item, times);
    else copy_line(to_at, from_at, line, item);
    int k = outer - 1;
    for (; k >= 0; k--) {
      const StridedDim *d = &s.dim[k];
      to_at += d->to * (ptrdiff_t)item;
      from_at += d->from * (ptrdiff_t)item;
      if (++index[k] < d->count) break;
      to_at -= d->to * (ptrdiff_t)(item * d->count);
      from_at -= d->from * (ptrdiff_t)(item * d->count);
      index[k] = 0;
    }
    if (k < 0) return;
  }
}

/* ---- slices for threads ---- */

typedef struct Slices {
  void *to;
  const void *from;
  Strided s;
  size_t item;
  int along; /* the dim that is cut */
} Slices;

static void copy_slice(void *context, size_t first, size_t end) {
  const Slices *slices = context;
  StridedDim d = slices->s.dim[slices->along];
  Strided s = slices->s;
  s.dim[slices->along].count = end - first;
  copy_block((char *)slices->to + (ptrdiff_t)(first * slices->item) * d.to,
             (const char *)slices->from + (ptrdiff_t)(first * slices->item) * d.from, s, slices->item);
}

enum { ENOUGH = 8 }; /* slices that keep the threads of most machines busy */

void strided_copy(void *to, const void *from, Strided s, size_t item) {
  size_t count = 1;
  for (int i = 0; i < s.rank; i++) count *= s.dim[i].count;
  if (count == 0) return;
  simplify(&s);
  int along = 0; /* the outermost dim that is long enough, else the outermost */
  for (int i = s.rank - 1; i >= 0; i--)
    if (s.dim[i].count >= ENOUGH) along = i;
  threads_split(s.dim[along].count, threads_grain(count / s.dim[along].count), copy_slice,
                &(Slices){to, from, s, item, along});
}
