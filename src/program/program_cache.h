/* Program cache: finds or makes the program that runs next. The one place that decides when a graph is bound, folded
 * and planned anew.
 *
 *   (part, gradients overwritten or added, fetches, shapes fed) ─▶ cached Program, or clone ─▶ passes ─▶ plan ─▶ cache
 */
#pragma once
#include "program/feed.h"
#include "state/packed.h"
#include "program/plan.h"

enum { PROGRAMS_MAX = 8 };

typedef struct CachedProgram {
  Arena arena;  /* itself too */
  int holders;  /* the cache, and runs whose backward has not come */
  int64_t *key; /* numbers that identify a program */
  size_t key_count;
  Program program;
  uint64_t used;     /* clock of the last use */
  double stage_work; /* multiply-adds of its stages */
  bool for_once;     /* contents that were fed have gone into it: the next run needs its own */
} CachedProgram;

typedef struct ProgramCache {
  CachedProgram *programs[PROGRAMS_MAX]; /* NULL where there is none yet */
  int holders;                           /* runs that hold a program, and packed weights with it */
  uint64_t clock;
  unsigned built; /* programs so far */
  Block key;      /* key of the request at hand */
  PackedStore packed;
  Block step_arena;         /* shared by all programs */
  size_t largest_bytes;     /* the most that any program needed of it */
  size_t lower_bound_bytes; /* bound of that program */
} ProgramCache;

/* The request for a run. */
typedef struct Request {
  Graph *graph; /* unbound */
  int part;
  bool overwrite_gradients;
  unsigned passes;        /* a bit each: passes.h */
  Feed *feeds;            /* one for each of graph->inputs, then of features */
  Value *const *features; /* values that stand for what gives them where they were fed */
  int feature_count;
  Value *const *fetches;
  int fetch_count;       /* outputs of the program: these, in this order */
  Value *const *effects; /* values computed for their side effect (accumulators), not read */
  int effect_count;
  /* arena of this run alone, which stops at the YieldOp; NULL: the step arena that programs share. The fetches are
   * gradients towards inputs then, computed where they are asked for */
  Block *arena;
  const ThreadsStop *stop;
  bool on_device;    /* it is computed elsewhere: no memory is reserved, and no node has scratch */
  bool only_plans;   /* nothing is computed, not even what shapes depend on */
  double work_limit; /* multiply-adds of a run, its stages included; 0 = none */
} Request;

/* The program for the request, resolved and with its inputs pointing at the feeds; NULL with the sentence in `error`.
 */
Program *program_cache_find(ProgramCache *t, const Request *request, Error *error);
/* The same for a run that stays open, which keeps the program and what it reads until program_cache_let_go. */
CachedProgram *program_cache_hold(ProgramCache *t, const Request *request, Error *error);
/* Points the program at an open run's feeds, one for each of its graph's inputs, and at its arena. */
void program_cache_resume(CachedProgram *c, const Feed *feeds, int count, const Block *arena);
void program_cache_let_go(ProgramCache *t, CachedProgram *c);
/* The program of the part that ran last; NULL where none is kept. */
const Program *program_cache_last(const ProgramCache *t, int part);
/* Drops every program, and the packed weights that they read, because their graphs, or what is fixed, change. */
void program_cache_forget(ProgramCache *t);
void program_cache_free(ProgramCache *t);
