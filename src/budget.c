/* Budget: the one that is in force, and how a call ends. */
#include "budget.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "memory.h"

#ifdef __wasm__ /* only the engine's own thread allocates, and objects with variables of a thread cannot be linked for \
                   both builds */
static Budget *entered;
#else
static _Thread_local Budget *entered;
#endif

void budget_enter(Budget *b, Error *error) {
  error_clear(error);
  b->missed = false;
  b->refused_bytes = 0;
  entered = b;
}

static Status missed(const Budget *b, Error *error) {
  if (error->status != STATUS_OUT_OF_MEMORY) error_clear(error); /* it is a consequence of what is missing */
  Status status = error_set(error, STATUS_OUT_OF_MEMORY, NULL, "out of memory");
  double room = b->limited ? b->limit_bytes : (double)memory_given();
  size_t at = strlen(error->text);
  if (b->refused_bytes && room > 0 && !strstr(error->text, "maxMemoryBytes"))
    snprintf(error->text + at, sizeof error->text - at, ": %s %.0f, %zu are taken, and %zu more were wanted",
             b->limited ? "maxMemoryBytes is" : "the bytes given are", room, b->used_bytes, b->refused_bytes);
  return status;
}

Status budget_leave(Budget *b, Error *error, bool done) {
  entered = NULL;
  if (b->missed) return missed(b, error);
  if (done && error->status == STATUS_OK) return STATUS_OK;
  return error_set(error, STATUS_INTERNAL, NULL, "the engine could not do this and does not know why; please tell us");
}

bool budget_missed(void) { return entered && entered->missed; }

void budget_forgive(void) {
  if (!entered) return;
  entered->missed = false;
  entered->refused_bytes = 0;
}

double budget_room(void) {
  if (!entered || entered->limit_bytes <= 0) return INFINITY;
  return entered->limit_bytes - (double)entered->used_bytes;
}

static void refuse(size_t bytes, bool limited) {
  if (!entered || entered->refused_bytes) return;
  entered->refused_bytes = bytes;
  entered->limited = limited;
}

void budget_lack(size_t bytes) { refuse(bytes, false); }

bool budget_take(size_t bytes) {
  if ((double)bytes > budget_room()) return refuse(bytes, true), false;
  if (entered) entered->used_bytes += bytes;
  return true;
}

void budget_miss(void) {
  if (entered) entered->missed = true;
}

void budget_give(size_t bytes) {
  if (entered) entered->used_bytes -= bytes < entered->used_bytes ? bytes : entered->used_bytes;
}
