/* The test runner's counting and printing. */
#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DETAILS_MAX = 400 };

static int passed, failed;
static int failures; /* in the running test */
static char details[DETAILS_MAX][600], note[200];

bool check(bool ok, const char *format, ...) {
  if (ok) return true;
  if (failures < DETAILS_MAX) {
    va_list args;
    va_start(args, format);
    vsnprintf(details[failures], sizeof details[0], format, args);
    va_end(args);
  }
  failures++;
  return false;
}

void test_note(const char *format, ...) {
  size_t used = strlen(note);
  va_list args;
  va_start(args, format);
  vsnprintf(note + used, sizeof note - used, format, args);
  va_end(args);
}

void test_run(const char *name, void (*test)(const void *argument), const void *argument) {
  failures = 0;
  note[0] = 0;
  test(argument);
  if (failures) failed++;
  else passed++;
  printf("%s %s%s%s\n", failures ? "FAILED" : "ok", name, note[0] ? ": " : "", note);
  for (int i = 0; i < failures && i < DETAILS_MAX; i++) printf("    %s\n", details[i]);
  if (failures > DETAILS_MAX) printf("    … and %d more\n", failures - DETAILS_MAX);
  fflush(stdout);
}

int test_finish(void) {
  printf("%d passed, %d failed\n", passed, failed);
  return failed > 0 || passed == 0;
}
