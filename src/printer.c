/* Printer: text that grows, JSON or plain, in an arena. */
#include "printer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

Printer printer_new(Arena *arena) {
  Printer p = {.arena = arena, .capacity = 1024};
  p.text = ARENA_ARRAY(arena, char, p.capacity);
  return p;
}

static void put_bytes(Printer *p, const char *bytes, size_t count) {
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

void printer_put(Printer *p, const char *text) { put_bytes(p, text, strlen(text)); }

void printer_print(Printer *p, const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  printer_put(p, text);
}

void printer_string(Printer *p, const char *s) {
  printer_put(p, "\"");
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') printer_print(p, "\\%c", *s);
    else if ((unsigned char)*s < 0x20) printer_print(p, "\\u%04x", (unsigned)*s);
    else put_bytes(p, s, 1);
  }
  printer_put(p, "\"");
}

void printer_key(Printer *p, const char *key) { printer_string(p, key), printer_put(p, ":"); }
void printer_int(Printer *p, int64_t x) { printer_print(p, "%lld", (long long)x); }

void printer_float(Printer *p, double x) {
  if (isfinite(x)) printer_print(p, "%.9g", x);
  else printer_put(p, isnan(x) ? "null" : x < 0 ? "-1e999" : "1e999");
}

void printer_field(Printer *p, const char *key, int64_t x) {
  char last = 0;
  if (p->text && p->length) last = p->text[p->length - 1];
  printer_put(p, last == '{' ? "" : ",");
  printer_key(p, key), printer_int(p, x);
}
