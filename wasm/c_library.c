/* The part of the C library that is large for how little the engine asks of it: sentences, numbers in text, sorting.
 *
 * It wins over the functions of the same names in Emscripten's library, whose numbers go through floats of 128 bits.
 * Natively the system's are used; tests/c/c_library.c compares. */
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a double, with all its digits ---- */

/* Limbs of nine digits: … 10⁹, 1 . 10⁻⁹, 10⁻¹⁸ …, as many as any double has. */
enum { LIMB_DIGITS = 9, LIMB = 1000000000, FRACTION = 120, LIMBS = 37 + FRACTION, UNITS = LIMBS - FRACTION - 1 };
enum { PLACE_MIN = -FRACTION * LIMB_DIGITS, PLACE_MAX = (UNITS + 1) * LIMB_DIGITS - 1 };

typedef struct Decimal {
  uint32_t limb[LIMBS];
  int start, end; /* the first that is not 0, and behind the last; equal for 0 */
} Decimal;

static void trim(Decimal *d) {
  while (d->start < d->end && d->limb[d->start] == 0) d->start++;
  while (d->start < d->end && d->limb[d->end - 1] == 0) d->end--;
}

/* d · 2^bits, of at most 29 bits. */
static void shift_left(Decimal *d, int bits) {
  uint64_t carry = 0;
  for (int i = d->end - 1; i >= d->start || carry; i--) {
    carry += (uint64_t)d->limb[i] << bits;
    d->limb[i] = (uint32_t)(carry % LIMB);
    carry /= LIMB;
    if (i < d->start) d->start = i;
  }
  trim(d);
}

/* d / 2^bits, of at most 29 bits; what is less than the last limb's unit still counts as something. */
static void shift_right(Decimal *d, int bits) {
  uint64_t rest = 0;
  for (int i = d->start; i < d->end || (rest && i < LIMBS); i++) {
    rest = rest * LIMB + d->limb[i];
    d->limb[i] = (uint32_t)(rest >> bits);
    rest &= ((uint64_t)1 << bits) - 1;
    if (i >= d->end) d->end = i + 1;
  }
  d->limb[LIMBS - 1] |= rest != 0;
  trim(d);
}

static void decimal_of(Decimal *d, double x) {
  int exponent;
  uint64_t units = (uint64_t)ldexp(frexp(x, &exponent), 53);
  *d = (Decimal){.start = UNITS - 1, .end = UNITS + 1};
  d->limb[UNITS - 1] = (uint32_t)(units / LIMB), d->limb[UNITS] = (uint32_t)(units % LIMB);
  trim(d);
  for (exponent -= 53; exponent >= 29; exponent -= 29) shift_left(d, 29);
  for (; exponent <= -29; exponent += 29) shift_right(d, 29);
  if (exponent > 0) shift_left(d, exponent);
  else shift_right(d, -exponent);
}

static uint32_t *limb_of(Decimal *d, int place) { return &d->limb[LIMBS - 1 - (place - PLACE_MIN) / LIMB_DIGITS]; }

static uint32_t unit_of(int place) {
  uint32_t unit = 1;
  for (int k = (place - PLACE_MIN) % LIMB_DIGITS; k > 0; k--) unit *= 10;
  return unit;
}

/* The digit that counts 10^place. */
static int digit(Decimal *d, int place) {
  return place < PLACE_MIN || place > PLACE_MAX ? 0 : (int)(*limb_of(d, place) / unit_of(place) % 10);
}

static int top_place(Decimal *d) {
  int place = d->start < d->end ? (LIMBS - d->start) * LIMB_DIGITS - 1 + PLACE_MIN : 0;
  while (d->start < d->end && digit(d, place) == 0) place--;
  return place;
}

/* Up if what is below 10^place is more than half of it, or half and the digit is odd; what is below stays as it is. */
static void round_at(Decimal *d, int place) {
  if (place <= PLACE_MIN || place > PLACE_MAX) return;
  uint32_t *limb = limb_of(d, place - 1);
  int first = digit(d, place - 1);
  bool more = *limb % unit_of(place - 1) || limb + 1 < d->limb + d->end;
  if (first < 5 || (first == 5 && !more && digit(d, place) % 2 == 0)) return;
  limb = limb_of(d, place);
  for (uint32_t unit = unit_of(place); (*limb += unit) >= LIMB; unit = 1) *limb-- -= LIMB;
  int at = (int)(limb - d->limb);
  if (d->start >= d->end || at < d->start) d->start = at;
  if (at >= d->end) d->end = at + 1;
}

/* ---- text of a format ---- */

typedef struct Text {
  char *to;
  size_t room, count;
} Text;

static void put(Text *t, char c) {
  if (t->count + 1 < t->room) t->to[t->count] = c;
  t->count++;
}

static void put_text(Text *t, const char *text, size_t most) {
  for (; most && *text; most--) put(t, *text++);
}

static void put_integer(Text *t, uint64_t x, bool negative, unsigned base, int width, char fill) {
  char digits[24];
  int count = 0;
  if (negative) x = -x;
  do digits[count++] = "0123456789abcdef"[x % base];
  while ((x /= base));
  if (negative) digits[count++] = '-';
  for (; width > count; width--) put(t, fill);
  while (count) put(t, digits[--count]);
}

static void put_digits(Text *t, Decimal *d, int first, int last, int point) {
  for (int place = first; place >= last; place--) {
    put(t, (char)('0' + digit(d, place)));
    if (place == point && place > last) put(t, '.');
  }
}

/* %f, %e or %g of a finite number of at least 0. */
static void put_finite(Text *t, double x, char kind, int precision) {
  Decimal d;
  decimal_of(&d, x);
  int digits = kind == 'e' ? precision + 1 : precision ? precision : 1, last = -precision;
  if (kind != 'f') last = top_place(&d) - digits + 1;
  round_at(&d, last);
  int top = top_place(&d);
  bool plain = kind == 'f' || (kind == 'g' && top >= -4 && top < digits);
  if (kind != 'f') last = top - digits + 1;
  while (kind == 'g' && last < (plain ? 0 : top) && digit(&d, last) == 0) last++;
  if (plain) {
    put_digits(t, &d, top > 0 ? top : 0, last < 0 ? last : 0, 0);
    return;
  }
  put_digits(t, &d, top, last, top);
  put(t, 'e'), put(t, top < 0 ? '-' : '+');
  put_integer(t, (uint64_t)abs(top), false, 10, 2, '0');
}

static void put_double(Text *t, double x, char kind, int precision) {
  if (signbit(x)) put(t, '-');
  if (isnan(x) || isinf(x)) put_text(t, isnan(x) ? "nan" : "inf", 3);
  else put_finite(t, fabs(x), kind, precision < 0 ? 6 : precision);
}

typedef struct Arguments {
  va_list list;
} Arguments;

/* After a %: 4, 04, .3 or .* */
static const char *read_number(const char *format, Arguments *args, int *number) {
  if (*format == '*') return *number = va_arg(args->list, int), format + 1;
  for (*number = 0; *format >= '0' && *format <= '9'; format++) *number = *number * 10 + *format - '0';
  return format;
}

/* The conversions that the engine uses: [0][width][.precision][z|ll] and one of c s d u x f e g. */
static const char *put_argument(Text *t, const char *format, Arguments *args) {
  int width, precision = -1;
  int64_t signed_x;
  uint64_t x;
  char fill = *format == '0' ? '0' : ' ';
  format = read_number(format, args, &width);
  if (*format == '.') format = read_number(format + 1, args, &precision);
  bool wide = *format == 'l' || (*format == 'z' && sizeof(size_t) == 8);
  format += *format == 'l' ? 2 : *format == 'z';
  switch (*format) {
    case 'c': put(t, (char)va_arg(args->list, int)); break;
    case 's': put_text(t, va_arg(args->list, const char *), precision < 0 ? SIZE_MAX : (size_t)precision); break;
    case 'd':
      signed_x = wide ? va_arg(args->list, int64_t) : va_arg(args->list, int);
      put_integer(t, (uint64_t)signed_x, signed_x < 0, 10, width, fill);
      break;
    case 'u':
    case 'x':
      x = wide ? va_arg(args->list, uint64_t) : va_arg(args->list, unsigned);
      put_integer(t, x, false, *format == 'u' ? 10 : 16, width, fill);
      break;
    default: put_double(t, va_arg(args->list, double), *format, precision);
  }
  return format + 1;
}

int vsnprintf(char *restrict to, size_t room, const char *restrict format, va_list list) {
  Text t = {.to = to, .room = room};
  Arguments args;
  va_copy(args.list, list);
  while (*format)
    if (*format == '%') format = put_argument(&t, format + 1, &args);
    else put(&t, *format++);
  va_end(args.list);
  if (room) to[t.count < room ? t.count : room - 1] = 0;
  return (int)t.count;
}

int snprintf(char *restrict to, size_t room, const char *restrict format, ...) {
  va_list args;
  va_start(args, format);
  int count = vsnprintf(to, room, format, args);
  va_end(args);
  return count;
}

/* ---- numbers read from text ---- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static const char *read_sign(const char *text, bool *negative) {
  while (*text == ' ' || (*text >= '\t' && *text <= '\r')) text++;
  *negative = *text == '-';
  return text + (*text == '-' || *text == '+');
}

/* The letters of `word`, small ones, whatever their case in `text`. */
static bool begins(const char *text, const char *word) {
  while (*word && (*text | 32) == *word) text++, word++;
  return !*word;
}

static const char *read_exponent(const char *text, int64_t *exponent) {
  if ((*text | 32) != 'e') return text;
  const char *at = text + 1 + (text[1] == '-' || text[1] == '+');
  if (!is_digit(*at)) return text;
  for (; is_digit(*at); at++)
    if (*exponent < INT_MAX) *exponent = *exponent * 10 + *at - '0';
  if (text[1] == '-') *exponent = -*exponent;
  return at;
}

/* Sets the digits from 10^place on; false where they are beyond every double. */
static bool take_digits(Decimal *d, const char *text, const char *end, int64_t place) {
  for (; text < end; text++) {
    if (*text == '.') continue;
    if (*text != '0' && place > PLACE_MAX - LIMB_DIGITS) return false;
    if (*text != '0' && place < PLACE_MIN) d->limb[LIMBS - 1] |= 1;
    else if (*text != '0') *limb_of(d, (int)place) += (uint32_t)(*text - '0') * unit_of((int)place);
    place--;
  }
  d->start = 0, d->end = LIMBS;
  trim(d);
  return true;
}

/* Digits of a number less than 10¹⁸. */
static uint64_t whole(const Decimal *d) { return (uint64_t)d->limb[UNITS - 1] * LIMB + d->limb[UNITS]; }

/* The nearest number of so many bits, even if two are, whose last bit is not below 2^lowest. */
static double nearest(Decimal *d, int bits, int lowest) {
  int exponent = 0;
  if (d->start == d->end) return 0;
  for (; d->start < UNITS - 1; exponent += 9) shift_right(d, 9);
  for (; whole(d) >> bits; exponent++) shift_right(d, 1);
  for (; d->start > UNITS + 1 && exponent - 29 >= lowest; exponent -= 29) shift_left(d, 29);
  for (; !(whole(d) >> (bits - 1)) && exponent > lowest; exponent--) shift_left(d, 1);
  round_at(d, 0);
  return ldexp((double)whole(d), exponent);
}

static double read_float(const char *text, char **end, int bits, int lowest) {
  bool negative;
  double x = 0;
  const char *start = read_sign(text, &negative), *at = start;
  while (is_digit(*at)) at++;
  int64_t places = at - start, exponent = 0;
  if (*at == '.')
    for (at++; is_digit(*at);) at++;
  const char *behind = at;
  if (at - start > (start[places] == '.')) {
    Decimal d = {.start = 0};
    behind = read_exponent(at, &exponent);
    x = take_digits(&d, start, at, places - 1 + exponent) ? nearest(&d, bits, lowest) : INFINITY;
  } else if (begins(start, "inf")) {
    x = INFINITY;
    behind = start + (begins(start, "infinity") ? 8 : 3);
  } else if (begins(start, "nan")) {
    x = NAN;
    behind = start + 3;
  } else {
    negative = false;
    behind = text;
  }
  if (end) *end = (char *)(uintptr_t)behind;
  return negative ? -x : x;
}

double strtod(const char *restrict text, char **restrict end) { return read_float(text, end, 53, -1074); }
float strtof(const char *restrict text, char **restrict end) { return (float)read_float(text, end, 24, -149); }

/* Base 10 only. */
static uint64_t read_integer(const char *text, char **end, uint64_t most, uint64_t least) {
  bool negative, over = false;
  uint64_t x = 0;
  const char *start = read_sign(text, &negative), *at = start;
  for (; is_digit(*at); at++) {
    unsigned d = (unsigned)(*at - '0');
    over |= x > ((negative ? least : most) - d) / 10;
    x = x * 10 + d;
  }
  if (end) *end = (char *)(uintptr_t)(at == start ? text : at);
  if (over) return negative && least != most ? -least : most;
  return negative ? -x : x;
}

long long strtoll(const char *restrict text, char **restrict end, int base) {
  return (long long)read_integer(text, end, INT64_MAX, (uint64_t)INT64_MAX + 1);
}

unsigned long long strtoull(const char *restrict text, char **restrict end, int base) {
  return read_integer(text, end, UINT64_MAX, UINT64_MAX);
}

/* ---- the rest ---- */

char *strstr(const char *text, const char *part) {
  size_t length = strlen(part);
  for (; strncmp(text, part, length) != 0; text++)
    if (!*text) return NULL;
  return (char *)(uintptr_t)text;
}

static void swap(char *a, char *b, size_t bytes) {
  for (; bytes; bytes--) {
    char c = *a;
    *a++ = *b, *b++ = c;
  }
}

typedef int Compare(const void *, const void *);

static void sift(char *items, size_t at, size_t count, size_t bytes, Compare *compare) {
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && compare(items + child * bytes, items + (child + 1) * bytes) < 0) child++;
    if (compare(items + at * bytes, items + child * bytes) >= 0) return;
    swap(items + at * bytes, items + child * bytes, bytes);
  }
}

/* A heap with the largest on top, emptied from the back. */
void qsort(void *items, size_t count, size_t bytes, Compare *compare) {
  for (size_t i = count / 2; i-- > 0;) sift(items, i, count, bytes, compare);
  for (size_t rest = count; rest-- > 1;) {
    swap(items, (char *)items + rest * bytes, bytes);
    sift(items, 0, rest, bytes, compare);
  }
}
