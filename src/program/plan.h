/* Plan: places every value of a bound graph; afterwards running it neither allocates nor fails.
 *
 *   step      0   1   2   3   4        a value's bytes live from the step that writes them to the last that reads them;
 *   conv1     ████████████░░░░         values whose lives do not meet share bytes of the one arena
 *   relu1         ████████
 */
#pragma once
#include "graph/graph.h"
#include "threads.h"

/* Milliseconds since any moment; now is NULL where nobody is asked. */
typedef struct Clock {
  double (*now)(void *context);
  void *context;
} Clock;

typedef struct Program {
  Graph *graph;
  Node **steps;
  int step_count;
  size_t arena_bytes;       /* the step arena it needs */
  size_t lower_bound_bytes; /* largest sum of bytes alive at one step: no placement can need less */
  int peak_step;            /* the step of that sum */
  void *base;               /* the last base of resolved addresses; NULL: not yet */
  /* Set by program/program_cache.c: the values asked for, where a sequence stands for its items; NULL from plan. */
  Value **fetched;
  const Node **losses; /* set by program/program_cache.c, too: those over labels (program/loss.h) */
  int loss_count;
  Node *yield;    /* the YieldOp, at which gradients come from outside; NULL where there is none */
  int yield_step; /* steps before it; step_count where there is none */
  Node **lean;    /* each step's node without what only gradients towards inputs need; NULL: nothing is left of it */
  double *ms;     /* time of each step in all timed runs together; NULL before the first */
  int timed_runs;
  unsigned number; /* set by program/program_cache.c: no other program of the session has it */
  bool kept;       /* its nodes and values have just what a run reads (session/trainer.c) */
} Program;

/* Plans `graph`, whose outputs stay readable after the run. `overwrite_gradients`: accumulators overwrite instead of
 * adding, so a gradient is written where it will lie. Everything comes from graph->arena. */
Status plan(Graph *graph, bool overwrite_gradients, Program *out);

/* Refuses a plan that, with the multiply-adds `spent` before it, takes more than `limit` (0: none); else adds its own
 * to these. */
Status plan_check_work(const Program *p, double limit, double *spent);

/* Sets every data and scratch pointer for an arena at `base`; inputs and state have theirs. */
void plan_resolve(Program *p, void *base);

/* The steps of a run, from `first` up to `end`, lean or whole. */
typedef struct StepRange {
  int first, end;
  bool lean;
} StepRange;
/* Runs the steps in order; fails with `aborted` when it is told to stop before the last is done. */
Status plan_execute(const Program *p, StepRange range, const ThreadsStop *stop);
/* The same, and adds what each step takes to p->ms; it is a timed run when the last step is done. A run that is stopped
 * leaves no times. */
Status plan_execute_timed(Program *p, StepRange range, const ThreadsStop *stop, const Clock *clock);
/* Makes the lean steps: what the first `count` outputs of the graph alone need is left out of them. */
Status plan_make_lean(Program *p, int count);
static inline StepRange plan_all(const Program *p) { return (StepRange){.end = p->step_count}; }
void plan_forget_times(Program *p);
