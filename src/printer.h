/* Printer: text that grows, JSON or plain, in an arena.
 *
 *   printer_new ─▶ printer_key, printer_string, printer_int, printer_put … ─▶ text, or NULL if memory ran out
 */
#pragma once
#include <stdint.h>

#include "arena.h"

/* A failed growth leaves text NULL, and later puts do nothing. */
typedef struct Printer {
  Arena *arena;
  char *text;
  size_t length, capacity; /* bytes: of the text, of its room */
} Printer;

Printer printer_new(Arena *arena);
void printer_put(Printer *p, const char *text); /* as it is */
void printer_print(Printer *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));      /* of 255 bytes at most */
void printer_string(Printer *p, const char *s); /* between quotes, escaped */
void printer_key(Printer *p, const char *key);  /* "key": */
void printer_int(Printer *p, int64_t x);
void printer_float(Printer *p, double x); /* JSON has no NaN, which is null; 1e999 is read as Infinity */
/* A field of an object, with the comma before it where it is not the first: "key":x */
void printer_field(Printer *p, const char *key, int64_t x);
