/* TextBuilder: text that grows, JSON or plain, in an arena. */
#include "text_builder.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

TextBuilder text_new(Arena *arena) {
  TextBuilder p = {.arena = arena, .capacity = 1024};
  p.text = ARENA_ARRAY(arena, char, p.capacity);
  return p;
}

static void put_bytes(TextBuilder *p, const char *bytes, size_t count) {
  while (p->text && p->length + count + 1 > p->capacity) {
    char *grown = ARENA_ARRAY(p->arena, char, p->capacity * 2);
    if (grown) memcpy(grown, p->text, p->length);
    p->text = grown;
    p->capacity *= 2;
  }
  if (!p->text) return;
  memcpy(p->text + p->length, bytes, count);
  p->text[p->length += count] = 0;
}

void text_put(TextBuilder *p, const char *text) { put_bytes(p, text, strlen(text)); }

void text_print(TextBuilder *p, const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  text_put(p, text);
}

void text_string(TextBuilder *p, const char *s) {
  text_put(p, "\"");
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') text_print(p, "\\%c", *s);
    else if ((unsigned char)*s < 0x20) text_print(p, "\\u%04x", (unsigned)*s);
    else put_bytes(p, s, 1);
  }
  text_put(p, "\"");
}

void text_key(TextBuilder *p, const char *key) { text_string(p, key), text_put(p, ":"); }
void text_int(TextBuilder *p, int64_t x) { text_print(p, "%lld", (long long)x); }

void text_float(TextBuilder *p, double x) {
  if (isfinite(x)) text_print(p, "%.9g", x);
  else text_put(p, isnan(x) ? "null" : x < 0 ? "-1e999" : "1e999");
}

void text_field(TextBuilder *p, const char *key, int64_t x) {
  char last = 0;
  if (p->text && p->length) last = p->text[p->length - 1];
  text_put(p, last == '{' ? "" : ",");
  text_key(p, key), text_int(p, x);
}
