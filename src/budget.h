/* Budget: the bytes that one owner, a session or artifacts, may take; and a call's edge, over which no failure goes
 * without a sentence.
 *
 *   public call ─ budget_enter ─▶ every chunk and block that is taken or given back counts ─ budget_leave ─▶ its status
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "status.h"

typedef struct Budget {
  double limit_bytes; /* 0 = none */
  size_t used_bytes;
  bool missed;          /* an allocation came back NULL since budget_enter */
  size_t refused_bytes; /* what the first that the limit refused had wanted */
} Budget;

/* From here on memory is this owner's, of this thread; and an error is a new one. */
void budget_enter(Budget *b, Error *error);
/* Whether the call is done, as its status. It is not where an allocation failed, whoever did not notice: that becomes
 * out-of-memory. */
Status budget_leave(Budget *b, Error *error, bool done);

/* An allocation has failed: nothing that was made since may be used. budget_forgive where it can be done without. */
bool budget_missed(void);
void budget_forgive(void);
double budget_room(void); /* bytes that the limit leaves; infinite where there is none */

enum { BLOCK_EXTRA = 64 }; /* bytes that a Block takes beside its capacity */

/* For arena.c: false when the limit refuses them. */
bool budget_take(size_t bytes);
void budget_miss(void);
void budget_give(size_t bytes);
