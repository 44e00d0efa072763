/* C library: what wasm/c_library.c has in place of Emscripten's functions gives what this machine's C library gives. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define vsnprintf small_vsnprintf
#define snprintf small_snprintf
#define strtod small_strtod
#define strtof small_strtof
#define strtoll small_strtoll
#define strtoull small_strtoull
#define strstr small_strstr
#define qsort small_qsort
#include "../../wasm/c_library.c"
#undef vsnprintf
#undef snprintf
#undef strtod
#undef strtof
#undef strtoll
#undef strtoull
#undef strstr
#undef qsort

/* A cheap mix of bits, the same in every run. */
static uint64_t bits_of(uint64_t i) {
  i = (i + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  i = (i ^ i >> 27) * 0x94D049BB133111EBu;
  return i ^ i >> 31;
}

static double double_of(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static const double corners[] = {
    0,         -0.0,
    1,         -1,
    0.5,       1.5,
    2.5,       9.5,
    99.5,      999999.5,
    9.9999995, 1e-4,
    1e-5,      0.00012345,
    123456,    1e6,
    1234567,   1e9,
    999999999, 1000000000.,
    1e15,      9007199254740993.,
    1e22,      1e23,
    1e300,     DBL_MAX,
    1e-9,      1e-300,
    4e-324,    DBL_MIN,
    0.1,       0.3,
    2. / 3,    1. / 1024,
    FLT_MAX,   INFINITY,
    -INFINITY,
};
enum { CORNERS = sizeof corners / sizeof *corners, RANDOM = 20000 };

/* ---- text of numbers ---- */

static void same_text(const char *format, int precision, double x) {
  char wanted[1200], got[1200];
  int length = snprintf(wanted, sizeof wanted, format, precision, x);
  int count = small_snprintf(got, sizeof got, format, precision, x);
  check(count == length && strcmp(got, wanted) == 0, "%s of precision %d: it is '%s', not '%s'", format, precision, got,
        wanted);
}

static void doubles_are_printed_alike(const void *argument) {
  static const char *const formats[] = {"%.*g", "%.*e", "%.*f"};
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < CORNERS; i++)
      for (int precision = 0; precision <= 20; precision++) same_text(formats[k], precision, corners[i]);
    for (int i = 0; i < RANDOM; i++) {
      double x = double_of(bits_of((uint64_t)i));
      if (!isnan(x)) same_text(formats[k], (int)(bits_of((uint64_t)i + RANDOM) % 19), x);
    }
    for (int i = -2000; i < 2000; i++) same_text(formats[k], i & 7, i / 8.0); /* ties */
  }
  same_text("%.*f", 1074, 4e-324), same_text("%.*e", 800, 4e-324), same_text("%.*f", 2, DBL_MAX);
}

#define SAME(...)                                                                                                      \
  do {                                                                                                                 \
    char wanted_[100], got_[100];                                                                                      \
    int length_ = snprintf(wanted_, sizeof wanted_, __VA_ARGS__);                                                      \
    int count_ = small_snprintf(got_, sizeof got_, __VA_ARGS__);                                                       \
    check(count_ == length_ && strcmp(got_, wanted_) == 0, "it is '%s', not '%s'", got_, wanted_);                     \
  } while (0)

static void every_conversion_of_the_engine_is_there(const void *argument) {
  SAME("a %s, %.3s, %.*s and %.0s.", "word", "words", 2, "more", "none");
  SAME("%d %d %d %4d|%4d", 0, INT_MIN, INT_MAX, 7, -7);
  SAME("%lld %lld %zu %llu", (long long)INT64_MIN, (long long)INT64_MAX, SIZE_MAX, (unsigned long long)UINT64_MAX);
  SAME("%u %x %04x %04x %c%c", UINT_MAX, 0xabcdu, 0x1fu, 0x12345u, 'x', '"');
  SAME("%g %g %.9g %.1e %.0e %.0f", 0.001, 1e30, 0.1, 12345.0, 96000.0, 4294967296.0);
  SAME("%g %g %g", (double)INFINITY, -(double)INFINITY, (double)NAN);
  SAME("%.200s", "");
  SAME("no conversion");
}

static void what_does_not_fit_is_cut(const void *argument) {
  char text[8];
  check(small_snprintf(NULL, 0, "%s", "twelve bytes") == 12, "without room it does not count");
  memset(text, '#', sizeof text);
  check(small_snprintf(text, 5, "%d", 1234567) == 7 && strcmp(text, "1234") == 0 && text[5] == '#', "it is '%s'", text);
  check(small_snprintf(text, 1, "x") == 1 && !*text, "one byte of room is for the end");
}

/* ---- numbers of text ---- */

/* Both give the same bits and stop at the same place. */
static void same_number(const char *text) {
  char *wanted_end, *end;
  double wanted = strtod(text, &wanted_end), got = small_strtod(text, &end);
  check(end == wanted_end && (memcmp(&got, &wanted, sizeof got) == 0 || (isnan(got) && isnan(wanted))),
        "'%.60s' is %a up to %d, not %a up to %d", text, got, (int)(end - text), wanted, (int)(wanted_end - text));
  float wanted_float = strtof(text, &wanted_end), got_float = small_strtof(text, &end);
  check(end == wanted_end &&
            (memcmp(&got_float, &wanted_float, sizeof got_float) == 0 || (isnan(got_float) && isnan(wanted_float))),
        "'%.60s' is %a as a float, not %a", text, (double)got_float, (double)wanted_float);
}

static void numbers_are_read_alike(const void *argument) {
  static const char *const texts[] = {
      "",
      " ",
      "-",
      "+.",
      ".",
      "e5",
      ".e5",
      "1",
      " \t\n-1.5x",
      "+.5",
      "5.",
      "5.e1",
      "1e",
      "1e+",
      "1e-",
      "1E5",
      "1e+05",
      "0e999999999999",
      "1e999999999999",
      "-1e-999999999999",
      "1e308",
      "1.7976931348623157e308",
      "1.7976931348623158e308",
      "1.7976931348623159e308",
      "179769313486231580793e289",
      "4.9e-324",
      "2.4e-324",
      "2.5e-324",
      "2.2250738585072011e-308",
      "2.2250738585072014e-308",
      "9007199254740993",
      "9007199254740992.99999",
      "9007199254740993.00000000000000000000000000000000000000000000000000000000001",
      "16777217",
      "16777217.0000001",
      "1.00000017881393421514957253748434595763683319091796875001",
      "3.4028235677973366e38",
      "3.4028235e38",
      "0.00000000000000000000000000000000000000000000070064923216240853546186479164495807",
      "0.00000000000000000000000000000000000000000000070064923216240853546186479164495806",
      "inf",
      "-INF",
      "Infinity",
      "infinit",
      "nan",
      "-NaN",
      "in",
      "1,2",
      "0.1",
      "1_0",
      "00012.500",
      "1..2",
      "--1",
      "1e5e5",
      "0.1e1.5",
      "123456789012345678901234567890e-20",
      "0.000000000000000000000000000001e30",
  };
  char text[1300];
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) same_number(texts[i]);
  for (int i = 0; i < RANDOM; i++) {
    double x = double_of(bits_of((uint64_t)i));
    snprintf(text, sizeof text, "%.*e", (int)(bits_of((uint64_t)i + 1) % 20), x);
    if (!isnan(x)) same_number(text);
    snprintf(text, sizeof text, "%.*g", 9, (double)(float)(x * 1e-200));
    same_number(text);
    snprintf(text, sizeof text, "%d.%06d", (int)(bits_of((uint64_t)i) % 1000), i);
    same_number(text);
  }
  snprintf(text, sizeof text, "%.1074f", 4e-324 * 3); /* all its digits, and one unit more or less below them */
  same_number(text), same_number(strcat(text, "0001"));
  snprintf(text, sizeof text, "%.1074f", 1 + 0x1p-52);
  same_number(text);
  snprintf(text, sizeof text, "1%0400d", 0);
  same_number(text), same_number(strcat(text, "e-400"));
}

static void integers_are_read_alike(const void *argument) {
  static const char *const texts[] = {
      "0",
      "-0",
      " 12x",
      "-",
      "+7",
      "x",
      "",
      "9223372036854775807",
      "9223372036854775808",
      "-9223372036854775808",
      "-9223372036854775809",
      "18446744073709551615",
      "18446744073709551616",
      "-1",
      "-18446744073709551615",
      "-18446744073709551616",
      "99999999999999999999999",
      "1.5",
      "0012",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    char *wanted_end, *end;
    long long wanted = strtoll(texts[i], &wanted_end, 10), got = small_strtoll(texts[i], &end, 10);
    check(got == wanted && end == wanted_end, "'%s' is %lld, not %lld", texts[i], got, wanted);
    unsigned long long natural = strtoull(texts[i], &wanted_end, 10), small = small_strtoull(texts[i], &end, 10);
    check(small == natural && end == wanted_end, "'%s' is %llu, not %llu", texts[i], small, natural);
  }
}

/* ---- the rest ---- */

static void a_part_is_found_where_it_is_first(const void *argument) {
  static const char *const texts[] = {"", "a", "aab", "banana", "maxMemoryBytes", "nan"};
  for (int i = 0; i < 6; i++)
    for (int k = 0; k < 6; k++)
      check(small_strstr(texts[i], texts[k]) == strstr(texts[i], texts[k]), "'%s' in '%s'", texts[k], texts[i]);
}

typedef struct Item {
  short key;
  char tail;
} Item;

static int by_key(const void *a, const void *b) { return ((const Item *)a)->key - ((const Item *)b)->key; }

static void items_of_every_count_are_sorted(const void *argument) {
  for (int count = 0; count < 200; count++) {
    Item items[200];
    int sum = 0, sorted_sum = 0;
    for (int i = 0; i < count; i++) {
      items[i] = (Item){(short)(bits_of((uint64_t)(count * 200 + i)) % 50), (char)i};
      sum += items[i].key * 1000 + items[i].tail * items[i].key;
    }
    small_qsort(items, (size_t)count, sizeof *items, by_key);
    for (int i = 0; i < count; i++) {
      check(i == 0 || items[i - 1].key <= items[i].key, "of %d items, item %d is in a wrong place", count, i);
      sorted_sum += items[i].key * 1000 + items[i].tail * items[i].key;
    }
    check(sum == sorted_sum, "of %d items, one was lost", count);
  }
}

int main(void) {
  TEST(doubles_are_printed_alike);
  TEST(every_conversion_of_the_engine_is_there);
  TEST(what_does_not_fit_is_cut);
  TEST(numbers_are_read_alike);
  TEST(integers_are_read_alike);
  TEST(a_part_is_found_where_it_is_first);
  TEST(items_of_every_count_are_sorted);
  return test_finish();
}
