/* Budget: the bytes that one owner, a session or artifacts, may take; and where a call begins and ends, so that no
 * failure leaves it without a sentence.
 *
 *   public call ─ budget_enter ─▶ every chunk and block that is taken or freed counts ─ budget_leave ─▶ its status
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "status.h"

typedef struct Budget {
  double limit_bytes; /* 0 = none */
  size_t used_bytes;
  bool missed;          /* an allocation has failed since budget_enter */
  size_t refused_bytes; /* bytes that the first refused allocation had asked for */
  bool limited;         /* it was the limit */
} Budget;

/* From here on, memory that this thread takes counts for this owner, and the next error is kept as the first. */
void budget_enter(Budget *b, Error *error);
/* The status of the call. If an allocation failed, it is out-of-memory, even if nobody noticed. */
Status budget_leave(Budget *b, Error *error, bool done);

/* An allocation has failed: nothing that was made since may be used. budget_forgive is for what can be done without. */
bool budget_missed(void);
void budget_forgive(void);
double budget_room(void); /* bytes that the limit leaves; infinite where there is none */

enum { BLOCK_EXTRA = 64 }; /* bytes that a Block takes beside its capacity */

/* For arena.c: false when the limit refuses them. */
bool budget_take(size_t bytes);
void budget_lack(size_t bytes); /* memory has no room for them */
void budget_miss(void);
void budget_give(size_t bytes);
