/* TextBuilder: text that grows, JSON or plain, in an arena.
 *
 *   text_new ─▶ text_key, text_string, text_int, text_put … ─▶ text, or NULL if memory ran out
 */
#pragma once
#include <stdint.h>

#include "arena.h"

/* A failed growth leaves text NULL, and later puts do nothing. */
typedef struct TextBuilder {
  Arena *arena;
  char *text;
  size_t length, capacity; /* bytes: of the text, of its room */
} TextBuilder;

TextBuilder text_new(Arena *arena);
void text_put(TextBuilder *p, const char *text);                                                /* puts it unchanged */
void text_print(TextBuilder *p, const char *format, ...) __attribute__((format(printf, 2, 3))); /* at most 255 bytes */
void text_string(TextBuilder *p, const char *s); /* between quotes, escaped */
void text_key(TextBuilder *p, const char *key);  /* "key": */
void text_int(TextBuilder *p, int64_t x);
void text_float(TextBuilder *p, double x); /* JSON has no NaN, which is null; 1e999 is read as Infinity */
/* A field of an object, with the comma before it where it is not the first: "key":x */
void text_field(TextBuilder *p, const char *key, int64_t x);
