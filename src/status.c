/* Errors: keeps the first sentence and gives each status its code. */
#include "status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "part.h"

const char *status_code(Status status) {
  static const char *const codes[] = {
#define STATUS(NAME, code, meaning) code,
#include "status.def"
#undef STATUS
  };
  return (unsigned)status < STATUS_COUNT ? codes[status] : "internal";
}

/* A sentence that was cut must not end inside a UTF-8 character. */
static void trim_partial_character(char *text) {
  size_t n = strlen(text), start = n;
  while (start > 0 && ((unsigned char)text[start - 1] & 0xC0) == 0x80) start--;
  if (start == 0) return;
  unsigned char lead = (unsigned char)text[start - 1];
  size_t want = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  if (n - (start - 1) < want) text[start - 1] = 0;
}

/* Names may have line breaks, a sentence has none. */
static void join_lines(char *text) {
  for (; *text; text++)
    if (*text == '\n' || *text == '\r') *text = ' ';
}

static void write_sentence(Error *error, const char *node, const char *format, va_list args) {
  snprintf(error->node, sizeof error->node, "%s", node ? node : "");
  trim_partial_character(error->node);
  vsnprintf(error->text, sizeof error->text, format, args);
  trim_partial_character(error->text);
  join_lines(error->text);
}

OPTIONAL(sentences, write_sentence);

Status error_set(Error *error, Status status, const char *node, const char *format, ...) {
  if (error->status != STATUS_OK) return error->status;
  error->status = status;
  if (!part_sentences) return status;
  va_list args;
  va_start(args, format);
  part_sentences(error, node, format, args);
  va_end(args);
  return status;
}

Status error_memory(Error *error, const char *what) {
  return error_set(error, STATUS_OUT_OF_MEMORY, NULL, "out of memory %s", what);
}

Status error_memory_bytes(Error *error, const char *what, size_t bytes) {
  return error_set(error, STATUS_OUT_OF_MEMORY, NULL, "out of memory: %s %zu bytes", what, bytes);
}

void error_clear(Error *error) { *error = (Error){0}; }
